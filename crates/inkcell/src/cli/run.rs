//! `inkcell run`: the cells of a notebook run in a kernel of its own, their outputs in the file.
//!
//! Owns where the notebook comes from and goes to, and what a signal means. Running and saving are the engine's;
//! what is shown is `render/run`.

use std::fs::DirBuilder;
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use inkcell_engine::api::{
    CellChoice, CellKernel, ExecutionId, KernelMode, OnError, Problem, PythonReport, Reading,
    RunRequest, RunStart, Stamps, Unsaved,
};
use inkcell_engine::registry::OwnerId;
use inkcell_engine::{
    Engine, EngineError, Lent, NextStep, RunFiles, Tapped, opened_run, prepared, system_random,
};
use tokio::sync::mpsc;

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

pub(crate) fn run(args: &Run, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let piped = (args.path == PIPE).then(|| Piped::read(settings)).transpose()?;
    let is_shown = piped.is_some() && matches!(args.output.as_deref(), None | Some(PIPE));
    if args.output.as_deref() == Some(PIPE) && piped.is_none() {
        let problem = "- is for a notebook that was piped in; name a file";
        return Err(Failure::argument("--output", problem));
    }
    let answer = if is_shown { Answer::Piped } else { Answer::File };
    let request = request(args, piped.as_ref(), settings);
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
    let given = (args, piped.as_ref());
    let done = runtime.block_on(conduct(given, request, (following, answer), settings, output));
    let shown = piped.filter(|_| is_shown).map(|piped| piped.show());
    let exit = done?;
    shown.transpose().map_err(Failure::of_output)?;
    Ok(exit)
}

fn request(args: &Run, piped: Option<&Piped>, settings: &Settings) -> RunRequest {
    let not_zero = |time: Option<Duration>| time.filter(|time| !time.is_zero());
    RunRequest {
        path: piped.map_or_else(|| args.path.clone(), |piped| piped.path.display().to_string()),
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
        // A notebook that was piped in has no folder.
        cwd: match &args.python.cwd {
            Some(cwd) => Some(settings.cwd.join(cwd)),
            None => piped.map(|_| settings.cwd.clone()),
        },
        session: None,
        wanted: python::wanted(&args.python, &args.kernel, settings),
        mode: KernelMode::PerCall,
        reading: Reading::Elsewhere,
        start: if args.resume { RunStart::Resume } else { RunStart::First },
        stamps: args.record.map_or(Stamps::Nothing, Stamps::from),
    }
}

async fn conduct(
    (args, piped): (&Run, Option<&Piped>),
    request: RunRequest,
    (following, answer): (Following, Answer),
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let signals = Signals::listen()?;
    let files = RunFiles {
        notebooks: match piped {
            Some(piped) => settings.notebooks.keeping_state_in(&piped.folder),
            None => settings.notebooks.clone(),
        },
        outputs: size_policy(settings),
        clock: SystemTime::now,
    };
    let opened = opened_run(request, &files).await.map_err(|error| refused(&error, piped))?;
    let engine = python::engine(&args.kernel, settings)?;
    let chosen = tokio::select! {
        chosen = engine.choose(opened.cwd(), opened.wanted()) => chosen?,
        () = signals.asked(1) => return Err(signals.first().map_or(Failure::Pipe, Failure::Signal)),
    };
    log::stage("interpreter chosen");
    let prepared = prepared(opened, &chosen, &files).await;
    let prepared = prepared.map_err(|error| refused(&error, piped))?;
    if !args.quiet {
        let verbose = if args.verbose { Verbose::Yes } else { Verbose::No };
        py::tell_about(&chosen, (verbose, &args.kernel.env), &args.python, settings, output);
    }
    let mut progress = Progress::new(following);
    let began = Instant::now();
    let (events, told) = mpsc::channel(QUEUE);
    let id = engine.start_run(prepared, &chosen, OWNER, Some(events), Lent::default()).await?;
    // Until everything is shown: the end may have to wait for its reader, too.
    let stopping = tokio::spawn(stop(engine.clone(), id.clone(), signals.clone()));
    let mut report = follow(&engine, &id, (told, &signals), &mut progress).await?;
    if let (Some(_), Some(notebook)) = (piped, &mut report.notebook) {
        PIPE.clone_into(&mut notebook.path);
    }
    if let Some(failure) = py::not_begun(&report) {
        return Err(failure);
    }
    let shown = progress.end(&report, began.elapsed(), output, answer);
    // A signal is obeyed after this, and nothing is shown any more then.
    let shown = shown.and_then(|()| output.flush());
    stopping.abort();
    shown.map_err(Failure::of_output)?;
    let lost = unsaved(&report).map(|(problem, hint)| {
        (problem.kind, format!("the outputs are not in the file: {}", problem.message), hint)
    });
    match (signals.first(), lost) {
        (Some(signal), lost) => {
            if let Some((_, message, hint)) = lost {
                output.aside(&format!("error: {message}; {hint}"));
            }
            Err(Failure::Signal(signal))
        }
        (None, Some((kind, message, hint))) => {
            let hint = Some(hint.to_owned());
            Err(Failure::Told { exit: Exit::of_kind(kind), kind, message, hint })
        }
        (None, None) => Ok(Exit::of_state(report.state)),
    }
}

/// Why a notebook is not run, in the words of this command: it has no `--force`, and what was piped in has no name.
fn refused(error: &EngineError, piped: Option<&Piped>) -> Failure {
    let step = error.next_step();
    let hint = match (&step, piped) {
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
    if let Some(piped) = piped {
        let path = piped.path.display().to_string();
        message = message.replace(&path, STANDARD_INPUT);
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

/// Takes the run back when a signal asks for it, the second time by force. Somebody who does not read what is shown
/// holds up nothing then: everything is saved, and the process ends.
async fn stop(engine: Engine, id: ExecutionId, signals: Signals) {
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
    tokio::time::sleep(LAST_WORDS).await;
    if let Some(signal) = signals.first() {
        let _ = crate::exit::end_by(signal);
    }
}

/// A notebook that was piped in, in a folder that nobody else sees, with everything that is noted about it.
struct Piped {
    folder: PathBuf,
    path: PathBuf,
}

impl Piped {
    fn read(settings: &Settings) -> Result<Piped, Failure> {
        let failed = |error| Failure::Io("cannot keep the notebook that was piped in", error);
        if std::io::stdin().is_terminal() {
            let problem =
                "it is a terminal; pipe a notebook in, for example: inkcell run - < a.ipynb";
            return Err(Failure::argument(STANDARD_INPUT, problem));
        }
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|error| Failure::Io("cannot read standard input", error))?;
        let folder = settings.state_dir.join("piped").join(format!("{:016x}", system_random()));
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
        let piped = Piped { path: folder.join("notebook.ipynb"), folder };
        std::fs::write(&piped.path, bytes).map_err(failed)?;
        Ok(piped)
    }

    fn show(&self) -> std::io::Result<()> {
        let bytes = std::fs::read(&self.path)?;
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(&bytes)?;
        stdout.flush()
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        // It is ours alone, and of no more use.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
