//! `inkcell verify`: notebooks run anew into copies, and their outputs compared with those that are stored.
//!
//! Owns the copies and what becomes of a check. What counts as the same is the notebook crate's, except for pictures
//! (`pictures.rs`); what is shown is `told.rs`. The notebook itself is only read.

mod pictures;
mod told;

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use inkcell_engine::api::{KernelMode, OnError, OnOpen, PythonReport, Reading, RunRequest, State};
use inkcell_engine::notebook::{
    CellMarks, CellRef, CellVerdict, CheckedCells, CompareRules, ComparedCell, EditOp, IdSource,
    Notebook, Pictures, Tolerance, compare, is_never_run,
};
use inkcell_engine::{EngineError, parse_notebook, system_random};
use regex::Regex;

use super::run::{RunLife, Stopping};
use super::{py, python};
use crate::args::Verify;
use crate::client::{Client, Step};
use crate::exit::{Exit, Failure};
use crate::host::{self, Ask, Attention, Detached, Life, RunAsk};
use crate::output::Output;
use crate::settings::Settings;

/// Where the copies are, in the state folder.
const FOLDERS: &str = "verify";

/// The tag of cells that are not run.
const SKIP: &str = "skip-execution";

/// A notebook that was checked.
struct Checked {
    path: String,
    took: Duration,
    outcome: Outcome,
}

/// What became of a check.
enum Outcome {
    /// There is nothing to compare with, so nothing was run.
    NeverRun,
    /// It was run to its end, or as far as it came.
    Compared { state: State, cells: Vec<CheckedCell> },
    /// It could not be.
    Failed { failure: Failure },
}

/// A cell, and whether it came to be run.
struct CheckedCell {
    compared: ComparedCell,
    is_run: bool,
}

impl CheckedCell {
    /// Whether everything about it is as it should be.
    fn is_good(&self) -> bool {
        match &self.compared.verdict {
            CellVerdict::Skipped => true,
            CellVerdict::Same | CellVerdict::Ignored => self.is_run,
            CellVerdict::Different(_) | CellVerdict::Failed { .. } => false,
        }
    }
}

impl Checked {
    fn exit(&self) -> Exit {
        match &self.outcome {
            Outcome::NeverRun => Exit::Failed,
            Outcome::Failed { failure } => told::exit_of(failure),
            Outcome::Compared { state: state @ (State::KernelDied | State::TimedOut), .. } => {
                Exit::of_state(*state)
            }
            Outcome::Compared { cells, .. } => match cells.iter().all(CheckedCell::is_good) {
                true => Exit::Ok,
                false => Exit::Failed,
            },
        }
    }
}

pub(crate) fn run(
    args: &Verify,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let rules = rules(args)?;
    let stopping = Stopping::listen(RunLife::Ours)?;
    let mut all = Vec::new();
    for path in &args.paths {
        let began = Instant::now();
        let outcome = check(path, args, &rules, settings, &stopping);
        if let Some(signal) = stopping.signal() {
            stopping.is_over();
            return Err(Failure::Signal(signal));
        }
        let outcome = match outcome {
            Ok(outcome) => outcome,
            // Of a single notebook it is the whole answer.
            Err(failure) if args.paths.len() == 1 => return Err(failure),
            Err(failure) => Outcome::Failed { failure },
        };
        let checked = Checked { path: path.clone(), took: began.elapsed(), outcome };
        if !output.is_json() {
            told::write(&checked, args.quiet, output).map_err(Failure::of_output)?;
            output.flush().map_err(Failure::of_output)?;
        }
        all.push(checked);
    }
    if output.is_json() {
        output.json(&told::as_json(&all)).map_err(Failure::of_output)?;
    } else if all.len() > 1 && !args.quiet {
        output.line(&told::summary(&all)).map_err(Failure::of_output)?;
    }
    // The first that is not well says how it went.
    Ok(all.iter().map(Checked::exit).find(|exit| *exit != Exit::Ok).unwrap_or(Exit::Ok))
}

fn rules(args: &Verify) -> Result<CompareRules, Failure> {
    let pattern = |text: &String| {
        let bad = |error: regex::Error| {
            let line = error.to_string();
            let problem = line.lines().last().unwrap_or_default().trim().to_owned();
            Failure::argument("--ignore", format!("{text:?} is no pattern: {problem}"))
        };
        Regex::new(text).map_err(bad)
    };
    let numbers = (args.rtol.is_some() || args.atol.is_some()).then(|| Tolerance {
        relative: args.rtol.unwrap_or(0.0),
        absolute: args.atol.unwrap_or(0.0),
    });
    Ok(CompareRules {
        numbers,
        ignore: args.ignore.iter().map(pattern).collect::<Result<_, _>>()?,
        skip: args.skip.clone(),
        which: if args.lax { CheckedCells::Marked } else { CheckedCells::All },
    })
}

