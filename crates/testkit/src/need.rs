//! Checks that the machine has what a test needs, and reports what is missing.
//!
//! Owns the switches `INKCELL_TEST_QUICK`, `INKCELL_TEST_ALL`, `INKCELL_TEST_REQUIRE`, `INKCELL_TEST_NO_STRACE`,
//! `INKCELL_TEST_NO_MOUNTS`, `INKCELL_TEST_NO_PACKAGES`, `INKCELL_TEST_NO_LIBRARIES` and `INKCELL_TEST_NO_UV`, and, one
//! for each kind of Python with servers, `INKCELL_TEST_NO_JUPYTER`, `INKCELL_TEST_NO_ENTERPRISE` and
//! `INKCELL_TEST_NO_COLLABORATION`.
//! `INKCELL_TEST_SKIPPED` names the file that lists skipped tests, because a test runner hides the output of a test
//! that passes.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// True if long tests should run in their short form.
pub fn is_quick() -> bool {
    std::env::var_os("INKCELL_TEST_QUICK").is_some()
}

/// True if long tests should try every case.
pub fn is_exhaustive() -> bool {
    std::env::var_os("INKCELL_TEST_ALL").is_some()
}

/// The step through a long enumeration: every `quick`th case in a quick run, every `ordinary`th in an ordinary run,
/// and every case with `--all`.
pub fn stride(quick: u32, ordinary: u32) -> u32 {
    match (is_quick(), is_exhaustive()) {
        (true, _) => quick,
        (_, true) => 1,
        _ => ordinary,
    }
}

/// Reports that a test is skipped here.
pub fn skip(test: &str, why: &str) {
    eprintln!("\n!!! SKIPPED {test}: {why} !!!\n");
    if let Some(list) = std::env::var_os("INKCELL_TEST_SKIPPED") {
        let list = File::options().create(true).append(true).open(list);
        // Write the line at once, because tests run side by side.
        let line = format!("{test}: {why}\n");
        list.and_then(|mut list| list.write_all(line.as_bytes()))
            .expect("the list of skipped tests");
    }
}

/// Checks that strace can trace a child. If tests must not skip and it cannot, the test fails.
pub fn strace(test: &str) -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    let works = *WORKS.get_or_init(|| succeeds("strace", &["-f", "-o", "/dev/null", "true"]));
    works || missing(test, "strace does not work here", "INKCELL_TEST_NO_STRACE")
}

/// Skips a test, or fails it if tests must not skip and no variable excuses it by name.
fn missing(test: &str, why: &str, excuse: &str) -> bool {
    let required = std::env::var_os("INKCELL_TEST_REQUIRE").is_some();
    let excused = std::env::var_os(excuse).is_some();
    assert!(!required || excused, "{test} cannot run: {why} ({excuse}=1 excuses it)");
    skip(test, why);
    false
}

/// Checks that a private mount namespace can mount a small file system.
pub fn private_mounts(test: &str) -> bool {
    let script = "mount -t tmpfs -o size=64k none /mnt";
    let works = succeeds("unshare", &["-Urm", "sh", "-c", script]);
    works || missing(test, "a private file system cannot be mounted here", "INKCELL_TEST_NO_MOUNTS")
}

/// Checks that a Python has a package. If tests must not skip and it has not, the test fails.
pub fn python_package(test: &str, python: &OsStr, package: &str) -> bool {
    // An import would take longer than many tests.
    let code =
        format!("import sys, importlib.util as u; sys.exit(u.find_spec({package:?}) is None)");
    let why = format!("{} has no package {package}", python.display());
    succeeds(python, &["-c", &code]) || missing(test, &why, "INKCELL_TEST_NO_PACKAGES")
}

/// Checks that a variable names a Python with Jupyter's servers. If tests must not skip and none does, the test
/// fails.
pub fn jupyter_server(test: &str) -> bool {
    let modules = "kernel_gateway, jupyter_server, ipykernel";
    named_python(test, "INKCELL_TEST_JUPYTER_PYTHON", modules).is_some()
}

/// The Python that this variable names, if it has these modules. If tests must not skip and it has not, the test
/// fails.
pub fn named_python(test: &str, variable: &str, modules: &str) -> Option<PathBuf> {
    let python = std::env::var_os(variable).map(PathBuf::from);
    // Imports would take longer than many tests.
    let code = format!(
        "import importlib.util as u; [u.find_spec(m) or 1 / 0 for m in {modules:?}.split(', ')]"
    );
    let found = python.filter(|python| succeeds(python, &["-c", &code]));
    if found.is_none() {
        let why = format!("{variable} names no Python that has {modules}");
        let kind = variable.trim_start_matches("INKCELL_TEST_").trim_end_matches("_PYTHON");
        missing(test, &why, &format!("INKCELL_TEST_NO_{kind}"));
    }
    found
}

/// The uv that the variable `INKCELL_TEST_UV` names. If tests must not skip and it names none, the test fails.
pub fn uv(test: &str) -> Option<PathBuf> {
    let uv = std::env::var_os("INKCELL_TEST_UV").map(PathBuf::from);
    let found = uv.filter(|uv| succeeds(uv, &["--version"]));
    if found.is_none() {
        missing(test, "INKCELL_TEST_UV names no uv", "INKCELL_TEST_NO_UV");
    }
    found
}

/// True if a program exists and exits with success.
pub fn succeeds(program: impl AsRef<OsStr>, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
