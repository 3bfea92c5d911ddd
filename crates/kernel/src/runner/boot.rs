//! Starts Python for the runner: with Python's own variables, and without the user's folders on the module path.
//!
//! Owns the command line. `launch.rs` sends a runner its first command.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::environ::MANAGED;
use crate::kernel::{KernelSpec, Shell};

/// The properties that a runner must have before its user is known.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Kind {
    pub(crate) python: PathBuf,
    /// The environment without variables that each kernel or cell sets itself, or that differ from shell to shell.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) shell: Shell,
    pub(crate) preload: Vec<String>,
    pub(crate) root: PathBuf,
}

impl Kind {
    pub(crate) fn of(spec: &KernelSpec, root: &Path) -> Kind {
        let mut env = spec.env.clone();
        let varies =
            |name: &str| MANAGED.contains(&name) || ["PWD", "OLDPWD", "SHLVL", "_"].contains(&name);
        env.retain(|name, _| !varies(name));
        let (shell, preload) = (spec.startup.shell, spec.startup.preload.clone());
        Kind { python: spec.python.clone(), env, shell, preload, root: root.to_owned() }
    }
}

/// The purpose of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// The runner of one kernel.
    Runner,
    /// The process that forks kernels from itself.
    ForkServer,
}

impl Role {
    /// Imports the runner from the folder in the first argument and hands it the others. `-c` puts the working folder
    /// on the path, and its files must not affect the start. `-P` would leave it out, but Python 3.10 has no such
    /// option.
    fn program(self) -> String {
        let (module, call) = match self {
            Role::Runner => ("__main__", "start"),
            Role::ForkServer => ("zygote", "serve"),
        };
        format!(
            "import sys;sys.path[:]=[sys.argv[1],*filter(None,sys.path)];import inkcell_runner.{module} as m;\
             del sys.path[0];m.{call}(*sys.argv[2:])"
        )
    }
}

/// Variables that tell Python where to look for modules. They hold for the code of cells: the runner sets them once it
/// has imported what it needs itself.
const LATER: [&str; 3] = ["PYTHONPATH", "PYTHONHOME", "PYTHONPLATLIBDIR"];

/// The command of a process of this kind that communicates on these descriptors, in this order.
pub(super) fn command(
    role: Role,
    kind: &Kind,
    wires: impl IntoIterator<Item = RawFd>,
    preload: &[String],
) -> Command {
    let mut command = Command::new(&kind.python);
    command
        // Without the user's own packages, which come onto the path with `PYTHONPATH`.
        .args(["-s", "-c", &role.program()])
        .arg(&kind.root)
        .args(wires.into_iter().map(|fd| fd.to_string()))
        .arg(kind.shell.name())
        .arg(kind.env.get("PYTHONPATH").map_or("", String::as_str))
        .args(preload)
        .env_clear()
        .envs(kind.env.iter().filter(|(name, _)| !LATER.contains(&name.as_str())))
        .current_dir("/")
        .stdin(Stdio::null());
    command
}
