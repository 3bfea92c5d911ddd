//! The container image with the MCP server.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::sandbox::Sandbox;
use super::server::list_tools;
use super::workshop::{Workshop, copy_into};
use crate::child;

const FILE: &str = "packaging/Dockerfile";
const IMAGE: &str = "inkcell-try";

/// Builds the image where a daemon runs. Elsewhere, runs its installation in an environment.
pub(super) fn make(workshop: &mut Workshop<'_>) -> Result<Vec<String>> {
    let wheel = workshop.wheel()?;
    let folder = workshop.scratch("docker")?;
    copy_into(&wheel, &folder)?;
    let file = copy_into(&workshop.workspace.path(FILE), &folder)?;
    let docker = |args: &[&str]| {
        let mut docker = Command::new("docker");
        docker.args(args).current_dir(&folder);
        docker
    };
    if child::succeeds(&mut docker(&["info"])) {
        child::stream(&mut docker(&["build", "--tag", IMAGE, "."]))?;
        list_tools(&mut docker(&["run", "-i", "--rm", IMAGE]))?;
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&file)?;
    let install = text.lines().find_map(|line| line.strip_prefix("RUN pip "));
    let install = install.context("the image installs with pip")?;
    let place = folder.to_string_lossy();
    let install = install.replace("/tmp/wheels", &place);
    let install = install.split(" && ").next().unwrap_or(&install);
    let sandbox = Sandbox::new(&[])?;
    child::stream(&mut sandbox.shell(&format!("{} -m venv ~/env", sandbox.python.display())))?;
    child::stream(&mut sandbox.shell(&format!("~/env/bin/python -m pip -q {install}")))?;
    let start = text.lines().find_map(|line| line.strip_prefix("ENTRYPOINT "));
    ensure!(start == Some("[\"inkcell\"]"), "the image starts {start:?}");
    list_tools(sandbox.command(sandbox.home().join("env/bin/inkcell")).arg("mcp"))?;
    Ok(vec!["no Docker daemon: the image is NOT built, only its installation is tried".to_owned()])
}
