//! Pictures for a reader: their description, and copies that keep to a budget of pixels and bytes.
//!
//! Owns the choice of size and encoding; `raster` does the work on pixels. It must not know where pictures come from or
//! go to. A picture that is broken, huge or mislabeled is described and left out, never trusted.

use bytes::Bytes;

use super::raster::{PngEffort, Raster, RasterFormat, RasterHeader, RasterLimits};
use crate::output::model::size;

/// Limits for a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageLimits {
    /// Bytes of the encoded picture.
    pub max_bytes: usize,
    /// Pixels of its longer side.
    pub max_side: u32,
    /// Pixels of the original; larger ones are not decoded.
    pub max_source_pixels: u64,
}

impl Default for ImageLimits {
    fn default() -> ImageLimits {
        ImageLimits { max_bytes: 256 * 1024, max_side: 1568, max_source_pixels: 64_000_000 }
    }
}

/// A picture within the limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FittedPicture {
    pub(crate) mime: &'static str,
    pub(crate) data: Bytes,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// The result of fitting a picture, with one line about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Look {
    pub(crate) fitted: Option<FittedPicture>,
    pub(crate) pixels: Option<(u32, u32)>,
    pub(crate) digest: String,
}

/// Makes a copy within the limits. Even a small picture is decoded once, because a client that receives a broken one
/// may refuse the whole answer.
pub(crate) fn fit(mime: &str, bytes: &Bytes, limits: ImageLimits) -> Look {
    let bytes_size = size(bytes.len() as u64);
    let Some(header) = RasterHeader::read(bytes) else {
        let digest = format!("{mime}, {bytes_size}, not a readable png or jpeg");
        return Look { fitted: None, pixels: None, digest };
    };
    let RasterHeader { format, width, height } = header;
    let about = format!("{} {width}×{height}, {bytes_size}", format.mime());
    let pixels = Some((width, height));
    let without = |why: &str| Look { fitted: None, pixels, digest: format!("{about}, {why}") };
    if u64::from(width) * u64::from(height) > limits.max_source_pixels {
        return without("too many pixels to be shown");
    }
    match scale(bytes, header, limits) {
        ScaleResult::Broken => without("broken"),
        ScaleResult::TooLarge => without("too large to be shown"),
        ScaleResult::Fits => {
            let mime = format.mime();
            let fitted = Some(FittedPicture { mime, data: bytes.clone(), width, height });
            Look { fitted, pixels, digest: about }
        }
        ScaleResult::Copy(copy) => {
            let copy_size = size(copy.data.len() as u64);
            let digest = format!(
                "{about}, shown as {} {}×{}, {copy_size}",
                copy.mime, copy.width, copy.height
            );
            Look { fitted: Some(copy), pixels, digest }
        }
    }
}

enum ScaleResult {
    /// The original is within the limits.
    Fits,
    Copy(FittedPicture),
    TooLarge,
    Broken,
}

fn scale(bytes: &Bytes, header: RasterHeader, limits: ImageLimits) -> ScaleResult {
    let decoding = RasterLimits {
        max_pixels: limits.max_source_pixels,
        max_bytes: limits.max_source_pixels.saturating_mul(8),
    };
    let Ok(decoded) = Raster::decode(header.format, bytes, decoding) else {
        return ScaleResult::Broken;
    };
    let (width, height) = (decoded.width(), decoded.height());
    if (width, height) != (header.width, header.height) {
        return ScaleResult::Broken;
    }
    let longer = width.max(height);
    if longer <= limits.max_side && bytes.len() <= limits.max_bytes {
        return ScaleResult::Fits;
    }
    let mut side = longer.min(limits.max_side).max(1);
    // Each round has at most half the pixels of the one before, so a few suffice for any budget.
    for _ in 0..6 {
        let shrink =
            |length: u32| (f64::from(length) * f64::from(side) / f64::from(longer)).round() as u32;
        let smaller = decoded.resize(shrink(width), shrink(height));
        if let Some(copy) = encode(smaller, header.format, limits.max_bytes) {
            return ScaleResult::Copy(copy);
        }
        side = (side * 2 / 3).max(1);
    }
    ScaleResult::TooLarge
}

/// The first encoding that fits: lossless where the original was, then JPEG.
fn encode(picture: Raster, format: RasterFormat, max_bytes: usize) -> Option<FittedPicture> {
    let (width, height) = (picture.width(), picture.height());
    let fitted = |format: RasterFormat, data: Vec<u8>| {
        let mime = format.mime();
        (data.len() <= max_bytes).then(|| FittedPicture { mime, data: data.into(), width, height })
    };
    if format == RasterFormat::Png {
        let encoded = picture.encode_png(PngEffort::Balanced).ok();
        if let Some(copy) = encoded.and_then(|data| fitted(format, data)) {
            return Some(copy);
        }
    }
    // JPEG has no transparency, and plots are read on white.
    let opaque = picture.into_opaque();
    [85, 60].into_iter().find_map(|quality| {
        let data = opaque.encode_jpeg(quality).ok()?;
        fitted(RasterFormat::Jpeg, data)
    })
}

#[cfg(test)]
mod tests;
