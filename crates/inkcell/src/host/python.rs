//! Code that is run for a client of a host.
//!
//! Owns what the client is told of the choice of its kernel, and what becomes of the call when the client takes it back
//! or goes away. Running and stopping are the engine's.

use std::sync::Arc;
use std::time::Duration;

use inkcell_engine::api::{ExecutionId, KernelMode};
use inkcell_engine::kernel::Pattern;
use inkcell_engine::{Chosen, Engine, EngineError, Kind, Lent, Tapped};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::answer::Caller;
use super::frames::{Attention, Detached, HostEvent, KernelOptions, PythonAsk, PythonDone};
use super::serve::{Host, Life, Talk};
use crate::cli::python::{self, Named};
use crate::exit::{Exit, Failure};
use crate::log;
use crate::render::hint;
use crate::settings::Settings;

/// How many events may wait for the client; the code is held up beyond that.
const QUEUE: usize = 16;

pub(super) async fn answer(
    host: &Host,
    caller: &Caller,
    ask: PythonAsk,
    talk: Talk,
) -> Result<PythonDone, Failure> {
    let PythonAsk { request, kernel, limit_from, attention, detached } = ask;
    let (engine, timeout) = (&caller.engine, request.timeout);
    let choose = async {
        match request.mode {
            KernelMode::PerCall => engine.choose(&request.cwd, &request.wanted).await,
            KernelMode::Session => {
                let session = request.session.as_ref();
                Ok(engine.place(session, &request.cwd, &request.wanted).await?.1)
            }
        }
    };
    let chosen = tokio::select! {
        chosen = choose => chosen?,
        () = talk.cancelled(1) => return Err(Failure::Pipe),
        () = talk.gone.cancelled() => return Err(Failure::Pipe),
        () = until(timeout.map(|timeout| Instant::now() + timeout)) => {
            return Err(late(&limit_from, timeout));
        }
    };
    log::stage("interpreter chosen");
    let named = Named::of(request.wanted.interpreter.as_deref());
    for line in about(&chosen, (attention, &kernel), named, &caller.settings) {
        talk.tell(HostEvent::Aside(line)).await;
    }
    let python = chosen.interpreter.as_ref().map_or(Value::Null, |interpreter| {
        let reason = python::reason(interpreter, named, &caller.settings);
        python::to_json(interpreter, &reason)
    });
    let (events, mut tapped) = mpsc::channel(QUEUE);
    // A call that nobody watches is not held up by anybody.
    let tap = (detached == Detached::No).then_some(events);
    let owner = host.new_owner();
    let began = Instant::now();
    let id = engine.start_with(request, &chosen, owner, tap, Lent::default()).await?;
    if detached == Detached::Yes {
        host.engine.release(owner);
        let report = engine.result(&id, Duration::ZERO).await?;
        return Ok(PythonDone { report, took: began.elapsed(), python });
    }
    let report = engine.result(&id, Duration::ZERO).await?;
    talk.tell(HostEvent::Began(Box::new(report))).await;
    let over = CancellationToken::new();
    let settled = {
        let (engine, id, over) = (engine.clone(), id.clone(), over.clone());
        tokio::spawn(async move {
            let report = engine.settled(&id).await;
            over.cancel();
            report
        })
    };
    let mut call = Followed { engine, id: &id, talk, over, times: 0 };
    while let Some((cell, event)) = call.next(&mut tapped).await {
        if let Some(event) = HostEvent::of(cell, event) {
            call.pass(event).await;
        }
    }
    call.over().await;
    let lost = EngineError::Lost { what: "the report of this call" };
    let report = settled.await.unwrap_or(Err(lost))?;
    let took = began.elapsed();
    host.engine.release(owner);
    if host.life == Life::OneCall {
        // Nothing of ours is left, whatever becomes of the answer.
        host.engine.shutdown().await;
    }
    Ok(PythonDone { report, took, python })
}

/// A call that is under way, and the client that made it.
struct Followed<'a> {
    engine: &'a Engine,
    id: &'a ExecutionId,
    talk: Talk,
    /// Set when the call is over.
    over: CancellationToken,
    /// How often it was taken back.
    times: u32,
}

