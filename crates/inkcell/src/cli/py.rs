//! `inkcell py`: code run in a session that outlives the command, or in a kernel of its own, its output shown as it comes.
//!
//! Owns how long a reader is waited for at the end. Whom to ask is `client`'s; running and stopping are the engine's.

use std::io::{ErrorKind, IsTerminal};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use inkcell_engine::api::{
    CellKernel, CellSource, EndReport, KernelMode, PythonReport, PythonRequest, Reading, State,
};
use inkcell_engine::kernel::InputMode;
use rustix::process::Signal;

use super::heard::Heard;
use super::listener::{Listener, Shown};
use super::{code, hosts, python};
use crate::args::{Py, View};
use crate::client::{AskHandle, Asked, Client, Step};
use crate::exit::{Exit, Failure};
use crate::host::{
    self, Answer, Ask, Attention, Detached, Found, HostEvent, PythonAsk, PythonDone, Silence,
    Silent,
};
use crate::output::{Output, Stream};
use crate::render::blocks::Blocks;
use crate::render::ending::Summary;
use crate::render::execution::Execution;
use crate::render::hint;
use crate::render::live::{Colour, Live, Show, last_words};
use crate::render::recorded::Recorded;
use crate::render::reply::Replied;
use crate::screen::{self, Cells, Code, Keys, Later, Looks, Waker, asking};
use crate::settings::{Profile, Settings};

/// How long a reader that does not read is waited for at the end, at least.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How long standard error is waited for when nobody read the rest; it may be the same pipe.
const OTHER_STREAM: Duration = Duration::from_millis(300);

/// How often is looked whether somebody wants an end, while the rest is shown.
const LOOK: Duration = Duration::from_millis(20);

