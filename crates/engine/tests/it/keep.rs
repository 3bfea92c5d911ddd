//! Properties of a file besides its bytes that a save keeps: mode, attributes, access list.

use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use inkcell_engine::{EngineError, Force, Kind, SaveOptions, SavedChange};
use inkcell_testkit::need::skip;
use inkcell_testkit::notebooks::small;
use rustix::fs::XattrFlags;

use crate::kit::{Desk, at, options, replace};

fn edit_with(desk: &Desk, options: &SaveOptions) -> Result<SavedChange<()>, EngineError> {
    desk.notebooks.change("nb.ipynb", options, |notebook, base| {
        base.apply(notebook, &[replace(at(1), "mine")]).map(drop)
    })
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("there").mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("the mode is set");
}

/// F-081
#[test]
fn the_mode_is_kept() {
    let desk = Desk::new();
    let path = desk.put("nb.ipynb", small());
    for wanted in [0o644, 0o600, 0o664, 0o666, 0o755, 0o640, 0o2664] {
        std::fs::write(&path, small()).expect("written");
        set_mode(&path, wanted);
        edit_with(&desk, &options()).expect("changed");
        assert_eq!(format!("{:o}", mode(&path)), format!("{wanted:o}"));
    }
}

/// F-066: refused even if the system would allow it, as for its administrator.
#[test]
fn a_read_only_file_is_refused() {
    let desk = Desk::new();
    let path = desk.put("nb.ipynb", small());
    let before = std::fs::metadata(&path).expect("there").ino();
    set_mode(&path, 0o444);
    let error = edit_with(&desk, &options()).err().expect("refused");
    assert_eq!(error.to_string(), "nb.ipynb is read-only (mode 444); nothing was written");
    assert_eq!(error.kind(), Kind::Invalid);
    assert_eq!(desk.get("nb.ipynb"), small());
    assert_eq!(std::fs::metadata(&path).expect("there").ino(), before);
    assert_eq!(desk.names(), ["nb.ipynb"]);
    // By force the file is written, and its mode stays.
    edit_with(&desk, &SaveOptions { force: Force::Yes, ..options() }).expect("forced");
    assert!(desk.get("nb.ipynb").contains("mine"));
    assert_eq!(mode(&path), 0o444);
}

/// F-066: the destination counts, not the source.
#[test]
fn a_read_only_file_is_not_overwritten_as_output_either() {
    let desk = Desk::new();
    set_mode(&desk.put("nb.ipynb", small()), 0o444);
    set_mode(&desk.put("out.ipynb", "old"), 0o400);
    let out = SaveOptions { output: Some("out.ipynb".to_owned()), ..options() };
    let error = edit_with(&desk, &out).err().expect("refused");
    assert_eq!(error.to_string(), "out.ipynb is read-only (mode 400); nothing was written");
    assert_eq!(desk.get("out.ipynb"), "old");
    let fresh = SaveOptions { output: Some("fresh.ipynb".to_owned()), ..options() };
    edit_with(&desk, &fresh).expect("written elsewhere");
    assert_eq!(desk.get("nb.ipynb"), small());
}

/// F-081
#[test]
fn attributes_are_kept() {
    let desk = Desk::new();
    let path = desk.put("nb.ipynb", small());
    let file = File::open(&path).expect("there");
    let big = vec![7u8; 2000];
    let set =
        |name: &str, value: &[u8]| rustix::fs::fsetxattr(&file, name, value, XattrFlags::empty());
    if set("user.inkcell-test", b"kept").is_err() {
        return skip("attributes_are_kept", "the file system has no attributes");
    }
    set("user.big", &big).expect("set");
    edit_with(&desk, &options()).expect("changed");
    let file = File::open(&path).expect("there");
    let get = |name: &str| {
        let mut value = vec![0; 4096];
        let size = rustix::fs::fgetxattr(&file, name, &mut value[..]).expect("kept");
        value.truncate(size);
        value
    };
    assert_eq!(get("user.inkcell-test"), b"kept");
    assert_eq!(get("user.big"), big);
    assert!(desk.get("nb.ipynb").contains("mine"));
}

/// An access list as Linux stores it: a version, then tag, permissions and user of each entry.
fn access_list(user: u32) -> Vec<u8> {
    const NOBODY: u32 = u32::MAX;
    let entries: [(u16, u16, u32); 5] =
        [(1, 6, NOBODY), (2, 4, user), (4, 4, NOBODY), (0x10, 6, NOBODY), (0x20, 0, NOBODY)];
    let mut list = 2u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(permissions.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}

fn list_of(path: &Path) -> Option<Vec<u8>> {
    let mut value = vec![0; 4096];
    let size = rustix::fs::getxattr(path, "system.posix_acl_access", &mut value[..]).ok()?;
    value.truncate(size);
    Some(value)
}

/// F-081
#[test]
fn the_access_list_is_kept() {
    let desk = Desk::new();
    let path = desk.put("nb.ipynb", small());
    let list = access_list(1234);
    let set = rustix::fs::setxattr(&path, "system.posix_acl_access", &list, XattrFlags::empty());
    if set.is_err() {
        return skip("the_access_list_is_kept", "the file system has no access lists");
    }
    let before = (list_of(&path), mode(&path));
    edit_with(&desk, &options()).expect("changed");
    assert_eq!((list_of(&path), mode(&path)), before);
}

/// F-081: a folder that gives new files an access list gives none to a file without one.
#[test]
fn the_folder_adds_no_access_list() {
    let desk = Desk::new();
    let path = desk.put("nb.ipynb", small());
    set_mode(&path, 0o640);
    let list = access_list(1234);
    let name = "system.posix_acl_default";
    if rustix::fs::setxattr(desk.dir(), name, &list, XattrFlags::empty()).is_err() {
        return skip("the_folder_adds_no_access_list", "the file system has no access lists");
    }
    assert!(list_of(&desk.put("witness", "")).is_some(), "new files get the list");
    edit_with(&desk, &options()).expect("changed");
    assert_eq!((list_of(&path), mode(&path)), (None, 0o640));
}

/// F-081: the owner is kept where the system allows it; only an administrator can test it.
#[test]
fn the_owner_is_kept() {
    let desk = Desk::new();
    let path = desk.put("nb.ipynb", small());
    let owner = (Some(rustix::fs::Uid::from_raw(12345)), Some(rustix::fs::Gid::from_raw(23456)));
    if rustix::fs::chown(&path, owner.0, owner.1).is_err() {
        return skip("the_owner_is_kept", "only an administrator can give a file away");
    }
    set_mode(&path, 0o4750);
    edit_with(&desk, &options()).expect("changed");
    let found = std::fs::metadata(&path).expect("there");
    assert_eq!((found.uid(), found.gid(), found.mode() & 0o7777), (12345, 23456, 0o4750));
}
