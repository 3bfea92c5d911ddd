//! The GitHub Action and the workflows: checked against their published schemas, and the steps of the action run.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::plugin::with_wheel_alone;
use super::sandbox::Sandbox;
use super::trial;
use super::workshop::Workshop;
use crate::child;

pub(super) fn make(workshop: &mut Workshop<'_>) -> Result<Vec<String>> {
    let workspace = workshop.workspace;
    let mut workflows = Vec::new();
    for entry in fs::read_dir(workspace.path(".github/workflows"))? {
        workflows.push(entry?.path());
    }
    let mut check = workshop.tool("check-jsonschema")?;
    check.args(["--builtin-schema", "vendor.github-workflows"]).args(&workflows);
    child::stream(&mut check)?;
    let mut check = workshop.tool("check-jsonschema")?;
    check.args(["--builtin-schema", "vendor.github-actions"]).arg(workspace.path("action.yml"));
    child::stream(&mut check)?;

    let wheel = workshop.wheel()?;
    let action = workshop.pack(["yaml".as_ref(), workspace.path("action.yml").as_path()])?;
    let action: Value = serde_json::from_str(&action)?;
    let uv = workshop.uv("uv")?;
    let sandbox = Sandbox::new(&[uv.parent().unwrap_or(Path::new("/"))])?;
    trial::put_report(&sandbox.folder().join("report.ipynb"))?;
    let path = sandbox.home().join("github-path");
    fs::write(&path, "")?;
    let mut untried = vec!["macOS runners are NOT tried here".to_owned()];
    for step in action["runs"]["steps"].as_array().context("the action has steps")? {
        let Some(script) = step["run"].as_str() else {
            let uses = step["uses"].as_str().unwrap_or_default();
            untried.push(format!("the step of the action with {uses} is NOT run"));
            continue;
        };
        // What a step adds to this file is on PATH in the next.
        let added = fs::read_to_string(&path)?;
        let prefix = added.lines().map(|line| format!("PATH={line}:$PATH\n")).collect::<String>();
        let mut run = with_wheel_alone(sandbox.shell(&format!("{prefix}{script}")), &wheel);
        run.env("GITHUB_PATH", &path).env("CI", "true");
        for (name, value) in step["env"].as_object().into_iter().flatten() {
            run.env(name, input(&action, value.as_str().unwrap_or_default())?);
        }
        child::stream(&mut run)?;
    }
    ensure!(!fs::read_to_string(&path)?.is_empty(), "no step told where inkcell is");
    Ok(untried)
}

/// The value of `${{ inputs.NAME }}`: a notebook that runs, and the defaults.
fn input(action: &Value, expression: &str) -> Result<String> {
    let name = expression.strip_prefix("${{ inputs.").and_then(|it| it.strip_suffix(" }}"));
    let name = name.with_context(|| format!("{expression} is not an input"))?;
    Ok(match name {
        "paths" => "*.ipynb".to_owned(),
        "command" => "run --quiet".to_owned(),
        name => action["inputs"][name]["default"].as_str().unwrap_or_default().to_owned(),
    })
}