/// What the main thread hears of.
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
    // Whoever says where to work knows better than the name of a notebook.
    let folder = folder.flatten().filter(|_| args.python.cwd.is_none());
    let (news, heard) = mpsc::channel();
    let (asked, waker) = (news.clone(), Waker::default());
    let woken = waker.clone();
    // Before anything is begun that would have to be stopped.
    let signals = Heard::listen(move |_| {
        woken.stop();
        drop(asked.send(News::Asked));
    })?;
    let whom = hosts::for_code((args.host, args.fresh), session.as_ref(), settings)?;
    whom.report_silent(output);
    if args.detach && !whom.client.is_remote() {
        let problem = "code goes on in a host, and there is to be none here; leave this out, or set host.use to on";
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
    // Whoever sees what code asks can answer.
    let input = match is_on_screen && std::io::stdin().is_terminal() {
        true => InputMode::Ask,
        false => InputMode::Refuse,
    };
    let wanted = python::wanted_in(session.as_ref(), &args.python, &args.kernel, settings);
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
            false => Reading::Bounded,
        },
        input,
    };
    let (sources, works_in) = (request.cells.clone(), request.cwd.clone());
    let limit_from = if args.timeout.is_some() { "--timeout" } else { "python.timeout" };
    let ask = Ask::Python(PythonAsk {
        request,
        kernel: python::options(&args.kernel),
        limit_from: limit_from.to_owned(),
        attention: if args.verbose { Attention::Verbose } else { Attention::Usual },
        detached: if args.detach { Detached::Yes } else { Detached::No },
    });
    if is_on_screen {
        return on_screen(&sources, ask, whom.client, settings, (waker, &signals));
    }
    let asked = whom.client.ask(ask)?;
    let handle = asked.handle();
    let looks = if settings.may_colour() { Colour::On } else { Colour::Off };
    let colour = if std::io::stderr().is_terminal() { looks } else { Colour::Off };
    let show: Box<dyn Show> = match view {
        _ if output.is_json() => Box::new(Recorded::default()),
        View::Stream => Box::new(Live::new(looks)),
        View::Reply => Box::new(Replied),
        View::Blocks => {
            let colour = if std::io::stdout().is_terminal() { looks } else { Colour::Off };
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
    let Listener { events, rest } =
        listener.map_err(|error| Failure::Io("cannot start a thread", error))?;
    let began = Instant::now();
    let reader = std::thread::Builder::new().name("reader".to_owned());
    let reading = reader.spawn(move || read(asked, &events, &news));
    reading.map_err(|error| Failure::Io("cannot start a thread", error))?;
    let limit = timeout.map(|timeout| began + timeout);
    let done = follow(&heard, &handle, output, (whom.client.found(), limit));
    let PythonDone { report, took, python } = match done {
        Ok(done) => *done,
        // What a signal cut short is no failure of its own.
        Err(failure) => return Err(signals.first().map_or(failure, Failure::Signal)),
    };
    if args.detach {
        return detached(&report, output);
    }
    // A host of our own has ended its kernels before it answered; nothing of ours is left.
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
            Shown::All(shown) => break Some(shown),
            Shown::NotYet if !had_to_stop && signals.first().is_some() => break None,
            Shown::NotYet if limit.is_some_and(|limit| Instant::now() >= limit) => break None,
            Shown::NotYet => {}
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
        // Whoever should read did not; what is left is dropped with the thread that holds it.
        None => {
            if exit != Exit::TimedOut {
                words.push_str(
                    "error: nobody read the output in time; the rest of it was dropped\n",
                );
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
    (waker, signals): (Waker, &Heard),
) -> Result<Exit, Failure> {
    let later = if client.is_remote() { Later::Call } else { Later::Nothing };
    let keys = Keys::new(waker);
    let keys = keys.map_err(|error| Failure::Io("cannot use the terminal", error))?;
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
    // The terminal is given back before a kernel of our own is waited for.
    drop(cells);
    drop(client);
    match (signals.first(), summary) {
        // What a signal cut short is no failure of its own.
        (Some(signal), _) => Err(Failure::Signal(signal)),
        (None, Ok(summary)) => shown.map(|()| summary.exit()),
        (None, Err(failure)) => Err(failure),
    }
}

/// Takes what the host says: what code does goes to whoever shows it, the rest to the main thread.
fn read(
    mut asked: Asked,
    events: &mpsc::Sender<inkcell_engine::Tapped>,
    news: &mpsc::Sender<News>,
) {
    let handle = asked.handle();
    let mut is_heard = true;
    loop {
        let said = match asked.next(None) {
            Step::Nothing => continue,
            Step::Event(event) => match *event {
                HostEvent::Aside(line) => News::Aside(line),
                event => {
                    if let Some(event) = event.into_kernel()
                        && events.send(event).is_err()
                        && std::mem::take(&mut is_heard)
                    {
                        // Nobody hears what is said, so it need not be said.
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

/// Waits for the end, and cancels the call when the user asks for it. A host that is stopped does neither that nor
/// enforce the time limit of the code, so it is left.
fn follow(
    heard: &mpsc::Receiver<News>,
    handle: &AskHandle,
    output: &mut Output,
    (host, limit): (Option<&Found>, Option<Instant>),
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
                    // It goes on, and counts the time itself.
                    silence = None;
                } else if silence.as_mut().is_some_and(Silence::is_over) {
                    return Err(Silent::of(host).failure());
                }
            }
            (Err(_), _) => return Err(Failure::Pipe),
        }
    }
}

/// A call that goes on by itself.
pub(super) fn detached(report: &PythonReport, output: &mut Output) -> Result<Exit, Failure> {
    let id = &report.execution.0;
    let shown = match output.is_json() {
        true => output.json(&serde_json::json!({"execution": id, "session": report.session})),
        false => {
            output.aside(&format!("it runs in the background; see it with: inkcell result {id}"));
            output.line(id)
        }
    };
    shown.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

/// When a reader is waited for no longer, if ever. `end` is when the time of the code is over, and `stopping` how long
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

/// Why nothing was run, if that is so.
pub(crate) fn not_begun(report: &PythonReport) -> Option<Failure> {
    let end = report.cells.iter().find_map(|cell| cell.end.as_ref());
    let Some(EndReport::NoKernel(problem)) = end else { return None };
    let is_late = report.state == State::TimedOut;
    Some(Failure::Told {
        exit: if is_late { Exit::TimedOut } else { Exit::of_kind(problem.kind) },
        kind: problem.kind,
        message: problem.message.clone(),
        hint: problem.step.map(hint::of_step),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-023: a reader has as long as the code had, or as code takes to stop, and always a moment.
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
