//! What a person may write after `--env` or in `env.pass`: a name, a name with a value, or a glob.
//!
//! Owns reading and matching. It must not know which names pass without being asked for.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One variable, or a family of them, that is to pass.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// `NAME`: as the caller has it.
    Name(String),
    /// `NAME=VALUE`: with this value.
    Set {
        /// The name.
        name: String,
        /// The value.
        value: String,
    },
    /// `AWS_*`: every name that matches; `*` is any text and `?` any one character.
    Glob(String),
}

/// Why a pattern cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PatternError {
    /// Nothing before the `=`, or nothing at all.
    #[error("{given:?} names no variable; write NAME, NAME=VALUE or a glob such as 'AWS_*'")]
    NoName {
        /// What was written.
        given: String,
    },
    /// A value for a family of names.
    #[error("{given:?} gives one value to a glob; name the variable")]
    ValueForGlob {
        /// What was written.
        given: String,
    },
    /// The system ends names and values at this character.
    #[error("{given:?} holds a NUL character, which no variable can")]
    Nul {
        /// What was written.
        given: String,
    },
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(given: &str) -> Result<Pattern, PatternError> {
        let (name, value) = match given.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (given, None),
        };
        let given = || given.to_owned();
        if name.trim().is_empty() {
            return Err(PatternError::NoName { given: given() });
        }
        if name.contains('\0') || value.is_some_and(|value| value.contains('\0')) {
            return Err(PatternError::Nul { given: given() });
        }
        match (name.contains(['*', '?']), value) {
            (true, Some(_)) => Err(PatternError::ValueForGlob { given: given() }),
            (true, None) => Ok(Pattern::Glob(name.to_owned())),
            (false, Some(value)) => {
                Ok(Pattern::Set { name: name.to_owned(), value: value.to_owned() })
            }
            (false, None) => Ok(Pattern::Name(name.to_owned())),
        }
    }
}

/// Whether the name matches, in time proportional to the product of the lengths at worst.
pub(super) fn glob_matches(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    let (mut g, mut n) = (0, 0);
    // Where to go on when a star took too little: after the star, and one more character of the name.
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        match glob.get(g) {
            Some('*') => {
                retry = Some((g + 1, n));
                g += 1;
            }
            Some(&c) if c == '?' || c == name[n] => {
                g += 1;
                n += 1;
            }
            _ => match retry {
                Some((after_star, taken)) => {
                    g = after_star;
                    n = taken + 1;
                    retry = Some((after_star, taken + 1));
                }
                None => return false,
            },
        }
    }
    glob[g..].iter().all(|&c| c == '*')
}
