//! Tests of environments that a setup makes: the tools it uses, and a second setup.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use inkcell_kernel::{Existing, Finder, Reason, SetupDone, SetupEvent, candidates};

use super::tree::{LONG, Tree, output, steps, works};

/// B:E-50: with Python's own tools, from nothing to a second setup, more packages, and a new environment
/// in its place.
#[tokio::test]
async fn an_environment_is_made_kept_extended_and_replaced() {
    let mut tree = Tree::new();
    tree.wheel("firstpkg");
    tree.wheel("secondpkg");
    tree.ask(&["firstpkg"]);
    let (ended, events) = tree.set_up().await;
    let made = ended.unwrap();
    assert_eq!(made.done, SetupDone::Made);
    assert_eq!(made.python, tree.path("state/python-env/bin/python"));
    let with_pip = "installing firstpkg with pip: done";
    assert_eq!(steps(&events), ["making the environment with python -m venv: done", with_pip]);
    let said = |text: &str| {
        let line = |event: &SetupEvent| matches!(event, SetupEvent::Line(l) if l.contains(text));
        events.iter().any(line)
    };
    assert!(said("Successfully installed firstpkg-1.0"), "{events:?}");
    // Its programs work as well, through the link that stays.
    let bin = tree.path("state/python-env/bin");
    let program = |name: &str| output(&mut Command::new(bin.join(name)));
    assert_eq!(program("firstpkg"), "firstpkg speaks\n");
    output(Command::new(&made.python).args(["-Im", "pip", "--version"]));
    output(Command::new(bin.join("pip")).arg("--version"));

    let found = Finder::default().probe_timeout(LONG).find(&tree.search()).await.unwrap();
    assert_eq!((found.reason, found.path), (Reason::Managed, made.python.clone()));
    assert_eq!(found.venv, Some(tree.path("state/python-env")));

    let (ended, events) = tree.set_up().await;
    assert_eq!((ended.unwrap().done, events), (SetupDone::Nothing, vec![]));

    tree.ask(&["firstpkg", "secondpkg"]);
    let (ended, events) = tree.set_up().await;
    assert_eq!(ended.unwrap().done, SetupDone::Extended);
    assert_eq!(steps(&events), ["installing firstpkg, secondpkg with pip: done"]);
    assert_eq!(program("secondpkg"), "secondpkg speaks\n");
    assert_eq!(tree.behind_the_name(), Some(PathBuf::from("python-envs/1")));

    tree.setup.existing = Existing::Replace;
    tree.ask(&["firstpkg"]);
    assert_eq!(tree.set_up().await.0.unwrap().done, SetupDone::Made);
    assert_eq!(tree.behind_the_name(), Some(PathBuf::from("python-envs/2")));
    assert_eq!(tree.names("state/python-envs"), ["2"]);
    assert_eq!(program("firstpkg"), "firstpkg speaks\n");
    assert!(!bin.join("secondpkg").exists());
    assert!(!tree.path("astray").exists());
    assert_eq!(tree.names("tmp"), [""; 0]);
}

/// A `uv` on the given `PATH` does everything, and also puts pip into the environment.
#[tokio::test]
async fn uv_is_used_when_there_is_one() {
    let mut tree = Tree::with_uv();
    tree.ask(&["ipykernel", "numpy>=2"]);
    let (ended, events) = tree.set_up().await;
    assert_eq!(ended.unwrap().done, SetupDone::Made);
    let create = "making the environment with uv: done";
    let install = "installing pip, ipykernel, numpy>=2 with uv: done";
    assert_eq!(steps(&events), [create, install]);
    let folder = tree.path("state/python-envs/1");
    let (base, folder) = (tree.real.display(), folder.display());
    let expected = format!(
        "venv --quiet --no-project --python {base} {folder}\n\
         pip install --python {folder}/bin/python pip ipykernel numpy>=2\n"
    );
    assert_eq!(fs::read_to_string(tree.path("uv.log")).unwrap(), expected);
}

