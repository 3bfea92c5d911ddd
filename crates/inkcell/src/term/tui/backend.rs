//! Writes the cells of a frame as bytes for the terminal.
//!
//! Owns the escape sequences for colours and attributes. It must not know the content, nor the terminal's
//! modes.

use std::io::{self, Stdout, Write, stdout};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::style::{Attribute, Color as Ink, Colors, Print, SetAttribute, SetColors};
use crossterm::terminal::{self, Clear};
use crossterm::{execute, queue};
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};

/// A writer to `to`, which is a terminal.
pub(super) struct Cells<W = Stdout> {
    to: W,
    cursor: Position,
}

impl Cells {
    pub(super) fn new() -> Cells {
        Cells::writing_to(stdout())
    }
}

impl<W: Write> Cells<W> {
    fn writing_to(to: W) -> Cells<W> {
        Cells { to, cursor: Position::ORIGIN }
    }
}

/// The look of a cell, apart from its text.
type Look = (Color, Color, Modifier);

const PLAIN: Look = (Color::Reset, Color::Reset, Modifier::empty());

impl<W: Write> Backend for Cells<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, cells: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut now = PLAIN;
        // Position of the terminal's cursor after a narrow character. After a wide one the cursor is
        // always moved.
        let mut next = None;
        for (x, y, cell) in cells {
            if next != Some((x, y)) {
                queue!(self.to, MoveTo(x, y))?;
            }
            next = Some((x.saturating_add(1), y));
            let look = (cell.fg, cell.bg, cell.modifier);
            if look != now {
                queue_look(&mut self.to, look)?;
                now = look;
            }
            queue!(self.to, Print(cell.symbol()))?;
        }
        if now != PLAIN {
            queue_look(&mut self.to, PLAIN)?;
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        execute!(self.to, Hide)
    }

    /// Succeeds on a terminal that is gone, too: the library would print an error about it as it drops, and such a
    /// print panics.
    fn show_cursor(&mut self) -> io::Result<()> {
        let _ = execute!(self.to, Show);
        Ok(())
    }

    /// Returns the last set position. A query to the terminal might stay unanswered.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.cursor)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.cursor = position.into();
        execute!(self.to, MoveTo(self.cursor.x, self.cursor.y))
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        let region = match region {
            ClearType::All => terminal::ClearType::All,
            ClearType::AfterCursor => terminal::ClearType::FromCursorDown,
            ClearType::BeforeCursor => terminal::ClearType::FromCursorUp,
            ClearType::CurrentLine => terminal::ClearType::CurrentLine,
            ClearType::UntilNewLine => terminal::ClearType::UntilNewLine,
        };
        execute!(self.to, Clear(region))
    }

    fn size(&self) -> io::Result<Size> {
        terminal::size().map(Size::from)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        let window = terminal::window_size()?;
        Ok(WindowSize {
            columns_rows: Size::new(window.columns, window.rows),
            pixels: Size::new(window.width, window.height),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl<W: Write> Write for Cells<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Starts each look from plain, because one code ends both bold and dim.
fn queue_look(to: &mut impl Write, (front, back, modifier): Look) -> io::Result<()> {
    const ATTRIBUTES: [(Modifier, Attribute); 9] = [
        (Modifier::BOLD, Attribute::Bold),
        (Modifier::DIM, Attribute::Dim),
        (Modifier::ITALIC, Attribute::Italic),
        (Modifier::UNDERLINED, Attribute::Underlined),
        (Modifier::SLOW_BLINK, Attribute::SlowBlink),
        (Modifier::RAPID_BLINK, Attribute::RapidBlink),
        (Modifier::REVERSED, Attribute::Reverse),
        (Modifier::HIDDEN, Attribute::Hidden),
        (Modifier::CROSSED_OUT, Attribute::CrossedOut),
    ];
    queue!(to, SetAttribute(Attribute::Reset))?;
    for (_, attribute) in ATTRIBUTES.iter().filter(|(flag, _)| modifier.contains(*flag)) {
        queue!(to, SetAttribute(*attribute))?;
    }
    if (front, back) != (Color::Reset, Color::Reset) {
        queue!(to, SetColors(Colors::new(ink(front), ink(back))))?;
    }
    Ok(())
}

/// The crossterm colour for a colour. Its unprefixed names are the bright colours.
fn ink(color: Color) -> Ink {
    match color {
        Color::Reset => Ink::Reset,
        Color::Black => Ink::Black,
        Color::Red => Ink::DarkRed,
        Color::Green => Ink::DarkGreen,
        Color::Yellow => Ink::DarkYellow,
        Color::Blue => Ink::DarkBlue,
        Color::Magenta => Ink::DarkMagenta,
        Color::Cyan => Ink::DarkCyan,
        Color::Gray => Ink::Grey,
        Color::DarkGray => Ink::DarkGrey,
        Color::LightRed => Ink::Red,
        Color::LightGreen => Ink::Green,
        Color::LightYellow => Ink::Yellow,
        Color::LightBlue => Ink::Blue,
        Color::LightMagenta => Ink::Magenta,
        Color::LightCyan => Ink::Cyan,
        Color::White => Ink::White,
        Color::Indexed(number) => Ink::AnsiValue(number),
        Color::Rgb(r, g, b) => Ink::Rgb { r, g, b },
    }
}

#[cfg(test)]
mod tests {
    use ratatui_core::buffer::Buffer;
    use ratatui_core::layout::Rect;
    use ratatui_core::style::Style;

    use super::*;

    /// The screen after a frame, by the tests' terminal emulator.
    fn emulate(buffer: &Buffer) -> vt100::Parser {
        let mut cells = Cells::writing_to(Vec::new());
        let positions = (0..buffer.area.height)
            .flat_map(|y| (0..buffer.area.width).map(move |x| (x, y, &buffer[(x, y)])));
        cells.draw(positions).unwrap();
        let (rows, columns) = (buffer.area.height.try_into(), buffer.area.width.try_into());
        let (rows, columns) = (rows.unwrap(), columns.unwrap());
        let mut parser = vt100::Parser::new(rows, columns, 0);
        parser.process(&cells.to);
        parser
    }

    #[test]
    fn cells_keep_text_colours_and_attributes() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 2));
        let plain = Style::new();
        buffer.set_string(0, 0, "ab", plain.fg(Color::Green).add_modifier(Modifier::BOLD));
        buffer.set_string(2, 0, "cd", plain.fg(Color::Indexed(200)).bg(Color::Rgb(1, 2, 3)));
        buffer.set_string(4, 0, "ef", plain.add_modifier(Modifier::DIM | Modifier::REVERSED));
        buffer.set_string(0, 1, "g", plain.fg(Color::DarkGray).add_modifier(Modifier::ITALIC));
        let parser = emulate(&buffer);
        let screen = parser.screen();
        assert_eq!(screen.contents(), "abcdef      \ng           ");
        let cell = |row, column| screen.cell(row, column).unwrap();
        let colours = |row, column| (cell(row, column).fgcolor(), cell(row, column).bgcolor());
        assert_eq!(colours(0, 1), (vt100::Color::Idx(2), vt100::Color::Default));
        assert_eq!(colours(0, 2), (vt100::Color::Idx(200), vt100::Color::Rgb(1, 2, 3)));
        assert_eq!(colours(0, 4), (vt100::Color::Default, vt100::Color::Default));
        assert_eq!(colours(1, 0), (vt100::Color::Idx(8), vt100::Color::Default));
        assert_eq!(colours(1, 1), (vt100::Color::Default, vt100::Color::Default));
        let attributes = |row, column| {
            let cell = cell(row, column);
            (cell.bold(), cell.dim(), cell.italic(), cell.inverse())
        };
        assert_eq!(attributes(0, 0), (true, false, false, false));
        assert_eq!(attributes(0, 3), (false, false, false, false));
        assert_eq!(attributes(0, 5), (false, true, false, true));
        assert_eq!(attributes(1, 0), (false, false, true, false));
        assert_eq!(attributes(1, 1), (false, false, false, false));
    }
}
