//! JSON for a reader: indented by two spaces and cut, and its shape in one line.
//!
//! Owns both texts. Neither builds a value, so that a text of any size costs no more memory than its shown part. It must
//! not know displays. From the first byte on that is not JSON, a text is passed through unchanged.

use std::borrow::Cow;
use std::fmt::Write;

use inkcell_notebook::{JsonKind, JsonRole, json_tokens};

/// An indented JSON text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Laid {
    /// The beginning of the text.
    pub(crate) text: String,
    /// Number of characters cut off.
    pub(crate) missing_chars: u64,
}

/// Writes up to a number of characters and counts the rest.
struct LimitedText {
    text: String,
    room: usize,
    missing: u64,
}

impl LimitedText {
    fn add(&mut self, text: &str) {
        if self.missing == 0 {
            match text.char_indices().nth(self.room) {
                None => {
                    self.room -= text.chars().count();
                    self.text.push_str(text);
                }
                Some((at, _)) => {
                    self.text.push_str(&text[..at]);
                    self.missing = text[at..].chars().count() as u64;
                    self.room = 0;
                }
            }
        } else {
            self.missing += text.chars().count() as u64;
        }
    }

    fn line(&mut self, depth: usize) {
        if self.missing > 0 {
            self.missing += 1 + 2 * depth as u64;
            return;
        }
        self.add("\n");
        // Deep nesting must not allocate indentation that is not shown.
        let spaces = 2 * depth;
        let shown = spaces.min(self.room);
        self.add(&" ".repeat(shown));
        self.missing += (spaces - shown) as u64;
    }
}

/// Indents a JSON text by two spaces, as `JSON.stringify(value, null, 2)` does, and cuts it.
pub(crate) fn lay_out(json: &str, max_chars: usize) -> Laid {
    let mut out = LimitedText { text: String::new(), room: max_chars, missing: 0 };
    let (mut is_empty, mut end) = (true, 0);
    for token in json_tokens(json.as_bytes()) {
        let Ok(token) = token else {
            out.add(&json[end..]);
            break;
        };
        let text = &json[token.start as usize..token.end as usize];
        end = token.end as usize;
        if token.is_entry {
            if !is_empty {
                out.add(",");
            }
            out.line(token.depth);
        }
        if token.role == JsonRole::Close && !is_empty {
            out.line(token.depth);
        }
        match token.role {
            JsonRole::Key => {
                out.add(&readable(text));
                out.add(": ");
            }
            JsonRole::Scalar if token.kind == JsonKind::String => out.add(&readable(text)),
            _ => out.add(text),
        }
        is_empty = token.role == JsonRole::Open;
    }
    Laid { text: out.text, missing_chars: out.missing }
}

/// A JSON string with its `\u` escapes decoded, except for characters that a reader must not get raw.
fn readable(text: &str) -> Cow<'_, str> {
    let mut spelled = Cow::Borrowed(text);
    if memchr::memmem::find(text.as_bytes(), b"\\u").is_some()
        && let Ok(decoded) = serde_json::from_str::<String>(text)
        && let Ok(encoded) = serde_json::to_string(&decoded)
    {
        spelled = Cow::Owned(encoded);
    }
    let is_hidden = |c: char| c.is_control() || ('\u{fff9}'..='\u{fffb}').contains(&c);
    if spelled.bytes().all(|byte| (b' '..0x7f).contains(&byte)) || !spelled.contains(is_hidden) {
        return spelled;
    }
    let mut escaped = String::new();
    for c in spelled.chars() {
        match c {
            c if is_hidden(c) => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// A JSON value as a reader sees it (B:X-34): its number, the value, and how much is missing.
pub(crate) fn render_json(number: u64, json: &str, max_chars: usize) -> String {
    let laid = lay_out(json, max_chars);
    let mut text = format!("display[{number}]:\n{}", laid.text);
    if laid.missing_chars > 0 {
        let _ = write!(text, "\n({} chars truncated)", laid.missing_chars);
    }
    text
}

/// How many characters of a value are compared with a text. If they are all in the text, so is the rest.
const COMPARED_CHARS: usize = 64 * 1024;

/// Returns true if a text says what a JSON value says, as the `repr` of a dictionary or a list does: the same words and
/// numbers in the same order.
pub(crate) fn is_in(text: &str, json: &str) -> bool {
    let laid = lay_out(json, COMPARED_CHARS);
    let mut said = content(text);
    content(&laid.text).all(|c| said.next() == Some(c))
        && (laid.missing_chars > 0 || said.next().is_none())
}

/// The characters of names and values, in lower case, with the names of constants as in JSON.
fn content(text: &str) -> impl Iterator<Item = char> {
    let parts = text.split("None").enumerate();
    let parts = parts.flat_map(|(at, part)| [if at > 0 { "null" } else { "" }, part]);
    let is_content = |c: &char| c.is_alphanumeric() || matches!(c, '.' | '-');
    parts.flat_map(str::chars).filter(is_content).flat_map(char::to_lowercase)
}

/// Facts about a value one level down.
struct Member<'a> {
    key: &'a str,
    kind: JsonKind,
    /// Number of entries, for a list or an object.
    entries: u64,
}

impl Member<'_> {
    fn words(&self) -> String {
        match self.kind {
            JsonKind::Array => format!("array of {}", self.entries),
            JsonKind::Object => format!("object of {}", self.entries),
            kind => kind.name().to_owned(),
        }
    }
}

/// Maximum number of keys in a shape.
const MAX_KEYS: usize = 12;

