//! Signatures of messages: HMAC-SHA256 over their four JSON parts, compared in constant time.
//!
//! Owns the key and the signatures seen so far. It must not know the contents of a message.

use std::collections::{HashSet, VecDeque};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Number of signatures that are remembered, so that no message is accepted twice.
const REMEMBERED: usize = 1 << 14;

/// Signs outgoing messages and checks incoming ones. An empty key means unsigned.
#[derive(Clone)]
pub(crate) struct Signer(Option<Hmac<Sha256>>);

impl Signer {
    /// Creates a signer from the key in the connection file.
    pub(crate) fn new(key: &str) -> Signer {
        // HMAC takes a key of any length, so the error cannot happen.
        let mac = Hmac::new_from_slice(key.as_bytes()).ok();
        Signer(mac.filter(|_| !key.is_empty()))
    }

    fn over(&self, parts: [&[u8]; 4]) -> Option<Hmac<Sha256>> {
        let mut mac = self.0.clone()?;
        for part in parts {
            mac.update(part);
        }
        Some(mac)
    }

    /// Returns the signature of a message in hexadecimal.
    pub(crate) fn sign(&self, parts: [&[u8]; 4]) -> String {
        let Some(mac) = self.over(parts) else { return String::new() };
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the number by which a correctly signed message is remembered, or `None` if the key
    /// is empty.
    fn check(&self, signature: &[u8], parts: [&[u8]; 4]) -> Result<Option<u64>, SignatureError> {
        let Some(mac) = self.over(parts) else { return Ok(None) };
        if signature.is_empty() {
            return Err(SignatureError::Missing);
        }
        let bytes = from_hex(signature).ok_or(SignatureError::Wrong)?;
        mac.verify_slice(&bytes).map_err(|_| SignatureError::Wrong)?;
        let first = [0, 1, 2, 3, 4, 5, 6, 7].map(|at| bytes.get(at).copied().unwrap_or(0));
        Ok(Some(u64::from_be_bytes(first)))
    }
}

/// Checks the messages of one connection: each is correctly signed, and comes only once.
pub(crate) struct Checker {
    signer: Signer,
    seen: HashSet<u64>,
    order: VecDeque<u64>,
}

impl Checker {
    pub(crate) fn new(signer: Signer) -> Checker {
        Checker { signer, seen: HashSet::new(), order: VecDeque::new() }
    }

    /// Checks the signature of a message, and that it is new.
    pub(crate) fn check(
        &mut self,
        signature: &[u8],
        parts: [&[u8]; 4],
    ) -> Result<(), SignatureError> {
        // The first bytes of a signature represent the whole: only an owner of the key can choose
        // them.
        let Some(short) = self.signer.check(signature, parts)? else { return Ok(()) };
        if !self.seen.insert(short) {
            return Err(SignatureError::Replayed);
        }
        self.order.push_back(short);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        Ok(())
    }
}

/// Reason why a message is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum SignatureError {
    #[error("it is not signed")]
    Missing,
    #[error("its signature is wrong")]
    Wrong,
    #[error("it came before")]
    Replayed,
}

fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some((digit(*high)? << 4) | digit(*low)?),
        _ => None,
    };
    text.chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTS: [&[u8]; 4] = [b"{\"msg_id\":\"1\"}", b"{}", b"{}", b"{\"code\":\"1\"}"];

    /// B:Z-05: the signature equals `hmac.new(b"a-key", b"".join(parts), "sha256").hexdigest()`.
    #[test]
    fn a_signature_is_that_of_the_protocol() {
        let signed = Signer::new("a-key").sign(PARTS);
        assert_eq!(signed, "9d847d962ea04190ab6d5b94948a2070469cc4c9d6fb0951f79ff735082e874c");
        assert_eq!(Signer::new("").sign(PARTS), "", "an empty key signs nothing");
    }

    /// B:Z-05
    #[test]
    fn only_what_is_rightly_signed_and_new_is_believed() {
        let mut checker = Checker::new(Signer::new("a-key"));
        let signed = Signer::new("a-key").sign(PARTS);
        let mut check = |signature: &str, parts| checker.check(signature.as_bytes(), parts);
        assert_eq!(check("", PARTS), Err(SignatureError::Missing));
        for wrong in [&signed[1..], "zz", "é", "00", &signed.replace('9', "8"), &signed[..62]] {
            assert_eq!(check(wrong, PARTS), Err(SignatureError::Wrong), "{wrong}");
        }
        let other = [PARTS[0], PARTS[1], PARTS[2], b"{\"code\":\"2\"}".as_slice()];
        assert_eq!(check(&signed, other), Err(SignatureError::Wrong));
        assert_eq!(check(&Signer::new("other").sign(PARTS), PARTS), Err(SignatureError::Wrong));
        assert_eq!(check(&signed, PARTS), Ok(()));
        assert_eq!(check(&signed, PARTS), Err(SignatureError::Replayed));
        assert_eq!(check(&signed.to_uppercase(), PARTS), Err(SignatureError::Replayed));
    }

    /// B:Z-05: the number of remembered signatures is bounded.
    #[test]
    fn signatures_are_forgotten_in_time() {
        let signer = Signer::new("a-key");
        let mut checker = Checker::new(signer.clone());
        for n in 0..REMEMBERED + 10 {
            let header = n.to_string();
            let parts = [header.as_bytes(), b"{}", b"{}", b"{}"];
            assert_eq!(checker.check(signer.sign(parts).as_bytes(), parts), Ok(()));
        }
        assert_eq!((checker.seen.len(), checker.order.len()), (REMEMBERED, REMEMBERED));
    }

    /// B:Z-05: an empty key means unsigned.
    #[test]
    fn without_a_key_everything_is_taken() {
        let mut checker = Checker::new(Signer::new(""));
        assert_eq!(checker.check(b"", PARTS), Ok(()));
        assert_eq!(checker.check(b"anything", PARTS), Ok(()));
    }
}
