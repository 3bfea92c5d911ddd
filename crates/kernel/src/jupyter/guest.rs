//! What is put into a kernel whose language is Python: helpers, modules, variables, and answers to questions.
//!
//! Owns the code that is sent for it. What it does there is Python, `inkcell_runner/guest.py`. Kernels of
//! other languages get nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use crate::kernel::{CodeRequest, KernelSpec};
use crate::question::Question;
use crate::runner::Asked;
use crate::startup::Startup;

/// Whether there is something of ours in a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guest {
    /// It is Python, so there is.
    Present,
    /// It is not.
    Absent,
}

/// The type of the message that tells of a refused `input()`. IPython's kernel has none for it.
pub(crate) const INPUT_REFUSED: &str = "inkcell_input_refused";

/// The expression that stands for our module, once it is loaded.
const MODULE: &str = "__import__('sys').modules['inkcell_runner.guest']";

/// The code that a kernel begins with: it leaves no name behind. These variables are set first.
pub(crate) fn startup(
    root: &Path,
    spec: &KernelSpec,
    env: &BTreeMap<String, String>,
    wires: Wires,
) -> String {
    let startup = &spec.startup;
    let module = |(name, path): &(String, PathBuf)| (name.clone(), path.display().to_string());
    let modules: Vec<(String, String)> = startup.modules.iter().map(module).collect();
    let options = json!({
        "env": env,
        "cwd": spec.cwd.display().to_string(),
        "prelude": startup.prelude.name(),
        "modules": modules,
        "preload": startup.preload,
        "lifeline": wires.lifeline,
        "host": wires.host,
    });
    format!("{}\n{MODULE}.begin(get_ipython(), {})", import(root), literal(&options.to_string()))
}

/// The code of a kernel that is to wait: what takes time and can be done before it is known for whom.
pub(crate) fn preparation(root: &Path, startup: &Startup, wires: Wires) -> String {
    let options = json!({
        "prelude": startup.prelude.name(),
        "preload": startup.preload,
        "lifeline": wires.lifeline,
        "host": wires.host,
    });
    format!("{}\n{MODULE}.prepare(get_ipython(), {})", import(root), literal(&options.to_string()))
}

/// A folder of ours comes first only while our package is imported, and leads nobody astray afterwards.
fn import(root: &Path) -> String {
    let root = literal(&root.display().to_string());
    format!(
        "__import__('sys').path.insert(0, {root})\n\
         try: __import__('inkcell_runner.guest')\n\
         finally: __import__('sys').path.remove({root})"
    )
}

/// Descriptors that the kernel was given, as it numbers them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wires {
    pub(crate) lifeline: i32,
    pub(crate) host: i32,
}

/// The expression that answers a question.
pub(crate) fn question(question: &Question) -> String {
    let asked = serde_json::to_string(&Asked::from(question)).unwrap_or_default();
    format!("{MODULE}.answer({})", literal(&asked))
}

/// What travels with a request: the variables to set or remove first, and where to go.
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

/// A text as Python writes it. What JSON escapes, Python reads the same way.
fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No text gets out of its quotes.
    #[test]
    fn a_text_stays_a_text() {
        assert_eq!(literal("a'b\"c\\d\n\u{0}é"), r#""a'b\"c\\d\n\u0000é""#);
    }
}
