//! Generates numbered lines of one width, and checks that they all arrive.
//!
//! Owns the programs that print them, and the expected bytes. Must not know how they travel.

use std::io::Write as _;

use anyhow::{Result, bail};

/// Code that prints numbered lines with one call of `print` for each.
pub(in crate::bench) fn printing(count: usize, width: usize) -> String {
    format!("for i in range({count}): print(f\"{{i:0{}d}}\")", width - 1)
}

/// Code that writes the same lines with one write for each.
pub(in crate::bench) fn writing(count: usize, width: usize) -> String {
    let digits = width - 1;
    format!(
        "import sys\nwrite = sys.stdout.write\nfor i in range({count}): write(f\"{{i:0{digits}d}}\\n\")"
    )
}

/// The digest of all the lines.
pub(super) fn digest(count: usize, width: usize) -> Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    let mut block = Vec::with_capacity((1 << 16) + width);
    let digits = width - 1;
    for number in 0..count {
        writeln!(block, "{number:0digits$}")?;
        if block.len() >= 1 << 16 {
            hasher.update(&block);
            block.clear();
        }
    }
    hasher.update(&block);
    Ok(hasher.finalize())
}

/// Collects output as it arrives.
pub(super) struct ArrivedOutput {
    bytes: usize,
    hasher: Option<blake3::Hasher>,
}

impl ArrivedOutput {
    /// Counts bytes, and hashes them too if there is an expected digest.
    pub(super) fn new(expected: Option<blake3::Hash>) -> ArrivedOutput {
        ArrivedOutput { bytes: 0, hasher: expected.map(|_| blake3::Hasher::new()) }
    }

    pub(super) fn take(&mut self, data: &[u8]) {
        self.bytes += data.len();
        if let Some(hasher) = &mut self.hasher {
            hasher.update(data);
        }
    }

    /// Counts bytes that are not compared.
    pub(super) fn count(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Fails unless every byte arrived.
    pub(super) fn check(&self, bytes: usize, expected: Option<blake3::Hash>) -> Result<()> {
        if self.bytes != bytes {
            bail!("{} bytes arrived of {bytes}", self.bytes);
        }
        if self.hasher.as_ref().map(blake3::Hasher::finalize) != expected {
            bail!("{bytes} bytes arrived, but not those that were written");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_missing_or_changed_are_seen() {
        let expected = Some(digest(3, 4).unwrap());
        let arrived = |parts: &[&str]| {
            let mut arrived = ArrivedOutput::new(expected);
            parts.iter().for_each(|part| arrived.take(part.as_bytes()));
            arrived.check(12, expected)
        };
        arrived(&["000\n0", "01\n002\n"]).unwrap();
        arrived(&["000\n002\n"]).unwrap_err();
        arrived(&["000\n001\n003\n"]).unwrap_err();
    }
}
