//! `NotebookEdit`: cells replaced, inserted or deleted by their ids (B:N-30 to N-42).

use futures_util::FutureExt as _;
use inkcell_engine::notebook::{CellKind, visible_line};
use inkcell_engine::{IdEditPart, IdEditRequest};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::mcp::desk::{CallContext, Desk, Fault, Hints, Order, ToolError, ToolReply, ToolSpec};
use crate::mcp::tools::files::{self, on_disk};
use crate::mcp::tools::{decode, lean};
use crate::words;

pub(crate) static SPEC: ToolSpec = ToolSpec {
    name: "NotebookEdit",
    description: include_str!("by_id.md"),
    hints: Hints::changing("Edit a cell by id"),
    order: Order::File,
    schema: lean::schema::<Args>,
    call: |desk, given, context| call(desk, given, context).boxed(),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    notebook_path: String,
    #[schemars(with = "Option<String>")]
    cell_id: Option<Value>,
    // Words that are none of these are refused in the words of the documents, so they are read as texts.
    #[schemars(with = "Option<String>", extend("enum" = CellKind::NAMES))]
    cell_type: Option<String>,
    new_source: Option<String>,
    #[schemars(with = "Option<String>", extend("enum" = ["replace", "insert", "delete"]))]
    edit_mode: Option<String>,
    /// Of a replaced cell; default clear
    #[schemars(with = "Option<String>", extend("enum" = ["keep", "clear"]))]
    outputs: Option<String>,
    /// Keep the old file as .bak
    backup: Option<bool>,
    /// Instead of one edit
    edits: Option<Vec<Part>>,
    create: Option<bool>,
}

// One of several edits. The allowed words are listed above and not repeated.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Part {
    #[schemars(with = "Option<String>")]
    cell_id: Option<Value>,
    new_source: Option<String>,
    cell_type: Option<String>,
    edit_mode: Option<String>,
}

impl Part {
    fn request(self) -> Result<IdEditPart, ToolError> {
        let Part { cell_id, new_source, cell_type, edit_mode } = self;
        Ok(IdEditPart { cell_id: name(cell_id)?, new_source, cell_type, edit_mode })
    }
}

/// How a cell is named. Models write an index as a number.
fn name(given: Option<Value>) -> Result<Option<String>, ToolError> {
    match given {
        Some(Value::Number(index)) => Ok(Some(index.to_string())),
        Some(Value::String(id)) => Ok(Some(id)),
        None | Some(Value::Null) => Ok(None),
        Some(other) => Err(ToolError::argument(words::tool::no_cell(&other))),
    }
}

async fn call(desk: &Desk, given: Value, context: CallContext) -> Result<ToolReply, ToolError> {
    let args: Args = decode(given, &[("path", "notebook_path")])?;
    let notebooks = files::notebooks(desk);
    let edits: Option<Result<Vec<IdEditPart>, ToolError>> =
        args.edits.map(|parts| parts.into_iter().map(Part::request).collect());
    let request = IdEditRequest {
        notebook_path: args.notebook_path,
        cell_id: name(args.cell_id)?,
        cell_type: args.cell_type,
        new_source: args.new_source,
        edit_mode: args.edit_mode,
        outputs: args.outputs,
        backup: args.backup,
        edits: edits.transpose()?,
        create: args.create,
    };
    on_disk(&context, move || {
        let done = notebooks.edit_by_id(&request);
        let details = serde_json::to_value(&done).unwrap_or_default();
        let backup = done.backup.iter().map(|path| format!("\n  Backup: {}", visible_line(path)));
        let text = done.summary + &backup.collect::<String>();
        // Failing is part of the result, which says why (B:N-31).
        let is_error = !done.success;
        let fault = done.kind.map(Fault::Kind);
        Ok(ToolReply { is_error, fault, ..ToolReply::text(text).with_structured(details) })
    })
    .await
}
