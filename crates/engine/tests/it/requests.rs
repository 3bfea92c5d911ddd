//! Requests that all faces make in the same way: whole texts, replacements, cleaning, new files.

use inkcell_engine::notebook::{EditReport, MarkerIds, Matches, SubError};
use inkcell_engine::{
    Cleaning, EngineError, FileEffect, IfMissing, Kind, Mode, NextStep, SaveOptions, SavedChange,
    Version,
};
use inkcell_testkit::laws::KEEP_ALL;
use inkcell_testkit::notebooks::small;

use crate::kit::{Desk, at, options, replace};

fn put(
    desk: &Desk,
    path: &str,
    text: &str,
    base: Option<Version>,
) -> Result<SavedChange<EditReport>, EngineError> {
    let options = SaveOptions { base, if_missing: IfMissing::CreateNotebook, ..options() };
    desk.notebooks.change(path, &options, |notebook, base| base.put_text(notebook, text, KEEP_ALL))
}

/// Text that begins with `{` is the JSON of a notebook and is stored as given.
#[test]
fn a_whole_notebook_is_stored_as_it_is() {
    let desk = Desk::new();
    let odd = format!("\u{feff} {}  \n", small());
    assert_eq!(put(&desk, "nb.ipynb", &odd, None).expect("made").effect, FileEffect::Written);
    assert_eq!(desk.get("nb.ipynb"), odd);
    assert_eq!(put(&desk, "nb.ipynb", &odd, None).expect("same").effect, FileEffect::Nothing);
    let table = [
        (
            "{",
            "the text for nb.ipynb is not a notebook: it begins like the JSON of a notebook, but ",
        ),
        ("{\"cells\": []}", "the text for nb.ipynb is not a notebook: \"nbformat\" must be 4"),
        ("{}", "Invalid notebook structure (missing cells array): nb.ipynb"),
        ("{\"cells\": [1], \"nbformat\": 4}", "Invalid notebook cell 0 in nb.ipynb"),
    ];
    for (text, wanted) in table {
        let error = put(&desk, "nb.ipynb", text, None).err().expect(text);
        assert!(error.to_string().starts_with(wanted), "{error}");
        assert_eq!(error.kind(), Kind::Invalid);
        assert_eq!(desk.get("nb.ipynb"), odd);
    }
    // A whole notebook from an older version cannot be merged: it would undo the change.
    let seen = desk.notebooks.read("nb.ipynb").expect("read").version;
    desk.put("nb.ipynb", small().replace("x = 1", "theirs"));
    let error = put(&desk, "nb.ipynb", &odd, Some(seen)).err().expect("refused");
    assert!(matches!(error, EngineError::ConflictWhole { .. }), "{error}");
}

#[test]
fn only_a_notebook_is_made_from_a_text() {
    let desk = Desk::new();
    let error = put(&desk, "notes.txt", "# %% [code]\nx", None).err().expect("refused");
    assert_eq!(error.next_step(), Some(NextStep::RenameToNotebook("notes.txt")));
    let error = desk.notebooks.create("notes.txt", None).expect_err("refused");
    assert_eq!(error.next_step(), Some(NextStep::RenameToNotebook("notes.txt")));
    let error = put(&desk, "nb.ipynb", "", None).err().expect("refused");
    assert_eq!(error.next_step(), Some(NextStep::MakeFirst("nb.ipynb")));
    assert!(desk.names().is_empty());
    // An existing notebook may have any name.
    desk.put("notes.txt", small());
    let text = desk.notebooks.read("notes.txt").expect("read").notebook;
    let text = text.to_text(MarkerIds::Auto).expect("text");
    put(&desk, "notes.txt", &text.replace("x = 1", "mine"), None).expect("written");
    assert!(desk.get("notes.txt").contains("mine"));
}

#[test]
fn a_part_is_not_taken_for_the_whole() {
    let desk = Desk::new();
    desk.put("nb.ipynb", small());
    let opened = desk.notebooks.read("nb.ipynb").expect("read");
    let all: Vec<usize> = (0..opened.notebook.len()).collect();
    let text = opened.cells_to_text(&all, MarkerIds::Auto).expect("text");
    let cut = &text[..text.len() - 1];
    let (front, back) = cut.split_at(7);
    desk.notebooks.note_part(&opened, &[front.as_bytes(), back.as_bytes()]);
    let error = put(&desk, "nb.ipynb", cut, None).err().expect("refused");
    assert_eq!(error.next_step(), Some(NextStep::ReadWhole("nb.ipynb")));
    assert_eq!(put(&desk, "nb.ipynb", &text, None).expect("same").effect, FileEffect::Nothing);
}

#[test]
fn text_is_replaced_across_cells() {
    let desk = Desk::new();
    desk.put("nb.ipynb", small());
    let sub = |old: &str, new: &str, matches| {
        desk.notebooks.change("nb.ipynb", &options(), |notebook, base| {
            base.replace_text(notebook, (old, new), matches, MarkerIds::Auto, KEEP_ALL)
        })
    };
    sub("x = 1", "mine = 1", Matches::One).expect("replaced");
    assert!(desk.get("nb.ipynb").contains("mine = 1"));
    let error = sub("nowhere", "", Matches::One).err().expect("refused");
    assert!(matches!(error, EngineError::Sub { error: SubError::NoMatch { .. }, .. }), "{error}");
    let error = sub("e", "E", Matches::One).err().expect("refused");
    assert_eq!(error.next_step(), Some(NextStep::AskForAll));
    assert_eq!(error.kind(), Kind::Invalid);
}

