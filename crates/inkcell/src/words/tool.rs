//! Sentences about tools and their arguments, at the command line and for a model.

use std::fmt::Display;

/// Why a number of bytes is refused.
pub(crate) fn max_bytes_out_of_range(given: u64, least: u64, most: u64) -> String {
    format!("max_bytes: {given} is out of range; give {least} to {most}")
}

/// The refusal of an unknown tool. `near` asks whether another one is meant.
pub(crate) fn not_found(name: &str, near: &str) -> String {
    format!("no tool named '{name}'{near}")
}

pub(crate) const LIST_SHOWS: &str = "list the tools with 'inkcell tool --list'";

pub(crate) fn not_json(error: &dyn Display) -> String {
    format!("the arguments are not JSON: {error}")
}

pub(crate) const WRITE_OBJECT: &str =
    "write an object in single quotes: '{\"path\": \"nb.ipynb\"}'";

pub(crate) const STOPPED_WITH_COMMAND: &str =
    "note: code that was still running was stopped, because sessions end with this command";

pub(crate) const FULL_OF_IMAGES: &str = "the folder is full of images; name another one";

pub(crate) fn not_offered(name: &str) -> String {
    format!("{name} is not offered: python.toolMode is ipy-only.")
}

/// The refusal in the words of the source documents.
pub(crate) const PYTHON_DISABLED_COMPAT: &str =
    "Python backend is disabled (PI_PY=0 or eval.py = false).";

pub(crate) const PYTHON_DISABLED: &str = "Python is disabled in this server: python.toolMode is bash-only, or PI_PY is \
     0; ask the user to change that";

pub(crate) fn python_unavailable(reason: &str) -> String {
    format!(
        "Python backend is unavailable in this session: {reason}. Ask the user to run `inkcell doctor`, \
         which suggests fixes."
    )
}

pub(crate) fn python_not_offered(reason: &str) -> String {
    format!("Python is not offered in this session: {reason}")
}

pub(crate) fn failed_inside(name: &str) -> String {
    format!("internal error in {name} (please report this)")
}

pub(crate) const TRY_ANOTHER_WAY: &str = "try another way; other calls are not affected";

/// The mark in place of what an answer has no room for.
pub(crate) fn left_out(what: &str) -> String {
    format!("[left out, the answer would be too large: {what}]")
}

/// The mark in place of the middle of a text that is too long for an answer.
pub(crate) fn bytes_left_out(bytes: usize) -> String {
    format!("[… {bytes} bytes left out, the answer would be too large …]")
}

pub(crate) fn no_cell(other: &dyn Display) -> String {
    format!("cell_id: {other} names no cell")
}

pub(crate) fn answer_failed(error: &dyn Display) -> String {
    format!("internal error while making the answer: {error}")
}

pub(crate) fn not_object(other: &dyn Display) -> String {
    format!("the arguments are not an object: {other}")
}

pub(crate) fn given_twice(own: &str, name: &str) -> String {
    format!("{own} is given twice, once as {name}")
}

pub(crate) fn not_value(place: &str, value: &dyn Display, near: &str) -> String {
    format!("{place}{value} is not one of its values{near}")
}

pub(crate) fn no_argument(name: &dyn Display, near: &str) -> String {
    format!("no argument named '{name}'{near}")
}

/// The refusal of a name that stands for a field with another one.
pub(crate) fn not_field(name: &str, field: &str) -> String {
    let is_time = matches!(field, "timeout" | "wait");
    let is_in_milliseconds = ["ms", "Ms", "millis"].iter().any(|unit| name.ends_with(unit));
    let unit = if is_time && is_in_milliseconds { ", in seconds" } else { "" };
    format!("`{name}` is not a field: use `{field}`{unit}")
}

pub(crate) const NO_CELLS: &str = "cells: the list is empty; give at least one";

pub(crate) const GIVEN_UP: &str = "the call was cancelled before it began; nothing was done";

pub(crate) fn failed_in_middle(error: &dyn Display) -> String {
    format!("internal error in the middle of the call: {error}")
}

pub(crate) const LOOK_AT_FILE: &str = "look at the file before you try again";

pub(crate) const MORE_THAN_ONE_THING: &str = "only one of these can be asked for at a time";

pub(crate) const ONE_THING: &str = "give one of: name, help, code";

pub(crate) const PATH_AND_SESSION: &str = "path and session both name a session";

pub(crate) const GIVE_ONE: &str = "give one of them";

pub(crate) fn no_notebook(path: &dyn Display) -> String {
    format!("path: no notebook named {path}")
}

pub(crate) const SAY_CELL: &str = "cell: path is given without a cell; name one by id or index";

pub(crate) const SAY_NOTEBOOK: &str = "path: cell is given without a notebook; name one";

pub(crate) const NO_CODE: &str = "no code given";

pub(crate) const CODE_TWICE: &str = "the code is given in more than one way";

pub(crate) const WAYS_COMPAT: &str = "give one of: cells, code";

pub(crate) const WAYS: &str = "give one of: code, cells, path and cell";

pub(crate) fn other_language(path: &dyn Display, language: &dyn Display) -> String {
    format!("cell: {path} is for {language}, and this session runs Python")
}

pub(crate) const RUN_WITH_NOTEBOOK_RUN: &str =
    "run it with notebook_run, or give the notebook's path as session";

pub(crate) fn not_code_cell(cell: &dyn Display, path: &dyn Display, kind: &str) -> String {
    format!("cell {cell} of {path} is {kind}, not code")
}

pub(crate) fn moved_into_bounds(
    argument: &str,
    given: &str,
    least: &dyn Display,
    most: &dyn Display,
    taken: &dyn Display,
) -> String {
    format!("{argument} {given} is outside {least} to {most} seconds; {taken} was used")
}

pub(crate) fn not_seconds(value: &dyn Display) -> String {
    format!("{value} is not a number of seconds")
}

pub(crate) fn no_backend(name: &str) -> String {
    format!("backend: no backend named {name:?}")
}

pub(crate) const LEAVE_BACKEND_OUT: &str = "remove backend, or give runner, zmq or gateway";

pub(crate) const GIVE_KERNEL: &str =
    "kernel: give the name of an installed kernel, or a connection file";

pub(crate) const LEAVE_KERNEL_OUT: &str = "remove kernel for Python";
