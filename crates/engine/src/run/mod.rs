//! Running notebooks: the one place where a document and a kernel meet.
//!
//! Owns the way from a request to a run that is under way. A run is a call of the engine whose cells come from
//! a file and whose outputs go back there; everything a call has, such as its id, its watchers and its end, a run
//! has too.

mod conduct;
mod displays;
mod file;
mod fold;
mod foresee;
mod inject;
mod journal;
mod known;
mod moved;
mod outline;
mod plan;
mod record;
mod stamps;
mod standing;
mod trail;
mod widgets;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use inkcell_kernel::{InputMode, LaunchError, ServerContents};
use inkcell_notebook::CellKind;

pub(crate) use conduct::{Begun, NotebookRun, Onward};
pub use file::CHEAP_SAVE;
pub(crate) use fold::recover;
pub(crate) use foresee::foresee;
pub use outline::{outlined, read_with_runs};
pub use record::RanCell;
pub use record::{LastRuns, OpenCell};
pub use standing::Records;

use crate::api::{
    ExecutionId, Helpers, KernelChoice, NotebookCell, NotebookReport, OnError, OnOpen,
    PythonReport, PythonRequest, RunNote, RunRequest, RunStart, State, Wanted,
};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::kernels::Chosen;
use crate::lent::Lent;
use crate::notebooks::{Notebooks, Opened};
use crate::output::SizePolicy;
use crate::registry::{OwnerId, SessionName};
use conduct::{Opening, RunRules};
use file::RunFile;
use fold::must_take_outputs;
use inject::{KernelLanguage, Values};
use plan::{Plan, Planned, chosen, plan, plan_of};
use record::{Noted, Past, RunPlaces, RunRecord};
use trail::{Choosing, Trail};

/// Tells the time that is written into notebooks.
pub type RunClock = fn() -> SystemTime;

/// What runs need besides an engine.
#[derive(Clone, Debug)]
pub struct RunFiles {
    /// The notebooks.
    pub notebooks: Notebooks,
    /// What happens to outputs that would make a notebook too large.
    pub outputs: SizePolicy,
    /// The time.
    pub clock: RunClock,
    /// A save that takes less is made after every cell; one that is dearer waits in the journal.
    pub cheap_save: Duration,
}

/// A run whose notebook was read. Which kernel it needs is known, and nothing was touched.
pub struct OpenedRun {
    request: RunRequest,
    opened: Opened,
    cwd: PathBuf,
    wanted: Wanted,
}

impl OpenedRun {
    /// The folder its code works in.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The session it runs in: its own, where none is named.
    pub fn session(&self) -> SessionName {
        let own = || SessionName(self.opened.path.display().to_string());
        self.request.session.clone().unwrap_or_else(own)
    }

    /// The kernel it wants: what was asked for, else what the notebook says.
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }
}

/// Reads the notebook. What cannot be run is refused before anything is touched. Waits for disks.
pub(crate) fn open_run(request: RunRequest, files: &RunFiles) -> Result<OpenedRun, EngineError> {
    let opened = files.notebooks.read(&request.path)?;
    let chosen = plan(&opened, &request.cells)?.cells;
    must_take_outputs(&opened.notebook, chosen.iter().map(|planned| &planned.cell), &opened.shown)?;
    let own = || opened.path.parent().map_or_else(PathBuf::new, Path::to_owned);
    let cwd = request.cwd.clone().unwrap_or_else(own);
    let mut wanted = request.wanted.clone();
    wanted.kernel = wanted.kernel.or_else(|| plan::kernel(&opened.notebook));
    wanted.helpers = Helpers::None;
    Ok(OpenedRun { request, opened, cwd, wanted })
}

/// A run that can begin.
pub struct PreparedRun {
    pub(crate) request: PythonRequest,
    pub(crate) run: NotebookRun,
}

impl PreparedRun {
    /// The folder its code works in.
    pub fn cwd(&self) -> &Path {
        &self.request.cwd
    }

    /// The session it runs in.
    pub fn session(&self) -> Option<&SessionName> {
        self.request.session.as_ref()
    }
}

