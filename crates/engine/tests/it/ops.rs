//! Operations as JSON: each with its fields, aliases of fields, and invalid input.

use inkcell_engine::notebook::{
    CellKind, CellPlace, CellRef, EditOp, Matches, MetaChange, OutputsAfter, SourceShape,
};
use inkcell_engine::operations::OPERATIONS;
use inkcell_engine::{Kind, parse_ops};

const DEFAULT: OutputsAfter = OutputsAfter::ClearIfChanged;

fn text(given: &str) -> CellRef {
    CellRef::Text(given.to_owned())
}

fn replaced(cell: CellRef, source: &str, kind: Option<CellKind>, outputs: OutputsAfter) -> EditOp {
    EditOp::Replace { cell, source: source.to_owned(), kind, outputs, shape: SourceShape::Keep }
}

fn tags(add: &[&str], remove: &[&str]) -> EditOp {
    let owned = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect();
    EditOp::SetTags { cell: CellRef::Index(0), add: owned(add), remove: owned(remove) }
}

fn inserted(at: CellPlace, kind: CellKind, source: &str) -> EditOp {
    EditOp::Insert { at, kind, source: source.to_owned() }
}

fn sub(matches: Matches, outputs: OutputsAfter) -> EditOp {
    let cell = Some(text("ab12"));
    EditOp::Sub { cell, old: "a".to_owned(), new: "b".to_owned(), matches, outputs }
}

fn rename(outputs: OutputsAfter) -> EditOp {
    EditOp::Rename { old: "a".to_owned(), new: "b".to_owned(), outputs }
}

fn meta(cell: Option<CellRef>, set: &[(&str, &str)], unset: &[&str]) -> EditOp {
    let set = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let unset = unset.iter().map(|key| (*key).to_owned()).collect();
    EditOp::SetMeta { cell, change: MetaChange { set, unset } }
}

