//! An artifact as its reader wants it: cleaned when it is read (B:O-08).
//!
//! Owns the position where cleaning starts, so that each line comes out as in a reading of the whole, and the memory
//! that this takes. It must not know how bytes are cleaned. Cleaning keeps every line end, so a line has the same
//! number in the file, in the cleaned text and in a notice.

use inkcell_notebook::{LineRange, PageLimits};

use super::error::ArtifactError;
use super::grep::{GrepLimits, GrepRead, SearchPattern, Walk};
use super::read::{Artifact, CutLine, LinesRead, Piece};
use crate::output::Cleaner;

/// Bytes cleaned at once. A few bytes can request a long line of blanks, so this is small.
const PORTION: usize = 16 * 1024;
/// A sequence that hides text is at most a mebibyte long. A cleaner that starts this many bytes before a line knows
/// whether the line is inside a sequence, whatever it assumed at its start.
const LOOK_BACK: u64 = (1 << 20) + 64 * 1024;

/// An artifact whose text is made fit to read.
#[derive(Clone, Copy, Debug)]
pub struct CleanArtifact<'a>(&'a Artifact);

impl Artifact {
    /// A cleaned view of the artifact. Only text can be cleaned: see [`super::is_text_kind`].
    pub fn cleaned(&self) -> CleanArtifact<'_> {
        CleanArtifact(self)
    }
}

impl CleanArtifact<'_> {
    /// Passes all of the text to `take`.
    pub fn pass<E: From<ArtifactError>>(
        &self,
        take: &mut dyn FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        self.pass_span(0, self.0.info().bytes, take)
    }

    /// Passes lines to `take`, numbered from 1, both ends included; no ranges mean all. Returns the number of lines.
    pub fn pass_lines<E: From<ArtifactError>>(
        &self,
        ranges: &[LineRange],
        take: &mut dyn FnMut(&str) -> Result<(), E>,
    ) -> Result<u64, E> {
        let total_lines = self.0.count_lines()?;
        for (start, end) in self.0.spans(ranges)? {
            self.pass_span(start, end, take)?;
        }
        Ok(total_lines)
    }

    /// Passes the text of the whole lines between these offsets to `take`.
    fn pass_span<E: From<ArtifactError>>(
        &self,
        start: u64,
        end: u64,
        take: &mut dyn FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut cleaner = Cleaner::default();
        let before = start.saturating_sub(LOOK_BACK);
        self.0.pass_bytes::<E>(before, start - before, &mut |block| {
            cleaner.push(block, &mut |_| {});
            Ok(())
        })?;
        let mut text = String::new();
        self.0.pass_bytes::<E>(start, end - start, &mut |block| {
            for portion in block.chunks(PORTION) {
                cleaner.push(portion, &mut |piece| text.push_str(piece));
                if !text.is_empty() {
                    take(&text)?;
                    text.clear();
                }
            }
            Ok(())
        })?;
        cleaner.finish(&mut |piece| text.push_str(piece));
        if text.is_empty() { Ok(()) } else { take(&text) }
    }

    /// Returns lines within limits. If a requested line exists, the answer has at least its beginning.
    pub fn lines(
        &self,
        ranges: &[LineRange],
        limits: PageLimits,
    ) -> Result<LinesRead, ArtifactError> {
        let total_lines = self.0.count_lines()?;
        let all = [LineRange { start: 1, end: None }];
        let ranges = if ranges.is_empty() { &all } else { ranges };
        let mut page = Page {
            lines_left: limits.max_lines.max(1) as u64,
            bytes_left: limits.max_bytes,
            ..Page::default()
        };
        let mut next_line = None;
        for range in ranges {
            let first = (range.start as u64).max(1);
            let last = range.end.map_or(total_lines, |end| total_lines.min(end as u64));
            if first > last {
                continue;
            }
            if page.is_full() {
                next_line = Some(first);
                break;
            }
            page.begin(first, self.0.line_start(first)?);
            let end = self.0.line_start(last + 1)?;
            let passed = self.pass_span(page.offset(), end, &mut |text| page.take(text));
            match passed {
                Ok(()) => page.end_of_range(),
                Err(Stop::Full) => {}
                Err(Stop::Failed(error)) => return Err(error),
            }
            let taken_to = page.pieces.last().map_or(first - 1, |piece| piece.last);
            if taken_to < last {
                next_line = Some(taken_to + 1);
                break;
            }
        }
        page.pieces.retain(|piece| piece.first <= piece.last);
        let pieces = page.pieces;
        let total_bytes = self.0.info().bytes;
        Ok(LinesRead { pieces, total_lines, total_bytes, cut: page.cut, next_line })
    }

    /// Returns lines whose cleaned text matches a pattern.
    pub fn grep(
        &self,
        pattern: &SearchPattern,
        limits: GrepLimits,
    ) -> Result<GrepRead, ArtifactError> {
        let mut hits = Vec::new();
        let mut walk = Walk::new(pattern);
        let mut hit = |hit: super::grep::Hit<'_>| {
            hits.extend((hits.len() < limits.max_hits).then(|| hit.cut_to(limits.max_hit_bytes)));
            Ok::<(), ArtifactError>(())
        };
        self.pass(&mut |text| walk.feed(text.as_bytes(), &mut hit))?;
        walk.finish(&mut hit)?;
        Ok(walk.totals(hits, self.0.info().bytes))
    }

    /// Passes every matching line to `take`, complete, with its number and without its end. A long line comes in
    /// several pieces under the same number.
    pub fn pass_matches<E: From<ArtifactError>>(
        &self,
        pattern: &SearchPattern,
        take: &mut dyn FnMut(u64, &str) -> Result<(), E>,
    ) -> Result<GrepRead, E> {
        let mut walk = Walk::new(pattern);
        let mut hit = |hit: super::grep::Hit<'_>| {
            if !hit.is_part {
                return take(hit.line, &String::from_utf8_lossy(hit.text));
            }
            let line = usize::try_from(hit.line).unwrap_or(usize::MAX);
            let range = LineRange { start: line, end: Some(line) };
            let mut whole = |text: &str| take(hit.line, text.strip_suffix('\n').unwrap_or(text));
            self.pass_lines(&[range], &mut whole).map(drop)
        };
        self.pass(&mut |text| walk.feed(text.as_bytes(), &mut hit))?;
        walk.finish(&mut hit)?;
        Ok(walk.totals(Vec::new(), self.0.info().bytes))
    }
}

