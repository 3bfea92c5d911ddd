//! The mirror for pre-commit: a repository of its own that depends on the wheel, so that nothing is compiled.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use super::sandbox::Sandbox;
use super::trial;
use super::workshop::{Workshop, copy_into};
use crate::child;

const FOLDER: &str = "packaging/pre-commit";
const FILES: [&str; 3] = [".pre-commit-hooks.yaml", "README.md", "pyproject.toml"];

/// Makes the mirror as a git repository, and tries its hooks on a notebook in another.
pub(super) fn make(workshop: &mut Workshop<'_>) -> Result<Vec<String>> {
    let wheel = workshop.wheel()?;
    let scratch = workshop.scratch("pre-commit")?;
    let mirror = scratch.join("inkcell-pre-commit");
    copy_into(&workshop.workspace.path("LICENSE"), &mirror)?;
    for name in FILES {
        fs::write(mirror.join(name), workshop.template(&format!("{FOLDER}/{name}"))?)?;
    }
    commit(&mirror)?;
    let user = scratch.join("user");
    let notebook = user.join("report.ipynb");
    trial::put_report(&notebook)?;
    commit(&user)?;

    let sandbox = Sandbox::new(&[])?;
    let program = workshop.binary()?;
    let inkcell = |args: &[&str]| {
        let mut command = Command::new(&program);
        command.args(args).arg("report.ipynb").current_dir(&user).env("CI", "true");
        command.env("INKCELL_STATE_DIR", sandbox.home().join("state"));
        command.env("INKCELL_PYTHON_INTERPRETER", &sandbox.python);
        command
    };
    // pip fetches the build tool of the mirror, so the variables of this machine's registries stay.
    let hook = |id: &str| -> Result<std::process::Output> {
        let mut hook = workshop.tool("pre-commit")?;
        hook.args(["try-repo"]).arg(&mirror).args([id, "--files", "report.ipynb", "--verbose"]);
        hook.current_dir(&user).env("PRE_COMMIT_HOME", scratch.join("cache")).env("CI", "true");
        let mut links = wheel.parent().unwrap_or(Path::new(".")).as_os_str().to_owned();
        if let Some(own) = std::env::var_os("PIP_FIND_LINKS") {
            links.push(" ");
            links.push(own);
        }
        hook.env("PIP_FIND_LINKS", links);
        hook.env("INKCELL_STATE_DIR", sandbox.home().join("state"));
        hook.env("INKCELL_PYTHON_INTERPRETER", &sandbox.python);
        Ok(hook.output()?)
    };
    // What a hook that fails says, and nothing for one that passes.
    let expect = |id: &str, failure: Option<&str>| -> Result<()> {
        let ran = hook(id)?;
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        let errors = String::from_utf8_lossy(&ran.stderr);
        let is_right = match failure {
            Some(words) => ran.status.code() == Some(1) && said.contains(words),
            None => ran.status.success(),
        };
        ensure!(is_right, "{id} ended with {}: {said}{errors}", ran.status);
        println!("{id}: {}", failure.map_or("passed", |_| "failed, as it must"));
        Ok(())
    };
    expect("inkcell-stale", Some("never run"))?;
    child::stream(&mut inkcell(&["run", "--quiet"]))?;
    expect("inkcell-stale", None)?;
    expect("inkcell-verify", None)?;
    // pre-commit reports that it changed the file.
    expect("inkcell-clean", Some("files were modified by this hook"))?;
    ensure!(!fs::read_to_string(&notebook)?.contains("\"output_type\""), "outputs are still there");
    expect("inkcell-clean", None)?;
    Ok(Vec::new())
}

/// Makes a git repository of a folder, with one commit of its files.
pub(super) fn commit(folder: &Path) -> Result<()> {
    for args in [
        &["init", "--quiet"][..],
        &["add", "."],
        &[
            "-c",
            "user.name=inkcell",
            "-c",
            "user.email=inkcell@localhost",
            "commit",
            "-qm",
            "first",
        ],
    ] {
        let mut git = Command::new("git");
        git.args(args).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null");
        git.env_remove("GIT_DIR").env_remove("GIT_INDEX_FILE").env_remove("GIT_WORK_TREE");
        child::stream(&mut git)?;
    }
    Ok(())
}
