//! `inkcell mcp`: the server, from its start to the end of its client.
//!
//! Owns when it ends: with its client, or by a signal, and never later than some seconds after either. Clients that
//! come over HTTP are in `http`.

mod http;
mod keep;

use std::sync::Arc;
use std::time::Duration;

use inkcell_engine::kernel::return_large_blocks;
use inkcell_engine::registry::OwnerId;
use rmcp::ServiceExt as _;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::signals::Signals;
use crate::app::{desk, exposure};
use crate::args::{Mcp, ToolsArg};
use crate::exit::{Exit, Failure};
use crate::host::{Host, HostKind, HostPlace, Hosts, Life, listen};
use crate::log;
use crate::mcp::desk::Turns;
use crate::mcp::exposure::{Exposure, ToolSet};
use crate::mcp::{
    Calls, Lines, PipeWatch, Server, TransferCount, on_hang_up, standard_input, standard_output,
};
use crate::output::Output;
use crate::settings::Settings;
use crate::words;

/// The time limit for calls under way once the input has ended: a client that writes some requests and then reads
/// the answers is not gone yet.
const LAST_CALLS: Duration = Duration::from_secs(1);

/// The time limit for running code to end after that.
const LAST_WORDS: Duration = Duration::from_millis(3500);

/// The client at the other end of standard input.
const CLIENT: OwnerId = OwnerId(1);

impl From<ToolsArg> for ToolSet {
    fn from(given: ToolsArg) -> ToolSet {
        match given {
            ToolsArg::Default => ToolSet::Default,
            ToolsArg::Compat => ToolSet::Compat,
            ToolsArg::All => ToolSet::All,
        }
    }
}

pub(crate) fn run(
    args: &Mcp,
    settings: &Arc<Settings>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if args.keep {
        return keep::serve(args, settings);
    }
    return_large_blocks();
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = built.map_err(|error| Failure::Io(words::failure::START_RUNTIME, error))?;
    let done = runtime.block_on(serve(args, settings, output));
    // A blocked read of standard input must not keep the process alive.
    runtime.shutdown_background();
    done
}

async fn serve(args: &Mcp, settings: &Arc<Settings>, output: &mut Output) -> Result<Exit, Failure> {
    let signals = Signals::listen()?;
    let exposure = exposure(args.tools.into(), settings).await;
    let warning = exposure.warning();
    if args.inspect {
        warning.iter().for_each(|warning| output.aside(&format!("warning: {warning}")));
        return inspect(&exposure, output);
    }
    if let Some(warning) = warning {
        tracing::warn!("{warning}");
    }
    let (version, tools) = (env!("CARGO_PKG_VERSION"), exposure.tools.len());
    tracing::info!(version, tools, "serving");
    if args.http.is_some() {
        return http::serve(args, exposure, settings, &signals, output).await;
    }
    let desk = desk(exposure, settings)?;
    log::stage("serving");
    let engine = desk.engine.clone();
    // Commands of a user beside the agent can see and use its sessions. If no place for a host can be had, the
    // agent is served all the same.
    let host = Host::new(engine.clone(), desk.exposure.profile(), Life::Long);
    let listening = settings.uses_host().then(|| also_listen(&host, settings)).flatten();
    let gone = CancellationToken::new();
    let stdin = PipeWatch::new(standard_input(), gone.clone());
    let stdout = PipeWatch::new(standard_output(), gone.clone());
    let written = stdout.moved();
    let transport = Lines::new(stdin, stdout, Turns::at(&desk));
    let calls = Calls::default();
    let server = Server::new(desk, CLIENT, calls.clone());
    let mut serving = tokio::spawn(async move {
        // A client that never introduced itself gets no message.
        if let Ok(running) = server.serve(transport).await {
            drop(running.waiting().await);
        }
    });
    let mut is_deaf = false;
    let mut is_over = tokio::select! {
        _ = &mut serving => true,
        () = gone.cancelled() => false,
        () = deaf(&written) => {
            is_deaf = true;
            false
        }
        () = signals.asked(1) => false,
    };
    if !is_over {
        is_over = tokio::select! {
            _ = &mut serving => true,
            () = tokio::time::sleep(LAST_CALLS) => false,
            () = signals.asked(1) => false,
        };
    }
    // Cancel the remaining calls, so that no code waits for them.
    calls.ending.cancel();
    host.ending.cancel();
    drop(listening);
    let last = async {
        engine.shutdown().await;
        calls.are_over().await;
        // Answer the calls under way, if the client still reads.
        if !(is_over || is_deaf) && signals.first().is_none() {
            let _ = serving.await;
        }
    };
    let _ = tokio::time::timeout(LAST_WORDS, last).await;
    log::ended(signals.first());
    match signals.first() {
        Some(signal) => Err(Failure::Signal(signal)),
        None => Ok(Exit::Ok),
    }
}

/// Returns when the client has hung up and does not read our output either. Nothing more is read from it then, so
/// the end of its input would never be seen.
async fn deaf(written: &TransferCount) {
    let hung_up = CancellationToken::new();
    let told = hung_up.clone();
    on_hang_up(move || told.cancel());
    hung_up.cancelled().await;
    loop {
        let before = written.so_far();
        tokio::time::sleep(LAST_CALLS).await;
        if written.so_far() == before {
            return;
        }
    }
}

/// Lets commands of this user find the sessions of this server.
fn also_listen(host: &Host, settings: &Settings) -> Option<HostPlace> {
    let taken = Hosts::of(settings).take(HostKind::Agent);
    let (place, listener) = match taken {
        Ok(taken) => taken,
        Err(error) => {
            tracing::warn!("commands do not find this server's sessions: {error}");
            return None;
        }
    };
    listener.set_nonblocking(true).ok()?;
    let listener = tokio::net::UnixListener::from_std(listener).ok()?;
    tokio::spawn(listen(host.clone(), listener));
    Some(place)
}

/// The tools: as Markdown for people, or as the protocol lists them for programs.
fn inspect(exposure: &Exposure, output: &mut Output) -> Result<Exit, Failure> {
    let shown = if output.is_json() {
        output.json(&json!({"tools": crate::mcp::offered(exposure)}))
    } else {
        let page = crate::mcp::page(exposure);
        page.lines().try_for_each(|line| output.line(line))
    };
    shown.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}
