use super::*;
use crate::cell::{CellKind, CellRef, IdSource};
use crate::edit::{CellPlace, EditOp, OutputsAfter, SourceShape};
use crate::error::{EditError, NotebookError, Oddity, OpError, ReadOnly, TextError};
use crate::text::MarkerIds;
use inkcell_testkit::notebooks;

fn parse(text: impl AsRef<[u8]>) -> Notebook {
    Notebook::parse(text.as_ref().to_vec()).unwrap()
}

fn error(text: impl AsRef<[u8]>) -> NotebookError {
    match Notebook::parse(text.as_ref().to_vec()) {
        Ok(_) => panic!("a notebook was read"),
        Err(error) => error,
    }
}

fn append(notebook: &mut Notebook) -> Result<(), EditError> {
    let op = EditOp::Insert { at: CellPlace::End, kind: CellKind::Code, source: "new".to_owned() };
    notebook.apply(&[op], &mut IdSource::seeded(1)).map(|_| ())
}

fn replace(index: usize, source: &str) -> EditOp {
    EditOp::Replace {
        cell: CellRef::Index(index as i64),
        source: source.to_owned(),
        kind: None,
        outputs: OutputsAfter::Keep,
        shape: SourceShape::Keep,
    }
}

/// F-068 F-075
#[test]
fn what_is_no_notebook_is_told_with_its_place() {
    let check = |text: &[u8], place: (usize, usize), expected: Option<Oddity>| {
        let NotebookError::Syntax { line, column, oddity, .. } = error(text) else {
            panic!("not a syntax error")
        };
        assert_eq!(((line, column), oddity), (place, expected), "{}", text.escape_ascii());
    };
    check(b"", (1, 1), Some(Oddity::Empty));
    check(b" \n\t\r\n ", (3, 2), Some(Oddity::Empty));
    check(b"\xEF\xBB\xBF", (1, 2), Some(Oddity::Empty));
    check(b"not JSON", (1, 1), None);
    check(b"{\"cells\": [}", (1, 12), None);
    check("{\n \"é\": 1,\n \"ä\" 2}".as_bytes(), (3, 6), None);
    check(b"{\"cells\": []} {}", (1, 15), None);
    check(
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
        (1, 1),
        Some(Oddity::LfsPointer),
    );
    let conflict = b"{\n \"cells\": [\n<<<<<<< HEAD\n  1\n=======\n  2\n>>>>>>> x\n ]\n}";
    check(conflict, (3, 1), Some(Oddity::ConflictMarkers { line: 3 }));
    check(b"<!DOCTYPE html>\n<html>", (1, 1), Some(Oddity::Html));
    check(b"\n <HTML lang=\"en\">", (2, 2), Some(Oddity::Html));
    check(b"<?xml version=\"1.0\"?>", (1, 1), Some(Oddity::Html));
    check(b"\xFF\xFE{\0\"\0", (1, 1), Some(Oddity::Utf16));
    check(b"\xFE\xFF\0{\0\"", (1, 1), Some(Oddity::Utf16));
    check(b"{\0\"\0c\0", (1, 2), Some(Oddity::Utf16));
    check(b"{\"cells\": [\"caf\xE9\"]}", (1, 16), Some(Oddity::NotUtf8));
    check(b"\x1f\x8b\x08\0", (1, 1), Some(Oddity::Binary { format: "gzip" }));
    check(b"PK\x03\x04", (1, 1), Some(Oddity::Binary { format: "zip" }));
    check(b"%PDF-1.7", (1, 1), Some(Oddity::Binary { format: "PDF" }));
    check(b"\x89PNG\r\n", (1, 1), Some(Oddity::Binary { format: "PNG" }));
    check(b"{\n \"cells\": [", (2, 12), Some(Oddity::CutOff));
    check(b"# %% [code] cell:0\nx = 1", (1, 1), Some(Oddity::VirtualText));
    check(b"# %% [markdown]\n# Title\n\n# %%\nx = 1\n", (1, 1), Some(Oddity::Script));
    check(b"import os\n\n#%% load\r\nx = 1\n", (1, 1), Some(Oddity::Script));
}

