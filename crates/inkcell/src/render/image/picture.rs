//! One picture: read within limits, and made as large as it is to be shown.
//!
//! Owns what is believed of a file. Its size is looked at before anything is decoded, all of it is decoded
//! before anything is shown, and it must end where its picture ends: what else hides behind one never reaches
//! a terminal. It must not know protocols.

use std::io::Cursor;

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{
    DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder as _, ImageFormat, ImageReader,
    RgbImage,
};

/// A file that is larger is not looked at.
const MAX_FILE_BYTES: usize = 64 << 20;

/// Pixels of a picture that is decoded.
const MAX_PIXELS: u64 = 40_000_000;

/// Memory for them.
const MAX_DECODED_BYTES: u64 = 256 << 20;

/// A file that is sent as it is; a larger one is made anew at the size it has on the screen.
const MAX_SENT_BYTES: usize = 1 << 20;

/// What is behind a picture that can be seen through: paper.
const PAPER: u32 = 255;

/// A size in pixels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Side {
    pub(super) wide: u32,
    pub(super) high: u32,
}

/// A size in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extent {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Extent {
    /// Its size in pixels.
    pub(super) fn pixels(self, character: Side) -> Side {
        let times = |number: usize, side: u32| {
            u32::try_from(number).unwrap_or(u32::MAX).saturating_mul(side)
        };
        Side { wide: times(self.columns, character.wide), high: times(self.rows, character.high) }
    }
}

impl Side {
    /// The characters it takes where there is room for so many: its own size, or smaller in the same
    /// proportion.
    pub(super) fn extent(self, character: Side, max_columns: usize, max_rows: usize) -> Extent {
        let (wide, high) = (f64::from(self.wide.max(1)), f64::from(self.high.max(1)));
        let columns = wide / f64::from(character.wide);
        let rows = high / f64::from(character.high);
        let scale = (max_columns as f64 / columns).min(max_rows as f64 / rows).min(1.0);
        let whole =
            |number: f64, max: usize| ((number * scale).ceil() as usize).clamp(1, max.max(1));
        Extent { columns: whole(columns, max_columns), rows: whole(rows, max_rows) }
    }

    /// The largest of the same proportion within another.
    fn within(self, other: Side) -> Side {
        let by_width = f64::from(other.wide) / f64::from(self.wide.max(1));
        let by_height = f64::from(other.high) / f64::from(self.high.max(1));
        let scale = by_width.min(by_height).min(1.0);
        let whole = |number: u32| ((f64::from(number) * scale).round() as u32).max(1);
        Side { wide: whole(self.wide), high: whole(self.high) }
    }
}

/// A picture that was read to its end.
pub(super) struct Drawable<'a> {
    file: &'a [u8],
    format: ImageFormat,
    decoded: DynamicImage,
}

