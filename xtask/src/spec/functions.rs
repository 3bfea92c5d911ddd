//! Finds the function at a place in a source file: the one around it, else the next one.
//!
//! Reads just enough of Rust and Python for that. Must not know what is at the place.

use std::ops::Range;

/// The functions of one file, in the order in which they begin.
pub(super) struct Functions {
    found: Vec<Function>,
    /// Offset of each line's first byte.
    lines: Vec<usize>,
}

struct Function {
    name: String,
    /// From the keyword to the end of the body.
    span: Range<usize>,
}

impl Functions {
    pub(super) fn of_rust(text: &str) -> Self {
        let code = blank_out(text);
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(keyword) = find_word(&code, b"fn", at) {
            at = keyword + 2;
            let name_start = skip_blanks(&code, at);
            let name_end = skip_word(&code, name_start);
            // A pointer type `fn(..)` and a macro's `fn $name` have no name of their own.
            if name_start == at || name_end == name_start {
                continue;
            }
            let name = text[name_start..name_end].to_owned();
            found.push(Function { name, span: keyword..body_end(&code, name_end) });
        }
        Self { found, lines: line_starts(text) }
    }

    /// Indentation marks the blocks of Python.
    pub(super) fn of_python(text: &str) -> Self {
        let mut found: Vec<Function> = Vec::new();
        let mut open: Vec<(usize, usize)> = Vec::new();
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            let code = line.trim();
            let indent = line.len() - line.trim_start().len();
            if !code.is_empty() {
                while let Some((_, index)) = open.pop_if(|(outer, _)| *outer >= indent) {
                    found[index].span.end = offset;
                }
                let def = code.strip_prefix("async ").unwrap_or(code).strip_prefix("def ");
                if let Some((name, _)) = def.and_then(|def| def.split_once('(')) {
                    open.push((indent, found.len()));
                    let span = offset..text.len();
                    found.push(Function { name: name.trim().to_owned(), span });
                }
            }
            offset += line.len();
        }
        Self { found, lines: line_starts(text) }
    }

    /// The innermost function around the offset; outside all functions, the next one at or below
    /// its line.
    pub(super) fn named_at(&self, offset: usize) -> Option<&str> {
        let around = self.found.iter().rev().find(|function| function.span.contains(&offset));
        let line = self.lines.partition_point(|start| *start <= offset);
        let line_start = self.lines.get(line.wrapping_sub(1)).copied().unwrap_or(0);
        around
            .or_else(|| self.found.iter().find(|function| function.span.start >= line_start))
            .map(|function| function.name.as_str())
    }
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

/// Finds the end of a function whose name was just read: past the closing brace of its body, or
/// past the semicolon of a function without a body.
fn body_end(code: &[u8], from: usize) -> usize {
    let mut brackets = 0usize;
    let mut braces = 0usize;
    for (at, byte) in code.iter().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => brackets += 1,
            b')' | b']' => brackets = brackets.saturating_sub(1),
            b'{' => braces += 1,
            b'}' if braces <= 1 => return at + 1,
            b'}' => braces -= 1,
            b';' if braces == 0 && brackets == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// Replaces comments, strings and characters by blanks of the same length. Samples in tests are
/// full of braces, so counting braces in the raw text would go wrong.
fn blank_out(text: &str) -> Vec<u8> {
    let mut code = text.as_bytes().to_vec();
    let mut at = 0;
    while at < code.len() {
        let end = literal_end(text.as_bytes(), at);
        if end > at {
            for byte in &mut code[at..end] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
            at = end;
        } else {
            at += 1;
        }
    }
    code
}

/// The end of the comment, string or character that begins at `at`; `at` itself if none does.
fn literal_end(text: &[u8], at: usize) -> usize {
    let rest = &text[at..];
    if rest.starts_with(b"//") {
        return at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }
    if rest.starts_with(b"/*") {
        return at + block_comment_len(rest);
    }
    match rest[0] {
        b'"' => at + quoted_len(rest, b'"'),
        b'\'' => at + character_len(rest),
        b'r' if raw_prefix_stands_alone(text, at) => at + raw_string_len(rest),
        _ => at,
    }
}

fn block_comment_len(rest: &[u8]) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn quoted_len(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of a character such as `'x'`; 0 for a lifetime such as `'x`.
fn character_len(rest: &[u8]) -> usize {
    if rest.get(1) == Some(&b'\\') {
        return quoted_len(rest, b'\'');
    }
    let is_inner = |byte: &&u8| **byte & 0xC0 == 0x80;
    let width = 1 + rest.iter().skip(2).take_while(is_inner).count();
    if rest.get(1 + width) == Some(&b'\'') { width + 2 } else { 0 }
}

/// True if no identifier precedes the `r` of a raw string; a `b` or `c` may.
fn raw_prefix_stands_alone(text: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map(|index| text[index]);
    match before(1) {
        Some(b'b' | b'c') => !before(2).is_some_and(is_word),
        Some(byte) => !is_word(byte),
        None => true,
    }
}

/// The length of a raw string; 0 for a raw identifier such as `r#type`.
fn raw_string_len(rest: &[u8]) -> usize {
    let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
    let open = 1 + hashes;
    if rest.get(open) != Some(&b'"') {
        return 0;
    }
    let mut close = vec![b'"'];
    close.resize(1 + hashes, b'#');
    let inner = &rest[open + 1..];
    let end = inner.windows(close.len()).position(|window| window == close);
    end.map_or(rest.len(), |end| open + 1 + end + close.len())
}

fn find_word(code: &[u8], word: &[u8], from: usize) -> Option<usize> {
    (from..code.len().saturating_sub(word.len())).find(|at| {
        code[*at..].starts_with(word)
            && !at.checked_sub(1).is_some_and(|before| is_word(code[before]))
            && !code.get(at + word.len()).copied().is_some_and(is_word)
    })
}

fn skip_blanks(code: &[u8], from: usize) -> usize {
    from + code[from..].iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

fn skip_word(code: &[u8], from: usize) -> usize {
    from + code[from..].iter().take_while(|byte| is_word(**byte)).count()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
