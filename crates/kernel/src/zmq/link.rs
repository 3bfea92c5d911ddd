//! The link to a Jupyter kernel over ZeroMQ: its sockets, its heartbeat and its process.
//!
//! Owns how the end of such a kernel is noticed, and how its last output is read. `jupyter/pump.rs`
//! holds the conversation.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use rustix::process::Signal;
use tokio::time::{Interval, MissedTickBehavior};

use crate::event::{Death, DeathCause};
use crate::jupyter::fold::Unread;
use crate::jupyter::home::Home;
use crate::jupyter::kernel::{Control as _, Intent};
use crate::jupyter::message::{Channel, Speak};
use crate::jupyter::pump::{Incident, Link, Pump};
use crate::process::{kill_group, wait_for_exit};
use crate::zmq::child::KernelChild;
use crate::zmq::control::ZmqControl;
use crate::zmq::lines::Lines;

/// Silence after which no more output of a dead process is expected.
const AFTERMATH: Duration = Duration::from_millis(200);

/// Interval of the heartbeat, and the number of beats that a kernel may miss.
const BEAT: Duration = Duration::from_secs(5);
const MISSED: u32 = 2;

pub(crate) struct ZmqLink {
    lines: Lines,
    control: ZmqControl,
    /// `None` if the kernel is not our child.
    child: Option<KernelChild>,
    /// Folder for waiting output, for a kernel that is not our child.
    _home: Option<Home>,
    beats: Interval,
    has_heartbeat: bool,
    missed_beats: u32,
    unread: Unread,
}

/// Events other than messages.
pub(crate) enum ZmqEvent {
    Beat,
    BeatAnswered(io::Result<Vec<Bytes>>),
    Closed(Channel, io::Error),
    Exited,
}

/// Reason why no more messages will come.
pub(crate) enum ZmqEnd {
    /// The process of the kernel ended, or closed a connection.
    Ended,
    /// The kernel broke the protocol in this way.
    Broken(String),
    /// A kernel that is not our child is no longer needed.
    Left,
}

impl ZmqLink {
    pub(crate) fn new(
        lines: Lines,
        control: ZmqControl,
        child: Option<KernelChild>,
        home: Option<Home>,
    ) -> ZmqLink {
        let mut beats = tokio::time::interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ZmqLink {
            lines,
            control,
            child,
            _home: home,
            beats,
            has_heartbeat: true,
            missed_beats: 0,
            unread: Unread::Nothing,
        }
    }

    fn read(&mut self, channel: Channel, frames: &[Bytes]) -> Incident<ZmqEvent> {
        match self.lines.decode(channel, frames) {
            Ok(message) => Incident::Message(channel, message),
            Err(problem) => Incident::Malformed(format!("the kernel sent {problem}")),
        }
    }

    /// Sends a beat and returns notices about the kernel. Only its process and its replies decide
    /// if it lives; missed beats are reported and change nothing.
    fn beat(&mut self) -> Vec<String> {
        let mut notices = Vec::new();
        if self.missed_beats == MISSED {
            let seconds = BEAT.as_secs() * u64::from(MISSED);
            notices.push(format!("the kernel has not answered its heartbeat for {seconds} s"));
        }
        self.missed_beats = self.missed_beats.saturating_add(1);
        // A dealer replaces the usual requester, which cannot ask again before an answer. A
        // requester puts an empty frame in front, so this does too.
        let ping = [Bytes::new(), Bytes::from_static(b"ping")];
        self.lines.heartbeat.1.send(&ping);
        if self.lines.output.take_crowded() {
            let notice = "output came faster than it was read for so long that some may be lost";
            notices.push(notice.to_owned());
        }
        notices
    }
}

impl Link for ZmqLink {
    type Control = ZmqControl;
    type Event = ZmqEvent;
    type End = ZmqEnd;

    const CONTROL_INTERRUPTS: bool = true;
    const REPLIES_OVERTAKE: bool = false;

    fn speaker(&self) -> &impl Speak {
        &self.control.speaker
    }

    async fn next(&mut self) -> Incident<ZmqEvent> {
        let lines = &mut self.lines;
        let (channel, frames) = tokio::select! {
            frames = lines.output.next() => {
                let end = || io::Error::from(io::ErrorKind::UnexpectedEof);
                (Channel::Iopub, frames.unwrap_or_else(|| Err(end())))
            }
            frames = lines.shell.next() => (Channel::Shell, frames),
            frames = lines.stdin.next() => (Channel::Stdin, frames),
            frames = lines.control.next() => (Channel::Control, frames),
            frames = lines.heartbeat.0.next(), if self.has_heartbeat => {
                return Incident::Event(ZmqEvent::BeatAnswered(frames));
            }
            () = wait_for_exit(self.child.as_ref().map(|child| &child.exit)) => {
                return Incident::Event(ZmqEvent::Exited);
            }
            _ = self.beats.tick() => return Incident::Event(ZmqEvent::Beat),
        };
        match frames {
            Ok(frames) => self.read(channel, &frames),
            Err(error) => Incident::Event(ZmqEvent::Closed(channel, error)),
        }
    }

