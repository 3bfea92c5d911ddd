//! A frame of the notebook: a bar at the top, the cells that fit, a bar at the bottom.
//!
//! Owns the layout. All text from outside is in [`Line`]s, which hold no control characters. Only visible cells are
//! rendered.

use std::ops::Range;

use inkcell_engine::notebook::CellKind;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::{Modifier, Style};

use super::keys::help;
use super::look::{Look, put};
use super::model::{Message, Mode, Model, Top};
use super::search;
use crate::view::execution::{Area, Expansion};
use crate::view::paint::{Colour, Line, Role, Wrap, columns, fit, wrap};
use crate::words;

/// Columns left of a cell: the cursor's mark, the count, the state and a space.
const GUTTER: u16 = 9;

/// Columns of the count in the gutter.
const COUNT: usize = 5;

/// The same on a narrow screen, which has room for the cursor's mark only.
const NARROW_GUTTER: u16 = 2;

/// Columns from which the gutter shows counts and states.
const WIDE: u16 = 40;

/// Least columns for the description of a key beside the key.
const HELP_COLUMNS: usize = 20;

/// Least columns for the name of the notebook.
const NAME_COLUMNS: usize = 6;

fn show_selection(buffer: &mut Buffer, at: Position, columns: Range<usize>) {
    let of = |column: usize| u16::try_from(column).unwrap_or(u16::MAX);
    let x = at.x.saturating_add(of(columns.start));
    let area = Rect { x, y: at.y, width: of(columns.len()), height: 1 };
    buffer.set_style(area, Style::new().add_modifier(Modifier::REVERSED));
}

/// The rows of a cell.
struct Rows {
    lines: Vec<Line>,
    /// The rows of the source, which have a ground of their own.
    source: Range<usize>,
    /// The row and column of the editor's cursor.
    cursor: Option<(usize, usize)>,
}

impl Model {
    /// Columns for the content of cells, as of the last frame.
    pub(super) fn inner_width(&self) -> usize {
        usize::from(self.size.0.saturating_sub(self.gutter())).max(1)
    }

    fn is_wide(&self) -> bool {
        self.size.0 >= WIDE
    }

    fn gutter(&self) -> u16 {
        if self.is_wide() { GUTTER } else { NARROW_GUTTER }
    }

    /// Rows of a cell: its label, its content and an empty row.
    pub(super) fn height(&mut self, cell: usize, width: usize) -> usize {
        let Some(view) = self.notebook.cell(cell) else { return 1 };
        let language = self.language_of(cell);
        if let Mode::Edit(editor) | Mode::Conflict(editor) = &self.mode
            && editor.cell == Some(cell)
        {
            let area = Area { width, expansion: Expansion::Collapsed };
            let rows = editor.rows();
            let outputs = self.cells[cell].outputs(&view, (area, &self.gallery));
            return rows + outputs.len() + 2;
        }
        self.cells[cell].rows(&view, language, (width, &self.gallery)).len() + 2
    }

    /// The count and the state of a cell, for the gutter.
    fn state(&self, cell: usize) -> Line {
        let Some(view) = self.notebook.cell(cell).filter(|_| self.is_code(cell)) else {
            return Line::default();
        };
        let (role, mark, _) = self.cells[cell].status(self.now);
        let (count_role, count) = match view.execution_count() {
            _ if self.cells[cell].is_running() => (Role::Warning, "[*]".to_owned()),
            // A large count has no room for brackets.
            Some(count) if count >= 1000 => (Role::Name, count.to_string()),
            Some(count) => (Role::Name, format!("[{count}]")),
            None => (Role::Dim, "[ ]".to_owned()),
        };
        let mut line = Line::of(count_role, &format!("{count:>COUNT$}"));
        line.push(role, &format!(" {mark}"));
        line
    }

