//! `kernel`: lists sessions and does everything with them except running code.
//!
//! Owns the meaning of the arguments. The engine carries the verbs out; the wording of sessions is
//! in `view/sessions.rs`.

use futures_util::FutureExt;
use inkcell_engine::api::{KernelReport, KernelRequest};
use inkcell_engine::registry::Keep;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::kernel_choice::{BackendArg, in_session, wanted};
use super::running;
use super::session::{NEW, reference};
use super::{Alias, CallContext, Desk, Hints, Order, ToolError, ToolReply, ToolSpec, decode, lean};
use crate::view::sessions;

pub(crate) static SPEC: ToolSpec = ToolSpec {
    name: "kernel",
    description: include_str!("kernel.md"),
    hints: Hints::changing("Sessions and kernels"),
    order: Order::Control,
    schema: lean::schema::<Arguments>,
    call: |desk, given, context| call(desk, given, context).boxed(),
};

const ALIASES: [Alias; 2] = [("kernelId", "session"), ("command", "action")];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    action: Action,
    /// Session name.
    session: Option<String>,
    cwd: Option<String>,
    backend: Option<BackendArg>,
    /// Installed Jupyter kernel, or connection file of a running one.
    kernel: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Action {
    List,
    Start,
    Status,
    Interrupt,
    Restart,
    Stop,
    Keep,
    Unkeep,
}

async fn call(desk: &Desk, given: Value, context: CallContext) -> Result<ToolReply, ToolError> {
    let Arguments { action, session, cwd, backend, kernel } = decode(given, &ALIASES)?;
    // A call that starts a kernel without a name gets a new, unused name (B:Z-01).
    let named = match (action, session.as_deref()) {
        (Action::Start, None) => Some(NEW),
        (_, named) => named,
    };
    let mut session = reference(desk, named, cwd.as_deref())?;
    let (backend, kernel) = (backend.as_ref(), kernel.as_deref());
    session.wanted = match action {
        Action::Start => in_session(desk, named, (backend, kernel), &context).await?,
        _ => wanted(desk, backend, kernel)?,
    };
    let request = match action {
        Action::List => KernelRequest::List,
        Action::Start => KernelRequest::Start(session),
        Action::Status => KernelRequest::Status(session),
        Action::Interrupt => KernelRequest::Interrupt(session),
        Action::Restart => KernelRequest::Restart(session),
        Action::Stop => KernelRequest::Stop(session),
        Action::Keep => KernelRequest::Keep { session, keep: Keep::Always },
        Action::Unkeep => KernelRequest::Keep { session, keep: Keep::WhileUsed },
    };
    let acted = async { desk.ask(request, context.owner).await?.answer().await };
    let report = tokio::select! {
        report = acted => report?,
        // A kernel may take long to start.
        () = context.cancel.cancelled() => return Err(running::aborted()),
    };
    Ok(ToolReply::text(match (action, &report) {
        (Action::Restart, KernelReport::Started { session, notes }) => {
            sessions::restarted(session, notes)
        }
        (_, report) => sessions::report(report),
    }))
}

#[cfg(test)]
mod tests;
