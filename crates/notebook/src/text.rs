//! Virtual text: a notebook as one text of marked cells, and that text back into operations.
//!
//! Owns the marker grammar, the escape of lines that look like markers, and the rules by which a
//! marked cell is one that was there before. Changing the document is left to `EditOp`s.

mod controls;
mod strays;

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use crate::cell::{CellKind, CellRef, IdSource, is_valid_id, unique_ids};
use crate::document::Notebook;
use crate::edit::{EditOp, EditReport, Matches, OutputsAfter, Place};
use crate::error::{Candidate, SubError, TextError};
use crate::fields::SourceShape;
use crate::search::substitute;
use crate::view::CellView;

pub use controls::{visible_char, visible_controls};
pub(crate) use strays::is_stray_marker;

/// Whether markers carry ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkerIds {
    /// For cells whose id is well formed and unique.
    Auto,
    /// Never.
    Off,
}

/// What may happen to cells that a text leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Drop {
    /// Exactly this many may be left out; they are deleted. 0 refuses any.
    Exactly(usize),
    /// Any number is deleted, but not all by an empty text.
    Any,
}

/// What a text may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextRules {
    /// Cells that are left out.
    pub drop: Drop,
    /// Outputs of cells whose source changed.
    pub outputs: OutputsAfter,
    /// How changed sources are stored.
    pub shape: SourceShape,
}

/// A marker line taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Marker<'a> {
    kind: CellKind,
    /// `cell:N`; a number too large for any notebook becomes `usize::MAX`.
    number: Option<usize>,
    id: Option<&'a str>,
}

/// The part of a line after `# %%`, whatever the number of `%`, and that number.
fn after_percents(line: &str) -> Option<(usize, &str)> {
    let rest = line.strip_prefix("# ")?;
    let percents = rest.bytes().take_while(|byte| *byte == b'%').count();
    (percents >= 2).then(|| (percents, &rest[percents..]))
}

/// What follows the percent signs of a marker.
fn marker_tail(tail: &str) -> Option<Marker<'_>> {
    let rest = tail.strip_prefix(" [")?;
    let (name, rest) = rest.split_once(']')?;
    let kind = CellKind::from_name(name)?;
    let mut marker = Marker { kind, number: None, id: None };
    let mut rest = rest;
    if let Some(after) = rest.strip_prefix(" cell:") {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return None;
        }
        marker.number = Some(after[..digits].parse().unwrap_or(usize::MAX));
        rest = &after[digits..];
    }
    if let Some(id) = rest.strip_prefix(" id:") {
        if !is_valid_id(id) {
            return None;
        }
        marker.id = Some(id);
        rest = "";
    }
    rest.is_empty().then_some(marker)
}

/// A carriage return before the line feed does not make a line another line.
fn without_cr(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

fn marker(line: &str) -> Option<Marker<'_>> {
    match after_percents(without_cr(line))? {
        (2, tail) => marker_tail(tail),
        _ => None,
    }
}

/// Whether a source line would be read as a marker, or as an escaped one.
fn looks_like_marker(line: &str) -> bool {
    after_percents(without_cr(line)).is_some_and(|(_, tail)| marker_tail(tail).is_some())
}

fn escape_into(out: &mut String, source: &str) {
    for (at, line) in source.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        if looks_like_marker(line) {
            out.push_str("# %");
            out.push_str(&line[2..]);
        } else {
            out.push_str(line);
        }
    }
}

fn unescaped(line: &str) -> Option<String> {
    let (percents, _) = after_percents(without_cr(line))?;
    (percents >= 3 && looks_like_marker(line)).then(|| format!("# {}", &line[3..]))
}

/// [`substitute`] in virtual text. A place that cuts into a marker line is not meant: the words there are
/// ours, and replacing one would change what a cell is. Text that spans a whole marker is.
pub fn substitute_between_markers(
    text: &str,
    old: &str,
    new: &str,
    matches: Matches,
) -> Result<(String, usize), SubError> {
    let mut markers: Vec<Range<usize>> = Vec::new();
    let mut blanked = String::with_capacity(text.len());
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        if marker(bare).is_some() {
            markers.push(start..start + bare.len());
            blanked.push_str(&line[bare.len()..]);
        } else {
            blanked.push_str(line);
        }
        start += line.len();
    }
    let is_cut = |found: &Range<usize>| {
        let first = markers.partition_point(|marker| marker.end <= found.start);
        let overlapping = markers[first..].iter().take_while(|marker| marker.start < found.end);
        overlapping.into_iter().any(|marker| found.start > marker.start || found.end < marker.end)
    };
    let mut found: Vec<Range<usize>> = Vec::new();
    if !old.is_empty() {
        let range = |(at, _): (usize, &str)| at..at + old.len();
        found = text.match_indices(old).map(range).filter(|range| !is_cut(range)).collect();
    }
    match (found.len(), matches) {
        (1, _) => {}
        (2.., Matches::All) => {}
        // What is wrong is said without the markers, in which nobody looks for it.
        (0, _) => return substitute(&blanked, old, new, matches),
        (_, Matches::One) => return substitute(text, old, new, matches),
    }
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for range in &found {
        out.push_str(&text[end..range.start]);
        out.push_str(new);
        end = range.end;
    }
    out.push_str(&text[end..]);
    Ok((out, found.len()))
}