/// The reason to stop reading lines.
enum Stop {
    /// The page is full.
    Full,
    Failed(ArtifactError),
}

impl From<ArtifactError> for Stop {
    fn from(error: ArtifactError) -> Stop {
        Stop::Failed(error)
    }
}

/// A page that is being filled with lines.
#[derive(Debug, Default)]
struct Page {
    pieces: Vec<Piece>,
    /// The current line, as far as it has been read.
    open: Vec<u8>,
    /// Length of the current line, including bytes that the page cannot hold.
    open_bytes: u64,
    lines_left: u64,
    bytes_left: usize,
    cut: Option<CutLine>,
}

impl Page {
    fn begin(&mut self, first: u64, offset: u64) {
        self.pieces.push(Piece { first, last: first - 1, offset, bytes: Vec::new() });
    }

    fn offset(&self) -> u64 {
        self.pieces.last().map_or(0, |piece| piece.offset)
    }

    fn is_full(&self) -> bool {
        self.lines_left == 0 || self.bytes_left == 0 || self.cut.is_some()
    }

    fn is_first_line(&self) -> bool {
        self.pieces.iter().all(|piece| piece.bytes.is_empty())
    }

    fn take(&mut self, text: &str) -> Result<(), Stop> {
        for part in text.split_inclusive('\n') {
            if self.lines_left == 0 {
                return Err(Stop::Full);
            }
            let content = part.strip_suffix('\n').unwrap_or(part);
            self.open_bytes += content.len() as u64;
            let room = (self.bytes_left + 1).saturating_sub(self.open.len());
            self.open.extend(&part.as_bytes()[..part.len().min(room)]);
            if self.open.len() > self.bytes_left && !self.is_first_line() {
                return Err(Stop::Full);
            }
            if part.ends_with('\n') {
                self.close_line()?;
            }
        }
        Ok(())
    }

    /// Ends a range. The last line of a file needs no line end.
    fn end_of_range(&mut self) {
        if !self.open.is_empty() {
            // The next range notices if the page is full now.
            let _ = self.close_line();
        }
    }

    fn close_line(&mut self) -> Result<(), Stop> {
        let Some(piece) = self.pieces.last_mut() else { return Err(Stop::Full) };
        let mut line = std::mem::take(&mut self.open);
        let line_bytes = std::mem::take(&mut self.open_bytes);
        let is_cut = line.len() > self.bytes_left;
        if is_cut {
            line.truncate(self.bytes_left);
            line.truncate(super::read::whole_characters(&line));
            let shown_bytes = line.len() as u64;
            let line = piece.last + 1;
            self.cut = Some(CutLine { line, shown_bytes, line_bytes, next_offset: None });
        }
        self.bytes_left -= line.len();
        self.lines_left -= 1;
        piece.last += 1;
        piece.bytes.append(&mut line);
        if is_cut { Err(Stop::Full) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
