//! Tests of the module search in made-up folders.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

/// Creates a state folder, a home and a working folder with these files.
fn tree(files: &[&str]) -> (tempfile::TempDir, ModuleSearch) {
    let temp = tempfile::tempdir().unwrap();
    for file in files {
        let path = temp.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let below = |name: &str| temp.path().join(name);
    let search = ModuleSearch {
        state: Some(below("state")),
        home: Some(below("home")),
        cwd: below("cwd"),
        project: ProjectModules::On,
    };
    (temp, search)
}

fn found(search: &ModuleSearch, root: &Path) -> Vec<(String, String)> {
    let all = find_modules(search).unwrap().into_iter();
    let shown = |path: PathBuf| path.strip_prefix(root).unwrap().display().to_string();
    all.map(|(name, path)| (name, shown(path))).collect()
}

/// B:E-50 B:E-51
#[test]
fn the_first_of_a_name_counts_and_the_project_comes_before_the_user() {
    let state = "state/modules/m.py";
    let home = "home/.omp/agent/modules/m.py";
    let own = "cwd/.inkcell/modules/m.py";
    let omp = "cwd/.omp/modules/m.py";
    let pi = "cwd/.pi/modules/m.py";
    let table: &[(&[&str], &str, &str)] = &[
        // The existing files, the loaded one, and the loaded one without the project.
        (&[state, home, own, omp, pi], own, state),
        (&[state, home, omp, pi], omp, state),
        (&[home, pi], pi, home),
        (&[state, home], state, state),
        (&[home], home, home),
        (&[own], own, ""),
        (&[], "", ""),
    ];
    for (files, on, off) in table {
        let (temp, mut search) = tree(files);
        let check = |search: &ModuleSearch, expected: &str| {
            let expected: Vec<_> = [expected].into_iter().filter(|path| !path.is_empty()).collect();
            let paths: Vec<_> = found(search, temp.path()).into_iter().map(|(_, p)| p).collect();
            assert_eq!(paths, expected, "{files:?} {:?}", search.project);
        };
        check(&search, on);
        search.project = ProjectModules::Off;
        check(&search, off);
    }
}

/// B:E-50 B:E-51
#[test]
fn all_places_together_are_in_the_order_of_names() {
    let (temp, search) = tree(&[
        "state/modules/zebra.py",
        "state/modules/both.py",
        "home/.omp/agent/modules/both.py",
        "home/.omp/agent/modules/Upper.py",
        "cwd/.pi/modules/apple.py",
        "cwd/.omp/modules/zebra.py",
    ]);
    let expected = [
        ("Upper", "home/.omp/agent/modules/Upper.py"),
        ("apple", "cwd/.pi/modules/apple.py"),
        ("both", "state/modules/both.py"),
        ("zebra", "cwd/.omp/modules/zebra.py"),
    ];
    assert_eq!(found(&search, temp.path()), expected.map(|(n, p)| (n.into(), p.into())));
    let nowhere = ModuleSearch { cwd: temp.path().join("none"), ..ModuleSearch::default() };
    assert_eq!(found(&nowhere, temp.path()), []);
}

/// B:E-51
#[test]
fn only_regular_files_that_end_in_py_count() {
    let (temp, search) = tree(&[
        "cwd/.omp/modules/good.py",
        "cwd/.omp/modules/a.b.py",
        "cwd/.omp/modules/notes.txt",
        "cwd/.omp/modules/compiled.pyc",
        "cwd/.omp/modules/upper.PY",
        "cwd/.omp/modules/.py",
        "cwd/.omp/modules/.hidden.py",
        "cwd/.omp/modules/py",
        "cwd/.omp/modules/folder.py/inside.py",
        "elsewhere/target",
        // A file in the place of a folder holds no modules.
        "cwd/.pi",
        "state/modules",
    ]);
    let folder = temp.path().join("cwd/.omp/modules");
    symlink("../../../elsewhere/target", folder.join("linked.py")).unwrap();
    symlink("nowhere", folder.join("dangling.py")).unwrap();
    symlink("folder.py", folder.join("to_folder.py")).unwrap();
    let names: Vec<_> = found(&search, temp.path()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a.b", "good", "linked"]);
}

/// A folder named like a module does not hide a later file of the same name.
#[test]
fn what_does_not_count_hides_nothing() {
    let (temp, search) = tree(&["state/modules/m.py/inside.py", "home/.omp/agent/modules/m.py"]);
    assert_eq!(
        found(&search, temp.path()),
        [("m".to_owned(), "home/.omp/agent/modules/m.py".to_owned())]
    );
}

/// B:E-51
#[test]
fn what_cannot_be_read_is_an_error() {
    let (temp, search) = tree(&["cwd/.omp/modules/good.py"]);
    let folder = temp.path().join("cwd/.omp/modules");
    let looped = folder.join("looped.py");
    symlink("looped.py", &looped).unwrap();
    let said = find_modules(&search).unwrap_err().to_string();
    let start = format!("Failed to read Python module {}: ", looped.display());
    assert!(said.starts_with(&start), "{said}");
    fs::remove_file(&looped).unwrap();

    let odd = folder.join(OsStr::from_bytes(b"odd\xff.py"));
    fs::write(&odd, "").unwrap();
    let said = find_modules(&search).unwrap_err().to_string();
    assert!(said.ends_with("its name is not UTF-8"), "{said}");
    fs::remove_file(&odd).unwrap();

    // A superuser can read everything.
    if !rustix::process::geteuid().is_root() {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o000)).unwrap();
        let said = find_modules(&search).map_err(|error| error.to_string());
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let start = format!("Failed to read Python module {}: ", folder.display());
        assert!(said.as_ref().is_err_and(|said| said.starts_with(&start)), "{said:?}");
    }
    assert_eq!(found(&search, temp.path()).len(), 1);
}
