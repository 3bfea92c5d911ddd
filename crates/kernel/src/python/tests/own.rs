//! Tests of the environment that an installer made for inkcell: its Python comes last if only `PATH` leads to it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;

use super::{Tree, real_python, write_program};
use crate::python::{FoundInterpreter, Reason, SkipReason, Workspace, candidates};

/// Where uvx makes an environment, below its cache.
const UVX: &str = "home/.cache/uv/archive-v0/r9aPmaA5FXXOk7bu";
/// Where `uv tool install` makes one.
const TOOL: &str = "home/.local/share/uv/tools/inkcell";
/// Where `pipx install` makes one.
const PIPX: &str = "home/.local/share/pipx/venvs/inkcell";

/// Makes an environment with these distributions, and with inkcell's executable.
fn make_env(tree: &Tree, name: &str, distributions: &[&str]) {
    super::make_venv_files(&tree.path(name));
    write_program(&tree.path(name).join("bin/inkcell"), "#!/bin/sh\n");
    let packages = tree.path(name).join("lib/python3.12/site-packages");
    for distribution in ["inkcell-0.1.0", "pip-25.0"].iter().chain(distributions) {
        fs::create_dir_all(packages.join(format!("{distribution}.dist-info"))).unwrap();
    }
    fs::create_dir_all(packages.join("pip")).unwrap();
}

/// A machine on which inkcell was started in one way.
struct Start {
    what: &'static str,
    /// Prepares the folders and the variables.
    make: fn(&mut Tree),
    /// The path of the executable, as the system tells it.
    program: &'static str,
    /// The folders of `PATH`, before the user's own `bin`.
    path: &'static [&'static str],
    /// The candidate that is tried first.
    first: &'static str,
    /// What is passed over if the first one works.
    passed_over: &'static [&'static str],
}

const ALONE: [&str; 0] = [];

