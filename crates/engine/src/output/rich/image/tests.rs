//! Pictures of every kind, made here.

use proptest::prelude::*;

use super::super::raster::PixelLayout;
use super::*;

/// A picture with enough noise that it does not compress to almost no bytes.
fn picture(width: u32, height: u32) -> Raster {
    let mut seed = 7u32;
    let mut samples = Vec::new();
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        samples.extend([x as u8, y as u8, (seed >> 24) as u8, 255 - (x % 2) as u8]);
    }
    Raster::new(width, height, PixelLayout::Rgba, samples).unwrap()
}

fn encoded(picture: &Raster, format: RasterFormat) -> Bytes {
    let data = match format {
        RasterFormat::Png => picture.encode_png(PngEffort::Fast),
        RasterFormat::Jpeg => picture.encode_jpeg(75),
    };
    data.unwrap().into()
}

fn limits(max_bytes: usize, max_side: u32) -> ImageLimits {
    ImageLimits { max_bytes, max_side, ..ImageLimits::default() }
}

/// A picture that fits is passed on unchanged; a larger one keeps to both limits.
#[test]
fn pictures_keep_to_the_limits() {
    let png = encoded(&picture(60, 40), RasterFormat::Png);
    let look = fit("image/png", &png, limits(1 << 20, 100));
    assert_eq!(look.fitted.unwrap().data, png);
    assert_eq!(look.digest, format!("image/png 60×40, {}", size(png.len() as u64)));

    let wide = fit("image/png", &png, limits(1 << 20, 30)).fitted.unwrap();
    assert_eq!((wide.width, wide.height, wide.mime), (30, 20, "image/png"));

    for format in [RasterFormat::Png, RasterFormat::Jpeg] {
        let large = encoded(&picture(300, 200), format);
        let look = fit("image/png", &large, limits(6000, 1000));
        let copy = look.fitted.unwrap();
        assert!(copy.data.len() <= 6000 && copy.mime == "image/jpeg", "{}", look.digest);
        let shown = RasterHeader::read(&copy.data).unwrap();
        assert_eq!((shown.width, shown.height), (copy.width, copy.height));
        assert!(look.digest.contains("300×200") && look.digest.contains("shown as image/jpeg"));
    }
    let tiny = fit("image/png", &encoded(&picture(300, 200), RasterFormat::Png), limits(50, 1000));
    assert_eq!((tiny.fitted, tiny.pixels), (None, Some((300, 200))));
}

/// The content decides the format, not the label.
#[test]
fn a_wrong_name_is_mended() {
    let jpeg = encoded(&picture(20, 20), RasterFormat::Jpeg);
    assert_eq!(fit("image/png", &jpeg, ImageLimits::default()).fitted.unwrap().mime, "image/jpeg");
}

/// F-041: broken and hostile pictures are described, not decoded.
#[test]
fn hostile_pictures_are_left_out() {
    let png = encoded(&picture(40, 40), RasterFormat::Png);
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

const CIRCLE: &str = "<svg xmlns='http://www.w3.org/2000/svg' width='400' height='300'>\
    <circle cx='200' cy='150' r='99' fill='red'/></svg>";

/// A drawing is described as it comes, and drawn as PNG when it is to be shown.
#[test]
fn drawing_becomes_pixels_when_it_is_shown() {
    let svg = Bytes::from(CIRCLE);
    let described = fit(SVG, &svg, ImageLimits::default());
    assert_eq!((described.fitted, described.pixels), (None, Some((400, 300))));
    assert_eq!(described.digest, format!("image/svg+xml 400×300, {}B", svg.len()));

    let drawn = |limits, svg: &Bytes| {
        PictureFitter::new(limits).fit(SVG, svg, &mut DrawingEffort::default())
    };
    let shown = drawn(ImageLimits::default(), &svg);
    assert_eq!((&*shown.digest, shown.is_whole), (&*described.digest, true));
    let copy = shown.fitted.unwrap();
    let header = RasterHeader::read(&copy.data).unwrap();
    assert_eq!((copy.mime, header.format), ("image/png", RasterFormat::Png));
    assert_eq!((header.width, header.height), (400, 300));

    let small = drawn(limits(1 << 20, 100), &svg);
    assert!(small.digest.contains(", shown as image/png 100×75, "), "{}", small.digest);
    let most = copy.data.len() / 2;
    let tiny = drawn(limits(most, 1000), &svg).fitted.unwrap();
    assert!(tiny.data.len() <= most && tiny.width < 400, "{} of {most}", tiny.data.len());

    let linked = CIRCLE.replace("<circle", "<image href='a.png' width='9' height='9'/><circle");
    let part = drawn(ImageLimits::default(), &linked.into());
    assert!(part.fitted.is_some() && !part.is_whole);
    assert!(part.digest.ends_with(", without 1 of its pictures"), "{}", part.digest);
    let refused = drawn(ImageLimits::default(), &CIRCLE.replace("</svg>", "").into());
    assert_eq!((refused.fitted, refused.pixels), (None, Some((400, 300))));
    assert!(refused.digest.starts_with("image/svg+xml 400×300, "), "{}", refused.digest);
    assert!(refused.digest.contains(", not drawn: "), "{}", refused.digest);
}

/// A description costs no decoding: it holds for a picture that is broken.
#[test]
fn description_needs_no_decoding() {
    let png = encoded(&picture(60, 40), RasterFormat::Png);
    let fitter = PictureFitter::new(ImageLimits::default());
    let half = png.slice(..png.len() / 2);
    let wanted = format!("image/png 60×40, {}", size(half.len() as u64));
    assert_eq!(fitter.describe("image/png", &half), wanted);
    assert_eq!(fitter.describe(SVG, &Bytes::from("<svg/>")), "image/svg+xml, 6B");
    let text = fitter.describe("image/png", &Bytes::from("no picture"));
    assert!(text.ends_with("not a readable png or jpeg"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A damaged picture always gives a picture or a description.
    #[test]
    fn damaged_pictures_do_no_harm(
        is_png in any::<bool>(),
        damage in prop::collection::vec((0usize..2000, any::<u8>()), 1..6),
        cut in 0usize..3000,
    ) {
        let format = if is_png { RasterFormat::Png } else { RasterFormat::Jpeg };
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
