//! The line index of a long text: the number of line ends before each mebibyte.
//!
//! Owns the counting while a text is written, and the stored form. It must not know files. An index costs eight bytes a
//! mebibyte and brings every line within one mebibyte of a mark, whatever the size of the text.

/// Bytes between two marks.
pub(super) const STRIDE: u64 = 1 << 20;
/// Counting a text below this size is faster than reading an index.
pub(super) const INDEXED_FROM: u64 = 4 * STRIDE;

/// Counts lines while bytes are written.
#[derive(Clone, Debug, Default)]
pub(super) struct LineIndex {
    bytes: u64,
    feeds: u64,
    /// True if the last byte was not a line end.
    is_open: bool,
    /// Line ends before each multiple of [`STRIDE`], from the first on.
    marks: Vec<u64>,
}

impl LineIndex {
    pub(super) fn add(&mut self, mut bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.is_open = *last != b'\n';
        }
        while !bytes.is_empty() {
            let to_mark = (STRIDE - self.bytes % STRIDE) as usize;
            let (now, later) = bytes.split_at(bytes.len().min(to_mark));
            self.feeds += count_feeds(now);
            self.bytes += now.len() as u64;
            if now.len() == to_mark {
                self.marks.push(self.feeds);
            }
            bytes = later;
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of lines; the last one may lack its line end.
    pub(super) fn lines(&self) -> u64 {
        self.feeds + u64::from(self.is_open)
    }

    /// The stored form; `None` for a text that needs no index.
    pub(super) fn to_bytes(&self) -> Option<Vec<u8>> {
        (self.bytes >= INDEXED_FROM)
            .then(|| self.marks.iter().flat_map(|mark| mark.to_le_bytes()).collect())
    }
}

pub(super) fn count_feeds(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Marks of a stored index.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks(Vec<u64>);

impl Marks {
    /// Size of the index of a text, in bytes.
    pub(super) fn size_for(text_bytes: u64) -> u64 {
        text_bytes / STRIDE * 8
    }

    /// Parses an index. An index that cannot belong to this text counts as empty.
    pub(super) fn parse(bytes: &[u8], text_bytes: u64, lines: u64) -> Marks {
        if bytes.len() as u64 != Marks::size_for(text_bytes) {
            return Marks::default();
        }
        let mark =
            |chunk: &[u8]| chunk.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let marks: Vec<u64> = bytes.chunks_exact(8).map(mark).collect();
        let steps = || std::iter::once(&0).chain(&marks).zip(&marks);
        let can_be = steps().all(|(one, next)| one <= next && next - one <= STRIDE)
            && marks.last().is_none_or(|last| *last <= lines);
        Marks(if can_be { marks } else { Vec::new() })
    }

    /// An offset at or before the start of a line, and the number of line ends before it.
    pub(super) fn before_line(&self, line: u64) -> (u64, u64) {
        // A line starts after the end of the one before, so that end must not be passed.
        let passed = self.0.partition_point(|feeds| *feeds < line.saturating_sub(1));
        match passed.checked_sub(1) {
            Some(at) => (passed as u64 * STRIDE, self.0[at]),
            None => (0, 0),
        }
    }
}
