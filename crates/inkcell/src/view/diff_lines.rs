//! Differences on a terminal: red, green, and the words that changed.
//!
//! Owns the looks. `diff` makes the lines, which a pipe gets as they are.

use std::io;

use super::answer::{self, Shape};
use super::paint::{Line, Role};
use crate::output::Output;

/// Writes the lines of a difference.
pub(crate) fn write(lines: &[String], output: &mut Output) -> io::Result<()> {
    if !answer::is_painted(output) {
        return lines.iter().try_for_each(|line| output.line(line));
    }
    let mut at = 0;
    while at < lines.len() {
        let removed = block(&lines[at..], "  -");
        let added = block(&lines[at + removed.len()..], "  +");
        if removed.is_empty() && added.is_empty() {
            let line = &lines[at];
            let is_text = line.starts_with("   ");
            let shape = if is_text { Shape::Text } else { Shape::Sentence };
            answer::write(output, shape, &[(role(line), line)])?;
            at += 1;
            continue;
        }
        answer::paint(output, Shape::Text, &replaced(removed, added))?;
        at += removed.len() + added.len();
    }
    Ok(())
}

/// The first lines with this sign.
fn block<'a>(lines: &'a [String], sign: &str) -> &'a [String] {
    let end = lines.iter().position(|line| !line.starts_with(sign));
    &lines[..end.unwrap_or(lines.len())]
}

/// The look of a line that is neither added nor removed.
fn role(line: &str) -> Role {
    match line.get(..2) {
        Some("+ ") => Role::Success,
        Some("- ") => Role::Error,
        Some("~ ") => Role::Title,
        _ if line.starts_with("  @@") => Role::Dim,
        _ => Role::Plain,
    }
}

/// Lines that replace others. Where each replaces one, the words that differ are marked.
fn replaced(removed: &[String], added: &[String]) -> Vec<Line> {
    let is_paired = removed.len() == added.len();
    let look = |lines: &[String], others: &[String], (role, word): (Role, Role)| -> Vec<Line> {
        let line = |(at, line): (usize, &String)| {
            let other = others.get(at).filter(|_| is_paired);
            marked(line, other.map_or("", String::as_str), role, word)
        };
        lines.iter().enumerate().map(line).collect()
    };
    let mut lines = look(removed, added, (Role::Error, Role::Deleted));
    lines.extend(look(added, removed, (Role::Success, Role::Inserted)));
    lines
}

/// A line, with a mark on what the other line does not have between the words that both begin and end with.
fn marked(line: &str, other: &str, role: Role, word: Role) -> Line {
    // The sign is not a part of the text.
    let sign = line.len().min(3);
    let own = words(&line[sign..]);
    let others = words(other.get(3..).unwrap_or_default());
    let pairs = own.iter().zip(&others);
    let before = pairs.take_while(|(one, two)| one == two).count();
    let pairs = own[before..].iter().rev().zip(others[before..].iter().rev());
    let behind = pairs.take_while(|(one, two)| one == two).count();
    let is_alike = |range: &[&str]| range.iter().any(|word| !word.trim().is_empty());
    let end = own.len() - behind;
    let mut marked = Line::of(role, &line[..sign]);
    if !is_alike(&own[..before]) && !is_alike(&own[end..]) {
        marked.push(role, &line[sign..]);
        return marked;
    }
    for (at, piece) in own.iter().enumerate() {
        marked.push(if (before..end).contains(&at) { word } else { role }, piece);
    }
    marked
}

/// Words, and between them single characters.
fn words(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match is_word(first) {
            true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (text, behind) = rest.split_at(length);
        words.push(text);
        rest = behind;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(removed: &[&str], added: &[&str]) -> Vec<String> {
        let owned =
            |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        let line = |line: &Line| {
            let span = |span: &super::super::paint::Span| match span.role() {
                Role::Deleted | Role::Inserted => format!("<{}>", span.text()),
                _ => span.text().to_owned(),
            };
            line.spans().iter().map(span).collect()
        };
        replaced(&owned(removed), &owned(added)).iter().map(line).collect()
    }

    /// Issue 24: the words that changed are marked, unless nothing stayed.
    #[test]
    fn changed_words_are_marked() {
        let table: [(&[&str], &[&str], &[&str]); 6] = [
            (&["  -x = 1"], &["  +x = 2"], &["  -x = <1>", "  +x = <2>"]),
            (&["  -f(a, b)"], &["  +f(a, b, c)"], &["  -f(a, b)", "  +f(a, b<, c>)"]),
            (&["  -é = 1"], &["  +è = 1"], &["  -<é> = 1", "  +<è> = 1"]),
            (&["  -one"], &["  +two"], &["  -one", "  +two"]),
            (&["  -x = 1", "  -y"], &["  +x = 2"], &["  -x = 1", "  -y", "  +x = 2"]),
            (&["  -"], &["  +a"], &["  -", "  +a"]),
        ];
        for (removed, added, wanted) in table {
            assert_eq!(looks(removed, added), wanted);
        }
    }
}
