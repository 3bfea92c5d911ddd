//! One writer at a time: who waits, how long, and the remnants of a killed writer.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use inkcell_engine::{EngineError, Kind, Mode, NextStep, SaveOptions};
use inkcell_testkit::notebooks::small;
use inkcell_testkit::wait::until;

use crate::kit::{Desk, at, options, replace};

fn edit_with(desk: &Desk, options: &SaveOptions) -> Result<(), EngineError> {
    desk.notebooks
        .change("nb.ipynb", options, |notebook, base| {
            base.apply(notebook, &[replace(at(1), "mine")]).map(drop)
        })
        .map(drop)
}

/// The only lock file of a desk with one notebook, created by a change without effect.
fn lock_file(desk: &Desk) -> PathBuf {
    desk.notebooks.change("nb.ipynb", &options(), |_, _| Ok(())).expect("nothing to do");
    let folder = desk.state().join("locks");
    let names = inkcell_testkit::env::names_in(&folder);
    assert_eq!(names.len(), 1, "{names:?}");
    folder.join(&names[0])
}

/// Number of descriptors with which this process has a file open.
fn openings(path: &Path) -> usize {
    let path = path.canonicalize().expect("the file is there");
    let descriptors = std::fs::read_dir("/proc/self/fd").expect("descriptors").flatten();
    let targets = descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    targets.filter(|target| *target == path).count()
}

fn patient(wait: Duration) -> Desk {
    let desk = Desk::with(|config, _| config.lock_wait = wait);
    desk.put("nb.ipynb", small());
    desk
}

#[test]
fn a_file_that_is_being_edited_is_busy() {
    let desk = patient(Duration::from_millis(300));
    let lock = File::options().write(true).open(lock_file(&desk)).expect("a lock file");
    lock.lock().expect("locked");
    let start = Instant::now();
    let error = edit_with(&desk, &options()).expect_err("busy");
    assert!(start.elapsed() >= Duration::from_millis(300), "it waits first");
    assert_eq!(error.kind(), Kind::Busy);
    assert_eq!(error.to_string(), "nb.ipynb is being edited by another inkcell; waited 0 s for it");
    assert_eq!(error.next_step(), Some(NextStep::TryLater));
    assert_eq!(desk.get("nb.ipynb"), small());
    // Reads and dry runs need no lock, and other files have their own.
    desk.notebooks.read("nb.ipynb").expect("read");
    edit_with(&desk, &SaveOptions { mode: Mode::DryRun, ..options() }).expect("tried out");
    desk.notebooks.create("other.ipynb", None).expect("made");
    lock.unlock().expect("unlocked");
    edit_with(&desk, &options()).expect("free");
}

#[test]
fn a_second_writer_waits_for_the_first() {
    let desk = patient(Duration::from_secs(60));
    let path = lock_file(&desk);
    let lock = File::options().write(true).open(&path).expect("a lock file");
    lock.lock().expect("locked");
    std::thread::scope(|scope| {
        let second = scope.spawn(|| edit_with(&desk, &options()));
        until("the second writer at the lock", || openings(&path) == 2);
        assert_eq!(desk.get("nb.ipynb"), small());
        lock.unlock().expect("unlocked");
        second.join().expect("no panic").expect("written");
    });
    assert!(desk.get("nb.ipynb").contains("mine"));
}

/// A lock belongs to a process: once that is killed, the next writer goes on at once.
#[test]
fn a_killed_holder_frees_the_lock() {
    let desk = patient(Duration::from_secs(600));
    let path = lock_file(&desk);
    let lock = File::options().write(true).open(&path).expect("a lock file");
    lock.lock().expect("locked");
    // The child inherits the locked file as its standard input and is then its only holder.
    let mut child = Command::new("sleep")
        .arg("600")
        .stdin(Stdio::from(lock))
        .stdout(Stdio::null())
        .spawn()
        .expect("a child");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| edit_with(&desk, &options()));
        until("the writer at the lock", || openings(&path) == 1);
        assert_eq!(desk.get("nb.ipynb"), small());
        child.kill().expect("killed");
        child.wait().expect("gone");
        waiting.join().expect("no panic").expect("written");
    });
    assert!(desk.get("nb.ipynb").contains("mine"));
}

/// F-060: the next writer removes the temporary file of a killed one, and no other file.
#[test]
fn the_next_writer_removes_what_a_killed_one_left() {
    let temp = ".inkcell-0123456789abcdef.tmp";
    let table = [
        (temp, true),
        (".inkcell-0123456789abcdef.tmp\n", true),
        // None of these is a temporary name of inkcell, so none is removed.
        ("precious.ipynb", false),
        (".inkcell-short.tmp", false),
        (".inkcell-0123456789abcdeg.tmp", false),
        ("../work/precious.ipynb", false),
        (".inkcell-../precious.i.tmp", false),
    ];
    for (note, removed) in table {
        let desk = patient(Duration::from_secs(60));
        let precious = desk.put("precious.ipynb", "precious");
        let left = desk.put(if removed { temp } else { ".inkcell-short.tmp" }, "half");
        std::fs::write(lock_file(&desk), note).expect("noted");
        edit_with(&desk, &options()).expect("written");
        assert_eq!(std::fs::read(&precious).expect("there"), b"precious", "{note:?}");
        assert_eq!(left.exists(), !removed, "{note:?}");
        assert_eq!(std::fs::read(lock_file(&desk)).expect("there"), b"", "{note:?}");
    }
}

/// The error names a state folder that cannot be used, and no file is written without a lock.
#[test]
fn without_a_lock_nothing_is_written() {
    let desk = patient(Duration::from_secs(60));
    std::fs::write(desk.state(), "a file where the folder should be").expect("in the way");
    let error = edit_with(&desk, &options()).expect_err("refused");
    assert!(error.to_string().contains("cannot use the state folder"), "{error}");
    assert_eq!(desk.get("nb.ipynb"), small());
    // Reading loses only the record.
    desk.notebooks.read("nb.ipynb").expect("read");
}

/// F-065: two processes with different state folders have different locks; no edit of either is
/// lost.
#[test]
fn writers_with_different_state_folders_lose_nothing() {
    let desk = Desk::new();
    desk.put("nb.ipynb", small());
    let each = if inkcell_testkit::need::is_quick() { 20 } else { 60 };
    let dir = desk.dir();
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let dir = dir.clone();
            let state = desk.root.path().join(format!("state-{writer}"));
            scope.spawn(move || {
                let other = Desk::with(|config, _| {
                    config.state_dir = state;
                    config.path_base.cwd = dir;
                });
                for number in 0..each {
                    let op = crate::kit::insert(
                        inkcell_engine::notebook::CellPlace::End,
                        &format!("w{writer}-{number}"),
                    );
                    let ops = [op];
                    let done = other.notebooks.change("nb.ipynb", &options(), |notebook, base| {
                        base.apply(notebook, &ops)
                    });
                    done.expect("an edit is done");
                }
            });
        }
    });
    let opened = desk.notebooks.read("nb.ipynb").expect("a notebook");
    let sources: Vec<String> =
        opened.notebook.cells().map(|cell| cell.source().text.into_owned()).collect();
    for writer in 0..2 {
        for number in 0..each {
            let wanted = format!("w{writer}-{number}");
            assert_eq!(sources.iter().filter(|source| **source == wanted).count(), 1, "{wanted}");
        }
    }
}
