//! Reads the parameters of a notebook from the cell with the defaults: names, types, defaults and help.
//!
//! Owns what counts as the definition of a parameter in Python: an assignment to a name at the top level of the cell,
//! with its annotation or type comment, and the comment behind it. It runs no code.

use super::language::{ParameterError, ParameterLanguage};
use crate::cell::CellKind;
use crate::document::Notebook;
use crate::python::{
    PythonToken, PythonTokenKind, Statement, StatementKind, StringEnd, python_tokens,
    split_statements,
};

/// A parameter that a notebook defines.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Parameter {
    /// The name to which the cell assigns the default.
    pub name: String,
    /// The type in the source: an annotation, else a type comment.
    pub declared: Option<String>,
    /// The default as source code.
    pub default: String,
    /// The text of the comment behind the definition.
    pub help: String,
}

impl Parameter {
    /// The type in the source, else the type of the default if it is a literal.
    pub fn type_name(&self) -> Option<&str> {
        self.declared.as_deref().or_else(|| guess_type(&self.default))
    }
}

/// The reason why the parameters of a notebook cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoParameters {
    /// No cell has the tag `parameters`.
    #[error("no cell has the tag parameters")]
    NoCell,
    /// The notebook is in a language other than Python.
    #[error("the notebook is in {0}, and only parameters in Python can be read")]
    Language(ParameterLanguage),
    /// The tagged cell is not a code cell.
    #[error(
        "cell {cell} has the tag parameters but is not code ({kind}); tag the code cell that sets \
         the defaults"
    )]
    NoCode {
        /// Position of the cell, from 0.
        cell: usize,
        /// The cell's kind, as the file names it.
        kind: String,
    },
    /// The tagged cell is not valid Python, so it would not run.
    #[error(
        "cell {cell}, which has the tag parameters, is not valid Python: {problem} in line {line}"
    )]
    Broken {
        /// Position of the cell, from 0.
        cell: usize,
        /// Line of the cell in which the problem shows, from 1.
        line: usize,
        /// The problem in a few words.
        problem: &'static str,
    },
}

impl Notebook {
    /// Reads the parameters of the cell with the defaults, each name once; the last definition counts.
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
        if let Some((line, problem)) = find_fault(&cell.source().text) {
            return Err(NoParameters::Broken { cell: at, line, problem });
        }
        let mut found: Vec<Parameter> = Vec::new();
        for parameter in read_definitions(&cell.source().text) {
            match found.iter_mut().find(|known| known.name == parameter.name) {
                Some(known) => *known = parameter,
                None => found.push(parameter),
            }
        }
        Ok(found)
    }
}

/// Finds the first line that cannot be Python, and the reason. This is not a parser: code that passes may still be
/// wrong.
pub(super) fn find_fault(source: &str) -> Option<(usize, &'static str)> {
    let source = source.replace("\r\n", "\n");
    let mut line = 1;
    for statement in split_statements(&source) {
        if statement.kind == StatementKind::Python
            && let Some((below, problem)) = check_statement(statement.text)
        {
            return Some((line + below, problem));
        }
        line += statement.text.matches('\n').count();
    }
    None
}

/// Finds the problem of a statement, and the line of the statement that has it, from 0.
fn check_statement(statement: &str) -> Option<(usize, &'static str)> {
    let (mut brackets, mut line) = (Vec::new(), 0);
    for token in python_tokens(statement) {
        match token.kind {
            PythonTokenKind::String(StringEnd::Broken | StringEnd::Unfinished) => {
                return Some((line, "a text is not closed"));
            }
            PythonTokenKind::Open => brackets.push((token.text, line)),
            PythonTokenKind::Close => match (brackets.pop(), token.text) {
                (Some(("(", _)), ")") | (Some(("[", _)), "]") | (Some(("{", _)), "}") => {}
                _ => return Some((line, "a bracket is closed that is not open")),
            },
            _ => {}
        }
        line += token.text.matches('\n').count();
    }
    if let Some((_, line)) = brackets.first() {
        return Some((*line, "a bracket is not closed"));
    }
    let Pieces { parts, .. } = Pieces::of(statement);
    parts.iter().find_map(|part| Some((0, check_assignment(part)?)))
}

