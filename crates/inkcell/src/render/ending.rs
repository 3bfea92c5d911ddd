//! How code ended, in sentences, and as the exit code of the command that ran it.
//!
//! Owns the words for timeouts, deaths and refusals. What the code itself wrote is not here.

use std::time::Duration;

use inkcell_engine::kernel::{Death, DeathCause, Fate, PyError, Rung};
use inkcell_engine::{CellEnd, KernelFate};
use serde_json::{Value, json};

use crate::exit::Exit;

/// Everything about an execution that is over, apart from its output.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) end: CellEnd,
    /// The end of the kernel that was shut down afterwards.
    pub(crate) death: Option<Death>,
    pub(crate) undelivered_bytes: u64,
    pub(crate) took: Duration,
    /// The next step, when there is one.
    pub(crate) hint: Option<String>,
    /// The interpreter, as JSON answers show it.
    pub(crate) python: Value,
}

impl Summary {
    pub(crate) fn exit(&self) -> Exit {
        match &self.end {
            CellEnd::Ok => Exit::Ok,
            CellEnd::PythonError(_)
            | CellEnd::InputRefused { .. }
            | CellEnd::Cancelled { .. }
            | CellEnd::Unheard { .. } => Exit::Failed,
            CellEnd::TimedOut { .. } => Exit::TimedOut,
            CellEnd::KernelDied { .. } => Exit::KernelDied,
        }
    }

