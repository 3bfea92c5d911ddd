//! The shared parts of the tools that work on files: where the work is done, how much of a text is shown, and
//! errors in the words of the source documents.
//!
//! Owns the bound of one answer. Each tool owns its effect on a file.

use std::path::Path;

use inkcell_engine::notebook::{PageLimits, Selector, TextError, page, visible_line};
use inkcell_engine::output::size;
use inkcell_engine::{EngineError, Kind, Notebooks, is_notebook_path};
use serde::{Deserialize as _, Deserializer};
use serde_json::Value;

use super::portion::Portion;
use super::{CallContext, Desk, ToolError};
use crate::glob::{is_glob, matching};
use crate::output::{count, visible};
use crate::words;
use crate::words::step::Audience;

/// How much of a text one answer holds (B:V-22).
pub(crate) const PAGE: PageLimits = PageLimits::STANDARD;

/// The reader of a tool's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reader {
    /// A model, which gets the first page, or the last.
    Model { page: PageLimits, is_end: bool },
    /// Code that called the tool: it gets the whole text and no notices.
    Code,
}

impl Reader {
    pub(crate) fn at(desk: &Desk, wanted: Portion) -> Reader {
        if desk.bridge.is_for_code() {
            return Reader::Code;
        }
        let max_lines = desk.settings.calls(desk.exposure.profile()).text.max_lines;
        let page = PageLimits { max_lines, max_bytes: wanted.page_bytes(desk) };
        Reader::Model { page, is_end: wanted.is_end }
    }

    fn page(self) -> PageLimits {
        match self {
            Reader::Model { page, .. } => page,
            Reader::Code => PageLimits { max_lines: usize::MAX, max_bytes: usize::MAX },
        }
    }
}

/// Notebooks and other files, with paths that begin where the client works.
pub(crate) fn notebooks(desk: &Desk) -> Notebooks {
    // A user who follows the session of a notebook sees the edits that an agent makes.
    let notebooks = desk.notebooks.starting_at(&desk.cwd).telling(desk.engine.feeds());
    match &desk.roots {
        Some(roots) => notebooks.narrowed_to(roots),
        None => notebooks,
    }
}

/// The notebooks that a pattern matches; `None` if the path is not a pattern, or if a file has that name.
pub(crate) fn matching_notebooks(cwd: &Path, path: &str) -> Result<Option<Vec<String>>, ToolError> {
    if !is_glob(path) || cwd.join(path).exists() {
        return Ok(None);
    }
    let found = matching(cwd, path)
        .map_err(|problem| ToolError::argument(format!("path: {problem}")))?
        .into_iter()
        .filter(|name| is_notebook_path(name));
    let found: Vec<String> = found.collect();
    match found.is_empty() {
        true => Err(ToolError {
            kind: Kind::NotFound,
            message: words::path::no_match(path),
            next: Some(words::path::WRITE_PATTERN.to_owned()),
        }),
        false => Ok(Some(found)),
    }
}

/// Does file work where waiting for a disk or a lock holds up nobody else. A call that was given up before it
/// began does nothing (B:N-20).
pub(crate) async fn on_disk<T: Send + 'static>(
    context: &CallContext,
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let cancel = context.cancel.clone();
    let guarded = move || {
        if cancel.is_cancelled() {
            let message = words::tool::GIVEN_UP.to_owned();
            return Err(ToolError { kind: Kind::Cancelled, message, next: None });
        }
        work()
    };
    tokio::task::spawn_blocking(guarded).await.unwrap_or_else(|error| {
        let message = words::tool::failed_in_middle(&error);
        let next = Some(words::tool::LOOK_AT_FILE.to_owned());
        Err(ToolError { kind: Kind::Internal, message, next })
    })
}

/// Lines as one text. What a notebook holds cannot drive a terminal that shows it.
pub(crate) fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| visible(line)).collect::<Vec<_>>().join("\n")
}

/// A text as one answer shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileText {
    pub(crate) text: String,
    /// Whether that is all of it.
    pub(crate) is_whole: bool,
}

/// The lines that are picked, as many as one answer holds, with a notice when there are more. A line that alone
/// is more than that is cut: there is always a bound.
pub(crate) fn select_lines(text: &str, selector: &Selector, reader: Reader) -> FileText {
    let limits = reader.page();
    if let (Reader::Model { is_end: true, .. }, []) = (reader, &*selector.ranges) {
        return last_page(text, limits);
    }
    let mut paged = page(text, selector, limits);
    if paged.is_empty() && !text.is_empty() {
        let lines = count(text.split_inclusive('\n').count(), "line");
        return FileText { text: format!("[The text has {lines}]"), is_whole: false };
    }
    let is_whole = paged == text;
    let first = selector.ranges.first().map_or(1, |range| range.start);
    let line_bytes = paged.find('\n').unwrap_or(paged.len());
    if line_bytes > limits.max_bytes {
        // A page may hold a single line that is too long, so the text after that line is the notice.
        let rest = paged.split_off(line_bytes);
        paged.truncate(paged.floor_char_boundary(limits.max_bytes));
        let (shown, all) = (size(paged.len() as u64), size(line_bytes as u64));
        let mark = words::artifact::part_of_line(&shown, &first, &all);
        paged.push_str(&format!("…\n\n{mark}"));
        paged.push_str(rest.trim_start_matches('\n').strip_prefix('[').map_or("", |_| "\n"));
        paged.push_str(rest.trim_start_matches('\n'));
        return FileText { text: paged, is_whole: false };
    }
    FileText { text: paged, is_whole }
}

