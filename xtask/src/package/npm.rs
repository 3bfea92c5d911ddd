//! The npm packages: a launcher, and one package with the binary for each platform.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::sandbox::Sandbox;
use super::server::list_tools;
use super::workshop::{Workshop, copy_into};
use crate::child;

const FOLDER: &str = "packaging/npm";

/// Packs the launcher and the package of this platform, installs both without a network, and starts them.
pub(super) fn make(workshop: &mut Workshop<'_>) -> Result<Vec<String>> {
    let Some(npm) = child::on_path("npm") else {
        return Ok(vec!["npm is not here: the npm packages are NOT made".to_owned()]);
    };
    let binary = workshop.binary()?;
    let scratch = workshop.scratch("npm")?;
    let version = workshop.product.version.clone();
    let repository =
        json!({"type": "git", "url": format!("git+{}.git", workshop.product.repository)});
    let launcher = scratch.join("launcher");
    copy_into(&workshop.workspace.path("packaging/npm/inkcell.js"), &launcher)?;
    let mut manifest = workshop.json(&format!("{FOLDER}/package.json"))?;
    manifest["repository"] = repository.clone();
    write_json(&launcher.join("package.json"), &manifest)?;

    let platform = scratch.join("platform");
    let (system, processor) = (workshop.platform.system, workshop.platform.processor);
    copy_into(&binary, &platform.join("bin"))?;
    let manifest = json!({
        "name": format!("@inkcell/{system}-{processor}"),
        "version": version,
        "description": format!("The binary of inkcell for {system} on {processor}"),
        "license": "MIT",
        "repository": repository,
        "files": ["bin"],
        "os": [system],
        "cpu": [processor],
        "publishConfig": {"access": "public"},
    });
    write_json(&platform.join("package.json"), &manifest)?;

    let mut packed = Vec::new();
    for folder in [&launcher, &platform] {
        copy_into(&workshop.workspace.path("LICENSE"), folder)?;
        copy_into(&workshop.workspace.path("README.md"), folder)?;
        let mut pack = quiet(Command::new(&npm));
        let name = child::capture(pack.args(["pack", "--silent"]).current_dir(folder))?;
        packed.push(folder.join(name.trim()));
    }
    let sandbox = Sandbox::new(&[npm.parent().unwrap_or(Path::new("/"))])?;
    fs::write(sandbox.folder().join("package.json"), "{}")?;
    let mut install = quiet(sandbox.command(&npm));
    install.args(["install", "--offline", "--no-audit", "--no-fund"]).args(&packed);
    child::stream(&mut install)?;
    let npx = |args: &[&str]| {
        let mut command = quiet(sandbox.command(npm.with_file_name("npx")));
        command.args(["--no-install", "inkcell"]).args(args);
        command
    };
    sandbox.expect_version(&mut npx(&["--version"]), &version)?;
    list_tools(&mut npx(&["mcp"]))?;
    // The launcher passes the exit code on.
    let code = npx(&["read", "absent.ipynb"]).output()?.status.code();
    anyhow::ensure!(code == Some(5), "a missing file exits with {code:?}");
    packed.iter().try_for_each(|file: &PathBuf| workshop.finish(file).map(drop))?;
    Ok(Vec::new())
}

/// npm looks for a newer npm otherwise.
fn quiet(mut npm: Command) -> Command {
    npm.env("npm_config_update_notifier", "false").env("NO_UPDATE_NOTIFIER", "1");
    npm
}

fn write_json(path: &Path, value: &serde_json::Value) -> Result<()> {
    let text = serde_json::to_string_pretty(value)? + "\n";
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
