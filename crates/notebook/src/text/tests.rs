use super::*;
use crate::cell::{CellKind, CellRef, IdSource};
use crate::document::{CellView, Notebook};
use crate::edit::{EditOp, EditReport, Matches, OutputsAfter, SourceShape};
use crate::error::{EditError, SubError, TextError};
use inkcell_testkit::notebooks;

const RULES: TextRules =
    TextRules { drop: DropRule::Exactly(0), outputs: OutputsAfter::Keep, shape: SourceShape::Keep };
const REFERENCE: TextRules = TextRules { drop: DropRule::Any, ..RULES };

fn parse(text: &str) -> Notebook {
    Notebook::parse(text.as_bytes().to_vec()).unwrap()
}

/// Makes a notebook of raw cells without ids, with these sources.
fn raws(sources: &[&str]) -> Notebook {
    let cells: Vec<String> = sources
        .iter()
        .map(|source| {
            let source = serde_json::to_string(source).unwrap();
            format!("{{\"cell_type\": \"raw\", \"metadata\": {{}}, \"source\": {source}}}")
        })
        .collect();
    parse(&format!("{{\"cells\": [{}], \"metadata\": {{}}, \"nbformat\": 4}}", cells.join(", ")))
}

fn apply(notebook: &mut Notebook, text: &str, rules: TextRules) -> Result<EditReport, TextError> {
    notebook.apply_text(text, rules, &mut IdSource::seeded(1))
}

/// Lists id (or `-`), kind and source of every cell.
fn cells(notebook: &Notebook) -> Vec<String> {
    let line = |cell: CellView<'_>| {
        let id = cell.id().map_or("-".to_owned(), |id| id.into_owned());
        format!("{id} {} {}", cell.kind_name(), cell.source().text)
    };
    notebook.cells().map(line).collect()
}

/// B:V-03 B:V-04 B:V-05
#[test]
fn a_notebook_is_rendered_as_marked_cells() {
    let check = |sources: &[&str], expected: &str| {
        assert_eq!(raws(sources).to_text(MarkerIds::Off).unwrap(), expected);
        // Markers have no ids if the cells have none.
        assert_eq!(raws(sources).to_text(MarkerIds::Auto).unwrap(), expected);
    };
    check(&[], "");
    check(&[""], "# %% [raw] cell:0");
    check(&["a"], "# %% [raw] cell:0\na");
    check(&["a\nb", "c"], "# %% [raw] cell:0\na\nb\n# %% [raw] cell:1\nc");
    check(&["a\n", "", "b"], "# %% [raw] cell:0\na\n\n# %% [raw] cell:1\n# %% [raw] cell:2\nb");
    check(&["\n"], "# %% [raw] cell:0\n\n");
    // Virtual text shows only sources.
    let small = parse(&notebooks::small());
    assert_eq!(
        small.to_text(MarkerIds::Off).unwrap(),
        "# %% [markdown] cell:0\n# Title\n\nSome prose.\n# %% [code] cell:1\nx = 1\nprint(x)\n\
         # %% [code] cell:2\ny = 2\n"
    );
}

/// B:V-06
#[test]
fn markers_carry_ids_that_are_well_formed_and_unique() {
    let id = |id: &str| format!("{{\"cell_type\": \"raw\", \"id\": {id}, \"source\": \"\"}}");
    let long = "x".repeat(65);
    let ids = [
        "\"good-1_Z\"",
        "\"same\"",
        "\"same\"",
        "\"no good\"",
        "7",
        "\"\"",
        &format!("\"{long}\""),
    ];
    let list = ids.map(id).join(",");
    let notebook =
        parse(&format!("{{\"cells\": [{list}], \"nbformat\": 4, \"nbformat_minor\": 5}}"));
    let text = notebook.to_text(MarkerIds::Auto).unwrap();
    let first = "# %% [raw] cell:0 id:good-1_Z\n";
    assert!(text.starts_with(first), "{text}");
    assert!(!text[first.len()..].contains("id:"), "{text}");
    assert!(!notebook.to_text(MarkerIds::Off).unwrap().contains("id:"));
}

