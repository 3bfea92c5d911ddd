//! Files other than notebooks: the error says what each is, and the file stays unchanged.

use std::fmt::Write as _;

use inkcell_engine::{EngineError, IfMissing, Kind, SaveOptions};
use inkcell_testkit::laws::KEEP_ALL;
use inkcell_testkit::notebooks::small;

use crate::kit::{Desk, at, options, replace};

fn edit(desk: &Desk) -> Option<EngineError> {
    let done = desk.notebooks.change("nb.ipynb", &options(), |notebook, base| {
        base.apply(notebook, &[replace(at(1), "mine")]).map(drop)
    });
    done.err()
}

fn write(desk: &Desk) -> Option<EngineError> {
    let create = SaveOptions { if_missing: IfMissing::CreateNotebook, ..options() };
    let done = desk.notebooks.change("nb.ipynb", &create, |notebook, base| {
        let text = "# %% [code]\nmine";
        base.apply_text(notebook, text, KEEP_ALL).map(drop)
    });
    done.err()
}

/// Every entry point gives this error; the file keeps its bytes and no other file appears.
#[track_caller]
fn check(bytes: &[u8], wanted: &str) {
    let desk = Desk::new();
    desk.put("nb.ipynb", bytes);
    for error in [desk.notebooks.read("nb.ipynb").err(), edit(&desk), write(&desk)] {
        let error = error.unwrap_or_else(|| panic!("accepted; wanted {wanted}"));
        assert_eq!(error.to_string(), wanted);
        assert_eq!(error.kind(), Kind::Invalid);
    }
    assert_eq!(std::fs::read(desk.path("nb.ipynb")).expect("there"), bytes);
    assert_eq!(desk.names(), ["nb.ipynb"]);
    // The bytes themselves can always be read.
    assert_eq!(desk.notebooks.read_bytes("nb.ipynb").expect("bytes").0, bytes);
}

/// F-068 B:V-17
#[test]
fn a_file_that_is_no_notebook_says_what_it_is() {
    let empty = "Invalid JSON in notebook: nb.ipynb: the file is empty";
    check(b"", empty);
    check(b" \n\t\r\n", empty);
    check(b"\xEF\xBB\xBF", empty);
    let conflict = small().replace("   \"id\"", "<<<<<<< HEAD\n   \"id\"");
    check(
        conflict.as_bytes(),
        "Invalid JSON in notebook: nb.ipynb: conflict markers of an unfinished merge at line 5; resolve \
         the merge first, for example with: git checkout --ours FILE (or --theirs)",
    );
    check(
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n",
        "Invalid JSON in notebook: nb.ipynb: line 1, column 1: expected a value here; this is a Git LFS pointer, not the notebook itself; run: git \
         lfs pull",
    );
    check(
        b"<!DOCTYPE html>\n<html><body>404</body></html>\n",
        "Invalid JSON in notebook: nb.ipynb: line 1, column 1: expected a value here; this is an HTML page, not a notebook; a download probably \
         saved an error page, so fetch the raw file again",
    );
    check(
        b"# %% [code] cell:0\nx",
        "Invalid JSON in notebook: nb.ipynb: line 1, column 1: expected a value here; this is the text form of a notebook, not its JSON; write \
         it into a notebook instead",
    );
}

/// B:V-16
#[test]
fn json_that_is_no_notebook_says_what_is_missing() {
    let object = "Invalid notebook structure (expected object): nb.ipynb";
    let cells = "Invalid notebook structure (missing cells array): nb.ipynb";
    for text in ["[]", "1", "null", "\"text\"", "NaN"] {
        check(text.as_bytes(), object);
    }
    for text in ["{}", r#"{"cells": {}}"#, r#"{"cells": null}"#] {
        check(text.as_bytes(), cells);
    }
}

