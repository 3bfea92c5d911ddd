//! Pixels: pictures read from PNG and JPEG files, scaled, and written back.
//!
//! Owns which claims of such a file are trusted. Its size is checked before memory is taken for it, and a file
//! that ends before its picture does is an error. It must not know what pictures are for.

mod jpeg;
mod png;
mod resize;

/// Formats that can be read and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RasterFormat {
    /// Lossless, with or without transparency.
    Png,
    /// Lossy and without transparency; suits photographs.
    Jpeg,
}

impl RasterFormat {
    /// The format that a MIME type names.
    pub fn from_mime(mime: &str) -> Option<RasterFormat> {
        match mime {
            "image/png" => Some(RasterFormat::Png),
            "image/jpeg" | "image/jpg" => Some(RasterFormat::Jpeg),
            _ => None,
        }
    }

    /// The media type, as notebooks name it.
    pub fn mime(self) -> &'static str {
        match self {
            RasterFormat::Png => "image/png",
            RasterFormat::Jpeg => "image/jpeg",
        }
    }

    /// Offset of the picture's end in a file of this format; `None` if the file ends first.
    pub fn find_end(self, file: &[u8]) -> Option<usize> {
        match self {
            RasterFormat::Png => png::find_end(file),
            RasterFormat::Jpeg => jpeg::find_end(file),
        }
    }
}

/// The format and size that the first bytes of a file claim. Nothing else of the file is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RasterHeader {
    /// The format, known by the signature.
    pub format: RasterFormat,
    /// The claimed width in pixels.
    pub width: u32,
    /// The claimed height in pixels.
    pub height: u32,
}

impl RasterHeader {
    /// Reads the claims of a PNG or JPEG file; `None` for any other file, or if it is cut off before its size.
    pub fn read(file: &[u8]) -> Option<RasterHeader> {
        let (format, (width, height)) = if png::has_signature(file) {
            (RasterFormat::Png, png::claimed_size(file)?)
        } else {
            (RasterFormat::Jpeg, jpeg::claimed_size(file)?)
        };
        Some(RasterHeader { format, width, height })
    }
}

/// Limits for decoding one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RasterLimits {
    /// Pixels that the picture may have, counted before anything is decoded.
    pub max_pixels: u64,
    /// Memory for the pixels, in bytes.
    pub max_bytes: u64,
}

impl RasterLimits {
    fn check(self, width: u32, height: u32, bytes: u64) -> Result<(), RasterError> {
        let is_within =
            u64::from(width) * u64::from(height) <= self.max_pixels && bytes <= self.max_bytes;
        if is_within { Ok(()) } else { Err(RasterError::TooLarge { width, height }) }
    }
}

/// The reason why a picture cannot be read or written.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RasterError {
    /// The file does not follow its format.
    #[error("malformed picture: {0}")]
    Malformed(String),
    /// The picture has more pixels than the limit allows.
    #[error("the picture is too large: {width}x{height} pixels")]
    TooLarge {
        /// The claimed width in pixels.
        width: u32,
        /// The claimed height in pixels.
        height: u32,
    },
    /// The encoder failed, for example because a side is too long for the format.
    #[error("cannot encode the picture: {0}")]
    Encoding(String),
}

impl RasterError {
    fn malformed(reason: &(impl ToString + ?Sized)) -> RasterError {
        RasterError::Malformed(reason.to_string())
    }

    fn encoding(reason: &(impl ToString + ?Sized)) -> RasterError {
        RasterError::Encoding(reason.to_string())
    }
}

/// The samples of a pixel, one byte each, in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PixelLayout {
    /// One sample: the brightness.
    Grey,
    /// Three samples: red, green and blue.
    Rgb,
    /// The colours are not multiplied by the alpha.
    Rgba,
}

impl PixelLayout {
    /// Samples for each pixel, which are also its bytes.
    pub fn samples(self) -> usize {
        match self {
            PixelLayout::Grey => 1,
            PixelLayout::Rgb => 3,
            PixelLayout::Rgba => 4,
        }
    }
}

