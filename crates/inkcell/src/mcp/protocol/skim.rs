//! The id of a message that is too long or too deep to be read.
//!
//! Owns scanning bytes that are not kept, so that a client learns which of its requests was refused. Must not know
//! why it was.

use rmcp::model::RequestId;

/// The longest key or id that is kept, in bytes.
const KEPT: usize = 512;

/// The state of a scan over one JSON object.
#[derive(Debug, Default)]
pub(crate) struct Skim {
    length: usize,
    depth: usize,
    deepest: usize,
    is_in_string: bool,
    is_escaped: bool,
    /// The key or the value at the outermost level that is being read.
    token: Vec<u8>,
    key: Vec<u8>,
    id: Id,
}

#[derive(Debug, Default)]
enum Id {
    #[default]
    Unseen,
    Seen(RequestId),
    /// Not a usable id, or more than one.
    Unusable,
}

impl Skim {
    /// Scans the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        for &byte in bytes {
            self.step(byte);
        }
    }

    /// The number of bytes scanned.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    pub(crate) fn deepest(&self) -> usize {
        self.deepest
    }

    /// The id at the outermost level, if there is exactly one.
    pub(crate) fn id(&self) -> Option<RequestId> {
        match &self.id {
            Id::Seen(id) => Some(id.clone()),
            Id::Unseen | Id::Unusable => None,
        }
    }

    fn step(&mut self, byte: u8) {
        if self.is_in_string {
            self.keep(byte);
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.is_in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                // An object or a list cannot be an id, whatever its key.
                self.keep(byte);
                self.depth += 1;
                self.deepest = self.deepest.max(self.depth);
                if self.depth == 1 {
                    self.token.clear();
                }
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => self.key = std::mem::take(&mut self.token),
            b',' if self.depth == 1 => self.value(),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < KEPT {
            self.token.push(byte);
        }
    }

    /// A value at the outermost level is complete.
    fn value(&mut self) {
        let token = std::mem::take(&mut self.token);
        if std::mem::take(&mut self.key) != b"\"id\"" {
            return;
        }
        let id = serde_json::from_slice::<RequestId>(&token);
        self.id = match (&self.id, id) {
            (Id::Unseen, Ok(id)) => Id::Seen(id),
            _ => Id::Unusable,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(pieces: &[&str]) -> Option<RequestId> {
        let mut skim = Skim::default();
        pieces.iter().for_each(|piece| skim.feed(piece.as_bytes()));
        skim.id()
    }

    /// S-030
    #[test]
    fn the_id_is_found_wherever_it_stands() {
        let five = Some(RequestId::Number(5));
        assert_eq!(id(&[r#"{"jsonrpc":"2.0","id":5,"method":"x"}"#]), five);
        assert_eq!(id(&[r#"{"params":{"id":7,"a":[{"id":8}]}, "#, "\"i", "d\" : 5 }"]), five);
        assert_eq!(
            id(&[r#"{"a":"{\"id\":9,","id":"x\"y"}"#]),
            Some(RequestId::String("x\"y".into()))
        );
        assert_eq!(id(&[r#"{"params":[[["#, r#"]]],"id":-5"#, "}"]), Some(RequestId::Number(-5)));
    }

    /// S-030: a message with two ids counts as one without an id.
    #[test]
    fn what_is_no_id_is_none() {
        for text in [
            r#"{"params":{"id":7}}"#,
            r#"{"id":5,"id":5}"#,
            r#"{"id":[5]}"#,
            r#"{"id":{"id":5}}"#,
            r#"{"id":null}"#,
            r#"{"id":1.5}"#,
            r#"{"id":5"#,
            r#"["id",5]"#,
            "",
        ] {
            assert_eq!(id(&[text]), None, "{text}");
        }
    }

    #[test]
    fn depth_and_length_are_counted() {
        let mut skim = Skim::default();
        skim.feed(b"{\"a\":[[\"[[[[\"]]");
        skim.feed(b"}");
        assert_eq!((skim.deepest(), skim.length()), (3, 16));
    }
}
