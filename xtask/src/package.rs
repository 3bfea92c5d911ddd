//! Packages the crates as a registry would get them, and builds each from its package alone.
//!
//! Must not know what is in a package: `include` in each manifest decides.

use anyhow::Result;

use crate::child;
use crate::workspace::Workspace;

/// The builds have a folder of their own: the profiles of the workspace are not in the packages, so that no build of
/// the workspace can be used.
const TARGET_DIR: &str = "target/packages";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    // A run checks the files as they are, whether or not they are committed.
    let mut package =
        workspace.cargo(["package", "--workspace", "--allow-dirty", "--target-dir", TARGET_DIR]);
    package.args(["--exclude", "inkcell-testkit", "--exclude", "xtask"]);
    // Nothing of these builds is debugged.
    package.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    child::stream(&mut package)
}
