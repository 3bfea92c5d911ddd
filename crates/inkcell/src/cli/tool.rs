//! `inkcell tool`: any tool of any profile, called once from a shell.
//!
//! Owns how a reply is shown, and the exit code. The tools are in `mcp/tools`; a tool gets the same desk as in the
//! server, for one call.

use std::path::Path;
use std::sync::Arc;

use inkcell_engine::Kind;
use inkcell_engine::artifact::Scope;
use inkcell_engine::notebook::nearest;
use inkcell_engine::registry::OwnerId;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::input;
use super::signals::Signals;
use crate::app;
use crate::args::Tool;
use crate::exit::{Exit, Failure};
use crate::mcp::desk::{
    CallContext, Content, Desk, Fault, ToolError, ToolReply, ToolSpec, guarded,
};
use crate::mcp::exposure::{Exposure, ToolSet};
use crate::mcp::find;
use crate::mcp::{answer, clean, of_tool, offered};
use crate::output::Output;
use crate::settings::Settings;
use crate::words;

/// The only caller of this engine.
const OWNER: OwnerId = OwnerId(0);

/// How many names are tried for an image file.
const MOST_NAMES: usize = 1000;

pub(crate) fn run(
    args: &Tool,
    settings: &Arc<Settings>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let set: ToolSet = args.tools.into();
    let exposure = Exposure::for_one_call(set);
    let Some(name) = &args.name else { return list(&exposure, output) };
    let spec = spec(name, &exposure)?;
    if args.list {
        return show(spec, &exposure, output);
    }
    let arguments = arguments(args.arguments.as_deref())?;
    super::runtime()?.block_on(call(
        spec,
        arguments,
        args.images.as_deref(),
        exposure,
        settings,
        output,
    ))
}

/// The tool of this name.
fn spec(name: &str, exposure: &Exposure) -> Result<&'static ToolSpec, Failure> {
    if let Some(spec) = find(name).filter(|spec| exposure.offers(spec.name)) {
        return Ok(spec);
    }
    let names: Vec<&str> =
        exposure.tools.iter().copied().filter(|name| find(name).is_some()).collect();
    let near = nearest(names.iter().copied(), name);
    let near = near.map(|at| format!("; did you mean {}?", names[at])).unwrap_or_default();
    Err(Failure::new(
        Kind::Invalid,
        words::tool::not_found(name, &near),
        Some(words::tool::LIST_SHOWS.to_owned()),
    ))
}

fn arguments(given: Option<&str>) -> Result<Value, Failure> {
    let text = match given {
        None => return Ok(Value::Null),
        Some("-") => input::stdin_text()?,
        Some(text) => text.to_owned(),
    };
    serde_json::from_str(&text).map_err(|error| {
        Failure::new(
            Kind::Invalid,
            words::tool::not_json(&error),
            Some(words::tool::WRITE_OBJECT.to_owned()),
        )
    })
}

