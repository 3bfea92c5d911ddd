//! Batches of operations: positions, the order of cells, ids, and all or nothing.

use inkcell_notebook::{
    Action, CellCandidate, CellKind, CellPlace, CellRef, EditError, EditNote, EditOp, IdSource,
    MetaChange, Notebook, OpError, OutputsAfter, SourceShape,
};
use inkcell_testkit::notebooks;

fn parse(text: &str) -> Notebook {
    Notebook::parse(text.as_bytes().to_vec()).unwrap()
}

/// Makes five raw cells with the sources `0` to `4`.
fn five() -> Notebook {
    let cells =
        ["0", "1", "2", "3", "4"].map(|n| format!("{{\"cell_type\":\"raw\",\"source\":\"{n}\"}}"));
    parse(&format!("{{\"cells\":[{}],\"nbformat\":4,\"nbformat_minor\":4}}", cells.join(",")))
}

fn at(index: i64) -> CellRef {
    CellRef::Index(index)
}

fn insert(place: CellPlace, source: &str) -> EditOp {
    EditOp::Insert { at: place, kind: CellKind::Raw, source: source.to_owned() }
}

fn after(index: i64, source: &str) -> EditOp {
    insert(CellPlace::After(at(index)), source)
}

fn before(index: i64, source: &str) -> EditOp {
    insert(CellPlace::Before(at(index)), source)
}

fn delete(index: i64) -> EditOp {
    EditOp::Delete { cell: at(index) }
}

fn shift(index: i64, to: CellPlace) -> EditOp {
    EditOp::Move { cell: at(index), to }
}

fn replace(index: i64, source: &str) -> EditOp {
    let (outputs, shape) = (OutputsAfter::ClearIfChanged, SourceShape::Keep);
    EditOp::Replace { cell: at(index), source: source.to_owned(), kind: None, outputs, shape }
}

fn check(ops: &[EditOp], expected: &str) {
    let mut notebook = five();
    let report = notebook.apply(ops, &mut IdSource::seeded(1)).unwrap();
    let sources: Vec<String> =
        notebook.cells().map(|cell| cell.source().text.into_owned()).collect();
    assert_eq!(sources.join(" "), expected, "{ops:?}");
    assert_eq!(report.changes.len(), ops.len());
    for (change, place) in report.changes.iter().zip(0..) {
        assert_eq!(change.op, place);
    }
}

#[test]
fn positions_mean_the_cells_before_the_batch() {
    check(&[delete(0), delete(1), replace(4, "four")], "2 3 four");
    check(&[before(0, "a"), replace(0, "zero"), delete(4)], "a zero 1 2 3");
    check(
        &[shift(4, CellPlace::Start), replace(0, "zero"), replace(-1, "last")],
        "last zero 1 2 3",
    );
    check(&[delete(2), after(1, "a"), before(3, "b")], "0 1 a b 3 4");
    check(&[replace(1, "a"), replace(1, "b")], "0 b 2 3 4");
}

#[test]
fn cells_put_at_the_same_place_keep_the_order_of_operations() {
    let start = |source| insert(CellPlace::Start, source);
    let end = |source| insert(CellPlace::End, source);
    check(&[after(1, "a"), after(1, "b"), after(1, "c")], "0 1 a b c 2 3 4");
    check(&[before(1, "a"), before(1, "b")], "0 a b 1 2 3 4");
    check(&[start("a"), start("b")], "a b 0 1 2 3 4");
    check(&[end("a"), end("b")], "0 1 2 3 4 a b");
    check(&[after(-1, "a"), end("b"), after(4, "c")], "0 1 2 3 4 a c b");
    check(
        &[shift(3, CellPlace::After(at(0))), after(0, "a"), shift(4, CellPlace::After(at(0)))],
        "0 3 a 4 1 2",
    );
    check(&[shift(2, CellPlace::Start), start("a"), shift(4, CellPlace::Start)], "2 a 4 0 1 3");
    // A cell that moves on leaves the row, and the others keep their places.
    check(
        &[
            after(0, "a"),
            shift(3, CellPlace::After(at(0))),
            shift(3, CellPlace::End),
            after(0, "b"),
        ],
        "0 a b 1 2 4 3",
    );
    check(
        &[after(0, "a"), shift(3, CellPlace::After(at(0))), shift(3, CellPlace::After(at(0)))],
        "0 a 3 1 2 4",
    );
    // "After a cell" means after its current place.
    check(&[shift(0, CellPlace::End), after(0, "a")], "1 2 3 4 0 a");
    check(&[after(0, "a"), shift(0, CellPlace::End), after(0, "b")], "a 1 2 3 4 0 b");
    check(&[before(0, "a"), shift(0, CellPlace::End), before(0, "b")], "a 1 2 3 4 b 0");
}

