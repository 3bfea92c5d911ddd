//! The terminal: taken over for the notebook, and always given back in its old state.
//!
//! Owns raw mode, the alternate screen, the mouse, pictures that the terminal draws itself, and the cleanup after a
//! panic. It must not know the content.

use std::io::{self, Write as _, stdout};

use crossterm::cursor::{MoveTo, RestorePosition, SavePosition, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::terminal::Terminal;
use rustix::termios::tcgetwinsize;

use super::backend::Cells;
use super::model::Model;
use crate::term::screen::Looks;
use crate::view::image::{Gallery, Protocol, Window, kitty};
use crate::view::paint::Picture;

pub(super) struct Screen {
    terminal: Terminal<Cells>,
    looks: Looks,
    /// The window for which the pictures were last rendered.
    window: Option<Window>,
    /// The pictures that the terminal shows now.
    shown: Vec<(Position, Picture)>,
}

impl Screen {
    /// Takes the terminal over. From here on a panic first gives it back, then prints its message.
    pub(super) fn take(looks: Looks) -> io::Result<Screen> {
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            told(panic);
        }));
        enter()?;
        // On failure give the terminal back here: no `Screen` exists yet whose drop would do it.
        let terminal = Terminal::new(Cells::new());
        match terminal {
            Ok(terminal) => Ok(Screen { terminal, looks, window: None, shown: Vec::new() }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    pub(super) fn draw(&mut self, model: &mut Model) -> io::Result<()> {
        self.terminal.autoresize()?;
        self.follow_window(model);
        let area = Rect::from((Position::ORIGIN, self.terminal.size()?));
        let mut buffer = Buffer::empty(area);
        let cursor = model.draw(&mut buffer, self.looks.colour);
        let is_same = self.shown == model.pictures;
        if !is_same {
            self.wipe_pictures()?;
        }
        self.terminal.draw(|frame| {
            // Skip a frame of an outdated size. The next one follows soon.
            if frame.area() == area {
                *frame.buffer_mut() = buffer;
                if let Some(position) = cursor {
                    frame.set_cursor_position(position);
                }
            }
        })?;
        if !is_same {
            self.draw_pictures(&model.pictures)?;
        }
        Ok(())
    }

    /// Renders pictures again after a change of the window.
    fn follow_window(&mut self, model: &mut Model) {
        let Ok(window) = tcgetwinsize(stdout()).map(Window::from) else { return };
        if self.window != Some(window) {
            // The resize has removed the old pictures.
            self.shown.clear();
            self.window = Some(window);
            model.ground = self.looks.ground;
            let gallery = Gallery::new(self.looks.protocol).with_glyphs(self.looks.glyphs);
            model.draw_with(gallery.with_window(window).with_tall_blocks().with_text());
        }
    }

    /// Erases the pictures. The cells below them are empty in the library's buffer, so it would not redraw them.
    fn wipe_pictures(&mut self) -> io::Result<()> {
        let backend = self.terminal.backend_mut();
        queue!(backend, BeginSynchronizedUpdate)?;
        if self.looks.protocol == Protocol::Kitty {
            queue!(backend, Print(kitty::WIPE))?;
        }
        for (place, picture) in self.shown.drain(..) {
            for row in 0..u16::try_from(picture.rows()).unwrap_or(0) {
                let blank = " ".repeat(picture.columns());
                queue!(backend, MoveTo(place.x, place.y + row), Print(blank))?;
            }
        }
        Ok(())
    }

    fn draw_pictures(&mut self, pictures: &[(Position, Picture)]) -> io::Result<()> {
        let backend = self.terminal.backend_mut();
        for (place, picture) in pictures {
            // Save the cursor: terminals disagree on its position after a picture.
            queue!(backend, SavePosition, MoveTo(place.x, place.y))?;
            backend.write_all(picture.bytes())?;
            queue!(backend, RestorePosition)?;
        }
        queue!(backend, EndSynchronizedUpdate)?;
        self.shown = pictures.to_vec();
        io::Write::flush(self.terminal.backend_mut())
    }

    /// Lends the terminal to another program, such as an editor.
    pub(super) fn lend<T>(&mut self, to: impl FnOnce() -> T) -> io::Result<T> {
        give_back();
        let done = to();
        enter()?;
        self.terminal.clear()?;
        self.shown.clear();
        Ok(done)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    // Terminals without the last feature ignore its sequence.
    execute!(
        stdout(),
        EnterAlternateScreen,
        EnableMouseCapture,
        EnableBracketedPaste,
        PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES)
    )
}

/// Restores the terminal. A failure here cannot be handled.
fn give_back() {
    let _ = execute!(
        stdout(),
        PopKeyboardEnhancementFlags,
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        Show
    );
    let _ = disable_raw_mode();
}
