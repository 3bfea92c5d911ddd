use super::*;

fn seen(places: &RunPlaces) -> LastRuns {
    RunRecord::peek(places).map(|look| look.now(places)).unwrap_or_default()
}

fn cell(id: Option<&str>, index: usize, source: &str) -> KnownCell {
    KnownCell { id: id.map(str::to_owned), index, source: source.to_owned(), planned: None }
}

#[test]
fn the_last_word_on_each_cell_is_known() {
    let dir = tempfile::TempDir::new().expect("a folder");
    let places = RunPlaces::of(Path::new("/a.ipynb"), dir.path());
    let ran = |known: &KnownCell, state| RanCell {
        id: known.id.as_deref().map(Into::into),
        index: known.index,
        source: SourceDigest::of(&known.source),
        count: Some(7),
        state,
        duration: Duration::from_millis(1500),
        displays: vec![("d".to_owned(), 1)],
        is_twin: false,
        trace: None,
    };
    let (one, two) = (cell(Some("a"), 0, "x"), cell(None, 1, "y"));
    let mut record = RunRecord::take(&places, dir.path()).expect("a file").expect("it is free");
    assert!(RunRecord::take(&places, dir.path()).expect("a file").is_none());
    record.begin((RecordPlace::AsKnown, &[]), &[]).expect("it begins");
    record.note(&ran(&one, State::Error)).expect("a note");
    record.note(&ran(&two, State::Done)).expect("a note");
    record.note(&ran(&one, State::Done)).expect("a note");
    let past = record.past().expect("the past");
    let last: Vec<&RanCell> = past.last().collect();
    assert_eq!(last, [&ran(&one, State::Done), &ran(&two, State::Done)]);
    let known = past.cells;
    // A truncated line costs nothing but itself.
    record.file.write_all(b"\n{\"ran\":[\"a\",").expect("a part of a line");
    record.begin((RecordPlace::AsKnown, &known), &[]).expect("it begins again");
    record.note(&ran(&two, State::Error)).expect("a note");
    let past = record.past().expect("the past");
    assert_eq!(past.last().collect::<Vec<_>>(), [&ran(&two, State::Error)]);
    drop(record);
    let past = seen(&places);
    let looked_at = |known, state| RanCell { displays: Vec::new(), ..ran(known, state) };
    assert_eq!(past.cells, [looked_at(&one, State::Done), looked_at(&two, State::Error)]);
    assert!(past.cells[0].ran("x") && !past.cells[0].ran("x "));
    assert!(past.cells[0].is_of(Some("a"), 9) && !past.cells[0].is_of(None, 0));
}

/// A glance reads what the marks of cells need, without the parts that only a run needs.
#[test]
fn who_looks_is_told_what_the_marks_of_cells_need() {
    let dir = tempfile::TempDir::new().expect("a folder");
    let places = RunPlaces::of(Path::new("/a.ipynb"), dir.path());
    let trace = serde_json::json!({
        "kernel": "k", "ran": 9, "made": 3, "saw": {"a": 1, "b": null}, "makes": ["c", "f"],
        "later": {"f": {"uses": ["a"]}}, "files": [["/data.csv", 5, 6]],
    });
    let trace: ExecutionTrace = serde_json::from_value(trace).expect("a trace");
    let full = RanCell {
        source: SourceDigest::of("x"),
        count: Some(2),
        duration: Duration::from_millis(250),
        displays: vec![("d".to_owned(), 0)],
        is_twin: true,
        trace: Some(trace.clone()),
        ..RanCell::unknown(Some("a"), 4, State::Done)
    };
    let mut record = RunRecord::take(&places, dir.path()).expect("a file").expect("it is free");
    record.begin((RecordPlace::AsKnown, &[]), &[]).expect("it begins");
    record.note(&full).expect("a note");
    assert_eq!(record.past().expect("the past").cells, std::slice::from_ref(&full));
    let mut outer = trace;
    outer.later.clear();
    let looked_at = RanCell { displays: Vec::new(), trace: Some(outer), ..full };
    assert_eq!(seen(&places).cells, [looked_at]);
}

