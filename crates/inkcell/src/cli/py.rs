//! `inkcell py`: runs code in a session that outlives the command, or in a kernel of its own, and shows its output
//! as it comes.
//!
//! Owns how long to wait for a reader at the end. `client` chooses the host; the engine runs and stops the code.

use std::io::{ErrorKind, IsTerminal};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use inkcell_engine::api::{
    CellKernel, CellSource, KernelMode, PythonReport, PythonRequest, Reading, State,
};
use inkcell_engine::kernel::InputMode;
use rustix::process::Signal;

use super::code;
use super::listener::{Listener, ShowState};
use super::signals::SignalThread;
use crate::app::python;
use crate::args::{Py, View};
use crate::client::hosts;
use crate::client::{AskHandle, Client, Exchange, Step, not_begun};
use crate::exit::{Exit, Failure};
use crate::host::{
    self, Answer, Ask, Attention, Detachment, HostAddress, HostEvent, PythonAsk, PythonDone,
    Silence, Silent,
};
use crate::output::{Output, Stream};
use crate::settings::{Profile, Settings};
use crate::term::screen::{self, Cells, Code, Keys, Later, Looks, Waker, asking};
use crate::view::blocks::Blocks;
use crate::view::call_json::CallOutputs;
use crate::view::ending::Summary;
use crate::view::execution::Execution;
use crate::view::live::{Live, Show, last_words};
use crate::view::paint::Colour;
use crate::view::reply::ReplyOnly;
use crate::words;

/// The least time to wait for a stalled reader at the end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How long to wait for standard error when the reader did not take the rest; it may be the same pipe.
const OTHER_STREAM: Duration = Duration::from_millis(300);

/// The interval at which signals are checked while the rest is shown.
const LOOK: Duration = Duration::from_millis(20);

/// A message for the main thread.
enum News {
    Aside(String),
    Asked,
    Done(Result<Box<PythonDone>, Failure>),
}

