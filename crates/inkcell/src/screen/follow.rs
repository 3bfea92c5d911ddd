//! One call, followed to its end by whoever watches it.
//!
//! Owns the order: events are shown, questions are asked and answered, a wish to stop is passed on. It must not know how
//! anything looks, or who runs the code.

use std::time::Duration;

use inkcell_engine::kernel::{ExecEvent, InputReply};

use crate::client::{Asked, Step};
use crate::exit::Failure;
use crate::host::{Answer, HostEvent, PythonDone, Silence, Silent};

/// How often a watcher is asked what it wants while nothing happens.
const TICK: Duration = Duration::from_millis(50);

/// How long the host is listened to between two looks at what is typed.
const GLANCE: Duration = Duration::from_millis(1);

/// After so many events the host is told that there is room again.
const TOLD_EVERY: usize = 16;

/// What became of a question to whoever types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reply {
    Given(InputReply),
    /// Somebody does not want to answer: the cell is to stop.
    Interrupted,
    /// The question is not asked any more.
    Overtaken,
}

/// Whether what is typed can be seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Echo {
    Shown,
    Hidden,
}

/// Whether the code that runs may go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wish {
    GoOn,
    /// It is to stop.
    Stop,
}

/// Whoever watches code run: a terminal, a pipe, or a test.
pub(crate) trait Watcher {
    /// Something happened.
    fn event(&mut self, event: HostEvent) -> Result<(), Failure>;

    /// Is called again and again while code runs, also when nothing happens.
    fn look(&mut self) -> Result<Wish, Failure>;

    /// The code wants a line; `is_wanted` says whether it still does, and is to be asked now and then.
    fn ask(
        &mut self,
        prompt: &str,
        echo: Echo,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, Failure>;
}

/// Follows a call to its end. `seen` gets every event that code makes, before it is shown.
pub(crate) fn follow(
    mut asked: Asked,
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
                shown += usize::from(takes_room(&event));
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
            handle.shown(std::mem::take(&mut shown));
        }
        if watcher.look()? == Wish::Stop {
            handle.cancel();
            stops += 1;
            if stops > 1 {
                silence = found.as_ref().map(Silence::of);
            }
        }
        // A host that is stopped takes nothing back, and is left.
        if let (Some(found), true) = (&found, silence.as_mut().is_some_and(Silence::is_over)) {
            return Err(Silent::of(found).failure());
        }
    }
}

/// Whether the host counts it as something that has to be shown.
fn takes_room(event: &HostEvent) -> bool {
    matches!(
        event,
        HostEvent::Exec { .. }
            | HostEvent::Orphan { .. }
            | HostEvent::Notice { .. }
            | HostEvent::Died { .. }
    )
}
