//! The wheel: packed by maturin, from a build that exists or from one for systems with an old glibc.
//!
//! Owns maturin's command line, and what the portable wheel must keep to.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use super::sandbox::Sandbox;
use super::workshop::Workshop;
use crate::child;
use crate::python_env::{self, Environment};
use crate::workspace::Workspace;

const MATURIN: Environment<'_> = Environment {
    dir: "target/wheel-env",
    requirements: "xtask/requirements-wheel.txt",
    modules: "maturin",
};

/// The newest glibc that the portable wheel may need, as its tag promises.
const GLIBC: (u32, u32) = (2, 17);
const TAG: &str = "manylinux2014";

/// The most bytes of the portable wheel.
const MOST_BYTES: u64 = 11_000_000;

/// Calls maturin. The folder of its programs comes first on `PATH`.
pub(super) fn maturin(workspace: &Workspace) -> Result<Command> {
    let (python, _) = MATURIN.ensure(workspace, &python_env::base_python()?)?;
    Ok(workspace.command(python.with_file_name("maturin")))
}

/// Packs the release build of the test command. Nothing is compiled: maturin asks cargo for the same build.
pub(super) fn of_release(workspace: &Workspace) -> Result<PathBuf> {
    let built = workspace.path("target/release/inkcell");
    let before = built.metadata().context("there is no release build")?.modified()?;
    let out = empty(&workspace.path("target/wheels/release"))?;
    let mut build = maturin(workspace)?;
    build.args(["build", "--release", "--compatibility", "linux", "--out"]).arg(&out);
    child::stream_to_stdout(&mut build)?;
    ensure!(before == built.metadata()?.modified()?, "maturin built target/release/inkcell again");
    only_file(&out)
}

/// Builds the wheel that a release publishes.
pub(super) fn portable(workshop: &Workshop<'_>) -> Result<PathBuf> {
    let out = empty(&workshop.workspace.path("target/wheels/portable"))?;
    let mut build = maturin(workshop.workspace)?;
    build.args(["build", "--profile", "dist", "--out"]).arg(&out);
    if cfg!(target_os = "linux") {
        // The build is for a named target, so it shares nothing with the builds of this machine.
        build.args(["--zig", "--compatibility", TAG, "--target", &workshop.platform.triple]);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(workshop.tools()?).chain(std::env::split_paths(&path));
        build.env("PATH", std::env::join_paths(folders)?);
    } else {
        build.env("MACOSX_DEPLOYMENT_TARGET", "11.0");
    }
    child::stream_to_stdout(&mut build)?;
    only_file(&out)
}

/// Checks the wheel, installs it as users do, and starts it.
pub(super) fn make(workshop: &mut Workshop<'_>) -> Result<Vec<String>> {
    let (wheel, binary) = (workshop.wheel()?, workshop.binary()?);
    let mut untried = Vec::new();
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if name.contains(TAG) {
        let needs = workshop.pack(["needs".as_ref(), binary.as_path()])?;
        let newest = newest_glibc(&needs).context("the binary needs no glibc at all")?;
        let (major, minor) = newest;
        println!("the newest symbol is of GLIBC_{major}.{minor}");
        ensure!(newest <= GLIBC, "GLIBC_{major}.{minor} is newer than the tag {TAG} allows");
        let bytes = wheel.metadata()?.len();
        ensure!(bytes <= MOST_BYTES, "the wheel has {bytes} bytes, and {MOST_BYTES} are allowed");
    } else if cfg!(target_os = "linux") {
        untried.push(format!("{name} is NOT portable: glibc and size are not checked"));
    }
    let sandbox = Sandbox::new(&[])?;
    let inkcell = install(&sandbox, &wheel)?;
    sandbox.expect_version(sandbox.command(inkcell).arg("--version"), &workshop.product.version)?;
    workshop.finish(&wheel)?;
    let licences = licences(workshop.workspace)?;
    std::fs::write(workshop.out("licences.txt"), licences)?;
    Ok(untried)
}

/// Installs a wheel with pip into an empty environment of the sandbox. Returns the path of the program.
pub(super) fn install(sandbox: &Sandbox, wheel: &Path) -> Result<PathBuf> {
    let environment = sandbox.home().join("env");
    let mut make = sandbox.command(&sandbox.python);
    child::stream(make.args(["-m", "venv"]).arg(&environment))?;
    let mut install = sandbox.command(python_env::interpreter(&environment));
    install.args(["-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check"]);
    child::stream(install.arg(wheel))?;
    Ok(environment.join("bin/inkcell"))
}

/// The newest glibc among the versions of symbols.
fn newest_glibc(needs: &str) -> Option<(u32, u32)> {
    let versions = needs.lines().filter_map(|line| line.strip_prefix("GLIBC_")?.split_once('.'));
    let versions = versions.filter_map(|(major, rest)| {
        let minor = rest.split('.').next()?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    versions.max()
}

/// Lists the crates in the binary with their licences. Each must name one.
fn licences(workspace: &Workspace) -> Result<String> {
    let mut tree =
        workspace.cargo(["tree", "--locked", "--package", "inkcell", "--edges", "normal"]);
    tree.args(["--prefix", "none", "--no-dedupe", "--format", "{p}\t{l}"]);
    licence_list(&child::capture(&mut tree)?)
}

fn licence_list(tree: &str) -> Result<String> {
    let mut lines = Vec::new();
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let (package, licence) = line.split_once('\t').unwrap_or((line, ""));
        let name: Vec<&str> = package.split(' ').take(2).collect();
        let name = name.join(" ");
        ensure!(!licence.is_empty(), "{name} names no licence");
        lines.push(format!("{name}: {licence}\n"));
    }
    lines.sort_unstable();
    lines.dedup();
    Ok(lines.concat())
}

fn empty(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder)?;
    Ok(folder.to_owned())
}

fn only_file(folder: &Path) -> Result<PathBuf> {
    let files = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let files: Vec<PathBuf> = files.collect::<Result<_>>()?;
    match files.as_slice() {
        [one] => Ok(one.clone()),
        other => bail!("{} has {} files, not one", folder.display(), other.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glibc_versions_are_compared_as_numbers() {
        let needs = "GLIBC_2.2.5\nGCC_3.0\nGLIBC_2.17\nGLIBC_2.9\nGLIBC_PRIVATE\n";
        assert_eq!(newest_glibc(needs), Some((2, 17)));
        assert!(newest_glibc("GLIBC_2.34\n").is_some_and(|newest| newest > GLIBC));
        assert_eq!(newest_glibc("GCC_3.0\n"), None);
    }

    #[test]
    fn every_crate_has_a_licence() {
        let tree = "b v1.0.0\tMIT\na v0.1.0 (proc-macro)\tMIT OR Apache-2.0\nb v1.0.0\tMIT\n";
        assert_eq!(licence_list(tree).unwrap(), "a v0.1.0: MIT OR Apache-2.0\nb v1.0.0: MIT\n");
        assert!(licence_list("c v1.0.0\t\n").is_err());
    }

    #[test]
    fn maturin_is_pinned() {
        let text = include_str!("../../requirements-wheel.txt");
        let packages: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(packages.len() == 1 && packages[0].starts_with("maturin=="), "{packages:?}");
        let text = include_str!("../../requirements-package.txt");
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        assert!(lines.all(|line| line.split("==").count() == 2));
    }
}
