//! How inkcell speaks: the phrases, openings and sentences that it avoids, and how long a sentence may be.
//!
//! Owns the rules for comments, pages, help, errors, hints, answers and descriptions of tools. The tests that apply the
//! rules find the texts.

/// Where a rule holds. A place keeps the rules of the places before it, too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// Comments of the source, which developers read.
    Comment,
    /// Whatever users and models read.
    Text,
    /// Help, whose lines are read without the lines around them.
    Help,
}

/// Phrases that a text does not have, as whole words in lower case. The list grows with every review.
const PHRASES: [(Place, &[&str]); 3] = [
    (
        Place::Comment,
        &[
            "anew",
            "anybody",
            "have to do with",
            "nobody",
            "so many",
            "somebody",
            "that is another one",
            "what is to be",
            "whoever",
            "whomever",
        ],
    ),
    (
        Place::Text,
        &[
            "all the same",
            "as chosen",
            "belong into",
            "belongs into",
            "blazing",
            "come back at once",
            "effortless",
            "everybody",
            "go on",
            "goes on",
            "has to do with",
            "if wanted",
            "is no",
            "is so",
            "is to be",
            "keeps what",
            "lets go of",
            "may be repeated",
            "of ours",
            "on its own behalf",
            "powerful",
            "seamless",
            "see what happens",
            "someone",
            "stand against",
            "stands against",
            "supercharge",
            "that is another",
            "the one of",
            "the ones",
            "what becomes of",
            "what there is",
            "when left out",
        ],
    ),
    (
        Place::Help,
        &[
            "does what",
            "it is",
            "left out",
            "there are",
            "that of",
            "there is",
            "those",
            "what is",
            "what it",
            "whose",
        ],
    ),
];

/// Words that open no sentence, in lower case.
const OPENINGS: [(Place, &[&str]); 2] = [
    (Place::Text, &["there are ", "there is ", "what ", "whoever "]),
    (Place::Help, &["be ", "have ", "it ", "say ", "where ", "which "]),
];

/// Sentences that were rewritten, or the part of each that does not depend on a value.
const REPLACED: [&str; 36] = [
    "A notebook file that can be changed without harming anything else in it",
    "in which sessions outlive commands",
    "Say where inkcell keeps what it keeps",
    "Say which Python would run code here, and why",
    "Say what works here, what does not, and what to type",
    "Type cells and see what they do, in a session that stays",
    "Run notebooks anew and compare their outputs",
    "Remove outputs, counts and the metadata that belong to them",
    "what an agent runs, what somebody else does",
    "Print what completes commands and arguments in a shell",
    "Use no host that stays: everything ends with the command",
    "What makes the kernel; python.backend when left out",
    "Run so many notebooks at once; the number of cores when left out",
    "Numbers may be apart by this part of the larger one",
    "Come back at once; the code goes on in its session",
    "Let other machines come. Whoever has the token",
    "Write also where owner, access list or read-only mode stand against it",
    "What is changed goes into the file at once",
    "Claude Code reads ~/.claude.json; this belongs into it",
    "start Claude Code anew",
    "of them failed, as allowed",
    "a session is named by its name, its notebook or its process",
    "there is no session {",
    "is not an artifact id: an id is 16 characters",
    "as an answer gave it behind artifact://",
    "asks again does not want to wait for it",
    "Whoever listens to the end must have heard everything",
    "must have heard everything before the report says it is over",
    "It was only worked out; there would be something to write",
    ", which there is not",
    "a frame that is no message",
    "what is to be written to ",
    "which is a fault of inkcell",
    "So there is none, the summary says why",
    "every row runs all cells by itself",
    "where the shared cells leave threads running",
];

/// The most words of a sentence.
const MOST_WORDS: usize = 20;

/// The sentences of a text, and their parts if a semicolon divides them.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().flat_map(|line| line.split(". "));
    lines.flat_map(|part| part.split("; ")).map(str::trim)
}

fn rules(
    table: &'static [(Place, &'static [&'static str])],
    place: Place,
) -> impl Iterator<Item = &'static str> {
    let of_place = table.iter().filter(move |(from, _)| *from <= place);
    of_place.flat_map(|(_, rules)| rules.iter().copied())
}

/// What a text says that a stranger would read twice.
pub fn faults(text: &str, place: Place) -> Vec<String> {
    let lower = text.to_lowercase().replace("no longer", "");
    let lower = lower.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let says = |phrase: &&str| {
        lower.match_indices(*phrase).any(|(at, _)| {
            let rest = &lower[at + phrase.len()..];
            !is_word(lower[..at].chars().next_back()) && !is_word(rest.chars().next())
        })
    };
    let mut faults: Vec<String> =
        rules(&PHRASES, place).filter(says).map(|phrase| format!("says {phrase:?}")).collect();
    let opens = |opening: &&str| {
        sentences(text).any(|sentence| sentence.to_lowercase().starts_with(*opening))
    };
    let openings = rules(&OPENINGS, place).filter(opens);
    faults.extend(openings.map(|opening| format!("opens with {opening:?}")));
    let old = REPLACED.iter().filter(|old| text.contains(**old));
    faults.extend(old.map(|old| format!("has the old {old:?}")));
    faults
}

/// The sentences of a text with too many words, outside parentheses.
pub fn long_sentences(text: &str) -> Vec<String> {
    let mut depth = 0;
    let is_outside = |c: &char| {
        depth += i32::from(*c == '(');
        let is_outside = depth <= 0;
        depth -= i32::from(*c == ')');
        is_outside
    };
    let text: String = text.chars().filter(is_outside).collect();
    let words = |sentence: &str| {
        sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
    };
    let parts = sentences(&text).flat_map(|sentence| sentence.split(": "));
    let long = parts.filter(|part| words(part) > MOST_WORDS);
    long.map(|part| format!("has a long sentence: {part:?}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_and_openings_are_found_by_place() {
        let table = [
            ("Print so many lines", [true, true, true]),
            ("It is no notebook", [false, true, true]),
            ("there is a limit", [false, true, true]),
            ("the text, in which there is a limit", [false, false, true]),
            ("a frame that is no message", [true, true, true]),
            ("it is no longer stored", [false, false, true]),
            ("the ongoing run of the newer kernel", [false, false, false]),
        ];
        for (text, wanted) in table {
            let found = [Place::Comment, Place::Text, Place::Help]
                .map(|place| !faults(text, place).is_empty());
            assert_eq!(found, wanted, "{text}");
        }
    }

    #[test]
    fn long_sentences_are_found() {
        let words = |count: usize| vec!["word"; count].join(" ");
        assert_eq!(long_sentences(&format!("{}. {}", words(20), words(20))), Vec::<String>::new());
        assert_eq!(long_sentences(&words(21)).len(), 1);
    }
}
