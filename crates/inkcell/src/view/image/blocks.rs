//! Pictures as text: each character shows two colours, in the shape that comes closest to its part of the picture.
//!
//! Owns the shapes and the choice of colours. The rows are ordinary lines, so every painter can paint them.

use super::picture::{Drawable, Extent, Side};
use super::protocol::{Depth, Glyphs};
use crate::view::paint::{Line, Paint, Role};

/// Pixels of a picture that a character shows at most.
pub(super) const CHARACTER: Side = Side { wide: 2, high: 4 };

/// Samples of a character, so that halves, thirds and quarters of it have whole numbers of them.
const ACROSS: usize = 4;
const DOWN: usize = 12;
const SAMPLED: Side = Side { wide: 4, high: 12 };
const SAMPLES: u32 = SAMPLED.wide * SAMPLED.high;

/// How much closer a finer shape must come before it replaces a simpler one: a sum of squares over all samples and
/// channels.
const MARGIN: f64 = 96.0;

/// Levels of one channel in xterm's colour cube.
const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// Patterns of octants that other characters show, as bits: the upper left is the first, the lower right the last.
const NO_OCTANTS: [u8; 26] = [
    0x00, 0x01, 0x02, 0x03, 0x05, 0x0a, 0x0f, 0x14, 0x28, 0x3f, 0x40, 0x50, 0x55, 0x5a, 0x5f, 0x80,
    0xa0, 0xa5, 0xaa, 0xaf, 0xc0, 0xf0, 0xf5, 0xfa, 0xfc, 0xff,
];

type Colour = [u8; 3];
type Sum = [u32; 3];

/// A character that fills some blocks of a division with the text colour.
struct Shape {
    /// The blocks of one of the two colours, row by row from the upper left.
    bits: u8,
    glyph: char,
    /// The character fills the other blocks.
    is_inverse: bool,
}

/// A division of a character into equal blocks, and the shapes made of them. Of a shape and its inverse one is enough,
/// since the two colours can change places.
struct Division {
    columns: usize,
    rows: usize,
    shapes: Vec<Shape>,
}

impl Division {
    fn of(columns: usize, rows: usize, shapes: impl IntoIterator<Item = (u8, char)>) -> Division {
        let shapes = shapes.into_iter();
        let shapes = shapes.map(|(bits, glyph)| Shape { bits, glyph, is_inverse: false });
        Division { columns, rows, shapes: shapes.collect() }
    }

    /// The sum of the samples in each block.
    fn sums(&self, samples: &[Colour]) -> Vec<Sum> {
        let mut sums = vec![[0; 3]; self.columns * self.rows];
        for (at, sample) in samples.iter().enumerate() {
            let (x, y) = (at % ACROSS, at / ACROSS);
            let block = y * self.rows / DOWN * self.columns + x * self.columns / ACROSS;
            if let Some(sum) = sums.get_mut(block) {
                add(sum, sample.map(u32::from));
            }
        }
        sums
    }
}

/// The divisions of a set of characters, the simplest first.
fn divisions(glyphs: Glyphs) -> Vec<Division> {
    let quadrants = (1..).zip(['▘', '▝', '▀', '▖', '▌', '▞', '▛']);
    let mut all = vec![
        Division::of(2, 2, quadrants),
        Division::of(4, 1, [(0b0001, '▎'), (0b0111, '▊')]),
        Division::of(1, 4, [(0b1000, '▂'), (0b1110, '▆')]),
    ];
    if glyphs >= Glyphs::Sextants {
        all.push(Division::of(2, 3, (1..32).filter_map(|bits| Some((bits, sextant(bits)?)))));
    }
    if glyphs >= Glyphs::Octants {
        let shape = |bits: u8| match octant(bits) {
            Some(glyph) => Some(Shape { bits, glyph, is_inverse: false }),
            None => Some(Shape { bits, glyph: octant(!bits)?, is_inverse: true }),
        };
        all.push(Division { columns: 2, rows: 4, shapes: (1..128).filter_map(shape).collect() });
    }
    all
}

/// The character of a pattern of sextants without the last one. `None` if another character shows it.
fn sextant(bits: u8) -> Option<char> {
    // Unicode leaves out the left half.
    let left_out = u32::from(bits > 21);
    char::from_u32(0x1fb00 + u32::from(bits) - 1 - left_out).filter(|_| bits != 21)
}

