//! Suggestions for an id or a name that does not exist.
//!
//! Owns how many there are and which come first. It must not know what the ids are for.

use std::fmt;

use inkcell_notebook::nearest_few;

/// The most suggestions of one error.
pub(crate) const SUGGESTIONS: usize = 5;

/// An id or a name that exists, with a few words about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suggestion {
    /// The id or the name.
    pub id: String,
    /// A description of the thing that has it.
    pub what: String,
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.id, self.what)
    }
}

impl Suggestion {
    /// Chooses those that look most like the given text, then the first of the others.
    pub fn choose(all: &[Suggestion], given: &str) -> Vec<Suggestion> {
        let mut places = nearest_few(all.iter().map(|one| one.id.as_str()), given, SUGGESTIONS);
        let others: Vec<usize> = (0..all.len()).filter(|place| !places.contains(place)).collect();
        places.extend(others);
        places.into_iter().take(SUGGESTIONS).map(|place| all[place].clone()).collect()
    }

    /// The suggestions as the end of a sentence.
    pub fn words(some: &[Suggestion]) -> String {
        let shown: Vec<String> = some.iter().map(Suggestion::to_string).collect();
        match shown.len() {
            0 => String::new(),
            1 => format!("; the nearest is {}", shown.concat()),
            _ => format!("; the nearest are {}", shown.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_come_first_and_there_are_five() {
        let all: Vec<Suggestion> = ["a1", "b2", "report", "c3", "d4", "e5", "reports"]
            .map(|id| Suggestion { id: id.to_owned(), what: "idle".to_owned() })
            .into();
        let chosen = |given: &str| {
            let chosen = Suggestion::choose(&all, given);
            chosen.into_iter().map(|one| one.id).collect::<Vec<_>>()
        };
        assert_eq!(chosen("reportz"), ["report", "reports", "a1", "b2", "c3"]);
        assert_eq!(chosen("zzz"), ["a1", "b2", "report", "c3", "d4"]);
        assert_eq!(Suggestion::words(&[]), "");
        assert_eq!(Suggestion::words(&all[..1]), "; the nearest is a1 (idle)");
        assert_eq!(Suggestion::words(&all[..2]), "; the nearest are a1 (idle), b2 (idle)");
    }
}
