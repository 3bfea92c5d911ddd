//! Decodes JPEG files, bounded by the size in their header, and encodes them.

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::{PixelLayout, Raster, RasterError, RasterLimits};

const END: u8 = 0xd9;
const SCAN: u8 = 0xda;

/// A marker, with its offset in the file.
struct Marker {
    code: u8,
    at: usize,
}

/// The markers of a file in order. Ends after the one that ends the picture, or where a marker is missing.
struct Markers<'a> {
    file: &'a [u8],
    at: usize,
    /// True if compressed pixels begin at `at`.
    is_scan: bool,
}

impl<'a> Markers<'a> {
    fn new(file: &'a [u8]) -> Option<Markers<'a>> {
        file.starts_with(b"\xff\xd8").then_some(Markers { file, at: 2, is_scan: false })
    }

    /// Moves to the marker after compressed pixels. Among those, 0xff is followed by 0 or by the number of a restart.
    fn skip_scan(&mut self) -> Option<()> {
        loop {
            self.at += memchr::memchr(0xff, self.file.get(self.at..)?)?;
            match self.file.get(self.at + 1)? {
                0x00 | 0xd0..=0xd7 => self.at += 2,
                0xff => self.at += 1,
                _ => return Some(()),
            }
        }
    }
}

impl Iterator for Markers<'_> {
    type Item = Marker;

    fn next(&mut self) -> Option<Marker> {
        if std::mem::take(&mut self.is_scan) {
            self.skip_scan()?;
        }
        // Segments may be padded with any number of 0xff.
        while self.file.get(self.at..self.at + 2) == Some(&[0xff, 0xff]) {
            self.at += 1;
        }
        let at = self.at;
        let (0xff, code) = (*self.file.get(at)?, *self.file.get(at + 1)?) else { return None };
        self.at = match code {
            0x01 | 0xd0..=0xd8 => at + 2,
            END => self.file.len(),
            _ => at + 2 + usize::from(short(self.file, at + 2)?).max(2),
        };
        self.is_scan = code == SCAN;
        Some(Marker { code, at })
    }
}

fn short(file: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(file.get(at..at + 2)?.try_into().ok()?))
}

/// The width and height of the first frame.
pub(super) fn claimed_size(file: &[u8]) -> Option<(u32, u32)> {
    let is_frame = |code: u8| match code {
        // These three codes of the range are tables.
        0xc4 | 0xc8 | 0xcc => false,
        _ => (0xc0..=0xcf).contains(&code),
    };
    let mut headers = Markers::new(file)?.take_while(|marker| marker.code != SCAN);
    let frame = headers.find(|marker| is_frame(marker.code))?;
    Some((short(file, frame.at + 7)?.into(), short(file, frame.at + 5)?.into()))
}

/// Walks the markers to the one that ends the picture.
pub(super) fn find_end(file: &[u8]) -> Option<usize> {
    let end = Markers::new(file)?.find(|marker| marker.code == END)?;
    Some(end.at + 2)
}

pub(super) fn decode(file: &[u8], limits: RasterLimits) -> Result<Raster, RasterError> {
    // The decoder fills missing parts with grey.
    if find_end(file).is_none() {
        return Err(RasterError::malformed("not a whole JPEG file"));
    }
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(usize::MAX)
        .set_max_height(usize::MAX)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    decoder.decode_headers().map_err(|error| RasterError::malformed(&error))?;
    let unknown = || RasterError::malformed("no size");
    let info = decoder.info().ok_or_else(unknown)?;
    let layout = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => {
            decoder.set_options(options.jpeg_set_out_colorspace(ColorSpace::Luma));
            PixelLayout::Grey
        }
        _ => PixelLayout::Rgb,
    };
    let (width, height) = (u32::from(info.width), u32::from(info.height));
    let size = decoder.output_buffer_size().ok_or_else(unknown)?;
    limits.check(width, height, size as u64)?;
    let mut samples = vec![0; size];
    decoder.decode_into(&mut samples).map_err(|error| RasterError::malformed(&error))?;
    Raster::new(width, height, layout, samples)
        .ok_or_else(|| RasterError::malformed("wrong number of pixels"))
}

pub(super) fn encode(raster: &Raster, quality: u8) -> Result<Vec<u8>, RasterError> {
    let side = |side: u32| u16::try_from(side).map_err(|error| RasterError::encoding(&error));
    let (width, height) = (side(raster.width)?, side(raster.height)?);
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, quality.clamp(1, 100));
    // Plots have thin coloured lines, which fewer samples of colour would smear.
    encoder.set_sampling_factor(SamplingFactor::F_1_1);
    let colour = match raster.layout {
        PixelLayout::Grey => ColorType::Luma,
        PixelLayout::Rgb => ColorType::Rgb,
        PixelLayout::Rgba => ColorType::Rgba,
    };
    encoder
        .encode(&raster.samples, width, height, colour)
        .map_err(|error| RasterError::encoding(&error))?;
    Ok(file)
}
