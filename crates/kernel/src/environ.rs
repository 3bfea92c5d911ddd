//! What of the parent's environment a kernel gets: a list of what may pass; secrets never.
//!
//! Owns the filter and the sentence that says how to pass what it withheld. It is pure: the parent's
//! environment comes in as a value. It must not know sessions or how a process is started.

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
pub use pattern::{Pattern, PatternError};

/// The environment inkcell was started with, as far as it is text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ParentEnv {
    vars: BTreeMap<String, String>,
    not_text: BTreeSet<String>,
}

impl ParentEnv {
    /// Takes what the system gives; variables that are not UTF-8 are left out and named.
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

    /// The value of a variable; an empty one counts as absent, as shells and tools have it.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Every variable that is text.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.vars.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl From<BTreeMap<String, String>> for ParentEnv {
    fn from(vars: BTreeMap<String, String>) -> ParentEnv {
        ParentEnv { vars, not_text: BTreeSet::new() }
    }
}

/// How much passes without being asked for (`env.mode`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EnvMode {
    /// What the tables allow: the rule for sessions of the MCP server and the host.
    #[default]
    Filtered,
    /// Everything but our own secrets, as any command typed in a shell has it; also `--env-all`.
    Inherit,
}

/// What is to pass.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EnvRules {
    /// Without being asked for.
    pub mode: EnvMode,
    /// Asked for, by `--env` and `env.pass`. A later value for a name wins.
    pub pass: Vec<Pattern>,
}

/// The environment of a kernel, and what became of the rest.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChildEnv {
    /// All of it; nothing else is inherited.
    pub vars: BTreeMap<String, String>,
    /// Names the parent has and the kernel does not get.
    pub withheld: BTreeSet<String>,
    /// Names that passed without the user and password that were in their value.
    pub redacted: BTreeSet<String>,
    /// Names asked for that the parent does not have.
    pub missing: BTreeSet<String>,
    /// Names that could not be passed because name or value is no text a process can get.
    pub unusable: BTreeSet<String>,
}

/// The environment for a kernel: the parent's by the rules, then what is explicitly given.
///
/// `explicit` is the managed variables and the caller's own map; it is added after the filter (E-04).
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
            Pattern::Set { name, value } => child.give(name, value),
            Pattern::Name(name) if !parent.vars.contains_key(name) => {
                child.missing.insert(name.clone());
            }
            Pattern::Name(_) | Pattern::Glob(_) => {}
        }
    }
    for (name, value) in explicit {
        child.give(name, value);
    }
    child
}

impl ChildEnv {
    /// Sets a variable, unless no process can have it: a `=` in a name would set another one.
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

/// The order is the rule: ours never, then what a person named, then the keys nobody means to pass, then
/// families, then the tables.
fn verdict(name: &str, rules: &EnvRules) -> Verdict {
    if is_never_passed(name) {
        return Verdict::Withhold;
    }
    if rules.pass.iter().any(|pattern| matches!(pattern, Pattern::Name(named) if named == name)) {
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
    if rules.pass.iter().any(|pattern| matches!(pattern, Pattern::Glob(g) if glob_matches(g, name)))
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

/// How to pass a variable that code looked for and the filter withheld; none when that is not the case,
/// or when it never passes.
pub fn withheld_hint(withheld: &BTreeSet<String>, name: &str) -> Option<String> {
    if !withheld.contains(name) || is_never_passed(name) {
        return None;
    }
    Some(format!(
        "{name} is set where inkcell was started, but the kernel does not get it. Pass it with \
         `--env {name}`, or list it in `env.pass` of your user settings."
    ))
}

/// The same for a cell that failed: a `KeyError` on a name that was withheld.
pub fn withheld_hint_for(withheld: &BTreeSet<String>, error: &PyError) -> Option<String> {
    if error.name != "KeyError" {
        return None;
    }
    // The message of a KeyError is the `repr` of the key.
    let key = error.value.trim();
    let quoted = |quote: char| key.strip_prefix(quote).and_then(|key| key.strip_suffix(quote));
    withheld_hint(withheld, quoted('\'').or_else(|| quoted('"'))?)
}
