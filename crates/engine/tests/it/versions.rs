//! Edits against an older version: carried over, refused cell by cell, or unknown.

use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use inkcell_engine::notebook::{CellPlace, CellRef, EditOp, EditReport, MetaChange};
use inkcell_engine::{CellFate, EngineError, Kind, SaveOptions, SavedChange, Version};
use inkcell_testkit::laws::KEEP_ALL;
use inkcell_testkit::notebooks::small;

use crate::kit::{Desk, at, insert, options, replace, without_ids};

fn apply(
    desk: &Desk,
    base: Option<Version>,
    ops: &[EditOp],
) -> Result<SavedChange<EditReport>, EngineError> {
    let options = SaveOptions { base, ..options() };
    desk.notebooks.change("nb.ipynb", &options, |notebook, base| base.apply(notebook, ops))
}

fn sources(desk: &Desk) -> Vec<String> {
    let opened = desk.notebooks.read("nb.ipynb").expect("a notebook");
    opened.notebook.cells().map(|cell| cell.source().text.into_owned()).collect()
}

fn desk_with(text: &str) -> (Desk, Version) {
    let desk = Desk::new();
    desk.put("nb.ipynb", text);
    let version = desk.notebooks.read("nb.ipynb").expect("a notebook").version;
    (desk, version)
}

/// F-064
#[test]
fn indexes_mean_the_cells_the_caller_saw() {
    let (desk, seen) = desk_with(&small());
    apply(&desk, None, &[insert(CellPlace::Start, "top"), insert(CellPlace::Start, "top too")])
        .expect("done");
    let saved = apply(&desk, Some(seen), &[replace(at(1), "carried")]).expect("merged");
    assert_eq!(saved.merged, Some(seen));
    assert_eq!(sources(&desk), ["top", "top too", "# Title\n\nSome prose.", "carried", "y = 2\n"]);
    // The same by id and from the end.
    apply(&desk, Some(seen), &[EditOp::Delete { cell: at(-1) }]).expect("merged");
    let by_id = CellRef::Text("intro-md".to_owned());
    apply(&desk, Some(seen), &[insert(CellPlace::After(by_id), "after")]).expect("merged");
    assert_eq!(sources(&desk), ["top", "top too", "# Title\n\nSome prose.", "after", "carried"]);
}

/// F-064: a removed cell cannot be told from equal cells that remain.
#[test]
fn a_twin_is_not_taken_for_another() {
    let (desk, seen) = desk_with(&without_ids(&["same", "same", "same", "other"]));
    apply(&desk, None, &[EditOp::Delete { cell: at(0) }]).expect("done");
    let error =
        apply(&desk, Some(seen), &[EditOp::Delete { cell: at(1) }]).err().expect("a conflict");
    assert_eq!(error.kind(), Kind::Conflict);
    assert_eq!(sources(&desk), ["same", "same", "other"]);
    apply(&desk, Some(seen), &[replace(at(3), "told apart")]).expect("merged");
}

/// F-064: an edit can name the notebook's own metadata, too.
#[test]
fn metadata_of_the_notebook_that_changed_are_a_conflict() {
    let (desk, seen) = desk_with(&small());
    let set = |value: &str| EditOp::SetMeta {
        cell: None,
        change: MetaChange { set: vec![("foo".to_owned(), value.to_owned())], unset: Vec::new() },
    };
    apply(&desk, None, &[set("1")]).expect("done");
    let error = apply(&desk, Some(seen), &[set("2")]).err().expect("a conflict");
    assert_eq!(error.kind(), Kind::Conflict);
    assert!(desk.get("nb.ipynb").contains("\"foo\": 1"));
    apply(&desk, Some(seen), &[replace(at(1), "elsewhere")]).expect("merged");
}

