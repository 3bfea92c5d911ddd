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
use crate::view::image::{Gallery, Protocol, Surroundings, protocol};
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
}

impl Looks {
    /// Combines the terminal's variables with the user's settings.
    pub(crate) fn of(settings: &Settings) -> Looks {
        if !settings.may_colour() {
            return Looks { colour: Colour::Off, protocol: Protocol::None };
        }
        let about = Surroundings::of(|name| {
            settings.surroundings.get(name).map(|value| value.to_string_lossy().into_owned())
        });
        Looks { colour: Colour::On, protocol: protocol(&about) }
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
        let gallery = Gallery::new(self.protocol);
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