    async fn react(pump: &mut Pump<ZmqLink>, event: ZmqEvent) -> Option<ZmqEnd> {
        match event {
            ZmqEvent::Beat => {
                for notice in pump.link.beat() {
                    pump.notice(notice).await;
                }
                None
            }
            ZmqEvent::BeatAnswered(Ok(_)) => {
                pump.link.missed_beats = 0;
                None
            }
            ZmqEvent::BeatAnswered(Err(_)) => {
                pump.link.has_heartbeat = false;
                None
            }
            ZmqEvent::Closed(channel, error) => {
                pump.note_reset(channel, &error);
                let is_broken = error.kind() == io::ErrorKind::InvalidData;
                Some(if is_broken { ZmqEnd::Broken(error.to_string()) } else { ZmqEnd::Ended })
            }
            ZmqEvent::Exited => Some(ZmqEnd::Ended),
        }
    }

    async fn drain(pump: &mut Pump<ZmqLink>, mut end: ZmqEnd) -> ZmqEnd {
        if let Some(child) = &pump.link.child {
            if let ZmqEnd::Broken(_) = end {
                kill_group(child.process.id(), Signal::KILL);
            }
            let is_gone = child.leave(pump.intent.stop.is_cancelled()).await;
            if !is_gone && !matches!(end, ZmqEnd::Broken(_)) {
                end = ZmqEnd::Broken("the kernel closed its connections".to_owned());
            }
        }
        // Remove the files first: an observer that sees the process gone must find its files gone
        // too.
        drop(pump.link.child.as_mut().and_then(|child| child.home.take()));
        pump.take_rest().await;
        end
    }

    fn unread(&self) -> Unread {
        self.unread
    }

    async fn bury(&mut self, end: ZmqEnd, intent: &Intent) -> Death {
        let is_forced = intent.is_forced();
        let known = match end {
            ZmqEnd::Broken(problem) => Some(DeathCause::Protocol { problem }),
            ZmqEnd::Left if is_forced => Some(DeathCause::LeftAlone),
            ZmqEnd::Left => Some(DeathCause::Shutdown),
            ZmqEnd::Ended if is_forced => Some(DeathCause::IgnoredInterrupt),
            ZmqEnd::Ended if self.child.is_some() && intent.stop.is_cancelled() => {
                Some(DeathCause::Shutdown)
            }
            ZmqEnd::Ended => None,
        };
        match self.child.take() {
            Some(child) => child.bury(known).await,
            None => Death { cause: known.unwrap_or(DeathCause::Unknown), ..Death::unknown() },
        }
    }

    fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(|child| child.process.id())
    }

    fn abandoned(&self) -> Option<ZmqEnd> {
        self.child.is_none().then_some(ZmqEnd::Left)
    }

    /// Collects the statuses of the kernel's children. The kernel's own status is collected at its
    /// end.
    fn end_cell(&mut self, intent: &Intent) {
        if let Some(child) = self.child.as_mut().filter(|_| !intent.stop.is_cancelled()) {
            child.look_around();
        }
    }

    fn interrupt(&mut self) -> bool {
        self.control.interrupt();
        // The handle asks for the fence when it posts the interrupt.
        false
    }

    fn reads(&self) -> u64 {
        self.lines.output.reads()
    }

    fn lose_reader(&self) {
        if let Some(child) = &self.child {
            kill_group(child.process.id(), Signal::KILL);
        }
    }
}

impl Pump<ZmqLink> {
    /// Notes a reset connection: a kernel that ended with unread bytes has not seen the last
    /// request.
    fn note_reset(&mut self, channel: Channel, error: &io::Error) {
        let is_reset = error.kind() == io::ErrorKind::ConnectionReset;
        // With a fence behind the request, the unread bytes may belong to the fence.
        let is_last = self.fence.is_none();
        let link = &mut self.link;
        let has_failed = is_reset || link.control.speaker.has_failed();
        if channel == Channel::Shell && is_last && has_failed {
            link.unread = Unread::LastRequest;
        }
    }

    /// Reads output from before the end. Only the wait for more is bounded: a slow listener still
    /// gets everything that is there, and a copy of the kernel that keeps the sockets open delays
    /// nothing.
    async fn take_rest(&mut self) {
        if self.events.is_closed() {
            return;
        }
        while let Ok(read) = tokio::time::timeout(AFTERMATH, self.link.lines.shell.next()).await {
            match read {
                Ok(frames) => {
                    let incident = self.link.read(Channel::Shell, &frames);
                    self.take(incident).await;
                }
                Err(error) => {
                    self.note_reset(Channel::Shell, &error);
                    break;
                }
            }
        }
        while let Ok(Some(Ok(frames))) =
            tokio::time::timeout(AFTERMATH, self.link.lines.output.next()).await
        {
            let incident = self.link.read(Channel::Iopub, &frames);
            self.take(incident).await;
        }
    }
}
