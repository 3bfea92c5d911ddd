//! Patterns for `--env` and `env.pass`: a name, a name with a value, or a glob.
//!
//! Owns reading and matching. It must not know which names pass by default.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Selects one variable, or a family of variables, to pass.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvPattern {
    /// `NAME`: passes the parent's value.
    Name(String),
    /// `NAME=VALUE`: sets this value.
    Set {
        /// The text before the first `=`.
        name: String,
        /// The text after the first `=`; may be empty.
        value: String,
    },
    /// `AWS_*`: every name that matches; `*` is any text and `?` any one character.
    Glob(String),
}

/// Why a text is not a valid pattern.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// The text before the `=`, or the whole text, is empty or blank.
    #[error("{given:?} is not a variable; write NAME, NAME=VALUE or a glob such as 'AWS_*'")]
    NoName {
        /// The text as the user wrote it.
        given: String,
    },
    /// The text gives a value to a glob.
    #[error("{given:?} gives one value to a glob; name the variable")]
    ValueForGlob {
        /// The text as the user wrote it.
        given: String,
    },
    /// The text has a NUL, where the system ends names and values.
    #[error("{given:?} holds a NUL character, which no variable can")]
    Nul {
        /// The text as the user wrote it.
        given: String,
    },
}

impl FromStr for EnvPattern {
    type Err = PatternError;

    fn from_str(given: &str) -> Result<EnvPattern, PatternError> {
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
            (true, None) => Ok(EnvPattern::Glob(name.to_owned())),
            (false, Some(value)) => {
                Ok(EnvPattern::Set { name: name.to_owned(), value: value.to_owned() })
            }
            (false, None) => Ok(EnvPattern::Name(name.to_owned())),
        }
    }
}

/// Whether the whole name matches. At worst the time grows with the product of the lengths.
pub(super) fn glob_matches(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    let (mut g, mut n) = (0, 0);
    // The position to return to if a star took too little: after the star, one character further in the name.
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
