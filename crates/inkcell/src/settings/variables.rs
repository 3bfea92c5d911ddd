//! The variables of the environment: which of them set something, and which look like typos of those.
//!
//! Owns the names. `resolve` interprets the values.

use super::table::{PREFIXES, Row, TABLE};
use crate::words;

/// Variables of ours that are not settings.
const OTHERS: [&str; 1] = ["INKCELL_CONFIG"];

/// The most wrong letters in a typo.
const SLIP: usize = 2;

/// The number of letters of which one may be wrong. Short names are all similar.
const LETTERS: usize = 4;

/// The names of all variables that set something.
pub(super) fn known() -> impl Iterator<Item = String> {
    let names = |row: &Row| [row.overriding_variables(), row.variables()].concat();
    TABLE.iter().flat_map(names)
}

/// Warnings about variables with our prefix that set nothing but resemble the name of one that does. Others get no
/// warning: a user may have variables of their own for programs that inkcell starts.
pub(super) fn misspelt(names: impl Iterator<Item = String>) -> Vec<String> {
    let ours: Vec<String> = known()
        .filter(|name| name.starts_with(PREFIXES[0]))
        .chain(OTHERS.map(str::to_owned))
        .collect();
    let mut found: Vec<String> = names
        .filter(|name| name.starts_with(PREFIXES[0]) && !ours.contains(name))
        .filter_map(|name| {
            let near = ours.iter().map(|known| (slips(&name, known), known));
            let most = SLIP.min((name.len() - PREFIXES[0].len()) / LETTERS);
            let (_, near) = near.filter(|(slips, _)| *slips <= most).min()?;
            Some(words::setting::sets_nothing(&name, near))
        })
        .collect();
    found.sort();
    found
}

/// The variables with our prefix that set nothing.
pub(super) fn unknown(names: impl Iterator<Item = String>) -> Vec<String> {
    let ours: Vec<String> = known().chain(OTHERS.map(str::to_owned)).collect();
    let mut found: Vec<String> =
        names.filter(|name| name.starts_with(PREFIXES[0]) && !ours.contains(name)).collect();
    found.sort();
    found
}

/// The edit distance of two names: letters inserted, left out or changed, or two neighbours swapped.
fn slips(one: &str, other: &str) -> usize {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len().abs_diff(other.len()) > SLIP {
        return usize::MAX;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut here = vec![row + 1];
        for (column, wanted) in other.iter().enumerate() {
            let changed = above[column] + usize::from(letter != wanted);
            let mut least = changed.min(above[column + 1] + 1).min(here[column] + 1);
            let are_swapped =
                row > 0 && column > 0 && one[row - 1] == *wanted && other[column - 1] == *letter;
            if are_swapped {
                least = least.min(before[column - 1] + 1);
            }
            here.push(least);
        }
        before = std::mem::replace(&mut above, here);
    }
    above[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        let table = [
            ("INKCELL_ENV_MODE", "INKCELL_ENV_MODE", 0),
            ("INKCELL_ENV_MOD", "INKCELL_ENV_MODE", 1),
            ("INKCELL_ENV_MOED", "INKCELL_ENV_MODE", 1),
            ("INKCELL_ENV__MODES", "INKCELL_ENV_MODE", 2),
            ("INKCELL_", "INKCELL_ENV_MODE", usize::MAX),
            ("", "", 0),
        ];
        for (one, other, wanted) in table {
            assert_eq!(slips(one, other), wanted, "{one} {other}");
            assert_eq!(slips(other, one), wanted, "{other} {one}");
        }
    }

    #[test]
    fn nearly_a_name_is_told_and_others_are_left_alone() {
        let told = |name: &str| misspelt([name.to_owned()].into_iter()).pop();
        let table = [
            ("INKCELL_PYTHON_SHEL", Some("INKCELL_PYTHON_SHELL")),
            ("INKCELL_PYTHN_SHELL", Some("INKCELL_PYTHON_SHELL")),
            ("INKCELL_PYTHON_TOOLMODE", Some("INKCELL_PYTHON_TOOL_MODE")),
            ("INKCELL_CONFGI", Some("INKCELL_CONFIG")),
            ("INKCELL_CONFIG", None),
            ("INKCELL_PYTHON_SHELL", None),
            ("INKCELL_GATEWAY_TOKEN", None),
            ("INKCELL_TEST_PYTHON", None),
            ("INKCELL_KERNEL", None),
            ("INKCELL_SIM_SEED", None),
            ("INKCELL_", None),
            ("INKCELL_ME", None),
            ("INKCELL_DOG", None),
            // Programs that we do not know use the other prefix, too.
            ("PI_PYTHON_SHEL", None),
            ("MY_PYTHON_SHELL", None),
        ];
        for (name, near) in table {
            let wanted = near.map(|near| format!("{name} sets nothing; did you mean {near}?"));
            assert_eq!(told(name), wanted);
        }
    }
}
