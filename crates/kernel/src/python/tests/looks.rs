//! Tests of interpreters that are judged by their files and not run.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::{Tree, write_program};
use crate::python::{
    FindError, FoundInterpreter, PythonVersion, Reason, SkippedCandidate, UnrunPython, Workspace,
};

/// Writes a program that leaves a mark when it runs, and is not a Python.
fn write_canary(tree: &Tree, program: &str) {
    let mark = tree.path("canary");
    write_program(&tree.path(program), &format!("#!/bin/sh\n: > '{}'\nexit 3\n", mark.display()));
}

async fn find(tree: &Tree) -> Result<FoundInterpreter, FindError> {
    tree.finder().find_unasked(&tree.search, &Workspace::around(&tree.search.cwd)).await
}

async fn unasked(tree: &Tree) -> UnrunPython {
    match find(tree).await {
        Ok(FoundInterpreter::Unasked(unasked)) => unasked,
        other => panic!("{other:?}"),
    }
}

/// Makes a search find the program at a place.
type Lead<'a> = &'a dyn Fn(&mut Tree);

/// S-026 Issue 21, 28: an inspection runs no program of the workspace, whatever path leads to it.
#[tokio::test]
async fn nothing_of_the_workspace_is_run() {
    let mut tree = Tree::new();
    tree.only_path(&["bin"]);
    let config = "home = /usr/bin\nversion = 3.12.1\n";
    let leads: [(&str, Lead); 5] = [
        ("cwd/.venv/bin/python", &|_| {}),
        ("cwd/py", &|tree| tree.set("./py")),
        // Through a link from elsewhere, and with a linked folder.
        ("cwd/py", &|tree| {
            symlink(tree.path("cwd/py"), tree.path("bin/python3")).unwrap();
            tree.search.setting = None;
            fs::remove_dir_all(tree.path("cwd/.venv")).unwrap();
        }),
        ("cwd/env/bin/python", &|tree| {
            symlink(tree.path("cwd/env"), tree.path("linked")).unwrap();
            let linked = tree.path("linked").display().to_string();
            tree.env(&[("VIRTUAL_ENV", &linked)]);
        }),
        // An environment elsewhere that was created from a Python of the workspace.
        ("away/bin/python", &|tree| {
            let away = tree.path("away");
            let home = format!("home = {}\n", tree.path("cwd/env/bin").display());
            fs::write(away.join("pyvenv.cfg"), home).unwrap();
            tree.env(&[("VIRTUAL_ENV", away.to_str().unwrap())]);
        }),
    ];
    for (place, lead) in leads {
        write_canary(&tree, place);
        if place.starts_with("cwd/.venv") {
            fs::write(tree.path("cwd/.venv/pyvenv.cfg"), config).unwrap();
        }
        lead(&mut tree);
        let seen = unasked(&tree).await;
        assert!(!tree.path("canary").exists(), "{place}: {seen:?}");
    }
    // A request to run code does run it.
    tree.finder().find(&tree.search).await.unwrap_err();
    assert!(tree.path("canary").exists());
}

/// The rest of a checkout deserves no more trust than the folder in it.
#[tokio::test]
async fn the_workspace_is_the_whole_checkout() {
    let mut tree = Tree::new();
    tree.only_path(&["bin"]);
    fs::create_dir_all(tree.path("cwd/.git")).unwrap();
    fs::create_dir_all(tree.path("cwd/sub")).unwrap();
    tree.search.cwd = tree.path("cwd/sub");
    write_canary(&tree, "cwd/tools/python");
    tree.set("../tools/python");
    assert_eq!(unasked(&tree).await.reason, Reason::Setting);
    assert!(!tree.path("canary").exists());
    assert!(!Workspace::around(Path::new("/")).holds(Path::new("/usr/bin/python3")));
    // A program outside of the checkout is probed.
    write_canary(&tree, "bin/python3");
    tree.search.setting = None;
    find(&tree).await.unwrap_err();
    assert!(tree.path("canary").exists());
}

/// A version manager picks by files of the workspace, so an inspection there does not run it.
#[tokio::test]
async fn a_version_manager_is_not_asked() {
    let mut tree = Tree::new();
    tree.only_path(&["shims"]);
    write_canary(&tree, "shims/python");
    let seen = unasked(&tree).await;
    assert_eq!((seen.prefix.clone(), seen.reason), (None, Reason::PythonOnPath));
    assert!(!tree.path("canary").exists());
    let lacking =
        tree.finder().lacking(&FoundInterpreter::Unasked(seen), &["nosuch"], &tree.search).await;
    assert_eq!(lacking, [""; 0], "nobody can tell");
}

