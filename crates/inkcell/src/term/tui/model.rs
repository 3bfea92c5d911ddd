//! The state of the screen: the notebook as last read, the rows of each cell, the cursor, and the mode.
//!
//! Owns the state, and its change after the file is read again. It must not know files, terminals or clocks: their
//! news come in as [`Input`], and actions go out as [`Effect`].

use std::collections::VecDeque;
use std::time::Duration;

use crossterm::event::{KeyEvent, MouseEvent};
use inkcell_engine::api::{CellChoice, Completions, ExecutionId};
use inkcell_engine::feeds::SessionEvent;
use inkcell_engine::notebook::{CellKind, CellPlace, CellView, EditOp, Notebook, pairs};
use inkcell_engine::{Freshness, Version};
use ratatui_core::layout::Position;

use super::cell_rows::CellRows;
use super::clipboard::CellCopy;
use super::editor::Editor;
use super::outside::StoredPicture;
use super::pages::LinesRequest;
use crate::term::screen::Ground;
use crate::view::execution::Page;
use crate::view::execution::stored_cell::Language;
use crate::view::image::{Gallery, Protocol};
use crate::view::paint::{Picture, Role};

/// The address of a row: a cell and a row within it. Each cell ends with an empty row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Top {
    pub(super) cell: usize,
    pub(super) row: usize,
}

/// The end of a run that was requested here.
pub(super) enum RunEnd {
    Well,
    /// A cell ended the run before its time.
    Stopped(Stop),
    /// Outputs are missing from the file, for this reason.
    Unsaved(String),
    /// The run did not start, for this reason.
    Failed(String),
}

/// The cell at which a run stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stop {
    pub(super) cell: usize,
    pub(super) id: Option<String>,
    /// The message for the user: where and why.
    pub(super) said: String,
}

pub(super) enum Input {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    /// The current content of the file.
    Read {
        notebook: Box<Notebook>,
        version: Version,
        by: By,
    },
    /// An effect failed, and nothing has changed. The text is the reason.
    Refused(String),
    /// Another message for the user.
    Told(String),
    /// An event of the notebook's session.
    Session(Box<SessionEvent>),
    /// This many events of the session were dropped.
    Missed(u64),
    /// The session or its host is gone.
    Unwatched,
    /// A requested run is over, or could not start.
    RunOver(RunEnd),
    /// The user edited this text in an external editor.
    EditedOutside {
        cell: usize,
        before: String,
        text: String,
    },
    /// A page of stored output. `None` means that the output is gone.
    Paged {
        artifact: String,
        page: Option<Page>,
    },
    /// Completions of this text at this cursor. `None` if the kernel gave none.
    Completed {
        code: String,
        cursor: usize,
        found: Option<Completions>,
    },
    /// The freshness of each cell of this version of the notebook.
    Marked {
        version: Version,
        marks: Vec<Option<Freshness>>,
    },
    /// The state of the session's kernel.
    Kernel(KernelNow),
    /// Time since the start of the program.
    Time(Duration),
}

/// The author of a change to the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum By {
    /// This program: a description of the edit, and the cell to select.
    Us {
        done: String,
        select: Option<usize>,
    },
    Others,
}

/// An action for the program to perform.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Effect {
    /// Change the file. Positions refer to the cells as last read.
    Change {
        what: &'static str,
        ops: Vec<EditOp>,
    },
    /// Insert a copied cell.
    Paste {
        at: CellPlace,
        copy: Box<CellCopy>,
    },
    Undo,
    Redo,
    Run(CellChoice),
    Interrupt,
    Restart,
    /// Fetch a part of a stored output.
    Page(LinesRequest),
    /// Ask the kernel for completions at a cursor, counted in characters.
    Complete {
        code: String,
        cursor: usize,
    },
    /// Open this picture in another program.
    OpenPicture(StoredPicture),
    /// Edit this text in an external editor.
    EditOutside {
        cell: usize,
        text: String,
    },
    Suspend,
    Quit,
}

pub(super) enum Mode {
    Browse,
    Edit(Box<Editor>),
    /// The user types a search pattern.
    Search(String),
    /// The list of keys is shown, from this line on.
    Help {
        top: usize,
    },
    /// Past messages are shown, from this row on.
    Messages {
        top: usize,
    },
    /// Another program has changed the edited text in the file.
    Conflict(Box<Editor>),
    /// A run of this program is still going.
    Quitting,
}

/// A line for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Message {
    pub(super) role: Role,
    pub(super) text: String,
}

