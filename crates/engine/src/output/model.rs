//! The output of an execution for a reader: text in parts, marks, rich items, exact numbers.
//!
//! Owns the types and their plain wording. Only output of the program is a [`Part::Text`], so no output can pass for a
//! notice. It must not know terminals or protocols.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// A piece of the shown output, in order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Cleaned text that the program wrote or displayed.
    Text(String),
    /// A remark by inkcell.
    Mark(Mark),
}

/// A remark by inkcell between parts of a program's text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Text is left out here.
    Elided {
        /// Number of bytes left out.
        bytes: u64,
        /// Number of line ends left out.
        lines: u64,
    },
    /// The line before was repeated.
    Repeated {
        /// Number of further occurrences.
        times: u64,
    },
    /// The code asked for a line of input (B:X-25).
    InputRequested,
    /// A rich item belongs here, with its place in [`ModelOutput::rich`].
    Rich {
        /// Number of the item; dropped items have one, too.
        number: u64,
    },
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mark::Elided { bytes, lines } => {
                let what = match lines {
                    0 => "part of a line".to_owned(),
                    1 => "1 line".to_owned(),
                    lines => format!("{lines} lines"),
                };
                write!(f, "[… {what} elided ({}) …]", size(*bytes))
            }
            Mark::Repeated { times: 1 } => f.write_str("[… repeated once more …]"),
            Mark::Repeated { times } => write!(f, "[… repeated {times} more times …]"),
            Mark::InputRequested => f.write_str(
                "[stdin] Kernel requested input. Interactive stdin is not supported; provide input \
                 programmatically.",
            ),
            Mark::Rich { .. } => Ok(()),
        }
    }
}

/// A size for people (B:O-32): bytes, then one decimal.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes}B"),
        1024..1_048_576 => format!("{:.1}KB", bytes as f64 / 1024.0),
        _ => format!("{:.1}MB", bytes as f64 / 1_048_576.0),
    }
}

/// Reference to an artifact with the whole of something.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ArtifactRef {
    /// The id of the artifact.
    pub id: String,
    /// Size of the artifact in bytes.
    pub bytes: u64,
}

/// An image for the reader.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ImageItem {
    /// The MIME type of `data`.
    pub mime: String,
    /// The image, within the budget; `None` if it is broken or could not be made to fit, and of SVG, which is drawn
    /// when it is shown.
    #[serde(with = "crate::types::encoding::base64_option")]
    pub data: Option<Bytes>,
    /// Width and height of `data`, or of the original if `data` is `None`.
    pub pixels: Option<(u32, u32)>,
    /// The artifact with the picture in full size, if one holds it.
    pub artifact: Option<ArtifactRef>,
}

/// A JSON value for the reader.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct JsonItem {
    /// The value as the kernel sent it; `None` if it is too large to pass on.
    pub raw: Option<String>,
    /// Two-space JSON, cut with a line that says how much is missing (B:X-34).
    pub shown: String,
    /// True if the plain text of the display has the same content, as the `repr` of a dictionary has.
    #[serde(default)]
    pub is_in_text: bool,
    /// The artifact with the whole value, if it is too large.
    pub artifact: Option<ArtifactRef>,
}

/// The content of a rich item.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RichKind {
    /// A picture, made small enough for the reader.
    Image(ImageItem),
    /// A JSON value, as text and perhaps as a value.
    Json(JsonItem),
    /// A status event (B:X-32), as JSON text.
    Status(String),
    /// A chart, a table or another form that only has a digest.
    Digest {
        /// The media type of the original.
        mime: String,
        /// The artifact with the original, if one holds it.
        artifact: Option<ArtifactRef>,
    },
}

/// Output that is more than text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RichItem {
    /// Counted from 1 in the order of display.
    pub number: u64,
    /// The content, in the form that suits the reader best.
    pub kind: RichKind,
    /// One line about it. Titles and names in it come from the program.
    pub digest: String,
}

/// Exact numbers. Lines are line ends, and one more for a text that is not empty (B:O-04).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Bytes as the program wrote them.
    pub raw_bytes: u64,
    /// Bytes of the cleaned text.
    pub total_bytes: u64,
    /// Lines of the cleaned text.
    pub total_lines: u64,
    /// Characters of the cleaned text.
    pub total_chars: u64,
    /// Bytes of the shown text.
    pub output_bytes: u64,
    /// Lines of the shown text.
    pub output_lines: u64,
    /// Characters of the shown text.
    pub output_chars: u64,
    /// Bytes left out of the shown text.
    pub elided_bytes: u64,
    /// Number of line ends left out.
    pub elided_lines: u64,
    /// Bytes that the program itself removed or replaced.
    pub cleared_bytes: u64,
    /// Line ends in them.
    #[serde(default)]
    pub cleared_lines: u64,
    /// Sequences that were not UTF-8 and are marked by U+FFFD.
    pub invalid: u64,
    /// Bytes cut off by the limit for one line.
    pub dropped_bytes: u64,
    /// Number of lines that were cut.
    pub dropped_lines: u64,
    /// Number of rich items, shown or not.
    pub rich: u64,
    /// Bytes of the last line while the program still writes it. They are not in `total_bytes`.
    #[serde(default)]
    pub open_bytes: u64,
}

