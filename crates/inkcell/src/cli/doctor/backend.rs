//! Whether the backend that is set has what it needs on this machine. The runner needs a Python and nothing else, and a
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

/// The same question that decides whether an agent is offered Python, and what is in the folder may be run for it.
pub(super) async fn check(args: &PythonArgs, settings: &Settings, cwd: PathBuf) -> Option<Check> {
    // What is wrong with the settings of a gateway is told by its own check.
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
