//! Decodes PNG files of every colour type to 8 bits, and encodes them.

use std::io::Cursor;

use ::png::{BitDepth, ColorType, Compression, Decoder, Encoder, Filter, Limits, Transformations};

use super::{PixelLayout, PngEffort, Raster, RasterError, RasterLimits};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

pub(super) fn has_signature(file: &[u8]) -> bool {
    file.starts_with(SIGNATURE)
}

fn number(file: &[u8], at: usize) -> Option<u32> {
    let four: [u8; 4] = file.get(at..at.checked_add(4)?)?.try_into().ok()?;
    Some(u32::from_be_bytes(four))
}

/// The width and height in the first chunk, regardless of its claimed length.
pub(super) fn claimed_size(file: &[u8]) -> Option<(u32, u32)> {
    (file.get(12..16)? == b"IHDR").then_some((number(file, 16)?, number(file, 20)?))
}

/// Walks the chunks to the one that ends the picture. It does not inflate them: data after the first frame of an
/// animation may be of any size.
pub(super) fn find_end(file: &[u8]) -> Option<usize> {
    let mut at = SIGNATURE.len();
    loop {
        let length = usize::try_from(number(file, at)?).ok()?;
        let name = file.get(at + 4..at + 8)?;
        // The length, the name and the checksum take four bytes each.
        let next = length.checked_add(at + 12)?;
        if name == b"IEND" {
            return (next <= file.len()).then_some(next);
        }
        at = next;
    }
}

pub(super) fn decode(file: &[u8], limits: RasterLimits) -> Result<Raster, RasterError> {
    if !has_signature(file) || find_end(file).is_none() {
        return Err(RasterError::malformed("not a whole PNG file"));
    }
    let bytes = usize::try_from(limits.max_bytes).unwrap_or(usize::MAX);
    let mut decoder = Decoder::new_with_limits(Cursor::new(file), Limits { bytes });
    // Neither is used, and both may be compressed.
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(Transformations::normalize_to_color8());
    let info = decoder.read_header_info().map_err(|error| RasterError::malformed(&error))?;
    let (width, height) = info.size();
    let bits = u64::from(width) * u64::from(height);
    let bits = bits.saturating_mul(info.bits_per_pixel() as u64);
    limits.check(width, height, bits / 8)?;
    let mut reader = decoder.read_info().map_err(|error| RasterError::malformed(&error))?;
    let too_large = RasterError::TooLarge { width, height };
    let Some(size) = reader.output_buffer_size() else { return Err(too_large) };
    let (colour, depth) = reader.output_color_type();
    if depth != BitDepth::Eight {
        return Err(RasterError::malformed("unknown bit depth"));
    }
    let decoded_size = match colour {
        ColorType::GrayscaleAlpha => size as u64 * 2,
        _ => size as u64,
    };
    limits.check(width, height, decoded_size)?;
    let mut samples = vec![0; size];
    let frame = reader.next_frame(&mut samples).map_err(|error| RasterError::malformed(&error))?;
    if (frame.width, frame.height) != (width, height) {
        return Err(RasterError::malformed("the first frame has a size of its own"));
    }
    let (layout, samples) = match colour {
        ColorType::Grayscale => (PixelLayout::Grey, samples),
        ColorType::Rgb => (PixelLayout::Rgb, samples),
        ColorType::Rgba => (PixelLayout::Rgba, samples),
        ColorType::GrayscaleAlpha => {
            let (pixels, _) = samples.as_chunks();
            let expanded = pixels.iter().flat_map(|[grey, alpha]| [*grey, *grey, *grey, *alpha]);
            (PixelLayout::Rgba, expanded.collect())
        }
        ColorType::Indexed => return Err(RasterError::malformed("the palette was not applied")),
    };
    Raster::new(width, height, layout, samples)
        .ok_or_else(|| RasterError::malformed("wrong number of pixels"))
}

pub(super) fn encode(raster: &Raster, effort: PngEffort) -> Result<Vec<u8>, RasterError> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, raster.width, raster.height);
    encoder.set_color(match raster.layout {
        PixelLayout::Grey => ColorType::Grayscale,
        PixelLayout::Rgb => ColorType::Rgb,
        PixelLayout::Rgba => ColorType::Rgba,
    });
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(match effort {
        PngEffort::Fast => Compression::Fast,
        PngEffort::Balanced => Compression::Balanced,
    });
    encoder.set_filter(Filter::Adaptive);
    let mut writer = encoder.write_header().map_err(|error| RasterError::encoding(&error))?;
    writer.write_image_data(&raster.samples).map_err(|error| RasterError::encoding(&error))?;
    writer.finish().map_err(|error| RasterError::encoding(&error))?;
    Ok(file)
}
