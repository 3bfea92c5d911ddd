//! The answer to a call of code: one text, pictures, and links to output that did not fit.
//!
//! Owns which part of a report goes into which part of the answer. The words are in `view/reply.rs`, the form for
//! programs is in `facts.rs` and `details.rs`.

use inkcell_engine::api::{
    CellReport, EndReport, KernelStep, NotebookReport, Problem, PythonReport, State,
};
use inkcell_engine::output::{ArtifactRef, RichKind};
use inkcell_engine::{Kind, StaleReason};
use serde_json::{Value, json};

use super::details::{self, Language};
use super::facts::{CellsLeftOut, Facts, leave_out_cells};
use super::news::Since;
use super::pictures::{Pictures, link};
use super::portion::LEAST_FORM;
use super::result::pieces::error_id;
use super::running::CallProgress;
use super::{Content, Desk, Fault, ToolError, ToolReply, weight};
use crate::view::reply::{self, Afterwards, Reply, Room, Terms, cut};
use crate::words;
use crate::words::step::Audience;

/// The most links to whole outputs that one answer has, and the most to pictures. The text names all of them.
pub(super) const MAX_LINKS: usize = 8;

/// Remarks about the call get at most one part in this many of the text.
const LINES: usize = 8;

/// The readers of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Readers {
    /// A model. It gets no structured content, which clients would show in place of the text.
    Model,
    /// Programs too, as the source documents have it (B:X-09).
    Programs(Language),
}

/// The answer to a call. A call for which there was no kernel is an error with its next step.
pub(crate) async fn of(
    desk: &Desk,
    followed: CallProgress,
    readers: Readers,
) -> Result<ToolReply, ToolError> {
    let has_files =
        |cell: &CellReport| !cell.output.rich.is_empty() || cell.output.artifact.is_some();
    if !followed.report.cells.iter().any(has_files) {
        return make(desk, followed, readers);
    }
    let desk = desk.clone();
    off_thread(move || make(&desk, followed, readers)).await?
}

/// Does work on stored files on a thread that may block.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        let message = words::tool::answer_failed(&error);
        ToolError { kind: Kind::Internal, message, next: None }
    })
}

fn make(desk: &Desk, followed: CallProgress, readers: Readers) -> Result<ToolReply, ToolError> {
    let CallProgress { mut report, mut asides, wanted, since } = followed;
    let next_mark = Since::after(&report);
    let mut told = 0;
    if let Some(since) = since {
        since.apply(&mut report);
        let is_told = report.cells.iter().take(since.cell);
        told = is_told.filter(|cell| !cell.is_left_out()).count();
    }
    let cells = report.cells.iter().enumerate();
    let places: Vec<usize> =
        cells.filter(|(_, cell)| !cell.is_left_out()).map(|(place, _)| place).collect();
    let report = report.without_left_out().into_owned();
    if let Some(error) = not_begun(&report) {
        return Err(error);
    }
    let room = wanted.room(desk);
    let lines_bytes = room.max_bytes / LINES;
    let most = Room { max_bytes: room.max_bytes - lines_bytes, ..room };
    let kernel = kernel_after(desk, &report);
    let is_whole = wanted.is_raw || readers != Readers::Model;
    let terms = Terms { kernel, room: most, told, is_whole };
    let Reply { mut text, is_error, is_cut, is_error_cut } = reply::of_report_with(&report, terms);
    if text.is_empty() && since.is_some() {
        text.push_str(words::call::NO_NEW_OUTPUT);
    }
    let can_ask_again = desk.exposure.can_ask_again();
    if can_ask_again && !is_whole && reply::is_folded(&report.cells[told..]) {
        asides.push(words::reply::folded(&report.execution.0));
    }
    if can_ask_again && is_error_cut {
        asides.push(words::reply::error_cut(&error_id(&report.execution.0)));
    } else if can_ask_again && is_cut && report.state.is_end() {
        asides.push(words::reply::answer_cut(&report.execution.0));
    }
    let facts = Facts::of(&report, told, is_error);
    let (structured, details) = match readers {
        Readers::Programs(language) => (Some(details::of(desk, &report, &facts, language)), None),
        // In a field that no client shows in place of the text.
        Readers::Model => (None, Some(bound_facts(&facts, room.max_bytes, &places[told..]))),
    };
    let forms = structured.iter().chain(&details).map(weight::of_json);
    let words = weight::of_text(&text) + forms.sum::<usize>();
    let news: Vec<&CellReport> =
        report.cells[told..].iter().filter(|cell| !report.can_spare(cell)).collect();
    let mut pictures = Pictures::beside(desk, words);
    for item in news.iter().flat_map(|cell| &cell.output.rich) {
        if let RichKind::Image(image) = &item.kind {
            pictures.add(item, image);
        }
    }
    let (images, image_lines) = pictures.finish();
    let next = next_step(desk, &report, next_mark)
        .map(|next| format!("\nNext: {next}"))
        .unwrap_or_default();
    let lines = asides.iter().map(|aside| format!("[{aside}]")).chain(image_lines);
    let lines: String = lines.map(|line| format!("\n\n{line}")).collect();
    let left = Room { max_bytes: lines_bytes.saturating_sub(next.len()), is_end: false };
    text.push_str(&cut(lines, left));
    text.push_str(&next);
    let mut content = vec![Content::Text(text.trim_start_matches('\n').to_owned())];
    content.extend(images);
    content.extend(news.into_iter().filter_map(whole_output).take(MAX_LINKS));
    let fault = is_error.then_some(Fault::Ended(report.state));
    let is_asked_again = !report.state.is_end() && can_ask_again;
    let goes_on = is_asked_again.then(|| report.execution.clone());
    let reply = ToolReply { content, details, is_error, fault, goes_on, ..ToolReply::default() };
    Ok(match structured {
        Some(structured) => reply.with_structured(structured),
        None => reply,
    })
}

