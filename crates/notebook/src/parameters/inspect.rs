//! What a notebook says about its parameters: names, defaults, types and words, read from the cell with the defaults.
//!
//! Owns what counts as the definition of a parameter in Python: an assignment to a name at the top of the cell, with its
//! annotation or type comment, and the comment behind it. Nothing is run.

use super::{ParameterError, ParameterLanguage};
use crate::cell::CellKind;
use crate::document::Notebook;
use crate::export::{PythonKind, python_statements};

/// A parameter that a notebook has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// The type that is written with it: an annotation, else a type comment.
    pub declared: Option<String>,
    /// Its default, as it is written.
    pub default: String,
    /// The comment behind it.
    pub help: String,
}

impl Parameter {
    /// Its type: as it is written, else that of its default where that can be seen.
    pub fn type_name(&self) -> Option<&str> {
        self.declared.as_deref().or_else(|| literal_type(&self.default))
    }
}

/// Why nothing can be said about the parameters of a notebook.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoParameters {
    /// There is no such cell.
    #[error("no cell has the tag parameters")]
    NoCell,
    /// It is in a language that is not read here.
    #[error("the notebook is in {0}, and only parameters in Python can be read")]
    Language(ParameterLanguage),
    /// It holds no code.
    #[error(
        "cell {cell} has the tag parameters and is no code ({kind}); tag the code cell that sets the defaults"
    )]
    NoCode {
        /// Where it is.
        cell: usize,
        /// What it is instead.
        kind: String,
    },
    /// It would not run.
    #[error(
        "cell {cell}, which has the tag parameters, is no whole Python: {problem} in line {line}"
    )]
    Broken {
        /// Where it is.
        cell: usize,
        /// The line of the cell in which that shows, from 1 on.
        line: usize,
        /// What is wrong, in a few words.
        problem: &'static str,
    },
}

impl Notebook {
    /// The parameters of the cell with the defaults, each name once.
    pub fn parameters(&self, language: ParameterLanguage) -> Result<Vec<Parameter>, NoParameters> {
        if language != ParameterLanguage::Python {
            return Err(NoParameters::Language(language));
        }
        let at = self.defaults_cell().ok_or(NoParameters::NoCell)?;
        let cell = self.cell(at).ok_or(NoParameters::NoCell)?;
        if cell.kind() != Some(CellKind::Code) {
            let kind = cell.kind_name().into_owned();
            return Err(NoParameters::NoCode { cell: at, kind });
        }
        if let Some((line, problem)) = broken(&cell.source().text) {
            return Err(NoParameters::Broken { cell: at, line, problem });
        }
        let mut found: Vec<Parameter> = Vec::new();
        for parameter in definitions(&cell.source().text) {
            match found.iter_mut().find(|known| known.name == parameter.name) {
                Some(known) => *known = parameter,
                None => found.push(parameter),
            }
        }
        Ok(found)
    }
}

/// The line in which a cell is certainly no Python, and why. It is no parser: what passes may still be wrong.
pub(super) fn broken(source: &str) -> Option<(usize, &'static str)> {
    let source = source.replace("\r\n", "\n");
    let mut line = 1;
    for statement in python_statements(&source) {
        if statement.kind == PythonKind::Python
            && let Some((below, problem)) = statement_trouble(statement.text)
        {
            return Some((line + below, problem));
        }
        line += statement.text.matches('\n').count();
    }
    None
}

/// What is wrong with a statement, and in which of its lines.
fn statement_trouble(statement: &str) -> Option<(usize, &'static str)> {
    let mut brackets: Vec<(char, usize)> = Vec::new();
    let (mut rest, mut line) = (statement, 0);
    while let Some(first) = rest.chars().next() {
        let mut taken = first.len_utf8();
        match first {
            '"' | '\'' => {
                taken = string_len(rest, first);
                let string = &rest[..taken];
                let triple = String::from(first).repeat(3);
                let is_long = string.starts_with(&triple);
                let is_closed = match is_long {
                    true => taken >= 6 && string.ends_with(&triple),
                    false => taken >= 2 && string.ends_with(first),
                };
                // A short one may go on only behind a backslash.
                let breaks = string.replace("\\\n", "").contains('\n');
                if !is_closed || !is_long && breaks {
                    return Some((line, "a text is not closed"));
                }
            }
            '#' => taken = rest.find('\n').unwrap_or(rest.len()),
            '(' | '[' | '{' => brackets.push((first, line)),
            ')' | ']' | '}' => match (brackets.pop(), first) {
                (Some(('(', _)), ')') | (Some(('[', _)), ']') | (Some(('{', _)), '}') => {}
                _ => return Some((line, "a bracket is closed that is not open")),
            },
            _ => {}
        }
        line += rest[..taken].matches('\n').count();
        rest = &rest[taken..];
    }
    if let Some((_, line)) = brackets.first() {
        return Some((*line, "a bracket is not closed"));
    }
    let Pieces { parts, .. } = Pieces::of(statement);
    parts.iter().find_map(|part| Some((0, assignment_trouble(part)?)))
}