/// B:V-06 B:V-26
#[test]
fn a_line_outside_the_grammar_of_markers_is_source() {
    let check = |line: &str, kind: CellKind, number: Option<usize>, id: Option<&str>| {
        let expected = TextCell { kind, number, id: id.map(str::to_owned), source: String::new() };
        assert_eq!(parse_text(line), Ok(vec![expected]), "{line}");
    };
    check("# %% [code]", CellKind::Code, None, None);
    check("# %% [markdown] cell:0", CellKind::Markdown, Some(0), None);
    check("# %% [raw] cell:12 id:a-B_9", CellKind::Raw, Some(12), Some("a-B_9"));
    check("# %% [code] id:x", CellKind::Code, None, Some("x"));
    let id = "x".repeat(64);
    check(&format!("# %% [code] id:{id}"), CellKind::Code, None, Some(&id));
    check("# %% [code] cell:007", CellKind::Code, Some(7), None);
    let huge = "# %% [code] cell:99999999999999999999999999";
    check(huge, CellKind::Code, Some(usize::MAX), None);

    // Ordinary text, which belongs to the source of the cell before it.
    let long = format!("# %% [code] id:{}", "x".repeat(65));
    let ordinary = [
        "# %%",
        "# %% code",
        "#%% [code]",
        " # %% [code]",
        "# %% [code] ",
        "# %% [Code]",
        "# %% [heading]",
        "#  %% [code]",
        "# %%  [code]",
        "# %% [code]cell:1",
        "# %% [code] cell:",
        "# %% [code] cell:x",
        "# %% [code] cell:-1",
        "# %% [code] cell:1 ",
        "# %% [code] id:",
        "# %% [code] id:a b",
        "# %% [code] id:x cell:1",
        "# %% [code] cell:1  id:x",
        "## %% [code]",
        "# %% [code] cell:1.5",
        "# % [code]",
        "# %% [code] id:é",
        "",
        &long,
    ];
    for line in ordinary {
        let text = format!("# %% [raw]\n{line}\nz");
        let found = parse_text(&text).unwrap();
        assert_eq!(found.len(), 1, "{line}");
        assert_eq!(found[0].source, format!("{line}\nz"), "{line}");
    }
}

/// B:V-07 B:V-08
#[test]
fn lines_belong_to_the_marker_above_them() {
    let check = |text: &str, expected: &[&str]| {
        let found: Vec<String> =
            parse_text(text).unwrap().into_iter().map(|cell| cell.source).collect();
        assert_eq!(found, expected, "{text:?}");
    };
    check("", &[]);
    check("# %% [raw]\na\nb", &["a\nb"]);
    check("# %% [raw]\na\n", &["a\n"]);
    check("# %% [raw]\n", &[""]);
    check("# %% [raw]\n\n", &["\n"]);
    check("# %% [raw]\n# %% [raw]\n\n\n# %% [raw]\na", &["", "\n", "a"]);
    let long = "é".repeat(100);
    for (text, found) in [
        ("x", "x"),
        ("\n# %% [raw]", ""),
        (" # %% [raw]", " # %% [raw]"),
        ("\n", ""),
        ("# %%% [raw]\r\nx", "# %%% [raw]"),
        ("# %% [Raw]", "# %% [Raw]"),
        (long.as_str(), &long[..120]),
    ] {
        let error = parse_text(text).unwrap_err();
        assert_eq!(error, TextError::FirstLine { found: found.to_owned() }, "{text:?}");
        assert_eq!(
            error.to_string(),
            "expected first line to be \"# %% [code] cell:0\", \"# %% [markdown] cell:0\", or \
             \"# %% [raw] cell:0\"."
        );
    }
}

/// B:V-18 F-077
#[test]
fn lines_that_look_like_markers_are_escaped() {
    let check = |source: &str, shown: &str| {
        let text = raws(&[source]).to_text(MarkerIds::Off).unwrap();
        assert_eq!(text, format!("# %% [raw] cell:0\n{shown}"));
        assert_eq!(parse_text(&text).unwrap()[0].source, source);
    };
    check("# %% [code]", "# %%% [code]");
    check("# %% [code] cell:3", "# %%% [code] cell:3");
    check("# %%% [raw] cell:3 id:x", "# %%%% [raw] cell:3 id:x");
    check("# %%%%% [markdown]\nx", "# %%%%%% [markdown]\nx");
    check("a\n# %% [code]\r\nb", "a\n# %%% [code]\r\nb");
    // A line that is not a marker gets no escape.
    for source in ["# %%", "# %% code", "# %%% [code] ", "#%% [code]", " # %% [code]", "# % [code]"]
    {
        check(source, source);
    }
}

