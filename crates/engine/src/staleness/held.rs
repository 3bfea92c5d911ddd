//! What a kernel holds: which execution has made each of its names.
//!
//! Owns the way from the names of code to what it saw. What it is compared with is the notebook, elsewhere.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use inkcell_kernel::{BodyNames, CodeNames, Name};

use super::{EVERYTHING, Generation, LAST_RAN, Saw, Trace};

/// What a kernel holds, as far as it comes from cells that are on record.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Held {
    kernel: Option<Generation>,
    makers: HashMap<Name, Maker>,
    /// The last execution that may have made everything.
    all: Option<u64>,
    /// What was done in it.
    done: HashSet<u64>,
    /// The greatest number of an execution, in whatever kernel.
    last: u64,
}

#[derive(Clone, PartialEq, Debug)]
struct Maker {
    made: u64,
    /// What its body takes, if it is a function.
    later: Option<BodyNames>,
}

/// An execution that has ended.
#[derive(Clone, Copy)]
pub(crate) struct Ended<'a> {
    pub(crate) names: Option<&'a CodeNames>,
    /// The time, by which executions on other machines are told apart from those here.
    pub(crate) micros: u64,
    /// The execution of the same source whose work it was to do again.
    pub(crate) again: Option<&'a Trace>,
    /// Whether the cell whose last execution made this stands above it.
    pub(crate) is_above: &'a dyn Fn(u64) -> bool,
    /// The last of all executions of the cells above it, where its names are unknown and all of them were done here.
    pub(crate) last_above: Option<u64>,
}

impl Held {
    /// The kernel is this one; what another held is gone with it.
    pub(crate) fn in_kernel(&mut self, kernel: Option<&Generation>) {
        if self.kernel.as_ref() != kernel {
            *self = Held { kernel: kernel.cloned(), last: self.last, ..Held::default() };
        }
    }

    /// The kernel is a copy of the one that holds this.
    pub(crate) fn go_on_in(&mut self, copy: &Generation) {
        self.kernel = Some(copy.clone());
    }

    /// The greatest number of an execution so far.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Executions yet to come have greater numbers than this one.
    pub(crate) fn after(&mut self, ran: u64) {
        self.last = self.last.max(ran);
    }

    /// Takes what an execution made.
    pub(crate) fn take(&mut self, trace: &Trace) {
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

    /// A name is what an execution yet to come will have made, or one that is known.
    pub(super) fn put<'a>(&mut self, made: u64, names: impl IntoIterator<Item = &'a Name>) {
        self.done.insert(made);
        for name in names {
            self.makers.insert(name.clone(), Maker { made, later: None });
        }
    }

    /// Everything may be what an execution yet to come will have made.
    pub(super) fn put_all(&mut self, made: u64) {
        self.done.insert(made);
        self.makers.clear();
        self.all = Some(made);
    }

    /// The execution that a name comes from.
    pub(crate) fn maker(&self, name: &str) -> Option<u64> {
        self.makers.get(name).map(|maker| maker.made).or(self.all)
    }

    /// Whether this was done here, whatever became of it since.
    pub(crate) fn has_done(&self, made: u64) -> bool {
        self.done.contains(&made)
    }

    /// What there is to record of an execution, which is part of what is held from now on.
    pub(crate) fn end(&mut self, kernel: &Generation, ended: Ended<'_>) -> Trace {
        self.in_kernel(Some(kernel));
        let ran = ended.micros.max(self.last.saturating_add(1)).min(LAST_RAN);
        let mut trace = Trace {
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
                let Closure { uses, makes, own } = closure(names, body);
                // What is left of another cell than those above is nothing that the cell would find.
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
        // On the same it has done the same, or the notebook could not be told from what it was.
        let is_again = |old: &&Trace| old.saw == trace.saw && old.makes == trace.makes;
        trace.made = ended.again.filter(is_again).map(Trace::made);
        self.take(&trace);
        trace
    }
}

/// All names that code uses and makes, with those of the functions it uses, and of those that they use.
pub(super) struct Closure<'a> {
    pub(super) uses: BTreeSet<&'a str>,
    pub(super) makes: BTreeSet<&'a str>,
    /// Uses that it does not need: it binds them itself on some way, or functions use them that may not have been called.
    pub(super) own: BTreeSet<&'a str>,
}

pub(super) fn closure<'a>(
    names: &'a CodeNames,
    body: impl Fn(&str) -> Option<&'a BodyNames>,
) -> Closure<'a> {
    let texts = |names: &'a [Name]| names.iter().map(Name::as_str);
    let mut makes: BTreeSet<&str> = texts(&names.makes).collect();
    let direct: BTreeSet<&str> = texts(&names.uses).collect();
    // What the code itself has made before is its own.
    let is_among = |names: &[Name], name: &str| names.iter().any(|one| one == name);
    let is_made = |name: &&str| !direct.contains(name) && is_among(&names.makes, name);
    let mut uses = BTreeSet::new();
    let mut open: Vec<&str> = direct.iter().copied().collect();
    while let Some(name) = open.pop() {
        if !uses.insert(name) {
            continue;
        }
        let Some(body) = body(name) else { continue };
        // Where it binds a name, what was there before is used as long as it has not.
        let taken = texts(&body.uses).chain(texts(&body.makes));
        open.extend(taken.filter(|name| !is_made(name)));
        makes.extend(texts(&body.makes));
    }
    let is_needed = |name: &&str| direct.contains(name) && !is_among(&names.own, name);
    let own = uses.iter().copied().filter(|name| !is_needed(name)).collect();
    Closure { uses, makes, own }
}
