//! `python`: runs cells in a session that remembers.
//!
//! Owns the meaning of the arguments. Their shape in the source documents is in `python/compat.rs`, running is in
//! `running.rs`.

mod compat;

use std::time::Duration;

use super::kernel_choice::{BackendArg, in_session};
use futures_util::FutureExt;
use inkcell_engine::api::{CellKernel, CellSource, KernelChoice};
use inkcell_engine::notebook::{CellKind, CellRef, visible_line};
use inkcell_engine::{EngineError, OpenNotebook, notebook_kernel};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::answer::Readers;
use super::details::Language;
use super::files::{notebooks, on_disk};
use super::portion::Portion;
use super::running::{self, Code, LONGEST_WAIT};
use super::seconds::{Seconds, TimeLimit, Zero};
use super::session::{profile, resolve_place};
use super::{Alias, CallContext, Desk, Hints, Order, ToolError, ToolReply, ToolSpec};
use super::{answer, decode, lean};
use crate::mcp::exposure::Exposure;
use crate::settings::Profile;
use crate::words;

pub(crate) static SPEC: ToolSpec = ToolSpec {
    name: "python",
    description: include_str!("python.md"),
    hints: Hints::changing("Run Python").in_open_world(),
    order: Order::Session,
    schema,
    call: |desk, given, context| call(desk, given, context).boxed(),
};

/// Other names: those of the source documents.
const ALIASES: [Alias; 4] =
    [("kernelId", "session"), ("workdir", "cwd"), ("notebook_path", "path"), ("cell_id", "cell")];

/// The arguments that the schema shows to a client with this exposure.
fn schema(exposure: &Exposure) -> Value {
    match exposure.profile() {
        Profile::Compat => lean::schema::<compat::Arguments>(exposure),
        _ => lean::schema::<Arguments>(exposure),
    }
}

/// The longest time of a call, in seconds (B:X-02).
const MOST: u16 = 600;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Code of one cell.
    code: Option<String>,
    cells: Option<Vec<Cell>>,
    /// A notebook, with cell; not changed.
    path: Option<String>,
    /// Its cell, by id or index.
    cell: Option<Reference>,
    /// Session name; "new" makes one.
    session: Option<String>,
    /// Working folder.
    cwd: Option<String>,
    /// Seconds for the whole call, 1 to 600, default 30; 0: no limit.
    timeout: Option<Seconds>,
    /// Seconds until the answer, default timeout, at most 45; the code continues.
    wait: Option<Seconds>,
    #[serde(default)]
    reset: bool,
    backend: Option<BackendArg>,
    max_bytes: Option<u64>,
    #[serde(default)]
    tail: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Cell {
    code: String,
    title: Option<String>,
    #[serde(default)]
    reset: bool,
    /// Seconds.
    timeout: Option<Seconds>,
}

// Not a doc comment: one on the type would be sent to every model.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum Reference {
    Index(i64),
    Id(String),
}

async fn call(desk: &Desk, given: Value, context: CallContext) -> Result<ToolReply, ToolError> {
    let arguments = match profile(desk) {
        Profile::Compat => decode::<compat::Arguments>(given, &compat::ALIASES)?.into(),
        _ => decode::<Arguments>(given, &ALIASES)?,
    };
    let zero = match profile(desk) {
        Profile::Compat => Zero::TooSmall,
        _ => Zero::NoLimit,
    };
    let mut notices = Vec::new();
    let timeout = match arguments.timeout {
        None => desk.settings.calls(profile(desk)).timeout,
        Some(given) => taken(given.within("timeout", 1, MOST, zero), &mut notices),
    };
    let code = Code {
        cells: cells(desk, &arguments, &context, zero, &mut notices).await?,
        place: resolve_place(desk, arguments.session.as_deref(), arguments.cwd.as_deref())?,
        wanted: in_session(
            desk,
            arguments.session.as_deref(),
            (arguments.backend.as_ref(), None),
            &context,
        )
        .await?,
        timeout,
        wait: arguments.wait.map(|wait| wait.at_most(LONGEST_WAIT)),
        shown: Portion::of(arguments.max_bytes, arguments.tail)?,
    };
    let mut followed = running::run(desk, code, context).await?;
    followed.asides.extend(notices);
    let readers = match profile(desk) {
        Profile::Compat => Readers::Programs(Language("python")),
        _ => Readers::Model,
    };
    answer::of(desk, followed, readers).await
}