/// One cell of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextCell {
    /// Its kind.
    pub kind: CellKind,
    /// The number it was marked with.
    pub number: Option<usize>,
    /// The id it was marked with.
    pub id: Option<String>,
    /// Its source.
    pub source: String,
}

/// Takes a text apart. Only the empty text has no cells.
pub fn parse_text(text: &str) -> Result<Vec<TextCell>, TextError> {
    let mut cells: Vec<TextCell> = Vec::new();
    if text.is_empty() {
        return Ok(cells);
    }
    // A text whose first line ends in CR LF was saved that way as a whole; its carriage returns are
    // not part of the sources. In any other text they are.
    let is_crlf = text.split('\n').next().is_some_and(|line| line.ends_with('\r'));
    let mut has_line = false;
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        if let Some(found) = marker(line) {
            let id = found.id.map(str::to_owned);
            let source = String::new();
            cells.push(TextCell { kind: found.kind, number: found.number, id, source });
            has_line = false;
            continue;
        }
        let Some(cell) = cells.last_mut() else { return Err(TextError::FirstLine) };
        if has_line {
            cell.source.push('\n');
        }
        has_line = true;
        // At the very end there is no line feed that a carriage return could belong to.
        let line = if is_crlf && lines.peek().is_some() { without_cr(line) } else { line };
        match unescaped(line) {
            Some(line) => cell.source.push_str(&line),
            None => cell.source.push_str(line),
        }
    }
    Ok(cells)
}

/// A cell as it was in the version a text was made from.
pub trait TextBase {
    /// How many cells there were.
    fn count(&self) -> usize;
    /// The ids they had.
    fn id(&self, index: usize) -> Option<&str>;
    /// Whether the cell had this kind and source.
    fn is_same(&self, index: usize, kind: CellKind, source: &str) -> bool;
}

/// The operations that turn the cells of `base` into the cells of a text. A cell that the text shows
/// as it was is not named by any of them.
pub fn lower_text(
    base: &dyn TextBase,
    cells: Vec<TextCell>,
    rules: TextRules,
) -> Result<Vec<EditOp>, TextError> {
    let matched = match_cells(base, &cells);
    let mut is_used = vec![false; base.count()];
    for &index in matched.iter().flatten() {
        is_used[index] = true;
    }
    let missing: Vec<usize> = (0..base.count()).filter(|&index| !is_used[index]).collect();
    let (is_allowed, declared) = match rules.drop {
        Drop::Exactly(count) => (missing.len() == count, count),
        Drop::Any => (!cells.is_empty() || base.count() == 0, 0),
    };
    if !is_allowed {
        let name = |&index: &usize| Candidate { index, id: base.id(index).map(str::to_owned) };
        return Err(TextError::LeavesOut { missing: missing.iter().map(name).collect(), declared });
    }

    let fixed = longest_rising(&matched);
    let last = cells.len().saturating_sub(1);
    let mut ops: Vec<EditOp> = missing
        .iter()
        .map(|&index| EditOp::Delete { cell: CellRef::Index(index as i64) })
        .collect();
    let mut previous: Option<usize> = None;
    for (at, (cell, origin)) in cells.into_iter().zip(&matched).enumerate() {
        let place = match previous {
            Some(index) => Place::After(CellRef::Index(index as i64)),
            None => Place::Start,
        };
        let Some(index) = *origin else {
            ops.push(EditOp::Insert { at: place, kind: cell.kind, source: cell.source });
            continue;
        };
        let this = || CellRef::Index(index as i64);
        if !fixed[at] {
            ops.push(EditOp::Move { cell: this(), to: place });
        }
        // Editors end a file with a line feed; one more at the very end is theirs, not the cell's.
        let ended = cell.source.strip_suffix('\n').filter(|_| at == last);
        let is_same = base.is_same(index, cell.kind, &cell.source)
            || ended.is_some_and(|source| base.is_same(index, cell.kind, source));
        if !is_same {
            ops.push(EditOp::Replace {
                cell: this(),
                source: cell.source,
                kind: Some(cell.kind),
                outputs: rules.outputs,
                shape: rules.shape,
            });
        }
        previous = Some(index);
    }
    Ok(ops)
}

/// For each cell of the text the cell of the base it is: by id when it is marked with one, else by
/// number; the first use of a cell wins.
fn match_cells(base: &dyn TextBase, cells: &[TextCell]) -> Vec<Option<usize>> {
    let by_id = unique_ids((0..base.count()).map(|index| base.id(index)));
    let mut is_used = vec![false; base.count()];
    let mut pick = |index: Option<usize>| {
        let index = index.filter(|&index| index < is_used.len() && !is_used[index])?;
        is_used[index] = true;
        Some(index)
    };
    cells
        .iter()
        .map(|cell| match &cell.id {
            Some(id) => pick(by_id.get(id.as_str()).copied().flatten()),
            None => pick(cell.number),
        })
        .collect()
}

