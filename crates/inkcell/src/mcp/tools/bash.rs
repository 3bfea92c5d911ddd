//! `bash`: one command in a shell, as the source documents have it (B:C-02).
//!
//! Owns its shape and its answer. The process is in `bash/command.rs`; output goes through the same sink, the same
//! artifacts and the same words as that of Python.

mod command;

use std::time::Duration;

use futures_util::FutureExt;
use inkcell_engine::EngineError;
use inkcell_engine::api::State;
use inkcell_engine::artifact::{ArtifactSession, ArtifactSpec, Artifacts};
use inkcell_engine::kernel::{EnvRules, check_cwd, child_environment};
use inkcell_engine::output::{
    Content as ArtifactRef, ModelOutput, OutputLimits, OutputSink, Spill, SpillFile,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::off_thread;
use super::details;
use super::portion::Portion;
use super::seconds::{Seconds, TimeLimit, Zero};
use super::session::{folder, profile};
use super::{
    Alias, CallContext, Content, Desk, Fault, Hints, Order, ToolError, ToolReply, ToolSpec, decode,
    lean,
};
use crate::settings::{engine_config, output_bytes};
use crate::words;
use command::{Command, CommandEnd, End};

pub(crate) static SPEC: ToolSpec = ToolSpec {
    name: "bash",
    description: include_str!("bash.md"),
    hints: Hints::changing("Run a shell command").in_open_world(),
    order: Order::None,
    schema: lean::schema::<Arguments>,
    call: |desk, given, context| call(desk, given, context).boxed(),
};

const ALIASES: [Alias; 1] = [("workdir", "cwd")];

/// How long a command may take when nothing is said, in seconds.
const USUAL: Duration = Duration::from_secs(30);
/// The longest time, in seconds.
const MOST: u16 = 600;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    command: String,
    /// Seconds, 1 to 600, default 30.
    timeout: Option<Seconds>,
    /// Working folder.
    cwd: Option<String>,
    max_bytes: Option<u64>,
    #[serde(default)]
    tail: bool,
}

async fn call(desk: &Desk, given: Value, context: CallContext) -> Result<ToolReply, ToolError> {
    let Arguments { command, timeout, cwd, max_bytes, tail } = decode(given, &ALIASES)?;
    let (room, is_given) = (Portion::of(max_bytes, tail)?.room(desk), max_bytes.is_some());
    let limited = match timeout {
        None => TimeLimit { limit: Some(USUAL), notice: None },
        Some(given) => given.within("timeout", 1, MOST, Zero::TooSmall),
    };
    let timeout = limited.limit.unwrap_or(USUAL);
    let cwd = folder(desk, cwd.as_deref());
    check_cwd(&cwd).map_err(EngineError::from)?;
    // Commands of an agent get no more of the environment than its code does.
    let python = desk.settings.python_in(profile(desk));
    let rules = EnvRules { mode: python.env_mode, pass: python.env_pass };
    let env = child_environment(&desk.settings.parent_env(), &rules, &Default::default());
    let kept = engine_config(&desk.settings, profile(desk)).output;
    let owner = ArtifactSession::new("bash", &[cwd.as_os_str().as_encoded_bytes()]);
    let spill = spill(desk.engine.artifacts().clone(), owner, command.clone());
    // The documents keep only the end (B:O-06), whether or not the caller asks for it.
    let max_bytes = output_bytes(room.max_bytes);
    let max_bytes = if is_given { max_bytes } else { max_bytes.min(kept.max_bytes) };
    let limits = OutputLimits { head_bytes: 0, ..kept }.with_max_bytes(max_bytes);
    let sink = OutputSink::new(limits, spill);
    let command = Command { text: command, cwd, env: env.vars, timeout, ladder: python.ladder };
    let ran = command.run(sink, context).await.map_err(|source| {
        let (path, what) = ("bash".to_owned(), "start it");
        EngineError::Io { path, what, source }
    })?;
    let desk = desk.clone();
    off_thread(move || answer(&desk, ran, limited.notice)).await
}

/// Stores output that does not fit into the answer.
fn spill(artifacts: Artifacts, session: ArtifactSession, title: String) -> Spill {
    Spill::new(move |content| {
        let kind = match content {
            ArtifactRef::Text => "text/plain",
            ArtifactRef::Form { mime } => mime,
        };
        let (session, title) = (session.clone(), title.clone());
        let spec = ArtifactSpec { session, kind: kind.to_owned(), title };
        let writer = artifacts.create(&spec)?;
        Ok(SpillFile { id: writer.id().to_string(), file: Box::new(writer) })
    })
}

fn answer(desk: &Desk, ran: CommandEnd, notice: Option<String>) -> ToolReply {
    let CommandEnd { sink, end, took, left } = ran;
    let output = sink.finish();
    let mut text = text(&output, &end);
    let left = left.then(|| words::call::LEFT_BEHIND.to_owned());
    for aside in notice.into_iter().chain(left) {
        text.push_str(&format!("\n\n[{aside}]"));
    }
    let mut content = vec![Content::Text(text)];
    content.extend(output.artifact.as_ref().map(|stored| Content::Link {
        uri: format!("artifact://{}", stored.id),
        name: "full output".to_owned(),
        mime: "text/plain".to_owned(),
        bytes: stored.bytes,
    }));
    let exit = match end {
        End::Exited(code) => Some(code),
        End::TimedOut(_) | End::Aborted => None,
    };
    let duration = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let is_error = exit != Some(0);
    let ended = match end {
        End::Exited(_) => State::Error,
        End::TimedOut(_) => State::TimedOut,
        End::Aborted => State::Cancelled,
    };
    let fault = is_error.then_some(Fault::Ended(ended));
    let mut details = json!({"exitCode": exit, "durationMs": duration, "isError": is_error});
    if let (true, Value::Object(details)) = (output.is_truncated, &mut details) {
        details::add_truncation(desk, &output, details);
    }
    ToolReply { content, is_error, fault, ..ToolReply::default() }.with_structured(details)
}

/// The words of B:X-06, B:X-07, B:X-08 and B:X-22.
fn text(output: &ModelOutput, end: &End) -> String {
    let note = match end {
        End::TimedOut(after) => {
            let seconds = after.as_secs_f64().round().max(1.0);
            Some(words::call::command_timed_out(seconds))
        }
        End::Exited(_) | End::Aborted => None,
    };
    let shown = output.block(note.as_deref()).trim().to_owned();
    match end {
        End::Exited(0) if shown.is_empty() => "(no output)".to_owned(),
        End::Exited(0) | End::TimedOut(_) => shown,
        End::Aborted if shown.is_empty() => words::reply::ABORTED.to_owned(),
        End::Aborted => shown,
        End::Exited(code) => {
            format!("{shown}\n\n{}", words::call::command_exited(*code)).trim_start().to_owned()
        }
    }
}

#[cfg(test)]
mod tests;
