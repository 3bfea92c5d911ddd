//! `notebook_edit`: operations on cells, a batch of them, or a whole text.
//!
//! Owns the conversion of a model's input to operations. The engine carries the operations out.

mod after;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use inkcell_engine::api::CellChoice;
use inkcell_engine::notebook::{
    DropRule, EditOp, EditReport, MarkerIds, Matches, Notebook, OutputsAfter, SourceShape,
    TextRules, visible_line,
};
use inkcell_engine::{
    Backup, Base, EngineError, Force, IfMissing, Kind, Mode, Notebooks, SaveOptions, Version,
    parse_ops,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::files::{self, joined, on_disk};
use super::running::LONGEST_WAIT;
use super::seconds::Seconds;
use super::{Alias, CallContext, Desk, Hints, Order, ToolError, ToolReply, ToolSpec, decode, lean};
use crate::mcp::exposure::Exposure;
use crate::view::report;

/// The tool without which nothing is run here either.
const RUN_TOOL: &str = "notebook_run";

pub(crate) static SPEC: ToolSpec = ToolSpec {
    name: "notebook_edit",
    description: include_str!("notebook_edit.md"),
    hints: Hints {
        title: "Edit a notebook",
        read_only: false,
        destructive: true,
        idempotent: false,
        // The code that it runs may do anything.
        open_world: true,
    },
    order: Order::File,
    schema,
    call,
};

/// Where nothing can be run, running is not spoken of (B:C-02).
fn schema(exposure: &Exposure) -> Value {
    let mut schema = lean::schema::<Args>(exposure);
    if !exposure.offers(RUN_TOOL)
        && let Some(Value::Object(arguments)) = schema.get_mut("properties")
    {
        arguments.shift_remove("run");
    }
    schema
}

const ALIASES: &[Alias] = &[
    ("notebook_path", "path"),
    ("file_path", "path"),
    ("cell_id", "cell"),
    ("cell_index", "cell"),
    ("new_source", "source"),
    ("content", "source"),
    ("cell_type", "type"),
    ("edit_mode", "op"),
    ("action", "op"),
    ("old_text", "old"),
    ("new_text", "new"),
    ("operations", "ops"),
];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    path: String,
    /// Operations, each an object with the fields below
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    ops: Option<Value>,
    /// The whole notebook as text, or its JSON
    text: Option<String>,
    /// How many cells text leaves out on purpose
    #[serde(default)]
    drop: usize,
    #[schemars(with = "Option<Op>")]
    op: Option<String>,
    #[schemars(with = "Option<Cell>")]
    cell: Option<Value>,
    #[schemars(with = "Option<String>")]
    source: Option<Value>,
    #[schemars(with = "Option<Type>")]
    r#type: Option<Value>,
    #[schemars(with = "Option<Cell>")]
    after: Option<Value>,
    #[schemars(with = "Option<Cell>")]
    before: Option<Value>,
    #[schemars(with = "Option<At>")]
    at: Option<Value>,
    #[schemars(with = "Option<String>")]
    old: Option<Value>,
    #[schemars(with = "Option<String>")]
    new: Option<Value>,
    all: Option<bool>,
    /// Metadata keys and values
    #[schemars(with = "Option<Map<String, Value>>")]
    set: Option<Value>,
    #[schemars(with = "Option<Vec<String>>")]
    unset: Option<Value>,
    /// Tags
    #[schemars(with = "Option<Vec<String>>")]
    add: Option<Value>,
    #[schemars(with = "Option<Vec<String>>")]
    remove: Option<Value>,
    outputs: Option<OutputsArg>,
    /// The version you read: changes of others to the same cells since are a conflict
    if_hash: Option<String>,
    /// Keep the old file as .bak
    #[serde(default)]
    backup: bool,
    /// Make it when it is missing
    #[serde(default)]
    create: bool,
    #[serde(default)]
    run: RunArg,
    // Accepted as `notebook_run` accepts it, and hidden: every model reads one word less.
    #[schemars(skip)]
    wait: Option<Seconds>,
}