/// F-068
#[test]
fn every_oddity_says_what_to_do() {
    let check = |oddity: Oddity, part: &str| {
        assert!(oddity.to_string().contains(part), "{oddity}");
    };
    check(Oddity::Empty, "try again");
    check(Oddity::LfsPointer, "this is a Git LFS pointer");
    check(Oddity::LfsPointer, "git lfs pull");
    check(
        Oddity::ConflictMarkers { line: 12 },
        "conflict markers of an unfinished merge at line 12",
    );
    check(Oddity::Html, "HTML page");
    check(Oddity::Utf16, "iconv -f UTF-16");
    check(Oddity::NotUtf8, "iconv -f LATIN1");
    check(Oddity::Binary { format: "zip" }, "this is a zip file");
    check(Oddity::Binary { format: "zip" }, "check the path");
    check(Oddity::CutOff, "cut off");
    check(Oddity::VirtualText, "write it into a notebook");
    check(Oddity::Script, "run it as code");
    assert_eq!(error("[1,\n x]").to_string(), "line 2, column 2: expected a value here");
}

/// F-068
#[test]
fn a_file_cut_off_anywhere_is_refused_at_its_end() {
    let text = notebooks::jupyter(&[("code", "a1b2c3d4", "é = '😀'\n"), ("raw", "b2", "\\ \t")]);
    let text = text.replace('😀', "\\ud83d\\ude00").replace("null", "-12").into_bytes();
    for end in 1..text.len() - 1 {
        let NotebookError::Syntax { syntax, oddity, .. } = error(&text[..end]) else {
            panic!("not a syntax error at {end}")
        };
        assert_eq!((syntax.offset, oddity), (end, Some(Oddity::CutOff)), "cut at {end}");
    }
}

/// B:V-16
#[test]
fn json_that_is_no_notebook_is_told() {
    let check = |text: &str, expected: NotebookError| assert_eq!(error(text), expected, "{text}");
    for text in ["[]", "1", "null", "\"text\"", "\u{feff}[1]", "NaN"] {
        check(text, NotebookError::NotAnObject);
    }
    for text in ["{}", "{\"cells\": {}}", "{\"cells\": null}", "{\"cells\": [], \"cells\": 1}"] {
        check(text, NotebookError::NoCells);
    }
    assert_eq!(NotebookError::NotAnObject.to_string(), "expected object");
    assert_eq!(NotebookError::NoCells.to_string(), "missing cells array");
    for entry in ["1", "null", "[]", "{}", "{\"cell_type\": \"heading\", \"source\": \"x\"}"] {
        let text = format!("{{\"cells\": [{{\"cell_type\": \"raw\"}}, {entry}], \"nbformat\": 4}}");
        let notebook = parse(text);
        let expected = TextError::BadCell { index: 1 };
        assert_eq!(notebook.to_text(MarkerIds::Auto), Err(expected), "{entry}");
    }
}

/// F-070
#[test]
fn depth_is_counted_from_the_top_of_the_file() {
    let with = |metadata: &str, cell: &str| {
        format!(
            "{{\"cells\": [{{\"cell_type\": \"raw\", \"metadata\": {cell}, \"source\": \"x\"}}], \"metadata\": {metadata}, \"nbformat\": 4, \"nbformat_minor\": 4}}"
        )
    };
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let is_notebook = |text: String| Notebook::parse(text.into_bytes()).is_ok();
    // The notebook alone is one level; the notebook, its cells and a cell are three.
    assert!(is_notebook(with(&nested(994), "{}")));
    assert!(!is_notebook(with(&nested(995), "{}")));
    assert!(is_notebook(with("{}", &nested(992))));
    assert!(!is_notebook(with("{}", &nested(993))));
    let NotebookError::Syntax { syntax, .. } = error(with(&nested(100_000), "{}")) else {
        panic!("not a syntax error")
    };
    assert_eq!(syntax.problem, "values are nested more than 995 deep");
    assert!(!is_notebook(with("{}", &nested(100_000))));
    assert!(!is_notebook("[".repeat(100_000)));
    assert!(!is_notebook("{\"cells\":[".repeat(50_000)));
}

/// F-070
#[test]
fn many_cells_and_many_keys_are_read_and_edited() {
    let cell = r#"{"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": ["x\n"]}"#;
    let cells = vec![cell; 100_000].join(",\n");
    let text = format!(
        "{{\"cells\": [\n{cells}\n], \"metadata\": {{}}, \"nbformat\": 4, \"nbformat_minor\": 4}}"
    );
    let mut notebook = parse(&text);
    assert_eq!(notebook.len(), 100_000);
    let ops: Vec<EditOp> = (0..100_000).step_by(2).map(|at| replace(at, "y\n")).collect();
    notebook.apply(&ops, &mut IdSource::seeded(1)).unwrap();
    let expected = [cell.replace("x\\n", "y\\n"), cell.to_owned()];
    let expected = vec![expected.join(",\n"); 50_000].join(",\n");
    assert!(notebook.to_bytes() == text.replace(&cells, &expected).into_bytes());

    let keys: Vec<String> = (0..1_000_000).map(|at| format!("\"k{at}\":{at}")).collect();
    let text = format!("{{\"cells\":[{cell}],\"metadata\":{{{}}},\"nbformat\":4}}", keys.join(","));
    let mut notebook = parse(&text);
    notebook.apply(&[replace(0, "y\n")], &mut IdSource::seeded(1)).unwrap();
    assert!(notebook.to_bytes() == text.replace("x\\n", "y\\n").into_bytes());
}

