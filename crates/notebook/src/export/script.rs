//! Exports a notebook as a script in the percent format.
//!
//! Owns the translation of each cell. Prose must not be able to leave its comment, and a Python
//! notebook whose Python is valid must become a valid file. Two things that only a notebook can do
//! stay as they are: `await` outside a function, and commands without their `%` (`cd ..`), which look
//! like Python.

use std::borrow::Cow;

use crate::cell::CellKind;
use crate::document::Notebook;
use crate::python::{PYTHON_MAGICS, Statement, StatementKind, find_cell_magic, split_statements};

/// Every character that some language, editor or tool treats as a line end.
const LINE_ENDS: [char; 10] =
    ['\n', '\r', '\x0b', '\x0c', '\x1c', '\x1d', '\x1e', '\u{85}', '\u{2028}', '\u{2029}'];

/// A first line that every editor understands, and that no program mistakes for the start of a cell.
const ENCODING: &str = "# -*- coding: utf-8 -*-\n";

/// The token that begins a comment up to the end of the line.
fn choose_comment_prefix(language: &str) -> &'static str {
    match language.to_lowercase().as_str() {
        "javascript" | "typescript" | "c" | "c++" | "cpp" | "java" | "scala" | "rust" | "go"
        | "c#" | "csharp" | "f#" | "fsharp" | "kotlin" | "swift" | "groovy" | "php" => "//",
        "sql" | "haskell" | "lua" | "ada" => "--",
        "matlab" | "octave" | "prolog" | "erlang" | "tex" => "%",
        "lisp" | "clojure" | "scheme" | "racket" => ";;",
        _ => "#",
    }
}

/// Converts the notebook: code as it is, prose and raw cells as comments. Python lines that only
/// IPython understands become comments too, so that the file runs.
pub fn to_script(notebook: &Notebook) -> String {
    let language = notebook.language().unwrap_or_else(|| "python".to_owned());
    let is_python = language.to_lowercase().contains("python");
    let mut script = Script::new(choose_comment_prefix(&language));
    for cell in notebook.cells() {
        let source = cell.source().text;
        if cell.kind() != Some(CellKind::Code) {
            // The kind comes from the file; if the format does not define it, it may be any text.
            let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            let kind: String = cell.kind_name().chars().filter(is_plain).collect();
            script.begin_cell(&format!(" [{kind}]"));
            script.comment("", &source);
        } else if is_python {
            script.begin_cell("");
            script.python_cell(&source);
        } else {
            script.begin_cell("");
            for line in source.lines() {
                script.out.push_str(line);
                script.out.push('\n');
            }
        }
    }
    let has_code = notebook.cells().any(|cell| cell.kind() == Some(CellKind::Code));
    let text = if is_python { script.into_python_file() } else { script.out };
    // A script with markers of prose alone would look like virtual text.
    if !has_code && text.starts_with("# %%") { format!("{ENCODING}{text}") } else { text }
}

/// A script in progress.
struct Script {
    out: String,
    prefix: &'static str,
    /// A statement was written, so no `from __future__ import` may follow.
    has_statement: bool,
    /// `from __future__` imports that came after a statement.
    futures: Vec<String>,
}

impl Script {
    fn new(prefix: &'static str) -> Script {
        Script { out: String::new(), prefix, has_statement: false, futures: Vec::new() }
    }

