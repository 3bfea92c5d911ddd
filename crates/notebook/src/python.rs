//! Splits a Python cell into statements and finds those that only IPython understands.
//!
//! Owns the rules of commands and of logical lines, over the tokens of `python/tokens.rs`; `python/scopes.rs` owns the
//! scopes of names. It is not a parser, and must not know what callers do with a statement.

mod scopes;
mod tokens;

pub(crate) use scopes::{CodeFault, NameForm, NameHome, NameRole, NameScopes};
pub(crate) use tokens::{KEYWORDS, count_words, is_name};
pub use tokens::{PythonToken, PythonTokenKind, StringEnd, python_tokens};

use tokens::is_word_byte;

/// Cell magics that run the rest of their cell as Python in the session.
pub(crate) const PYTHON_MAGICS: [&str; 4] = ["time", "timeit", "capture", "prun"];

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

    /// The Python of the statement. A command has Python only before it, as in `files = !ls`.
    pub(crate) fn code(&self) -> &'a str {
        if self.kind != StatementKind::Command {
            return self.text;
        }
        let at = self.text.len() - self.text.trim_start_matches(BLANKS).len();
        let first = self.text.as_bytes().get(at);
        let is_whole = first == Some(&b'\\') || is_command_start(first);
        let command = if is_whole { None } else { read_line(self.text, at).command };
        &self.text[..command.unwrap_or(0)]
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
                let line = read_line(source, at);
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
            [b'%', next, ..] => is_word_byte(*next) && !next.is_ascii_digit(),
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

/// Finds the name of the magic that takes the whole cell; `%%name?` only asks for help about it.
pub(crate) fn find_cell_magic(body: &str) -> Option<&str> {
    let head = body.strip_prefix("%%")?;
    let name = head.split(char::is_whitespace).next().unwrap_or_default();
    let asked = name.trim_end_matches('?');
    let is_question =
        asked.len() < name.len() && asked.chars().all(|c| c.is_alphanumeric() || c == '_');
    (!is_question).then_some(name)
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

/// The parts of a logical line that tell commands from Python.
#[derive(Default)]
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

/// Reads the logical line at an offset, or up to the command in it.
fn read_line(source: &str, at: usize) -> Line {
    let mut line = Line { end: source.len(), ..Line::default() };
    let (mut depth, mut is_assigned) = (0usize, false);
    for token in python_tokens(&source[at..]) {
        let start = at + token.start;
        match (token.kind, token.text) {
            (PythonTokenKind::LineEnd, _) if depth == 0 => {
                line.end = start + 1;
                break;
            }
            (PythonTokenKind::LineEnd | PythonTokenKind::Join, _)
            | (PythonTokenKind::Blank | PythonTokenKind::Comment, _)
            | (PythonTokenKind::Other, "\\") => continue,
            (PythonTokenKind::Open, _) => depth += 1,
            (PythonTokenKind::Close, _) => depth = depth.saturating_sub(1),
            (PythonTokenKind::String(end), _) => line.is_in_string = end == StringEnd::Unfinished,
            (PythonTokenKind::Other, ";") if depth == 0 && line.semicolon.is_none() => {
                line.semicolon = Some(start);
            }
            (PythonTokenKind::Other, "=") if depth == 0 && !is_assigned => {
                is_assigned = is_assignment(source.as_bytes(), start);
                line.command = find_assigned_command(source.as_bytes(), start);
                line.command = line.command.filter(|_| is_assigned);
                if line.command.is_some() {
                    return line;
                }
            }
            _ => {}
        }
        line.asks = token.text == "?";
    }
    line.is_open = line.is_in_string || depth > 0;
    line
}

/// True if the `=` at this offset stands alone and does not end `+=`, `:=`, `<=` and the like.
fn is_assignment(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| bytes.get(at));
    bytes.get(at + 1) != Some(&b'=') && !before.is_some_and(|byte| b"+-*/%@&|^<>!:=".contains(byte))
}

/// The offset of the command that follows the `=` at this offset, if one does.
fn find_assigned_command(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match bytes.get(at..)? {
            [b' ' | b'\t', ..] => at += 1,
            [b'\\', b'\n', ..] => at += 2,
            [b'!', ..] => return Some(at),
            [b'%', next, ..] if is_word_byte(*next) && !next.is_ascii_digit() => return Some(at),
            _ => return None,
        }
    }
}
