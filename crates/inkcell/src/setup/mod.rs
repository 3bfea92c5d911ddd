//! Telling an agent's program about inkcell: the entry that its configuration needs, and an edit that adds the
//! entry and keeps the rest.
//!
//! Owns what counts as set up. The parts: `client` (which programs, and where each looks), `command` (how inkcell
//! is called there), `tree` (the content of a file in any format), `json`, `toml` and `yaml` (parsing and changing
//! the text), `save` (the file itself). It must not know arguments, output or variables.

mod client;
mod command;
mod json;
mod save;
mod toml;
mod tree;
mod yaml;

pub(crate) use client::{Client, NoPlace, Places, Scope, quoted};
pub(crate) use command::{NoCommand, StartCommand, command_of};
pub(crate) use save::{Readers, SaveError, read, replace};

use tree::{Tree, is_only_change, wanted};

/// The name of a server and the command that starts it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
}

/// A value of a configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Text(String),
    Texts(Vec<String>),
    Switch(bool),
    Number(u32),
}

/// When a field must have our value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// Whenever the command runs.
    Always,
    /// Only in a new entry; later it belongs to the user.
    WhenNew,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    pub(crate) key: &'static str,
    pub(crate) value: Value,
    pub(crate) hold: Hold,
}

/// The entry that a configuration needs: `table.name`, with these fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) table: &'static str,
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
}

/// The format of a configuration file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Json,
    JsonWithComments,
    Toml,
    Yaml,
}

impl Format {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Json | Format::JsonWithComments => "json",
            Format::Toml => "toml",
            Format::Yaml => "yaml",
        }
    }
}

/// The reason why a file is left alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// It cannot be parsed.
    Broken { line: usize, column: usize, problem: String },
    /// It has something else where the entry belongs.
    Shape(String),
    /// The name belongs to another server.
    Taken(String),
    /// Its spelling cannot be changed without touching the rest.
    Odd,
}

/// The change to a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Nothing,
    Added,
    Changed,
}

/// The edit that a text needs.
enum Task<'a> {
    Add,
    /// Set these fields of an existing entry.
    Set(Vec<&'a Field>),
}

/// The text with the entry in it, and its difference to the old text.
pub(crate) fn edit(format: Format, text: &str, entry: &Entry) -> Result<(String, Change), Refusal> {
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let before = parse(format, body)?;
    let Some(task) = wanted(&before, entry)? else {
        return Ok((text.to_owned(), Change::Nothing));
    };
    let change = match task {
        Task::Add => Change::Added,
        Task::Set(_) => Change::Changed,
    };
    let new = match format {
        Format::Json | Format::JsonWithComments => json::write(format, body, entry, &task)?,
        Format::Toml => toml::write(body, entry, &task)?,
        Format::Yaml => yaml::write(body, entry, &task)?,
    };
    // Check the result, whatever the text was: everything but the entry must keep its meaning.
    match parse(format, &new) {
        Ok(after) if is_only_change(&before, &after, entry) => Ok((format!("{mark}{new}"), change)),
        _ => Err(Refusal::Odd),
    }
}

fn parse(format: Format, text: &str) -> Result<Tree, Refusal> {
    match format {
        Format::Json | Format::JsonWithComments => json::parse(format, text),
        Format::Toml => toml::parse(text),
        Format::Yaml => yaml::parse(text),
    }
}

/// The line ending of a text.
fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The line and column of a byte, counted from 1 as editors do.
fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (1 + before.matches('\n').count(), 1 + before[line_start..].chars().count())
}

/// Replaces ranges, which must not overlap, by texts.
fn spliced(text: &str, mut splices: Vec<(std::ops::Range<usize>, String)>) -> Option<String> {
    splices.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len() + 256);
    let mut done = 0;
    for (range, new) in splices {
        out.push_str(text.get(done..range.start)?);
        out.push_str(&new);
        done = range.end;
    }
    out.push_str(text.get(done..)?);
    Some(out)
}

#[cfg(test)]
mod tests;