/// B:V-16
#[test]
fn an_entry_that_is_no_cell_is_named() {
    let cell = r#"{"cell_type": "raw", "metadata": {}, "source": "x"}"#;
    for bad in ["1", "null", "[]", "{}", r#"{"cell_type": "heading", "source": "y"}"#] {
        let desk = Desk::new();
        let text = format!(
            r#"{{"cells": [{cell}, {bad}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 4}}"#
        );
        desk.put("nb.ipynb", &text);
        let error = write(&desk).expect("refused");
        assert_eq!(error.to_string(), "Invalid notebook cell 1 in nb.ipynb");
        assert_eq!(desk.get("nb.ipynb"), text);
    }
}

/// F-068: a notebook truncated anywhere is refused with line and column.
#[test]
fn a_notebook_that_is_cut_off_is_refused_wherever_it_ends() {
    let mut cells = String::new();
    for number in 0..400 {
        let _ = write!(cells, "{}x{number} = 'é'\\n", if number == 0 { "" } else { "\", \"" });
    }
    let whole = format!(
        "{{\"cells\": [{{\"cell_type\": \"raw\", \"metadata\": {{}}, \"source\": [\"{cells}\"]}}],\n\
         \"metadata\": {{}}, \"nbformat\": 4, \"nbformat_minor\": 4}}\n"
    );
    let end = whole.trim_end().len();
    let cuts = (1..end).step_by(1024).chain(end - 40..end);
    for cut in cuts {
        let desk = Desk::new();
        let bytes = &whole.as_bytes()[..cut];
        desk.put("nb.ipynb", bytes);
        let error = edit(&desk).unwrap_or_else(|| panic!("cut at {cut} was accepted"));
        let text = error.to_string();
        assert!(text.starts_with("Invalid JSON in notebook: nb.ipynb: line "), "{cut}: {text}");
        assert!(text.contains(", column "), "{cut}: {text}");
        assert!(text.contains("the file is cut off"), "{cut}: {text}");
        assert_eq!(std::fs::read(desk.path("nb.ipynb")).expect("there"), bytes);
    }
}

/// B:V-23
#[test]
fn a_file_above_the_limit_is_refused_with_the_limit() {
    let size = small().len() as u64;
    for (limit, fits) in [(size, true), (size - 1, false)] {
        let desk = Desk::with(|config, _| config.max_bytes = limit);
        desk.put("nb.ipynb", small());
        let errors = [edit(&desk), desk.notebooks.read("nb.ipynb").err()];
        let wanted =
            format!("nb.ipynb has {size} bytes, more than notebook.max_bytes allows ({limit})");
        for error in errors {
            assert_eq!(error.map(|error| error.to_string()), (!fits).then(|| wanted.clone()));
        }
        assert_eq!(desk.get("nb.ipynb").contains("mine"), fits);
    }
}

/// F-073: a read-only format version stays unchanged.
#[test]
fn versions_that_are_not_edited_stay_as_they_are() {
    for (major, word) in [(3, "can be read but not edited"), (5, "newer than inkcell knows")] {
        let desk = Desk::new();
        let text = small().replace("\"nbformat\": 4", &format!("\"nbformat\": {major}"));
        desk.put("nb.ipynb", &text);
        let error = edit(&desk).expect("refused");
        assert!(error.to_string().contains(word), "{error}");
        assert_eq!(desk.get("nb.ipynb"), text);
    }
}

/// Waiting ends even for a file that always looks as if a program were writing it.
#[test]
fn waiting_for_a_writer_has_an_end() {
    let desk = Desk::new();
    let path = desk.put("nb.ipynb", "");
    let file = std::fs::File::options().write(true).open(path).expect("the file is there");
    let ahead = std::time::SystemTime::now() + std::time::Duration::from_secs(3600);
    file.set_modified(ahead).expect("a time");
    let read = desk.notebooks.read("nb.ipynb").err().expect("refused");
    assert!(matches!(read, EngineError::NotJson { .. }), "{read}");
    let edit = desk.notebooks.change("nb.ipynb", &options(), |_, _| Ok(()));
    let edit = edit.err().expect("refused");
    assert!(matches!(edit, EngineError::NotJson { .. }), "{edit}");
}