    /// The end in one word, for programs.
    pub(crate) fn status(&self) -> &'static str {
        match &self.end {
            CellEnd::Ok => "ok",
            CellEnd::PythonError(_) => "error",
            CellEnd::InputRefused { .. } => "input_refused",
            CellEnd::Cancelled { .. } => "cancelled",
            CellEnd::Unheard { .. } => "unheard",
            CellEnd::TimedOut { .. } => "timed_out",
            CellEnd::KernelDied { .. } => "kernel_died",
        }
    }

    /// The exception, or where the code was when it had to stop.
    pub(crate) fn error(&self) -> Option<&PyError> {
        match &self.end {
            CellEnd::PythonError(error) => Some(error),
            CellEnd::InputRefused { error }
            | CellEnd::TimedOut { stopped: error, .. }
            | CellEnd::Cancelled { stopped: error, .. } => error.as_ref(),
            _ => None,
        }
    }

    /// The limit that passed, in seconds as they were given; the sentence rounds them.
    pub(crate) fn timeout_seconds(&self) -> Option<f64> {
        match &self.end {
            CellEnd::TimedOut { after, .. } => Some(after.as_secs_f64()),
            _ => None,
        }
    }

    /// Why it ended, where the code itself did not say so.
    pub(crate) fn sentence(&self) -> Option<String> {
        match &self.end {
            CellEnd::Ok | CellEnd::PythonError(_) | CellEnd::Unheard { .. } => None,
            CellEnd::InputRefused { .. } => {
                Some("Kernel requested stdin; interactive input is not supported.".to_owned())
            }
            CellEnd::TimedOut { after, fate, .. } => {
                let seconds = after.as_secs_f64().round().max(1.0);
                Some(format!("Command timed out after {seconds} seconds; {}", stopped(fate)))
            }
            CellEnd::Cancelled { fate, .. } => Some(format!("Interrupted; {}", stopped(fate))),
            CellEnd::KernelDied { death } => Some(format!("the kernel {}", died(death))),
        }
    }

    /// What else there is to be told: processes that were left, output that was.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for stray in self.last_death().into_iter().flat_map(|death| &death.strays) {
            let fate = match stray.fate {
                Fate::Ended => "was ended with it",
                Fate::Alive => "is still running",
            };
            let (pid, program) = (stray.pid, &stray.program);
            notes.push(format!("process {pid} ({program}) had left the kernel's group and {fate}"));
        }
        if self.undelivered_bytes > 0 {
            let lost = self.undelivered_bytes;
            notes.push(format!("{lost} bytes of output were dropped, because nobody read them"));
        }
        notes
    }

    fn last_death(&self) -> Option<&Death> {
        match &self.end {
            CellEnd::KernelDied { death } => Some(death),
            CellEnd::TimedOut { fate: KernelFate::Ended { death, .. }, .. }
            | CellEnd::Cancelled { fate: KernelFate::Ended { death, .. }, .. }
            | CellEnd::Unheard { fate: KernelFate::Ended { death, .. } } => Some(death),
            _ => self.death.as_ref(),
        }
    }

    /// How the kernel ended when the code did not end by itself, for programs.
    pub(crate) fn death_json(&self) -> Value {
        let (death, by) = match &self.end {
            CellEnd::KernelDied { death } => (death, None),
            CellEnd::TimedOut { fate: KernelFate::Ended { death, by }, .. }
            | CellEnd::Cancelled { fate: KernelFate::Ended { death, by }, .. }
            | CellEnd::Unheard { fate: KernelFate::Ended { death, by } } => (death, Some(*by)),
            _ => return Value::Null,
        };
        let cause = death.cause.to_string();
        let by = by.map(step);
        let strays = death.strays.iter().map(|stray| {
            let is_alive = stray.fate == Fate::Alive;
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

fn step(rung: Rung) -> &'static str {
    match rung {
        Rung::Interrupt => "SIGINT",
        Rung::Terminate => "SIGTERM",
        Rung::Kill | Rung::Answer => "SIGKILL",
    }
}

fn stopped(fate: &KernelFate) -> String {
    match fate {
        KernelFate::Alive => "the kernel listened to the interrupt.".to_owned(),
        KernelFate::Ended { by: Rung::Interrupt, death } => {
            format!("the kernel {} when it was interrupted.", died(death))
        }
        KernelFate::Ended { by, .. } => {
            format!("the kernel ignored the interrupt and was ended by {}.", step(*by))
        }
        KernelFate::NotEnded => "the kernel could not be ended in time.".to_owned(),
    }
}

/// What follows "the kernel".
fn died(death: &Death) -> String {
    let verb = match death.cause {
        DeathCause::Signal { .. } | DeathCause::OutOfMemory | DeathCause::IgnoredInterrupt => {
            "was "
        }
        _ => "",
    };
    let said = death.stderr_tail.trim_end();
    let said = if said.is_empty() { String::new() } else { format!("; it said:\n{said}") };
    format!("{verb}{}{said}", death.cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn death(cause: DeathCause) -> Death {
        Death { cause, stderr_tail: String::new(), strays: Vec::new() }
    }

    fn summary(end: CellEnd) -> Summary {
        Summary {
            end,
            death: None,
            undelivered_bytes: 0,
            took: Duration::ZERO,
            hint: None,
            python: Value::Null,
        }
    }

    fn timed_out(millis: u64, fate: KernelFate) -> CellEnd {
        CellEnd::TimedOut { after: Duration::from_millis(millis), fate, stopped: None }
    }

    fn ended(by: Rung) -> KernelFate {
        KernelFate::Ended { by, death: death(DeathCause::IgnoredInterrupt) }
    }

    /// B:X-22 B:X-25 F-001 F-004
    #[test]
    fn every_end_has_its_sentence_and_its_code() {
        let table = [
            (CellEnd::Ok, None, Exit::Ok),
            (CellEnd::PythonError(PyError::default()), None, Exit::Failed),
            (
                CellEnd::InputRefused { error: None },
                Some("Kernel requested stdin; interactive input is not supported."),
                Exit::Failed,
            ),
            (
                timed_out(5000, KernelFate::Alive),
                Some("Command timed out after 5 seconds; the kernel listened to the interrupt."),
                Exit::TimedOut,
            ),
            (
                timed_out(200, ended(Rung::Terminate)),
                Some(
                    "Command timed out after 1 seconds; the kernel ignored the interrupt and was \
                     ended by SIGTERM.",
                ),
                Exit::TimedOut,
            ),
            (
                timed_out(2600, ended(Rung::Kill)),
                Some(
                    "Command timed out after 3 seconds; the kernel ignored the interrupt and was \
                     ended by SIGKILL.",
                ),
                Exit::TimedOut,
            ),
            (
                timed_out(
                    1000,
                    KernelFate::Ended {
                        by: Rung::Interrupt,
                        death: death(DeathCause::Signal { signal: 2 }),
                    },
                ),
                Some(
                    "Command timed out after 1 seconds; the kernel was killed by signal 2 when it \
                     was interrupted.",
                ),
                Exit::TimedOut,
            ),
            (
                timed_out(1000, KernelFate::NotEnded),
                Some("Command timed out after 1 seconds; the kernel could not be ended in time."),
                Exit::TimedOut,
            ),
            (
                CellEnd::Cancelled { fate: KernelFate::Alive, stopped: None },
                Some("Interrupted; the kernel listened to the interrupt."),
                Exit::Failed,
            ),
            (
                CellEnd::KernelDied { death: death(DeathCause::Signal { signal: 9 }) },
                Some("the kernel was killed by signal 9"),
                Exit::KernelDied,
            ),
            (
                CellEnd::KernelDied { death: death(DeathCause::Exit { code: 3 }) },
                Some("the kernel exited with code 3"),
                Exit::KernelDied,
            ),
        ];
        for (end, sentence, exit) in table {
            let summary = summary(end);
            assert_eq!(summary.sentence().as_deref(), sentence);
            assert_eq!(summary.exit(), exit);
        }
    }

    /// F-010
    #[test]
    fn what_was_left_is_named() {
        let mut one = summary(CellEnd::Ok);
        let stray =
            |pid, fate| inkcell_engine::kernel::Stray { pid, program: "sleep".into(), fate };
        let strays = vec![stray(7, Fate::Ended), stray(8, Fate::Alive)];
        one.death = Some(Death { strays, ..death(DeathCause::Shutdown) });
        one.undelivered_bytes = 5;
        let wanted = [
            "process 7 (sleep) had left the kernel's group and was ended with it",
            "process 8 (sleep) had left the kernel's group and is still running",
            "5 bytes of output were dropped, because nobody read them",
        ];
        assert_eq!(one.notes(), wanted);
    }
}
