//! The links that add the server to Cursor and VS Code with one click, made from what `inkcell setup` writes there.

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::sandbox::Sandbox;
use super::workshop::Workshop;
use crate::child;

/// How a client starts inkcell on a machine that has uv alone.
const COMMAND: &str = "uvx";
const ARGS: [&str; 2] = ["inkcell", "mcp"];

pub(super) fn make(workshop: &mut Workshop<'_>) -> Result<Vec<String>> {
    let binary = workshop.binary()?;
    let sandbox = Sandbox::new(&[])?;
    let entry = |client: &str, table: &str| -> Result<Value> {
        let said = child::capture(sandbox.command(&binary).args(["setup", client, "--json"]))?;
        let said: Value = serde_json::from_str(&said)?;
        let content = said["content"].as_str().context("setup shows the content of a file")?;
        let content: Value = serde_json::from_str(content)?;
        let mut entry = content[table]["inkcell"].clone();
        ensure!(entry.is_object(), "setup {client} has no entry in {table}: {content}");
        (entry["command"], entry["args"]) = (json!(COMMAND), json!(ARGS));
        Ok(entry)
    };
    let page = page(&entry("cursor", "mcpServers")?, &entry("vscode", "servers")?)?;
    let path = workshop.scratch("links")?.join("links.md");
    std::fs::write(&path, page)?;
    workshop.finish(&path)?;
    Ok(Vec::new())
}

/// The links as lines of a README.
fn page(cursor: &Value, vscode: &Value) -> Result<String> {
    let config = encoded(BASE64_STANDARD.encode(serde_json::to_string(cursor)?).as_bytes());
    let mut server = vscode.clone();
    server["name"] = json!("inkcell");
    let server = serde_json::to_string(&server)?;
    let asked = encoded(server.as_bytes());
    Ok(format!(
        "[Add to Cursor](cursor://anysphere.cursor-deeplink/mcp/install?name=inkcell&config={config})\n\
         [Add to VS Code](vscode:mcp/install?{asked})\n\n    code --add-mcp '{server}'\n"
    ))
}

/// A text as a part of an address.
fn encoded(text: &[u8]) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let character = |&byte: &u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.iter().map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> String {
        let mut parts = text.split('%');
        let mut bytes = parts.next().unwrap().as_bytes().to_vec();
        for part in parts {
            bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
            bytes.extend(&part.as_bytes()[2..]);
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn links_hold_the_entries_of_setup() {
        let entry = json!({"type": "stdio", "command": COMMAND, "args": ARGS});
        let page = page(&entry, &entry).unwrap();
        let part = |from: &str| page.split(from).nth(1).unwrap().split(')').next().unwrap();
        let cursor = BASE64_STANDARD.decode(decoded(part("config="))).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&cursor).unwrap(), entry);
        let vscode: Value = serde_json::from_str(&decoded(part("vscode:mcp/install?"))).unwrap();
        assert_eq!((&vscode["name"], &vscode["args"]), (&json!("inkcell"), &json!(ARGS)));
    }
}
