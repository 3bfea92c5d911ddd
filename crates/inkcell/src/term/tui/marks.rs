//! The freshness of cells, read from the records of runs on a thread of its own.
//!
//! Owns that thread. Reading the records must not delay a frame. It must not know how a mark looks.

use std::sync::mpsc::{Receiver, Sender, channel};

use inkcell_engine::{Notebooks, outlined, read_with_runs};

use super::model::Input;
use super::session::Inbox;
use crate::exit::Failure;

/// Asks for the marks of a notebook. They arrive as an input.
pub(super) struct Marks {
    asks: Sender<()>,
}

impl Marks {
    pub(super) fn open(notebooks: Notebooks, name: String, inbox: Inbox) -> Result<Marks, Failure> {
        let (asks, asked) = channel();
        let work = move || work(&notebooks, &name, (&asked, &inbox));
        let thread = std::thread::Builder::new().name("marks".to_owned()).spawn(work);
        thread.map_err(Failure::of_thread)?;
        Ok(Marks { asks })
    }

    /// Requests the marks. Requests that wait together get one answer.
    pub(super) fn ask(&self) {
        // The thread ends only after this handle.
        let _ = self.asks.send(());
    }
}

fn work(notebooks: &Notebooks, name: &str, (asked, inbox): (&Receiver<()>, &Inbox)) {
    while asked.recv().is_ok() {
        while asked.try_recv().is_ok() {}
        // A file that cannot be read now is reported elsewhere, and its next change asks again.
        let Ok((opened, runs)) = read_with_runs(notebooks, name) else { continue };
        let cells: Vec<usize> = (0..opened.notebook.len()).collect();
        let marks = outlined(&opened, &cells, &runs).into_iter().map(|(_, mark)| mark).collect();
        inbox.put(Input::Marked { version: opened.version, marks });
    }
}
