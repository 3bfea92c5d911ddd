//! One picture: read within limits and scaled to its size on the screen.
//!
//! Owns the trust in a file. The code checks the size before it decodes anything and decodes the whole file
//! before it shows anything. The file must end where its picture ends, so that no hidden data behind it
//! reaches a terminal. It must not know protocols.

use inkcell_engine::output::raster::{PngEffort, Raster, RasterFormat, RasterHeader, RasterLimits};

/// Files larger than this are not read.
const MAX_FILE_BYTES: usize = 64 << 20;

const LIMITS: RasterLimits = RasterLimits { max_pixels: 40_000_000, max_bytes: 256 << 20 };

/// Files up to this size are sent unchanged. A larger one is encoded again at its size on the screen.
const MAX_SENT_BYTES: usize = 1 << 20;

/// Width and height in pixels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Side {
    pub(super) wide: u32,
    pub(super) high: u32,
}

/// Columns and rows of a terminal that a picture takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extent {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Extent {
    /// The size in pixels, if a character has this size.
    pub(super) fn pixels(self, character: Side) -> Side {
        let times = |number: usize, side: u32| {
            u32::try_from(number).unwrap_or(u32::MAX).saturating_mul(side)
        };
        Side { wide: times(self.columns, character.wide), high: times(self.rows, character.high) }
    }
}

impl Side {
    /// The extent in characters: the picture's own size, or smaller in the same proportion to fit the limits.
    pub(super) fn extent(self, character: Side, max_columns: usize, max_rows: usize) -> Extent {
        let (wide, high) = (f64::from(self.wide.max(1)), f64::from(self.high.max(1)));
        let columns = wide / f64::from(character.wide);
        let rows = high / f64::from(character.high);
        let scale = (max_columns as f64 / columns).min(max_rows as f64 / rows).min(1.0);
        let whole =
            |number: f64, max: usize| ((number * scale).ceil() as usize).clamp(1, max.max(1));
        Extent { columns: whole(columns, max_columns), rows: whole(rows, max_rows) }
    }

    /// The largest size of this proportion within another size.
    fn within(self, other: Side) -> Side {
        let by_width = f64::from(other.wide) / f64::from(self.wide.max(1));
        let by_height = f64::from(other.high) / f64::from(self.high.max(1));
        let scale = by_width.min(by_height).min(1.0);
        let whole = |number: u32| ((f64::from(number) * scale).round() as u32).max(1);
        Side { wide: whole(self.wide), high: whole(self.high) }
    }
}

/// A picture whose file was decoded completely.
pub(super) struct Drawable<'a> {
    file: &'a [u8],
    format: RasterFormat,
    decoded: Raster,
}

impl<'a> Drawable<'a> {
    /// Reads a picture of this type. `None` if anything in the file is wrong.
    pub(super) fn read(mime: &str, file: &'a [u8]) -> Option<Drawable<'a>> {
        let format = RasterFormat::from_mime(mime)?;
        let is_whole = file.len() <= MAX_FILE_BYTES && ends_as(format, file);
        if !is_whole {
            return None;
        }
        let decoded = Raster::decode(format, file, LIMITS).ok()?;
        Some(Drawable { file, format, decoded })
    }

    pub(super) fn side(&self) -> Side {
        Side { wide: self.decoded.width(), high: self.decoded.height() }
    }

    /// A PNG file: the original if it is a small PNG, otherwise a new one within this size.
    pub(super) fn png(&self, side: Side) -> Option<Vec<u8>> {
        if self.format == RasterFormat::Png && self.file.len() <= MAX_SENT_BYTES {
            return Some(self.file.to_vec());
        }
        self.scaled(side).encode_png(PngEffort::Fast).ok()
    }

    /// A file of any format: the original if it is small, otherwise a new PNG within this size.
    pub(super) fn file(&self, side: Side) -> Option<Vec<u8>> {
        if self.file.len() <= MAX_SENT_BYTES {
            return Some(self.file.to_vec());
        }
        self.png(side)
    }

    /// The pixels on a white background, in proportion within this size, never enlarged.
    pub(super) fn scaled(&self, side: Side) -> Raster {
        self.exactly(self.side().within(side))
    }

    /// The pixels on a white background, at exactly this size.
    pub(super) fn exactly(&self, Side { wide, high }: Side) -> Raster {
        self.decoded.resize(wide, high).into_opaque()
    }
}

/// The size that a file's header claims.
pub(super) fn claimed(file: &[u8]) -> Option<Side> {
    let RasterHeader { width: wide, height: high, .. } = RasterHeader::read(file)?;
    (wide > 0 && high > 0).then_some(Side { wide, high })
}

/// Whether a file ends with its picture: a PNG with its single end chunk, a JPEG with its end marker. In a
/// JPEG that may be the marker of a second picture, since cameras append a copy.
fn ends_as(format: RasterFormat, file: &[u8]) -> bool {
    match format {
        RasterFormat::Png => format.find_end(file) == Some(file.len()),
        RasterFormat::Jpeg => file.ends_with(b"\xff\xd9"),
    }
}
