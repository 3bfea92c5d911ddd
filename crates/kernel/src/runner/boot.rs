//! Starts Python for the runner: with Python's own variables, and without the user's folders on the path of modules.
//!
//! Owns the command line. What a runner is told afterwards is in `launch.rs`.

use std::os::fd::RawFd;
use std::process::{Command, Stdio};

use crate::runner::supply::Kind;

/// The purpose of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// The runner of one kernel.
    Runner,
    /// The process that kernels are copied from.
    ForkServer,
}

impl Role {
    /// Imports the runner from the folder in the first argument and hands it the others. What `-c` puts on the path is the
    /// working folder, whose files have no say in the start; `-P` would leave it out, but Python 3.10 has no such option.
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

/// Variables that say where Python looks for modules. They hold for the code of cells: the runner sets them when it has
/// imported what it needs itself.
const LATER: [&str; 3] = ["PYTHONPATH", "PYTHONHOME", "PYTHONPLATLIBDIR"];

/// The command of a process of this kind that speaks on these descriptors, in this order.
pub(super) fn command(
    role: Role,
    kind: &Kind,
    wires: impl IntoIterator<Item = RawFd>,
    preload: &[String],
) -> Command {
    let mut command = Command::new(&kind.python);
    command
        // The user's own packages come onto the path with `PYTHONPATH`.
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
