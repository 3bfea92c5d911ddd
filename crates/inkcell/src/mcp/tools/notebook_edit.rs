//! `notebook_edit`: operations on cells, a batch of them, or a whole text.
//!
//! Owns the conversion of a model's input to operations. The engine carries the operations out.

mod after;

use std::borrow::Cow;

use futures_util::FutureExt as _;
use inkcell_engine::api::{CellChoice, RunRequest};
use inkcell_engine::notebook::{
    Action, DropRule, EditError, EditOp, EditReport, Notebook, OpError, OutputsAfter, RenameError,
    SourceShape, TextRules, visible_line,
};
use inkcell_engine::operations::{Field, FieldKind, OPERATIONS, Operation, PLACE_FIELDS};
use inkcell_engine::{
    Backup, Base, EngineError, Force, IfMissing, Kind, Mode, Notebooks, SaveOptions, Version,
    parse_ops,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::files::{self, joined, on_disk};
use super::notebook_run::{OnErrorArg, needed, on_error};
use super::portion::Portion;
use super::running::LONGEST_WAIT;
use super::seconds::Seconds;
use super::{Alias, CallContext, Desk, Fault, Hints, Order, ToolError, ToolReply, ToolSpec};
use super::{decode, lean};
use crate::mcp::exposure::Exposure;
use crate::output::count;
use crate::view::report;
use crate::words;

/// The tool without which nothing is run here either.
const RUN_TOOL: &str = "notebook_run";

pub(crate) static SPEC: ToolSpec = ToolSpec {
    name: "notebook_edit",
    description: include_str!("notebook_edit.md"),
    // The code that it runs may do anything.
    hints: Hints::changing("Edit a notebook").in_open_world(),
    order: Order::File,
    schema,
    call: |desk, given, context| call(desk, given, context).boxed(),
};

/// The schema names no run where nothing can be run (B:C-02). Arguments for the rules of a run are accepted, as by
/// `notebook_run`, but not shown: every model reads a few words less.
fn schema(exposure: &Exposure) -> Value {
    let mut schema = lean::schema::<Args>(exposure);
    if let Some(Value::Object(arguments)) = schema.get_mut("properties") {
        for rule in ["wait", "on_error", "with_needed"] {
            arguments.shift_remove(rule);
        }
        if !exposure.offers(RUN_TOOL) {
            arguments.shift_remove("run");
        }
    }
    schema
}

/// Other names of arguments. Fields of operations bring their own.
const ALIASES: [Alias; 5] = [
    ("notebook_path", "path"),
    ("file_path", "path"),
    ("edit_mode", "op"),
    ("action", "op"),
    ("operations", "ops"),
];

// `decode` refuses what the schema does not name, and the operation takes all that is left.
#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Args {
    /// Or **/*.ipynb, for sub and rename
    path: String,
    /// Operations, each an object with the fields below
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    ops: Option<Value>,
    /// The whole notebook as text, or its JSON
    text: Option<String>,
    /// How many cells text leaves out on purpose
    #[serde(default)]
    drop: usize,
    #[serde(flatten)]
    inline: Inline,
    outputs: Option<OutputsArg>,
    /// The version you read: later changes to the same cells are a conflict
    if_hash: Option<String>,
    /// Keep the old file as .bak
    #[serde(default)]
    backup: bool,
    /// Make it if missing
    #[serde(default)]
    create: bool,
    // Its name says what it does.
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    run: RunArg,
    wait: Option<Seconds>,
    max_bytes: Option<u64>,
    #[serde(default)]
    tail: bool,
    on_error: Option<OnErrorArg>,
    with_needed: Option<bool>,
}

/// The fields of one operation beside the path, as the table of operations names them.
#[derive(Deserialize)]
#[serde(transparent)]
struct Inline(Map<String, Value>);

/// The fields of operations. How outputs fare is said for the whole call.
fn inline_fields() -> impl Iterator<Item = &'static Field> {
    Operation::all_fields().into_iter().filter(|field| field.name != "outputs")
}

impl JsonSchema for Inline {
    fn schema_name() -> Cow<'static, str> {
        "Inline".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
        let mut properties = Map::new();
        properties.insert("op".to_owned(), json!({"type": "string", "enum": names}));
        for field in inline_fields() {
            let mut schema = match field.kind {
                FieldKind::Cell => json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
                FieldKind::Text | FieldKind::Source => json!({"type": "string"}),
                FieldKind::Word(words) => json!({"type": "string", "enum": words}),
                FieldKind::Switch => json!({"type": "boolean"}),
                FieldKind::Keys => json!({"type": "object"}),
                FieldKind::Texts => json!({"type": "array", "items": {"type": "string"}}),
            };
            if let Some(hint) = field.hint {
                schema["description"] = hint.into();
            }
            properties.insert(field.name.to_owned(), schema);
        }
        json_schema!({"properties": properties})
    }
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

