use super::super::record::SourceDigest;
use super::*;

/// Saves follow every cell while they are cheap, and are rare while they are dear.
#[test]
fn saves_keep_their_distance() {
    let start = Instant::now();
    let after = |millis| start + Duration::from_millis(millis);
    let mut pace = Pace::default();
    assert!(pace.is_due(start));
    pace.saved(start, after(49), 1);
    assert!(pace.is_due(after(50)));
    pace.saved(start, after(60), 1);
    assert!(!pace.is_due(after(2000)));
    assert!(pace.is_due(after(2060)));
    pace.saved(start, after(1000), 1);
    assert!(!pace.is_due(after(10_900)));
    assert!(pace.is_due(after(11_000)));
}

/// A large file is written at most four times over, however long cells take: less than twice its size during the run,
/// once at the end, and once for the outputs in the journal.
#[test]
fn large_files_are_not_written_again_and_again() {
    let start = Instant::now();
    let mb = 1 << 20;
    // Outputs that accumulate, and outputs that replace others.
    for (first, each) in [(0_u64, mb / 2), (50 * mb, 0)] {
        let (mut pace, mut now, mut size, mut written) = (Pace::default(), start, first, 0_u64);
        for _ in 0..100 {
            now += Duration::from_secs(5);
            size += each;
            pace.taken(each);
            if pace.is_due(now) {
                pace.saved(now, now, size);
                written += size;
            }
        }
        assert!(written > 0 && written < 2 * size, "{written} of {size}");
        assert!(pace.is_due(now + LONG), "and yet it is seen now and then");
    }
    let mut small = Pace::default();
    for second in 0..100 {
        assert!(small.is_due(start + Duration::from_secs(second)));
        small.saved(start, start, mb);
    }
}

fn desk() -> (tempfile::TempDir, Notebooks) {
    let dir = tempfile::TempDir::new().expect("a folder");
    let config = crate::FilesConfig {
        state_dir: dir.path().join("state"),
        path_base: crate::PathBase { cwd: dir.path().to_owned(), home: None },
        roots: crate::Roots::Anywhere,
        max_bytes: 1 << 20,
        lock_wait: Duration::from_secs(20),
        random: crate::types::system_random,
    };
    (dir, Notebooks::new(config))
}

fn notebook(first: &str) -> String {
    let cell = |id: &str, source: &str| {
        serde_json::json!({"cell_type": "code", "execution_count": null, "id": id,
            "metadata": {}, "outputs": [], "source": source})
    };
    let cells = [cell("one", first), cell("two", "2")];
    serde_json::json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
        .to_string()
}

fn stream_output(id: &str, source: &str, text: &str) -> CellOutputs {
    let cell =
        KnownCell { id: Some(id.to_owned()), index: 0, source: source.to_owned(), planned: None };
    let output =
        serde_json::json!({"output_type": "stream", "name": "stdout", "text": [text]}).to_string();
    let outputs = vec![NbOutput::from_json(&output).expect("an output")];
    CellOutputs { cell, count: Some(4), outputs }
}

/// F-078: outputs that a dead host kept are in the file after the next command on it, once. Outputs of a changed source
/// are dropped, and a run that is under way is left alone.
#[test]
fn what_was_kept_goes_into_the_file() {
    let (dir, notebooks) = desk();
    let path = dir.path().join("a.ipynb");
    std::fs::write(&path, notebook("1")).expect("a file");
    let (mut file, _) = RunFile::open(&notebooks, "a.ipynb").expect("a run");
    for outputs in [
        stream_output("one", "1", "early\n"),
        stream_output("one", "1", "late\n"),
        stream_output("two", "another source", "not mine\n"),
    ] {
        file.journal.keep(&outputs).expect("it is kept");
    }
    assert_eq!(notebooks.read("a.ipynb").expect("a notebook").recovered, None);
    drop(file);
    let opened = notebooks.read("a.ipynb").expect("a notebook");
    assert_eq!(opened.recovered, Some(1));
    let text = std::fs::read_to_string(&path).expect("the file");
    assert!(
        text.contains("late") && !text.contains("early") && !text.contains("not mine"),
        "{text}"
    );
    assert_eq!(notebooks.read("a.ipynb").expect("a notebook").recovered, None);
}

