//! Tests of the candidates in made-up folders, and of the choice among real and broken interpreters.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::*;
use crate::environ::ParentEnv;

mod answers;
mod looks;
mod own;

const LONG: Duration = Duration::from_secs(60);

fn write_program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    // Another process writes the file. A child started by a parallel test could inherit a descriptor that
    // is open for writing here, and then the system would refuse to run the program.
    let made = Command::new("/bin/sh")
        .args(["-c", "printf '%s' \"$1\" > \"$2\" && chmod 755 \"$2\"", "sh", text])
        .arg(path)
        .status();
    assert!(made.unwrap().success());
}

fn make_venv_files(folder: &Path) {
    write_program(&folder.join("bin/python"), "#!/bin/sh\nexit 1\n");
    fs::write(folder.join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
}

/// The interpreter of this machine, not a shim.
fn real_python() -> PathBuf {
    let out = Command::new("python3").args(["-Ic", "import sys; print(sys.executable)"]).output();
    PathBuf::from(String::from_utf8(out.unwrap().stdout).unwrap().trim())
}

/// An empty folder, and a search from it that finds nothing of this machine.
struct Tree {
    temp: tempfile::TempDir,
    search: Search,
}

impl Tree {
    fn new() -> Tree {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for folder in ["cwd", "home", "state", "bin", "cache"] {
            fs::create_dir(root.join(folder)).unwrap();
        }
        let search = Search {
            setting: None,
            cwd: root.join("cwd"),
            home: Some(root.join("home")),
            state: Some(root.join("state")),
            env: ParentEnv::default(),
            program: None,
        };
        let mut tree = Tree { temp, search };
        tree.env(&[("PATH", &format!("{}:/usr/bin:/bin", tree.path("bin").display()))]);
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join(name)
    }

    fn env(&mut self, vars: &[(&str, &str)]) {
        let mut all: BTreeMap<String, String> =
            self.search.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        all.extend(vars.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        self.search.env = ParentEnv::from(all);
    }

    fn only_path(&mut self, folders: &[&str]) {
        let folders: Vec<_> =
            folders.iter().map(|name| self.path(name).display().to_string()).collect();
        self.env(&[("PATH", &folders.join(":"))]);
    }

    fn set(&mut self, setting: &str) {
        self.search.setting = Some(setting.to_owned());
    }

    fn found(&self) -> Vec<(Reason, PathBuf)> {
        let list = candidates(&self.search).list.into_iter();
        list.map(|candidate| (candidate.reason, candidate.path)).collect()
    }

    fn finder(&self) -> Finder {
        Finder::with_cache_dir(self.path("cache")).probe_timeout(LONG)
    }
}

/// B:E-10
#[test]
fn candidates_come_in_order() {
    let mut tree = Tree::new();
    tree.only_path(&["bin", "more"]);
    let places =
        ["active", "conda", "cwd/.venv", "cwd/venv", "state/python-env", "home/.omp/python-env"];
    for place in places {
        make_venv_files(&tree.path(place));
    }
    for program in ["bin/python", "bin/python3", "more/python", "more/python3"] {
        write_program(&tree.path(program), "#!/bin/sh\nexit 1\n");
    }
    let (active, conda) = (tree.path("active"), tree.path("conda"));
    tree.env(&[
        ("VIRTUAL_ENV", active.to_str().unwrap()),
        ("CONDA_PREFIX", conda.to_str().unwrap()),
    ]);
    let expected = [
        (Reason::VirtualEnv, "active/bin/python"),
        (Reason::CondaPrefix, "conda/bin/python"),
        (Reason::DotVenv, "cwd/.venv/bin/python"),
        (Reason::Venv, "cwd/venv/bin/python"),
        (Reason::Managed, "state/python-env/bin/python"),
        (Reason::ManagedByOmp, "home/.omp/python-env/bin/python"),
        (Reason::PythonOnPath, "bin/python"),
        (Reason::Python3OnPath, "bin/python3"),
        (Reason::PythonOnPath, "more/python"),
        (Reason::Python3OnPath, "more/python3"),
    ];
    assert_eq!(tree.found(), expected.map(|(reason, path)| (reason, tree.path(path))));
    let venvs: Vec<_> = candidates(&tree.search).list.into_iter().map(|c| c.venv).collect();
    assert_eq!(venvs[2], Some(tree.path("cwd/.venv")));
    assert_eq!(venvs[6], None);
}

/// B:E-10 B:C-06
#[test]
fn a_setting_is_the_only_candidate() {
    let mut tree = Tree::new();
    tree.only_path(&["bin"]);
    make_venv_files(&tree.path("cwd/.venv"));
    make_venv_files(&tree.path("home/envs/a"));
    write_program(&tree.path("bin/python3.12"), "#!/bin/sh\n");
    write_program(&tree.path("elsewhere/py"), "#!/bin/sh\n");
    let mut check = |setting: &str, path: &str, venv: Option<&str>| {
        tree.set(setting);
        let found = candidates(&tree.search).list;
        let venv = venv.map(|venv| tree.path(venv));
        let expected = PythonCandidate { path: tree.path(path), venv, reason: Reason::Setting };
        assert_eq!(found, [expected], "{setting}");
    };
    check("~/envs/a/bin/python", "home/envs/a/bin/python", Some("home/envs/a"));
    check("~/envs/a", "home/envs/a/bin/python", Some("home/envs/a"));
    check(".venv", "cwd/.venv/bin/python", Some("cwd/.venv"));
    check(".venv/bin/python", "cwd/.venv/bin/python", Some("cwd/.venv"));
    check("python3.12", "bin/python3.12", None);
    check("no/such/python", "cwd/no/such/python", None);
    let absolute = tree.path("elsewhere/py");
    tree.set(absolute.to_str().unwrap());
    assert_eq!(tree.found(), [(Reason::Setting, absolute)]);
}

/// B:E-11 B:E-12
#[test]
fn empty_environments_are_named_and_doubles_are_left_out() {
    let mut tree = Tree::new();
    fs::create_dir_all(tree.path("cwd/.venv/bin")).unwrap();
    write_program(&tree.path("real/python3.11"), "#!/bin/sh\nexit 1\n");
    write_program(&tree.path("real/mise"), "#!/bin/sh\nexit 1\n");
    fs::create_dir(tree.path("links")).unwrap();
    for (link, target) in [("python", "python3.11"), ("python3", "python3.11")] {
        symlink(tree.path("real").join(target), tree.path("bin").join(link)).unwrap();
        // A program that decides by its name counts once for each name.
        symlink(tree.path("real/mise"), tree.path("links").join(link)).unwrap();
    }
    // An environment's interpreter is a link as well, but a different Python.
    make_venv_files(&tree.path("cwd/venv"));
    fs::remove_file(tree.path("cwd/venv/bin/python")).unwrap();
    symlink(tree.path("real/python3.11"), tree.path("cwd/venv/bin/python")).unwrap();
    let gone = tree.path("gone");
    tree.only_path(&["bin", "links"]);
    tree.env(&[("VIRTUAL_ENV", gone.to_str().unwrap())]);
    let found = candidates(&tree.search);
    let list: Vec<_> = found.list.iter().map(|candidate| candidate.path.clone()).collect();
    let expected = ["cwd/venv/bin/python", "bin/python", "links/python", "links/python3"];
    assert_eq!(list, expected.map(|path| tree.path(path)));
    let empty: Vec<_> = found.empty.iter().map(ToString::to_string).collect();
    let said = |path: &str| format!("{} (no interpreter in it)", tree.path(path).display());
    assert_eq!(empty, [said("gone"), said("cwd/.venv")]);
}

#[test]
fn path_entries_that_mean_the_working_folder_are_passed_over() {
    let mut tree = Tree::new();
    write_program(&tree.path("cwd/python"), "#!/bin/sh\nexit 0\n");
    tree.env(&[("PATH", "::.:bin")]);
    assert_eq!(tree.found(), []);
}

/// B:E-12
#[tokio::test]
async fn broken_candidates_are_skipped_and_named() {
    let mut tree = Tree::new();
    make_venv_files(&tree.path("cwd/.venv"));
    write_program(&tree.path("cwd/.venv/bin/python"), "#!/bin/sh\nexit 3\n");
    make_venv_files(&tree.path("cwd/venv"));
    fs::remove_file(tree.path("cwd/venv/bin/python")).unwrap();
    symlink("/no/such/python3.8", tree.path("cwd/venv/bin/python")).unwrap();
    write_program(&tree.path("state/python-env/bin/python"), "#!/bin/sh\nkill -9 $$\n");
    write_program(&tree.path("home/.omp/python-env/bin/python"), "#!/bin/sh\necho hello\n");
    fs::write(tree.path("bin/python"), "not executable").unwrap();
    tree.only_path(&["bin"]);
    let error = tree.finder().find(&tree.search).await.unwrap_err();
    let expected = format!(
        "No working Python interpreter found. Tried: \
         {0}/cwd/.venv/bin/python (exit code 3); \
         {0}/cwd/venv/bin/python (could not be started: it is a link to /no/such/python3.8, which does not exist); \
         {0}/state/python-env/bin/python (killed by signal 9); \
         {0}/home/.omp/python-env/bin/python (answered something that is not Python's)",
        tree.path("").display().to_string().trim_end_matches('/')
    );
    assert_eq!(error.to_string(), expected);
    // None of them hides a Python that works, and failures are not cached.
    symlink(real_python(), tree.path("bin/python3")).unwrap();
    let finder = tree.finder();
    let found = finder.find(&tree.search).await.unwrap();
    assert_eq!(found.reason, Reason::Python3OnPath);
    assert_eq!(found.skipped.len(), 4);
    fs::remove_dir_all(tree.path("cwd/.venv")).unwrap();
    symlink(real_python(), tree.path("home/.omp/python-env/bin/python3")).unwrap();
    fs::remove_file(tree.path("home/.omp/python-env/bin/python")).unwrap();
    let found = finder.find(&tree.search).await.unwrap();
    assert_eq!(found.reason, Reason::ManagedByOmp);
}

/// B:E-12
#[tokio::test]
async fn no_candidate_at_all_has_its_own_words() {
    let mut tree = Tree::new();
    tree.only_path(&["bin"]);
    let error = tree.finder().find(&tree.search).await.unwrap_err();
    assert_eq!(error.to_string(), "Python executable not found on PATH");
    tree.set("~/python");
    let error = tree.finder().find(&tree.search).await.unwrap_err();
    let path = tree.path("home/python");
    let expected = format!(
        "No working Python interpreter found. Tried: {} (could not be started: no such file)",
        path.display()
    );
    assert_eq!(error.to_string(), expected);
}

/// The choice on this machine, whatever it has, is a Python and not a shim.
#[tokio::test]
async fn this_machine_has_one() {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let search = Search {
        setting: None,
        cwd: std::env::temp_dir(),
        home,
        state: None,
        env: ParentEnv::from_os(std::env::vars_os()),
        program: None,
    };
    let found = Finder::default().find(&search).await.unwrap();
    assert!(found.version >= OLDEST);
    assert_ne!(found.path.parent().unwrap().file_name().unwrap(), "shims", "{found:?}");
}

fn write_counting_python(path: &Path, counter: &Path, real: &Path) {
    let (counter, real) = (counter.display(), real.display());
    let text = format!("#!/bin/sh\necho x >> '{counter}'\nexec '{real}' \"$@\"\n");
    write_program(path, &text);
}

fn count(counter: &Path) -> usize {
    fs::read_to_string(counter).unwrap_or_default().lines().count()
}

/// B:E-14
#[tokio::test]
async fn a_shim_is_asked_once_and_then_skipped() {
    let mut tree = Tree::new();
    let (shim, counter) = (tree.path("pyenv/shims/python"), tree.path("counter"));
    write_counting_python(&shim, &counter, &real_python());
    tree.only_path(&["pyenv/shims"]);
    let finder = tree.finder();
    let first = finder.find(&tree.search).await.unwrap();
    assert_eq!((&first.path, &first.found_at), (&real_python(), &shim));
    assert_eq!(first.reason, Reason::PythonOnPath);
    assert_eq!(first.real_path, real_python().canonicalize().unwrap());
    assert_eq!(count(&counter), 1);
    // First from memory, then from the file.
    assert_eq!(finder.find(&tree.search).await.unwrap(), first);
    assert_eq!(tree.finder().find(&tree.search).await.unwrap(), first);
    assert_eq!(count(&counter), 1);
    // The user picks another version, then another folder, so the shim may lead elsewhere.
    fs::write(tree.path("cwd/.python-version"), "3.12\n").unwrap();
    finder.find(&tree.search).await.unwrap();
    assert_eq!(count(&counter), 2);
    fs::create_dir(tree.path("cwd/below")).unwrap();
    tree.search.cwd = tree.path("cwd/below");
    finder.find(&tree.search).await.unwrap();
    assert_eq!(count(&counter), 3);
    // A shim that sets variables for the program stays in place.
    let text =
        format!("#!/bin/sh\nexport PROJECT_MODE=1\nexec '{}' \"$@\"\n", real_python().display());
    write_program(&shim, &text);
    assert_eq!(finder.find(&tree.search).await.unwrap().path, shim);
}

/// B:E-14
#[tokio::test]
async fn an_answer_is_kept_until_the_program_changes() {
    let mut tree = Tree::new();
    let (program, counter) = (tree.path("bin/python"), tree.path("counter"));
    write_counting_python(&program, &counter, &real_python());
    tree.only_path(&["bin"]);
    let finder = tree.finder();
    let first = finder.find(&tree.search).await.unwrap();
    // An unknown wrapper stays in place, and its answer is cached only as long as the process lives.
    assert_eq!(first.path, program);
    finder.find(&tree.search).await.unwrap();
    assert_eq!(count(&counter), 1);
    tree.finder().find(&tree.search).await.unwrap();
    assert_eq!(count(&counter), 2);
    write_program(&program, "#!/bin/sh\nexit 5\n");
    assert!(finder.find(&tree.search).await.is_err());
    // A failed candidate is probed again each time.
    write_counting_python(&program, &counter, &real_python());
    finder.find(&tree.search).await.unwrap();
    assert_eq!(count(&counter), 3);
}

#[tokio::test]
async fn a_spoiled_or_unwritable_cache_is_no_error() {
    let mut tree = Tree::new();
    symlink(real_python(), tree.path("bin/python")).unwrap();
    tree.only_path(&["bin"]);
    let file = tree.path("cache/interpreters.json");
    for spoiled in ["", "{", "[]", r#"{"format":99,"entries":[]}"#] {
        fs::write(&file, spoiled).unwrap();
        tree.finder().find(&tree.search).await.unwrap();
    }
    assert!(fs::read_to_string(&file).unwrap().contains("cpython"));
    let left: Vec<_> = fs::read_dir(tree.path("cache")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let finder = Finder::with_cache_dir(file.join("below a file"));
    finder.find(&tree.search).await.unwrap();
}

/// B:E-11 B:E-13, and S-026 for the reason in the output.
#[tokio::test]
async fn a_real_environment_becomes_the_active_one() {
    let mut tree = Tree::new();
    let venv = tree.path("cwd/.venv");
    let made =
        Command::new(real_python()).args(["-m", "venv", "--without-pip"]).arg(&venv).status();
    assert!(made.unwrap().success());
    let stale = tree.path("stale");
    tree.env(&[("VIRTUAL_ENV", stale.to_str().unwrap())]);
    let finder = tree.finder();
    let found = finder.find(&tree.search).await.unwrap();
    assert_eq!(found.path, venv.join("bin/python"));
    assert_eq!((&found.venv, &found.prefix), (&Some(venv.clone()), &venv));
    assert_eq!(found.reason.to_string(), "found .venv in the working directory");
    assert_eq!(found.skipped.len(), 1);
    let version = found.version;
    let shown = format!(
        "{}/bin/python (Python {version}; found .venv in the working directory)",
        venv.display()
    );
    assert_eq!(found.to_string(), shown);
    // The answer from the file is the same.
    assert_eq!(tree.finder().find(&tree.search).await.unwrap(), found);

    let given = |path: &str| {
        BTreeMap::from([
            ("PATH".to_owned(), path.to_owned()),
            ("VIRTUAL_ENV".to_owned(), stale.display().to_string()),
            ("PYTHONHOME".to_owned(), "/elsewhere".to_owned()),
        ])
    };
    let mut env = given(&format!("{0}/bin:/usr/bin:{1}/bin", stale.display(), venv.display()));
    found.apply_to(&mut env);
    assert_eq!(env["VIRTUAL_ENV"], venv.display().to_string());
    assert_eq!(env["PATH"], format!("{}/bin:/usr/bin", venv.display()));
    assert!(!env.contains_key("PYTHONHOME"));
    let once = env.clone();
    found.apply_to(&mut env);
    assert_eq!(env, once);

    // An interpreter outside of environments sets neither variable, and the stale ones are removed.
    tree.set(real_python().to_str().unwrap());
    let system = finder.find(&tree.search).await.unwrap();
    assert_eq!((system.reason, &system.venv), (Reason::Setting, &None));
    let mut env = given(&format!("{}/bin:/usr/bin:/bin", stale.display()));
    system.apply_to(&mut env);
    assert_eq!(env["PATH"], "/usr/bin:/bin");
    assert!(!env.contains_key("VIRTUAL_ENV"));
    let mut empty = BTreeMap::new();
    system.apply_to(&mut empty);
    assert!(empty.is_empty());
}
