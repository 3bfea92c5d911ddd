//! Sentences about names of notebooks that lead to none.

use std::fmt::Display;

pub(crate) fn no_notebook(missing: &str) -> String {
    format!("no notebook named {missing}")
}

pub(crate) const NONE_BESIDE_MATRIX: &str = "give the notebook that the matrix is for";

pub(crate) fn no_match(pattern: &str) -> String {
    format!("no notebook matches {pattern}")
}

/// The refusal of a pattern where one notebook is wanted.
pub(crate) fn matches_many(pattern: &str, notebooks: usize) -> String {
    format!("{pattern} matches {notebooks} notebooks, and this command takes one")
}

pub(crate) const NAME_ONE: &str = "name one of them, or narrow the pattern";

pub(crate) const WRITE_PATTERN: &str = "** stands for folders below, as in nb/**/*.ipynb";

pub(crate) const LOOK_WITH_LS: &str =
    "list the files with ls; ** stands for folders below, as in 'nb/**/*.ipynb'";

pub(crate) fn no_folder(folder: &dyn Display, cwd: &dyn Display) -> String {
    format!("the folder {folder} does not exist either; paths are relative to {cwd}")
}

pub(crate) fn no_notebooks_in(folder: &dyn Display) -> String {
    format!("{folder} has no notebooks; create one with 'inkcell new NAME.ipynb'")
}

pub(crate) fn too_deep(before: &str, deepest: usize) -> String {
    format!("{before} is more than {deepest} folders down; begin the pattern further down")
}

pub(crate) fn too_many(most: usize) -> String {
    format!("it matches more than {most} files; give a narrower pattern")
}

pub(crate) fn is_folder(given: &str) -> String {
    format!("{given} is a folder, not a notebook")
}

pub(crate) fn run_folder(here: &dyn Display, below: &dyn Display) -> String {
    format!("run its notebooks with {here}, or with {below} to include the folders below")
}

/// The hint about a notebook whose name looks like a flag.
pub(crate) fn begins_with_dash(path: &str) -> String {
    format!("write a path that begins with a dash as ./{path}")
}
