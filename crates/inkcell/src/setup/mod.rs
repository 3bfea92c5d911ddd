//! Telling an agent's program about inkcell: what its configuration must hold, and a change of it that keeps
//! the rest.
//!
//! Owns what counts as set up. The parts: `client` (which programs, and where each looks), `command` (how
//! inkcell is called there), `tree` (what a file says, whatever it is written in), `json`, `toml` and `yaml`
//! (reading and changing the text), `save` (the file itself). It must not know arguments, output or variables.

mod client;
mod command;
mod json;
mod save;
mod toml;
mod tree;
mod yaml;

pub(crate) use client::{Client, NoPlace, Places, Scope, quoted};
pub(crate) use command::{NoCommand, command_of};
pub(crate) use save::{Readers, SaveError, read, replace};

use tree::{Tree, is_only_change, wanted};

/// How a server is called and started.
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

/// When a field has to be as we write it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// Whenever we are asked.
    Always,
    /// In an entry that we make; later it is the user's.
    WhenNew,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    pub(crate) key: &'static str,
    pub(crate) value: Value,
    pub(crate) hold: Hold,
}

/// What a configuration must hold: `table.name`, with these fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) table: &'static str,
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
}

/// What a file is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Json,
    JsonWithComments,
    Toml,
    Yaml,
}

impl Format {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Format::Json | Format::JsonWithComments => "json",
            Format::Toml => "toml",
            Format::Yaml => "yaml",
        }
    }
}

/// Why a file is left alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// It cannot be read.
    Broken { line: usize, column: usize, problem: String },
    /// It has something else where the entry belongs.
    Shape(String),
    /// The name is another server's.
    Taken(String),
    /// It is written in a way that we cannot change without touching the rest.
    Odd,
}

/// What becomes of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Nothing,
    Added,
    Changed,
}

/// What is to be written into a text.
enum Task<'a> {
    /// The whole entry.
    Add,
    /// These fields of an entry that is there.
    Set(Vec<&'a Field>),
}

/// The text with the entry in it, and how that differs from what was there.
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
    // Whatever the text was like: what we did not mean to change means what it meant before.
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

/// How lines end in a text.
fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Where a byte is, counted from 1 as editors do.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (1 + before.matches('\n').count(), 1 + before[line_start..].chars().count())
}

/// Puts texts in place of ranges, which must not overlap.
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
