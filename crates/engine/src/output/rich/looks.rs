//! How two stored pictures differ by their looks.
//!
//! Owns the ways to compare and their bounds. A picture that cannot be decoded is compared byte by byte.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inkcell_notebook::Pictures;

use super::raster::{Raster, RasterFormat, RasterLimits};

const LIMITS: RasterLimits = RasterLimits { max_pixels: u64::MAX, max_bytes: 512 << 20 };

/// The property of two pictures that is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looks {
    /// The bytes of their files.
    File,
    /// Their width and height.
    Size,
    /// The colour of every pixel.
    Pixels,
}

/// The difference between two pictures, with the stored one first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LooksDifference {
    /// The sizes of both files in bytes; the pictures were not decoded, or could not be.
    Files(usize, usize),
    /// Width and height of both pictures.
    Sizes((u32, u32), (u32, u32)),
    /// The number of pixels that differ, and of all pixels.
    Pixels(u64, u64),
}

impl Looks {
    /// Compares two pictures; `None` if they look the same.
    pub fn difference(self, both: &Pictures<'_>) -> Option<LooksDifference> {
        let (old, new) = (file(both.old), file(both.new));
        if old == new {
            return None;
        }
        let files = Some(LooksDifference::Files(old.len(), new.len()));
        if self == Looks::File {
            return files;
        }
        let (Some(old), Some(new)) = (decoded(both.mime, &old), decoded(both.mime, &new)) else {
            return files;
        };
        let size = |picture: &Raster| (picture.width(), picture.height());
        if size(&old) != size(&new) {
            return Some(LooksDifference::Sizes(size(&old), size(&new)));
        }
        if self == Looks::Size {
            return None;
        }
        let differ = old.pixels().zip(new.pixels()).filter(|(old, new)| old != new).count() as u64;
        let all = u64::from(old.width()) * u64::from(old.height());
        (differ > 0).then_some(LooksDifference::Pixels(differ, all))
    }
}

/// The bytes of a stored picture, whose base64 may have any line breaks.
fn file(stored: &str) -> Vec<u8> {
    let text: String = stored.split_whitespace().collect();
    STANDARD.decode(&text).unwrap_or_else(|_| text.into_bytes())
}

fn decoded(mime: &str, file: &[u8]) -> Option<Raster> {
    Raster::decode(RasterFormat::from_mime(mime)?, file, LIMITS).ok()
}
