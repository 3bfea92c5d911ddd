//! The link to a kernel on a gateway: its websocket, its requests, and its process where that is
//! visible.
//!
//! Owns interrupts, forced ends, and the report of the kernel's end. `jupyter/pump.rs` holds the
//! conversation.

pub(crate) mod loss;

use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::error::gateway::GatewayError;
use crate::event::{Death, DeathCause, ExecEvent, KernelEvent, StreamName};
use crate::gateway::end::Ending;
use crate::gateway::identity::KernelIdentity;
use crate::gateway::local_process::{LocalProcess, is_over};
use crate::gateway::talk::Talk;
use crate::jupyter::kernel::{Control, Intent};
use crate::jupyter::message::{Channel, Message, Speak};
use crate::jupyter::pump::{Incident, Link, Pump, Verdict, Why};
use crate::kernel::StopSignal;
use crate::kernelspec::InterruptMode;
use crate::process::wait_until_gone;
use loss::Source;

/// Time for a visible process to end by itself before it is killed.
const POLITE: Duration = Duration::from_secs(2);

/// Silence after which no more output of a dead kernel is expected.
const AFTERMATH: Duration = Duration::from_millis(300);

/// Longest time for which output of a dead kernel is passed on, however much there is.
const ALL_OF_IT: Duration = Duration::from_secs(2);

/// Longest wait for a slow gateway to pass on pending output.
const SLOW: Duration = Duration::from_secs(10);

/// Interrupts within this time count as one.
const TOGETHER: Duration = Duration::from_millis(100);

/// Handle of a kernel on a gateway. It leaves all work to the pump.
pub(crate) struct GatewayControl;

impl Control for GatewayControl {
    // Extra time for a slow gateway; unfinished work is in the record by then.
    const MORE: Duration = Duration::from_secs(2);
    const SIGNALS: &'static [(Signal, &'static str)] = &[];

    fn force(&self, force: StopSignal, _: &Intent) -> Option<StopSignal> {
        Some(force)
    }
}

pub(crate) struct GatewayLink {
    pub(crate) talk: Talk,
    pub(crate) local: Option<LocalProcess>,
    pub(crate) ending: Ending,
    /// Identity of the process that answered the handshake.
    pub(crate) identity: KernelIdentity,
    /// Set once the gateway has reported the end; later messages without a request come from a
    /// successor.
    pub(crate) is_gone: bool,
    /// Interrupt requests on their way to the gateway.
    interrupts: JoinSet<Result<(), GatewayError>>,
    /// Time of the last interrupt.
    interrupted: Option<Instant>,
}

/// Events other than messages.
pub(crate) enum GatewayEvent {
    Closed,
    Interrupted(Result<(), GatewayError>),
    Exited,
}

/// Reason why no more messages will come.
pub(crate) enum GatewayEnd {
    /// The kernel is gone, or out of reach. The text follows "the kernel" in a sentence.
    Lost(String),
    /// A kernel that ignored interrupts took too long to end.
    GivenUp,
    /// The kernel is no longer needed.
    Left,
}

/// Ends a kernel by force. A visible process gets a signal, as a local kernel does. For others the
/// gateway is asked. A kernel that takes too long is given up: it stays in the record, and the
/// gateway goes on trying.
pub(crate) fn force(
    force: StopSignal,
    local: Option<&LocalProcess>,
    ending: &mut Ending,
) -> Option<GatewayEnd> {
    match (force, local) {
        (StopSignal::Terminate, Some(local)) => local.signal(Signal::TERM),
        (StopSignal::Kill, Some(local)) => local.signal(Signal::KILL),
        (StopSignal::Terminate, None) => ending.begin(),
        (StopSignal::Kill, None) => return Some(GatewayEnd::GivenUp),
    }
    None
}

impl GatewayLink {
    pub(crate) fn new(
        talk: Talk,
        local: Option<LocalProcess>,
        ending: Ending,
        identity: KernelIdentity,
    ) -> GatewayLink {
        GatewayLink {
            talk,
            local,
            ending,
            identity,
            is_gone: false,
            interrupts: JoinSet::new(),
            interrupted: None,
        }
    }

    /// Returns `true` if interrupts go to the process as a signal, without the gateway, which may
    /// be busy passing on output.
    fn signals_interrupts(&self) -> bool {
        let local = self.local.as_ref().filter(|local| local.interrupts == InterruptMode::Signal);
        local.inspect(|local| local.signal(Signal::INT)).is_some()
    }
}

impl Link for GatewayLink {
    type Control = GatewayControl;
    type Event = GatewayEvent;
    type End = GatewayEnd;

    const CONTROL_INTERRUPTS: bool = false;
    const REPLIES_OVERTAKE: bool = true;

    fn speaker(&self) -> &impl Speak {
        &self.talk
    }

    async fn next(&mut self) -> Incident<GatewayEvent> {
        tokio::select! {
            read = self.talk.next() => match read {
                Some(Ok((channel, message))) => Incident::Message(channel, message),
                Some(Err(problem)) => Incident::Malformed(format!("the gateway sent {problem}")),
                None => Incident::Event(GatewayEvent::Closed),
            },
            Some(done) = self.interrupts.join_next() => {
                Incident::Event(GatewayEvent::Interrupted(done.unwrap_or(Ok(()))))
            }
            () = is_over(self.local.as_ref()) => Incident::Event(GatewayEvent::Exited),
        }
    }

