//! The line a terminal is writing: text added at its end, or cells that are overwritten.
//!
//! Owns the cursor. It must not know how escape sequences are spelled. A cell is one character; double width is
//! ignored.

/// A line that grows beyond this passes its beginning on. A terminal, too, can only return to the start of its row, and
/// the limit keeps one endless line from filling memory.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// The current line. Text is nearly always only added, so that is cheap: characters become cells at the first
/// overwrite.
#[derive(Debug, Default)]
pub(crate) struct Line {
    text: String,
    /// True right after a carriage return; before a line feed it has no effect.
    at_start: bool,
    cells: Option<Cells>,
}

#[derive(Debug, Default)]
struct Cells {
    cells: Vec<char>,
    /// May lie beyond the end; a write fills the gap with blanks.
    cursor: usize,
}

impl Line {
    /// Writes text, which may contain line feeds, and passes complete lines to `out`.
    pub(crate) fn write(&mut self, text: &str, out: &mut dyn FnMut(&str)) {
        if text.is_empty() {
            return;
        }
        if self.at_start {
            self.at_start = false;
            if !text.starts_with('\n') {
                self.cells_mut().cursor = 0;
            }
        }
        match self.cells {
            Some(_) => self.write_over(text, out),
            None => self.append(text, out),
        }
    }

    fn append(&mut self, text: &str, out: &mut dyn FnMut(&str)) {
        let (mut lines, mut rest) = match memchr::memrchr(b'\n', text.as_bytes()) {
            Some(last) => text.split_at(last + 1),
            None => ("", text),
        };
        if !lines.is_empty() && !self.text.is_empty() {
            let first = memchr::memchr(b'\n', lines.as_bytes()).map_or(lines.len(), |at| at + 1);
            if self.text.len() + first <= MAX_LINE_BYTES {
                self.text.push_str(&lines[..first]);
                lines = &lines[first..];
            }
            out(&self.text);
            self.text.clear();
        }
        if !lines.is_empty() {
            out(lines);
        }
        while self.text.len() + rest.len() > MAX_LINE_BYTES {
            let fits = rest.floor_char_boundary(MAX_LINE_BYTES - self.text.len());
            self.text.push_str(&rest[..fits]);
            rest = &rest[fits..];
            out(&self.text);
            self.text.clear();
        }
        self.text.push_str(rest);
    }

    fn write_over(&mut self, text: &str, out: &mut dyn FnMut(&str)) {
        for (at, c) in text.char_indices() {
            match &mut self.cells {
                Some(line) if c != '\n' && line.cursor < MAX_LINE_BYTES => line.put(c),
                _ => {
                    // The content of the line is settled, and text is added again.
                    let cells = self.cells.take().unwrap_or_default().cells;
                    self.text.extend(cells);
                    if c != '\n' {
                        self.flush(out);
                    }
                    return self.append(&text[at..], out);
                }
            }
        }
    }

    pub(crate) fn carriage_return(&mut self) {
        match &mut self.cells {
            Some(line) => line.cursor = 0,
            None => self.at_start = !self.text.is_empty(),
        }
    }

    pub(crate) fn backspace(&mut self) {
        self.back(1);
    }

    /// Executes a control sequence, given its final character and first number, if it concerns only this line.
    pub(crate) fn control(&mut self, last: u8, number: u32) {
        let number = usize::try_from(number).unwrap_or(MAX_LINE_BYTES).min(MAX_LINE_BYTES);
        match last {
            b'K' => self.erase(number),
            b'G' => self.cells_mut().cursor = number.max(1) - 1,
            b'C' => {
                let line = self.cells_mut();
                line.cursor = (line.cursor + number.max(1)).min(MAX_LINE_BYTES);
            }
            b'D' => self.back(number.max(1)),
            _ => {}
        }
    }

    fn back(&mut self, by: usize) {
        if !self.shown_is_empty() || self.cells.is_some() {
            let line = self.cells_mut();
            line.cursor = line.cursor.saturating_sub(by);
        }
    }

    /// Erases to the end (0), from the start (1), or all of the line (2); the cursor stays.
    fn erase(&mut self, part: usize) {
        if part == 0 && self.cells.is_none() && !self.at_start {
            return;
        }
        let line = self.cells_mut();
        match part {
            0 => line.cells.truncate(line.cursor),
            1 => {
                let end = line.cells.len().min(line.cursor + 1);
                line.cells[..end].fill(' ');
            }
            2 => line.cells.clear(),
            _ => {}
        }
    }

    /// Passes the line on as it stands and begins the next one.
    pub(crate) fn flush(&mut self, out: &mut dyn FnMut(&str)) {
        self.at_start = false;
        if let Some(line) = self.cells.take() {
            self.text.extend(&line.cells);
        }
        if !self.text.is_empty() {
            out(&self.text);
            self.text.clear();
        }
    }

    /// The visible content of the line.
    pub(crate) fn visible_text(&self) -> String {
        match &self.cells {
            Some(line) => line.cells.iter().collect(),
            None => self.text.clone(),
        }
    }

    /// Returns true if no line has begun.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.cells.is_none() && !self.at_start
    }

    fn shown_is_empty(&self) -> bool {
        self.text.is_empty() && self.cells.as_ref().is_none_or(|line| line.cells.is_empty())
    }

    fn cells_mut(&mut self) -> &mut Cells {
        let (text, at_start) = (&mut self.text, &mut self.at_start);
        self.cells.get_or_insert_with(|| {
            let cells: Vec<char> = text.chars().collect();
            text.clear();
            let cursor = if std::mem::take(at_start) { 0 } else { cells.len() };
            Cells { cells, cursor }
        })
    }
}

impl Cells {
    fn put(&mut self, c: char) {
        if self.cursor > self.cells.len() {
            self.cells.resize(self.cursor, ' ');
        }
        match self.cells.get_mut(self.cursor) {
            Some(cell) => *cell = c,
            None => self.cells.push(c),
        }
        self.cursor += 1;
    }
}
