//! `inkcell verify`: runs copies of notebooks, and compares their outputs with the stored ones.
//!
//! Owns the copies and the result of a check. The notebook crate decides which outputs count as the same, except
//! for pictures (`pictures.rs`); `report.rs` shows the result. The notebook itself is only read.

mod pictures;
mod report;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use inkcell_engine::api::{KernelMode, OnError, OnOpen, PythonReport, Reading, RunRequest, State};
use inkcell_engine::notebook::{
    CellComparison, CellMarks, CellRef, CellVerdict, CompareRules, CompareScope, EditOp, IdSource,
    Notebook, Pictures, SKIP_TAG, Tolerance, compare, has_code_to_run, is_never_run,
};
use inkcell_engine::{EngineError, parse_notebook};
use regex::Regex;

use super::inputs::Files;
use super::run::{RunLife, Stopping, unsaved};
use crate::app::python;
use crate::args::Verify;
use crate::client::{self, Client, Step};
use crate::exit::{Exit, Failure};
use crate::host::{self, Ask, Attention, Detachment, Life, Refusal, RunAsk};
use crate::output::Output;
use crate::scratch::Scratch;
use crate::settings::Settings;
use crate::words;

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
}

impl CheckedCell {
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

pub(crate) fn run(
    args: &Verify,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let rules = rules(args)?;
    let files = Files { cwd: &settings.cwd };
    let paths: Vec<Vec<String>> =
        args.paths.iter().map(|given| files.named(given)).collect::<Result<_, _>>()?;
    let paths: Vec<String> = paths.into_iter().flatten().collect();
    let stopping = Stopping::listen(RunLife::Ours)?;
    // Between checks a signal may end the process at once, even if the reader is stalled.
    stopping.is_over();
    let engine = if paths.len() > 1 { python::engine_for_many } else { python::engine };
    let client = Client::local(engine(settings)?, settings, Life::Long)?;
    let mut all = Vec::new();
    for path in &paths {
        if let Some(signal) = stopping.signal() {
            return Err(Failure::Signal(signal));
        }
        let began = Instant::now();
        stopping.goes_on();
        let outcome = check(path, args, &rules, settings, (&client, &stopping));
        stopping.is_over();
        if let Some(signal) = stopping.signal() {
            return Err(Failure::Signal(signal));
        }
        let outcome = match outcome {
            Ok(outcome) => outcome,
            // For a single notebook it is the whole answer.
            Err(failure) if paths.len() == 1 => return Err(failure),
            Err(failure) => Outcome::Failed(failure.into()),
        };
        let checked = VerifiedNotebook { path: path.clone(), took: began.elapsed(), outcome };
        if !output.is_json() {
            report::write(&checked, args.quiet, output).map_err(Failure::of_output)?;
            output.flush().map_err(Failure::of_output)?;
        }
        all.push(checked);
    }
    if output.is_json() {
        output.json(&report::as_json(&all)).map_err(Failure::of_output)?;
    } else if all.len() > 1 && !args.quiet {
        output.line(&report::summary(&all)).map_err(Failure::of_output)?;
    }
    // The first notebook that fails decides the exit code.
    Ok(all.iter().map(VerifiedNotebook::exit).find(|exit| *exit != Exit::Ok).unwrap_or(Exit::Ok))
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

fn check(
    path: &str,
    args: &Verify,
    rules: &CompareRules,
    settings: &Settings,
    by: (&Client, &Stopping),
) -> Result<Outcome, Failure> {
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
        let cells = cells.map(|compared| CheckedCell { compared, state: State::NeverRun });
        return Ok(Outcome::Compared { state: State::Done, cells: cells.collect() });
    }
    let copy = Copy::of(path, &stored, settings)?;
    let report = ran(path, &copy, args, settings, by)?;
    if let Some(failure) = client::not_begun(&report) {
        return Err(failure);
    }
    if let Some((problem, _)) = unsaved(&report) {
        // The copy holds the stored outputs, so a comparison would pass.
        return Err(Failure::told(
            problem.kind,
            words::verify::not_kept(path, &problem.message),
            Some(words::verify::SEE_ROOM.to_owned()),
        ));
    }
    let failed = |error| Failure::Io(words::failure::READ_COPY, error);
    let fresh = parse_notebook(path, std::fs::read(&copy.file).map_err(failed)?)?;
    let ended = |index: usize| {
        let of_cell = |cell: &&inkcell_engine::api::CellReport| {
            cell.notebook.as_ref().is_some_and(|told| told.index == index) && cell.state.is_end()
        };
        report.cells.iter().find(of_cell).map_or(State::NeverRun, |cell| cell.state)
    };
    let cells = compare(&stored, &fresh, rules, &look);
    let cells = cells
        .into_iter()
        .map(|compared| CheckedCell { state: ended(compared.cell.index), compared });
    Ok(Outcome::Compared { state: report.state, cells: cells.collect() })
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

/// Runs the copy to its end. A cell that fails does not stop it.
fn ran(
    path: &str,
    copy: &Copy,
    args: &Verify,
    settings: &Settings,
    (client, stopping): (&Client, &Stopping),
) -> Result<PythonReport, Failure> {
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
    let mut asked = client.ask(Ask::Run(ask))?;
    let handle = asked.handle();
    stopping.can_cancel(handle.clone());
    let done = loop {
        match asked.next(None) {
            Step::Nothing | Step::Event(_) => {}
            Step::Done(Ok(host::Answer::Python(done))) => break Ok(done.report),
            Step::Done(Ok(_)) => break Err(Failure::Pipe),
            Step::Done(Err(refusal)) => break Err(refusal.into()),
        }
    };
    stopping.forget(&handle);
    done
}
