//! Every setting: its name, its allowed values, its default, and which sources may set it.
//!
//! Owns the form of a row of the table and the lookup; `rows` holds the rows. The documentation, the messages about
//! values and the order of sources are all made from them; no other code knows a setting by its name in text.

use super::value::{Kind, Value};

mod rows;

pub(crate) use rows::TABLE;

/// Names one setting in code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    PythonInterpreter,
    PythonShell,
    PythonPrelude,
    PythonPreload,
    PythonProjectModules,
    PythonStartTimeout,
    PythonTimeout,
    PythonToolMode,
    PythonKernelMode,
    PythonBackend,
    PythonSharedGateway,
    PythonSkipCheck,
    PythonIpcTrace,
    GatewayUrl,
    GatewayToken,
    GatewayTokenFile,
    GatewayInsecure,
    GatewayAuthorities,
    GatewayStartTimeout,
    GatewayIdleStop,
    HostUse,
    HostIdle,
    HttpToken,
    KernelZygote,
    KernelPool,
    KernelInterruptGrace,
    KernelRetry,
    KernelMaxSessions,
    KernelIdle,
    EnvMode,
    EnvPass,
    OutputBytes,
    OutputLines,
    OutputCallBytes,
    OutputCutBytes,
    OutputLineBytes,
    OutputImages,
    OutputImageBytes,
    OutputNotebookBytes,
    ArtifactsSessionBytes,
    ArtifactsTotalBytes,
    ArtifactsKeep,
    ResultsKeep,
    StateDir,
    NotebookMaxBytes,
    NotebookTextIds,
    NotebookRoots,
    ScreenGround,
    ScreenGlyphs,
    LogLevel,
    LogFile,
    DebugStartup,
}

/// The kind of client for which code is run, where the defaults differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Profile {
    /// A user who typed a command.
    CommandLine,
    /// An agent that uses our own tools, and the host behind them.
    Default,
    /// An agent that uses the tools of the source documents.
    Compat,
}

impl Profile {
    /// The place in which a default other than the usual one holds.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Profile::CommandLine => "on the command line",
            Profile::Default => "with the default tools",
            Profile::Compat => "with the compat tools",
        }
    }
}

/// The right of a project's file to set a setting. Settings that could widen the access of code, lead files or secrets
/// elsewhere, or end what other projects keep, are for the user alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProjectFile {
    /// For everything that this process does.
    May,
    /// For work inside the project, and its user is told (B:C-08).
    InsideAndTold,
    MayNot,
}

/// A variable of the source documents with words of its own. It takes precedence over everything else; an unknown
/// word is ignored.
#[derive(Debug)]
pub(crate) struct Override {
    variable: &'static str,
    /// The words that it may hold, and the value that each means.
    words: &'static [(&'static str, &'static str)],
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) key: Key,
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// The default as it would be written in a variable; empty for none.
    pub(crate) default: &'static str,
    /// The defaults of profiles that differ from the usual one.
    pub(crate) defaults_elsewhere: &'static [(Profile, &'static str)],
    /// Names of further variables, without their prefix, besides the name that follows from the setting.
    more_variables: &'static [&'static str],
    overridden_by: Option<&'static Override>,
    pub(crate) project_file: ProjectFile,
    pub(crate) about: &'static str,
}

/// The prefixes of variables; the first one takes precedence.
pub(crate) const PREFIXES: [&str; 2] = ["INKCELL_", "PI_"];

impl Row {
    /// The variables that set it, in order of precedence: all of our own spellings, then the others.
    pub(crate) fn variables(&self) -> Vec<String> {
        let own = self.variable_stem();
        let stems: Vec<&str> =
            std::iter::once(own.as_str()).chain(self.more_variables.iter().copied()).collect();
        let with = |prefix: &&str| stems.iter().map(|stem| format!("{prefix}{stem}")).collect();
        PREFIXES.iter().flat_map::<Vec<String>, _>(with).collect()
    }

    /// The variables that take precedence over everything else.
    pub(crate) fn overriding_variables(&self) -> Vec<String> {
        let stem = self.overridden_by.map(|by| by.variable);
        PREFIXES.iter().filter_map(|prefix| Some(format!("{prefix}{}", stem?))).collect()
    }

    /// The value for a word of an overriding variable, if the word has a meaning.
    pub(crate) fn overridden(&self, given: &str) -> Option<Value> {
        let words = self.overridden_by?.words;
        let known = |(word, _): &&(&str, &str)| word.eq_ignore_ascii_case(given.trim());
        let (_, meaning) = words.iter().find(known)?;
        self.kind.read(meaning).ok()
    }

    /// The default in this profile.
    pub(crate) fn default_in(&self, profile: Profile) -> Value {
        let elsewhere = self.defaults_elsewhere.iter().find(|(place, _)| *place == profile);
        let default = elsewhere.map_or(self.default, |(_, default)| default);
        if default.is_empty() {
            return Value::Unset;
        }
        self.kind.read(default).unwrap_or(Value::Unset)
    }

