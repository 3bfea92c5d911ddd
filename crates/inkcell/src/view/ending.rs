//! The end of a call, and the exit code of its command.
//!
//! Owns the remarks at the end and their order. The sentences are in `words`. The code's own output is
//! not here.

use std::time::Duration;

use inkcell_engine::api::{CellReport, EndReport, PythonReport, State};
use inkcell_engine::kernel::{Death, PyError, Rung, StrayFate};
use inkcell_engine::session::{CallNote, KernelFate};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::words;

/// A finished call, with facts that its report does not hold.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) report: PythonReport,
    pub(crate) took: Duration,
    /// The interpreter in the format of JSON answers.
    pub(crate) python: Value,
}

/// The name of a state in JSON answers.
pub(crate) fn status(state: State) -> &'static str {
    match state {
        State::Queued => "queued",
        State::Running => "running",
        State::Done => "ok",
        State::Error => "error",
        State::TimedOut => "timed_out",
        State::Cancelled => "cancelled",
        State::InputRefused => "input_refused",
        State::KernelDied => "kernel_died",
        State::NeverRun => "never_run",
    }
}

/// The exception of a cell, or the traceback of a cell that was stopped.
pub(crate) fn exception(cell: &CellReport) -> Option<&PyError> {
    match cell.end.as_ref()? {
        EndReport::Exception(error) => Some(error),
        EndReport::Stopped { exception, .. } => exception.as_ref(),
        _ => None,
    }
}

impl Summary {
    pub(crate) fn exit(&self) -> Exit {
        Exit::of_state(self.report.state)
    }

    /// The final state by its name in JSON answers.
    pub(crate) fn status(&self) -> &'static str {
        status(self.report.state)
    }

    /// The first cell that did not end well, with its index.
    fn stopped_at(&self) -> Option<(usize, &CellReport)> {
        self.report.cells.iter().enumerate().find(|(_, cell)| cell.state != State::Done)
    }

    fn end(&self) -> Option<&EndReport> {
        self.stopped_at().and_then(|(_, cell)| cell.end.as_ref())
    }

    /// The exception, or the traceback of code that was stopped.
    pub(crate) fn error(&self) -> Option<&PyError> {
        self.stopped_at().and_then(|(_, cell)| exception(cell))
    }

    /// The expired limit in seconds, exactly as given. The sentence rounds it.
    pub(crate) fn timeout_seconds(&self) -> Option<f64> {
        match self.end() {
            Some(EndReport::Stopped { after, .. }) => after.map(|after| after.as_secs_f64()),
            _ => None,
        }
    }

    /// The reason for the end, unless the code's own output gives it.
    pub(crate) fn sentence(&self) -> Option<String> {
        words::call::sentence(self.report.state, self.end())
    }

    /// The same for programs. It falls back to the exception.
    pub(crate) fn message(&self) -> Option<String> {
        let exception = || self.error().map(|error| format!("{}: {}", error.name, error.value));
        self.sentence().or_else(exception)
    }

    /// Remarks for the user: first on the cells, then on the call.
    pub(crate) fn notes(&self) -> Vec<String> {
        let of_cells = self.report.cells.iter().flat_map(|cell| &cell.notes).filter_map(said);
        of_cells.chain(self.notes_of_call()).collect()
    }

    /// Remarks on cells that did not run, processes that outlived the kernel, and output that was
    /// dropped.
    pub(crate) fn notes_of_call(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let cells = &self.report.cells;
        if let Some((number, cell)) = self.stopped_at()
            && cells.len() > 1
        {
            let title = cell.source.title.as_deref();
            notes.push(words::call::failed_cell(number + 1, cells.len(), title));
        }
        let strays = self.last_death().into_iter().flat_map(|death| &death.strays);
        notes.extend(strays.map(words::call::stray));
        if self.report.undelivered_bytes > 0 {
            notes.push(words::output::undelivered(self.report.undelivered_bytes));
        }
        notes
    }

    /// How the kernel died before the code ended, and the last step that inkcell took to stop it.
    fn untimely_death(&self) -> Option<(&Death, Option<Rung>)> {
        match self.end()? {
            EndReport::Died(death) | EndReport::GivenUp { death: Some(death), has_begun: true } => {
                Some((death, None))
            }
            EndReport::Stopped { fate: KernelFate::Ended { by, death: Some(death) }, .. } => {
                Some((death, Some(*by)))
            }
            _ => None,
        }
    }

    fn last_death(&self) -> Option<&Death> {
        self.untimely_death().map(|(death, _)| death).or(self.report.death.as_ref())
    }

    /// The kernel's early death for programs; null if the code ended first.
    pub(crate) fn death_json(&self) -> Value {
        let Some((death, by)) = self.untimely_death() else { return Value::Null };
        let cause = death.cause.to_string();
        let by = by.map(words::call::signal);
        let strays = death.strays.iter().map(|stray| {
            let is_alive = stray.fate == StrayFate::Alive;
            json!({"pid": stray.pid, "program": stray.program, "alive": is_alive})
        });
        json!({
            "cause": cause,
            "ended_by": by,
            "stderr": death.stderr_tail,
            "strays": strays.collect::<Vec<_>>(),
        })
    }
}

/// The sentence for a note. `None` for kernel messages, which were shown when they came.
fn said(note: &CallNote) -> Option<String> {
    match note {
        CallNote::Kernel(_) => None,
        note => Some(words::call::note(note)),
    }
}

