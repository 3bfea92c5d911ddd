//! How much of an output an answer shows: `max_bytes` and `tail`, which every tool that shows output takes.
//!
//! Owns their range and what they mean for the engine and for the text. Models learn of them from `result`, so the
//! schemas of the other tools leave them out.

use inkcell_engine::api::Excerpt;

use super::files::PAGE;
use super::session::profile;
use super::{Desk, ToolError};
use crate::settings::output_bytes;
use crate::view::reply::Room;
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
}

impl Portion {
    /// Reads the arguments; a size out of range is an error.
    pub(crate) fn of(max_bytes: Option<u64>, tail: bool) -> Result<Portion, ToolError> {
        if let Some(given) = max_bytes.filter(|given| !(LEAST..=MOST).contains(given)) {
            let problem = words::tool::max_bytes_out_of_range(given, LEAST, MOST);
            return Err(ToolError::argument(problem));
        }
        let max_bytes: Option<usize> = max_bytes.and_then(|given| given.try_into().ok());
        Ok(Portion { max_bytes, is_end: tail, is_raw: false })
    }

    /// What the engine keeps for the answer.
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
        Room { max_bytes: self.max_bytes.unwrap_or_else(usual), is_end: self.is_end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
