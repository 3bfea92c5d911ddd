//! The names that a kernel holds, and the execution that made each.
//!
//! Owns the way from the names of code to the values it saw. The comparison with the notebook happens elsewhere.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use inkcell_kernel::{BodyNames, CodeNames, Name};

use super::{EVERYTHING, ExecutionTrace, LAST_RAN, Saw};
use crate::types::Generation;

/// The names in a kernel, as far as recorded cells made them.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct KernelNames {
    kernel: Option<Generation>,
    makers: HashMap<Name, Maker>,
    /// The last execution that may have made everything.
    all: Option<u64>,
    /// Executions whose work was done in this kernel.
    done: HashSet<u64>,
    /// The greatest number of any execution, in whatever kernel.
    last: u64,
}

#[derive(Clone, PartialEq, Debug)]
struct Maker {
    made: u64,
    /// The names in its body, if it is a function.
    later: Option<BodyNames>,
}

/// An execution that has ended.
#[derive(Clone, Copy)]
pub(crate) struct EndedExecution<'a> {
    pub(crate) names: Option<&'a CodeNames>,
    /// The time, which keeps its number apart from those of executions on other machines.
    pub(crate) micros: u64,
    /// An earlier execution of the same source, whose work this one may have repeated.
    pub(crate) again: Option<&'a ExecutionTrace>,
    /// Returns true if the cell whose last execution made this stands above.
    pub(crate) is_above: &'a dyn Fn(u64) -> bool,
    /// Number of the last execution above. Set only if the names of this one are unknown and all cells above ran in
    /// this kernel.
    pub(crate) last_above: Option<u64>,
}

impl KernelNames {
    /// Switches to this kernel; names held by another are lost with it.
    pub(crate) fn in_kernel(&mut self, kernel: Option<&Generation>) {
        if self.kernel.as_ref() != kernel {
            *self =
                KernelNames { kernel: kernel.cloned(), last: self.last, ..KernelNames::default() };
        }
    }

    /// Switches to a copy of the kernel, which holds the same.
    pub(crate) fn go_on_in(&mut self, copy: &Generation) {
        self.kernel = Some(copy.clone());
    }

    /// The greatest number of an execution so far.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Makes later executions get greater numbers than this one.
    pub(crate) fn after(&mut self, ran: u64) {
        self.last = self.last.max(ran);
    }

    /// Adds the results of an execution.
    pub(crate) fn take(&mut self, trace: &ExecutionTrace) {
        self.in_kernel(Some(&trace.kernel));
        self.after(trace.ran);
        let made = trace.made();
        self.done.insert(made);
        let Some(makes) = &trace.makes else {
            self.makers.clear();
            self.all = Some(made);
            return;
        };
        for name in makes {
            let later = trace.later.get(name).cloned();
            self.makers.insert(name.clone(), Maker { made, later });
        }
    }

