//! Files of every kind, made by hand, and the law of scaling.

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use proptest::prelude::*;

use super::*;

const LIMITS: RasterLimits = RasterLimits { max_pixels: 1_000_000, max_bytes: 4_000_000 };

fn check_sum(bytes: &[u8]) -> u32 {
    let mut check = u32::MAX;
    for byte in bytes {
        check ^= u32::from(*byte);
        for _ in 0..8 {
            check = if check & 1 == 1 { (check >> 1) ^ 0xedb8_8320 } else { check >> 1 };
        }
    }
    !check
}

fn push_chunk(file: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    let named = [name, data].concat();
    file.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
    file.extend(&named);
    file.extend(check_sum(&named).to_be_bytes());
}

/// A zlib stream of one block that is not compressed.
fn stored(data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).unwrap();
    let (low, high) = data.iter().fold((1u32, 0u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    let mut stream = vec![0x78, 0x01, 0x01];
    stream.extend(length.to_le_bytes());
    stream.extend((!length).to_le_bytes());
    stream.extend(data);
    stream.extend((high << 16 | low).to_be_bytes());
    stream
}

/// The header fields of a PNG.
#[derive(Clone, Copy)]
struct Head {
    width: u32,
    height: u32,
    depth: u8,
    colour: u8,
    is_interlaced: bool,
}

const GREY: u8 = 0;
const RGB: u8 = 2;
const INDEXED: u8 = 3;
const GREY_ALPHA: u8 = 4;
const RGBA: u8 = 6;

/// A PNG of these rows, each with its filter before it.
fn png_file(head: Head, chunks: &[(&[u8; 4], &[u8])], rows: &[u8]) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let size = [head.width.to_be_bytes(), head.height.to_be_bytes()].concat();
    let rest = [head.depth, head.colour, 0, 0, u8::from(head.is_interlaced)];
    push_chunk(&mut file, b"IHDR", &[&size[..], &rest].concat());
    for (name, data) in chunks {
        push_chunk(&mut file, name, data);
    }
    push_chunk(&mut file, b"IDAT", &stored(rows));
    push_chunk(&mut file, b"IEND", &[]);
    file
}

fn sized(width: u32, height: u32) -> Head {
    Head { width, height, depth: 8, colour: RGB, is_interlaced: false }
}

fn decode(file: &[u8]) -> Result<Raster, RasterError> {
    let format = RasterHeader::read(file).map_or(RasterFormat::Png, |header| header.format);
    Raster::decode(format, file, LIMITS)
}