/// F-064
#[test]
fn cells_without_ids_are_known_by_their_content() {
    let (desk, seen) = desk_with(&without_ids(&["a", "b", "b", "c"]));
    apply(&desk, None, &[insert(CellPlace::Start, "top"), replace(at(3), "C")]).expect("done");
    apply(&desk, Some(seen), &[replace(at(2), "second b")]).expect("merged");
    assert_eq!(sources(&desk), ["top", "a", "b", "second b", "C"]);
    // A changed cell cannot be told from a deleted one.
    let error = apply(&desk, Some(seen), &[replace(at(3), "mine")]).err().expect("a conflict");
    assert!(error.to_string().ends_with("cell 3 is gone"), "{error}");
}

/// F-064
#[test]
fn the_current_version_needs_no_merge() {
    let (desk, seen) = desk_with(&small());
    let saved = apply(&desk, Some(seen), &[replace(at(1), "mine")]).expect("done");
    assert_eq!(saved.merged, None);
}

/// F-064: each named cell that differs is listed once, with what happened to it.
#[test]
fn a_conflict_names_every_cell_that_differs() {
    let (desk, seen) = desk_with(&small());
    apply(&desk, None, &[replace(at(1), "theirs"), EditOp::Delete { cell: at(2) }]).expect("done");
    let before = desk.get("nb.ipynb");
    let ops =
        [replace(at(0), "fine"), replace(at(1), "a"), replace(at(1), "b"), replace(at(2), "c")];
    let error = apply(&desk, Some(seen), &ops).err().expect("a conflict");
    let EngineError::Conflict { yours, current, cells, .. } = &error else { panic!("{error}") };
    assert_eq!((*yours, *current), (seen, Version::of(before.as_bytes())));
    let listed: Vec<_> = cells.iter().map(|cell| (cell.cell.index, cell.fate.clone())).collect();
    let changed = CellFate::Changed { now: 1, source: Some("theirs".to_owned()) };
    assert_eq!(listed, [(1, changed), (2, CellFate::Gone)]);
    assert_eq!(desk.get("nb.ipynb"), before);
}

/// F-064: a conflict shows what the other writer left, and where the cell is now.
#[test]
fn a_conflict_has_the_text_and_the_place_of_the_other_side() {
    let (desk, seen) = desk_with(&small());
    let ops = [insert(CellPlace::Start, "top"), replace(at(1), "theirs = 1\ntheirs")];
    apply(&desk, None, &ops).expect("done");
    let error = apply(&desk, Some(seen), &[replace(at(1), "mine")]).err().expect("a conflict");
    let said = error.to_string();
    let wanted = ": cell 1 (id aaaa1111) was changed and is cell 2 now\n\
                  In the file, cell 2 (id aaaa1111) is:\n> theirs = 1\n> theirs";
    assert!(said.ends_with(wanted), "{said}");
    // A long source is shown from its beginning.
    apply(&desk, None, &[replace(at(2), &"é".repeat(5000))]).expect("done");
    let error = apply(&desk, Some(seen), &[replace(at(1), "mine")]).err().expect("a conflict");
    let said = error.to_string();
    assert!(said.ends_with(&format!("\n> {}…", "é".repeat(1000))), "{said}");
}

/// F-064: a run is not an edit, so new outputs are not a conflict.
#[test]
fn outputs_that_came_meanwhile_are_no_conflict() {
    let (desk, seen) = desk_with(&small());
    desk.put("nb.ipynb", small().replace("hi\\n", "ho\\n"));
    let saved = apply(&desk, Some(seen), &[EditOp::Delete { cell: at(0) }]).expect("merged");
    assert_eq!(saved.merged, Some(seen));
    // Metadata belong to the cell.
    let (desk, seen) = desk_with(&small());
    desk.put("nb.ipynb", small().replacen("\"metadata\": {}", "\"metadata\": {\"a\": 1}", 1));
    let error =
        apply(&desk, Some(seen), &[EditOp::Delete { cell: at(0) }]).err().expect("a conflict");
    let wanted = "cell 0 (id intro-md) was changed in its metadata";
    assert!(error.to_string().ends_with(wanted), "{error}");
}