#[tokio::test]
async fn files_tell_what_an_interpreter_is() {
    let mut tree = Tree::new();
    tree.only_path(&["bin"]);
    let (venv, program) = (tree.path("cwd/.venv"), tree.path("cwd/.venv/bin/python"));
    write_program(&program, "\u{7f}ELF and so on");
    let config = |text: &str| fs::write(venv.join("pyvenv.cfg"), text).unwrap();
    let version = |minor, micro| Some(PythonVersion { major: 3, minor, micro });
    for (text, wanted) in [
        ("home = /usr/bin\nversion = 3.11.7\n", version(11, 7)),
        ("home=/usr/bin\nversion_info = 3.12.3.final.0\n", version(12, 3)),
        ("version_info = 3.13\n", version(13, 0)),
        ("nonsense", None),
    ] {
        config(text);
        let seen = unasked(&tree).await;
        assert_eq!((seen.version, seen.venv.as_deref()), (wanted, Some(&*venv)), "{text}");
        assert_eq!(seen.prefix.as_deref(), Some(&*venv));
    }
    let refused = async |wanted: &str| {
        let Err(FindError::NoneWorks { tried }) = find(&tree).await else { panic!("{wanted}") };
        let [SkippedCandidate { why, .. }] = &*tried else { panic!("{tried:?}") };
        assert_eq!(why.to_string(), wanted);
    };
    config("version = 3.8.1\n");
    refused("Python 3.8.1 is older than 3.9").await;
    config("version = 3.12.1\n");
    write_program(&program, "no program");
    refused("could not be started: it is not a program").await;
    write_program(&program, "#!/no/such/sh\n");
    refused("could not be started: its first line names /no/such/sh, which does not exist").await;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).unwrap();
    refused("could not be started: permission denied").await;
    fs::remove_file(&program).unwrap();
    symlink("/no/such/python", &program).unwrap();
    refused("could not be started: it is a link to /no/such/python, which does not exist").await;
}

/// A module is searched where the interpreter would search it.
#[tokio::test]
async fn files_tell_which_modules_there_are() {
    let mut tree = Tree::new();
    tree.only_path(&["bin"]);
    let venv = tree.path("cwd/.venv");
    write_program(&venv.join("bin/python"), "#!/bin/sh\n");
    let config = |system: &str| {
        let home = tree.path("base/bin");
        let text = format!("home = {}\ninclude-system-site-packages = {system}\n", home.display());
        fs::write(venv.join("pyvenv.cfg"), text).unwrap();
    };
    config("false");
    let module = |place: &str| fs::create_dir_all(tree.path(place)).unwrap();
    module("cwd/.venv/lib/python3.12/site-packages/own");
    module("base/lib/python3.12/dist-packages/system");
    module("base/local/lib/python3.12/dist-packages/admin");
    module("home/.local/lib/python3.12/site-packages/user");
    module("cwd/src/local");
    module("editable/linked");
    fs::write(venv.join("lib/python3.12/site-packages/single.py"), "").unwrap();
    let link = format!("import os\n\n{}\n", tree.path("editable").display());
    fs::write(venv.join("lib/python3.12/site-packages/x.pth"), link).unwrap();
    let all = ["own", "system", "admin", "user", "local", "linked", "single", "nowhere"];
    let lacking = async |tree: &Tree| {
        let seen = find(tree).await.unwrap();
        tree.finder().lacking(&seen, &all, &tree.search).await
    };
    assert_eq!(lacking(&tree).await, ["system", "admin", "user", "local", "nowhere"]);
    config("true");
    assert_eq!(lacking(&tree).await, ["local", "nowhere"]);
    tree.env(&[("PYTHONPATH", ":src")]);
    assert_eq!(lacking(&tree).await, ["nowhere"]);
}

/// An interpreter that may run is asked for missing modules, and imports none of them.
#[tokio::test]
async fn a_python_elsewhere_is_asked_for_modules() {
    let mut tree = Tree::new();
    let python = super::real_python().display().to_string();
    tree.set(&python);
    fs::create_dir(tree.path("cwd/src")).unwrap();
    fs::write(tree.path("cwd/src/local.py"), "raise SystemExit(9)").unwrap();
    fs::write(tree.path("cwd/json.py"), "raise SystemExit(9)").unwrap();
    let seen = find(&tree).await.unwrap();
    assert!(
        matches!(&seen, FoundInterpreter::Asked(found) if found.path == Path::new(&python)),
        "{seen:?}"
    );
    let all = ["json", "local", "nosuch_module"];
    let lacking = tree.finder().lacking(&seen, &all, &tree.search).await;
    assert_eq!(lacking, ["local", "nosuch_module"]);
    tree.env(&[("PYTHONPATH", "src")]);
    assert_eq!(tree.finder().lacking(&seen, &all, &tree.search).await, ["nosuch_module"]);
}
