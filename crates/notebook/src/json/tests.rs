use super::scan::MAX_DEPTH;
use super::*;
use proptest::prelude::*;

fn accepts(text: impl AsRef<[u8]>) {
    let text = text.as_ref();
    let verdict = check(text, 0);
    assert_eq!(verdict, Ok(()), "{}", String::from_utf8_lossy(&text[..text.len().min(60)]));
}

fn refuses(text: impl AsRef<[u8]>, offset: usize) {
    let text = text.as_ref();
    let found = check(text, 0).map_err(|error| error.offset);
    assert_eq!(found, Err(offset), "{}", String::from_utf8_lossy(&text[..text.len().min(60)]));
}

/// F-069
#[test]
fn scalars_are_those_of_python() {
    let good = [
        "null",
        "true",
        "false",
        "NaN",
        "Infinity",
        "-Infinity",
        "0",
        "-0",
        "7",
        "-12",
        "1.0",
        "0.5",
        "-0.0",
        "1e5",
        "1E5",
        "1e+5",
        "1e-5",
        "0e0",
        "1.5E+300",
        "1e400",
        "-1e999",
        "12345678901234567890123",
        " \t\r\n1\n",
        "\"\"",
        "[]",
        "{}",
        "[ ]",
        "{ }",
    ];
    for text in good {
        accepts(text);
    }
    let bad = [
        ("", 0),
        ("   ", 3),
        ("nil", 0),
        ("nulll", 4),
        ("True", 0),
        ("None", 0),
        ("nan", 0),
        ("-NaN", 0),
        ("+1", 0),
        ("+Infinity", 0),
        ("-x", 0),
        ("--1", 0),
        ("01", 1),
        ("-01", 2),
        ("1.", 1),
        ("1.e5", 1),
        (".5", 0),
        ("1e", 1),
        ("1e+", 1),
        ("1.5e", 3),
        ("0x10", 1),
        ("1_000", 1),
        ("1 2", 2),
        ("NaN1", 3),
        ("-Infinite", 0),
        ("Inf ", 0),
        ("'a'", 0),
        ("\u{b}1", 0),
        ("1\u{c}", 1),
        ("\u{a0}1", 0),
        ("\u{feff}1", 0),
        ("// c\n1", 0),
    ];
    for (text, offset) in bad {
        refuses(text, offset);
    }
}

/// F-069
#[test]
fn containers_are_those_of_python() {
    for text in ["[1]", "[1,2 , 3]", "{\"a\":1}", "{\"a\" : [ {} , [] ], \"a\": null}", "[[],{}]"] {
        accepts(text);
    }
    let bad = [
        ("[", 1),
        ("]", 0),
        ("[1,]", 3),
        ("[,1]", 1),
        ("[1 2]", 3),
        ("[1", 2),
        ("[1}", 2),
        ("{", 1),
        ("}", 0),
        ("{\"a\"}", 4),
        ("{\"a\":}", 5),
        ("{\"a\":1,}", 7),
        ("{a:1}", 1),
        ("{1:1}", 1),
        ("{\"a\":1]", 6),
        ("{\"a\":1 \"b\":2}", 7),
        ("{'a':1}", 1),
        ("[]]", 2),
        ("{\"a\" 1}", 5),
        ("[1]x", 3),
        ("[\"a\":1]", 4),
    ];
    for (text, offset) in bad {
        refuses(text, offset);
    }
}

