//! The reaction to an input: changes of the model, and effects.
//!
//! Owns every decision of the notebook view. It performs no effect itself: it returns effects to the caller.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use inkcell_engine::api::CellChoice;
use inkcell_engine::feeds::SessionEvent;
use inkcell_engine::notebook::{CellKind, CellPlace, CellRef, EditOp, OutputsAfter, SourceShape};

use super::cell_rows::CellRows;
use super::cursor::Direction;
use super::editor::{Editor, Then};
use super::keys::{Command, KeyMeaning, pressed};
use super::model::{By, Effect, Input, Lasting, Mode, Model, RunEnd};
use super::search;
use crate::view::execution::Expansion;
use crate::view::paint::Role;
use crate::words;

/// Rows for one turn of the mouse wheel.
const WHEEL_ROWS: usize = 3;

impl Model {
    /// Applies an input and returns its effects.
    pub(super) fn update(&mut self, input: Input) -> Vec<Effect> {
        let may_want_pages = matches!(
            input,
            Input::Key(_) | Input::Session(_) | Input::Read { .. } | Input::RunOver(_)
        );
        let mut effects = self.taken(input);
        if may_want_pages {
            let wanted = self.cells.iter_mut().filter_map(CellRows::wants_page);
            effects.extend(wanted.map(Effect::Page));
        }
        effects
    }

