//! Passes a part of an artifact of any size to a taker, piece by piece.
//!
//! Owns the pieces: none is larger than a block, and none ends inside a character. It must not know the taker, which
//! may fail with its own error and so end the walk.

use inkcell_notebook::LineRange;

use super::error::ArtifactError;
use super::read::{Artifact, BLOCK, whole_characters};

impl Artifact {
    /// Passes at most `length` bytes from `offset` on to `take`, as written.
    pub fn pass_bytes<E: From<ArtifactError>>(
        &self,
        offset: u64,
        length: u64,
        take: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let end = offset.saturating_add(length).min(self.info().bytes);
        let mut buffer = vec![0; BLOCK];
        let mut at = offset;
        while at < end {
            let wanted = buffer.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
            let filled = self.fill(at, &mut buffer[..wanted])?;
            if filled == 0 {
                break;
            }
            let is_end = at + filled as u64 == end;
            let whole = if is_end { filled } else { whole_characters(&buffer[..filled]) };
            take(&buffer[..whole])?;
            at += whole as u64;
        }
        Ok(())
    }

    /// Passes lines to `take` as written, numbered from 1, both ends included; no ranges mean all. Returns the number
    /// of lines.
    pub fn pass_lines<E: From<ArtifactError>>(
        &self,
        ranges: &[LineRange],
        take: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        let total_lines = self.count_lines()?;
        for (start, end) in self.spans(ranges)? {
            self.pass_bytes(start, end - start, take)?;
        }
        Ok(total_lines)
    }

    /// Offsets of line ranges in the file, without those beyond its end.
    pub(super) fn spans(&self, ranges: &[LineRange]) -> Result<Vec<(u64, u64)>, ArtifactError> {
        let total_bytes = self.info().bytes;
        if ranges.is_empty() {
            return Ok(vec![(0, total_bytes)]);
        }
        let mut spans = Vec::new();
        for range in ranges {
            let start = self.line_start((range.start as u64).max(1))?;
            let end = match range.end {
                Some(end) => self.line_start((end as u64).saturating_add(1))?,
                None => total_bytes,
            };
            if start < end {
                spans.push((start, end));
            }
        }
        Ok(spans)
    }
}