#[test]
fn own_environment_comes_last_unless_the_user_chose_it() {
    let uvx = |tree: &mut Tree| make_env(tree, UVX, &ALONE);
    let starts = [
        Start {
            what: "uvx",
            make: uvx,
            program: "home/.cache/uv/archive-v0/r9aPmaA5FXXOk7bu/bin/inkcell",
            path: &[UVX],
            first: "bin/python3",
            passed_over: &["home/.cache/uv/archive-v0/r9aPmaA5FXXOk7bu/bin/python"],
        },
        Start {
            what: "uvx --with pandas",
            make: |tree| make_env(tree, UVX, &["pandas-2.2.3"]),
            program: "home/.cache/uv/archive-v0/r9aPmaA5FXXOk7bu/bin/inkcell",
            path: &[UVX],
            first: "home/.cache/uv/archive-v0/r9aPmaA5FXXOk7bu/bin/python",
            passed_over: &[],
        },
        Start {
            what: "uvx, where uv links the executable into the environment",
            make: |tree| {
                make_env(tree, UVX, &ALONE);
                let wheel = tree.path("home/.cache/uv/archive-v0/BbixhTaE/scripts/inkcell");
                write_program(&wheel, "#!/bin/sh\n");
                fs::remove_file(tree.path(UVX).join("bin/inkcell")).unwrap();
                symlink(wheel, tree.path(UVX).join("bin/inkcell")).unwrap();
            },
            program: "home/.cache/uv/archive-v0/BbixhTaE/scripts/inkcell",
            path: &[UVX],
            first: "bin/python3",
            passed_over: &["home/.cache/uv/archive-v0/r9aPmaA5FXXOk7bu/bin/python"],
        },
        Start {
            what: "uvx after uv tool install, which uses the installed environment",
            make: |tree| make_env(tree, TOOL, &ALONE),
            program: "home/.local/share/uv/tools/inkcell/bin/inkcell",
            path: &[TOOL],
            first: "bin/python3",
            passed_over: &["home/.local/share/uv/tools/inkcell/bin/python"],
        },
        Start {
            what: "uvx, with an activated environment",
            make: |tree| {
                make_env(tree, UVX, &ALONE);
                super::make_venv_files(&tree.path("active"));
                let active = tree.path("active").display().to_string();
                tree.env(&[("VIRTUAL_ENV", &active)]);
            },
            program: "home/.cache/uv/archive-v0/r9aPmaA5FXXOk7bu/bin/inkcell",
            path: &[UVX, "active"],
            first: "active/bin/python",
            passed_over: &[],
        },
        Start {
            what: "uvx, in a project with .venv",
            make: |tree| {
                make_env(tree, UVX, &ALONE);
                super::make_venv_files(&tree.path("cwd/.venv"));
            },
            program: "home/.cache/uv/archive-v0/r9aPmaA5FXXOk7bu/bin/inkcell",
            path: &[UVX],
            first: "cwd/.venv/bin/python",
            passed_over: &[],
        },
        Start {
            what: "uv tool install, started through its link",
            make: |tree| {
                make_env(tree, TOOL, &ALONE);
                fs::create_dir_all(tree.path("home/.local/bin")).unwrap();
                let target = tree.path(TOOL).join("bin/inkcell");
                symlink(target, tree.path("home/.local/bin/inkcell")).unwrap();
            },
            program: "home/.local/bin/inkcell",
            path: &["home/.local"],
            first: "bin/python3",
            passed_over: &[],
        },
        Start {
            what: "pipx install, with its environment on PATH",
            make: |tree| make_env(tree, PIPX, &["setuptools-80.0", "wheel-0.45"]),
            program: "home/.local/share/pipx/venvs/inkcell/bin/inkcell",
            path: &[PIPX],
            first: "bin/python3",
            passed_over: &["home/.local/share/pipx/venvs/inkcell/bin/python"],
        },
        Start {
            what: "pip install into an activated environment",
            make: |tree| {
                make_env(tree, "mine", &ALONE);
                let mine = tree.path("mine").display().to_string();
                tree.env(&[("VIRTUAL_ENV", &mine)]);
            },
            program: "mine/bin/inkcell",
            path: &["mine"],
            first: "mine/bin/python",
            passed_over: &[],
        },
        Start {
            what: "pip install into .venv of the project",
            make: |tree| make_env(tree, "cwd/.venv", &ALONE),
            program: "cwd/.venv/bin/inkcell",
            path: &["cwd/.venv"],
            first: "cwd/.venv/bin/python",
            passed_over: &[],
        },
        Start {
            what: "pip install beside packages, in an environment that only PATH names",
            make: |tree| make_env(tree, "opt/venv", &["numpy-2.2.0"]),
            program: "opt/venv/bin/inkcell",
            path: &["opt/venv"],
            first: "opt/venv/bin/python",
            passed_over: &[],
        },
        Start {
            what: "pip install into an installation, as in a container",
            make: |tree| {
                write_program(&tree.path("usr/local/bin/python3"), "#!/bin/sh\n");
                write_program(&tree.path("usr/local/bin/inkcell"), "#!/bin/sh\n");
            },
            program: "usr/local/bin/inkcell",
            path: &["usr/local"],
            first: "usr/local/bin/python3",
            passed_over: &[],
        },
        Start {
            what: "cargo install, with an environment of another tool on PATH",
            make: |tree| {
                write_program(&tree.path("home/.cargo/bin/inkcell"), "#!/bin/sh\n");
                super::make_venv_files(&tree.path("other"));
            },
            program: "home/.cargo/bin/inkcell",
            path: &["other", "home/.cargo"],
            first: "other/bin/python",
            passed_over: &[],
        },
    ];
    for Start { what, make, program, path, first, passed_over } in starts {
        let mut tree = Tree::new();
        write_program(&tree.path("bin/python3"), "#!/bin/sh\n");
        make(&mut tree);
        let folders: Vec<String> = path.iter().map(|root| format!("{root}/bin")).collect();
        let folders: Vec<&str> = folders.iter().map(String::as_str).chain(["bin"]).collect();
        tree.only_path(&folders);
        tree.search.program = Some(tree.path(program));
        let found = candidates(&tree.search);
        assert_eq!(found.list[0].path, tree.path(first), "{what}");
        let passed = found.passed_over_for(&found.list[0], &tree.search);
        let passed: Vec<_> = passed.into_iter().map(|skipped| skipped.path).collect();
        let wanted: Vec<_> = passed_over.iter().map(|path| tree.path(path)).collect();
        assert_eq!(passed, wanted, "{what}");
        assert!(found.list.iter().any(|other| other.path == tree.path("bin/python3")), "{what}");
    }
}

