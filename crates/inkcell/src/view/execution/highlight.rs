//! Python code with a role for each word.
//!
//! Owns a reading of Python that is good enough for colours and never fails: unknown syntax stays
//! plain. It never changes the text itself.

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

/// A string that continues on the next line, with the quotes that close it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Open {
    quote: char,
    is_raw: bool,
}

/// Highlights code, one line for each line of the source.
pub(in crate::view) fn python(code: &str) -> Vec<Line> {
    let mut open = None;
    let code = code.strip_suffix('\n').unwrap_or(code);
    code.split('\n')
        .map(|line| Reader { rest: line, line: Line::default(), open: &mut open }.read())
        .collect()
}

struct Reader<'a> {
    rest: &'a str,
    line: Line,
    open: &'a mut Option<Open>,
}

impl Reader<'_> {
    fn read(mut self) -> Line {
        if let Some(open) = *self.open {
            self.long_string(0, open);
        } else {
            self.first_word();
        }
        let mut defines = false;
        while let Some(first) = self.rest.chars().next() {
            if first.is_alphabetic() || first == '_' {
                defines = self.word(defines);
            } else if first.is_ascii_digit() {
                self.take(number_len(self.rest), Role::Number);
            } else if first == '#' {
                self.take(self.rest.len(), Role::Comment);
            } else if first == '"' || first == '\'' {
                self.string(0, "");
            } else {
                self.take(first.len_utf8(), Role::Plain);
            }
        }
        self.line
    }

    fn take(&mut self, len: usize, role: Role) {
        let (taken, rest) = self.rest.split_at(len);
        self.line.push(role, taken);
        self.rest = rest;
    }

    /// Recognises magics, shell lines and decorators by the start of a line.
    fn first_word(&mut self) {
        let margin = self.rest.len() - self.rest.trim_start().len();
        self.take(margin, Role::Plain);
        if self.rest.starts_with(['%', '!']) {
            let len = self.rest.find(' ').unwrap_or(self.rest.len());
            self.take(len, Role::Keyword);
        } else if self.rest.starts_with('@') {
            let is_end = |c: char| !(c.is_alphanumeric() || "@_.".contains(c));
            let len = self.rest.find(is_end).unwrap_or(self.rest.len());
            self.take(len, Role::Name);
        }
    }

    /// Reads one word. Returns whether the next word is a name that this one defines.
    fn word(&mut self, is_defined: bool) -> bool {
        let is_end = |c: char| !(c.is_alphanumeric() || c == '_');
        let len = self.rest.find(is_end).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(len);
        if rest.starts_with(['"', '\'']) && is_prefix(word) {
            self.string(len, word);
            return false;
        }
        let is_attribute = self.line.spans().last().is_some_and(|s| s.text().ends_with('.'));
        let role = match word {
            _ if is_defined => Role::Name,
            word if !is_attribute && KEYWORDS.contains(&word) => Role::Keyword,
            word if !is_attribute && BUILTINS.contains(&word) => Role::Name,
            _ => Role::Plain,
        };
        let defines = matches!(word, "def" | "class");
        self.take(len, role);
        if defines {
            let margin = self.rest.len() - self.rest.trim_start().len();
            self.take(margin, Role::Plain);
        }
        defines
    }

    /// Reads a string after a prefix of `prefix_len` bytes.
    fn string(&mut self, prefix_len: usize, prefix: &str) {
        let body = &self.rest[prefix_len..];
        let Some(quote) = body.chars().next() else { return };
        let is_raw = prefix.contains(['r', 'R']);
        if body.starts_with(&String::from_iter([quote; 3])) {
            return self.long_string(prefix_len + 3, Open { quote, is_raw });
        }
        let end = find_end(&body[1..], &quote.to_string()).unwrap_or(body.len() - 1);
        self.take(prefix_len + 1 + end, Role::Text);
    }

    /// Reads the rest of a triple-quoted string, which may continue on the next line.
    fn long_string(&mut self, from: usize, open: Open) {
        let end = find_end(&self.rest[from..], &String::from_iter([open.quote; 3]));
        *self.open = end.is_none().then_some(open);
        let len = end.map_or(self.rest.len(), |end| from + end);
        self.take(len, Role::Text);
    }
}

fn is_prefix(word: &str) -> bool {
    word.len() <= 2 && word.chars().all(|c| "rbfutRBFUT".contains(c))
}

/// Offset behind the closing quotes. A backslash escapes a quote, in raw strings too.
fn find_end(body: &str, closing: &str) -> Option<usize> {
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if body[at..].starts_with(closing) {
            return Some(at + closing.len());
        }
    }
    None
}

fn number_len(text: &str) -> usize {
    let mut last = ' ';
    for (at, c) in text.char_indices() {
        let is_signed =
            matches!(c, '+' | '-') && matches!(last, 'e' | 'E') && !text.starts_with("0x");
        if !(c.is_ascii_alphanumeric() || c == '_' || c == '.' || is_signed) {
            return at;
        }
        last = c;
    }
    text.len()
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
