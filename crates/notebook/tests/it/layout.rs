//! An edit writes in the layout of the file, and nothing else changes.

use inkcell_notebook::{
    CellKind, CellPlace, CellRef, EditNote, EditOp, IdSource, Notebook, OutputsAfter, SourceShape,
};
use inkcell_testkit::notebooks;

/// A function that reformats a file.
type Restyle = dyn Fn(&str) -> String;

fn parse(text: &str) -> Notebook {
    Notebook::parse(text.as_bytes().to_vec()).unwrap()
}

fn text_of(notebook: &Notebook) -> String {
    String::from_utf8(notebook.to_bytes()).unwrap()
}

fn replace(index: i64, source: &str) -> EditOp {
    EditOp::Replace {
        cell: CellRef::Index(index),
        source: source.to_owned(),
        kind: None,
        outputs: OutputsAfter::Keep,
        shape: SourceShape::Keep,
    }
}

fn insert(at: CellPlace, kind: CellKind, source: &str) -> EditOp {
    EditOp::Insert { at, kind, source: source.to_owned() }
}

fn check(before: &str, op: EditOp, after: &str) {
    let mut notebook = parse(before);
    notebook.apply(&[op], &mut IdSource::seeded(1)).unwrap();
    assert_eq!(text_of(&notebook), after);
}

/// B:N-03 F-075
#[test]
fn a_new_cell_is_laid_out_like_the_others() {
    let id = IdSource::seeded(1).next_id();
    // The expected file comes from the same writer as the file around the new cell.
    let new = (id.as_str(), "a = 'é'\n\nb");
    let cells = [("markdown", "m1m1", "x"), ("markdown", new.0, new.1), ("markdown", "m2m2", "y")];
    let with = notebooks::jupyter(&cells);
    let without = notebooks::jupyter(&[cells[0], cells[2]]);
    let indented = |unit: &'static str| {
        move |text: &str| -> String {
            let line = |line: &str| {
                let rest = line.trim_start_matches(' ');
                format!("{}{rest}", unit.repeat(line.len() - rest.len()))
            };
            text.split('\n').map(line).collect::<Vec<_>>().join("\n")
        }
    };
    let compact = |text: &str| -> String {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        value.to_string()
    };
    let spaced = move |text: &str| compact(text).replace("\":", "\": ").replace(',', ", ");
    let styles: [(&str, Box<Restyle>); 9] = [
        ("one blank", Box::new(str::to_owned)),
        ("two blanks", Box::new(indented("  "))),
        ("four blanks", Box::new(indented("    "))),
        ("tabs", Box::new(indented("\t"))),
        ("CRLF", Box::new(|text: &str| text.replace('\n', "\r\n"))),
        ("no final newline", Box::new(|text: &str| text.trim_end().to_owned())),
        ("compact", Box::new(compact)),
        ("one line with blanks", Box::new(spaced)),
        ("blanks before colons", Box::new(|text: &str| text.replace("\": ", "\" : "))),
    ];
    for (name, style) in styles {
        let mut notebook = parse(&style(&without));
        let op = insert(CellPlace::After(CellRef::Index(0)), CellKind::Markdown, new.1);
        notebook.apply(&[op], &mut IdSource::seeded(1)).unwrap();
        assert_eq!(text_of(&notebook), style(&with), "{name}");
        // Insert into an empty list of cells too.
        let only = notebooks::jupyter(&cells[1..2]);
        let mut notebook = parse(&style(&notebooks::jupyter(&[])));
        notebook
            .apply(&[insert(CellPlace::End, CellKind::Markdown, new.1)], &mut IdSource::seeded(1))
            .unwrap();
        assert_eq!(text_of(&notebook), style(&only), "{name}, no cells");
    }
}

/// B:N-04
#[test]
fn the_end_of_the_file_stays_as_it_is() {
    for end in ["", "\n", "\r\n", "\n\n  ", " \t"] {
        let before = format!("{}{end}", notebooks::small().trim_end());
        check(&before, replace(2, "z"), &before.replace("y = 2\\n", "z"));
    }
}

