//! Texts cut to whole lines from either end, and the end of a text that is still growing.
//!
//! Owns the cuts for live views and compatible tools (B:O-20 to O-22). It must not know streams or artifacts.

use crate::output::model::size;

/// Limits for the text that is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextLimit {
    /// Bytes of text that are shown at most.
    pub max_bytes: usize,
    /// Lines of text that are shown at most.
    pub max_lines: usize,
}

impl Default for TextLimit {
    fn default() -> TextLimit {
        TextLimit { max_bytes: 51_200, max_lines: 3000 }
    }
}

/// The limit that was reached first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutBy {
    /// The maximum number of lines.
    Lines,
    /// The maximum number of bytes.
    Bytes,
}

/// A text cut to a limit.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CutText {
    /// The kept lines, without the line feed at the cut.
    pub text: String,
    /// The deciding limit, if the text was cut.
    pub cut_by: Option<CutBy>,
    /// Lines of the whole text.
    pub total_lines: usize,
    /// Lines of the cut text.
    pub output_lines: usize,
    /// True if the text is the end of a line that is too long.
    pub last_line_partial: bool,
    /// True if no text remains because the first line is too long.
    pub first_line_exceeds: bool,
}

fn whole(text: &str, lines: usize) -> CutText {
    CutText {
        text: text.to_owned(),
        cut_by: None,
        total_lines: lines,
        output_lines: lines,
        last_line_partial: false,
        first_line_exceeds: false,
    }
}

/// Takes lines from an iterator while they fit. Returns their number, their bytes, and the limit that stopped it.
fn take<'a>(
    lines: impl Iterator<Item = &'a str>,
    limit: TextLimit,
) -> (usize, usize, Option<CutBy>) {
    let (mut count, mut bytes) = (0, 0);
    for line in lines {
        // Each line but the first needs a line feed before it.
        let more = line.len() + usize::from(count > 0);
        if bytes + more > limit.max_bytes {
            return (count, bytes, Some(CutBy::Bytes));
        }
        if count == limit.max_lines {
            return (count, bytes, Some(CutBy::Lines));
        }
        count += 1;
        bytes += more;
    }
    (count, bytes, None)
}

/// Keeps whole lines from the end. If the last line alone is too long, keeps its end.
pub fn truncate_tail(text: &str, limit: TextLimit) -> CutText {
    let total = text.split('\n').count();
    let (count, bytes, cut_by) = take(text.rsplit('\n'), limit);
    if cut_by.is_none() {
        return whole(text, total);
    }
    if count == 0 && cut_by == Some(CutBy::Bytes) {
        let last = text.rsplit('\n').next().unwrap_or_default();
        let end = &last[last.ceil_char_boundary(last.len() - limit.max_bytes.min(last.len()))..];
        let output_lines = usize::from(!end.is_empty());
        let text = end.to_owned();
        return CutText { text, cut_by, output_lines, last_line_partial: true, ..whole("", total) };
    }
    let text = text[text.len() - bytes..].to_owned();
    CutText { text, cut_by, output_lines: count, ..whole("", total) }
}

/// Keeps whole lines from the start. If the first line alone is too long, keeps nothing.
pub fn truncate_head(text: &str, limit: TextLimit) -> CutText {
    let total = text.split('\n').count();
    let (count, bytes, cut_by) = take(text.split('\n'), limit);
    if cut_by.is_none() {
        return whole(text, total);
    }
    let first_line_exceeds = count == 0 && cut_by == Some(CutBy::Bytes);
    let text = text[..bytes].to_owned();
    CutText { text, cut_by, output_lines: count, first_line_exceeds, ..whole("", total) }
}

/// The notice for a text cut from the end of a page (B:O-31).
pub fn continue_notice(first: usize, last: usize, total: usize) -> String {
    format!("[Showing lines {first}-{last} of {total}. Use :{} to continue]", last + 1)
}

/// The notice for a line of which only the end is shown (B:O-30).
pub fn partial_line_notice(shown_bytes: u64, line: usize, line_bytes: u64) -> String {
    format!("[Showing last {} of line {line} (line is {})]", size(shown_bytes), size(line_bytes))
}

/// The end of a growing text, for a live view (B:O-20).
#[derive(Clone, Debug)]
pub struct TailBuffer {
    text: String,
    max_bytes: usize,
}

impl TailBuffer {
    /// Keeps at most `max_bytes`.
    pub fn new(max_bytes: usize) -> TailBuffer {
        TailBuffer { text: String::new(), max_bytes }
    }

