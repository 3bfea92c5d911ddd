//! What is on the screen: the notebook as it was read, what each cell shows, where the cursor is, and the mode.
//!
//! Owns the state and what a new reading of the file does to it. It must not know files, terminals or clocks: all of
//! it comes as [`Input`], and what is to be done about it goes out as [`Effect`].

use std::collections::VecDeque;
use std::time::Duration;

use crossterm::event::{KeyEvent, MouseEvent};
use inkcell_engine::Version;
use inkcell_engine::api::{CellChoice, ExecutionId};
use inkcell_engine::feeds::SessionEvent;
use inkcell_engine::notebook::{CellKind, CellView, EditOp, Notebook, pairs};
use ratatui_core::layout::Position;

use super::cursor::Top;
use super::editor::Editor;
use super::pages::Wanted;
use super::shown::ShownCell;
use crate::render::execution::stored::Language;
use crate::render::execution::{Expansion, Page, Picture, Role};
use crate::render::image::{Gallery, Protocol};

/// Something that happened.
pub(super) enum Input {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    /// The file as it is now.
    Read {
        notebook: Box<Notebook>,
        version: Version,
        by: By,
    },
    /// What was to be done could not be done; everything is as it was.
    Refused(String),
    /// Something else to say.
    Told(String),
    /// In the notebook's session.
    Session(Box<SessionEvent>),
    /// So many events of the session went by unseen.
    Missed(u64),
    /// The session is gone, or who has it.
    Unwatched,
    /// What was asked to run is over, or was never begun.
    RunOver(Result<(), String>),
    /// Another editor was used on this text.
    EditedOutside {
        cell: usize,
        before: String,
        text: String,
    },
    /// A page of a stored output; none if that is gone.
    Paged {
        artifact: String,
        page: Option<Page>,
    },
    /// So much time has passed since the beginning.
    Time(Duration),
}

/// Who changed the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum By {
    /// We did: this was done, and this cell is the one to look at.
    Us {
        done: String,
        select: Option<usize>,
    },
    Others,
}

/// Something to be done.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Effect {
    /// Change the file. Positions mean the cells as they were read last.
    Change {
        what: &'static str,
        ops: Vec<EditOp>,
    },
    Undo,
    Redo,
    Run(CellChoice),
    Interrupt,
    Restart,
    /// Fetch a part of a stored output.
    Page(Wanted),
    /// Edit this text in another editor.
    EditOutside {
        cell: usize,
        text: String,
    },
    Suspend,
    Quit,
}

/// What keys mean.
pub(super) enum Mode {
    Browse,
    Edit(Box<Editor>),
    /// A pattern is being typed.
    Search(String),
    /// The keys are shown, from this line on.
    Help {
        top: usize,
    },
    /// What was said so far is shown, from this row on.
    Messages {
        top: usize,
    },
    /// The text being edited is another one in the file by now.
    Conflict(Box<Editor>),
    /// Something that we started still runs.
    Quitting,
}

/// A line for the person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Message {
    pub(super) role: Role,
    pub(super) text: String,
}

/// What becomes of code when we go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lasting {
    /// It goes on: it runs in a host.
    GoesOn,
    /// It ends with us.
    EndsWithUs,
}

/// How much of what was said can be looked at again.
const MESSAGES: usize = 200;

pub(super) struct Model {
    /// The notebook's name, as it was given.
    pub(super) name: String,
    pub(super) notebook: Notebook,
    pub(super) version: Version,
    pub(super) language: Option<String>,
    pub(super) cells: Vec<ShownCell>,
    /// The cell that keys are about.
    pub(super) cursor: usize,
    /// The first row that is shown.
    pub(super) top: Top,
    /// Whether the next frame must show the cursor.
    pub(super) must_show_cursor: bool,
    /// Whether the next frame must show what was found in the cell under the cursor.
    pub(super) must_show_hit: bool,
    pub(super) mode: Mode,
    pub(super) message: Option<Message>,
    /// What was said so far, the newest last.
    pub(super) messages: VecDeque<Message>,
    /// The first key of two.
    pub(super) first_key: Option<char>,
    pub(super) pattern: Option<String>,
    pub(super) now: Duration,
    /// Which call runs, as far as it was told, and how many cells it has.
    pub(super) running: Option<(ExecutionId, usize, usize)>,
    /// How many runs of ours are not over.
    pub(super) asked: usize,
    pub(super) lasting: Lasting,
    /// Where cells were drawn last: the first row on the screen, the one after the last, and the cell.
    pub(super) drawn: Vec<(u16, u16, usize)>,
    /// What draws pictures, and those of the last frame that the terminal draws itself.
    pub(super) gallery: Gallery,
    pub(super) pictures: Vec<(Position, Picture)>,
    /// Columns and rows of the screen, and rows between the two bars, when it was last drawn.
    pub(super) size: (u16, u16),
    pub(super) body_rows: usize,
}

