//! Replaces text inside a text, once or everywhere.
//!
//! Owns what counts as a match, and the errors for no match or too many. It must not know cells.

use crate::error::SubError;
use crate::matching::nearest_lines;

/// The most line numbers that an error names.
const LINES_SHOWN: usize = 20;

/// The number of matches that a substitution may replace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Matches {
    /// Exactly one match; more or none is an error.
    One,
    /// Every match; none is an error.
    All,
}

/// Replaces a text and returns the result with the number of replaced matches.
pub fn substitute(
    text: &str,
    old: &str,
    new: &str,
    matches: Matches,
) -> Result<(String, usize), SubError> {
    if old.is_empty() {
        return Err(SubError::Empty);
    }
    match (text.matches(old).count(), matches) {
        (0, _) => Err(SubError::NoMatch { nearest: nearest_lines(text, old) }),
        (count @ 1, _) | (count, Matches::All) => Ok((text.replace(old, new), count)),
        (count, Matches::One) => Err(SubError::Many { count, lines: find_match_lines(text, old) }),
    }
}

/// Finds the lines on which the first matches begin, from 1.
fn find_match_lines(text: &str, old: &str) -> Vec<usize> {
    let (mut line, mut counted) = (1, 0);
    let matches = text.match_indices(old).take(LINES_SHOWN);
    matches
        .map(|(at, _)| {
            line += memchr::memchr_iter(b'\n', &text.as_bytes()[counted..at]).count();
            counted = at;
            line
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_replaced_once_or_everywhere() {
        let (one, all) = (Matches::One, Matches::All);
        let check = |text: &str, old: &str, matches, expected: Result<(&str, usize), SubError>| {
            let expected = expected.map(|(text, count)| (text.to_owned(), count));
            assert_eq!(substitute(text, old, "-", matches), expected, "{text:?} {old:?}");
        };
        check("a b a", "b", one, Ok(("a - a", 1)));
        check("a b a", "a", all, Ok(("- b -", 2)));
        check("a b a", "b", all, Ok(("a - a", 1)));
        check("a\n\nb a\na", "a", one, Err(SubError::Many { count: 3, lines: vec![1, 3, 4] }));
        // Matches do not overlap, and a match that spans lines counts where it begins.
        check("aaaa", "aa", one, Err(SubError::Many { count: 2, lines: vec![1, 1] }));
        check("x\na\nb\na\nb", "a\nb", one, Err(SubError::Many { count: 2, lines: vec![2, 4] }));
        for matches in [one, all] {
            check("a", "", matches, Err(SubError::Empty));
            check("a", "q", matches, Err(SubError::NoMatch { nearest: Vec::new() }));
            let nearest = vec![(2, "print(x)".to_owned())];
            check("y\n  print(x)", "print(y)", matches, Err(SubError::NoMatch { nearest }));
        }
        // As many matches as lines: the search counts lines once and names twenty of them.
        let error = substitute(&"a\n".repeat(800_000), "a", "b", one).unwrap_err();
        assert_eq!(error, SubError::Many { count: 800_000, lines: (1..=20).collect() });
        assert!(error.to_string().contains("19, 20, and 799980 more)"), "{error}");
    }
}
