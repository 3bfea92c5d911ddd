//! Checks whether the selected backend has what it needs on this machine. The runner needs only a Python, and a
//! gateway that is elsewhere has a check of its own.

use std::path::PathBuf;

use inkcell_engine::kernel::Workspace;
use inkcell_engine::{GatewayChoice, Needed};

use super::super::python;
use super::Check;
use crate::args::PythonArgs;
use crate::backends::needed;
use crate::settings::{Key, Profile, Settings};

const WHAT: &str = "backend";

/// The check that decides whether agents are offered Python, except that it may run interpreters from the workspace.
pub(super) async fn check(args: &PythonArgs, settings: &Settings, cwd: PathBuf) -> Option<Check> {
    // Wrong settings of a gateway are reported by its own check.
    let needed = needed(settings, Profile::Default).ok()?;
    let found = match &needed {
        Needed::Zmq => "zmq; ipykernel is installed",
        Needed::Gateway(GatewayChoice::Local(_)) => {
            "gateway; kernel_gateway and ipykernel are installed"
        }
        Needed::Runner | Needed::Gateway(GatewayChoice::External(_)) => return None,
    };
    let search = python::search(args, settings, cwd);
    let checked = needed.check(&python::finder(settings), &search, &Workspace::none()).await;
    Some(match checked {
        Ok(()) => {
            let source = &settings.resolved.get(Key::PythonBackend).source;
            Check::ok(WHAT, format!("{found} (set by {source})"))
        }
        Err(error) => Check::of_error(WHAT, &error),
    })
}