fn check(
    path: &str,
    args: &Verify,
    rules: &CompareRules,
    settings: &Settings,
    stopping: &Stopping,
) -> Result<Outcome, Failure> {
    // Reading it otherwise would put in what a run that was killed has left.
    let (bytes, _) = settings.notebooks.read_bytes(path)?;
    let stored = parse_notebook(path, bytes)?;
    if is_never_run(&stored) && rules.which == CheckedCells::All {
        return Ok(Outcome::NeverRun);
    }
    let copy = Copy::of(path, &stored, settings)?;
    let report = ran(path, &copy, args, settings, stopping)?;
    if let Some(failure) = py::not_begun(&report) {
        return Err(failure);
    }
    let failed = |error| Failure::Io("cannot read the copy that was run", error);
    let fresh = parse_notebook(path, std::fs::read(&copy.file).map_err(failed)?)?;
    let look = |both: &Pictures<'_>| pictures::difference(args.images, both);
    let is_run = |index: usize| {
        let mut cells = report.cells.iter();
        cells.any(|cell| {
            cell.notebook.as_ref().is_some_and(|told| told.index == index)
                && cell.state.is_end()
                && cell.state != State::NeverRun
        })
    };
    let cells = compare(&stored, &fresh, rules, &look);
    let cells = cells
        .into_iter()
        .map(|compared| CheckedCell { is_run: is_run(compared.cell.index), compared });
    Ok(Outcome::Compared { state: report.state, cells: cells.collect() })
}

/// A copy of a notebook that is run in its place, with everything that is noted about it.
struct Copy {
    folder: PathBuf,
    file: PathBuf,
}

impl Copy {
    fn of(path: &str, stored: &Notebook, settings: &Settings) -> Result<Copy, Failure> {
        let failed = |error| Failure::Io("cannot make a copy of the notebook", error);
        let folder = settings.state_dir.join(FOLDERS).join(format!("{:016x}", system_random()));
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
        let name = Path::new(path).file_name().unwrap_or("notebook.ipynb".as_ref());
        let copy = Copy { file: folder.join(name), folder };
        let bytes = without_skipped(path, stored)?.to_bytes();
        std::fs::write(&copy.file, bytes).map_err(failed)?;
        Ok(copy)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // It is ours alone, and of no more use.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A notebook whose cells that are not to be run say so in the words of a run.
fn without_skipped(path: &str, stored: &Notebook) -> Result<Notebook, Failure> {
    let mut copy = stored.clone();
    let skipped = stored.cells().filter(|cell| CellMarks::of(cell).is_skipped);
    let tag = |index: usize| EditOp::SetTags {
        cell: CellRef::Index(index as i64),
        add: vec![SKIP.to_owned()],
        remove: Vec::new(),
    };
    let ops: Vec<EditOp> = skipped.map(|cell| tag(cell.index())).collect();
    let failed = |error| EngineError::Edit { path: path.to_owned(), error, batch: ops.len() };
    copy.apply(&ops, &mut IdSource::seeded(0)).map_err(failed)?;
    Ok(copy)
}

/// Runs the copy to its end. A cell that fails does not stop it.
fn ran(
    path: &str,
    copy: &Copy,
    args: &Verify,
    settings: &Settings,
    stopping: &Stopping,
) -> Result<PythonReport, Failure> {
    let client = Client::local(python::engine(settings)?, settings, Life::OneCall)?;
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
        kernel: python::options(&args.kernel),
        state: Some(copy.folder.clone()),
        copy_of: Some(path.to_owned()),
        copied_from: None,
        attention: Attention::Quiet,
        detached: Detached::No,
    };
    let mut asked = client.ask(Ask::Run(ask))?;
    stopping.can_cancel(asked.handle());
    loop {
        match asked.next(None) {
            Step::Nothing | Step::Event(_) => {}
            Step::Done(Ok(host::Answer::Python(done))) => return Ok(done.report),
            Step::Done(Ok(_)) => return Err(Failure::Pipe),
            Step::Done(Err(refusal)) => return Err(refusal.into()),
        }
    }
}
