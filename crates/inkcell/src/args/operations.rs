//! The operations of `inkcell edit` as subcommands.
//!
//! Owns their form on the command line, which is made from the engine's table of operations.

use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args as _, Command, Error};
use clap::{FromArgMatches, Subcommand, value_parser};
use inkcell_engine::operations::{Argument, Field, FieldKind, OPERATIONS, Operation, PLACE_FIELDS};

/// An operation as it was typed.
#[derive(Debug)]
pub(crate) enum Op {
    /// A subcommand with its arguments.
    Known(&'static str, ArgMatches),
    /// A word that is none of these, with all that follows.
    Other(Vec<String>),
}

/// Where a source comes from.
#[derive(clap::Args, Debug)]
pub(crate) struct Source {
    /// Read the source from standard input
    #[arg(value_name = "-", value_parser = ["-"], conflicts_with_all = ["source", "source_file"])]
    pub(crate) stdin: Option<String>,
    /// Source of the cell; - reads standard input
    #[arg(long, value_name = "TEXT", conflicts_with = "source_file", allow_hyphen_values = true)]
    pub(crate) source: Option<String>,
    /// Read the source from FILE; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) source_file: Option<String>,
}

impl Op {
    /// The subcommands by name.
    pub(crate) fn commands() -> Vec<&'static str> {
        let mut names: Vec<&str> = OPERATIONS.iter().map(|operation| operation.command).collect();
        names.dedup();
        names
    }
}

impl FromArgMatches for Op {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Op, Error> {
        let (name, given) =
            matches.subcommand().ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        let known = Op::commands().into_iter().find(|known| *known == name);
        // After `--`, a word is not a subcommand even if it names one. Then the rest of the words has an empty id.
        Ok(match known.filter(|_| !given.contains_id("")) {
            Some(known) => Op::Known(known, given.clone()),
            None => {
                let rest = given.get_many::<String>("").into_iter().flatten().cloned();
                Op::Other(std::iter::once(name.to_owned()).chain(rest).collect())
            }
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Op::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Op {
    fn augment_subcommands(command: Command) -> Command {
        command
            .subcommands(Op::commands().into_iter().map(subcommand))
            .allow_external_subcommands(true)
            .external_subcommand_value_parser(value_parser!(String))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Op::augment_subcommands(command)
    }

    /// An unknown word is read as well: the error for it lists the operations.
    fn has_subcommand(_: &str) -> bool {
        true
    }
}

/// The place of a new cell, by position; no field of the operation, as JSON has enough of them.
const POSITION: &str = "position";

/// The position of a new cell, as it was typed. A lone `-` means that its source comes from standard input.
pub(crate) fn typed_position(given: &ArgMatches) -> Option<&str> {
    given.try_get_one::<String>(POSITION).ok().flatten().map(String::as_str)
}

/// A subcommand with the fields of its operations. The first operation explains it.
fn subcommand(name: &'static str) -> Command {
    let operations: Vec<&Operation> =
        OPERATIONS.iter().filter(|operation| operation.command == name).collect();
    let mut command = Command::new(name);
    if name == "insert" {
        let about = "Insert at this position, counted from 0 [default: end]";
        let position = Arg::new(POSITION).value_name("POSITION").help(about);
        command = command.arg(position.allow_negative_numbers(true));
    }
    let mut seen: Vec<&str> = Vec::new();
    for field in operations.iter().flat_map(|operation| operation.fields) {
        if seen.contains(&field.name) {
            continue;
        }
        seen.push(field.name);
        command = with_argument(command, field);
    }
    if PLACE_FIELDS.iter().all(|place| seen.contains(place)) {
        command = command.group(ArgGroup::new("place").args(PLACE_FIELDS).multiple(false));
    }
    // Arguments that are added as a group bring an explanation too, so this one comes last.
    match operations.first() {
        Some(first) => command.about(first.about).aliases(first.command_aliases),
        None => command,
    }
}

fn with_argument(command: Command, field: &Field) -> Command {
    let arg = Arg::new(field.name).help(field.about).required(field.is_required);
    let arg = match field.argument {
        Argument::Absent => return command,
        Argument::Source => return Source::augment_args(command),
        Argument::Place(value) => arg.value_name(value),
        Argument::Flag(long, _) if field.kind == FieldKind::Switch => arg.long(long),
        Argument::Flag(long, value) => arg.long(long).value_name(value),
    };
    command.arg(match field.kind {
        FieldKind::Cell | FieldKind::Text | FieldKind::Source => arg.allow_hyphen_values(true),
        FieldKind::Word(words) => {
            arg.value_parser(PossibleValuesParser::new(words)).default_value(field.default)
        }
        FieldKind::Switch => arg.action(ArgAction::SetTrue),
        FieldKind::Keys | FieldKind::Texts => arg.action(ArgAction::Append),
    })
}
