//! `inkcell mcp`: the server, from its start to the end of its client.
//!
//! Owns when it ends: with its client, or by a signal, and never later than some seconds after either.

use std::sync::Arc;
use std::time::Duration;

use inkcell_engine::kernel::RunnerBackend;
use inkcell_engine::registry::OwnerId;
use inkcell_engine::{Engine, EngineError, Preflight};
use rmcp::ServiceExt as _;
use tokio_util::sync::CancellationToken;

use super::python;
use super::signals::Signals;
use crate::args::{Mcp, PythonArgs};
use crate::exit::{Exit, Failure};
use crate::exposure::{Exposure, ToolSet};
use crate::mcp::{Server, Watched};
use crate::output::Output;
use crate::settings::{Settings, engine_config, runner_config};
use crate::tools::Desk;

/// How long what runs may take to end once the client is gone.
const LAST_WORDS: Duration = Duration::from_secs(4);

/// The client at the other end of standard input.
const CLIENT: OwnerId = OwnerId(1);

pub(crate) fn run(
    args: &Mcp,
    settings: &Arc<Settings>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = built.map_err(|error| Failure::Io("cannot start the runtime", error))?;
    let done = runtime.block_on(serve(args, settings, output));
    // A read of standard input that nobody will answer must not keep us.
    runtime.shutdown_background();
    done
}

async fn serve(args: &Mcp, settings: &Arc<Settings>, output: &mut Output) -> Result<Exit, Failure> {
    let signals = Signals::listen()?;
    let desk = desk(args.tools.into(), settings).await?;
    if let Some(warning) = desk.exposure.warning() {
        output.aside(&format!("warning: {warning}"));
    }
    if args.inspect {
        return inspect(&desk, output);
    }
    let engine = desk.engine.clone();
    let gone = CancellationToken::new();
    let (stdin, stdout) = rmcp::transport::stdio();
    let transport = (Watched::new(stdin, gone.clone()), stdout);
    let mut serving = tokio::spawn(async move {
        // A client that never said who it is has nothing to be told.
        if let Ok(running) = Server::new(desk, CLIENT).serve(transport).await {
            drop(running.waiting().await);
        }
    });
    let is_over = tokio::select! {
        _ = &mut serving => true,
        () = gone.cancelled() => false,
        () = signals.asked(1) => false,
    };
    let ending = async {
        engine.shutdown().await;
        // What was under way is answered, if somebody still listens.
        if !is_over && signals.first().is_none() {
            let _ = serving.await;
        }
    };
    let _ = tokio::time::timeout(LAST_WORDS, ending).await;
    match signals.first() {
        Some(signal) => Err(Failure::Signal(signal)),
        None => Ok(Exit::Ok),
    }
}

/// What tools work on.
pub(super) async fn desk(set: ToolSet, settings: &Arc<Settings>) -> Result<Desk, Failure> {
    let profile = set.profile();
    python::only_the_runner(settings, profile)?;
    let backend =
        RunnerBackend::new(runner_config(settings, profile)).map_err(EngineError::from)?;
    let engine = Engine::new(engine_config(settings, profile), Arc::new(backend));
    let none = PythonArgs { cwd: None, python: None };
    let search = python::search(&none, settings, settings.cwd.clone());
    let finder = python::finder(settings);
    let preflight = Preflight::look(settings.check(profile), &finder, &search).await;
    let exposure = Exposure::new(set, settings.tool_mode(profile), &preflight);
    let (settings, cwd) = (Arc::clone(settings), settings.cwd.clone());
    Ok(Desk { engine, settings, exposure: Arc::new(exposure), cwd })
}

/// The tools as Markdown, for people.
fn inspect(desk: &Desk, output: &mut Output) -> Result<Exit, Failure> {
    for tool in crate::mcp::offered(&desk.exposure) {
        let schema = serde_json::to_string_pretty(&tool.input_schema).unwrap_or_default();
        let description = tool.description.unwrap_or_default();
        let text = format!("## {}\n\n{description}\n\n```json\n{schema}\n```\n", tool.name);
        text.lines().try_for_each(|line| output.line(line)).map_err(Failure::of_output)?;
    }
    Ok(Exit::Ok)
}
