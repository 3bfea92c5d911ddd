//! Bearer tokens, which identify a caller.
//!
//! Owns making, checking and forgetting them. It must not know requests or files. A token is never shown by
//! accident: its text leaves this file only where `reveal` is called.

use std::fmt;
use std::sync::{PoisonError, RwLock};

use blake3::Hash;

/// The random bytes of a token that is made here: 32, or 256 bits.
const BYTES: usize = 32;

/// The fewest characters of a token that a user chooses.
pub(crate) const SHORTEST: usize = 32;

/// The most characters of a token, since a header has to hold it.
const LONGEST: usize = 1024;

/// The text that a caller sends to prove who it is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(String);

/// The reason why a text is not a token, or why no token could be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("a token has at least {SHORTEST} characters")]
    Short,
    #[error("a token has at most {LONGEST} characters")]
    Long,
    #[error("a token is made of letters, digits and -._~+/= only")]
    Characters,
    /// The system cannot supply random numbers.
    #[error("cannot get random numbers for a token from the system")]
    Random,
}

impl Token {
    /// Makes a new token: 256 bits from the system, as 64 hexadecimal digits.
    pub(crate) fn make() -> Result<Token, TokenError> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(|_| TokenError::Random)?;
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Parses a token that a user chose. The error never repeats it.
    pub(crate) fn given(text: &str) -> Result<Token, TokenError> {
        let is_fine = |any: u8| any.is_ascii_alphanumeric() || b"-._~+/=".contains(&any);
        match text.len() {
            length if length < SHORTEST => Err(TokenError::Short),
            length if length > LONGEST => Err(TokenError::Long),
            _ if !text.bytes().all(is_fine) => Err(TokenError::Characters),
            _ => Ok(Token(text.to_owned())),
        }
    }

    /// The text itself, for code that must hand it on.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The holder of one token. Two holders that share a token are the same caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Caller(pub(crate) u64);

/// The valid tokens. They are stored as keyed digests, so that a comparison takes the same time whatever was sent,
/// and so that a bug that exposes this process's memory shows no token.
pub(crate) struct Tokens {
    key: [u8; BYTES],
    known: RwLock<Vec<(Hash, Caller)>>,
}

impl Tokens {
    pub(crate) fn new() -> Result<Tokens, TokenError> {
        let mut key = [0; BYTES];
        getrandom::fill(&mut key).map_err(|_| TokenError::Random)?;
        Ok(Tokens { key, known: RwLock::default() })
    }

    /// Assigns this token to that caller from now on.
    pub(crate) fn admit(&self, token: &Token, caller: Caller) {
        let digest = self.digest(token.reveal());
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(other, _)| *other != digest);
        known.push((digest, caller));
    }

    /// Revokes all tokens of that caller.
    pub(crate) fn dismiss(&self, caller: Caller) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(_, other)| *other != caller);
    }

    /// The caller with this token. Every valid token is compared, each in constant time.
    pub(crate) fn caller(&self, sent: &str) -> Option<Caller> {
        if sent.len() > LONGEST {
            return None;
        }
        let digest = self.digest(sent);
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.iter().fold(
            None,
            |found, (other, caller)| {
                if *other == digest { Some(*caller) } else { found }
            },
        )
    }

    fn digest(&self, text: &str) -> Hash {
        blake3::keyed_hash(&self.key, text.as_bytes())
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        write!(f, "Tokens({})", known.len())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// S-018: tokens have 256 bits each, and no two are alike.
    #[test]
    fn a_token_is_long_and_new_every_time() {
        let made: HashSet<String> =
            (0..100).map(|_| Token::make().unwrap().reveal().to_owned()).collect();
        assert_eq!(made.len(), 100);
        assert!(made.iter().all(|text| text.len() == BYTES * 2 && Token::given(text).is_ok()));
    }

    /// S-018
    #[test]
    fn a_chosen_token_is_no_short_word() {
        let cases = [
            ("", Err(TokenError::Short)),
            ("hunter2", Err(TokenError::Short)),
            (&"a".repeat(31), Err(TokenError::Short)),
            (&"a".repeat(1025), Err(TokenError::Long)),
            (&format!("{} b", "a".repeat(40)), Err(TokenError::Characters)),
            (&format!("{}\n", "a".repeat(40)), Err(TokenError::Characters)),
            (&"ä".repeat(40), Err(TokenError::Characters)),
            (&"a".repeat(32), Ok(())),
        ];
        for (text, expected) in cases {
            assert_eq!(Token::given(text).map(|_| ()), expected, "{text:?}");
        }
    }

    #[test]
    fn a_token_is_one_callers_until_it_is_dismissed() {
        let tokens = Tokens::new().unwrap();
        let (one, other) = (Token::make().unwrap(), Token::make().unwrap());
        tokens.admit(&one, Caller(1));
        tokens.admit(&other, Caller(2));
        assert_eq!(tokens.caller(one.reveal()), Some(Caller(1)));
        assert_eq!(tokens.caller(other.reveal()), Some(Caller(2)));
        assert_eq!(tokens.caller(&one.reveal()[1..]), None);
        assert_eq!(tokens.caller(""), None);
        tokens.dismiss(Caller(1));
        assert_eq!(tokens.caller(one.reveal()), None);
        assert_eq!(tokens.caller(other.reveal()), Some(Caller(2)));
    }

    /// S-020
    #[test]
    fn what_is_printed_for_debugging_holds_no_token() {
        let (token, tokens) = (Token::make().unwrap(), Tokens::new().unwrap());
        tokens.admit(&token, Caller(1));
        let shown = format!("{token:?} {tokens:?}");
        assert!(!shown.contains(token.reveal()), "{shown}");
    }
}
