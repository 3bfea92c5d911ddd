//! One execution, from the code to its end: events passed on, time kept, and the end as a value.
//!
//! Owns what happens when time is up, somebody cancels, or nobody listens. That user code fails is no
//! error here. It must not know where kernels come from or how events are shown.

use std::time::Duration;

use inkcell_kernel::{
    CodeRequest, Death, ExecEvent, ExecId, Force, Kernel, KernelEvent, KernelEvents, Ladder,
    Launched, Outcome, PyError, Rung,
};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

mod climb;

use climb::{Climb, Why};

/// How long a listener that takes nothing is waited for once the code must stop. After that it counts as
/// stuck, and what it has no room for is not kept.
const STUCK: Duration = Duration::from_secs(1);

/// What Python code that wanted input fails with.
const REFUSED: &str = "StdinNotImplementedError";

/// How an execution ended. None of these is an error of inkcell.
#[derive(Clone, PartialEq, Debug)]
pub enum CellEnd {
    /// The code came to its end.
    Ok,
    /// With an exception nobody caught.
    PythonError(PyError),
    /// It took too long.
    TimedOut {
        /// The limit.
        after: Duration,
        /// What has become of the kernel.
        fate: KernelFate,
        /// Where the code was, when it said so.
        stopped: Option<PyError>,
    },
    /// The caller gave up.
    Cancelled {
        /// What has become of the kernel.
        fate: KernelFate,
        /// Where the code was, when it said so.
        stopped: Option<PyError>,
    },
    /// The listener went away, so that the code was stopped.
    Unheard {
        /// What has become of the kernel.
        fate: KernelFate,
    },
    /// The code wanted a line of input.
    InputRefused {
        /// The exception that this was to it, unless it caught it.
        error: Option<PyError>,
    },
    /// The kernel died during it.
    KernelDied {
        /// How.
        death: Death,
    },
}

/// What has become of a kernel whose code had to stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KernelFate {
    /// The code listened; the kernel can go on.
    Alive,
    /// It is gone.
    Ended {
        /// What was done last before it went.
        by: Rung,
        /// Its end.
        death: Death,
    },
    /// Everything was done and it is still there.
    NotEnded,
}

/// One execution that is over.
#[derive(Clone, PartialEq, Debug)]
pub struct Execution {
    /// How it ended.
    pub end: CellEnd,
    /// Bytes of output that a stuck listener did not take.
    pub undelivered_bytes: u64,
}

/// How long code may run, and what is done when it must stop.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// None for as long as it takes.
    pub timeout: Option<Duration>,
    /// What is done then.
    pub ladder: Ladder,
}

/// Stops an execution from outside.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    ask: CancellationToken,
    kill: CancellationToken,
}

impl Cancel {
    /// Asks the code to stop; the second time, ends its kernel at once.
    pub fn cancel(&self) {
        if self.ask.is_cancelled() {
            self.kill.cancel();
        }
        self.ask.cancel();
    }

    /// Returns once it was asked for the second time.
    pub async fn killed(&self) {
        self.kill.cancelled().await;
    }

    /// The token of the first time, for what is done before the code runs.
    pub fn token(&self) -> &CancellationToken {
        &self.ask
    }
}

/// Runs code to its end, whatever that is. One execution of a kernel is open at a time.
///
/// Every event goes to `listener`, apart from the end and the death. A listener without room holds the
/// code up, as a full pipe would. It does not hold up the end of the code's time: once the code must stop,
/// it is waited for a second, and what it does not take is counted and dropped.
pub async fn execute(
    launched: &mut Launched,
    request: CodeRequest,
    limits: Limits,
    cancel: &Cancel,
    listener: mpsc::Sender<KernelEvent>,
) -> Execution {
    let exec = request.exec;
    let Launched { kernel, events } = launched;
    // A kernel that is gone says so by its last event.
    let _ = kernel.execute(request);
    let deadline = limits.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let run = Run {
        kernel: kernel.as_mut(),
        events,
        exec,
        climb: Climb::new(limits.ladder),
        outbox: Outbox::new(listener),
        wanted_input: false,
    };
    run.drive(deadline, limits.timeout.unwrap_or_default(), cancel).await
}

struct Run<'a> {
    kernel: &'a mut dyn Kernel,
    events: &'a mut KernelEvents,
    exec: ExecId,
    climb: Climb,
    outbox: Outbox,
    wanted_input: bool,
}

/// What an execution waits for.
enum Woke {
    Event(Option<KernelEvent>),
    Moved(Heard),
    Cancelled,
    Hurried,
    TimedOut,
    Rung,
    Stuck,
}