/// A setup survives a stub of a version manager, or a uv that does not know the index.
#[tokio::test]
async fn a_uv_that_fails_is_passed_over() {
    let mut tree = Tree::new();
    tree.wheel("firstpkg");
    tree.ask(&["firstpkg"]);
    tree.program("bin/uv", "#!/bin/sh\necho 'uv: command not found' >&2\nexit 127\n");
    let (ended, events) = tree.set_up().await;
    assert_eq!(ended.unwrap().done, SetupDone::Made);
    let expected = [
        "making the environment with uv: failed",
        "making the environment with python -m venv: done",
        "installing pip, firstpkg with uv: failed",
        "installing firstpkg with pip: done",
    ];
    assert_eq!(steps(&events), expected);
    assert!(events.contains(&SetupEvent::Line("uv: command not found".to_owned())));

    // A uv that makes environments without pip and cannot install leaves both to Python's own tools.
    let uv = "#!/bin/sh\n[ \"$1\" = venv ] || exit 2\nfor last; do :; done\n\
              exec REAL -I -m venv --without-pip \"$last\"\n";
    tree.program("bin/uv", uv);
    tree.setup.existing = Existing::Replace;
    let (ended, events) = tree.set_up().await;
    assert_eq!(ended.unwrap().done, SetupDone::Made);
    let expected = [
        "making the environment with uv: done",
        "installing pip, firstpkg with uv: failed",
        "getting pip with ensurepip: done",
        "installing firstpkg with pip: done",
    ];
    assert_eq!(steps(&events), expected);
}

/// A Python as on Debian without `python3-venv`: it makes environments only without pip, and they
/// lack `ensurepip` as well.
const DEBIAN: &str = r#"#!/bin/sh
PATH=/usr/bin:/bin
for last; do :; done
case "$*" in
*"-m venv --without-pip "*)
    REAL "$@" || exit 1
    mv "$last/bin/python" "$last/bin/python-itself"
    cp ROOT/no-ensurepip "$last/bin/python"
    exit;;
*"-m venv "*)
    REAL -I -m venv --without-pip "$last"
    echo "The virtual environment was not created successfully because ensurepip is not"
    echo "available.  On Debian/Ubuntu systems, you need to install the python3-venv"
    exit 1;;
*"-m pip "*) [ ! -e ROOT/no-pip ] || { echo "No module named pip" >&2; exit 1; };;
esac
exec REAL "$@"
"#;

const NO_ENSUREPIP: &str = r#"#!/bin/sh
case "$*" in *"-m ensurepip"*) echo "No module named ensurepip" >&2; exit 1;; esac
exec "$0-itself" "$@"
"#;

/// Without `ensurepip`, pip comes from the base; without both, the error names the package to install.
#[tokio::test]
async fn without_ensurepip_the_pip_of_the_base_helps() {
    let mut tree = Tree::new();
    tree.program("no-ensurepip", NO_ENSUREPIP);
    tree.setup.base = tree.program("debian-python", DEBIAN);
    tree.wheel("firstpkg");
    tree.ask(&["firstpkg"]);
    fs::write(tree.path("no-pip"), "").unwrap();
    let (ended, events) = tree.set_up().await;
    let error = ended.unwrap_err();
    let start = format!("{} cannot install pip into an environment", tree.setup.base.display());
    assert!(error.to_string().starts_with(&start), "{error}");
    assert!(error.to_string().contains("No module named pip"), "{error}");
    let minor =
        output(Command::new(&tree.real).args(["-c", "import sys; print(sys.version_info[1])"]));
    let package = format!("`python3.{}-venv`", minor.trim());
    assert!(error.next_step().unwrap().contains(&package), "{:?}", error.next_step());
    let expected = [
        "making the environment with python -m venv: failed",
        "making the environment with python -m venv --without-pip: done",
        "getting pip with ensurepip: failed",
        "getting pip with pip: failed",
    ];
    assert_eq!(steps(&events), expected);
    tree.assert_nothing_made();

    // Python's own copy of pip stands in for the wheel from an index.
    fs::remove_file(tree.path("no-pip")).unwrap();
    let copy = "import ensurepip, glob, os, shutil, sys\n\
                own = os.path.join(ensurepip.__path__[0], '_bundled')\n\
                for folder in (own, '/usr/share/python-wheels'):\n    \
                for wheel in glob.glob(os.path.join(folder, 'pip-*'))[:1]:\n        \
                shutil.copy(wheel, sys.argv[1])\n";
    output(Command::new(&tree.real).args(["-c", copy]).arg(tree.path("wheels")));
    let (ended, events) = tree.set_up().await;
    assert_eq!(ended.unwrap().done, SetupDone::Made);
    let expected = [
        "making the environment with python -m venv: failed",
        "making the environment with python -m venv --without-pip: done",
        "getting pip with ensurepip: failed",
        "getting pip with pip: done",
        "installing pip with pip: done",
        "installing firstpkg with pip: done",
    ];
    assert_eq!(steps(&events), expected);
    let managed = tree.path("state/python-env");
    assert_eq!(output(&mut Command::new(managed.join("bin/firstpkg"))), "firstpkg speaks\n");
    assert!(!managed.join("inkcell-wheels").exists());
}

