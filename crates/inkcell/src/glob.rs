//! Patterns of paths, and the files that they match.
//!
//! Owns the rules of matching: `*`, `?` and `[...]` within a name, `**` for folders below. As in a shell, names
//! that begin with a dot match only if the pattern spells the dot. It must not know notebooks.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::words;

/// The most names that a pattern may match; more are not what the user meant.
const MOST: usize = 100_000;

/// The depth to which folders are searched.
pub(crate) const DEEPEST: usize = 64;

/// A pattern, split at its slashes.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Glob {
    /// Set if the pattern begins at the root.
    is_absolute: bool,
    pieces: Vec<Piece>,
}

/// One part of a pattern between two slashes.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    /// A literal name without wildcards.
    Name(String),
    /// A name with wildcards in it.
    Pattern(String),
    /// Any number of folders, including none.
    Folders,
}

/// Returns whether a path contains wildcards.
pub(crate) fn is_glob(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

impl Glob {
    fn parse(pattern: &str) -> Glob {
        let pieces =
            pattern.split('/').filter(|piece| !piece.is_empty()).map(|piece| match piece {
                "**" => Piece::Folders,
                piece if is_glob(piece) => Piece::Pattern(piece.to_owned()),
                piece => Piece::Name(piece.to_owned()),
            });
        let mut pieces: Vec<Piece> = pieces.collect();
        // Repeated `**` match the same as one, and a final `**` means files at any depth.
        pieces.dedup_by(|later, earlier| *later == Piece::Folders && *earlier == Piece::Folders);
        if pieces.last() == Some(&Piece::Folders) {
            pieces.push(Piece::Pattern("*".to_owned()));
        }
        Glob { is_absolute: pattern.starts_with('/'), pieces }
    }
}

impl Piece {
    /// Returns whether this part matches a name.
    fn matches(&self, name: &str) -> bool {
        let is_hidden = name.starts_with('.');
        match self {
            Piece::Name(wanted) => wanted == name,
            Piece::Folders => !is_hidden,
            Piece::Pattern(pattern) => {
                if is_hidden && !pattern.starts_with('.') {
                    return false;
                }
                let pattern: Vec<char> = pattern.chars().collect();
                let name: Vec<char> = name.chars().collect();
                fits(&pattern, &name)
            }
        }
    }
}

/// Returns whether a name matches a pattern. Only the last star is ever tried again, so that no pattern takes long.
fn fits(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => match class(&pattern[p..], name[n]) {
                Class::Fits(length) => Some(length),
                Class::Differs => None,
                // A bracket that is never closed is a literal character.
                Class::Open => (name[n] == '[').then_some(1),
            },
            Some(sign) => (*sign == name[n]).then_some(1),
            None => None,
        };
        match (step, star) {
            (Some(length), _) => (p, n) = (p + length, n + 1),
            (None, Some((after, at))) => {
                star = Some((after, at + 1));
                (p, n) = (after, at + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|sign| *sign == '*')
}

enum Class {
    /// The character matches, with the length of the class.
    Fits(usize),
    Differs,
    Open,
}

/// Matches a character against the bracket expression at the start of the pattern.
fn class(pattern: &[char], sign: char) -> Class {
    let is_negated = matches!(pattern.get(1), Some('!' | '^'));
    let first = if is_negated { 2 } else { 1 };
    // A closing bracket that comes first is one of the characters.
    let Some(end) = (first + 1..pattern.len()).find(|at| pattern[*at] == ']') else {
        return Class::Open;
    };
    let (mut at, mut is_in) = (first, false);
    while at < end {
        if at + 2 < end && pattern[at + 1] == '-' {
            is_in |= (pattern[at]..=pattern[at + 2]).contains(&sign);
            at += 3;
        } else {
            is_in |= pattern[at] == sign;
            at += 1;
        }
    }
    if is_in == is_negated { Class::Differs } else { Class::Fits(end + 1) }
}

/// The names that a pattern matches, in order. They begin at this folder, as the pattern does.
pub(crate) fn matching(cwd: &Path, pattern: &str) -> Result<BTreeSet<String>, String> {
    let glob = Glob::parse(pattern);
    let mut walk = Walk { cwd, found: BTreeSet::new() };
    walk.walk(if glob.is_absolute { "/" } else { "" }, &glob.pieces, 0)?;
    Ok(walk.found)
}

/// A search for the files that a pattern matches.
struct Walk<'a> {
    cwd: &'a Path,
    found: BTreeSet<String>,
}

impl Walk<'_> {
    /// Returns an error text if the search would take too long: a part of the matches would not be the answer.
    fn walk(&mut self, before: &str, pieces: &[Piece], depth: usize) -> Result<(), String> {
        if depth > DEEPEST {
            return Err(words::path::too_deep(before, DEEPEST));
        }
        let Some((piece, rest)) = pieces.split_first() else {
            self.found.insert(before.to_owned());
            return match self.found.len() > MOST {
                true => Err(words::path::too_many(MOST)),
                false => Ok(()),
            };
        };
        let inside = |name: &str| match before {
            "" => name.to_owned(),
            before if before.ends_with('/') => format!("{before}{name}"),
            before => format!("{before}/{name}"),
        };
        if let Piece::Name(name) = piece {
            let path = inside(name);
            return match self.cwd.join(&path).exists() {
                true => self.walk(&path, rest, depth + 1),
                false => Ok(()),
            };
        }
        if *piece == Piece::Folders {
            self.walk(before, rest, depth + 1)?;
        }
        // A folder that cannot be listed contains no match.
        let Ok(entries) = fs::read_dir(self.cwd.join(before)) else { return Ok(()) };
        let mut entries: Vec<(String, bool)> = entries
            .flatten()
            .filter_map(|entry| {
                // Links to folders are not followed, since they may form a cycle.
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                Some((entry.file_name().into_string().ok()?, is_folder))
            })
            .collect();
        entries.sort();
        for (name, is_folder) in entries.iter().filter(|(name, _)| piece.matches(name)) {
            match piece {
                Piece::Folders if *is_folder => self.walk(&inside(name), pieces, depth + 1)?,
                Piece::Folders => {}
                _ => self.walk(&inside(name), rest, depth + 1)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_as_in_a_shell() {
        let table = [
            ("*.ipynb", "a.ipynb", true),
            ("*.ipynb", ".hidden.ipynb", false),
            (".*.ipynb", ".hidden.ipynb", true),
            ("*.ipynb", "a.py", false),
            ("r?port.ipynb", "report.ipynb", true),
            ("r?port.ipynb", "rport.ipynb", false),
            ("[a-c]*", "b1", true),
            ("[!a-c]*", "b1", false),
            ("[^a-c]*", "d", true),
            ("[]]x", "]x", true),
            ("[x", "[x", true),
            ("[x", "x", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("*", "", true),
            ("é*", "été.ipynb", true),
        ];
        for (pattern, name, wanted) in table {
            let piece = Piece::Pattern(pattern.to_owned());
            assert_eq!(piece.matches(name), wanted, "{pattern} and {name}");
        }
    }

    /// A pattern that is slow in a backtracking matcher is quick here.
    #[test]
    fn many_stars_do_not_take_long() {
        let pattern = Piece::Pattern(format!("{}b", "a*".repeat(60)));
        assert!(!pattern.matches(&"a".repeat(4000)));
    }

    #[test]
    fn patterns_are_taken_apart() {
        let name = |name: &str| Piece::Name(name.to_owned());
        let pattern = |text: &str| Piece::Pattern(text.to_owned());
        let table = [
            ("nb/*.ipynb", false, vec![name("nb"), pattern("*.ipynb")]),
            ("/a//**/**/b", true, vec![name("a"), Piece::Folders, name("b")]),
            ("**", false, vec![Piece::Folders, pattern("*")]),
            ("../[ab]", false, vec![name(".."), pattern("[ab]")]),
        ];
        for (text, is_absolute, pieces) in table {
            assert_eq!(Glob::parse(text), Glob { is_absolute, pieces }, "{text}");
        }
        assert!(Piece::Folders.matches("deep") && !Piece::Folders.matches(".ipynb_checkpoints"));
        assert!(is_glob("a*") && is_glob("[x]") && !is_glob("plain.ipynb"));
    }
}
