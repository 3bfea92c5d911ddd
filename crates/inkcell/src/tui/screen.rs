//! The terminal: taken over for the notebook, and given back as it was, whatever happens.
//!
//! Owns raw mode, the other screen, the mouse, and the way back from a panic. It must not know what is drawn.

use std::io::{self, Stdout, stdout};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use super::model::Model;
use crate::render::live::Colour;

pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    colour: Colour,
}

impl Screen {
    /// Takes the terminal over. From here on a panic gives it back before it is told.
    pub(super) fn take(colour: Colour) -> io::Result<Screen> {
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            told(panic);
        }));
        enter()?;
        // Dropped on a failure, it is given back.
        let terminal = Terminal::new(CrosstermBackend::new(stdout()));
        match terminal {
            Ok(terminal) => Ok(Screen { terminal, colour }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    pub(super) fn draw(&mut self, model: &mut Model) -> io::Result<()> {
        let colour = self.colour;
        self.terminal.draw(|frame| {
            if let Some(position) = model.draw(frame.buffer_mut(), colour) {
                frame.set_cursor_position(position);
            }
        })?;
        Ok(())
    }

    /// Gives the terminal to somebody else for a while.
    pub(super) fn lend<T>(&mut self, to: impl FnOnce() -> T) -> io::Result<T> {
        give_back();
        let done = to();
        enter()?;
        self.terminal.clear()?;
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
    // Terminals that do not know the last one do not heed it.
    execute!(
        stdout(),
        EnterAlternateScreen,
        EnableMouseCapture,
        EnableBracketedPaste,
        PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES)
    )
}

/// Puts the terminal back. Nothing can be done where even that fails.
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