impl<'a> Drawable<'a> {
    /// Reads a picture of this type; none where anything about it is not as it should be.
    pub(super) fn read(mime: &str, file: &'a [u8]) -> Option<Drawable<'a>> {
        let format = match mime {
            "image/png" => ImageFormat::Png,
            "image/jpeg" | "image/jpg" => ImageFormat::Jpeg,
            _ => return None,
        };
        let is_whole =
            file.len() <= MAX_FILE_BYTES && begins_as(format, file) && ends_as(format, file);
        if !is_whole {
            return None;
        }
        // The decoders panic on no input we know of; a picture must not end the program if they do on one
        // we do not know.
        let decoded = std::panic::catch_unwind(|| decode(format, file)).ok().flatten()?;
        Some(Drawable { file, format, decoded })
    }

    pub(super) fn side(&self) -> Side {
        Side { wide: self.decoded.width(), high: self.decoded.height() }
    }

    /// A PNG file of it: its own where it is one and small, otherwise one of at most this size.
    pub(super) fn png(&self, side: Side) -> Option<Vec<u8>> {
        if self.format == ImageFormat::Png && self.file.len() <= MAX_SENT_BYTES {
            return Some(self.file.to_vec());
        }
        let pixels = self.scaled(side);
        let mut file = Vec::new();
        let encoder =
            PngEncoder::new_with_quality(&mut file, CompressionType::Fast, FilterType::Adaptive);
        let (wide, high) = pixels.dimensions();
        encoder.write_image(pixels.as_raw(), wide, high, ExtendedColorType::Rgb8).ok()?;
        Some(file)
    }

    /// A file of it, of whichever kind: its own where it is small.
    pub(super) fn file(&self, side: Side) -> Option<Vec<u8>> {
        if self.file.len() <= MAX_SENT_BYTES {
            return Some(self.file.to_vec());
        }
        self.png(side)
    }

    /// Its pixels, on paper, in its own proportion within this size and never larger than it is.
    pub(super) fn scaled(&self, side: Side) -> RgbImage {
        self.exactly(self.side().within(side))
    }

    /// Its pixels, on paper, at exactly this size.
    pub(super) fn exactly(&self, Side { wide, high }: Side) -> RgbImage {
        let is_same = self.side() == (Side { wide, high });
        let pixels = match is_same {
            true => self.decoded.to_rgba8(),
            false => self.decoded.thumbnail_exact(wide, high).to_rgba8(),
        };
        let mut on_paper = RgbImage::new(pixels.width(), pixels.height());
        for (to, from) in on_paper.pixels_mut().zip(pixels.pixels()) {
            let [red, green, blue, alpha] = from.0;
            let blend = |colour: u8| {
                let alpha = u32::from(alpha);
                let mixed = (u32::from(colour) * alpha + PAPER * (255 - alpha) + 127) / 255;
                u8::try_from(mixed).unwrap_or(u8::MAX)
            };
            to.0 = [blend(red), blend(green), blend(blue)];
        }
        on_paper
    }
}

fn reader(format: ImageFormat, file: &[u8]) -> ImageReader<Cursor<&[u8]>> {
    let mut reader = ImageReader::with_format(Cursor::new(file), format);
    let mut limits = image::Limits::default();
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    reader.limits(limits);
    reader
}

fn decode(format: ImageFormat, file: &[u8]) -> Option<DynamicImage> {
    let decoder = reader(format, file).into_decoder().ok()?;
    let (wide, high) = decoder.dimensions();
    let is_too_large =
        u64::from(wide) * u64::from(high) > MAX_PIXELS || decoder.total_bytes() > MAX_DECODED_BYTES;
    if is_too_large || wide == 0 || high == 0 {
        return None;
    }
    DynamicImage::from_decoder(decoder).ok()
}

/// The size that the beginning of a file claims.
pub(super) fn claimed(file: &[u8]) -> Option<Side> {
    let formats = [ImageFormat::Png, ImageFormat::Jpeg];
    let format = formats.into_iter().find(|format| begins_as(*format, file))?;
    let claim = std::panic::catch_unwind(|| reader(format, file).into_dimensions().ok());
    claim.ok().flatten().map(|(wide, high)| Side { wide, high })
}

fn begins_as(format: ImageFormat, file: &[u8]) -> bool {
    match format {
        ImageFormat::Png => file.starts_with(b"\x89PNG\r\n\x1a\n"),
        _ => file.starts_with(b"\xff\xd8\xff"),
    }
}

/// Whether a file ends with its picture: a PNG with the one chunk that ends it, a JPEG with its last mark.
fn ends_as(format: ImageFormat, file: &[u8]) -> bool {
    if format != ImageFormat::Png {
        return file.ends_with(b"\xff\xd9");
    }
    let mut at = 8;
    loop {
        let Some(head) = file.get(at..at + 8) else { return false };
        let [a, b, c, d, name @ ..] = head else { return false };
        let length = usize::try_from(u32::from_be_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX);
        // The length, the name and the checksum are four bytes each.
        let Some(next) = length.checked_add(at + 12) else { return false };
        if name == b"IEND" {
            return next == file.len();
        }
        at = next;
    }
}
