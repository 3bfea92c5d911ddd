//! Destinations of a change besides the file itself: another file, a backup, none.

use inkcell_engine::{
    Backup, EngineError, FileEffect, Kind, Mode, SaveOptions, SavedChange, Version,
};
use inkcell_testkit::notebooks::small;

use crate::kit::{Desk, at, options, replace};

fn edit(desk: &Desk, options: &SaveOptions) -> Result<SavedChange<()>, EngineError> {
    desk.notebooks.change("nb.ipynb", options, |notebook, base| {
        base.apply(notebook, &[replace(at(1), "mine")]).map(drop)
    })
}

#[test]
fn another_output_leaves_the_notebook_alone() {
    let desk = Desk::new();
    desk.put("nb.ipynb", small());
    let out =
        SaveOptions { output: Some("out.ipynb".to_owned()), backup: Backup::Yes, ..options() };
    for _ in 0..2 {
        let saved = edit(&desk, &out).expect("written");
        assert_eq!(saved.effect, FileEffect::Written);
        assert_eq!((saved.path.as_str(), saved.backup), ("out.ipynb", None));
        assert_eq!(desk.get("nb.ipynb"), small());
        assert_eq!(saved.version, Version::of(desk.get("out.ipynb").as_bytes()));
        assert!(desk.get("out.ipynb").contains("mine"));
    }
    assert_eq!(desk.names(), ["nb.ipynb", "out.ipynb"]);
}

/// Another spelling of the notebook's own path as output would overwrite the notebook.
#[test]
fn the_notebook_itself_is_no_output() {
    let desk = Desk::new();
    desk.put("nb.ipynb", small());
    std::os::unix::fs::symlink("nb.ipynb", desk.path("link.ipynb")).expect("a link");
    for output in ["./link.ipynb", "nb.ipynb"] {
        let out = SaveOptions { output: Some(output.to_owned()), ..options() };
        let error = edit(&desk, &out).err().expect("refused");
        assert!(matches!(error, EngineError::OntoItself { .. }), "{error}");
    }
    assert_eq!(desk.get("nb.ipynb"), small());
}

#[test]
fn a_dry_run_writes_nothing_at_all() {
    let desk = Desk::new();
    desk.put("nb.ipynb", small());
    let dry = SaveOptions { mode: Mode::DryRun, backup: Backup::Yes, ..options() };
    let saved = edit(&desk, &dry).expect("worked out");
    assert_eq!(saved.effect, FileEffect::WouldWrite);
    let after = saved.after.to_bytes();
    assert_eq!(saved.version, Version::of(&after));
    assert!(String::from_utf8_lossy(&after).contains("mine"));
    assert_eq!(desk.get("nb.ipynb"), small());
    assert_eq!(desk.names(), ["nb.ipynb"]);
    assert!(!desk.state().exists(), "not even a lock");
}

/// An edit without effect writes no file, changes no times, and makes no backup.
#[test]
fn an_edit_without_effect_touches_nothing() {
    let desk = Desk::new();
    let path = desk.put("nb.ipynb", small());
    let before = std::fs::metadata(&path).expect("there");
    let keep = SaveOptions { backup: Backup::Yes, ..options() };
    let saved = desk.notebooks.change("nb.ipynb", &keep, |notebook, base| {
        base.apply(notebook, &[replace(at(1), "x = 1\nprint(x)")]).map(drop)
    });
    assert_eq!(saved.expect("nothing to do").effect, FileEffect::Nothing);
    let after = std::fs::metadata(&path).expect("there");
    assert_eq!(after.modified().expect("a time"), before.modified().expect("a time"));
    assert_eq!(desk.names(), ["nb.ipynb"]);
}

#[test]
fn a_new_notebook_is_made_only_where_there_is_none() {
    let desk = Desk::new();
    let version = desk.notebooks.create("nb.ipynb", None).expect("made");
    let bytes = desk.get("nb.ipynb");
    assert_eq!(version, Version::of(bytes.as_bytes()));
    assert!(bytes.ends_with("}\n"));
    let error = desk.notebooks.create("nb.ipynb", None).expect_err("refused");
    assert_eq!(error.to_string(), "nb.ipynb already exists");
    assert_eq!(error.kind(), Kind::Conflict);
    desk.put("empty.ipynb", "");
    let error = desk.notebooks.create("empty.ipynb", None).expect_err("refused");
    assert_eq!(error.kind(), Kind::Conflict);
    assert_eq!(desk.get("empty.ipynb"), "");
}

#[test]
fn an_export_never_overwrites_its_own_notebook() {
    let desk = Desk::new();
    desk.put("nb.ipynb", small());
    let opened = desk.notebooks.read("nb.ipynb").expect("a notebook");
    let error = desk.notebooks.export("./nb.ipynb", &opened, b"x").expect_err("refused");
    assert_eq!(error.to_string(), "./nb.ipynb is the notebook itself; nothing was written");
    assert_eq!(desk.get("nb.ipynb"), small());
    desk.notebooks.export("script.py", &opened, b"x").expect("written");
    assert_eq!(desk.get("script.py"), "x");
}