#[cfg(test)]
mod tests {
    use inkcell_engine::kernel::DeathCause;

    use super::*;
    use crate::view::tests::samples;

    fn death(cause: DeathCause) -> Death {
        Death { cause, stderr_tail: String::new(), strays: Vec::new() }
    }

    fn cell(state: State, end: Option<EndReport>) -> CellReport {
        CellReport { end, ..samples::cell(samples::source(""), state) }
    }

    fn summary(state: State, end: Option<EndReport>) -> Summary {
        let report = samples::call(state, vec![cell(state, end)]);
        Summary { report, took: Duration::ZERO, python: Value::Null }
    }

    fn stopped_after(millis: Option<u64>, fate: KernelFate) -> Option<EndReport> {
        Some(EndReport::Stopped { after: millis.map(Duration::from_millis), fate, exception: None })
    }

    fn ended(by: Rung) -> KernelFate {
        KernelFate::Ended { by, death: Some(death(DeathCause::IgnoredInterrupt)) }
    }

    /// B:X-22 B:X-25 F-001 F-004
    #[test]
    fn every_end_has_its_sentence_and_its_code() {
        let signalled = KernelFate::Ended {
            by: Rung::Interrupt,
            death: Some(death(DeathCause::Signal { signal: 2 })),
        };
        let lost = KernelFate::Ended { by: Rung::Answer, death: None };
        let timed_out = State::TimedOut;
        let table = [
            (State::Done, None, None, Exit::Ok),
            (State::Error, Some(EndReport::Exception(PyError::default())), None, Exit::Failed),
            (
                State::InputRefused,
                None,
                Some("Kernel requested stdin; interactive input is not supported."),
                Exit::Failed,
            ),
            (
                timed_out,
                stopped_after(Some(5000), KernelFate::Kept),
                Some("Command timed out after 5 seconds; the kernel stopped at the interrupt."),
                Exit::TimedOut,
            ),
            (
                timed_out,
                stopped_after(Some(200), ended(Rung::Terminate)),
                Some(
                    "Command timed out after 1 seconds; the kernel ignored the interrupt and was \
                     ended by SIGTERM.",
                ),
                Exit::TimedOut,
            ),
            (
                timed_out,
                stopped_after(Some(2600), ended(Rung::Kill)),
                Some(
                    "Command timed out after 3 seconds; the kernel ignored the interrupt and was \
                     ended by SIGKILL.",
                ),
                Exit::TimedOut,
            ),
            (
                timed_out,
                stopped_after(Some(1000), signalled),
                Some(
                    "Command timed out after 1 seconds; the kernel was killed by signal 2 when it \
                     was interrupted.",
                ),
                Exit::TimedOut,
            ),
            (
                timed_out,
                stopped_after(Some(1000), lost),
                Some("Command timed out after 1 seconds; the kernel could not be ended in time."),
                Exit::TimedOut,
            ),
            (
                State::Cancelled,
                stopped_after(None, KernelFate::Kept),
                Some("Interrupted; the kernel stopped at the interrupt."),
                Exit::Failed,
            ),
            (
                State::KernelDied,
                Some(EndReport::Died(death(DeathCause::Signal { signal: 9 }))),
                Some("the kernel was killed by signal 9"),
                Exit::KernelDied,
            ),
            (
                State::KernelDied,
                Some(EndReport::Died(death(DeathCause::Exit { code: 3 }))),
                Some("the kernel exited with code 3"),
                Exit::KernelDied,
            ),
        ];
        for (state, end, sentence, exit) in table {
            let summary = summary(state, end);
            assert_eq!(summary.sentence().as_deref(), sentence);
            assert_eq!(summary.exit(), exit);
        }
    }

    /// The report names the failed cell and counts the cells after it that did not run.
    #[test]
    fn the_cell_that_failed_is_named() {
        let mut one = summary(State::Error, Some(EndReport::Exception(PyError::default())));
        one.report.cells.insert(0, cell(State::Done, None));
        assert_eq!(one.notes(), ["this was cell 2 of 2"]);
        one.report.cells[1].source.title = Some("load".to_owned());
        one.report.cells.push(cell(State::NeverRun, None));
        let wanted = "this was cell 2 of 3 (load); the one after it was not run";
        assert_eq!(one.notes(), [wanted]);
        one.report.cells.push(cell(State::NeverRun, None));
        let wanted = "this was cell 2 of 4 (load); the 2 cells after it were not run";
        assert_eq!(one.notes(), [wanted]);
    }

    /// F-010
    #[test]
    fn what_was_left_is_named() {
        let mut one = summary(State::Done, None);
        let stray =
            |pid, fate| inkcell_engine::kernel::Stray { pid, program: "sleep".into(), fate };
        let strays = vec![stray(7, StrayFate::Ended), stray(8, StrayFate::Alive)];
        one.report.death = Some(Death { strays, ..death(DeathCause::Shutdown) });
        one.report.undelivered_bytes = 5;
        let wanted = [
            "process 7 (sleep) had left the kernel's group and was ended with it",
            "process 8 (sleep) had left the kernel's group and is still running",
            "5 bytes of output were dropped because nothing read them",
        ];
        assert_eq!(one.notes(), wanted);
    }
}