    /// The row above a cell: its position and id, its kind, and what the gutter has no room for.
    fn label(&self, cell: usize) -> Line {
        let Some(view) = self.notebook.cell(cell) else { return Line::default() };
        let (_, _, said) = self.cells[cell].status(self.now);
        let mut line = Line::default();
        if !self.is_wide() && self.is_code(cell) {
            let state = self.state(cell);
            line.push(Role::Plain, state.text().trim());
            line.push(Role::Plain, " ");
        }
        let name = view.id().map_or_else(|| format!("#{cell}"), |id| format!("#{cell} {id}"));
        line.push(Role::Dim, &name);
        if !self.is_code(cell) {
            line.push(Role::Dim, &format!("  {}", view.kind_name()));
        }
        if let Some(said) = said {
            line.push(Role::Dim, &format!("  {said}"));
        }
        let is_edited = self.editor().is_some_and(|editor| editor.cell == Some(cell));
        if is_edited {
            line.push(Role::Warning, "  editing");
            if self.editor().is_some_and(|editor| self.is_overtaken(editor)) {
                line.push(Role::Error, words::notebook_screen::CHANGED_ON_DISK);
            }
        }
        line
    }

    /// The rows of a cell: its label, its source, its outputs and an empty row.
    fn cell_rows(&mut self, cell: usize, width: usize) -> Rows {
        let language = self.language_of(cell);
        let mut lines = vec![Line::default()];
        let mut cursor = None;
        let mut source = 1..1;
        if let Some(view) = self.notebook.cell(cell) {
            match &mut self.mode {
                Mode::Edit(editor) | Mode::Conflict(editor) if editor.cell == Some(cell) => {
                    let (rows, column) = editor.lines(width);
                    cursor = Some((lines.len() + editor.row(), column));
                    lines.extend(rows);
                    source.end = lines.len();
                    let area = Area { width, expansion: Expansion::Collapsed };
                    let shown = (area, &self.gallery);
                    lines.extend_from_slice(self.cells[cell].outputs(&view, shown));
                }
                _ => {
                    let shown = (width, &self.gallery);
                    lines.extend_from_slice(self.cells[cell].rows(&view, language, shown));
                    // Rendered prose stands on the ground of the screen.
                    if view.kind() != Some(CellKind::Markdown) {
                        source.end += self.cells[cell].source_len();
                    }
                }
            }
        }
        // The label comes last, because it depends on the outputs.
        lines[0] = fit(&self.label(cell), width);
        lines.push(Line::default());
        Rows { lines, source, cursor }
    }

    /// Draws the frame. Returns the position of the terminal's cursor.
    pub(super) fn draw(&mut self, buffer: &mut Buffer, colour: Colour) -> Option<Position> {
        let area = *buffer.area();
        let was_shown = self.drawn.iter().any(|(_, _, cell)| *cell == self.cursor);
        let size = (area.width, area.height);
        let has_other_size = size != std::mem::replace(&mut self.size, size);
        self.drawn.clear();
        self.pictures.clear();
        if area.height == 0 || area.width == 0 {
            return None;
        }
        let bars = if area.height >= 4 { 1 } else { 0 };
        let below = self.below(area, usize::from((area.height - bars) / 2).max(1));
        let below_rows = u16::try_from(below.0.len()).unwrap_or(1).max(1);
        let body = Rect { y: area.y + bars, height: area.height - bars - below_rows, ..area };
        let body_rows = usize::from(body.height);
        let has_less_room = body_rows < std::mem::replace(&mut self.body_rows, body_rows);
        // The rows have moved or the screen has shrunk, so scroll to the selection again.
        self.must_show_cursor |= has_other_size || (has_less_room && was_shown);
        if bars > 0 {
            self.draw_above(buffer, area, colour);
        }
        let cursor = match self.mode {
            Mode::Help { top } | Mode::Messages { top } => {
                let rows = self.text_rows(usize::from(body.width));
                draw_rows(buffer, body, rows.get(top..).unwrap_or_default(), colour);
                None
            }
            _ => self.draw_cells(buffer, body, colour),
        };
        let room = Rect { y: body.y + body.height, height: below_rows, ..area };
        draw_rows(buffer, room, &below.0, colour);
        below.1.or(cursor)
    }

