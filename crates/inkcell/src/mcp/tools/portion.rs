//! How much of an output an answer shows: `max_bytes` and `tail`, which every tool that shows output takes.
//!
//! Owns their range and what they mean for the engine and for the text. Models learn of them from `result`, so the
//! schemas of the other tools leave them out.

use inkcell_engine::api::Excerpt;

use super::files::PAGE;
use super::session::profile;
use super::{Content, Desk, ToolError, ToolReply, weight};
use crate::settings::output_bytes;
use crate::view::reply::{Room, cut};
use crate::words;

/// The arguments, which schemas do not show.
pub(crate) const HIDDEN: [&str; 2] = ["max_bytes", "tail"];

const LEAST: u64 = 500;
const MOST: u64 = 100 << 10;

/// Bytes for headings and notices around a page.
const NOTICES_BYTES: usize = 256;

/// How much of an output a caller wants to see.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Portion {
    pub(crate) max_bytes: Option<usize>,
    pub(crate) is_end: bool,
    /// Whether tracebacks and values are shown in full, as far as an answer has room.
    pub(crate) is_raw: bool,
    /// Bytes of the answer that other text has taken.
    pub(crate) spent: usize,
}

impl Portion {
    /// Reads the arguments; a size out of range is an error.
    pub(crate) fn of(max_bytes: Option<u64>, tail: bool) -> Result<Portion, ToolError> {
        if let Some(given) = max_bytes.filter(|given| !(LEAST..=MOST).contains(given)) {
            let problem = words::tool::max_bytes_out_of_range(given, LEAST, MOST);
            return Err(ToolError::argument(problem));
        }
        let max_bytes: Option<usize> = max_bytes.and_then(|given| given.try_into().ok());
        Ok(Portion { max_bytes, is_end: tail, ..Portion::default() })
    }

    /// The part of the output that the engine keeps for the answer.
    pub(crate) fn excerpt(self) -> Excerpt {
        let max_bytes = self.max_bytes.map(output_bytes);
        Excerpt { max_bytes, is_end: self.is_end }
    }

    /// The bytes of one page of a text; headings and notices take the rest of the answer.
    pub(crate) fn page_bytes(self, desk: &Desk) -> usize {
        let room = self.room(desk).max_bytes;
        let page = room.saturating_sub((room / 16).max(NOTICES_BYTES));
        if self.max_bytes.is_some() { page } else { page.min(PAGE.max_bytes) }
    }

    /// The room for the whole text of the answer.
    pub(crate) fn room(self, desk: &Desk) -> Room {
        let usual = || desk.settings.calls(profile(desk)).call_bytes;
        let max_bytes = self.max_bytes.unwrap_or_else(usual).saturating_sub(self.spent);
        Room { max_bytes, is_end: self.is_end }
    }

    /// The answer with no more text than there is room for, also in its form for programs. The longest texts are cut.
    pub(crate) fn fitted(self, desk: &Desk, mut reply: ToolReply) -> ToolReply {
        let room = self.room(desk);
        if let Some(form) = &mut reply.structured {
            weight::lightened(form, room.max_bytes.max(LEAST_FORM));
        }
        for _ in 0..reply.content.len() {
            let texts = || reply.content.iter().filter_map(text_of);
            let over = texts().map(str::len).sum::<usize>().saturating_sub(room.max_bytes);
            let longest = texts().map(str::len).max().unwrap_or_default();
            if over == 0 {
                break;
            }
            let most = longest.saturating_sub(over).max(LEAST_TEXT);
            let is_longest = |part: &&mut Content| text_of(part).map(str::len) == Some(longest);
            if let Some(Content::Text(text)) = reply.content.iter_mut().find(is_longest) {
                *text = cut(std::mem::take(text), Room { max_bytes: most, ..room });
            }
        }
        reply
    }
}

/// A form for programs may have this size in any case.
pub(crate) const LEAST_FORM: usize = 24 << 10;

/// The least that is left of a text.
const LEAST_TEXT: usize = 200;

fn text_of(part: &Content) -> Option<&str> {
    match part {
        Content::Text(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tools::tests::TestDesk;

    /// However long the texts of an answer are, all of them together fit.
    #[tokio::test]
    async fn texts_are_cut_to_the_room_that_there_is() {
        let desk = TestDesk::on_files();
        let texts = |lines: &[usize]| {
            let text = |lines: &usize| Content::Text("line\n".repeat(*lines));
            ToolReply { content: lines.iter().map(text).collect(), ..ToolReply::default() }
        };
        let size = |reply: &ToolReply| -> usize {
            reply.content.iter().filter_map(text_of).map(str::len).sum()
        };
        let shown = Portion { max_bytes: Some(2000), ..Portion::default() };
        for lines in [&[10_000][..], &[10, 10_000], &[9000, 9000], &[300, 300, 300]] {
            let fitted = shown.fitted(&desk.desk, texts(lines));
            assert!(size(&fitted) <= 2000, "{} of {lines:?}", size(&fitted));
        }
        let small = texts(&[10, 20]);
        assert_eq!(shown.fitted(&desk.desk, small.clone()), small);
    }

    #[test]
    fn a_number_out_of_range_is_refused_with_the_range() {
        for given in [0, 499, 102_401] {
            let error = Portion::of(Some(given), false).unwrap_err();
            let wanted = format!("max_bytes: {given} is out of range; give 500 to 102400");
            assert_eq!(error.message, wanted);
        }
        let excerpt = Portion::of(Some(6000), true).unwrap().excerpt();
        assert_eq!((excerpt.max_bytes, excerpt.is_end), (Some(5000), true));
    }
}
