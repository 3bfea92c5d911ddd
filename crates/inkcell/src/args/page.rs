//! The layout of help: sections of rows that fit the width of the terminal.
//!
//! Owns columns, wrapping and the colors of help. The texts come from the definition of the arguments. clap wraps and
//! colors with seven more packages, and lists all commands under one heading.

use clap::builder::PossibleValue;
use clap::{Arg, Command};

use crate::wrap::{columns, wrap};

/// The heading of the options that every command has.
pub(super) const GLOBAL: &str = "Global options";

/// The headings of a command, in their order. Others follow them, and the last is that of the global options.
pub(super) const SECTIONS: [&str; 8] = [
    "Arguments",
    "Options",
    "Which cells",
    "Parameters",
    "Batches",
    "Python and kernel",
    "Limits",
    "Output",
];

const HEADING: &str = "\x1b[1;32m";
const LITERAL: &str = "\x1b[36m";
const RESET: &str = "\x1b[0m";

/// Columns before the name of a row.
const INDENT: usize = 2;
/// Columns before a text below its name.
const DEEP_INDENT: usize = 10;
/// The widest name that has its text beside it.
const WIDEST_NAME: usize = 30;
/// Columns that a text beside its name needs.
const LEAST_ROOM: usize = 24;
/// Lines are no longer than this, however wide the terminal is.
const WIDEST: usize = 100;
const NARROWEST: usize = 20;

/// How a page is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageStyle {
    width: usize,
    has_colour: bool,
}

impl PageStyle {
    /// The width where none is known, as in a pipe.
    pub(crate) const USUAL_WIDTH: usize = 80;

    pub(crate) fn new(width: usize, has_colour: bool) -> PageStyle {
        PageStyle { width: width.clamp(NARROWEST, WIDEST), has_colour }
    }
}

/// A name with its explanation.
#[derive(Debug)]
pub(super) struct Row {
    name: String,
    about: String,
    /// A default, in brackets.
    default: String,
    values: Vec<PossibleValue>,
    details: Option<String>,
}

impl Row {
    pub(super) fn new(name: &str, about: &str) -> Row {
        let (name, about) = (name.to_owned(), about.to_owned());
        Row { name, about, default: String::new(), values: Vec::new(), details: None }
    }

    fn of_command(command: &Command) -> Row {
        Row::new(command.get_name(), &text(command.get_about()))
    }

    fn of_argument(arg: &Arg, is_long: bool) -> Row {
        let short = arg.get_short().map(|short| format!("-{short}, "));
        let name = match arg.is_positional() {
            true => arg.to_string(),
            false => format!("{}{arg}", short.as_deref().unwrap_or("    ")),
        };
        let about = match (arg.get_id().as_str(), is_long) {
            ("help", true) => "Print help (-h prints a summary)".to_owned(),
            ("help", false) => "Print help (--help prints details)".to_owned(),
            _ => text(arg.get_help()),
        };
        let mut row = Row::new(&name, &about);
        if let Some((about, default)) = about.split_once(" [default: ") {
            row.about = about.to_owned();
            row.default = format!(" [default: {default}");
        }
        if arg.get_action().takes_values() {
            let words: Vec<_> =
                arg.get_default_values().iter().map(|v| v.to_string_lossy()).collect();
            if !words.is_empty() {
                row.default = format!(" [default: {}]", words.join(" "));
            }
            row.values = arg.get_possible_values();
            row.values.retain(|value| !value.is_hide_set() && value.get_name() != "-");
        }
        if arg.get_id() != "help" {
            row.details = arg.get_long_help().map(ToString::to_string);
        }
        row
    }

    /// The values in brackets.
    fn values(&self) -> String {
        let names: Vec<&str> = self.values.iter().map(PossibleValue::get_name).collect();
        if names.is_empty() { String::new() } else { format!(" [{}]", names.join(", ")) }
    }

    fn has_details(&self) -> bool {
        self.details.is_some() || self.values.iter().any(|value| value.get_help().is_some())
    }

    /// The text for one line: a default and values that do not fit are left to the details.
    fn summary(&self, room: usize) -> String {
        let mut summary = self.about.clone();
        for addition in [&self.default, &self.values()] {
            if columns(&summary) + columns(addition) <= room {
                summary.push_str(addition);
            }
        }
        summary
    }
}

fn text_of(value: &PossibleValue) -> String {
    text(value.get_help())
}

