//! The source package for PyPI, from which pip compiles where there is no wheel.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use super::wheel::maturin;
use super::workshop::Workshop;
use crate::child;

/// Makes it, and checks that cargo builds it from the versions of our lock file.
pub(super) fn make(workshop: &mut Workshop<'_>) -> Result<Vec<String>> {
    let folder = workshop.scratch("sdist")?;
    let mut sdist = maturin(workshop.workspace)?;
    child::stream_to_stdout(sdist.args(["sdist", "--out"]).arg(&folder))?;
    let name = format!("inkcell-{}", workshop.product.version);
    let file = folder.join(format!("{name}.tar.gz"));
    workshop.pack(["untar".as_ref(), file.as_path(), &folder])?;
    let unpacked = folder.join(&name);
    ensure!(unpacked.join("PKG-INFO").is_file(), "{name} has no PKG-INFO");
    let lock =
        || std::fs::read_to_string(unpacked.join("Cargo.lock")).context("it has a lock file");
    let before = lock()?;
    // Not with --locked: xtask is not in the package, and cargo leaves its dependencies out of the lock file.
    let mut metadata = workshop.workspace.cargo(["metadata", "--format-version", "1"]);
    let metadata = child::capture(metadata.current_dir(&unpacked))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let root = metadata["workspace_root"].as_str().context("cargo says where it is")?;
    ensure!(Path::new(root) == unpacked.canonicalize()?, "cargo looked at {root}");
    let (before, after) = (pins(&before), pins(&lock()?));
    let new: Vec<&String> = after.difference(&before).collect();
    ensure!(new.is_empty(), "cargo chose versions that the lock file does not have: {new:?}");
    println!("cargo builds it from {} pinned packages", after.len());
    workshop.finish(&file)?;
    Ok(Vec::new())
}

/// The names and versions in a lock file.
fn pins(lock: &str) -> BTreeSet<String> {
    let lines: Vec<&str> = lock.lines().collect();
    let pair = |pair: &[&str]| {
        let value = |line: &str, key: &str| {
            line.strip_prefix(key).map(|it| it.trim_matches('"').to_owned())
        };
        Some(format!("{} {}", value(pair[0], "name = ")?, value(pair[1], "version = ")?))
    };
    lines.windows(2).filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_names_with_versions() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\ndependencies = [\n \"b\",\n]\n";
        assert_eq!(pins(lock), BTreeSet::from(["a 1.0.0".to_owned()]));
    }
}
