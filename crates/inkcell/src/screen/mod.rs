//! A terminal on which code is shown while it runs: what the prompt, `inkcell py` and `inkcell attach` share.
//!
//! Owns what is known of the terminal: its size, its colours, how it draws pictures. What is shown there is made by
//! `render`.

mod cells;
mod follow;
mod keys;
mod pages;

use std::io::{self, IsTerminal as _};

use rustix::process::getpgrp;
use rustix::termios::{tcgetpgrp, tcgetwinsize};

use crate::exit::Failure;
use crate::output::Stream;
use crate::render::execution::{Area, Expansion};
use crate::render::image::{Gallery, Protocol, Surroundings, protocol};
use crate::render::live::Colour;
use crate::render::repaint::Size;
use crate::settings::Settings;

pub(crate) use cells::{Cells, Code, Later};
pub(crate) use follow::{Echo, Reply, Watcher, Wish, follow};
pub(crate) use keys::{Key, Keys, Place, Waker};
pub(crate) use pages::{Pages, Turn, asking, last_page, stored_lines, turned};

/// What may be written to a terminal beside text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Looks {
    pub(crate) colour: Colour,
    pub(crate) protocol: Protocol,
}

impl Looks {
    /// As the terminal says of itself and whoever sits there wants it.
    pub(crate) fn of(settings: &Settings) -> Looks {
        if !settings.may_colour() {
            return Looks { colour: Colour::Off, protocol: Protocol::None };
        }
        let about = Surroundings::of(|name| {
            settings.surroundings.get(name).map(|value| value.to_string_lossy().into_owned())
        });
        Looks { colour: Colour::On, protocol: protocol(&about, None) }
    }

    /// What draws pictures on this terminal.
    pub(crate) fn gallery(self) -> Gallery {
        let gallery = Gallery::new(self.protocol);
        match tcgetwinsize(io::stdout()) {
            Ok(window) => gallery.with_window(window.into()),
            Err(_) => gallery,
        }
    }
}

/// Whether what code shows can grow in place: everything goes to one terminal that can move its cursor, and that
/// nobody else types at.
pub(crate) fn is_drawn_on(settings: &Settings) -> bool {
    io::stdout().is_terminal() && io::stderr().is_terminal() && settings.can_draw() && is_ours()
}

/// Whether the terminal is ours: another job may be in front of us, which it then belongs to. One that controls no
/// job is anybody's.
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