/// F-077
#[test]
fn a_text_written_back_changes_no_byte() {
    let sources = [
        "# %% [code] cell:3",
        "\n\nleading blank lines",
        "trailing\n\n\n",
        "",
        "\n",
        "a\rb\r\nc\r",
        "# %%% [raw]\r\n",
        "\u{2028}\u{c}",
        "# %% [code] cell:0 id:x\n",
        "\r\n",
        "a carriage return at the very end\r",
    ];
    let notebook = raws(&sources);
    for text in [
        notebook.to_text(MarkerIds::Off).unwrap(),
        notebook.to_text(MarkerIds::Off).unwrap().replace('\n', "\r\n"),
    ] {
        let mut copy = notebook.clone();
        assert!(apply(&mut copy, &text, RULES).unwrap().changes.is_empty());
        assert_eq!(copy.to_bytes(), notebook.to_bytes());
    }
}

/// B:V-25
#[test]
fn a_text_saved_with_crlf_is_the_same_text() {
    let mut notebook = parse(&notebooks::small());
    let text = notebook.to_text(MarkerIds::Auto).unwrap().replace("x = 1", "x = 9");
    let mut other = notebook.clone();
    apply(&mut notebook, &text, RULES).unwrap();
    apply(&mut other, &text.replace('\n', "\r\n"), RULES).unwrap();
    assert_eq!(notebook.to_bytes(), other.to_bytes());
    assert_eq!(notebook.cell(1).unwrap().source().text, "x = 9\nprint(x)");
    // A marker that ends in CR counts even if the other lines do not end in CR.
    assert_eq!(parse_text("# %% [raw]\na\n# %% [raw]\r\nb").unwrap().len(), 2);
}

/// B:V-06 B:V-09 B:V-10 B:V-13
#[test]
fn a_marked_cell_is_the_one_with_that_id_or_number() {
    let check = |text: &str, expected: &[&str]| {
        let mut notebook = parse(&notebooks::small());
        apply(&mut notebook, text, REFERENCE).unwrap();
        let new = IdSource::seeded(1).next_id();
        let found: Vec<String> =
            cells(&notebook).iter().map(|cell| cell.replace(new.as_str(), "NEW")).collect();
        assert_eq!(found, expected, "{text}");
    };
    // Cells reordered by number and by id, and one dropped.
    check(
        "# %% [code] cell:2\nc\n# %% [markdown] cell:0\na",
        &["bbbb2222 code c", "intro-md markdown a"],
    );
    check(
        "# %% [code] id:bbbb2222\nc\n# %% [code] id:aaaa1111\nb",
        &["bbbb2222 code c", "aaaa1111 code b"],
    );
    // The id wins over the number.
    check("# %% [code] cell:1 id:bbbb2222\nc", &["bbbb2222 code c"]);
    // No number, a number out of range, or a number used before makes a new cell.
    check("# %% [code]\nx", &["NEW code x"]);
    check("# %% [code] cell:3\nx", &["NEW code x"]);
    check("# %% [code] cell:99999999999999999999\nx", &["NEW code x"]);
    check("# %% [code] cell:1\nx\n# %% [code] cell:1\ny", &["aaaa1111 code x", "NEW code y"]);
    // An unknown id, even with a valid number, or an id used before makes a new cell.
    check("# %% [raw] cell:1 id:nope\nx", &["NEW raw x"]);
    check(
        "# %% [code] id:aaaa1111\nx\n# %% [code] cell:2 id:aaaa1111\ny",
        &["aaaa1111 code x", "NEW code y"],
    );
    // A cell matched by its id is no longer available by its number.
    check("# %% [code] id:aaaa1111\nx\n# %% [code] cell:1\ny", &["aaaa1111 code x", "NEW code y"]);
}

