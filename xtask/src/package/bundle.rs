//! The bundle for Claude Desktop: a zip with a manifest and the binary, one for each platform.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::sandbox::Sandbox;
use super::server::list_tools;
use super::workshop::{Workshop, copy_into};

/// Makes it, unpacks it, and starts the server as the manifest says.
pub(super) fn make(workshop: &mut Workshop<'_>) -> Result<Vec<String>> {
    let binary = workshop.binary()?;
    let scratch = workshop.scratch("bundle")?;
    let folder = scratch.join("bundle");
    copy_into(&binary, &folder.join("server"))?;
    copy_into(&workshop.workspace.path("LICENSE"), &folder)?;
    let mut manifest = workshop.json("packaging/mcpb/manifest.json")?;
    manifest["repository"] = json!({"type": "git", "url": workshop.product.repository});
    manifest["compatibility"] = json!({"platforms": [workshop.platform.system]});
    fs::write(folder.join("manifest.json"), serde_json::to_string_pretty(&manifest)?)?;
    let name = format!("inkcell-{}-{}.mcpb", workshop.product.version, workshop.platform.triple);
    let bundle = scratch.join(name);
    workshop.pack(["zip".as_ref(), bundle.as_path(), &folder])?;

    let sandbox = Sandbox::new(&[])?;
    let place = sandbox.home().join("extensions/inkcell");
    workshop.pack(["unzip".as_ref(), bundle.as_path(), &place])?;
    let manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(place.join("manifest.json"))?)?;
    let start = &manifest["server"]["mcp_config"];
    let fill = |text: &str| text.replace("${__dirname}", &place.to_string_lossy());
    let command = start["command"].as_str().context("the manifest names a command")?;
    let args = start["args"].as_array().context("the manifest has arguments")?;
    let args = args.iter().filter_map(|arg| arg.as_str()).map(fill);
    let mut server: Command = sandbox.command(fill(command));
    list_tools(server.args(args))?;
    workshop.finish(&bundle)?;
    Ok(Vec::new())
}
