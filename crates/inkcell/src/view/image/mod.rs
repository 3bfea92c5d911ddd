//! Pictures on a terminal: drawn by the terminal, drawn with characters, or only named (B:T-17).
//!
//! Owns the way in: a [`Gallery`] knows the abilities of the terminal and renders each picture once.
//! Programs make the pictures, so nothing in them is trusted: a file that cannot be read whole, within
//! limits, is not drawn, and the line that names it takes its place. No code here writes to a terminal or
//! queries one.

mod blocks;
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

use crate::view::paint::{Line, Picture, Role};
use picture::{Drawable, Side};

use protocol::Depth;
pub(crate) use protocol::{Glyphs, Protocol, Surroundings, protocol};

/// Rows that a picture takes at most, unless the caller sets another limit.
const MAX_ROWS: usize = 24;

/// The same for a picture of characters on a screen that scrolls.
const TALL_ROWS: usize = 48;

/// Characters of a MIME type before it is cut.
const MIME_CHARS: usize = 100;

/// Rendered pictures in the cache, so that a new frame does not draw them again.
const KEPT: usize = 16;

/// Pixels of a character, if the terminal does not report them.
const USUAL_CHARACTER: Side = Side { wide: 8, high: 16 };

/// Size of a window in characters and in pixels. 0 means unknown.
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

/// Renders pictures for one terminal.
pub(crate) struct Gallery {
    protocol: Protocol,
    /// The characters of which pictures may consist.
    glyphs: Glyphs,
    character: Side,
    max_rows: usize,
    /// Whether each picture also gets a rendering as text.
    has_text: bool,
    kept: RefCell<VecDeque<CachedPicture>>,
    drawn: RefCell<u64>,
}

/// A cached picture. Holding the bytes keeps another picture from reusing their address.
struct CachedPicture {
    data: Bytes,
    mime: String,
    width: usize,
    rows: Option<Vec<Line>>,
}

impl Gallery {
    /// Creates a gallery for a terminal with this protocol.
    pub(crate) fn new(protocol: Protocol) -> Gallery {
        Gallery {
            protocol,
            glyphs: Glyphs::Quadrants,
            character: USUAL_CHARACTER,
            max_rows: MAX_ROWS,
            has_text: false,
            kept: RefCell::default(),
            drawn: RefCell::default(),
        }
    }

    /// Sets the size of a character in pixels, if the terminal reports one.
    pub(crate) fn with_character(self, pixels: Option<(u32, u32)>) -> Gallery {
        let said =
            pixels.filter(|(wide, high)| (2..=200).contains(wide) && (2..=400).contains(high));
        let character = said.map_or(USUAL_CHARACTER, |(wide, high)| Side { wide, high });
        Gallery { character, ..self }
    }

    /// Sets sizes and limits from a window, as the system reports it.
    pub(crate) fn with_window(self, window: Window) -> Gallery {
        let Window { columns, rows, wide, high } = window;
        let each = |pixels: u16, number: u16| pixels.checked_div(number).map(u32::from);
        let character = each(wide, columns).zip(each(high, rows));
        // Leave room for the line below the picture and one above.
        let room = usize::from(rows).saturating_sub(2).min(MAX_ROWS);
        let gallery = self.with_character(character);
        if rows == 0 { gallery } else { gallery.with_rows(room) }
    }

    /// Sets the characters of which pictures may consist.
    pub(crate) fn with_glyphs(self, glyphs: Glyphs) -> Gallery {
        Gallery { glyphs, ..self }
    }

    /// Lets pictures of characters be taller than the window, for a screen that scrolls over them. Labels in a picture
    /// can be read only if it is large.
    pub(crate) fn with_tall_blocks(self) -> Gallery {
        match self.protocol {
            Protocol::Blocks(_) => self.with_rows(TALL_ROWS),
            _ => self,
        }
    }

    /// Sets the most rows of a picture. The least is 1.
    pub(crate) fn with_rows(self, max_rows: usize) -> Gallery {
        Gallery { max_rows: max_rows.max(1), ..self }
    }

    /// Adds a text rendering to each picture, for screens that scroll and may show only a part of one.
    pub(crate) fn with_text(self) -> Gallery {
        Gallery { has_text: true, ..self }
    }

    /// Renders a picture at most `width` columns wide. `None` if it cannot be drawn.
    pub(crate) fn rows(&self, mime: &str, data: &Bytes, width: usize) -> Option<Vec<Line>> {
        if self.protocol == Protocol::None {
            return None;
        }
        let is_this = |kept: &&CachedPicture| {
            let is_same = kept.data.as_ptr() == data.as_ptr() && kept.data.len() == data.len();
            is_same && kept.width == width && kept.mime == mime
        };
        if let Some(kept) = self.kept.borrow().iter().find(is_this) {
            return kept.rows.clone();
        }
        let rows = self.draw(mime, data, width);
        *self.drawn.borrow_mut() += 1;
        let mut kept = self.kept.borrow_mut();
        kept.push_back(CachedPicture {
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

    /// Counts rendered pictures: one in the cache is not rendered again (B:T-04).
    #[cfg(test)]
    pub(crate) fn drawn(&self) -> u64 {
        *self.drawn.borrow()
    }

    fn draw(&self, mime: &str, data: &[u8], width: usize) -> Option<Vec<Line>> {
        let picture = Drawable::read(mime, data)?;
        let character = match self.protocol {
            Protocol::Blocks(_) => blocks::CHARACTER,
            _ => self.character,
        };
        let extent = picture.side().extent(character, width.max(1), self.max_rows);
        let bytes = match self.protocol {
            Protocol::None => return None,
            Protocol::Blocks(depth) => {
                return Some(blocks::rows(&picture, extent, (depth, self.glyphs)));
            }
            Protocol::Kitty => kitty::bytes(&picture.png(extent.pixels(character))?, extent),
            Protocol::Iterm => iterm::bytes(&picture.file(extent.pixels(character))?, extent),
            Protocol::Sixel => sixel::bytes(&picture.scaled(extent.pixels(character))),
        };
        let drawn = Picture::new(extent.columns, extent.rows, bytes.into());
        let drawn = match self.has_text {
            true => drawn.or_text(blocks::rows(&picture, extent, (Depth::True, self.glyphs))),
            false => drawn,
        };
        let mut rows = vec![Line::default(); extent.rows];
        rows[0] = Line::drawn(drawn);
        Some(rows)
    }
}

/// The placeholder for a picture (B:T-17): `[image/png 640x480, 12.3KB: artifact://…]`.
pub(crate) fn line(
    mime: &str,
    pixels: Option<(u32, u32)>,
    bytes: Option<u64>,
    place: Option<&str>,
) -> Line {
    // The program chose the type, so its length needs a limit.
    let mime: String = mime.chars().take(MIME_CHARS).collect();
    let pixels = pixels.map(|(wide, high)| format!(" {wide}x{high}")).unwrap_or_default();
    let amount = bytes.map_or_else(|| "not shown".to_owned(), size);
    let place = place.map(|place| format!(": {place}")).unwrap_or_default();
    Line::of(Role::Dim, &format!("[{mime}{pixels}, {amount}{place}]"))
}

/// The size in the file's header. It is a claim: use it for display only.
pub(crate) fn claimed_pixels(data: &[u8]) -> Option<(u32, u32)> {
    picture::claimed(data).map(|Side { wide, high }| (wide, high))
}

#[cfg(test)]
mod tests;
