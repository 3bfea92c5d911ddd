//! How many rows run at once.
//!
//! Owns the number and the note about it. The caller supplies the resources of the machine; this must not look them
//! up.

use crate::words;

/// How many rows the user wants to run at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Parallelism {
    Usual,
    Jobs(usize),
}

/// The resources to run on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    /// The free memory in bytes, if it is known and matters.
    pub(crate) free: Option<u64>,
}

impl Machine {
    /// How many kernels the free memory holds.
    fn room(self) -> Option<usize> {
        let kernels = self.free? / KERNEL_BYTES;
        Some(usize::try_from(kernels).unwrap_or(usize::MAX).max(1))
    }
}

/// How many rows run at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Width {
    pub(crate) jobs: usize,
}

/// The memory of a kernel with the usual libraries. One that works on much data takes more, which cannot be known
/// in advance.
const KERNEL_BYTES: u64 = 200 << 20;

impl Width {
    /// As many as the user asked for; by default, as many as cores and memory allow.
    pub(crate) fn of(asked: Parallelism, machine: Machine, rows: usize) -> Width {
        let wanted = match asked {
            Parallelism::Jobs(jobs) => jobs,
            Parallelism::Usual => {
                machine.room().map_or(machine.cores, |room| room.min(machine.cores))
            }
        };
        // More than one for each row would be idle.
        Width { jobs: wanted.clamp(1, rows.max(1)) }
    }

    /// A note that memory may not be enough; none for the default number.
    pub(crate) fn doubt(self, asked: Parallelism, machine: Machine) -> Option<String> {
        let (Parallelism::Jobs(_), Some(free), Some(room)) = (asked, machine.free, machine.room())
        else {
            return None;
        };
        let jobs = self.jobs;
        (room < jobs).then(|| words::batch::too_wide(&jobs, &(free >> 20), &room))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A requested number is used as it is; the default fits the machine.
    #[test]
    fn as_many_run_as_were_asked_for() {
        let free = |kernels: u64| Some(kernels * KERNEL_BYTES);
        let machine = |cores, free| Machine { cores, free };
        let table = [
            (Parallelism::Usual, machine(4, free(100)), 20, 4, None),
            (Parallelism::Usual, machine(16, free(100)), 20, 16, None),
            (Parallelism::Usual, machine(16, free(3)), 20, 3, None),
            (Parallelism::Usual, machine(16, None), 20, 16, None),
            (Parallelism::Jobs(3), machine(4, free(100)), 2, 2, None),
            (Parallelism::Jobs(32), machine(4, free(100)), 50, 32, None),
            (
                Parallelism::Jobs(6),
                machine(4, free(2)),
                50,
                6,
                Some(
                    "6 notebooks run at once, as you asked, with 400 MB of memory free; if that is too little, use -j 2",
                ),
            ),
            (Parallelism::Jobs(32), machine(2, None), 50, 32, None),
            (Parallelism::Jobs(0), machine(2, Some(0)), 0, 1, None),
        ];
        for (asked, machine, rows, jobs, doubt) in table {
            let width = Width::of(asked, machine, rows);
            assert_eq!((width.jobs, width.doubt(asked, machine).as_deref()), (jobs, doubt));
        }
    }
}
