//! Code that runs for a client of a host.
//!
//! Owns the report about the choice of the kernel, and the fate of the call when the client cancels it or goes
//! away. The engine runs and stops the code.

use std::sync::Arc;
use std::time::Duration;

use inkcell_engine::api::KernelStep;
use inkcell_engine::kernel::EnvPattern;
use inkcell_engine::{
    CallHandle, CallOptions, EngineError, Kind, Resolution, ResolvedKernel, TapEvent,
};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::answer::Caller;
use super::frames::{Attention, Detachment, HostEvent, KernelOptions, PythonAsk, PythonDone};
use super::talk::{Host, Life, Talk};
use crate::app::python::{self, ChoiceOrigin};
use crate::exit::{Exit, Failure};
use crate::log;
use crate::settings::Settings;
use crate::words;
use crate::words::step::Audience;

/// How many events may wait for the client; beyond that the code is held up.
const QUEUE: usize = 16;

pub(super) async fn answer(
    host: &Host,
    caller: &Caller,
    ask: PythonAsk,
    talk: Talk,
) -> Result<PythonDone, Failure> {
    let PythonAsk { request, kernel, limit_from, attention, detached } = ask;
    let (engine, timeout) = (&caller.engine, request.timeout);
    let session = request.session_ref();
    let Resolution { chosen, .. } = tokio::select! {
        resolved = engine.resolve(&session, request.mode) => resolved?,
        () = talk.cancelled(1) => return Err(Failure::Pipe),
        () = talk.gone.cancelled() => return Err(Failure::Pipe),
        () = until(timeout.map(|timeout| Instant::now() + timeout)) => {
            return Err(late(&limit_from, timeout));
        }
    };
    log::stage("interpreter chosen");
    let named = ChoiceOrigin::of(request.wanted.interpreter.as_deref());
    for line in about(&chosen, (attention, &kernel), named, &caller.settings) {
        talk.tell(HostEvent::Aside(line)).await;
    }
    let python = chosen.interpreter.as_ref().map_or(Value::Null, |interpreter| {
        let reason = python::reason(interpreter, named, &caller.settings);
        python::to_json(interpreter, &reason)
    });
    let (events, mut tapped) = mpsc::channel(QUEUE);
    // A call that no client follows is not held up.
    let tap = (detached == Detachment::No).then_some(events);
    let owner = host.new_owner();
    let began = Instant::now();
    let options = CallOptions { tap, ..CallOptions::of(owner) };
    let call = engine.submit(request.on(&chosen), options).await?;
    if detached == Detachment::Yes {
        host.engine.release(owner);
        return Ok(PythonDone { report: call.report(), took: began.elapsed(), python });
    }
    talk.tell(HostEvent::Began(Box::new(call.report()))).await;
    let over = CancellationToken::new();
    let settled = {
        let (call, over) = (call.clone(), over.clone());
        tokio::spawn(async move {
            let report = call.settled().await;
            over.cancel();
            report
        })
    };
    let mut followed = FollowedCall { call, talk, over, times: 0 };
    while let Some((cell, event)) = followed.next(&mut tapped).await {
        if let Some(event) = HostEvent::of(cell, event) {
            followed.pass(event).await;
        }
    }
    followed.over().await;
    let lost = |_| EngineError::Lost { what: words::host::REPORT };
    let report = settled.await.map_err(lost)?;
    let took = began.elapsed();
    host.engine.release(owner);
    if host.life == Life::OneCall {
        // Leave no kernel behind, whatever happens to the answer.
        host.engine.shutdown().await;
    }
    Ok(PythonDone { report, took, python })
}

/// A call under way, and the client that made it.
struct FollowedCall {
    call: CallHandle,
    talk: Talk,
    /// Set when the call is over.
    over: CancellationToken,
    /// How often the client cancelled it.
    times: u32,
}

impl FollowedCall {
    /// The next event; none when there will be no more, or when the client is gone.
    async fn next(&mut self, tapped: &mut mpsc::Receiver<TapEvent>) -> Option<TapEvent> {
        let gone = self.talk.gone.clone();
        loop {
            tokio::select! {
                biased;
                () = self.take_message() => {}
                event = tapped.recv() => return event,
                () = gone.cancelled() => {
                    // No client receives these events, so stop producing them.
                    tapped.close();
                    self.call.cancel();
                    return None;
                }
            }
        }
    }

    /// Waits until the call is over, without a limit.
    async fn over(&mut self) {
        let over = self.over.clone();
        loop {
            tokio::select! {
                biased;
                () = over.cancelled() => return,
                () = self.take_message() => {}
            }
        }
    }

    /// Hands an event to the client when it has room. A client that does not read can still cancel its call, and
    /// the remaining events go out at the end in any case.
    async fn pass(&mut self, event: HostEvent) {
        let (room, gone) = (Arc::clone(&self.talk.room), self.talk.gone.clone());
        let over = self.over.clone();
        loop {
            tokio::select! {
                biased;
                () = self.take_message() => {}
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

    /// Carries out the client's next message.
    async fn take_message(&mut self) {
        let Talk { cancels, replies, .. } = &mut self.talk;
        let times = self.times;
        let cancelled = async {
            // Do not hold the borrowed value while waiting.
            let is_there = cancels.wait_for(|so_far| *so_far > times).await.is_ok();
            if !is_there || times >= 2 {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = cancelled => {}
            reply = replies.recv() => {
                if let Some(reply) = reply {
                    // An answer that the code no longer waits for is dropped.
                    let _ = self.call.reply_input(reply);
                }
                return;
            }
        }
        self.times += 1;
        // A call that is over has nothing to cancel.
        self.call.cancel();
    }
}

/// The kernel and its Python, if the caller asked for them, and the promised features that the code lacks.
pub(super) fn about(
    chosen: &ResolvedKernel,
    (attention, options): (Attention, &KernelOptions),
    named: ChoiceOrigin,
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
    lines.extend(missing.map(|name| words::env::variable_not_set(name)));
    for pattern in &options.env {
        if let EnvPattern::Name(name) = pattern
            && chosen.env.withheld.contains(name)
        {
            lines.push(words::env::secret(name));
        }
    }
    lines
}

/// The failure when the time limit of the code passed before Python was ready.
fn late(limit_from: &str, timeout: Option<Duration>) -> Failure {
    let seconds = timeout.unwrap_or_default().as_secs_f64();
    Failure::Told {
        exit: Exit::TimedOut,
        kind: Kind::Unavailable,
        message: words::env::not_ready(seconds, &limit_from),
        hint: Some(Audience::Person.kernel_step(KernelStep::RaiseTimeout)),
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
