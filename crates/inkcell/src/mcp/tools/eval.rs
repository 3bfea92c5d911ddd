//! `eval`: cells with a language and a time limit of their own, as the source documents have it
//! (B:X-01).
//!
//! Owns its shape. Running is in `running.rs`.

use std::time::Duration;

use futures_util::FutureExt;
use inkcell_engine::api::{CellSource, KernelWishes};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::answer::Readers;
use super::details::Language;
use super::portion::Portion;
use super::python::{kernel, plain};
use super::running::{self, Code};
use super::seconds::{Seconds, Zero};
use super::session::{profile, resolve_place};
use super::{Alias, CallContext, Desk, Hints, Order, ToolError, ToolReply, ToolSpec};
use super::{answer, decode, lean};
use crate::words;

pub(crate) static SPEC: ToolSpec = ToolSpec {
    name: "eval",
    description: include_str!("eval.md"),
    hints: Hints::changing("Evaluate code").in_open_world(),
    order: Order::Session,
    schema: lean::schema::<Arguments>,
    call: |desk, given, context| call(desk, given, context).boxed(),
};

const ALIASES: [Alias; 0] = [];

/// The longest time of a cell, in seconds (B:X-02).
const MOST: u16 = 3600;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Run in order.
    #[schemars(length(min = 1))]
    cells: Vec<Cell>,
    max_bytes: Option<u64>,
    #[serde(default)]
    tail: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Cell {
    language: EvalLanguage,
    code: String,
    title: Option<String>,
    /// Seconds, 1 to 3600, default 30.
    timeout: Option<Seconds>,
    /// New kernel first.
    #[serde(default)]
    reset: bool,
}

/// The language of a cell.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[schemars(inline)]
enum EvalLanguage {
    #[serde(rename = "py", alias = "python")]
    Python,
}

async fn call(desk: &Desk, given: Value, context: CallContext) -> Result<ToolReply, ToolError> {
    let Arguments { cells, max_bytes, tail } = decode(given, &ALIASES)?;
    if cells.is_empty() {
        return Err(ToolError::argument(words::tool::NO_CELLS));
    }
    let usual = desk.settings.calls(profile(desk)).timeout;
    let mut notices = Vec::new();
    let cells: Vec<CellSource> =
        cells.into_iter().map(|cell| source(cell, usual, &mut notices)).collect();
    // Each cell has a time limit of its own, and the call has none.
    let code = Code {
        cells,
        place: resolve_place(desk, None, None)?,
        wanted: KernelWishes::default(),
        timeout: None,
        wait: None,
        shown: Portion::of(max_bytes, tail)?,
    };
    let mut followed = running::run(desk, code, context).await?;
    followed.asides.extend(notices);
    answer::of(desk, followed, Readers::Programs(Language("py"))).await
}

fn source(cell: Cell, usual: Option<Duration>, notices: &mut Vec<String>) -> CellSource {
    let Cell { language: EvalLanguage::Python, code, title, timeout, reset } = cell;
    let timeout = match timeout {
        None => usual,
        Some(given) => {
            let limited = given.within("a cell's timeout", 1, MOST, Zero::TooSmall);
            notices.extend(limited.notice);
            limited.limit
        }
    };
    CellSource { title, timeout, kernel: kernel(reset), ..plain(code) }
}
