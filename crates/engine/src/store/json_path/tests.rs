use proptest::prelude::*;
use serde_json::Value;

use super::super::tests::artifact;
use super::*;

#[test]
fn a_json_path_leads_to_a_value() {
    let text = "\u{feff} {\"a\": {\"b\": [10, [20, {\"c\": \"x\\\"]\"}], NaN]}, \"a b\": true, \
                \"\\u00e9\": -1.5e3, \"twice\": 1, \"twice\": [ ], \"é.[\": null}\n";
    let (_state, found) = artifact(text.as_bytes());
    let table = [
        (".a.b[0]", "10"),
        ("a.b[0]", "10"),
        ("$.a.b[0]", "10"),
        (".a[\"b\"].[1][0]", "20"),
        (".a.b[ 1 ][1].c", "\"x\\\"]\""),
        (".a.b[-1]", "NaN"),
        (".a.b[-3]", "10"),
        ("[\"a b\"]", "true"),
        (".é", "-1.5e3"),
        (".twice", "[ ]"),
        ("[\"é.[\"]", "null"),
    ];
    for (path, wanted) in table {
        let path = JsonPath::parse(path).expect("a path");
        match found.json(&path, 1000).expect("json") {
            JsonFound::Value(value) => {
                assert_eq!(String::from_utf8_lossy(&value.bytes), wanted);
                assert_eq!(value.total_bytes, wanted.len() as u64);
                let at = value.offset as usize;
                assert_eq!(&text.as_bytes()[at..at + wanted.len()], wanted.as_bytes());
            }
            nothing => panic!("{path:?}: {nothing:?}"),
        }
    }
    let value = |path: &str, max| found.json(&JsonPath::parse(path).expect("a path"), max);
    for all in ["", ".", "$"] {
        let JsonFound::Value(read) = value(all, 4).expect("json") else { panic!("{all}") };
        assert_eq!(
            (read.kind, read.entries, &*read.bytes),
            (JsonKind::Object, Some(6), &b"{\"a\""[..])
        );
        assert_eq!(read.total_bytes, text.trim_start_matches('\u{feff}').trim().len() as u64);
    }
    let keys = ["a", "a b", "é", "twice", "twice", "é.["].map(str::to_owned).to_vec();
    let nothing =
        |followed, kind, entries, keys| JsonFound::Nothing { followed, kind, entries, keys };
    assert_eq!(value(".x", 9).unwrap(), nothing(0, JsonKind::Object, Some(6), keys));
    assert_eq!(value(".a.b[3]", 9).unwrap(), nothing(2, JsonKind::Array, Some(3), Vec::new()));
    assert_eq!(value(".a.b[-4]", 9).unwrap(), nothing(2, JsonKind::Array, Some(3), Vec::new()));
    assert_eq!(value(".a.b.c", 9).unwrap(), nothing(2, JsonKind::Array, Some(3), Vec::new()));
    assert_eq!(value(".a.b[0].c", 9).unwrap(), nothing(3, JsonKind::Number, None, Vec::new()));
    assert_eq!(value("[0]", 9).unwrap(), nothing(0, JsonKind::Object, Some(6), Vec::new()));
}