#[test]
fn own_environment_is_used_where_there_is_no_other() {
    let mut tree = Tree::new();
    make_env(&tree, UVX, &ALONE);
    let own = format!("{UVX}/bin");
    tree.search.program = Some(tree.path(&own).join("inkcell"));
    tree.only_path(&[&own]);
    let python = tree.path(&own).join("python");
    assert_eq!(tree.found(), [(Reason::PythonOnPath, python.clone())]);
    // A name means the user's program, and only a path leads to inkcell's own.
    write_program(&tree.path("bin/python"), "#!/bin/sh\n");
    tree.only_path(&[&own, "bin"]);
    tree.set("python");
    assert_eq!(tree.found(), [(Reason::Setting, tree.path("bin/python"))]);
    tree.set(python.to_str().unwrap());
    assert_eq!(tree.found(), [(Reason::Setting, python)]);
    // A Python that comes later on PATH anyway is not passed over.
    tree.search.setting = None;
    tree.only_path(&["bin", &own]);
    let found = candidates(&tree.search);
    assert_eq!(found.list[0].path, tree.path("bin/python"));
    assert_eq!(found.passed_over_for(&found.list[0], &tree.search), []);
}

#[tokio::test]
async fn choice_reports_own_environment_and_moves_it_to_the_end_of_path() {
    let mut tree = Tree::new();
    make_env(&tree, UVX, &ALONE);
    let own = tree.path(UVX).join("bin");
    fs::remove_file(own.join("python")).unwrap();
    symlink(real_python(), own.join("python")).unwrap();
    symlink(real_python(), tree.path("bin/python3")).unwrap();
    tree.search.program = Some(own.join("inkcell"));
    tree.only_path(&[&format!("{UVX}/bin"), "bin"]);
    let found = tree.finder().find(&tree.search).await.unwrap();
    assert_eq!(found.path, tree.path("bin/python3"));
    let [skipped] = &*found.skipped else { panic!("{:?}", found.skipped) };
    assert_eq!((&skipped.path, &skipped.why), (&own.join("python"), &SkipReason::OwnEnvironment));
    assert!(!found.is_own());
    let looked = tree.finder().find_unasked(&tree.search, &Workspace::none()).await.unwrap();
    assert_eq!(looked, FoundInterpreter::Asked(found.clone()));
    let path = tree.search.env.get("PATH").unwrap().to_owned();
    let mut env = BTreeMap::from([("PATH".to_owned(), path)]);
    found.apply_to(&mut env);
    let wanted = format!("{}:{}", tree.path("bin").display(), own.display());
    assert_eq!(env["PATH"], wanted);
    // Broken Pythons do not hide it, and then it is reported as what it is.
    fs::remove_file(tree.path("bin/python3")).unwrap();
    write_program(&tree.path("bin/python3"), "#!/bin/sh\nexit 3\n");
    let found = tree.finder().find(&tree.search).await.unwrap();
    assert_eq!((&found.path, found.is_own()), (&own.join("python"), true));
    assert_eq!(found.skipped[0].why, SkipReason::ExitCode(3));
}
