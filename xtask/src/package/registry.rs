//! The entry for the MCP registry: `server.json`, with the owner filled in.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::workshop::Workshop;

/// The most characters that the registry takes.
const DESCRIPTION: usize = 100;

pub(super) fn make(workshop: &mut Workshop<'_>) -> Result<Vec<String>> {
    let entry = workshop.json("server.json")?;
    check(&entry)?;
    let path = workshop.scratch("registry")?.join("server.json");
    fs::write(&path, workshop.template("server.json")?)?;
    workshop.finish(&path)?;
    Ok(Vec::new())
}

/// Checks what the registry checks: names, lengths, and what each package must say.
fn check(entry: &Value) -> Result<()> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = text(&entry["name"]);
    ensure!(name.starts_with("io.github.") && name.ends_with("/inkcell"), "the name is {name}");
    let length = text(&entry["description"]).chars().count();
    ensure!((1..=DESCRIPTION).contains(&length), "the description has {length} characters");
    let packages = entry["packages"].as_array().cloned().unwrap_or_default();
    ensure!(!packages.is_empty(), "there is no package");
    for package in &packages {
        ensure!(package["version"] == entry["version"], "a package has another version");
        ensure!(package["transport"]["type"] == "stdio", "a package is not started over stdio");
        let hint = match text(&package["registryType"]).as_str() {
            "pypi" => "uvx",
            "npm" => "npx",
            other => anyhow::bail!("{other} is not where inkcell is published"),
        };
        ensure!(package["runtimeHint"] == hint, "{hint} starts that package");
        ensure!(package["packageArguments"][0]["value"] == "mcp", "the argument mcp is missing");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Value {
        serde_json::from_str(include_str!("../../../server.json")).unwrap()
    }

    #[test]
    fn the_entry_keeps_to_the_rules_of_the_registry() {
        check(&entry()).unwrap();
        let breaks: [fn(&mut Value); 4] = [
            |entry| entry["description"] = "x".repeat(101).into(),
            |entry| entry["packages"][0]["version"] = "latest".into(),
            |entry| entry["packages"][1]["runtimeHint"] = "uvx".into(),
            |entry| entry["packages"] = Value::Null,
        ];
        for break_it in breaks {
            let mut entry = entry();
            break_it(&mut entry);
            assert!(check(&entry).is_err(), "{entry}");
        }
    }
}
