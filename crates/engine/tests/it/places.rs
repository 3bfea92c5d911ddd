//! Destinations of a path: links, other names of the same file, and entries that are not files.

use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};

use inkcell_engine::{EngineError, FileNote, IfMissing, Kind, SaveOptions, SavedChange};
use inkcell_testkit::laws::KEEP_ALL;
use inkcell_testkit::notebooks::small;

use crate::kit::{Desk, at, options, replace};

fn edit(desk: &Desk, path: &str) -> Result<SavedChange<()>, EngineError> {
    desk.notebooks.change(path, &options(), |notebook, base| {
        base.apply(notebook, &[replace(at(1), "mine")]).map(drop)
    })
}

fn write(desk: &Desk, path: &str) -> Result<SavedChange<()>, EngineError> {
    let create = SaveOptions { if_missing: IfMissing::CreateNotebook, ..options() };
    desk.notebooks.change(path, &create, |notebook, base| {
        let text = "# %% [code]\nmine";
        base.apply_text(notebook, text, KEEP_ALL).map(drop)
    })
}

/// F-067
#[test]
fn a_link_is_kept_and_its_target_changed() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("real")).expect("a folder");
    let real = desk.put("real/nb.ipynb", small());
    symlink("real/nb.ipynb", desk.path("link.ipynb")).expect("a link");
    symlink("link.ipynb", desk.path("chain.ipynb")).expect("a link");
    symlink("real", desk.path("folder")).expect("a link");
    for name in ["link.ipynb", "chain.ipynb", "folder/nb.ipynb"] {
        std::fs::write(&real, small()).expect("written");
        edit(&desk, name).expect("changed");
        assert!(desk.get("real/nb.ipynb").contains("mine"), "{name}");
    }
    for name in ["link.ipynb", "chain.ipynb", "folder"] {
        let found = std::fs::symlink_metadata(desk.path(name)).expect("there");
        assert!(found.is_symlink(), "{name} is still a link");
    }
    assert_eq!(desk.names(), ["chain.ipynb", "folder", "link.ipynb", "real"]);
    assert_eq!(inkcell_testkit::env::names_in(&desk.path("real")), ["nb.ipynb"]);
}

/// F-067
#[test]
fn a_dangling_link_is_not_found_and_can_be_filled() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("real")).expect("a folder");
    symlink("real/new.ipynb", desk.path("link.ipynb")).expect("a link");
    let error = edit(&desk, "link.ipynb").err().expect("nothing to edit");
    assert_eq!(error.to_string(), "Notebook not found: link.ipynb");
    let error = desk.notebooks.read("link.ipynb").err().expect("nothing to read");
    assert_eq!(error.to_string(), "File not found: link.ipynb");
    write(&desk, "link.ipynb").expect("made");
    assert!(desk.get("real/new.ipynb").contains("mine"));
    assert!(std::fs::symlink_metadata(desk.path("link.ipynb")).expect("there").is_symlink());
}

/// F-067
#[test]
fn a_loop_of_links_is_an_error_of_the_caller() {
    let desk = Desk::new();
    symlink("b.ipynb", desk.path("a.ipynb")).expect("a link");
    symlink("a.ipynb", desk.path("b.ipynb")).expect("a link");
    for done in [edit(&desk, "a.ipynb"), write(&desk, "b.ipynb")] {
        let error = done.err().expect("an error");
        assert_eq!(error.kind(), Kind::Invalid, "{error}");
        assert!(error.to_string().contains("symbolic links"), "{error}");
    }
}

/// F-067: the other names of a file keep the old content, and the result says so.
#[test]
fn other_names_of_the_file_keep_the_old_content() {
    let desk = Desk::new();
    let path = desk.put("nb.ipynb", small());
    std::fs::hard_link(&path, desk.path("other.ipynb")).expect("a second name");
    let saved = edit(&desk, "nb.ipynb").expect("changed");
    assert_eq!(saved.notes, [FileNote::HardLinks(2)]);
    assert!(desk.get("nb.ipynb").contains("mine"));
    assert_eq!(desk.get("other.ipynb"), small());
    assert_eq!(std::fs::metadata(&path).expect("there").nlink(), 1);
}

/// F-067: no operation here may wait for a writer, a reader or a peer.
#[test]
fn what_is_no_file_is_refused_at_once() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("folder.ipynb")).expect("a folder");
    let fifo = desk.path("fifo.ipynb");
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0)
        .expect("a FIFO");
    let socket =
        std::os::unix::net::UnixListener::bind(desk.path("socket.ipynb")).expect("a socket");
    symlink("/dev/null", desk.path("device.ipynb")).expect("a link");
    let table = [
        ("folder.ipynb", "folder.ipynb is a folder, not a regular file"),
        ("fifo.ipynb", "fifo.ipynb is a FIFO, not a regular file"),
        ("socket.ipynb", "socket.ipynb is a socket, not a regular file"),
        ("device.ipynb", "device.ipynb is a device, not a regular file"),
        ("/dev/null", "/dev/null is a device, not a regular file"),
        (".", ". is a folder, not a regular file"),
        ("/", "/ is a folder, not a regular file"),
    ];
    for (name, wanted) in table {
        let errors = [
            edit(&desk, name).err(),
            write(&desk, name).err(),
            desk.notebooks.read(name).err(),
            desk.notebooks.read_bytes(name).err(),
            desk.notebooks.create(name, None).err(),
        ];
        for error in errors {
            let error = error.expect("refused");
            assert_eq!(error.to_string(), wanted);
            assert_eq!(error.kind(), Kind::Invalid);
        }
    }
    assert!(std::fs::symlink_metadata(&fifo).expect("there").file_type().is_fifo());
    assert!(std::fs::metadata("/dev/null").expect("there").file_type().is_char_device());
    drop(socket);
}

/// F-067: entries under `/proc` and `/dev` are not files of a user, and may be links to one.
#[test]
fn a_file_of_procfs_is_neither_read_nor_written() {
    let desk = Desk::new();
    if !std::fs::exists("/proc/self/cmdline").is_ok_and(|is_there| is_there) {
        return inkcell_testkit::need::skip("a_file_of_procfs", "there is no procfs");
    }
    desk.put("nb.ipynb", small());
    let held = std::fs::File::open(desk.path("nb.ipynb")).expect("opened");
    let behind = format!("/proc/self/fd/{}", held.as_raw_fd());
    symlink(&behind, desk.path("link.ipynb")).expect("a link");
    for path in ["/proc/self/cmdline", &behind, "link.ipynb", "/dev/null"] {
        let errors = [
            desk.notebooks.read_bytes(path).err(),
            edit(&desk, path).err(),
            desk.notebooks.create(path, None).err(),
        ];
        for error in errors {
            let error = error.unwrap_or_else(|| panic!("{path} was used"));
            let is_device = matches!(error, EngineError::NotAFile { what: "a device", .. });
            assert!(is_device, "{path}: {error}");
        }
    }
    assert_eq!(desk.get("nb.ipynb"), small());
}
