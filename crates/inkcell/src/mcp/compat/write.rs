//! `write`: a whole file, or a whole notebook as virtual text or JSON.

use futures_util::FutureExt as _;
use inkcell_engine::notebook::{DropRule, OutputsAfter, SourceShape, TextRules, visible_line};
use inkcell_engine::output::size;
use inkcell_engine::{
    EngineError, FileEffect, IfMissing, Notebooks, SaveOptions, SavedBytes, is_notebook_path,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::mcp::desk::{CallContext, Desk, Hints, Order, ToolError, ToolReply, ToolSpec};
use crate::mcp::tools::files::{self, compat_error, joined, on_disk};
use crate::mcp::tools::{Alias, decode, lean};
use crate::output::count;
use crate::view::report;
use crate::words;

pub(crate) static SPEC: ToolSpec = ToolSpec {
    name: "write",
    description: include_str!("write.md"),
    hints: Hints::changing("Write a file").idempotent(),
    order: Order::File,
    schema: lean::schema::<Args>,
    call: |desk, given, context| call(desk, given, context).boxed(),
};

const ALIASES: &[Alias] = &[("file_path", "path"), ("notebook_path", "path"), ("text", "content")];

/// Cells that are left out are dropped, as the documents say; outputs stay (B:V-11, V-13).
pub(super) const RULES: TextRules =
    TextRules { drop: DropRule::Any, outputs: OutputsAfter::Keep, shape: SourceShape::Keep };

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    path: String,
    content: String,
}

async fn call(desk: &Desk, given: Value, context: CallContext) -> Result<ToolReply, ToolError> {
    let args: Args = decode(given, ALIASES)?;
    let notebooks = files::notebooks(desk);
    on_disk(&context, move || {
        let done = match is_notebook_path(&args.path) {
            true => notebook(&args, &notebooks),
            false => file(&args, &notebooks),
        };
        done.map_err(|error| compat_error(&error))
    })
    .await
}

fn notebook(args: &Args, notebooks: &Notebooks) -> Result<ToolReply, EngineError> {
    let options = SaveOptions { if_missing: IfMissing::CreateNotebook, ..SaveOptions::in_place() };
    let saved = notebooks.change(&args.path, &options, |notebook, base| {
        base.put_text(notebook, &args.content, RULES)
    })?;
    let reply = ToolReply::text(joined(&report::lines(&saved)));
    Ok(reply.with_structured(report::brief_json(&saved)))
}

fn file(args: &Args, notebooks: &Notebooks) -> Result<ToolReply, EngineError> {
    let path = &args.path;
    let saved = notebooks.change_bytes(path, |_| Ok(args.content.clone().into_bytes()))?;
    let done = if saved.is_new { "Created" } else { "Wrote" };
    let lines = count(args.content.lines().count(), "line");
    let text = format!("{done} {} ({lines}, {}).", visible_line(path), size(saved.bytes as u64));
    Ok(reply(path, text, json!({"created": saved.is_new}), &saved))
}

/// The answer after a write to a file other than a notebook.
pub(super) fn reply(path: &str, text: String, mut details: Value, saved: &SavedBytes) -> ToolReply {
    let text = match saved.effect {
        FileEffect::Nothing => words::file::holds_that(&visible_line(path)),
        _ => text,
    };
    details["path"] = path.into();
    details["written"] = (saved.effect == FileEffect::Written).into();
    details["bytes"] = saved.bytes.into();
    details["version"] = saved.version.to_string().into();
    let notes = saved.notes.iter().map(|note| format!("\nNote: {}", words::file::note(note)));
    ToolReply::text(text + &notes.collect::<String>()).with_structured(details)
}
