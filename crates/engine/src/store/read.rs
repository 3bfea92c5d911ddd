//! Reads an artifact in parts: all of it as a stream, by bytes, by lines.
//!
//! Owns positions and cuts. No answer loads more of the file than it holds, however large the file is, and each says
//! exactly which part it is. It must not know patterns, JSON or cleaning: it returns the bytes as written. `clean.rs`
//! has the other way of reading.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt;

use inkcell_notebook::{Form, LineRange, PageLimits};

use super::entry::lines_name;
use super::error::ArtifactError;
use super::folder::Folder;
use super::lines::{INDEXED_FROM, Marks, count_feeds};
use super::record::ArtifactInfo;

/// Bytes examined at once by a search.
pub(super) const BLOCK: usize = 256 * 1024;

/// An artifact that was found. It stays readable if it is removed meanwhile.
#[derive(Debug)]
pub struct Artifact {
    info: ArtifactInfo,
    file: File,
    marks: Marks,
}

/// Some bytes of an artifact.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BytesRead {
    /// The first byte in this answer, from 0.
    pub offset: u64,
    /// The bytes as they are stored; empty behind the end.
    pub bytes: Vec<u8>,
    /// Size of the whole artifact.
    pub total_bytes: u64,
    /// Offset of the next bytes; `None` at the end.
    pub next_offset: Option<u64>,
}

/// Consecutive lines of an artifact.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Number of the first line, counted from 1.
    pub first: u64,
    /// Number of the last line, inclusive.
    pub last: u64,
    /// Byte offset of the first line.
    pub offset: u64,
    /// The lines with their ends.
    pub bytes: Vec<u8>,
}

/// A line that alone exceeds the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CutLine {
    /// The number of the line, from 1.
    pub line: u64,
    /// Bytes of it in the answer.
    pub shown_bytes: u64,
    /// Full length in bytes, without its end.
    pub line_bytes: u64,
    /// Byte offset of the rest. `None` for a cleaned line, whose rest has no offset in the file.
    pub next_offset: Option<u64>,
}

/// Lines of an artifact.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LinesRead {
    /// The requested lines that exist and fit.
    pub pieces: Vec<Piece>,
    /// Number of lines in the artifact.
    pub total_lines: u64,
    /// Size of the artifact in bytes.
    pub total_bytes: u64,
    /// The last line of the answer, if it is cut.
    pub cut: Option<CutLine>,
    /// The first requested line that did not fit.
    pub next_line: Option<u64>,
}

impl Artifact {
    pub(super) fn new(info: ArtifactInfo, file: File, folder: &Folder) -> Artifact {
        let marks = match info.lines {
            Some(lines) if info.bytes >= INDEXED_FROM => {
                load_marks(&info, lines, folder).unwrap_or_default()
            }
            _ => Marks::default(),
        };
        Artifact { info, file, marks }
    }

    /// The facts known without reading it.
    pub fn info(&self) -> &ArtifactInfo {
        &self.info
    }

    /// Fills a buffer from an offset on, as far as the file goes.
    pub(super) fn fill(&self, at: u64, buffer: &mut [u8]) -> Result<usize, ArtifactError> {
        let left = usize::try_from(self.info.bytes.saturating_sub(at)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let mut filled = 0;
        while filled < wanted {
            match self.file.read_at(&mut buffer[filled..wanted], at + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let failed = ArtifactError::io(&self.info.path, "read the artifact");
                    return Err(failed(error));
                }
            }
        }
        Ok(filled)
    }

