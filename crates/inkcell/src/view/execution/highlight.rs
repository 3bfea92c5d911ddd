//! Python code with a role for each word.
//!
//! Owns the roles of tokens, good enough for colours: unknown syntax stays plain. It never changes the
//! text itself.

use inkcell_engine::notebook::{PythonTokenKind, python_tokens};

use crate::view::paint::{Line, Role};

const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

const BUILTINS: [&str; 36] = [
    "abs",
    "all",
    "any",
    "bool",
    "bytes",
    "dict",
    "dir",
    "enumerate",
    "filter",
    "float",
    "format",
    "getattr",
    "hasattr",
    "id",
    "input",
    "int",
    "isinstance",
    "iter",
    "len",
    "list",
    "map",
    "max",
    "min",
    "next",
    "object",
    "open",
    "print",
    "range",
    "repr",
    "set",
    "sorted",
    "str",
    "sum",
    "super",
    "tuple",
    "type",
];

/// Highlights code, one line for each line of the source.
pub(crate) fn python(code: &str) -> Vec<Line> {
    let code = code.strip_suffix('\n').unwrap_or(code);
    let mut lines = Vec::new();
    let mut line = Line::default();
    let (mut is_first, mut is_defined, mut rest) = (true, false, code);
    while let Some(token) = python_tokens(rest).next() {
        let mut length = token.text.len();
        let mut role = match token.kind {
            PythonTokenKind::Word if is_defined => Role::Name,
            PythonTokenKind::Word => role_of(token.text, &line),
            PythonTokenKind::Number => Role::Number,
            PythonTokenKind::String(_) => Role::Text,
            PythonTokenKind::Comment => Role::Comment,
            _ => Role::Plain,
        };
        if let Some(word) = first_word(rest).filter(|_| is_first) {
            (length, role) = word;
        }
        let (text, behind) = rest.split_at(length);
        for (number, text) in text.split('\n').enumerate() {
            if number > 0 {
                lines.push(std::mem::take(&mut line));
            }
            line.push(role, text);
        }
        rest = behind;
        match token.kind {
            PythonTokenKind::Blank => continue,
            PythonTokenKind::Word => is_defined = matches!(token.text, "def" | "class"),
            PythonTokenKind::LineEnd | PythonTokenKind::Join => is_defined = false,
            _ => {}
        }
        is_first = matches!(token.kind, PythonTokenKind::LineEnd | PythonTokenKind::Join);
    }
    lines.push(line);
    lines
}

/// A magic, a shell command or a decorator at the start of a line: its length and role.
fn first_word(line: &str) -> Option<(usize, Role)> {
    let is_decorator = |c: char| c.is_alphanumeric() || "@_.".contains(c);
    let (end, role) = match line.chars().next()? {
        '%' | '!' => (line.find([' ', '\n']), Role::Keyword),
        '@' => (line.find(|c| !is_decorator(c)), Role::Name),
        _ => return None,
    };
    Some((end.unwrap_or(line.len()), role))
}

/// The role of a word behind the text of its line.
fn role_of(word: &str, line: &Line) -> Role {
    let is_attribute = line.spans().last().is_some_and(|span| span.text().ends_with('.'));
    match word {
        _ if is_attribute => Role::Plain,
        word if KEYWORDS.contains(&word) => Role::Keyword,
        word if BUILTINS.contains(&word) => Role::Name,
        _ => Role::Plain,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Maps each line of code to a line of letters, one letter for each role.
    fn roles(code: &str) -> Vec<String> {
        let letter = |role| match role {
            Role::Keyword => 'k',
            Role::Name => 'n',
            Role::Text => 's',
            Role::Number => '1',
            Role::Comment => 'c',
            _ => '.',
        };
        let line = |line: &Line| {
            let spans = line.spans().iter();
            spans.flat_map(|span| span.text().chars().map(move |_| letter(span.role()))).collect()
        };
        python(code).iter().map(line).collect()
    }

    /// B:T-10
    #[test]
    fn words_are_in_their_roles() {
        let table: [(&str, &[&str]); 14] = [
            ("x = 1", &["....1"]),
            ("def f(a): # no", &["kkk.n.....cccc"]),
            ("for i in range(3):", &["kkk...kk.nnnnn.1.."]),
            ("a.print, a.if_", &[".............."]),
            ("s = rb'it\\'s' + \"#\"", &["....sssssssss...sss"]),
            ("f\"{x}\"; y", &["ssssss..."]),
            ("'open", &["sssss"]),
            ("%time x", &["kkkkk.."]),
            ("  !ls -l", &["..kkk..."]),
            ("@a.b(1)", &["nnnn.1."]),
            ("1e-5 + 0xe-1", &["1111...111.1"]),
            ("\"\"\"a\n'b'\n\"\"\" if", &["ssss", "sss", "sss.kk"]),
            ("'''x''' y '''", &["sssssss...sss"]),
            ("", &[""]),
        ];
        for (code, wanted) in table {
            assert_eq!(roles(code), wanted, "{code}");
        }
    }

    proptest! {
        #[test]
        fn no_letter_is_changed(code in "[a-z0-9_ '\"\\\\#@%!.()é\n]{0,60}") {
            let text: Vec<String> = python(&code).iter().map(Line::text).collect();
            let code = code.strip_suffix('\n').unwrap_or(&code);
            prop_assert_eq!(text.join("\n"), code);
        }
    }
}