/// B:V-09 B:V-11 B:V-12 B:V-14
#[test]
fn what_is_not_in_the_text_is_kept() {
    let text = notebooks::small();
    let check = |from: &str, to: &str, rules: TextRules, expected: String| {
        let mut notebook = parse(&text);
        let edited = notebook.to_text(MarkerIds::Auto).unwrap().replace(from, to);
        apply(&mut notebook, &edited, rules).unwrap();
        assert_eq!(String::from_utf8(notebook.to_bytes()).unwrap(), expected);
    };
    // The outputs and the count stay although the source changed.
    check("x = 1", "x = 2", RULES, text.replace("x = 1", "x = 2"));
    let clear = TextRules { outputs: OutputsAfter::ClearIfChanged, ..RULES };
    check("x = 1", "x = 1", clear, text.clone());
    let mut cleared = parse(&text.replace("x = 1", "x = 2"));
    let one = EditOp::Clear { cell: Some(CellRef::Index(1)) };
    cleared.apply(&[one], &mut IdSource::seeded(1)).unwrap();
    check("x = 1", "x = 2", clear, String::from_utf8(cleared.to_bytes()).unwrap());
    // A marker with another kind removes or adds outputs and count.
    let mut retyped = parse(&text);
    let ops = [
        EditOp::SetKind { cell: CellRef::Index(1), kind: CellKind::Raw },
        EditOp::SetKind { cell: CellRef::Index(2), kind: CellKind::Raw },
    ];
    retyped.apply(&ops, &mut IdSource::seeded(1)).unwrap();
    check("[code]", "[raw]", RULES, String::from_utf8(retyped.to_bytes()).unwrap());
    let mut retyped = parse(&text);
    let op = EditOp::SetKind { cell: CellRef::Index(0), kind: CellKind::Code };
    retyped.apply(&[op], &mut IdSource::seeded(1)).unwrap();
    check("[markdown]", "[code]", RULES, String::from_utf8(retyped.to_bytes()).unwrap());
}

/// B:V-10
#[test]
fn a_fresh_cell_is_bare() {
    let mut notebook = Notebook::empty();
    let text = "# %% [code] cell:0\nx\n# %% [markdown]\n";
    apply(&mut notebook, text, RULES).unwrap();
    let bodies: Vec<String> = notebook
        .cells()
        .map(|cell| String::from_utf8_lossy(cell.json()).split_whitespace().collect())
        .collect();
    let mut ids = IdSource::seeded(1);
    let (one, two) = (ids.next_id(), ids.next_id());
    assert_eq!(
        bodies,
        [
            format!(
                "{{\"cell_type\":\"code\",\"execution_count\":null,\"id\":\"{one}\",\"metadata\":{{}},\"outputs\":[],\"source\":[\"x\"]}}"
            ),
            format!(
                "{{\"cell_type\":\"markdown\",\"id\":\"{two}\",\"metadata\":{{}},\"source\":[]}}"
            ),
        ]
    );
}

/// B:V-13
#[test]
fn cells_left_out_are_named_unless_their_number_is_given() {
    let text = notebooks::small();
    let refused = |new: &str, drop: DropRule, missing: &[usize]| {
        let mut notebook = parse(&text);
        let error = apply(&mut notebook, new, TextRules { drop, ..RULES }).unwrap_err();
        let TextError::LeavesOut { missing: found, .. } = &error else { panic!("{error:?}") };
        let found: Vec<usize> = found.iter().map(|cell| cell.index).collect();
        assert_eq!(found, missing, "{new}");
        assert_eq!(notebook.to_bytes(), text.as_bytes());
        error.to_string()
    };
    let first = "# %% [markdown] cell:0\nx";
    let message = refused(first, DropRule::Exactly(0), &[1, 2]);
    assert!(
        message.contains("leaves out 2 cells: cell 1 (id aaaa1111), cell 2 (id bbbb2222)"),
        "{message}"
    );
    assert!(message.contains("To delete exactly 2 cells, say how many are dropped"), "{message}");
    let message = refused(first, DropRule::Exactly(1), &[1, 2]);
    assert!(message.contains(", but 1 cell was to be dropped; nothing was written"), "{message}");
    refused(first, DropRule::Exactly(3), &[1, 2]);
    refused("", DropRule::Exactly(0), &[0, 1, 2]);
    // The empty text is refused even if any number of cells may be dropped.
    refused("", DropRule::Any, &[0, 1, 2]);
    let whole = parse(&text).to_text(MarkerIds::Auto).unwrap();
    let message = refused(&whole, DropRule::Exactly(2), &[]);
    let expected =
        "the text leaves no cell out, but 2 cells were to be dropped; nothing was written";
    assert_eq!(message, expected);

    let dropped = |new: &str, drop: DropRule, left: usize| {
        let mut notebook = parse(&text);
        apply(&mut notebook, new, TextRules { drop, ..RULES }).unwrap();
        assert_eq!(notebook.len(), left);
    };
    dropped(first, DropRule::Exactly(2), 1);
    dropped(first, DropRule::Any, 1);
    dropped("", DropRule::Exactly(3), 0);
    let mut empty = Notebook::empty();
    apply(&mut empty, "", REFERENCE).unwrap();
    assert!(!empty.is_changed());
}

