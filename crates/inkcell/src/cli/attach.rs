//! `inkcell attach`: a session seen from outside: what happened in it, then what happens.
//!
//! Owns the terminal meanwhile: keys that expand or leave, and when what is seen is brought up to date. What is shown is
//! made by `render/transcript`; what runs is not touched.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use inkcell_engine::api::{
    ArtifactForm, ArtifactFound, ArtifactPart, Request, Response, ResultReport, ResultRequest,
};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal;
use serde_json::json;

use super::heard::Heard;
use super::hosts::{self, Met};
use crate::args::Attach;
use crate::client::{Asked, Client, Step};
use crate::exit::{Exit, Failure};
use crate::host::{Answer, Ask, HostEvent};
use crate::output::Output;
use crate::render::execution::{Area, Expansion, Page};
use crate::render::image::{Gallery, Protocol, Surroundings, protocol};
use crate::render::repaint::{Repaint, Size};
use crate::render::transcript::Transcript;
use crate::render::transcript::piped::Piped;
use crate::settings::Settings;

/// How long nothing must come before what is remembered counts as seen.
const QUIET: Duration = Duration::from_millis(200);

/// How often a terminal is brought up to date.
const TICK: Duration = Duration::from_millis(50);

pub(crate) fn run(
    args: &Attach,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let met = hosts::one(args.which.session.as_deref(), settings)?;
    let client = Client::of_host(met.found.clone(), settings);
    let asked = client.ask(Ask::Watch { session: met.reference(), from: args.from })?;
    if output.is_json() {
        output.in_lines();
        return told(asked, args, output, |event| match event {
            HostEvent::Session { seq, event } => {
                Some(json!({"seq": seq, "event": event}).to_string())
            }
            HostEvent::Missed(missed) => Some(json!({"missed": missed}).to_string()),
            _ => None,
        });
    }
    let is_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if is_terminal && !args.no_follow {
        return watched(asked, &met, &client, settings);
    }
    let mut piped = Piped::new(met.session.cwd);
    let exit = told(asked, args, output, |event| match event {
        HostEvent::Session { event, .. } => Some(piped.text(event)),
        HostEvent::Missed(missed) => Some(piped.missed(*missed)),
        _ => None,
    })?;
    output.raw(piped.close().as_bytes()).map_err(Failure::of_output)?;
    Ok(exit)
}