#[test]
fn a_move_to_where_a_cell_stands_changes_nothing() {
    for to in [CellPlace::After(at(1)), CellPlace::Before(at(3))] {
        let mut notebook = five();
        notebook.apply(&[shift(2, to)], &mut IdSource::seeded(1)).unwrap();
        assert!(!notebook.is_changed());
    }
    check(&[shift(0, CellPlace::Start), shift(4, CellPlace::End)], "0 1 2 3 4");
}

#[test]
fn a_batch_with_a_bad_operation_does_nothing() {
    let refused = |ops: &[EditOp], bad: usize| -> OpError {
        let mut notebook = five();
        let old = notebook.to_bytes();
        let Err(EditError::Op { op, problem }) = notebook.apply(ops, &mut IdSource::seeded(1))
        else {
            panic!("not refused: {ops:?}")
        };
        assert_eq!(op, bad);
        assert_eq!(notebook.to_bytes(), old);
        assert!(!notebook.is_changed());
        problem
    };
    let cell = |index| CellCandidate { index, id: None };
    // No later operation can name a deleted cell.
    let again = OpError::AlreadyDeleted { cell: cell(2), by: 1 };
    for op in [
        delete(2),
        delete(-3),
        replace(2, "x"),
        after(2, "x"),
        before(2, "x"),
        shift(2, CellPlace::End),
        shift(0, CellPlace::After(at(2))),
        EditOp::Clear { cell: Some(at(2)) },
        EditOp::SetMeta { cell: Some(at(2)), change: MetaChange::default() },
    ] {
        assert_eq!(refused(&[replace(0, "a"), delete(2), op], 2), again);
    }
    assert_eq!(again.to_string(), "cell 2 was deleted by operation 1 of the same batch");
    for to in [CellPlace::After(at(1)), CellPlace::Before(at(-4))] {
        assert_eq!(refused(&[delete(0), shift(1, to)], 1), OpError::MoveToItself { cell: cell(1) });
    }
    assert!(matches!(refused(&[replace(0, "a"), delete(5)], 1), OpError::Ref(_)));
    assert!(matches!(refused(&[delete(0), after(-6, "x")], 1), OpError::Ref(_)));
    // No operation can name a cell that the batch itself adds.
    assert!(matches!(refused(&[after(4, "x"), delete(5)], 1), OpError::Ref(_)));
}

#[test]
fn the_report_names_cells_as_they_are_afterwards() {
    let mut notebook = parse(&notebooks::small());
    let ops = [
        EditOp::Delete { cell: CellRef::Text("intro-md".to_owned()) },
        EditOp::Insert { at: CellPlace::End, kind: CellKind::Markdown, source: String::new() },
        shift(1, CellPlace::End),
        EditOp::SetKind { cell: CellRef::Text("bbbb".to_owned()), kind: CellKind::Raw },
    ];
    let report = notebook.apply(&ops, &mut IdSource::seeded(1)).unwrap();
    let new = IdSource::seeded(1).next_id();
    let found: Vec<_> = report
        .changes
        .iter()
        .map(|change| (change.action, change.index, change.id.as_deref(), change.kind))
        .collect();
    assert_eq!(
        found,
        [
            (Action::Deleted, Some(0), Some("intro-md"), Some(CellKind::Markdown)),
            (Action::Inserted, Some(1), Some(new.as_str()), Some(CellKind::Markdown)),
            (Action::Moved, Some(2), Some("aaaa1111"), Some(CellKind::Code)),
            (Action::Retyped, Some(0), Some("bbbb2222"), Some(CellKind::Raw)),
        ]
    );
}