    /// The text of the reading mode: the keys, or the messages with the newest first.
    pub(super) fn text_rows(&self, width: usize) -> Vec<Line> {
        if matches!(self.mode, Mode::Help { .. }) {
            return help_rows(width);
        }
        if self.messages.is_empty() {
            return vec![Line::of(Role::Dim, words::notebook_screen::NO_MESSAGES)];
        }
        self.messages.iter().rev().flat_map(|message| said(message, width)).collect()
    }

    fn draw_above(&self, buffer: &mut Buffer, area: Rect, colour: Colour) {
        let bar = Rect { height: 1, ..area };
        buffer.set_style(bar, Style::new().add_modifier(Modifier::REVERSED));
        let cells = crate::output::count(self.cells.len(), "cell");
        let about = match self.cells.is_empty() {
            true => format!("  {cells}"),
            false => format!("  #{} · {cells}", self.cursor),
        };
        let width = usize::from(area.width);
        // A long name is cut first, then the words about the kernel, so that the position stays visible.
        let least = NAME_COLUMNS + columns(&about);
        let kernel = [self.kernel_words(), self.kernel_mark().to_owned()];
        let kernel = kernel.into_iter().find(|words| least + columns(words) + 3 <= width);
        let kernel = kernel.unwrap_or_default();
        let kernel_columns = if kernel.is_empty() { 0 } else { columns(&kernel) + 3 };
        let room = width.saturating_sub(columns(&about) + kernel_columns);
        let room = room.max(width.min(NAME_COLUMNS));
        let mut line = fit(&Line::of(Role::Title, &format!(" {}", self.name)), room);
        line.push(Role::Title, &about);
        let between = width.saturating_sub(columns(&line.text()) + columns(&kernel) + 1);
        if !kernel.is_empty() {
            line.push(Role::Title, &format!("{}{kernel}", " ".repeat(between)));
        }
        let line = fit(&line, width);
        let look = Look::plain(colour).with(Style::new().add_modifier(Modifier::REVERSED));
        put(buffer, Position::new(area.x, area.y), &line, width, look);
    }

