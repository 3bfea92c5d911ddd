//! The kernel that a tool call asks for, from the arguments `backend` and `kernel`.
//!
//! Owns the meaning of their words. The engine knows whether such a kernel exists.

use std::path::Path;

use inkcell_engine::api::{KernelChoice, KernelName, KernelWishes};
use inkcell_engine::kernel::BackendKind;
use inkcell_engine::{Kind, notebook_kernel};
use schemars::JsonSchema;
use serde::Deserialize;

use super::files::{notebooks, on_disk};
use super::session::{folder, notebook};
use super::{CallContext, Desk, ToolError};
use crate::words;

// Without a doc comment: it would be in the schema of each tool that takes it.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("enum" = BackendKind::NAMES))]
pub(crate) struct BackendArg(String);

/// The wish that these words are.
pub(crate) fn wanted(
    desk: &Desk,
    backend: Option<&BackendArg>,
    kernel: Option<&str>,
) -> Result<KernelWishes, ToolError> {
    let backend = backend.map(|BackendArg(name)| named(name)).transpose()?;
    let kernel = kernel.map(|given| kernel_choice(desk, given)).transpose()?;
    Ok(KernelWishes { backend, kernel, ..KernelWishes::default() })
}

/// The same for code that runs in a session. A notebook's own session begins with the kernel that the notebook asks
/// for, whichever call comes first.
pub(crate) async fn in_session(
    desk: &Desk,
    session: Option<&str>,
    (backend, kernel): (Option<&BackendArg>, Option<&str>),
    context: &CallContext,
) -> Result<KernelWishes, ToolError> {
    let mut wanted = wanted(desk, backend, kernel)?;
    if wanted.kernel.is_some() {
        return Ok(wanted);
    }
    let Some(path) = session.and_then(|given| notebook(desk, given)) else { return Ok(wanted) };
    let name = path.display().to_string();
    if desk.engine.sessions().iter().any(|listed| listed.key.name.0 == name) {
        return Ok(wanted);
    }
    let notebooks = notebooks(desk);
    // A file that cannot be read selects no kernel, and the tool that reads it reports the error.
    let says = on_disk(context, move || Ok(notebooks.read(&name).ok())).await?;
    wanted.kernel = says.as_ref().and_then(notebook_kernel);
    Ok(wanted)
}

fn named(name: &str) -> Result<BackendKind, ToolError> {
    BackendKind::from_name(name).ok_or_else(|| {
        let message = words::tool::no_backend(name);
        let next = Some(words::tool::LEAVE_BACKEND_OUT.to_owned());
        ToolError { kind: Kind::Invalid, message, next }
    })
}

/// An installed kernel by its name, or one that runs already by its connection file.
fn kernel_choice(desk: &Desk, given: &str) -> Result<KernelChoice, ToolError> {
    let given = given.trim();
    if given.is_empty() {
        let problem = words::tool::GIVE_KERNEL;
        return Err(ToolError::argument(problem).with_next(words::tool::LEAVE_KERNEL_OUT));
    }
    if given.ends_with(".json") {
        let file = folder(desk, Some(given));
        // A path that does not exist may be a name that Jupyter knows.
        let file = if file.exists() {
            file
        } else {
            desk.settings.connection_file(Path::new(given), &desk.cwd)
        };
        return Ok(KernelChoice::Existing(file));
    }
    Ok(KernelChoice::Named(KernelName(given.to_owned())))
}