/// The state of the session's kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct KernelNow {
    pub(super) state: KernelState,
    /// How long the running cell has been running.
    pub(super) elapsed: Option<Duration>,
    /// Calls that wait for their turn.
    pub(super) waiting: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum KernelState {
    #[default]
    None,
    Starting,
    Idle,
    Busy,
    /// The kernel ended by itself or was killed.
    Dead,
}

/// The fate of running code after the program ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lasting {
    /// The code runs in a host and goes on.
    GoesOn,
    /// The code ends together with this program.
    EndsWithUs,
}

/// Number of past messages that are kept.
const MESSAGES: usize = 200;

pub(super) struct Model {
    /// The notebook's path as the user gave it.
    pub(super) name: String,
    pub(super) notebook: Notebook,
    pub(super) version: Version,
    pub(super) language: Option<String>,
    pub(super) cells: Vec<CellRows>,
    /// The selected cell, to which keys apply.
    pub(super) cursor: usize,
    /// The first visible row. It may be in the middle of a cell.
    pub(super) top: Top,
    /// True if the next frame must show the cursor.
    pub(super) must_show_cursor: bool,
    /// True if the next frame must show the last rows of the selected cell.
    pub(super) must_show_end: bool,
    /// True if the next frame must show the search hit in the selected cell.
    pub(super) must_show_hit: bool,
    pub(super) mode: Mode,
    pub(super) message: Option<Message>,
    /// Past messages, the newest last.
    pub(super) messages: VecDeque<Message>,
    /// The first key of a pair, while the second is awaited.
    pub(super) first_key: Option<char>,
    pub(super) pattern: Option<String>,
    /// The cell that was cut or copied last.
    pub(super) copied: Option<CellCopy>,
    pub(super) now: Duration,
    /// The running call as last reported: its id, the index of its cell, and the number of its cells.
    pub(super) running: Option<(ExecutionId, usize, usize)>,
    /// The kernel as last reported, and the time at which its cell began.
    pub(super) kernel: KernelNow,
    pub(super) busy_since: Duration,
    /// How long the kernel had been busy at that time.
    pub(super) busy_before: Duration,
    /// Number of own runs that are not over.
    pub(super) asked: usize,
    pub(super) lasting: Lasting,
    /// Cells of the last frame: first row on the screen, end row (exclusive), and cell.
    pub(super) drawn: Vec<(u16, u16, usize)>,
    /// The picture renderer, and the pictures of the last frame that the terminal draws itself.
    pub(super) gallery: Gallery,
    pub(super) pictures: Vec<(Position, Picture)>,
    /// The ground of code.
    pub(super) ground: Ground,
    /// Size of the screen in columns and rows, and the rows between the two bars, as of the last frame.
    pub(super) size: (u16, u16),
    pub(super) body_rows: usize,
}

impl Model {
    pub(super) fn new(name: &str, notebook: Notebook, version: Version, lasting: Lasting) -> Model {
        let cells = (0..notebook.len()).map(|_| CellRows::default()).collect();
        Model {
            name: name.to_owned(),
            language: notebook.language(),
            notebook,
            version,
            cells,
            cursor: 0,
            top: Top::default(),
            must_show_cursor: true,
            must_show_end: false,
            must_show_hit: false,
            mode: Mode::Browse,
            message: None,
            messages: VecDeque::new(),
            first_key: None,
            pattern: None,
            copied: None,
            now: Duration::ZERO,
            running: None,
            kernel: KernelNow::default(),
            busy_since: Duration::ZERO,
            busy_before: Duration::ZERO,
            ground: Ground::None,
            asked: 0,
            lasting,
            drawn: Vec::new(),
            gallery: Gallery::new(Protocol::None),
            pictures: Vec::new(),
            size: (80, 24),
            body_rows: 1,
        }
    }

    /// Replaces the picture renderer. All cells are rendered again.
    pub(super) fn draw_with(&mut self, gallery: Gallery) {
        self.gallery = gallery;
        self.cells.iter_mut().for_each(CellRows::forget_rows);
    }

    pub(super) fn say(&mut self, role: Role, text: impl Into<String>) {
        let message = Message { role, text: text.into() };
        if self.messages.len() >= MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back(message.clone());
        self.message = Some(message);
    }

    /// Shows a hint on a pressed key, without keeping it in the list of messages.
    pub(super) fn hint(&mut self, text: String) {
        self.message = Some(Message { role: Role::Dim, text });
    }

