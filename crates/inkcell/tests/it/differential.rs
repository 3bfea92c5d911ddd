//! Outputs as nbclient with ipykernel stores them, over the notebooks in `tests/differential`.
//!
//! Owns which notebooks are compared together. The code to run, the rules of the comparison and the intended
//! differences are written there, in Python and in the table of `docs/reference/jupyter-differences.md`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use inkcell_testkit::env::{TestEnv, finish, names_in};
use inkcell_testkit::need;

use crate::env;

/// Makes a test of each group: its notebooks store the same as with Jupyter, except for the documented differences,
/// and these must occur.
macro_rules! groups {
    ($($group:ident: $($notebook:literal),+;)+) => {
        const GROUPS: &[&[&str]] = &[$(&[$($notebook),+]),+];
        $(
            #[test]
            fn $group() {
                compare(concat!("differential::", stringify!($group)), &[$($notebook),+]);
            }
        )+
    };
}

// Each takes about ten seconds of two cores, mostly in cells that draw or show tracebacks of pandas.
groups! {
    code: "async", "help", "helpers", "language", "names", "object", "reset";
    errors: "errors", "groups", "syntax", "warnings";
    figures: "figures";
    inline_figures: "figures_inline", "examples/tour.ipynb";
    magics: "cell_magics", "magics", "shell";
    processes: "asking", "leaving_exit", "leaving_message", "leaving_quit", "modules", "order", "processes";
    streams: "displays", "large", "streams", "updates", "widgets";
    styled_figures: "figures_styled";
    tables: "numpy_arrays", "pandas_tables";
    values: "pasted", "reprs", "results", "types";
}

#[test]
fn each_notebook_is_in_one_group() {
    let mut grouped: Vec<PathBuf> =
        GROUPS.iter().copied().flatten().map(|name| path(name)).collect();
    grouped.sort();
    let mut all: Vec<PathBuf> =
        names_in(&folder()).iter().map(|name| folder().join(name)).collect();
    all.push(path("examples/tour.ipynb"));
    all.sort();
    assert_eq!(grouped, all);
}

/// The rows of the table are the names that mark cells; the groups show that marked cells differ.
#[test]
fn each_difference_is_documented_and_each_row_is_shown() {
    let env = env();
    let mut command = program(&env, "table");
    command.arg(repository().join("docs/reference/jupyter-differences.md"));
    command.args(GROUPS.iter().copied().flatten().map(|name| path(name)));
    succeed(command);
}

fn compare(test: &str, notebooks: &[&str]) {
    for package in ["nbclient", "ipykernel", "pandas", "matplotlib"] {
        if !need::python_package(test, &python(), package) {
            return;
        }
    }
    let env = env();
    let mut command = program(&env, "run");
    command
        .args(notebooks.iter().copied().map(path))
        .env("INKCELL", env.program())
        .env("TMPDIR", env.dir());
    if need::is_exhaustive() {
        command.env("INKCELL_TEST_ALL", "1");
    }
    succeed(command);
}

fn program(env: &TestEnv, task: &str) -> Command {
    let mut command = env.command(python());
    command.arg("-B").arg(folder().with_file_name("compare.py")).arg(task);
    command
}

fn succeed(command: Command) {
    let done = finish(command, b"");
    assert!(done.code == Some(0), "{}\n{}", done.stdout, done.stderr);
}

fn python() -> OsString {
    std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into())
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differential/notebooks")
}

/// A notebook of the folder by its name, any other by its path.
fn path(notebook: &str) -> PathBuf {
    if notebook.contains('/') {
        return repository().join(notebook);
    }
    folder().join(notebook).with_extension("txt")
}
