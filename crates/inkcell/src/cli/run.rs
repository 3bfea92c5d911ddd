//! `inkcell run`: the cells of a notebook run in a kernel of its own, their outputs in the file.
//!
//! Owns where the notebook comes from and goes to, and what a signal means. Running and saving are the engine's;
//! what is shown is `render/run`.

mod piped;
mod served;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use inkcell_engine::api::{
    CellChoice, CellKernel, ExecutionId, KernelMode, OnError, OnOpen, Problem, PythonReport,
    Reading, RunRequest, RunStart, Stamps, Unsaved,
};
use inkcell_engine::kernel::BackendKind;
use inkcell_engine::registry::OwnerId;
use inkcell_engine::{Engine, EngineError, Lent, NextStep, RunFiles, Tapped, opened_run, prepared};
use tokio::sync::{mpsc, watch};

use super::py::Verbose;
use super::signals::Signals;
use super::{py, python};
use crate::args::Run;
use crate::exit::{Exit, Failure};
use crate::log;
use crate::output::Output;
use crate::render::hint;
use crate::render::run::{Answer, Following, Progress};
use crate::settings::{Settings, size_policy};
use crate::setup::quoted;

use piped::Piped;
pub(super) use served::unfinished;
use served::{Place, Served};

/// The only caller of this engine.
const OWNER: OwnerId = OwnerId(0);

/// What becomes of outputs that are not in the file.
const KEPT: &str = "they are kept and go into it with the next command on it";

const NOT_KEPT: &str =
    "they could not be kept either; when that is mended, run it again with --resume";

/// How often what is shown is brought up to date.
const TICK: Duration = Duration::from_millis(100);

/// How many events may wait to be shown.
const QUEUE: usize = 64;

/// How long a reader that does not read is waited for after a signal.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The name of standard input and output.
const PIPE: &str = "-";

/// What a notebook that was piped in is called.
const STANDARD_INPUT: &str = "standard input";

/// Where the notebook is that is run.
enum Given {
    /// Where it was named.
    File,
    /// In a folder of ours, since it was piped in.
    Piped(Piped),
    /// In a folder of ours, since it is one of a server.
    Served(Arc<Served>),
}

impl Given {
    fn served(&self) -> Option<Arc<Served>> {
        match self {
            Given::Served(served) => Some(Arc::clone(served)),
            Given::File | Given::Piped(_) => None,
        }
    }

    /// The copy of ours, and what people call it.
    fn copy(&self) -> Option<(&Path, &str)> {
        match self {
            Given::File => None,
            Given::Piped(piped) => Some((&piped.path, STANDARD_INPUT)),
            Given::Served(served) => Some((&served.file, served.name())),
        }
    }
}

pub(crate) fn run(args: &Run, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let place = Place::of(args, settings)?;
    let piped = (args.path == PIPE).then(|| Piped::read(settings)).transpose()?;
    let is_shown = piped.is_some() && matches!(args.output.as_deref(), None | Some(PIPE));
    if args.output.as_deref() == Some(PIPE) && piped.is_none() {
        let problem = "- is for a notebook that was piped in; name a file";
        return Err(Failure::argument("--output", problem));
    }
    let following = match (is_shown, args.quiet, output.is_json()) {
        // The notebook itself is the answer.
        (true, _, true) => {
            let problem = "the notebook itself is written to standard output; give -o FILE";
            return Err(Failure::argument("--json", problem));
        }
        (_, true, false) => Following::Quiet,
        (_, _, true) => {
            output.in_lines();
            Following::Json
        }
        (_, false, false) => Following::Lines,
    };
    // What is shown may have to wait for its reader, and the run must not wait with it.
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = built.map_err(|error| Failure::Io("cannot start the runtime", error))?;
    runtime.block_on(async {
        let signals = Signals::listen()?;
        let given = match (piped, &place) {
            (Some(piped), _) => Given::Piped(piped),
            (None, None) => Given::File,
            (None, Some(place)) => tokio::select! {
                served = Served::fetch(place.clone(), args, settings, output) => Given::Served(Arc::new(served?)),
                () = signals.asked(1) => return Err(signals.first().map_or(Failure::Pipe, Failure::Signal)),
            },
        };
        let answer = match &given {
            Given::Piped(_) if is_shown => Answer::Piped,
            Given::Served(served) if served.whereabouts().is_some() => Answer::Served,
            _ => Answer::File,
        };
        let engine = match &place {
            Some(place) => python::engine_on(&args.kernel, settings, place.choice())?,
            None => python::engine(&args.kernel, settings)?,
        };
        let done = conduct(args, &given, (following, answer), (engine, signals), settings, output).await;
        let shown = match &given {
            Given::Piped(piped) if is_shown => piped.show(),
            _ => Ok(()),
        };
        let exit = done?;
        shown.map_err(Failure::of_output)?;
        Ok(exit)
    })
}

