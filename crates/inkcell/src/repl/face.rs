//! Where cells are typed and shown: a terminal, a pipe, or a test.
//!
//! Owns the words between the loop and whoever is in front of it. It must not know how anything looks.

use inkcell_engine::api::CellSource;
use inkcell_engine::kernel::InputReply;

use crate::exit::Failure;
use crate::host::HostEvent;
use crate::render::ending::Summary;

/// What came instead of, or as, the next cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    Text(String),
    /// What was typed is not wanted; the prompt goes on.
    Dropped,
    /// Nothing more will be typed.
    End,
}

/// What became of a question to whoever types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reply {
    Given(InputReply),
    /// Somebody does not want to answer: the cell is to stop.
    Interrupted,
    /// The question is not asked any more.
    Overtaken,
}

/// Whether what is typed can be seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Echo {
    Shown,
    Hidden,
}

/// Whether the cell that runs may go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wish {
    GoOn,
    /// It is to stop.
    Stop,
}

pub(crate) trait Face {
    /// The next thing that is typed.
    fn read(&mut self) -> Result<Entry, Failure>;

    /// A cell was handed over to run.
    fn began(&mut self, source: &CellSource) -> Result<(), Failure>;

    /// Something happened in it.
    fn event(&mut self, event: HostEvent) -> Result<(), Failure>;

    /// Is called again and again while it runs, also when nothing happens.
    fn look(&mut self) -> Result<Wish, Failure>;

    /// The cell wants a line; `is_wanted` says whether it still does, and is to be asked now and then.
    fn ask(
        &mut self,
        prompt: &str,
        echo: Echo,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, Failure>;

    /// The cell is over; none says that it could not be run, which is told next.
    fn ended(&mut self, summary: Option<&Summary>) -> Result<(), Failure>;

    /// Something that was asked for.
    fn say(&mut self, text: &str) -> Result<(), Failure>;

    /// Something that whoever types should know.
    fn warn(&mut self, text: &str) -> Result<(), Failure>;
}