    /// Returns whether the key `name` of a file means this setting. `toolMode` and `tool_mode` are the same.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        is_same_name(self.name, name)
    }

    /// The name in upper case, with `_` between words: `python.toolMode` is `PYTHON_TOOL_MODE`.
    fn variable_stem(&self) -> String {
        let mut stem = String::new();
        for letter in self.name.chars() {
            match letter {
                '.' => stem.push('_'),
                'A'..='Z' => stem.extend(['_', letter]),
                _ => stem.push(letter.to_ascii_uppercase()),
            }
        }
        stem
    }
}

/// Returns whether two names differ only by how they join their words.
pub(crate) fn is_same_name(one: &str, other: &str) -> bool {
    let letters = |name: &str| -> Vec<u8> {
        name.bytes().filter(|byte| *byte != b'_').map(|byte| byte.to_ascii_lowercase()).collect()
    };
    letters(one) == letters(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_finds_its_own_row() {
        for (at, row) in TABLE.iter().enumerate() {
            assert_eq!(row.key as usize, at, "{} is out of place", row.name);
        }
    }

    #[test]
    fn every_default_is_a_value() {
        for row in &TABLE {
            let elsewhere = row.defaults_elsewhere.iter().map(|(_, default)| *default);
            for default in elsewhere.chain([row.default]).filter(|default| !default.is_empty()) {
                assert!(row.kind.read(default).is_ok(), "{}: {default}", row.name);
            }
        }
    }

    #[test]
    fn our_own_spelling_of_a_variable_comes_first() {
        let names = TABLE[Key::NotebookTextIds as usize].variables();
        let wanted = [
            "INKCELL_NOTEBOOK_TEXT_IDS",
            "INKCELL_TEXT_IDS",
            "PI_NOTEBOOK_TEXT_IDS",
            "PI_TEXT_IDS",
        ];
        assert_eq!(names, wanted);
    }

    /// B:C-02 B:C-05 B:C-07 B:G-01: the variables of the source documents work as they are given there.
    #[test]
    fn variables_of_the_source_documents_are_known() {
        let table = [
            ("PI_PYTHON_SKIP_CHECK", Key::PythonSkipCheck),
            ("PI_PYTHON_IPC_TRACE", Key::PythonIpcTrace),
            ("PI_DEBUG_STARTUP", Key::DebugStartup),
            ("PI_PYTHON_GATEWAY_URL", Key::GatewayUrl),
            ("PI_PYTHON_GATEWAY_TOKEN", Key::GatewayToken),
        ];
        for (variable, key) in table {
            let variables = TABLE[key as usize].variables();
            assert!(variables.iter().any(|known| known == variable), "{variable}");
        }
        let mode = &TABLE[Key::PythonToolMode as usize];
        assert_eq!(mode.overriding_variables(), ["INKCELL_PY", "PI_PY"]);
    }

    #[test]
    fn no_variable_sets_two() {
        let all =
            TABLE.iter().flat_map(|row| [row.variables(), row.overriding_variables()].concat());
        let mut all: Vec<String> = all.collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    /// B:C-01 B:C-06: names in the spelling of the source documents, and ours.
    #[test]
    fn both_ways_to_join_words_are_the_same() {
        let row = |name: &str| TABLE.iter().find(|row| row.is_called(name)).map(|row| row.key);
        let table = [
            ("python.toolMode", Some(Key::PythonToolMode)),
            ("python.tool_mode", Some(Key::PythonToolMode)),
            ("python.kernelMode", Some(Key::PythonKernelMode)),
            ("python.sharedGateway", Some(Key::PythonSharedGateway)),
            ("python.startTimeout", Some(Key::PythonStartTimeout)),
            ("python.toolmodes", None),
        ];
        for (name, key) in table {
            assert_eq!(row(name), key, "{name}");
        }
        let mut names: Vec<String> =
            TABLE.iter().map(|row| row.name.replace('_', "").to_lowercase()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), TABLE.len(), "two names are the same");
    }

    /// B:C-08
    #[test]
    fn a_project_cannot_widen_what_code_may_see() {
        for row in &TABLE {
            let is_for_user = ["env.", "state.", "gateway.", "host.", "log."]
                .iter()
                .any(|section| row.name.starts_with(section))
                || row.key == Key::NotebookRoots
                || matches!(row.key, Key::ArtifactsTotalBytes | Key::ArtifactsKeep)
                || matches!(row.kind, Kind::Secret(_) | Kind::Url);
            assert_eq!(row.project_file == ProjectFile::MayNot, is_for_user, "{}", row.name);
            let is_told = matches!(row.key, Key::PythonInterpreter | Key::PythonPreload);
            assert_eq!(row.project_file == ProjectFile::InsideAndTold, is_told, "{}", row.name);
        }
    }
}
