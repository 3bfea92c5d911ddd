//! Running notebooks: the one place where a document and a kernel meet.
//!
//! Owns the way from a request to a run under way. A run is a call of the engine whose cells come from a file and whose
//! outputs return to it. A run has everything that a call has, such as an id, watchers and an end.

mod cell_identity;
mod cell_records;
mod conduct;
mod displays;
mod file;
mod fold;
mod foresee;
mod inject;
mod journal;
mod missing;
mod outline;
mod plan;
mod record;
mod record_places;
mod staleness;
mod stamps;
mod trail;
mod widgets;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use inkcell_kernel::{InputMode, LaunchError, ServerContents};
use inkcell_notebook::CellKind;

pub use cell_records::Records;
pub(crate) use conduct::NotebookRun;
pub use file::CHEAP_SAVE;
pub use outline::{CellFilter, outlined, read_with_runs};
pub use record::RanCell;
pub use record::{LastRuns, OpenCell};
pub use staleness::ExecutionTrace;

use crate::api::{
    Helpers, KernelChoice, KernelMode, KernelWishes, NeededCells, NotebookReport, OnError, OnOpen,
    PythonRequest, RunExtent, RunNote, RunRequest, RunStart, SessionRef, SourceDisplay,
};
use crate::edit::{Notebooks, OpenNotebook};
use crate::error::EngineError;
use crate::kernels::ResolvedKernel;
use crate::output::SizePolicy;
use crate::types::{SessionName, State};
use conduct::{Opening, RunRules};
use file::RunFile;
use fold::must_take_outputs;
use foresee::Foresight;
use inject::{KernelLanguage, Values};
use plan::{Plan, PlannedCell, chosen, leaves_out_some, plan, plan_of, with_cells_above};
use record::{RecordPlace, RunHistory, RunPlaces, RunRecord};
use trail::{Choosing, Trail};

/// Supplies the times that are written into notebooks.
pub type RunClock = fn() -> SystemTime;

/// What runs need besides an engine.
#[derive(Clone, Debug)]
pub struct RunFiles {
    /// The files, with their roots, locks and versions.
    pub notebooks: Notebooks,
    /// Policy for outputs that would make a notebook too large.
    pub outputs: SizePolicy,
    /// The source of the times that are written into notebooks.
    pub clock: RunClock,
    /// A save that takes less than this follows every cell; dearer saves wait, with the outputs in the journal.
    pub cheap_save: Duration,
}

/// A run whose notebook has been read. The kernel it needs is known; no file was changed.
pub struct OpenedRun {
    request: RunRequest,
    opened: OpenNotebook,
    cwd: PathBuf,
    wanted: KernelWishes,
}

impl OpenedRun {
    /// The session of the run: the named one, else one of its own.
    pub fn session(&self) -> SessionName {
        let own = || SessionName(self.opened.path.display().to_string());
        self.request.session.clone().unwrap_or_else(own)
    }

    /// The session and the kernel for its code.
    pub fn session_ref(&self) -> SessionRef {
        let (session, cwd, wanted) = (Some(self.session()), self.cwd.clone(), self.wanted.clone());
        SessionRef { session, cwd, wanted }
    }

    /// Says if the kernel outlives the run.
    pub fn mode(&self) -> KernelMode {
        self.request.mode
    }

    /// The requested kernel, else the one that the notebook names.
    pub fn wanted(&self) -> &KernelWishes {
        &self.wanted
    }
}

/// Reads the notebook. Refuses a notebook that cannot run before anything is touched. Blocks on disks.
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

/// A run that is ready to begin.
pub struct PreparedRun {
    pub(crate) request: PythonRequest,
    pub(crate) run: NotebookRun,
}

impl PreparedRun {
    /// The working folder of its code.
    pub fn cwd(&self) -> &Path {
        &self.request.cwd
    }
}

