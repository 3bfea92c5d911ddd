//! A terminal that shows running code, shared by the prompt, `inkcell py` and `inkcell attach`.
//!
//! Owns the facts about the terminal: its size, its colours, its protocol for pictures. `view` makes the content.

mod cells;
mod follow;
mod keys;
mod pages;

use std::io::{self, IsTerminal as _};

use rustix::process::getpgrp;
use rustix::termios::{tcgetpgrp, tcgetwinsize};

use crate::exit::Failure;
use crate::output::Stream;
use crate::settings::Settings;
use crate::view::execution::{Area, Expansion};
use crate::view::image::{Gallery, Glyphs, Protocol, Surroundings, protocol};
use crate::view::paint::{Colour, Frame, Size};

pub(crate) use cells::{Cells, Code, Later};
pub(crate) use follow::{Echo, Reply, Watcher, Wish, follow};
pub(crate) use keys::{Key, Keys, Place, Waker};
pub(crate) use pages::{Pages, Turn, asking, last_page, stored_lines, turned};

/// Sequences beside text that the terminal may receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Looks {
    pub(crate) colour: Colour,
    pub(crate) protocol: Protocol,
    /// The characters of which pictures may consist.
    pub(crate) glyphs: Glyphs,
    pub(crate) ground: Ground,
}

/// The ground on which the notebook view shows code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ground {
    /// That of the terminal.
    None,
    Dark,
    Light,
}

impl Ground {
    /// The ground for a setting, with the variables of the terminal. A terminal with 16 colours has no colour for it.
    fn of(word: &str, variable: impl Fn(&str) -> String) -> Ground {
        let has_colours = variable("TERM").contains("256color")
            || matches!(variable("COLORTERM").as_str(), "truecolor" | "24bit");
        // Some terminals name the colours of text and background, as numbers from 0 to 15.
        let background = variable("COLORFGBG");
        let background = background.rsplit(';').next().and_then(|number| number.parse().ok());
        match (word, background) {
            ("off", _) => Ground::None,
            ("dark", _) => Ground::Dark,
            ("light", _) => Ground::Light,
            _ if !has_colours => Ground::None,
            (_, Some(7 | 9..=15_u8)) => Ground::Light,
            _ => Ground::Dark,
        }
    }
}

impl Looks {
    /// Combines the terminal's variables with the user's settings.
    pub(crate) fn of(settings: &Settings) -> Looks {
        if !settings.may_colour() {
            let (protocol, glyphs, ground) = (Protocol::None, Glyphs::Quadrants, Ground::None);
            return Looks { colour: Colour::Off, protocol, glyphs, ground };
        }
        let variable = |name: &str| {
            settings.surroundings.get(name).map(|value| value.to_string_lossy().into_owned())
        };
        let about = Surroundings::of(variable);
        let ground =
            Ground::of(settings.screen_ground(), |name| variable(name).unwrap_or_default());
        let glyphs = Glyphs::of(settings.screen_glyphs(), &about);
        Looks { colour: Colour::On, protocol: protocol(&about), glyphs, ground }
    }

    /// The frame as this terminal may show it.
    pub(crate) fn coloured(self, frame: &Frame) -> Frame {
        match self.colour {
            Colour::On => frame.clone(),
            Colour::Off => frame.uncoloured(),
        }
    }

    /// A renderer of pictures for this terminal.
    pub(crate) fn gallery(self) -> Gallery {
        let gallery = Gallery::new(self.protocol).with_glyphs(self.glyphs);
        match tcgetwinsize(io::stdout()) {
            Ok(window) => gallery.with_window(window.into()),
            Err(_) => gallery,
        }
    }
}

/// Returns true if output can grow in place: both streams go to a terminal that can move its cursor, and no other
/// job has that terminal.
pub(crate) fn is_drawn_on(settings: &Settings) -> bool {
    io::stdout().is_terminal() && io::stderr().is_terminal() && settings.can_draw() && is_ours()
}

/// Returns true unless another job is in front and has the terminal. A terminal without job control belongs to
/// every process.
pub(crate) fn is_ours() -> bool {
    !matches!(tcgetpgrp(io::stdout()), Ok(group) if group != getpgrp())
}

pub(crate) fn size() -> Size {
    Size::of(io::stdout())
}

pub(crate) fn area(expansion: Expansion) -> Area {
    Area { width: size().columns, expansion }
}

pub(crate) fn write(bytes: &str) -> Result<(), Failure> {
    Stream::stdout().write_all(bytes.as_bytes()).map_err(Failure::of_output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ground_suits_the_terminal() {
        type Variables = [(&'static str, &'static str)];
        let table: [(&str, &Variables, Ground); 8] = [
            ("auto", &[], Ground::None),
            ("auto", &[("TERM", "xterm")], Ground::None),
            ("auto", &[("TERM", "xterm-256color")], Ground::Dark),
            ("auto", &[("TERM", "xterm-256color"), ("COLORFGBG", "15;0")], Ground::Dark),
            ("auto", &[("TERM", "xterm-256color"), ("COLORFGBG", "0;default;15")], Ground::Light),
            ("light", &[("TERM", "xterm")], Ground::Light),
            ("dark", &[("TERM", "xterm-256color"), ("COLORFGBG", "0;15")], Ground::Dark),
            ("off", &[("TERM", "xterm-256color")], Ground::None),
        ];
        for (word, variables, wanted) in table {
            let variable = |name: &str| {
                let found = variables.iter().find(|(one, _)| *one == name);
                found.map(|(_, value)| (*value).to_owned()).unwrap_or_default()
            };
            assert_eq!(Ground::of(word, variable), wanted, "{word} {variables:?}");
        }
    }
}