/// The character of a pattern of octants. `None` if another character shows it.
fn octant(bits: u8) -> Option<char> {
    let left_out = NO_OCTANTS.iter().filter(|other| **other < bits).map(|_| 1).sum::<u32>();
    char::from_u32(0x1cd00 + u32::from(bits) - left_out).filter(|_| !NO_OCTANTS.contains(&bits))
}

fn add(sum: &mut Sum, more: Sum) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

fn mean(sum: Sum, count: u32) -> Colour {
    sum.map(|part| u8::try_from((part + count / 2) / count.max(1)).unwrap_or(u8::MAX))
}

/// How much of the squares of samples their mean explains. The shape with the largest sum has the least error.
fn explained(sum: Sum, count: u32) -> f64 {
    let squares: u32 = sum.iter().map(|part| part * part).sum();
    f64::from(squares) / f64::from(count.max(1))
}

/// The character, its text colour and its background that come closest to these samples.
fn closest(samples: &[Colour], divisions: &[Division]) -> (char, Colour, Colour) {
    let mut all = [0; 3];
    samples.iter().for_each(|sample| add(&mut all, sample.map(u32::from)));
    let whole = mean(all, SAMPLES);
    let mut best = (explained(all, SAMPLES), (' ', whole, whole));
    for division in divisions {
        let blocks = division.sums(samples);
        let size = SAMPLES / u32::try_from(blocks.len()).unwrap_or(1).max(1);
        let mut found = (0.0, None);
        for shape in &division.shapes {
            let (mut sum, mut count) = ([0; 3], 0);
            for (_, block) in
                (blocks.iter().enumerate()).filter(|(at, _)| (shape.bits >> at) & 1 == 1)
            {
                add(&mut sum, *block);
                count += size;
            }
            let rest = [all[0] - sum[0], all[1] - sum[1], all[2] - sum[2]];
            let score = explained(sum, count) + explained(rest, SAMPLES - count);
            if score > found.0 {
                found = (score, Some((shape, mean(sum, count), mean(rest, SAMPLES - count))));
            }
        }
        if let (score, Some((shape, one, other))) = found
            && score > best.0 + MARGIN
        {
            let (front, back) = if shape.is_inverse { (other, one) } else { (one, other) };
            best = (score, (shape.glyph, front, back));
        }
    }
    best.1
}

/// Renders a picture as rows of characters.
pub(super) fn rows(
    picture: &Drawable<'_>,
    extent: Extent,
    (depth, glyphs): (Depth, Glyphs),
) -> Vec<Line> {
    let pixels = picture.exactly(extent.pixels(SAMPLED));
    let divisions = divisions(glyphs);
    let paint = |[red, green, blue]: Colour| match depth {
        Depth::True => Paint::True(red, green, blue),
        Depth::Indexed => Paint::Indexed(nearest([red, green, blue])),
    };
    let mut samples = Vec::new();
    let mut character = |column: u32, row: u32| {
        samples.clear();
        for y in row * SAMPLED.high..(row + 1) * SAMPLED.high {
            for x in column * SAMPLED.wide..(column + 1) * SAMPLED.wide {
                let [red, green, blue, _] = pixels.pixel(x, y).unwrap_or_default();
                samples.push([red, green, blue]);
            }
        }
        closest(&samples, &divisions)
    };
    let (columns, rows) = (pixels.width() / SAMPLED.wide, pixels.height() / SAMPLED.high);
    let mut lines = Vec::new();
    for row in 0..rows {
        let mut line = Line::default();
        for column in 0..columns {
            let (glyph, front, back) = character(column, row);
            let role = Role::Pixels { front: paint(front), back: paint(back) };
            line.push(role, glyph.encode_utf8(&mut [0; 4]));
        }
        lines.push(line);
    }
    lines
}

