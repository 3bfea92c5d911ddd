//! Reads a file into a document: one scan checks all of it and records the spans that an edit may touch.
//!
//! Owns which files are notebooks, and the spans of the parts of the top-level object.

use super::diagnose;
use super::legacy;
use super::slot::{Body, Fields, Slot};
use super::style::Style;
use crate::error::{NotebookError, ReadOnly};
use crate::json::{self, NonAscii, Scanner, Span, SyntaxError};
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Spans of the parts of the top-level object.
#[derive(Clone)]
pub(super) struct Layout {
    /// The top-level object, braces included.
    pub(super) document: Span,
    /// From just past `[` to `]` of the cells array; none for notebooks that keep cells elsewhere.
    pub(super) cells: Option<Span>,
    /// The entries of the cells array, in file order.
    pub(super) original: Vec<Span>,
    pub(super) metadata: Option<Span>,
    pub(super) version: FormatVersion,
    pub(super) read_only: Option<ReadOnly>,
}

/// `nbformat` and `nbformat_minor` as the file states them; none for a key that is missing or not a whole
/// number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FormatVersion {
    /// `nbformat`, for example 4.
    pub major: Option<u64>,
    /// `nbformat_minor`, for example 5.
    pub minor: Option<u64>,
}

/// Scans the whole file once, checks all of it and records the spans that an edit may touch.
pub(super) fn read(bytes: &[u8]) -> Result<(Layout, Style, Vec<Slot>), NotebookError> {
    let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let mut scanner = Scanner::new(bytes);
    let mut top = TopLevel::default();
    let syntax = |error| diagnose::explain_syntax_error(bytes, error);
    let at = scanner.skip_space(start);
    let is_object = scanner.peek(at) == Some(b'{');
    let end = if is_object {
        scanner.object(at, |scanner, key, at| top.member(scanner, key, at))
    } else {
        scanner.value(at, 0)
    };
    let end = end.map_err(syntax)?;
    let rest = scanner.skip_space(end);
    if rest < bytes.len() {
        let problem = "text follows the end of the notebook";
        return Err(syntax(SyntaxError { offset: rest, problem }));
    }
    if !is_object {
        return Err(NotebookError::NotAnObject);
    }
    let habit = match (scanner.raw_non_ascii, scanner.escaped_non_ascii) {
        (false, true) => NonAscii::Escaped,
        _ => NonAscii::Raw,
    };
    let document = Span::new(at, end);
    let style = Style::of(document.of(bytes), habit);
    let (layout, cells) = top.finish(bytes, document)?;
    Ok((layout, style, cells))
}

/// Top-level members read so far. Of duplicate keys the last one counts, as in Python.
#[derive(Default)]
struct TopLevel {
    cells: Option<Span>,
    slots: Vec<Slot>,
    /// Spans of the cells, in file order.
    spans: Vec<Span>,
    metadata: Option<Span>,
    worksheets: Option<Span>,
    major: Option<u64>,
    minor: Option<u64>,
    seen: Vec<&'static str>,
    duplicate: Option<&'static str>,
}

impl TopLevel {
    fn member(
        &mut self,
        scanner: &mut Scanner<'_>,
        key: Span,
        at: usize,
    ) -> Result<usize, SyntaxError> {
        const KNOWN: [&str; 5] = ["cells", "metadata", "nbformat", "nbformat_minor", "worksheets"];
        let bytes = scanner.bytes;
        let name = json::decode(key.of(bytes)).text;
        let known = KNOWN.into_iter().find(|known| *known == name);
        let is_cells = known == Some("cells") && scanner.peek(at) == Some(b'[');
        let end = if is_cells {
            self.slots.clear();
            self.spans.clear();
            scanner.array(at, |scanner, at| self.cell(scanner, at))?
        } else {
            scanner.value(at, 1)?
        };
        let Some(known) = known else { return Ok(end) };
        if self.seen.contains(&known) {
            self.duplicate = Some(known);
        }
        self.seen.push(known);
        let value = Span::new(at, end);
        match known {
            "cells" => self.cells = is_cells.then(|| Span::new(at + 1, end - 1)),
            "metadata" => self.metadata = Some(value),
            "worksheets" => self.worksheets = Some(value),
            "nbformat" => self.major = json::whole_number(value.of(bytes)),
            _ => self.minor = json::whole_number(value.of(bytes)),
        }
        Ok(end)
    }

    fn cell(&mut self, scanner: &mut Scanner<'_>, start: usize) -> Result<usize, SyntaxError> {
        let mut fields = Fields::default();
        let end = if scanner.peek(start) == Some(b'{') {
            fields.is_object = true;
            scanner.object(start, |scanner, key, at| {
                let end = scanner.value(at, 3)?;
                let key = key.relative_to(start as u32);
                let value = Span::new(at - start, end - start);
                fields.note(&scanner.bytes[start..], key, value);
                Ok(end)
            })?
        } else {
            scanner.value(start, 2)?
        };
        let span = Span::new(start, end);
        self.slots.push(Slot { body: Body::File(span), fields, origin: Some(self.spans.len()) });
        self.spans.push(span);
        Ok(end)
    }

    fn finish(self, bytes: &[u8], document: Span) -> Result<(Layout, Vec<Slot>), NotebookError> {
        let version = FormatVersion { major: self.major, minor: self.minor };
        let mut layout = Layout {
            document,
            cells: self.cells,
            original: self.spans,
            metadata: self.metadata,
            version,
            read_only: None,
        };
        let old = version.major.is_some_and(|major| major <= 3);
        let slots = match (self.cells, self.worksheets) {
            (None, Some(sheets)) => legacy::read_worksheets(bytes, sheets),
            (None, None) => return Err(NotebookError::NoCells),
            (Some(_), _) if old => legacy::reread_cells(bytes, self.slots),
            (Some(_), _) => self.slots,
        };
        layout.read_only = match (self.cells, version.major) {
            (_, Some(major)) if major <= 3 => Some(ReadOnly::TooOld { major }),
            (_, Some(major)) if major >= 5 => Some(ReadOnly::TooNew { major }),
            (None, major) => Some(ReadOnly::TooOld { major: major.unwrap_or(3).min(3) }),
            _ => self.duplicate.map(|key| ReadOnly::DuplicateKey { key }),
        };
        Ok((layout, slots))
    }
}