/// Finds the problem of an assignment, given in parts; none for any other statement.
fn check_assignment(parts: &[String]) -> Option<&'static str> {
    let (value, targets) = parts.split_last()?;
    let is_blank = |part: &String| part.trim().is_empty();
    if targets.is_empty() {
        return None;
    }
    if is_blank(value) || targets.iter().any(is_blank) {
        return Some("something is missing next to an equals sign");
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
    // In `if x: y = 1`, or behind lambda, other words may precede an equals sign.
    let first = targets.first()?.split_whitespace().next()?;
    let has_other_words = is_word_of_python(first.trim_end_matches(':'))
        || matches!(first, "type" | "match" | "case")
        || parts.iter().any(|part| part.contains("lambda"));
    let is_words = |target: &String| {
        let name = name(target);
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c.is_whitespace();
        name.chars().all(is_word) && parse_target(&name).is_none()
    };
    (!has_other_words && targets.iter().any(is_words)).then_some(NO_NAME)
}

const NO_NAME: &str = "the left side of an assignment is not a name";

/// Reads the parameters that a Python cell defines, in order.
pub(super) fn read_definitions(source: &str) -> Vec<Parameter> {
    let source = source.replace("\r\n", "\n");
    let statements = split_statements(&source);
    let is_top = |statement: &&Statement<'_>| {
        statement.kind == StatementKind::Python && statement.indent().is_empty()
    };
    statements.iter().filter(is_top).flat_map(|statement| read_statement(statement.text)).collect()
}

/// Reads the parameters of one logical line: several if they share a value or a line.
fn read_statement(statement: &str) -> Vec<Parameter> {
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
            targets.iter().map(|target| parse_target(target)).collect();
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

/// Parses a target that is a name, with its annotation.
fn parse_target(target: &str) -> Option<(&str, Option<&str>)> {
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

/// A logical line, split into its assignments.
struct Pieces {
    /// Statements between semicolons, each split at `=`; the last part is the value.
    parts: Vec<Vec<String>>,
    /// The comment at the end of the line, without `#`.
    comment: String,
}

impl Pieces {
    /// Splits a statement. Drops comments inside it and joins its lines.
    fn of(statement: &str) -> Pieces {
        let mut parts = vec![vec![String::new()]];
        let mut comment = String::new();
        let (mut depth, mut before, mut is_joined) = (0usize, "", false);
        let statement = statement.trim();
        for token in python_tokens(statement) {
            let PythonToken { kind, text, .. } = token;
            let Some(part) = parts.last_mut().and_then(|part| part.last_mut()) else { break };
            match (kind, text) {
                (PythonTokenKind::Blank, _) if is_joined => continue,
                (PythonTokenKind::LineEnd | PythonTokenKind::Join, _) => {
                    part.truncate(part.trim_end().len());
                    if kind == PythonTokenKind::Join {
                        part.push(' ');
                    } else {
                        // A comment in the middle describes a part of the value.
                        comment.clear();
                    }
                }
                (PythonTokenKind::Comment, _) => comment = text[1..].trim().to_owned(),
                (PythonTokenKind::Other, "=") if depth == 0 => {
                    let is_next = statement[token.end()..].starts_with('=');
                    if is_next || !before.is_empty() && "+-*/%@&|^<>!:=".contains(before) {
                        part.push('=');
                    } else if let Some(statement) = parts.last_mut() {
                        statement.push(String::new());
                    }
                }
                (PythonTokenKind::Other, ";") if depth == 0 => parts.push(vec![String::new()]),
                _ => {
                    match kind {
                        PythonTokenKind::Open => depth += 1,
                        PythonTokenKind::Close => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    part.push_str(text);
                }
            }
            is_joined = matches!(kind, PythonTokenKind::LineEnd | PythonTokenKind::Join);
            before = text;
        }
        Pieces { parts, comment }
    }
}

/// Guesses the type of a literal from its first and last characters.
fn guess_type(code: &str) -> Option<&'static str> {
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

/// True if the text is one string and nothing else.
fn is_string(code: &str) -> bool {
    let mut tokens = python_tokens(code);
    let closed = PythonTokenKind::String(StringEnd::Closed);
    let is_text = |token: PythonToken<'_>| {
        let prefix = token.text.split(['"', '\'']).next().unwrap_or_default();
        token.kind == closed && prefix.chars().all(|c| "rRfFuU".contains(c))
    };
    tokens.next().is_some_and(is_text) && tokens.next().is_none()
}

/// True if the opening bracket of a text closes at its end.
fn is_whole(code: &str) -> bool {
    let mut depth = 0usize;
    for token in python_tokens(code) {
        match token.kind {
            PythonTokenKind::Open => depth += 1,
            PythonTokenKind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return token.end() == code.len();
        }
    }
    false
}

fn has_colon(code: &str) -> bool {
    python_tokens(code).any(|token| token.text == ":")
}
