//! The prompt at a terminal: a line editor for typing, and output that grows in place below the typed
//! text.
//!
//! Owns the alternation of typing and running. `screen/cells` owns the screen while a cell runs.

mod editor;
mod key_edits;

use std::sync::Arc;

use inkcell_engine::api::CellSource;

use super::Shared;
use super::face::{Entry, Face};
use super::locked;
use crate::exit::Failure;
use crate::host::HostEvent;
use crate::term::screen::{Cells, Code, Echo, Keys, Looks, Reply, Watcher, Wish};
use crate::view::ending::Summary;
use editor::{Editor, Typing};

pub(crate) use editor::read_plainly;

pub(crate) struct Terminal {
    editor: Editor,
    cells: Cells<'static>,
}

impl Terminal {
    pub(crate) fn new(talk: &Shared) -> Result<Terminal, Failure> {
        let looks = Looks::of(&locked(talk).settings);
        let keys = Keys::with_interrupts().map_err(Failure::of_terminal)?;
        let host = Arc::clone(talk);
        let ask = Box::new(move |ask| locked(&host).client.answer(ask));
        Ok(Terminal {
            editor: Editor::new(talk, looks.colour)?,
            cells: Cells::new(keys, looks, Code::Typed, ask),
        })
    }
}

impl Watcher for Terminal {
    fn event(&mut self, event: HostEvent) -> Result<(), Failure> {
        self.cells.event(event)
    }

    fn poll(&mut self) -> Result<Wish, Failure> {
        self.cells.poll()
    }

    fn ask(
        &mut self,
        prompt: &str,
        echo: Echo,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, Failure> {
        self.cells.ask(prompt, echo, is_wanted)
    }
}

impl Face for Terminal {
    fn read(&mut self) -> Result<Entry, Failure> {
        loop {
            let ahead = self.cells.keys.typed_ahead();
            match self.editor.read(&ahead) {
                Typing::Read(entry) => return Ok(entry),
                // The editor cannot draw here, but plain lines still work.
                Typing::Impossible => return read_plainly(&mut self.cells.keys),
                Typing::Expand => self.cells.expand()?,
            }
        }
    }

    fn began(&mut self, source: &CellSource) -> Result<(), Failure> {
        self.cells.keys.forget();
        self.cells.began(std::slice::from_ref(source));
        Ok(())
    }

    fn ended(&mut self, summary: Option<&Summary>) -> Result<(), Failure> {
        self.cells.ended(summary)
    }

    fn warn(&mut self, text: &str) -> Result<(), Failure> {
        self.cells.say(text)
    }

    fn say(&mut self, text: &str) -> Result<(), Failure> {
        self.cells.say(text)
    }
}
