//! Sentences of the notebook on the screen.

use std::fmt::Display;

use crate::output::count;

/// The line below a page of output. It names the keys that turn pages.
pub(crate) const PAGING: &str = "press [ for earlier lines, ] for later lines";

pub(crate) const FILE_GONE: &str = "the file was deleted; the screen shows its last content";

/// The end of the message about an edit that another change of the file came before.
pub(crate) const MERGED: &str = ", merged with a change on disk";

pub(crate) fn undone(what: &str) -> String {
    format!("undone: {what}")
}

pub(crate) fn redone(what: &str) -> String {
    format!("redone: {what}")
}

pub(crate) const NOTHING_TO_UNDO: &str = "nothing to undo";

pub(crate) const NOTHING_TO_REDO: &str = "nothing to redo";

pub(crate) const CHANGED_SINCE: &str =
    "the notebook changed on disk since then; undo would revert that change too";

/// The standing text of the bottom bar.
pub(crate) const KEYS: &str =
    "? keys  Enter edit  R run, next  Ctrl-R run  z undo  / search  q quit";

pub(crate) const NO_MESSAGES: &str = "no messages yet";

pub(crate) const NO_CELLS: &str = "no cells; press b to insert one";

pub(crate) const CELL_CHANGED: &str = "this cell changed on disk";

pub(crate) const CELL_DELETED: &str = "this cell was deleted on disk";

pub(crate) const CONFLICT_KEYS: &str = "b insert yours below  t take theirs  Esc continue editing";

pub(crate) const THEIRS: &str = "kept the text on disk";

pub(crate) const UNCHANGED: &str = "no changes";

pub(crate) const QUITTING: &str =
    "code is running and would be stopped: y quit  any other key stay";

pub(crate) const SCROLLING: &str = "j k scroll  any other key close";

pub(crate) const EDITING: &str =
    "Esc done  Tab complete  Ctrl-R run  Ctrl-G run, next  Alt-S split  Ctrl-Q cancel";

/// The last row of a message that is too long for the bar.
pub(crate) const MESSAGE_CUT: &str = "… press P to read all of it";

/// The error of an editor that failed.
pub(crate) fn editor_failed(status: &dyn Display) -> String {
    format!("the editor ended with {status}; the cell is unchanged")
}

pub(crate) fn cannot_edit(editor: &str, error: &dyn Display) -> String {
    format!("cannot edit with '{editor}': {error}")
}

pub(crate) const NO_PICTURE: &str = "no picture in the output of this cell";

pub(crate) fn cannot_open_picture(error: &dyn Display) -> String {
    format!("cannot open the picture: {error}")
}

pub(crate) fn picture_opened(file: &dyn Display) -> String {
    format!("opened {file}")
}

/// The message where no program can show the picture.
pub(crate) fn picture_is_at(file: &dyn Display) -> String {
    format!("no display to open the picture; its file: {file}")
}

pub(crate) fn no_terminal(path: &str) -> String {
    format!("cannot open '{path}': standard input and output must be a terminal")
}

pub(crate) const TEXT_TERMINAL: &str = "TERM names a terminal that shows only text";

/// The hint where the screen cannot be drawn. `name` is the path as a shell takes it.
pub(crate) fn read_instead(name: &str) -> String {
    format!("show it as text with 'inkcell read {name}'")
}

pub(crate) const NO_KERNEL: &str = "no kernel yet; press R to run a cell";

pub(crate) const OUTPUT_GONE: &str =
    "the stored output was deleted; the screen shows what the notebook has";

pub(crate) const OUTPUT_HIDDEN: &str = "… output hidden; press o to show it";

pub(crate) const NO_PAGE: &str =
    "no more lines; press O to show all lines of the cell, and long output by pages";

pub(crate) const SESSION_GONE: &str = "the session ended, and the code that ran in it";

pub(crate) const OVERTAKEN: &str = "this cell changed on disk; your text is kept";

/// The hint after the first key of a pair.
pub(crate) fn once_more(key: &dyn Display) -> String {
    format!("press {key} again, or any other key")
}

/// A kernel that runs a cell.
pub(crate) fn busy(elapsed: &str) -> String {
    format!("busy {elapsed}")
}

/// A kernel that runs one of several cells: its number, and how many there are.
pub(crate) fn busy_with(elapsed: &str, (number, of): (usize, usize)) -> String {
    format!("busy {elapsed}, {number}/{of}")
}

pub(crate) const CHANGED_ON_DISK: &str = ", changed on disk";

/// A cell by its position, with its id.
pub(crate) fn cell(index: usize, id: Option<&str>) -> String {
    match id {
        Some(id) => format!("cell {index} ({id})"),
        None => format!("cell {index}"),
    }
}

/// The place and the reason of a stop. The numbers are those of its cells and of the cells that did not run.
pub(crate) fn stopped(place: &str, why: &str, (cells, left): (usize, usize)) -> String {
    match cells {
        1 => format!("{place} failed: {why}"),
        _ => format!("stopped at {place}: {why}{}", not_run(left)),
    }
}

/// Where the user interrupted a run, and how many cells did not run.
pub(crate) fn interrupted(place: &str, left: usize) -> String {
    format!("interrupted at {place}{}", not_run(left))
}

fn not_run(left: usize) -> String {
    match left {
        0 => String::new(),
        left => format!("; {} did not run", count(left, "cell")),
    }
}

pub(crate) const NO_CODE: &str = "no code to run here";

pub(crate) const ONLY_CODE: &str = "only code runs; press y to change this cell to code";

pub(crate) const LOSSY: &str =
    "part of this cell has no exact form as text; saving replaces that part";

pub(crate) const LEFT: &str = "discarded the changes";

pub(crate) const PUT_BESIDE: &str = "inserted yours below";

pub(crate) const NO_SEARCH: &str = "no search yet; press / to search";

pub(crate) fn not_found(pattern: &str) -> String {
    format!("'{pattern}' is not in this notebook")
}

/// The end of the message about a hit of a search that went around.
pub(crate) const OTHER_END: &str = ", from the other end";

pub(crate) const NO_KERNEL_TO_COMPLETE: &str = "no completions without a kernel; run a cell first";

pub(crate) const BUSY_TO_COMPLETE: &str = "no completions while the kernel is busy";

pub(crate) const NO_COMPLETIONS: &str = "no completions";

pub(crate) const NOTHING_BELOW: &str = "no cell below to merge with";

pub(crate) const MERGE_ATTACHMENTS: &str =
    "cannot merge: the cell below has attachments, which would be lost";

pub(crate) const NOTHING_TO_PASTE: &str = "nothing to paste; press x or c to cut or copy a cell";

pub(crate) const NO_ATTACHMENTS: &str = "pasted without the attachments of the cell";

// Answers to keys of Jupyter that have no meaning here.

pub(crate) const ALWAYS_SAVED: &str = "every change is saved already";

pub(crate) const ONE_SELECTED: &str = "you can select one cell at a time; > and < move it";

pub(crate) const NO_PALETTE: &str = "no command palette; press h for all keys";

pub(crate) const NO_LINE_NUMBERS: &str = "no line numbers in the terminal";

pub(crate) const NO_HEADING_KEYS: &str =
    "press a or b to insert a cell, 1 to 6 to make it a heading";