    /// Marks names as results of `made`, a known execution or one of the future.
    pub(super) fn put<'a>(&mut self, made: u64, names: impl IntoIterator<Item = &'a Name>) {
        self.done.insert(made);
        for name in names {
            self.makers.insert(name.clone(), Maker { made, later: None });
        }
    }

    /// Marks everything as a possible result of a future execution.
    pub(super) fn put_all(&mut self, made: u64) {
        self.done.insert(made);
        self.makers.clear();
        self.all = Some(made);
    }

    /// The execution that made a name.
    pub(crate) fn maker(&self, name: &str) -> Option<u64> {
        self.makers.get(name).map(|maker| maker.made).or(self.all)
    }

    /// The last execution that may have made everything, and the names that others have made since.
    pub(super) fn maker_of_all(&self) -> (Option<u64>, impl Iterator<Item = &Name>) {
        (self.all, self.makers.keys())
    }

    /// Returns true if this work was done in the kernel, even if its results are gone.
    pub(crate) fn has_done(&self, made: u64) -> bool {
        self.done.contains(&made)
    }

    /// Names whose earlier value code replaces or deletes without reading it, also in the functions that it calls.
    pub(crate) fn overwritten<'a>(&'a self, names: &'a CodeNames) -> BTreeSet<&'a str> {
        let body = |name: &str| self.makers.get(name).and_then(|maker| maker.later.as_ref());
        let Closure { makes, reads, .. } = closure(names, body);
        makes.difference(&reads).copied().collect()
    }

    /// Makes the trace of an execution and adds its results.
    pub(crate) fn end(&mut self, kernel: &Generation, ended: EndedExecution<'_>) -> ExecutionTrace {
        self.in_kernel(Some(kernel));
        let ran = ended.micros.max(self.last.saturating_add(1)).min(LAST_RAN);
        let mut trace = ExecutionTrace {
            kernel: kernel.clone(),
            ran,
            made: None,
            saw: Saw::default(),
            makes: None,
            later: BTreeMap::new(),
            files: Vec::new(),
        };
        match ended.names {
            Some(names) => {
                let body =
                    |name: &str| self.makers.get(name).and_then(|maker| maker.later.as_ref());
                let Closure { uses, makes, own, .. } = closure(names, body);
                // The cell would not find a value that a cell below or elsewhere left.
                let from_above =
                    |name: &str| self.maker(name).filter(|made| (ended.is_above)(*made));
                let saw = |name: &str| match own.contains(name) {
                    true => from_above(name),
                    false => self.maker(name),
                };
                trace.saw = uses.iter().map(|name| (Name::from(*name), saw(name))).collect();
                trace.makes = Some(makes.into_iter().map(Name::from).collect());
                (trace.later, trace.files) = (names.later.clone(), names.files.clone());
            }
            None => {
                trace.saw = [(Name::const_new(EVERYTHING), ended.last_above)].into_iter().collect();
            }
        }
        // The same inputs give the same results. Otherwise no repeated cell could ever count as unchanged.
        let is_again = |old: &&ExecutionTrace| old.saw == trace.saw && old.makes == trace.makes;
        trace.made = ended.again.filter(is_again).map(ExecutionTrace::made);
        self.take(&trace);
        trace
    }
}

/// All names that code uses and makes, including those of the functions it calls, transitively.
pub(super) struct Closure<'a> {
    pub(super) uses: BTreeSet<&'a str>,
    pub(super) makes: BTreeSet<&'a str>,
    /// Uses that the code does not need: it binds them itself on some path, or functions use them that it may not call.
    pub(super) own: BTreeSet<&'a str>,
    /// Uses whose earlier value the code reads, as far as its names tell: it needs more than to bind or delete them.
    pub(super) reads: BTreeSet<&'a str>,
}

pub(super) fn closure<'a>(
    names: &'a CodeNames,
    body: impl Fn(&str) -> Option<&'a BodyNames>,
) -> Closure<'a> {
    let texts = |names: &'a [Name]| names.iter().map(Name::as_str);
    let mut makes: BTreeSet<&str> = texts(&names.makes).collect();
    let direct: BTreeSet<&str> = texts(&names.uses).collect();
    // A name that the code has made before is its own.
    let is_among = |names: &[Name], name: &str| names.iter().any(|one| one == name);
    let is_made = |name: &&str| !direct.contains(name) && is_among(&names.makes, name);
    let is_in_body = |name: &str| names.later.values().any(|body| is_among(&body.uses, name));
    let is_bound = |name: &str| is_among(&names.own, name) && !is_in_body(name);
    let is_read = |name: &&str| !is_bound(name) && !is_among(&names.deletes, name);
    let mut reads: BTreeSet<&str> = direct.iter().copied().filter(is_read).collect();
    let mut uses = BTreeSet::new();
    let mut open: Vec<&str> = direct.iter().copied().collect();
    while let Some(name) = open.pop() {
        if !uses.insert(name) {
            continue;
        }
        let Some(body) = body(name) else { continue };
        // Until a function binds a name, it uses the earlier value.
        let taken = texts(&body.uses).chain(texts(&body.makes));
        open.extend(taken.filter(|name| !is_made(name)));
        reads.extend(texts(&body.uses).filter(|name| !is_made(name)));
        makes.extend(texts(&body.makes));
    }
    let is_needed = |name: &&str| direct.contains(name) && !is_among(&names.own, name);
    let own = uses.iter().copied().filter(|name| !is_needed(name)).collect();
    Closure { uses, makes, own, reads }
}
