//! Faces of the prompt, which read and show cells: a terminal, a pipe, or a test.
//!
//! Owns the interface between the loop and a face. It must not know how a face looks.

use inkcell_engine::api::CellSource;

use crate::exit::Failure;
use crate::term::screen::Watcher;
use crate::view::ending::Summary;

/// Result of a read: the text of the next cell, or something else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    Text(String),
    /// The user discarded the text. The prompt continues.
    Dropped,
    /// The end of input. The prompt ends too.
    End,
}

pub(crate) trait Face: Watcher {
    /// Reads the next input. Blocks until the user or the pipe delivers one.
    fn read(&mut self) -> Result<Entry, Failure>;

    /// A cell was submitted to run.
    fn began(&mut self, source: &CellSource) -> Result<(), Failure>;

    /// The cell is over. `None` means that it could not run; the loop reports the reason next.
    fn ended(&mut self, summary: Option<&Summary>) -> Result<(), Failure>;

    /// Shows text that the user asked for.
    fn say(&mut self, text: &str) -> Result<(), Failure>;

    /// Shows a message that the user did not ask for but should know.
    fn warn(&mut self, text: &str) -> Result<(), Failure>;
}
