//! `inkcell run`: runs the cells of a notebook in a kernel of its own, and puts their outputs into the file.
//!
//! Owns where the notebook comes from and goes to, and the meaning of a signal. The engine runs and saves;
//! `view/run` shows.

mod again;
mod arguments;
mod batch;
mod inspect;
mod missing_module;
mod parameters;
mod piped;
mod served;
mod stopping;

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use inkcell_engine::GatewayChoice;
use inkcell_engine::api::{
    CellChoice, CellKernel, KernelMode, NeededCells, OnError, OnOpen, Problem, PythonReport,
    Reading, RunExtent, RunRequest, RunStart, SourceDisplay, Stamps,
};
use inkcell_engine::kernel::BackendKind;
use inkcell_engine::notebook::Parameters;
use inkcell_engine::registry::SessionName;

use super::py;
use super::signals::Signals;
use crate::app::python;
use crate::args::Run;
use crate::client::hosts::{self, Target};
use crate::client::{self, Client, Exchange, Step};
use crate::exit::{Exit, Failure};
use crate::host::{self, Ask, Attention, Detachment, HostEvent, Life, RunAsk};
use crate::output::Output;

use crate::settings::Settings;
use crate::view::paint::{Colour, Look};
use crate::view::run::{Advice, Answer, Following, Manner, Progress};
use crate::words;

pub(super) use batch::{Reports, write_report};
use piped::StdinNotebook;
pub(super) use served::unfinished;
use served::{FetchedNotebook, Place};
pub(super) use stopping::{RunLife, Stopping};

/// The interval at which the view is updated.
const TICK: Duration = Duration::from_millis(100);

/// The name of standard input and output.
const PIPE: &str = "-";

/// The name of a notebook from standard input.
const STANDARD_INPUT: &str = "standard input";

/// The place of the notebook that is run.
enum NotebookSource {
    /// The file that the command names.
    File,
    /// A folder of ours, for a notebook from standard input.
    Piped(StdinNotebook),
    /// A folder of ours, for a notebook from a server.
    Served(Arc<ServedRun>),
}

impl NotebookSource {
    fn served(&self) -> Option<Arc<ServedRun>> {
        match self {
            NotebookSource::Served(served) => Some(Arc::clone(served)),
            NotebookSource::File | NotebookSource::Piped(_) => None,
        }
    }

    /// Our copy, and the user's name for it.
    fn copy(&self) -> Option<(&Path, &str)> {
        match self {
            NotebookSource::File => None,
            NotebookSource::Piped(piped) => Some((&piped.path, STANDARD_INPUT)),
            NotebookSource::Served(served) => Some((&served.notebook.file, served.notebook.name())),
        }
    }
}

pub(crate) fn run(args: &Run, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let parameters = parameters::given(&args.parameters, &settings.cwd)?;
    if args.is_batch() {
        return batch::run(args, &parameters, settings, output);
    }
    let place = Place::of(args, settings)?;
    let piped = (args.path == PIPE).then(|| StdinNotebook::read(settings)).transpose()?;
    let is_shown = piped.is_some() && matches!(args.output.as_deref(), None | Some(PIPE));
    if args.output.as_deref() == Some(PIPE) && piped.is_none() {
        let problem = words::run::DASH_IS_PIPED;
        return Err(Failure::argument("--output", problem));
    }
    let is_shown = is_shown && !args.inspect;
    let following = match (is_shown, args.quiet, output.is_json()) {
        // The notebook itself is the answer.
        (true, _, true) => {
            let problem = words::run::NOTEBOOK_ON_STDOUT;
            return Err(Failure::argument("--json", problem));
        }
        (_, true, false) => Following::Quiet,
        (_, _, true) => {
            if !args.inspect {
                output.in_lines();
            }
            Following::Json
        }
        (_, false, false) => Following::Lines,
    };
    let given = match (piped, place) {
        (Some(piped), _) => NotebookSource::Piped(piped),
        (None, None) => NotebookSource::File,
        (None, Some(place)) => {
            NotebookSource::Served(ServedRun::fetch(place, args, settings, output)?)
        }
    };
    let answer = match &given {
        NotebookSource::Piped(_) if is_shown => Answer::Piped,
        NotebookSource::Served(served) if served.notebook.whereabouts().is_some() => Answer::Served,
        _ => Answer::File,
    };
    if args.inspect {
        return inspect::run(&args.path, &given, settings, output);
    }
    let asked = (&given, parameters);
    let done = conduct(args, asked, (following, answer), settings, output);
    let shown = match &given {
        NotebookSource::Piped(piped) if is_shown => piped.show(),
        _ => Ok(()),
    };
    let exit = done?;
    shown.map_err(Failure::of_output)?;
    Ok(exit)
}