/// Writes what happens down, line by line.
fn told(
    mut asked: Asked,
    args: &Attach,
    output: &mut Output,
    mut text: impl FnMut(&HostEvent) -> Option<String>,
) -> Result<Exit, Failure> {
    let handle = asked.handle();
    let signals = Heard::listen(move |_| handle.cancel())?;
    let wait = if args.no_follow { QUIET } else { TICK };
    loop {
        let event = match asked.next(Some(wait)) {
            Step::Event(event) => *event,
            Step::Nothing if args.no_follow => return Ok(Exit::Ok),
            Step::Nothing => {
                output.flush().map_err(Failure::of_output)?;
                continue;
            }
            Step::Done(done) => {
                return match (signals.first(), done) {
                    // Whoever leaves has seen what they wanted to see.
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

/// A terminal whose keys come one by one, for as long as this is held.
struct RawTerminal;

impl RawTerminal {
    fn enter() -> Result<RawTerminal, Failure> {
        let entered = terminal::enable_raw_mode();
        entered.map_err(|error| Failure::Io("cannot use the terminal", error))?;
        Ok(RawTerminal)
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        let _ = terminal::disable_raw_mode();
    }
}

/// Shows what happens on a terminal, until somebody leaves.
fn watched(
    mut asked: Asked,
    met: &Met,
    client: &Client,
    settings: &Settings,
) -> Result<Exit, Failure> {
    let handle = asked.handle();
    let signals = Heard::listen(move |_| handle.cancel())?;
    let about = Surroundings::of(|name| {
        settings.surroundings.get(name).map(|value| value.to_string_lossy().into_owned())
    });
    let colour = settings.may_colour();
    let protocol = if colour { protocol(&about, None) } else { Protocol::None };
    let window = rustix::termios::tcgetwinsize(rustix::stdio::stdout());
    let gallery = Gallery::new(protocol);
    let gallery = match window {
        Ok(window) => gallery.with_window(window.into()),
        Err(_) => gallery,
    };
    let mut transcript = Transcript::new(met.session.cwd.clone()).with_gallery(gallery);
    let mut repaint = Repaint::default();
    let mut expansion = Expansion::Collapsed;
    let mut pages = Pages::default();
    let _raw = RawTerminal::enter()?;
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
            Step::Nothing => None,
            Step::Done(done) => Some(done),
        };
        match key() {
            Some(Key::Expand) => {
                expansion = match expansion {
                    Expansion::Collapsed => Expansion::Expanded,
                    Expansion::Expanded => Expansion::Collapsed,
                };
            }
            Some(Key::Page(turn)) if expansion == Expansion::Expanded => pages.turn(turn),
            Some(Key::Page(_)) => {}
            Some(Key::Leave) => asked.handle().cancel(),
            None => {}
        }
        let wanted = transcript.artifact().filter(|_| expansion == Expansion::Expanded);
        if let Some(page) = pages.look(wanted, client, size().rows) {
            transcript.turn_to(page);
        }
        if done.is_some() || shown.elapsed() >= TICK {
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
            let mut bytes = repaint.paint(&settled, &live, size);
            if !colour {
                bytes = without_colours(&bytes);
            }
            let mut stdout = std::io::stdout().lock();
            let written = stdout.write_all(bytes.as_bytes()).and_then(|()| stdout.flush());
            written.map_err(Failure::of_output)?;
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

enum Key {
    Expand,
    Page(Turn),
    Leave,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    Back,
    On,
}

/// The pages of a stored output.
#[derive(Default)]
struct Pages {
    /// The output, and the page of it that is shown.
    shown: Option<(String, u64)>,
    /// The page that is wanted; the last at first.
    wanted: Option<u64>,
    lines_a_page: u64,
    total_lines: u64,
}

impl Pages {
    fn turn(&mut self, turn: Turn) {
        let Some((_, shown)) = &self.shown else { return };
        self.wanted = Some(match turn {
            Turn::Back => shown.saturating_sub(self.lines_a_page).max(1),
            Turn::On => (shown + self.lines_a_page).min(self.last()),
        });
    }

    /// The first line of the last page.
    fn last(&self) -> u64 {
        self.total_lines.saturating_sub(self.lines_a_page.saturating_sub(1)).max(1)
    }

    /// The page that is to be shown from now on, if that is another one.
    fn look(
        &mut self,
        artifact: Option<&str>,
        client: &Client,
        rows: usize,
    ) -> Option<Option<Page>> {
        let Some(artifact) = artifact else {
            self.wanted = None;
            return self.shown.take().map(|_| None);
        };
        let is_shown = self.shown.as_ref().is_some_and(|(id, first)| {
            id == artifact && self.wanted.is_none_or(|wanted| wanted == *first)
        });
        if is_shown {
            return None;
        }
        self.lines_a_page = u64::try_from(rows.saturating_sub(8)).unwrap_or(0).max(5);
        if self.total_lines == 0 || self.shown.as_ref().is_none_or(|(id, _)| id != artifact) {
            self.total_lines = stored_lines(artifact, (1, 1), client)?.total_lines;
        }
        let first = self.wanted.unwrap_or_else(|| self.last());
        let page = stored_lines(artifact, (first, first + self.lines_a_page - 1), client)?;
        (self.shown, self.wanted) = (Some((artifact.to_owned(), first)), None);
        Some(Some(page))
    }
}

/// Lines of a stored output, as its host has them.
pub(crate) fn stored_lines(
    artifact: &str,
    (first, last): (u64, u64),
    client: &Client,
) -> Option<Page> {
    let number = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
    let part = ArtifactPart::Lines { start: number(first), end: Some(number(last)) };
    let (id, form) = (artifact.to_owned(), ArtifactForm::Clean);
    let request = Request::Result(ResultRequest::Artifact { id, part, form });
    let Ok(Answer::Engine(Response::Result(ResultReport::Artifact(report)))) =
        client.answer(Ask::Engine(request))
    else {
        return None;
    };
    let ArtifactFound::Lines { pieces, total_lines, .. } = report.found else { return None };
    let text: Vec<String> =
        pieces.iter().map(|piece| String::from_utf8_lossy(&piece.bytes).into_owned()).collect();
    Some(Page { first_line: first, total_lines, text: text.concat() })
}

/// The next key, if one was pressed.
fn key() -> Option<Key> {
    if !event::poll(Duration::ZERO).unwrap_or(false) {
        return None;
    }
    let Ok(Event::Key(key)) = event::read() else { return None };
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('o') if is_ctrl => Some(Key::Expand),
        KeyCode::PageUp => Some(Key::Page(Turn::Back)),
        KeyCode::PageDown => Some(Key::Page(Turn::On)),
        KeyCode::Char('c' | 'd') if is_ctrl => Some(Key::Leave),
        KeyCode::Char('q') => Some(Key::Leave),
        _ => None,
    }
}

fn size() -> Size {
    let (columns, rows) = terminal::size().unwrap_or((80, 24));
    Size { columns: usize::from(columns).max(1), rows: usize::from(rows).max(2) }
}

/// The same without colours; what moves the cursor is ours and stays.
fn without_colours(bytes: &str) -> String {
    let mut out = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.find("\u{1b}[") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let end =
            from[2..].find(|c: char| c.is_ascii_alphabetic()).map_or(from.len(), |end| end + 3);
        let (sequence, after) = from.split_at(end);
        if !sequence.ends_with('m') {
            out.push_str(sequence);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}