/// Slices and stars lead to several values, and the words behind a bar tell about one.
#[test]
fn a_json_path_leads_to_several_values_or_to_a_shape() {
    let text = r#"{"rows": [{"id": 1, "tags": ["a", "b"]}, {"id": 22}, {"no": [ ]}, {"id": null}],
        "by|name": {"x": [1, 2], "y": [3]}, "text": "é"}"#;
    let (_state, found) = artifact(text.as_bytes());
    let read = |path: &str, max| found.json(&JsonPath::parse(path).expect(path), max).expect(path);
    let made = |path: &str| match read(path, 1000) {
        JsonFound::Made { text, shown, count } => {
            assert_eq!(shown, count, "{path}");
            text.replace('\n', "")
        }
        other => panic!("{path}: {other:?}"),
    };
    let table = [
        (".rows[*].id", "[1,22,null]"),
        (".rows[1:3]", r#"[{"id": 22},{"no": [ ]}]"#),
        (".rows[-2:].id", "[null]"),
        (".rows[:-3].tags[0]", r#"["a"]"#),
        (".rows[ 2 : 1 ]", "[]"),
        (".rows[9:]", "[]"),
        (".rows[:][\"id\"]", "[1,22,null]"),
        ("[\"by|name\"][*][*]", "[1,2,3]"),
        ("[\"by|name\"][*][-1]", "[2,3]"),
        (".rows[*].tags[*] | length", "2"),
        (".rows | length", "4"),
        ("| keys", r#"["rows", "by|name", "text"]"#),
        (".rows[*]|keys", r#"["id", "tags"]"#),
        (".rows[0].id | skeleton", "number"),
        (".rows[2] | skeleton", r#"{  "no": []}"#),
    ];
    for (path, wanted) in table {
        assert_eq!(made(path), wanted, "{path}");
    }
    let JsonFound::Made { text, .. } = read(". | skeleton", 0) else { panic!() };
    let wanted = r#"{
  "rows": [4 × {
      "id": number
      "tags": [2 × string]
    }]
  "by|name": {
    "x": [2 × number]
    "y": [1 × number]
  }
  "text": string
}"#;
    assert_eq!(text, wanted);
    // Values that do not fit are counted.
    let cut = JsonFound::Made { text: "[\n1,\n22\n]".to_owned(), shown: 2, count: 3 };
    assert_eq!(read(".rows[*].id", 8), cut);
    let nothing = |followed, kind, entries| {
        let keys = Vec::new();
        JsonFound::Nothing { followed, kind, entries, keys }
    };
    assert_eq!(read(".text[*]", 9), nothing(1, JsonKind::String, None));
    assert_eq!(read(".text | length", 9), nothing(1, JsonKind::String, None));
    assert_eq!(read(".rows | keys", 9), nothing(1, JsonKind::Array, Some(4)));
}

/// The description of a value's shape is short for every value.
#[test]
fn a_shape_is_short() {
    let members: Vec<String> = (0..2000).map(|at| format!("\"key {at}\": {{}}")).collect();
    let wide = format!("{{{}}}", members.join(","));
    let many = vec![wide.as_str(); 30].into_iter().enumerate();
    let many: Vec<String> = many.map(|(at, wide)| format!("\"{at}\": [{wide}]")).collect();
    let text = format!("[[[[[[[[[{{}}]]]]]]]], {wide}, {{{}}}]", many.join(","));
    let (_state, found) = artifact(text.as_bytes());
    let made = |path: &str| match found.json(&JsonPath::parse(path).expect(path), 0) {
        Ok(JsonFound::Made { text, shown, count }) => (text, shown, count),
        other => panic!("{path}: {other:?}"),
    };
    assert_eq!(made("[0] | skeleton").0, "[1 × ".repeat(8) + "{0 keys}" + &"]".repeat(8));
    let (keys, shown, count) = made("[1] | keys");
    assert_eq!((shown, count, keys.matches(", ").count()), (1000, 2000, 999));
    let (skeleton, ..) = made("[1] | skeleton");
    assert!(skeleton.ends_with("\n  \"key 49\": {}\n  … 1950 more keys\n}"), "{skeleton}");
    let (skeleton, ..) = made("[2] | skeleton");
    assert!(skeleton.len() < 20_000, "{}", skeleton.len());
    assert!(skeleton.ends_with("\"29\": [1 items]\n}"), "{skeleton}");
}

#[test]
fn what_is_no_path_or_no_json_is_told() {
    let long = format!(".{}", "a".repeat(5000));
    for path in [
        "[",
        "[]",
        "[x]",
        "[1",
        "[\"a",
        "..",
        ".a..b",
        "a b",
        "[1e3]",
        "[99999999999999999999]",
        &long,
    ] {
        assert!(matches!(JsonPath::parse(path), Err(ArtifactError::JsonPath { .. })), "{path}");
    }
    let deep = "[".repeat(2000);
    let table = [
        "",
        "   ",
        "nope",
        "{",
        "{\"a\" 1}",
        "{\"a\": 1,}",
        "[1 2]",
        "[1}",
        "{1: 2}",
        "\"open",
        "\"\\",
        "[tru]",
        "[-]",
        "{\"a\": 1",
        &deep,
    ];
    for text in table {
        let (_state, found) = artifact(text.as_bytes());
        let path = JsonPath::parse(".").expect("a path");
        let error = found.json(&path, 100).expect_err(text);
        assert!(matches!(error, ArtifactError::NotJson { .. }), "{text}: {error}");
    }
}

/// F-041: a value in a large text is found without loading the text, wherever pieces end.
#[test]
fn json_is_walked_in_pieces() {
    let item = |number: usize| {
        format!("{{\"n\": {number}, \"pad\": \"{}\\\\\\\"é\"}}", "é\\n".repeat(number % 97))
    };
    let items: Vec<String> = (0..3_000).map(item).collect();
    let text = format!("{{\"items\": [{}], \"last\": 1}}", items.join(" ,\n"));
    assert!(text.len() > 8 * 64 * 1024, "many times the buffer");
    let (_state, found) = artifact(text.as_bytes());
    for number in [0, 1, 777, 2_999] {
        let path = JsonPath::parse(&format!(".items[{number}]")).expect("a path");
        let JsonFound::Value(value) = found.json(&path, 10_000).expect("json") else { panic!() };
        assert_eq!(String::from_utf8_lossy(&value.bytes), items[number]);
    }
    let path = JsonPath::parse(".items[-1].n").unwrap();
    let JsonFound::Value(value) = found.json(&path, 10).unwrap() else { panic!() };
    assert_eq!(value.bytes, b"2999");
    let JsonFound::Value(value) = found.json(&JsonPath::parse(".items").unwrap(), 10).unwrap()
    else {
        panic!()
    };
    assert_eq!((value.entries, value.bytes.len()), (Some(3_000), 10));
    // Numbers across the end of a piece, and one at the end of the text.
    let (_state, found) = artifact(format!("[{}-1.5]", "123456,".repeat(30_000)).as_bytes());
    let JsonFound::Value(value) = found.json(&JsonPath::parse("[-1]").unwrap(), 10).unwrap() else {
        panic!()
    };
    assert_eq!(value.bytes, b"-1.5");
    let (_state, found) = artifact(b"12");
    let all = found.json(&JsonPath::parse("").unwrap(), 10).unwrap();
    assert!(matches!(all, JsonFound::Value(value) if value.bytes == b"12"));
}

/// Of equal keys the last one counts on every step, and an entry far from the end is found like a near one.
#[test]
fn the_last_of_equal_keys_counts_on_every_step() {
    let (_state, found) =
        artifact(br#"{"a": {"x": 1}, "b": [{"a": 1, "a": 2}], "a": {"y": [3, 4]}}"#);
    let read = |path: &str| found.json(&JsonPath::parse(path).expect("a path"), 99).expect("json");
    let value = |path: &str| match read(path) {
        JsonFound::Value(value) => String::from_utf8_lossy(&value.bytes).into_owned(),
        nothing => panic!("{path}: {nothing:?}"),
    };
    assert_eq!(
        (value(".a.y[-1]"), value(".b[0].a"), value(".b[-1].a")),
        ("4".into(), "2".into(), "2".into())
    );
    let keys = vec!["y".to_owned()];
    let wanted = JsonFound::Nothing { followed: 1, kind: JsonKind::Object, entries: Some(1), keys };
    assert_eq!(read(".a.x"), wanted);
    let many: Vec<String> = (0..20_000).map(|number| format!("[{number}]")).collect();
    let (_state, found) = artifact(format!("{{\"m\": [{}]}}", many.join(",")).as_bytes());
    for back in [1, 2, MAX_REMEMBERED, MAX_REMEMBERED + 1, 20_000] {
        let path = JsonPath::parse(&format!(".m[-{back}][0]")).expect("a path");
        let JsonFound::Value(value) = found.json(&path, 99).expect("json") else {
            panic!("{back}")
        };
        assert_eq!(value.bytes, (20_000 - back).to_string().as_bytes());
    }
    let path = JsonPath::parse(".m[-20001]").expect("a path");
    let nothing = found.json(&path, 9).expect("json");
    assert!(matches!(nothing, JsonFound::Nothing { entries: Some(20_000), .. }), "{nothing:?}");
}

/// Every place in a value, by every path that leads there.
fn places(path: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    found.push((path.to_owned(), value.clone()));
    match value {
        Value::Array(entries) => {
            for (index, entry) in entries.iter().enumerate() {
                places(&format!("{path}[{index}]"), entry, found);
                places(&format!("{path}[-{}]", entries.len() - index), entry, found);
            }
        }
        Value::Object(entries) => {
            for (key, entry) in entries {
                places(&format!("{path}[\"{key}\"]"), entry, found);
            }
        }
        _ => {}
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<i16>().prop_map(|number| Value::from(f64::from(number) / 4.0)),
        "[a\\\\\"é\n{}\\[\\],:]{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-c.é ]{1,4}", inner, 0..5).prop_map(Value::from_iter),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Every value is found by its paths, in any layout of the text, and returned as spelled there.
    #[test]
    fn every_place_is_found(value in value(), is_pretty in any::<bool>()) {
        let text = match is_pretty {
            true => serde_json::to_string_pretty(&value).expect("text"),
            false => value.to_string(),
        };
        let (_state, found) = artifact(text.as_bytes());
        let mut all = Vec::new();
        places("", &value, &mut all);
        for (path, wanted) in all {
            let read = found.json(&JsonPath::parse(&path).expect("a path"), usize::MAX).expect("json");
            let JsonFound::Value(read) = read else { panic!("{path}: {read:?}") };
            prop_assert_eq!(serde_json::from_slice::<Value>(&read.bytes).expect("a value"), wanted);
        }
    }
}