fn request(args: &Run, given: &Given, settings: &Settings) -> RunRequest {
    let not_zero = |time: Option<Duration>| time.filter(|time| !time.is_zero());
    let copy = given.copy().map(|(path, _)| path);
    let mut wanted = python::wanted(&args.python, &args.kernel, settings);
    if matches!(given, Given::Served(_)) {
        wanted.backend = Some(BackendKind::Gateway);
    }
    RunRequest {
        path: copy.map_or_else(|| args.path.clone(), |path| path.display().to_string()),
        output: args.output.clone().filter(|output| output != PIPE),
        cells: CellChoice {
            list: args.cells.clone(),
            from: args.from.clone(),
            to: args.to.clone(),
        },
        kernel: CellKernel::Same,
        on_error: if args.allow_errors { OnError::GoOn } else { OnError::Stop },
        timeout: not_zero(args.total_timeout),
        cell_timeout: not_zero(args.timeout),
        wait: None,
        // A notebook that was piped in has no folder, and that of one of a server is not here.
        cwd: match &args.python.cwd {
            Some(cwd) => Some(settings.cwd.join(cwd)),
            None => copy.map(|_| settings.cwd.clone()),
        },
        session: None,
        wanted,
        mode: KernelMode::PerCall,
        reading: Reading::Elsewhere,
        start: if args.resume { RunStart::Resume } else { RunStart::First },
        stamps: args.record.map_or(Stamps::Nothing, Stamps::from),
        on_open: match given {
            // Others have the server's notebook open, which was looked at, and not the copy.
            Given::Served(_) => OnOpen::Write,
            _ if args.force => OnOpen::Write,
            _ => OnOpen::Refuse,
        },
    }
}