/// The change to make, decided before the file is opened.
enum Change {
    Ops(Vec<EditOp>),
    Text {
        text: String,
        rules: TextRules,
    },
    /// Only make the notebook.
    Nothing,
}

async fn call(desk: &Desk, given: Value, context: CallContext) -> Result<ToolReply, ToolError> {
    // The words of the source documents' editor keep their meaning there.
    let by_mode = given.get("edit_mode").is_some();
    let aliases = |field: &'static Field| field.aliases.iter().map(|alias| (*alias, field.name));
    let aliases: Vec<Alias> =
        ALIASES.into_iter().chain(inline_fields().flat_map(aliases)).collect();
    refuse_index_of_insert(&given)?;
    let mut args: Args = decode(given, &aliases)?;
    if by_mode {
        as_by_id(&mut args.inline.0);
    }
    let options = SaveOptions {
        base: version(args.if_hash.as_deref())?,
        output: None,
        if_missing: if args.create { IfMissing::CreateNotebook } else { IfMissing::Fail },
        backup: if args.backup { Backup::Yes } else { Backup::No },
        force: Force::No,
        mode: if args.dry_run { Mode::DryRun } else { Mode::Write },
    };
    let run = args.run;
    let shown = Portion::of(args.max_bytes, args.tail)?;
    let request = RunRequest {
        wait: args.wait.map(|wait| wait.at_most(LONGEST_WAIT)),
        on_error: on_error(args.on_error),
        needed: needed(args.with_needed),
        ..RunRequest::of(args.path.clone())
    };
    if let (true, Some(refusal)) = (run != RunArg::None, desk.exposure.refusal(RUN_TOOL)) {
        let next = Some(words::edit::LEAVE_RUN_OUT.to_owned());
        return Err(ToolError { kind: Kind::Unavailable, message: refusal, next });
    }
    if run != RunArg::None && args.dry_run {
        return Err(ToolError::argument(words::edit::DRY_RUN_RUNS_NOTHING)
            .with_next(words::edit::LEAVE_RUN_OUT));
    }
    let change = change(args)?;
    let (notebooks, cwd) = (files::notebooks(desk), desk.cwd.clone());
    let path = request.path.clone();
    let edited = on_disk(&context, move || match files::matching_notebooks(&cwd, &path)? {
        Some(paths) if run == RunArg::None => edit_all(&paths, &change, &options, &notebooks),
        Some(_) => Err(ToolError::argument(words::edit::RUN_OF_ONE)),
        None => edit(&path, &change, &options, &notebooks, run),
    })
    .await?;
    match run {
        RunArg::None => Ok(shown.fitted(desk, edited.reply)),
        _ => after::run(desk, (request, shown), edited, context).await,
    }
}

/// An edit that was made.
struct EditResult {
    reply: ToolReply,
    /// The cells that are to be run now.
    cells: Option<CellChoice>,
}

fn edit(
    path: &str,
    change: &Change,
    options: &SaveOptions,
    notebooks: &Notebooks,
    run: RunArg,
) -> Result<EditResult, ToolError> {
    if matches!(change, Change::Nothing) {
        let version = notebooks.create(path, None)?;
        let shown = visible_line(path);
        let text = words::edit::created(&shown, &version);
        let structured = json!({"path": path, "version": version.to_string(), "cells": 0});
        let reply = ToolReply::text(text).with_structured(structured);
        return Ok(EditResult { reply, cells: None });
    }
    let saved = notebooks.change(path, options, |notebook, base| change.apply(notebook, base))?;
    let text = joined(&report::lines(&saved));
    let reply = ToolReply::text(text).with_structured(report::brief_json(&saved));
    Ok(EditResult { reply, cells: after::chosen(&saved, run) })
}

/// Makes the same edit in several notebooks. Those without the text or the name stay as they are.
fn edit_all(
    paths: &[String],
    change: &Change,
    options: &SaveOptions,
    notebooks: &Notebooks,
) -> Result<EditResult, ToolError> {
    let is_for_all =
        |op: &EditOp| matches!(op, EditOp::Sub { cell: None, .. } | EditOp::Rename { .. });
    if !matches!(change, Change::Ops(ops) if ops.iter().all(is_for_all)) || options.base.is_some() {
        return Err(ToolError::argument(words::edit::ONLY_FOR_ALL));
    }
    let (mut lines, mut rows, mut total, mut refused) = (Vec::new(), Vec::new(), 0, 0);
    for path in paths {
        let saved = notebooks.change(path, options, |notebook, base| change.apply(notebook, base));
        let saved = match saved {
            Ok(saved) => saved,
            Err(error) if is_without(&error) => continue,
            Err(error) => {
                refused += 1;
                lines.push(format!("  {error}"));
                continue;
            }
        };
        let places = saved.value.changes.iter().map(|change| match change.action {
            Action::Substituted { count } | Action::Renamed { count } => count,
            _ => 0,
        });
        let places: usize = places.sum();
        total += places;
        let (shown, places) = (visible_line(path), count(places, "place"));
        lines.push(format!("  {shown}: {places}  version {}", saved.version));
        rows.push(report::brief_json(&saved));
    }
    let is_error = rows.is_empty() && refused > 0;
    let title = match is_error {
        true => words::edit::all_refused(refused, paths.len()),
        false => words::edit::replaced_in(&count(total, "place"), rows.len(), paths.len()),
    };
    lines.insert(0, title);
    if options.mode == Mode::DryRun {
        lines.push(words::edit::NOTHING_WRITTEN.to_owned());
    }
    let reply = ToolReply::text(joined(&lines)).with_structured(json!({"notebooks": rows}));
    let fault = is_error.then_some(Fault::Kind(Kind::Invalid));
    let reply = ToolReply { is_error, fault, ..reply };
    Ok(EditResult { reply, cells: None })
}