    /// The selected cell. `None` in a notebook without cells.
    pub(super) fn current(&self) -> Option<CellView<'_>> {
        self.notebook.cell(self.cursor)
    }

    pub(super) fn source(&self, cell: usize) -> String {
        self.notebook.cell(cell).map(|cell| cell.source().text.into_owned()).unwrap_or_default()
    }

    pub(super) fn language_of(&self, cell: usize) -> Language {
        let kind = self.notebook.cell(cell).and_then(|cell| cell.kind());
        Language::of(kind, self.language.as_deref())
    }

    pub(super) fn is_code(&self, cell: usize) -> bool {
        self.notebook.cell(cell).is_some_and(|cell| cell.kind() == Some(CellKind::Code))
    }

    pub(super) fn select(&mut self, cell: usize) {
        self.cursor = cell.min(self.cells.len().saturating_sub(1));
        self.must_show_cursor = true;
    }

    /// The editor, also while the user must resolve a conflict.
    pub(super) fn editor(&self) -> Option<&Editor> {
        match &self.mode {
            Mode::Edit(editor) | Mode::Conflict(editor) => Some(editor),
            _ => None,
        }
    }

    /// Follows growing output: the selected cell stays visible, unless the user has scrolled away from it.
    pub(super) fn keep_cursor_shown(&mut self) {
        self.must_show_cursor |= self.drawn.iter().any(|(_, _, cell)| *cell == self.cursor);
    }

    pub(super) fn is_running(&self) -> bool {
        self.asked > 0 || self.cells.iter().any(CellRows::is_running)
    }

    /// Takes new content of the file. The cursor stays on its cell if that has moved, runs go on, and an edit in
    /// progress is kept.
    pub(super) fn adopt(&mut self, notebook: Notebook, version: Version) {
        let old_of = pairs(&self.notebook, &notebook);
        let new_of = |old: usize| old_of.iter().position(|was| *was == Some(old));
        let mut old_cells: Vec<Option<CellRows>> = self.cells.drain(..).map(Some).collect();
        for (new, cell) in notebook.cells().enumerate() {
            let was = old_of.get(new).copied().flatten();
            let kept = was.and_then(|old| Some((old, old_cells.get_mut(old)?.take()?)));
            let mut shown = CellRows::default();
            if let Some((old, before)) = kept {
                shown = before;
                if let Some(before) = self.notebook.cell(old)
                    && before.json() != cell.json()
                {
                    shown.changed(&before, &cell);
                }
            }
            self.cells.push(shown);
        }
        let (cursor, top) = (new_of(self.cursor), new_of(self.top.cell));
        let json = |notebook: &Notebook, cell| notebook.cell(cell).map(|cell| cell.json().to_vec());
        if cursor.is_some_and(|new| json(&self.notebook, self.cursor) != json(&notebook, new)) {
            self.keep_cursor_shown();
        }
        if let Mode::Edit(editor) | Mode::Conflict(editor) = &mut self.mode {
            editor.cell = editor.cell.and_then(new_of);
        }
        self.language = notebook.language();
        (self.notebook, self.version) = (notebook, version);
        let last = self.cells.len().saturating_sub(1);
        self.cursor = cursor.unwrap_or(self.cursor).min(last);
        self.top = match top {
            Some(cell) => Top { cell, ..self.top },
            None => Top { cell: self.top.cell.min(last), row: 0 },
        };
    }

    /// Shows the file's outputs for finished runs, unless a run may still write its own.
    pub(super) fn settle(&mut self) {
        if self.asked > 0 || self.running.is_some() {
            return;
        }
        for (at, shown) in self.cells.iter_mut().enumerate().filter(|(_, cell)| cell.is_unsettled())
        {
            if let Some(cell) = self.notebook.cell(at) {
                shown.settle(&cell, self.now);
            }
        }
    }

    /// Returns true if another program has changed or removed the edited cell.
    pub(super) fn is_overtaken(&self, editor: &Editor) -> bool {
        match editor.cell {
            None => true,
            Some(cell) => self.source(cell) != editor.before,
        }
    }

    /// Counts rendered cells. A frame renders only those that it shows.
    #[cfg(test)]
    pub(super) fn renders(&self) -> u64 {
        self.cells.iter().map(CellRows::renders).sum()
    }

    /// Expands or collapses a cell.
    pub(super) fn toggle(&mut self, cell: usize) {
        if let Some(cell) = self.cells.get_mut(cell) {
            cell.expansion = cell.expansion.toggled();
        }
    }
}