/// B:V-13
#[test]
fn reordering_moves_whole_cells() {
    let text = notebooks::small();
    let mut notebook = parse(&text);
    let old: Vec<Vec<u8>> = notebook.cells().map(|cell| cell.json().to_vec()).collect();
    let order = [2, 0, 1];
    let shown = notebook.cells_to_text(&order, MarkerIds::Auto).unwrap();
    let ops = notebook.text_ops(&shown, RULES).unwrap();
    assert!(
        matches!(ops.as_slice(), [EditOp::Move { .. }]),
        "one cell is moved, two stay: {ops:?}"
    );
    apply(&mut notebook, &shown, RULES).unwrap();
    let new: Vec<Vec<u8>> = notebook.cells().map(|cell| cell.json().to_vec()).collect();
    assert_eq!(new, order.map(|at| old[at].clone()));
}

/// B:V-16
#[test]
fn an_entry_without_text_form_is_an_error_both_ways() {
    for entry in ["7", "{}", "{\"cell_type\": \"heading\"}"] {
        let text = format!("{{\"cells\": [{{\"cell_type\": \"raw\"}}, {entry}], \"nbformat\": 4}}");
        let mut notebook = parse(&text);
        let expected = TextError::BadCell { index: 1 };
        assert_eq!(notebook.to_text(MarkerIds::Off), Err(expected.clone()));
        assert_eq!(apply(&mut notebook, "# %% [raw] cell:0", REFERENCE), Err(expected));
        // The cells before it still have a text form.
        assert!(notebook.cells_to_text(&[0], MarkerIds::Off).is_ok());
    }
}

#[test]
fn a_text_for_a_read_only_notebook_is_refused_only_when_it_changes_something() {
    let mut notebook = parse(
        r#"{"worksheets": [{"cells": [{"cell_type": "code", "input": "x"}]}], "nbformat": 3}"#,
    );
    let text = notebook.to_text(MarkerIds::Auto).unwrap();
    apply(&mut notebook, &text, RULES).unwrap();
    let found = apply(&mut notebook, &text.replace('x', "y"), RULES).unwrap_err();
    assert!(matches!(found, TextError::Edit(EditError::ReadOnly(_))), "{found:?}");
}

#[test]
fn line_ends_alone_do_not_make_another_text() {
    let check = |stored: &str, submitted: &str, expected: bool| {
        assert_eq!(is_same_text(stored, submitted), expected, "{stored:?} {submitted:?}");
    };
    check("a\nb", "a\nb", true);
    check("a\r\nb", "a\nb", true);
    check("a\nb", "a\r\nb", true);
    check("a\rb", "a\nb", false);
    check("a\n", "a", false);
}

/// Pictures of control characters that come back unchanged change nothing.
#[test]
fn pictures_of_control_characters_are_the_same_text() {
    let notebook = raws(&["\u{1b}[1mbold\u{1b}[0m\n\u{c}\n\u{9b}", "plain"]);
    let shown = notebook.to_text(MarkerIds::Off).unwrap();
    let shown = visible_controls(&shown).into_owned();
    assert!(!shown.contains('\u{1b}') && shown.contains("␛[1mbold"), "{shown}");
    let mut copy = notebook.clone();
    apply(&mut copy, &shown, RULES).unwrap();
    assert_eq!(copy.to_bytes(), notebook.to_bytes());
    apply(&mut copy, &shown.replace("plain", "other"), RULES).unwrap();
    assert_eq!(copy.view(0).source().text, notebook.view(0).source().text);
}

