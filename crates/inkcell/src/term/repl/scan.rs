//! The statements of typed code, and what is still open at its end.
//!
//! Owns a minimal reading of Python for code that is not finished: lines, brackets and strings. The tokens come from
//! the notebook crate. Pure.

use inkcell_engine::notebook::{PythonTokenKind, StringEnd, python_tokens};

/// A statement, from the start of its first line to its last token. Trailing comments are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Statement<'a> {
    pub(super) text: &'a str,
    end: usize,
}

impl<'a> Statement<'a> {
    pub(super) fn indent(self) -> &'a str {
        leading(self.text)
    }

    pub(super) fn first_word(self) -> &'a str {
        first_word(self.text.trim_start())
    }

    /// The offset behind the statement.
    pub(super) fn end(self) -> usize {
        self.end
    }

    /// Returns true if a block must follow.
    pub(super) fn is_header(self) -> bool {
        self.text.ends_with(':')
    }
}

/// Facts about code that may be incomplete.
#[derive(Debug)]
pub(super) struct CodeScan<'a> {
    pub(super) statements: Vec<Statement<'a>>,
    /// The offsets of the brackets that are still open, outermost first.
    pub(super) brackets: Vec<usize>,
    /// A triple-quoted string is still open.
    pub(super) is_in_string: bool,
    /// The last line ends in a backslash.
    pub(super) is_continued: bool,
}

impl<'a> CodeScan<'a> {
    pub(super) fn of(code: &'a str) -> CodeScan<'a> {
        let mut scan = CodeScan {
            statements: Vec::new(),
            brackets: Vec::new(),
            is_in_string: false,
            is_continued: false,
        };
        // The start of the current statement, and whether it is in the list.
        let (mut start, mut is_listed) = (0, false);
        for token in python_tokens(code) {
            scan.is_continued = false;
            match (token.kind, token.text) {
                (PythonTokenKind::LineEnd, _) => {
                    if scan.brackets.is_empty() {
                        (start, is_listed) = (token.end(), false);
                    }
                    continue;
                }
                (PythonTokenKind::Blank | PythonTokenKind::Comment, _) => continue,
                (PythonTokenKind::Open, _) => scan.brackets.push(token.start),
                (PythonTokenKind::Close, _) => {
                    scan.brackets.pop();
                }
                (PythonTokenKind::Join, _) | (PythonTokenKind::Other, "\\") => {
                    scan.is_continued = token.end() == code.len();
                }
                (PythonTokenKind::String(end), _) => {
                    scan.is_in_string = end == StringEnd::Unfinished;
                }
                _ => {}
            }
            let statement = Statement { text: &code[start..token.end()], end: token.end() };
            match scan.statements.last_mut().filter(|_| is_listed) {
                Some(last) => *last = statement,
                None => scan.statements.push(statement),
            }
            is_listed = true;
        }
        scan
    }

    /// Returns true if the next line belongs to the same statement.
    pub(super) fn is_open(&self) -> bool {
        !self.brackets.is_empty() || self.is_in_string || self.is_continued
    }

    pub(super) fn last(&self) -> Option<Statement<'a>> {
        self.statements.last().copied()
    }
}

pub(super) fn first_word(line: &str) -> &str {
    let is_end = |c: char| !(c.is_alphanumeric() || c == '_');
    &line[..line.find(is_end).unwrap_or(line.len())]
}

/// The blanks at the start of a line.
pub(super) fn leading(line: &str) -> &str {
    &line[..line.find(|c| !matches!(c, ' ' | '\t')).unwrap_or(line.len())]
}