pub(crate) fn run(args: &Py, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let mut cells = code::of(args, settings)?;
    let timeout = args.timeout.or_else(|| settings.calls(Profile::CommandLine).timeout);
    let timeout = timeout.filter(|timeout| !timeout.is_zero());
    let cwd = python::working_folder(&args.python, settings)?;
    let named = args.session.as_deref().map(|given| hosts::named(given, settings)).transpose()?;
    let (session, folder) = named.unzip();
    // An explicit folder takes precedence over that of a named notebook.
    let folder = folder.flatten().filter(|_| args.python.cwd.is_none());
    let (news, heard) = mpsc::channel();
    let (asked, waker) = (news.clone(), Waker::default());
    let woken = waker.clone();
    // Before anything begins that would have to be stopped.
    let signals = SignalThread::listen(move |_| {
        woken.stop();
        drop(asked.send(News::Asked));
    })?;
    let whom = hosts::for_code((args.host, args.fresh), session.as_ref(), settings)?;
    whom.report_silent(output);
    if args.detach && !whom.client.is_remote() {
        let problem = words::code::DETACH_NEEDS_HOST;
        return Err(Failure::argument("--detach", problem));
    }
    let mode = match whom.client.is_remote() && !args.fresh {
        true => KernelMode::Session,
        false => KernelMode::PerCall,
    };
    if let (true, KernelMode::Session, Some(first)) = (args.reset, mode, cells.first_mut()) {
        first.kernel = CellKernel::Fresh;
    }
    let is_on_screen =
        args.view.is_none() && !output.is_json() && !args.detach && screen::is_drawn_on(settings);
    let view = args.view.unwrap_or(View::Stream);
    let is_streamed = view == View::Stream && !is_on_screen && !output.is_json();
    // On a terminal, a user can answer what the code asks.
    let input = match is_on_screen && std::io::stdin().is_terminal() {
        true => InputMode::Ask,
        false => InputMode::Refuse,
    };
    let wanted = python::wanted(&args.python, &args.kernel, settings);
    let request = PythonRequest {
        cells,
        session,
        cwd: whom.cwd.or(folder).unwrap_or(cwd),
        wanted,
        mode,
        timeout,
        wait: None,
        reading: match is_streamed && mode == KernelMode::PerCall {
            true => Reading::Elsewhere,
            false => Reading::default(),
        },
        input,
    };
    let (sources, works_in) = (request.cells.clone(), request.cwd.clone());
    let limit_from = if args.timeout.is_some() { "--timeout" } else { "python.timeout" };
    let ask = Ask::Python(PythonAsk {
        request,
        kernel: (&args.kernel).into(),
        limit_from: limit_from.to_owned(),
        attention: if args.verbose { Attention::Verbose } else { Attention::Usual },
        detached: if args.detach { Detachment::Yes } else { Detachment::No },
    });
    if is_on_screen {
        return on_screen(&sources, ask, whom.client, settings, (waker, &signals));
    }
    let asked = whom.client.ask(ask)?;
    let handle = asked.handle();
    let looks = Colour::when(settings.may_colour());
    let colour = Colour::when(settings.surroundings.has_colour(&std::io::stderr()));
    let show: Box<dyn Show> = match view {
        _ if output.is_json() => Box::new(CallOutputs::default()),
        View::Stream => Box::new(Live::new(looks)),
        View::Reply => Box::new(ReplyOnly),
        View::Blocks => {
            let colour = Colour::when(settings.surroundings.has_colour(&std::io::stdout()));
            let call = Execution::new(Vec::new()).with_timeout(timeout);
            let call = call.with_cwd(&works_in, &settings.cwd);
            let call = match colour {
                Colour::On => call.with_gallery(Looks::of(settings).gallery()),
                Colour::Off => call,
            };
            Box::new(Blocks::new(colour, call))
        }
    };
    let listener = Listener::start(show, handle.clone());
    let Listener { events, rest } = listener.map_err(Failure::of_thread)?;
    let began = Instant::now();
    let reader = std::thread::Builder::new().name("reader".to_owned());
    let reading = reader.spawn(move || read(asked, &events, &news));
    reading.map_err(Failure::of_thread)?;
    let limit = timeout.map(|timeout| began + timeout);
    let done = follow(&heard, &handle, output, (whom.client.found(), limit));
    let PythonDone { report, took, python } = match done {
        Ok(done) => *done,
        // A call that a signal cut short is not a failure of its own.
        Err(failure) => return Err(signals.first().map_or(failure, Failure::Signal)),
    };
    if args.detach {
        return detached(&report, output);
    }
    // A host of our own has ended its kernels before it answered, so nothing is left behind.
    drop(whom.client);
    let has_begun = report.cells.iter().any(|cell| cell.count.is_some());
    if let (Some(signal), false) = (signals.first(), has_begun) {
        return Err(Failure::Signal(signal));
    }
    if let Some(failure) = not_begun(&report) {
        return Err(failure);
    }
    let summary = Summary { report, took, python };
    let exit = summary.exit();
    let state = summary.report.state;
    let had_to_stop = matches!(state, State::TimedOut | State::Cancelled);
    let mut words = last_words(&summary, colour);
    let stopping = settings.python().ladder.rungs()[4].0;
    let limit = reading_limit(state, Instant::now(), limit, stopping);
    rest.end(summary);
    let shown = loop {
        match rest.wait(LOOK) {
            ShowState::All(shown) => break Some(shown),
            ShowState::NotYet if !had_to_stop && signals.first().is_some() => break None,
            ShowState::NotYet if limit.is_some_and(|limit| Instant::now() >= limit) => break None,
            ShowState::NotYet => {}
        }
    };
    if let Some(signal) = signals.first() {
        if shown.is_none() {
            Stream::stderr().write_within(words.as_bytes(), OTHER_STREAM);
        }
        return Err(Failure::Signal(signal));
    }
    match shown {
        Some(Ok(())) => Ok(exit),
        Some(Err(error)) if error.kind() == ErrorKind::BrokenPipe => {
            if state == State::Cancelled {
                // Code that was stopped halfway did not end well; other programs end by this signal.
                return Err(Failure::Signal(Signal::PIPE.as_raw()));
            }
            Stream::stderr().write_within(words.as_bytes(), OTHER_STREAM);
            Ok(exit)
        }
        Some(Err(error)) => Err(Failure::of_output(error)),
        // The reader took nothing; the rest of the output is dropped with the thread that holds it.
        None => {
            if exit != Exit::TimedOut {
                words.push_str(words::output::NOT_READ);
            }
            Stream::stderr().write_within(words.as_bytes(), OTHER_STREAM);
            Ok(Exit::TimedOut)
        }
    }
}

/// Runs code and shows it as at a prompt.
fn on_screen(
    sources: &[CellSource],
    ask: Ask,
    client: Client,
    settings: &Settings,
    (waker, signals): (Waker, &SignalThread),
) -> Result<Exit, Failure> {
    let later = if client.is_remote() { Later::Call } else { Later::Nothing };
    let keys = Keys::new(waker).map_err(Failure::of_terminal)?;
    let host = Box::new(asking(&client));
    let mut cells = Cells::new(keys, Looks::of(settings), Code::Shown, host).seen_later(later);
    let asked = client.ask(ask)?;
    cells.began(sources);
    let done = screen::follow(asked, &mut cells, |_| {});
    let summary = done.and_then(|PythonDone { report, took, python }| {
        let has_begun = report.cells.iter().any(|cell| cell.count.is_some());
        match (signals.first(), not_begun(&report)) {
            (Some(signal), _) if !has_begun => Err(Failure::Signal(signal)),
            (_, Some(failure)) => Err(failure),
            _ => Ok(Summary { report, took, python }),
        }
    });
    let shown = cells.ended(summary.as_ref().ok());
    // The terminal is restored before the wait for a kernel of our own.
    drop(cells);
    drop(client);
    match (signals.first(), summary) {
        // A call that a signal cut short is not a failure of its own.
        (Some(signal), _) => Err(Failure::Signal(signal)),
        (None, Ok(summary)) => shown.map(|()| summary.exit()),
        (None, Err(failure)) => Err(failure),
    }
}

