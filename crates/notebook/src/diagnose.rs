//! What a file that is not a notebook seems to be, so that the error can say what to do.
//!
//! Owns guesses from the first bytes. A guess only adds to an error; it never decides that there is
//! one.

use crate::error::NotebookError;
use crate::json::SyntaxError;
use crate::text::is_stray_marker;

/// What a file seems to be instead of a notebook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Oddity {
    /// No bytes, or blanks only.
    Empty,
    /// A pointer that Git LFS leaves when the content was not fetched.
    LfsPointer,
    /// Markers of an unfinished merge, the first at this line.
    ConflictMarkers {
        /// Line of the first marker, from 1.
        line: usize,
    },
    /// A web page, often an error page saved under the notebook's name.
    Html,
    /// Text in another encoding.
    Utf16,
    /// Bytes that are not UTF-8, probably Latin-1 or the like.
    NotUtf8,
    /// A known binary format.
    Binary {
        /// Its name.
        format: &'static str,
    },
    /// A notebook that stops in the middle.
    CutOff,
    /// The text form of a notebook, not its JSON.
    VirtualText,
    /// A script whose cells are marked by comments.
    Script,
}

impl std::fmt::Display for Oddity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Oddity::Empty => f.write_str(
                "the file is empty; if another program is saving it now, try again",
            ),
            Oddity::LfsPointer => {
                f.write_str("this is a Git LFS pointer, not the notebook itself; run: git lfs pull")
            }
            Oddity::ConflictMarkers { line } => write!(
                f,
                "conflict markers of an unfinished merge at line {line}; resolve the merge first, \
                 for example with: git checkout --ours FILE (or --theirs)"
            ),
            Oddity::Html => f.write_str(
                "this is an HTML page, not a notebook; a download probably saved an error page, so \
                 fetch the raw file again",
            ),
            Oddity::Utf16 => f.write_str(
                "the file is UTF-16; notebooks are UTF-8, convert it first, for example with: \
                 iconv -f UTF-16 -t UTF-8",
            ),
            Oddity::NotUtf8 => f.write_str(
                "the file is not UTF-8, perhaps Latin-1; convert it first, for example with: \
                 iconv -f LATIN1 -t UTF-8",
            ),
            Oddity::Binary { format } => write!(
                f,
                "this is a {format} file, not a notebook; check the path, and unpack the file if the \
                 notebook is inside"
            ),
            Oddity::CutOff => f.write_str(
                "the file is cut off; restore it from a backup, a checkpoint or version control",
            ),
            Oddity::Script => {
                f.write_str("this is a script with marked cells, not a notebook; run it as code")
            }
            Oddity::VirtualText => f.write_str(
                "this is the text form of a notebook, not its JSON; write it into a notebook instead",
            ),
        }
    }
}

/// The error for text that is not JSON, with its place and a guess at what it is.
pub(crate) fn syntax_error(bytes: &[u8], syntax: SyntaxError) -> NotebookError {
    let before = bytes.get(..syntax.offset).unwrap_or(bytes);
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[line_start..]).chars().count() + 1;
    NotebookError::Syntax { syntax, line, column, oddity: oddity(bytes, syntax) }
}

fn oddity(bytes: &[u8], syntax: SyntaxError) -> Option<Oddity> {
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
    if let Some(line) = conflict_line(body) {
        return Some(Oddity::ConflictMarkers { line });
    }
    let head = String::from_utf8_lossy(&body[..body.len().min(512)]).trim_start().to_lowercase();
    if head.starts_with("<!doctype html") || head.starts_with("<html") || head.starts_with("<?xml")
    {
        return Some(Oddity::Html);
    }
    // Before the text form: both may begin with a marker of prose. JSON has no line that begins with a comment.
    if std::str::from_utf8(body).is_ok_and(|text| text.split('\n').any(is_stray_marker)) {
        return Some(Oddity::Script);
    }
    if head.starts_with("# %% [") {
        return Some(Oddity::VirtualText);
    }
    // A character that the end of the file cuts in two is no sign of another encoding.
    if std::str::from_utf8(body).is_err_and(|error| error.error_len().is_some()) {
        return Some(Oddity::NotUtf8);
    }
    (syntax.offset >= bytes.len()).then_some(Oddity::CutOff)
}

/// The line of the first conflict marker. Inside JSON no line can begin with one.
fn conflict_line(bytes: &[u8]) -> Option<usize> {
    let is_marker = |line: &[u8]| line.starts_with(b"<<<<<<< ") || line == b"<<<<<<<";
    bytes.split(|byte| *byte == b'\n').position(is_marker).map(|at| at + 1)
}
