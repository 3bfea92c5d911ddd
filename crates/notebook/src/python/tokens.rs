//! The tokens of Python source, the quotes that end a string, and the words that Python keeps for itself.
//!
//! Owns what hides the end of a line or of a statement: strings, comments, brackets and backslashes. It is not a
//! parser, takes any text, and must not know what callers do with a token.

use std::ops::Range;

/// Words that cannot be names.
pub(crate) const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// True for a text that can be a name. Of digits only those of ASCII count, though Python takes some others.
pub(crate) fn is_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_alphabetic() || c == '_';
    text.starts_with(is_letter)
        && text.chars().all(|c| is_letter(c) || c.is_ascii_digit())
        && !KEYWORDS.contains(&text)
}

/// Counts the places where a word stands as a whole, in code or elsewhere.
pub(crate) fn count_words(text: &str, word: &str) -> usize {
    let is_whole =
        |at: usize| !text[..at].ends_with(is_word) && !text[at + word.len()..].starts_with(is_word);
    text.match_indices(word).filter(|(at, _)| is_whole(*at)).count()
}

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PythonTokenKind {
    /// A name or a keyword.
    Word,
    /// A number, also a malformed one.
    Number,
    /// A string with its prefix and quotes. The fields of an f-string belong to it.
    String(StringEnd),
    /// A comment up to the end of its line.
    Comment,
    /// An opening round, square or curly bracket.
    Open,
    /// A closing bracket of any kind.
    Close,
    /// The end of a line outside of strings.
    LineEnd,
    /// A backslash and the line end that it hides.
    Join,
    /// Blanks on one line.
    Blank,
    /// Any other character: a part of an operator, or one that has no meaning in Python.
    Other,
}

/// How a string ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StringEnd {
    /// With its closing quotes.
    Closed,
    /// A string in single quotes that lacks them, with its line or the source.
    Broken,
    /// A string in triple quotes that lacks them, with the source.
    Unfinished,
}

/// A piece of source. The pieces, joined, are the source again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PythonToken<'a> {
    /// The kind of the token.
    pub kind: PythonTokenKind,
    /// Offset of its first byte in the source.
    pub start: usize,
    /// The token as spelled.
    pub text: &'a str,
}

impl PythonToken<'_> {
    /// Offset behind its last byte.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The tokens of a source whose lines end with `\n`.
pub fn python_tokens(source: &str) -> impl Iterator<Item = PythonToken<'_>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let token = read_token(source, start)?;
        start = token.end();
        Some(token)
    })
}

/// The token that begins at this offset; none at the end.
fn read_token(source: &str, start: usize) -> Option<PythonToken<'_>> {
    let (rest, bytes) = (&source[start..], source.as_bytes());
    let first = rest.chars().next()?;
    let length_of = |is_part: fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    let (kind, length) = match first {
        '\n' => (PythonTokenKind::LineEnd, 1),
        '#' => (PythonTokenKind::Comment, rest.find('\n').unwrap_or(rest.len())),
        '\\' if rest.starts_with("\\\n") => (PythonTokenKind::Join, 2),
        '(' | '[' | '{' => (PythonTokenKind::Open, 1),
        ')' | ']' | '}' => (PythonTokenKind::Close, 1),
        '"' | '\'' => read_string(bytes, start, start),
        '0'..='9' => (PythonTokenKind::Number, number_length(rest)),
        _ if is_blank(first) => (PythonTokenKind::Blank, length_of(is_blank)),
        _ if is_word(first) => {
            let length = length_of(is_word);
            match rest.as_bytes().get(length) {
                Some(b'"' | b'\'') if is_prefix(&rest.as_bytes()[..length]) => {
                    read_string(bytes, start, start + length)
                }
                _ => (PythonTokenKind::Word, length),
            }
        }
        _ => (PythonTokenKind::Other, first.len_utf8()),
    };
    Some(PythonToken { kind, start, text: &rest[..length] })
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() && c != '\n'
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// True for a byte of a word. Outside of ASCII there are no operators, so every byte counts.
pub(super) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn is_prefix(word: &[u8]) -> bool {
    word.len() <= 2 && word.iter().all(|byte| b"rRbBfFuUtT".contains(byte))
}

