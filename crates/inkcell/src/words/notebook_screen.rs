//! Sentences of the notebook on the screen.

use std::fmt::Display;

/// The line below a page of output. It names the keys that turn pages.
pub(crate) const PAGING: &str = "[ shows earlier lines, ] later ones";

pub(crate) const FILE_GONE: &str = "the file is gone; what is shown is the last of it";

/// The end of the message about an edit that another change of the file came before.
pub(crate) const MERGED: &str = ", beside somebody else's change";

pub(crate) const NOTHING_TO_UNDO: &str = "there is nothing to undo";

pub(crate) const NOTHING_TO_REDO: &str = "there is nothing to do again";

pub(crate) const CHANGED_SINCE: &str =
    "somebody else has changed the notebook since; undo would take that back too";

/// The standing text of the bottom bar.
pub(crate) const KEYS: &str = "? keys  Enter edit  x run  R run, next  z undo  / search  q quit";

pub(crate) const NO_MESSAGES: &str = "nothing was said yet";

pub(crate) const NO_CELLS: &str = "no cells; b makes one";

pub(crate) const CELL_CHANGED: &str = "somebody else changed this cell";

pub(crate) const CELL_DELETED: &str = "somebody else deleted this cell";

pub(crate) const CONFLICT_KEYS: &str = "b put yours below  t take theirs  Esc go on editing";

pub(crate) const QUITTING: &str = "code still runs and would end: y quit  any other key stays";

pub(crate) const SCROLLING: &str = "j and k scroll  any other key closes";

pub(crate) const EDITING: &str =
    "Esc done  Ctrl-S save  Ctrl-R run  Alt-Enter run, next  Ctrl-Q leave as it was";

/// The last row of a message that is too long for the bar.
pub(crate) const MESSAGE_CUT: &str = "… M shows all of it";

/// What an editor that failed leaves behind.
pub(crate) fn editor_failed(status: &dyn Display) -> String {
    format!("it ended with {status}, so nothing was changed")
}

pub(crate) const NO_TERMINAL: &str = "a notebook is shown on a terminal, and standard input or \
     output is none; inkcell read shows it as text";

pub(crate) const TEXT_TERMINAL: &str = "this terminal shows text alone, as its TERM says; inkcell \
     read shows the notebook as text, inkcell run runs it, inkcell edit changes it";

pub(crate) const NO_KERNEL: &str = "there is no kernel yet; x runs a cell";

pub(crate) const OUTPUT_GONE: &str =
    "the stored output is not there any more; this is what the notebook has of it";

pub(crate) const NO_PAGE: &str =
    "there are no more lines; o shows all of a cell, and what is long is shown by pages";

pub(crate) const SESSION_GONE: &str = "the session is gone, with what ran in it";

pub(crate) const OVERTAKEN: &str =
    "changed on disk: somebody else has another text for this cell; yours is kept";

/// The hint after the first key of a pair.
pub(crate) fn once_more(key: &dyn Display) -> String {
    format!("{key} once more, or any other key")
}

pub(crate) const NO_CELL: &str = "there is no cell; b makes one";

pub(crate) const NO_CODE: &str = "there is no code to run here";

pub(crate) const ONLY_CODE: &str = "only code is run; y makes this cell code";

pub(crate) const LOSSY: &str =
    "something in this cell has no exact form as text; saving replaces it";

pub(crate) const LEFT: &str = "left as it was";

pub(crate) const PUT_BESIDE: &str = "put beside the other text";

pub(crate) const NO_SEARCH: &str = "nothing was searched for yet; / begins";

pub(crate) fn not_found(pattern: &str) -> String {
    format!("{pattern:?} is not in this notebook")
}

/// The end of the message about a hit of a search that went around.
pub(crate) const OTHER_END: &str = ", from the other end";