/// Receives the host's messages: events of the code go to the thread that shows them, the rest to the main thread.
fn read(mut asked: Exchange, events: &mpsc::Sender<HostEvent>, news: &mpsc::Sender<News>) {
    let handle = asked.handle();
    let mut is_heard = true;
    loop {
        let said = match asked.next(None) {
            Step::Nothing => continue,
            Step::Event(event) => match *event {
                HostEvent::Aside(line) => News::Aside(line),
                event => {
                    if event.takes_room()
                        && events.send(event).is_err()
                        && std::mem::take(&mut is_heard)
                    {
                        // No thread receives the events any more, so end the call.
                        handle.cancel();
                    }
                    continue;
                }
            },
            Step::Done(Ok(Answer::Python(done))) => News::Done(Ok(done)),
            Step::Done(Ok(_)) => News::Done(Err(Failure::Pipe)),
            Step::Done(Err(refusal)) => News::Done(Err(refusal.into())),
        };
        let is_done = matches!(said, News::Done(_));
        if news.send(said).is_err() || is_done {
            return;
        }
    }
}

/// Waits for the end, and cancels the call when the user asks for it. A stopped host can neither cancel nor enforce
/// the time limit of the code, so it is abandoned.
fn follow(
    heard: &mpsc::Receiver<News>,
    handle: &AskHandle,
    output: &mut Output,
    (host, limit): (Option<&HostAddress>, Option<Instant>),
) -> Result<Box<PythonDone>, Failure> {
    let (mut asked, mut silence) = (0, None);
    loop {
        let may_be_left = host.is_some() && (asked > 1 || limit.is_some());
        let next = match may_be_left {
            false => heard.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
            true => heard.recv_timeout(host::LOOK),
        };
        match (next, host) {
            (Ok(News::Aside(line)), _) => output.aside(&line),
            (Ok(News::Asked), _) => {
                handle.cancel();
                asked += 1;
                if asked > 1 {
                    silence = host.map(Silence::of);
                }
            }
            (Ok(News::Done(done)), _) => return done,
            (Err(mpsc::RecvTimeoutError::Timeout), Some(host)) => {
                let is_late = limit.is_some_and(|limit| Instant::now() >= limit);
                if silence.is_none() && is_late && host.is_stopped() {
                    silence = Some(Silence::of(host));
                } else if silence.is_some() && asked < 2 && !host.is_stopped() {
                    // The host runs again, and enforces the time limit itself.
                    silence = None;
                } else if silence.as_mut().is_some_and(Silence::is_over) {
                    return Err(Silent::of(host).failure());
                }
            }
            (Err(_), _) => return Err(Failure::Pipe),
        }
    }
}

/// Shows a call that goes on by itself.
pub(super) fn detached(report: &PythonReport, output: &mut Output) -> Result<Exit, Failure> {
    let id = &report.execution.0;
    let shown = match output.is_json() {
        true => output.json(&serde_json::json!({"execution": id, "session": report.session})),
        false => {
            output.aside(&words::call::in_background(id));
            output.line(id)
        }
    };
    shown.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

/// When to stop waiting for a reader, if ever. `end` is the end of the code's time limit, and `stopping` how long
/// code may take to stop.
fn reading_limit(
    state: State,
    now: Instant,
    end: Option<Instant>,
    stopping: Duration,
) -> Option<Instant> {
    let soon = now + LAST_WORDS;
    match end {
        // The reader may come back for as long as code may take to stop.
        Some(end) if state == State::TimedOut => Some(soon.max(end + stopping)),
        _ if matches!(state, State::TimedOut | State::Cancelled) => Some(soon),
        Some(end) => Some(soon.max(end)),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-023: a reader gets as much time as the code, or as code takes to stop, and always a moment.
    #[test]
    fn a_reader_is_waited_for() {
        let now = Instant::now();
        let at = |seconds: u64| now + Duration::from_secs(seconds);
        let stopping = Duration::from_secs(30);
        let table = [
            (State::TimedOut, Some(at(0)), Some(at(30))),
            (State::TimedOut, None, Some(at(1))),
            (State::Cancelled, Some(at(600)), Some(at(1))),
            (State::Cancelled, None, Some(at(1))),
            (State::Done, Some(at(600)), Some(at(600))),
            (State::Done, Some(at(0)), Some(at(1))),
            (State::Done, None, None),
        ];
        for (state, end, wanted) in table {
            assert_eq!(reading_limit(state, now, end, stopping), wanted, "{state:?} {end:?}");
        }
    }
}
