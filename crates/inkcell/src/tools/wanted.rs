//! Which kernel a tool call wants, from the arguments `backend` and `kernel`.
//!
//! Owns what their words mean. Whether there is such a kernel is for the engine.

use inkcell_engine::Kind;
use inkcell_engine::api::{KernelChoice, KernelName, Wanted};
use inkcell_engine::kernel::BackendKind;
use schemars::JsonSchema;
use serde::Deserialize;

use super::session::folder;
use super::{Desk, ToolError};

/// What makes a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("enum" = ["runner", "zmq", "gateway"]))]
pub(crate) struct BackendArg(String);

/// The wish that these words are.
pub(crate) fn wanted(
    desk: &Desk,
    backend: Option<&BackendArg>,
    kernel: Option<&str>,
) -> Result<Wanted, ToolError> {
    let backend = backend.map(|BackendArg(name)| named(name)).transpose()?;
    let kernel = kernel.map(|given| kernel_choice(desk, given)).transpose()?;
    Ok(Wanted { interpreter: None, backend, kernel })
}

fn named(name: &str) -> Result<BackendKind, ToolError> {
    match name {
        "runner" => Ok(BackendKind::Runner),
        "zmq" => Ok(BackendKind::Zmq),
        "gateway" => Ok(BackendKind::Gateway),
        other => {
            let message = format!("backend: there is no backend {other:?}");
            Err(ToolError { kind: Kind::Invalid, message, next: next() })
        }
    }
}

fn next() -> Option<String> {
    Some("leave backend out, or give runner, zmq or gateway".to_owned())
}

/// An installed kernel by its name, or one that runs already by its connection file.
fn kernel_choice(desk: &Desk, given: &str) -> Result<KernelChoice, ToolError> {
    let given = given.trim();
    if given.is_empty() {
        let problem = "kernel: give the name of an installed kernel, or a connection file";
        return Err(ToolError::argument(problem).with_next("leave kernel out for Python"));
    }
    if given.ends_with(".json") {
        return Ok(KernelChoice::Existing(folder(desk, Some(given))));
    }
    Ok(KernelChoice::Named(KernelName(given.to_owned())))
}
