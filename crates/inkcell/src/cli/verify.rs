//! `inkcell verify`: runs copies of notebooks, and compares their outputs with the stored ones.
//!
//! Owns the copies and the result of a check. The notebook crate decides which outputs count as the same, except
//! for pictures (`pictures.rs`); `report.rs` shows the result. The notebook itself is only read.

mod checks;
mod junit;
mod pictures;
mod report;
mod watching;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use inkcell_engine::api::{KernelMode, OnError, OnOpen, PythonReport, Reading, RunRequest, State};
use inkcell_engine::notebook::{
    CellComparison, CellMarks, CellRef, CellVerdict, CompareRules, CompareScope, EditOp, IdSource,
    Notebook, Pictures, SKIP_TAG, Tolerance, compare, has_code_to_run, is_never_run,
};
use inkcell_engine::{EngineError, Kind, parse_notebook};
use regex::Regex;

use super::inputs::Files;
use super::run::{Reports, RunLife, Stopping, unsaved, write_report};
use crate::app::python;
use crate::args::Verify;
use crate::client::{self, Client, Step};
use crate::exit::{Exit, Failure};
use crate::host::{self, Ask, Attention, Detachment, HostEvent, Life, Refusal, RunAsk};
use crate::output::Output;
use crate::scratch::Scratch;
use crate::settings::Settings;
use crate::words;
use checks::News;
use watching::Watching;

/// The folder for the copies, in the state folder.
const FOLDERS: &str = "verify";

/// Parts of outputs that have no type.
const PARTS: [&str; 3] = ["stdout", "stderr", "error"];

/// A notebook that was checked.
struct VerifiedNotebook {
    path: String,
    took: Duration,
    outcome: Outcome,
}

/// The result of a check.
enum Outcome {
    /// There is nothing to compare with, so nothing was run.
    NeverRun,
    /// It was run to its end, or as far as it came.
    Compared { state: State, cells: Vec<CheckedCell> },
    /// The check itself failed, so nothing is known about the outputs.
    Failed(Refusal),
}

/// A cell, and the state in which it ended; a cell without an end counts as never run.
struct CheckedCell {
    compared: CellComparison,
    state: State,
    took: Duration,
}

impl CheckedCell {
    /// Returns whether the cell was not to be run.
    fn is_skipped(&self) -> bool {
        self.compared.verdict == CellVerdict::Skipped
    }

    /// Returns whether the cell passes the check.
    fn is_good(&self) -> bool {
        match &self.compared.verdict {
            CellVerdict::Skipped => true,
            // The outputs so far may equal the stored ones, so only the state shows the failure.
            _ if self.state == State::TimedOut => false,
            CellVerdict::Same | CellVerdict::Ignored => self.state != State::NeverRun,
            CellVerdict::Different(_) | CellVerdict::Failed { .. } => false,
        }
    }
}

impl VerifiedNotebook {
    fn exit(&self) -> Exit {
        match &self.outcome {
            Outcome::NeverRun => Exit::Failed,
            Outcome::Failed(refusal) => refusal.exit,
            Outcome::Compared { state, cells } => match state {
                State::KernelDied => Exit::KernelDied,
                // A run goes on after a cell that could be stopped.
                _ if cells.iter().any(|cell| cell.state == State::TimedOut) => Exit::TimedOut,
                State::TimedOut => Exit::TimedOut,
                _ if cells.iter().all(CheckedCell::is_good) => Exit::Ok,
                _ => Exit::Failed,
            },
        }
    }
}

/// What every check needs.
struct Desk<'a> {
    args: &'a Verify,
    rules: CompareRules,
    settings: &'a Settings,
    /// Locked while a check begins.
    client: Mutex<Client>,
    stopping: Stopping,
}