/// Takes the notebook for the run, with notes about its kernel. No cell runs yet. It may write the notebook: it
/// restores outputs that a dead host had kept, makes the copy if the output goes elsewhere, and removes failure markers
/// of another runner. Blocks on disks.
pub(crate) fn prepare(
    opened: OpenedRun,
    about_kernel: Vec<RunNote>,
    kernel: &KernelLanguage,
    files: &RunFiles,
) -> Result<PreparedRun, EngineError> {
    let notebooks = &files.notebooks;
    let is_chosen_here =
        opened.request.cells.is_stale() || opened.request.needed == NeededCells::RunFirst;
    if opened.request.start == RunStart::Resume && is_chosen_here {
        let problem = "stale cells and needed cells are found from the beginning; remove --resume";
        let argument = "--resume".to_owned();
        return Err(EngineError::Argument { argument, problem: problem.to_owned() });
    }
    let OpenedRun { request, opened, cwd, wanted } = opened;
    let values = Values::of(&request.parameters, kernel, &opened)?;
    let written = request.output.as_ref().unwrap_or(&request.path).clone();
    // From here on no other run can take the notebook, so no outputs of another run can be lost.
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
    // The obstacle that kept the last run from saving may be gone by now.
    let recovered = match request.start {
        RunStart::Resume => recovered.or(file.recover()?),
        RunStart::First | RunStart::Copied => recovered,
    };
    notebooks.must_be_writable(&written)?;
    file.without_markers(request.stamps)?;
    let mut notes = about_kernel;
    let mut source = notebooks.read(&written)?;
    let mut values_at = None;
    // Positions mean the cells as the caller sees them.
    let mut positions = chosen(&source, &request.cells)?;
    if let Some(values) = &values {
        notes.extend(values.doubts(&source.notebook));
        let injected = file.inject(values, request.stamps)?;
        positions = inject::carried(injected, positions);
        values_at = Some(injected.index);
        source = notebooks.read(&written)?;
    }
    if request.sources == SourceDisplay::Hidden {
        file.hide_sources()?;
        source = notebooks.read(&written)?;
    }
    if request.extent == RunExtent::Preparation {
        positions.clear();
    }
    let (past, noted) = match record_places::places(&source.notebook, &past.cells) {
        Some(places) => (past.moved(&places), RecordPlace::Elsewhere),
        None => (past, RecordPlace::AsKnown),
    };
    let plan = plan_of(&source, positions)?;
    let (resumed, plan) = match request.start {
        RunStart::First | RunStart::Copied => (Vec::new(), plan),
        RunStart::Resume => {
            must_be_same_sources(&opened, &source)?;
            let (resumed, cells) = resume(&past, plan.cells, &source);
            (resumed, Plan { cells, ..plan })
        }
    };
    let needed = match request.needed {
        // The kernel is a new one, and lacks what the finished cells have made.
        NeededCells::MustHaveRun if !resumed.is_empty() => NeededCells::RunFirst,
        needed => needed,
    };
    let must_have_run =
        request.needed == NeededCells::MustHaveRun && request.start == RunStart::First;
    let foresight = match must_have_run && leaves_out_some(&source.notebook, &plan.cells) {
        true => Foresight::MissingNames,
        false => Foresight::NewNames,
    };
    let (plan, choosing) = match needed {
        _ if request.cells.is_stale() => (plan, Choosing::Stale),
        NeededCells::RunFirst => {
            let (plan, chosen) = with_cells_above(&source, plan)?;
            (plan, Choosing::Needed(chosen))
        }
        NeededCells::MustHaveRun | NeededCells::LeaveOut => (plan, Choosing::All),
    };
    let Plan { mut cells, skipped, on_error } = plan;
    file.plan_on(&source.notebook);
    must_take_outputs(&source.notebook, cells.iter().map(|planned| &planned.cell), &written)?;
    notes.extend(recovered.map(|cells| RunNote::Recovered { cells }));
    notes.extend(past.open.as_ref().map(|cell| RunNote::CutOff { index: cell.index }));
    let records = Records::new(&past.cells);
    for planned in &mut cells {
        let cell = &planned.cell;
        // The duration of a failed or stopped cell says nothing about a normal one.
        let ran = records.of(cell.id.as_deref(), cell.index);
        let ran = ran.filter(|ran| ran.state == State::Done);
        planned.last_took = ran.map(|ran| ran.duration).or(planned.last_took);
    }
    let is_one_of = |ran: &RanCell, cells: &[PlannedCell]| {
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
    // Records of cells that this run does not reach stay as they were.
    let known: Vec<RanCell> = past.cells.into_iter().filter(is_there).collect();
    let records =
        cell_records::with_noted(&source.notebook, &known).unwrap_or_else(|| known.clone());
    let trail = Trail::new(choosing, records, past.held, &source.notebook);
    let trail = trail.with_earlier(past.earlier);
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
            OnError::Usual | OnError::Stop => request.on_error,
        },
        foresight,
        cell_timeout: request.cell_timeout,
        outputs: files.outputs,
        stamps: request.stamps,
        clock: files.clock,
    };
    let run = NotebookRun::new(file, cells, report, rules, (Opening { known, noted, done }, trail));
    let names = request.parameters.iter().map(|(name, _)| name.to_owned()).collect();
    let run = match values_at {
        Some(index) => run.with_values(index, names),
        None => run,
    };
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

