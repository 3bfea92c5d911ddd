//! A notebook as a script in the percent format, or as Markdown.
//!
//! Owns both forms. They are for reading and running elsewhere; the form that can be written back is
//! the virtual text.

use crate::cell::CellKind;
use crate::document::Notebook;
use crate::output::OutputDigest;

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

/// How a language begins a comment that runs to the end of the line.
fn comment_prefix(language: &str) -> &'static str {
    match language.to_lowercase().as_str() {
        "javascript" | "typescript" | "c" | "c++" | "cpp" | "java" | "scala" | "rust" | "go"
        | "c#" | "csharp" | "f#" | "fsharp" | "kotlin" | "swift" | "groovy" | "php" => "//",
        "sql" | "haskell" | "lua" | "ada" => "--",
        "matlab" | "octave" | "prolog" | "erlang" | "tex" => "%",
        "lisp" | "clojure" | "scheme" | "racket" => ";;",
        _ => "#",
    }
}

/// The notebook as a script: code as it is, prose and raw cells as comments, and Python lines that
/// only IPython understands as comments too, so that the file can be run.
pub fn to_script(notebook: &Notebook) -> String {
    let language = notebook.language().unwrap_or_else(|| "python".to_owned());
    let comment = comment_prefix(&language);
    let is_python = language.to_lowercase().contains("python");
    let mut out = String::new();
    for cell in notebook.cells() {
        if !out.is_empty() {
            out.push('\n');
        }
        let source = cell.source().text;
        match cell.kind() {
            Some(CellKind::Code) => {
                out.push_str(&format!("{comment} %%\n"));
                let is_magic = is_python && source.trim_start().starts_with("%%");
                for line in source.lines() {
                    let start = line.trim_start();
                    let is_line_magic = is_python && start.starts_with(['%', '!', '?']);
                    if is_magic || is_line_magic {
                        out.push_str(comment);
                        out.push(' ');
                    }
                    out.push_str(line);
                    out.push('\n');
                }
            }
            _ => {
                out.push_str(&format!("{comment} %% [{}]\n", cell.kind_name()));
                for line in source.lines() {
                    out.push_str(format!("{comment} {line}").trim_end());
                    out.push('\n');
                }
            }
        }
    }
    out
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
        if outputs == Outputs::None {
            continue;
        }
        for output in cell.outputs() {
            let digest = output.digest();
            let text = output.text().filter(|_| outputs == Outputs::Full);
            match (text, &digest) {
                (Some(text), OutputDigest::Data { .. } | OutputDigest::Stream { .. }) => {
                    blocks.push(fenced(&text, "text"));
                }
                (Some(text), _) => blocks.push(fenced(&plain(&text), "text")),
                (None, _) => blocks.push(format!("*{digest}*")),
            }
        }
    }
    blocks.retain(|block| !block.is_empty());
    let mut out = blocks.join("\n\n");
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// A fence longer than any run of backticks in the text.
fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Text without the colour sequences tracebacks are stored with.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        out.push_str(&rest[..at]);
        let after = &rest[at + 2..];
        let end = after.find(|c: char| ('@'..='~').contains(&c)).map_or(after.len(), |end| end + 1);
        rest = &after[end..];
    }
    out.push_str(rest);
    out
}
