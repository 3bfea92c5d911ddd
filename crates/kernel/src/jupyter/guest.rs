//! Our code in a Python kernel: helpers, modules, variables, and answers to questions.
//!
//! Owns the code that is sent to the kernel. The Python side is `inkcell_runner/guest.py`. Kernels
//! of other languages get nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::error::LaunchError;
use crate::kernel::{CodeRequest, NamesWanted, Startup};
use crate::python::package::FILES;
use crate::question::Question;

/// Python code that imports our package from texts.
const CARRIER: &str = include_str!("carrier.py");

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

/// Message type that tells the names which a cell uses and makes. IPython's kernel has no type for
/// them.
pub(crate) const NAMES: &str = "inkcell_names";

/// Python expression for our module, once it is loaded.
const MODULE: &str = "__import__('sys').modules['inkcell_runner.guest']";

/// Set-up of a Python kernel before its first cell.
pub(crate) struct Setup<'a> {
    pub(crate) startup: &'a Startup,
    pub(crate) machine: Machine<'a>,
    /// Allows storing cells in the kernel's history.
    pub(crate) keeps_history: bool,
}

/// Machine on which the kernel runs.
pub(crate) enum Machine<'a> {
    /// This machine, with the same folders.
    Here {
        /// Folder of our package.
        root: &'a Path,
        /// Folder to work in; `None` leaves the choice to the kernel.
        cwd: Option<&'a Path>,
        env: Variables<'a>,
        wires: Option<Wires>,
    },
    /// Another machine. It gets no variable, folder or module of this one, and our package travels
    /// inside the code.
    Elsewhere,
}

/// Variables for a new kernel.
pub(crate) enum Variables<'a> {
    /// The kernel gets these beside its own.
    Add(&'a BTreeMap<String, String>),
    /// The kernel inherited variables of another host, which these replace.
    Replace(&'a BTreeMap<String, String>),
}

impl Setup<'_> {
    /// Returns the first code of a kernel, which leaves no name behind.
    pub(crate) fn code(&self) -> String {
        let mut options = options(self.startup);
        options["history"] = json!(self.keeps_history);
        let (mut cwd, mut modules) = (None, Vec::new());
        let load = match &self.machine {
            Machine::Elsewhere => carry(),
            Machine::Here { root, cwd: folder, env, wires } => {
                cwd = folder.map(|folder| folder.display().to_string());
                modules = named_modules(self.startup);
                if let Some(wires) = wires {
                    wires.add_to(&mut options);
                }
                match env {
                    Variables::Add(env) => {
                        options["env"] = json!(env);
                        import(root)
                    }
                    Variables::Replace(env) => {
                        let env = literal(&json!(env).to_string());
                        format!("{}\n{MODULE}.replace_environment({env})", import(root))
                    }
                }
            }
        };
        (options["cwd"], options["modules"]) = (json!(cwd), json!(modules));
        format!("{load}\n{MODULE}.begin(get_ipython(), {})", literal(&options.to_string()))
    }
}

/// Returns the code for a kernel that will wait for a launch: slow work that is the same for every
/// launch.
pub(crate) fn preparation(root: &Path, startup: &Startup, wires: Wires) -> String {
    let mut options = options(startup);
    wires.add_to(&mut options);
    format!("{}\n{MODULE}.prepare(get_ipython(), {})", import(root), literal(&options.to_string()))
}

/// Returns the error of a set-up that raised an exception.
pub(crate) fn setup_error(what_failed: &str, name: &str, value: String) -> LaunchError {
    // Our own code gives a reason in words; other exceptions are known by their name.
    let reason = match name {
        "ModuleLoadError" => value,
        _ => format!("{what_failed}: {name}: {value}"),
    };
    LaunchError::Startup { reason }
}

/// Returns the options that every kernel gets.
fn options(startup: &Startup) -> Value {
    json!({"prelude": startup.prelude.name(), "preload": startup.preload})
}