pub(crate) fn run(
    args: &Verify,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let rules = rules(args)?;
    let files = Files { cwd: &settings.cwd };
    let paths = files.expanded(args.paths.iter().map(String::as_str))?;
    let junit_file = args.junit.as_ref().map(|file| settings.cwd.join(file));
    let reports = Reports { junit: junit_file.clone(), json: None };
    reports.must_be_writable(&paths.iter().map(|path| files.real(path)).collect::<Vec<_>>())?;
    let jobs = args.jobs.unwrap_or(1).min(paths.len().max(1));
    let stopping = Stopping::listen(RunLife::Ours)?;
    stopping.is_over();
    let client = match paths.len() {
        0 | 1 => Client::local(python::engine(settings)?, settings, Life::Long)?,
        _ => Client::local_on(jobs, python::engine_for_many(settings)?, settings)?,
    };
    let desk = Desk { args, rules, settings, client: Mutex::new(client), stopping };
    let mut watch = Watching::new(&paths, args.quiet || output.is_json(), settings);
    let mut all: Vec<(usize, VerifiedNotebook)> = Vec::new();
    checks::run(&desk, &paths, jobs, |news| {
        match news {
            News::Began(number) => watch.began(number),
            News::Event(number, event) => watch.apply(number, &event),
            News::Tick => {}
            News::Refused(failure) => {
                watch.clear();
                return Err(*failure);
            }
            News::Done(number, checked) => {
                watch.ended(number);
                if !output.is_json() {
                    watch.clear();
                    report::write(&checked, args.quiet, output).map_err(Failure::of_output)?;
                    output.flush().map_err(Failure::of_output)?;
                }
                all.push((number, *checked));
            }
        }
        watch.show();
        Ok(())
    })?;
    watch.clear();
    if let Some(signal) = desk.stopping.signal() {
        return Err(Failure::Signal(signal));
    }
    all.sort_by_key(|(number, _)| *number);
    let all: Vec<VerifiedNotebook> = all.into_iter().map(|(_, checked)| checked).collect();
    let written = junit_file.map_or(Ok(()), |file| {
        write_report(&file, &junit::junit(&all)).map_err(|error| {
            let problem = words::batch::report_not_written(&file.display(), &error);
            Failure::new(Kind::Unavailable, problem, None)
        })
    });
    if output.is_json() {
        output.json(&report::as_json(&all)).map_err(Failure::of_output)?;
    } else if all.len() > 1 && !args.quiet {
        output.line(&report::summary(&all)).map_err(Failure::of_output)?;
    }
    written?;
    // The first notebook that fails decides the exit code.
    Ok(all.iter().map(VerifiedNotebook::exit).find(|exit| *exit != Exit::Ok).unwrap_or(Exit::Ok))
}

fn rules(args: &Verify) -> Result<CompareRules, Failure> {
    let pattern = |text: &String| {
        let bad = |error: regex::Error| {
            let line = error.to_string();
            let problem = line.lines().last().unwrap_or_default().trim().to_owned();
            Failure::argument("--ignore", format!("{text:?} is not a pattern: {problem}"))
        };
        Regex::new(text).map_err(bad)
    };
    let is_part = |part: &&String| {
        let is_type =
            part.split_once('/').is_some_and(|(kind, name)| !kind.is_empty() && !name.is_empty());
        PARTS.contains(&part.as_str()) || is_type
    };
    if let Some(part) = args.skip.iter().find(|part| !is_part(part)) {
        let problem = words::verify::not_part(part);
        return Err(Failure::argument("--skip", problem));
    }
    let numbers = (args.rtol.is_some() || args.atol.is_some()).then(|| Tolerance {
        relative: args.rtol.unwrap_or(0.0),
        absolute: args.atol.unwrap_or(0.0),
    });
    Ok(CompareRules {
        numbers,
        ignore: args.ignore.iter().map(pattern).collect::<Result<_, _>>()?,
        skip: args.skip.clone(),
        which: if args.lax { CompareScope::Marked } else { CompareScope::All },
    })
}

