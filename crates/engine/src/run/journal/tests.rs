use super::*;

fn outputs(id: &str, text: &str) -> CellOutputs {
    let cell = KnownCell {
        id: Some(id.to_owned()),
        index: 1,
        source: "x\n\u{e9}".to_owned(),
        planned: None,
    };
    let json = format!(
        "{{\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":[{}]}}",
        serde_json::json!(text)
    );
    let outputs = vec![NbOutput::from_json(&json).expect("an output")];
    CellOutputs { cell, count: Some(3), outputs }
}

/// F-078: kept outputs are found, even if the last line is incomplete.
#[test]
fn what_was_kept_is_found() {
    let dir = tempfile::TempDir::new().expect("a folder");
    let path = dir.path().join("a.outputs");
    assert_eq!(Journal::left(&path).expect("nothing"), []);
    let mut journal = Journal::new(path.clone());
    let (one, two) = (outputs("a", "one\n"), outputs("b", "two \u{1f600}\n"));
    journal.keep(&one).expect("it is kept");
    journal.keep(&two).expect("it is kept");
    assert_eq!(Journal::left(&path).expect("two"), [one.clone(), two.clone()]);
    let whole = std::fs::read(&path).expect("the file");
    let first = whole.iter().rposition(|byte| *byte == b'\n').expect("a line");
    for cut in first..whole.len() {
        std::fs::write(&path, &whole[..cut]).expect("a file");
        assert_eq!(Journal::left(&path).expect("one"), std::slice::from_ref(&one), "{cut}");
        // A host that continues after a full disk loses no later outputs.
        let mut after = Journal::new(path.clone());
        after.keep(&two).expect("it is kept");
        assert_eq!(Journal::left(&path).expect("two"), [one.clone(), two.clone()], "{cut}");
    }
    journal.clear().expect("it is gone");
    journal.clear().expect("it is gone already");
    assert!(!path.exists());
}
