//! A call, followed by a watcher until it ends.
//!
//! Owns the order: it shows events, passes on questions and replies, and passes on a request to stop. It must not know
//! how events look, or who runs the code.

use std::time::Duration;

use inkcell_engine::kernel::{ExecEvent, InputReply};

use crate::client::{Exchange, Step};
use crate::exit::Failure;
use crate::host::{Answer, HostEvent, PythonDone, Silence, Silent};

/// Time between two calls of [`Watcher::poll`] while no event comes.
const TICK: Duration = Duration::from_millis(50);

/// Time to listen to the host between two looks at the keyboard.
const GLANCE: Duration = Duration::from_millis(1);

/// Number of shown events after which the host is told that there is room for more.
const TOLD_EVERY: usize = 16;

/// Result of a question to the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reply {
    Given(InputReply),
    /// The user interrupted the question: stop the cell.
    Interrupted,
    /// The code no longer waits for this reply.
    Overtaken,
}

/// The visibility of typed text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Echo {
    Shown,
    Hidden,
}

/// The user's wish for the running code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wish {
    GoOn,
    /// Stop the code, as after Ctrl-C.
    Stop,
}

/// A watcher of running code: a terminal, a pipe, or a test.
pub(crate) trait Watcher {
    fn event(&mut self, event: HostEvent) -> Result<(), Failure>;

    /// Called repeatedly while code runs, even if no event comes.
    fn poll(&mut self) -> Result<Wish, Failure>;

    /// The code asks for a line. Call `is_wanted` now and then: it returns false once the code no longer waits.
    fn ask(
        &mut self,
        prompt: &str,
        echo: Echo,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, Failure>;
}

/// Follows a call until it ends. `seen` gets every event of the code before the watcher does.
pub(crate) fn follow(
    mut asked: Exchange,
    watcher: &mut (impl Watcher + ?Sized),
    mut seen: impl FnMut(&ExecEvent),
) -> Result<PythonDone, Failure> {
    let handle = asked.handle();
    let (mut early, mut shown) = (None, 0);
    let found = asked.found().cloned();
    let (mut stops, mut silence) = (0, None);
    loop {
        let step = early.take().unwrap_or_else(|| asked.next(Some(TICK)));
        let is_quiet = matches!(step, Step::Nothing);
        if !is_quiet && silence.is_some() {
            silence = found.as_ref().map(Silence::of);
        }
        match step {
            Step::Nothing => {}
            Step::Done(Ok(Answer::Python(done))) => return Ok(*done),
            Step::Done(Ok(_)) => return Err(Failure::Pipe),
            Step::Done(Err(refusal)) => return Err(refusal.into()),
            Step::Event(event) => {
                shown += usize::from(event.takes_room());
                if let HostEvent::Exec { event, .. } | HostEvent::Orphan { event, .. } = &*event {
                    seen(event);
                }
                let question = match &*event {
                    HostEvent::Exec {
                        event: ExecEvent::InputRequested { prompt, password },
                        ..
                    } => Some((prompt.clone(), *password)),
                    _ => None,
                };
                if let Some((prompt, is_hidden)) = question {
                    let echo = if is_hidden { Echo::Hidden } else { Echo::Shown };
                    let mut is_wanted = || match asked.next(Some(GLANCE)) {
                        Step::Nothing => true,
                        step => {
                            early = Some(step);
                            false
                        }
                    };
                    match watcher.ask(&prompt, echo, &mut is_wanted)? {
                        Reply::Given(reply) => handle.reply(reply),
                        Reply::Interrupted => handle.cancel(),
                        Reply::Overtaken => {}
                    }
                } else {
                    watcher.event(*event)?;
                }
            }
        }
        if shown >= TOLD_EVERY || (is_quiet && shown > 0) {
            handle.grant_room(std::mem::take(&mut shown));
        }
        if watcher.poll()? == Wish::Stop {
            handle.cancel();
            stops += 1;
            if stops > 1 {
                silence = found.as_ref().map(Silence::of);
            }
        }
        // A suspended host cannot take the cancellation, so leave it.
        if let (Some(found), true) = (&found, silence.as_mut().is_some_and(Silence::is_over)) {
            return Err(Silent::of(found).failure());
        }
    }
}
