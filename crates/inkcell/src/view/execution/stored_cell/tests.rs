use inkcell_engine::notebook::Notebook;

use super::*;

fn notebook(outputs: &str) -> Notebook {
    let text = format!(
        "{{\"cells\": [{{\"cell_type\": \"code\", \"id\": \"a\", \"metadata\": {{}}, \"source\": \"\", \
         \"execution_count\": 1, \"outputs\": [{outputs}]}}], \"metadata\": {{}}, \"nbformat\": 4, \
         \"nbformat_minor\": 5}}"
    );
    Notebook::parse(text.into_bytes()).unwrap()
}

fn area(width: usize, expansion: Expansion) -> Area {
    Area { width, expansion }
}

fn texts(rows: &[Line]) -> Vec<String> {
    rows.iter().map(Line::text).collect()
}

fn draw(outputs: &str, expansion: Expansion) -> (Vec<String>, Status) {
    let notebook = notebook(outputs);
    let outputs = notebook.cell(0).unwrap().outputs();
    let (rows, ended) =
        output_rows(&outputs, Showing { area: area(60, expansion), gallery: None, page: None });
    (texts(&rows), ended)
}

/// B:T-03
#[test]
fn a_source_is_previewed_by_six_lines() {
    let text: Vec<String> = (0..20).map(|at| format!("x{at} = {at}")).collect();
    let text = text.join("\n");
    let rows = texts(&source_rows(&text, Language::Python, area(40, Expansion::Collapsed)));
    assert_eq!(rows.len(), 7);
    assert_eq!(rows[5], "x5 = 5");
    assert_eq!(rows[6], "… 14 more lines (ctrl+o to expand)");
    let rows = texts(&source_rows(&text, Language::Python, area(40, Expansion::Expanded)));
    assert_eq!(rows.len(), 20);
    for empty in ["", " \n "] {
        let rows = source_rows(empty, Language::Python, area(40, Expansion::Collapsed));
        assert_eq!(texts(&rows), ["(empty cell)"]);
    }
    let long = source_rows(&"x".repeat(100), Language::Other, area(10, Expansion::Collapsed));
    assert_eq!(texts(&long)[6..].concat(), "… 1 moreline(ctrl+o toexpand)");
}

/// B:T-11
#[test]
fn stored_outputs_look_as_they_did_when_they_were_made() {
    let stream = r#"{"output_type": "stream", "name": "stdout", "text": ["one\n", "tw\ro\n"]}"#;
    let result = r#"{"output_type": "execute_result", "execution_count": 1, "metadata": {},
        "data": {"text/plain": ["42"], "text/html": ["<b>42</b>"]}}"#;
    let (rows, ended) = draw(&format!("{stream}, {result}"), Expansion::Collapsed);
    assert_eq!(rows, ["  one", "  ow", "  42"]);
    assert_eq!(ended, Status::Complete);
    let error = r#"{"output_type": "error", "ename": "E", "evalue": "v",
        "traceback": ["\u001b[31mTraceback\u001b[0m", "E: v"]}"#;
    let (rows, ended) = draw(error, Expansion::Collapsed);
    assert_eq!(rows, ["  Traceback", "  E: v"]);
    assert_eq!(ended, Status::Error);
    let picture = r#"{"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORw0KGgo=\n"}}"#;
    let (rows, _) = draw(picture, Expansion::Collapsed);
    assert!(rows.concat().contains("image/png"), "{rows:?}");
}

/// Outputs in a file need not follow nbformat.
#[test]
fn outputs_that_are_none_are_shown_as_what_they_are() {
    for odd in [
        "1",
        "{}",
        r#"{"output_type": 3}"#,
        r#"{"output_type": "stream", "text": {"a": NaN}}"#,
        r#"{"output_type": "stream", "text": "\ud800 x"}"#,
        r#"{"output_type": "display_data", "data": [1]}"#,
        r#"{"output_type": "display_data", "data": {"image/png": {}}}"#,
        r#"{"output_type": "error", "traceback": "no list"}"#,
    ] {
        for expansion in [Expansion::Collapsed, Expansion::Expanded] {
            draw(odd, expansion);
        }
    }
}

#[test]
fn of_a_long_output_the_end_is_shown() {
    let line = "0123456789\\n".repeat(100_000);
    let stream = format!(r#"{{"output_type": "stream", "name": "stdout", "text": "{line}end"}}"#);
    let (rows, _) = draw(&stream, Expansion::Collapsed);
    assert_eq!(rows.last().unwrap(), "  end");
    assert!(rows.len() <= 12, "{rows:?}");
    // Issue 24, 12: the lines that are not even kept count too.
    assert_eq!(rows[0], "… 99991 more lines (ctrl+o to expand)");
    let (rows, _) = draw(&stream, Expansion::Expanded);
    assert!(rows[0].contains("97"), "says how much is left out: {:?}", rows[0]);
}