/// True for the prefix of a string with fields.
fn has_fields(prefix: &[u8]) -> bool {
    is_prefix(prefix) && prefix.iter().any(|byte| b"fFtT".contains(byte))
}

fn number_length(text: &str) -> usize {
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

/// Reads the string whose prefix begins at `start`, and its quotes at `quotes`.
fn read_string(bytes: &[u8], start: usize, quotes: usize) -> (PythonTokenKind, usize) {
    let mut scan = StringScan::new(bytes, quotes);
    let end = scan.read(&bytes[start..quotes]);
    (PythonTokenKind::String(end), scan.at - start)
}

/// The code in the fields of a string token, without conversions and formats. The fields in a format are among them;
/// those of strings inside a field are not.
pub(super) fn string_fields(token: &str) -> Vec<Range<usize>> {
    let bytes = token.as_bytes();
    let Some(quotes) = token.find(['"', '\'']) else { return Vec::new() };
    let prefix = &bytes[..quotes];
    if !has_fields(prefix) {
        return Vec::new();
    }
    let mut scan = StringScan::new(bytes, quotes);
    scan.read(prefix);
    let is_raw = prefix.iter().any(|byte| b"rR".contains(byte));
    // `\N{DASH}` is a character by its name.
    let is_character = |field: &Range<usize>| {
        let before = bytes[..field.start - 1].strip_suffix(b"N").unwrap_or_default();
        before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
    };
    scan.fields.retain(|field| is_raw || !is_character(field));
    scan.fields
}

/// The quotes that close a string.
#[derive(Clone, Copy)]
struct Quotes {
    byte: u8,
    is_triple: bool,
}

impl Quotes {
    fn length(self) -> usize {
        if self.is_triple { 3 } else { 1 }
    }
}

/// What is open around the scan of an f-string. A list instead of recursion allows any nesting.
#[derive(Clone, Copy)]
enum Inside {
    /// The text of an f-string. From Python 3.12 on its fields may contain its own quotes. A scan that follows
    /// fields finds the same end in everything that older versions accept.
    Text(Quotes),
    /// A field of an f-string, which holds code.
    Field,
    /// A bracket in the code of a field.
    Bracket,
    /// The format behind the colon of a field.
    Format(Quotes),
}

struct StringScan<'a> {
    bytes: &'a [u8],
    at: usize,
    inside: Vec<Inside>,
    /// How many f-strings are open.
    strings: usize,
    /// Where the code of a field of the outermost string began, while the scan is in it.
    code: Option<usize>,
    /// The code of the fields of the outermost string.
    fields: Vec<Range<usize>>,
}

