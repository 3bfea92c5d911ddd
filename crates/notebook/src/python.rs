//! Splits a Python cell into statements and finds those that only IPython understands.
//!
//! Owns the search for the start of a statement: strings, comments, brackets and backslashes can all hide the end
//! of a line. It is not a parser, and must not know what callers do with a statement.

/// The kind of a piece of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StatementKind {
    /// A blank line, or nothing but a comment.
    Empty,
    /// Python, as far as a scanner can tell.
    Python,
    /// `from __future__ import`, which must precede all other statements of a file.
    Future,
    /// A magic, a shell command or a question: not Python.
    Command,
}

/// All lines of one statement, with its line end if it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Statement<'a> {
    pub(crate) kind: StatementKind,
    pub(crate) text: &'a str,
}

impl<'a> Statement<'a> {
    /// The blanks before the statement on its line. A form feed resets the column to zero.
    pub(crate) fn indent(&self) -> &'a str {
        let blanks = &self.text[..self.text.len() - self.text.trim_start_matches(BLANKS).len()];
        blanks.rsplit('\x0c').next().unwrap_or_default()
    }
}

const BLANKS: [char; 3] = [' ', '\t', '\x0c'];

/// Splits a cell, whose lines end with `\n`, into statements; joined, they are the cell again.
pub(crate) fn split_statements(source: &str) -> Vec<Statement<'_>> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    let mut start = 0;
    while start < source.len() {
        let at = source.len() - source[start..].trim_start_matches(BLANKS).len();
        let (kind, end) = match bytes.get(at) {
            None => (StatementKind::Empty, at),
            Some(b'\n' | b'#') => (StatementKind::Empty, find_line_end(source, at)),
            byte if is_command_start(byte) => {
                (StatementKind::Command, find_command_end(source, at))
            }
            Some(b'\\') if is_command_start(bytes.get(skip_joins(source, at))) => {
                (StatementKind::Command, find_command_end(source, skip_joins(source, at)))
            }
            Some(_) => {
                let line = Scan::new(bytes, at).logical_line();
                // A question may leave a bracket open, as in `f(x?`.
                if line.is_open && (line.is_in_string || !line.asks) {
                    found.extend(split_unfinished(source, start, line.is_in_string));
                    return found;
                }
                match line {
                    Line { command: Some(at), .. } => {
                        (StatementKind::Command, find_command_end(source, at))
                    }
                    Line { asks: true, end, .. } => (StatementKind::Command, end),
                    Line { end, semicolon, .. } if at == start && is_future(&source[at..end]) => {
                        let split =
                            semicolon.map(|at| source.len() - skip_semicolon(source, at).len());
                        (StatementKind::Future, split.unwrap_or(end))
                    }
                    Line { end, .. } => (StatementKind::Python, end),
                }
            }
        };
        found.push(Statement { kind, text: &source[start..end] });
        start = end;
    }
    found
}

/// Splits the rest of a cell whose statement at `start` never ends. Such a cell is not Python with or without its
/// magics, so this changes little: inside an open string everything is text, and behind an open bracket only a
/// line that begins as a magic or shell command is a command.
fn split_unfinished(source: &str, mut start: usize, is_in_string: bool) -> Vec<Statement<'_>> {
    let mut found = Vec::new();
    while start < source.len() {
        let rest = &source.as_bytes()[start..];
        let is_command = match rest {
            [b'%', next, ..] => is_word(*next) && !next.is_ascii_digit(),
            [b'!', next, ..] => *next != b'=',
            _ => false,
        };
        let (kind, end) = if is_in_string {
            (StatementKind::Python, source.len())
        } else if is_command {
            (StatementKind::Command, find_command_end(source, start))
        } else {
            (StatementKind::Python, find_line_end(source, start))
        };
        found.push(Statement { kind, text: &source[start..end] });
        start = end;
    }
    found
}

/// True for a byte that begins a command. The last three (`,`, `;`, `/`) are calls without brackets. None of the
/// six begins a Python statement.
fn is_command_start(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b'%' | b'!' | b'?' | b',' | b';' | b'/'))
}

/// Skips blanks and lines that hold nothing but a backslash.
fn skip_joins(source: &str, at: usize) -> usize {
    let mut rest = &source[at..];
    loop {
        rest = rest.trim_start_matches(BLANKS);
        match rest.strip_prefix("\\\n") {
            Some(next) => rest = next,
            None => return source.len() - rest.len(),
        }
    }
}