/// What is wrong with the parts of an assignment, or with a statement that is none.
fn assignment_trouble(parts: &[String]) -> Option<&'static str> {
    let (value, targets) = parts.split_last()?;
    let is_blank = |part: &String| part.trim().is_empty();
    if targets.is_empty() {
        return None;
    }
    if is_blank(value) || targets.iter().any(is_blank) {
        return Some("something is missing beside an equals sign");
    }
    if value.trim_end().ends_with(['+', '-', '*', '/', '%', '@', '&', '|', '^', '<', '>']) {
        return Some("something is missing after an operator");
    }
    let is_word_of_python = |name: &str| {
        let checked = ParameterLanguage::Python.checked(name);
        matches!(checked, Err(ParameterError::Keyword { .. }))
    };
    let name = |target: &str| target.split(':').next().unwrap_or_default().trim().to_owned();
    if targets.iter().any(|target| is_word_of_python(target.trim())) {
        return Some(NO_NAME);
    }
    // In `if x: y = 1`, or behind lambda, an equals sign has other neighbours.
    let first = targets.first()?.split_whitespace().next()?;
    let has_other_words = is_word_of_python(first.trim_end_matches(':'))
        || matches!(first, "type" | "match" | "case")
        || parts.iter().any(|part| part.contains("lambda"));
    let is_words = |target: &String| {
        let name = name(target);
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c.is_whitespace();
        name.chars().all(is_word) && named(&name).is_none()
    };
    (!has_other_words && targets.iter().any(is_words)).then_some(NO_NAME)
}

const NO_NAME: &str = "a value is given to what is no name";

/// The parameters that a Python cell defines, in order.
pub(super) fn definitions(source: &str) -> Vec<Parameter> {
    let source = source.replace("\r\n", "\n");
    let statements = python_statements(&source);
    let is_top = |statement: &&crate::export::PythonStatement<'_>| {
        statement.kind == PythonKind::Python && statement.indent().is_empty()
    };
    statements.iter().filter(is_top).flat_map(|statement| defined(statement.text)).collect()
}

/// What one logical line defines: nothing, one name, or several where they share a value or a line.
fn defined(statement: &str) -> Vec<Parameter> {
    let Pieces { parts, comment } = Pieces::of(statement);
    let (type_comment, help) = match comment.strip_prefix("type:") {
        Some(rest) => {
            let rest = rest.trim_start();
            let (name, help) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            ((!name.is_empty()).then_some(name), help.trim())
        }
        None => (None, comment.as_str()),
    };
    let mut found = Vec::new();
    for part in &parts {
        let Some((value, targets)) = part.split_last() else { continue };
        let targets: Option<Vec<(&str, Option<&str>)>> =
            targets.iter().map(|target| named(target)).collect();
        for (name, annotation) in targets.unwrap_or_default() {
            found.push(Parameter {
                name: name.to_owned(),
                declared: annotation.or(type_comment).map(str::to_owned),
                default: value.trim().to_owned(),
                help: help.to_owned(),
            });
        }
    }
    found
}

/// A target that is a name, with its annotation.
fn named(target: &str) -> Option<(&str, Option<&str>)> {
    let (name, annotation) = match target.split_once(':') {
        Some((name, annotation)) => (name.trim(), Some(annotation.trim())),
        None => (target.trim(), None),
    };
    let is_name = !name.is_empty()
        && !name.starts_with(|first: char| first.is_numeric())
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let quotes = ['"', '\''];
    let annotation = annotation.map(|text| text.trim_matches(quotes).trim());
    is_name.then_some((name, annotation))
}

/// The assignments of a logical line.
struct Pieces {
    /// Statements between semicolons, each in its parts between `=`; the last is the value.
    parts: Vec<Vec<String>>,
    /// The comment at its end, without its sign.
    comment: String,
}