/// B:E-50 B:E-12: an unfinished environment is not a candidate, and a broken one is made again.
#[tokio::test]
async fn leftovers_are_no_candidates_and_what_is_broken_is_made_anew() {
    let mut tree = Tree::with_uv();
    let managed = tree.path("state/python-env");
    let ours = |tree: &Tree| {
        let found = candidates(&tree.search()).list.into_iter();
        found.filter(|candidate| candidate.reason == Reason::Managed).count()
    };
    // Remains of a killed setup.
    for leftover in ["7/bin", "replaced"] {
        fs::create_dir_all(tree.path("state/python-envs").join(leftover)).unwrap();
    }
    symlink(&tree.real, tree.path("state/python-envs/7/bin/python")).unwrap();
    symlink("python-envs/7", tree.path("state/python-envs/link")).unwrap();
    assert_eq!(ours(&tree), 0);
    assert_eq!(tree.set_up().await.0.unwrap().done, SetupDone::Made);
    assert_eq!(tree.names("state/python-envs"), ["1"]);
    assert_eq!(ours(&tree), 1);

    // A missing interpreter, a dangling link, a folder, a file.
    fs::remove_file(managed.join("bin/python")).unwrap();
    symlink("/no/such/python", managed.join("bin/python")).unwrap();
    assert_eq!(tree.set_up().await.0.unwrap().done, SetupDone::Made);
    assert_eq!(tree.names("state/python-envs"), ["2"]);
    fs::remove_dir_all(tree.path("state/python-envs")).unwrap();
    assert_eq!(ours(&tree), 0);
    assert_eq!(tree.set_up().await.0.unwrap().done, SetupDone::Made);
    fs::remove_file(&managed).unwrap();
    fs::create_dir_all(managed.join("bin")).unwrap();
    assert_eq!(tree.set_up().await.0.unwrap().done, SetupDone::Made);
    assert_eq!(tree.names("state/python-envs").len(), 1);
    fs::remove_file(&managed).unwrap();
    fs::write(&managed, "a file").unwrap();
    assert_eq!(tree.set_up().await.0.unwrap().done, SetupDone::Made);
    assert!(works(&managed.join("bin/python")));

    // A real folder that works stays in place.
    fs::remove_file(&managed).unwrap();
    output(Command::new(&tree.real).args(["-Im", "venv", "--without-pip"]).arg(&managed));
    assert_eq!(tree.set_up().await.0.unwrap().done, SetupDone::Nothing);
    assert!(fs::symlink_metadata(&managed).unwrap().is_dir());
    tree.setup.existing = Existing::Replace;
    assert_eq!(tree.set_up().await.0.unwrap().done, SetupDone::Made);
    assert!(fs::symlink_metadata(&managed).unwrap().is_symlink());
    assert_eq!(tree.names("state/python-envs").len(), 1);
}

/// Of two simultaneous setups, one makes the environment, and the other waits and finds it complete.
#[tokio::test]
async fn two_setups_at_once_do_not_harm_each_other() {
    let tree = Tree::with_uv();
    let ((one, one_events), (other, other_events)) = tokio::join!(tree.set_up(), tree.set_up());
    let mut done =
        [(one.unwrap().done, steps(&one_events)), (other.unwrap().done, steps(&other_events))];
    done.sort_by_key(|(_, steps)| steps.len());
    assert_eq!(done[0], (SetupDone::Nothing, vec!["waiting for another setup: done".to_owned()]));
    assert_eq!(done[1].0, SetupDone::Made);
    assert_eq!(tree.names("state/python-envs"), ["1"]);
    assert!(works(&tree.path("state/python-env/bin/python")));
}
