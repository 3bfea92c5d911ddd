//! How many rows run at once.
//!
//! Owns the number and what is said about it. What the machine has is told; it must not look.

/// What somebody asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    /// Nothing.
    Usual,
    Jobs(usize),
}

/// What there is to run on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    /// How many bytes of memory are free, where that is known and matters.
    pub(crate) free: Option<u64>,
}

impl Machine {
    /// How many kernels there is memory for.
    fn room(self) -> Option<usize> {
        let kernels = self.free? / KERNEL_BYTES;
        Some(usize::try_from(kernels).unwrap_or(usize::MAX).max(1))
    }
}

/// How many run at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Width {
    pub(crate) jobs: usize,
}

/// What a kernel with the usual libraries takes. One that works on much data takes more, which nobody can know before.
const KERNEL_BYTES: u64 = 200 << 20;

impl Width {
    /// As many as was asked for, whatever there is; where nobody asked, as many as there are cores and memory for.
    pub(crate) fn of(asked: Asked, machine: Machine, rows: usize) -> Width {
        let wanted = match asked {
            Asked::Jobs(jobs) => jobs,
            Asked::Usual => machine.room().map_or(machine.cores, |room| room.min(machine.cores)),
        };
        // More than there is to do would do nothing.
        Width { jobs: wanted.clamp(1, rows.max(1)) }
    }

    /// That it may be too many, in a sentence; nothing where nobody asked.
    pub(crate) fn doubt(self, asked: Asked, machine: Machine) -> Option<String> {
        let (Asked::Jobs(_), Some(free), Some(room)) = (asked, machine.free, machine.room()) else {
            return None;
        };
        let jobs = self.jobs;
        (room < jobs).then(|| {
            format!(
                "{jobs} run at once as asked, and {} MB of memory are free; if that is too little, give -j {room}",
                free >> 20
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was asked for is what runs; what nobody asked for fits the machine.
    #[test]
    fn as_many_run_as_were_asked_for() {
        let free = |kernels: u64| Some(kernels * KERNEL_BYTES);
        let machine = |cores, free| Machine { cores, free };
        let table = [
            (Asked::Usual, machine(4, free(100)), 20, 4, None),
            (Asked::Usual, machine(16, free(100)), 20, 16, None),
            (Asked::Usual, machine(16, free(3)), 20, 3, None),
            (Asked::Usual, machine(16, None), 20, 16, None),
            (Asked::Jobs(3), machine(4, free(100)), 2, 2, None),
            (Asked::Jobs(32), machine(4, free(100)), 50, 32, None),
            (
                Asked::Jobs(6),
                machine(4, free(2)),
                50,
                6,
                Some(
                    "6 run at once as asked, and 400 MB of memory are free; if that is too little, give -j 2",
                ),
            ),
            (Asked::Jobs(32), machine(2, None), 50, 32, None),
            (Asked::Jobs(0), machine(2, Some(0)), 0, 1, None),
        ];
        for (asked, machine, rows, jobs, doubt) in table {
            let width = Width::of(asked, machine, rows);
            assert_eq!((width.jobs, width.doubt(asked, machine).as_deref()), (jobs, doubt));
        }
    }
}
