//! The scopes of a cell in Python, and the places where two names stand in them.
//!
//! Owns the rules by which Python finds a name: in the notebook, or in a function, a class or a comprehension.
//! `scopes/walk.rs` owns the grammar, `scopes/line.rs` the tokens of a statement. It runs no code, and must not know what callers do with a place.

mod line;
mod walk;

use std::ops::Range;

use walk::Walk;

/// Python itself refuses brackets that are nested deeper.
const MAX_DEPTH: usize = 200;

/// A place of a followed name in the Python of a cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NamePlace {
    /// Which of the followed names it is.
    pub(crate) name: usize,
    /// The bytes of the name in the source.
    pub(crate) span: Range<usize>,
    pub(crate) role: NameRole,
    pub(crate) form: NameForm,
    scope: usize,
}

/// The effect of a place on its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NameRole {
    Read,
    /// The name gets a value. `is_certain` is true if that happens whenever the code of its class runs.
    Bind {
        is_certain: bool,
    },
    Delete,
    /// The name stands in a `global` statement.
    Global,
    /// The name stands in a `nonlocal` statement.
    Nonlocal,
}

/// The syntax around a place, as far as another name would change it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NameForm {
    /// The name can be written differently and nothing else changes.
    Plain,
    /// `x` in `import x` and `from m import x`, which is also the name of the thing.
    Imported,
    /// `x` in `import m as x`, with the offset of `m`.
    Alias(usize),
    /// `x` in `import x.y`, which cannot be written with another name.
    Package,
}

/// The scope that a place of a name means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NameHome {
    /// The notebook, where all cells share their names.
    Notebook,
    /// A function, class or comprehension.
    Inner,
    /// A class or the notebook, depending on what ran before.
    Unclear,
}

/// A reason why the names of a cell cannot be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CodeFault {
    /// Offset in the source.
    pub(crate) offset: usize,
    /// The reason in a few words.
    pub(crate) problem: &'static str,
}

/// The scopes of a cell, and the places of two names in them.
pub(crate) struct NameScopes {
    /// The places in the order in which Python comes by them.
    pub(crate) places: Vec<NamePlace>,
    /// How often each name stands in magics and shell commands.
    pub(crate) in_commands: [usize; 2],
    scopes: Vec<Scope>,
    /// True for names such as `__x`, which Python changes inside classes.
    is_private: [bool; 2],
}

struct Scope {
    kind: ScopeKind,
    parent: usize,
    uses: [ScopeUse; 2],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScopeKind {
    Cell,
    Function,
    Class,
    Comprehension,
}

/// The effects of a scope on a name.
#[derive(Clone, Copy, Default)]
struct ScopeUse {
    is_bound: bool,
    is_deleted: bool,
    is_global: bool,
    is_nonlocal: bool,
    /// The first place that surely gives it a value.
    first_certain: Option<usize>,
    /// True if a place may give it a value.
    may_bind: bool,
}

impl NameScopes {
    /// Follows two names through the source of a cell.
    pub(crate) fn of(source: &str, names: [&str; 2]) -> Result<NameScopes, CodeFault> {
        Walk::new(source, names).cell()
    }

    fn new(names: [&str; 2]) -> NameScopes {
        let is_private = names.map(|name| name.starts_with("__") && !name.ends_with("__"));
        let mut new =
            NameScopes { places: Vec::new(), in_commands: [0; 2], scopes: Vec::new(), is_private };
        new.open(ScopeKind::Cell, 0);
        new
    }

    /// Adds a scope inside another one.
    fn open(&mut self, kind: ScopeKind, parent: usize) -> usize {
        self.scopes.push(Scope { kind, parent, uses: [ScopeUse::default(); 2] });
        self.scopes.len() - 1
    }

    fn add(&mut self, place: NamePlace) {
        let used = &mut self.scopes[place.scope].uses[place.name];
        match place.role {
            NameRole::Read => {}
            NameRole::Bind { is_certain } => {
                used.is_bound = true;
                used.may_bind |= !is_certain;
                let first = used.first_certain.or(is_certain.then_some(self.places.len()));
                used.first_certain = first;
            }
            NameRole::Delete => (used.is_bound, used.is_deleted) = (true, true),
            NameRole::Global => used.is_global = true,
            NameRole::Nonlocal => used.is_nonlocal = true,
        }
        self.places.push(place);
    }

    /// The scope that holds the name of the place at this position.
    pub(crate) fn home(&self, at: usize) -> NameHome {
        self.home_as(at, self.places[at].name)
    }

    /// The scope that the place at this position would mean if the other name stood there.
    pub(crate) fn home_of_other(&self, at: usize) -> NameHome {
        self.home_as(at, 1 - self.places[at].name)
    }

    fn home_as(&self, at: usize, name: usize) -> NameHome {
        let NamePlace { role, mut scope, .. } = self.places[at];
        if self.is_private[name] && self.is_in_class(scope) {
            return NameHome::Inner;
        }
        let mut is_own = true;
        loop {
            let Scope { kind, parent, uses } = &self.scopes[scope];
            let used = &uses[name];
            // What is inside a class does not see its names.
            let is_seen = is_own || *kind != ScopeKind::Class;
            if *kind == ScopeKind::Cell || is_seen && used.is_global {
                return NameHome::Notebook;
            }
            if is_seen && used.is_bound && !used.is_nonlocal {
                return match (kind, role) {
                    (ScopeKind::Class, NameRole::Read) => used.home_in_class(at),
                    _ => NameHome::Inner,
                };
            }
            (scope, is_own) = (*parent, false);
        }
    }

    fn is_in_class(&self, mut scope: usize) -> bool {
        loop {
            match self.scopes[scope].kind {
                ScopeKind::Class => return true,
                ScopeKind::Cell => return false,
                _ => scope = self.scopes[scope].parent,
            }
        }
    }
}

impl ScopeUse {
    /// The scope that a read means in a class that gives the name a value: until it does, the notebook.
    fn home_in_class(&self, at: usize) -> NameHome {
        match self.first_certain {
            _ if self.is_deleted => NameHome::Unclear,
            Some(first) if first < at => NameHome::Inner,
            _ if self.may_bind => NameHome::Unclear,
            _ => NameHome::Notebook,
        }
    }
}
