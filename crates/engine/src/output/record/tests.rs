//! Events in, outputs of a notebook out.

use bytes::Bytes;

use super::*;

fn out(text: &str) -> ExecEvent {
    stream(StreamName::Stdout, text.as_bytes())
}

fn stream(name: StreamName, bytes: &[u8]) -> ExecEvent {
    ExecEvent::Stream { name, data: Bytes::copy_from_slice(bytes) }
}

fn bundle(forms: &[(&str, MimeData)]) -> MimeBundle {
    let data = forms.iter().map(|(mime, data)| ((*mime).to_owned(), data.clone())).collect();
    MimeBundle { data, metadata: String::new() }
}

fn plain(text: &str) -> MimeBundle {
    bundle(&[("text/plain", MimeData::Text(text.to_owned()))])
}

fn id(id: &str) -> DisplayId {
    DisplayId(id.into())
}

fn record(events: &[ExecEvent]) -> ExecutionOutputs {
    let mut recorder = OutputRecorder::new(SizePolicy::Whole);
    for event in events {
        recorder.push(event);
    }
    recorder.finish()
}

fn json(outputs: &[NbOutput]) -> Vec<String> {
    outputs.iter().map(|output| String::from_utf8(output.json().to_vec()).unwrap()).collect()
}

fn check(events: &[ExecEvent], expected: &[&str]) {
    let recorded = record(events);
    assert_eq!(recorded.problems, []);
    assert_eq!(json(&recorded.outputs), expected);
}

fn stdout(lines: &str) -> String {
    format!("{{\"name\":\"stdout\",\"output_type\":\"stream\",\"text\":[{lines}]}}")
}

/// Consecutive streams of one name become one output, split into lines as Jupyter splits them.
#[test]
fn streams_are_joined() {
    check(
        &[out("a\nb"), out("c\n"), stream(StreamName::Stderr, b"e"), out("d"), out("")],
        &[
            &stdout("\"a\\n\",\"bc\\n\""),
            "{\"name\":\"stderr\",\"output_type\":\"stream\",\"text\":[\"e\"]}",
            &stdout("\"d\""),
        ],
    );
    // No cleaning happens, and Python's other line ends split too.
    check(
        &[out("\x1b[31mx\r10%\r\n\x0cy\u{2028}z")],
        &[&stdout("\"\\u001b[31mx\\r\",\"10%\\r\\n\",\"\\f\",\"y\u{2028}\",\"z\"")],
    );
}

/// A character cut by a chunk stays complete; invalid UTF-8 is replaced.
#[test]
fn streams_are_decoded_at_the_end() {
    let bytes = "é😀".as_bytes();
    let events: Vec<ExecEvent> =
        bytes.chunks(1).map(|byte| stream(StreamName::Stdout, byte)).collect();
    check(&events, &[&stdout("\"é😀\"")]);
    check(&[stream(StreamName::Stdout, b"a\xffb")], &[&stdout("\"a\u{fffd}b\"")]);
}

/// Results have their count, forms are in order, and each is spelled as in files.
#[test]
fn forms_are_spelled_as_in_files() {
    let data = bundle(&[
        ("text/plain", MimeData::Text("a\nb".to_owned())),
        ("image/png", MimeData::Binary(Bytes::from_static(b"\x89PNG"))),
        (
            "application/json",
            MimeData::Json("{\"b\": [1.0, {\"y\":1,\"x\":2}], \"a\": \"\\u00e9\"}".to_owned()),
        ),
        ("image/svg+xml", MimeData::Text("<svg>\n</svg>".to_owned())),
        ("application/x-custom", MimeData::Text("a\nb".to_owned())),
    ]);
    let data = MimeBundle {
        metadata: "{\"image/png\": {\"width\": 3, \"height\": 2}}".to_owned(),
        ..data
    };
    check(
        &[ExecEvent::Result { count: 7, id: None, data }],
        &["{\"data\":{\"application/json\":{\"a\":\"é\",\"b\":[1.0,{\"x\":2,\"y\":1}]},\
           \"application/x-custom\":\"a\\nb\",\"image/png\":\"iVBORw==\",\
           \"image/svg+xml\":[\"<svg>\\n\",\"</svg>\"],\"text/plain\":[\"a\\n\",\"b\"]},\
           \"execution_count\":7,\"metadata\":{\"image/png\":{\"height\":2,\"width\":3}},\
           \"output_type\":\"execute_result\"}"],
    );
    // Python writes `NaN`, and files may hold it; a text that is not JSON becomes null.
    for (json, stored) in [("[NaN, 1]", "[NaN, 1]"), ("{nonsense", "null"), ("", "null")] {
        let data = bundle(&[("application/json", MimeData::Json(json.to_owned()))]);
        let expected = format!(
            "{{\"data\":{{\"application/json\":{stored}}},\"metadata\":{{}},\"output_type\":\"display_data\"}}"
        );
        check(&[ExecEvent::Display { id: None, data }], &[&expected]);
    }
}

