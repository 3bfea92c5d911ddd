//! `inkcell run`: the cells of a notebook run in a kernel of its own, their outputs in the file.
//!
//! Owns where the notebook comes from and goes to, and what a signal means. Running and saving are the engine's;
//! what is shown is `render/run`.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use inkcell_engine::api::{
    CellChoice, CellKernel, KernelMode, OnError, PythonReport, Reading, RunRequest, RunStart,
    Stamps,
};
use inkcell_engine::kernel::EnvMode;
use inkcell_engine::registry::OwnerId;
use inkcell_engine::{
    Engine, EngineError, Lent, PreparedRun, RunFiles, Tapped, prepared, system_random,
};
use tokio::sync::mpsc;

use super::py::Verbose;
use super::signals::Signals;
use super::{py, python};
use crate::args::Run;
use crate::exit::{Exit, Failure};
use crate::log;
use crate::output::Output;
use crate::render::run::{Answer, Following, Progress};
use crate::settings::{Profile, Settings, anchored, engine_config, runner_config, size_policy};

/// The only caller of this engine.
const OWNER: OwnerId = OwnerId(0);

/// How often what is shown is brought up to date.
const TICK: Duration = Duration::from_millis(100);

/// How many events may wait to be shown.
const QUEUE: usize = 64;

/// The name of standard input and output.
const PIPE: &str = "-";

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
        (_, _, true) => Following::Json,
        (_, false, false) => Following::Lines,
    };
    let done =
        super::runtime()?.block_on(conduct(args, request, (following, answer), settings, output));
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
        interpreter: args.python.python.as_deref().map(|given| anchored(given, &settings.cwd)),
        mode: KernelMode::PerCall,
        reading: Reading::Elsewhere,
        start: if args.resume { RunStart::Resume } else { RunStart::First },
        stamps: args.record.map_or(Stamps::Nothing, Stamps::from),
    }
}

async fn conduct(
    args: &Run,
    request: RunRequest,
    (following, answer): (Following, Answer),
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let signals = Signals::listen()?;
    let files = RunFiles {
        notebooks: settings.notebooks.clone(),
        outputs: size_policy(settings),
        clock: SystemTime::now,
    };
    let prepared = prepared(request, &files).await?;
    let engine = engine(args, settings)?;
    let chosen = tokio::select! {
        chosen = engine.choose(prepared.cwd(), prepared.interpreter()) => chosen?,
        () = signals.asked(1) => return Err(signals.first().map_or(Failure::Pipe, Failure::Signal)),
    };
    log::stage("interpreter chosen");
    let reason = python::reason(&chosen.interpreter, &args.python, settings);
    if !args.quiet {
        let verbose = if args.verbose { Verbose::Yes } else { Verbose::No };
        py::tell_about(&chosen, &reason, (verbose, &args.env), settings, output);
    }
    let mut progress = Progress::new(following);
    let began = Instant::now();
    let report = follow(&engine, prepared, &chosen, &signals, &mut progress).await?;
    if let Some(failure) = py::not_begun(&report) {
        return Err(failure);
    }
    let shown = progress.end(&report, began.elapsed(), output, answer);
    shown.map_err(Failure::of_output)?;
    match signals.first() {
        Some(signal) => Err(Failure::Signal(signal)),
        None => Ok(Exit::of_state(report.state)),
    }
}

/// Runs it to its end, showing how far it is.
async fn follow(
    engine: &Engine,
    prepared: PreparedRun,
    chosen: &inkcell_engine::Chosen,
    signals: &Signals,
    progress: &mut Progress,
) -> Result<PythonReport, Failure> {
    let (events, mut told): (mpsc::Sender<Tapped>, _) = mpsc::channel(QUEUE);
    let id = engine.start_run(prepared, chosen, OWNER, Some(events), Lent::default()).await?;
    let (mut asked, mut is_told) = (0, true);
    let mut tick = tokio::time::interval(TICK);
    let settled = engine.settled(&id);
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
            () = signals.asked(asked + 1), if asked < 2 => {
                asked += 1;
                // A run that is over has nothing to be taken back.
                let _ = engine.cancel(&id);
            }
            _ = tick.tick() => {
                let report = engine.result(&id, Duration::ZERO).await?;
                // Somebody who does not read any more does not stop the run.
                drop(progress.tick(&report));
            }
        }
    };
    engine.shutdown().await;
    Ok(report)
}

fn engine(args: &Run, settings: &Settings) -> Result<Engine, Failure> {
    python::only_the_runner(settings, Profile::CommandLine)?;
    let mut config = engine_config(settings, Profile::CommandLine);
    let kernels = &mut config.kernels;
    if args.env_all {
        kernels.env_rules.mode = EnvMode::Inherit;
    }
    kernels.env_rules.pass.extend(args.env.iter().cloned());
    if let Some(shell) = args.shell {
        kernels.shell = shell.into();
    }
    let backend =
        log::runner(runner_config(settings, Profile::CommandLine)).map_err(EngineError::from)?;
    Ok(Engine::new(config, Arc::new(backend)))
}

/// A notebook that was piped in, in a file that nobody else sees.
struct Piped {
    path: PathBuf,
}

impl Piped {
    fn read(settings: &Settings) -> Result<Piped, Failure> {
        let failed = |error| Failure::Io("cannot keep the notebook that was piped in", error);
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|error| Failure::Io("cannot read standard input", error))?;
        let folder = settings.state_dir.join("piped");
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let path = folder.join(format!("{:016x}.ipynb", system_random()));
        let piped = Piped { path };
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
        let _ = std::fs::remove_file(&self.path);
    }
}
