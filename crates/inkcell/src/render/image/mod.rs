//! Pictures on a terminal: drawn by the terminal itself, with half blocks, or not at all (B:T-17).
//!
//! Owns the way in: a [`Gallery`] knows what the terminal can do and makes rows of a picture, each once. The
//! pictures come from programs and are believed in nothing: what cannot be read whole, within limits, is not
//! drawn, and the line that names it stands instead. Nothing here writes or asks a terminal.

mod half_blocks;
mod iterm;
pub(crate) mod kitty;
mod palette;
mod picture;
pub(crate) mod protocol;
mod sixel;

use std::cell::RefCell;
use std::collections::VecDeque;

use bytes::Bytes;
use inkcell_engine::output::size;
use rustix::termios::Winsize;

use super::execution::frame::{Line, Picture, Role};
use picture::{Drawable, Side};

use protocol::Depth;
pub(crate) use protocol::{Protocol, Surroundings, protocol};

/// Rows that a picture takes at most, unless told otherwise.
const MAX_ROWS: usize = 24;

/// Characters of a type that are shown.
const MIME_CHARS: usize = 100;

/// How many pictures are kept as rows, so that a frame that is made anew draws none again.
const KEPT: usize = 16;

/// Pixels of one character where the terminal does not say.
const USUAL_CHARACTER: Side = Side { wide: 8, high: 16 };

/// The size of a window, in characters and in pixels; 0 where it is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    pub(crate) columns: u16,
    pub(crate) rows: u16,
    pub(crate) wide: u16,
    pub(crate) high: u16,
}

impl From<Winsize> for Window {
    fn from(size: Winsize) -> Window {
        let Winsize { ws_col: columns, ws_row: rows, ws_xpixel: wide, ws_ypixel: high } = size;
        Window { columns, rows, wide, high }
    }
}

/// What draws pictures, for one terminal.
pub(crate) struct Gallery {
    protocol: Protocol,
    character: Side,
    max_rows: usize,
    /// Whether pictures are made as text besides.
    has_text: bool,
    kept: RefCell<VecDeque<Kept>>,
    drawn: RefCell<u64>,
}

/// A picture that was looked at before; the bytes are held so that their address stays theirs.
struct Kept {
    data: Bytes,
    mime: String,
    width: usize,
    rows: Option<Vec<Line>>,
}

impl Gallery {
    /// For a terminal that has this way to draw.
    pub(crate) fn new(protocol: Protocol) -> Gallery {
        Gallery {
            protocol,
            character: USUAL_CHARACTER,
            max_rows: MAX_ROWS,
            has_text: false,
            kept: RefCell::default(),
            drawn: RefCell::default(),
        }
    }

    /// With the size of a character in pixels, as far as the terminal says.
    pub(crate) fn with_character(self, pixels: Option<(u32, u32)>) -> Gallery {
        let said =
            pixels.filter(|(wide, high)| (2..=200).contains(wide) && (2..=400).contains(high));
        let character = said.map_or(USUAL_CHARACTER, |(wide, high)| Side { wide, high });
        Gallery { character, ..self }
    }

    /// For a window of this size, as the system tells it.
    pub(crate) fn with_window(self, window: Window) -> Gallery {
        let Window { columns, rows, wide, high } = window;
        let each = |pixels: u16, number: u16| pixels.checked_div(number).map(u32::from);
        let character = each(wide, columns).zip(each(high, rows));
        // A picture leaves room for the line below it and one above.
        let room = usize::from(rows).saturating_sub(2).min(MAX_ROWS);
        let gallery = self.with_character(character);
        if rows == 0 { gallery } else { gallery.with_rows(room) }
    }

    /// With room for pictures of so many rows: never more than the terminal has.
    pub(crate) fn with_rows(self, max_rows: usize) -> Gallery {
        Gallery { max_rows: max_rows.max(1), ..self }
    }

    /// With every picture as text besides, for a screen that scrolls and so shows some rows of one.
    pub(crate) fn with_text(self) -> Gallery {
        Gallery { has_text: true, ..self }
    }

    /// The rows of a picture, at most so wide; none where it cannot be drawn.
    pub(crate) fn rows(&self, mime: &str, data: &Bytes, width: usize) -> Option<Vec<Line>> {
        if self.protocol == Protocol::None {
            return None;
        }
        let is_this = |kept: &&Kept| {
            let is_same = kept.data.as_ptr() == data.as_ptr() && kept.data.len() == data.len();
            is_same && kept.width == width && kept.mime == mime
        };
        if let Some(kept) = self.kept.borrow().iter().find(is_this) {
            return kept.rows.clone();
        }
        let rows = self.draw(mime, data, width);
        *self.drawn.borrow_mut() += 1;
        let mut kept = self.kept.borrow_mut();
        kept.push_back(Kept {
            data: data.clone(),
            mime: mime.to_owned(),
            width,
            rows: rows.clone(),
        });
        if kept.len() > KEPT {
            kept.pop_front();
        }
        rows
    }

    /// How often a picture was looked at: one that is shown again is not (B:T-04).
    #[cfg(test)]
    pub(crate) fn drawn(&self) -> u64 {
        *self.drawn.borrow()
    }

    fn draw(&self, mime: &str, data: &[u8], width: usize) -> Option<Vec<Line>> {
        let picture = Drawable::read(mime, data)?;
        let character = match self.protocol {
            Protocol::HalfBlocks(_) => half_blocks::CHARACTER,
            _ => self.character,
        };
        let extent = picture.side().extent(character, width.max(1), self.max_rows);
        let bytes = match self.protocol {
            Protocol::None => return None,
            Protocol::HalfBlocks(depth) => return Some(half_blocks::rows(&picture, extent, depth)),
            Protocol::Kitty => kitty::bytes(&picture.png(extent.pixels(character))?, extent),
            Protocol::Iterm => iterm::bytes(&picture.file(extent.pixels(character))?, extent),
            Protocol::Sixel => sixel::bytes(&picture.scaled(extent.pixels(character))),
        };
        let drawn = Picture::new(extent.columns, extent.rows, bytes.into());
        let drawn = match self.has_text {
            true => drawn.or_text(half_blocks::rows(&picture, extent, Depth::True)),
            false => drawn,
        };
        let mut rows = vec![Line::default(); extent.rows];
        rows[0] = Line::drawn(drawn);
        Some(rows)
    }
}

/// The line that stands for a picture (B:T-17): `[image/png 640x480, 12.3KB: artifact://…]`.
pub(crate) fn line(
    mime: &str,
    pixels: Option<(u32, u32)>,
    bytes: Option<u64>,
    place: Option<&str>,
) -> Line {
    // The type is what the program called it.
    let mime: String = mime.chars().take(MIME_CHARS).collect();
    let pixels = pixels.map(|(wide, high)| format!(" {wide}x{high}")).unwrap_or_default();
    let amount = bytes.map_or_else(|| "not shown".to_owned(), size);
    let place = place.map(|place| format!(": {place}")).unwrap_or_default();
    Line::of(Role::Dim, &format!("[{mime}{pixels}, {amount}{place}]"))
}

/// The size a picture says it has; a claim, which nothing is made from.
pub(crate) fn claimed_pixels(data: &[u8]) -> Option<(u32, u32)> {
    picture::claimed(data).map(|Side { wide, high }| (wide, high))
}

#[cfg(test)]
mod tests;
