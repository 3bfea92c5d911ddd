//! `inspect`: looks at the names of a session without running code.
//!
//! Owns the meaning of the arguments. The kernel decides what is visible; the wording is in `view/inspection.rs`.

use std::time::Duration;

use futures_util::FutureExt;
use inkcell_engine::api::{Inspect, InspectRequest};
use inkcell_engine::notebook::visible_line;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::running::aborted;
use super::session::{notebook, reference};
use super::{
    Alias, CallContext, Desk, Hints, Order, ToolError, ToolReply, ToolSpec, Turn, decode, lean,
};
use crate::view::inspection;
use crate::words;

pub(crate) static SPEC: ToolSpec = ToolSpec {
    name: "inspect",
    description: include_str!("inspect.md"),
    hints: Hints::reading("Look at variables"),
    order: Order::Session,
    schema: lean::schema::<Arguments>,
    call: |desk, given, context| call(desk, given, context).boxed(),
};

const ALIASES: [Alias; 3] =
    [("kernelId", "session"), ("notebook_path", "path"), ("cursor_pos", "cursor")];

/// The name under which all helpers are found.
const PRELUDE: &str = "prelude";

/// How many variables one answer names.
const VARIABLES: u32 = 100;

/// How long code that was sent before is waited for. Code that takes longer is reported as busy.
const BEHIND: Duration = Duration::from_secs(2);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Session name.
    session: Option<String>,
    /// A notebook: its session.
    path: Option<String>,
    cwd: Option<String>,
    /// A variable, with attributes and constant subscripts: model.layers[0]. "prelude": all helpers.
    name: Option<String>,
    /// A name to explain.
    help: Option<String>,
    /// Code to complete.
    code: Option<String>,
    /// Where in code, in characters; default its end.
    cursor: Option<usize>,
}

async fn call(desk: &Desk, given: Value, context: CallContext) -> Result<ToolReply, ToolError> {
    let Arguments { session, path, cwd, name, help, code, cursor } = decode(given, &ALIASES)?;
    let what = match (name, help, code) {
        (Some(name), None, None) if name == PRELUDE => Inspect::Help { name },
        (Some(name), None, None) => Inspect::Name { name },
        (None, Some(name), None) => Inspect::Help { name },
        (None, None, Some(code)) => Inspect::Complete { code, cursor },
        (None, None, None) => Inspect::Variables { limit: Some(VARIABLES) },
        _ => {
            return Err(ToolError::argument(words::tool::MORE_THAN_ONE_THING)
                .with_next(words::tool::ONE_THING));
        }
    };
    let session = match (session, path) {
        (session, None) => session,
        (None, Some(path)) => Some(of_notebook(desk, path)?),
        (Some(_), Some(_)) => {
            return Err(
                ToolError::argument(words::tool::PATH_AND_SESSION).with_next(words::tool::GIVE_ONE)
            );
        }
    };
    let session = reference(desk, session.as_deref(), cwd.as_deref())?;
    let request = InspectRequest { session, what, wait: None, behind: Some(BEHIND) };
    let inspected = async {
        let question = desk.ask(request, context.owner).await?;
        // The question has its place in the session, so the next request may take its own.
        context.turn.iter().for_each(Turn::begin);
        question.answer().await
    };
    let report = tokio::select! {
        report = inspected => report?,
        () = context.cancel.cancelled() => return Err(aborted()),
    };
    Ok(ToolReply::text(inspection::of(&report.seen)))
}

/// A notebook's session has its name.
fn of_notebook(desk: &Desk, path: String) -> Result<String, ToolError> {
    match notebook(desk, &path) {
        Some(_) => Ok(path),
        None => Err(ToolError::argument(words::tool::no_notebook(&visible_line(&path)))),
    }
}

#[cfg(test)]
mod tests;
