//! Guesses what a file is, if it is not a notebook, so that the error can name the next step.
//!
//! Owns guesses from the first bytes. A guess only adds to an error; it never decides that a file is wrong.

use crate::error::{NotebookError, Oddity};
use crate::json::SyntaxError;
use crate::marker::is_stray_marker;

/// Builds the error for text that is not JSON, with its position and a guess at what the text is.
pub(crate) fn explain_syntax_error(bytes: &[u8], syntax: SyntaxError) -> NotebookError {
    let before = bytes.get(..syntax.offset).unwrap_or(bytes);
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[line_start..]).chars().count() + 1;
    NotebookError::Syntax { syntax, line, column, oddity: guess_oddity(bytes, syntax) }
}

fn guess_oddity(bytes: &[u8], syntax: SyntaxError) -> Option<Oddity> {
    let body = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    if body.iter().all(u8::is_ascii_whitespace) {
        return Some(Oddity::Empty);
    }
    const BINARY: [(&[u8], &str); 8] = [
        (b"\x1f\x8b", "gzip"),
        (b"PK\x03\x04", "zip"),
        (b"%PDF", "PDF"),
        (b"\x89PNG", "PNG"),
        (b"\xFF\xD8\xFF", "JPEG"),
        (b"SQLite format 3", "SQLite"),
        (b"\x7fELF", "program"),
        (b"BZh", "bzip2"),
    ];
    if let Some((_, format)) = BINARY.iter().find(|(magic, _)| body.starts_with(magic)) {
        return Some(Oddity::Binary { format });
    }
    if body.starts_with(b"\xFF\xFE")
        || body.starts_with(b"\xFE\xFF")
        || body.iter().take(4).any(|b| *b == 0)
    {
        return Some(Oddity::Utf16);
    }
    if body.starts_with(b"version https://git-lfs") {
        return Some(Oddity::LfsPointer);
    }
    if let Some(line) = find_conflict_line(body) {
        return Some(Oddity::ConflictMarkers { line });
    }
    let head = String::from_utf8_lossy(&body[..body.len().min(512)]).trim_start().to_lowercase();
    if head.starts_with("<!doctype html") || head.starts_with("<html") || head.starts_with("<?xml")
    {
        return Some(Oddity::Html);
    }
    // Check this before virtual text: both may begin with a marker of prose. No line of JSON begins with a
    // comment.
    if std::str::from_utf8(body).is_ok_and(|text| text.split('\n').any(is_stray_marker)) {
        return Some(Oddity::Script);
    }
    if head.starts_with("# %% [") {
        return Some(Oddity::VirtualText);
    }
    // A character that the end of the file cuts in two does not indicate another encoding.
    if std::str::from_utf8(body).is_err_and(|error| error.error_len().is_some()) {
        return Some(Oddity::NotUtf8);
    }
    (syntax.offset >= bytes.len()).then_some(Oddity::CutOff)
}

/// Finds the line of the first conflict marker. Inside JSON no line can begin with one.
fn find_conflict_line(bytes: &[u8]) -> Option<usize> {
    let is_marker = |line: &[u8]| line.starts_with(b"<<<<<<< ") || line == b"<<<<<<<";
    bytes.split(|byte| *byte == b'\n').position(is_marker).map(|at| at + 1)
}