async fn conduct(
    args: &Run,
    given: &Given,
    (following, answer): (Following, Answer),
    (engine, signals): (Engine, Signals),
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let request = request(args, given, settings);
    let files = RunFiles {
        notebooks: match given {
            Given::Piped(piped) => settings.notebooks.keeping_state_in(&piped.folder),
            Given::File | Given::Served(_) => settings.notebooks.clone(),
        },
        outputs: size_policy(settings),
        clock: SystemTime::now,
    };
    let opened = opened_run(request, &files).await.map_err(|error| refused(&error, given))?;
    let chosen = tokio::select! {
        chosen = engine.choose(opened.cwd(), opened.wanted()) => chosen?,
        () = signals.asked(1) => return Err(signals.first().map_or(Failure::Pipe, Failure::Signal)),
    };
    log::stage("interpreter chosen");
    let prepared = prepared(opened, &chosen, &files).await;
    let prepared = prepared.map_err(|error| refused(&error, given))?;
    if !args.quiet {
        let verbose = if args.verbose { Verbose::Yes } else { Verbose::No };
        py::tell_about(&chosen, (verbose, &args.kernel.env), &args.python, settings, output);
    }
    let mut progress = Progress::new(following);
    let began = Instant::now();
    let (events, told) = mpsc::channel(QUEUE);
    let id = engine.start_run(prepared, &chosen, OWNER, Some(events), Lent::default()).await?;
    let (away, put_away) = watch::channel(());
    // Beside what is shown, which may have to wait for its reader.
    let putting =
        tokio::spawn(put_back(given.served(), engine.clone(), id.clone(), signals.clone(), away));
    // Until everything is shown: the end may have to wait for its reader, too.
    let stopping = tokio::spawn(stop(engine.clone(), id.clone(), signals.clone(), put_away));
    let mut report = follow(&engine, &id, (told, &signals), &mut progress).await?;
    let put = putting.await.unwrap_or(Ok(()));
    if let Some(notebook) = &mut report.notebook {
        match given {
            Given::File => {}
            Given::Piped(_) => PIPE.clone_into(&mut notebook.path),
            Given::Served(served) => {
                if notebook.written == notebook.path {
                    served.name().clone_into(&mut notebook.written);
                }
                served.name().clone_into(&mut notebook.path);
            }
        }
    }
    if let Some(failure) = py::not_begun(&report) {
        return Err(failure);
    }
    let shown = progress.end(&report, began.elapsed(), output, answer);
    let whereabouts = match given {
        Given::Served(served) if put.is_ok() && following == Following::Lines => {
            served.whereabouts()
        }
        _ => None,
    };
    let shown = shown.and_then(|()| whereabouts.map_or(Ok(()), |line| output.line(&line)));
    // A signal is obeyed after this, and nothing is shown any more then.
    let shown = shown.and_then(|()| output.flush());
    stopping.abort();
    shown.map_err(Failure::of_output)?;
    let lost = unsaved(&report).map(|(problem, hint)| Failure::Told {
        exit: Exit::of_kind(problem.kind),
        kind: problem.kind,
        message: format!("the outputs are not in the file: {}", problem.message),
        hint: Some(hint.to_owned()),
    });
    match (signals.first(), lost.or(put.err())) {
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

/// Why a notebook is not run, in the words of this command: its `--force` is not for modes and owners, and a copy of
/// ours has another name.
fn refused(error: &EngineError, given: &Given) -> Failure {
    let (step, copy) = (error.next_step(), given.copy());
    let hint = match (&step, copy) {
        (Some(NextStep::MakeWritable(path)), _) => Some(format!(
            "make it writable (chmod u+w {}), or write to another file with -o",
            quoted(path)
        )),
        (Some(NextStep::WriteElsewhere), _) => {
            Some("run as the owner of the file, or write to another file with -o".to_owned())
        }
        // There is nothing to be made, looked at or waited for.
        (Some(NextStep::ReplaceEmpty | NextStep::TryIfSaving), Some(_)) => None,
        _ => hint::of(error),
    };
    let (mut message, mut hint) = (error.to_string(), hint);
    if let Some((path, name)) = copy {
        let path = path.display().to_string();
        message = message.replace(&path, name);
        hint = hint.filter(|hint| !hint.contains(&path));
    }
    Failure::Told { exit: Exit::of_kind(error.kind()), kind: error.kind(), message, hint }
}

/// Why the file does not have the outputs, and what becomes of them.
fn unsaved(report: &PythonReport) -> Option<(&Problem, &'static str)> {
    report.notebook.as_ref()?.unsaved().map(|(outputs, problem)| match outputs {
        Unsaved::Kept => (problem, KEPT),
        Unsaved::Lost => (problem, NOT_KEPT),
    })
}

/// Runs it to its end, showing how far it is.
async fn follow(
    engine: &Engine,
    id: &ExecutionId,
    (mut told, signals): (mpsc::Receiver<Tapped>, &Signals),
    progress: &mut Progress,
) -> Result<PythonReport, Failure> {
    let mut is_told = true;
    let mut tick = tokio::time::interval(TICK);
    let settled = engine.settled(id);
    tokio::pin!(settled);
    let report = loop {
        tokio::select! {
            // What was said last is shown before the end.
            biased;
            event = told.recv(), if is_told => match event {
                Some((_, event)) => progress.event(&event),
                None => is_told = false,
            },
            report = &mut settled => break report?,
            _ = tick.tick() => {
                let report = engine.result(id, Duration::ZERO).await?;
                if signals.first().is_some() {
                    progress.stop();
                }
                // Somebody who does not read any more does not stop the run.
                drop(progress.tick(&report));
            }
        }
    };
    engine.shutdown().await;
    Ok(report)
}

/// Gives a server its notebook back when the run is over, however it ended.
async fn put_back(
    served: Option<Arc<Served>>,
    engine: Engine,
    id: ExecutionId,
    signals: Signals,
    away: watch::Sender<()>,
) -> Result<(), Failure> {
    let Some(served) = served else { return Ok(()) };
    // Also a run that cannot be asked about may have saved something.
    let _ = engine.settled(&id).await;
    let done = served.put_back(&signals).await;
    drop(away);
    done
}

/// Takes the run back when a signal asks for it, the second time by force. Somebody who does not read what is shown
/// holds up nothing then: everything is saved, and the process ends.
async fn stop(
    engine: Engine,
    id: ExecutionId,
    signals: Signals,
    mut put_away: watch::Receiver<()>,
) {
    signals.asked(1).await;
    // A run that is over has nothing to be taken back.
    let _ = engine.cancel(&id);
    tokio::select! {
        _ = engine.settled(&id) => {}
        () = signals.asked(2) => {
            let _ = engine.cancel(&id);
            let _ = engine.settled(&id).await;
        }
    }
    // Whoever puts it away says so by going away, and does not take long after a signal.
    let _ = put_away.changed().await;
    tokio::time::sleep(LAST_WORDS).await;
    if let Some(signal) = signals.first() {
        let _ = crate::exit::end_by(signal);
    }
}