#[test]
fn png_of_every_colour_type_decodes_to_8_bits() {
    use PixelLayout::{Grey, Rgb, Rgba};
    type Chunks<'a> = &'a [(&'a [u8; 4], &'a [u8])];
    const NONE: Chunks<'_> = &[];
    const PALETTE: Chunks<'_> = &[(b"PLTE", &[1, 2, 3, 40, 50, 60])];
    const CLEAR_PALETTE: Chunks<'_> = &[(b"PLTE", &[1, 2, 3, 40, 50, 60]), (b"tRNS", &[9])];
    let grey = |value: u8| [value, value, value, 255];
    let (first, second) = ([1, 2, 3, 255], [40, 50, 60, 255]);
    /// Two pixels: the bits of a sample, the colour type, chunks, the row, and the decoded result.
    type Case<'a> = (u8, u8, Chunks<'a>, &'a [u8], PixelLayout, [[u8; 4]; 2]);
    let table: &[Case<'_>] = &[
        (1, GREY, NONE, &[0b0100_0000], Grey, [grey(0), grey(255)]),
        (2, GREY, NONE, &[0b0111_0000], Grey, [grey(85), grey(255)]),
        (4, GREY, NONE, &[0x3f], Grey, [grey(51), grey(255)]),
        (8, GREY, NONE, &[7, 200], Grey, [grey(7), grey(200)]),
        (16, GREY, NONE, &[0x12, 0x34, 0xff, 0], Grey, [grey(0x12), grey(0xff)]),
        (8, GREY, &[(b"tRNS", &[0, 7])], &[7, 8], Rgba, [[7, 7, 7, 0], grey(8)]),
        (16, GREY, &[(b"tRNS", &[7, 1])], &[7, 1, 7, 2], Rgba, [[7, 7, 7, 0], grey(7)]),
        (8, GREY_ALPHA, NONE, &[5, 6, 7, 8], Rgba, [[5, 5, 5, 6], [7, 7, 7, 8]]),
        (16, GREY_ALPHA, NONE, &[5, 0, 6, 0, 7, 0, 8, 0], Rgba, [[5, 5, 5, 6], [7, 7, 7, 8]]),
        (8, RGB, NONE, &[1, 2, 3, 40, 50, 60], Rgb, [first, second]),
        (16, RGB, NONE, &[1, 0, 2, 0, 3, 0, 40, 0, 50, 0, 60, 0], Rgb, [first, second]),
        (
            8,
            RGB,
            &[(b"tRNS", &[0, 1, 0, 2, 0, 3])],
            &[1, 2, 3, 40, 50, 60],
            Rgba,
            [[1, 2, 3, 0], second],
        ),
        (8, RGBA, NONE, &[1, 2, 3, 255, 4, 5, 6, 7], Rgba, [first, [4, 5, 6, 7]]),
        (
            16,
            RGBA,
            NONE,
            &[1, 0, 2, 0, 3, 0, 255, 255, 4, 0, 5, 0, 6, 0, 7, 0],
            Rgba,
            [first, [4, 5, 6, 7]],
        ),
        (1, INDEXED, PALETTE, &[0b0100_0000], Rgb, [first, second]),
        (2, INDEXED, PALETTE, &[0b0100_0000], Rgb, [second, first]),
        (4, INDEXED, PALETTE, &[0x10], Rgb, [second, first]),
        (8, INDEXED, PALETTE, &[1, 0], Rgb, [second, first]),
        (8, INDEXED, CLEAR_PALETTE, &[1, 0], Rgba, [second, [1, 2, 3, 9]]),
    ];
    for (depth, colour, chunks, row, layout, pixels) in table {
        let head = Head { depth: *depth, colour: *colour, ..sized(2, 1) };
        let file = png_file(head, chunks, &[&[0], *row].concat());
        let raster = decode(&file).unwrap();
        let what = format!("colour {colour}, {depth} bits, {} chunks", chunks.len());
        assert_eq!(raster.layout(), *layout, "{what}");
        assert_eq!(raster.pixels().collect::<Vec<_>>(), pixels, "{what}");
        assert_eq!(raster.pixel(1, 0), Some(pixels[1]), "{what}");
        assert_eq!((raster.pixel(2, 0), raster.pixel(0, 1)), (None, None));
    }
}

#[test]
fn interlaced_png_decodes_in_order() {
    let head = Head { colour: GREY, is_interlaced: true, ..sized(3, 3) };
    // Passes 1, 4, 5, 6 and 7; the others have no pixels here.
    let rows = [0, 0, 0, 2, 0, 6, 8, 0, 1, 0, 7, 0, 3, 4, 5];
    let raster = decode(&png_file(head, &[], &rows)).unwrap();
    assert_eq!(raster.samples(), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn animated_png_decodes_to_first_frame() {
    for is_apart in [false, true] {
        let mut file = Vec::new();
        let mut encoder = ::png::Encoder::new(&mut file, 2, 1);
        encoder.set_color(::png::ColorType::Grayscale);
        encoder.set_animated(2, 0).unwrap();
        encoder.set_sep_def_img(is_apart).unwrap();
        let mut writer = encoder.write_header().unwrap();
        for frame in 0..2 + u8::from(is_apart) {
            writer.write_image_data(&[frame, frame]).unwrap();
        }
        writer.finish().unwrap();
        assert_eq!(decode(&file).unwrap().samples(), [0, 0], "{is_apart}");
    }
}

/// A JPEG of one colour, 17 pixels wide and 9 high.
fn jpeg_file(
    colour: ColorType,
    pixel: &[u8],
    configure: impl Fn(&mut Encoder<&mut Vec<u8>>),
) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, 95);
    configure(&mut encoder);
    encoder.encode(&pixel.repeat(17 * 9), 17, 9, colour).unwrap();
    file
}

