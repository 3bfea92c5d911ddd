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
        let all: Vec<String> =
            read_digests(list.as_bytes()).iter().map(|one| one.to_string()).collect();
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
    // A backslash before an n does not break the line.
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
fn sizes_have_a_unit_and_one_decimal() {
    let check = |bytes, expected: &str| assert_eq!(format_size(bytes), expected);
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