/// F-071
#[test]
fn duplicate_keys_are_kept_or_the_edit_is_refused() {
    let cell = r#"{"cell_type": "raw", "metadata": {"a": 1, "a": 2}, "source": "x"}"#;
    // Duplicates in metadata and in unknown keys are kept to the byte.
    let text = format!(
        "{{\"cells\": [{cell}], \"x\": 1, \"x\": 2, \"metadata\": {{\"b\": 1, \"b\": 2}}, \"nbformat\": 4}}"
    );
    let mut notebook = parse(&text);
    notebook.apply(&[replace(0, "y")], &mut IdSource::seeded(1)).unwrap();
    assert_eq!(notebook.to_bytes(), text.replace(": \"x\"", ": \"y\"").as_bytes());

    // A duplicate of a notebook key that an edit depends on makes the file read-only, with a
    // message.
    for key in ["cells", "metadata", "nbformat", "nbformat_minor"] {
        let value = if key == "cells" { "[]" } else { "4" };
        let text = format!(
            "{{\"{key}\": {value}, \"cells\": [{cell}], \"metadata\": {{}}, \"nbformat\": 4, \"nbformat_minor\": 4}}"
        );
        let mut notebook = parse(&text);
        assert_eq!(notebook.read_only(), Some(&ReadOnly::DuplicateKey { key }));
        let message = append(&mut notebook).unwrap_err().to_string();
        assert!(message.contains(&format!("\"{key}\" occurs more than once")), "{message}");
        assert_eq!(notebook.to_bytes(), text.as_bytes());
        assert_eq!(notebook.len(), 1, "the last one counts, as in Python");
    }

    // A duplicate key in the edited cell.
    let text = r#"{"cells": [{"cell_type": "code", "source": "one", "source": "two", "metadata": {}, "outputs": [1], "execution_count": 2}], "nbformat": 4}"#;
    let mut notebook = parse(text);
    assert_eq!(notebook.cell(0).unwrap().source().text, "two");
    let found = notebook.apply(&[replace(0, "three")], &mut IdSource::seeded(1)).unwrap_err();
    let problem = OpError::DuplicateKey { index: 0, key: "source".to_owned() };
    assert_eq!(found, EditError::Op { op: 0, problem });
    assert_eq!(notebook.to_bytes(), text.as_bytes());
    // Other keys of that cell can be edited, and the duplicate stays.
    let clear = EditOp::Clear { cell: None };
    notebook.apply(&[clear], &mut IdSource::seeded(1)).unwrap();
    let expected = text.replace("[1]", "[]").replace("_count\": 2", "_count\": null");
    assert_eq!(notebook.to_bytes(), expected.as_bytes());
}

/// F-073
#[test]
fn versions_decide_what_can_be_edited_and_who_gets_ids() {
    let v = |text: &str| format!("{{\"cells\": [], \"metadata\": {{}}, {text}}}");
    let check = |version: &str, major: Option<u64>, minor: Option<u64>, ids: bool| {
        let text = v(version);
        let mut notebook = parse(&text);
        assert_eq!(notebook.version(), FormatVersion { major, minor }, "{version}");
        assert_eq!(notebook.has_ids(), ids, "{version}");
        append(&mut notebook).unwrap();
        let again = parse(notebook.to_bytes());
        assert_eq!(again.version(), FormatVersion { major, minor }, "the version stays");
        assert!(notebook.to_bytes().ends_with(format!("{version}}}").as_bytes()));
        assert_eq!(again.cell(0).unwrap().id().is_some(), ids, "{version}");
    };
    for minor in 0..5 {
        check(
            &format!("\"nbformat\": 4, \"nbformat_minor\": {minor}"),
            Some(4),
            Some(minor),
            false,
        );
    }
    check("\"nbformat\": 4, \"nbformat_minor\": 5", Some(4), Some(5), true);
    check("\"nbformat\": 4, \"nbformat_minor\": 99", Some(4), Some(99), true);
    check("\"nbformat\": 4.0, \"nbformat_minor\": 5.0", Some(4), Some(5), true);
    check("\"nbformat\": 4", Some(4), None, false);
    check("\"nbformat\": 4, \"nbformat_minor\": \"5\"", Some(4), None, false);
    check("\"nbformat\": 4, \"nbformat_minor\": -1", Some(4), None, false);
    check("\"nbformat\": 4, \"nbformat_minor\": NaN", Some(4), None, false);
    check("\"nbformat_minor\": 5", None, Some(5), false);

    let refused = |text: &str, expected: ReadOnly, part: &str| {
        let mut notebook = parse(text);
        assert_eq!(notebook.read_only(), Some(&expected));
        let message = append(&mut notebook).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
        assert_eq!(notebook.to_bytes(), text.as_bytes());
        assert!(!notebook.is_changed());
    };
    let new = v("\"nbformat\": 5, \"nbformat_minor\": 0");
    refused(&new, ReadOnly::TooNew { major: 5 }, "edit it in the program that wrote it");
    let old = "nbconvert --to notebook --nbformat 4";
    for major in [2, 3] {
        let text = format!("{{\"worksheets\": [], \"nbformat\": {major}}}");
        refused(&text, ReadOnly::TooOld { major }, old);
    }
    refused("{\"worksheets\": []}", ReadOnly::TooOld { major: 3 }, old);
    let text = "{\"cells\": [1 ,  {\"cell_type\": \"code\"},2\n,3], \"nbformat\": 3}";
    refused(text, ReadOnly::TooOld { major: 3 }, old);
}

