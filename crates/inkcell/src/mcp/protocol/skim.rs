//! The id of a message that is too long or too deep to be read.
//!
//! Owns scanning bytes that are not kept, so that a client learns which of its requests was refused. Must not know
//! why it was.

use inkcell_engine::notebook::{JsonLimits, JsonRole, JsonScanner};
use rmcp::model::RequestId;

/// The longest key or id that is kept, in bytes, and the deepest nesting that is followed.
const LIMITS: JsonLimits = JsonLimits { depth: 1 << 20, spelled: 512 };

/// The state of a scan over one JSON object.
#[derive(Debug)]
pub(crate) struct Skim {
    length: usize,
    deepest: usize,
    /// None from the first byte on that is not JSON.
    scanner: Option<JsonScanner>,
    /// True behind the key of the id at the outermost level.
    is_id: bool,
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

impl Default for Skim {
    fn default() -> Skim {
        let scanner = Some(JsonScanner::new(0, LIMITS));
        Skim { length: 0, deepest: 0, scanner, is_id: false, id: Id::Unseen }
    }
}

impl Skim {
    /// Scans the next bytes.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        self.length += bytes.len();
        let Some(mut scanner) = self.scanner.take() else { return };
        loop {
            let token = match scanner.next(&mut bytes) {
                Ok(Some(token)) => token,
                Ok(None) => break,
                Err(_) => return,
            };
            let is_open = token.role == JsonRole::Open;
            self.deepest = self.deepest.max(token.depth + usize::from(is_open));
            if token.depth != 1 {
                continue;
            }
            if token.role == JsonRole::Key {
                self.is_id = token.spelled == Some(b"\"id\"");
            } else if std::mem::take(&mut self.is_id) {
                let id = token.spelled.filter(|_| !is_open).map(serde_json::from_slice);
                self.id = match (&self.id, id) {
                    (Id::Unseen, Some(Ok(id))) => Id::Seen(id),
                    _ => Id::Unusable,
                };
            }
        }
        self.scanner = Some(scanner);
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
