//! Paths as people and programs give them.

use inkcell_engine::{Kind, is_notebook_path};
use inkcell_testkit::notebooks::small;

use crate::kit::{Desk, at, options, replace};

const NAMES: &[&str] = &[
    "plain.ipynb",
    "with blank.ipynb",
    " leading and trailing .ipynb ",
    "new\nline.ipynb",
    "tab\tand\u{1b}[2Jescape.ipynb",
    "quo'te\"s`and$(dollar).ipynb",
    "back\\slash.ipynb",
    "\u{1f600}.ipynb",
    "-leading-dash.ipynb",
    "--json",
    "~tilde.ipynb",
    "~",
    "glob*[a-z]?{x,y}.ipynb",
    "\u{202e}rtl\u{5d0}.ipynb",
    "caf\u{e9}.ipynb",
    "cafe\u{301}.ipynb",
    "trailing.dot.",
    "colon:1-5",
    "%2e%2e",
    "CON",
    "...",
];

fn edit(desk: &Desk, path: &str) {
    let done = desk.notebooks.change(path, &options(), |notebook, base| {
        base.apply(notebook, &[replace(at(1), "mine")]).map(drop)
    });
    done.unwrap_or_else(|error| panic!("{path:?}: {error}"));
}

/// F-082: names are used exactly as given, byte for byte.
#[test]
fn odd_names_are_names() {
    let longest = format!("{}.ipynb", "n".repeat(249));
    for name in NAMES.iter().copied().chain([longest.as_str()]) {
        let desk = Desk::new();
        // Paths are literal except for a lone tilde, which is given with its folder.
        let given = if name == "~" { "./~" } else { name };
        if is_notebook_path(name) {
            let made = desk.notebooks.create(given, None);
            made.unwrap_or_else(|error| panic!("{name:?}: {error}"));
            assert_eq!(desk.names(), [name]);
        }
        desk.put(name, small());
        edit(&desk, given);
        assert!(desk.get(name).contains("mine"), "{name:?}");
        assert_eq!(desk.names(), [name]);
    }
}

/// F-082: two names that look the same are two files.
#[test]
fn composed_and_decomposed_letters_are_two_names() {
    let desk = Desk::new();
    desk.put("caf\u{e9}.ipynb", small());
    desk.put("cafe\u{301}.ipynb", small());
    edit(&desk, "cafe\u{301}.ipynb");
    assert_eq!(desk.get("caf\u{e9}.ipynb"), small());
    assert!(desk.get("cafe\u{301}.ipynb").contains("mine"));
}

/// F-082
#[test]
fn a_name_that_cannot_be_is_an_error_of_the_caller() {
    let desk = Desk::new();
    let too_long = format!("{}.ipynb", "n".repeat(250));
    let deep = format!("{}nb.ipynb", "d/".repeat(3000));
    for name in [too_long.as_str(), "nul\0byte.ipynb", &deep] {
        let error = desk.notebooks.create(name, None).expect_err("refused");
        let kinds = [Kind::Invalid, Kind::NotFound];
        assert!(kinds.contains(&error.kind()), "{:?}: {error}", error.kind());
        assert!(desk.names().is_empty());
    }
}

/// B:N-02
#[test]
fn paths_start_at_the_working_folder_and_a_tilde_is_home() {
    let desk = Desk::with(|config, work| {
        config.path_base.cwd = work.join("cwd");
        config.path_base.home = Some(work.join("home"));
    });
    for folder in ["cwd", "home", "abs"] {
        std::fs::create_dir(desk.path(folder)).expect("a folder");
        desk.put(&format!("{folder}/nb.ipynb"), small());
    }
    let absolute = desk.path("abs/nb.ipynb").display().to_string();
    let table = [
        ("nb.ipynb", "cwd/nb.ipynb"),
        ("../home/nb.ipynb", "home/nb.ipynb"),
        ("~/nb.ipynb", "home/nb.ipynb"),
        ("~//nb.ipynb", "home/nb.ipynb"),
        (absolute.as_str(), "abs/nb.ipynb"),
    ];
    for (given, wanted) in table {
        let opened = desk.notebooks.read(given).unwrap_or_else(|error| panic!("{given}: {error}"));
        assert_eq!(opened.path, desk.path(wanted), "{given}");
        edit(&desk, given);
        assert!(desk.get(wanted).contains("mine"), "{given}");
        desk.put(wanted, small());
    }
}

/// F-083: the folder of a path can vanish at any time.
#[test]
fn a_folder_that_vanishes_is_told() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("gone")).expect("a folder");
    desk.put("gone/nb.ipynb", small());
    let done = desk.notebooks.change("gone/nb.ipynb", &options(), |notebook, base| {
        if desk.path("gone").exists() {
            std::fs::remove_dir_all(desk.path("gone")).expect("removed");
        }
        base.apply(notebook, &[replace(at(1), "mine")]).map(drop)
    });
    let error = done.err().expect("an error");
    assert_eq!(error.kind(), Kind::NotFound, "{error}");
    assert!(desk.names().is_empty());
    let error = desk.notebooks.read("gone/nb.ipynb").err().expect("an error");
    assert_eq!(error.to_string(), "File not found: gone/nb.ipynb");
}

/// B:V-15: reading says file, editing says notebook.
#[test]
fn what_is_missing_is_not_found() {
    let desk = Desk::new();
    for path in ["nb.ipynb", "no/such/folder/nb.ipynb"] {
        let error = desk.notebooks.read(path).err().expect("an error");
        assert_eq!(error.to_string(), format!("File not found: {path}"));
        assert_eq!(error.kind(), Kind::NotFound);
        let done = desk.notebooks.change(path, &options(), |_, _| Ok(()));
        let error = done.err().expect("an error");
        assert_eq!(error.to_string(), format!("Notebook not found: {path}"));
    }
    assert!(desk.names().is_empty());
}