/// F-069
#[test]
fn strings_are_those_of_python() {
    let good: [&[u8]; 11] = [
        br#""\"\\\/\b\f\n\r\t""#,
        br#""\u0000\uFFFF\uabCD""#,
        // Lone and swapped surrogates: Python accepts them as escapes.
        br#""\ud800""#,
        br#""\udc00\ud800x""#,
        br#""\ud83d\ude00""#,
        b"\"\x7f\"",
        "\"é😀\u{2028}\u{feff}\"".as_bytes(),
        b"\"a long string that is more than one block of thirty-two bytes\"",
        b"\"thirty-two bytes, then the end\"",
        br#""a quote in the second block of bytes: \" and on""#,
        b"\"\xF4\x8F\xBF\xBF\"",
    ];
    for text in good {
        accepts(text);
    }
    let bad: [(&[u8], usize); 21] = [
        (b"\"", 1),
        (b"\"abc", 4),
        (b"\"a\nb\"", 2),
        (b"\"a\tb\"", 2),
        (b"\"\x00\"", 1),
        (b"\"\x1f\"", 1),
        (b"\"a long string in which the control character \r stands late\"", 46),
        (br#""\a""#, 1),
        (br#""\x41""#, 1),
        (br#""\'""#, 1),
        (br#""\U0041""#, 1),
        (br#""\u12""#, 1),
        (br#""\u12g4""#, 1),
        (br#""\u+123""#, 1),
        (br#""\u 123""#, 1),
        // Bytes that are not UTF-8: Latin-1, overlong, an encoded surrogate, too large, cut off.
        (b"\"caf\xE9\"", 4),
        (b"\"\xC0\xAF\"", 1),
        (b"\"\xED\xA0\x80\"", 1),
        (b"\"\xF4\x90\x80\x80\"", 1),
        (b"\"ab\xE2\x82\"", 3),
        (b"[1, \xE9]", 4),
    ];
    for (text, offset) in bad {
        refuses(text, offset);
    }
}

/// F-068
#[test]
fn what_is_cut_off_is_refused_at_its_end() {
    for text in ["\"a\\", "\"a\\u00e", "[tr", "[-", "[-Infi", "{\"a", "{\"a\":", "[1,", "[1"] {
        refuses(text, text.len());
    }
}

/// F-069 F-070
#[test]
fn depth_is_counted_and_not_recursed() {
    let nested = |depth: usize, open: &str, close: &str| {
        format!("{}{}", open.repeat(depth), close.repeat(depth))
    };
    accepts(nested(MAX_DEPTH, "[", "]"));
    refuses(nested(MAX_DEPTH + 1, "[", "]"), MAX_DEPTH);
    let objects = |depth| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    accepts(objects(MAX_DEPTH));
    refuses(objects(MAX_DEPTH + 1), MAX_DEPTH * 5);
    refuses(nested(100_000, "[", "]"), MAX_DEPTH);
    refuses("[".repeat(100_000), MAX_DEPTH);
    // Containers around a value count too.
    assert_eq!(check(nested(MAX_DEPTH - 4, "[", "]").as_bytes(), 4), Ok(()));
    let error = check(nested(MAX_DEPTH - 3, "[", "]").as_bytes(), 4).unwrap_err();
    assert_eq!(error.problem, "values are nested more than 995 deep");
    // Containers that were closed do not count.
    accepts(format!("[{}]", vec![nested(MAX_DEPTH - 1, "[", "]"); 3].join(",")));
    // The kind of each open container survives across words of the bit set.
    let mixed = |depth: usize| {
        let open: String = (0..depth).map(|at| ["[", "{\"a\":"][at % 2]).collect();
        let close: String = (0..depth).rev().map(|at| ["]", "}"][at % 2]).collect();
        format!("{open}1{close}")
    };
    accepts(mixed(MAX_DEPTH));
    refuses(
        mixed(200).replace("1]}", "1}}").replace("1}]", "1]]"),
        mixed(200).find('1').unwrap() + 1,
    );
}

/// F-069
#[test]
fn integers_are_as_long_as_python_takes_them() {
    let nines = |count: usize| "9".repeat(count);
    accepts(nines(4300));
    accepts(format!("-{}", nines(4300)));
    refuses(nines(4301), 0);
    refuses(format!("[-{}]", nines(4301)), 1);
    // A number with a fraction or an exponent is not an integer, so it may be longer.
    accepts(format!("{}.5", nines(5000)));
    accepts(format!("{}e1", nines(5000)));
    accepts(format!("1.{}", nines(5000)));
}

fn spelled(text: &str, habit: NonAscii) -> String {
    let mut out = Vec::new();
    encode(&mut out, text, habit);
    String::from_utf8(out).unwrap()
}

/// B:N-05
#[test]
fn strings_are_spelled_as_python_spells_them() {
    let check = |text: &str, raw: &str, escaped: &str| {
        assert_eq!(spelled(text, NonAscii::Raw), raw);
        assert_eq!(spelled(text, NonAscii::Escaped), escaped);
    };
    check("plain / ~", r#""plain / ~""#, r#""plain / ~""#);
    check("\"\\\n\r\t\u{8}\u{c}", r#""\"\\\n\r\t\b\f""#, r#""\"\\\n\r\t\b\f""#);
    check("\0\u{1b}\u{1f}", r#""\u0000\u001b\u001f""#, r#""\u0000\u001b\u001f""#);
    check("\u{7f}", "\"\u{7f}\"", r#""\u007f""#);
    check("\u{80}é", "\"\u{80}é\"", r#""\u0080\u00e9""#);
    check("😀\u{2028}", "\"😀\u{2028}\"", r#""\ud83d\ude00\u2028""#);
}

#[test]
fn escapes_are_decoded() {
    let check = |quoted: &str, text: &str, lossy: bool| {
        let decoded = decode(quoted.as_bytes());
        assert_eq!((&*decoded.text, decoded.lossy), (text, lossy), "{quoted}");
    };
    check(r#""""#, "", false);
    check(r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t", false);
    check(r#""a\u00e9\u00E9z""#, "aééz", false);
    check(r#""\ud83d\ude00!""#, "😀!", false);
    check(r#""\ud83d""#, "\u{fffd}", true);
    check(r#""\ud83dx\ude00""#, "\u{fffd}x\u{fffd}", true);
    check(r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀", true);
    check(r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}", true);
    check(r#""\\u0041""#, r"\u0041", false);
    check("\"\u{fffd}\"", "\u{fffd}", false);
    check("7", "", false);
}

/// B:N-05
#[test]
fn the_habit_of_escaping_is_noticed() {
    let check = |text: &str, raw: bool, escaped: bool| {
        let mut scanner = Scanner::new(text.as_bytes());
        scanner.value(0, 0).unwrap();
        assert_eq!((scanner.raw_non_ascii, scanner.escaped_non_ascii), (raw, escaped), "{text}");
    };
    check(r#""plain \n \u001b \u0041""#, false, false);
    check(r#"["é"]"#, true, false);
    check(r#"{"\u00e9": 1}"#, false, true);
    check(r#"["\u2028", "é"]"#, true, true);
    // A surrogate pair could be raw, a lone surrogate could not.
    check(r#""\ud83d\ude00""#, false, true);
    check(r#""\ud83d""#, false, false);
    check(r#""\ude00\ud83d""#, false, false);
}

#[test]
fn of_duplicate_keys_the_last_counts() {
    let object = br#"{"a": 1, "b": 2, "\u0061": 3}"#;
    assert_eq!(get(object, "a"), Some(&b"3"[..]));
    assert_eq!(get(object, "c"), None);
    assert_eq!(get(b"[1]", "a"), None);
}

// Random JSON text, with the spans of all values as the generator made them.

#[derive(Clone, Debug)]
enum Value {
    Scalar(String),
    Array(Vec<(String, Value, String)>, String),
    Object(Vec<(String, String, String, Value, String)>, String),
}

fn blanks() -> impl Strategy<Value = String> {
    "[ \t\r\n]{0,3}"
}

fn quoted_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[ -!#-\\[\\]-~]{0,40}",
        Just("é😀".to_owned()),
        Just("\\\"".to_owned()),
        Just("\\\\".to_owned()),
        Just("\\u00e9".to_owned()),
        Just("\\ud83d".to_owned()),
        Just("[{,}]:".to_owned()),
    ];
    prop::collection::vec(part, 0..4).prop_map(|parts| format!("\"{}\"", parts.concat()))
}

fn value() -> impl Strategy<Value = Value> {
    const WORDS: [&str; 9] =
        ["null", "true", "NaN", "-Infinity", "0", "-0", "1E+2", "12.50", "1e400"];
    let scalar =
        prop_oneof![prop::sample::select(&WORDS[..]).prop_map(str::to_owned), quoted_text(),];
    scalar.prop_map(Value::Scalar).prop_recursive(4, 24, 4, |inner| {
        let item = (blanks(), inner.clone(), blanks());
        let member = (blanks(), quoted_text(), blanks(), inner, blanks());
        prop_oneof![
            (prop::collection::vec(item, 0..4), blanks()).prop_map(|(v, b)| Value::Array(v, b)),
            (prop::collection::vec(member, 0..4), blanks()).prop_map(|(v, b)| Value::Object(v, b)),
        ]
    })
}

/// Writes the value and returns the spans of its entries: keys (for objects) and values.
fn write(value: &Value, out: &mut String) -> Vec<(Option<Span>, Span)> {
    let mut places = Vec::new();
    match value {
        Value::Scalar(text) => out.push_str(text),
        Value::Array(items, inside) => {
            out.push('[');
            for (at, (before, item, after)) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                out.push_str(before);
                let start = out.len();
                write(item, out);
                places.push((None, Span::new(start, out.len())));
                out.push_str(after);
            }
            out.push_str(if items.is_empty() { inside } else { "" });
            out.push(']');
        }
        Value::Object(members, inside) => {
            out.push('{');
            for (at, (before, key, around, item, after)) in members.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                out.push_str(before);
                let key_span = Span::new(out.len(), out.len() + key.len());
                out.push_str(&format!("{key}{around}:{around}"));
                let start = out.len();
                write(item, out);
                places.push((Some(key_span), Span::new(start, out.len())));
                out.push_str(after);
            }
            out.push_str(if members.is_empty() { inside } else { "" });
            out.push('}');
        }
    }
    places
}

/// The same spans, as the cursor walks them.
fn by_cursor(text: &[u8]) -> Vec<(Option<Span>, Span)> {
    let mut cursor = Cursor::new(text);
    let mut found = Vec::new();
    let is_object = cursor.enter(b'{');
    if is_object || cursor.enter(b'[') {
        while cursor.next_entry() {
            let key = is_object.then(|| cursor.key());
            found.push((key, cursor.value()));
        }
        assert_eq!(cursor.peek(), None, "the cursor is past the closing bracket");
    }
    found
}

proptest! {
    #[test]
    fn decoding_undoes_encoding(text in any::<String>()) {
        for habit in [NonAscii::Raw, NonAscii::Escaped] {
            let quoted = spelled(&text, habit);
            accepts(&quoted);
            let decoded = decode(quoted.as_bytes());
            prop_assert_eq!(&*decoded.text, &*text);
            prop_assert!(!decoded.lossy);
        }
        let escaped = spelled(&text, NonAscii::Escaped);
        prop_assert!(escaped.is_ascii());
        prop_assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), &*text);
        prop_assert_eq!(spelled(&text, NonAscii::Raw), serde_json::to_string(&text).unwrap());
    }

    /// F-069
    #[test]
    fn walkers_and_scanner_see_the_same_values(value in value()) {
        let mut text = String::new();
        let places = write(&value, &mut text);
        let bytes = text.as_bytes();
        accepts(&text);
        prop_assert_eq!(Scanner::new(bytes).value(0, 0), Ok(text.len()));
        prop_assert_eq!(skip(bytes, 0), text.len());
        let spans: Vec<Span> = places.iter().map(|(_, span)| *span).collect();
        match value {
            Value::Array(..) => prop_assert_eq!(items(bytes), spans),
            Value::Object(..) => {
                let found: Vec<_> =
                    members(bytes).iter().map(|member| (Some(member.key), member.value)).collect();
                prop_assert_eq!(&found, &places);
            }
            Value::Scalar(_) => {
                prop_assert!(items(bytes).is_empty() && members(bytes).is_empty());
            }
        }
        prop_assert_eq!(by_cursor(bytes), places);
    }

    #[test]
    fn walkers_stay_inside_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let end = bytes.len();
        prop_assert!(skip(&bytes, 0) <= end.max(1));
        prop_assert!(items(&bytes).iter().all(|span| span.start <= span.end));
        prop_assert!(members(&bytes).iter().all(|member| member.key.start <= member.key.end));
        let _ = (Scanner::new(&bytes).value(0, 0), decode(&bytes), get(&bytes, "a"));
    }
}
