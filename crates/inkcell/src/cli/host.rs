//! `inkcell host`: starts, ends and inspects the host that commands share, and runs it.
//!
//! Owns when it ends: on request, by a signal, or after it has been idle for a while. Its answers are in `host/`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use inkcell_engine::kernel::return_large_blocks;
use inkcell_engine::{Engine, Kind};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::{Value, json};

use super::signals::Signals;
use crate::app::backends;
use crate::args::{HostCommand, HostVerb};
use crate::client::hosts::ask_all;
use crate::client::{Client, answer_at_once};
use crate::exit::{Exit, Failure};
use crate::host::{
    Answer, Ask, Host, HostAddress, HostKind, HostStatus, Hosts, IdleEnd, Life, PlaceError, Silent,
    listen, until_idle,
};
use crate::output::{Output, count};
use crate::settings::{Profile, Settings, engine_config};
use crate::words;

/// The time limit for running code to end.
const LAST_WORDS: Duration = Duration::from_millis(4500);

pub(crate) fn run(
    args: &HostCommand,
    settings: &Arc<Settings>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match args.command {
        HostVerb::Start => {
            let status = status_of(&Client::shared(settings)?, settings)?;
            show(&[(HostKind::Shared, status)], &[], output)
        }
        HostVerb::Stop { force } => {
            stop(if force { Stop::ByForce } else { Stop::Asked }, settings, output)
        }
        HostVerb::Status => {
            let (hosts, silent) = all(settings);
            show(&hosts, &silent, output)
        }
        HostVerb::Serve => serve(settings, output),
    }
}

/// How to end a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stop {
    /// Ask it to end.
    Asked,
    /// Ask it to end, and kill it if it does not answer.
    ByForce,
}

/// Asks a host for its status. A host that was just started has greeted already.
fn status_of(client: &Client, settings: &Settings) -> Result<HostStatus, Failure> {
    let Some(found) = client.found() else { return Err(Failure::Pipe) };
    match answer_at_once(found, settings, Ask::Status)? {
        Some(Answer::Status(status)) => Ok(status),
        Some(_) => Err(Failure::Pipe),
        None => Err(Silent::of(found).failure()),
    }
}

/// Every host that answers, and the silent ones.
fn all(settings: &Settings) -> (Vec<(HostKind, HostStatus)>, Vec<Silent>) {
    let (mut hosts, mut silent) = (Vec::new(), Vec::new());
    for (found, answer) in ask_all(|| Ask::Status, settings) {
        match answer {
            Ok(Some(Answer::Status(status))) => hosts.push((found.kind, status)),
            Ok(None) => silent.push(Silent::of(&found)),
            Ok(Some(_)) | Err(_) => {}
        }
    }
    (hosts, silent)
}

fn show(
    hosts: &[(HostKind, HostStatus)],
    silent: &[Silent],
    output: &mut Output,
) -> Result<Exit, Failure> {
    let shown = if output.is_json() {
        let hosts: Vec<Value> = hosts
            .iter()
            .map(|(kind, status)| {
                let mut value = json!(status);
                value["kind"] = json!(kind.name());
                value
            })
            .collect();
        let silent: Vec<Value> = silent.iter().map(Silent::to_json).collect();
        output.json(&json!({"hosts": hosts, "silent": silent}))
    } else if hosts.is_empty() && silent.is_empty() {
        output.line(words::host::NONE_RUNS)
    } else {
        hosts.iter().try_for_each(|(kind, status)| output.line(&line(*kind, status)))
    };
    shown.map_err(Failure::of_output)?;
    silent.iter().for_each(|silent| output.aside(&format!("note: {}", silent.describe())));
    Ok(Exit::Ok)
}

fn line(kind: HostKind, status: &HostStatus) -> String {
    let what = kind.described();
    let HostStatus { version, pid, sessions, clients, .. } = status;
    let (sessions, clients) = (count(*sessions, "session"), count(*clients, "client"));
    let minutes = status.age_seconds / 60;
    words::host::state(what, *pid, version, &sessions, &clients, minutes)
}