/// Effort of the PNG encoder to make a small file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PngEffort {
    /// The least effort, for pictures that are shown once.
    Fast,
    /// Smaller files for several times the effort.
    Balanced,
}

/// A picture in memory: rows from top to bottom without padding, never empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Raster {
    width: u32,
    height: u32,
    layout: PixelLayout,
    samples: Vec<u8>,
}

impl Raster {
    /// `None` if the size is zero or does not match the number of samples.
    pub fn new(width: u32, height: u32, layout: PixelLayout, samples: Vec<u8>) -> Option<Raster> {
        let pixels = u64::from(width) * u64::from(height);
        let is_whole =
            pixels > 0 && pixels.checked_mul(layout.samples() as u64) == Some(samples.len() as u64);
        is_whole.then_some(Raster { width, height, layout, samples })
    }

    /// Decodes a file to 8 bits a sample. Of an animation it decodes the first frame. Colour profiles
    /// and EXIF data have no effect.
    pub fn decode(
        format: RasterFormat,
        file: &[u8],
        limits: RasterLimits,
    ) -> Result<Raster, RasterError> {
        // No input is known to make the decoders panic. An unknown one must not end the process.
        let decoded = std::panic::catch_unwind(|| match format {
            RasterFormat::Png => png::decode(file, limits),
            RasterFormat::Jpeg => jpeg::decode(file, limits),
        });
        decoded.unwrap_or_else(|_| Err(RasterError::malformed("the decoder failed")))
    }

    /// Encodes the picture as PNG. It fails only if the encoder refuses the size.
    pub fn encode_png(&self, effort: PngEffort) -> Result<Vec<u8>, RasterError> {
        png::encode(self, effort)
    }

    /// Encodes at a quality from 1 to 100. JPEG has no transparency: alpha is ignored.
    pub fn encode_jpeg(&self, quality: u8) -> Result<Vec<u8>, RasterError> {
        jpeg::encode(self, quality)
    }

    /// A copy of another size, at least one pixel. Every pixel of it is the mean of the area that it
    /// covers.
    pub fn resize(&self, width: u32, height: u32) -> Raster {
        resize::resize(self, width.max(1), height.max(1))
    }

    /// Width in pixels, at least 1.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels, at least 1.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The samples that each pixel has.
    pub fn layout(&self) -> PixelLayout {
        self.layout
    }

    /// All samples: row by row, from the top left.
    pub fn samples(&self) -> &[u8] {
        &self.samples
    }

    /// All pixels as red, green, blue and alpha, row by row.
    pub fn pixels(&self) -> impl Iterator<Item = [u8; 4]> + '_ {
        self.samples.chunks_exact(self.layout.samples()).map(rgba)
    }

    /// One pixel as red, green, blue and alpha; `None` outside of the picture.
    pub fn pixel(&self, x: u32, y: u32) -> Option<[u8; 4]> {
        if x >= self.width || y >= self.height {
            return None;
        }
        let each = self.layout.samples();
        let at = (y as usize * self.width as usize + x as usize) * each;
        self.samples.get(at..at + each).map(rgba)
    }

    /// The picture without transparency, on white, as paper is.
    pub fn into_opaque(self) -> Raster {
        if self.layout != PixelLayout::Rgba {
            return self;
        }
        let mut samples = Vec::with_capacity(self.samples.len() / 4 * 3);
        for [red, green, blue, alpha] in self.pixels() {
            let alpha = u16::from(alpha);
            let blend = |colour: u8| {
                let mixed = (u16::from(colour) * alpha + 255 * (255 - alpha) + 127) / 255;
                u8::try_from(mixed).unwrap_or(u8::MAX)
            };
            samples.extend([blend(red), blend(green), blend(blue)]);
        }
        Raster { layout: PixelLayout::Rgb, samples, ..self }
    }
}

fn rgba(pixel: &[u8]) -> [u8; 4] {
    match *pixel {
        [red, green, blue, alpha] => [red, green, blue, alpha],
        [red, green, blue] => [red, green, blue, u8::MAX],
        [grey] => [grey, grey, grey, u8::MAX],
        // No layout has another number of samples.
        _ => [0; 4],
    }
}

#[cfg(test)]
mod tests;
