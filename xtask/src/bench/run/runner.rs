//! Those who run notebooks: what each is called and the command that does it, in the folder of its notebook.
//!
//! Must not know how a command is timed, or what is in the notebook.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::bench::peers::Peer;

/// What is in the folder of everybody.
pub(super) const NOTEBOOK: &str = "notebook.ipynb";
pub(super) const SCRIPT: &str = "script.py";
pub(super) const DRAWING: &str = "drawing.py";
/// Where those leave the notebook that do not write in place.
const DONE: &str = "done.ipynb";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::bench) enum Runner {
    /// The code of the cells as a program.
    Script,
    /// The same, drawing its figures.
    Drawing,
    Inkcell,
    /// The same with Jupyter's own kernel, on its sockets or behind a server.
    OverZmq,
    OverGateway,
    /// That kernel alone: a script reads its messages and drops them.
    Raw,
    /// The same in a session of a host that is there, with a new kernel.
    Kept,
    Nbclient,
    Papermill,
    NbCli,
    Execute,
}

impl Runner {
    pub(in crate::bench) const fn name(self) -> &'static str {
        match self {
            Runner::Script => "plain script",
            Runner::Drawing => "plain script that draws its figures",
            Runner::Inkcell => "inkcell run",
            Runner::OverZmq => "inkcell run --backend zmq",
            Runner::OverGateway => "inkcell run --backend gateway",
            Runner::Raw => "raw reader of ipykernel",
            Runner::Kept => "inkcell run --keep --fresh, warm host with preload",
            Runner::Nbclient => "nbclient",
            Runner::Papermill => "papermill",
            Runner::NbCli => "nb-cli",
            Runner::Execute => "jupyter execute",
        }
    }

    /// The notebook as it is when this one is done; none where there is no notebook.
    pub(super) fn leaves(self) -> Option<&'static str> {
        match self {
            Runner::Script | Runner::Drawing | Runner::Raw => None,
            Runner::Papermill => Some(DONE),
            _ => Some(NOTEBOOK),
        }
    }
}

/// Where the programs are.
pub(in crate::bench) struct Programs {
    pub(in crate::bench) inkcell: PathBuf,
    pub(in crate::bench) python: PathBuf,
    pub(super) nb: Option<PathBuf>,
    pub(super) scripts: PathBuf,
}

impl Programs {
    /// Who could not be had has no command.
    pub(super) fn command(&self, runner: Runner) -> Option<Vec<OsString>> {
        let beside = |name: &str| self.python.with_file_name(name);
        let (program, args): (PathBuf, Vec<&str>) = match runner {
            Runner::Script => (self.python.clone(), vec![SCRIPT]),
            Runner::Drawing => (self.python.clone(), vec![DRAWING]),
            Runner::Inkcell => (self.inkcell.clone(), vec!["run", NOTEBOOK]),
            Runner::OverZmq => (self.inkcell.clone(), vec!["run", NOTEBOOK, "--backend", "zmq"]),
            Runner::OverGateway => {
                (self.inkcell.clone(), vec!["run", NOTEBOOK, "--backend", "gateway"])
            }
            Runner::Kept => (self.inkcell.clone(), vec!["run", "--keep", "--fresh", NOTEBOOK]),
            Runner::Nbclient | Runner::Raw => (self.python.clone(), Vec::new()),
            Runner::Papermill => (beside("papermill"), vec![NOTEBOOK, DONE]),
            Runner::NbCli => (self.nb.clone()?, vec!["execute", "--timeout", "600", NOTEBOOK]),
            Runner::Execute => (beside("jupyter"), vec!["execute", "--inplace", NOTEBOOK]),
        };
        let mut command = vec![program.into_os_string()];
        command.extend(args.into_iter().map(OsString::from));
        match runner {
            Runner::Nbclient | Runner::Raw => {
                let is_raw = runner == Runner::Raw;
                let name = if is_raw { "flood_raw.py" } else { "run_nbclient.py" };
                command.extend([self.scripts.join(name).into_os_string(), NOTEBOOK.into()]);
            }
            Runner::Inkcell | Runner::Kept | Runner::OverZmq | Runner::OverGateway => {
                command.extend(["--python".into(), self.python.clone().into()]);
            }
            _ => {}
        }
        Some(command)
    }

    /// One who takes part under this name. Those whose figures are held against a narrow limit, or cost little, run
    /// more often than the others.
    pub(super) fn peer(&self, runner: Runner, name: &'static str) -> Option<Peer> {
        let quick =
            matches!(runner, Runner::Script | Runner::Drawing | Runner::Inkcell | Runner::Kept);
        Some(Peer { name, command: self.command(runner)?, quick })
    }
}

/// The folder in which one of them works.
pub(in crate::bench) fn folder(root: &Path, name: &str) -> PathBuf {
    root.join("work").join(name.replace([' ', ','], "-"))
}
