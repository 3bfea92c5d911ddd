//! Pictures: a terminal receives the real picture, and forged files draw nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inkcell_engine::output::raster::{PixelLayout, PngEffort, Raster, RasterFormat, RasterLimits};
use proptest::prelude::*;

use super::protocol::Depth;
use super::*;
use crate::view::paint::{Frame, ansi, columns};

fn painted(wide: u32, high: u32, colour: impl Fn(u32, u32) -> [u8; 3]) -> Raster {
    let colour = &colour;
    let samples = (0..high).flat_map(|y| (0..wide).flat_map(move |x| colour(x, y)));
    Raster::new(wide, high, PixelLayout::Rgb, samples.collect()).unwrap()
}

/// Four fields of one colour each, crossed by a line.
fn chart(wide: u32, high: u32) -> Raster {
    painted(wide, high, |x, y| match (x < wide / 2, y < high / 2) {
        _ if x == y => [0, 0, 0],
        (true, true) => [255, 0, 0],
        (false, true) => [0, 128, 0],
        (true, false) => [0, 0, 255],
        (false, false) => [255, 255, 255],
    })
}

/// A picture with a different colour for each pixel.
fn photograph(wide: u32, high: u32) -> Raster {
    painted(wide, high, |x, y| {
        let part = |value: u32, of: u32| u8::try_from(value * 255 / of.max(1)).unwrap();
        [part(x, wide), part(y, high), part(x + y, wide + high)]
    })
}

fn file(pixels: &Raster, format: RasterFormat) -> Bytes {
    let file = match format {
        RasterFormat::Png => pixels.encode_png(PngEffort::Fast),
        RasterFormat::Jpeg => pixels.encode_jpeg(75),
    };
    file.unwrap().into()
}

fn png(pixels: &Raster) -> Bytes {
    file(pixels, RasterFormat::Png)
}

fn drawn(protocol: Protocol, mime: &str, data: &Bytes, width: usize) -> Picture {
    let rows = Gallery::new(protocol).rows(mime, data, width).unwrap();
    let picture = rows[0].picture().unwrap().clone();
    assert_eq!(rows.len(), picture.rows());
    assert!(picture.columns() <= width && picture.rows() <= MAX_ROWS);
    assert!(rows[1..].iter().all(Line::is_empty));
    picture
}

/// The parameters of a kitty sequence, and the file that kitty would decode from it.
fn kitty_file(bytes: &[u8]) -> (String, Vec<u8>) {
    let text = std::str::from_utf8(bytes).unwrap();
    let mut encoded = String::new();
    let mut head = None;
    let pieces: Vec<&str> = text.split_terminator("\u{1b}\\").collect();
    for (at, piece) in pieces.iter().enumerate() {
        let (control, payload) = piece.strip_prefix("\u{1b}_G").unwrap().split_once(';').unwrap();
        assert!(payload.len() <= 4096);
        assert!(control.contains("q=2"));
        assert_eq!(control.contains("m=1"), at + 1 < pieces.len());
        head.get_or_insert(control.to_owned());
        encoded.push_str(payload);
    }
    (head.unwrap(), STANDARD.decode(encoded).unwrap())
}

/// B:T-17: a law: kitty's bytes decode to the original PNG.
#[test]
fn kitty_gets_the_png_as_it_is() {
    for pixels in [chart(40, 40), photograph(300, 200), chart(1, 1)] {
        let png = png(&pixels);
        let picture = drawn(Protocol::Kitty, "image/png", &png, 80);
        let (head, sent) = kitty_file(picture.bytes());
        assert_eq!(sent, png);
        let wanted = format!("a=T,f=100,t=d,q=2,C=1,c={},r={},", picture.columns(), picture.rows());
        assert!(head.starts_with(&wanted), "{head}");
    }
}

/// A JPEG becomes a PNG of the same picture, since kitty reads PNG only.
#[test]
fn kitty_gets_a_jpeg_as_a_png() {
    let pixels = photograph(64, 48);
    let jpeg = file(&pixels, RasterFormat::Jpeg);
    let (_, sent) = kitty_file(drawn(Protocol::Kitty, "image/jpeg", &jpeg, 80).bytes());
    let limits = RasterLimits { max_pixels: 10_000, max_bytes: 100_000 };
    let seen = Raster::decode(RasterFormat::Png, &sent, limits).unwrap();
    assert!(difference(&seen, &pixels) < 6.0);
}