    fn taken(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Key(key) => self.key(key),
            Input::Mouse(mouse) => {
                self.mouse(mouse);
                Vec::new()
            }
            Input::Paste(text) => {
                self.paste(&text);
                Vec::new()
            }
            Input::Read { notebook, version, by } => {
                self.adopt(*notebook, version);
                self.read(by)
            }
            Input::Refused(why) => {
                if let Mode::Edit(editor) = &mut self.mode {
                    editor.then = None;
                }
                self.say(Role::Error, why);
                Vec::new()
            }
            Input::Told(text) => {
                self.say(Role::Dim, text);
                Vec::new()
            }
            Input::Session(event) => {
                let was_running = self.cells.get(self.cursor).is_some_and(CellRows::is_running);
                self.session(*event);
                let is_running = self.cells.get(self.cursor).is_some_and(CellRows::is_running);
                if was_running || is_running {
                    self.keep_cursor_shown();
                }
                Vec::new()
            }
            Input::Missed(events) => {
                let running = self.cells.iter_mut().find(|cell| cell.is_running());
                running.into_iter().for_each(|cell| cell.missed(events));
                Vec::new()
            }
            Input::RunOver(done) => {
                self.asked = self.asked.saturating_sub(1);
                if self.asked == 0 {
                    self.cells.iter_mut().for_each(|cell| cell.is_waiting = false);
                }
                if let RunEnd::Unsaved(_) = done {
                    self.cells.iter_mut().for_each(CellRows::is_unsaved);
                }
                if let RunEnd::Unsaved(why) | RunEnd::Failed(why) = done {
                    self.say(Role::Error, why);
                }
                // The user wanted to quit and waited only for this run.
                match self.mode {
                    Mode::Quitting if !self.is_running() => vec![Effect::Quit],
                    _ => Vec::new(),
                }
            }
            Input::EditedOutside { cell, before, text } => {
                self.edited_outside(cell, &before, &text)
            }
            Input::Paged { artifact, page } => {
                if page.is_none() {
                    self.say(Role::Warning, words::notebook_screen::OUTPUT_GONE);
                }
                self.cells.iter_mut().for_each(|cell| cell.take_page(&artifact, page.as_ref()));
                Vec::new()
            }
            Input::Unwatched => {
                if self.cells.iter().any(CellRows::is_running) {
                    self.say(Role::Warning, words::notebook_screen::SESSION_GONE);
                }
                self.cells.iter_mut().for_each(CellRows::lost_sight);
                self.running = None;
                Vec::new()
            }
            Input::Time(now) => {
                self.now = now;
                self.settle();
                Vec::new()
            }
        }
    }

    fn read(&mut self, by: By) -> Vec<Effect> {
        match by {
            By::Us { done, select } => {
                if let Some(cell) = select {
                    self.select(cell);
                }
                self.say(Role::Dim, done);
                self.saved()
            }
            By::Others => {
                let is_overtaken = match &self.mode {
                    Mode::Edit(editor) => self.is_overtaken(editor),
                    _ => false,
                };
                if is_overtaken {
                    let text = words::notebook_screen::OVERTAKEN;
                    self.say(Role::Warning, text);
                }
                Vec::new()
            }
        }
    }

    /// The edited text is in the file. Takes the step that was planned for this.
    fn saved(&mut self) -> Vec<Effect> {
        let Mode::Edit(editor) = &mut self.mode else { return Vec::new() };
        let Some(then) = editor.then.take() else { return Vec::new() };
        editor.before = editor.text();
        match then {
            Then::Stay => Vec::new(),
            Then::Browse => {
                self.mode = Mode::Browse;
                Vec::new()
            }
            Then::Run => {
                self.mode = Mode::Browse;
                self.run_cell()
            }
            Then::RunAndGoOn => {
                self.mode = Mode::Browse;
                self.run_and_go_on()
            }
        }
    }

    fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        match &mut self.mode {
            Mode::Browse => self.browse_key(key),
            Mode::Edit(_) => self.edit_key(key),
            Mode::Search(_) => self.search_key(key),
            Mode::Help { .. } | Mode::Messages { .. } => {
                self.reading_key(key);
                Vec::new()
            }
            Mode::Conflict(_) => self.conflict_key(key),
            Mode::Quitting => match key.code {
                KeyCode::Char('y' | 'q') => vec![Effect::Quit],
                _ => {
                    self.mode = Mode::Browse;
                    Vec::new()
                }
            },
        }
    }

    /// Handles a key while the list of keys or messages is shown.
    fn reading_key(&mut self, key: KeyEvent) {
        let all = self.text_rows(usize::from(self.size.0)).len();
        let (page, last) = (self.body_rows.max(1), all.saturating_sub(1));
        let (Mode::Help { top } | Mode::Messages { top }) = &mut self.mode else { return };
        match key.code {
            KeyCode::Down | KeyCode::Char('j') => *top = (*top + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => *top = top.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => *top = (*top + page).min(last),
            KeyCode::PageUp => *top = top.saturating_sub(page),
            _ => self.mode = Mode::Browse,
        }
    }

    fn browse_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let first = self.first_key.take();
        match pressed(first, key) {
            KeyMeaning::Command(command) => {
                self.message = None;
                self.command(command)
            }
            KeyMeaning::First(key) => {
                self.first_key = Some(key);
                self.hint(words::notebook_screen::once_more(&key));
                Vec::new()
            }
            KeyMeaning::Nothing => {
                self.message = None;
                Vec::new()
            }
        }
    }

    fn command(&mut self, command: Command) -> Vec<Effect> {
        let at = self.cursor;
        let here = CellRef::Index(i64::try_from(at).unwrap_or(i64::MAX));
        let has_cells = !self.cells.is_empty();
        let change = |what, op| vec![Effect::Change { what, ops: vec![op] }];
        let insert = |at| EditOp::Insert { at, kind: CellKind::Code, source: String::new() };
        match command {
            Command::Down => self.select(at + 1),
            Command::Up => self.select(at.saturating_sub(1)),
            Command::First => self.select(0),
            Command::Last => self.select(usize::MAX),
            Command::PageDown => self.page(Direction::Down),
            Command::PageUp => self.page(Direction::Up),
            Command::InsertAbove if !has_cells => {
                return change("inserted", insert(CellPlace::Start));
            }
            Command::InsertBelow if !has_cells => {
                return change("inserted", insert(CellPlace::Start));
            }
            Command::InsertAbove => return change("inserted", insert(CellPlace::Before(here))),
            Command::InsertBelow => return change("inserted", insert(CellPlace::After(here))),
            Command::Undo => return vec![Effect::Undo],
            Command::Redo => return vec![Effect::Redo],
            Command::RunAll => return self.run(CellChoice::default(), 0..self.cells.len()),
            Command::Interrupt => return vec![Effect::Interrupt],
            Command::Restart => return vec![Effect::Restart],
            Command::ExpandAll => self.expand_all(),
            Command::Search => self.mode = Mode::Search(String::new()),
            Command::NextHit => self.find(Direction::Down),
            Command::PreviousHit => self.find(Direction::Up),
            Command::Help => self.mode = Mode::Help { top: 0 },
            Command::Messages => self.mode = Mode::Messages { top: 0 },
            Command::Suspend => return vec![Effect::Suspend],
            Command::Quit => return self.quit(),
            _ if !has_cells => self.say(Role::Dim, words::notebook_screen::NO_CELL),
            Command::Edit => self.edit(),
            Command::EditOutside => {
                return vec![Effect::EditOutside { cell: at, text: self.source(at) }];
            }
            Command::Delete => return change("deleted", EditOp::Delete { cell: here }),
            Command::Kind(kind) => {
                return change("changed the kind", EditOp::SetKind { cell: here, kind });
            }
            Command::MoveDown if at + 1 < self.cells.len() => {
                let to =
                    CellPlace::After(CellRef::Index(i64::try_from(at + 1).unwrap_or(i64::MAX)));
                return change("moved", EditOp::Move { cell: here, to });
            }
            Command::MoveUp if at > 0 => {
                let to =
                    CellPlace::Before(CellRef::Index(i64::try_from(at - 1).unwrap_or(i64::MAX)));
                return change("moved", EditOp::Move { cell: here, to });
            }
            Command::MoveDown | Command::MoveUp => {}
            Command::ClearOutputs => {
                return change("cleared", EditOp::Clear { cell: Some(here) });
            }
            Command::Run => return self.run_cell(),
            Command::RunAndGoOn => return self.run_and_go_on(),
            Command::RunFromHere => {
                let choice = CellChoice { from: Some(self.name_of(at)), ..CellChoice::default() };
                return self.run(choice, at..self.cells.len());
            }
            Command::Turn(turn) => {
                if !self.cells[at].turn(turn) {
                    self.hint(words::notebook_screen::NO_PAGE.to_owned());
                }
            }
            Command::Expand => {
                self.toggle(at);
                self.must_show_cursor = true;
            }
        }
        Vec::new()
    }

    fn quit(&mut self) -> Vec<Effect> {
        if self.is_running() && self.lasting == Lasting::EndsWithUs {
            self.mode = Mode::Quitting;
            return Vec::new();
        }
        vec![Effect::Quit]
    }

    fn page(&mut self, to: Direction) {
        let width = self.inner_width();
        let rows = self.body_rows.saturating_sub(2).max(1);
        self.scroll(to, rows, width);
        // Move the selection too, so that it stays visible.
        self.cursor = match to {
            Direction::Down => {
                let end = self.forward(self.top, self.body_rows.saturating_sub(1), width);
                let is_last = end.cell + 1 == self.cells.len();
                if is_last { end.cell } else { self.top.cell.max(self.cursor) }
            }
            Direction::Up => self.top.cell.min(self.cursor),
        };
    }

    fn expand_all(&mut self) {
        let is_any_collapsed = self.cells.iter().any(|cell| cell.expansion == Expansion::Collapsed);
        let all = if is_any_collapsed { Expansion::Expanded } else { Expansion::Collapsed };
        self.cells.iter_mut().for_each(|cell| cell.expansion = all);
        self.must_show_cursor = true;
    }

    /// The name of a cell in a run request: its id, which stays valid when cells come and go.
    fn name_of(&self, cell: usize) -> String {
        let id = self.notebook.cell(cell).and_then(|cell| cell.id()).map(|id| id.into_owned());
        let is_plain = |id: &String| !id.is_empty() && !id.contains([',', ' ']);
        id.filter(is_plain).unwrap_or_else(|| cell.to_string())
    }

    fn run(&mut self, choice: CellChoice, cells: std::ops::Range<usize>) -> Vec<Effect> {
        let mut any = false;
        for at in cells {
            if self.is_code(at) && !self.source(at).trim().is_empty() {
                self.cells[at].is_waiting = !self.cells[at].is_running();
                any = true;
            }
        }
        if !any {
            self.say(Role::Dim, words::notebook_screen::NO_CODE);
            return Vec::new();
        }
        self.asked += 1;
        vec![Effect::Run(choice)]
    }

    fn run_cell(&mut self) -> Vec<Effect> {
        let at = self.cursor;
        if !self.is_code(at) {
            self.say(Role::Dim, words::notebook_screen::ONLY_CODE);
            return Vec::new();
        }
        let choice = CellChoice { list: Some(self.name_of(at)), ..CellChoice::default() };
        self.run(choice, at..at + 1)
    }

    /// Runs the cell and selects the next one. Creates it if there is none.
    fn run_and_go_on(&mut self) -> Vec<Effect> {
        let mut effects = if self.is_code(self.cursor) { self.run_cell() } else { Vec::new() };
        if self.cursor + 1 < self.cells.len() {
            self.select(self.cursor + 1);
        } else {
            let op =
                EditOp::Insert { at: CellPlace::End, kind: CellKind::Code, source: String::new() };
            effects.push(Effect::Change { what: "inserted", ops: vec![op] });
        }
        effects
    }

    fn edit(&mut self) {
        let (cell, language) = (self.cursor, self.language_of(self.cursor));
        let is_lossy = self.current().is_some_and(|cell| cell.source().lossy);
        if let Some(reason) = self.notebook.read_only() {
            let reason = reason.to_string();
            return self.say(Role::Error, reason);
        }
        self.mode = Mode::Edit(Box::new(Editor::new(cell, &self.source(cell), language)));
        self.must_show_cursor = true;
        if is_lossy {
            self.say(Role::Warning, words::notebook_screen::LOSSY);
        }
    }

    fn edit_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        self.must_show_cursor = true;
        match key.code {
            KeyCode::Esc => self.save(Then::Browse),
            KeyCode::Char('s') if control => self.save(Then::Stay),
            KeyCode::Char('r') if control => self.save(Then::Run),
            KeyCode::Enter if control => self.save(Then::Run),
            KeyCode::Enter if shift || alt => self.save(Then::RunAndGoOn),
            KeyCode::Char('c') if control => vec![Effect::Interrupt],
            KeyCode::Char('q') if control => {
                self.mode = Mode::Browse;
                self.say(Role::Dim, words::notebook_screen::LEFT);
                Vec::new()
            }
            _ => {
                if let Mode::Edit(editor) = &mut self.mode {
                    editor.key(key, self.body_rows);
                }
                Vec::new()
            }
        }
    }

    /// Writes the typed text into the file. If another program has changed the cell, asks the user first.
    fn save(&mut self, then: Then) -> Vec<Effect> {
        self.message = None;
        let Mode::Edit(editor) = &mut self.mode else { return Vec::new() };
        editor.then = Some(then);
        if !editor.is_changed() {
            return self.saved();
        }
        let (text, cell) = (editor.text(), editor.cell);
        let is_overtaken = matches!(&self.mode, Mode::Edit(editor) if self.is_overtaken(editor));
        match cell {
            Some(cell) if !is_overtaken => vec![replace(cell, text)],
            _ => {
                if let Mode::Edit(editor) = std::mem::replace(&mut self.mode, Mode::Browse) {
                    self.mode = Mode::Conflict(editor);
                }
                Vec::new()
            }
        }
    }

    fn conflict_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Mode::Conflict(mut editor) = std::mem::replace(&mut self.mode, Mode::Browse) else {
            return Vec::new();
        };
        match (key.code, editor.cell) {
            (KeyCode::Char('o'), Some(cell)) => {
                editor.before = self.source(cell);
                let text = editor.text();
                self.mode = Mode::Edit(editor);
                vec![replace(cell, text)]
            }
            (KeyCode::Char('b'), cell) => {
                let place = |cell: usize| CellRef::Index(i64::try_from(cell).unwrap_or(i64::MAX));
                let at = cell.map_or(CellPlace::End, |cell| CellPlace::After(place(cell)));
                let kind = if editor.is_markdown() { CellKind::Markdown } else { CellKind::Code };
                let op = EditOp::Insert { at, kind, source: editor.text() };
                editor.then = Some(Then::Browse);
                self.mode = Mode::Edit(editor);
                vec![Effect::Change { what: words::notebook_screen::PUT_BESIDE, ops: vec![op] }]
            }
            (KeyCode::Char('t'), _) => {
                self.say(Role::Dim, "their text stays");
                Vec::new()
            }
            _ => {
                editor.then = None;
                self.mode = Mode::Edit(editor);
                Vec::new()
            }
        }
    }

    fn edited_outside(&mut self, cell: usize, before: &str, text: &str) -> Vec<Effect> {
        if before == text {
            self.say(Role::Dim, "nothing was changed");
            return Vec::new();
        }
        // The file may have changed meanwhile, so handle the text as if the user had typed it here.
        let mut editor = Editor::new(cell, before, self.language_of(cell));
        editor.put(text);
        self.mode = Mode::Edit(Box::new(editor));
        self.save(Then::Browse)
    }

    fn search_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Mode::Search(pattern) = &mut self.mode else { return Vec::new() };
        let is_plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match key.code {
            KeyCode::Enter => {
                let pattern = std::mem::take(pattern);
                self.mode = Mode::Browse;
                if !pattern.is_empty() {
                    self.pattern = Some(pattern);
                }
                self.find(Direction::Down);
            }
            KeyCode::Backspace if !pattern.is_empty() => drop(pattern.pop()),
            KeyCode::Char(c) if is_plain => pattern.push(c),
            KeyCode::Esc | KeyCode::Backspace | KeyCode::Char('c') => self.mode = Mode::Browse,
            _ => {}
        }
        Vec::new()
    }

    fn find(&mut self, to: Direction) {
        let Some(pattern) = self.pattern.clone() else {
            return self.say(Role::Dim, words::notebook_screen::NO_SEARCH);
        };
        let Some((cell, line)) = search::find(&self.notebook, &pattern, self.cursor, to) else {
            return self.say(Role::Warning, words::notebook_screen::not_found(&pattern));
        };
        let has_come_round = match to {
            Direction::Down => cell <= self.cursor,
            Direction::Up => cell >= self.cursor,
        };
        // Long lines of prose take many rows, so the number of visible lines is unknown here.
        if line.is_none_or(|line| line >= 6) || !self.is_code(cell) {
            self.cells[cell].expansion = Expansion::Expanded;
        }
        self.select(cell);
        self.must_show_hit = true;
        let round = if has_come_round { words::notebook_screen::OTHER_END } else { "" };
        self.say(Role::Dim, format!("/{pattern}: cell {cell}{round}"));
    }

    fn paste(&mut self, text: &str) {
        match &mut self.mode {
            Mode::Edit(editor) => {
                editor.paste(text);
                self.must_show_cursor = true;
            }
            Mode::Search(pattern) => pattern.extend(text.chars().filter(|c| !c.is_control())),
            _ => {}
        }
    }

    fn mouse(&mut self, mouse: MouseEvent) {
        let width = self.inner_width();
        match mouse.kind {
            MouseEventKind::ScrollDown | MouseEventKind::ScrollUp
                if matches!(self.mode, Mode::Help { .. } | Mode::Messages { .. }) =>
            {
                let is_down = mouse.kind == MouseEventKind::ScrollDown;
                let code = if is_down { KeyCode::Down } else { KeyCode::Up };
                for _ in 0..WHEEL_ROWS {
                    self.reading_key(KeyEvent::new(code, KeyModifiers::NONE));
                }
            }
            MouseEventKind::ScrollDown => self.wheel(Direction::Down, width),
            MouseEventKind::ScrollUp => self.wheel(Direction::Up, width),
            MouseEventKind::Down(MouseButton::Left) if matches!(self.mode, Mode::Browse) => {
                let is_here =
                    |(first, end, _): &&(u16, u16, usize)| (*first..*end).contains(&mouse.row);
                if let Some((_, _, cell)) = self.drawn.iter().find(is_here) {
                    self.cursor = *cell;
                }
            }
            _ => {}
        }
    }

    /// Scrolls. The selection moves along if it would leave the screen, so that keys never apply to an invisible
    /// cell.
    fn wheel(&mut self, to: Direction, width: usize) {
        self.scroll(to, WHEEL_ROWS, width);
        if matches!(self.mode, Mode::Browse) && !self.cells.is_empty() {
            let first = self.forward(self.top, 1, width).cell;
            let last = self.forward(self.top, self.body_rows.saturating_sub(1), width).cell;
            self.cursor = self.cursor.clamp(first.min(last), last);
        }
    }

    fn session(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::Began { execution, cell, of, source, notebook } => {
                self.running = Some((execution.clone(), cell, of));
                // Code without a cell of this notebook runs in the same kernel.
                let Some(named) = notebook else { return };
                let is_it = |at: &usize| {
                    let id = self.notebook.cell(*at).and_then(|cell| cell.id());
                    id.is_some() && id.as_deref() == named.id.as_deref()
                };
                let at = (0..self.cells.len()).find(is_it).unwrap_or(named.index);
                // A kernel runs one cell at a time, so an older run without a known end must be over.
                self.cells.iter_mut().for_each(CellRows::lost_sight);
                // A replayed event may refer to a source that has changed since.
                let is_current = self.source(at) == source.code;
                if let Some(shown) = self.cells.get_mut(at).filter(|_| is_current) {
                    shown.begin(execution, cell, source, self.now);
                }
            }
            SessionEvent::Happened { execution, cell, event } => {
                let found = self.cells.iter_mut().find(|shown| shown.is_of(&execution, cell));
                found.into_iter().for_each(|shown| shown.event(&event));
            }
            SessionEvent::Ended { execution, cell, report } => {
                let found = self.cells.iter_mut().find(|shown| shown.is_of(&execution, cell));
                found.into_iter().for_each(|shown| shown.end(&report, self.now));
                self.running = None;
            }
            // The program reads the file again after these events.
            SessionEvent::Edited(_) | SessionEvent::EditFailed(_) => {}
            SessionEvent::Kernel(change) => {
                self.say(Role::Warning, words::session::kernel_change_here(change));
            }
        }
    }
}

/// The effect that replaces the source of a cell.
fn replace(cell: usize, source: String) -> Effect {
    let op = EditOp::Replace {
        cell: CellRef::Index(i64::try_from(cell).unwrap_or(i64::MAX)),
        source,
        kind: None,
        outputs: OutputsAfter::ClearIfChanged,
        shape: SourceShape::Keep,
    };
    Effect::Change { what: "saved", ops: vec![op] }
}