impl Desk<'_> {
    /// Checks a notebook. `heard` gets the events of its run.
    fn check(&self, path: &str, heard: impl FnMut(Box<HostEvent>)) -> Result<Outcome, Failure> {
        let Desk { args, rules, settings, .. } = self;
        // Read the bytes alone: the usual way would merge outputs that a killed run has left.
        let (bytes, _) = settings.notebooks.read_bytes(path)?;
        let stored = parse_notebook(path, bytes)?;
        if is_never_run(&stored) && rules.which == CompareScope::All {
            return Ok(Outcome::NeverRun);
        }
        let look = |both: &Pictures<'_>| pictures::difference(args.images, both);
        if !has_code_to_run(&stored) {
            // If no cell is to be run, the result is known without a kernel.
            let cells = compare(&stored, &stored, rules, &look).into_iter();
            let (state, took) = (State::NeverRun, Duration::ZERO);
            let cells = cells.map(|compared| CheckedCell { compared, state, took });
            return Ok(Outcome::Compared { state: State::Done, cells: cells.collect() });
        }
        let copy = Copy::of(path, &stored, settings)?;
        let report = self.ran(path, &copy, heard)?;
        if let Some(failure) = client::not_begun(&report) {
            return Err(failure);
        }
        if let Some((problem, _)) = unsaved(&report) {
            // The copy holds the stored outputs, so a comparison would pass.
            return Err(Failure::new(
                problem.kind,
                words::verify::not_kept(path, &problem.message),
                Some(words::verify::SEE_ROOM.to_owned()),
            ));
        }
        let failed = |error| Failure::Io(words::failure::READ_COPY, error);
        let fresh = parse_notebook(path, std::fs::read(&copy.file).map_err(failed)?)?;
        let ended = |index: usize| {
            let of_cell = |cell: &&inkcell_engine::api::CellReport| {
                cell.notebook.as_ref().is_some_and(|told| told.index == index)
                    && cell.state.is_end()
            };
            let cell = report.cells.iter().find(of_cell);
            cell.map_or((State::NeverRun, Duration::ZERO), |cell| (cell.state, cell.duration))
        };
        let cells = compare(&stored, &fresh, rules, &look).into_iter().map(|compared| {
            let (state, took) = ended(compared.cell.index);
            CheckedCell { compared, state, took }
        });
        Ok(Outcome::Compared { state: report.state, cells: cells.collect() })
    }

    /// Runs the copy to its end. A cell that fails does not stop it.
    fn ran(
        &self,
        path: &str,
        copy: &Copy,
        mut heard: impl FnMut(Box<HostEvent>),
    ) -> Result<PythonReport, Failure> {
        let Desk { args, settings, client, stopping, .. } = self;
        let own = settings.cwd.join(path);
        let folder = own.parent().map_or_else(|| settings.cwd.clone(), Path::to_owned);
        let request = RunRequest {
            on_error: OnError::GoOn,
            cell_timeout: args.timeout.filter(|time| !time.is_zero()),
            cwd: Some(args.python.cwd.as_ref().map_or(folder, |cwd| settings.cwd.join(cwd))),
            wanted: python::wanted(&args.python, &args.kernel, settings),
            mode: KernelMode::PerCall,
            reading: Reading::Elsewhere,
            on_open: OnOpen::Write,
            ..RunRequest::of(copy.file.display().to_string())
        };
        let ask = RunAsk {
            request,
            kernel: (&args.kernel).into(),
            state: Some(copy.folder.path().to_owned()),
            copy_of: Some(path.to_owned()),
            copied_from: None,
            shows_outputs: false,
            attention: Attention::Quiet,
            detached: Detachment::No,
        };
        let client = client.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = client.ask(Ask::Run(Box::new(ask)));
        drop(client);
        let mut asked = asked?;
        let handle = asked.handle();
        stopping.can_cancel(handle.clone());
        let done = loop {
            match asked.next(None) {
                Step::Nothing => {}
                Step::Event(event) => heard(event),
                Step::Done(Ok(host::Answer::Python(done))) => break Ok(done.report),
                Step::Done(Ok(_)) => break Err(Failure::Pipe),
                Step::Done(Err(refusal)) => break Err(refusal.into()),
            }
        };
        stopping.forget(&handle);
        done
    }
}

/// A copy of a notebook that is run in its place, with all its records.
struct Copy {
    folder: Scratch,
    file: PathBuf,
}

impl Copy {
    fn of(path: &str, stored: &Notebook, settings: &Settings) -> Result<Copy, Failure> {
        let failed = |error| Failure::Io(words::failure::COPY_NOTEBOOK, error);
        let folder = Scratch::make(&settings.state_dir, FOLDERS).map_err(failed)?;
        let name = Path::new(path).file_name().unwrap_or("notebook.ipynb".as_ref());
        let copy = Copy { file: folder.path().join(name), folder };
        let bytes = without_skipped(path, stored)?.to_bytes();
        std::fs::write(&copy.file, bytes).map_err(failed)?;
        Ok(copy)
    }
}

/// A notebook in which the skipped cells are marked as a run marks them.
fn without_skipped(path: &str, stored: &Notebook) -> Result<Notebook, Failure> {
    let mut copy = stored.clone();
    let skipped = stored.cells().filter(|cell| CellMarks::of(cell).is_skipped);
    let tag = |index: usize| EditOp::SetTags {
        cell: CellRef::Index(index as i64),
        add: vec![SKIP_TAG.to_owned()],
        remove: Vec::new(),
    };
    let ops: Vec<EditOp> = skipped.map(|cell| tag(cell.index())).collect();
    let failed = |error| EngineError::Edit { path: path.to_owned(), error, batch: ops.len() };
    copy.apply(&ops, &mut IdSource::seeded(0)).map_err(failed)?;
    Ok(copy)
}
