//! What is put into a Python kernel on a gateway: the same as into one of our own, as far as it makes sense.
//!
//! Owns the code that is sent for it, and who may get what: a kernel on another machine gets no variable of
//! ours, and our package travels with the code.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::gateway::contents::ContentsPath;
use crate::gateway::error::Whose;
use crate::gateway::near::Seen;
use crate::kernel::KernelSpec;
use crate::runner::FILES;

/// Where kernels of a gateway are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// On this machine, with its folders.
    Here,
    /// Somewhere else.
    Elsewhere,
    /// That is not known. A kernel is asked, and counts as elsewhere unless it proves to be here.
    Unknown,
}

/// The expression that stands for our module, once it is loaded.
const MODULE: &str = "__import__('sys').modules['inkcell_runner.guest']";

/// Imports our package from texts.
const CARRIER: &str = include_str!("carrier.py");

/// What a kernel says about where it is: process and when that began, machine, namespace of processes, interpreter.
pub(crate) const WHERE: &str = "(lambda os, sys: '|'.join([str(os.getpid()), \
    open('/proc/self/stat').read().rpartition(')')[2].split()[19], \
    open('/proc/sys/kernel/random/boot_id').read().strip(), os.readlink('/proc/self/ns/pid'), \
    sys.executable]) if os.path.exists('/proc/self/ns/pid') else '||||' + sys.executable)\
    (__import__('os'), __import__('sys'))";

/// What a kernel says that sees the files of this machine: which start of the machine, which files, whose.
pub(crate) const WHOSE: &str = "(lambda os: '|'.join([\
    open('/proc/sys/kernel/random/boot_id').read().strip(), os.readlink('/proc/self/ns/mnt'), \
    str(os.geteuid())]) if os.path.exists('/proc/self/ns/mnt') else '')(__import__('os'))";

/// Where a kernel is that answered [`WHOSE`] with this. One of another user is not ours to tell anything.
pub(crate) fn place(shown: &str) -> Place {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let files = std::fs::read_link("/proc/self/ns/mnt").unwrap_or_default();
    let user = rustix::process::geteuid().as_raw();
    let ours = format!("{}|{}|{user}", boot.trim(), files.display());
    let is_known = !boot.trim().is_empty() && !files.as_os_str().is_empty();
    let is_here = is_known && shown.trim_matches(['\'', '"']) == ours;
    if is_here { Place::Here } else { Place::Elsewhere }
}

/// The code that a kernel on this machine begins with: it leaves no name behind. On a gateway that is shared, the
/// kernel has the variables of whichever host started that, and they are not for this one. One that is for a notebook
/// of its server stays where the server put it.
pub(crate) fn here(
    root: &Path,
    spec: &KernelSpec,
    whose: Whose,
    beside: Option<&ContentsPath>,
) -> String {
    let take = match whose {
        Whose::Shared => "replace_environment",
        Whose::External => "add_environment",
    };
    let module = |(name, path): &(String, PathBuf)| (name.clone(), path.display().to_string());
    let modules: Vec<(String, String)> = spec.startup.modules.iter().map(module).collect();
    let cwd = beside.is_none().then(|| spec.cwd.display().to_string());
    let options = options(spec, &json!(cwd), &json!(modules));
    format!(
        "__import__('sys').path.insert(0, {root})\n\
         try: __import__('inkcell_runner.guest')\n\
         finally: __import__('sys').path.remove({root})\n\
         {MODULE}.{take}({env})\n\
         {MODULE}.begin(get_ipython(), {options})",
        env = literal(&json!(spec.env).to_string()),
        root = literal(&root.display().to_string()),
        options = literal(&options.to_string()),
    )
}

/// The same for one that is somewhere else.
pub(crate) fn elsewhere(spec: &KernelSpec) -> String {
    let options = options(spec, &Value::Null, &json!([]));
    let sources: serde_json::Map<String, Value> =
        FILES.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
    format!(
        "exec({carrier}, {{'sources': __import__('json').loads({sources})}})\n\
         __import__('inkcell_runner.guest')\n\
         {MODULE}.begin(get_ipython(), {options})",
        carrier = literal(CARRIER),
        sources = literal(&Value::from(sources).to_string()),
        options = literal(&options.to_string()),
    )
}

fn options(spec: &KernelSpec, cwd: &Value, modules: &Value) -> Value {
    let startup = &spec.startup;
    // The server started the kernel with the history file of its user. Cells of an agent do not belong there.
    json!({"cwd": cwd, "prelude": startup.prelude.name(), "modules": modules, "preload": startup.preload,
           "history": false})
}

/// A text as Python writes it. What JSON escapes, Python reads the same way.
fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

/// Where a kernel is that answered [`WHERE`] with this, and the interpreter.
pub(crate) fn found(shown: &str, ours: &Namespace) -> (Option<Seen>, String) {
    let shown = shown.trim_matches(['\'', '"']);
    let mut parts = shown.splitn(5, '|');
    let mut part = || parts.next().unwrap_or("");
    let (pid, began, boot) = (part(), part(), part());
    let (namespace, executable) = (part(), part());
    let is_ours = !boot.is_empty() && boot == ours.boot && namespace == ours.pids;
    let seen = pid.parse().ok().map(|pid| Seen { pid, began: began.to_owned() });
    (seen.filter(|_| is_ours), executable.to_owned())
}

/// Which processes we see.
pub(crate) struct Namespace {
    boot: String,
    pids: String,
}

impl Namespace {
    pub(crate) fn ours() -> Namespace {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let pids = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        Namespace { boot: boot.trim().to_owned(), pids: pids.display().to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S-022: what is not proven to be here is elsewhere, and gets nothing of ours.
    #[test]
    fn a_place_is_proven() {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let files = std::fs::read_link("/proc/self/ns/mnt").unwrap();
        let user = rustix::process::geteuid().as_raw();
        let shown = |user: u32| format!("'{}|{}|{user}'", boot.trim(), files.display());
        assert_eq!(place(&shown(user)), Place::Here);
        for other in [shown(user + 1), String::new(), "''".to_owned(), "'||0'".to_owned()] {
            assert_eq!(place(&other), Place::Elsewhere, "{other}");
        }
    }

    /// S-022: only a process that we can see has a number for us.
    #[test]
    fn a_process_is_ours_only_on_our_machine() {
        let ours = Namespace { boot: "b".to_owned(), pids: "pid:[1]".to_owned() };
        let check = |shown: &str, wanted: (Option<u32>, &str)| {
            let (seen, executable) = found(shown, &ours);
            let pid = seen.map(|Seen { pid, began }| (pid, began));
            let wanted = (wanted.0.map(|pid| (pid, "99".to_owned())), wanted.1);
            assert_eq!((pid, executable.as_str()), wanted, "{shown}");
        };
        check("'12|99|b|pid:[1]|/usr/bin/py'", (Some(12), "/usr/bin/py"));
        check("'12|99|other|pid:[1]|/usr/bin/py'", (None, "/usr/bin/py"));
        check("'12|99|b|pid:[2]|/usr/bin/py'", (None, "/usr/bin/py"));
        check("'||||C:/py'", (None, "C:/py"));
        check("", (None, ""));
    }
}
