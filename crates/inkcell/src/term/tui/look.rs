//! The look of roles on the screen, and of the ground on which code stands.
//!
//! Owns the colours. A ground comes with a colour for each role, so that text on it can be read whatever the colours of
//! the terminal are.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Position;
use ratatui_core::style::{Color, Modifier, Style};

use crate::term::screen::Ground;
use crate::view::paint::{Colour, Line, Paint, Role};

/// The look of a row.
#[derive(Clone, Copy)]
pub(super) struct Look {
    base: Style,
    colour: Colour,
    ground: Ground,
}

impl Look {
    /// The look of text on the ground of the screen.
    pub(super) fn plain(colour: Colour) -> Look {
        Look { base: Style::new(), colour, ground: Ground::None }
    }

    pub(super) fn with(self, base: Style) -> Look {
        Look { base, ..self }
    }

    pub(super) fn on(self, ground: Ground) -> Look {
        Look { ground, ..self }
    }

    pub(super) fn has_ground(self) -> bool {
        self.colour == Colour::On && self.ground != Ground::None
    }

    pub(super) fn style(self, role: Role) -> Style {
        let on_ground = match self.ground {
            Ground::Dark if self.has_ground() => Some((Color::Indexed(235), &DARK)),
            Ground::Light if self.has_ground() => Some((Color::Indexed(255), &LIGHT)),
            _ => None,
        };
        let own = style(role, self.colour);
        match on_ground {
            None => self.base.patch(own),
            Some((ground, inks)) => {
                let own = own.remove_modifier(Modifier::DIM).fg(Color::Indexed(inks.of(role)));
                self.base.bg(ground).patch(own)
            }
        }
    }
}

/// The colours of roles on a ground, of xterm's 256.
struct Inks {
    plain: u8,
    dim: u8,
    keyword: u8,
    name: u8,
    text: u8,
    number: u8,
    warning: u8,
    error: u8,
}

const DARK: Inks = Inks {
    plain: 253,
    dim: 246,
    keyword: 176,
    name: 75,
    text: 114,
    number: 80,
    warning: 221,
    error: 210,
};

const LIGHT: Inks = Inks {
    plain: 235,
    dim: 242,
    keyword: 90,
    name: 25,
    text: 22,
    number: 23,
    warning: 94,
    error: 124,
};

impl Inks {
    fn of(&self, role: Role) -> u8 {
        match role {
            Role::Plain | Role::Title | Role::Strong | Role::Emphasis | Role::Pixels { .. } => {
                self.plain
            }
            Role::Dim | Role::Comment => self.dim,
            Role::Success | Role::Text | Role::Inserted => self.text,
            Role::Warning => self.warning,
            Role::Error | Role::Failing | Role::Deleted => self.error,
            Role::Keyword => self.keyword,
            Role::Name => self.name,
            Role::Code | Role::Number => self.number,
        }
    }
}

/// The look of a role. Without colours, roles of text differ in attributes only.
fn style(role: Role, colour: Colour) -> Style {
    let plain = Style::new();
    let of = |color| match colour {
        Colour::On => plain.fg(color),
        Colour::Off => plain,
    };
    match role {
        Role::Plain => plain,
        Role::Dim => plain.add_modifier(Modifier::DIM),
        Role::Title | Role::Strong => plain.add_modifier(Modifier::BOLD),
        Role::Emphasis => plain.add_modifier(Modifier::ITALIC),
        Role::Success | Role::Text => of(Color::Green),
        Role::Warning => of(Color::Yellow),
        Role::Error => of(Color::Red),
        Role::Keyword => of(Color::Magenta),
        Role::Name => of(Color::Blue),
        Role::Code | Role::Number => of(Color::Cyan),
        Role::Comment => of(Color::DarkGray),
        Role::Failing => of(Color::Red).add_modifier(Modifier::BOLD),
        Role::Deleted => of(Color::Red).add_modifier(Modifier::REVERSED),
        Role::Inserted => of(Color::Green).add_modifier(Modifier::REVERSED),
        Role::Pixels { front, back } => plain.fg(pixel(front)).bg(pixel(back)),
    }
}

/// Maps the colour of a pixel to the terminal library's type.
fn pixel(paint: Paint) -> Color {
    match paint {
        Paint::True(red, green, blue) => Color::Rgb(red, green, blue),
        Paint::Indexed(number) => Color::Indexed(number),
    }
}

/// Puts a line at a position, cut to `width`.
pub(super) fn put(buffer: &mut Buffer, at: Position, line: &Line, width: usize, look: Look) {
    let mut x = at.x;
    let end = usize::from(at.x) + width;
    for span in line.spans() {
        let room = end.saturating_sub(usize::from(x));
        (x, _) = buffer.set_stringn(x, at.y, span.text(), room, look.style(span.role()));
    }
}
