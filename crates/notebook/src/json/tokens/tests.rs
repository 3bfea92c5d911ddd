use proptest::prelude::*;

use super::*;

const LIMITS: JsonLimits = JsonLimits { depth: 40, spelled: 12 };

/// A token without its lifetime.
type Owned = (JsonRole, JsonKind, usize, bool, u64, u64, Option<Vec<u8>>);

fn owned(token: JsonToken<'_>) -> Owned {
    let JsonToken { role, kind, depth, is_entry, start, end, spelled } = token;
    (role, kind, depth, is_entry, start, end, spelled.map(<[u8]>::to_vec))
}

/// Reads a text in these blocks.
fn read<'b>(blocks: impl IntoIterator<Item = &'b [u8]>) -> (Vec<Owned>, Option<JsonFault>) {
    let mut scanner = JsonScanner::new(0, LIMITS);
    let mut found = Vec::new();
    for mut block in blocks {
        loop {
            match scanner.next(&mut block) {
                Ok(Some(token)) => found.push(owned(token)),
                Ok(None) => break,
                Err(fault) => return (found, Some(fault)),
            }
        }
        assert_eq!(block, b"");
    }
    match scanner.finish() {
        Ok(last) => {
            found.extend(last.map(owned));
            assert_eq!(scanner.finish(), Ok(None));
            (found, None)
        }
        Err(fault) => (found, Some(fault)),
    }
}

fn fault(text: &str) -> (u64, &'static str) {
    let fault = read([text.as_bytes()]).1.expect(text);
    (fault.at, fault.problem)
}

#[test]
fn tokens_have_places_and_spellings() {
    let text = b" {\"a\" : [1, \"x\\\"]\", {}], \"b\":NaN}\n";
    let spelled: Vec<_> = json_tokens(text)
        .map(|token| {
            let token = token.unwrap();
            assert_eq!(token.spelled.unwrap(), &text[token.start as usize..token.end as usize]);
            let spelled = String::from_utf8_lossy(token.spelled.unwrap()).into_owned();
            (spelled, token.role, token.depth, token.is_entry)
        })
        .collect();
    use JsonRole::{Close, Key, Open, Scalar};
    let wanted = [
        ("{", Open, 0, false),
        ("\"a\"", Key, 1, true),
        ("[", Open, 1, false),
        ("1", Scalar, 2, true),
        ("\"x\\\"]\"", Scalar, 2, true),
        ("{", Open, 2, true),
        ("}", Close, 2, false),
        ("]", Close, 1, false),
        ("\"b\"", Key, 1, true),
        ("NaN", Scalar, 1, false),
        ("}", Close, 0, false),
    ];
    assert_eq!(spelled, wanted.map(|(text, role, depth, is)| (text.to_owned(), role, depth, is)));
}

#[test]
fn faults_name_the_byte_that_does_not_fit() {
    let table = [
        ("", 0, "the text ends in the middle"),
        ("nope", 4, "the text ends in the middle"),
        ("nope ", 0, "a value is wanted"),
        ("[1 2]", 3, "a comma or the end is wanted"),
        ("[1}", 2, "a comma or the end is wanted"),
        ("[1,]", 3, "a value is wanted"),
        ("{\"a\" 1}", 5, "a colon is wanted"),
        ("{\"a\": 1,}", 8, "a key in double quotes is wanted"),
        ("{1: 2}", 1, "a key in double quotes is wanted"),
        ("[]]", 2, "text follows the value"),
        ("[12", 3, "the text ends in the middle"),
        ("\"a\\", 3, "the text ends in the middle"),
    ];
    for (text, at, problem) in table {
        assert_eq!(fault(text), (at, problem), "{text}");
    }
    let deep = "[".repeat(LIMITS.depth + 1);
    assert_eq!(fault(&deep), (LIMITS.depth as u64, "values are nested too deep"));
    let long = format!("[{}]", "1".repeat(9000));
    assert_eq!(fault(&long), (1, "a number is too long"));
    assert!(json_tokens(long.as_bytes()).all(|token| token.is_ok()));
}

/// F-041: brackets cost a bit each, and no stack.
#[test]
fn nesting_is_counted() {
    let depth = 200_000;
    let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let tokens = json_tokens(text.as_bytes()).map(Result::unwrap);
    assert_eq!(tokens.map(|token| token.depth).max(), Some(depth - 1));
}

/// Mostly JSON, with mistakes now and then.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just(":"),
        Just(" "),
        Just("\"k\":"),
        Just("\"a\\\"é\\\\\","),
        Just("12.5e3"),
        Just("null,"),
        Just("tru"),
        Just("\"\\u00e9 and a longer text\""),
    ];
    let wild = prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat());
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("-1.5".to_owned()),
        Just("\"a\\\\\\\"b\"".to_owned()),
        Just("\"longer than the limit\"".to_owned()),
        Just(" true ".to_owned()),
    ];
    let value = leaf.prop_recursive(4, 30, 4, |inner| {
        let members = prop::collection::vec(inner.clone(), 0..4).prop_map(|values| {
            let members: Vec<_> = values.iter().map(|value| format!("\"é\" : {value}")).collect();
            format!("{{{}}}", members.join(", "))
        });
        let items = prop::collection::vec(inner, 0..4);
        prop_oneof![members, items.prop_map(|values| format!("[{}]", values.join(" ,\n")))]
    });
    prop_oneof![value, wild]
}

proptest! {
    /// Where the blocks end changes neither tokens nor faults.
    #[test]
    fn blocks_do_not_matter(text in text(), cuts in prop::collection::vec(0usize..9, 1..20)) {
        let mut rest = text.as_bytes();
        let mut cuts = cuts.into_iter().cycle();
        let mut empty = 0;
        let blocks = std::iter::from_fn(|| {
            let cut = cuts.next().unwrap_or(1);
            // Blocks may be empty, but not all of them.
            empty = if cut == 0 { empty + 1 } else { 0 };
            let (block, behind) = rest.split_at((cut + empty / 20).min(rest.len()));
            let is_end = rest.is_empty();
            rest = behind;
            (!is_end).then_some(block)
        });
        prop_assert_eq!(read(blocks), read([text.as_bytes()]));
    }

    /// Every bracket that opens has one that closes at the same depth, with as many entries between as serde counts.
    #[test]
    fn tokens_make_the_value(text in text()) {
        let parsed = serde_json::from_str::<serde_json::Value>(&text);
        let tokens: Result<Vec<_>, _> = json_tokens(text.as_bytes()).collect();
        let Ok(value) = parsed else { return Ok(()) };
        let tokens = tokens.expect("JSON");
        let entries = match &value {
            serde_json::Value::Array(items) => items.len(),
            // Equal keys are one entry there.
            serde_json::Value::Object(members) => members.len().min(1),
            _ => 0,
        };
        let found = tokens.iter().filter(|token| token.is_entry && token.depth == 1).count();
        prop_assert!(found == entries || value.is_object() && found >= entries);
        let count = |role| tokens.iter().filter(|token| token.role == role).count();
        prop_assert_eq!(count(JsonRole::Open), count(JsonRole::Close));
        let again: String = tokens.iter().map(|token| {
            let spelled = String::from_utf8_lossy(token.spelled.unwrap());
            match token.role {
                JsonRole::Key => format!("{spelled}:"),
                JsonRole::Open => spelled.into_owned(),
                _ => format!("{spelled},"),
            }
        }).collect();
        let again = again.replace(",]", "]").replace(",}", "}");
        let again = again.trim_end_matches(',');
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(again).unwrap(), value);
    }
}