impl<'a> StringScan<'a> {
    fn new(bytes: &'a [u8], at: usize) -> StringScan<'a> {
        StringScan { bytes, at, inside: Vec::new(), strings: 0, code: None, fields: Vec::new() }
    }

    /// Enters the field whose bracket is here.
    fn begin_field(&mut self) {
        self.inside.push(Inside::Field);
        self.at += 1;
        self.code = if self.strings == 1 { Some(self.at) } else { self.code };
    }

    /// Notes that the code of the innermost field ends here.
    fn end_code(&mut self) {
        if self.strings == 1
            && let Some(start) = self.code.take()
        {
            self.fields.push(start..self.at);
        }
    }

    fn end_string(&mut self) {
        self.inside.pop();
        self.strings -= 1;
    }

    /// Reads the string whose quotes are here.
    fn read(&mut self, prefix: &[u8]) -> StringEnd {
        let is_triple = self.quotes().is_triple;
        let mut end = self.begin(prefix);
        while let Some(&inside) = self.inside.last() {
            let Some(&byte) = self.bytes.get(self.at) else {
                return if is_triple { StringEnd::Unfinished } else { StringEnd::Broken };
            };
            match inside {
                Inside::Text(quotes) => end = self.step_text(byte, quotes),
                Inside::Format(quotes) => self.step_format(byte, quotes),
                Inside::Field | Inside::Bracket => self.step_code(byte, inside),
            }
        }
        end
    }

    fn starts_with(&self, text: &[u8]) -> bool {
        self.bytes[self.at..].starts_with(text)
    }

    /// The quotes that are here.
    fn quotes(&self) -> Quotes {
        let byte = self.bytes[self.at];
        Quotes { byte, is_triple: self.starts_with(&[byte; 3]) }
    }

    fn is_at(&self, quotes: Quotes) -> bool {
        self.starts_with(&[quotes.byte; 3][..quotes.length()])
    }

    /// Steps over a backslash and the character behind it. In raw strings too, a quote there ends nothing.
    fn skip_escape(&mut self) {
        self.at = (self.at + 2).min(self.bytes.len());
    }

    /// Passes the quotes that are here, and the whole string if it has no fields.
    fn begin(&mut self, prefix: &[u8]) -> StringEnd {
        let quotes = self.quotes();
        self.at += quotes.length();
        if has_fields(prefix) {
            self.inside.push(Inside::Text(quotes));
            self.strings += 1;
            return StringEnd::Broken;
        }
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\\' => self.skip_escape(),
                b'\n' if !quotes.is_triple => return StringEnd::Broken,
                _ if self.is_at(quotes) => {
                    self.at += quotes.length();
                    return StringEnd::Closed;
                }
                _ => self.at += 1,
            }
        }
        if quotes.is_triple { StringEnd::Unfinished } else { StringEnd::Broken }
    }

    /// Scans one step in the text of an f-string. Returns how the string ends, if it ends here.
    fn step_text(&mut self, byte: u8, quotes: Quotes) -> StringEnd {
        match byte {
            b'\\' if !self.starts_with(b"\\{") && !self.starts_with(b"\\}") => self.skip_escape(),
            b'\n' if !quotes.is_triple => self.end_string(),
            b'{' if self.starts_with(b"{{") => self.at += 2,
            b'{' => self.begin_field(),
            _ if self.is_at(quotes) => {
                self.end_string();
                self.at += quotes.length();
                return StringEnd::Closed;
            }
            _ => self.at += 1,
        }
        StringEnd::Broken
    }

    /// Scans one step in the code of a field.
    fn step_code(&mut self, byte: u8, inside: Inside) {
        let rest = &self.bytes[self.at..];
        match byte {
            b'"' | b'\'' => drop(self.begin(b"")),
            b'#' => self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
            b'(' | b'[' | b'{' => {
                self.inside.push(Inside::Bracket);
                self.at += 1;
            }
            b')' | b']' | b'}' => {
                if matches!(inside, Inside::Field) && byte == b'}' {
                    self.end_code();
                }
                if matches!(inside, Inside::Bracket) || byte == b'}' {
                    self.inside.pop();
                }
                self.at += 1;
            }
            b'!' if matches!(inside, Inside::Field) && !self.starts_with(b"!=") => {
                self.end_code();
                self.at += 1;
            }
            b':' if matches!(inside, Inside::Field) => {
                self.end_code();
                let around = self.inside.iter().rev().nth(1);
                if let Some(&Inside::Text(quotes) | &Inside::Format(quotes)) = around {
                    self.inside.push(Inside::Format(quotes));
                }
                self.at += 1;
            }
            _ if is_word_byte(byte) => {
                let is_end = |byte: &u8| !is_word_byte(*byte);
                let length = rest.iter().position(is_end).unwrap_or(rest.len());
                self.at += length;
                if let Some(b'"' | b'\'') = rest.get(length) {
                    self.begin(&rest[..length]);
                }
            }
            _ => self.at += 1,
        }
    }

    /// Scans one step in the format of a field.
    fn step_format(&mut self, byte: u8, quotes: Quotes) {
        let is_end = self.is_at(quotes) || byte == b'\n' && !quotes.is_triple;
        if byte == b'{' {
            self.begin_field();
        } else if byte == b'\\' && !self.starts_with(b"\\{") && !self.starts_with(b"\\}") {
            self.skip_escape();
        } else if byte == b'}' || is_end {
            // Leave the format and its field; the string ends even if the field's brace is missing.
            self.inside.truncate(self.inside.len().saturating_sub(2));
            self.at += usize::from(byte == b'}');
        } else {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests;
