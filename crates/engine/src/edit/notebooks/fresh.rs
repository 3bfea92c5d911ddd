//! New notebooks: empty, with the metadata that tells other programs which kernel they need.
//!
//! Owns the form of that metadata. A [`KernelDefaults`] chooses the kernel from files, without starting any program.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use inkcell_notebook::Notebook;
use serde::Serialize as _;
use serde_json::{Value, json};

use super::{Notebooks, not_a_notebook};
use crate::error::EngineError;

/// The kernel of a new notebook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelMetadata {
    /// Name of its kernelspec, such as `python3`.
    pub name: String,
    /// The name that people see.
    pub display_name: String,
    /// Language in the spelling of kernelspecs; empty if unknown.
    pub language: String,
    /// Version of the language, if a file states it.
    pub version: Option<String>,
}

/// Chooses the kernel of a new notebook from files.
pub trait KernelDefaults: fmt::Debug + Send + Sync {
    /// The kernel of this name, or the default one, for a notebook at this path.
    fn kernel(&self, notebook: &Path, name: Option<&str>) -> KernelMetadata;
}

impl KernelMetadata {
    /// A kernel known only by name; without a name, IPython's own kernel.
    pub fn named(name: Option<&str>) -> KernelMetadata {
        let name = name.unwrap_or("python3");
        let is_python = name.to_lowercase().starts_with("python");
        KernelMetadata {
            name: name.to_owned(),
            display_name: if name == "python3" { "Python 3 (ipykernel)" } else { name }.to_owned(),
            language: if is_python { "python" } else { "" }.to_owned(),
            version: None,
        }
    }

    /// The metadata of a notebook, with the keys in Jupyter's order.
    fn metadata(&self) -> Value {
        let KernelMetadata { name, display_name, language, version } = self;
        if language.is_empty() {
            return json!({"kernelspec": {"display_name": display_name, "name": name}});
        }
        let mut info = match language.as_str() {
            // As reported by IPython's kernel.
            "python" => json!({
                "codemirror_mode": {"name": "ipython", "version": 3},
                "file_extension": ".py",
                "mimetype": "text/x-python",
                "name": "python",
                "nbconvert_exporter": "python",
                "pygments_lexer": "ipython3",
            }),
            other => json!({"name": other}),
        };
        if let Some(version) = version {
            info["version"] = version.as_str().into();
        }
        let spec = json!({"display_name": display_name, "language": language, "name": name});
        json!({"kernelspec": spec, "language_info": info})
    }

    /// An empty notebook for this kernel, laid out as Jupyter does.
    fn notebook(&self, shown: &str) -> Result<Notebook, EngineError> {
        let whole = json!({
            "cells": [], "metadata": self.metadata(), "nbformat": 4, "nbformat_minor": 5,
        });
        let mut bytes = Vec::new();
        let layout = serde_json::ser::PrettyFormatter::with_indent(b" ");
        let mut to = serde_json::Serializer::with_formatter(&mut bytes, layout);
        // Writing to memory does not fail; if it did, parsing would report it.
        let _ = whole.serialize(&mut to);
        bytes.push(b'\n');
        Notebook::parse(bytes).map_err(|error| not_a_notebook(shown, error))
    }
}

impl Notebooks {
    /// Also sets the source of kernels for new notebooks.
    pub fn making(&self, kernels: Arc<dyn KernelDefaults>) -> Notebooks {
        Notebooks { kernel_defaults: Some(kernels), ..self.clone() }
    }

    /// Makes an empty notebook for this path.
    pub(super) fn fresh(
        &self,
        path: &Path,
        shown: &str,
        kernel: Option<&str>,
    ) -> Result<Notebook, EngineError> {
        let made = match &self.kernel_defaults {
            Some(kernels) => kernels.kernel(path, kernel),
            None => KernelMetadata::named(kernel),
        };
        made.notebook(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 21, 11: new notebooks have the metadata that papermill and nbconvert look for, for kernels
    /// of any language.
    #[test]
    fn a_new_notebook_says_what_its_kernel_is() {
        let made = |kernel: KernelMetadata| {
            let notebook = kernel.notebook("nb.ipynb").expect("a notebook");
            assert!(notebook.problems().is_empty() && notebook.is_empty());
            let text = String::from_utf8(notebook.to_bytes()).expect("text");
            assert!(
                text.starts_with("{\n \"cells\": [],\n \"metadata\": {\n  \"kernelspec\": {\n")
            );
            serde_json::from_str::<Value>(&text).expect("JSON")["metadata"].clone()
        };
        let python = made(KernelMetadata::named(None));
        let spec = json!({"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"});
        assert_eq!(python["kernelspec"], spec);
        assert_eq!(python["language_info"]["name"], "python");
        assert_eq!(python["language_info"].get("version"), None);
        let version = Some("3.12.3".to_owned());
        let python = made(KernelMetadata { version, ..KernelMetadata::named(Some("python3.12")) });
        assert_eq!(python["kernelspec"]["display_name"], "python3.12");
        assert_eq!(python["language_info"]["version"], "3.12.3");
        let spec = |name: &str| json!({"display_name": name, "name": name});
        assert_eq!(made(KernelMetadata::named(Some("ir"))), json!({"kernelspec": spec("ir")}));
        let odd = made(KernelMetadata::named(Some("p\"\u{1b}é")));
        assert_eq!(odd, json!({"kernelspec": spec("p\"\u{1b}é")}));
        let named =
            KernelMetadata { language: "R".to_owned(), ..KernelMetadata::named(Some("ir")) };
        assert_eq!(made(named)["language_info"], json!({"name": "R"}));
    }
}