impl Run<'_> {
    async fn drive(
        mut self,
        deadline: Option<Instant>,
        after: Duration,
        cancel: &Cancel,
    ) -> Execution {
        loop {
            let is_climbing = self.climb.is_on();
            let is_waiting = self.outbox.waiting.is_some();
            let is_hurried = self.climb.is_hurried();
            let stuck = if is_climbing { self.outbox.stuck_at() } else { None };
            let woke = tokio::select! {
                event = self.events.next(), if !is_waiting => Woke::Event(event),
                heard = self.outbox.moved(), if !is_climbing || is_waiting => Woke::Moved(heard),
                () = cancel.ask.cancelled(), if !is_climbing => Woke::Cancelled,
                () = cancel.kill.cancelled(), if !is_hurried => Woke::Hurried,
                () = at(deadline), if !is_climbing => Woke::TimedOut,
                () = at(self.climb.due()) => Woke::Rung,
                () = at(stuck) => Woke::Stuck,
            };
            let end = match woke {
                Woke::Event(event) => self.event(event),
                Woke::Moved(Heard::Room) => None,
                Woke::Moved(Heard::Gone) => self.begin(Why::Unheard),
                Woke::Cancelled => self.begin(Why::Cancelled),
                Woke::TimedOut => self.begin(Why::TimedOut),
                Woke::Hurried => {
                    self.climb.hurry(Why::Cancelled, Instant::now());
                    None
                }
                Woke::Rung => self.climb_on(),
                Woke::Stuck => {
                    self.outbox.give_up();
                    None
                }
            };
            if let Some(end) = end {
                let end = self.end(end, after);
                return Execution { end, undelivered_bytes: self.outbox.undelivered_bytes };
            }
        }
    }

    fn begin(&mut self, why: Why) -> Option<Last> {
        self.climb.begin(why, Instant::now());
        None
    }

    /// Does what is due; the last rung is the end.
    fn climb_on(&mut self) -> Option<Last> {
        // A kernel that is gone already says so by its last event.
        let _ = match self.climb.step(Instant::now())? {
            Rung::Interrupt => self.kernel.interrupt(),
            Rung::Terminate => self.kernel.force(Force::Terminate),
            Rung::Kill => self.kernel.force(Force::Kill),
            Rung::Answer => return Some(Last::Nothing),
        };
        None
    }

    fn event(&mut self, event: Option<KernelEvent>) -> Option<Last> {
        match event {
            Some(KernelEvent::Exec { exec, event: ExecEvent::Finished(outcome) }) => {
                // The end of an execution before this one would be late; it is not ours.
                return (exec == self.exec).then_some(Last::Finished(outcome));
            }
            Some(KernelEvent::Died(death)) => return Some(Last::Died(death)),
            None => {
                return Some(Last::Died(Death::unknown()));
            }
            Some(event) => {
                if let KernelEvent::Exec { exec, event: ExecEvent::InputRequested { .. } } = &event
                {
                    self.wanted_input = true;
                    let _ = self.kernel.reply_input(*exec, String::new());
                }
                self.outbox.put(event);
            }
        }
        None
    }

    fn end(&self, last: Last, after: Duration) -> CellEnd {
        if let Some(why) = self.climb.why() {
            let (fate, stopped) = match last {
                Last::Finished(Outcome::Error(error)) => (KernelFate::Alive, Some(error)),
                Last::Finished(_) => (KernelFate::Alive, None),
                Last::Died(death) => (KernelFate::Ended { by: self.climb.last(), death }, None),
                Last::Nothing => (KernelFate::NotEnded, None),
            };
            return match why {
                Why::TimedOut => CellEnd::TimedOut { after, fate, stopped },
                Why::Cancelled => CellEnd::Cancelled { fate, stopped },
                Why::Unheard => CellEnd::Unheard { fate },
            };
        }
        match last {
            Last::Died(death) => CellEnd::KernelDied { death },
            Last::Finished(Outcome::Error(error)) if error.name == REFUSED => {
                CellEnd::InputRefused { error: Some(error) }
            }
            Last::Finished(outcome) if self.wanted_input => CellEnd::InputRefused {
                error: match outcome {
                    Outcome::Error(error) => Some(error),
                    Outcome::Ok | Outcome::Aborted => None,
                },
            },
            Last::Finished(Outcome::Error(error)) => CellEnd::PythonError(error),
            Last::Finished(Outcome::Ok | Outcome::Aborted) | Last::Nothing => CellEnd::Ok,
        }
    }
}

/// The last an execution had to say.
enum Last {
    Finished(Outcome),
    Died(Death),
    Nothing,
}

/// What a listener did.
enum Heard {
    Room,
    Gone,
}

/// What goes to the listener: at most one event waits here for room there.
struct Outbox {
    listener: mpsc::Sender<KernelEvent>,
    waiting: Option<(KernelEvent, Instant)>,
    gave_up: bool,
    undelivered_bytes: u64,
}

impl Outbox {
    fn new(listener: mpsc::Sender<KernelEvent>) -> Outbox {
        Outbox { listener, waiting: None, gave_up: false, undelivered_bytes: 0 }
    }

    fn put(&mut self, event: KernelEvent) {
        match self.listener.try_send(event) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(event)) if !self.gave_up => {
                self.waiting = Some((event, Instant::now()));
            }
            Err(error) => self.drop_event(&error.into_inner()),
        }
    }

    /// Returns when what waited is gone, or when the listener is. Cancel-safe.
    async fn moved(&mut self) -> Heard {
        if self.waiting.is_none() {
            self.listener.closed().await;
            return Heard::Gone;
        }
        let Ok(permit) = self.listener.reserve().await else {
            self.give_up();
            return Heard::Gone;
        };
        if let Some((event, _)) = self.waiting.take() {
            permit.send(event);
        }
        Heard::Room
    }

    fn stuck_at(&self) -> Option<Instant> {
        self.waiting.as_ref().map(|(_, since)| *since + STUCK)
    }

    /// From here on only what there is room for is delivered.
    fn give_up(&mut self) {
        self.gave_up = true;
        if let Some((event, _)) = self.waiting.take() {
            self.drop_event(&event);
        }
    }

    fn drop_event(&mut self, event: &KernelEvent) {
        let (KernelEvent::Exec { event, .. } | KernelEvent::Orphan(event)) = event else { return };
        if let ExecEvent::Stream { data, .. } = event {
            self.undelivered_bytes += data.len() as u64;
        }
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