/// A file other than a notebook is changed as it is at the end, not as it was at the first read.
#[test]
fn a_plain_file_that_moves_is_read_again() {
    let desk = Desk::new();
    desk.put("a.txt", "first");
    let mut calls = 0;
    let saved = desk.notebooks.change_bytes("a.txt", |old| {
        calls += 1;
        if calls == 1 {
            desk.put("a.txt", "theirs");
        }
        Ok([old.expect("a file"), b" and mine"].concat())
    });
    let saved = saved.expect("written");
    assert_eq!((saved.effect, saved.is_new, saved.bytes), (FileEffect::Written, false, 15));
    assert_eq!((desk.get("a.txt").as_str(), calls), ("theirs and mine", 2));
    let refused = desk
        .notebooks
        .change_bytes("a.txt", |_| Err(EngineError::NothingToWrite { path: "a.txt".to_owned() }));
    assert!(refused.is_err());
    assert_eq!(desk.get("a.txt"), "theirs and mine");
}

/// One effect describes the result of a change in every case.
#[test]
fn the_effect_tells_what_became_of_it() {
    let desk = Desk::new();
    desk.put("nb.ipynb", small());
    let dry = SaveOptions { mode: Mode::DryRun, ..options() };
    let change = |options: &SaveOptions, source: &str| {
        let ops = [replace(at(1), source)];
        let saved = desk
            .notebooks
            .change("nb.ipynb", options, |notebook, base| base.apply(notebook, &ops))
            .expect("worked out");
        saved.effect
    };
    assert_eq!(change(&dry, "mine"), FileEffect::WouldWrite);
    assert_eq!(desk.get("nb.ipynb"), small());
    assert_eq!(change(&options(), "mine"), FileEffect::Written);
    assert_eq!(change(&options(), "mine"), FileEffect::Nothing);
    assert_eq!(change(&dry, "mine"), FileEffect::Nothing);
}

#[test]
fn a_clean_notebook_keeps_its_bytes() {
    let desk = Desk::new();
    desk.put("nb.ipynb", small().replacen("\"metadata\": {}", "\"metadata\": {\"k\": 1}", 1));
    let cleaning = |keys: &[&str]| Cleaning {
        outputs: true,
        output_metadata: true,
        cell_keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        notebook_keys: vec!["kernelspec".to_owned()],
    };
    let clean = |keys: &[&str]| {
        let cleaning = cleaning(keys);
        let done = desk
            .notebooks
            .change("nb.ipynb", &options(), |notebook, _| cleaning.apply(notebook, "nb.ipynb"));
        done.expect("cleaned").effect
    };
    clean(&[]);
    assert_eq!(clean(&[]), FileEffect::Nothing);
    assert_eq!(clean(&["k"]), FileEffect::Written);
    assert!(!desk.get("nb.ipynb").contains("\"k\""));
    assert_eq!(clean(&["k"]), FileEffect::Nothing);
}

#[test]
fn a_new_notebook_can_name_its_kernel() {
    let desk = Desk::new();
    desk.notebooks.create("nb.ipynb", Some("python\"3")).expect("made");
    let made: serde_json::Value = serde_json::from_str(&desk.get("nb.ipynb")).expect("JSON");
    assert_eq!(made["metadata"]["kernelspec"]["name"], "python\"3");
}

/// Randomness is an argument: ids and names follow from it.
#[test]
fn ids_follow_from_the_given_randomness() {
    let ids = || {
        let desk = Desk::with(|config, _| config.random = || 7);
        put(&desk, "nb.ipynb", "# %% [code]\nx", None).expect("made");
        desk.get("nb.ipynb")
    };
    assert_eq!(ids(), ids());
}

/// B:V-23: the largest possible limit limits nothing.
#[test]
fn no_limit_is_a_limit() {
    let desk = Desk::with(|config, _| config.max_bytes = u64::MAX);
    desk.put("nb.ipynb", small());
    assert_eq!(
        desk.notebooks.read("nb.ipynb").expect("read").notebook.original_bytes(),
        small().as_bytes()
    );
}

/// A file in the way is reported without being read.
#[test]
fn a_file_in_the_way_is_not_read() {
    let desk = Desk::with(|config, _| config.max_bytes = 10_000);
    let file = std::fs::File::create(desk.path("nb.ipynb")).expect("made");
    file.set_len(1 << 40).expect("a file of holes");
    assert!(matches!(desk.notebooks.create("nb.ipynb", None), Err(EngineError::Exists { .. })));
    desk.put("small.ipynb", small());
    let opened = desk.notebooks.read("small.ipynb").expect("read");
    desk.notebooks.export("nb.ipynb", &opened, b"x").expect("overwritten");
    assert_eq!(desk.get("nb.ipynb"), "x");
}
