//! `inkcell mcp`: the server, from its start to the end of its client.
//!
//! Owns when it ends: with its client, or by a signal, and never later than some seconds after either. Clients that
//! come over HTTP are in `http`.

mod http;

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use inkcell_engine::registry::OwnerId;
use inkcell_engine::{Engine, Preflight};
use rmcp::ServiceExt as _;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::python;
use super::signals::Signals;
use crate::args::{Mcp, PythonArgs};
use crate::backends::backends;
use crate::bridge::Bridge;
use crate::client::{Client, Step};
use crate::exit::{Exit, Failure};
use crate::exposure::{Exposure, ToolSet};
use crate::host::{Ask, Host, HostEvent, HostKind, HostPlace, Hosts, Life, McpAsk, listen};
use crate::log;
use crate::mcp::{Lines, Server, Watched};
use crate::output::Output;
use crate::settings::{Settings, engine_config};
use crate::tools::{Desk, Turns};

/// How long what is under way may take once there is nothing more to read: whoever writes some requests and reads
/// the answers is not gone yet.
const LAST_CALLS: Duration = Duration::from_secs(1);

/// How long what runs may take to end after that.
const LAST_WORDS: Duration = Duration::from_millis(3500);

/// The client at the other end of standard input.
const CLIENT: OwnerId = OwnerId(1);

pub(crate) fn run(
    args: &Mcp,
    settings: &Arc<Settings>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if args.keep {
        return serve_in_host(args, settings);
    }
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = built.map_err(|error| Failure::Io("cannot start the runtime", error))?;
    let done = runtime.block_on(serve(args, settings, output));
    // A read of standard input that nobody will answer must not keep us.
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
    // Whoever sits beside the agent can see and use its sessions. Without a place for that, the agent is served.
    let host = Host::new(engine.clone(), desk.exposure.profile(), Life::Long);
    let listening = settings.uses_host().then(|| also_listen(&host, settings)).flatten();
    let gone = CancellationToken::new();
    let (stdin, stdout) = rmcp::transport::stdio();
    let (stdin, stdout) = (Watched::new(stdin, gone.clone()), Watched::new(stdout, gone.clone()));
    let transport = Lines::new(stdin, stdout, Turns::at(&desk));
    let ending = CancellationToken::new();
    let server = Server::new(desk, CLIENT, ending.clone());
    let mut serving = tokio::spawn(async move {
        // A client that never said who it is has nothing to be told.
        if let Ok(running) = server.serve(transport).await {
            drop(running.waiting().await);
        }
    });
    let mut is_over = tokio::select! {
        _ = &mut serving => true,
        () = gone.cancelled() => false,
        () = signals.asked(1) => false,
    };
    if !is_over {
        is_over = tokio::select! {
            _ = &mut serving => true,
            () = tokio::time::sleep(LAST_CALLS) => false,
            () = signals.asked(1) => false,
        };
    }
    // Whatever still runs is given up, so that nothing waits for it.
    ending.cancel();
    host.ending.cancel();
    drop(listening);
    let last = async {
        engine.shutdown().await;
        // What was under way is answered, if somebody still listens.
        if !is_over && signals.first().is_none() {
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

/// Passes what a client says to the host that commands share, and its answers back: its sessions are there, and stay
/// when it goes.
fn serve_in_host(args: &Mcp, settings: &Settings) -> Result<Exit, Failure> {
    let client = Client::shared(settings)?;
    let mut asked = client.ask(Ask::Mcp(McpAsk { tools: args.tools.into() }))?;
    loop {
        match asked.next(None) {
            Step::Event(event) if *event == HostEvent::Serving => break,
            Step::Event(_) | Step::Nothing => {}
            Step::Done(Ok(_)) => return Ok(Exit::Ok),
            Step::Done(Err(refusal)) => return Err(refusal.into()),
        }
    }
    let (stream, first) = asked.into_parts();
    let failed = |error| Failure::Io("cannot pass messages on", error);
    let said = Arc::clone(&stream);
    let pass = move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut &*said);
        // There is nothing more to read; what is under way is answered.
        let _ = said.shutdown(std::net::Shutdown::Write);
    };
    std::thread::Builder::new().name("stdin".to_owned()).spawn(pass).map_err(failed)?;
    let mut stdout = std::io::stdout().lock();
    let passed = stdout.write_all(&first).and_then(|()| stdout.flush());
    let mut piece = [0; 64 << 10];
    let passed = passed.and_then(|()| {
        loop {
            match (&*stream).read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(length) => {
                    stdout.write_all(&piece[..length])?;
                    stdout.flush()?;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    });
    passed.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

/// Which tools are offered here.
pub(crate) async fn exposure(set: ToolSet, settings: &Settings) -> Exposure {
    let profile = set.profile();
    let none = PythonArgs { cwd: None, python: None };
    let search = python::search(&none, settings, settings.cwd.clone());
    let finder = python::finder(settings);
    let preflight = Preflight::look(settings.check(profile), &finder, &search).await;
    log::stage("interpreter looked for");
    let exposure = Exposure::new(set, settings.tool_mode(profile), &preflight);
    log::stage("tools chosen");
    exposure
}

/// What tools work on.
pub(super) fn desk(exposure: Exposure, settings: &Arc<Settings>) -> Result<Desk, Failure> {
    let profile = exposure.profile();
    let engine = Engine::new(engine_config(settings, profile), backends(settings, profile)?);
    Ok(desk_with(engine, Arc::new(exposure), settings))
}

/// The same with an engine that is there.
pub(crate) fn desk_with(engine: Engine, exposure: Arc<Exposure>, settings: &Arc<Settings>) -> Desk {
    let (settings, cwd) = (Arc::clone(settings), settings.cwd.clone());
    Desk { engine, settings, exposure, cwd, bridge: Bridge::default(), roots: None }
}

/// The tools as Markdown, for people; as the protocol lists them, for programs.
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