/// F-064
#[test]
fn an_unknown_version_is_refused() {
    let (desk, seen) = desk_with(&small());
    let unknown = Version::parse("0123456789abcdef").expect("a version");
    let error = apply(&desk, Some(unknown), &[replace(at(1), "mine")]).err().expect("refused");
    assert_eq!(
        error.to_string(),
        format!(
            "nb.ipynb has version {seen}; version 0123456789abcdef is not known here, so inkcell \
             cannot tell what changed"
        )
    );
    assert_eq!(error.kind(), Kind::Conflict);
    assert_eq!(desk.get("nb.ipynb"), small());
    // Versions that are known are named, the most similar first.
    apply(&desk, None, &[replace(at(1), "theirs")]).expect("done");
    let given = seen.to_string();
    let slip = if given.ends_with('0') { "1" } else { "0" };
    let slip = Version::parse(&format!("{}{slip}", &given[..15])).expect("a version");
    let error = apply(&desk, Some(slip), &[replace(at(1), "mine")]).err().expect("refused");
    let nearest = format!("so inkcell cannot tell what changed; the nearest is {seen} (seen ");
    assert!(error.to_string().contains(&nearest), "{error}");
}

/// F-064: the older text is compared with the version it was made from, not with the current one.
#[test]
fn an_older_text_changes_only_what_it_changed() {
    let (desk, seen) = desk_with(&small());
    let opened = desk.notebooks.read("nb.ipynb").expect("a notebook");
    let text = opened.notebook.to_text(inkcell_engine::notebook::MarkerIds::Off).expect("text");
    apply(&desk, None, &[insert(CellPlace::Start, "top"), replace(at(2), "theirs")]).expect("done");
    let write = |text: &str| {
        let options = SaveOptions { base: Some(seen), ..options() };
        desk.notebooks.change("nb.ipynb", &options, |notebook, base| {
            base.apply_text(notebook, text, KEEP_ALL)
        })
    };
    write(&text.replace("x = 1", "x = 10")).expect("merged");
    let merged = ["top", "# Title\n\nSome prose.", "x = 10\nprint(x)", "theirs"];
    assert_eq!(sources(&desk), merged);
    let error = write(&text.replace("y = 2", "y = 20")).err().expect("a conflict");
    let wanted = "cell 2 (id bbbb2222) was changed and is cell 3 now\nIn the file, cell 3 (id bbbb2222) is:\n\
                  > theirs";
    assert!(error.to_string().ends_with(wanted), "{error}");
    assert_eq!(sources(&desk), merged);
}

/// Only the last 64 versions of a file are known.
#[test]
fn old_versions_are_forgotten() {
    let (desk, first) = desk_with(&small());
    let mut versions = vec![first];
    for number in 0..70 {
        // Records are ordered by time, so each but the newest gets an old one of its own.
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 + number);
        let last = record(&desk, versions[versions.len() - 1]);
        File::options().write(true).open(last).and_then(|f| f.set_modified(time)).expect("set");
        desk.put("nb.ipynb", small().replace("y = 2", &format!("y = {}", number + 100)));
        versions.push(desk.notebooks.read("nb.ipynb").expect("a notebook").version);
    }
    let known: Vec<bool> =
        versions.iter().map(|&version| record(&desk, version).exists()).collect();
    assert_eq!(known.iter().filter(|known| **known).count(), 64);
    let ops = [insert(CellPlace::End, "mine")];
    for (version, known) in versions.iter().zip(known) {
        match apply(&desk, Some(*version), &ops) {
            Ok(_) => assert!(known, "{version} was forgotten"),
            Err(EngineError::UnknownVersion { .. }) => assert!(!known, "{version} was known"),
            Err(error) => panic!("{error}"),
        }
        desk.put("nb.ipynb", small());
    }
    assert!(matches!(
        apply(&desk, Some(versions[1]), &ops),
        Err(EngineError::UnknownVersion { .. })
    ));
}

fn record(desk: &Desk, version: Version) -> PathBuf {
    let folder = desk.state().join("versions");
    let names = inkcell_testkit::env::names_in(&folder);
    assert_eq!(names.len(), 1, "one notebook");
    folder.join(&names[0]).join(version.to_string())
}