/// Takes the notebook for the run, with what is to be noted about its kernel. Nothing is run yet. What is written: outputs that
/// a dead host had kept, the copy where it is to be written elsewhere, and without marks of another runner's failure.
/// Waits for disks.
pub(crate) fn prepare(
    opened: OpenedRun,
    about_kernel: Vec<RunNote>,
    kernel: &KernelLanguage,
    files: &RunFiles,
) -> Result<PreparedRun, EngineError> {
    let notebooks = &files.notebooks;
    if opened.request.start == RunStart::Resume && opened.request.cells.is_stale() {
        let problem = "stale cells are found from the beginning; leave out --resume";
        let argument = "--resume".to_owned();
        return Err(EngineError::Argument { argument, problem: problem.to_owned() });
    }
    let OpenedRun { request, opened, cwd, wanted } = opened;
    let values = Values::of(&request.parameters, kernel, &opened)?;
    let written = request.output.as_ref().unwrap_or(&request.path).clone();
    // From here on nobody else runs it, so nothing of another run can be lost.
    let (mut file, past) = RunFile::open(notebooks, &written)?;
    let past = match request.start {
        RunStart::Copied => {
            let places = RunPlaces::of(&opened.path, notebooks.state_dir());
            past.copied_from(RunRecord::past_of(&places))
        }
        RunStart::First | RunStart::Resume => past,
    };
    file.save_at_once_below(files.cheap_save);
    let recovered = opened.recovered.or(file.recover()?);
    if request.output.is_some()
        && (request.start != RunStart::Resume || !notebooks.exists(&written))
    {
        notebooks.copy(&opened, &written)?;
    }
    // Somebody may have taken away the file that the last run could not save to.
    let recovered = match request.start {
        RunStart::Resume => recovered.or(file.recover()?),
        RunStart::First | RunStart::Copied => recovered,
    };
    notebooks.must_be_writable(&written)?;
    file.without_markers(request.stamps)?;
    let mut notes = about_kernel;
    let mut source = notebooks.read(&written)?;
    // Positions mean the cells as their caller sees them.
    let mut positions = chosen(&source, &request.cells)?;
    if let Some(values) = &values {
        notes.extend(values.doubts(&source.notebook));
        let injected = file.inject(values, request.stamps)?;
        positions = inject::carried(injected, positions);
        source = notebooks.read(&written)?;
    }
    let (past, noted) = match moved::places(&source.notebook, &past.cells) {
        Some(places) => (past.moved(&places), Noted::Elsewhere),
        None => (past, Noted::AsKnown),
    };
    let Plan { mut cells, skipped, on_error } = plan_of(&source, positions)?;
    file.plan_on(&source.notebook);
    must_take_outputs(&source.notebook, cells.iter().map(|planned| &planned.cell), &written)?;
    notes.extend(recovered.map(|cells| RunNote::Recovered { cells }));
    notes.extend(past.open.as_ref().map(|cell| RunNote::CutOff { index: cell.index }));
    let records = Records::new(&past.cells);
    for planned in &mut cells {
        let cell = &planned.cell;
        // One that failed or was stopped says nothing about how long it takes.
        let ran = records.of(cell.id.as_deref(), cell.index);
        let ran = ran.filter(|ran| ran.state == State::Done);
        planned.last_took = ran.map(|ran| ran.duration).or(planned.last_took);
    }
    let (resumed, cells) = match request.start {
        RunStart::First | RunStart::Copied => (Vec::new(), cells),
        RunStart::Resume => {
            must_be_same_sources(&opened, &source)?;
            resume(&past, cells, &source)
        }
    };
    let is_one_of = |ran: &RanCell, cells: &[Planned]| {
        cells.iter().any(|cell| ran.is_of(cell.cell.id.as_deref(), cell.cell.index))
    };
    let is_done = |ran: &&RanCell| match request.start {
        RunStart::First | RunStart::Resume => is_one_of(ran, &resumed),
        RunStart::Copied => !is_one_of(ran, &cells),
    };
    let done: Vec<_> = past.last().filter(is_done).cloned().collect();
    let ids: HashSet<_> = source.notebook.cells().map(|cell| cell.id()).collect();
    let is_there = |ran: &RanCell| match &ran.id {
        Some(id) => ids.contains(&Some(id.as_str().into())),
        None => ran.index < source.notebook.len(),
    };
    // What this run does not come to is still known as it was.
    let known: Vec<RanCell> = past.cells.into_iter().filter(is_there).collect();
    let records = standing::with_noted(&source.notebook, &known).unwrap_or_else(|| known.clone());
    let choosing = if request.cells.is_stale() { Choosing::Stale } else { Choosing::All };
    let trail = Trail::new(choosing, records, past.held, &source.notebook);
    let trail = if request.start == RunStart::Copied { trail.in_copy() } else { trail };
    let name = || SessionName(opened.path.display().to_string());
    let report = NotebookReport {
        path: request.path,
        written,
        cells: source.notebook.len(),
        version: None,
        skipped,
        fresh: Vec::new(),
        resumed: resumed.iter().map(|planned| planned.cell.index).collect(),
        notes,
    };
    let rules = RunRules {
        on_error: match on_error {
            OnError::GoOn => on_error,
            OnError::Stop => request.on_error,
        },
        cell_timeout: request.cell_timeout,
        outputs: files.outputs,
        stamps: request.stamps,
        clock: files.clock,
    };
    let run = NotebookRun::new(file, cells, report, rules, (Opening { known, noted, done }, trail));
    let mut cells = run.sources();
    if let Some(first) = cells.first_mut() {
        first.kernel = request.kernel;
    }
    let request = PythonRequest {
        cells,
        session: Some(request.session.unwrap_or_else(name)),
        cwd,
        wanted,
        mode: request.mode,
        timeout: request.timeout,
        wait: request.wait,
        reading: request.reading,
        input: InputMode::Refuse,
    };
    Ok(PreparedRun { request, run })
}