/// A notebook of a server, and the connection to that server.
struct ServedRun {
    notebook: FetchedNotebook,
    runtime: tokio::runtime::Runtime,
    signals: Signals,
    choice: GatewayChoice,
}

impl ServedRun {
    fn fetch(
        place: Place,
        args: &Run,
        settings: &Settings,
        output: &mut Output,
    ) -> Result<Arc<ServedRun>, Failure> {
        let built =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = built.map_err(|error| Failure::Io(words::failure::START_RUNTIME, error))?;
        let choice = place.choice();
        let (notebook, signals) = runtime.block_on(async {
            let signals = Signals::listen()?;
            tokio::select! {
                served = FetchedNotebook::fetch(place, args, settings, output) => Ok((served?, signals.clone())),
                () = signals.asked(1) => Err(signals.first().map_or(Failure::Pipe, Failure::Signal)),
            }
        })?;
        Ok(Arc::new(ServedRun { notebook, runtime, signals, choice }))
    }

    /// Writes the notebook back to its server.
    fn put_back(&self) -> Result<(), Failure> {
        self.runtime.block_on(self.notebook.put_back(&self.signals))
    }
}

fn request(
    args: &Run,
    given: &NotebookSource,
    (session, folder): (Option<SessionName>, Option<PathBuf>),
    settings: &Settings,
) -> RunRequest {
    let not_zero = |time: Option<Duration>| time.filter(|time| !time.is_zero());
    let copy = given.copy().map(|(path, _)| path);
    let mut wanted = python::wanted(&args.python, &args.kernel, settings);
    if matches!(given, NotebookSource::Served(_)) {
        wanted.backend = Some(BackendKind::Gateway);
    }
    RunRequest {
        path: copy.map_or_else(|| args.path.clone(), |path| path.display().to_string()),
        output: None,
        cells: CellChoice {
            list: args.cells.clone(),
            from: args.from.clone(),
            to: args.to.clone(),
            side: None,
        },
        kernel: match args.is_kept() && args.fresh {
            true => CellKernel::Fresh,
            false => CellKernel::Same,
        },
        on_error: match (args.allow_errors, args.stop_on_error) {
            (true, _) => OnError::GoOn,
            (_, true) => OnError::Stop,
            _ => OnError::Usual,
        },
        needed: match (args.with_needed, args.without_needed) {
            (true, _) => NeededCells::RunFirst,
            (_, true) => NeededCells::LeaveOut,
            _ => NeededCells::MustHaveRun,
        },
        timeout: not_zero(args.total_timeout),
        cell_timeout: not_zero(args.timeout),
        wait: None,
        // A notebook from standard input has no folder, and that of a notebook from a server is not on this
        // machine.
        cwd: match &args.python.cwd {
            Some(cwd) => Some(settings.cwd.join(cwd)),
            None => folder.or_else(|| copy.map(|_| settings.cwd.clone())),
        },
        session,
        wanted,
        mode: if args.is_kept() { KernelMode::Session } else { KernelMode::PerCall },
        reading: if args.is_kept() { Reading::default() } else { Reading::Elsewhere },
        start: if args.resume { RunStart::Resume } else { RunStart::First },
        stamps: args.record.map_or(Stamps::Nothing, Stamps::from),
        parameters: Parameters::default(),
        on_open: match given {
            // Other users may have the server's notebook open, which was checked, but not our copy.
            NotebookSource::Served(_) => OnOpen::Write,
            _ if args.force => OnOpen::Write,
            _ => OnOpen::Refuse,
        },
        extent: if args.prepare_only { RunExtent::Preparation } else { RunExtent::Cells },
        sources: match args.report_mode {
            true => SourceDisplay::Hidden,
            false => SourceDisplay::AsBefore,
        },
    }
}

