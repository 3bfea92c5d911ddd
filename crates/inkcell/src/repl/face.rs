//! Where cells are typed and shown: a terminal, a pipe, or a test.
//!
//! Owns the words between the loop and whoever is in front of it. It must not know how anything looks.

use inkcell_engine::api::CellSource;

use crate::exit::Failure;
use crate::render::ending::Summary;
use crate::screen::Watcher;

/// What came instead of, or as, the next cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    Text(String),
    /// What was typed is not wanted; the prompt goes on.
    Dropped,
    /// Nothing more will be typed.
    End,
}

pub(crate) trait Face: Watcher {
    /// The next thing that is typed.
    fn read(&mut self) -> Result<Entry, Failure>;

    /// A cell was handed over to run.
    fn began(&mut self, source: &CellSource) -> Result<(), Failure>;

    /// The cell is over; none says that it could not be run, which is told next.
    fn ended(&mut self, summary: Option<&Summary>) -> Result<(), Failure>;

    /// Something that was asked for.
    fn say(&mut self, text: &str) -> Result<(), Failure>;

    /// Something that whoever types should know.
    fn warn(&mut self, text: &str) -> Result<(), Failure>;
}
