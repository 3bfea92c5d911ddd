//! Lines of an artifact that match a pattern.
//!
//! Owns the walk over lines of any length with a bounded buffer, and how a match is shown. It must not
//! know where the artifact lies.

use regex::bytes::{Regex, RegexBuilder};

use super::error::ArtifactError;
use super::read::{Artifact, BLOCK, whole_characters};

/// How long a pattern may be, and how large what is made of it.
const MAX_PATTERN_BYTES: usize = 4096;
const MAX_PROGRAM_BYTES: usize = 4 << 20;
/// A longer line is searched in parts of this size, ...
const MAX_LINE_BYTES: usize = 1 << 20;
/// ... each of which begins with so much of the one before.
const OVERLAP: usize = 4096;

/// A regular expression, matched against each line without its end.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    /// Reads a pattern. `(?i)` at its beginning ignores case.
    pub fn new(text: &str) -> Result<Pattern, ArtifactError> {
        let failed = |problem: String| ArtifactError::Pattern { problem };
        if text.len() > MAX_PATTERN_BYTES {
            return Err(failed(format!("it is longer than {MAX_PATTERN_BYTES} bytes")));
        }
        let built = RegexBuilder::new(text).size_limit(MAX_PROGRAM_BYTES).build();
        // The error draws the pattern with a mark below it; its last line says what is wrong.
        let last = |error: regex::Error| {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.trim().trim_start_matches("error: ").to_owned()
        };
        built.map(Pattern).map_err(|error| failed(last(error)))
    }
}

/// How much is shown of what matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GrepLimits {
    /// Lines.
    pub max_hits: usize,
    /// Bytes of each.
    pub max_hit_bytes: usize,
}

/// A line that matches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrepHit {
    /// Its number, from 1.
    pub line: u64,
    /// The line, or what fits of it around the first match. Bytes that are no UTF-8 are replaced.
    pub text: String,
    /// Whether it is only a part of the line.
    pub is_cut: bool,
}

/// The lines that match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrepRead {
    /// The first of them.
    pub hits: Vec<GrepHit>,
    /// How many there are in all.
    pub matching_lines: u64,
    /// How many lines the artifact has.
    pub total_lines: u64,
    /// How many bytes it has.
    pub total_bytes: u64,
}

/// Where the walk is.
struct Walk<'a> {
    pattern: &'a Regex,
    limits: GrepLimits,
    hits: Vec<GrepHit>,
    matching: u64,
    /// The number of the line the walk is in.
    line: u64,
    /// This line was found already, in an earlier part of it.
    is_found: bool,
    /// A part of this line went by already.
    is_continued: bool,
}

impl Walk<'_> {
    /// Looks at a line, or at a part of one that is too long.
    fn look(&mut self, text: &[u8], is_part: bool) {
        if self.is_found {
            return;
        }
        let Some(found) = self.pattern.find(text) else { return };
        self.is_found = true;
        self.matching += 1;
        if self.hits.len() < self.limits.max_hits {
            let (shown, is_cut) = around(text, found.start(), self.limits.max_hit_bytes);
            let is_cut = is_cut || is_part || self.is_continued;
            let text = String::from_utf8_lossy(shown).into_owned();
            self.hits.push(GrepHit { line: self.line, text, is_cut });
        }
    }

    fn next_line(&mut self) {
        self.line += 1;
        self.is_found = false;
        self.is_continued = false;
    }
}

/// What fits of a line around a place in it, and whether that is not all.
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
    /// The lines that match a pattern. The whole file is looked at, so the numbers are exact. In a line
    /// of more than a mebibyte, a match may reach over at most 4096 bytes.
    pub fn grep(&self, pattern: &Pattern, limits: GrepLimits) -> Result<GrepRead, ArtifactError> {
        let mut walk = Walk {
            pattern: &pattern.0,
            limits,
            hits: Vec::new(),
            matching: 0,
            line: 1,
            is_found: false,
            is_continued: false,
        };
        let mut buffer = vec![0; MAX_LINE_BYTES + BLOCK];
        let (mut at, mut held) = (0, 0);
        loop {
            let room = held + BLOCK;
            let filled = self.fill(at, &mut buffer[held..room])?;
            at += filled as u64;
            let end = held + filled;
            let mut from = 0;
            // What is held has no line end in it.
            for feed in memchr::memchr_iter(b'\n', &buffer[held..end]) {
                let line = &buffer[from..held + feed];
                walk.look(line.strip_suffix(b"\r").unwrap_or(line), false);
                walk.next_line();
                from = held + feed + 1;
            }
            if filled == 0 {
                if from < end {
                    walk.look(&buffer[from..end], false);
                    // What is held of a line that went by in parts may be its overlap alone, but then
                    // there was more of it before.
                    walk.next_line();
                }
                break;
            }
            if end - from > MAX_LINE_BYTES {
                walk.look(&buffer[from..end], true);
                walk.is_continued = true;
                from = end - OVERLAP;
            }
            buffer.copy_within(from..end, 0);
            held = end - from;
        }
        Ok(GrepRead {
            hits: walk.hits,
            matching_lines: walk.matching,
            total_lines: walk.line - 1,
            total_bytes: self.info().bytes,
        })
    }
}