/// The nearest of xterm's 256 colours, from the cube or from the greys.
pub(super) fn nearest(colour: Colour) -> u8 {
    let off = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
    let step = |part: u8| {
        let nearest = (0u8..6).zip(STEPS).min_by_key(|(_, step)| off(*step, part));
        nearest.unwrap_or((0, 0))
    };
    let cube = colour.map(step);
    let cube_off: u32 = cube.iter().zip(colour).map(|((_, step), part)| off(*step, part)).sum();
    let mean = colour.iter().map(|part| u32::from(*part)).sum::<u32>() / 3;
    // xterm's greys go from 8 to 238 in steps of 10.
    let grey = u8::try_from((mean.saturating_sub(3) / 10).min(23)).unwrap_or(0);
    let grey_off: u32 = colour.iter().map(|part| off(8 + 10 * grey, *part)).sum();
    match grey_off < cube_off {
        true => 232 + grey,
        false => 16 + 36 * cube[0].0 + 6 * cube[1].0 + cube[2].0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code points of Unicode's tables, by the numbers of the filled blocks in their names.
    #[test]
    fn shapes_have_the_characters_of_unicode() {
        let bits = |numbers: &str| numbers.bytes().fold(0u8, |bits, one| bits | 1 << (one - b'1'));
        let sextants = [
            ("1", 0x1fb00),
            ("5", 0x1fb0f),
            ("15", 0x1fb10),
            ("35", 0x1fb13),
            ("235", 0x1fb14),
            ("12345", 0x1fb1d),
        ];
        for (numbers, wanted) in sextants {
            assert_eq!(sextant(bits(numbers)), char::from_u32(wanted), "{numbers}");
        }
        assert_eq!(sextant(bits("135")), None);
        let octants = [
            ("3", 0x1cd00),
            ("23", 0x1cd01),
            ("123", 0x1cd02),
            ("4", 0x1cd03),
            ("124", 0x1cd05),
            ("234", 0x1cd08),
            ("5", 0x1cd09),
            ("2345678", 0x1cde5),
        ];
        for (numbers, wanted) in octants {
            assert_eq!(octant(bits(numbers)), char::from_u32(wanted), "{numbers}");
        }
        let drawn = (0..=u8::MAX).filter_map(octant).collect::<Vec<_>>();
        assert_eq!((drawn.len(), drawn[229]), (230, '\u{1cde5}'));
    }

    /// The samples of a character with these two colours, where the pattern of a division is set.
    fn samples(columns: usize, rows: usize, bits: u8) -> Vec<Colour> {
        let block =
            |at: usize| at / ACROSS * rows / DOWN * columns + at % ACROSS * columns / ACROSS;
        let is_set = |at: usize| (bits >> block(at)) & 1 == 1;
        (0..ACROSS * DOWN).map(|at| if is_set(at) { [200, 0, 0] } else { [0, 0, 200] }).collect()
    }

    /// A law: every pattern of a set is drawn exactly, by one shape and the two colours.
    #[test]
    fn every_pattern_is_drawn_exactly() {
        for (glyphs, rows, patterns) in
            [(Glyphs::Quadrants, 2, 16), (Glyphs::Sextants, 3, 64), (Glyphs::Octants, 4, 256)]
        {
            let divisions = divisions(glyphs);
            for bits in (0..patterns).map(|bits: u32| u8::try_from(bits).unwrap()) {
                let (glyph, front, back) = closest(&samples(2, rows, bits), &divisions);
                let colours = if front == back { 1 } else { 2 };
                let is_uniform = bits == 0 || u32::from(bits) == patterns - 1;
                assert_eq!(colours, if is_uniform { 1 } else { 2 }, "{bits:#b}: {glyph}");
                for colour in [front, back] {
                    assert!([[200, 0, 0], [0, 0, 200]].contains(&colour), "{bits:#b}: {colour:?}");
                }
            }
        }
    }

    /// Finer characters are used only where they come closer.
    #[test]
    fn simple_shapes_come_first() {
        let divisions = divisions(Glyphs::Octants);
        for (columns, rows, bits, wanted) in [
            (2, 2, 0b0101, '▌'),
            (2, 2, 0b1001, '▞'),
            (4, 1, 0b0001, '▎'),
            (1, 4, 0b1000, '▂'),
            (2, 3, 0b000001, '\u{1fb00}'),
            (2, 4, 0b00000100, '\u{1cd00}'),
        ] {
            let (glyph, ..) = closest(&samples(columns, rows, bits), &divisions);
            assert_eq!(glyph, wanted, "{bits:#b} of {columns}x{rows}");
        }
        assert_eq!(closest(&[[9, 9, 9]; 48], &divisions), (' ', [9, 9, 9], [9, 9, 9]));
    }
}
