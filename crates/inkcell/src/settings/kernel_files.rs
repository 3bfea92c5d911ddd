//! The kernel of a new notebook: the one that its Python would have, according to files.
//!
//! Owns where to read that. No interpreter is run: creating a notebook is not a request to run the folder's Python.

use std::fs;
use std::path::{Path, PathBuf};

use inkcell_engine::kernel::{
    Kernelspec, KernelspecSearch, ParentEnv, PrefixKind, PythonPrefix, Search, candidates,
    environment_version,
};
use inkcell_engine::{KernelDefaults, KernelMetadata};

/// The places to look for kernels and interpreters.
#[derive(Debug)]
pub(super) struct KernelFiles {
    pub(super) interpreter: Option<String>,
    pub(super) home: Option<PathBuf>,
    pub(super) state: PathBuf,
    pub(super) env: ParentEnv,
    /// The executable of inkcell, which decides about a Python that was installed only to hold it.
    pub(super) program: Option<PathBuf>,
    /// The system's folders for kernels.
    pub(super) system: Vec<PathBuf>,
}

impl KernelDefaults for KernelFiles {
    fn kernel(&self, notebook: &Path, name: Option<&str>) -> KernelMetadata {
        let python = self.python(notebook.parent().unwrap_or(notebook));
        let mut kernel = KernelMetadata::named(name);
        if let Some(spec) = self.kernelspec(&kernel.name, python.as_ref()) {
            kernel.display_name = spec.display_name;
            if !spec.language.is_empty() {
                kernel.language = spec.language;
            }
        }
        if kernel.language == "python" {
            let version = python.and_then(|python| environment_version(&python.folder));
            kernel.version = version.map(|version| version.to_string());
        }
        kernel
    }
}

impl KernelFiles {
    /// The Python that a kernel in this folder would run with, if it works.
    fn python(&self, cwd: &Path) -> Option<PythonPrefix> {
        let search = Search {
            setting: self.interpreter.clone(),
            cwd: cwd.to_owned(),
            home: self.home.clone(),
            state: Some(self.state.clone()),
            env: self.env.clone(),
            program: self.program.clone(),
        };
        let first = candidates(&search).list.into_iter().next()?;
        if let Some(folder) = first.venv {
            return Some(PythonPrefix { folder, kind: PrefixKind::Environment });
        }
        let real = fs::canonicalize(&first.path).ok()?;
        let folder = real.parent()?.parent()?.to_owned();
        Some(PythonPrefix { folder, kind: PrefixKind::Installation })
    }

    fn kernelspec(&self, name: &str, python: Option<&PythonPrefix>) -> Option<Kernelspec> {
        let search = KernelspecSearch {
            env: self.env.clone(),
            home: self.home.clone(),
            prefix: python.cloned(),
            system: self.system.clone(),
        };
        search.find().take(name).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(home: &Path) -> KernelFiles {
        let (home, state) = (home.to_owned(), home.join("state"));
        let env = ParentEnv::default();
        let (interpreter, program, system) = (None, None, Vec::new());
        KernelFiles { interpreter, home: Some(home), state, env, program, system }
    }

    fn put(path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_new_notebook_names_the_kernel_of_its_python() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        let notebook = folder.path().join("work/nb.ipynb");
        assert_eq!(files.kernel(&notebook, None), KernelMetadata::named(None));

        // A virtual environment whose interpreter cannot run, which shows that none is run.
        let venv = folder.path().join("work/.venv");
        put(venv.join("bin/python"), "not a program");
        for (line, wanted) in [
            ("version = 3.12.3", Some("3.12.3")),
            ("version_info = 3.9.18.final.0", Some("3.9.18")),
            ("version_info = 3.13", None),
            ("version = \u{1b}]0;x\u{7}", None),
        ] {
            put(venv.join("pyvenv.cfg"), &format!("home = /usr/bin\n{line}\n"));
            let kernel = files.kernel(&notebook, None);
            assert_eq!(kernel.version.as_deref(), wanted, "{line}");
            assert_eq!(KernelMetadata { version: None, ..kernel }, KernelMetadata::named(None));
        }
        let spec = r#"{"argv": ["x"], "display_name": "Mine", "language": "python"}"#;
        put(venv.join("share/jupyter/kernels/python3/kernel.json"), spec);
        assert_eq!(files.kernel(&notebook, None).display_name, "Mine");
        let spec = r#"{"argv": ["x"], "display_name": "R 4", "language": "R"}"#;
        put(folder.path().join(".local/share/jupyter/kernels/ir/kernel.json"), spec);
        let kernel = files.kernel(&notebook, Some("ir"));
        assert_eq!((kernel.display_name.as_str(), kernel.language.as_str()), ("R 4", "R"));
        assert_eq!(kernel.version, None);
    }
}
