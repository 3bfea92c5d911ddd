//! A client of the MCP server, for one question: does this command line start it?

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

/// Starts the server, asks for its tools, and ends it. Returns the names of the tools.
pub(crate) fn list_tools(command: &mut Command) -> Result<Vec<String>> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let mut stdin = child.stdin.take().context("a pipe")?;
    let mut lines = BufReader::new(child.stdout.take().context("a pipe")?).lines();
    let hello = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "package", "version": "1"},
    });
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ] {
        writeln!(stdin, "{message}").context("the server does not read")?;
    }
    let answer = loop {
        let Some(line) = lines.next() else { bail!("the server ended without an answer") };
        let message: Value = serde_json::from_str(&line?).context("the server wrote no JSON")?;
        if message["id"] == 2 {
            break message;
        }
    };
    drop(stdin);
    ensure!(child.wait()?.success(), "the server failed at its end");
    let tools = answer["result"]["tools"].as_array().context("no tools in the answer")?;
    let names: Vec<String> =
        tools.iter().filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect();
    ensure!(
        names.iter().any(|name| name == "notebook_edit"),
        "notebook_edit is not among {names:?}"
    );
    println!("the server offers {}", names.join(", "));
    Ok(names)
}