fn stop(how: Stop, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let shared = Hosts::of(settings).all().into_iter().find(|found| found.kind == HostKind::Shared);
    let ended = match shared {
        Some(found) => end(&found, how, settings)?,
        None => 0,
    };
    let shown = match (output.is_json(), ended) {
        (true, ended) => output.json(&json!({"ended": ended})),
        (false, 0) => output.line(words::host::NONE_WAS_RUNNING),
        (false, _) => output.line(words::host::HAS_ENDED),
    };
    shown.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

/// Ends a host, and waits until it is gone.
fn end(found: &HostAddress, how: Stop, settings: &Settings) -> Result<usize, Failure> {
    match answer_at_once(found, settings, Ask::Shutdown) {
        Ok(Some(_)) => {}
        Ok(None) if how == Stop::Asked => return Err(Silent::of(found).failure()),
        Ok(None) => kill(found)?,
        // The host was about to end already.
        Err(Failure::Told { kind: Kind::Unavailable, .. }) => {}
        Err(failure) => return Err(failure),
    }
    let until = Instant::now() + LAST_WORDS;
    let hosts = Hosts::of(settings);
    while hosts.all().contains(found) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(1)
}

/// Kills a host that does not answer; its kernels end with it.
fn kill(found: &HostAddress) -> Result<(), Failure> {
    let failed = |error| Failure::Io(words::failure::END_HOST, error);
    // If its queue of connections is full, only its file says which process it is.
    let process_of = || {
        let named = || Pid::from_raw(i32::try_from(found.pid()?).ok()?);
        found.listener().or_else(|error| named().ok_or(error))
    };
    let process = process_of().map_err(failed)?;
    // The handle pins the process, so that a reused number is not hit. Check that it still belongs to the host.
    let handle = pidfd_open(process, PidfdFlags::empty()).map_err(|error| failed(error.into()))?;
    if process_of().is_ok_and(|now| now == process) {
        pidfd_send_signal(&handle, Signal::KILL).map_err(|error| failed(error.into()))?;
    }
    Ok(())
}

fn serve(settings: &Arc<Settings>, output: &mut Output) -> Result<Exit, Failure> {
    return_large_blocks();
    let (place, listener) = match Hosts::of(settings).take(HostKind::Shared) {
        Ok(taken) => taken,
        Err(PlaceError::Taken) => {
            output.aside(words::host::ALREADY);
            return Ok(Exit::Ok);
        }
        Err(error) => {
            return Err(Failure::new(
                Kind::Unavailable,
                error.to_string(),
                Some(words::host::SET_RUNTIME_DIR.to_owned()),
            ));
        }
    };
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = built.map_err(|error| Failure::Io(words::failure::START_RUNTIME, error))?;
    let done: Result<Option<i32>, Failure> = runtime.block_on(async {
        let signals = Signals::listen()?;
        let profile = Profile::Default;
        let engine = Engine::new(engine_config(settings, profile), backends(settings, profile)?);
        let host = Host::new(engine, profile, Life::Long);
        let failed = |error| Failure::Io("cannot listen", error);
        listener.set_nonblocking(true).map_err(failed)?;
        let listener = tokio::net::UnixListener::from_std(listener).map_err(failed)?;
        let listening = tokio::spawn(listen(host.clone(), listener));
        tracing::info!(version = env!("CARGO_PKG_VERSION"), "host listens");
        let why = tokio::select! {
            () = signals.asked(1) => "signal",
            () = host.ending.cancelled() => "asked",
            end = until_idle(&host, &place, settings.host_idle()) => match end {
                IdleEnd::Idle => "idle",
                IdleEnd::Lost => words::host::SOCKET_GONE,
            },
        };
        tracing::info!(why, "host ends");
        // Commands no longer find this host, so the next one can start.
        drop(place);
        host.ending.cancel();
        let last = async {
            host.engine.shutdown().await;
            host.calls.are_over().await;
            // Answer the clients that asked for the end.
            while host.clients() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            _ = tokio::time::timeout(LAST_WORDS, last) => {}
            () = signals.asked(2) => {}
        }
        listening.abort();
        Ok(signals.first())
    });
    runtime.shutdown_background();
    match done? {
        Some(signal) => Err(Failure::Signal(signal)),
        None => Ok(Exit::Ok),
    }
}