/// B:N-40 F-073 F-074
#[test]
fn ids_are_made_from_4_5_on_and_only_for_cells_that_are_written() {
    let text = |minor: u64| {
        format!(
            "{{\"cells\": [{{\"cell_type\": \"raw\", \"source\": \"0\"}}, {{\"cell_type\": \"raw\", \"source\": \"1\"}}, {{\"cell_type\": \"raw\", \"id\": 7, \"source\": \"2\"}}, {{\"cell_type\": \"raw\", \"id\": \"no good\", \"source\": \"3\"}}], \"nbformat\": 4, \"nbformat_minor\": {minor}}}"
        )
    };
    let check = |minor: u64, ops: &[EditOp], ids: [bool; 2], notes: &[EditNote]| {
        let mut notebook = parse(&text(minor));
        let report = notebook.apply(ops, &mut IdSource::seeded(1)).unwrap();
        let found = [0, 1].map(|index| notebook.cell(index).unwrap().id().is_some());
        assert_eq!(found, ids, "{minor} {ops:?}");
        assert_eq!(report.changes[0].notes, notes);
    };
    check(5, &[replace(0, "x")], [true, false], &[EditNote::IdAdded]);
    check(5, &[replace(0, "0")], [false, false], &[EditNote::Unchanged]);
    check(5, &[shift(0, CellPlace::End)], [false, false], &[]);
    check(5, &[delete(3)], [false, false], &[]);
    check(4, &[replace(0, "x")], [false, false], &[]);
    check(99, &[replace(1, "x")], [false, true], &[EditNote::IdAdded]);
    // An existing id that is not well formed is not repaired.
    check(5, &[replace(2, "x")], [false, false], &[]);
    check(5, &[replace(3, "x")], [false, false], &[]);

    // The new id goes where the order of the keys puts it.
    let mut notebook = parse(&text(5));
    notebook.apply(&[replace(0, "x")], &mut IdSource::seeded(1)).unwrap();
    let id = IdSource::seeded(1).next_id();
    let expected = format!("{{\"cell_type\": \"raw\", \"id\": \"{id}\", \"source\": \"x\"}}");
    assert_eq!(notebook.cell(0).unwrap().json(), expected.as_bytes());
}

/// B:N-38
#[test]
fn new_ids_differ_from_all_others() {
    // The notebook has the first two ids that the source would generate.
    let mut ids = IdSource::seeded(1);
    let taken = [ids.next_id(), ids.next_id()];
    let cells: Vec<(&str, &str, &str)> = taken.iter().map(|id| ("raw", id.as_str(), "")).collect();
    let mut notebook = parse(&notebooks::jupyter(&cells));
    let ops: Vec<EditOp> = (0..50).map(|_| insert(CellPlace::End, "")).collect();
    notebook.apply(&ops, &mut IdSource::seeded(1)).unwrap();
    // A second batch from the same source meets the ids of the first.
    notebook.apply(&ops, &mut IdSource::seeded(1)).unwrap();
    let mut found: Vec<String> =
        notebook.cells().map(|cell| cell.id().unwrap().into_owned()).collect();
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 102);
}

/// F-074
#[test]
fn duplicate_ids_can_be_named_by_position_only() {
    let text = notebooks::jupyter(&[("raw", "same", "a"), ("raw", "same", "b"), ("raw", "0", "c")]);
    let mut notebook = parse(&text);
    let set = |cell: CellRef, source: &str| EditOp::Replace {
        cell,
        source: source.to_owned(),
        kind: None,
        outputs: OutputsAfter::Keep,
        shape: SourceShape::Keep,
    };
    let by_text = |id: &str| CellRef::Text(id.to_owned());
    let error = notebook.apply(&[set(by_text("same"), "x")], &mut IdSource::seeded(1)).unwrap_err();
    assert!(error.to_string().contains("cell 0 (id same), cell 1 (id same)"), "{error}");
    // The text `0` is the id of the last cell; the number 0 is the first cell.
    let ops = [set(at(1), "B"), set(by_text("0"), "C"), set(at(0), "A")];
    notebook.apply(&ops, &mut IdSource::seeded(1)).unwrap();
    let expected =
        text.replace("\"a\"", "\"A\"").replace("\"b\"", "\"B\"").replace("\"c\"", "\"C\"");
    assert_eq!(notebook.to_bytes(), expected.as_bytes(), "and no id is repaired");
}

#[test]
fn references_of_an_operation_can_be_exchanged() {
    let mut ops = [
        replace(1, "x"),
        insert(CellPlace::After(at(1)), ""),
        insert(CellPlace::Start, ""),
        shift(1, CellPlace::Before(at(1))),
        delete(1),
        EditOp::Clear { cell: Some(at(1)) },
        EditOp::Clear { cell: None },
        EditOp::SetKind { cell: at(1), kind: CellKind::Raw },
        EditOp::SetTags { cell: at(1), add: Vec::new(), remove: Vec::new() },
    ];
    let counts: Vec<usize> = ops.iter_mut().map(|op| op.names_mut().len()).collect();
    assert_eq!(counts, [1, 1, 0, 2, 1, 1, 0, 1, 1]);
    for name in ops[3].names_mut() {
        *name = at(3);
    }
    assert_eq!(ops[3], shift(3, CellPlace::Before(at(3))));
}