#[test]
fn jpeg_of_every_colour_type_decodes_to_8_bits() {
    use PixelLayout::{Grey, Rgb};
    let red = [200, 30, 40];
    let table: &[(ColorType, &[u8], PixelLayout, [u8; 3])] = &[
        (ColorType::Luma, &[90], Grey, [90, 90, 90]),
        (ColorType::Rgb, &red, Rgb, red),
        // Zero cyan, full magenta and yellow: red.
        (ColorType::Cmyk, &[0, 255, 255, 0], Rgb, [255, 0, 0]),
        (ColorType::Cmyk, &[0, 0, 0, 255], Rgb, [0, 0, 0]),
    ];
    for (colour, pixel, layout, wanted) in table {
        // The decoder is known to mix up four components if some have fewer samples.
        let samplings = match colour {
            ColorType::Cmyk => &[SamplingFactor::F_1_1][..],
            _ => &[SamplingFactor::F_1_1, SamplingFactor::F_2_1, SamplingFactor::F_2_2],
        };
        let modes = samplings.iter().flat_map(|sampling| [(false, *sampling), (true, *sampling)]);
        for (is_progressive, sampling) in modes {
            let file = jpeg_file(*colour, pixel, |encoder| {
                encoder.set_progressive(is_progressive);
                encoder.set_sampling_factor(sampling);
            });
            let what = format!("{colour:?}, progressive {is_progressive}, {sampling:?}");
            let raster = decode(&file).unwrap();
            assert_eq!((raster.width(), raster.height()), (17, 9), "{what}");
            assert_eq!(raster.layout(), *layout, "{what}");
            for [seen @ .., alpha] in raster.pixels() {
                let is_near = seen.iter().zip(wanted).all(|(a, b)| a.abs_diff(*b) <= 4);
                assert!(is_near && alpha == 255, "{what}: {seen:?}");
            }
        }
    }
}

/// EXIF data does not rotate the picture, and its thumbnail does not end it.
#[test]
fn jpeg_with_exif_data_decodes_as_stored() {
    let exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0\xff\xd8\xff\xd9";
    let file = jpeg_file(ColorType::Luma, &[90], |encoder| {
        encoder.add_exif_metadata(exif).unwrap();
    });
    let raster = decode(&file).unwrap();
    assert_eq!((raster.width(), raster.height()), (17, 9));
    assert!(decode(&file[..file.len() - 2]).is_err());
    assert_eq!(RasterFormat::Jpeg.find_end(&file), Some(file.len()));
}

#[test]
fn header_tells_format_and_claimed_size() {
    let png = png_file(sized(31, 17), &[], &[]);
    let wanted = RasterHeader { format: RasterFormat::Png, width: 31, height: 17 };
    assert_eq!(RasterHeader::read(&png), Some(wanted));
    let jpeg = jpeg_file(ColorType::Luma, &[90], |_| ());
    let wanted = RasterHeader { format: RasterFormat::Jpeg, width: 17, height: 9 };
    assert_eq!(RasterHeader::read(&jpeg), Some(wanted));
    for bytes in [&b""[..], b"GIF89a", b"\x89PNG\r\n\x1a\n", b"\xff\xd8", b"\xff\xd8\xff\xff\xff"] {
        assert_eq!(RasterHeader::read(bytes), None, "{bytes:?}");
    }
}

#[test]
fn hostile_png_header_is_refused() {
    let large = [(60_000, 60_000), (1 << 30, 1), (1, 1 << 30), (0x7fff_ffff, 0x7fff_ffff)];
    for (width, height) in large {
        let file = png_file(sized(width, height), &[], &[0; 4]);
        assert_eq!(decode(&file), Err(RasterError::TooLarge { width, height }));
    }
    let empty = [(0, 0), (0, 5), (5, 0), (u32::MAX, 1), (u32::MAX, u32::MAX)];
    for (width, height) in empty {
        let file = png_file(sized(width, height), &[], &[0; 4]);
        assert!(decode(&file).is_err(), "{width}x{height}");
    }
    // The largest allowed size, without pixel data.
    let file = png_file(sized(1000, 1000), &[], &[0; 4]);
    assert!(matches!(decode(&file), Err(RasterError::Malformed(_))));
    // Few pixels of many bytes.
    let file = png_file(Head { depth: 16, colour: RGBA, ..sized(1000, 1000) }, &[], &[0; 4]);
    assert_eq!(decode(&file), Err(RasterError::TooLarge { width: 1000, height: 1000 }));
    for head in [Head { depth: 3, ..sized(1, 1) }, Head { colour: 9, ..sized(1, 1) }] {
        assert!(matches!(decode(&png_file(head, &[], &[0; 4])), Err(RasterError::Malformed(_))));
    }
}