#[test]
fn iterm_gets_the_file_as_it_is() {
    for (mime, format) in [("image/png", RasterFormat::Png), ("image/jpeg", RasterFormat::Jpeg)] {
        let data = file(&chart(160, 96), format);
        let picture = drawn(Protocol::Iterm, mime, &data, 10);
        let text = std::str::from_utf8(picture.bytes()).unwrap();
        let (head, encoded) = text.split_once(':').unwrap();
        let (columns, rows, size) = (picture.columns(), picture.rows(), data.len());
        assert_eq!(
            head,
            format!(
                "\u{1b}]1337;File=inline=1;size={size};width={columns};height={rows};preserveAspectRatio=1"
            )
        );
        assert_eq!((columns, rows), (10, 3));
        assert_eq!(STANDARD.decode(encoded.strip_suffix('\u{7}').unwrap()).unwrap(), data);
    }
}

/// Mean difference of two pictures over all channels.
fn difference(one: &Raster, other: &Raster) -> f64 {
    assert_eq!((one.width(), one.height()), (other.width(), other.height()));
    assert_eq!(one.layout(), other.layout());
    let parts = one.samples().iter().zip(other.samples());
    let sum: u64 = parts.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / one.samples().len() as f64
}

/// The pixels that a terminal with sixels would show.
fn sixel_pixels(bytes: &[u8]) -> Raster {
    let text = std::str::from_utf8(bytes).unwrap();
    let body = text.strip_prefix("\u{1b}P0;1;0q\"1;1;").unwrap().strip_suffix("\u{1b}\\").unwrap();
    let mut rest = body;
    let number = |rest: &mut &str| -> u32 {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let value = rest[..end].parse().unwrap();
        *rest = &rest[end..];
        value
    };
    let (wide, after) = (number(&mut rest), 1);
    rest = &rest[after..];
    let high = number(&mut rest);
    let mut pixels = vec![[7; 3]; wide as usize * high as usize];
    let mut colours = std::collections::HashMap::new();
    let (mut x, mut top, mut colour) = (0, 0, [0; 3]);
    while let Some(c) = rest.chars().next() {
        rest = &rest[1..];
        let mut times = 1;
        let mut six = c;
        match c {
            '#' => {
                let which = number(&mut rest);
                if let Some(after) = rest.strip_prefix(";2;") {
                    rest = after;
                    let mut parts = [0; 3];
                    for (at, part) in parts.iter_mut().enumerate() {
                        if at > 0 {
                            rest = rest.strip_prefix(';').unwrap();
                        }
                        *part = u8::try_from(number(&mut rest) * 255 / 100).unwrap();
                    }
                    colours.insert(which, parts);
                } else {
                    colour = colours[&which];
                }
                continue;
            }
            '$' => {
                x = 0;
                continue;
            }
            '-' => {
                (x, top) = (0, top + 6);
                continue;
            }
            '!' => {
                times = number(&mut rest);
                six = rest.chars().next().unwrap();
                rest = &rest[1..];
            }
            _ => {}
        }
        let bits = six as u32 - '?' as u32;
        assert!(bits < 64, "{six:?}");
        for _ in 0..times {
            assert!(x < wide, "{x} of {wide}");
            for row in (0..6).filter(|row| bits & (1 << row) != 0) {
                pixels[((top + row) * wide + x) as usize] = colour;
            }
            x += 1;
        }
    }
    Raster::new(wide, high, PixelLayout::Rgb, pixels.into_flattened()).unwrap()
}

/// B:T-17: a law: sixels decode to nearly the same picture.
#[test]
fn sixels_are_the_picture() {
    // The picture has exactly the size of its room, so that it is not scaled.
    for (pixels, off) in [(chart(64, 48), 2.0), (chart(7, 5), 2.0), (photograph(128, 96), 8.0)] {
        let picture = drawn(Protocol::Sixel, "image/png", &png(&pixels), 80);
        let seen = sixel_pixels(picture.bytes());
        assert!(difference(&seen, &pixels) < off, "{}", difference(&seen, &pixels));
    }
    let wide = drawn(Protocol::Sixel, "image/png", &png(&photograph(1000, 400)), 20);
    let seen = sixel_pixels(wide.bytes());
    assert_eq!((seen.width(), seen.height()), (160, 64));
    assert_eq!((wide.columns(), wide.rows()), (20, 4));
}

