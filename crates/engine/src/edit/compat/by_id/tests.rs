use super::*;
use inkcell_testkit::notebooks;

fn edit(
    mode: Option<&str>,
    cell_id: Option<&str>,
    cell_type: Option<&str>,
    new_source: Option<&str>,
) -> IdEdit {
    IdEdit {
        cell_id: cell_id.map(str::to_owned),
        cell_type: cell_type.map(str::to_owned),
        new_source: new_source.map(str::to_owned),
        edit_mode: mode.map(str::to_owned),
        outputs: None,
    }
}

fn parse(text: &str) -> Notebook {
    Notebook::parse(text.as_bytes().to_vec()).unwrap()
}

/// Makes one edit, as a batch of its own.
fn apply(edit: &IdEdit, notebook: &mut Notebook) -> Result<IdEditReply, String> {
    let edits = std::slice::from_ref(edit);
    let replies = IdEdit::apply_all(edits, notebook, &mut IdSource::seeded(1));
    replies.map(|mut replies| replies.remove(0)).map_err(|(_, message)| message)
}

fn done(notebook: &mut Notebook, edit: &IdEdit) -> IdEditReply {
    apply(edit, notebook).unwrap()
}

fn text_of(notebook: &Notebook) -> String {
    String::from_utf8(notebook.to_bytes()).unwrap()
}

/// B:N-30 B:N-32 B:N-33
#[test]
fn what_is_wrong_is_told_and_nothing_is_changed() {
    let check = |edit: IdEdit, message: &str| {
        let mut notebook = parse(&notebooks::small());
        let found = apply(&edit, &mut notebook);
        assert_eq!(found, Err(message.to_owned()));
        assert_eq!(text_of(&notebook), notebooks::small());
    };
    let x = Some("x");
    check(edit(Some("Replace"), Some("0"), None, x), "Invalid edit mode");
    check(edit(Some(""), Some("0"), None, x), "Invalid edit mode");
    check(edit(None, Some("nope"), None, x), "Cell not found: nope");
    check(edit(Some("replace"), Some("3"), None, x), "Cell not found: 3");
    check(edit(None, None, None, x), "cell_id required for replace");
    check(edit(None, Some("0"), None, None), "new_source required for replace");
    check(edit(Some("insert"), Some("0"), None, x), "cell_type required for insert");
    check(edit(Some("insert"), Some("nope"), Some("code"), x), "Reference cell not found: nope");
    check(edit(Some("insert"), Some("0"), Some("code"), None), "new_source required for insert");
    check(edit(Some("delete"), None, None, None), "cell_id required for delete");
    check(edit(Some("delete"), Some("nope"), None, None), "Cell not found: nope");
    check(
        edit(None, Some("0"), Some("heading"), x),
        "Invalid cell type: heading (expected code, markdown or raw)",
    );
}

/// B:N-34
#[test]
fn a_cell_is_found_by_id_then_metadata_then_position() {
    let text = r#"{"cells": [
        {"cell_type": "raw", "id": "2", "metadata": {}, "source": "zero"},
        {"cell_type": "raw", "id": "one", "metadata": {"id": "meta"}, "source": "one"},
        {"cell_type": "raw", "id": "meta", "metadata": {"id": "1"}, "source": "two"},
        {"cell_type": "raw", "metadata": {"id": "deep"}, "source": "three"}
    ], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#;
    let check = |given: &str, expected: Option<usize>| {
        let found = apply(&edit(Some("delete"), Some(given), None, None), &mut parse(text));
        assert_eq!(found.ok().map(|reply| reply.cell_index), expected, "{given}");
    };
    check("2", Some(0));
    check("one", Some(1));
    check("meta", Some(2));
    check("1", Some(2));
    check("deep", Some(3));
    check("0", Some(0));
    check("3", Some(3));
    for given in ["4", "1abc", "-1", "+1", " 1", "1.0", "", "on", "99999999999999999999999"] {
        check(given, None);
    }
}