/// A damaged record makes its version unknown; its content is not guessed.
#[test]
fn a_damaged_record_is_no_record() {
    for damage in [
        "",
        "zz",
        "0123456789abcdef 0123456789abcdef intro-md\n",
        "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\n",
    ] {
        let (desk, seen) = desk_with(&small());
        std::fs::write(record(&desk, seen), damage).expect("damaged");
        desk.put("nb.ipynb", small().replace("y = 2", "y = 3"));
        let error = apply(&desk, Some(seen), &[replace(at(1), "mine")]).err().expect("refused");
        assert_ne!(error.kind(), Kind::Internal, "{damage:?}: {error}");
        assert!(!desk.get("nb.ipynb").contains("mine"), "{damage:?}");
    }
}

/// A limited number of files has known versions; the least recently used ones are forgotten.
#[test]
fn files_that_were_not_used_for_long_are_forgotten() {
    const MAX_FILES: usize = 2000;
    let desk = Desk::new();
    desk.put("nb.ipynb", small());
    let folder = desk.state().join("versions");
    let age = SystemTime::now() - Duration::from_secs(1000);
    for number in 0..MAX_FILES {
        let one = folder.join(format!("{number:032x}"));
        std::fs::create_dir_all(&one).expect("made");
        std::fs::write(one.join("0123456789abcdef"), "x").expect("made");
        let newer = Duration::from_secs(number.min(1) as u64);
        File::open(&one).and_then(|one| one.set_modified(age + newer)).expect("aged");
    }
    desk.notebooks.read("nb.ipynb").expect("read");
    assert_eq!(inkcell_testkit::env::names_in(&folder).len(), MAX_FILES);
    assert!(!folder.join(format!("{:032x}", 0)).exists());
    assert!(folder.join(format!("{:032x}", 1)).exists());
}

/// Issue 23, 4: what a caller has seen, by a read, a save or the stored JSON, can be compared with later; what was seen
/// longest ago makes room.
#[test]
fn seen_versions_are_kept_until_newer_ones_need_their_room() {
    let (mut desk, _) = desk_with(&small());
    let room = small().len() * 5 / 2;
    let forgetful = desk.notebooks.clone();
    desk.notebooks = desk.notebooks.keeping_versions(room);
    let second_source = |desk: &Desk, version: Version| {
        let opened = forgetful.read("nb.ipynb").expect("a notebook");
        let old = desk.notebooks.seen_version(&opened, version).expect("a notebook")?;
        Some(old.cell(1).expect("a second cell").source().text.into_owned())
    };
    let (_, first) = desk.notebooks.read_bytes("nb.ipynb").expect("bytes");
    let second = apply(&desk, None, &[replace(at(1), "x = 2")]).expect("done").version;
    let current = forgetful.read("nb.ipynb").expect("a notebook");
    assert_eq!(current.version, second);
    let kept = desk.notebooks.seen_versions(&current, second);
    assert_eq!(kept.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), [first.to_string()]);
    assert_eq!(second_source(&desk, first).as_deref(), Some("x = 1\nprint(x)"));
    assert_eq!(second_source(&desk, second).as_deref(), Some("x = 2"));

    // There is room for two.
    let third = apply(&desk, None, &[replace(at(1), "x = 3")]).expect("done").version;
    assert_eq!(second_source(&desk, first), None);
    assert_eq!(second_source(&desk, second).as_deref(), Some("x = 2"));
    assert_eq!(second_source(&desk, third).as_deref(), Some("x = 3"));
    // Another notebook with the same bytes was not seen, and one too large for the room displaces nothing.
    desk.put("other.ipynb", desk.get("nb.ipynb"));
    let other = forgetful.read("other.ipynb").expect("a notebook");
    assert!(desk.notebooks.seen_version(&other, second).expect("none").is_none());
    desk.put("large.ipynb", without_ids(&[&"x".repeat(room)]));
    desk.notebooks.read("large.ipynb").expect("a notebook");
    assert_eq!(second_source(&desk, second).as_deref(), Some("x = 2"));
}
