//! The plugin for Claude Code and the marketplace that lists it. Both are used from the repository itself.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::sandbox::Sandbox;
use super::server::list_tools;
use super::workshop::Workshop;

const MARKETPLACE: &str = ".claude-plugin/marketplace.json";

/// Follows the marketplace to the plugin, reads its skills, and starts its server with the wheel.
pub(super) fn make(workshop: &mut Workshop<'_>) -> Result<Vec<String>> {
    let wheel = workshop.wheel()?;
    let marketplace = workshop.json(MARKETPLACE)?;
    let source = marketplace["plugins"][0]["source"].as_str().context("the plugin has a source")?;
    let folder = source.strip_prefix("./").context("the source is a folder of the repository")?;
    let plugin = workshop.json(&format!("{folder}/.claude-plugin/plugin.json"))?;
    ensure!(plugin["name"] == marketplace["plugins"][0]["name"], "the names differ");
    for skill in std::fs::read_dir(workshop.workspace.path(folder).join("skills"))? {
        check_skill(&skill?.path())?;
    }
    let server = &plugin["mcpServers"]["inkcell"];
    let command = server["command"].as_str().context("the server has a command")?;
    let args = server["args"].as_array().context("the server has arguments")?;
    let uv = workshop.uv("uvx")?;
    ensure!(command == "uvx", "the plugin starts {command}, which is not tried here");
    let sandbox = Sandbox::new(&[uv.parent().unwrap_or(Path::new("/"))])?;
    let mut start = with_wheel_alone(sandbox.command(command), &wheel);
    list_tools(start.args(args.iter().filter_map(Value::as_str)))?;
    Ok(Vec::new())
}

/// Lets uv find this wheel and nothing else.
pub(super) fn with_wheel_alone(
    mut uv: std::process::Command,
    wheel: &Path,
) -> std::process::Command {
    let folder = wheel.parent().unwrap_or(Path::new("."));
    uv.env("UV_FIND_LINKS", folder).env("UV_NO_INDEX", "1").env("UV_OFFLINE", "1");
    uv.env("UV_PYTHON_DOWNLOADS", "never");
    uv
}

/// A skill has a name, which is its folder's, and a description, which says when to use it.
fn check_skill(folder: &Path) -> Result<()> {
    let text = std::fs::read_to_string(folder.join("SKILL.md"))?;
    let head = text.strip_prefix("---\n").and_then(|text| text.split_once("\n---\n"));
    let (head, _) = head.context("a skill begins with its name and description")?;
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    ensure!(field("name:") == Some(name.as_str()), "the skill in {name} has another name");
    let about = field("description:").unwrap_or_default();
    ensure!((20..=1024).contains(&about.len()), "{name}: a description of {} bytes", about.len());
    println!("skill {name}: {about}");
    Ok(())
}
