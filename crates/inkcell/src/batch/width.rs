//! How many rows run at once.
//!
//! Owns the bound and the reason for it. What the machine has is told; it must not look.

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
    /// How many kernels there may be here; none where they are elsewhere.
    pub(crate) kernels: Option<usize>,
    /// How many bytes of memory are free, where that is known and matters.
    pub(crate) free: Option<u64>,
}

/// How many run at once, and why not as many as was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Width {
    pub(crate) jobs: usize,
    pub(crate) bound: Option<Bound>,
}

/// What kept it smaller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bound {
    Kernels(usize),
    Memory(u64),
}

/// What a kernel with the usual libraries takes. One that works on much data takes more, which nobody can know before.
const KERNEL_BYTES: u64 = 200 << 20;

impl Width {
    pub(crate) fn of(asked: Asked, machine: Machine, rows: usize) -> Width {
        let wanted = match asked {
            Asked::Usual => machine.cores,
            Asked::Jobs(jobs) => jobs,
        };
        // More than there is to do is no wish that could be bounded.
        let wanted = wanted.clamp(1, rows.max(1));
        let mut width = Width { jobs: wanted, bound: None };
        if let Some(kernels) = machine.kernels
            && kernels.max(1) < width.jobs
        {
            width = Width { jobs: kernels.max(1), bound: Some(Bound::Kernels(kernels)) };
        }
        if let Some(free) = machine.free {
            let fits = usize::try_from(free / KERNEL_BYTES).unwrap_or(usize::MAX).max(1);
            if fits < width.jobs {
                width = Width { jobs: fits, bound: Some(Bound::Memory(free)) };
            }
        }
        width
    }

    /// Why there are fewer than were asked for, in a sentence; nothing where nobody asked.
    pub(crate) fn told(&self, asked: Asked) -> Option<String> {
        let Asked::Jobs(wanted) = asked else { return None };
        let jobs = self.jobs;
        Some(match self.bound? {
            Bound::Kernels(most) => format!(
                "{jobs} run at once and not {wanted}: kernel.max_sessions allows {most} kernels"
            ),
            Bound::Memory(free) => {
                format!("{jobs} run at once and not {wanted}: {} MB of memory are free", free >> 20)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_bound_counts_and_is_told() {
        let free = |kernels: u64| Some(kernels * KERNEL_BYTES);
        let machine = |cores, kernels, free| Machine { cores, kernels, free };
        let table = [
            (Asked::Usual, machine(4, Some(8), free(100)), 20, 4, None),
            (Asked::Usual, machine(16, Some(8), free(100)), 20, 8, None),
            (Asked::Jobs(3), machine(4, Some(8), free(100)), 2, 2, None),
            (
                Asked::Jobs(32),
                machine(4, Some(8), free(100)),
                50,
                8,
                Some("8 run at once and not 32: kernel.max_sessions allows 8 kernels"),
            ),
            (
                Asked::Jobs(6),
                machine(4, Some(8), free(2)),
                50,
                2,
                Some("2 run at once and not 6: 400 MB of memory are free"),
            ),
            (Asked::Jobs(32), machine(2, None, None), 50, 32, None),
            (Asked::Jobs(0), machine(2, Some(0), Some(0)), 0, 1, None),
        ];
        for (asked, machine, rows, jobs, told) in table {
            let width = Width::of(asked, machine, rows);
            assert_eq!((width.jobs, width.told(asked).as_deref()), (jobs, told));
        }
    }
}
