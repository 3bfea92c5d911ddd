//! Output of a cell as it comes, for a prompt that cannot draw.
//!
//! Owns what a pipe and a terminal of text alone have in common: what the code writes is passed on at once, what is said
//! stands on lines of its own, and no escape sequence of anybody reaches them. Where lines are read from is not its
//! business.

use crate::exit::Failure;
use crate::host::HostEvent;
use crate::output::visible;
use crate::render::ending::Summary;
use crate::render::live::Show;

pub(super) struct Streamed<S> {
    show: S,
}

impl<S: Show> Streamed<S> {
    pub(super) fn new(show: S) -> Streamed<S> {
        Streamed { show }
    }

    /// Passes on what the code does. A line that is said beside it is for whoever reads lines.
    pub(super) fn event(&mut self, event: HostEvent) -> Result<Option<String>, Failure> {
        if let HostEvent::Aside(line) = event {
            return Ok(Some(line));
        }
        if let Some((cell, event)) = event.into_kernel() {
            self.show.event(cell, event).map_err(Failure::of_output)?;
        }
        Ok(None)
    }

    /// Nothing happens just now: what was held back is written.
    pub(super) fn pause(&mut self) -> Result<(), Failure> {
        self.show.pause().map_err(Failure::of_output)
    }

    pub(super) fn end(&mut self, summary: Option<&Summary>) -> Result<(), Failure> {
        self.pause()?;
        match summary {
            Some(summary) => self.show.end(summary).map_err(Failure::of_output),
            None => Ok(()),
        }
    }
}

/// What is said, on lines.
pub(super) fn lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", visible(line))).collect()
}