/// Outputs that cannot be saved are kept, and reach the file once a save works.
#[test]
fn what_cannot_be_saved_is_kept() {
    let (dir, notebooks) = desk();
    let path = dir.path().join("a.ipynb");
    std::fs::write(&path, notebook("1")).expect("a file");
    let (mut file, _) = RunFile::open(&notebooks, "a.ipynb").expect("a run");
    std::fs::write(&path, "{").expect("another program breaks it");
    let outputs = vec![(0, stream_output("one", "1", "kept\n"), CellStamps::default())];
    let failed = file.take(outputs, None, Urgency::Now);
    assert!(failed.is_err());
    drop(file);
    std::fs::write(&path, notebook("1")).expect("another program mends it");
    assert_eq!(notebooks.read("a.ipynb").expect("a notebook").recovered, Some(1));
    assert!(std::fs::read_to_string(&path).expect("the file").contains("kept"));
}

/// F-078: outputs that a run left for another file are restored when that run resumes.
#[test]
fn what_was_kept_for_another_file_goes_into_it() {
    let (dir, notebooks) = desk();
    for name in ["a.ipynb", "b.ipynb"] {
        std::fs::write(dir.path().join(name), notebook("1")).expect("a file");
    }
    let (mut file, _) = RunFile::open(&notebooks, "b.ipynb").expect("a run");
    file.begin((RecordPlace::AsKnown, &[]), &[]).expect("it begins");
    let one = stream_output("one", "1", "late\n");
    let ran = RanCell {
        id: one.cell.id.as_deref().map(Into::into),
        index: one.cell.index,
        source: SourceDigest::of(&one.cell.source),
        count: one.count,
        state: crate::types::State::Done,
        duration: Duration::ZERO,
        displays: Vec::new(),
        is_twin: false,
        trace: None,
    };
    file.record.note(&ran).expect("a note");
    file.journal.keep(&one).expect("it is kept");
    drop(file);
    let request = serde_json::json!({"path": "a.ipynb", "output": "b.ipynb", "start": "resume"});
    let request = serde_json::from_value(request).expect("a request");
    let files = crate::run::RunFiles {
        notebooks,
        outputs: crate::output::SizePolicy::Whole,
        clock: std::time::SystemTime::now,
        cheap_save: CHEAP_SAVE,
    };
    let prepared = crate::run::open_run(request, &files)
        .and_then(|opened| crate::run::prepare(opened, Vec::new(), &Default::default(), &files))
        .expect("a run");
    // The kernel is a new one: what the rest needs is not known, so the finished cell runs before it.
    assert_eq!(prepared.request.cells.len(), 2);
    let text = std::fs::read_to_string(dir.path().join("b.ipynb")).expect("the file");
    assert!(text.contains("late"), "{text}");
}

/// Without a journal, outputs are saved at once.
#[test]
fn without_a_journal_outputs_are_saved_at_once() {
    let (dir, notebooks) = desk();
    let path = dir.path().join("a.ipynb");
    std::fs::write(&path, notebook("1")).expect("a file");
    let (mut file, _) = RunFile::open(&notebooks, "a.ipynb").expect("a run");
    let start = Instant::now();
    file.pace.saved(start, start + Duration::from_secs(100), 1);
    file.journal = Journal::new(dir.path().join("no/such/folder"));
    let outputs = vec![(0, stream_output("one", "1", "kept\n"), CellStamps::default())];
    let saved = file.take(outputs, None, Urgency::WhenCheap).expect("it is saved");
    assert!(saved.is_some());
    assert!(std::fs::read_to_string(&path).expect("the file").contains("kept"));
}

/// F-078: a host that dies between a save and the removal of its journal causes no second restore.
#[test]
fn what_is_in_the_file_already_is_not_put_in_again() {
    let (dir, notebooks) = desk();
    let path = dir.path().join("a.ipynb");
    std::fs::write(&path, notebook("1")).expect("a file");
    let (mut file, _) = RunFile::open(&notebooks, "a.ipynb").expect("a run");
    let one = stream_output("one", "1", "once\n");
    file.take(vec![(0, one.clone(), CellStamps::default())], None, Urgency::Now).expect("saved");
    file.journal.keep(&one).expect("it is kept");
    drop(file);
    let before = std::fs::read(&path).expect("the file");
    assert_eq!(notebooks.read("a.ipynb").expect("a notebook").recovered, None);
    assert_eq!(std::fs::read(&path).expect("the file"), before);
    assert_eq!(std::fs::read_dir(dir.path().join("state/runs")).expect("a folder").count(), 1);
}