/// All tools, one line each.
fn list(exposure: &Exposure, output: &mut Output) -> Result<Exit, Failure> {
    let tools = offered(exposure);
    let shown = if output.is_json() {
        output.json(&json!({"tools": tools}))
    } else {
        let width = tools.iter().map(|tool| tool.name.len()).max().unwrap_or(0);
        tools.iter().try_for_each(|tool| {
            let about = tool.description.as_deref().unwrap_or_default();
            let about = about.split_inclusive(['.', ':']).next().unwrap_or_default();
            output.line(&format!("{:width$}  {}", tool.name, about.trim_end_matches(['.', ':'])))
        })
    };
    shown.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

/// One tool with its arguments.
fn show(spec: &ToolSpec, exposure: &Exposure, output: &mut Output) -> Result<Exit, Failure> {
    let tools = offered(exposure);
    for tool in tools.iter().filter(|tool| tool.name == spec.name) {
        let shown = if output.is_json() {
            output.json(&json!(tool))
        } else {
            of_tool(tool).lines().try_for_each(|line| output.line(line))
        };
        shown.map_err(Failure::of_output)?;
    }
    Ok(Exit::Ok)
}

async fn call(
    spec: &'static ToolSpec,
    arguments: Value,
    images: Option<&Path>,
    exposure: Exposure,
    settings: &Arc<Settings>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let signals = Signals::listen()?;
    let desk = app::desk(exposure, settings)?;
    let cancel = CancellationToken::new();
    let context = CallContext::new(OWNER, cancel.clone());
    let answered = guarded(spec, desk.clone(), arguments, context);
    let give_up = async {
        signals.asked(1).await;
        cancel.cancel();
        signals.asked(2).await;
    };
    let answered = tokio::select! {
        answered = answered => Some(answered),
        () = give_up => None,
    };
    let goes_on = desk.engine.sessions().iter().any(|listed| listed.state.running.is_some());
    let shown = match answered {
        Some(answered) => show_reply(answered, images, &desk, output),
        None => Ok(Exit::Failed),
    };
    // Leave no kernel behind, whatever happens to the answer.
    desk.engine.shutdown().await;
    if let Some(signal) = signals.first() {
        output.flush().map_err(Failure::of_output)?;
        return Err(Failure::Signal(signal));
    }
    if goes_on {
        output.aside(words::tool::STOPPED_WITH_COMMAND);
    }
    shown
}

fn show_reply(
    answered: Result<ToolReply, ToolError>,
    images: Option<&Path>,
    desk: &Desk,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let reply = match answered {
        Ok(reply) => reply,
        Err(error) if output.is_json() => error.into_reply(),
        Err(ToolError { kind, message, next }) => {
            return Err(Failure::new(kind, message, next));
        }
    };
    let exit = match reply.fault {
        Some(Fault::Kind(kind)) => Exit::of_kind(kind),
        Some(Fault::Ended(state)) => Exit::of_state(state),
        None if reply.is_error => Exit::Failed,
        None => Exit::Ok,
    };
    // The reader of a tool's answer gets the same text as a client of the server.
    let reply = clean(reply);
    if output.is_json() {
        let whole = whole(reply, images)?;
        output.json(&whole).map_err(Failure::of_output)?;
    } else {
        text(&reply, images, desk, output)?;
    }
    Ok(exit)
}

/// A reply as text.
fn text(
    reply: &ToolReply,
    images: Option<&Path>,
    desk: &Desk,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut shown = 0;
    for part in &reply.content {
        match part {
            Content::Text(text) => {
                let end = if text.ends_with('\n') { "" } else { "\n" };
                let text = format!("{text}{end}");
                output.raw(text.as_bytes()).map_err(Failure::of_output)?;
            }
            Content::Image { mime, data } => {
                if let Some(folder) = images {
                    shown += 1;
                    let path = write_image(folder, shown, mime, data)?;
                    output.line(&format!("[image written: {path}]")).map_err(Failure::of_output)?;
                }
            }
            Content::Link { uri, mime, .. } if images.is_none() && mime.starts_with("image/") => {
                let found = desk.engine.artifacts().find_reference(uri, Scope::All);
                if let Ok(found) = found {
                    let path = found.info().path.display().to_string();
                    output.line(&format!("[image file: {path}]")).map_err(Failure::of_output)?;
                }
            }
            // The text names the stored artifact.
            Content::Link { .. } => {}
        }
    }
    Ok(())
}

/// A reply in the form of the protocol.
fn whole(mut reply: ToolReply, images: Option<&Path>) -> Result<Value, Failure> {
    let mut written = Vec::new();
    if let Some(folder) = images {
        for part in &mut reply.content {
            let Content::Image { mime, data } = part else { continue };
            written.push(write_image(folder, written.len() + 1, mime, data)?);
            // The data is in a file and need not be sent as well.
            *data = bytes::Bytes::new();
        }
    }
    let mut whole = json!(answer(reply));
    // Only a client of the protocol needs its version.
    if let Value::Object(fields) = &mut whole {
        fields.remove("resultType");
    }
    let blocks = whole["content"].as_array_mut().into_iter().flatten();
    let blocks = blocks.filter(|block| block["type"] == "image");
    for (block, path) in blocks.zip(written) {
        if let Value::Object(block) = block {
            block.remove("data");
            block.insert("path".to_owned(), path.into());
        }
    }
    Ok(whole)
}

/// Writes an image under an unused name; an existing file is never replaced.
fn write_image(folder: &Path, number: usize, mime: &str, data: &[u8]) -> Result<String, Failure> {
    let kind = mime.strip_prefix("image/").unwrap_or("bin");
    let kind = kind.split(['+', ';']).next().unwrap_or("bin");
    let failed = |error| Failure::Io(words::failure::WRITE_IMAGE, error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    for attempt in 0..MOST_NAMES {
        let more = if attempt == 0 { String::new() } else { format!("-{attempt}") };
        let path = folder.join(format!("image-{number}{more}.{kind}"));
        match std::fs::File::create_new(&path) {
            Ok(mut file) => {
                std::io::Write::write_all(&mut file, data).map_err(failed)?;
                return Ok(path.display().to_string());
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(Failure::argument("--images", words::tool::FULL_OF_IMAGES))
}