/// True if a notebook has nothing that the edit could change, or cannot be reached at all.
fn is_without(error: &EngineError) -> bool {
    let EngineError::Edit { error: EditError::Op { problem, .. }, .. } = error else {
        return matches!(error, EngineError::OutsideRoots { .. });
    };
    matches!(
        problem,
        OpError::NoMatchAnywhere { .. } | OpError::Rename(RenameError::NotMade { .. })
    )
}

/// An insert has a place, and no cell that it changes.
fn refuse_index_of_insert(given: &Value) -> Result<(), ToolError> {
    let is_insert = given.get("op").is_some_and(|op| op == "insert");
    let wrong = ["index", "idx", "position"].into_iter().find(|name| given.get(name).is_some());
    match wrong.filter(|_| is_insert) {
        Some(name) => Err(ToolError::argument(words::edit::not_field_of_insert(name))
            .with_next(words::edit::PLACE_OF_INSERT)),
        None => Ok(()),
    }
}

/// An insert in those words goes behind the cell that is named, or to the start (B:N-37).
fn as_by_id(fields: &mut Map<String, Value>) {
    let has_place = PLACE_FIELDS.iter().any(|place| fields.contains_key(*place));
    if has_place || fields.get("op").is_none_or(|op| op != "insert") {
        return;
    }
    match fields.shift_remove("cell") {
        Some(cell) => fields.insert("after".to_owned(), cell),
        None => fields.insert("at".to_owned(), "start".into()),
    };
}

fn version(given: Option<&str>) -> Result<Option<Version>, ToolError> {
    let Some(given) = given else { return Ok(None) };
    Version::parse(given).map(Some).ok_or_else(|| {
        let problem = words::edit::not_version(given);
        ToolError::argument(problem).with_next(words::edit::GIVE_VERSION)
    })
}

fn change(args: Args) -> Result<Change, ToolError> {
    let (outputs, text_outputs) = match args.outputs {
        None => (OutputsAfter::ClearIfChanged, OutputsAfter::Keep),
        Some(OutputsArg::Keep) => (OutputsAfter::Keep, OutputsAfter::Keep),
        Some(OutputsArg::Clear) => (OutputsAfter::Clear, OutputsAfter::ClearIfChanged),
    };
    let rules = TextRules {
        drop: DropRule::Exactly(args.drop),
        outputs: text_outputs,
        shape: SourceShape::Keep,
    };
    let Inline(mut fields) = args.inline;
    match (args.ops, args.text, !fields.is_empty()) {
        (Some(ops), None, false) => Ok(Change::Ops(parse_ops(&ops_text(ops), outputs)?)),
        (None, Some(text), false) => Ok(Change::Text { text, rules }),
        (None, None, true) => {
            if let (None, Some(op)) = (fields.get("op"), usual_op(&fields)) {
                fields.insert("op".to_owned(), op.into());
            }
            let ops = parse_ops(&Value::Object(fields).to_string(), outputs);
            Ok(Change::Ops(ops.map_err(|error| match error {
                // A single operation needs no number in its error.
                EngineError::Argument { problem, .. } => ToolError::argument(problem),
                other => other.into(),
            })?))
        }
        (None, None, false) if args.create && !args.dry_run => Ok(Change::Nothing),
        (None, None, false) => {
            Err(ToolError::argument(words::edit::NOTHING_TO_DO)
                .with_next(words::edit::GIVE_OPERATION))
        }
        _ => Err(ToolError::argument(words::edit::ONLY_ONE_OF)),
    }
}

/// Operations as JSON. Models also write the list as a string.
fn ops_text(ops: Value) -> String {
    match ops {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// The operation that these fields imply, if only one is possible.
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
    fn apply(&self, notebook: &mut Notebook, base: &Base) -> Result<EditReport, EngineError> {
        match self {
            Change::Ops(ops) => base.apply(notebook, ops),
            Change::Text { text, rules } => base.put_text(notebook, text, *rules),
            Change::Nothing => Ok(EditReport::default()),
        }
    }
}

#[cfg(test)]
#[path = "notebook_edit/tests.rs"]
mod tests;
