//! Lines of an artifact that match a pattern.
//!
//! Owns the walk over lines of any length with a bounded buffer, and the display of a match. It must not know where the
//! artifact is stored.

use inkcell_notebook::LineRange;
use regex::bytes::{Regex, RegexBuilder};

use super::error::ArtifactError;
use super::read::{Artifact, whole_characters};

/// Limits for the text of a pattern and for its compiled form.
const MAX_PATTERN_BYTES: usize = 4096;
const MAX_PROGRAM_BYTES: usize = 4 << 20;
/// A longer line is searched in parts of this size ...
const MAX_LINE_BYTES: usize = 1 << 20;
/// ... each of which repeats this many bytes of the one before.
const OVERLAP: usize = 4096;

/// A regular expression, matched against each line without its end.
#[derive(Clone, Debug)]
pub struct SearchPattern {
    regex: Regex,
    /// The lines that may match; all if there are none.
    ranges: Vec<LineRange>,
}

impl SearchPattern {
    /// Compiles a pattern. `(?i)` at its beginning ignores case.
    pub fn new(text: &str) -> Result<SearchPattern, ArtifactError> {
        let failed = |problem: String| ArtifactError::Pattern { problem };
        if text.len() > MAX_PATTERN_BYTES {
            return Err(failed(format!("it is longer than {MAX_PATTERN_BYTES} bytes")));
        }
        let built = RegexBuilder::new(text).size_limit(MAX_PROGRAM_BYTES).build();
        // The error draws the pattern with a mark below it; its last line names the problem.
        let last = |error: regex::Error| {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.trim().trim_start_matches("error: ").to_owned()
        };
        let pattern = |regex| SearchPattern { regex, ranges: Vec::new() };
        built.map(pattern).map_err(|error| failed(last(error)))
    }

    /// The same pattern for these lines alone; no ranges mean all lines.
    pub fn within(self, ranges: Vec<LineRange>) -> SearchPattern {
        SearchPattern { ranges, ..self }
    }

    /// The matching lines of a text in memory.
    pub(crate) fn find_in(
        &self,
        text: &str,
        limits: GrepLimits,
    ) -> Result<GrepRead, ArtifactError> {
        let mut hits = Vec::new();
        let mut walk = Walk::new(self);
        let mut hit = |hit: Hit<'_>| {
            hits.extend((hits.len() < limits.max_hits).then(|| hit.cut_to(limits.max_hit_bytes)));
            Ok::<(), ArtifactError>(())
        };
        walk.feed(text.as_bytes(), &mut hit)?;
        walk.finish(&mut hit)?;
        Ok(walk.totals(hits, text.len() as u64))
    }

    fn covers(&self, line: u64) -> bool {
        let is_in = |range: &LineRange| {
            range.start as u64 <= line && range.end.is_none_or(|end| line <= end as u64)
        };
        self.ranges.is_empty() || self.ranges.iter().any(is_in)
    }
}

/// Limits for the matches that are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GrepLimits {
    /// Matching lines that are returned; the others are only counted.
    pub max_hits: usize,
    /// Bytes of one match; a longer line is cut around it.
    pub max_hit_bytes: usize,
}

/// A line that matches.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct GrepHit {
    /// Its line number, counted from 1.
    pub line: u64,
    /// The line, or the part around the first match that fits. Invalid UTF-8 is replaced.
    pub text: String,
    /// True if `text` is only a part of the line.
    pub is_cut: bool,
}

/// The result of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct GrepRead {
    /// The first matches, up to the limit.
    pub hits: Vec<GrepHit>,
    /// Number of matching lines in the whole artifact.
    pub matching_lines: u64,
    /// Number of lines in the artifact.
    pub total_lines: u64,
    /// Size of the artifact in bytes.
    pub total_bytes: u64,
}

/// A matching line, as the walk finds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit<'a> {
    /// Its line number, counted from 1.
    pub(super) line: u64,
    /// The line, or the part of it that was searched.
    pub(super) text: &'a [u8],
    /// Offset of the first match in `text`.
    at: usize,
    /// True if `text` is only a part of the line.
    pub(super) is_part: bool,
}

impl Hit<'_> {
    /// The part to show, with at most `max_bytes` of text.
    pub(super) fn cut_to(&self, max_bytes: usize) -> GrepHit {
        let (shown, is_cut) = around(self.text, self.at, max_bytes);
        let text = String::from_utf8_lossy(shown).into_owned();
        GrepHit { line: self.line, text, is_cut: is_cut || self.is_part }
    }
}

/// A walk, line by line, over a text that arrives in blocks.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    pattern: &'a SearchPattern,
    /// The current line as read so far, or the current part of it.
    held: Vec<u8>,
    matching: u64,
    /// Number of the current line.
    line: u64,
    /// True if an earlier part of this line matched.
    is_found: bool,
    /// True if an earlier part of this line was searched.
    is_continued: bool,
}

/// Receives a line with its number, or a piece of a line.
type TakeLine<'a, E> = &'a mut dyn FnMut(u64, &[u8]) -> Result<(), E>;