/// The facts, for at most as many cells as fit beside a text of this size. `places` has the position of each cell in
/// the call.
fn bound_facts(facts: &Facts, text_bytes: usize, places: &[usize]) -> Value {
    let mut form = json!(facts);
    if let Some(CellsLeftOut { count, first }) =
        leave_out_cells(&mut form, text_bytes.max(LEAST_FORM))
    {
        let since = Since::before_cell(places.get(first).copied().unwrap_or_default());
        form["cellsLeftOut"] = json!({"count": count, "since": since.to_string()});
    }
    form
}

/// The reason why no code ran; `None` if some did.
fn not_begun(report: &PythonReport) -> Option<ToolError> {
    if report.cells.iter().any(|cell| cell.count.is_some()) {
        return None;
    }
    let Problem { kind, message, step } = no_kernel(report)?;
    Some(ToolError {
        kind: *kind,
        message: message.clone(),
        next: step.map(|step| Audience::Model.kernel_step(step)),
    })
}

fn no_kernel(report: &PythonReport) -> Option<&Problem> {
    report.cells.iter().find_map(|cell| match &cell.end {
        Some(EndReport::NoKernel(problem)) => Some(problem),
        _ => None,
    })
}

/// Whether a later call finds the kernel of this one.
fn kernel_after(desk: &Desk, report: &PythonReport) -> Afterwards {
    match desk.exposure.ends_with_its_call() {
        true => Afterwards::Gone,
        false => Afterwards::of(report),
    }
}

/// The next step for the model; `None` if the text names it already.
fn next_step(desk: &Desk, report: &PythonReport, mark: Since) -> Option<String> {
    if !report.state.is_end() && desk.exposure.can_ask_again() {
        return Some(words::call::ask_for_news(&report.execution.0, &mark));
    }
    if let (Some(run), true) = (&report.notebook, report.state.is_end())
        && let Some(step) = after_run(report, run, kernel_after(desk, report))
    {
        return Some(step);
    }
    if report.state == State::TimedOut {
        return Some(Audience::Model.kernel_step(KernelStep::RaiseTimeout));
    }
    no_kernel(report).and_then(|problem| problem.step).map(|step| Audience::Model.kernel_step(step))
}

/// The next step after a run that stopped at a cell.
fn after_run(report: &PythonReport, run: &NotebookReport, kernel: Afterwards) -> Option<String> {
    let is_stop = |cell: &&CellReport| matches!(cell.state, State::Error | State::KernelDied);
    let cell = report.cells.iter().rev().find(is_stop)?;
    let place = cell.notebook.as_ref()?;
    let name = place.id.clone().unwrap_or_else(|| place.index.to_string());
    let is_gone = report.state == State::KernelDied || kernel == Afterwards::Gone;
    let is_of_stale = report.cells.iter().any(|cell| {
        let why = cell.notebook.as_ref().and_then(|place| place.why.as_ref());
        matches!(why, Some(StaleReason::Marked(_)))
    });
    let lacks_a_name =
        matches!(&cell.end, Some(EndReport::Exception(error)) if error.name == "NameError");
    match report.state {
        // Without the hint, if the run wrote to another file: another run would make that file again.
        State::Error if run.path != run.written => None,
        State::Error if matches!(&cell.end, Some(EndReport::Fault(_))) => None,
        State::KernelDied | State::Error if is_gone => {
            Some(words::reply::MEND_AND_START.to_owned())
        }
        State::Error if words::reply::is_interrupted(cell) => Some(words::reply::go_on(&name)),
        State::Error if is_of_stale => Some(words::reply::MEND_AND_RUN_STALE.to_owned()),
        State::Error if lacks_a_name => Some(words::reply::mend_or_run_above(&name)),
        State::Error => Some(words::reply::mend_and_go_on(&name)),
        _ => None,
    }
}

/// The link to the whole of a truncated output.
fn whole_output(cell: &CellReport) -> Option<Content> {
    let ArtifactRef { id, bytes } = cell.output.artifact.as_ref()?;
    let name = cell.source.title.clone().unwrap_or_else(|| "full output".to_owned());
    Some(link(id, name, "text/plain", *bytes))
}