    fn draw_cells(&mut self, buffer: &mut Buffer, body: Rect, colour: Colour) -> Option<Position> {
        let width = self.inner_width();
        if self.cells.is_empty() {
            let line = Line::of(Role::Dim, words::notebook_screen::NO_CELLS);
            put(buffer, body.as_position(), &line, usize::from(body.width), Look::plain(colour));
            return None;
        }
        if std::mem::take(&mut self.must_show_cursor) {
            let last = self.height(self.top.cell, width).saturating_sub(1);
            self.top.row = self.top.row.min(last);
            self.bring_cursor(width);
        }
        if std::mem::take(&mut self.must_show_end) {
            let last = self.height(self.cursor, width).saturating_sub(2);
            self.bring(self.cursor, (last, last), width);
        }
        if std::mem::take(&mut self.must_show_hit) {
            self.bring_hit(width);
        }
        self.fill(width);
        let mut position = None;
        let (mut y, end, end_x) = (body.y, body.y + body.height, body.x + body.width);
        let mut at = self.top;
        while y < end && at.cell < self.cells.len() {
            let Rows { lines: rows, source, cursor } = self.cell_rows(at.cell, width);
            let first = y;
            let mut picture = None;
            for (number, row) in rows.iter().enumerate() {
                if let Some(found) = row.picture() {
                    picture = Some((number, columns(&row.text()), found.clone()));
                }
                if number < at.row {
                    continue;
                }
                if y == end {
                    break;
                }
                let is_last = number + 1 == rows.len();
                if at.cell == self.cursor && !is_last {
                    let mark = if self.editor().is_some() { Role::Warning } else { Role::Name };
                    let mark = Line::of(mark, "▌");
                    put(buffer, Position::new(body.x, y), &mark, 1, Look::plain(colour));
                }
                if number == 1 && self.is_wide() {
                    let state = self.state(at.cell);
                    let place = Position::new(body.x + 1, y);
                    put(buffer, place, &state, usize::from(GUTTER) - 2, Look::plain(colour));
                }
                let x = body.x + self.gutter().min(body.width - 1);
                let mut look = Look::plain(colour);
                if source.contains(&number) {
                    look = look.on(self.ground);
                    self.draw_ground(buffer, Rect { x, y, width: end_x - x, height: 1 }, look);
                }
                put(buffer, Position::new(x, y), row, width, look);
                // The editor's rows start below the label.
                let selected =
                    cursor.and_then(|_| self.editor()?.selected(number.checked_sub(1)?, width));
                if let Some(columns) = selected {
                    show_selection(buffer, Position::new(x, y), columns);
                }
                let within = picture.as_ref().filter(|(from, _, of)| number < from + of.rows());
                if let Some((from, column, of)) = within {
                    let column = u16::try_from(*column).unwrap_or(u16::MAX);
                    let place = Position::new(x.saturating_add(column), y);
                    let row = number - from;
                    // The terminal draws only whole pictures, so a partly visible one appears as text.
                    let is_whole = *from >= at.row && usize::from(end - y) + row >= of.rows();
                    if is_whole && row == 0 {
                        self.pictures.push((place, of.clone()));
                    } else if !is_whole {
                        put(buffer, place, &of.text_row(row), of.columns(), Look::plain(colour));
                    }
                }
                if let Some((_, column)) = cursor.filter(|(row, _)| *row == number) {
                    let column = u16::try_from(column).unwrap_or(u16::MAX);
                    let column = x.saturating_add(column).min(body.x + body.width - 1);
                    position = Some(Position::new(column, y));
                }
                y += 1;
            }
            self.drawn.push((first, y, at.cell));
            at = Top { cell: at.cell + 1, row: 0 };
        }
        position
    }

    /// Draws the ground of a row of source, from one column before it. Without a ground, a line marks the row.
    fn draw_ground(&self, buffer: &mut Buffer, row: Rect, look: Look) {
        let before = Rect { x: row.x.saturating_sub(1), width: row.width + 1, ..row };
        if look.has_ground() {
            buffer.set_style(before, look.style(Role::Plain));
        } else if self.is_wide() {
            put(buffer, before.as_position(), &Line::of(Role::Dim, "│"), 1, look);
        }
    }

    /// Scrolls to a search hit within a long cell.
    fn bring_hit(&mut self, width: usize) {
        let (cell, pattern) = (self.cursor, self.pattern.clone().unwrap_or_default());
        let rows = self.cell_rows(cell, width).lines;
        // Skip the label: it has the cell's id, which a search ignores.
        let hit = rows.iter().skip(1).position(|row| search::holds(&row.text(), &pattern));
        if let Some(row) = hit {
            self.bring(cell, (row + 1, row + 1), width);
        }
    }

    /// Scrolls to the cursor. While a cell is edited, that is the row of the text cursor.
    fn bring_cursor(&mut self, width: usize) {
        let cell = match self.editor() {
            Some(editor) => editor.cell.unwrap_or(self.cursor),
            None => self.cursor,
        };
        let rows = match self.editor() {
            Some(editor) if editor.cell == Some(cell) => {
                let row = editor.row() + 1;
                (if row == 1 { 0 } else { row }, row)
            }
            _ => {
                let last = self.height(cell, width).saturating_sub(2);
                // A cell that fills the screen stays where the user has scrolled it.
                if last >= self.body_rows && self.top.cell == cell {
                    return;
                }
                (0, last)
            }
        };
        self.bring(cell, rows, width);
    }

