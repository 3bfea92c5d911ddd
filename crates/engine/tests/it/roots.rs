//! Folders that paths must stay in; the decision uses the destination of a path.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use inkcell_engine::{Backup, EngineError, IfMissing, Kind, Roots, SaveOptions};
use inkcell_testkit::laws::KEEP_ALL;
use inkcell_testkit::need::is_quick;
use inkcell_testkit::notebooks::small;

use crate::kit::{Desk, options};

/// A desk whose paths must stay in `proj`; files beside it must not be touched.
fn confined() -> Desk {
    let desk = Desk::with(|config, work| config.roots = Roots::Only(vec![work.join("proj")]));
    for folder in ["proj", "proj/sub", "proj-evil", "outside"] {
        std::fs::create_dir(desk.path(folder)).expect("a folder");
        desk.put(&format!("{folder}/nb.ipynb"), small());
    }
    desk
}

fn write(desk: &Desk, path: &str, options: &SaveOptions) -> Result<(), EngineError> {
    desk.notebooks
        .change(path, options, |notebook, base| {
            let text = match notebook.is_empty() {
                true => "# %% [code]\nmine".to_owned(),
                false => {
                    let text = notebook.to_text(inkcell_engine::notebook::MarkerIds::Off);
                    text.expect("text").replace("x = 1", "mine")
                }
            };
            base.apply_text(notebook, &text, KEEP_ALL).map(drop)
        })
        .map(drop)
}

/// S-041
#[test]
fn paths_that_lead_out_are_refused() {
    let desk = confined();
    symlink("../outside", desk.path("proj/out")).expect("a link");
    symlink("../outside/nb.ipynb", desk.path("proj/file.ipynb")).expect("a link");
    symlink("../outside/new.ipynb", desk.path("proj/dangling.ipynb")).expect("a link");
    let absolute = desk.path("outside/nb.ipynb").display().to_string();
    let table = [
        "outside/nb.ipynb",
        "proj/../outside/nb.ipynb",
        "proj/sub/../../outside/nb.ipynb",
        "proj/out/nb.ipynb",
        "proj/out/new.ipynb",
        "proj/file.ipynb",
        "proj/dangling.ipynb",
        "proj-evil/nb.ipynb",
        "proj/../proj-evil/new.ipynb",
        absolute.as_str(),
        "/dev/null",
        "~/outside/nb.ipynb",
    ];
    let create =
        SaveOptions { if_missing: IfMissing::CreateNotebook, backup: Backup::Yes, ..options() };
    for path in table {
        let through = SaveOptions { output: Some(path.to_owned()), ..options() };
        let errors = [
            desk.notebooks.read(path).err(),
            desk.notebooks.read_bytes(path).err(),
            write(&desk, path, &create).err(),
            write(&desk, "proj/nb.ipynb", &through).err(),
            desk.notebooks.create(path, None).err(),
        ];
        assert!(!desk.notebooks.exists(path), "{path}: what is outside cannot be told");
        for error in errors {
            let error = error.unwrap_or_else(|| panic!("{path} was allowed"));
            assert!(matches!(error, EngineError::OutsideRoots { .. }), "{path}: {error}");
            assert_eq!(error.kind(), Kind::Invalid);
            assert!(
                error.to_string().starts_with(&format!("{path} is outside the allowed folders: "))
            );
        }
    }
    assert!(desk.notebooks.exists("proj/nb.ipynb"));
    let opened = desk.notebooks.read("proj/nb.ipynb").expect("inside");
    let refused = desk.notebooks.export("outside/script.py", &opened, b"x");
    assert!(matches!(refused, Err(EngineError::OutsideRoots { .. })));
    for folder in ["proj", "proj-evil", "outside"] {
        assert_eq!(desk.get(&format!("{folder}/nb.ipynb")), small());
    }
    assert_eq!(inkcell_testkit::env::names_in(&desk.path("outside")), ["nb.ipynb"]);
    assert_eq!(inkcell_testkit::env::names_in(&desk.path("proj-evil")), ["nb.ipynb"]);
}

