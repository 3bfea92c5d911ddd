//! `inkcell attach`: follows a session from outside: its past events, then new ones.
//!
//! Owns the terminal meanwhile: keys that expand or leave, and when the view is updated. `view/transcript` renders
//! the events; the running code is not affected.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use serde_json::json;

use super::signals::SignalThread;
use crate::args::Attach;
use crate::client::hosts::{self, HostSession};
use crate::client::{Client, Exchange, Step};
use crate::exit::{Exit, Failure};
use crate::host::{Answer, Ask, HostEvent};
use crate::output::Output;
use crate::settings::Settings;
use crate::term::screen::{self, Key, Keys, Looks, Pages, Place, Waker, asking, size};
use crate::view::execution::{Area, Expansion};
use crate::view::paint::Repaint;
use crate::view::transcript::Transcript;
use crate::view::transcript::piped::PlainTranscript;

/// The interval at which a terminal is updated.
const TICK: Duration = Duration::from_millis(50);

/// The keys that leave, besides Ctrl-C and escape: q and Ctrl-D.
const LEAVE: [u8; 2] = [b'q', 4];

pub(crate) fn run(
    args: &Attach,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let met = hosts::one(args.which.session.as_deref(), settings)?;
    let client = Client::of_host(met.found.clone(), settings);
    let watch = Ask::Watch { session: met.reference(), from: args.from, only_past: args.no_follow };
    let asked = client.ask(watch)?;
    if output.is_json() {
        output.in_lines();
        return print_events(asked, output, |event| match event {
            HostEvent::Session { seq, event } => {
                Some(json!({"seq": seq, "event": event}).to_string())
            }
            HostEvent::Missed(missed) => Some(json!({"missed": missed}).to_string()),
            _ => None,
        });
    }
    let is_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if is_terminal && settings.can_draw() && !args.no_follow {
        return watched(asked, &met, &client, settings);
    }
    let mut piped = PlainTranscript::new(met.session.cwd);
    let exit = print_events(asked, output, |event| match event {
        HostEvent::Session { event, .. } => Some(piped.text(event)),
        HostEvent::Missed(missed) => Some(piped.missed(*missed)),
        _ => None,
    })?;
    output.raw(piped.close().as_bytes()).map_err(Failure::of_output)?;
    Ok(exit)
}

/// Writes events line by line.
fn print_events(
    mut asked: Exchange,
    output: &mut Output,
    mut text: impl FnMut(&HostEvent) -> Option<String>,
) -> Result<Exit, Failure> {
    let handle = asked.handle();
    let signals = SignalThread::listen(move |_| handle.cancel())?;
    loop {
        let event = match asked.next(Some(TICK)) {
            Step::Event(event) => *event,
            // The host does not confirm the end; it may be stopped.
            Step::Nothing if signals.times() > 1 => return Ok(Exit::Ok),
            Step::Nothing => {
                output.flush().map_err(Failure::of_output)?;
                continue;
            }
            Step::Done(done) => {
                return match (signals.first(), done) {
                    // A user who leaves early has seen enough.
                    (Some(_), _) | (None, Ok(_)) => Ok(Exit::Ok),
                    (None, Err(refusal)) => Err(refusal.into()),
                };
            }
        };
        let Some(text) = text(&event) else { continue };
        let shown = match output.is_json() {
            true => output.line(&text),
            false => output.raw(text.as_bytes()),
        };
        shown.map_err(Failure::of_output)?;
    }
}

/// Shows the session on a terminal, until the user leaves.
fn watched(
    mut asked: Exchange,
    met: &HostSession,
    client: &Client,
    settings: &Settings,
) -> Result<Exit, Failure> {
    let handle = asked.handle();
    let signals = SignalThread::listen(move |_| handle.cancel())?;
    let looks = Looks::of(settings);
    let mut transcript = Transcript::new(met.session.cwd.clone()).with_gallery(looks.gallery());
    let host = asking(client);
    let mut repaint = Repaint::default();
    let mut expansion = Expansion::Collapsed;
    let mut pages = Pages::default();
    let mut keys = Keys::new(Waker::default()).map_err(Failure::of_terminal)?;
    keys.watch();
    let mut shown = Instant::now();
    let done = loop {
        let done = match asked.next(Some(TICK)) {
            Step::Event(event) => {
                match *event {
                    HostEvent::Session { event, .. } => transcript.take(&event),
                    HostEvent::Missed(missed) => transcript.missed(missed),
                    _ => {}
                }
                None
            }
            // The host does not confirm the end; it may be stopped.
            Step::Nothing if signals.times() > 1 => Some(Ok(Answer::Nothing)),
            Step::Nothing => None,
            Step::Done(done) => Some(done),
        };
        if keys.is_to_suspend() {
            screen::write(&repaint.wipe(size()))?;
            keys.suspend();
        }
        let place = keys.check_terminal();
        if place != Place::InFront {
            // Other programs have written below the painted part.
            repaint = Repaint::default();
        }
        match keys.next() {
            Some(Key::Expand) => {
                expansion = expansion.toggled();
            }
            Some(Key::Page(turn)) if expansion == Expansion::Expanded => pages.turn(turn),
            Some(Key::Page(_)) => {}
            Some(Key::Stop) => asked.handle().cancel(),
            None => {}
        }
        if keys.typed().iter().any(|key| LEAVE.contains(key)) {
            asked.handle().cancel();
        }
        let wanted = transcript.artifact().filter(|_| expansion == Expansion::Expanded);
        if let Some(page) = pages.next_page(wanted, &host, size().rows) {
            transcript.turn_to(page);
        }
        if done.is_some() || (shown.elapsed() >= TICK && place != Place::Behind) {
            shown = Instant::now();
            let size = size();
            let area = Area { width: size.columns, expansion };
            if done.is_some() {
                transcript.close();
            }
            let settled = match done {
                Some(_) => transcript.settled(area),
                None => transcript.settled_before_last(area),
            };
            let live = transcript.frame(area);
            let (settled, live) = (looks.coloured(&settled), looks.coloured(&live));
            screen::write(&repaint.paint(&settled, &live, size))?;
        }
        if let Some(done) = done {
            break done;
        }
    };
    match (signals.first(), done) {
        (Some(_), _) | (None, Ok(_)) => Ok(Exit::Ok),
        (None, Err(refusal)) => Err(refusal.into()),
    }
}