    async fn react(pump: &mut Pump<GatewayLink>, event: GatewayEvent) -> Option<GatewayEnd> {
        match event {
            GatewayEvent::Closed => pump.regain().await,
            GatewayEvent::Interrupted(Ok(())) => {
                pump.raise_fence(Why::Interrupt);
                None
            }
            GatewayEvent::Interrupted(Err(problem)) => {
                let notice = format!("the gateway did not interrupt the kernel: {problem}");
                pump.notice(notice).await;
                None
            }
            GatewayEvent::Exited => Some(GatewayEnd::Lost(loss::EXITED.to_owned())),
        }
    }

    async fn drain(pump: &mut Pump<GatewayLink>, end: GatewayEnd) -> GatewayEnd {
        // Without a listener, skip the output from before the end.
        if !pump.intent.stop.is_cancelled() {
            pump.take_rest().await;
        }
        end
    }

    async fn bury(&mut self, end: GatewayEnd, intent: &Intent) -> Death {
        let is_forced = intent.is_forced();
        self.ending.begin();
        if let Some(local) = self.local.as_ref().filter(|_| !self.ending.may_live_on()) {
            let _ = tokio::time::timeout(POLITE, is_over(Some(local))).await;
            // Processes that a cell started must not outlive their kernel, and a gateway does not
            // end them.
            local.signal(Signal::KILL);
        }
        self.ending.wait().await;
        wait_until_gone(|| self.local.as_ref().is_some_and(LocalProcess::reap)).await;
        let cause = match end {
            GatewayEnd::Left => DeathCause::Shutdown,
            GatewayEnd::GivenUp => DeathCause::IgnoredInterrupt,
            GatewayEnd::Lost(_) if is_forced => DeathCause::IgnoredInterrupt,
            GatewayEnd::Lost(problem) => DeathCause::Remote { problem },
        };
        Death { cause, ..Death::unknown() }
    }

    fn pid(&self) -> Option<u32> {
        self.local.as_ref().map(|local| local.pid)
    }

    fn abandoned(&self) -> Option<GatewayEnd> {
        Some(GatewayEnd::Left)
    }

    fn judge(&mut self, channel: Channel, message: &Message) -> Verdict<GatewayEnd> {
        match self.source(channel, message) {
            Source::Kernel => Verdict::Take,
            Source::Successor => Verdict::Ignore,
            Source::Death(problem) => {
                self.is_gone = true;
                Verdict::End(GatewayEnd::Lost(problem.to_owned()))
            }
        }
    }

    fn is_free(&self) -> bool {
        self.interrupts.is_empty()
    }

    fn begin_cell(&mut self) {
        // The last interrupt was for an earlier cell.
        self.interrupted = None;
    }

    fn end_cell(&mut self, _: &Intent) {
        self.local.as_ref().map(LocalProcess::reap);
    }

    /// Two interrupts close together count as one, as two signals do.
    fn interrupt(&mut self) -> bool {
        if self.interrupted.is_some_and(|at| at.elapsed() <= TOGETHER) {
            return false;
        }
        self.interrupted = Some(Instant::now());
        if self.signals_interrupts() {
            self.talk.trace.sent_as("signal", "interrupt", None);
            return true;
        }
        let (rest, id) = (Arc::clone(&self.talk.rest), self.talk.id.clone());
        self.talk.trace.sent_as("rest", "interrupt", None);
        self.interrupts.spawn(async move { rest.interrupt(&id).await });
        false
    }

    fn force(&mut self, signal: StopSignal) -> Option<GatewayEnd> {
        force(signal, self.local.as_ref(), &mut self.ending)
    }

    fn remark(&self, event: &KernelEvent) -> Option<&'static str> {
        match event {
            KernelEvent::Exec { event, .. } | KernelEvent::Orphan(event) => match event {
                ExecEvent::Stream { name: StreamName::Stderr, data } => {
                    loss::is_limit(data).then_some(loss::LIMIT)
                }
                _ => None,
            },
            _ => None,
        }
    }
}

impl Pump<GatewayLink> {
    /// Passes on output from before the end. A gateway can hold much of it, so the time is bounded.
    pub(crate) async fn take_rest(&mut self) {
        self.take_until(Instant::now() + ALL_OF_IT).await;
        // The end of a process can be visible before its gateway has passed on earlier output. A
        // gateway that is slow to do so is also slow to answer, so wait for an answer first.
        if self.link.local.is_some() {
            let _ = self.link.talk.rest.has(&self.link.talk.id, SLOW).await;
            self.take_until(Instant::now() + ALL_OF_IT).await;
        }
    }

    async fn take_until(&mut self, until: Instant) {
        while let Ok(Some(read)) = tokio::time::timeout(AFTERMATH, self.link.talk.next()).await {
            if Instant::now() > until {
                self.notice("output from before the end of the kernel was left out".to_owned())
                    .await;
                break;
            }
            if let Ok((channel, message)) = read {
                self.hear(channel, &message).await;
            }
        }
    }
}