impl Pieces {
    /// Comments on the way are left out, and lines of one statement are put together.
    fn of(statement: &str) -> Pieces {
        let mut parts = vec![vec![String::new()]];
        let mut comment = String::new();
        let mut depth = 0usize;
        let mut rest = statement.trim();
        let put = |parts: &mut Vec<Vec<String>>, text: &str| {
            if let Some(part) = parts.last_mut().and_then(|statement| statement.last_mut()) {
                part.push_str(text);
            }
        };
        let mut before = ' ';
        while let Some(first) = rest.chars().next() {
            let mut taken = first.len_utf8();
            match first {
                '"' | '\'' => {
                    taken = string_len(rest, first);
                    put(&mut parts, &rest[..taken]);
                }
                '#' => {
                    taken = rest.find('\n').unwrap_or(rest.len());
                    comment = rest[1..taken].trim().to_owned();
                }
                '\n' => {
                    // A comment in the middle belongs to a part of the value.
                    comment.clear();
                    if let Some(part) = parts.last_mut().and_then(|part| part.last_mut()) {
                        part.truncate(part.trim_end().len());
                    }
                    taken = rest.len() - rest.trim_start().len();
                }
                '\\' if rest[1..].starts_with('\n') => {
                    taken = rest.len() - rest[1..].trim_start().len();
                    if let Some(part) = parts.last_mut().and_then(|part| part.last_mut()) {
                        part.truncate(part.trim_end().len());
                    }
                    put(&mut parts, " ");
                }
                '=' if depth == 0 && rest.starts_with("==") => {
                    taken = 2;
                    put(&mut parts, "==");
                }
                '=' if depth == 0 && !"+-*/%@&|^<>!:".contains(before) => {
                    if let Some(statement) = parts.last_mut() {
                        statement.push(String::new());
                    }
                }
                ';' if depth == 0 => parts.push(vec![String::new()]),
                _ => {
                    match first {
                        '(' | '[' | '{' => depth += 1,
                        ')' | ']' | '}' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    put(&mut parts, &rest[..taken]);
                }
            }
            before = first;
            rest = &rest[taken..];
        }
        Pieces { parts, comment }
    }
}

/// How long a string is that begins here, with its quotes.
fn string_len(text: &str, quote: char) -> usize {
    let triple = String::from(quote).repeat(3);
    let (open, close) = match text.starts_with(&triple) {
        true => (3, triple.as_str()),
        false => (1, &triple[..1]),
    };
    let mut at = open;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with(close) {
            return at + close.len();
        }
        let mut characters = rest.chars();
        let first = characters.next().map_or(1, char::len_utf8);
        let escaped =
            if rest.starts_with('\\') { characters.next().map_or(0, char::len_utf8) } else { 0 };
        at += first + escaped;
    }
    text.len()
}

/// The type of a literal, by how it begins and ends.
fn literal_type(code: &str) -> Option<&'static str> {
    let code = code.trim();
    let is_around = |open: char, close: char| code.starts_with(open) && code.ends_with(close);
    let unsigned = code.trim_start_matches(['+', '-']);
    let is_number = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let plain = unsigned.replace('_', "");
    Some(match code {
        "True" | "False" => "bool",
        "None" => "None",
        _ if is_number && plain.parse::<u128>().is_ok() => "int",
        _ if is_number && plain.starts_with("0x") && plain.len() > 2 => "int",
        _ if is_number && plain.parse::<f64>().is_ok() => "float",
        _ if is_string(code) => "str",
        _ if is_around('[', ']') && is_whole(code) => "list",
        _ if code == "{}" || is_around('{', '}') && is_whole(code) && has_colon(code) => "dict",
        _ => return None,
    })
}

/// Whether the text is one string and nothing else.
fn is_string(code: &str) -> bool {
    let unprefixed = code.trim_start_matches(['r', 'R', 'f', 'F', 'u', 'U']);
    let is_prefixed_shortly = code.len() - unprefixed.len() <= 2;
    match unprefixed.chars().next() {
        Some(quote @ ('"' | '\'')) if is_prefixed_shortly => {
            let len = string_len(unprefixed, quote);
            len == unprefixed.len() && len > 1 && unprefixed.ends_with(quote)
        }
        _ => false,
    }
}

/// Whether the bracket that begins a text ends with it.
fn is_whole(code: &str) -> bool {
    let mut depth = 0usize;
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '"' | '\'' => string_len(rest, first),
            _ => first.len_utf8(),
        };
        match first {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        rest = &rest[taken..];
        if depth == 0 {
            return rest.is_empty();
        }
    }
    false
}

fn has_colon(code: &str) -> bool {
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            ':' => return true,
            '"' | '\'' => string_len(rest, first),
            _ => first.len_utf8(),
        };
        rest = &rest[taken..];
    }
    false
}
