//! The crates: packaged as a registry would get them, and each built from its package alone.
//!
//! Must not know what is in a package: `include` in each manifest decides.

use anyhow::Result;

use super::workshop::Workshop;
use crate::child;

/// The builds have a folder of their own: the profiles of the workspace are not in the packages, so that no build of
/// the workspace can be used.
const TARGET_DIR: &str = "target/packages";

pub(super) fn make(workshop: &mut Workshop<'_>) -> Result<Vec<String>> {
    // A run checks the files as they are, whether or not they are committed.
    let mut package = workshop.workspace.cargo([
        "package",
        "--workspace",
        "--allow-dirty",
        "--target-dir",
        TARGET_DIR,
    ]);
    package.args(["--exclude", "inkcell-testkit", "--exclude", "xtask"]);
    // Nothing of these builds is debugged.
    package.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    child::stream(&mut package)?;
    Ok(Vec::new())
}