/// B:T-17: characters, read on a screen, have the colours of the picture where these are at most two in a character.
#[test]
fn characters_have_the_colours_of_the_picture() {
    let field = |x: u32, y: u32| match (x < 6, y < 8) {
        (true, true) => [255, 0, 0],
        (false, true) => [0, 128, 0],
        (true, false) => [0, 0, 255],
        (false, false) => [250, 250, 250],
    };
    let pixels = painted(12, 16, field);
    let rows =
        Gallery::new(Protocol::Blocks(Depth::True)).rows("image/png", &png(&pixels), 80).unwrap();
    assert_eq!(rows.len(), 4);
    let mut screen = vt100::Parser::default();
    screen.process(ansi(&Frame { lines: rows }).replace('\n', "\r\n").as_bytes());
    for (x, y) in (0..4).flat_map(|y| (0..6).map(move |x| (x, y))) {
        let cell = screen.screen().cell(y, x).unwrap();
        let [red, green, blue] = field(u32::from(x) * 2, u32::from(y) * 4);
        let wanted = vt100::Color::Rgb(red, green, blue);
        assert_eq!((cell.contents(), cell.bgcolor()), (" ", wanted), "{x},{y}");
    }
    let narrow = Gallery::new(Protocol::Blocks(Depth::Indexed))
        .rows("image/png", &png(&photograph(500, 300)), 30)
        .unwrap();
    assert_eq!(narrow.len(), 9);
    assert!(narrow.iter().all(|row| columns(&row.text()) == 30));
}

/// Finer characters come closer to a picture: the same room shows more of it.
#[test]
fn finer_characters_come_closer() {
    // Lines that are thinner than a character, as the labels of a plot have them.
    let lines = painted(120, 120, |x, y| if (x * 3 + y) % 7 < 2 { [0; 3] } else { [255; 3] });
    let shapes = |glyphs| {
        let gallery = Gallery::new(Protocol::Blocks(Depth::True)).with_glyphs(glyphs);
        let rows = gallery.rows("image/png", &png(&lines), 60).unwrap();
        let text: String = rows.iter().map(Line::text).collect();
        text.chars().collect::<std::collections::BTreeSet<char>>()
    };
    let in_range = |found: &std::collections::BTreeSet<char>, from, to| {
        found.iter().filter(|c| (from..=to).contains(*c)).count()
    };
    let quadrants = shapes(Glyphs::Quadrants);
    assert!(quadrants.iter().all(|c| *c == ' ' || ('\u{2580}'..='\u{259f}').contains(c)));
    let sextants = shapes(Glyphs::Sextants);
    assert!(in_range(&sextants, '\u{1fb00}', '\u{1fb3b}') > 3, "{sextants:?}");
    assert_eq!(in_range(&sextants, '\u{1cd00}', '\u{1cde5}'), 0);
    let octants = shapes(Glyphs::Octants);
    assert!(in_range(&octants, '\u{1cd00}', '\u{1cde5}') > 3, "{octants:?}");
}

#[test]
fn the_nearest_of_256_colours_is_found() {
    let table = [
        ([0, 0, 0], 16),
        ([255, 255, 255], 231),
        ([255, 0, 0], 196),
        ([95, 135, 175], 67),
        ([128, 128, 128], 244),
        ([10, 10, 10], 232),
    ];
    for (colour, wanted) in table {
        assert_eq!(blocks::nearest(colour), wanted, "{colour:?}");
    }
}

/// Transparent pixels appear on a white background.
#[test]
fn what_is_seen_through_is_paper() {
    let clear = Raster::new(2, 2, PixelLayout::Rgba, vec![0; 16]).unwrap();
    let rows =
        Gallery::new(Protocol::Blocks(Depth::True)).rows("image/png", &png(&clear), 9).unwrap();
    let white = crate::view::paint::Paint::True(255, 255, 255);
    assert_eq!(rows[0].spans()[0].role(), Role::Pixels { front: white, back: white });
}

const PROTOCOLS: [Protocol; 4] =
    [Protocol::Kitty, Protocol::Iterm, Protocol::Sixel, Protocol::Blocks(Depth::True)];

fn refused(mime: &str, data: Vec<u8>) -> bool {
    let data = Bytes::from(data);
    PROTOCOLS.iter().all(|protocol| Gallery::new(*protocol).rows(mime, &data, 80).is_none())
}