    fn begin_cell(&mut self, title: &str) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out.push_str(&format!("{} %%{title}\n", self.prefix));
    }

    /// Writes text as comments, one for each line.
    fn comment(&mut self, indent: &str, text: &str) {
        for line in split_at_line_ends(text) {
            // Python refuses a file that contains a null character, even in a comment.
            let line = format!("{} {}", self.prefix, line.replace('\0', "\u{fffd}"));
            self.out.push_str(indent);
            self.out.push_str(line.trim_end());
            self.out.push('\n');
        }
    }

    fn python_cell(&mut self, source: &str) {
        let mut text = normalize_newlines(source);
        // IPython reads the lines below a magic as a cell, which may begin with a magic again.
        let mut start = 0;
        loop {
            if let Cow::Owned(changed) = strip_prompts(strip_margin(&text[start..])) {
                (text, start) = (Cow::Owned(changed), 0);
            }
            let body = text[start..].trim_start();
            let Some(name) = find_cell_magic(body) else { break };
            let blank_lines = text[start..text.len() - body.len()].matches('\n').count();
            self.out.extend(std::iter::repeat_n('\n', blank_lines));
            if !PYTHON_MAGICS.contains(&name) {
                return self.comment("", body);
            }
            let (head, below) = body.split_once('\n').unwrap_or((body, ""));
            self.comment("", head);
            start = text.len() - below.len();
        }
        for statement in split_statements(&text[start..]) {
            self.statement(statement);
        }
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    fn statement(&mut self, statement: Statement<'_>) {
        let Statement { kind, text } = statement;
        match kind {
            StatementKind::Command => self.command(statement.indent(), text),
            StatementKind::Future if self.has_statement => {
                let moved = text.trim().trim_end_matches(';').to_owned();
                if !self.futures.contains(&moved) {
                    self.futures.push(moved);
                }
                self.comment("", text);
            }
            StatementKind::Empty | StatementKind::Future | StatementKind::Python => {
                self.has_statement |= kind == StatementKind::Python;
                self.out.push_str(text);
            }
        }
    }

    /// Writes a command as a comment. Inside a block it may be the only statement, so `pass` replaces
    /// it.
    fn command(&mut self, indent: &str, text: &str) {
        if indent.is_empty() {
            return self.comment("", text);
        }
        let (first, more) = text.split_once('\n').unwrap_or((text, ""));
        self.has_statement = true;
        self.out.push_str(&format!("{indent}pass  "));
        // If some tool would break this line, the rest continues as comments below.
        self.comment("", first.trim_start());
        let more: Vec<&str> = more.lines().map(str::trim_start).collect();
        self.comment(indent, &more.join("\n"));
    }

    /// Assembles the file, with the lines that must be at its top.
    fn into_python_file(self) -> String {
        let mut top = String::new();
        for future in &self.futures {
            top.push_str(future);
            top.push('\n');
        }
        if !top.is_empty() {
            top.push('\n');
        }
        let file = top + &self.out;
        // Prose such as `Encoding: latin` in one of the first two lines would name the encoding of the
        // file. The first line that names an encoding wins.
        let names_encoding = |line: &str| line.contains("coding:") || line.contains("coding=");
        if file.lines().take(2).any(names_encoding) {
            return format!("{ENCODING}{file}");
        }
        file
    }
}

/// Splits a text into lines at every character of [`LINE_ENDS`].
fn split_at_line_ends(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(LINE_ENDS) {
        found.push(&rest[..at]);
        let end = &rest[at..];
        rest = end.strip_prefix("\r\n").or_else(|| end.strip_prefix(LINE_ENDS)).unwrap_or_default();
    }
    if !rest.is_empty() {
        found.push(rest);
    }
    found
}

/// Python reads `\r\n` and a lone `\r` as `\n`, inside strings too.
fn normalize_newlines(source: &str) -> Cow<'_, str> {
    if source.contains('\r') {
        Cow::Owned(source.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(source)
    }
}

/// Removes the margin of a cell that is indented as a whole: the indentation of its first statement
/// goes from every line that has it.
fn strip_margin(source: &str) -> Cow<'_, str> {
    let is_statement = |line: &&str| !matches!(line.trim_start().chars().next(), None | Some('#'));
    let first = source.lines().find(is_statement).unwrap_or_default();
    let margin = &first[..first.len() - first.trim_start_matches([' ', '\t']).len()];
    if margin.is_empty() {
        return Cow::Borrowed(source);
    }
    let lines = source.split_inclusive('\n');
    Cow::Owned(lines.map(|line| line.strip_prefix(margin).unwrap_or(line)).collect())
}

/// Removes Python prompts from a pasted cell, as IPython does.
fn strip_prompts(source: Cow<'_, str>) -> Cow<'_, str> {
    fn unprompted<'a>(line: &'a str, prompt: &str) -> Option<&'a str> {
        let rest = line.strip_prefix(prompt)?;
        rest.strip_prefix(' ').or((rest.trim_end_matches('\n').is_empty()).then_some(rest))
    }
    let first = source.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if unprompted(first, ">>>").is_none() {
        return source;
    }
    let lines = source.split_inclusive('\n');
    let strip = |line| unprompted(line, ">>>").or_else(|| unprompted(line, "...")).unwrap_or(line);
    Cow::Owned(lines.map(strip).collect())
}
