//! Cells of a notebook that run for a client of a host.
//!
//! Owns the reports to the client: progress, not every event. A client that does not listen, or goes away, holds
//! nothing up. The engine runs and saves. The last line of output is picked out of the stream here, so that the stream
//! need not be sent; the client's fold of the call takes it as news.

use std::time::{Duration, SystemTime};

use inkcell_engine::api::{CellReport, PythonReport};
use inkcell_engine::journal::{JournalItem, Seq, Watch};
use inkcell_engine::kernel::ExecEvent;
use inkcell_engine::{
    CHEAP_SAVE, CallEvent, CallOptions, EngineError, NextStep, RunFiles, opened_run, prepared,
};
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior};

use super::answer::Caller;
use super::frames::{Detachment, FromHost, HostEvent, PythonDone, RunAsk};
use super::python::about;
use super::talk::{Host, Life, Talk};
use crate::app::python::ChoiceOrigin;
use crate::exit::Failure;
use crate::log;
use crate::settings::size_policy;
use crate::setup::quoted;
use crate::words;
use crate::words::step::Audience;

/// The interval of progress reports to a client.
const TICK: Duration = Duration::from_millis(100);

pub(super) async fn answer(
    host: &Host,
    caller: &Caller,
    ask: RunAsk,
    talk: Talk,
) -> Result<PythonDone, Failure> {
    let RunAsk { request, kernel, state, copy_of, attention, detached, copied_from, shows_outputs } =
        ask;
    let (engine, settings) = (&caller.engine, &caller.settings);
    let path = request.path.clone();
    let refused = |error: EngineError| refused(&error, &path, copy_of.as_deref());
    let named = ChoiceOrigin::of(request.wanted.interpreter.as_deref());
    let notebooks = match &state {
        Some(folder) => settings.notebooks.keeping_state_in(folder),
        None => settings.notebooks.clone(),
    };
    let files = RunFiles {
        notebooks,
        outputs: size_policy(settings),
        clock: SystemTime::now,
        cheap_save: CHEAP_SAVE,
    };
    let output = request.output.clone();
    let opened = opened_run(request, &files).await.map_err(&refused)?;
    if let Some(output) = &output {
        files.notebooks.make_folder_of(output).map_err(&refused)?;
    }
    let choose = async {
        let resolved = engine.resolve(&opened.session_ref(), opened.mode()).await?;
        match &copied_from {
            Some(session) => engine.copying(resolved.chosen, session).await,
            None => Ok(resolved.chosen),
        }
    };
    let chosen = talk.unless_given_up(choose).await?;
    log::stage("interpreter chosen");
    let prepared = prepared(opened, &chosen, &files).await.map_err(&refused)?;
    for line in about(&chosen, (attention, &kernel), named, settings) {
        talk.tell(HostEvent::Aside(line)).await;
    }
    let owner = host.new_owner();
    let began = Instant::now();
    let call = engine.submit(prepared.on(&chosen), CallOptions::of(owner)).await?;
    let mut seen = call.report();
    let done = |report| PythonDone { report, took: began.elapsed(), python: Value::Null };
    if detached == Detachment::Yes {
        host.engine.release(owner);
        return Ok(done(seen));
    }
    talk.tell(HostEvent::Began(Box::new(seen.clone()))).await;
    let mut watch = call.watch(Seq(0));
    let mut line = LastLine::default();
    let mut times = 0;
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let settled = call.settled();
    let outputs = pass_on(call.watch(Seq(0)), &talk);
    tokio::pin!(settled, outputs);
    let mut is_passed_on = !shows_outputs;
    let report = loop {
        tokio::select! {
            biased;
            report = &mut settled => break report,
            () = talk.cancelled(times + 1), if times < 2 => {
                times += 1;
                // A run that is over has nothing to cancel.
                call.cancel();
            }
            () = line.hear(&mut watch) => {}
            () = &mut outputs, if !is_passed_on => is_passed_on = true,
            _ = tick.tick() => {
                let now = call.report();
                if tell_news(&talk, &mut seen, &now) {
                    line.tell(&talk);
                }
            }
        }
    };
    host.engine.release(owner);
    if host.life == Life::OneCall {
        host.engine.shutdown().await;
    }
    if !is_passed_on {
        outputs.await;
    }
    Ok(done(report))
}

/// Sends the client the outputs of all cells. A client that reads slowly falls behind, and holds nothing else up.
async fn pass_on(mut watch: Watch<CallEvent>, talk: &Talk) {
    while let Some(item) = watch.next().await {
        match item {
            JournalItem::Entry(_, (cell, event)) if is_output(&event) => {
                talk.tell(HostEvent::Exec { cell, event }).await;
            }
            JournalItem::Entry(..) => {}
            JournalItem::Gap { missed } => talk.tell(HostEvent::Missed(missed)).await,
        }
    }
}

fn is_output(event: &ExecEvent) -> bool {
    matches!(
        event,
        ExecEvent::Stream { .. }
            | ExecEvent::Display { .. }
            | ExecEvent::UpdateDisplay { .. }
            | ExecEvent::Result { .. }
    )
}

