//! `edit`: text replaced in a file, or in the virtual text of a notebook.

use futures_util::FutureExt as _;
use inkcell_engine::notebook::{MarkerIds, Matches, SubError, substitute, visible_line};
use inkcell_engine::{EngineError, IfMissing, Notebooks, SaveOptions, is_notebook_path};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::write::{self, RULES};
use crate::mcp::desk::{CallContext, Desk, Hints, Order, ToolError, ToolReply, ToolSpec};
use crate::mcp::tools::files::{self, compat_error, joined, on_disk};
use crate::mcp::tools::{Alias, decode, lean};
use crate::output::count;
use crate::view::report;
use crate::words;

pub(crate) static SPEC: ToolSpec = ToolSpec {
    name: "edit",
    description: include_str!("edit.md"),
    hints: Hints::changing("Replace text in a file"),
    order: Order::File,
    schema: lean::schema::<Args>,
    call: |desk, given, context| call(desk, given, context).boxed(),
};

const ALIASES: &[Alias] = &[
    ("file_path", "path"),
    ("notebook_path", "path"),
    ("old_string", "old_text"),
    ("new_string", "new_text"),
    ("replace_all", "all"),
];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    path: String,
    old_text: String,
    new_text: String,
    /// Replace it in every place
    #[serde(default)]
    all: bool,
}

async fn call(desk: &Desk, given: Value, context: CallContext) -> Result<ToolReply, ToolError> {
    let args: Args = decode(given, ALIASES)?;
    let notebooks = files::notebooks(desk);
    on_disk(&context, move || {
        let done = match is_notebook_path(&args.path) {
            true => in_notebook(&args, &notebooks),
            false => in_file(&args, &notebooks),
        };
        done.map_err(|error| compat_error(&error))
    })
    .await
}

impl Args {
    fn matches(&self) -> Matches {
        if self.all { Matches::All } else { Matches::One }
    }
}

fn in_notebook(args: &Args, notebooks: &Notebooks) -> Result<ToolReply, EngineError> {
    let texts = (args.old_text.as_str(), args.new_text.as_str());
    // The markers are those that `read` shows, which have no ids.
    let options = SaveOptions { if_missing: IfMissing::CreateNotebook, ..SaveOptions::in_place() };
    let saved = notebooks.change(&args.path, &options, |notebook, base| {
        base.replace_text(notebook, texts, args.matches(), MarkerIds::Off, RULES)
    })?;
    let reply = ToolReply::text(joined(&report::lines(&saved)));
    Ok(reply.with_structured(report::brief_json(&saved)))
}

fn in_file(args: &Args, notebooks: &Notebooks) -> Result<ToolReply, EngineError> {
    let path = &args.path;
    let mut places = 0;
    let saved = notebooks.change_bytes(path, |old| {
        let missing = || EngineError::NotFound { what: "File", path: path.clone() };
        let text = std::str::from_utf8(old.ok_or_else(missing)?).map_err(|error| {
            let at = error.valid_up_to();
            let path = visible_line(path);
            let problem = words::file::not_text(&path, at);
            EngineError::Argument { argument: "path".to_owned(), problem }
        })?;
        let (new, found) =
            replaced(text, args).map_err(|error| EngineError::Sub { path: path.clone(), error })?;
        places = found;
        Ok(new.into_bytes())
    })?;
    let text = words::file::replaced(&count(places, "place"), &visible_line(path));
    let details = json!({"replacements": places});
    Ok(write::reply(path, text, details, &saved))
}

/// Lines that end in CR LF are also found by a text whose lines end in LF, as a model sees them.
fn replaced(text: &str, args: &Args) -> Result<(String, usize), SubError> {
    let (old, new) = (args.old_text.as_str(), args.new_text.as_str());
    let found = substitute(text, old, new, args.matches());
    let is_missing = matches!(found, Err(SubError::NoMatch { .. }));
    if is_missing && text.contains("\r\n") && old.contains('\n') && !old.contains('\r') {
        let as_there = |text: &str| text.replace('\n', "\r\n");
        return substitute(text, &as_there(old), &as_there(new), args.matches()).or(found);
    }
    found
}