/// B:N-06 B:N-35 B:N-36
#[test]
fn replace_sets_the_source_and_clears_what_a_run_left() {
    let cell = |fields: &str| {
        format!(
            "{{\"cells\": [{{{fields}}}], \"metadata\": {{}}, \"nbformat\": 4, \"nbformat_minor\": 4}}"
        )
    };
    let check = |before: &str, kind: Option<&str>, after: &str| {
        let mut notebook = parse(&cell(before));
        done(&mut notebook, &edit(None, Some("0"), kind, Some("new")));
        assert_eq!(text_of(&notebook), cell(after));
    };
    let code = r#""cell_type": "code", "execution_count": 3, "metadata": {"a": 1}, "outputs": [{}], "source": ["old"]"#;
    let cleared = r#""cell_type": "code", "execution_count": null, "metadata": {"a": 1}, "outputs": [], "source": ["new"]"#;
    check(code, None, cleared);
    check(code, Some("code"), cleared);
    // The same source clears outputs, too.
    check(&code.replace("old", "new"), None, cleared);
    let prose = |kind: &str, source: &str| {
        format!("\"cell_type\": \"{kind}\", \"metadata\": {{\"a\": 1}}, \"source\": {source}")
    };
    check(code, Some("markdown"), &prose("markdown", "[\"new\"]"));
    check(code, Some("raw"), &prose("raw", "[\"new\"]"));
    check(&prose("markdown", "\"old\""), None, &prose("markdown", "[\"new\"]"));
    check(&prose("markdown", "[]"), Some("raw"), &prose("raw", "[\"new\"]"));
    check(&prose("raw", "[\"old\"]"), Some("code"), cleared);
    // The outputs can be kept on request.
    let mut notebook = parse(&cell(code));
    let keep =
        IdEdit { outputs: Some(OutputsAfter::Keep), ..edit(None, Some("0"), None, Some("new")) };
    done(&mut notebook, &keep);
    assert_eq!(text_of(&notebook), cell(&code.replace("old", "new")));
}

/// B:N-35
#[test]
fn replace_answers_with_the_cells_own_name() {
    let mut notebook = parse(&notebooks::small());
    let reply = done(&mut notebook, &edit(None, Some("1"), None, Some("new")));
    assert_eq!((reply.cell_id.as_str(), reply.cell_index), ("aaaa1111", 1));
    assert_eq!(notebook.cell(1).unwrap().id().unwrap(), "aaaa1111");
    // A cell without an id is named as the caller named it.
    let text = r#"{"cells": [{"cell_type": "raw", "metadata": {"id": "m"}, "source": ""}], "nbformat": 4, "nbformat_minor": 4}"#;
    let reply = done(&mut parse(text), &edit(None, Some("m"), None, Some("new")));
    assert_eq!((reply.cell_id.as_str(), reply.cell_index), ("m", 0));
}

/// B:N-37 B:N-38 B:N-40
#[test]
fn insert_goes_after_the_named_cell_or_to_the_start() {
    let check = |cell_id: Option<&str>, index: usize| {
        let mut notebook = parse(&notebooks::small());
        let reply = done(&mut notebook, &edit(Some("insert"), cell_id, Some("code"), Some("new")));
        let id = IdSource::seeded(1).next_id();
        assert_eq!((reply.cell_id.as_str(), reply.cell_index), (id.as_str(), index));
        let cell = notebook.cell(index).unwrap();
        assert_eq!(cell.id().unwrap(), id.as_str());
        let body: String = String::from_utf8_lossy(cell.json()).split_whitespace().collect();
        let expected = format!(
            "{{\"cell_type\":\"code\",\"execution_count\":null,\"id\":\"{id}\",\"metadata\":{{}},\"outputs\":[],\"source\":[\"new\"]}}"
        );
        assert_eq!(body, expected);
    };
    check(None, 0);
    check(Some("intro-md"), 1);
    check(Some("1"), 2);
    check(Some("bbbb2222"), 3);

    // An id that the notebook already has is not generated again.
    let id = IdSource::seeded(1).next_id();
    let text = notebooks::small().replace("aaaa1111", id.as_str());
    let mut notebook = parse(&text);
    let reply = done(&mut notebook, &edit(Some("insert"), None, Some("raw"), Some("")));
    assert_ne!(reply.cell_id, id.as_str());

    // Before nbformat 4.5 cells have no id, and the answer is the position.
    let mut notebook = parse(&notebooks::small().replace("_minor\": 5", "_minor\": 4"));
    let insert = edit(Some("insert"), Some("1"), Some("markdown"), Some(""));
    let reply = done(&mut notebook, &insert);
    assert_eq!((reply.cell_id.as_str(), reply.cell_index), ("2", 2));
    assert_eq!(notebook.cell(2).unwrap().id(), None);
}

