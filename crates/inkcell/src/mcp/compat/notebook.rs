//! `notebook`: one cell edited, inserted or deleted by its position (B:N-10 to N-20).

use futures_util::FutureExt as _;
use inkcell_engine::IndexEditRequest;
use inkcell_engine::notebook::CellKind;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::mcp::desk::{CallContext, Desk, Hints, Order, ToolError, ToolReply, ToolSpec};
use crate::mcp::tools::files::{self, compat_error, on_disk};
use crate::mcp::tools::{decode, lean};

pub(crate) static SPEC: ToolSpec = ToolSpec {
    name: "notebook",
    description: include_str!("notebook.md"),
    hints: Hints::changing("Edit a cell by index"),
    order: Order::File,
    schema: lean::schema::<Args>,
    call: |desk, given, context| call(desk, given, context).boxed(),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    // Read as a text, so that the error for any other word is the one of the documents.
    #[schemars(extend("enum" = ["edit", "insert", "delete"]))]
    action: String,
    notebook_path: String,
    // Read as a float, so that a number that cannot be a position is out of range and not of a wrong type.
    #[schemars(with = "i64")]
    cell_index: f64,
    /// The source, for edit and insert
    content: Option<String>,
    /// For insert; default code
    #[schemars(with = "Option<String>", extend("enum" = CellKind::NAMES))]
    cell_type: Option<String>,
}

async fn call(desk: &Desk, given: Value, context: CallContext) -> Result<ToolReply, ToolError> {
    let args: Args = decode(given, &[("path", "notebook_path")])?;
    let notebooks = files::notebooks(desk);
    let request = IndexEditRequest {
        action: args.action,
        notebook_path: args.notebook_path,
        cell_index: args.cell_index,
        content: args.content,
        cell_type: args.cell_type,
    };
    on_disk(&context, move || {
        let done = notebooks.edit_by_index(&request).map_err(|error| compat_error(&error))?;
        let details = serde_json::to_value(&done).unwrap_or_default();
        Ok(ToolReply::text(done.text).with_structured(details))
    })
    .await
}
