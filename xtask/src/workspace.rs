//! Finds the workspace and paths in it.
//!
//! Must not know what any chore does with these paths.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

/// The checkout from which this binary was started.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Finds the root. Cargo names the manifest at run time; a copy of the binary that was started by hand uses the
    /// path at build time.
    pub(crate) fn find() -> Result<Self> {
        let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest_dir.parent().context("xtask has no parent folder")?;
        Ok(Self { root: root.to_path_buf() })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Makes a path relative to the root absolute.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Prepares a call of the cargo that started this binary, in the root.
    pub(crate) fn cargo<const N: usize>(&self, args: [&str; N]) -> Command {
        let mut command = self.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(args);
        command
    }

    /// Prepares a call of a program that may call cargo, in the root.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        // When one of these variables changes, cargo runs build scripts of dependencies again and rebuilds everything
        // that depends on them. `cargo xtask` inherits none of these variables, so its children must not get them
        // from it.
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        for name in names.filter(|name| is_about_package(name)) {
            command.env_remove(name);
        }
        command
    }

    /// Like [`Workspace::cargo`], with clippy as the compiler of our own crates and its warnings as errors, so that
    /// lints, tests and doc tests share one build. `cargo clippy` would check every dependency and crate again.
    pub(crate) fn linting_cargo<const N: usize>(&self, args: [&str; N]) -> Command {
        let mut command = self.cargo(args);
        let driver = format!("clippy-driver{}", std::env::consts::EXE_SUFFIX);
        // Cargo finds the driver beside itself, too.
        let driver = Path::new(command.get_program()).with_file_name(driver);
        command.env("RUSTC_WORKSPACE_WRAPPER", driver);
        command.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
        command
    }
}

/// True if cargo sets this variable for a program, to describe the program's package.
fn is_about_package(name: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_", "CARGO_PRIMARY_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child;
    use std::collections::BTreeSet;

    /// With other features, `cargo xtask` would compile crates again that the tests have compiled.
    #[test]
    fn xtask_builds_every_crate_with_the_features_of_the_workspace() {
        let workspace = Workspace::find().unwrap();
        let listed = |which: &[&str]| -> BTreeSet<String> {
            let mut tree = workspace.cargo(["tree", "--prefix", "none", "--no-dedupe", "--locked"]);
            let printed = child::capture(tree.args(["--format", "{p} {f}"]).args(which)).unwrap();
            printed.lines().map(str::to_owned).collect()
        };
        let own = listed(&["--package", "xtask", "--edges", "normal,build"]);
        let all = listed(&["--workspace", "--edges", "normal,build,dev"]);
        let other: Vec<&String> = own.difference(&all).collect();
        assert!(other.is_empty(), "name the missing features in xtask/Cargo.toml: {other:#?}");
    }

    /// A build by `cargo xtask test` and a later one by `cargo xtask` itself have the same environment.
    #[test]
    fn cargo_is_not_told_of_our_own_package() {
        let command = Workspace::find().unwrap().cargo(["build"]);
        let removed: BTreeSet<_> =
            command.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        for name in ["CARGO_PKG_NAME", "CARGO_PKG_VERSION", "CARGO_MANIFEST_DIR"] {
            assert!(std::env::var_os(name).is_some(), "{name}");
            assert!(removed.contains(std::ffi::OsStr::new(name)), "{name}");
        }
    }
}
