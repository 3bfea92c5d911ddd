#![allow(clippy::needless_pass_by_value, reason = "a table reads better without references")]

use super::*;
use crate::cell::{CellKind, CellRef, IdSource};
use crate::document::{NbOutput, Notebook};
use crate::error::{CellCandidate, EditError, OpError};
use inkcell_testkit::notebooks;

fn parse(text: &str) -> Notebook {
    Notebook::parse(text.as_bytes().to_vec()).unwrap()
}

/// A notebook of one cell with these fields.
fn cell(fields: &str) -> String {
    format!(
        "{{\"cells\": [{{{fields}}}], \"metadata\": {{}}, \"nbformat\": 4, \"nbformat_minor\": 4}}"
    )
}

fn code(count: &str, outputs: &str, source: &str) -> String {
    cell(&format!(
        "\"cell_type\": \"code\", \"execution_count\": {count}, \"metadata\": {{}}, \"outputs\": {outputs}, \"source\": {source}"
    ))
}

fn first() -> CellRef {
    CellRef::Index(0)
}

fn replace(source: &str, kind: Option<CellKind>, outputs: OutputsAfter) -> EditOp {
    let shape = SourceShape::Keep;
    EditOp::Replace { cell: first(), source: source.to_owned(), kind, outputs, shape }
}

fn sub(old: &str, new: &str, matches: Matches, outputs: OutputsAfter) -> EditOp {
    EditOp::Sub { cell: Some(first()), old: old.to_owned(), new: new.to_owned(), matches, outputs }
}

/// Text is replaced in whichever cells have it, and counted for each.
#[test]
fn text_is_replaced_in_all_cells() {
    let source = |source: &str| (CellPlace::End, CellKind::Code, source.to_owned());
    let insert = |(at, kind, source)| EditOp::Insert { at, kind, source };
    let mut notebook = Notebook::empty();
    let cells = ["a a", "b", "xa"].map(source).map(insert);
    notebook.apply(&cells, &mut IdSource::seeded(1)).unwrap();
    let mut sub = |old: &str, new: &str, matches| {
        let (cell, outputs) = (None, OutputsAfter::Keep);
        let op = EditOp::Sub { cell, old: old.to_owned(), new: new.to_owned(), matches, outputs };
        let report = notebook.apply(&[op], &mut IdSource::seeded(1));
        let changes = report.map_err(|error| error.to_string())?.changes;
        Ok::<_, String>(changes.iter().map(|change| (change.index, change.action)).collect())
    };
    let done = |index, count| (Some(index), Action::Substituted { count });
    assert_eq!(sub("a", "c", Matches::All), Ok(vec![done(0, 2), done(2, 1)]));
    assert_eq!(sub("b", "c c", Matches::One), Ok(vec![done(1, 1)]));
    let many = sub("c", "d", Matches::One).unwrap_err();
    assert!(
        many.starts_with("the text to replace occurs 5 times in the notebook: in cell 0"),
        "{many}"
    );
    let none = sub("no", "d", Matches::All).unwrap_err();
    assert_eq!(none, "the text to replace was not found in any cell");
    assert!(sub("", "d", Matches::All).unwrap_err().contains("is empty"));
}

/// Applies one operation and compares the whole file and the notes.
fn check(before: &str, op: EditOp, after: &str, notes: &[EditNote]) {
    let mut notebook = parse(before);
    let report = notebook.apply(std::slice::from_ref(&op), &mut IdSource::seeded(1)).unwrap();
    assert_eq!(String::from_utf8(notebook.to_bytes()).unwrap(), after, "{op:?}");
    assert_eq!(report.changes[0].notes, notes, "{op:?}");
}

