//! Pictures for a reader: what they are, and copies that keep to a budget of pixels and bytes.
//!
//! Owns decoding, scaling and encoding. It must not know where pictures come from or go to. A picture
//! that is broken, huge or not what it claims to be is described and left out, never believed.

use std::io::Cursor;

use bytes::Bytes;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType as PngFilter, PngEncoder};
use image::imageops::FilterType;
use image::{DynamicImage, ImageEncoder, ImageFormat, ImageReader};

use super::model::size;

/// How large a picture may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageLimits {
    /// Bytes of the encoded picture.
    pub max_bytes: usize,
    /// Pixels of its longer side.
    pub max_side: u32,
    /// Pixels of the original; more are not decoded.
    pub max_source_pixels: u64,
}

impl Default for ImageLimits {
    fn default() -> ImageLimits {
        ImageLimits { max_bytes: 256 * 1024, max_side: 1568, max_source_pixels: 64_000_000 }
    }
}

/// A format that can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    Png,
    Jpeg,
}

impl Format {
    pub(super) fn mime(self) -> &'static str {
        match self {
            Format::Png => "image/png",
            Format::Jpeg => "image/jpeg",
        }
    }
}

/// What the first bytes of a picture say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) format: Format,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// Reads the size of a picture from its header, whatever it was called.
pub(super) fn header(bytes: &[u8]) -> Option<Header> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        let number = |at: usize| {
            let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
            Some(u32::from_be_bytes(four))
        };
        return Some(Header { format: Format::Png, width: number(16)?, height: number(20)? });
    }
    if !bytes.starts_with(b"\xff\xd8") {
        return None;
    }
    let short = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let mut at = 2;
    loop {
        // Segments may be padded with any number of 0xff.
        while bytes.get(at) == Some(&0xff) && bytes.get(at + 1) == Some(&0xff) {
            at += 1;
        }
        let (0xff, marker) = (*bytes.get(at)?, *bytes.get(at + 1)?) else {
            return None;
        };
        match marker {
            // A frame, except for the three that are tables.
            0xc0..=0xcf if ![0xc4, 0xc8, 0xcc].contains(&marker) => {
                let (height, width) = (short(at + 5)?.into(), short(at + 7)?.into());
                return Some(Header { format: Format::Jpeg, width, height });
            }
            0x01 | 0xd0..=0xd8 => at += 2,
            0xd9 | 0xda => return None,
            _ => at += 2 + usize::from(short(at + 2)?).max(2),
        }
    }
}

/// A picture within the limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fitted {
    pub(super) mime: &'static str,
    pub(super) data: Bytes,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// What became of a picture, with one line about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Look {
    pub(super) fitted: Option<Fitted>,
    pub(super) pixels: Option<(u32, u32)>,
    pub(super) digest: String,
}

/// Makes a copy within the limits. Even a small picture is decoded once, because a reader that is sent a
/// broken one may refuse the whole answer.
pub(super) fn fit(mime: &str, bytes: &Bytes, limits: ImageLimits) -> Look {
    let bytes_size = size(bytes.len() as u64);
    let Some(header) = header(bytes) else {
        let digest = format!("{mime}, {bytes_size}, not a readable png or jpeg");
        return Look { fitted: None, pixels: None, digest };
    };
    let Header { format, width, height } = header;
    let about = format!("{} {width}×{height}, {bytes_size}", format.mime());
    let pixels = Some((width, height));
    let without = |why: &str| Look { fitted: None, pixels, digest: format!("{about}, {why}") };
    if u64::from(width) * u64::from(height) > limits.max_source_pixels {
        return without("too many pixels to be shown");
    }
    // The decoders do not panic on any input we know of; a picture must not end a kernel's host if they
    // do on one we do not know.
    let scaled = std::panic::catch_unwind(|| scale(bytes, header, limits));
    match scaled.unwrap_or(Scaled::Broken) {
        Scaled::Broken => without("broken"),
        Scaled::TooLarge => without("too large to be shown"),
        Scaled::Fits => {
            let mime = format.mime();
            let fitted = Some(Fitted { mime, data: bytes.clone(), width, height });
            Look { fitted, pixels, digest: about }
        }
        Scaled::Copy(copy) => {
            let copy_size = size(copy.data.len() as u64);
            let digest = format!(
                "{about}, shown as {} {}×{}, {copy_size}",
                copy.mime, copy.width, copy.height
            );
            Look { fitted: Some(copy), pixels, digest }
        }
    }
}

