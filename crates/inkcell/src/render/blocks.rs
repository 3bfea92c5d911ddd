//! A call at its end, one block a cell: its state, its code, its output within bounds.
//!
//! Owns how wide that is and whether it has colours. The blocks themselves are `execution`'s.

use std::io;
use std::time::Duration;

use inkcell_engine::kernel::KernelEvent;

use super::ending::Summary;
use super::execution::{Area, Execution, Expansion, Renderer as _, ansi, plain};
use super::live::{Colour, Show};
use crate::output::{Stream, visible};

/// What is written where nobody says how wide it is.
const USUAL_WIDTH: usize = 80;

pub(crate) struct Blocks {
    width: usize,
    colour: Colour,
    timeout: Option<Duration>,
}

impl Blocks {
    /// For standard output as it is now, and a call that may take this long.
    pub(crate) fn new(colour: Colour, timeout: Option<Duration>) -> Blocks {
        let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok();
        let width = size.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0);
        Blocks { width: width.unwrap_or(USUAL_WIDTH), colour, timeout }
    }

    fn text(&self, summary: &Summary) -> String {
        let mut execution = Execution::new(Vec::new()).with_timeout(self.timeout);
        execution.report(&summary.report);
        let area = Area { width: self.width, expansion: Expansion::Expanded };
        let frame = execution.frame(area);
        match self.colour {
            Colour::On => ansi(&frame),
            Colour::Off => plain(&frame),
        }
    }
}

impl Show for Blocks {
    fn event(&mut self, _cell: usize, _event: KernelEvent) -> io::Result<()> {
        Ok(())
    }

    fn pause(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, summary: &Summary) -> io::Result<()> {
        Stream::stdout().write_all(self.text(summary).as_bytes())?;
        // The blocks say how each cell ended; what concerns the whole call is left.
        let mut notes = String::new();
        for note in summary.notes() {
            notes.push_str(&format!("note: {}\n", visible(&note)));
        }
        Stream::stderr().write_all(notes.as_bytes())
    }
}