impl Model {
    pub(super) fn new(name: &str, notebook: Notebook, version: Version, lasting: Lasting) -> Model {
        let cells = (0..notebook.len()).map(|_| ShownCell::default()).collect();
        Model {
            name: name.to_owned(),
            language: notebook.language(),
            notebook,
            version,
            cells,
            cursor: 0,
            top: Top::default(),
            must_show_cursor: true,
            must_show_hit: false,
            mode: Mode::Browse,
            message: None,
            messages: VecDeque::new(),
            first_key: None,
            pattern: None,
            now: Duration::ZERO,
            running: None,
            asked: 0,
            lasting,
            drawn: Vec::new(),
            gallery: Gallery::new(Protocol::None),
            pictures: Vec::new(),
            size: (80, 24),
            body_rows: 1,
        }
    }

    /// Draws pictures with this from now on.
    pub(super) fn draw_with(&mut self, gallery: Gallery) {
        self.gallery = gallery;
        self.cells.iter_mut().for_each(ShownCell::forget_rows);
    }

    pub(super) fn say(&mut self, role: Role, text: impl Into<String>) {
        let message = Message { role, text: text.into() };
        if self.messages.len() >= MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back(message.clone());
        self.message = Some(message);
    }

    /// Something about a key that was pressed, which nobody wants to read again.
    pub(super) fn hint(&mut self, text: String) {
        self.message = Some(Message { role: Role::Dim, text });
    }

    /// The cell that keys are about; none in a notebook without cells.
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

    /// The editor, also while there is a question about it.
    pub(super) fn editor(&self) -> Option<&Editor> {
        match &self.mode {
            Mode::Edit(editor) | Mode::Conflict(editor) => Some(editor),
            _ => None,
        }
    }

    /// What is being looked at grows: it stays on the screen, unless somebody has scrolled away from it.
    pub(super) fn keep_cursor_shown(&mut self) {
        self.must_show_cursor |= self.drawn.iter().any(|(_, _, cell)| *cell == self.cursor);
    }

    pub(super) fn is_running(&self) -> bool {
        self.asked > 0 || self.cells.iter().any(ShownCell::is_running)
    }

    /// Takes the file as it is now. The cursor stays on its cell, wherever that is; what runs goes on; what is being
    /// edited is kept.
    pub(super) fn adopt(&mut self, notebook: Notebook, version: Version) {
        let old_of = pairs(&self.notebook, &notebook);
        let new_of = |old: usize| old_of.iter().position(|was| *was == Some(old));
        let mut old_cells: Vec<Option<ShownCell>> = self.cells.drain(..).map(Some).collect();
        for (new, cell) in notebook.cells().enumerate() {
            let was = old_of.get(new).copied().flatten();
            let kept = was.and_then(|old| Some((old, old_cells.get_mut(old)?.take()?)));
            let mut shown = ShownCell::default();
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

    /// What the file holds is shown for runs that are over, unless what they showed is still to be written.
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

    /// Whether somebody else has changed or removed what is being edited.
    pub(super) fn is_overtaken(&self, editor: &Editor) -> bool {
        match editor.cell {
            None => true,
            Some(cell) => self.source(cell) != editor.before,
        }
    }

    /// How often cells were made into rows; a frame makes only those that it shows.
    #[cfg(test)]
    pub(super) fn renders(&self) -> u64 {
        self.cells.iter().map(ShownCell::renders).sum()
    }

    /// Shows more or less of a cell.
    pub(super) fn toggle(&mut self, cell: usize) {
        if let Some(cell) = self.cells.get_mut(cell) {
            cell.expansion = match cell.expansion {
                Expansion::Collapsed => Expansion::Expanded,
                Expansion::Expanded => Expansion::Collapsed,
            };
        }
    }
}
