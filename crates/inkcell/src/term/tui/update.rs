//! The reaction to an input: changes of the model, and effects.
//!
//! Owns every decision of the notebook view. It performs no effect itself: it returns effects to the caller.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use inkcell_engine::api::CellChoice;

use super::cell_rows::CellRows;
use super::cursor::Direction;
use super::keys::{Command, KeyMeaning, pressed};
use super::model::{By, Effect, Input, KernelNow, Lasting, Mode, Model, Top};
use super::outside::StoredPicture;
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
            Input::RunOver(end) => self.run_over(end),
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
                self.kernel = KernelNow::default();
                Vec::new()
            }
            Input::Completed { code, cursor, found } => {
                self.completed(&code, cursor, found.as_ref());
                Vec::new()
            }
            Input::Marked { version, marks } => {
                // Marks of another version come with an answer that is still on its way.
                if version == self.version {
                    for (cell, mark) in self.cells.iter_mut().zip(marks) {
                        cell.marked(mark);
                    }
                }
                Vec::new()
            }
            Input::Kernel(kernel) => {
                self.kernel_is(kernel);
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
            KeyMeaning::Absent(instead) => {
                self.hint(instead.to_owned());
                Vec::new()
            }
            KeyMeaning::Nothing => {
                self.message = None;
                Vec::new()
            }
        }
    }

    fn command(&mut self, command: Command) -> Vec<Effect> {
        if let Some(effects) = self.change_cells(command) {
            return effects;
        }
        let at = self.cursor;
        match command {
            Command::Down => self.select(at + 1),
            Command::Up => self.select(at.saturating_sub(1)),
            Command::First => {
                self.select(0);
                self.top = Top::default();
            }
            Command::Last => self.select(usize::MAX),
            Command::PageDown => self.page(Direction::Down),
            Command::PageUp => self.page(Direction::Up),
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
            _ if self.cells.is_empty() => self.say(Role::Dim, words::notebook_screen::NO_CELLS),
            Command::Edit => self.edit(),
            Command::EditOutside => {
                return vec![Effect::EditOutside { cell: at, text: self.source(at) }];
            }
            Command::Run => return self.run_cell(),
            Command::RunAndGoOn => return self.run_and_go_on(),
            Command::RunAndInsert => return self.run_and_insert(),
            Command::RunFromHere => {
                let choice = CellChoice { from: Some(self.name_of(at)), ..CellChoice::default() };
                return self.run(choice, at..self.cells.len());
            }
            Command::Turn(turn) => {
                let has_page = self.cells[at].turn(turn);
                if !has_page {
                    self.hint(words::notebook_screen::NO_PAGE.to_owned());
                }
            }
            Command::ToggleOutput => {
                self.cells[at].toggle_output();
                self.must_show_cursor = true;
            }
            Command::Expand => {
                self.toggle(at);
                self.must_show_cursor = true;
            }
            Command::OpenPicture => {
                let Some(picture) = self.current().and_then(|cell| StoredPicture::of(&cell)) else {
                    self.say(Role::Dim, words::notebook_screen::NO_PICTURE);
                    return Vec::new();
                };
                return vec![Effect::OpenPicture(picture)];
            }
            // `change_cells` has handled the other commands.
            _ => {}
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
        if line.is_none() {
            self.cells[cell].show_output();
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
}
