//! Shares the runner's files, laid out and compiled once, among all tests.
//!
//! Owns the shared folder, beside the test binaries. It must not know what the files are: the first kernel that
//! starts writes them, as it does in any state folder.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::Path;

/// Makes a state folder that shares the runner. Writing and compiling a runner takes longer than most tests.
pub fn share(state: &Path) {
    let shared = std::env::current_exe().expect("a test binary").with_file_name("shared-runner");
    for folder in [&shared, state] {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    }
    match symlink(&shared, state.join("runner")) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => panic!("the runner: {error}"),
        _ => {}
    }
}