/// Reports the cells that have made progress in one message, if the client has room. The next report repeats what was
/// not sent, and the client gets everything at the end. Returns whether there was room.
fn tell_news(talk: &Talk, seen: &mut PythonReport, now: &PythonReport) -> bool {
    let cells = seen.cells.iter_mut().zip(&now.cells).enumerate();
    let changed: Vec<_> = cells.filter(|(_, (old, new))| !is_same(old, new)).collect();
    if changed.is_empty() {
        return true;
    }
    let Ok(room) = talk.events.try_reserve() else { return false };
    let take = |(index, (old, new)): (usize, (&mut CellReport, &CellReport))| {
        old.clone_from(new);
        (index, new.clone())
    };
    let changed = changed.into_iter().map(take).collect();
    room.send(FromHost::Event(Box::new(HostEvent::Cells(changed))));
    true
}

/// Returns whether a cell has nothing new to show.
fn is_same(old: &CellReport, new: &CellReport) -> bool {
    old.state == new.state && old.count == new.count && old.notebook == new.notebook
}

/// The last line of output.
#[derive(Default)]
struct LastLine {
    text: String,
    is_news: bool,
    is_over: bool,
}

impl LastLine {
    /// Takes the next event.
    async fn hear(&mut self, watch: &mut Watch<CallEvent>) {
        if self.is_over {
            std::future::pending::<()>().await;
        }
        match watch.next().await {
            Some(JournalItem::Entry(_, (_, ExecEvent::Started { .. }))) => {
                self.text.clear();
                self.is_news = true;
            }
            Some(JournalItem::Entry(_, (_, ExecEvent::Stream { data, .. }))) => {
                // A progress bar returns to the beginning of its line again and again.
                let text = String::from_utf8_lossy(&data);
                let mut lines = text.split(['\n', '\r']).filter(|line| !line.trim().is_empty());
                if let Some(line) = lines.next_back() {
                    self.text = line.chars().take(400).collect();
                    self.is_news = true;
                }
            }
            Some(_) => {}
            None => self.is_over = true,
        }
    }

    fn tell(&mut self, talk: &Talk) {
        if std::mem::take(&mut self.is_news) {
            let event = HostEvent::Line(self.text.clone());
            // Another line follows soon, so a lost one does not matter.
            let _ = talk.events.try_send(FromHost::Event(Box::new(event)));
        }
    }
}

/// The refusal to run a notebook, in the words of the command: its `--force` does not concern modes and owners, and
/// a copy of ours has another name.
fn refused(error: &EngineError, path: &str, copy_of: Option<&str>) -> Failure {
    let hint = match (error.next_step(), copy_of) {
        (Some(NextStep::MakeWritable(path)), _) => Some(words::run::make_writable(&quoted(path))),
        (Some(NextStep::WriteElsewhere), _) => Some(words::run::RUN_AS_OWNER.to_owned()),
        // These steps do not help here: no file can be created, inspected or waited for.
        (Some(NextStep::ReplaceEmpty | NextStep::TryIfSaving), Some(_)) => None,
        _ => Audience::Person.step_after(error),
    };
    let (mut message, mut hint) = (error.to_string(), hint);
    if let Some(name) = copy_of {
        message = message.replace(path, name);
        hint = hint.filter(|hint| !hint.contains(path));
    }
    Failure::new(error.kind(), message, hint)
}

#[cfg(test)]
mod tests {
    use inkcell_engine::api::State;
    use tokio::sync::{Semaphore, mpsc, watch};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::view::tests::samples::{call, cell, source};

    /// The client never sees the end of a cell without what the end decided about later cells.
    #[test]
    fn cells_that_change_together_are_told_together() {
        let (events, mut heard) = mpsc::channel(1);
        let (_cancel, cancels) = watch::channel(0);
        let (_reply, replies) = mpsc::unbounded_channel();
        let (room, gone) = (Semaphore::new(0).into(), CancellationToken::new());
        let talk = Talk { events, cancels, replies, room, gone };
        let cells = |states: [State; 3]| states.map(|state| cell(source("1"), state)).to_vec();
        let at = |states| call(State::Running, cells(states));
        let mut seen = at([State::Running, State::Queued, State::Queued]);
        let now = at([State::Done, State::NeverRun, State::Queued]);
        let later = at([State::Done, State::NeverRun, State::Running]);
        let same = seen.clone();
        assert!(tell_news(&talk, &mut seen, &same), "no news");
        assert!(tell_news(&talk, &mut seen, &now), "room for one message");
        assert!(!tell_news(&talk, &mut seen, &later), "no room");
        let mut indices = || match heard.try_recv() {
            Ok(FromHost::Event(event)) => match *event {
                HostEvent::Cells(cells) => cells.into_iter().map(|(index, _)| index).collect(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        };
        let first: Vec<usize> = indices();
        assert_eq!(first, [0, 1]);
        assert!(tell_news(&talk, &mut seen, &later), "what did not fit comes again");
        assert_eq!(indices(), [2]);
    }
}