/// What the last run has done of these cells, up to the first that it has not, and the rest.
fn resume(past: &Past, mut cells: Vec<Planned>, source: &Opened) -> (Vec<Planned>, Vec<Planned>) {
    let is_done = |planned: &Planned| {
        let cell = &planned.cell;
        let count = source.notebook.cell(cell.index).and_then(|cell| cell.execution_count());
        past.last().any(|ran| {
            ran.is_of(cell.id.as_deref(), cell.index)
                && ran.state == State::Done
                && ran.ran(&cell.source)
                // Somebody may have put a copy without outputs in its place.
                && ran.count.map(u64::from) == count
        })
    };
    let first = cells.iter().position(|planned| !is_done(planned)).unwrap_or(cells.len());
    let rest = cells.split_off(first);
    (cells, rest)
}

/// A run that is taken up in another file goes on with that file, which must still be the same notebook.
fn must_be_same_sources(asked: &Opened, written: &Opened) -> Result<(), EngineError> {
    let code = |opened: &Opened| -> Vec<String> {
        let notebook = &opened.notebook;
        // Values of a run are no part of what was written by somebody.
        let values = notebook.injected_cell();
        let code = notebook.cells().filter(|cell| cell.kind() == Some(CellKind::Code));
        let code = code.filter(|cell| Some(cell.index()) != values);
        code.map(|cell| cell.source().text.into_owned()).collect()
    };
    if asked.path == written.path || code(asked) == code(written) {
        return Ok(());
    }
    let problem = format!(
        "the code of {} is not that of {} any more; run it without --resume",
        written.shown, asked.shown
    );
    Err(EngineError::Argument { argument: "--resume".to_owned(), problem })
}

/// A run of this engine that is not over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunningRun {
    /// Its id.
    pub execution: ExecutionId,
    /// The cell that runs, unless it waits for its turn.
    pub cell: Option<NotebookCell>,
}

/// What a notebook says about the kernel it is for.
pub fn notebook_kernel(opened: &Opened) -> Option<KernelChoice> {
    plan::kernel(&opened.notebook)
}

/// Forgets how the cells of a notebook ran: its file is gone, or will be. What cannot be removed says nothing of any other.
pub fn forget_runs(notebooks: &Notebooks, notebook: &Path) {
    let path = notebook.canonicalize().unwrap_or_else(|_| notebook.to_owned());
    let places = RunPlaces::of(&path, notebooks.state_dir());
    let _ = std::fs::remove_file(places.record);
    let _ = std::fs::remove_file(places.journal);
}

impl Engine {
    /// The run of a notebook that is under way here, if there is one.
    pub fn run_of(&self, notebook: &Path) -> Option<RunningRun> {
        self.executions().run_in(&SessionName(notebook.display().to_string()))
    }

    /// Runs cells of a notebook. The answer comes when the run is over or the caller has waited long enough;
    /// then the run goes on, and can be asked for by its id.
    pub async fn notebook(
        &self,
        request: RunRequest,
        files: &RunFiles,
        owner: OwnerId,
    ) -> Result<PythonReport, EngineError> {
        let (began, wait) = (Instant::now(), request.wait);
        let opened = opened_run(request, files).await?;
        let session = opened.session();
        let (_, chosen) = self.place(Some(&session), opened.cwd(), opened.wanted()).await?;
        let prepared = prepared(opened, &chosen, files).await?;
        let id = self.start_run(prepared, &chosen, owner, None, Lent::default()).await?;
        match wait {
            Some(wait) => self.result(&id, wait.saturating_sub(began.elapsed())).await,
            None => self.settled(&id).await,
        }
    }
}

/// [`open_run`], where others must not wait for disks.
pub async fn opened_run(request: RunRequest, files: &RunFiles) -> Result<OpenedRun, EngineError> {
    let files = files.clone();
    on_disk(move || open_run(request, &files)).await
}

/// [`prepare`], where others must not wait for disks.
pub async fn prepared(
    opened: OpenedRun,
    chosen: &Chosen,
    files: &RunFiles,
) -> Result<PreparedRun, EngineError> {
    if let (Some(documents), OnOpen::Refuse) = (&chosen.documents, opened.request.on_open) {
        must_be_closed(documents, &opened, files).await?;
    }
    let (notes, files) = (chosen.notes.clone(), files.clone());
    let kernel = KernelLanguage::of(&chosen.kernel, opened.wanted());
    on_disk(move || prepare(opened, notes, &kernel, &files)).await
}

/// A file that others have open on a server is not written: what they type would be mixed with it, or lost.
async fn must_be_closed(
    documents: &ServerContents,
    opened: &OpenedRun,
    files: &RunFiles,
) -> Result<(), EngineError> {
    let written = opened.request.output.as_ref().unwrap_or(&opened.request.path).clone();
    let file = files.notebooks.absolute(&written);
    let real = on_disk(move || Ok(file.canonicalize())).await?;
    // Nobody has a file open that there is not.
    let Ok(real) = real else { return Ok(()) };
    let open = documents.open_document(&real).await.map_err(LaunchError::from)?;
    match open {
        Some(open) => Err(EngineError::OpenOnServer { path: written, open }),
        None => Ok(()),
    }
}

async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> Result<T, EngineError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(EngineError::Lost { what: "the notebook of this run" }))
}
