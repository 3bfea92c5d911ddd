//! The name of a statement, such as `N-12`, `X-09b` or `F-060`.
//!
//! Must not know which ids exist.

use std::fmt;

/// Letters of claims about behaviour. Reliability adds F and S.
const BEHAVIOUR: &str = "NVKZGREXOTC";
const RELIABILITY: &str = "FS";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) letter: char,
    pub(super) number: u32,
    suffix: Option<char>,
}

impl Id {
    /// Parses exactly the spelling of the documents: two digits for behaviour, three for
    /// reliability. Any other spelling is a mistake, and reporting it is better than guessing.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (letter, rest) = text.split_once('-')?;
        let mut letters = letter.chars();
        let (letter, None) = (letters.next()?, letters.next()) else { return None };
        let suffix = rest.chars().next_back().filter(char::is_ascii_lowercase);
        let digits = rest.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(rest);
        let right_length = digits.len() == digits_for(letter);
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        if !letter.is_ascii_uppercase() || !right_length || !plain {
            return None;
        }
        Some(Self { letter, number: digits.parse().ok()?, suffix })
    }

    /// True if the id names a claim about the product. The documents number their remarks about
    /// other programs in the same way (`W-01`): tests may name such an id, but no test needs to.
    pub(super) fn is_claim(&self) -> bool {
        BEHAVIOUR.contains(self.letter) || self.is_reliability()
    }

    pub(super) fn is_reliability(&self) -> bool {
        RELIABILITY.contains(self.letter)
    }
}

fn digits_for(letter: char) -> usize {
    if RELIABILITY.contains(letter) { 3 } else { 2 }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = digits_for(self.letter);
        write!(out, "{}-{:0width$}", self.letter, self.number)?;
        self.suffix.map_or(Ok(()), |suffix| write!(out, "{suffix}"))
    }
}
