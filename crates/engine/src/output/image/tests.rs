//! Pictures of every sort, made here.

use proptest::prelude::*;

use super::*;

/// A picture with enough noise that it does not compress to nothing.
fn picture(width: u32, height: u32) -> DynamicImage {
    let mut seed = 7u32;
    DynamicImage::ImageRgba8(image::RgbaImage::from_fn(width, height, |x, y| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        image::Rgba([(x % 256) as u8, (y % 256) as u8, (seed >> 24) as u8, 255 - (x % 2) as u8])
    }))
}

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Bytes {
    let mut data = Cursor::new(Vec::new());
    let written = match format {
        ImageFormat::Jpeg => picture.to_rgb8().write_to(&mut data, format),
        _ => picture.write_to(&mut data, format),
    };
    written.unwrap();
    data.into_inner().into()
}

fn limits(max_bytes: usize, max_side: u32) -> ImageLimits {
    ImageLimits { max_bytes, max_side, ..ImageLimits::default() }
}

#[test]
fn sizes_are_read_from_headers() {
    let png = encoded(&picture(31, 17), ImageFormat::Png);
    assert_eq!(header(&png), Some(Header { format: Format::Png, width: 31, height: 17 }));
    let jpeg = encoded(&picture(31, 17), ImageFormat::Jpeg);
    assert_eq!(header(&jpeg), Some(Header { format: Format::Jpeg, width: 31, height: 17 }));
    for bytes in [&b""[..], b"GIF89a", b"\x89PNG\r\n\x1a\n", b"\xff\xd8", b"\xff\xd8\xff\xff\xff"] {
        assert_eq!(header(bytes), None, "{bytes:?}");
    }
}

/// A picture that fits is handed on as it is; a larger one keeps to both limits.
#[test]
fn pictures_keep_to_the_limits() {
    let png = encoded(&picture(60, 40), ImageFormat::Png);
    let look = fit("image/png", &png, limits(1 << 20, 100));
    assert_eq!(look.fitted.unwrap().data, png);
    assert_eq!(look.digest, format!("image/png 60×40, {}", size(png.len() as u64)));

    let wide = fit("image/png", &png, limits(1 << 20, 30)).fitted.unwrap();
    assert_eq!((wide.width, wide.height, wide.mime), (30, 20, "image/png"));

    for format in [ImageFormat::Png, ImageFormat::Jpeg] {
        let large = encoded(&picture(300, 200), format);
        let look = fit("image/png", &large, limits(6000, 1000));
        let copy = look.fitted.unwrap();
        assert!(copy.data.len() <= 6000 && copy.mime == "image/jpeg", "{}", look.digest);
        let shown = header(&copy.data).unwrap();
        assert_eq!((shown.width, shown.height), (copy.width, copy.height));
        assert!(look.digest.contains("300×200") && look.digest.contains("shown as image/jpeg"));
    }
    let tiny = fit("image/png", &encoded(&picture(300, 200), ImageFormat::Png), limits(50, 1000));
    assert_eq!((tiny.fitted, tiny.pixels), (None, Some((300, 200))));
}

/// What it is called does not matter, what it is does.
#[test]
fn a_wrong_name_is_mended() {
    let jpeg = encoded(&picture(20, 20), ImageFormat::Jpeg);
    assert_eq!(fit("image/png", &jpeg, ImageLimits::default()).fitted.unwrap().mime, "image/jpeg");
}

/// F-041: broken and hostile pictures are described, not decoded.
#[test]
fn hostile_pictures_are_left_out() {
    let png = encoded(&picture(40, 40), ImageFormat::Png);
    let mut huge = png.to_vec();
    huge[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
    let mut zero = png.to_vec();
    zero[16..24].fill(0);
    let table: [(Vec<u8>, &str); 5] = [
        (png[..png.len() / 2].to_vec(), "broken"),
        (huge, "too many pixels to be shown"),
        (zero, "broken"),
        (b"no picture".to_vec(), "not a readable png or jpeg"),
        (Vec::new(), "not a readable png or jpeg"),
    ];
    for (bytes, why) in table {
        let look = fit("image/png", &bytes.into(), ImageLimits::default());
        assert_eq!(look.fitted, None, "{why}");
        assert!(look.digest.ends_with(why), "{}", look.digest);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No damage to a picture ends in anything but a picture or a description.
    #[test]
    fn damaged_pictures_do_no_harm(
        is_png in any::<bool>(),
        damage in prop::collection::vec((0usize..2000, any::<u8>()), 1..6),
        cut in 0usize..3000,
    ) {
        let format = if is_png { ImageFormat::Png } else { ImageFormat::Jpeg };
        let mut bytes = encoded(&picture(24, 16), format).to_vec();
        for (at, byte) in damage {
            let len = bytes.len();
            bytes[at % len] = byte;
        }
        bytes.truncate(cut);
        let small = ImageLimits { max_source_pixels: 1_000_000, ..limits(4000, 20) };
        let look = fit("image/png", &bytes.into(), small);
        prop_assert!(look.fitted.is_none_or(|copy| copy.data.len() <= 4000));
    }
}