#[test]
fn every_operation_is_read() {
    let zero = || CellRef::Index(0);
    let table = [
        (r#"{"op": "replace", "cell": 0, "source": "x"}"#, replaced(zero(), "x", None, DEFAULT)),
        (
            r#"{"op": "replace", "cell": "ab12", "source": "x\ny", "type": "raw", "outputs": "keep"}"#,
            replaced(text("ab12"), "x\ny", Some(CellKind::Raw), OutputsAfter::Keep),
        ),
        (
            r#"{"op": "replace", "cell": -1, "source": "", "outputs": "clear"}"#,
            replaced(CellRef::Index(-1), "", None, OutputsAfter::Clear),
        ),
        (r#"{"op": "insert", "source": "x"}"#, inserted(CellPlace::End, CellKind::Code, "x")),
        (
            r#"{"op": "insert", "source": "x", "type": "markdown", "after": 0}"#,
            inserted(CellPlace::After(zero()), CellKind::Markdown, "x"),
        ),
        (
            r#"{"op": "insert", "source": "x", "before": "ab12"}"#,
            inserted(CellPlace::Before(text("ab12")), CellKind::Code, "x"),
        ),
        (
            r#"{"op": "insert", "source": "x", "at": "start"}"#,
            inserted(CellPlace::Start, CellKind::Code, "x"),
        ),
        (
            r#"{"op": "insert", "source": "x", "at": "end"}"#,
            inserted(CellPlace::End, CellKind::Code, "x"),
        ),
        (r#"{"op": "delete", "cell": 0}"#, EditOp::Delete { cell: zero() }),
        (
            r#"{"op": "move", "cell": 0, "after": 2}"#,
            EditOp::Move { cell: zero(), to: CellPlace::After(CellRef::Index(2)) },
        ),
        (
            r#"{"op": "move", "cell": 0, "at": "start"}"#,
            EditOp::Move { cell: zero(), to: CellPlace::Start },
        ),
        (
            r#"{"op": "type", "cell": 0, "type": "markdown"}"#,
            EditOp::SetKind { cell: zero(), kind: CellKind::Markdown },
        ),
        (r#"{"op": "sub", "cell": "ab12", "old": "a", "new": "b"}"#, sub(Matches::One, DEFAULT)),
        (
            r#"{"op": "sub", "cell": "ab12", "old": "a", "new": "b", "all": true, "outputs": "keep"}"#,
            sub(Matches::All, OutputsAfter::Keep),
        ),
        (
            r#"{"op": "sub", "cell": "ab12", "old": "a", "new": "b", "all": false}"#,
            sub(Matches::One, DEFAULT),
        ),
        (r#"{"op": "rename", "old": "a", "new": "b"}"#, rename(DEFAULT)),
        (
            r#"{"op": "rename", "old": "a", "new": "b", "outputs": "keep"}"#,
            rename(OutputsAfter::Keep),
        ),
        (r#"{"op": "clear"}"#, EditOp::Clear { cell: None }),
        (r#"{"op": "clear", "cell": 0}"#, EditOp::Clear { cell: Some(zero()) }),
        (
            r#"{"op": "meta", "set": {"a": 1.0, "b": {"c": [1e400]}}}"#,
            meta(None, &[("a", "1.0"), ("b", "{\"c\": [1e400]}")], &[]),
        ),
        (r#"{"op": "meta", "cell": 0, "unset": ["a"]}"#, meta(Some(zero()), &[], &["a"])),
        (
            r#"{"op": "tags", "cell": 0, "add": ["a", "b"], "remove": ["c"]}"#,
            tags(&["a", "b"], &["c"]),
        ),
        (r#"{"op": "tags", "cell": 0, "remove": ["c"]}"#, tags(&[], &["c"])),
    ];
    for (json, wanted) in table {
        assert_eq!(parse_ops(json, DEFAULT).expect(json), std::slice::from_ref(&wanted), "{json}");
        // The same in a list, and in an object that names the list.
        let list = format!("[{json}, {json}]");
        assert_eq!(parse_ops(&list, DEFAULT).expect(&list), [wanted.clone(), wanted.clone()]);
        let named = format!("{{\"ops\": [{json}]}}");
        assert_eq!(parse_ops(&named, DEFAULT).expect(&named), [wanted]);
    }
}

/// The examples of the documentation can be read, and have every field that the operation needs.
#[test]
fn every_row_has_an_example_of_its_own() {
    for row in OPERATIONS {
        let ops = parse_ops(row.example, DEFAULT).expect(row.example);
        assert_eq!(ops.len(), 1, "{}", row.example);
        assert!(row.example.starts_with(&format!("{{\"op\": {:?}", row.name)), "{}", row.example);
        for field in row.fields.iter().filter(|field| field.is_required) {
            assert!(row.example.contains(&format!("{:?}:", field.name)), "{}", row.example);
        }
    }
}

#[test]
fn an_empty_list_is_no_operation() {
    assert!(parse_ops(" [ ] ", DEFAULT).expect("read").is_empty());
    assert!(parse_ops("{\"ops\": []}", DEFAULT).expect("read").is_empty());
}

#[test]
fn fields_have_other_names_too() {
    let table = [
        (
            r#"{"op": "replace", "cell_id": "ab12", "new_source": "x", "cell_type": "code"}"#,
            replaced(text("ab12"), "x", Some(CellKind::Code), DEFAULT),
        ),
        (
            r#"{"op": "replace", "cell_index": 0, "content": "x"}"#,
            replaced(CellRef::Index(0), "x", None, DEFAULT),
        ),
        (
            r#"{"op": "sub", "cell_id": "ab12", "old_text": "a", "new_text": "b"}"#,
            sub(Matches::One, DEFAULT),
        ),
    ];
    for (json, wanted) in table {
        assert_eq!(parse_ops(json, DEFAULT).expect(json), [wanted], "{json}");
    }
}

#[test]
fn what_does_not_fit_is_told_with_what_would() {
    let names = "replace, insert, delete, move, sub, rename, type, clear, meta, tags";
    let table = [
        (r#"{}"#, format!("operation 0: the field \"op\" is missing; it is one of {names}")),
        (r#"{"op": 3}"#, "operation 0: op is 3; it is a string".to_owned()),
        (r#"{"op": "delet", "cell": 0}"#,
         format!("operation 0: op \"delet\" is not known (did you mean \"delete\"?); it is one of {names}")),
        (r#"{"op": "delete", "cel": 0}"#,
         "operation 0: delete takes no field \"cel\" (did you mean \"cell\"?); it takes cell".to_owned()),
        (r#"{"op": "delete"}"#, "operation 0: delete needs the field \"cell\"".to_owned()),
        (r#"{"op": "replace", "cell": 0}"#, "operation 0: replace needs the field \"source\"".to_owned()),
        (r#"{"op": "delete", "cell": 0, "cell_id": "ab12"}"#,
         "operation 0: the field \"cell\" stands twice, once under another name".to_owned()),
        (r#"{"op": "delete", "cell": 1.5}"#,
         "operation 0: cell is 1.5; a cell is an id, the first four or more characters of one, or a whole \
          number".to_owned()),
        (r#"{"op": "delete", "cell": null}"#,
         "operation 0: cell is null; a cell is an id, the first four or more characters of one, or a whole \
          number".to_owned()),
        (r#"{"op": "replace", "cell": 0, "source": 1}"#, "operation 0: source is 1; it is a string".to_owned()),
        (r#"{"op": "insert", "source": "x", "type": "heading"}"#,
         "operation 0: type is \"heading\"; it is \"code\", \"markdown\" or \"raw\"".to_owned()),
        (r#"{"op": "insert", "source": "x", "at": "top"}"#,
         "operation 0: at is \"top\"; it is \"start\" or \"end\"; before takes a cell and puts this one in front of \
          it, such as \"before\": 2".to_owned()),
        (r#"{"op": "insert", "source": "x", "at": 2}"#,
         "operation 0: at is 2; it is \"start\" or \"end\"; before takes a cell and puts this one in front of it, \
          such as \"before\": 2".to_owned()),
        (r#"{"op": "insert", "code": "x"}"#,
         "operation 0: `code` is not a field of insert: use `source`".to_owned()),
        (r#"{"op": "replace", "cellId": 0, "source": "x"}"#,
         "operation 0: `cellId` is not a field of replace: use `cell`".to_owned()),
        (r#"{"op": "insert", "source": "x", "at": "end", "after": 0}"#,
         "operation 0: give only one of after, before and at".to_owned()),
        (r#"{"op": "move", "cell": 0}"#,
         "operation 0: give the place: one of after, before (a cell) or at (start, end)".to_owned()),
        (r#"{"op": "sub", "cell": 0, "old": "a", "new": "b", "all": 1}"#,
         "operation 0: all is 1; it is true or false".to_owned()),
        (r#"{"op": "replace", "cell": 0, "source": "x", "outputs": "burn"}"#,
         "operation 0: outputs is \"burn\"; it is \"keep\" or \"clear\"".to_owned()),
        (r#"{"op": "meta", "cell": 0}"#, "operation 0: meta needs \"set\" or \"unset\"".to_owned()),
        (r#"{"op": "meta", "set": [1]}"#, "operation 0: set is [1]; it is an object".to_owned()),
        (r#"{"op": "tags", "cell": 0}"#, "operation 0: tags needs \"add\" or \"remove\"".to_owned()),
        (r#"{"op": "tags", "cell": 0, "add": "a"}"#, "operation 0: add is \"a\"; it is a list of strings".to_owned()),
        (r#"{"op": "meta", "unset": "a"}"#, "operation 0: unset is \"a\"; it is a list of strings".to_owned()),
        (r#"[{"op": "clear"}, {"op": "type", "cell": 0}]"#,
         "operation 1: type needs the field \"type\"".to_owned()),
    ];
    for (json, wanted) in table {
        let error = parse_ops(json, DEFAULT).expect_err(json);
        assert_eq!(error.to_string(), wanted, "{json}");
        assert_eq!(error.kind(), Kind::Invalid);
    }
}

#[test]
fn what_is_no_json_is_told_as_such() {
    let table = [
        ("", "ops: not JSON that can be read: EOF while parsing"),
        ("delete 0", "ops: not JSON that can be read: expected value"),
        ("[1]", "ops: not JSON that can be read: invalid type: integer `1`, expected an operation"),
        (
            r#"{"op": "clear", "op": "delete"}"#,
            "ops: not JSON that can be read: the field \"op\" stands twice",
        ),
        (
            r#"{"ops": {"op": "clear"}}"#,
            "ops: not JSON that can be read: invalid type: map, expected a sequence",
        ),
    ];
    for (json, wanted) in table {
        let error = parse_ops(json, DEFAULT).expect_err(json).to_string();
        assert!(error.starts_with(wanted), "{json}: {error}");
    }
}

/// Deep nesting is refused or ignored, without recursion.
#[test]
fn depth_does_not_exhaust_the_stack() {
    const DEEP: usize = 200_000;
    let nested = format!("{}[]{}", "{\"ops\":".repeat(DEEP), "}".repeat(DEEP));
    parse_ops(&nested, DEFAULT).expect_err("refused");
    let lists = format!("{}{}", "[".repeat(DEEP), "]".repeat(DEEP));
    parse_ops(&lists, DEFAULT).expect_err("refused");
    let value = format!("{{\"op\": \"meta\", \"set\": {{\"k\": {lists}}}}}");
    drop(parse_ops(&value, DEFAULT));
    let source = format!("{{\"op\": \"replace\", \"cell\": 0, \"source\": {lists}}}");
    parse_ops(&source, DEFAULT).expect_err("refused");
}

/// A source may have the form in which notebooks store it.
#[test]
fn a_source_may_be_a_list_of_lines() {
    let ops = parse_ops(r#"{"op": "insert", "source": ["a\n", "b"]}"#, DEFAULT).expect("read");
    assert_eq!(ops, [inserted(CellPlace::End, CellKind::Code, "a\nb")]);
    let error = parse_ops(r#"{"op": "insert", "source": ["a", 1]}"#, DEFAULT).expect_err("refused");
    assert!(
        error.to_string().ends_with("source is [\"a\", 1]; it is a list of strings"),
        "{error}"
    );
}