fn problem(before: &str, op: EditOp) -> OpError {
    let mut notebook = parse(before);
    match notebook.apply(&[op], &mut IdSource::seeded(1)) {
        Err(EditError::Op { op: 0, problem }) => {
            assert_eq!(notebook.to_bytes(), before.as_bytes(), "a refused edit changes nothing");
            problem
        }
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn outputs_after_a_change_of_the_source() {
    use OutputsAfter::{Clear, ClearIfChanged, Keep};
    let ran = |source: &str| code("7", "[{\"a\": 1}, {}]", source);
    let cleared = |source: &str| code("null", "[]", source);
    let (a, b) = ("[\"a\"]", "[\"b\"]");
    let gone = EditNote::OutputsCleared(2);
    // replace
    check(&ran(a), replace("b", None, ClearIfChanged), &cleared(b), &[gone]);
    check(&ran(a), replace("b", None, Keep), &ran(b), &[]);
    check(&ran(a), replace("b", None, Clear), &cleared(b), &[gone]);
    // The same source changes no byte, unless the operation clears outputs.
    check(&ran(a), replace("a", None, ClearIfChanged), &ran(a), &[EditNote::Unchanged]);
    check(&ran(a), replace("a", None, Keep), &ran(a), &[EditNote::Unchanged]);
    check(&ran(a), replace("a", None, Clear), &cleared(a), &[gone]);
    // sub
    let one = Matches::One;
    check(&ran(a), sub("a", "b", one, ClearIfChanged), &cleared(b), &[gone]);
    check(&ran(a), sub("a", "b", one, Keep), &ran(b), &[]);
    check(&ran(a), sub("a", "a", one, ClearIfChanged), &ran(a), &[EditNote::Unchanged]);
    // A count without outputs is cleared, and no outputs are reported.
    check(&code("7", "[]", a), replace("b", None, ClearIfChanged), &cleared(b), &[]);
    check(&cleared(a), replace("b", None, ClearIfChanged), &cleared(b), &[]);
    // Prose has no outputs to clear.
    let prose = |source: &str| {
        cell(&format!("\"cell_type\": \"markdown\", \"metadata\": {{}}, \"source\": {source}"))
    };
    check(&prose(a), replace("b", None, Clear), &prose(b), &[]);
}

/// B:N-36
#[test]
fn outputs_after_a_change_of_the_kind() {
    let retype = |kind| EditOp::SetKind { cell: first(), kind };
    let (markdown, raw) = (CellKind::Markdown, CellKind::Raw);
    let prose = |kind: &str| {
        cell(&format!("\"cell_type\": \"{kind}\", \"metadata\": {{}}, \"source\": [\"a\"]"))
    };
    let ran = code("7", "[{}]", "[\"a\"]");
    let fresh = code("null", "[]", "[\"a\"]");
    check(&ran, retype(markdown), &prose("markdown"), &[EditNote::OutputsCleared(1)]);
    check(&ran, retype(raw), &prose("raw"), &[EditNote::OutputsCleared(1)]);
    check(&fresh, retype(raw), &prose("raw"), &[]);
    check(&ran, retype(CellKind::Code), &ran, &[EditNote::Unchanged]);
    check(&prose("markdown"), retype(CellKind::Code), &fresh, &[]);
    check(&prose("raw"), retype(CellKind::Code), &fresh, &[]);
    check(&prose("raw"), retype(markdown), &prose("markdown"), &[]);
    // With a new source at the same time, for every choice about outputs.
    for outputs in [OutputsAfter::ClearIfChanged, OutputsAfter::Keep, OutputsAfter::Clear] {
        let to = |kind| replace("b", Some(kind), outputs);
        let new = |text: &str| text.replace("[\"a\"]", "[\"b\"]");
        check(&ran, to(markdown), &new(&prose("markdown")), &[EditNote::OutputsCleared(1)]);
        check(&prose("raw"), to(CellKind::Code), &new(&fresh), &[]);
    }
    // Stale fields of another tool are removed; missing fields are added.
    let stale = cell(
        "\"cell_type\": \"raw\", \"execution_count\": 1, \"metadata\": {}, \"outputs\": [], \"source\": [\"a\"]",
    );
    check(&stale, retype(raw), &prose("raw"), &[]);
    let bare = cell("\"cell_type\": \"code\", \"metadata\": {}, \"source\": [\"a\"]");
    check(&bare, retype(CellKind::Code), &fresh, &[]);
    // Code cells have no attachments.
    let attached = cell(
        "\"attachments\": {\"a.png\": {}}, \"cell_type\": \"markdown\", \"metadata\": {}, \"source\": [\"a\"]",
    );
    check(&attached, retype(CellKind::Code), &fresh, &[EditNote::AttachmentsRemoved]);
    let kept = attached.replace("markdown", "raw");
    check(&attached, retype(raw), &kept, &[]);
}

#[test]
fn clearing_one_cell_or_all() {
    let ran = code("7", "[{}, {}]", "\"a\"");
    let fresh = code("null", "[]", "\"a\"");
    let gone = [EditNote::OutputsCleared(2)];
    check(&ran, EditOp::Clear { cell: Some(first()) }, &fresh, &gone);
    check(&fresh, EditOp::Clear { cell: Some(first()) }, &fresh, &[EditNote::Unchanged]);
    check(&ran, EditOp::Clear { cell: None }, &fresh, &gone);
    check(&fresh, EditOp::Clear { cell: None }, &fresh, &[EditNote::Unchanged]);

    let text = notebooks::small();
    let mut notebook = parse(&text);
    let mut ids = IdSource::seeded(1);
    let report = notebook.apply(&[EditOp::Clear { cell: None }], &mut ids).unwrap();
    assert_eq!((report.changes[0].index, &report.changes[0].notes[..]), (None, &gone[..]));
    let left: usize = notebook.cells().map(|cell| cell.outputs().len()).sum();
    assert_eq!(left, 0);
    // The second time nothing changes, even without parsing the file again.
    let report = notebook.apply(&[EditOp::Clear { cell: None }], &mut ids).unwrap();
    assert_eq!(report.changes[0].notes, [EditNote::Unchanged]);
}

#[test]
fn a_substitution_must_match_once_unless_told_otherwise() {
    let text = code("null", "[]", r#"["x = 1\n", "y = 1\n", "print(x)"]"#);
    let keep = OutputsAfter::Keep;
    let cell = || CellCandidate { index: 0, id: None };
    let new = code("null", "[]", r#"["x = 2\n", "y = 2\n", "print(x)"]"#);
    check(&text, sub("= 1", "= 2", Matches::All, keep), &new, &[]);
    let new = code("null", "[]", r#"["x = 1\n", "z\n", "print(x)"]"#);
    check(&text, sub("y = 1", "z", Matches::One, keep), &new, &[]);
    // The text may span lines.
    let new = code("null", "[]", r#"["x; y = 1\n", "print(x)"]"#);
    check(&text, sub(" = 1\ny", "; y", Matches::One, keep), &new, &[]);

    let found = problem(&text, sub("= 1", "= 2", Matches::One, keep));
    assert_eq!(found, OpError::ManyMatches { cell: cell(), count: 2, lines: vec![1, 2] });
    assert!(found.to_string().contains("occurs 2 times in cell 0 (lines 1, 2)"), "{found}");
    for matches in [Matches::One, Matches::All] {
        let found = problem(&text, sub("print(y)", "", matches, keep));
        let nearest = vec![(3, "print(x)".to_owned())];
        assert_eq!(found, OpError::NoMatch { cell: cell(), nearest });
        assert!(found.to_string().ends_with("the nearest is line 3: print(x)"), "{found}");
        assert_eq!(problem(&text, sub("", "x", matches, keep)), OpError::EmptyPattern);
    }
    let found = problem(&text, sub("qqqqqq", "", Matches::One, keep));
    assert_eq!(found, OpError::NoMatch { cell: cell(), nearest: Vec::new() });

    let mut notebook = parse(&text);
    let op = sub("= 1", "= 2", Matches::All, keep);
    let report = notebook.apply(&[op], &mut IdSource::seeded(1)).unwrap();
    assert_eq!(report.changes[0].action, Action::Substituted { count: 2 });
}

fn meta(set: &[(&str, &str)], unset: &[&str]) -> MetaChange {
    let owned = |text: &str| text.to_owned();
    MetaChange {
        set: set.iter().map(|(key, value)| (owned(key), owned(value))).collect(),
        unset: unset.iter().map(|key| owned(key)).collect(),
    }
}

#[test]
fn metadata_of_a_cell_is_changed_in_place() {
    let with = |metadata: &str| {
        cell(&format!("\"cell_type\": \"raw\", \"metadata\": {metadata}, \"source\": \"\""))
    };
    let on_cell = |change: MetaChange| EditOp::SetMeta { cell: Some(first()), change };
    let old = with(r#"{"b":  1.0, "x": {"deep": [1,2]}}"#);
    let set = |set: &[(&str, &str)]| on_cell(meta(set, &[]));
    check(&old, set(&[("b", "2")]), &with(r#"{"b":  2, "x": {"deep": [1,2]}}"#), &[]);
    for same in ["1.0", "1.00", "1", "10e-1"] {
        check(&old, set(&[("b", same)]), &old, &[EditNote::Unchanged]);
    }
    check(
        &with(r#"{"n": 12345678901234567}"#),
        set(&[("n", "12345678901234568")]),
        &with(r#"{"n": 12345678901234568}"#),
        &[],
    );
    // Issue 21, 18: an equal value keeps its layout, even an odd one.
    let odd = with(r#"{"x": {"a":[ 1,2 ],   "b": "\u00e9"}, "y":{ }}"#);
    let equal = [("x", r#"{"b": "é", "a": [1, 2]}"#), ("y", "{}")];
    check(&odd, set(&equal), &odd, &[EditNote::Unchanged]);
    check(&odd, set(&[("y", "1"), ("y", " {} ")]), &odd, &[EditNote::Unchanged]);
    for other in [r#"{"b": "e", "a": [1, 2]}"#, r#"{"b": "é", "a": [1]}"#, r#"{"b": "é"}"#, "[]"]
    {
        let mut notebook = parse(&odd);
        notebook.apply(&[set(&[("x", other)])], &mut IdSource::seeded(1)).unwrap();
        assert_ne!(notebook.to_bytes(), odd.as_bytes(), "{other}");
    }
    let tagged = with(r#"{"b":  1.0, "tags": ["a", "b"], "x": {"deep": [1,2]}}"#);
    check(&old, set(&[("tags", "[\"a\",\"b\"]")]), &tagged, &[]);
    check(&tagged, on_cell(meta(&[], &["tags"])), &old, &[]);
    check(&old, on_cell(meta(&[], &["missing"])), &old, &[EditNote::Unchanged]);
    check(&old, on_cell(meta(&[], &["b", "x"])), &with("{}"), &[]);
    // A number keeps its spelling, and of several changes of one key the last counts.
    check(&with("{}"), set(&[("n", "1E+2"), ("n", "1e400")]), &with("{\"n\": 1e400}"), &[]);
    check(
        &old,
        on_cell(meta(&[("b", "2"), ("c", "3")], &["b", "c"])),
        &with(r#"{"x": {"deep": [1,2]}}"#),
        &[],
    );
    // If the keys are not sorted, a new key goes to the end.
    let mixed = with(r#"{"cell_type": 1, "b": 2}"#);
    check(&mixed, set(&[("c", "3")]), &with(r#"{"cell_type": 1, "b": 2, "c": 3}"#), &[]);
    // A cell without metadata gets an object.
    let bare = cell("\"cell_type\": \"raw\", \"source\": \"\"");
    check(&bare, set(&[("a", "true")]), &with("{\"a\": true}"), &[]);
}

#[test]
fn tags_are_added_and_removed() {
    let with = |metadata: &str| {
        cell(&format!("\"cell_type\": \"raw\", \"metadata\": {metadata}, \"source\": \"\""))
    };
    let owned = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
    let tags = |add: &[&str], remove: &[&str]| EditOp::SetTags {
        cell: first(),
        add: owned(add),
        remove: owned(remove),
    };
    let same = &[EditNote::Unchanged];
    let two = with(r#"{"a": 1, "tags": ["x","\u0079"]}"#);
    let bare = with(r#"{"a": 1}"#);
    check(&bare, tags(&["x", "x"], &[]), &with(r#"{"a": 1, "tags": ["x"]}"#), &[]);
    // A tag that stays keeps its spelling and its position.
    check(&two, tags(&["z"], &[]), &with(r#"{"a": 1, "tags": ["x", "\u0079", "z"]}"#), &[]);
    check(&two, tags(&["z"], &["x"]), &with(r#"{"a": 1, "tags": ["\u0079", "z"]}"#), &[]);
    check(&two, tags(&["y", "x"], &[]), &two, same);
    check(&two, tags(&["y"], &["y", "q"]), &two, same);
    check(&two, tags(&[], &[]), &two, same);
    // Removing the last tag removes the key; an empty list in the file stays.
    check(&two, tags(&[], &["x", "y"]), &bare, &[]);
    let empty = with(r#"{"tags": [ ]}"#);
    check(&empty, tags(&[], &["x"]), &empty, same);
    check(&empty, tags(&["x"], &[]), &with(r#"{"tags": ["x"]}"#), &[]);
    for odd in ["{}", "null", r#"{"tags": null}"#, r#"{"tags": "x"}"#] {
        check(&with(odd), tags(&[], &["x"]), &with(odd), same);
        check(&with(odd), tags(&["x"], &[]), &with(r#"{"tags": ["x"]}"#), &[]);
    }
    let nothing = cell("\"cell_type\": \"raw\", \"source\": \"\"");
    check(&nothing, tags(&[], &["x"]), &nothing, same);
    check(&nothing, tags(&["x"], &[]), &with(r#"{"tags": ["x"]}"#), &[]);
    for bad in ["", "a,b"] {
        let found = problem(&two, tags(&[bad], &[]));
        assert!(matches!(&found, OpError::BadMetadata { key, .. } if key == "tags"), "{found:?}");
    }
    // A change may make an invalid list valid, but an invalid list is never written.
    let odd = with(r#"{"tags": ["a,b", "c"]}"#);
    assert!(matches!(problem(&odd, tags(&["d"], &[])), OpError::BadMetadata { .. }));
    check(&odd, tags(&["d"], &["a,b"]), &with(r#"{"tags": ["c", "d"]}"#), &[]);

    let mut notebook = parse(&two);
    let report = notebook.apply(&[tags(&["z"], &[])], &mut IdSource::seeded(1)).unwrap();
    assert_eq!(report.changes[0].action, Action::MetaChanged);
    let text = "{\"cells\": [7], \"nbformat\": 4}";
    assert_eq!(problem(text, tags(&["z"], &[])), OpError::NotACell { index: 0 });
}

#[test]
fn metadata_of_the_notebook_is_changed_in_place() {
    let op = |change: MetaChange| EditOp::SetMeta { cell: None, change };
    let before =
        "{\n  \"cells\": [],\n  \"metadata\": {\n    \"a\": 1.0\n  },\n  \"nbformat\": 4\n}\n";
    let after = "{\n  \"cells\": [],\n  \"metadata\": {\n    \"a\": 1.0,\n    \"title\": \"T\"\n  },\n  \"nbformat\": 4\n}\n";
    check(before, op(meta(&[("title", "\"T\"")], &[])), after, &[]);
    check(after, op(meta(&[], &["title"])), before, &[]);
    check(before, op(meta(&[("a", "1.0")], &["z"])), before, &[EditNote::Unchanged]);
    // A notebook without metadata gets the key at its end.
    let bare = "{\n  \"cells\": [],\n  \"nbformat\": 4\n}\n";
    let with = "{\n  \"cells\": [],\n  \"nbformat\": 4,\n  \"metadata\": {\n    \"a\": {\n      \"b\": []\n    }\n  }\n}\n";
    check(bare, op(meta(&[("a", "{\"b\":[ ]}")], &[])), with, &[]);

    // Two changes in two batches, beside a change of the cells.
    let mut notebook = parse(before);
    let mut ids = IdSource::seeded(1);
    let insert = EditOp::Insert { at: CellPlace::End, kind: CellKind::Raw, source: String::new() };
    notebook.apply(&[op(meta(&[("b", "2")], &[])), insert], &mut ids).unwrap();
    notebook.apply(&[op(meta(&[("c", "3")], &["a"]))], &mut ids).unwrap();
    let again = Notebook::parse(notebook.to_bytes()).unwrap();
    assert_eq!(again.metadata_json(), b"{\n    \"b\": 2,\n    \"c\": 3\n  }");
    assert_eq!(again.len(), 1);
}

#[test]
fn metadata_that_nbformat_does_not_allow_is_refused() {
    let refused = |on_cell: bool, key: &str, value: &str| {
        let cell = on_cell.then(first);
        let found = problem(
            &code("null", "[]", "[]"),
            EditOp::SetMeta { cell, change: meta(&[("fine", "1"), (key, value)], &[]) },
        );
        let OpError::BadMetadata { key: named, .. } = &found else { panic!("{found:?}") };
        assert_eq!(named, key, "{value}");
    };
    for value in ["\"a\"", "{}", "[1]", "[\"\"]", "[\"a,b\"]", "[\"a\", \"\\u0061\"]"] {
        refused(true, "tags", value);
    }
    refused(true, "collapsed", "1");
    refused(true, "scrolled", "\"yes\"");
    refused(true, "name", "\"\"");
    refused(true, "name", "\"a\\nb\"");
    refused(true, "name", "7");
    refused(true, "format", "null");
    refused(true, "jupyter", "[]");
    refused(true, "execution", "{\"iopub.status.busy\": 1}");
    refused(false, "kernelspec", "{\"name\": \"python3\"}");
    refused(false, "language_info", "{}");
    refused(false, "language_info", "{\"name\": \"python\", \"mimetype\": 1}");
    refused(false, "language_info", "{\"name\": \"python\", \"codemirror_mode\": 1}");
    refused(false, "title", "[]");
    refused(false, "authors", "\"A\"");
    refused(false, "orig_nbformat", "0");
    for value in ["", "{", "nul", "1 2", "\"\n\""] {
        refused(true, "any", value);
    }
    // A value may be as deep as a file can hold at that place.
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    refused(true, "any", &nested(992));
    refused(false, "any", &nested(994));
    for (cell, depth) in [(Some(first()), 991), (None, 993)] {
        let mut notebook = parse(&code("null", "[]", "[]"));
        let op = EditOp::SetMeta { cell, change: meta(&[("any", &nested(depth))], &[]) };
        notebook.apply(&[op], &mut IdSource::seeded(1)).unwrap();
        assert!(Notebook::parse(notebook.to_bytes()).is_ok(), "the result can be read");
    }
}

#[test]
fn outputs_are_set_as_a_run_does() {
    let set = |count, outputs: &[&str]| EditOp::SetOutputs {
        cell: first(),
        count,
        outputs: outputs.iter().map(|json| NbOutput::from_json(json).unwrap()).collect(),
    };
    let stream = r#"{"name":"stdout","output_type":"stream","text":["a\n"]}"#;
    let before = "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"outputs\": [],\n   \"source\": []\n  }\n ],\n \"nbformat\": 4\n}";
    let laid_out = "[\n    {\n     \"name\": \"stdout\",\n     \"output_type\": \"stream\",\n     \"text\": [\n      \"a\\n\"\n     ]\n    }\n   ]";
    let after =
        before.replace("null", "3").replace("\"outputs\": []", &format!("\"outputs\": {laid_out}"));
    check(before, set(Some(3), &[stream]), &after, &[]);
    check(&after, set(None, &[]), before, &[]);
    let compact = "{\"cells\":[{\"cell_type\":\"code\"}],\"nbformat\":4}";
    let after = format!(
        "{{\"cells\":[{{\"cell_type\":\"code\",\"execution_count\":9,\"outputs\":[{stream}]}}],\"nbformat\":4}}"
    );
    check(compact, set(Some(9), &[stream]), &after, &[]);
    let prose = cell("\"cell_type\": \"markdown\", \"source\": \"\"");
    let expected = OpError::NoOutputs { index: 0, kind: CellKind::Markdown };
    assert_eq!(problem(&prose, set(None, &[])), expected);
    let unknown = cell("\"cell_type\": \"heading\", \"source\": \"\"");
    assert_eq!(problem(&unknown, set(None, &[])), OpError::NotACell { index: 0 });
}

#[test]
fn an_entry_that_is_no_cell_can_only_be_moved_or_deleted() {
    let text = r#"{"cells": [7, {"cell_type": "raw"}], "nbformat": 4}"#;
    let refused = [
        replace("x", None, OutputsAfter::Keep),
        sub("x", "y", Matches::One, OutputsAfter::Keep),
        EditOp::SetKind { cell: first(), kind: CellKind::Raw },
        EditOp::SetMeta { cell: Some(first()), change: MetaChange::default() },
    ];
    for op in refused {
        assert_eq!(problem(text, op), OpError::NotACell { index: 0 });
    }
    let moved = r#"{"cells": [{"cell_type": "raw"}, 7], "nbformat": 4}"#;
    check(text, EditOp::Move { cell: first(), to: CellPlace::End }, moved, &[]);
    let left = r#"{"cells": [{"cell_type": "raw"}], "nbformat": 4}"#;
    check(text, EditOp::Delete { cell: first() }, left, &[]);
}