/// A message for the main thread.
enum News {
    Event(Box<HostEvent>),
    Done(Box<RunResults>),
}

/// The result of the run, and of writing the notebook back to its server.
type RunResults = (Result<Box<PythonReport>, Failure>, Result<(), Failure>);

fn conduct(
    args: &Run,
    (given, parameters): (&NotebookSource, Parameters),
    (following, answer): (Following, Answer),
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let named = args.session.as_deref().map(|given| hosts::named(given, settings)).transpose()?;
    let session = named.map(|(session, _)| session);
    let whom = match given {
        NotebookSource::Served(served) => {
            let engine = python::engine_on(settings, served.choice.clone())?;
            Target::new(Client::local(engine, settings, Life::OneCall)?)
        }
        _ if args.is_kept() && !settings.uses_host() => {
            let problem = words::session::KEPT_NEEDS_HOST;
            return Err(Failure::argument("--keep", problem));
        }
        _ if args.is_kept() => hosts::for_session(session.as_ref(), settings)?,
        _ => Target::new(Client::local(python::engine(settings)?, settings, Life::OneCall)?),
    };
    whom.report_silent(output);
    let output_file = batch::output(args, &parameters)?;
    let mut progress = Progress::new(manner(args, (following, answer), &parameters, settings));
    let life = whom.client.found().map_or(RunLife::Ours, |host| RunLife::Elsewhere(host.clone()));
    let ask = RunAsk {
        request: RunRequest {
            parameters,
            output: output_file,
            ..request(args, given, (session, whom.cwd), settings)
        },
        kernel: (&args.kernel).into(),
        state: match given {
            NotebookSource::Piped(piped) => Some(piped.folder.path().to_owned()),
            NotebookSource::File | NotebookSource::Served(_) => None,
        },
        copy_of: given.copy().map(|(_, name)| name.to_owned()),
        attention: match (args.quiet, args.verbose) {
            (true, _) => Attention::Quiet,
            (_, true) => Attention::Verbose,
            _ => Attention::Usual,
        },
        detached: if args.detach { Detachment::Yes } else { Detachment::No },
        copied_from: None,
        shows_outputs: args.log_output,
    };
    let stopping = Stopping::listen(life)?;
    let asked = whom.client.ask(Ask::Run(Box::new(ask)))?;
    stopping.can_cancel(asked.handle());
    let began = Instant::now();
    let (news, heard) = mpsc::channel();
    let (served, settled) = (given.served(), stopping.clone());
    let reading = std::thread::Builder::new().name("reader".to_owned());
    let reading = reading.spawn(move || read(asked, served, &settled, &news));
    reading.map_err(Failure::of_thread)?;
    let (done, put) = follow(&heard, &stopping, &mut progress, output);
    let mut report = match done {
        Ok(report) => *report,
        Err(failure) => return Err(stopping.signal().map_or(failure, Failure::Signal)),
    };
    if args.detach {
        stopping.is_shown();
        return py::detached(&report, output);
    }
    if let Some(notebook) = &mut report.notebook {
        match given {
            NotebookSource::File => {}
            NotebookSource::Piped(_) => PIPE.clone_into(&mut notebook.path),
            NotebookSource::Served(served) => {
                let name = served.notebook.name();
                if notebook.written == notebook.path {
                    name.clone_into(&mut notebook.written);
                }
                name.clone_into(&mut notebook.path);
            }
        }
    }
    if let Some(failure) = client::not_begun(&report) {
        return Err(failure);
    }
    let hint = missing_module::advice(&report, &settings.program_folders());
    let shown = progress.end(&report, began.elapsed(), hint.as_deref());
    let whereabouts = match given {
        NotebookSource::Served(served) if put.is_ok() && following == Following::Lines => {
            served.notebook.whereabouts()
        }
        _ => None,
    };
    let shown = shown.and_then(|()| whereabouts.map_or(Ok(()), |line| output.line(&line)));
    // After this a signal ends the process, and nothing more is shown.
    let shown = shown.and_then(|()| output.flush());
    stopping.is_shown();
    shown.map_err(Failure::of_output)?;
    let lost = unsaved(&report).map(|(problem, hint)| {
        Failure::new(problem.kind, words::file::not_in_file(problem), Some(hint.to_owned()))
    });
    match (stopping.signal(), lost.or(put.err())) {
        (Some(signal), lost) => {
            if let Some(Failure::Told { message, hint, .. }) = lost {
                output.aside(&format!("error: {message}; {}", hint.unwrap_or_default()));
            }
            Err(Failure::Signal(signal))
        }
        (None, Some(lost)) => Err(lost),
        (None, None) => Ok(Exit::of_state(report.state)),
    }
}