/// F-073
#[test]
fn old_notebooks_can_be_read() {
    let text = r#"{"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [
        {"cells": [
            {"cell_type": "heading", "level": 2, "metadata": {}, "source": ["Title"]},
            {"cell_type": "code", "input": ["a\n", "b"], "language": "python", "outputs": [{"output_type": "pyout"}], "prompt_number": 7}
        ], "metadata": {}},
        {"cells": [{"cell_type": "markdown", "source": "text"}, {"cell_type": "html", "source": "<b>"}]}
    ]}"#;
    let notebook = parse(text);
    let cells: Vec<_> = notebook
        .cells()
        .map(|cell| (cell.kind(), cell.source().text.into_owned(), cell.execution_count()))
        .collect();
    let cell = |kind, text: &str, count| (Some(kind), text.to_owned(), count);
    let expected = [
        cell(CellKind::Markdown, "## Title", None),
        cell(CellKind::Code, "a\nb", Some(7)),
        cell(CellKind::Markdown, "text", None),
        cell(CellKind::Raw, "<b>", None),
    ];
    assert_eq!(cells, expected);
    assert_eq!(notebook.cell(1).unwrap().outputs().len(), 1);
    assert_eq!(notebook.to_bytes(), text.as_bytes());
    let text = r#"{"nbformat": 2, "worksheets": [{"cells": [{"cell_type": "code", "code": "x"}, {"cell_type": "text", "text": "y", "level": 1}]}]}"#;
    assert_eq!(
        parse(text).to_text(MarkerIds::Auto).unwrap(),
        "# %% [code] cell:0\nx\n# %% [markdown] cell:1\ny"
    );
}

/// B:N-04
#[test]
fn a_new_notebook_is_as_jupyter_writes_it() {
    let mut notebook = Notebook::empty();
    assert_eq!(
        notebook.to_bytes(),
        b"{\n \"cells\": [],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n"
    );
    append(&mut notebook).unwrap();
    let id = IdSource::seeded(1).next_id();
    let cell = format!(
        "  {{\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"{id}\",\n   \"metadata\": {{}},\n   \"outputs\": [],\n   \"source\": [\n    \"new\"\n   ]\n  }}"
    );
    let expected = format!(
        "{{\n \"cells\": [\n{cell}\n ],\n \"metadata\": {{}},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}}\n"
    );
    assert_eq!(String::from_utf8(notebook.to_bytes()).unwrap(), expected);
}

#[test]
fn what_is_not_changed_is_written_from_the_original() {
    let text = notebooks::small();
    let mut notebook = parse(&text);
    // The number of written bytes that are borrowed from the bytes that were parsed.
    let kept = |notebook: &Notebook| -> usize {
        let original = notebook.original_bytes().as_ptr_range();
        let chunks = notebook.chunks();
        chunks.iter().filter(|chunk| original.contains(&chunk.as_ptr())).map(|c| c.len()).sum()
    };
    assert_eq!(kept(&notebook), text.len());
    assert!(!notebook.is_changed());
    let cell_len = notebook.cell(1).unwrap().json().len();
    notebook.apply(&[replace(1, "new")], &mut IdSource::seeded(1)).unwrap();
    assert!(notebook.is_changed());
    assert_eq!(notebook.original_bytes(), text.as_bytes());
    assert_eq!(kept(&notebook), text.len() - cell_len);
}
