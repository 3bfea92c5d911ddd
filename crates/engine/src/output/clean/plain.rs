//! Chunks that need no cleaning: lines of visible ASCII, as in most long output.
//!
//! Owns their detection, in one pass that also counts lines. It must not know what cleaning is or where the lines go.

use bytes::Bytes;
use memchr::{memchr, memrchr};

/// Shorter chunks are copied: sharing them would keep a whole chunk in memory for a few bytes.
const SHARED_BYTES: usize = 16 * 1024;

/// Whole lines, shared with the chunk they arrived in.
#[derive(Debug)]
pub(crate) struct PlainLines {
    pub(crate) bytes: Bytes,
    pub(crate) feeds: u64,
}

/// A chunk of line feeds and visible ASCII only.
#[derive(Debug)]
pub(crate) struct PlainChunk {
    /// End of its first line, which may have begun in an earlier chunk.
    pub(crate) first: usize,
    /// Its other complete lines.
    pub(crate) lines: PlainLines,
}

impl PlainChunk {
    /// Splits the chunk if it is plain and long.
    pub(crate) fn of(chunk: &Bytes) -> Option<PlainChunk> {
        if chunk.len() < SHARED_BYTES {
            return None;
        }
        let feeds = plain_feeds(chunk)?;
        let first = memchr(b'\n', chunk)? + 1;
        let last = memrchr(b'\n', chunk)? + 1;
        let lines = PlainLines { bytes: chunk.slice(first..last), feeds: feeds - 1 };
        (lines.bytes.len() >= SHARED_BYTES).then_some(PlainChunk { first, lines })
    }
}

/// Returns true for a line feed or a visible character. After adding one, every other byte is at most a blank as a
/// signed number; this test takes half the time of a plain range check.
const fn is_plain(byte: u8) -> bool {
    (byte.wrapping_add(1).cast_signed() > 0x20) | (byte == b'\n')
}

/// Returns true if all of a block is plain. It never exits early, so that the compiler makes vector code.
pub(crate) fn is_plain_block<const N: usize>(block: &[u8; N]) -> bool {
    block.iter().fold(true, |is_all, &byte| is_all & is_plain(byte))
}

/// Number of line feeds if everything is plain.
fn plain_feeds(bytes: &[u8]) -> Option<u64> {
    // A block is short enough to count its line feeds in a byte.
    let (blocks, rest) = bytes.as_chunks::<128>();
    let mut feeds = 0;
    for block in blocks {
        let (mut is_all, mut found) = (true, 0u8);
        for &byte in block {
            is_all &= is_plain(byte);
            found += u8::from(byte == b'\n');
        }
        if !is_all {
            return None;
        }
        feeds += u64::from(found);
    }
    if !rest.iter().all(|byte| is_plain(*byte)) {
        return None;
    }
    Some(feeds + rest.iter().filter(|byte| **byte == b'\n').count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B:O-02: every character that cleaning would treat is found, at every position.
    #[test]
    fn only_plain_bytes_are_plain() {
        let mut bytes = [b'a'; 300];
        for at in 0..bytes.len() {
            for byte in 0..=u8::MAX {
                bytes[at] = byte;
                let expected = match byte {
                    b'\n' => Some(1),
                    0x20..=0x7e => Some(0),
                    _ => None,
                };
                assert_eq!(plain_feeds(&bytes), expected, "{byte:#x} at {at}");
            }
            bytes[at] = b'a';
        }
        assert_eq!(plain_feeds(&[b'\n'; 1000]), Some(1000));
    }

    /// The first line and the last piece are split off. A chunk without long whole lines is not plain.
    #[test]
    fn a_chunk_is_taken_apart() {
        let long = "line\n".repeat(4000);
        let chunk = Bytes::from(format!("end\n{long}begin"));
        let plain = PlainChunk::of(&chunk).unwrap();
        assert_eq!((plain.first, plain.lines.feeds), (4, 4000));
        assert_eq!(plain.lines.bytes, long);
        for other in ["short\n".to_owned(), "x".repeat(40_000), format!("{long}\t"), long + "é"] {
            assert!(PlainChunk::of(&Bytes::from(other)).is_none());
        }
    }
}
