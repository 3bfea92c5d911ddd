//! The tokens of one statement, with its brackets in pairs.
//!
//! Owns the questions that can be answered from tokens beside each other. Positions are those of tokens, and ranges are
//! without their end.

use std::ops::Range;

use super::super::tokens::{KEYWORDS, string_fields};
use super::super::{PythonToken, PythonTokenKind, StringEnd, is_assignment, python_tokens};
use super::{CodeFault, MAX_DEPTH};

/// The tokens of a statement that mean something to Python. The fields of an f-string follow it in brackets.
#[derive(Default)]
pub(super) struct TokenLine<'a> {
    source: &'a str,
    tokens: Vec<PythonToken<'a>>,
    /// For each token, the position behind it; for an opening bracket, behind the closing one.
    after: Vec<usize>,
    /// Positions of the brackets that are open while tokens are read.
    open: Vec<usize>,
}

impl<'a> TokenLine<'a> {
    /// Reads a part of the source.
    pub(super) fn read(
        source: &'a str,
        (start, end): (usize, usize),
    ) -> Result<TokenLine<'a>, CodeFault> {
        let mut line = TokenLine { source, ..TokenLine::default() };
        line.add(start, end)?;
        match line.open.last() {
            Some(open) => Err(line.fault(*open, "a bracket is not closed")),
            None => Ok(line),
        }
    }

    fn add(&mut self, start: usize, end: usize) -> Result<(), CodeFault> {
        let source = self.source;
        for token in python_tokens(&source[start..end]) {
            let token = PythonToken { start: start + token.start, ..token };
            match token.kind {
                PythonTokenKind::Blank
                | PythonTokenKind::Comment
                | PythonTokenKind::LineEnd
                | PythonTokenKind::Join => {}
                PythonTokenKind::Open => self.open(token)?,
                PythonTokenKind::Close => self.close(token)?,
                PythonTokenKind::String(StringEnd::Closed) => {
                    self.push(token);
                    for field in string_fields(token.text) {
                        let (start, end) = (token.start + field.start, token.start + field.end);
                        let bracket = |kind, start, text| PythonToken { kind, start, text };
                        self.open(bracket(PythonTokenKind::Open, start - 1, "{"))?;
                        self.add(start, end)?;
                        self.close(bracket(PythonTokenKind::Close, end, "}"))?;
                    }
                }
                PythonTokenKind::String(_) => {
                    return Err(CodeFault { offset: token.start, problem: "a text is not closed" });
                }
                _ => self.push(token),
            }
        }
        Ok(())
    }

    fn push(&mut self, token: PythonToken<'a>) {
        self.tokens.push(token);
        self.after.push(self.tokens.len());
    }

    fn open(&mut self, token: PythonToken<'a>) -> Result<(), CodeFault> {
        if self.open.len() == MAX_DEPTH {
            return Err(CodeFault { offset: token.start, problem: "brackets are nested too deep" });
        }
        self.open.push(self.tokens.len());
        self.push(token);
        Ok(())
    }

    fn close(&mut self, token: PythonToken<'a>) -> Result<(), CodeFault> {
        let opened = self.open.pop().filter(|at| {
            matches!((self.text(*at), token.text), ("(", ")") | ("[", "]") | ("{", "}"))
        });
        let Some(opened) = opened else {
            let problem = "a bracket is closed that is not open";
            return Err(CodeFault { offset: token.start, problem });
        };
        self.push(token);
        self.after[opened] = self.tokens.len();
        Ok(())
    }

    /// The number of tokens.
    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The position behind a token or a pair of brackets, which must be there.
    pub(super) fn after(&self, at: usize) -> usize {
        self.after[at]
    }

    /// The text of a token; empty where there is none.
    pub(super) fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    /// The bytes of a token in the source.
    pub(super) fn span(&self, at: usize) -> Range<usize> {
        let end = self.source.len();
        self.tokens.get(at).map_or(end..end, |token| token.start..token.end())
    }

    pub(super) fn fault(&self, at: usize, problem: &'static str) -> CodeFault {
        CodeFault { offset: self.span(at).start, problem }
    }

    fn is_kind(&self, at: usize, kind: PythonTokenKind) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == kind)
    }

    pub(super) fn is_open(&self, at: usize) -> bool {
        self.is_kind(at, PythonTokenKind::Open)
    }

    /// True for a name, also one of an attribute.
    pub(super) fn is_name(&self, at: usize) -> bool {
        self.is_kind(at, PythonTokenKind::Word) && !KEYWORDS.contains(&self.text(at))
    }

    /// True if the token before has one of these texts.
    pub(super) fn is_behind(&self, at: usize, texts: &[&str]) -> bool {
        at.checked_sub(1).is_some_and(|before| texts.contains(&self.text(before)))
    }

    /// True behind a value, where a bracket is a call or a subscript.
    pub(super) fn is_behind_value(&self, at: usize) -> bool {
        let closed = PythonTokenKind::String(StringEnd::Closed);
        at.checked_sub(1).is_some_and(|before| {
            self.is_name(before)
                || self.is_kind(before, PythonTokenKind::Close)
                || self.is_kind(before, closed)
        })
    }

    /// True for an equals sign that is not a part of another operator.
    pub(super) fn is_equals(&self, at: usize) -> bool {
        self.text(at) == "=" && is_assignment(self.source.as_bytes(), self.span(at).start)
    }

    /// True for the last sign of an operator such as `+=`.
    pub(super) fn is_augmented(&self, at: usize) -> bool {
        let Range { start, end } = self.span(at);
        let (before, behind) = (&self.source[..start], &self.source[end..]);
        let is_shift = before.ends_with("<<") || before.ends_with(">>");
        let is_operator = before.ends_with(['+', '-', '*', '/', '%', '@', '&', '|', '^']);
        self.text(at) == "=" && !behind.starts_with('=') && (is_shift || is_operator)
    }

    pub(super) fn is_walrus(&self, at: usize) -> bool {
        self.text(at) == ":" && self.source[self.span(at).end..].starts_with('=')
    }

    /// Finds the first token with one of these texts, outside of brackets.
    pub(super) fn find(&self, from: usize, end: usize, texts: &[&str]) -> Option<usize> {
        let mut at = from;
        while at < end {
            if texts.contains(&self.text(at)) {
                return Some(at);
            }
            at = self.after(at);
        }
        None
    }

    /// Finds the colon that ends a header or the parameters of a lambda.
    pub(super) fn find_colon(&self, from: usize, end: usize) -> Option<usize> {
        let (mut at, mut lambdas) = (from, 0usize);
        while at < end {
            match self.text(at) {
                "lambda" => lambdas += 1,
                ":" if self.is_walrus(at) => {}
                ":" if lambdas > 0 => lambdas -= 1,
                ":" => return Some(at),
                _ => {}
            }
            at = self.after(at);
        }
        None
    }
}