    /// Appends text; what no longer fits is dropped from the beginning.
    pub fn push(&mut self, text: &str) {
        if text.len() >= self.max_bytes {
            // The new text alone fills the buffer, so the old text need not be moved.
            self.text.clear();
            self.text.push_str(tail(text, self.max_bytes));
            return;
        }
        self.text.push_str(text);
        // Cut rarely: moving the text for every chunk would cost the square of its length.
        if self.text.len() > 4 * self.max_bytes {
            self.trim();
        }
    }

    /// The kept text, never longer than the limit.
    pub fn text(&self) -> &str {
        tail(&self.text, self.max_bytes)
    }

    /// Drops all text, for a display that starts again.
    pub fn clear(&mut self) {
        self.text.clear();
    }

    fn trim(&mut self) {
        let from = self.text.len() - tail(&self.text, self.max_bytes).len();
        self.text.drain(..from);
    }
}

/// The last `max_bytes` of a text, cut between characters.
pub(crate) fn tail(text: &str, max_bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(max_bytes))..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(max_bytes: usize) -> TextLimit {
        TextLimit { max_bytes, max_lines: 3000 }
    }

    /// B:O-21: whole lines from the end.
    #[test]
    fn tails_are_whole_lines() {
        let table = [
            ("aaa\nbbbb\ncc", 6, "cc", 1, false),
            ("aaa\nbbbb\ncc", 7, "bbbb\ncc", 2, false),
            ("aaa\nbbbb\ncc", 11, "aaa\nbbbb\ncc", 3, false),
            ("aaa\nbbbbbbbb", 3, "bbb", 1, true),
            ("a😀b", 3, "b", 1, true),
            ("a😀b", 5, "😀b", 1, true),
            ("abc", 0, "", 0, true),
            ("", 0, "", 1, false),
        ];
        for (text, bytes, expected, lines, partial) in table {
            let cut = truncate_tail(text, limit(bytes));
            assert_eq!(cut.text, expected, "{text:?} {bytes}");
            assert_eq!(
                (cut.output_lines, cut.last_line_partial),
                (lines, partial),
                "{text:?} {bytes}"
            );
        }
        let cut = truncate_tail("1\n2\n3", TextLimit { max_bytes: 100, max_lines: 2 });
        assert_eq!((&*cut.text, cut.cut_by, cut.total_lines), ("2\n3", Some(CutBy::Lines), 3));
    }

    /// B:O-22: whole lines from the start; no text if the first is too long.
    #[test]
    fn heads_are_whole_lines() {
        let table = [
            ("aaa\nbbbb\ncc", 6, "aaa", false),
            ("aaa\nbbbb\ncc", 8, "aaa\nbbbb", false),
            ("aaaa\nb", 3, "", true),
            ("abc", 3, "abc", false),
        ];
        for (text, bytes, expected, exceeds) in table {
            let cut = truncate_head(text, limit(bytes));
            assert_eq!(
                (&*cut.text, cut.first_line_exceeds),
                (expected, exceeds),
                "{text:?} {bytes}"
            );
        }
        let cut = truncate_head("1\n2\n3", TextLimit { max_bytes: 100, max_lines: 2 });
        assert_eq!((&*cut.text, cut.cut_by), ("1\n2", Some(CutBy::Lines)));
    }

    /// B:O-20: the live tail keeps to its budget and never cuts a character.
    #[test]
    fn a_growing_tail_keeps_its_end() {
        let table: [(&[&str], usize, &str); 5] = [
            (&["😀", "x"], 4, "x"),
            (&["abc", "def"], 4, "cdef"),
            (&["abc", "defghi"], 4, "fghi"),
            (&["a", "😀😀"], 5, "😀"),
            (&["abc"], 0, ""),
        ];
        for (chunks, bytes, expected) in table {
            let mut buffer = TailBuffer::new(bytes);
            chunks.iter().for_each(|chunk| buffer.push(chunk));
            assert_eq!(buffer.text(), expected, "{chunks:?}");
        }
        let mut buffer = TailBuffer::new(10);
        (0..10_000).for_each(|n| buffer.push(&format!("{n}\n")));
        assert_eq!(buffer.text(), "9998\n9999\n");
        assert!(buffer.text.len() <= 40);
    }

    /// B:O-30, B:O-31.
    #[test]
    fn notices_are_worded() {
        assert_eq!(continue_notice(1, 50, 90), "[Showing lines 1-50 of 90. Use :51 to continue]");
        assert_eq!(
            partial_line_notice(51_200, 7, 2_097_152),
            "[Showing last 50.0KB of line 7 (line is 2.0MB)]"
        );
    }
}
