//! Renders a notebook as Markdown.
//!
//! Owns the choice of the form of an output, and fences that text cannot break. It must not know
//! how outputs are stored beyond their forms.

use crate::cell::CellKind;
use crate::document::{Notebook, OutputDigest, OutputView, join_source};
use crate::json;

/// The rendering of outputs in Markdown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outputs {
    /// Leave out all outputs.
    None,
    /// Write one line for each, such as *image/png 3.2KB*.
    Digest,
    /// Write the text of each; one line for an output without text.
    Full,
}

/// Renders the notebook: prose as it is, code and text outputs in fences.
pub fn to_markdown(notebook: &Notebook, outputs: Outputs) -> String {
    let language = notebook.language().unwrap_or_else(|| "python".to_owned());
    let mut blocks: Vec<String> = Vec::new();
    for cell in notebook.cells() {
        let source = cell.source().text;
        match cell.kind() {
            Some(CellKind::Markdown) => blocks.push(source.trim_end().to_owned()),
            _ if source.trim().is_empty() => {}
            Some(CellKind::Code) => blocks.push(fence_code(&source, &language)),
            _ => blocks.push(fence_code(&source, "")),
        }
        match outputs {
            Outputs::None => {}
            Outputs::Digest => {
                blocks.extend(cell.outputs().iter().map(|output| render_digest(&output.digest())));
            }
            Outputs::Full => blocks.extend(cell.outputs().iter().map(render_output)),
        }
    }
    blocks.retain(|block| !block.is_empty());
    let mut out = blocks.join("\n\n");
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// Renders the form of an output that tells a reader most. Markdown cannot hold a picture, and the
/// text form of one (`<Figure size 640x480>`) tells less than its digest.
fn render_output(output: &OutputView<'_>) -> String {
    let digest = output.digest();
    let OutputDigest::Data { forms, is_result } = &digest else {
        return match (output.text(), &digest) {
            (Some(text), OutputDigest::Stream { .. }) => fence_text(&text, "text"),
            (Some(text), OutputDigest::Error { .. }) if !text.trim().is_empty() => {
                fence_text(&text, "text")
            }
            _ => render_digest(&digest),
        };
    };
    let is_image = |form: &&(String, usize)| form.0.starts_with("image/");
    let images: Vec<(String, usize)> = forms.iter().filter(is_image).cloned().collect();
    if !images.is_empty() {
        return render_digest(&OutputDigest::Data { forms: images, is_result: *is_result });
    }
    let data = json::get(output.json(), "data").unwrap_or(b"{}");
    let form = |mime: &str| {
        let text = join_source(json::get(data, mime)?).text;
        (!text.trim().is_empty()).then(|| text.into_owned())
    };
    if let Some(text) = form("text/markdown") {
        return strip_escapes(&text).trim_end().to_owned();
    }
    if let Some(text) = form("text/plain") {
        return fence_text(&text, "text");
    }
    if let Some(text) = form("text/html") {
        return fence_text(&text, "html");
    }
    render_digest(&digest)
}

/// Renders a digest in italics. Its words come from the file and may hold anything.
fn render_digest(digest: &OutputDigest) -> String {
    let mut out = String::from("*");
    for c in strip_escapes(&digest.to_string()).trim().chars() {
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

/// Fences the text of a program as a terminal would leave it; empty if nothing is visible.
fn fence_text(text: &str, language: &str) -> String {
    let text = strip_overprints(&strip_escapes(text));
    if text.trim().is_empty() { String::new() } else { fence_code(&text, language) }
}

/// Fences code with more backticks than any run in the text.
fn fence_code(text: &str, language: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    // The language name comes from the file; a backtick or line end in it would break the fence.
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "_+#.-".contains(*c);
    let language: String = language.chars().filter(is_plain).collect();
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches(['\n', '\r']))
}

/// Keeps what was written last on each line, as progress bars overwrite it.
fn strip_overprints(text: &str) -> String {
    let last = |line: &str| {
        let line = line.trim_end_matches('\r');
        line.rsplit('\r').next().unwrap_or_default().to_owned()
    };
    let lines: Vec<String> = text.split('\n').map(last).collect();
    lines.join("\n")
}

/// Removes escape sequences that colour text, move the cursor, or set links and titles.
fn strip_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\u{1b}', '\u{9b}']) {
        out.push_str(&rest[..at]);
        rest = skip_escape(&rest[at..]);
    }
    out.push_str(rest);
    out
}

/// Skips the escape sequence at the start of the text. An incomplete sequence ends where it breaks
/// off.
fn skip_escape(text: &str) -> &str {
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
