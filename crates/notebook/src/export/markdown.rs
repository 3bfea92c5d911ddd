//! A notebook as Markdown.
//!
//! Owns which form of an output is shown, and how text is kept inside its fence. It must not know
//! how outputs are stored beyond their forms.

use crate::cell::CellKind;
use crate::document::Notebook;
use crate::json;
use crate::output::{OutputDigest, OutputView};
use crate::view::joined;

/// How outputs appear in Markdown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outputs {
    /// Not at all.
    None,
    /// One line each.
    Digest,
    /// Their text; what has none as one line.
    Full,
}

/// The notebook as Markdown: prose as it is, code and text outputs in fences.
pub fn to_markdown(notebook: &Notebook, outputs: Outputs) -> String {
    let language = notebook.language().unwrap_or_else(|| "python".to_owned());
    let mut blocks: Vec<String> = Vec::new();
    for cell in notebook.cells() {
        let source = cell.source().text;
        match cell.kind() {
            Some(CellKind::Markdown) => blocks.push(source.trim_end().to_owned()),
            _ if source.trim().is_empty() => {}
            Some(CellKind::Code) => blocks.push(fenced(&source, &language)),
            _ => blocks.push(fenced(&source, "")),
        }
        match outputs {
            Outputs::None => {}
            Outputs::Digest => {
                blocks.extend(cell.outputs().iter().map(|output| one_line(&output.digest())));
            }
            Outputs::Full => blocks.extend(cell.outputs().iter().map(full)),
        }
    }
    blocks.retain(|block| !block.is_empty());
    let mut out = blocks.join("\n\n");
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// An output by the form that says most to a reader. A picture cannot be shown here, and its text
/// (`<Figure size 640x480>`) says less than what it is.
fn full(output: &OutputView<'_>) -> String {
    let digest = output.digest();
    let OutputDigest::Data { forms, is_result } = &digest else {
        return match (output.text(), &digest) {
            (Some(text), OutputDigest::Stream { .. }) => fenced_text(&text, "text"),
            (Some(text), OutputDigest::Error { .. }) if !text.trim().is_empty() => {
                fenced_text(&text, "text")
            }
            _ => one_line(&digest),
        };
    };
    let is_image = |form: &&(String, usize)| form.0.starts_with("image/");
    let images: Vec<(String, usize)> = forms.iter().filter(is_image).cloned().collect();
    if !images.is_empty() {
        return one_line(&OutputDigest::Data { forms: images, is_result: *is_result });
    }
    let data = json::get(output.json(), "data").unwrap_or(b"{}");
    let form = |mime: &str| {
        let text = joined(json::get(data, mime)?).text;
        (!text.trim().is_empty()).then(|| text.into_owned())
    };
    if let Some(text) = form("text/markdown") {
        return without_escapes(&text).trim_end().to_owned();
    }
    if let Some(text) = form("text/plain") {
        return fenced_text(&text, "text");
    }
    if let Some(text) = form("text/html") {
        return fenced_text(&text, "html");
    }
    one_line(&digest)
}

/// A digest in italics. Its words come from the file and may hold anything.
fn one_line(digest: &OutputDigest) -> String {
    let mut out = String::from("*");
    for c in without_escapes(&digest.to_string()).trim().chars() {
        match c {
            '*' | '`' | '<' | '[' | '\\' => out.extend(['\\', c]),
            '\u{2028}' | '\u{2029}' => out.push(' '),
            _ if c.is_control() => out.push(' '),
            _ => out.push(c),
        }
    }
    out.push('*');
    out
}

/// What a program wrote, as a terminal would have left it. Nothing when there is nothing to see.
fn fenced_text(text: &str, language: &str) -> String {
    let text = without_overprints(&without_escapes(text));
    if text.trim().is_empty() { String::new() } else { fenced(&text, language) }
}

/// A fence longer than any run of backticks in the text.
fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    // The name comes from the file; a backtick or a line end in it would undo the fence.
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "_+#.-".contains(*c);
    let language: String = language.chars().filter(is_plain).collect();
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches(['\n', '\r']))
}

/// Of each line what was written last over it, as progress bars do.
fn without_overprints(text: &str) -> String {
    let last = |line: &str| {
        let line = line.trim_end_matches('\r');
        line.rsplit('\r').next().unwrap_or_default().to_owned()
    };
    let lines: Vec<String> = text.split('\n').map(last).collect();
    lines.join("\n")
}

/// Text without the sequences that colour it, move the cursor, or name links and titles.
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\u{1b}', '\u{9b}']) {
        out.push_str(&rest[..at]);
        rest = after_escape(&rest[at..]);
    }
    out.push_str(rest);
    out
}

/// What follows the sequence this text begins with. One that breaks off ends where it does.
fn after_escape(text: &str) -> &str {
    let within = |text: &str, low: char, high: char| {
        text.find(|c| !(low..=high).contains(&c)).unwrap_or(text.len())
    };
    let ended = |text: &'_ str, low: char| {
        let is_end = text.chars().next().is_some_and(|c| (low..='~').contains(&c));
        usize::from(is_end)
    };
    let control = text.strip_prefix("\u{1b}[").or_else(|| text.strip_prefix('\u{9b}'));
    if let Some(rest) = control {
        let rest = &rest[within(rest, '0', '?')..];
        let rest = &rest[within(rest, ' ', '/')..];
        return &rest[ended(rest, '@')..];
    }
    let rest = text.strip_prefix('\u{1b}').unwrap_or(text);
    if let Some(string) = rest.strip_prefix([']', 'P', 'X', '^', '_']) {
        // Such a string ends with a bell or an escape and backslash; it never spans lines.
        let end = string.find(['\u{7}', '\u{1b}', '\n']).map(|end| &string[end..]);
        let closed =
            end.and_then(|end| end.strip_prefix('\u{7}').or_else(|| end.strip_prefix("\u{1b}\\")));
        return closed.unwrap_or(string);
    }
    let rest = &rest[within(rest, ' ', '/')..];
    &rest[ended(rest, '0')..]
}