/// The shown parts of a text that exceeds the budget.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Truncation {
    /// First and last line of the beginning, counted from 1; `None` if only the end is kept.
    pub head: Option<(u64, u64)>,
    /// First and last line of the end.
    pub tail: Option<(u64, u64)>,
    /// Lines of the whole text.
    pub total_lines: u64,
    /// The budget that the text exceeded, in bytes.
    pub limit_bytes: u64,
    /// Set if only the end of one line is shown: its shown bytes, and all its bytes.
    pub partial_line: Option<(u64, u64)>,
    /// Number of shown lines, set if single displays were cut as well, so that line ranges would be wrong.
    pub scattered_lines: Option<u64>,
}

/// A fact about this output that the reader must know.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// More output came than fits.
    Truncated {
        /// The parts that are shown.
        truncation: Truncation,
        /// The artifact with all of it.
        artifact: Option<String>,
    },
    /// The artifact does not hold everything.
    ArtifactIncomplete {
        /// Why the rest is missing, in words for people.
        cause: String,
        /// Number of bytes in the artifact.
        after_bytes: u64,
        /// The id of the artifact, if one holds them.
        artifact: Option<String>,
    },
    /// Some lines exceeded the limit for one line.
    LinesCut {
        /// Number of lines that were cut.
        lines: u64,
        /// Number of bytes cut off.
        bytes: u64,
        /// The artifact with all of it.
        artifact: Option<String>,
    },
    /// More rich items came than are shown.
    RichDropped {
        /// Number of missing items.
        items: u64,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Truncated { truncation, artifact } => {
                let Truncation { head, tail, total_lines, limit_bytes, partial_line, .. } =
                    truncation;
                match (partial_line, head, tail) {
                    _ if truncation.scattered_lines.is_some() => {
                        let shown = truncation.scattered_lines.unwrap_or_default();
                        write!(f, "[Showing {shown} of {total_lines} lines")?;
                    }
                    (Some((shown, bytes)), _, _) => {
                        let (shown, bytes) = (size(*shown), size(*bytes));
                        write!(f, "[Showing last {shown} of line {total_lines} (line is {bytes})")?;
                    }
                    (_, Some((first, last)), None) | (_, None, Some((first, last))) => {
                        write!(f, "[Showing lines {first}-{last} of {total_lines}")?;
                    }
                    (_, Some((first, last)), Some((then, end))) => {
                        write!(
                            f,
                            "[Showing lines {first}-{last} and {then}-{end} of {total_lines}"
                        )?;
                    }
                    (_, None, None) => write!(f, "[Showing none of {total_lines} lines")?,
                }
                if partial_line.is_none() || truncation.scattered_lines.is_some() {
                    write!(f, " ({} limit)", size(*limit_bytes))?;
                }
                match artifact {
                    Some(id) => write!(f, ". Read artifact://{id} for full output]"),
                    None => f.write_str("]"),
                }
            }
            Notice::ArtifactIncomplete { cause, after_bytes, artifact } => {
                write!(f, "[artifact incomplete: {cause} after {after_bytes} bytes")?;
                match artifact {
                    Some(id) => write!(f, ". Read artifact://{id} for what was kept]"),
                    None => f.write_str("]"),
                }
            }
            Notice::LinesCut { lines, bytes, artifact } => {
                write!(f, "[… {lines} lines were cut, {} in all …", size(*bytes))?;
                match artifact {
                    Some(id) => write!(f, " Read artifact://{id} for full output]"),
                    None => f.write_str("]"),
                }
            }
            Notice::RichDropped { items } => {
                write!(f, "[{items} more displays are not shown]")
            }
        }
    }
}

/// The text with notices that name no lines, for a reader who gets still less of it.
pub fn without_ranges(text: &str) -> String {
    const BEGINNING: &str = "[Showing lines ";
    let plain = |line: &str| {
        let (ranges, rest) = line.strip_prefix(BEGINNING)?.split_once(" of ")?;
        let is_range = |c: char| c.is_ascii_digit() || matches!(c, '-' | ' ') || "and".contains(c);
        let digits = rest.find(|c: char| !c.is_ascii_digit()).filter(|at| *at > 0)?;
        let (total, rest) = rest.split_at(digits);
        ranges.chars().all(is_range).then(|| format!("[Showing a part of {total} lines{rest}"))
    };
    let lines = text.split('\n').map(|line| plain(line).unwrap_or_else(|| line.to_owned()));
    lines.collect::<Vec<_>>().join("\n")
}