/// Returns the extension modules to load, as names and paths in text.
fn named_modules(startup: &Startup) -> Vec<(String, String)> {
    let text = |(name, path): &(String, PathBuf)| (name.clone(), path.display().to_string());
    startup.modules.iter().map(text).collect()
}

/// Puts our folder first on the path only while our package is imported, so that later imports do
/// not search it.
fn import(root: &Path) -> String {
    let root = literal(&root.display().to_string());
    format!(
        "__import__('sys').path.insert(0, {root})\n\
         try: __import__('inkcell_runner.guest')\n\
         finally: __import__('sys').path.remove({root})"
    )
}

/// Imports our package from texts in the code.
fn carry() -> String {
    let sources: serde_json::Map<String, Value> =
        FILES.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
    format!(
        "exec({carrier}, {{'sources': __import__('json').loads({sources})}})\n\
         __import__('inkcell_runner.guest')",
        carrier = literal(CARRIER),
        sources = literal(&Value::from(sources).to_string()),
    )
}

/// File descriptors that the kernel inherited, as it numbers them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wires {
    pub(crate) lifeline: i32,
    pub(crate) host: i32,
}

impl Wires {
    fn add_to(self, options: &mut Value) {
        (options["lifeline"], options["host"]) = (json!(self.lifeline), json!(self.host));
    }
}

/// Returns the Python expression that answers a question.
pub(crate) fn question(question: &Question) -> String {
    let asked = serde_json::to_string(question).unwrap_or_default();
    format!("{MODULE}.answer({})", literal(&asked))
}

/// Returns the metadata of a request: whether to tell names at the end, and, if the kernel takes
/// settings, the variables to set or remove first and the folder to work in.
pub(crate) fn metadata(request: &CodeRequest, takes_settings: bool) -> Value {
    let names = request.names == NamesWanted::Yes;
    let settings = Some(request).filter(|_| takes_settings);
    let cwd = settings.and_then(|request| request.cwd.as_ref());
    let env = settings.into_iter().flat_map(|request| &request.env);
    let env: serde_json::Map<String, Value> =
        env.map(|(name, value)| (name.clone(), json!(value))).collect();
    if env.is_empty() && cwd.is_none() && !names {
        return json!({});
    }
    json!({"inkcell": {"env": env, "cwd": cwd, "names": names}})
}

/// Returns a text as a Python literal. Python reads the escapes of JSON in the same way.
fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Prelude, Shell};

    /// No text breaks out of its quotes.
    #[test]
    fn a_text_stays_a_text() {
        assert_eq!(literal("a'b\"c\\d\n\u{0}é"), r#""a'b\"c\\d\n\u0000é""#);
    }

    /// S-022: a kernel on another machine learns no path and no variable of this one.
    #[test]
    fn a_kernel_elsewhere_gets_nothing_of_this_machine() {
        let env = BTreeMap::from([("TOKEN".to_owned(), "secret-value".to_owned())]);
        let startup = Startup {
            shell: Shell::IPython,
            prelude: Prelude::Full,
            modules: vec![("mine".to_owned(), "/of-this-machine/mine.py".into())],
            preload: vec!["json".to_owned()],
        };
        let code = |machine| Setup { startup: &startup, machine, keeps_history: false }.code();
        let cwd = Some(Path::new("/of-this-machine/work"));
        for env in [Variables::Add(&env), Variables::Replace(&env)] {
            let here =
                code(Machine::Here { root: Path::new("/of-this-machine"), cwd, env, wires: None });
            for told in ["secret-value", "/of-this-machine/mine.py", "/of-this-machine/work"] {
                assert!(here.contains(told), "{told}: {here}");
            }
        }
        let elsewhere = code(Machine::Elsewhere);
        assert!(elsewhere.contains("inkcell_runner"));
        assert!(!elsewhere.contains("secret-value") && !elsewhere.contains("/of-this-machine"));
    }
}
