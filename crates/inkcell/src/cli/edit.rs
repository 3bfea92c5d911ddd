//! `inkcell edit`: operations on cells, a batch of them, or a replacement in the virtual text.

use clap::{ArgMatches, FromArgMatches as _};
use inkcell_engine::notebook::{
    CellRef, DropRule, EditOp, EditReport, MarkerIds, Matches, Notebook, OutputsAfter, SourceShape,
    TextRules, nearest,
};
use inkcell_engine::operations::{
    Argument, Field, FieldKind, FieldValue, FieldValues, OPERATIONS, PLACE_FIELDS,
};
use inkcell_engine::{
    Backup, Base, EngineError, Force, IfMissing, Mode, SaveOptions, SavedChange, parse_ops,
};

use crate::args::{Edit, Op, Save, Source, typed_position};
use crate::cli::input;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;
use crate::view::report;
use crate::words;

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
pub(crate) fn answer(
    output: &mut Output,
    saved: &SavedChange<EditReport>,
) -> Result<Exit, Failure> {
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
            let problem = words::edit::say_what(&ways_to_say());
            return Err(Failure::argument("OP", problem));
        }
        _ => return Err(Failure::argument("OP", words::edit::ONLY_ONE)),
    }
    match args.op {
        Some(Op::Known(command, given)) => {
            return Ok(Change::Ops(operations((command, &given), outputs, settings)?));
        }
        Some(Op::Other(words)) => {
            return Err(unknown(words.first().map_or("", String::as_str)));
        }
        None => {}
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
    let commands = Op::commands();
    let (last, others) = commands.split_last().unwrap_or((&"", &[]));
    words::edit::ways(&others.join(", "), last)
}

fn unknown(word: &str) -> Failure {
    let commands = Op::commands();
    if commands.contains(&word) {
        let problem = words::edit::AFTER_DASHES;
        return Failure::argument(word, problem);
    }
    let hint = nearest(commands.iter().copied(), word)
        .map(|at| format!(" (did you mean {:?}?)", commands[at]))
        .unwrap_or_default();
    let problem = words::edit::not_operation(word, &hint, &ways_to_say());
    Failure::argument("OP", problem)
}

/// Makes the operations of a subcommand. Of several, only those are meant whose fields say something.
fn operations(
    (command, given): (&str, &ArgMatches),
    outputs: OutputsAfter,
    settings: &Settings,
) -> Result<Vec<EditOp>, Failure> {
    let is_placed = |name: &&str| given.try_contains_id(name).unwrap_or(false);
    if typed_position(given).is_some_and(|position| position != "-")
        && PLACE_FIELDS.iter().any(is_placed)
    {
        return Err(Failure::argument(command, words::edit::ONE_PLACE));
    }
    let (mut ops, mut missing) = (Vec::new(), None);
    for operation in OPERATIONS.iter().filter(|operation| operation.command == command) {
        let mut values = FieldValues::new(outputs);
        for field in operation.fields {
            if let Some(value) = value(field, given, settings)? {
                values.add(field, value);
            }
        }
        match operation.missing_choice(&values) {
            Some(choice) => missing = Some(choice.command_error),
            None => ops.push(operation.edit(values)),
        }
    }
    let ops: Result<Vec<EditOp>, String> = match missing {
        Some(problem) if ops.is_empty() => Err(problem.to_owned()),
        _ => ops.into_iter().collect(),
    };
    ops.map_err(|problem| Failure::argument(command, problem))
}

/// The value of a field, if it was typed.
fn value(
    field: &Field,
    given: &ArgMatches,
    settings: &Settings,
) -> Result<Option<FieldValue>, Failure> {
    match field.argument {
        Argument::Absent => return Ok(None),
        Argument::Source => {
            let mut source = Source::from_arg_matches(given)
                .map_err(|error| Failure::argument(field.name, error.to_string()))?;
            if typed_position(given) == Some("-") {
                let is_given = source.source.is_some() || source.source_file.is_some();
                if is_given || source.stdin.replace("-".to_owned()).is_some() {
                    return Err(Failure::argument("source", words::edit::ONE_SOURCE));
                }
            }
            return Ok(Some(FieldValue::Text(source_text(source, settings)?)));
        }
        Argument::Place(_) | Argument::Flag(..) => {}
    }
    if let Some(place) = typed_position(given).and_then(|position| parse_place(field, position)) {
        return Ok(Some(place));
    }
    let one = || given.get_one::<String>(field.name);
    let many = || given.get_many::<String>(field.name).into_iter().flatten();
    Ok(match field.kind {
        FieldKind::Cell => one().map(|cell| FieldValue::Cell(CellRef::Text(cell.clone()))),
        FieldKind::Text | FieldKind::Source => one().cloned().map(FieldValue::Text),
        FieldKind::Word(words) => {
            let word = one().and_then(|given| words.iter().find(|word| *word == given));
            word.map(|word| FieldValue::Word(word))
        }
        FieldKind::Switch => Some(FieldValue::Switch(given.get_flag(field.name))),
        FieldKind::Keys => {
            let keys: Result<Vec<_>, Failure> = many().map(|pair| key_and_value(pair)).collect();
            Some(FieldValue::Keys(keys?))
        }
        FieldKind::Texts => Some(FieldValue::Texts(many().cloned().collect())),
    })
}

/// What a position says in this field: a cell goes behind the one before it, so that it may also be the last one.
fn parse_place(field: &Field, position: &str) -> Option<FieldValue> {
    let number = position.parse::<usize>().ok();
    match (field.name, position, number) {
        (_, "-", _) => None,
        ("at", "start", _) | ("at", _, Some(0)) => Some(FieldValue::Word("start")),
        ("at", "end", _) => Some(FieldValue::Word("end")),
        ("after", _, Some(number @ 1..)) => {
            i64::try_from(number - 1).ok().map(|above| FieldValue::Cell(CellRef::Index(above)))
        }
        ("before", "start" | "end", _) | ("before", _, Some(_)) => None,
        ("before", cell, None) => Some(FieldValue::Cell(CellRef::Text(cell.to_owned()))),
        _ => None,
    }
}

/// A key with its value as JSON text.
fn key_and_value(pair: &str) -> Result<(String, String), Failure> {
    let Some((key, value)) = pair.split_once('=') else {
        return Err(Failure::argument("--set", words::edit::not_pair(pair)));
    };
    let is_json = serde_json::from_str::<&serde_json::value::RawValue>(value).is_ok();
    let value = if is_json { value.to_owned() } else { serde_json::Value::from(value).to_string() };
    Ok((key.to_owned(), value))
}

fn source_text(source: Source, settings: &Settings) -> Result<String, Failure> {
    let file = match source {
        Source { source: Some(text), .. } if text != "-" => return Ok(text),
        Source { stdin: Some(_), .. } | Source { source: Some(_), .. } => "-".to_owned(),
        Source { source_file: Some(file), .. } => file,
        _ => {
            let problem = words::edit::GIVE_SOURCE;
            return Err(Failure::argument("source", problem));
        }
    };
    let text = input::file_text("--source-file", &file, settings)?;
    // A failed command in front of the pipe supplies nothing, and the user did not mean to empty
    // the cell.
    if text.is_empty() && file == "-" {
        let problem = words::edit::EMPTY_STDIN;
        return Err(Failure::argument("source", problem));
    }
    Ok(text)
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
