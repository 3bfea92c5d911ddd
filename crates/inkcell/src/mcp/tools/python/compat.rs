//! The arguments of `python` as the source documents have them (B:X-01): `kernelId` names the session, and schemas show
//! no arguments of our own.
//!
//! Owns their shape. They mean the same as in the default profile.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Alias, Seconds};

/// Other names.
pub(super) const ALIASES: [Alias; 2] = [("session", "kernelId"), ("workdir", "cwd")];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Cells, run in order; the first that fails stops the call.
    cells: Option<Vec<Cell>>,
    /// In place of cells: the code of one.
    code: Option<String>,
    /// Seconds for the whole call, 1 to 600, default 30.
    timeout: Option<Seconds>,
    /// Working folder.
    cwd: Option<String>,
    /// New kernel before the first cell.
    #[serde(default)]
    reset: bool,
    /// Session id; "new" makes one.
    #[serde(rename = "kernelId")]
    kernel_id: Option<String>,
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
}

impl From<Arguments> for super::Arguments {
    fn from(given: Arguments) -> super::Arguments {
        let Arguments { cells, code, timeout, cwd, reset, kernel_id, max_bytes, tail } = given;
        let cell = |Cell { code, title }| super::Cell { code, title, reset: false, timeout: None };
        super::Arguments {
            code,
            cells: cells.map(|cells| cells.into_iter().map(cell).collect()),
            path: None,
            cell: None,
            session: kernel_id,
            cwd,
            timeout,
            wait: None,
            reset,
            backend: None,
            max_bytes,
            tail,
        }
    }
}