fn text(styled: Option<&clap::builder::StyledStr>) -> String {
    styled.map(ToString::to_string).unwrap_or_default()
}

/// A page that grows.
#[derive(Debug)]
pub(super) struct Page {
    style: PageStyle,
    text: String,
}

impl Page {
    pub(super) fn new(style: PageStyle) -> Page {
        Page { style, text: String::new() }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    fn painted(&self, look: &str, text: &str) -> String {
        match self.style.has_colour && !text.trim().is_empty() {
            true => format!("{look}{text}{RESET}"),
            false => text.to_owned(),
        }
    }

    fn blank(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// A paragraph, or several lines, behind a blank line.
    pub(super) fn paragraph(&mut self, text: &str) {
        self.blank();
        for line in wrap(text, self.style.width) {
            // A line alone that ends with a colon is a heading, as before examples.
            let is_heading = line.ends_with(':') && !line.starts_with(' ') && !line.contains(',');
            let line = if is_heading { self.painted(HEADING, &line) } else { line };
            self.text.push_str(&format!("{line}\n"));
        }
    }

    fn usage(&mut self, command: &Command) {
        self.blank();
        let usage = command.clone().render_usage().to_string();
        let usage = usage.strip_prefix("Usage:").unwrap_or(&usage).trim().to_owned();
        self.text.push_str(&self.painted(HEADING, "Usage:"));
        let room = self.style.width.saturating_sub("Usage: ".len());
        let lines = usage.lines().flat_map(|line| wrap(line.trim(), room)).collect::<Vec<_>>();
        for (at, line) in lines.iter().enumerate() {
            let indent = if at == 0 { " " } else { "       " };
            let line = self.painted(LITERAL, line);
            self.text.push_str(&format!("{indent}{line}\n"));
        }
    }

    pub(super) fn heading(&mut self, title: &str) {
        self.blank();
        let title = self.painted(HEADING, &format!("{title}:"));
        self.text.push_str(&format!("{title}\n"));
    }

    /// Rows with their texts in a column, which begins behind the widest name.
    pub(super) fn rows(&mut self, rows: &[Row]) {
        self.rows_beside(rows, column_for(rows));
    }

    fn rows_beside(&mut self, rows: &[Row], column: usize) {
        let (column, is_stacked) = match self.style.width.saturating_sub(column) >= LEAST_ROOM {
            true => (column, false),
            false => (DEEP_INDENT, true),
        };
        let room = self.style.width.saturating_sub(column);
        for row in rows {
            self.text.push_str(&" ".repeat(INDENT));
            self.text.push_str(&self.painted(LITERAL, &row.name));
            let end = INDENT + columns(&row.name);
            let mut is_beside = !is_stacked && end + INDENT <= column;
            for line in wrap(&row.summary(room), room) {
                let gap = if std::mem::take(&mut is_beside) {
                    " ".repeat(column - end)
                } else {
                    format!("\n{}", " ".repeat(column))
                };
                self.text.push_str(&format!("{gap}{line}"));
            }
            self.text.push('\n');
        }
    }

    /// Rows with all there is to know about each, below its name.
    fn detailed_rows(&mut self, rows: &[Row]) {
        for (at, row) in rows.iter().enumerate() {
            if at > 0 {
                self.text.push('\n');
            }
            let name = self.painted(LITERAL, &row.name);
            self.text.push_str(&format!("{}{name}\n", " ".repeat(INDENT)));
            let text = row.details.as_deref().unwrap_or(&row.about);
            let (summary, details) = text.split_once("\n\n").unwrap_or((text, ""));
            match text.contains(row.default.as_str()) {
                true => self.deep(summary, DEEP_INDENT),
                false => self.deep(&format!("{summary}{}", row.default), DEEP_INDENT),
            }
            if !details.is_empty() {
                self.text.push('\n');
                self.deep(details, DEEP_INDENT);
            }
            let values = &row.values;
            if values.iter().any(|value| value.get_help().is_some()) {
                let row = |value: &PossibleValue| Row::new(value.get_name(), &text_of(value));
                let rows: Vec<Row> = values.iter().map(row).collect();
                self.values(&rows);
            } else if !values.is_empty() {
                self.deep(row.values().trim_start(), DEEP_INDENT);
            }
        }
    }

    /// The values of an argument, with their texts in a column.
    fn values(&mut self, rows: &[Row]) {
        let column = DEEP_INDENT + column_for(rows);
        for Row { name, about, .. } in rows {
            let end = DEEP_INDENT + INDENT + columns(name);
            let name = self.painted(LITERAL, name);
            let lead =
                format!("{}{name}{}", " ".repeat(DEEP_INDENT + INDENT), " ".repeat(column - end));
            let lines = wrap(about, self.style.width.saturating_sub(column));
            let lines = lines.join(&format!("\n{}", " ".repeat(column)));
            self.text.push_str(&format!("{lead}{lines}\n"));
        }
    }

    fn deep(&mut self, text: &str, indent: usize) {
        for line in wrap(text, self.style.width.saturating_sub(indent)) {
            let indent = if line.is_empty() { 0 } else { indent };
            self.text.push_str(&format!("{}{line}\n", " ".repeat(indent)));
        }
    }
}

/// Where texts begin beside these names.
fn column_for(rows: &[Row]) -> usize {
    let widths = rows.iter().map(|row| columns(&row.name));
    INDENT + widths.filter(|width| *width <= WIDEST_NAME).max().unwrap_or(0) + INDENT
}

/// The heading of an argument.
pub(super) fn section(arg: &Arg) -> &str {
    match arg.get_id().as_str() {
        "help" | "version" => GLOBAL,
        _ if arg.is_positional() => arg.get_help_heading().unwrap_or("Arguments"),
        _ => arg.get_help_heading().unwrap_or("Options"),
    }
}

/// The arguments under their headings.
fn sections(command: &Command, is_long: bool) -> Vec<(&str, Vec<Row>)> {
    let mut sections: Vec<(&str, Vec<Row>)> = Vec::new();
    let is_shown = |arg: &&Arg| !arg.is_hide_set() && (is_long || !arg.is_hide_short_help_set());
    for arg in command.get_arguments().filter(is_shown) {
        let title = section(arg);
        let row = Row::of_argument(arg, is_long);
        match sections.iter_mut().find(|(known, _)| *known == title) {
            Some((_, rows)) => rows.push(row),
            None => sections.push((title, vec![row])),
        }
    }
    sections.sort_by_key(|(title, _)| match *title {
        GLOBAL => SECTIONS.len() + 1,
        title => SECTIONS.iter().position(|known| *known == title).unwrap_or(SECTIONS.len()),
    });
    sections
}

/// The page of one command, whose definition is built.
pub(super) fn of_command(command: &Command, is_long: bool, style: PageStyle) -> String {
    let mut page = Page::new(style);
    let about = command.get_long_about().filter(|_| is_long).or_else(|| command.get_about());
    page.paragraph(&text(about));
    page.usage(command);
    let below: Vec<Row> = command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
        .map(Row::of_command)
        .collect();
    if !below.is_empty() {
        page.heading("Commands");
        page.rows(&below);
    }
    let sections = sections(command, is_long);
    let is_detailed = is_long && sections.iter().flat_map(|(_, rows)| rows).any(Row::has_details);
    for (title, rows) in &sections {
        page.heading(title);
        match is_detailed {
            true => page.detailed_rows(rows),
            false => page.rows(rows),
        }
    }
    if let Some(after) = command.get_after_help().filter(|_| is_long) {
        page.paragraph(&after.to_string());
    }
    page.finish()
}

/// The page of the program: its commands in groups.
pub(super) fn of_program(
    program: &Command,
    groups: &[(&str, &[&str])],
    last_lines: &str,
    style: PageStyle,
) -> String {
    let mut page = Page::new(style);
    page.paragraph(&text(program.get_about()));
    page.usage(program);
    let row = |name: &&str| program.find_subcommand(name).map(Row::of_command);
    let groups: Vec<(&str, Vec<Row>)> = groups
        .iter()
        .map(|(title, names)| (*title, names.iter().filter_map(row).collect()))
        .collect();
    let column = groups.iter().map(|(_, rows)| column_for(rows)).max().unwrap_or(0);
    for (title, rows) in &groups {
        page.heading(title);
        page.rows_beside(rows, column);
    }
    for (title, rows) in sections(program, true) {
        page.heading(title);
        let as_shown = |row: Row| match row.about.starts_with("Print help") {
            true => Row { about: "Print help".to_owned(), ..row },
            false => row,
        };
        page.rows(&rows.into_iter().map(as_shown).collect::<Vec<_>>());
    }
    page.paragraph(last_lines);
    page.finish()
}