/// B:N-30 B:N-39
#[test]
fn delete_answers_with_the_name_it_was_given() {
    let check = |given: &str| {
        let mut notebook = parse(&notebooks::small());
        let reply = done(&mut notebook, &edit(Some("delete"), Some(given), None, None));
        assert_eq!((reply.cell_id.as_str(), reply.cell_index), (given, 1));
        assert_eq!(notebook.len(), 2);
    };
    check("aaaa1111");
    check("1");
}

/// B:N-41
#[test]
fn summaries_are_for_people() {
    let mut notebook = parse(&notebooks::small());
    let mut summary = |edit: IdEdit| done(&mut notebook, &edit).summary("a/nb.ipynb");
    assert_eq!(
        summary(edit(None, Some("aaaa1111"), None, Some("new"))),
        "✓ Cell updated\n  Notebook: a/nb.ipynb\n  Cell: aaaa1111 (index 1)\n  Type: code"
    );
    let id = IdSource::seeded(1).next_id();
    assert_eq!(
        summary(edit(Some("insert"), Some("aaaa1111"), Some("markdown"), Some("new"))),
        format!(
            "✓ Cell inserted\n  Notebook: a/nb.ipynb\n  New cell: {id} (index 2)\n  Type: markdown\n  Inserted after: aaaa1111"
        )
    );
    assert_eq!(
        summary(edit(Some("delete"), Some("bbbb2222"), None, None)),
        "✓ Cell deleted\n  Notebook: a/nb.ipynb\n  Removed: bbbb2222 (was at index 3)"
    );
    let start = summary(edit(Some("insert"), None, Some("raw"), Some("")));
    assert!(start.ends_with("Type: raw\n  Inserted at: start"), "{start}");
}

/// B:N-42: several edits name cells as they are before the first, and one error cancels all of them.
#[test]
fn several_edits_are_made_or_none() {
    let all = |edits: &[IdEdit]| {
        let mut notebook = parse(&notebooks::small());
        let done = IdEdit::apply_all(edits, &mut notebook, &mut IdSource::seeded(1));
        (done, text_of(&notebook))
    };
    let edits = [
        edit(Some("delete"), Some("0"), None, None),
        edit(None, Some("1"), Some("markdown"), Some("new")),
        edit(Some("insert"), Some("bbbb2222"), Some("code"), Some("last")),
    ];
    let (done, text) = all(&edits);
    let done = done.unwrap();
    let places: Vec<usize> = done.iter().map(|reply| reply.cell_index).collect();
    assert_eq!(places, [0, 0, 2]);
    assert_eq!((done[1].cell_id.as_str(), done[1].cell_type.as_str()), ("aaaa1111", "markdown"));
    assert_eq!(parse(&text).len(), 3);
    let bad = [edits[0].clone(), edit(None, Some("nope"), None, Some("x"))];
    let (done, text) = all(&bad);
    assert_eq!(done, Err((1, "Cell not found: nope".to_owned())));
    assert_eq!(text, notebooks::small());
    let twice = [edits[0].clone(), edits[0].clone()];
    let (done, text) = all(&twice);
    assert!(matches!(done, Err((1, _))), "{done:?}");
    assert_eq!(text, notebooks::small());
}
