//! The hook through which a notebook run takes part in its call.
//!
//! Owns what a call asks of a run, and when. Beyond this hook, a call knows nothing of notebooks.

use std::time::Duration;

use futures_util::future::BoxFuture;
use inkcell_kernel::ExecEvent;

use super::Record;
use crate::api::{CellSource, Problem, PythonReport};
use crate::session::{CellEnd, Session, Turn};
use crate::types::{Generation, State};

/// The step after a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Onward {
    Next,
    /// The run goes on with cells that do not depend on this one, and will end in this state.
    Past(State),
    /// The run is over, in this state.
    Stop(State),
}

/// Why a run ends before its first cell.
pub(crate) enum Hindrance {
    /// The kernel for its questions did not start.
    Kernel(Box<CellEnd>),
    /// The run must not begin: it would replace outputs by errors.
    Refusal(Problem),
}

/// A cell whose turn has come.
pub(crate) enum CellStart {
    Run(CellSource),
    /// The cell is no longer in the file, or need not run.
    LeftOut,
}

/// Decides about the cells of a call, one after the other, and receives their output.
pub(crate) trait Conductor: Send {
    /// Describes the call's cells in a report.
    fn announce(&self, report: &mut PythonReport);

    /// Called before the first cell begins: the kernel may be asked about cells that have not run. Its start is limited by
    /// the time that the call has left.
    fn foresee<'a>(
        &'a mut self,
        session: &'a Session,
        turn: &'a mut Turn,
        record: &'a Record,
        left: Option<Duration>,
    ) -> BoxFuture<'a, Result<(), Hindrance>>;

    /// Returns the cell as it is now in the file.
    fn begin<'a>(
        &'a mut self,
        number: usize,
        kernel: Option<Generation>,
        record: &'a Record,
    ) -> BoxFuture<'a, CellStart>;

    /// Receives an event of the running cell.
    fn hear(&mut self, event: &ExecEvent);

    /// Called when the cell is over. Returns whether the run goes on.
    fn end<'a>(
        &'a mut self,
        number: usize,
        kernel: Option<Generation>,
        record: &'a Record,
    ) -> BoxFuture<'a, Onward>;

    /// Called when the call is over, before its report says so.
    fn close<'a>(&'a mut self, state: State, record: &'a Record) -> BoxFuture<'a, ()>;
}