impl Followed<'_> {
    /// The next thing that happens; none when nothing more will, or when nobody listens.
    async fn next(&mut self, tapped: &mut mpsc::Receiver<Tapped>) -> Option<Tapped> {
        let gone = self.talk.gone.clone();
        loop {
            tokio::select! {
                biased;
                () = self.word() => {}
                event = tapped.recv() => return event,
                () = gone.cancelled() => {
                    // Nobody hears what is said, so it need not be said.
                    tapped.close();
                    let _ = self.engine.cancel(self.id);
                    return None;
                }
            }
        }
    }

    /// Waits until the call is over, for as long as it takes.
    async fn over(&mut self) {
        let over = self.over.clone();
        loop {
            tokio::select! {
                biased;
                () = over.cancelled() => return,
                () = self.word() => {}
            }
        }
    }

    /// Hands an event to the client when it has room. One that does not read can take its call back all the same, and
    /// what is left at the end goes out in any case.
    async fn pass(&mut self, event: HostEvent) {
        let (room, gone) = (Arc::clone(&self.talk.room), self.talk.gone.clone());
        let over = self.over.clone();
        loop {
            tokio::select! {
                biased;
                () = self.word() => {}
                permit = room.acquire() => {
                    if let Ok(permit) = permit {
                        permit.forget();
                    }
                    break;
                }
                () = over.cancelled() => break,
                () = gone.cancelled() => return,
            }
        }
        self.talk.tell(event).await;
    }

    /// Does what the client says next.
    async fn word(&mut self) {
        let Talk { cancels, replies, .. } = &mut self.talk;
        let times = self.times;
        let cancelled = async {
            // What is borrowed of it must not be held while something is waited for.
            let is_there = cancels.wait_for(|so_far| *so_far > times).await.is_ok();
            if !is_there || times >= 2 {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = cancelled => {}
            reply = replies.recv() => {
                if let Some(reply) = reply {
                    // What nobody waits for any more is dropped.
                    let _ = self.engine.reply_input(self.id, reply);
                }
                return;
            }
        }
        self.times += 1;
        // A call that is over has nothing to be taken back.
        let _ = self.engine.cancel(self.id);
    }
}

/// Which kernel and Python it is, if that was asked for, and what code does not get of what it was promised.
pub(super) fn about(
    chosen: &Chosen,
    (attention, options): (Attention, &KernelOptions),
    named: Named,
    settings: &Settings,
) -> Vec<String> {
    let mut lines = Vec::new();
    if attention == Attention::Quiet {
        return lines;
    }
    if attention == Attention::Verbose {
        lines.push(format!("kernel: {}", python::kernel_line(&chosen.kernel)));
        if let Some(interpreter) = &chosen.interpreter {
            let reason = python::reason(interpreter, named, settings);
            lines.push(format!("python: {}", python::line(interpreter, &reason)));
            for skipped in &interpreter.skipped {
                lines.push(format!("skipped: {skipped}: {}", skipped.reason));
            }
        }
    }
    let told = settings.decided_by_project(&chosen.spec.cwd);
    lines.extend(told.iter().map(|told| format!("note: {told}")));
    let missing = chosen.env.missing.iter();
    lines.extend(
        missing.map(|name| format!("note: {name} is not set here, so the code does not get it")),
    );
    for pattern in &options.env {
        if let Pattern::Name(name) = pattern
            && chosen.env.withheld.contains(name)
        {
            let why = "is a secret of inkcell's own, which code never gets";
            lines.push(format!("note: {name} {why}"));
        }
    }
    lines
}

/// Python was not ready when the time that the code was given had passed.
fn late(limit_from: &str, timeout: Option<Duration>) -> Failure {
    let seconds = timeout.unwrap_or_default().as_secs_f64();
    Failure::Told {
        exit: Exit::TimedOut,
        kind: Kind::Unavailable,
        message: format!(
            "Python was not ready within the {seconds} s of {limit_from}; nothing was run"
        ),
        hint: Some(hint::RAISE_TIMEOUT.to_owned()),
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
