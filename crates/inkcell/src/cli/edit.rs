//! `inkcell edit`: operations on cells, a batch of them, or a replacement in the virtual text.

use inkcell_engine::notebook::{
    CellPlace, CellRef, DropRule, EditOp, EditReport, MarkerIds, Matches, MetaChange, Notebook,
    OutputsAfter, SourceShape, TextRules, nearest,
};
use inkcell_engine::{
    Backup, Base, EngineError, Force, IfMissing, Mode, SaveOptions, Saved, parse_ops,
};

use crate::args::{Edit, End, OPS, Op, PlaceArgs, Save, Source};
use crate::cli::input;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;
use crate::view::report;

pub(crate) fn run(args: Edit, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let options = options(&args.save, IfMissing::Fail)?;
    let outputs = if args.keep_outputs { OutputsAfter::Keep } else { OutputsAfter::ClearIfChanged };
    let path = args.path.clone();
    let change = change(args, outputs, settings)?;
    let saved = settings
        .notebooks
        .change(&path, &options, |notebook, base| change.apply(notebook, base))?;
    answer(output, &saved)
}

pub(crate) fn options(save: &Save, if_missing: IfMissing) -> Result<SaveOptions, Failure> {
    Ok(SaveOptions {
        base: input::version(save.hash.as_deref())?,
        output: input::output(save.output.as_deref())?,
        if_missing,
        backup: if save.backup { Backup::Yes } else { Backup::No },
        force: if save.force { Force::Yes } else { Force::No },
        mode: if save.dry_run { Mode::DryRun } else { Mode::Write },
    })
}

/// Shows the changes of an edit.
pub(crate) fn answer(output: &mut Output, saved: &Saved<EditReport>) -> Result<Exit, Failure> {
    report::write(output, saved).map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

/// The requested change, decided before the file is opened.
enum Change {
    Ops(Vec<EditOp>),
    Text { old: String, new: String, matches: Matches, ids: MarkerIds, rules: TextRules },
}

fn change(args: Edit, outputs: OutputsAfter, settings: &Settings) -> Result<Change, Failure> {
    let ways = [args.op.is_some(), args.ops.is_some(), args.old.is_some()];
    match ways.iter().filter(|given| **given).count() {
        1 => {}
        0 => {
            let problem = format!("say what to do: {}", ways_to_say());
            return Err(Failure::argument("OP", problem));
        }
        _ => return Err(Failure::argument("OP", "give only one of an operation, --ops and --old")),
    }
    if let Some(op) = args.op {
        return Ok(Change::Ops(operation(op, outputs, settings)?));
    }
    if let Some(file) = &args.ops {
        let json = input::file_text("--ops", file, settings)?;
        return Ok(Change::Ops(parse_ops(&json, outputs)?));
    }
    Ok(Change::Text {
        old: args.old.unwrap_or_default(),
        new: args.new.unwrap_or_default(),
        matches: if args.all { Matches::All } else { Matches::One },
        ids: settings.marker_ids,
        rules: TextRules { drop: DropRule::Exactly(args.drop), outputs, shape: SourceShape::Keep },
    })
}

/// The names of the operations, and the forms of the command without one.
fn ways_to_say() -> String {
    let (last, others) = OPS.split_last().unwrap_or((&"", &[]));
    format!("{} or {last}; or give --ops FILE, or --old TEXT --new TEXT", others.join(", "))
}

fn unknown(word: &str) -> Failure {
    if OPS.contains(&word) {
        let problem =
            "after -- no operation is seen; a path that begins with a dash is given as ./-NAME";
        return Failure::argument(word, problem);
    }
    let hint = nearest(OPS.iter().copied(), word)
        .map(|at| format!(" (did you mean {:?}?)", OPS[at]))
        .unwrap_or_default();
    let problem = format!("{word:?} is no operation{hint}; it is {}", ways_to_say());
    Failure::argument("OP", problem)
}

fn operation(op: Op, outputs: OutputsAfter, settings: &Settings) -> Result<Vec<EditOp>, Failure> {
    let op = match op {
        Op::Replace { cell, source, kind } => EditOp::Replace {
            cell: input::cell(&cell),
            source: source_text(source, settings)?,
            kind: kind.map(input::kind),
            outputs,
            shape: SourceShape::Keep,
        },
        Op::Insert { source, place, kind } => EditOp::Insert {
            at: place_of(place).unwrap_or(CellPlace::End),
            kind: input::kind(kind),
            source: source_text(source, settings)?,
        },
        Op::Delete { cell } => EditOp::Delete { cell: input::cell(&cell) },
        Op::Move { cell, place } => EditOp::Move {
            cell: input::cell(&cell),
            to: place_of(place).ok_or_else(|| {
                Failure::argument(
                    "move",
                    "say where to: --after CELL, --before CELL or --at start|end",
                )
            })?,
        },
        Op::Type { cell, kind } => {
            EditOp::SetKind { cell: input::cell(&cell), kind: input::kind(kind) }
        }
        Op::Clear { cell } => EditOp::Clear { cell: cell.as_deref().map(input::cell) },
        Op::Sub { cell, old, new, all } => EditOp::Sub {
            cell: input::cell(&cell),
            old,
            new,
            matches: if all { Matches::All } else { Matches::One },
            outputs,
        },
        Op::Meta { cell, set, unset, tag, untag } => {
            return metadata(cell.as_deref(), &set, unset, tag, untag);
        }
        Op::Other(words) => return Err(unknown(words.first().map_or("", String::as_str))),
    };
    Ok(vec![op])
}

fn metadata(
    cell: Option<&str>,
    set: &[String],
    unset: Vec<String>,
    tag: Vec<String>,
    untag: Vec<String>,
) -> Result<Vec<EditOp>, Failure> {
    let mut change = MetaChange { set: Vec::new(), unset };
    for pair in set {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(Failure::argument("--set", format!("{pair:?} is not KEY=VALUE")));
        };
        let is_json = serde_json::from_str::<&serde_json::value::RawValue>(value).is_ok();
        let value =
            if is_json { value.to_owned() } else { serde_json::Value::from(value).to_string() };
        change.set.push((key.to_owned(), value));
    }
    let cell = cell.map(input::cell);
    let mut ops = Vec::new();
    if change != MetaChange::default() {
        ops.push(EditOp::SetMeta { cell: cell.clone(), change });
    }
    if !(tag.is_empty() && untag.is_empty()) {
        let cell =
            cell.ok_or_else(|| Failure::argument("meta", "tags belong to a cell; name it"))?;
        ops.push(EditOp::SetTags { cell, add: tag, remove: untag });
    }
    if ops.is_empty() {
        return Err(Failure::argument("meta", "give --set, --unset, --tag or --untag"));
    }
    Ok(ops)
}