/// B:N-03 F-063 F-072
#[test]
fn everything_else_keeps_its_bytes() {
    let before = r#"{ "x-top" : [1.0, 1e400,-0, 1E+2,12345678901234567890, NaN,-Infinity ],
  "cells": [
    {"source": ["one\n", "two"], "cell_type": "code", "x-cell": {"é": "\u00e9\/"}, "metadata": {"n": 1.50},
     "outputs": [{"output_type": "stream", "name": "stdout", "text": "\u001B[0m"}], "execution_count": 1.0, "attachments": {}},
    {"cell_type": "markdown", "attachments": {"a.png": {"image/png": "AA=="}}, "metadata": {}, "source": "x"}
  ],
  "metadata": {"\u006b": "\ud83d", "a": 1, "a": 2}, "nbformat_minor": 4, "nbformat": 4 }
"#;
    check(before, replace(0, "one\nTWO"), &before.replace("\"two\"", "\"TWO\""));
    check(before, replace(1, "y"), &before.replace("\"source\": \"x\"", "\"source\": \"y\""));
    let moved = EditOp::Move { cell: CellRef::Index(1), to: CellPlace::Start };
    let mut notebook = parse(before);
    let bodies: Vec<Vec<u8>> = notebook.cells().map(|cell| cell.json().to_vec()).collect();
    notebook.apply(&[moved], &mut IdSource::seeded(1)).unwrap();
    let again = parse(&text_of(&notebook));
    let now: Vec<Vec<u8>> = again.cells().map(|cell| cell.json().to_vec()).collect();
    assert_eq!(now, [bodies[1].clone(), bodies[0].clone()]);
    let count = EditOp::Clear { cell: Some(CellRef::Index(0)) };
    let outputs = r#"[{"output_type": "stream", "name": "stdout", "text": "\u001B[0m"}]"#;
    check(before, count, &before.replace(outputs, "[]").replace("count\": 1.0", "count\": null"));
}

/// B:N-05 F-075
#[test]
fn text_outside_ascii_is_spelled_as_in_the_rest_of_the_file() {
    let with = |other: &str, source: &str| {
        format!(
            "{{\"cells\": [{{\"cell_type\": \"raw\", \"source\": \"{source}\"}}], \"metadata\": {{\"t\": \"{other}\"}}, \"nbformat\": 4}}"
        )
    };
    let new = "é😀\u{7f}";
    let raw = |other: &str| check(&with(other, "x"), replace(0, new), &with(other, new));
    let escaped = |other: &str| {
        check(&with(other, "x"), replace(0, new), &with(other, r"\u00e9\ud83d\ude00\u007f"));
    };
    raw("plain");
    raw("ü");
    raw(r"ü \u00fc");
    raw(r"\ud83d");
    escaped(r"\u00fc");
    escaped(r"\ud83d\ude00");
}