/// The last lines of a text, as many as a page holds.
fn last_page(text: &str, limits: PageLimits) -> FileText {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut bytes = 0;
    let fits = |line: &&&str| {
        bytes += line.len();
        bytes <= limits.max_bytes
    };
    let shown = lines.iter().rev().take(limits.max_lines).take_while(fits).count();
    let (first, all) = (lines.len() - shown, lines.len());
    if first == 0 {
        return FileText { text: text.to_owned(), is_whole: true };
    }
    let mark = match shown {
        0 => words::artifact::line_too_long(all),
        _ => format!("[Showing lines {}-{all} of {all}]", first + 1),
    };
    FileText {
        text: format!("{}\n\n{mark}", lines[first..].concat().trim_end_matches('\n')),
        is_whole: false,
    }
}

/// A list of cells as a text; models also write a number, or a list of numbers and ids.
pub(crate) fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let item = |value: Value| match value {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(whole(&number)),
        other => Err(serde::de::Error::custom(format!("{other} names no cell"))),
    };
    let given = match Value::deserialize(deserializer)? {
        // Models also write a list as a text.
        Value::String(text) if text.trim_start().starts_with('[') => {
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        }
        given => given,
    };
    Ok(Some(match given {
        Value::Array(items) => {
            items.into_iter().map(item).collect::<Result<Vec<_>, _>>()?.join(",")
        }
        one => item(one)?,
    }))
}

/// A number as it names a cell: 2.0 is 2.
fn whole(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(float) if float.fract() == 0.0 && float.abs() < 1e9 => format!("{float:.0}"),
        _ => number.to_string(),
    }
}

/// An error as the tools of the source documents tell it: their sentence, and the rest as the next step.
pub(crate) fn compat_error(error: &EngineError) -> ToolError {
    let (kind, next) = (error.kind(), Audience::Model.step_after(error));
    let (message, next) = match error {
        EngineError::NotJson { path, error } => {
            let next = next.map(|next| format!("; {next}")).unwrap_or_default();
            (words::file::invalid_json(&visible_line(path)), Some(format!("{error}{next}")))
        }
        EngineError::NotFound { .. } => (error.to_string(), Some("check the path".to_owned())),
        EngineError::NotAFile { .. } => {
            (error.to_string(), Some(words::file::GIVE_PATH.to_owned()))
        }
        EngineError::LeavesOut { path, error: TextError::LeavesOut { missing, .. } } => {
            let cells = count(missing.len(), "cell");
            let message = words::file::leaves_out(&visible_line(path), &cells);
            (message, Some(words::file::GIVE_ALL_CELLS.to_owned()))
        }
        _ => (error.to_string(), next),
    };
    ToolError { kind, message, next }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: Reader = Reader::Model { page: PAGE, is_end: false };

    /// B:V-22, B:O-31: an answer has a bound, whatever the text is, and says how to go on.
    #[test]
    fn long_texts_are_shown_by_the_page() {
        let all = Selector::default();
        let text: String = (1..=4000).map(|number| format!("line {number}\n")).collect();
        let first = select_lines(&text, &all, MODEL);
        assert!(!first.is_whole);
        let notice = "\n\n[Showing lines 1-3000 of 4000. Use :3001 to continue]";
        assert!(first.text.ends_with(&format!("line 3000{notice}")), "{}", &first.text[..50]);
        assert_eq!(
            select_lines("a\nb\n", &all, MODEL),
            FileText { text: "a\nb\n".to_owned(), is_whole: true }
        );

        let long = format!("{}\nshort\n", "é".repeat(PAGE.max_bytes));
        let cut = select_lines(&long, &all, MODEL);
        assert!(cut.text.len() < PAGE.max_bytes + 200, "{}", cut.text.len());
        let notice = "[Showing the first 50.0KB of line 1 (100.0KB)]\n\
                      [Showing lines 1-1 of 2. Use :2 to continue]";
        assert!(cut.text.ends_with(notice), "{}", &cut.text[PAGE.max_bytes..]);

        let (_, beyond) = inkcell_engine::notebook::split_selector("x:9").unwrap();
        assert_eq!(select_lines("a\nb\n", &beyond, MODEL).text, "[The text has 2 lines]");

        let end = Reader::Model { page: PAGE, is_end: true };
        let last = select_lines(&text, &all, end).text;
        assert!(last.starts_with("line 1001\n"), "{}", &last[..50]);
        assert!(last.ends_with("line 4000\n\n[Showing lines 1001-4000 of 4000]"));
        assert!(select_lines("a\nb\n", &all, end).is_whole);
    }
}
