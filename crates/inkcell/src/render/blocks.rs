//! A call at its end, one block a cell: its state, its code, its output within bounds.
//!
//! Owns how wide that is and whether it has colours. The blocks themselves are `execution`'s.

use std::io;

use inkcell_engine::kernel::KernelEvent;

use super::ending::Summary;
use super::execution::{Area, Execution, Expansion, Renderer as _, ansi, plain};
use super::live::{Colour, Show};
use super::repaint::Size;
use crate::output::{Stream, visible};

pub(crate) struct Blocks {
    width: usize,
    colour: Colour,
    execution: Execution,
}

impl Blocks {
    /// For standard output as it is now, and a call.
    pub(crate) fn new(colour: Colour, execution: Execution) -> Blocks {
        Blocks { width: Size::of(rustix::stdio::stdout()).columns, colour, execution }
    }

    fn text(&mut self, summary: &Summary) -> String {
        self.execution.report(&summary.report);
        let area = Area { width: self.width, expansion: Expansion::Expanded };
        let frame = self.execution.frame(area);
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