/// Errors keep their coloured lines.
#[test]
fn errors_keep_their_colours() {
    let error = PyError {
        name: "ValueError".to_owned(),
        value: "no \"x\"".to_owned(),
        traceback: vec!["\x1b[31mTraceback\x1b[0m".to_owned(), "two\nlines".to_owned()],
        plain: vec!["Traceback".to_owned()],
    };
    check(
        &[out("x"), ExecEvent::Finished(Outcome::Error(error))],
        &[
            &stdout("\"x\""),
            "{\"ename\":\"ValueError\",\"evalue\":\"no \\\"x\\\"\",\"output_type\":\"error\",\
             \"traceback\":[\"\\u001b[31mTraceback\\u001b[0m\",\"two\\nlines\"]}",
        ],
    );
    check(&[ExecEvent::Finished(Outcome::Ok), ExecEvent::Started { count: Some(1) }], &[]);
}

/// F-040: clearing at once and clearing with the next output.
#[test]
fn outputs_are_cleared() {
    let clear = |wait| ExecEvent::ClearOutput { wait };
    check(&[out("a"), clear(false)], &[]);
    check(&[out("a"), clear(false), out("b")], &[&stdout("\"b\"")]);
    check(&[out("a"), clear(true)], &[&stdout("\"a\"")]);
    check(&[out("a"), clear(true), out("b"), out("c")], &[&stdout("\"bc\"")]);
    let frames: Vec<ExecEvent> =
        (0..5000).flat_map(|n| [clear(true), out(&format!("{n}"))]).collect();
    check(&frames, &[&stdout("\"4999\"")]);
    // An update adds no output, so a pending clear keeps waiting.
    let shown = ExecEvent::Display { id: Some(id("x")), data: plain("old") };
    let changed = ExecEvent::UpdateDisplay { id: id("x"), data: plain("new") };
    check(
        &[shown, clear(true), changed],
        &["{\"data\":{\"text/plain\":[\"new\"]},\"metadata\":{},\"output_type\":\"display_data\"}"],
    );
}

/// Updates change every display of the id here, and are reported for those elsewhere.
#[test]
fn updates_reach_all_displays() {
    let shown = |text: &str| ExecEvent::Display { id: Some(id("x")), data: plain(text) };
    let output = |text: &str| {
        format!(
            "{{\"data\":{{\"text/plain\":[\"{text}\"]}},\"metadata\":{{}},\"output_type\":\"display_data\"}}"
        )
    };
    let update = ExecEvent::UpdateDisplay { id: id("x"), data: plain("last") };
    let recorded = record(&[shown("one"), out("a"), shown("two"), update.clone()]);
    assert_eq!(json(&recorded.outputs), [output("last"), stdout("\"a\""), output("last")]);
    assert_eq!(recorded.displays, [(id("x"), 0), (id("x"), 2)]);
    assert_eq!(recorded.changes.len(), 1);

    // A second display under a known id changes the earlier ones as well.
    let recorded = record(&[shown("one"), shown("two")]);
    assert_eq!(json(&recorded.outputs), [output("two"), output("two")]);

    // Issue 21, 16: a result with an id changes like a display, and stays a result.
    let result = ExecEvent::Result { count: 3, id: Some(id("x")), data: plain("first") };
    let recorded = record(&[result, update.clone()]);
    let wanted = "{\"data\":{\"text/plain\":[\"last\"]},\"execution_count\":3,\"metadata\":{},\
                  \"output_type\":\"execute_result\"}";
    assert_eq!((json(&recorded.outputs), recorded.displays.len()), (vec![wanted.to_owned()], 1));

    // A cell without displays changes another cell's output, whatever its kind.
    let mut recorder = OutputRecorder::new(SizePolicy::Whole);
    let change = recorder.push(&update).unwrap();
    assert_eq!(recorder.finish().outputs, []);
    for (before, after) in [
        (output("old"), output("last")),
        ("{\"data\":{},\"execution_count\":3,\"metadata\":{\"a\":1},\"output_type\":\"execute_result\"}".to_owned(),
         "{\"data\":{\"text/plain\":[\"last\"]},\"execution_count\":3,\"metadata\":{},\"output_type\":\"execute_result\"}".to_owned()),
    ] {
        let changed = change.apply(&NbOutput::from_json(&before).unwrap()).unwrap();
        assert_eq!(json(&[changed]), [after]);
    }
}