#[test]
fn hostile_jpeg_header_is_refused() {
    let file = jpeg_file(ColorType::Rgb, &[1, 2, 3], |_| ());
    let size = [0, 9, 0, 17];
    let at = file.windows(4).position(|four| four == size).unwrap();
    for (size, is_large) in [([255; 4], true), ([0, 0, 0, 17], false), ([0, 9, 0, 0], false)] {
        let mut forged = file.clone();
        forged[at..at + 4].copy_from_slice(&size);
        let error = Raster::decode(RasterFormat::Jpeg, &forged, LIMITS).unwrap_err();
        let too_large = RasterError::TooLarge { width: 65_535, height: 65_535 };
        assert_eq!(error == too_large, is_large, "{error}");
    }
}

#[test]
fn truncated_file_is_an_error() {
    let progressive = |encoder: &mut Encoder<&mut Vec<u8>>| encoder.set_progressive(true);
    let files = [
        (RasterFormat::Png, png_file(sized(2, 1), &[], &[0, 1, 2, 3, 4, 5, 6])),
        (RasterFormat::Jpeg, jpeg_file(ColorType::Luma, &[90], |_| ())),
        (RasterFormat::Jpeg, jpeg_file(ColorType::Rgb, &[1, 200, 3], progressive)),
    ];
    for (format, file) in files {
        Raster::decode(format, &file, LIMITS).unwrap();
        assert_eq!(format.find_end(&[&file[..], b"more"].concat()), Some(file.len()));
        for end in 0..file.len() {
            let cut = Raster::decode(format, &file[..end], LIMITS);
            assert!(matches!(cut, Err(RasterError::Malformed(_))), "{format:?} cut at {end}");
        }
    }
}

#[test]
fn file_of_another_format_is_an_error() {
    let png = png_file(sized(2, 1), &[], &[0, 1, 2, 3, 4, 5, 6]);
    let jpeg = jpeg_file(ColorType::Luma, &[90], |_| ());
    assert!(Raster::decode(RasterFormat::Jpeg, &png, LIMITS).is_err());
    assert!(Raster::decode(RasterFormat::Png, &jpeg, LIMITS).is_err());
}

#[test]
fn raster_without_whole_pixels_is_not_made() {
    assert!(Raster::new(2, 3, PixelLayout::Rgb, vec![0; 18]).is_some());
    for (width, height, samples) in [(2, 3, 17), (2, 3, 19), (0, 3, 0), (3, 0, 0), (u32::MAX, 1, 3)]
    {
        assert_eq!(Raster::new(width, height, PixelLayout::Rgb, vec![0; samples]), None);
    }
}

#[test]
fn encoded_raster_decodes_to_itself() {
    for layout in [PixelLayout::Grey, PixelLayout::Rgb, PixelLayout::Rgba] {
        let samples: Vec<u8> = (0..=255).cycle().take(40 * 9 * layout.samples()).collect();
        let raster = Raster::new(40, 9, layout, samples).unwrap();
        for effort in [PngEffort::Fast, PngEffort::Balanced] {
            assert_eq!(decode(&raster.encode_png(effort).unwrap()).as_ref(), Ok(&raster));
        }
        let jpeg = decode(&raster.encode_jpeg(100).unwrap()).unwrap();
        assert_eq!((jpeg.width(), jpeg.height()), (40, 9));
        assert_eq!(jpeg.layout() == PixelLayout::Grey, layout == PixelLayout::Grey);
    }
    let wide = Raster::new(70_000, 1, PixelLayout::Grey, vec![0; 70_000]).unwrap();
    assert!(matches!(wide.encode_jpeg(85), Err(RasterError::Encoding(_))));
}

#[test]
fn transparency_becomes_white() {
    let samples = vec![9, 8, 7, 0, 9, 8, 7, 255, 0, 100, 255, 128];
    let raster = Raster::new(3, 1, PixelLayout::Rgba, samples).unwrap().into_opaque();
    assert_eq!(raster.layout(), PixelLayout::Rgb);
    assert_eq!(raster.samples(), [255, 255, 255, 9, 8, 7, 127, 177, 255]);
}

