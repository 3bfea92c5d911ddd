//! Every setting: its name, what it may be, what it is when nothing is said, and who may say it.
//!
//! Owns the table. The documentation, the messages about values and the order of sources are all made from
//! it; nothing else knows a setting by its name in text.

use super::value::Kind;

/// Names one setting in code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    PythonInterpreter,
    PythonShell,
    PythonPrelude,
    PythonPreload,
    PythonProjectModules,
    PythonStartTimeout,
    KernelZygote,
    KernelInterruptGrace,
    EnvMode,
    EnvPass,
    StateDir,
    NotebookMaxBytes,
    NotebookTextIds,
}

/// Whether the file of a project may set it. What could widen what code may see, or lead files elsewhere,
/// is for the user alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProjectFile {
    May,
    MayNot,
}

/// One setting.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) key: Key,
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// As it would be written in a variable; empty when there is none.
    pub(crate) default: &'static str,
    /// Names of variables without their prefix, the first one first.
    variables: &'static [&'static str],
    pub(crate) project_file: ProjectFile,
    pub(crate) about: &'static str,
}

/// What a variable's name begins with; the first one wins.
pub(crate) const PREFIXES: [&str; 2] = ["INKCELL_", "PI_"];

impl Row {
    /// The variables that set it, the one that counts most first.
    pub(crate) fn variables(&self) -> impl Iterator<Item = String> {
        let names = self.variables.iter();
        names.flat_map(|name| PREFIXES.iter().map(move |prefix| format!("{prefix}{name}")))
    }
}

/// In the order of the keys, which a test holds.
pub(crate) static TABLE: [Row; 13] = [
    Row {
        key: Key::PythonInterpreter,
        name: "python.interpreter",
        kind: Kind::Text("the path of an interpreter or of an environment, or a name on PATH"),
        default: "",
        variables: &["PYTHON_INTERPRETER"],
        project_file: ProjectFile::May,
        about: "The Python that runs code. Without it: VIRTUAL_ENV, CONDA_PREFIX, .venv and venv of the \
                working folder, the managed environment, then python and python3 on PATH.",
    },
    Row {
        key: Key::PythonShell,
        name: "python.shell",
        kind: Kind::Choice(&["lite", "ipython"]),
        default: "lite",
        variables: &["PYTHON_SHELL"],
        project_file: ProjectFile::May,
        about: "Whose rules cells follow: inkcell's own shell, which needs nothing, or the interpreter's \
                own IPython.",
    },
    Row {
        key: Key::PythonPrelude,
        name: "python.prelude",
        kind: Kind::Choice(&["full", "minimal", "off"]),
        default: "full",
        variables: &["PYTHON_PRELUDE"],
        project_file: ProjectFile::May,
        about: "Which helper functions a kernel starts with: all, those for the shell and for displays, \
                or none.",
    },
    Row {
        key: Key::PythonPreload,
        name: "python.preload",
        kind: Kind::List("names of modules"),
        default: "",
        variables: &["PYTHON_PRELOAD"],
        project_file: ProjectFile::May,
        about: "Modules a fork server imports ahead, so that kernels copied from it have them at once.",
    },
    Row {
        key: Key::PythonProjectModules,
        name: "python.project_modules",
        kind: Kind::Choice(&["on", "off"]),
        default: "on",
        variables: &["PYTHON_PROJECT_MODULES"],
        project_file: ProjectFile::May,
        about: "Whether a kernel loads the Python files of .inkcell/modules, .omp/modules and .pi/modules \
                in its working folder.",
    },
    Row {
        key: Key::PythonStartTimeout,
        name: "python.start_timeout",
        kind: Kind::Seconds,
        default: "30",
        variables: &["PYTHON_START_TIMEOUT"],
        project_file: ProjectFile::May,
        about: "How long a kernel may take to be ready.",
    },
    Row {
        key: Key::KernelZygote,
        name: "kernel.zygote",
        kind: Kind::Choice(&["on", "off"]),
        default: "on",
        variables: &["KERNEL_ZYGOTE"],
        project_file: ProjectFile::May,
        about: "Whether kernels are copied from a fork server where that is possible. A command that runs \
                once starts its kernel by itself.",
    },
    Row {
        key: Key::KernelInterruptGrace,
        name: "kernel.interrupt_grace",
        kind: Kind::Seconds,
        default: "3",
        variables: &["KERNEL_INTERRUPT_GRACE"],
        project_file: ProjectFile::May,
        about: "How long code may take to listen to interrupts before its kernel is ended.",
    },
    Row {
        key: Key::EnvMode,
        name: "env.mode",
        kind: Kind::Choice(&["filtered", "inherit"]),
        default: "inherit",
        variables: &["ENV_MODE"],
        project_file: ProjectFile::MayNot,
        about: "What of the environment code gets: what the filter lets pass, or all of it as any command \
                in a shell does. inkcell's own secrets never pass.",
    },
    Row {
        key: Key::EnvPass,
        name: "env.pass",
        kind: Kind::Patterns,
        default: "",
        variables: &["ENV_PASS"],
        project_file: ProjectFile::MayNot,
        about: "Variables that pass the filter: NAME, NAME=VALUE, or a glob such as AWS_*.",
    },
    Row {
        key: Key::StateDir,
        name: "state.dir",
        kind: Kind::Text("the path of a folder"),
        default: "",
        variables: &["STATE_DIR"],
        project_file: ProjectFile::MayNot,
        about: "Where locks, versions, the managed environment and what else outlives a command are kept. \
                Without it: $XDG_STATE_HOME/inkcell, else ~/.local/state/inkcell, else a private folder \
                for temporary files.",
    },
    Row {
        key: Key::NotebookMaxBytes,
        name: "notebook.max_bytes",
        kind: Kind::Bytes,
        default: "2147483648",
        variables: &["NOTEBOOK_MAX_BYTES"],
        project_file: ProjectFile::May,
        about: "The largest notebook that is read.",
    },
    Row {
        key: Key::NotebookTextIds,
        name: "notebook.text_ids",
        kind: Kind::Choice(&["auto", "off"]),
        default: "auto",
        variables: &["NOTEBOOK_TEXT_IDS", "TEXT_IDS"],
        project_file: ProjectFile::May,
        about: "Whether markers in a notebook's text carry the ids of cells where that is possible.",
    },
];

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
        for row in TABLE.iter().filter(|row| !row.default.is_empty()) {
            assert!(row.kind.read(row.default).is_ok(), "{}", row.name);
        }
    }

    #[test]
    fn our_own_spelling_of_a_variable_comes_first() {
        let names: Vec<String> = TABLE[Key::NotebookTextIds as usize].variables().collect();
        let wanted = [
            "INKCELL_NOTEBOOK_TEXT_IDS",
            "PI_NOTEBOOK_TEXT_IDS",
            "INKCELL_TEXT_IDS",
            "PI_TEXT_IDS",
        ];
        assert_eq!(names, wanted);
    }

    /// B:C-08
    #[test]
    fn a_project_cannot_widen_what_code_may_see() {
        for row in &TABLE {
            let is_for_user = row.name.starts_with("env.") || row.name.starts_with("state.");
            assert_eq!(row.project_file == ProjectFile::MayNot, is_for_user, "{}", row.name);
        }
    }
}