/// F-040: many displays and many updates end in the final state.
#[test]
fn storms_end_in_the_final_state() {
    let mut events = vec![ExecEvent::Display { id: Some(id("x")), data: plain("start") }];
    events.extend(
        (0..10_000).map(|n| ExecEvent::UpdateDisplay { id: id("x"), data: plain(&n.to_string()) }),
    );
    events.extend(
        (0..20_000).map(|n| ExecEvent::Display { id: Some(id(&n.to_string())), data: plain("y") }),
    );
    let recorded = record(&events);
    assert_eq!(recorded.outputs.len(), 20_001);
    assert!(json(&recorded.outputs[..1])[0].contains("\"9999\""));
}

/// F-041: the policy is off by default; with it streams keep both ends and giant forms are named.
#[test]
fn a_policy_may_limit_sizes() {
    let long = "line\n".repeat(1000);
    let whole = record(&[out(&long)]);
    assert_eq!(json(&whole.outputs)[0].matches("line").count(), 1000);

    let mut recorder = OutputRecorder::new(SizePolicy::Limit { max_bytes: 100 });
    for chunk in format!("é{long}é").as_bytes().chunks(7) {
        recorder.push(&stream(StreamName::Stdout, chunk));
    }
    let picture = MimeData::Binary(Bytes::from(vec![0; 2048]));
    recorder.push(&ExecEvent::Display {
        id: None,
        data: bundle(&[
            ("image/png", picture.clone()),
            ("text/plain", MimeData::Text("kept".to_owned())),
        ]),
    });
    recorder.push(&ExecEvent::Display { id: None, data: bundle(&[("image/png", picture)]) });
    let recorded = json(&recorder.finish().outputs);
    assert!(
        recorded[0]
            .starts_with("{\"name\":\"stdout\",\"output_type\":\"stream\",\"text\":[\"éline\\n\"")
    );
    assert!(
        recorded[0].contains(" lines elided (") && recorded[0].ends_with("\"line\\n\",\"é\"]}")
    );
    assert!(recorded[0].len() < 400);
    assert!(recorded[1].contains("kept") && !recorded[1].contains("image/png"));
    assert!(recorded[2].contains("[left out of the notebook: image/png of 2.0KB]"));
}

/// A notebook may hold JSON other than text only under JSON's own types; status events stay out.
#[test]
fn what_the_format_does_not_allow_is_text_or_left_out() {
    let value = || MimeData::Json("{\"a\":1}".to_owned());
    let status = bundle(&[("application/x-omp-status", value())]);
    let odd = bundle(&[("application/x-odd", value()), ("application/geo+json", value())]);
    check(
        &[
            ExecEvent::Display { id: None, data: status },
            ExecEvent::Display { id: None, data: odd },
        ],
        &[
            "{\"data\":{\"application/geo+json\":{\"a\":1},\"application/x-odd\":\"{\\\"a\\\":1}\"},\
           \"metadata\":{},\"output_type\":\"display_data\"}",
        ],
    );
}