#[test]
fn resized_pixels_are_means_of_areas() {
    use PixelLayout::{Grey, Rgba};
    /// Width, height and samples, before and after.
    type Case<'a> = (PixelLayout, u32, u32, &'a [u8], u32, u32, &'a [u8]);
    let table: &[Case<'_>] = &[
        (Grey, 2, 1, &[0, 255], 1, 1, &[128]),
        (Grey, 3, 1, &[0, 90, 180], 2, 1, &[30, 150]),
        (Grey, 1, 3, &[0, 90, 180], 1, 2, &[30, 150]),
        (Grey, 2, 2, &[0, 100, 200, 100], 1, 1, &[100]),
        (Grey, 2, 1, &[10, 20], 4, 2, &[10, 10, 20, 20, 10, 10, 20, 20]),
        (Grey, 2, 1, &[0, 90], 3, 1, &[0, 45, 90]),
        // An invisible pixel adds no colour.
        (Rgba, 2, 1, &[200, 10, 0, 255, 0, 99, 0, 0], 1, 1, &[200, 10, 0, 128]),
        (Rgba, 2, 1, &[200, 0, 0, 50, 0, 100, 0, 150], 1, 1, &[50, 75, 0, 100]),
    ];
    for (layout, width, height, samples, new_width, new_height, wanted) in table {
        let raster = Raster::new(*width, *height, *layout, samples.to_vec()).unwrap();
        let resized = raster.resize(*new_width, *new_height);
        assert_eq!(resized.samples(), *wanted, "{samples:?}");
        assert_eq!(raster.resize(*width, *height), raster);
    }
    let raster = Raster::new(2, 1, Grey, vec![0, 255]).unwrap();
    assert_eq!(raster.resize(0, 0).samples(), [128]);
}

fn layouts() -> impl Strategy<Value = PixelLayout> {
    prop_oneof![Just(PixelLayout::Grey), Just(PixelLayout::Rgb), Just(PixelLayout::Rgba)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn resized_constant_stays_constant(
        layout in layouts(), pixel in prop::array::uniform4(1u8..),
        width in 1u32..40, height in 1u32..40, new_width in 1u32..60, new_height in 1u32..60,
    ) {
        let pixel = &pixel[..layout.samples()];
        let samples = pixel.repeat((width * height) as usize);
        let raster = Raster::new(width, height, layout, samples).unwrap();
        let resized = raster.resize(new_width, new_height);
        prop_assert_eq!((resized.width(), resized.height()), (new_width, new_height));
        prop_assert!(resized.samples().chunks(pixel.len()).all(|other| other == pixel));
    }

    /// Every target pixel is rounded once, so the mean moves by half a step at most.
    #[test]
    fn resized_mean_stays_within_rounding(
        samples in prop::collection::vec(any::<u8>(), 1200),
        width in 1u32..30, new_width in 1u32..60, new_height in 1u32..60,
    ) {
        let height = 400 / width;
        let samples = samples[..(width * height * 3) as usize].to_vec();
        let raster = Raster::new(width, height, PixelLayout::Rgb, samples).unwrap();
        let resized = raster.resize(new_width, new_height);
        for channel in 0..3 {
            let mean = |raster: &Raster| {
                let values = raster.pixels().map(|pixel| f64::from(pixel[channel]));
                values.sum::<f64>() / f64::from(raster.width() * raster.height())
            };
            prop_assert!((mean(&raster) - mean(&resized)).abs() <= 0.5 + 1e-9);
        }
    }

    /// The alpha is a mean like any other, and every colour stays in the range of the source.
    #[test]
    fn resized_transparency_keeps_colours_in_range(
        alphas in prop::collection::vec(any::<u8>(), 36), new_side in 1u32..9,
    ) {
        let samples = alphas.iter().flat_map(|alpha| [40 + alpha / 2, 77, 0, *alpha]);
        let raster = Raster::new(6, 6, PixelLayout::Rgba, samples.collect()).unwrap();
        for [red, green, blue, alpha] in raster.resize(new_side, new_side).pixels() {
            let is_seen = alpha > 0;
            prop_assert!(!is_seen || (40..=167).contains(&red) && (green, blue) == (77, 0));
        }
    }
}
