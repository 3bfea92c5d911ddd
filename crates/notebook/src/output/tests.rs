use super::*;

fn view(json: &str) -> OutputView<'_> {
    json::check(json.as_bytes(), 0).unwrap();
    OutputView::new(json.as_bytes())
}

#[test]
fn a_digest_is_one_line() {
    let check = |json: &str, expected: &str| {
        assert_eq!(view(json).digest().to_string(), expected, "{json}");
        let list = format!("[{json} , {json}]");
        let all: Vec<String> = digests(list.as_bytes()).iter().map(|one| one.to_string()).collect();
        assert_eq!(all, [expected, expected], "{json}");
    };
    let stream = |text: &str| {
        format!("{{\"output_type\": \"stream\", \"name\": \"stdout\", \"text\": {text}}}")
    };
    check(&stream(r#""""#), "stdout 0 lines 0B");
    check(&stream(r#""hi""#), "stdout 1 line 2B");
    check(&stream(r#""hi\n""#), "stdout 1 line 4B");
    check(&stream(r#"["a\n", "b\n", "c"]"#), "stdout 3 lines 7B");
    check(&stream("[]"), "stdout 0 lines 0B");
    // A backslash before an n is no line break.
    check(&stream(r#""C:\\new\\n""#), "stdout 1 line 10B");
    check(
        r#"{"output_type": "error", "ename": "ValueError", "evalue": "bad\nworse", "traceback": []}"#,
        "error ValueError: bad",
    );
    check(
        r#"{"output_type": "error", "ename": "KeyboardInterrupt", "evalue": ""}"#,
        "error KeyboardInterrupt",
    );
    check(
        r#"{"output_type": "display_data", "data": {"image/png": "AAAAAAAA", "text/plain": ["<Figure>"]}, "metadata": {}}"#,
        "image/png 6B + text/plain 8B",
    );
    check(
        r#"{"output_type": "execute_result", "data": {"image/svg+xml": "<svg/>"}}"#,
        "image/svg+xml 6B",
    );
    check(
        r#"{"output_type": "display_data", "data": {}, "metadata": {"a": [{}]}}"#,
        "empty display",
    );
    check(r#"{"output_type": "display_data", "data": [1]}"#, "empty display");
    check(r#"{"output_type": "pyout"}"#, "pyout");
    check("{}", "not an output");
    check("7", "not an output");
}

#[test]
fn sizes_are_short() {
    let check = |bytes, expected: &str| assert_eq!(human_size(bytes), expected);
    check(0, "0B");
    check(1023, "1023B");
    check(1024, "1.0KB");
    check(1_500_000, "1.4MB");
}

#[test]
fn the_text_of_an_output_is_what_a_reader_wants() {
    let check = |json: &str, expected: Option<&str>| {
        assert_eq!(view(json).text().as_deref(), expected, "{json}");
    };
    check(r#"{"output_type": "stream", "text": ["a\n", "b"]}"#, Some("a\nb"));
    check(r#"{"output_type": "stream", "text": "a"}"#, Some("a"));
    check(r#"{"output_type": "error", "traceback": ["one", "two"]}"#, Some("one\ntwo"));
    check(r#"{"data": {"text/html": "<b>", "text/plain": ["x", "y"]}}"#, Some("xy"));
    check(r#"{"data": {"text/plain": "x", "text/markdown": "*x*"}}"#, Some("*x*"));
    check(r#"{"data": {"image/png": "AAAA"}}"#, None);
    check("{}", None);
}

#[test]
fn only_the_four_kinds_of_output_are_taken() {
    for json in ["{}", "[]", "1", "{\"output_type\": \"pyout\"}", "{\"output_type\": 1}"] {
        assert_eq!(NbOutput::from_json(json), Err(OutputError::NotAnOutput), "{json}");
    }
    assert!(matches!(NbOutput::from_json("{\"a\" 1}"), Err(OutputError::Syntax(_))));
    assert!(matches!(NbOutput::from_json("{} {}"), Err(OutputError::Syntax(_))));
}

#[test]
fn an_output_has_the_fields_nbformat_demands() {
    /// A field with values that fit and values that do not.
    type Field = (&'static str, &'static [&'static str], &'static [&'static str]);
    let all: [(&str, &[Field]); 4] = [
        (
            "stream",
            &[
                ("name", &["\"stdout\""], &["1"]),
                ("text", &["\"\"", "[\"a\", \"b\"]"], &["null", "[1]"]),
            ],
        ),
        ("display_data", &[("data", &["{}"], &["[]"]), ("metadata", &["{}"], &["null"])]),
        (
            "execute_result",
            &[
                ("data", &["{}"], &["\"\""]),
                ("execution_count", &["null", "7"], &["-1", "\"1\""]),
                ("metadata", &["{}"], &["1"]),
            ],
        ),
        (
            "error",
            &[
                ("ename", &["\"E\""], &["{}"]),
                ("evalue", &["\"\""], &["null"]),
                ("traceback", &["[]", "[\"t\"]"], &["\"t\"", "[[]]"]),
            ],
        ),
    ];
    for (kind, fields) in all {
        let output = |changed: &str, value: Option<&str>| {
            let mut json = format!(" {{\"output_type\": \"{kind}\"");
            for (field, good, _) in fields {
                let value = if *field == changed { value } else { Some(good[0]) };
                json.extend(value.map(|value| format!(", \"{field}\": {value}")));
            }
            json + "}\n"
        };
        for &(field, good, bad) in fields {
            for value in good {
                let json = output(field, Some(value));
                assert_eq!(NbOutput::from_json(&json).unwrap().json(), json.trim().as_bytes());
            }
            for value in bad.iter().copied().map(Some).chain([None]) {
                let found = NbOutput::from_json(&output(field, value));
                let Err(OutputError::Field { kind: named, field: at, .. }) = found else {
                    panic!("{kind} {field} {value:?}: {found:?}")
                };
                assert_eq!((named, at), (kind, field));
            }
        }
    }
    let error =
        NbOutput::from_json("{\"output_type\": \"stream\", \"name\": \"stdout\"}").unwrap_err();
    let expected =
        "stream output: \"text\" is missing or wrong; expected a string or a list of strings";
    assert_eq!(error.to_string(), expected);
}

/// F-070
#[test]
fn an_output_is_no_deeper_than_a_file_can_hold() {
    let output = |depth: usize| {
        let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        format!(
            "{{\"output_type\": \"display_data\", \"data\": {{\"a/b\": {nested}}}, \"metadata\": {{}}}}"
        )
    };
    assert!(NbOutput::from_json(&output(995 - 6)).is_ok());
    assert!(NbOutput::from_json(&output(995 - 5)).is_err());
}
