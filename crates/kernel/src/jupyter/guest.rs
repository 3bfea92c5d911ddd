//! Our code in a Python kernel: helpers, modules, variables, and answers to questions.
//!
//! Owns the code that is sent to the kernel. The Python side is `inkcell_runner/guest.py`. Kernels
//! of other languages get nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use crate::kernel::{CodeRequest, KernelSpec, Startup};
use crate::question::Question;

/// Says if our code is in the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guest {
    /// The kernel is Python and holds our code.
    Present,
    /// The kernel does not hold our code.
    Absent,
}

/// Message type that reports a refused `input()`. IPython's kernel has no type for it.
pub(crate) const INPUT_REFUSED: &str = "inkcell_input_refused";

/// Message type that follows a traceback which the cell showed itself. IPython's kernel has no type
/// for it.
pub(crate) const TRACEBACK_SHOWN: &str = "inkcell_traceback_shown";

/// Python expression for our module, once it is loaded.
pub(crate) const MODULE: &str = "__import__('sys').modules['inkcell_runner.guest']";

/// Returns the first code of a kernel, which leaves no name behind. It sets these variables first.
pub(crate) fn startup(
    root: &Path,
    spec: &KernelSpec,
    env: &BTreeMap<String, String>,
    wires: Wires,
) -> String {
    let startup = &spec.startup;
    let options = json!({
        "env": env,
        "cwd": spec.cwd.display().to_string(),
        "prelude": startup.prelude.name(),
        "modules": modules(startup),
        "preload": startup.preload,
        "lifeline": wires.lifeline,
        "host": wires.host,
    });
    format!("{}\n{MODULE}.begin(get_ipython(), {})", import(root), literal(&options.to_string()))
}

/// Returns the extension modules to load, as names and paths in text.
pub(crate) fn modules(startup: &Startup) -> Vec<(String, String)> {
    let text = |(name, path): &(String, PathBuf)| (name.clone(), path.display().to_string());
    startup.modules.iter().map(text).collect()
}

/// Returns the code for a kernel that will wait for a launch: slow work that is the same for every
/// launch.
pub(crate) fn preparation(root: &Path, startup: &Startup, wires: Wires) -> String {
    let options = json!({
        "prelude": startup.prelude.name(),
        "preload": startup.preload,
        "lifeline": wires.lifeline,
        "host": wires.host,
    });
    format!("{}\n{MODULE}.prepare(get_ipython(), {})", import(root), literal(&options.to_string()))
}

/// Puts our folder first on the path only while our package is imported, so that later imports do
/// not search it.
pub(crate) fn import(root: &Path) -> String {
    let root = literal(&root.display().to_string());
    format!(
        "__import__('sys').path.insert(0, {root})\n\
         try: __import__('inkcell_runner.guest')\n\
         finally: __import__('sys').path.remove({root})"
    )
}

/// File descriptors that the kernel inherited, as it numbers them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wires {
    pub(crate) lifeline: i32,
    pub(crate) host: i32,
}

/// Returns the Python expression that answers a question.
pub(crate) fn question(question: &Question) -> String {
    let asked = serde_json::to_string(question).unwrap_or_default();
    format!("{MODULE}.answer({})", literal(&asked))
}

/// Returns the metadata of a request: the variables to set or remove first, and the folder to work
/// in.
pub(crate) fn metadata(request: &CodeRequest) -> Value {
    if request.env.is_empty() && request.cwd.is_none() {
        return json!({});
    }
    #[derive(Serialize)]
    struct First<'a> {
        env: serde_json::Map<String, Value>,
        cwd: Option<&'a PathBuf>,
    }
    let env = request.env.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({"inkcell": First { env, cwd: request.cwd.as_ref() }})
}

/// Returns a text as a Python literal. Python reads the escapes of JSON in the same way.
pub(crate) fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No text breaks out of its quotes.
    #[test]
    fn a_text_stays_a_text() {
        assert_eq!(literal("a'b\"c\\d\n\u{0}é"), r#""a'b\"c\\d\n\u0000é""#);
    }
}