/// F-079: if another program replaces the file with an older copy, the next save restores the outputs of all cells
/// whose source is still the one that ran.
#[test]
fn an_older_copy_gets_the_outputs_again() {
    let (dir, notebooks) = desk();
    let path = dir.path().join("a.ipynb");
    std::fs::write(&path, notebook("1")).expect("a file");
    let (mut file, _) = RunFile::open(&notebooks, "a.ipynb").expect("a run");
    let take = |file: &mut RunFile, number: usize, outputs: CellOutputs| {
        let outputs = vec![(number, outputs, CellStamps::default())];
        file.take(outputs, None, Urgency::Now).expect("it is saved").expect("a save")
    };
    let has = |text: &str| std::fs::read_to_string(&path).expect("the file").contains(text);
    take(&mut file, 0, stream_output("one", "1", "first\n"));
    assert!(has("first"));
    std::fs::write(&path, notebook("1")).expect("another program puts an older copy there");
    let saved = take(&mut file, 1, stream_output("two", "2", "second\n"));
    assert!(has("first") && has("second"));
    assert_eq!(saved.put_again, [0]);
    // If no outputs were removed, the save reports and writes nothing.
    let saved = file.save(Keep::Record).expect("it is saved").expect("a save");
    assert!(saved.put_again.is_empty() && saved.cells.is_empty());
    // Outputs return at the end at the latest, and only where the source has not changed.
    std::fs::write(&path, notebook("changed")).expect("another program puts another one there");
    let saved = file.save(Keep::Record).expect("it is saved").expect("a save");
    assert!(!has("first") && has("second"));
    assert_eq!((saved.put_again, saved.cells), (vec![1], vec![(1, WriteBack::Saved)]));
    // A cell that returns gets its outputs back.
    std::fs::write(&path, notebook("1")).expect("another program takes the change back");
    file.save(Keep::Record).expect("it is saved");
    assert!(has("first") && has("second"));
}

/// F-079: removing the file loses no outputs, not even saved ones.
#[test]
fn a_file_that_vanishes_gets_everything_when_it_is_back() {
    let (dir, notebooks) = desk();
    let path = dir.path().join("a.ipynb");
    std::fs::write(&path, notebook("1")).expect("a file");
    let (mut file, _) = RunFile::open(&notebooks, "a.ipynb").expect("a run");
    let entry = |number, outputs| vec![(number, outputs, CellStamps::default())];
    file.take(entry(0, stream_output("one", "1", "first\n")), None, Urgency::Now).expect("saved");
    std::fs::remove_file(&path).expect("another program removes it");
    assert!(
        file.take(entry(1, stream_output("two", "2", "second\n")), None, Urgency::Now).is_err()
    );
    assert!(file.save(Keep::Record).is_err());
    drop(file);
    std::fs::write(&path, notebook("1")).expect("it is back, as it once was");
    assert_eq!(notebooks.read("a.ipynb").expect("a notebook").recovered, Some(2));
    let text = std::fs::read_to_string(&path).expect("the file");
    assert!(text.contains("first") && text.contains("second"), "{text}");
}

/// If a later cell changes a display, the notes about the display's own cell stay.
#[test]
fn a_changed_display_keeps_the_times_of_its_cell() {
    let (dir, notebooks) = desk();
    let path = dir.path().join("a.ipynb");
    std::fs::write(&path, notebook("1")).expect("a file");
    let (mut file, _) = RunFile::open(&notebooks, "a.ipynb").expect("a run");
    let start = Instant::now();
    file.pace.saved(start, start + Duration::from_secs(100), 1);
    let now = std::time::SystemTime::UNIX_EPOCH;
    let span = Span { began: now, ended: now, state: crate::types::State::Done };
    let stamps = CellStamps::of(Stamps::Jupyter, span);
    let one = |text: &str, stamps| vec![(0, stream_output("one", "1", text), stamps)];
    file.take(one("early\n", stamps), None, Urgency::WhenCheap).expect("it is kept");
    file.take(one("late\n", CellStamps::default()), None, Urgency::Now).expect("it is saved");
    let text = std::fs::read_to_string(&path).expect("the file");
    assert!(text.contains("late") && text.contains("shell.execute_reply"), "{text}");
}