    /// At most `most` rows for the bottom: a question or a message, and the cursor's position in typed text.
    fn below(&self, area: Rect, most: usize) -> (Vec<Line>, Option<Position>) {
        let width = usize::from(area.width);
        let asked = |text: &str| {
            let message = Message { role: Role::Warning, text: text.to_owned() };
            at_most(said(&message, width), most, width)
        };
        let hint = |text: &str| vec![fit(&Line::of(Role::Dim, text), width)];
        let rows = match &self.mode {
            Mode::Search(pattern) => {
                let line = Line::of(Role::Plain, &format!("/{pattern}"));
                let column = columns(&line.text()).min(width.saturating_sub(1));
                let column = u16::try_from(column).unwrap_or(0);
                let cursor = Position::new(area.x + column, area.y + area.height - 1);
                return (vec![fit(&line, width)], Some(cursor));
            }
            Mode::Conflict(editor) => {
                let (whose, first) = match editor.cell {
                    Some(_) => (words::notebook_screen::CELL_CHANGED, "o overwrite  "),
                    None => (words::notebook_screen::CELL_DELETED, ""),
                };
                let keys = words::notebook_screen::CONFLICT_KEYS;
                asked(&format!("{whose}: {first}{keys}"))
            }
            Mode::Quitting => asked(words::notebook_screen::QUITTING),
            Mode::Help { .. } | Mode::Messages { .. } => hint(words::notebook_screen::SCROLLING),
            mode => match (&self.message, mode) {
                (Some(message), _) => at_most(said(message, width), most, width),
                (None, Mode::Edit(editor)) if editor.has_offer() => {
                    editor.offer_line(width).into_iter().collect()
                }
                (None, Mode::Edit(_)) => hint(words::notebook_screen::EDITING),
                (None, _) => hint(words::notebook_screen::KEYS),
            },
        };
        (rows, None)
    }
}

/// Renders a message. Each of its lines is wrapped to the width.
fn said(message: &Message, width: usize) -> Vec<Line> {
    let lines = message.text.trim_end().split('\n').map(|text| Line::of(message.role, text));
    lines.flat_map(|line| wrap(&line, width, Wrap::Words)).collect()
}

/// Cuts rows to `most`. The last row then says where to read the rest.
fn at_most(mut rows: Vec<Line>, most: usize, width: usize) -> Vec<Line> {
    if rows.len() > most {
        rows.truncate(most);
        if let Some(last) = rows.last_mut() {
            *last = fit(&Line::of(Role::Dim, words::notebook_screen::MESSAGE_CUT), width);
        }
    }
    rows
}

/// Puts rows below each other, as far as they fit.
fn draw_rows(buffer: &mut Buffer, room: Rect, rows: &[Line], colour: Colour) {
    for (y, row) in (room.y..room.y + room.height).zip(rows) {
        let (place, width) = (Position::new(room.x, y), usize::from(room.width));
        put(buffer, place, &fit(row, width), width, Look::plain(colour));
    }
}

/// Every key with its description. On a narrow screen, descriptions stand below the keys.
fn help_rows(width: usize) -> Vec<Line> {
    let lines = help();
    let widest = lines.iter().map(|(keys, _)| columns(keys)).max().unwrap_or(0);
    let beside = width.saturating_sub(widest + 3);
    let (indent, is_beside) = if beside >= HELP_COLUMNS { (widest + 3, true) } else { (3, false) };
    let mut rows = Vec::new();
    for (keys, text) in &lines {
        let text = wrap(&Line::of(Role::Plain, text), width.saturating_sub(indent), Wrap::Words);
        let mut line = Line::of(Role::Title, &format!(" {keys:<widest$}  "));
        if !is_beside {
            rows.extend(wrap(&Line::of(Role::Title, &format!(" {keys}")), width, Wrap::Words));
            line = Line::of(Role::Plain, "   ");
        }
        for part in text {
            part.spans().iter().for_each(|span| line.push(span.role(), span.text()));
            rows.push(std::mem::replace(&mut line, Line::of(Role::Plain, &" ".repeat(indent))));
        }
    }
    rows
}