/// Receives a line that matches.
type OnHit<'a, E> = &'a mut dyn FnMut(Hit<'_>) -> Result<(), E>;

impl<'a> Walk<'a> {
    pub(super) fn new(pattern: &'a SearchPattern) -> Walk<'a> {
        Walk {
            pattern,
            held: Vec::new(),
            matching: 0,
            line: 1,
            is_found: false,
            is_continued: false,
        }
    }

    /// Searches the next block.
    pub(super) fn feed<E>(&mut self, mut block: &[u8], hit: OnHit<'_, E>) -> Result<(), E> {
        while let Some(feed) = memchr::memchr(b'\n', block) {
            if self.held.is_empty() {
                self.search_line(&block[..feed], false, hit)?;
            } else {
                self.held.extend_from_slice(&block[..feed]);
                self.look_at_held(false, hit)?;
            }
            self.next_line();
            block = &block[feed + 1..];
        }
        // The held text is bounded by the size of a block plus a part.
        self.held.extend_from_slice(block);
        if self.held.len() > MAX_LINE_BYTES {
            self.look_at_held(true, hit)?;
            self.is_continued = true;
            self.held.drain(..self.held.len() - OVERLAP);
        }
        Ok(())
    }

    /// Ends the text; its last line needs no line end.
    pub(super) fn finish<E>(&mut self, hit: OnHit<'_, E>) -> Result<(), E> {
        if !self.held.is_empty() {
            self.look_at_held(false, hit)?;
            self.next_line();
        }
        Ok(())
    }

    pub(super) fn totals(self, hits: Vec<GrepHit>, total_bytes: u64) -> GrepRead {
        let (matching_lines, total_lines) = (self.matching, self.line - 1);
        GrepRead { hits, matching_lines, total_lines, total_bytes }
    }

    fn look_at_held<E>(&mut self, is_part: bool, hit: OnHit<'_, E>) -> Result<(), E> {
        let held = std::mem::take(&mut self.held);
        let looked = self.search_line(&held, is_part, hit);
        self.held = held;
        looked
    }

    /// Searches a line, or a part of one that is too long.
    fn search_line<E>(&mut self, text: &[u8], is_part: bool, hit: OnHit<'_, E>) -> Result<(), E> {
        if self.is_found || !self.pattern.covers(self.line) {
            return Ok(());
        }
        let text = if is_part { text } else { text.strip_suffix(b"\r").unwrap_or(text) };
        let Some(found) = self.pattern.regex.find(text) else { return Ok(()) };
        self.is_found = true;
        self.matching += 1;
        let is_part = is_part || self.is_continued;
        hit(Hit { line: self.line, text, at: found.start(), is_part })
    }

    fn next_line(&mut self) {
        self.line += 1;
        self.is_found = false;
        self.is_continued = false;
        self.held.clear();
    }
}

/// The part of a line around `at` that fits, and whether it was cut.
fn around(line: &[u8], at: usize, max_bytes: usize) -> (&[u8], bool) {
    if line.len() <= max_bytes {
        return (line, false);
    }
    let start = at.saturating_sub(max_bytes / 4).min(line.len() - max_bytes);
    let inside = line[start..].iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    let shown = &line[start + inside..start + max_bytes];
    (&shown[..whole_characters(shown)], true)
}

impl Artifact {
    /// Returns matching lines as written. It searches the whole file, so the numbers are exact. In a line longer than a
    /// mebibyte, a match may span at most 4096 bytes.
    pub fn grep(
        &self,
        pattern: &SearchPattern,
        limits: GrepLimits,
    ) -> Result<GrepRead, ArtifactError> {
        let mut hits = Vec::new();
        let mut walk = Walk::new(pattern);
        let mut hit = |hit: Hit<'_>| {
            hits.extend((hits.len() < limits.max_hits).then(|| hit.cut_to(limits.max_hit_bytes)));
            Ok::<(), ArtifactError>(())
        };
        self.pass_bytes(0, u64::MAX, &mut |block| walk.feed(block, &mut hit))?;
        walk.finish(&mut hit)?;
        Ok(walk.totals(hits, self.info().bytes))
    }

    /// Passes every matching line to `take`, complete and as written, with its number and without its end. A long line
    /// comes in several pieces under the same number.
    pub fn pass_matches<E: From<ArtifactError>>(
        &self,
        pattern: &SearchPattern,
        take: TakeLine<'_, E>,
    ) -> Result<GrepRead, E> {
        let mut walk = Walk::new(pattern);
        let mut hit = |hit: Hit<'_>| {
            if !hit.is_part {
                return take(hit.line, hit.text);
            }
            let line = usize::try_from(hit.line).unwrap_or(usize::MAX);
            let range = LineRange { start: line, end: Some(line) };
            let mut whole =
                |bytes: &[u8]| take(hit.line, bytes.strip_suffix(b"\n").unwrap_or(bytes));
            self.pass_lines(&[range], &mut whole).map(drop)
        };
        self.pass_bytes(0, u64::MAX, &mut |block| walk.feed(block, &mut hit))?;
        walk.finish(&mut hit)?;
        Ok(walk.totals(Vec::new(), self.info().bytes))
    }
}
