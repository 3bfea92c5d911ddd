//! The exit code that a cell shows.
//!
//! Owns the numbers. The sentences are in `words.rs`.

use inkcell_engine::api::{EndReport, State};
use inkcell_engine::kernel::{Death, DeathCause};

/// The code in `(exit n)` (B:X-20). `None` for a cell that was cancelled or ended well.
pub(super) fn exit_code(state: State, end: Option<&EndReport>) -> Option<i32> {
    match (state, end) {
        (_, Some(EndReport::Died(Death { cause: DeathCause::Exit { code }, .. }))) => Some(*code),
        (State::Error | State::InputRefused | State::KernelDied, _) => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B:X-20
    #[test]
    fn only_what_failed_by_itself_has_an_exit_code() {
        let exit = EndReport::Died(Death {
            cause: DeathCause::Exit { code: 3 },
            stderr_tail: String::new(),
            strays: Vec::new(),
        });
        assert_eq!(exit_code(State::KernelDied, Some(&exit)), Some(3));
        assert_eq!(exit_code(State::Error, None), Some(1));
        for state in [State::Done, State::Cancelled, State::TimedOut, State::Running] {
            assert_eq!(exit_code(state, None), None);
        }
    }
}