/// Splits the cells for a resumed run: cells that the last run completed, up to the first that it did not, and the
/// rest.
fn resume(
    past: &RunHistory,
    mut cells: Vec<PlannedCell>,
    source: &OpenNotebook,
) -> (Vec<PlannedCell>, Vec<PlannedCell>) {
    let is_done = |planned: &PlannedCell| {
        let cell = &planned.cell;
        let count = source.notebook.cell(cell.index).and_then(|cell| cell.execution_count());
        past.last().any(|ran| {
            ran.is_of(cell.id.as_deref(), cell.index)
                && ran.state == State::Done
                && ran.ran(&cell.source)
                // Another program may have replaced the file with a copy without outputs.
                && ran.count.map(u64::from) == count
        })
    };
    let first = cells.iter().position(|planned| !is_done(planned)).unwrap_or(cells.len());
    let rest = cells.split_off(first);
    (cells, rest)
}

/// Checks that a run resumed in another file continues the same notebook.
fn must_be_same_sources(asked: &OpenNotebook, written: &OpenNotebook) -> Result<(), EngineError> {
    let code = |opened: &OpenNotebook| -> Vec<String> {
        let notebook = &opened.notebook;
        // Injected values are not part of the author's code.
        let values = notebook.injected_cell();
        let code = notebook.cells().filter(|cell| cell.kind() == Some(CellKind::Code));
        let code = code.filter(|cell| Some(cell.index()) != values);
        code.map(|cell| cell.source().text.into_owned()).collect()
    };
    if asked.path == written.path || code(asked) == code(written) {
        return Ok(());
    }
    let problem = format!(
        "the code of {} and {} differs now; run it without --resume",
        written.shown, asked.shown
    );
    Err(EngineError::Argument { argument: "--resume".to_owned(), problem })
}

/// The kernel that a notebook names.
pub fn notebook_kernel(opened: &OpenNotebook) -> Option<KernelChoice> {
    plan::kernel(&opened.notebook)
}

/// Forgets how the cells of a notebook ran, because its file is gone or about to go. Failures are ignored: a leftover
/// record says nothing about any other file.
pub fn forget_runs(notebooks: &Notebooks, notebook: &Path) {
    let path = notebook.canonicalize().unwrap_or_else(|_| notebook.to_owned());
    let places = RunPlaces::of(&path, notebooks.state_dir());
    let _ = std::fs::remove_file(places.record);
    let _ = std::fs::remove_file(places.journal);
}

/// Async form of [`open_run`], on a thread that may block on disks.
pub async fn opened_run(request: RunRequest, files: &RunFiles) -> Result<OpenedRun, EngineError> {
    let files = files.clone();
    on_disk(move || open_run(request, &files)).await
}

/// Async form of [`prepare`], on a thread that may block on disks.
pub async fn prepared(
    opened: OpenedRun,
    chosen: &ResolvedKernel,
    files: &RunFiles,
) -> Result<PreparedRun, EngineError> {
    if let (Some(documents), OnOpen::Refuse) = (&chosen.documents, opened.request.on_open) {
        must_be_closed(documents, &opened, files).await?;
    }
    let (notes, files) = (chosen.notes.clone(), files.clone());
    let kernel = KernelLanguage::of(&chosen.kernel, opened.wanted());
    on_disk(move || prepare(opened, notes, &kernel, &files)).await
}

/// Refuses to write a file that a server has open: edits typed there would mix with outputs or be lost.
async fn must_be_closed(
    documents: &ServerContents,
    opened: &OpenedRun,
    files: &RunFiles,
) -> Result<(), EngineError> {
    let written = opened.request.output.as_ref().unwrap_or(&opened.request.path).clone();
    let file = files.notebooks.absolute(&written);
    let real = on_disk(move || Ok(file.canonicalize())).await?;
    // A file that does not exist cannot be open.
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
