//! Pictures as text: each character shows two pixels, one above the other.
//!
//! Owns the choice of colours. The rows are ordinary lines, so every painter can paint them.

use super::picture::{Drawable, Extent, Side};
use super::protocol::Depth;
use crate::view::paint::{Line, Paint, Role};

/// Size of a character in pixels.
pub(super) const CHARACTER: Side = Side { wide: 1, high: 2 };

/// The text colour fills the upper half, the background the lower half.
const HALF: &str = "▀";

/// Levels of one channel in xterm's colour cube.
const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// Renders a picture as rows of half blocks.
pub(super) fn rows(picture: &Drawable<'_>, extent: Extent, depth: Depth) -> Vec<Line> {
    let pixels = picture.exactly(extent.pixels(CHARACTER));
    let (wide, high) = (pixels.width(), pixels.height());
    let paint = |column, row| {
        let [red, green, blue, _] = pixels.pixel(column, row).unwrap_or_default();
        match depth {
            Depth::True => Paint::True(red, green, blue),
            Depth::Indexed => Paint::Indexed(nearest([red, green, blue])),
        }
    };
    let row = |at: u32| {
        let mut line = Line::default();
        for column in 0..wide {
            let halves = Role::Pixels { upper: paint(column, at), lower: paint(column, at + 1) };
            line.push(halves, HALF);
        }
        line
    };
    (0..high / 2).map(|at| row(at * 2)).collect()
}

/// The nearest of xterm's 256 colours, from the cube or from the greys.
pub(super) fn nearest(colour: [u8; 3]) -> u8 {
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