/// The shape of a JSON value in one line: kinds, lengths and the first keys.
pub(crate) fn shape(json: &str) -> String {
    let mut tokens = json_tokens(json.as_bytes()).map_while(Result::ok);
    let Some(outer) = tokens.next() else { return "nothing".to_owned() };
    match outer.kind {
        JsonKind::Object | JsonKind::Array => {}
        JsonKind::String => return format!("string of {} bytes", outer.end - outer.start - 2),
        kind => return kind.name().to_owned(),
    }
    let mut members: Vec<Member<'_>> = Vec::new();
    let mut inner_keys: Vec<&str> = Vec::new();
    let (mut count, mut key) = (0u64, "");
    for token in tokens {
        let text = json[token.start as usize..token.end as usize].trim_matches('"');
        match (token.role, token.depth) {
            (JsonRole::Key, 1) => key = text,
            (JsonRole::Open | JsonRole::Scalar, 1) => {
                count += 1;
                if members.len() < MAX_KEYS {
                    members.push(Member { key, kind: token.kind, entries: 0 });
                }
            }
            (_, 2) if token.is_entry && count == members.len() as u64 => {
                if let Some(member) = members.last_mut() {
                    member.entries += 1;
                }
                let is_first = outer.kind == JsonKind::Array && count == 1;
                if is_first && token.role == JsonRole::Key && inner_keys.len() < MAX_KEYS {
                    inner_keys.push(text);
                }
            }
            _ => {}
        }
    }
    let more = |total: u64, shown: usize| match total.saturating_sub(shown as u64) {
        0 => String::new(),
        n => format!(", and {n} more"),
    };
    if outer.kind == JsonKind::Object {
        let keys: Vec<String> =
            members.iter().map(|member| format!("{}: {}", member.key, member.words())).collect();
        let unit = if count == 1 { "key" } else { "keys" };
        return format!("object of {count} {unit}: {}{}", keys.join(", "), more(count, keys.len()));
    }
    let mut text = format!("array of {count}");
    if let Some(first) = members.first() {
        let _ = write!(text, ", first {}", first.words());
        if !inner_keys.is_empty() {
            let _ = write!(
                text,
                " with keys {}{}",
                inner_keys.join(", "),
                more(first.entries, inner_keys.len())
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// B:X-34: two spaces, the number of the display, and how much is missing.
    #[test]
    fn json_is_laid_out_and_cut() {
        let table = [
            (
                "{\"a\":1,\"b\":[true,null],\"c\":{},\"d\":[]}",
                "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    null\n  ],\n  \"c\": {},\n  \"d\": []\n}",
            ),
            ("\"x\"", "\"x\""),
            ("1e400", "1e400"),
            ("[\"\\u00e9\\u001b\"]", "[\n  \"é\\u001b\"\n]"),
            ("\"a\u{9b}31m\"", "\"a\\u009b31m\""),
            ("[ { \"k\" : \"a\\\"b\" } ]", "[\n  {\n    \"k\": \"a\\\"b\"\n  }\n]"),
        ];
        for (json, expected) in table {
            assert_eq!(lay_out(json, 8000), Laid { text: expected.to_owned(), missing_chars: 0 });
        }
        let long = format!("\"{}\"", "é".repeat(9000));
        assert_eq!(
            render_json(2, &long, 8000),
            format!("display[2]:\n\"{}\n(1002 chars truncated)", "é".repeat(7999))
        );
    }

    #[test]
    fn shapes_are_told() {
        let table = [
            (
                "{\"name\":\"x\",\"rows\":[{\"a\":1},{\"a\":2}],\"n\":3}",
                "object of 3 keys: name: string, rows: array of 2, n: number",
            ),
            ("[{\"x\":1,\"y\":[1,2]},{\"x\":2}]", "array of 2, first object of 2 with keys x, y"),
            ("[]", "array of 0"),
            ("{}", "object of 0 keys: "),
            ("[1,2,3]", "array of 3, first number"),
            ("true", "boolean"),
            (
                "{\"a\":{\"b\":[1,2,3]},\"c\":[[1,2],[3]]}",
                "object of 2 keys: a: object of 1, c: array of 2",
            ),
        ];
        for (json, expected) in table {
            assert_eq!(shape(json), expected, "{json}");
        }
    }

    /// F-041: deep nesting costs neither stack nor memory, and the count of missing characters is right.
    #[test]
    fn deep_nesting_is_counted() {
        let depth = 100_000;
        let json = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let laid = lay_out(&json, 100);
        assert_eq!(laid.text.chars().count(), 100);
        let d = depth as u64;
        // Every bracket, the number, and a line with its indentation after each of them.
        let indents: u64 = 2 * (2 * (d - 1) * d / 2) + 2 * d;
        assert_eq!(laid.missing_chars + 100, 2 * d + 1 + 2 * d + indents);
        assert!(shape(&json).starts_with("array of 1, first array of 1"));
    }

    proptest! {
        /// The indented text is the same value, and every cut counts the same characters.
        #[test]
        fn laid_out_json_is_the_same_value(value in json_value(), cut in 0usize..200) {
            let json = serde_json::to_string(&value).unwrap();
            let whole = lay_out(&json, usize::MAX);
            prop_assert_eq!(&serde_json::from_str::<serde_json::Value>(&whole.text).unwrap(), &value);
            prop_assert_eq!(&whole.text, &serde_json::to_string_pretty(&value).unwrap());
            let laid = lay_out(&json, cut);
            let total = whole.text.chars().count() as u64;
            prop_assert_eq!(laid.text.chars().count() as u64 + laid.missing_chars, total);
        }

        /// A text that is not JSON does no harm.
        #[test]
        fn any_text_is_taken(text in "[\\[\\]{},:\"a\\\\ é]{0,40}") {
            lay_out(&text, 10);
            shape(&text);
        }
    }

    fn json_value() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-zé\"\\\\ ]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 30, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec(("[a-c]{1,2}", inner), 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }
}