    /// At most `max_bytes` from an offset on.
    pub(super) fn block(&self, at: u64, max_bytes: usize) -> Result<Vec<u8>, ArtifactError> {
        let left = usize::try_from(self.info.bytes.saturating_sub(at)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; max_bytes.min(left)];
        let filled = self.fill(at, &mut bytes)?;
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// Some bytes from an offset on. As text they begin and end between characters if the artifact is UTF-8; an offset
    /// inside a character means the next one.
    pub fn bytes(
        &self,
        offset: u64,
        max_bytes: usize,
        form: Form,
    ) -> Result<BytesRead, ArtifactError> {
        let mut offset = offset.min(self.info.bytes);
        let mut bytes = self.block(offset, max_bytes)?;
        if form == Form::Text {
            if offset > 0 {
                let inside = bytes.iter().take(3).take_while(|byte| is_inside(**byte)).count();
                bytes.drain(..inside);
                offset += inside as u64;
            }
            if offset + (bytes.len() as u64) < self.info.bytes {
                bytes.truncate(whole_characters(&bytes));
            }
        }
        let end = offset + bytes.len() as u64;
        let next_offset = (end < self.info.bytes && !bytes.is_empty()).then_some(end);
        Ok(BytesRead { offset, bytes, total_bytes: self.info.bytes, next_offset })
    }

    /// Lines, numbered from 1, both ends included; no ranges mean all. If a requested line exists, the answer has at
    /// least its beginning.
    pub fn lines(
        &self,
        ranges: &[LineRange],
        limits: PageLimits,
    ) -> Result<LinesRead, ArtifactError> {
        let total_lines = self.count_lines()?;
        let all = [LineRange { start: 1, end: None }];
        let ranges = if ranges.is_empty() { &all } else { ranges };
        let mut answer = LinesRead {
            pieces: Vec::new(),
            total_lines,
            total_bytes: self.info.bytes,
            cut: None,
            next_line: None,
        };
        let (mut lines_left, mut bytes_left) = (limits.max_lines.max(1) as u64, limits.max_bytes);
        for range in ranges {
            let first = (range.start as u64).max(1);
            let last = range.end.map_or(total_lines, |end| total_lines.min(end as u64));
            if first > last {
                continue;
            }
            let wanted = (last - first + 1).min(lines_left);
            let offset = self.line_start(first)?;
            let mut bytes = self.block(offset, bytes_left)?;
            let is_end = offset + bytes.len() as u64 == self.info.bytes;
            let (taken, length) = whole_lines(&bytes, wanted, is_end);
            if taken == 0 && answer.pieces.is_empty() && lines_left > 0 {
                bytes.truncate(whole_characters(&bytes));
                let next_offset = offset + bytes.len() as u64;
                let line_bytes = self.line_end(next_offset)? - offset;
                let shown_bytes = bytes.len() as u64;
                let next_offset = Some(next_offset);
                answer.cut = Some(CutLine { line: first, shown_bytes, line_bytes, next_offset });
                answer.pieces.push(Piece { first, last: first, offset, bytes });
                answer.next_line = Some(first + 1).filter(|next| *next <= last);
                break;
            }
            bytes.truncate(length);
            bytes_left -= length;
            lines_left -= taken;
            if taken > 0 {
                answer.pieces.push(Piece { first, last: first + taken - 1, offset, bytes });
            }
            if first + taken <= last {
                answer.next_line = Some(first + taken);
                break;
            }
        }
        Ok(answer)
    }

    /// Number of lines; counts them if the record does not say.
    pub(super) fn count_lines(&self) -> Result<u64, ArtifactError> {
        if let Some(lines) = self.info.lines {
            return Ok(lines);
        }
        let (mut lines, mut is_open) = (0, false);
        self.blocks(0, |block| {
            lines += count_feeds(block);
            is_open = block.last().is_some_and(|last| *last != b'\n');
            None::<()>
        })?;
        Ok(lines + u64::from(is_open))
    }

    /// Reads the file from an offset on until `found` returns a value.
    fn blocks<T>(
        &self,
        mut at: u64,
        mut found: impl FnMut(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, ArtifactError> {
        let mut buffer = vec![0; BLOCK];
        loop {
            let filled = self.fill(at, &mut buffer)?;
            if filled == 0 {
                return Ok(None);
            }
            if let Some(value) = found(&buffer[..filled]) {
                return Ok(Some(value));
            }
            at += filled as u64;
        }
    }

    /// Offset where a line begins; the end of the file if it has fewer lines.
    pub(super) fn line_start(&self, line: u64) -> Result<u64, ArtifactError> {
        let (from, feeds) = self.marks.before_line(line);
        let mut missing = line.saturating_sub(1) - feeds;
        if missing == 0 {
            return Ok(from);
        }
        let mut at = from;
        let found = self.blocks(from, |block| {
            let feeds = count_feeds(block);
            if feeds < missing {
                missing -= feeds;
                at += block.len() as u64;
                return None;
            }
            let feed = memchr::memchr_iter(b'\n', block).nth(missing as usize - 1)?;
            Some(at + feed as u64 + 1)
        })?;
        Ok(found.unwrap_or(self.info.bytes))
    }

    /// Offset where the line at `from` ends.
    fn line_end(&self, from: u64) -> Result<u64, ArtifactError> {
        let mut at = from;
        let found = self.blocks(from, |block| {
            let feed = memchr::memchr(b'\n', block).map(|feed| at + feed as u64);
            at += block.len() as u64;
            feed
        })?;
        Ok(found.unwrap_or(self.info.bytes))
    }
}

fn load_marks(info: &ArtifactInfo, lines: u64, folder: &Folder) -> Option<Marks> {
    let file = folder.open(&lines_name(&info.id)).ok()??;
    let size = Marks::size_for(info.bytes);
    let mut bytes = Vec::new();
    file.take(size + 1).read_to_end(&mut bytes).ok()?;
    Some(Marks::parse(&bytes, info.bytes, lines))
}

/// The number of whole lines at the start of a block, at most `wanted`, and their length. At the end of the file the
/// last line needs no line end.
fn whole_lines(block: &[u8], wanted: u64, is_end: bool) -> (u64, usize) {
    let (mut lines, mut length) = (0, 0);
    for feed in memchr::memchr_iter(b'\n', block) {
        if lines == wanted {
            return (lines, length);
        }
        lines += 1;
        length = feed + 1;
    }
    if is_end && lines < wanted && length < block.len() {
        return (lines + 1, block.len());
    }
    (lines, length)
}

fn is_inside(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// Length without an incomplete character at the end. Bytes that are not UTF-8 stay.
pub(super) fn whole_characters(bytes: &[u8]) -> usize {
    let length = bytes.len();
    for back in 1..=length.min(3) {
        let byte = bytes[length - back];
        if is_inside(byte) {
            continue;
        }
        let wanted = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        return if wanted > back { length - back } else { length };
    }
    length
}