/// The same file with another size in its header and a matching checksum.
fn with_size(png: &[u8], wide: u32, high: u32) -> Vec<u8> {
    let mut forged = png.to_vec();
    forged[16..20].copy_from_slice(&wide.to_be_bytes());
    forged[20..24].copy_from_slice(&high.to_be_bytes());
    let mut check = u32::MAX;
    for byte in &forged[12..29] {
        check ^= u32::from(*byte);
        for _ in 0..8 {
            check = if check & 1 == 1 { (check >> 1) ^ 0xedb8_8320 } else { check >> 1 };
        }
    }
    forged[29..33].copy_from_slice(&(!check).to_be_bytes());
    forged
}

/// S-052
#[test]
fn files_that_lie_are_not_drawn() {
    let good = png(&chart(30, 20));
    assert!(!refused("image/png", good.to_vec()));
    // Check the forging: with the true size, the file is unchanged.
    assert_eq!(with_size(&good, 30, 20), good);
    for (wide, high) in [(65_535, 65_535), (u32::MAX, u32::MAX), (1 << 30, 1), (0, 5), (31, 21)] {
        assert!(refused("image/png", with_size(&good, wide, high)), "{wide}x{high}");
    }
    assert_eq!(claimed_pixels(&with_size(&good, 65_535, 65_535)), Some((65_535, 65_535)));
    let jpeg = file(&chart(30, 20), RasterFormat::Jpeg);
    assert!(!refused("image/jpeg", jpeg.to_vec()));
    for (mime, whole) in [("image/png", &good), ("image/jpeg", &jpeg)] {
        for end in 0..whole.len() {
            assert!(refused(mime, whole[..end].to_vec()), "{mime} cut at {end}");
        }
        for behind in ["<script>", "PK\u{3}\u{4}", "\u{1b}[2J", "\0"] {
            assert!(refused(mime, [whole, behind.as_bytes()].concat()), "{mime} and {behind:?}");
        }
    }
    assert!(refused("image/jpeg", good.to_vec()));
    assert!(refused("image/png", jpeg.to_vec()));
    assert!(refused("image/gif", good.to_vec()));
    assert!(refused("image/png\u{1b}[2J", good.to_vec()));
    assert!(refused("image/png", b"\x89PNG\r\n\x1a\n<svg onload=x>".to_vec()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// S-052: any byte may be wrong; nothing fails, and a drawn picture keeps to its area.
    #[test]
    fn any_damage_is_survived(at in 0usize..400, byte in any::<u8>(), is_jpeg in any::<bool>()) {
        let (mime, format) = match is_jpeg {
            true => ("image/jpeg", RasterFormat::Jpeg),
            false => ("image/png", RasterFormat::Png),
        };
        let mut damaged = file(&chart(20, 12), format).to_vec();
        let at = at % damaged.len();
        damaged[at] = byte;
        let damaged = Bytes::from(damaged);
        for protocol in PROTOCOLS {
            if let Some(rows) = Gallery::new(protocol).rows(mime, &damaged, 40) {
                prop_assert!(rows.len() <= MAX_ROWS);
                let picture = rows[0].picture();
                prop_assert!(picture.is_none_or(|picture| picture.bytes().len() < 1 << 20));
            }
        }
    }

    /// A picture never exceeds its limits and keeps its proportion, as far as whole characters allow.
    #[test]
    fn pictures_keep_to_their_room(
        wide in 1u32..100_000, high in 1u32..100_000, columns in 1usize..300, rows in 1usize..100,
    ) {
        let extent = Side { wide, high }.extent(USUAL_CHARACTER, columns, rows);
        prop_assert!((1..=columns).contains(&extent.columns) && (1..=rows).contains(&extent.rows));
        let fills = extent.columns == columns || extent.rows == rows;
        let is_whole = extent.columns == wide.div_ceil(8) as usize
            && extent.rows == high.div_ceil(16) as usize;
        prop_assert!(fills || is_whole);
    }
}

/// B:T-04: a picture is rendered once for a width.
#[test]
fn a_picture_is_drawn_once() {
    let gallery = Gallery::new(Protocol::Sixel);
    let data = png(&chart(20, 20));
    for _ in 0..3 {
        gallery.rows("image/png", &data, 80);
    }
    assert_eq!(gallery.drawn(), 1);
    gallery.rows("image/png", &data, 79);
    gallery.rows("image/png", &png(&chart(20, 21)), 79);
    assert_eq!(gallery.drawn(), 3);
    assert_eq!(Gallery::new(Protocol::None).rows("image/png", &data, 80), None);
}

#[test]
fn windows_say_how_large_characters_are() {
    let window = Window { columns: 100, rows: 30, wide: 1000, high: 600 };
    let gallery = Gallery::new(Protocol::Kitty).with_window(window);
    assert_eq!((gallery.character, gallery.max_rows), (Side { wide: 10, high: 20 }, 24));
    let small = Gallery::new(Protocol::Kitty).with_window(Window { rows: 10, wide: 0, ..window });
    assert_eq!((small.character, small.max_rows), (USUAL_CHARACTER, 8));
    let unknown = Window { columns: 0, rows: 0, wide: 0, high: 0 };
    let unknown = Gallery::new(Protocol::Kitty).with_window(unknown);
    assert_eq!((unknown.character, unknown.max_rows), (USUAL_CHARACTER, MAX_ROWS));
}

/// B:T-17: text after a picture stands below it, also after the screen scrolled.
#[test]
fn a_picture_takes_the_rows_that_are_kept_for_it() {
    let gallery = Gallery::new(Protocol::Kitty);
    let mut lines = vec![Line::of(Role::Plain, "above")];
    lines.extend(gallery.rows("image/png", &png(&chart(64, 48)), 80).unwrap());
    lines.push(Line::of(Role::Plain, "below"));
    for before in [0, 3, 5] {
        let mut screen = vt100::Parser::new(6.try_into().unwrap(), 20.try_into().unwrap(), 0);
        screen.process("\r\n".repeat(before).as_bytes());
        screen.process(ansi(&Frame { lines: lines.clone() }).replace('\n', "\r\n").as_bytes());
        let contents = screen.screen().contents();
        assert!(contents.ends_with("above\n\n\n\nbelow"), "{contents:?}");
    }
}

#[test]
fn a_line_stands_for_a_picture() {
    let line = line("image/png", Some((640, 480)), Some(12_595), Some("artifact://ab12"));
    assert_eq!(line.text(), "[image/png 640x480, 12.3KB: artifact://ab12]");
    assert_eq!(super::line("image/jpeg", None, None, None).text(), "[image/jpeg, not shown]");
}

/// B:T-17: a cell's figure is drawn in its block, or named if it cannot be. Of many figures the last are
/// drawn.
#[test]
fn figures_of_cells_are_drawn() {
    use inkcell_engine::feeds::SessionEvent;
    use inkcell_engine::kernel::{ExecEvent, MimeBundle, MimeData};

    use super::super::execution::interactive::Interactive;
    use super::super::execution::{Area, Execution, Expansion, Renderer};
    use super::super::transcript::Transcript;

    let source = || crate::view::tests::samples::source("plot()");
    let figure = |high| {
        let data = vec![("image/png".to_owned(), MimeData::Binary(png(&chart(8, high))))];
        ExecEvent::Display { id: None, data: MimeBundle { data, metadata: String::new() } }
    };
    let area = Area { width: 80, expansion: Expansion::Collapsed };
    let pictures =
        |frame: &Frame| frame.lines.iter().filter(|line| line.picture().is_some()).count();
    let gallery = || Gallery::new(Protocol::Kitty);
    let mut execution = Execution::new(vec![source()]).with_gallery(gallery());
    let mut interactive = Interactive::new(source()).with_gallery(gallery());
    let mut named = Execution::new(vec![source()]);
    let mut transcript = Transcript::new("/w".into()).with_gallery(gallery());
    for high in 1..=6 {
        let event = (0, figure(high * 16));
        execution.event(&event);
        interactive.event(&event);
        named.event(&event);
        let execution = inkcell_engine::api::ExecutionId("x1".to_owned());
        transcript.take(&SessionEvent::Happened { execution, cell: 0, event: event.1 });
    }
    let frame = execution.frame(area);
    assert_eq!(pictures(&frame), 4);
    let first = frame.lines.iter().find(|line| line.text().contains("8x16")).unwrap().text();
    assert!(first.starts_with("  [image/png 8x16, ") && first.ends_with("B]"), "{first}");
    // Pictures stand behind the margin of the output.
    assert!(frame.lines.iter().all(|line| line.picture().is_none() || line.text() == "  "));
    assert_eq!(pictures(&interactive.frame(area)), 4);
    assert_eq!(pictures(&named.frame(area)), 0);
    // A live frame, which is repainted, has no pictures. The settled one has.
    assert_eq!(pictures(&transcript.frame(area)), 0);
    transcript.close();
    assert_eq!(pictures(&transcript.settled(area)), 4);
}