/// B:N-06 F-076
#[test]
fn a_source_keeps_its_shape() {
    let with = |source: &str| {
        format!(
            "{{\"cells\": [{{\"cell_type\": \"raw\", \"metadata\": {{}}, \"source\": {source}}}], \"nbformat\": 4}}"
        )
    };
    let shape = |old: &str, new: &str, expected: &str| {
        check(&with(old), replace(0, new), &with(expected));
    };
    shape(r#""a\nb""#, "a\nc", r#""a\nc""#);
    shape(r#""a""#, "", r#""""#);
    shape(r#"["a\n", "b"]"#, "a\nc", r#"["a\n", "c"]"#);
    shape(r#"["a\n", "b"]"#, "", "[]");
    shape("[]", "a\nb", r#"["a\n", "b"]"#);
    shape(r#"["a"]"#, "b\r\nc\u{2028}\u{c}d\re", "[\"b\\r\\n\", \"c\u{2028}\\fd\\re\"]");
    // Items that are not lines: the text is the joined items, and it is written as lines.
    shape(r#"["a\nb", "c"]"#, "a\nbd", r#"["a\n", "bd"]"#);
    shape(r#"["a", 7, null]"#, "b", r#"["b"]"#);
    shape("7", "b", r#"["b"]"#);
    // The source is missing.
    let bare = r#"{"cells": [{"cell_type": "raw", "metadata": {}}], "nbformat": 4}"#;
    check(bare, replace(0, "b"), &with("[\"b\"]"));
    check(bare, replace(0, ""), bare);
}

/// F-076
#[test]
fn odd_sources_are_read_as_text() {
    let source = |json: &str| -> (String, bool) {
        let notebook = parse(&format!(
            "{{\"cells\": [{{\"cell_type\": \"raw\", \"source\": {json}}}], \"nbformat\": 4}}"
        ));
        let source = notebook.cell(0).unwrap().source();
        (source.text.into_owned(), source.lossy)
    };
    let check = |json: &str, text: &str, lossy: bool| {
        assert_eq!(source(json), (text.to_owned(), lossy), "{json}");
    };
    check(r#""a\nb""#, "a\nb", false);
    check(r#"["a\n", "b"]"#, "a\nb", false);
    check(r#"["a\nb", "c\r\nd", "\u2028\f\r"]"#, "a\nbc\r\nd\u{2028}\u{c}\r", false);
    check("[]", "", false);
    check("null", "", false);
    check(r#"["a", 1]"#, "a1", true);
    check(r#"["\ud83d"]"#, "\u{fffd}", true);
    check("{}", "", true);
}

/// F-072
#[test]
fn lone_surrogates_survive_a_change_of_another_line() {
    let with = |source: &str| {
        format!(
            "{{\"cells\": [{{\"cell_type\": \"raw\", \"source\": {source}}}], \"nbformat\": 4}}"
        )
    };
    let change = |before: &str, new: &str, after: &str, notes: &[EditNote]| {
        let mut notebook = parse(&with(before));
        let report = notebook.apply(&[replace(0, new)], &mut IdSource::seeded(1)).unwrap();
        assert_eq!(text_of(&notebook), with(after));
        assert_eq!(report.changes[0].notes, notes);
    };
    let odd = r#"["x = '\uD83D'\n", "y\n", "\udc00\u00E9"]"#;
    let kept = odd.replace("\"y\\n\"", "\"z\\n\"");
    change(odd, "x = '\u{fffd}'\nz\n\u{fffd}é", &kept, &[]);
    let more = odd.replace("\"y\\n\"", "\"y\\n\", \"new\\n\"");
    change(odd, "x = '\u{fffd}'\ny\nnew\n\u{fffd}é", &more, &[]);
    // A changed line loses its lone surrogate, and the report says so.
    let lost = "[\"x = ''\\n\", \"y\\n\", \"\\udc00\\u00E9\"]";
    change(odd, "x = ''\ny\n\u{fffd}é", lost, &[EditNote::SurrogatesLost]);
    // A string is written as a whole.
    let lost = "\"z\u{fffd}\"";
    change(r#""y\ud83d""#, "z\u{fffd}", lost, &[EditNote::SurrogatesLost]);
    change(r#""y\ud83d""#, "y\u{fffd}", r#""y\ud83d""#, &[EditNote::Unchanged]);
}

/// B:N-05
#[test]
fn added_keys_stand_where_the_order_of_the_others_puts_them() {
    let one = |cell: &str| format!("{{\"cells\": [{{{cell}}}], \"nbformat\": 4}}");
    let to_code = EditOp::SetKind { cell: CellRef::Index(0), kind: CellKind::Code };
    check(
        &one(r#""cell_type": "raw", "metadata": {}, "source": "x", "zz": 1"#),
        to_code.clone(),
        &one(
            r#""cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": "x", "zz": 1"#,
        ),
    );
    // Keys in another order keep it; an added key goes next to the type.
    check(
        &one(r#""source": "x", "metadata": {}, "cell_type": "raw", "zz": 1"#),
        to_code,
        &one(
            r#""source": "x", "metadata": {}, "cell_type": "code", "outputs": [], "execution_count": null, "zz": 1"#,
        ),
    );
}

/// F-075
#[test]
fn a_byte_order_mark_stays() {
    let before = format!("\u{feff}{}", notebooks::small());
    check(&before, replace(2, "z"), &before.replace("y = 2\\n", "z"));
}

/// F-063
#[test]
fn deleting_takes_the_comma_along_and_nothing_else() {
    let text = "{\"cells\": [\n  {\"cell_type\": \"raw\"} ,\n\n  {\"cell_type\": \"code\"},  {\"cell_type\": \"markdown\"}\n ], \"nbformat\": 4}";
    let delete = |index| EditOp::Delete { cell: CellRef::Index(index) };
    check(
        text,
        delete(0),
        "{\"cells\": [\n  {\"cell_type\": \"code\"},  {\"cell_type\": \"markdown\"}\n ], \"nbformat\": 4}",
    );
    check(
        text,
        delete(1),
        "{\"cells\": [\n  {\"cell_type\": \"raw\"} ,\n\n  {\"cell_type\": \"markdown\"}\n ], \"nbformat\": 4}",
    );
    check(
        text,
        delete(2),
        "{\"cells\": [\n  {\"cell_type\": \"raw\"} ,\n\n  {\"cell_type\": \"code\"}\n ], \"nbformat\": 4}",
    );
}
