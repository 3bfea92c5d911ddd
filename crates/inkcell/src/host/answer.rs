//! Requests to a host, carried out.
//!
//! Owns whose settings count for a call. `python` and `run` run code and notebooks; the engine owns their effect.

use std::io;
use std::sync::Arc;

use inkcell_engine::kernel::EnvMode;
use inkcell_engine::{AnswerHandle, CallOptions, Engine, Request};
use rmcp::ServiceExt as _;
use tokio::io::BufReader;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::sync::CancellationToken;

use super::edits::tell_other_hosts;
use super::frames::{
    Answer, Ask, FromHost, Hello, HostEvent, HostStatus, KernelOptions, McpAsk, Refusal,
};
use super::talk::{Host, Talk, send};
use super::{python, run, watch};
use crate::app::{desk_with, exposure};
use crate::exit::Failure;
use crate::mcp::desk::Turns;
use crate::mcp::{Lines, PipeWatch, Server};
use crate::settings::{Profile, Settings, Surroundings, engine_config};

/// A caller: its settings, and the engine configured by them.
pub(super) struct Caller {
    pub(super) settings: Arc<Settings>,
    pub(super) engine: Engine,
}

impl Caller {
    pub(super) fn of(
        host: &Host,
        surroundings: Surroundings,
        options: &KernelOptions,
    ) -> Result<Caller, Failure> {
        let settings = Arc::new(tell_other_hosts(Settings::of(surroundings)?));
        let mut kernels = engine_config(&settings, host.profile).kernels;
        // A user who types a command expects its environment there, whichever host has the session.
        if host.profile != Profile::CommandLine {
            let typed = engine_config(&settings, Profile::CommandLine).kernels;
            kernels.env_rules.mode = typed.env_rules.mode;
        }
        if options.env_all {
            kernels.env_rules.mode = EnvMode::Inherit;
        }
        kernels.env_rules.pass.extend(options.env.iter().cloned());
        if let Some(shell) = options.shell {
            kernels.shell = shell.into();
        }
        let engine = host.engine.decided_by(kernels);
        Ok(Caller { settings, engine })
    }

    /// The caller for an agent's client.
    fn of_agent(host: &Host, surroundings: Surroundings) -> Result<Caller, Failure> {
        let settings = Arc::new(tell_other_hosts(Settings::of(surroundings)?));
        let engine = host.engine.decided_by(engine_config(&settings, host.profile).kernels);
        Ok(Caller { settings, engine })
    }
}

pub(super) async fn answer(
    host: &Host,
    surroundings: Surroundings,
    ask: Ask,
    talk: Talk,
) -> Result<Answer, Failure> {
    match ask {
        Ask::Python(ask) => {
            let caller = Caller::of(host, surroundings, &ask.kernel)?;
            python::answer(host, &caller, ask, talk)
                .await
                .map(|done| Answer::Python(Box::new(done)))
        }
        Ask::Run(ask) => {
            let caller = Caller::of(host, surroundings, &ask.kernel)?;
            run::answer(host, &caller, *ask, talk).await.map(|done| Answer::Python(Box::new(done)))
        }
        Ask::Copies(session) => {
            let caller = Caller::of(host, surroundings, &KernelOptions::default())?;
            caller.engine.must_be_copyable(&session).await?;
            Ok(Answer::Nothing)
        }
        Ask::Inspect(request) => {
            submitted(host, surroundings, request, talk).await.map(Answer::Inspect)
        }
        Ask::Kernel(request) => {
            submitted(host, surroundings, request, talk).await.map(Answer::Kernel)
        }
        Ask::Result(request) => {
            let engine = Caller::of(host, surroundings, &KernelOptions::default())?.engine;
            talk.unless_given_up(engine.stored(request)).await.map(Answer::Result)
        }
        Ask::Watch { session, from, only_past } => {
            watch::answer(host, &session, from, only_past, talk).await?;
            Ok(Answer::Nothing)
        }
        Ask::Status => Ok(Answer::Status(status(host))),
        Ask::Shutdown => {
            host.ending.cancel();
            host.engine.shutdown().await;
            Ok(Answer::Nothing)
        }
        // A connection that has become a client's own never comes here.
        Ask::Mcp(_) => Ok(Answer::Nothing),
    }
}

/// Submits a question or a kernel verb, and waits for its answer as long as the client does.
async fn submitted<T: Send + 'static>(
    host: &Host,
    surroundings: Surroundings,
    request: impl Request<Handle = AnswerHandle<T>>,
    talk: Talk,
) -> Result<T, Failure> {
    let engine = Caller::of(host, surroundings, &KernelOptions::default())?.engine;
    let owner = host.new_owner();
    let answer = async { engine.submit(request, CallOptions::of(owner)).await?.answer().await };
    let answer = talk.unless_given_up(answer).await;
    host.engine.release(owner);
    answer
}

fn status(host: &Host) -> HostStatus {
    let sessions = host.engine.session_reports();
    let running = sessions.iter().filter_map(|session| session.running.as_ref()?.execution.clone());
    let Hello { version, pid } = Hello::own();
    HostStatus {
        version,
        pid,
        age_seconds: host.started.elapsed().as_secs(),
        sessions: sessions.len(),
        clients: host.clients().saturating_sub(1),
        running: running.collect(),
    }
}

/// Hands the connection over to an agent's client: its sessions are the host's and stay when it goes.
pub(super) async fn mcp(
    host: &Host,
    (surroundings, asked): (Surroundings, McpAsk),
    read: BufReader<OwnedReadHalf>,
    mut write: OwnedWriteHalf,
) -> io::Result<()> {
    let caller = match Caller::of_agent(host, surroundings) {
        Ok(caller) => caller,
        Err(failure) => {
            let done = FromHost::Done(Err(Refusal::from(failure)));
            return send(&mut write, &done).await;
        }
    };
    let Caller { settings, engine } = caller;
    let exposure = exposure(asked.tools, &settings).await;
    if let Some(warning) = exposure.warning() {
        tracing::warn!("{warning}");
    }
    send(&mut write, &FromHost::Event(Box::new(HostEvent::Serving))).await?;
    let desk = desk_with(engine, Arc::new(exposure), &settings);
    let owner = host.new_owner();
    let gone = CancellationToken::new();
    let (read, write) = (PipeWatch::new(read, gone.clone()), PipeWatch::new(write, gone.clone()));
    let lines = Lines::new(read, write, Turns::at(&desk));
    let server = Server::new(desk, owner, host.calls.clone());
    let serving = async {
        if let Ok(running) = server.serve(lines).await {
            drop(running.waiting().await);
        }
    };
    tokio::pin!(serving);
    // Calls under way go on in their sessions; only their answers are lost.
    tokio::select! {
        () = &mut serving => {}
        () = gone.cancelled() => {}
        () = host.ending.cancelled() => {}
    }
    host.engine.release(owner);
    Ok(())
}