fn source_text(source: Source, settings: &Settings) -> Result<String, Failure> {
    let file = match source {
        Source { source: Some(text), .. } if text != "-" => return Ok(text),
        Source { stdin: Some(_), .. } | Source { source: Some(_), .. } => "-".to_owned(),
        Source { source_file: Some(file), .. } => file,
        _ => {
            let problem = "give --source TEXT, --source-file FILE, or - for standard input";
            return Err(Failure::argument("source", problem));
        }
    };
    let text = input::file_text("--source-file", &file, settings)?;
    // A failed command in front of the pipe supplies nothing, and the user did not mean to empty
    // the cell.
    if text.is_empty() && file == "-" {
        let problem = "standard input is empty; to empty a cell give --source \"\"";
        return Err(Failure::argument("source", problem));
    }
    Ok(text)
}

fn place_of(place: PlaceArgs) -> Option<CellPlace> {
    let after = place.after.map(|cell| CellPlace::After(CellRef::Text(cell)));
    let before = place.before.map(|cell| CellPlace::Before(CellRef::Text(cell)));
    let end = place.at.map(|end| match end {
        End::Start => CellPlace::Start,
        End::End => CellPlace::End,
    });
    after.or(before).or(end)
}

impl Change {
    fn apply(&self, notebook: &mut Notebook, base: &Base) -> Result<EditReport, EngineError> {
        match self {
            Change::Ops(ops) => base.apply(notebook, ops),
            Change::Text { old, new, matches, ids, rules } => {
                base.replace_text(notebook, (old, new), *matches, *ids, *rules)
            }
        }
    }
}
