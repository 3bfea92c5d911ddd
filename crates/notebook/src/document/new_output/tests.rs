use super::*;

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
    /// A field, values that fit it, and values that do not.
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