/// The streams that show the run, with their looks.
fn manner(
    args: &Run,
    (following, answer): (Following, Answer),
    parameters: &Parameters,
    settings: &Settings,
) -> Manner {
    let stderr = Look::of(std::io::stderr(), colour(settings));
    Manner {
        following,
        answer,
        stdout: Look::of(std::io::stdout(), colour(settings)),
        stderr,
        advice: match settings.is_in_ci() {
            true => Advice::Unwanted,
            false => Advice::Wanted { resume: again::resumed(args, settings) },
        },
        can_draw: settings.can_draw() && stderr.width.is_some(),
        shows_outputs: args.log_output,
        parameters: batch::as_json(parameters).into(),
        is_preparation: args.prepare_only,
    }
}

fn colour(settings: &Settings) -> Colour {
    if settings.may_colour() { Colour::On } else { Colour::Off }
}

/// Why the outputs are not in the file, and what happens to them.
pub(super) fn unsaved(report: &PythonReport) -> Option<(&Problem, &'static str)> {
    let (outputs, problem) = report.notebook.as_ref()?.unsaved()?;
    Some((problem, words::file::unsaved(outputs)))
}

/// Receives the host's messages, and writes a notebook back to its server after the run, however it ended: a
/// stalled reader does not delay that.
fn read(
    mut asked: Exchange,
    served: Option<Arc<ServedRun>>,
    stopping: &Stopping,
    news: &mpsc::Sender<News>,
) {
    loop {
        let done = match asked.next(None) {
            Step::Nothing => continue,
            Step::Event(event) => {
                // A main thread that no longer listens does not stop the run.
                let _ = news.send(News::Event(event));
                continue;
            }
            Step::Done(Ok(host::Answer::Python(done))) => Ok(Box::new(done.report)),
            Step::Done(Ok(_)) => Err(Failure::Pipe),
            Step::Done(Err(refusal)) => Err(refusal.into()),
        };
        // Even a run whose result is unknown may have saved something.
        let put = served.map_or(Ok(()), |served| served.put_back());
        let _ = news.send(News::Done(Box::new((done, put))));
        stopping.is_over();
        return;
    }
}

/// Follows the run to its end, and shows its progress.
fn follow(
    heard: &mpsc::Receiver<News>,
    stopping: &Stopping,
    progress: &mut Progress,
    output: &mut Output,
) -> RunResults {
    let mut shown = Instant::now();
    loop {
        match heard.recv_timeout(TICK) {
            Ok(News::Done(ended)) => return *ended,
            Ok(News::Event(event)) => match *event {
                HostEvent::Aside(line) => output.aside(&line),
                HostEvent::Missed(events) => output.aside(&words::run::missed_outputs(events)),
                event => event.news().into_iter().for_each(|news| progress.apply(news)),
            },
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return (Err(Failure::Pipe), Ok(())),
        }
        if shown.elapsed() >= TICK {
            shown = Instant::now();
            if stopping.signal().is_some() {
                progress.stop();
            }
            // A reader that is gone does not stop the run.
            drop(progress.tick());
        }
    }
}
