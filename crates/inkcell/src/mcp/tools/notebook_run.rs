//! `notebook_run`: runs cells of a notebook in its session, with their outputs in the file.
//!
//! Owns the meaning of the arguments. Running is in `running.rs`, the wording about cells in
//! `view/reply/notebook.rs`.

use futures_util::FutureExt;
use inkcell_engine::api::{CellChoice, NeededCells, OnError, RunRequest, json_parameters};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::answer::Readers;
use super::kernel_choice::{BackendArg, wanted};
use super::portion::Portion;
use super::python::kernel;
use super::running::LONGEST_WAIT;
use super::seconds::{Seconds, Zero};
use super::{Alias, CallContext, Desk, Hints, Order, ToolError, ToolReply, ToolSpec};
use super::{answer, decode, files, lean, running};
use crate::words;

pub(crate) static SPEC: ToolSpec = ToolSpec {
    name: "notebook_run",
    description: include_str!("notebook_run.md"),
    hints: Hints::changing("Run a notebook").in_open_world(),
    order: Order::File,
    schema: lean::schema::<Arguments>,
    call: |desk, given, context| call(desk, given, context).boxed(),
};

const ALIASES: [Alias; 5] = [
    ("notebook_path", "path"),
    ("file_path", "path"),
    ("cell", "cells"),
    ("cell_id", "cells"),
    ("reset", "fresh"),
];

/// The longest time of a cell, in seconds: a little more than 18 hours. 0 is for cells that need more.
const MOST: u16 = u16::MAX;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    /// Only these, such as 0,3-5,ab12; or stale
    #[serde(default, deserialize_with = "files::list")]
    #[schemars(with = "Option<String>")]
    cells: Option<String>,
    /// First cell
    #[serde(default, deserialize_with = "files::list")]
    #[schemars(with = "Option<String>")]
    from: Option<String>,
    /// Last cell
    #[serde(default, deserialize_with = "files::list")]
    #[schemars(with = "Option<String>")]
    to: Option<String>,
    parameters: Option<Map<String, Value>>,
    /// First run what these need; false: without it
    with_needed: Option<bool>,
    #[serde(default)]
    fresh: bool,
    on_error: Option<OnErrorArg>,
    /// Seconds for each cell; no limit by default
    timeout: Option<Seconds>,
    /// Seconds until the answer, default 45; the run continues
    wait: Option<Seconds>,
    /// Write here, leave path alone
    output: Option<String>,
    backend: Option<BackendArg>,
    /// Installed kernel, if not the notebook's
    kernel: Option<String>,
    max_bytes: Option<u64>,
    #[serde(default)]
    tail: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum OnErrorArg {
    Stop,
    Continue,
}

/// The reaction to a cell that failed, as a model asks for it.
pub(super) fn on_error(given: Option<OnErrorArg>) -> OnError {
    match given {
        None => OnError::Usual,
        Some(OnErrorArg::Stop) => OnError::Stop,
        Some(OnErrorArg::Continue) => OnError::GoOn,
    }
}

/// How a run treats needed cells. A model learns of `false` from the error that it avoids.
pub(super) fn needed(with_needed: Option<bool>) -> NeededCells {
    match with_needed {
        None => NeededCells::MustHaveRun,
        Some(true) => NeededCells::RunFirst,
        Some(false) => NeededCells::LeaveOut,
    }
}

async fn call(desk: &Desk, given: Value, context: CallContext) -> Result<ToolReply, ToolError> {
    let arguments: Arguments = decode(given, &ALIASES)?;
    let shown = Portion::of(arguments.max_bytes, arguments.tail)?;
    let timeout = arguments.timeout;
    let limited = timeout.map(|given| given.within("timeout", 1, MOST, Zero::NoLimit));
    let (cell_timeout, notice) =
        limited.map_or((None, None), |limited| (limited.limit, limited.notice));
    let too_deep = || ToolError::argument(words::parameters::ARGUMENT_TOO_DEEP);
    let parameters = arguments.parameters.unwrap_or_default();
    let parameters = json_parameters(&parameters).ok_or_else(too_deep)?;
    let request = RunRequest {
        parameters,
        output: arguments.output,
        cells: CellChoice {
            list: arguments.cells,
            from: arguments.from,
            to: arguments.to,
            side: None,
        },
        kernel: kernel(arguments.fresh),
        on_error: on_error(arguments.on_error),
        needed: needed(arguments.with_needed),
        cell_timeout,
        wait: arguments.wait.map(|wait| wait.at_most(LONGEST_WAIT)),
        wanted: wanted(desk, arguments.backend.as_ref(), arguments.kernel.as_deref())?,
        ..RunRequest::of(arguments.path)
    };
    let mut followed = running::run_notebook(desk, request, shown, context).await?;
    followed.asides.extend(notice);
    answer::of(desk, followed, Readers::Model).await
}

#[cfg(test)]
mod tests;