/// A line `apart` belongs to the next line alone, and a cell without its line is unknown.
#[test]
fn what_lies_apart_goes_with_its_own_cell() {
    let dir = tempfile::TempDir::new().expect("a folder");
    let places = RunPlaces::of(Path::new("/a.ipynb"), dir.path());
    let ran = |id: &str, later: &str| {
        let trace = format!(r#"{{"kernel": "k", "ran": 9, "makes": ["f"], "later": {later}}}"#);
        let trace = serde_json::from_str(&trace).expect("a trace");
        RanCell { trace: Some(trace), ..RanCell::unknown(Some(id), 0, State::Done) }
    };
    let (one, two) = (ran("a", r#"{"f": {"uses": ["x"]}}"#), ran("b", "{}"));
    let known = |more: usize, between: &str| {
        let mut record = RunRecord::take(&places, dir.path()).expect("a file").expect("it is free");
        record.begin((RecordPlace::AsKnown, &[]), &[]).expect("it begins");
        let mut text = String::new();
        push_cell(&mut text, &one).expect("lines");
        let cut = text.rfind('\n').expect("two lines") + more;
        record.file.write_all(&text.as_bytes()[..cut]).expect("a part of them");
        record.file.write_all(between.as_bytes()).expect("another line");
        record.note(&two).expect("a note");
        record.past().expect("the past").cells
    };
    assert_eq!(known(9, ""), std::slice::from_ref(&two));
    assert_eq!(known(0, "\n{\"starts\":{\"id\":\"b\",\"index\":0}}"), std::slice::from_ref(&two));
    let mut record = RunRecord::take(&places, dir.path()).expect("a file").expect("it is free");
    record.begin((RecordPlace::AsKnown, std::slice::from_ref(&two)), &[]).expect("it begins");
    record.note(&one).expect("a note");
    assert_eq!(record.past().expect("the past").cells, [two.clone(), one.clone()]);
}

/// Wherever a crash truncated the record, a glance sees the same cells as a run, and no cell gets the data of another.
#[test]
fn a_record_that_was_cut_off_anywhere_is_read_the_same_by_all() {
    let dir = tempfile::TempDir::new().expect("a folder");
    let places = RunPlaces::of(Path::new("/a.ipynb"), dir.path());
    let ran = |id: &str, index| {
        let trace = format!(r#"{{"kernel": "k", "ran": {index}, "later": {{"{id}": {{}}}}}}"#);
        let trace = serde_json::from_str(&trace).expect("a trace");
        let displays = vec![(id.to_owned(), 0)];
        RanCell { trace: Some(trace), displays, ..RanCell::unknown(Some(id), index, State::Done) }
    };
    let mut record = RunRecord::take(&places, dir.path()).expect("a file").expect("it is free");
    record.begin((RecordPlace::AsKnown, &[]), &[ran("z", 0)]).expect("it begins");
    for (id, index) in [("a", 1), ("b", 2)] {
        record.note_start(&cell(Some(id), index, "x")).expect("a note");
        record.note(&ran(id, index)).expect("a note");
    }
    drop(record);
    let text = std::fs::read(&places.record).expect("the record");
    for end in 0..=text.len() {
        // Lines written later are complete again.
        std::fs::write(&places.record, &text[..end]).expect("a part of it");
        let mut record = RunRecord::take(&places, dir.path()).expect("a file").expect("it is free");
        record.file.seek(SeekFrom::End(0)).expect("its end");
        record.note(&RanCell::unknown(Some("c"), 3, State::Done)).expect("a note");
        let whole = record.past().expect("the past");
        drop(record);
        let seen = seen(&places);
        assert_eq!(seen.cut_off, whole.open, "cut at {end}");
        let outer = |cell: &RanCell| {
            let mut cell = RanCell { displays: Vec::new(), ..cell.clone() };
            cell.trace.iter_mut().for_each(|trace| trace.later.clear());
            cell
        };
        assert_eq!(seen.cells, whole.cells.iter().map(outer).collect::<Vec<_>>(), "cut at {end}");
        for known in &whole.cells {
            let id = known.id.as_deref().expect("an id");
            let wanted = ran(id, known.index);
            assert!(id == "c" && known.displays.is_empty() || *known == wanted, "cut at {end}");
        }
    }
}

/// A run that ends while a command reads the notebook does not look cut off.
#[test]
fn a_look_knows_what_was_noted_while_the_notebook_was_read() {
    let dir = tempfile::TempDir::new().expect("a folder");
    let places = RunPlaces::of(Path::new("/a.ipynb"), dir.path());
    let mut record = RunRecord::take(&places, dir.path()).expect("a file").expect("it is free");
    record.begin((RecordPlace::AsKnown, &[]), &[]).expect("it begins");
    record.note_start(&cell(Some("a"), 0, "x")).expect("a note");
    let look = RunRecord::peek(&places).expect("a record");
    let ran = RanCell::unknown(Some("a"), 0, State::Done);
    record.note(&ran).expect("a note");
    record.note_end().expect("a note");
    drop(record);
    let now = look.now(&places);
    assert_eq!((now.running, now.cut_off, now.cells), (None, None, vec![ran]));
}

/// A file that replaces another takes over the records of that file's last run and keeps its own for other cells.
#[test]
fn what_a_copied_kernel_ran_counts() {
    let ran = |id: &str, index, state| RanCell::unknown(Some(id), index, state);
    let of = |cells: Vec<RanCell>, last: &[usize]| RunHistory {
        cells,
        last: last.iter().copied().collect(),
        ..RunHistory::default()
    };
    let own = of(vec![ran("a", 0, State::Error), ran("z", 5, State::Done)], &[0, 1]);
    let original = of(vec![ran("a", 0, State::Done), ran("b", 1, State::Done)], &[0]);
    let past = own.copied_from(original);
    let wanted = [ran("a", 0, State::Done), ran("b", 1, State::Done), ran("z", 5, State::Done)];
    assert_eq!(past.cells, wanted);
    assert_eq!(past.last().collect::<Vec<_>>(), [&wanted[0]]);
}

/// A lost or foreign record only means that no runs are known.
#[test]
fn what_nobody_can_read_says_nothing() {
    let dir = tempfile::TempDir::new().expect("a folder");
    let places = RunPlaces::of(Path::new("/a.ipynb"), dir.path());
    assert_eq!(seen(&places), LastRuns::default());
    drop(RunRecord::take(&places, dir.path()).expect("a file"));
    std::fs::write(&places.record, b"\xff\n{}\n{\"ran\":").expect("a file");
    assert_eq!(seen(&places), LastRuns::default());
    // The same holds for numbers that no execution can have.
    let line = |ran: u64| {
        let trace = serde_json::json!(["k", ran, null, {}, null, []]);
        let cell = serde_json::json!(["a", 0, "0f", 3, "done", 1, false, trace, false]);
        format!("\n{}", serde_json::json!({"ran": cell}))
    };
    std::fs::write(&places.record, line(u64::MAX)).expect("a file");
    assert_eq!(seen(&places), LastRuns::default());
    std::fs::write(&places.record, line(7)).expect("a file");
    assert_eq!(seen(&places).cells.len(), 1);
}

/// A cell that has begun counts as running while its run is under way, and as cut off afterwards.
#[test]
fn a_cell_that_was_cut_off_is_known() {
    let dir = tempfile::TempDir::new().expect("a folder");
    let places = RunPlaces::of(Path::new("/a.ipynb"), dir.path());
    let one = cell(Some("a"), 0, "x");
    let mut record = RunRecord::take(&places, dir.path()).expect("a file").expect("it is free");
    record.begin((RecordPlace::AsKnown, &[]), &[]).expect("it begins");
    record.note_start(&one).expect("a note");
    let open = Some(OpenCell { id: Some("a".into()), index: 0 });
    let look = || seen(&places);
    assert_eq!((look().running, look().cut_off), (open.clone(), None));
    drop(record);
    assert_eq!((look().running, look().cut_off), (None, open.clone()));
    let mut record = RunRecord::take(&places, dir.path()).expect("a file").expect("it is free");
    assert_eq!(record.past().expect("the past").open, open);
    record.note_end().expect("a note");
    assert_eq!(record.past().expect("the past").open, None);
}

/// The earlier result of a cell holds while the cell runs again, and is void once it was cut off.
#[test]
fn a_cell_that_was_cut_off_has_not_ended_well() {
    let dir = tempfile::TempDir::new().expect("a folder");
    let places = RunPlaces::of(Path::new("/a.ipynb"), dir.path());
    let states = |cells: &[RanCell]| cells.iter().map(|cell| cell.state).collect::<Vec<_>>();
    let (one, two) = (cell(Some("a"), 0, "x"), cell(Some("b"), 1, "y"));
    let mut record = RunRecord::take(&places, dir.path()).expect("a file").expect("it is free");
    record.begin((RecordPlace::AsKnown, &[]), &[]).expect("it begins");
    for known in [&one, &two] {
        record
            .note(&RanCell::unknown(known.id.as_deref(), known.index, State::Done))
            .expect("a note");
    }
    record.note_start(&two).expect("a note");
    assert_eq!(states(&seen(&places).cells), [State::Done, State::Done]);
    drop(record);
    assert_eq!(states(&seen(&places).cells), [State::Done, State::Cancelled]);
    let mut record = RunRecord::take(&places, dir.path()).expect("a file").expect("it is free");
    let past = record.past().expect("the past");
    assert_eq!(states(&past.cells), [State::Done, State::Cancelled]);
    // A later run of other cells that ends well does not change that.
    record.begin((RecordPlace::AsKnown, &past.cells), &[]).expect("it begins");
    record.note_start(&one).expect("a note");
    record.note(&RanCell::unknown(Some("a"), 0, State::Done)).expect("a note");
    record.note_end().expect("a note");
    assert_eq!(states(&seen(&places).cells), [State::Done, State::Cancelled]);
    assert_eq!(states(&record.past().expect("the past").cells), [State::Done, State::Cancelled]);
}