fn is_future(statement: &str) -> bool {
    let mut words = statement.split(|c: char| c.is_whitespace() || c == '\\' || c == '(');
    let mut next = || words.find(|word| !word.is_empty());
    next() == Some("from") && next() == Some("__future__") && next() == Some("import")
}

/// The text behind a semicolon and its blanks.
fn skip_semicolon(source: &str, semicolon: usize) -> &str {
    source[semicolon + 1..].trim_start_matches(BLANKS)
}

/// Returns the offset past the end of the line.
fn find_line_end(source: &str, at: usize) -> usize {
    source[at..].find('\n').map_or(source.len(), |end| at + end + 1)
}

/// Returns the offset past the end of a command, which continues after a line that ends with a backslash. Quotes
/// and brackets have no meaning here: the text belongs to the shell or to the magic.
fn find_command_end(source: &str, at: usize) -> usize {
    let mut end = find_line_end(source, at);
    while end < source.len() && source[..end].ends_with("\\\n") {
        end = find_line_end(source, end);
    }
    end
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The result of scanning one logical line.
struct Line {
    /// Offset past the line end.
    end: usize,
    /// Offset of the command in `x = !ls` or `x = %magic`.
    command: Option<usize>,
    /// True if the last thing in the line is a question mark.
    asks: bool,
    /// Offset of the first semicolon between statements.
    semicolon: Option<usize>,
    /// The cell ended inside brackets or a string.
    is_open: bool,
    /// The cell ended inside a string.
    is_in_string: bool,
}

/// The quotes that close a string.
#[derive(Clone, Copy)]
struct Quotes {
    byte: u8,
    is_triple: bool,
}

/// An open bracket or string around the scanner. The scanner keeps these in a list instead of recursing, so
/// nesting may be of any depth.
#[derive(Clone, Copy)]
enum Inside {
    /// Round, square or curly brackets.
    Bracket,
    /// The text of an f-string. From Python 3.12 on its fields may contain its own quotes. A scan that follows
    /// fields finds the same end in everything that older versions accept.
    Formatted(Quotes),
    /// A field of an f-string, which holds code.
    Field,
    /// The format behind the colon of a field.
    Format(Quotes),
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    inside: Vec<Inside>,
}

impl<'a> Scan<'a> {
    fn new(bytes: &'a [u8], at: usize) -> Scan<'a> {
        Scan { bytes, at, inside: Vec::new() }
    }

    fn starts_with(&self, text: &[u8]) -> bool {
        self.bytes[self.at..].starts_with(text)
    }

    fn logical_line(mut self) -> Line {
        let mut line = Line {
            end: 0,
            command: None,
            asks: false,
            semicolon: None,
            is_open: false,
            is_in_string: false,
        };
        let mut is_assigned = false;
        while let Some(&byte) = self.bytes.get(self.at) {
            match self.inside.last() {
                Some(&Inside::Formatted(quotes)) => {
                    self.formatted(byte, quotes);
                    continue;
                }
                Some(&Inside::Format(quotes)) => {
                    self.format(byte, quotes);
                    continue;
                }
                _ => {}
            }
            let is_outside = self.inside.is_empty();
            match byte {
                b'\n' if is_outside => {
                    self.at += 1;
                    break;
                }
                b' ' | b'\t' | b'\n' | b'\x0c' => self.at += 1,
                b'\\' => self.at += if self.starts_with(b"\\\n") { 2 } else { 1 },
                b'#' => {
                    let rest = &self.bytes[self.at..];
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                _ => {
                    line.asks = byte == b'?';
                    if is_outside && byte == b';' && line.semicolon.is_none() {
                        line.semicolon = Some(self.at);
                    }
                    if is_outside && byte == b'=' && !is_assigned && self.is_assignment() {
                        is_assigned = true;
                        line.command = self.assigned_command();
                        if line.command.is_some() {
                            return line;
                        }
                    }
                    line.is_in_string = !self.token(byte);
                }
            }
        }
        line.end = self.at;
        line.is_open = line.is_in_string || !self.inside.is_empty();
        line.is_in_string |= self.inside.iter().any(|one| !matches!(one, Inside::Bracket));
        line
    }

    /// Scans one token of code. Returns false at a string that does not end.
    fn token(&mut self, byte: u8) -> bool {
        match byte {
            b'"' | b'\'' => return self.string(b""),
            b'(' | b'[' | b'{' => {
                self.inside.push(Inside::Bracket);
                self.at += 1;
            }
            b')' | b']' | b'}' => {
                let closes = match self.inside.last() {
                    Some(Inside::Field) => byte == b'}',
                    other => other.is_some(),
                };
                if closes {
                    self.inside.pop();
                }
                self.at += 1;
            }
            b':' if matches!(self.inside.last(), Some(Inside::Field)) => {
                let around = self.inside.iter().rev().nth(1);
                if let Some(&Inside::Formatted(quotes) | &Inside::Format(quotes)) = around {
                    self.inside.push(Inside::Format(quotes));
                }
                self.at += 1;
            }
            b'=' => self.at += if self.starts_with(b"==") { 2 } else { 1 },
            _ if is_word(byte) => {
                let start = self.at;
                let rest = &self.bytes[start..];
                self.at += rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
                if let Some(b'"' | b'\'') = self.bytes.get(self.at) {
                    return self.string(&self.bytes[start..self.at]);
                }
            }
            _ => self.at += 1,
        }
        true
    }

    /// True if this `=` stands alone and does not end `+=`, `:=`, `<=` and the like.
    fn is_assignment(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.bytes.get(at));
        !self.starts_with(b"==") && !before.is_some_and(|byte| b"+-*/%@&|^<>!:=".contains(byte))
    }

    /// The offset of the command that follows this `=`, if one does.
    fn assigned_command(&self) -> Option<usize> {
        let mut at = self.at + 1;
        loop {
            match self.bytes.get(at..)? {
                [b' ' | b'\t', ..] => at += 1,
                [b'\\', b'\n', ..] => at += 2,
                [b'!', ..] => return Some(at),
                [b'%', next, ..] if is_word(*next) && !next.is_ascii_digit() => return Some(at),
                _ => return None,
            }
        }
    }

    /// Scans a string: its opening quotes are here, its prefix was just read. Returns false if it has no end.
    fn string(&mut self, prefix: &[u8]) -> bool {
        let byte = self.bytes[self.at];
        let quotes = Quotes { byte, is_triple: self.starts_with(&[byte; 3]) };
        self.at += if quotes.is_triple { 3 } else { 1 };
        let is_prefix = prefix.len() <= 2 && prefix.iter().all(|c| b"rRfFtT".contains(c));
        if is_prefix && prefix.iter().any(|c| b"fFtT".contains(c)) {
            self.inside.push(Inside::Formatted(quotes));
            return true;
        }
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                // In raw strings too, a backslash keeps the next quote from ending the string.
                b'\\' => self.at = (self.at + 2).min(self.bytes.len()),
                b'\n' if !quotes.is_triple => return true,
                _ if self.closes(quotes) => return true,
                _ => self.at += 1,
            }
        }
        // A string in single quotes ends with its line. Without a line end, only the last line is wrong.
        !quotes.is_triple
    }

    /// Steps over closing quotes; false if other text is here.
    fn closes(&mut self, quotes: Quotes) -> bool {
        let length = if quotes.is_triple { 3 } else { 1 };
        let is_end = self.starts_with(&[quotes.byte; 3][..length]);
        self.at += if is_end { length } else { 0 };
        is_end
    }

    /// Scans one step in the text of an f-string.
    fn formatted(&mut self, byte: u8, quotes: Quotes) {
        match byte {
            b'\\' if !self.starts_with(b"\\{") && !self.starts_with(b"\\}") => {
                self.at = (self.at + 2).min(self.bytes.len());
            }
            b'\n' if !quotes.is_triple => drop(self.inside.pop()),
            b'{' if self.starts_with(b"{{") => self.at += 2,
            b'{' => {
                self.inside.push(Inside::Field);
                self.at += 1;
            }
            _ if self.closes(quotes) => drop(self.inside.pop()),
            _ => self.at += 1,
        }
    }

    /// Scans one step in the format of a field.
    fn format(&mut self, byte: u8, quotes: Quotes) {
        let is_end = self.starts_with(&[quotes.byte; 3][..if quotes.is_triple { 3 } else { 1 }])
            || byte == b'\n' && !quotes.is_triple;
        if byte == b'{' {
            self.inside.push(Inside::Field);
            self.at += 1;
        } else if byte == b'\\' && !self.starts_with(b"\\{") && !self.starts_with(b"\\}") {
            self.at = (self.at + 2).min(self.bytes.len());
        } else if byte == b'}' || is_end {
            // Leave the format and its field; the string ends even if the field's brace is missing.
            self.inside.truncate(self.inside.len().saturating_sub(2));
            self.at += usize::from(byte == b'}');
        } else {
            self.at += 1;
        }
    }
}
