//! Pictures for a reader: their description, and copies that keep to a budget of pixels and bytes.
//!
//! Owns the choice of size and encoding; `raster` does the work on pixels, and `svg` draws. It must not know where
//! pictures come from or go to. A picture that is broken, huge or mislabeled is described and left out, never trusted.

use bytes::Bytes;

use super::raster::{PngEffort, Raster, RasterFormat, RasterHeader, RasterLimits};
use super::svg::{self, Drawing, DrawingEffort, SvgPainter};
use crate::output::model::size;

/// The media type of SVG: pictures that are text.
pub const SVG: &str = "image/svg+xml";

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
pub struct FittedPicture {
    /// The media type of `data`: PNG or JPEG.
    pub mime: &'static str,
    /// The file, which a client can show.
    pub data: Bytes,
    /// Width in pixels, at least 1.
    pub width: u32,
    /// Height in pixels, at least 1.
    pub height: u32,
}

/// The result of fitting a picture, with one line about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PictureFit {
    /// The copy; `None` if the picture cannot be shown.
    pub fitted: Option<FittedPicture>,
    /// Width and height of the original, as far as it says so.
    pub pixels: Option<(u32, u32)>,
    /// Kind and size of the original, and what the copy lacks or why there is none.
    pub digest: String,
    /// True if the copy shows all of the original.
    pub is_whole: bool,
}

impl PictureFit {
    /// A picture that is only described.
    fn described(pixels: Option<(u32, u32)>, digest: String) -> PictureFit {
        PictureFit { fitted: None, pixels, digest, is_whole: false }
    }
}

/// Makes copies of pictures for readers. It also draws SVG, and keeps the fonts for that.
#[derive(Debug)]
pub struct PictureFitter {
    limits: ImageLimits,
    painter: SvgPainter,
}

impl PictureFitter {
    /// A fitter for these limits. It loads fonts when it draws the first text.
    pub fn new(limits: ImageLimits) -> PictureFitter {
        PictureFitter { limits, painter: SvgPainter::default() }
    }

    /// Makes a copy within the limits; of SVG by drawing it, which takes from the effort.
    pub fn fit(&self, mime: &str, bytes: &Bytes, effort: &mut DrawingEffort) -> PictureFit {
        match mime {
            SVG => self.draw(bytes, effort),
            _ => fit(mime, bytes, self.limits),
        }
    }

    /// Kind and size of a picture, without decoding it.
    pub fn describe(&self, mime: &str, bytes: &Bytes) -> String {
        match RasterHeader::read(bytes).filter(|_| mime != SVG) {
            Some(header) => about(header, bytes),
            None => fit(mime, bytes, self.limits).digest,
        }
    }

    fn draw(&self, bytes: &Bytes, effort: &mut DrawingEffort) -> PictureFit {
        let Drawing { raster, size: (width, height), omissions } =
            match self.painter.draw(bytes, self.limits.max_side, effort) {
                Ok(drawing) => drawing,
                Err(refusal) => {
                    let PictureFit { pixels, digest, .. } = describe_svg(bytes);
                    return PictureFit::described(pixels, format!("{digest}, {refusal}"));
                }
            };
        let mut digest = format!("{SVG} {width}×{height}, {}", size(bytes.len() as u64));
        let pixels = Some((width, height));
        let Some(fitted) = shrink(&raster, RasterFormat::Png, self.limits) else {
            return PictureFit::described(pixels, format!("{digest}, too large to be shown"));
        };
        if (fitted.width, fitted.height) != (width, height) {
            digest.push_str(&shown_as(&fitted));
        }
        let svg::Omissions { pictures, text } = omissions;
        if pictures > 0 {
            digest.push_str(&format!(", without {pictures} of its pictures"));
        }
        if text {
            digest.push_str(", without its text, as this machine has no fonts");
        }
        let is_whole = pictures == 0 && !text;
        PictureFit { fitted: Some(fitted), pixels, digest, is_whole }
    }
}

fn about(RasterHeader { format, width, height }: RasterHeader, bytes: &Bytes) -> String {
    format!("{} {width}×{height}, {}", format.mime(), size(bytes.len() as u64))
}

fn shown_as(copy: &FittedPicture) -> String {
    let FittedPicture { mime, width, height, data } = copy;
    format!(", shown as {mime} {width}×{height}, {}", size(data.len() as u64))
}

/// A document that is not drawn, or not yet.
fn describe_svg(bytes: &Bytes) -> PictureFit {
    let pixels = std::str::from_utf8(bytes).ok().and_then(svg::claimed_size);
    let side = pixels.map(|(width, height)| format!(" {width}×{height}")).unwrap_or_default();
    PictureFit::described(pixels, format!("{SVG}{side}, {}", size(bytes.len() as u64)))
}

/// Makes a copy within the limits. Even a small picture is decoded once, because a client that receives a broken one
/// may refuse the whole answer. SVG is only described.
pub(crate) fn fit(mime: &str, bytes: &Bytes, limits: ImageLimits) -> PictureFit {
    if mime == SVG {
        return describe_svg(bytes);
    }
    let Some(header) = RasterHeader::read(bytes) else {
        let bytes_size = size(bytes.len() as u64);
        let digest = format!("{mime}, {bytes_size}, not a readable png or jpeg");
        return PictureFit::described(None, digest);
    };
    let RasterHeader { format, width, height } = header;
    let about = about(header, bytes);
    let pixels = Some((width, height));
    let without = |why: &str| PictureFit::described(pixels, format!("{about}, {why}"));
    if u64::from(width) * u64::from(height) > limits.max_source_pixels {
        return without("too many pixels to be shown");
    }
    match scale(bytes, header, limits) {
        ScaleResult::Broken => without("broken"),
        ScaleResult::TooLarge => without("too large to be shown"),
        ScaleResult::Fits => {
            let mime = format.mime();
            let fitted = Some(FittedPicture { mime, data: bytes.clone(), width, height });
            PictureFit { fitted, pixels, digest: about, is_whole: true }
        }
        ScaleResult::Copy(copy) => {
            let digest = format!("{about}{}", shown_as(&copy));
            PictureFit { fitted: Some(copy), pixels, digest, is_whole: true }
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
    if width.max(height) <= limits.max_side && bytes.len() <= limits.max_bytes {
        return ScaleResult::Fits;
    }
    shrink(&decoded, header.format, limits).map_or(ScaleResult::TooLarge, ScaleResult::Copy)
}

/// The largest copy within the limits.
fn shrink(picture: &Raster, format: RasterFormat, limits: ImageLimits) -> Option<FittedPicture> {
    let (width, height) = (picture.width(), picture.height());
    let longer = width.max(height);
    let mut side = longer.min(limits.max_side).max(1);
    // Each round has at most half the pixels of the one before, so a few suffice for any budget.
    for _ in 0..6 {
        let shrink =
            |length: u32| (f64::from(length) * f64::from(side) / f64::from(longer)).round() as u32;
        let smaller = picture.resize(shrink(width), shrink(height));
        let copy = encode(smaller, format, limits.max_bytes);
        if copy.is_some() {
            return copy;
        }
        side = (side * 2 / 3).max(1);
    }
    None
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