// The next four have no `///`, since a model would read it with every question. Only their schemas are used:
// operations decode their own input.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[allow(dead_code, reason = "only its schema is of use")]
enum Cell {
    Index(i64),
    Id(String),
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[allow(dead_code, reason = "only its schema is of use")]
enum Op {
    Replace,
    Insert,
    Delete,
    Move,
    Sub,
    Type,
    Clear,
    Meta,
    Tags,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[allow(dead_code, reason = "only its schema is of use")]
enum Type {
    Code,
    Markdown,
    Raw,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[allow(dead_code, reason = "only its schema is of use")]
enum At {
    Start,
    End,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum OutputsArg {
    Keep,
    Clear,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
enum RunArg {
    #[default]
    None,
    Changed,
    ChangedAndBelow,
    Stale,
}

/// What is to be done, decided before the file is opened.
enum Change {
    Ops(Vec<EditOp>),
    Text {
        text: String,
        rules: TextRules,
    },
    Sub {
        old: String,
        new: String,
        matches: Matches,
        rules: TextRules,
    },
    /// Only make the notebook.
    Nothing,
}

fn call(
    desk: &Desk,
    given: Value,
    context: CallContext,
) -> BoxFuture<'_, Result<ToolReply, ToolError>> {
    async move {
        // The words of the source documents' editor keep their meaning there.
        let by_mode = given.get("edit_mode").is_some();
        let mut args: Args = decode(given, ALIASES)?;
        if by_mode {
            as_by_id(&mut args);
        }
        let options = SaveOptions {
            base: version(args.if_hash.as_deref())?,
            output: None,
            if_missing: if args.create { IfMissing::CreateNotebook } else { IfMissing::Fail },
            backup: if args.backup { Backup::Yes } else { Backup::No },
            force: Force::No,
            mode: Mode::Write,
        };
        let (path, run, wait) = (args.path.clone(), args.run, args.wait);
        if let (true, Some(refusal)) = (run != RunArg::None, desk.exposure.refusal(RUN_TOOL)) {
            let next = Some("leave run out; nothing was changed".to_owned());
            return Err(ToolError { kind: Kind::Unavailable, message: refusal, next });
        }
        let change = change(args)?;
        let (notebooks, ids) = (files::notebooks(desk), desk.settings.marker_ids);
        let (edited, path) = on_disk(&context, move || {
            Ok((edit(&path, &change, &options, &notebooks, (ids, run))?, path))
        })
        .await?;
        match run {
            RunArg::None => Ok(edited.reply),
            _ => {
                let wait = wait.map(|wait| wait.at_most(LONGEST_WAIT));
                after::run(desk, (path, wait), edited, context).await
            }
        }
    }
    .boxed()
}

/// An edit that was made.
struct Edited {
    reply: ToolReply,
    /// The cells that are to be run now.
    cells: Option<CellChoice>,
}

fn edit(
    path: &str,
    change: &Change,
    options: &SaveOptions,
    notebooks: &Notebooks,
    (ids, run): (MarkerIds, RunArg),
) -> Result<Edited, ToolError> {
    if matches!(change, Change::Nothing) {
        let version = notebooks.create(path, None)?;
        let shown = visible_line(path);
        let text = format!("✓ Notebook created\n  Notebook: {shown}\n  Version: {version}");
        let structured = json!({"path": path, "version": version.to_string(), "cells": 0});
        let reply = ToolReply::text(text).with_structured(structured);
        return Ok(Edited { reply, cells: None });
    }
    let saved =
        notebooks.change(path, options, |notebook, base| change.apply(notebook, base, ids))?;
    let text = joined(&report::lines(&saved));
    let reply = ToolReply::text(text).with_structured(report::brief_json(&saved));
    Ok(Edited { reply, cells: after::chosen(&saved, run) })
}

/// An insert in those words goes behind the cell that is named, or to the start (B:N-37).
fn as_by_id(args: &mut Args) {
    if args.op.as_deref() != Some("insert") {
        return;
    }
    let has_place = args.after.is_some() || args.before.is_some() || args.at.is_some();
    match args.cell.take() {
        cell @ Some(_) if !has_place => args.after = cell,
        None if !has_place => args.at = Some("start".into()),
        cell => args.cell = cell,
    }
}

fn version(given: Option<&str>) -> Result<Option<Version>, ToolError> {
    let Some(given) = given else { return Ok(None) };
    Version::parse(given).map(Some).ok_or_else(|| {
        let problem = format!("if_hash: {given:?} is not a version");
        ToolError::argument(problem).with_next("give the 16 hexadecimal digits that reading shows")
    })
}

fn change(args: Args) -> Result<Change, ToolError> {
    let (outputs, text_outputs) = match args.outputs {
        None => (OutputsAfter::ClearIfChanged, OutputsAfter::Keep),
        Some(OutputsArg::Keep) => (OutputsAfter::Keep, OutputsAfter::Keep),
        Some(OutputsArg::Clear) => (OutputsAfter::Clear, OutputsAfter::ClearIfChanged),
    };
    let rules = |outputs| TextRules {
        drop: DropRule::Exactly(args.drop),
        outputs,
        shape: SourceShape::Keep,
    };
    let fields = [
        ("cell", args.cell),
        ("source", args.source),
        ("type", args.r#type),
        ("after", args.after),
        ("before", args.before),
        ("at", args.at),
        ("old", args.old),
        ("new", args.new),
        ("all", args.all.map(Value::from)),
        ("set", args.set),
        ("unset", args.unset),
        ("add", args.add),
        ("remove", args.remove),
    ];
    let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let mut fields: Map<String, Value> = fields.collect();
    let is_inline = args.op.is_some() || !fields.is_empty();
    match (args.ops, args.text, is_inline) {
        (Some(ops), None, false) => Ok(Change::Ops(parse_ops(&ops_text(ops), outputs)?)),
        (None, Some(text), false) => Ok(Change::Text { text, rules: rules(text_outputs) }),
        (None, None, true) => {
            if let Some((old, new)) = sub_anywhere(args.op.as_deref(), &fields) {
                let matches = if args.all == Some(true) { Matches::All } else { Matches::One };
                return Ok(Change::Sub { old, new, matches, rules: rules(outputs) });
            }
            if let Some(op) = args.op.or_else(|| usual_op(&fields).map(str::to_owned)) {
                fields.insert("op".to_owned(), op.into());
            }
            let ops = parse_ops(&Value::Object(fields).to_string(), outputs);
            Ok(Change::Ops(ops.map_err(|error| match error {
                // A single operation needs no number in its error.
                EngineError::Argument { problem, .. } => ToolError::argument(problem),
                other => other.into(),
            })?))
        }
        (None, None, false) if args.create => Ok(Change::Nothing),
        (None, None, false) => Err(ToolError::argument("there is nothing to do")
            .with_next("give one operation (op, cell, source, ...), ops, or text")),
        _ => Err(ToolError::argument("give only one of ops, text and an operation beside path")),
    }
}

/// Operations as JSON. Models also write the list as a string.
fn ops_text(ops: Value) -> String {
    match ops {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Texts to replace wherever they stand, when no cell is named.
fn sub_anywhere(op: Option<&str>, fields: &Map<String, Value>) -> Option<(String, String)> {
    let is_sub = op.is_none_or(|op| op == "sub") && !fields.contains_key("cell");
    match (fields.get("old"), fields.get("new")) {
        (Some(Value::String(old)), Some(Value::String(new))) if is_sub => {
            Some((old.clone(), new.clone()))
        }
        _ => None,
    }
}

/// What is meant when nothing else could be.
fn usual_op(fields: &Map<String, Value>) -> Option<&'static str> {
    let has = |name: &str| fields.contains_key(name);
    if has("old") && has("new") {
        Some("sub")
    } else if has("source") && has("cell") {
        Some("replace")
    } else if has("source") && (has("after") || has("before") || has("at")) {
        Some("insert")
    } else {
        None
    }
}

impl Change {
    fn apply(
        &self,
        notebook: &mut Notebook,
        base: &Base,
        ids: MarkerIds,
    ) -> Result<EditReport, EngineError> {
        match self {
            Change::Ops(ops) => base.apply(notebook, ops),
            Change::Text { text, rules } => base.put_text(notebook, text, *rules),
            Change::Sub { old, new, matches, rules } => {
                base.replace_text(notebook, (old, new), *matches, ids, *rules)
            }
            Change::Nothing => Ok(EditReport::default()),
        }
    }
}

#[cfg(test)]
#[path = "notebook_edit/tests.rs"]
mod tests;