/// The output of one execution for a reader.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ModelOutput {
    /// Text and marks, in order.
    pub parts: Vec<Part>,
    /// Images, JSON, status events and digests, in order.
    pub rich: Vec<RichItem>,
    /// Exact numbers of the whole output, shown or not.
    pub counts: Counts,
    /// True if the text exceeds the budget.
    pub is_truncated: bool,
    /// The artifact with all raw bytes, if they were stored.
    pub artifact: Option<ArtifactRef>,
    /// Further notices, in the order to show them.
    pub notices: Vec<Notice>,
    /// True if the code asked for input.
    pub stdin_requested: bool,
    /// True if some of the text came as Markdown.
    pub has_markdown: bool,
}

/// Beginnings of the lines that inkcell itself writes.
const OWN_LINES: [&str; 18] = [
    "[… ",
    "[Showing ",
    "[stdin] Kernel requested",
    "[artifact incomplete",
    "[Command timed out",
    "[Kernel requested stdin",
    "[the kernel",
    "[the code was ",
    "[Python kernel restarted",
    "[still running",
    "[queued; execution",
    "[session ",
    "[timeout ",
    "[a cell's timeout ",
    "[after the last cell",
    "Command exited with code",
    "Command aborted",
    "Next: ",
];

/// Returns true if a reader could take a program's line, in any indentation, for one of inkcell's.
fn is_like_ours(line: &str) -> bool {
    let line = line.trim_start();
    let number = |text: &str| text.chars().take_while(char::is_ascii_digit).count();
    // The headings `[1/2]`, and `Cell 2 failed` or `aborted`.
    let is_heading = line.strip_prefix('[').is_some_and(|rest| {
        let first = number(rest);
        first > 0
            && rest[first..]
                .strip_prefix('/')
                .is_some_and(|rest| number(rest) > 0 && rest[number(rest)..].starts_with(']'))
    });
    let is_end = line.strip_prefix("Cell ").is_some_and(|rest| {
        let rest = &rest[number(rest)..];
        let ends =
            [" failed (exit", " aborted:", " was not run:", " was interrupted; nothing in it"];
        ends.iter().any(|word| rest.starts_with(word))
    });
    is_heading || is_end || OWN_LINES.iter().any(|own| line.starts_with(own))
}

impl ModelOutput {
    /// The text with its marks on lines of their own. A program's line that begins like one of inkcell's gets a
    /// backslash in front, so that it cannot pass for one in plain text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(written) => add_program_text(&mut text, written),
                Part::Mark(Mark::Rich { .. }) => {}
                Part::Mark(mark) => {
                    if !text.is_empty() && !text.ends_with('\n') {
                        text.push('\n');
                    }
                    text.push_str(&format!("{mark}\n"));
                }
            }
        }
        text
    }

    /// The text with a note before it (B:O-10) and the notices after it, as one block.
    pub fn block(&self, note: Option<&str>) -> String {
        let mut block = note.map(|note| format!("[{note}]\n")).unwrap_or_default();
        block.push_str(&self.text());
        if !self.notices.is_empty() {
            if !block.is_empty() && !block.ends_with('\n') {
                block.push('\n');
            }
            for notice in &self.notices {
                block.push_str(&format!("\n{notice}"));
            }
        }
        block
    }

    /// Replacement for an empty text (B:X-08).
    pub fn placeholder(&self) -> Option<String> {
        let is_text = |part: &Part| !matches!(part, Part::Mark(Mark::Rich { .. }));
        if self.parts.iter().any(is_text) {
            return None;
        }
        let images =
            self.rich.iter().filter(|item| matches!(item.kind, RichKind::Image(_))).count();
        let is_shown = |item: &&RichItem| !matches!(item.kind, RichKind::Status(_));
        let shown = self.rich.iter().filter(is_shown).count();
        Some(match (images, shown) {
            (0, 0) => "(no output)".to_owned(),
            (0, _) => "(no text output)".to_owned(),
            (1, _) => "(displayed 1 image; no text output)".to_owned(),
            (n, _) => format!("(displayed {n} images; no text output)"),
        })
    }
}

/// Appends text of the program, with a guard before lines that look like inkcell's.
fn add_program_text(text: &mut String, written: &str) {
    for line in written.split_inclusive('\n') {
        let is_start = text.is_empty() || text.ends_with('\n');
        if is_start && is_like_ours(line) {
            text.push('\\');
        }
        text.push_str(line);
    }
}

/// Text of a program in which no line can pass for one of inkcell's.
pub fn guarded(written: &str) -> String {
    let mut text = String::new();
    add_program_text(&mut text, written);
    text
}

#[cfg(test)]
mod tests;
