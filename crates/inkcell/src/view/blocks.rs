//! A finished call, one block for each cell: its state, its code, its bounded output.
//!
//! Owns their width and colour. The blocks themselves are made by `execution`.

use std::io;

use super::ending::Summary;
use super::execution::{Area, Execution, Expansion, Renderer as _};
use super::live::Show;
use crate::output::{Stream, visible};
use crate::view::paint::{Colour, Size, ansi, plain};

pub(crate) struct Blocks {
    width: usize,
    colour: Colour,
    execution: Execution,
}

impl Blocks {
    /// Creates the view at the current width of standard output.
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
    fn end(&mut self, summary: &Summary) -> io::Result<()> {
        Stream::stdout().write_all(self.text(summary).as_bytes())?;
        // The blocks say how each cell ended. Print the notes on standard error.
        let mut notes = String::new();
        for note in summary.notes() {
            notes.push_str(&format!("note: {}\n", visible(&note)));
        }
        Stream::stderr().write_all(notes.as_bytes())
    }
}