/// Which of the matched cells can stay where they are: a longest rising run of their old positions.
pub(crate) fn longest_rising(matched: &[Option<usize>]) -> Vec<bool> {
    // `ends[k]` is the place in `matched` where the lowest-ending run of length k + 1 ends.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = vec![None; matched.len()];
    for (at, origin) in matched.iter().enumerate() {
        let Some(origin) = origin else { continue };
        let length = ends.partition_point(|&end| matched[end].is_some_and(|old| old < *origin));
        previous[at] = length.checked_sub(1).map(|before| ends[before]);
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut stays = vec![false; matched.len()];
    let mut at = ends.last().copied();
    while let Some(place) = at {
        stays[place] = true;
        at = previous[place];
    }
    stays
}

/// The cells of a notebook as the base of a text.
struct Here<'a> {
    book: &'a Notebook,
    ids: Vec<Option<Cow<'a, str>>>,
}

impl TextBase for Here<'_> {
    fn count(&self) -> usize {
        self.book.len()
    }

    fn id(&self, index: usize) -> Option<&str> {
        self.ids.get(index)?.as_deref()
    }

    fn is_same(&self, index: usize, kind: CellKind, source: &str) -> bool {
        let cell = self.book.view(index);
        cell.kind() == Some(kind) && is_same_text(&cell.source().text, source)
    }
}

/// Whether a submitted source is the stored one. Line ends may differ: an editor that saves CR LF as
/// LF (or the other way) has not changed the cell. Nor has a reader who was shown its control characters as pictures.
pub fn is_same_text(stored: &str, submitted: &str) -> bool {
    let is_same = |stored: &str| {
        stored == submitted
            || (stored.contains('\r') || submitted.contains('\r'))
                && stored.replace("\r\n", "\n") == submitted.replace("\r\n", "\n")
    };
    is_same(stored) || matches!(visible_controls(stored), Cow::Owned(shown) if is_same(&shown))
}

impl Notebook {
    /// The whole notebook as text. Fails when an entry is not a cell of a known kind.
    pub fn to_text(&self, ids: MarkerIds) -> Result<String, TextError> {
        let all: Vec<usize> = (0..self.len()).collect();
        self.cells_to_text(&all, ids)
    }

    /// Some cells as text, with the markers they have in the whole.
    pub fn cells_to_text(&self, cells: &[usize], ids: MarkerIds) -> Result<String, TextError> {
        let names = self.ids();
        let by_id = unique_ids(names.iter().map(|name| name.as_deref()));
        let mut out = String::new();
        for (at, &index) in cells.iter().enumerate() {
            let cell = self.view(index);
            let Some(kind) = cell.kind() else { return Err(TextError::BadCell { index }) };
            if at > 0 {
                out.push('\n');
            }
            out.push_str(&format!("# %% [{kind}] cell:{index}"));
            if let Some(id) = names[index].as_deref()
                && ids == MarkerIds::Auto
                && is_valid_id(id)
                && by_id.get(id) == Some(&Some(index))
            {
                out.push_str(" id:");
                out.push_str(id);
            }
            let source = cell.source().text;
            if !source.is_empty() {
                out.push('\n');
                escape_into(&mut out, &source);
            }
        }
        Ok(out)
    }

    /// The operations a text asks for, against this notebook as it is.
    pub fn text_ops(&self, text: &str, rules: TextRules) -> Result<Vec<EditOp>, TextError> {
        if let Some(bad) = self.cells().find(|cell| cell.kind().is_none()) {
            return Err(TextError::BadCell { index: bad.index() });
        }
        lower_text(&Here { book: self, ids: self.ids() }, parse_text(text)?, rules)
    }

    /// Whether another notebook may take the place of this one: the cells that are not in it, by id or by
    /// what they hold, must be those the caller means to drop.
    pub fn may_become(&self, new: &Notebook, drop: Drop) -> Result<(), TextError> {
        let Drop::Exactly(declared) = drop else { return Ok(()) };
        let key = |cell: CellView<'_>| (cell.kind(), cell.source().text.into_owned());
        let ids: HashSet<String> =
            new.cells().filter_map(|cell| cell.id()).map(|id| id.into_owned()).collect();
        let held: HashSet<_> = new.cells().map(key).collect();
        let is_there = |cell: &CellView<'_>| {
            cell.id().is_some_and(|id| ids.contains(&*id)) || held.contains(&key(*cell))
        };
        let missing: Vec<Candidate> =
            self.cells().filter(|cell| !is_there(cell)).map(|cell| cell.name()).collect();
        if missing.len() == declared {
            return Ok(());
        }
        Err(TextError::LeavesOut { missing, declared })
    }

    /// Makes the notebook what a text says, all or nothing. The text it has already changes nothing.
    pub fn apply_text(
        &mut self,
        text: &str,
        rules: TextRules,
        ids: &mut IdSource,
    ) -> Result<EditReport, TextError> {
        let ops = self.text_ops(text, rules)?;
        Ok(self.apply(&ops, ids)?)
    }
}

#[cfg(test)]
#[path = "text/tests.rs"]
mod tests;
