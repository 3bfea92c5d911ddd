//! Filters the parent's environment for a kernel: a list of names passes; secrets never do.
//!
//! Owns the filter, and which variable code missed because of it. It is pure: the
//! parent's environment comes in as a value. It must not know sessions or how a process starts.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use crate::event::PyError;

mod names;
mod pattern;
#[cfg(test)]
mod tests;

pub use names::MANAGED;
pub(crate) use names::names_a_secret;
use names::{
    ALLOWED, ALLOWED_PREFIXES, ALLOWED_PYTHON, ALLOWED_SUFFIXES, ALLOWED_WINDOWS, Addresses,
    DENIED, PROXIES, is_never_passed, is_own_secret, names_an_index_user, without_userinfo,
};
use pattern::glob_matches;
pub use pattern::{EnvPattern, PatternError};

/// The environment that inkcell was started with, without variables that are not UTF-8.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ParentEnv {
    vars: BTreeMap<String, String>,
    not_text: BTreeSet<String>,
}

impl ParentEnv {
    /// Reads the variables of the system. It leaves out those that are not UTF-8, and records their names.
    pub fn from_os(vars: impl IntoIterator<Item = (OsString, OsString)>) -> ParentEnv {
        let mut parent = ParentEnv::default();
        for (name, value) in vars {
            match (name.into_string(), value.into_string()) {
                (Ok(name), Ok(value)) => {
                    parent.vars.insert(name, value);
                }
                (Ok(name), Err(_)) => {
                    parent.not_text.insert(name);
                }
                (Err(name), _) => {
                    parent.not_text.insert(name.to_string_lossy().into_owned());
                }
            }
        }
        parent
    }

    /// The value of a variable. An empty value counts as absent, as in shells and tools.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Each variable as name and value, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.vars.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl From<BTreeMap<String, String>> for ParentEnv {
    fn from(vars: BTreeMap<String, String>) -> ParentEnv {
        ParentEnv { vars, not_text: BTreeSet::new() }
    }
}

/// How much passes by default (`env.mode`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EnvMode {
    /// The variables in the tables: the rule for sessions of the MCP server and the host.
    #[default]
    Filtered,
    /// Everything but inkcell's own secrets, as for a command typed in a shell; also `--env-all`.
    Inherit,
}

/// The rules that decide which variables pass.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EnvRules {
    /// The default for names that no pattern selects.
    pub mode: EnvMode,
    /// The patterns from `--env` and `env.pass`. A later value for a name wins.
    pub pass: Vec<EnvPattern>,
}

/// The environment of a kernel, and the names of the variables that differ from the parent's.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ChildEnv {
    /// The whole environment; the kernel inherits nothing else.
    pub vars: BTreeMap<String, String>,
    /// Names that the parent has and the kernel does not get.
    pub withheld: BTreeSet<String>,
    /// Names that passed after their value lost its user and password.
    pub redacted: BTreeSet<String>,
    /// Names that the caller asked for and the parent does not have.
    pub missing: BTreeSet<String>,
    /// Names that could not pass, because a process cannot have such a name or value.
    pub unusable: BTreeSet<String>,
}

/// The environment for a kernel: the parent's variables by the rules, then the explicit ones.
///
/// `explicit` holds the managed variables and the caller's own map. It skips the filter (E-04).
pub fn child_environment(
    parent: &ParentEnv,
    rules: &EnvRules,
    explicit: &BTreeMap<String, String>,
) -> ChildEnv {
    let mut child = ChildEnv { unusable: parent.not_text.clone(), ..ChildEnv::default() };
    for (name, value) in &parent.vars {
        match verdict(name, rules) {
            Verdict::Withhold => {
                child.withheld.insert(name.clone());
            }
            Verdict::Pass => {
                child.vars.insert(name.clone(), value.clone());
            }
            Verdict::PassWithoutUserinfo(addresses) => {
                let clean = without_userinfo(value, addresses);
                if clean != *value {
                    child.redacted.insert(name.clone());
                }
                child.vars.insert(name.clone(), clean.into_owned());
            }
        }
    }
    for pattern in &rules.pass {
        match pattern {
            EnvPattern::Set { name, value } => child.give(name, value),
            EnvPattern::Name(name) if !parent.vars.contains_key(name) => {
                child.missing.insert(name.clone());
            }
            EnvPattern::Name(_) | EnvPattern::Glob(_) => {}
        }
    }
    for (name, value) in explicit {
        child.give(name, value);
    }
    child
}

impl ChildEnv {
    /// Sets a variable, unless a process cannot have it: a `=` in a name would set another variable.
    fn give(&mut self, name: &str, value: &str) {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            self.unusable.insert(name.to_owned());
            return;
        }
        self.withheld.remove(name);
        self.redacted.remove(name);
        self.missing.remove(name);
        self.vars.insert(name.to_owned(), value.to_owned());
    }
}

enum Verdict {
    Pass,
    PassWithoutUserinfo(Addresses),
    Withhold,
}

/// The order is the rule: withhold our own, pass what the user named, withhold the keys of the deny-list,
/// then apply globs, then the tables.
fn verdict(name: &str, rules: &EnvRules) -> Verdict {
    if is_never_passed(name) {
        return Verdict::Withhold;
    }
    if rules.pass.iter().any(|pattern| matches!(pattern, EnvPattern::Name(named) if named == name))
    {
        return Verdict::Pass;
    }
    if is_own_secret(name) {
        return Verdict::Withhold;
    }
    if rules.mode == EnvMode::Inherit {
        return Verdict::Pass;
    }
    if DENIED.contains(&name) {
        return Verdict::Withhold;
    }
    if rules
        .pass
        .iter()
        .any(|pattern| matches!(pattern, EnvPattern::Glob(g) if glob_matches(g, name)))
    {
        return Verdict::Pass;
    }
    if PROXIES.contains(&name) {
        return Verdict::PassWithoutUserinfo(Addresses::Bare);
    }
    if [ALLOWED, ALLOWED_PYTHON, ALLOWED_WINDOWS].iter().any(|names| names.contains(&name)) {
        return Verdict::Pass;
    }
    if names_a_secret(name) || names_an_index_user(name) {
        return Verdict::Withhold;
    }
    if ALLOWED_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        return Verdict::PassWithoutUserinfo(Addresses::InText);
    }
    if ALLOWED_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
        return Verdict::Pass;
    }
    Verdict::Withhold
}

/// The variable that a cell looked for when it failed with a `KeyError`, if the filter withheld it and may pass it.
pub fn missed_variable(withheld: &BTreeSet<String>, error: &PyError) -> Option<String> {
    if error.name != "KeyError" {
        return None;
    }
    // Python sets the message of a `KeyError` to the `repr` of the key.
    let key = error.value.trim();
    let quoted = |quote: char| key.strip_prefix(quote).and_then(|key| key.strip_suffix(quote));
    let name = quoted('\'').or_else(|| quoted('"'))?;
    (withheld.contains(name) && !is_never_passed(name)).then(|| name.to_owned())
}
