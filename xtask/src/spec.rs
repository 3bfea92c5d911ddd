//! `cargo xtask spec`: lists each statement of the source documents with its tests.
//!
//! Owns which parts count as finished, and what makes a finished part incomplete. Must not know how
//! the documents or the tests are read; the modules below do that.

mod documents;
mod functions;
mod id;
mod mentions;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use self::documents::{Reason, ReasonKind, Statement};
use self::id::Id;
use self::mentions::Mention;
use crate::workspace::Workspace;

/// Relative to the workspace root. The documents are not shipped with the project.
pub(crate) const DEFAULT_DIR: &str = "../shared/spec";
const REASONS: &str = "docs/reference/source-documents.md";
/// The most characters of a statement that a listing shows.
const SHOWN_CHARS: usize = 70;

/// Parts whose every statement must have a test, or a reason for having none. Add a part when its
/// work is done, and never remove one.
const FINISHED: &[Part] = &[
    Part::Letter('N'),
    Part::Letter('V'),
    Part::Letter('R'),
    Part::Letter('E'),
    Part::Letter('K'),
    Part::Letter('O'),
    Part::Letter('Z'),
    Part::Letter('G'),
    Part::Range('X', 2..=8),
    Part::Range('X', 20..=23),
    Part::Range('X', 25..=34),
    Part::Range('X', 40..=42),
    Part::Range('C', 1..=9),
    Part::Range('T', 10..=16),
    Part::Range('T', 20..=22),
    Part::Range('F', 1..=15),
    Part::Range('F', 20..=25),
    Part::Range('F', 27..=28),
    Part::Range('F', 30..=46),
    Part::Range('F', 60..=84),
    Part::Range('F', 90..=97),
    Part::Range('F', 110..=118),
    Part::Range('F', 150..=151),
    Part::Range('S', 10..=16),
    Part::Range('S', 22..=23),
    Part::Range('S', 30..=34),
    Part::Range('S', 40..=40),
];

enum Part {
    Letter(char),
    Range(char, RangeInclusive<u32>),
}

impl Part {
    fn holds(&self, id: &Id) -> bool {
        match self {
            Self::Letter(letter) => *letter == id.letter,
            Self::Range(letter, numbers) => *letter == id.letter && numbers.contains(&id.number),
        }
    }
}

/// The statements that a listing includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    Every,
    FaultsOnly,
}

pub(crate) fn run(workspace: &Workspace, dir: &Path, listing: Listing) -> Result<()> {
    let read = |name: &str| {
        let path = dir.join(name);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let mut documents = documents::parse_behaviour(&read("behaviour.md")?);
    documents.extend(documents::parse_reliability(&read("reliability.md")?));
    if documents.is_empty() {
        bail!("no statements in {}: has the form of the documents changed?", dir.display());
    }
    let mut faults = Vec::new();
    let mut mentions = mentions::in_workspace(workspace.root())?;
    let reasons = match std::fs::read_to_string(workspace.path(REASONS)) {
        Ok(text) => {
            mentions.extend(mentions::in_prose(&text, REASONS));
            documents::parse_reasons(&text, &mut faults)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {REASONS}")),
    };

    let report = Report::new(&documents, &mentions, &reasons, faults);
    let mut text = String::new();
    if listing == Listing::Every {
        text.push_str(&report.listing());
    }
    for fault in &report.faults {
        let _ = writeln!(text, "{fault}");
    }
    text.push_str(&report.summary());
    text.push('\n');
    write_out(&text)?;
    if report.faults.is_empty() { Ok(()) } else { bail!("spec: {} faults", report.faults.len()) }
}

/// A reader who closes the pipe after the first lines, such as `head`, does not cause an error.
fn write_out(text: &str) -> Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot print"),
    }
}

/// Statements with their tests and reasons, and all faults in those.
struct Report<'a> {
    rows: Vec<Row<'a>>,
    faults: Vec<String>,
}

struct Row<'a> {
    statement: &'a Statement,
    tests: BTreeSet<&'a str>,
    reason: Option<&'a Reason>,
}

#[derive(PartialEq, Eq)]
enum Standing {
    ByTest,
    ByReason,
    Open,
    Later,
}

impl Row<'_> {
    fn standing(&self) -> Standing {
        if !FINISHED.iter().any(|part| part.holds(&self.statement.id)) {
            Standing::Later
        } else if !self.tests.is_empty() {
            Standing::ByTest
        } else if self.reason.is_some_and(|reason| reason.kind != ReasonKind::Later) {
            Standing::ByReason
        } else {
            Standing::Open
        }
    }
}

impl<'a> Report<'a> {
    fn new(
        documents: &'a [Statement],
        mentions: &'a [Mention],
        reasons: &'a BTreeMap<Id, Reason>,
        mut faults: Vec<String>,
    ) -> Self {
        let known: BTreeSet<&Id> = documents.iter().map(|statement| &statement.id).collect();
        let mut tests: BTreeMap<Id, BTreeSet<&str>> = BTreeMap::new();
        for mention in mentions {
            match Id::parse(&mention.name).filter(|id| known.contains(id)) {
                None => faults.push(format!("unknown: {} names {}", mention.place, mention.name)),
                Some(id) if mention.by_test => {
                    tests.entry(id).or_default().insert(&mention.place);
                }
                Some(_) => {}
            }
        }
        for id in reasons.keys().filter(|id| !known.contains(id)) {
            faults.push(format!("unknown: {REASONS} names {id}"));
        }
        let rows: Vec<_> = documents
            .iter()
            .filter(|statement| statement.id.is_claim())
            .map(|statement| Row {
                statement,
                tests: tests.remove(&statement.id).unwrap_or_default(),
                reason: reasons.get(&statement.id),
            })
            .collect();
        for row in rows.iter().filter(|row| row.standing() == Standing::Open) {
            let later = if row.reason.is_some() { " (`later` does not count here)" } else { "" };
            let text = shorten(&row.statement.text);
            faults.push(format!("open: {} {text}{later}", row.statement.id));
        }
        Self { rows, faults }
    }

    /// Formats one line for each statement; further tests follow on lines of their own.
    fn listing(&self) -> String {
        let mut out = String::new();
        for row in &self.rows {
            let spoken = row.spoken_for();
            let mut lines = spoken.iter();
            let (id, text) = (row.statement.id.to_string(), shorten(&row.statement.text));
            let first = lines.next().map_or("-", String::as_str);
            let _ = writeln!(out, "{id:6} {text:width$}  {first}", width = SHOWN_CHARS + 1);
            for line in lines {
                let _ = writeln!(out, "{:width$}  {line}", "", width = SHOWN_CHARS + 8);
            }
        }
        out
    }

    fn summary(&self) -> String {
        let count =
            |wanted: Standing| self.rows.iter().filter(|row| row.standing() == wanted).count();
        let (by_test, by_reason) = (count(Standing::ByTest), count(Standing::ByReason));
        let (open, later) = (count(Standing::Open), count(Standing::Later));
        let finished = by_test + by_reason + open;
        format!(
            "spec: {finished} statements of finished parts: {by_test} by test, {by_reason} by \
             reason, {open} open; {later} of later parts"
        )
    }
}

impl Row<'_> {
    fn spoken_for(&self) -> Vec<String> {
        if self.tests.is_empty() {
            let reason = self.reason.iter();
            reason.map(|reason| format!("{}: {}", reason.kind.word(), reason.text)).collect()
        } else {
            self.tests.iter().map(|test| (*test).to_owned()).collect()
        }
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}