/// A line feed that an editor adds at the end of the file does not change the last cell.
#[test]
fn a_final_line_feed_of_an_editor_changes_nothing() {
    let bytes = br#"{"cells": [{"cell_type": "raw", "metadata": {}, "source": "a"},
        {"cell_type": "raw", "metadata": {}, "source": "b"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"#;
    let rules = TextRules {
        drop: DropRule::Exactly(0),
        outputs: OutputsAfter::Keep,
        shape: SourceShape::Keep,
    };
    let mut notebook = Notebook::parse(bytes.to_vec()).unwrap();
    let text = notebook.to_text(MarkerIds::Auto).unwrap();
    notebook.apply_text(&format!("{text}\n"), rules, &mut IdSource::seeded(1)).unwrap();
    assert_eq!(notebook.to_bytes(), bytes);
    // A line feed inside the text counts, and so do two at the end, which no editor adds.
    for changed in [text.replace("a\n#", "a\n\n#"), format!("{text}\n\n")] {
        let mut copy = notebook.clone();
        copy.apply_text(&changed, rules, &mut IdSource::seeded(1)).unwrap();
        assert_ne!(copy.to_bytes(), bytes, "{changed:?}");
    }
}

/// Words of a marker are not replaced, unless the match spans the whole marker.
#[test]
fn a_replacement_does_not_cut_into_markers() {
    let text = "# %% [code] cell:0 id:ab12\ncode = 1\n# %% [code] cell:1\nprint(code)";
    let all = |old: &str, new: &str| substitute_between_markers(text, old, new, Matches::All);
    let (done, count) = all("code", "total").unwrap();
    assert_eq!(count, 2);
    assert_eq!(done, "# %% [code] cell:0 id:ab12\ntotal = 1\n# %% [code] cell:1\nprint(total)");
    for inside in ["cell:1", "id:ab12", "[code]", "# %%", "] cell:0 id:ab12\nco"] {
        assert!(matches!(all(inside, "x"), Err(SubError::NoMatch { .. })), "{inside}");
    }
    let (done, _) = all("code = 1\n# %% [code] cell:1\n", "").unwrap();
    assert_eq!(done, "# %% [code] cell:0 id:ab12\nprint(code)");
    let (done, _) = all("# %% [code] cell:1\nprint", "# %% [markdown] cell:1\nPrint").unwrap();
    assert!(done.ends_with("# %% [markdown] cell:1\nPrint(code)"));
    let one = substitute_between_markers(text, "code", "x", Matches::One);
    assert!(matches!(one, Err(SubError::Many { .. })), "{one:?}");
}

/// A notebook that replaces another must not lose cells silently.
#[test]
fn a_whole_notebook_may_not_leave_cells_out() {
    let cell = |id: &str, source: &str| {
        format!(r#"{{"cell_type": "raw", "id": "{id}", "metadata": {{}}, "source": "{source}"}}"#)
    };
    let book = |cells: &[String]| {
        let text = format!(
            r#"{{"cells": [{}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 5}}"#,
            cells.join(", ")
        );
        Notebook::parse(text.into_bytes()).unwrap()
    };
    let old = book(&[cell("a1", "x"), cell("b2", "y")]);
    assert!(
        old.may_become(&book(&[cell("b2", "changed"), cell("a1", "x")]), DropRule::Exactly(0))
            .is_ok()
    );
    assert!(
        old.may_become(&book(&[cell("zz", "x"), cell("yy", "y")]), DropRule::Exactly(0)).is_ok()
    );
    let short = book(&[cell("b2", "y")]);
    assert!(matches!(
        old.may_become(&short, DropRule::Exactly(0)),
        Err(TextError::LeavesOut { missing, declared: 0 }) if missing.len() == 1
    ));
    assert!(old.may_become(&short, DropRule::Exactly(1)).is_ok());
    assert!(old.may_become(&Notebook::empty(), DropRule::Exactly(2)).is_ok());
}
