//! Output of a cell as it comes, for a prompt that cannot draw.
//!
//! Owns the common part of a pipe and a text-only terminal: output is passed on at once, messages stand on lines of
//! their own, and no escape sequence reaches the reader, not even the program's. It must not know where lines are read
//! from.

use crate::exit::Failure;
use crate::host::HostEvent;
use crate::output::visible;
use crate::view::ending::Summary;
use crate::view::live::Show;

pub(super) struct EventStream<S> {
    show: S,
}

impl<S: Show> EventStream<S> {
    pub(super) fn new(show: S) -> EventStream<S> {
        EventStream { show }
    }

    /// Passes on an event. Returns a message from the host, which the caller shows.
    pub(super) fn event(&mut self, event: HostEvent) -> Result<Option<String>, Failure> {
        if let HostEvent::Aside(line) = event {
            return Ok(Some(line));
        }
        event.news().map_or(Ok(()), |news| self.show.news(news)).map_err(Failure::of_output)?;
        Ok(None)
    }

    /// Writes held output, since no event is waiting.
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

/// A message as lines, with control characters made visible.
pub(super) fn lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", visible(line))).collect()
}