/// S-041
#[test]
fn paths_that_stay_inside_are_allowed_however_they_are_spelled() {
    let desk = confined();
    symlink("proj", desk.path("alias")).expect("a link");
    symlink("sub/nb.ipynb", desk.path("proj/inner.ipynb")).expect("a link");
    let table = [
        "proj/nb.ipynb",
        "proj/sub/../nb.ipynb",
        "outside/../proj/nb.ipynb",
        "alias/sub/nb.ipynb",
        "proj/inner.ipynb",
        "~/proj/nb.ipynb",
    ];
    for path in table {
        desk.notebooks.read(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        write(&desk, path, &options()).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
}

/// S-042: a folder that keeps changing places with a link never leads a write outside.
#[test]
fn a_folder_that_turns_into_a_link_leads_nowhere() {
    let desk = confined();
    let (real, link) = (desk.path("proj/real"), desk.path("proj/link"));
    let (door, spare) = (desk.path("proj/door"), desk.path("proj/spare"));
    std::fs::create_dir(&real).expect("a folder");
    std::fs::rename(&real, &door).expect("a folder that is the door");
    desk.put("proj/door/nb.ipynb", small());
    symlink("../outside", &link).expect("a link");
    let outside = || {
        let folder = desk.path("outside");
        (
            inkcell_testkit::env::names_in(&folder),
            std::fs::read(folder.join("nb.ipynb")).expect("there"),
        )
    };
    let before = outside();
    let stop = AtomicBool::new(false);
    let lasts = Duration::from_secs(if is_quick() { 2 } else { 5 });
    let (mut written, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The folder and the link change places, in two renames each.
            while !stop.load(Ordering::Relaxed) {
                let steps = [(&door, &spare), (&link, &door), (&door, &link), (&spare, &door)];
                for (from, to) in steps {
                    std::fs::rename(from, to).expect("renamed");
                }
            }
        });
        // A busy machine may need longer for both to happen.
        let (end, last) = (Instant::now() + lasts, Instant::now() + 20 * lasts);
        let create = SaveOptions { if_missing: IfMissing::CreateNotebook, ..options() };
        for round in 0.. {
            let now = Instant::now();
            if now > last || (now > end && written > 0 && refused > 0) {
                break;
            }
            let name = format!("proj/door/new{}.ipynb", round % 5);
            for path in ["proj/door/nb.ipynb", &name] {
                match write(&desk, path, &create) {
                    Ok(()) => written += 1,
                    Err(_) => refused += 1,
                }
            }
            drop(desk.notebooks.create(&name, None));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(outside(), before);
    assert!(written > 0 && refused > 0, "{written} written, {refused} refused");
}

/// S-041: a second list of folders can only take permissions away.
#[test]
fn a_second_list_of_folders_only_narrows() {
    let desk = confined();
    let folder = |name: &str| vec![desk.path(name)];
    let can_read = |folders: &[std::path::PathBuf], path: &str| {
        let read = desk.notebooks.narrowed_to(folders).read(path);
        match read {
            Ok(_) => true,
            Err(EngineError::OutsideRoots { .. }) => false,
            Err(error) => panic!("{path}: {error}"),
        }
    };
    assert!(can_read(&folder("proj"), "proj/nb.ipynb"));
    assert!(can_read(&folder("proj/sub"), "proj/sub/nb.ipynb"));
    assert!(!can_read(&folder("proj/sub"), "proj/nb.ipynb"));
    for wider in ["outside", ".", "/"] {
        assert!(!can_read(&folder(wider), "outside/nb.ipynb"), "{wider}");
    }
    assert!(can_read(&folder("/"), "proj/nb.ipynb"));
    assert!(!can_read(&[], "proj/nb.ipynb"), "no folder allows nothing");
}
