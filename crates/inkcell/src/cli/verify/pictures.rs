//! A comparison of two pictures by their looks, in words.
//!
//! Owns which way `--images` means. The engine compares, and `verify.rs` supplies the pictures.

use inkcell_engine::notebook::Pictures;
use inkcell_engine::output::{Looks, LooksDifference};

use crate::args::ImagesArg;
use crate::words;

/// How two pictures differ, in a few words; none when they look the same.
pub(super) fn difference(how: ImagesArg, both: &Pictures<'_>) -> Option<String> {
    let looks = match how {
        ImagesArg::Ignore => return None,
        ImagesArg::Exact => Looks::File,
        ImagesArg::Pixels => Looks::Pixels,
        ImagesArg::Size => Looks::Size,
    };
    looks.difference(both).map(|differs| match differs {
        LooksDifference::Files(was, is) => words::verify::other_bytes(was, is),
        LooksDifference::Sizes((wide, high), (wide_now, high_now)) => {
            format!("{wide}x{high} pixels stored, {wide_now}x{high_now} now")
        }
        LooksDifference::Pixels(differ, all) => format!("{differ} of {all} pixels differ"),
    })
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use inkcell_engine::output::raster::{PixelLayout, PngEffort, Raster};

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