enum Scaled {
    /// The original will do.
    Fits,
    Copy(Fitted),
    TooLarge,
    Broken,
}

fn scale(bytes: &Bytes, header: Header, limits: ImageLimits) -> Scaled {
    let format = match header.format {
        Format::Png => ImageFormat::Png,
        Format::Jpeg => ImageFormat::Jpeg,
    };
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut decoding = image::Limits::default();
    decoding.max_image_width = Some(header.width);
    decoding.max_image_height = Some(header.height);
    decoding.max_alloc = Some(limits.max_source_pixels.saturating_mul(8));
    reader.limits(decoding);
    let Ok(decoded) = reader.decode() else {
        return Scaled::Broken;
    };
    let longer = header.width.max(header.height);
    if longer <= limits.max_side && bytes.len() <= limits.max_bytes {
        return Scaled::Fits;
    }
    let mut side = longer.min(limits.max_side).max(1);
    // Each round has at most half the pixels of the one before, so a few are enough for any budget.
    for _ in 0..6 {
        let smaller = if side < longer {
            decoded.resize(side, side, FilterType::Triangle)
        } else {
            decoded.clone()
        };
        if let Some(copy) = encode(&smaller, header.format, limits.max_bytes) {
            return Scaled::Copy(copy);
        }
        side = (side * 2 / 3).max(1);
    }
    Scaled::TooLarge
}

/// The first encoding that fits: without loss where the original was, then as jpeg.
fn encode(picture: &DynamicImage, format: Format, max_bytes: usize) -> Option<Fitted> {
    let (width, height) = (picture.width(), picture.height());
    let fitted = |mime, data: Vec<u8>| {
        (data.len() <= max_bytes).then(|| Fitted { mime, data: data.into(), width, height })
    };
    if format == Format::Png {
        let eight = match picture {
            DynamicImage::ImageRgb8(_) | DynamicImage::ImageLuma8(_) => picture.clone(),
            _ if picture.color().has_alpha() => DynamicImage::ImageRgba8(picture.to_rgba8()),
            _ => DynamicImage::ImageRgb8(picture.to_rgb8()),
        };
        let mut data = Vec::new();
        let encoder =
            PngEncoder::new_with_quality(&mut data, CompressionType::Default, PngFilter::Adaptive);
        let written = encoder.write_image(eight.as_bytes(), width, height, eight.color().into());
        if let Some(copy) = written.ok().and_then(|()| fitted("image/png", data)) {
            return Some(copy);
        }
    }
    let opaque = on_white(picture);
    [85, 60].into_iter().find_map(|quality| {
        let mut data = Vec::new();
        let encoder = JpegEncoder::new_with_quality(&mut data, quality);
        let written =
            encoder.write_image(opaque.as_raw(), width, height, image::ExtendedColorType::Rgb8);
        written.ok().and_then(|()| fitted("image/jpeg", data))
    })
}

/// jpeg has no transparency, and plots are read on white.
fn on_white(picture: &DynamicImage) -> image::RgbImage {
    if !picture.color().has_alpha() {
        return picture.to_rgb8();
    }
    let source = picture.to_rgba8();
    let mut opaque = image::RgbImage::new(source.width(), source.height());
    for (to, from) in opaque.pixels_mut().zip(source.pixels()) {
        let alpha = u16::from(from.0[3]);
        for channel in 0..3 {
            let mixed = u16::from(from.0[channel]) * alpha + 255 * (255 - alpha);
            to.0[channel] = (mixed / 255) as u8;
        }
    }
    opaque
}

#[cfg(test)]
mod tests;
