//! A comparison of two pictures by their looks.
//!
//! Owns that question, within bounds. `verify.rs` supplies the pictures.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inkcell_engine::notebook::Pictures;
use inkcell_engine::output::raster::{Raster, RasterFormat, RasterLimits};

use crate::args::ImagesArg;
use crate::words;

const LIMITS: RasterLimits = RasterLimits { max_pixels: u64::MAX, max_bytes: 512 << 20 };

/// How two pictures differ, in a few words; none when they look the same.
pub(super) fn difference(how: ImagesArg, both: &Pictures<'_>) -> Option<String> {
    if how == ImagesArg::Ignore {
        return None;
    }
    let bytes = |text: &str| {
        let text: String = text.split_whitespace().collect();
        STANDARD.decode(&text).unwrap_or_else(|_| text.into_bytes())
    };
    let (old, new) = (bytes(both.old), bytes(both.new));
    if old == new {
        return None;
    }
    let (was, is) = (old.len(), new.len());
    let other_bytes = words::verify::other_bytes(was, is);
    if how == ImagesArg::Exact {
        return Some(other_bytes);
    }
    // A picture that cannot be decoded is compared byte by byte.
    let (Some(old), Some(new)) = (decoded(both.mime, &old), decoded(both.mime, &new)) else {
        return Some(other_bytes);
    };
    let size = |picture: &Raster| (picture.width(), picture.height());
    let ((wide, high), (wide_now, high_now)) = (size(&old), size(&new));
    if (wide, high) != (wide_now, high_now) {
        return Some(format!("{wide}x{high} pixels stored, {wide_now}x{high_now} now"));
    }
    if how == ImagesArg::Size {
        return None;
    }
    let differ = old.pixels().zip(new.pixels()).filter(|(old, new)| old != new).count();
    let all = u64::from(wide) * u64::from(high);
    (differ > 0).then(|| format!("{differ} of {all} pixels differ"))
}

fn decoded(mime: &str, file: &[u8]) -> Option<Raster> {
    Raster::decode(RasterFormat::from_mime(mime)?, file, LIMITS).ok()
}

#[cfg(test)]
mod tests {
    use inkcell_engine::output::raster::{PixelLayout, PngEffort};

    use super::*;

    fn png(wide: u32, high: u32, colour: [u8; 3], comment: bool) -> String {
        let samples = colour.repeat((wide * high) as usize);
        let picture = Raster::new(wide, high, PixelLayout::Rgb, samples).unwrap();
        let mut file = picture.encode_png(PngEffort::Fast).unwrap();
        if comment {
            // A text chunk before the end, as libraries insert one with their version.
            let end = file.len() - 12;
            let chunk = [0, 0, 0, 3, b't', b'E', b'X', b't', b'a', 0, b'b', 0xdc, 0x49, 0xa2, 0x3b];
            file.splice(end..end, chunk);
        }
        STANDARD.encode(file)
    }

    fn differ(how: ImagesArg, old: &str, new: &str) -> Option<String> {
        let there = difference(how, &Pictures { mime: "image/png", old, new });
        let back = difference(how, &Pictures { mime: "image/png", old: new, new: old });
        assert_eq!(there.is_some(), back.is_some(), "either way");
        assert_eq!(difference(how, &Pictures { mime: "image/png", old, new: old }), None);
        there
    }

    #[test]
    fn pictures_are_compared_by_file_pixels_or_size() {
        let white = png(4, 3, [255; 3], false);
        let black = png(4, 3, [0; 3], false);
        let large = png(8, 3, [255; 3], false);
        let (exact, pixels, size) = (ImagesArg::Exact, ImagesArg::Pixels, ImagesArg::Size);
        assert!(differ(exact, &white, &black).unwrap().starts_with("another file ("));
        assert_eq!(differ(pixels, &white, &black).unwrap(), "12 of 12 pixels differ");
        assert_eq!(differ(size, &white, &black), None);
        assert_eq!(differ(size, &white, &large).unwrap(), "4x3 pixels stored, 8x3 now");
        assert_eq!(differ(pixels, &white, &large).unwrap(), "4x3 pixels stored, 8x3 now");
        assert_eq!(differ(ImagesArg::Ignore, &white, &large), None);
        let broken = STANDARD.encode("no picture");
        assert!(differ(pixels, &white, &broken).unwrap().starts_with("another file ("));
        // The lines of base64 are broken differently.
        let (first, rest) = white.split_at(10);
        assert_eq!(differ(exact, &white, &format!("{first}\n{rest}\n")), None);
    }

    #[test]
    fn the_same_pixels_in_another_file_look_the_same() {
        let (plain, other) = (png(4, 3, [9, 8, 7], false), png(4, 3, [9, 8, 7], true));
        assert!(differ(ImagesArg::Exact, &plain, &other).is_some());
        assert_eq!(differ(ImagesArg::Pixels, &plain, &other), None);
    }
}