fn taken(limited: TimeLimit, notices: &mut Vec<String>) -> Option<Duration> {
    notices.extend(limited.notice);
    limited.limit
}

async fn cells(
    desk: &Desk,
    arguments: &Arguments,
    context: &CallContext,
    zero: Zero,
    notices: &mut Vec<String>,
) -> Result<Vec<CellSource>, ToolError> {
    let Arguments { code, cells, path, cell, session, .. } = arguments;
    let mut cells = match (code, cells, path, cell) {
        (Some(code), None, None, None) => vec![plain(code.clone())],
        (None, Some(cells), None, None) if cells.is_empty() => {
            return Err(ToolError::argument(words::tool::NO_CELLS));
        }
        (None, Some(cells), None, None) => {
            let source = |cell: &Cell| CellSource {
                title: cell.title.clone(),
                timeout: cell.timeout.and_then(|timeout| {
                    taken(timeout.within("a cell's timeout", 1, MOST, zero), notices)
                }),
                kernel: kernel(cell.reset),
                ..plain(cell.code.clone())
            };
            cells.iter().map(source).collect()
        }
        (None, None, Some(path), Some(cell)) => {
            vec![of_notebook(desk, path, cell, (session.as_deref(), context)).await?]
        }
        (None, None, Some(_), None) => {
            let problem = words::tool::SAY_CELL;
            return Err(ToolError::argument(problem));
        }
        (None, None, None, Some(_)) => {
            return Err(ToolError::argument(words::tool::SAY_NOTEBOOK));
        }
        (None, None, None, None) => {
            return Err(ToolError::argument(words::tool::NO_CODE).with_next(ways(desk)));
        }
        _ => {
            let problem = words::tool::CODE_TWICE;
            return Err(ToolError::argument(problem).with_next(ways(desk)));
        }
    };
    if let (true, Some(first)) = (arguments.reset, cells.first_mut()) {
        first.kernel = CellKernel::Fresh;
    }
    Ok(cells)
}

/// The ways to give code.
fn ways(desk: &Desk) -> &'static str {
    match profile(desk) {
        Profile::Compat => words::tool::WAYS_COMPAT,
        _ => words::tool::WAYS,
    }
}

pub(crate) fn plain(code: String) -> CellSource {
    CellSource { code, title: None, timeout: None, kernel: CellKernel::Same }
}

/// Whether a cell begins with a new kernel.
pub(crate) fn kernel(reset: bool) -> CellKernel {
    if reset { CellKernel::Fresh } else { CellKernel::Same }
}

/// The language of a notebook that is not for Python.
fn other_language(opened: &OpenNotebook) -> Option<String> {
    match notebook_kernel(opened)? {
        KernelChoice::OfNotebook { language: Some(language), .. } => {
            (!language.to_lowercase().contains("python")).then_some(language)
        }
        _ => None,
    }
}

/// The source of a cell of a notebook, which is only read.
async fn of_notebook(
    desk: &Desk,
    path: &str,
    cell: &Reference,
    (session, context): (Option<&str>, &CallContext),
) -> Result<CellSource, ToolError> {
    let cell = match cell {
        Reference::Index(index) => CellRef::Index(*index),
        Reference::Id(id) => CellRef::Text(id.clone()),
    };
    let (notebooks, path) = (notebooks(desk), path.to_owned());
    let runs_python = session.is_none();
    on_disk(context, move || {
        let opened = notebooks.read(&path)?;
        if let (true, Some(language)) = (runs_python, other_language(&opened)) {
            let path = visible_line(&path);
            let problem = words::tool::other_language(&path, &language);
            let next = words::tool::RUN_WITH_NOTEBOOK_RUN;
            return Err(ToolError::argument(problem).with_next(next));
        }
        let wrong = |error| EngineError::Ref { path: path.clone(), error };
        let index = opened.notebook.find(&cell).map_err(wrong)?;
        let view = opened.notebook.cell(index);
        let Some(code) = view.filter(|view| view.kind() == Some(CellKind::Code)) else {
            let kind = view.map(|view| view.kind_name().into_owned()).unwrap_or_default();
            let (cell, path) = (cell.text(), visible_line(&path));
            let problem = words::tool::not_code_cell(&cell, &path, &kind);
            return Err(ToolError::argument(problem));
        };
        let title = Some(format!("{} {}", visible_line(&path), code.name()));
        Ok(CellSource { title, ..plain(code.source().text.into_owned()) })
    })
    .await
}

#[cfg(test)]
mod tests;
