//! The answer to a call of code: one text, pictures, and where to find what did not fit.
//!
//! Owns which part of a report goes into which part of the answer. The words are in `view/reply.rs`, the form for
//! programs is in `facts.rs` and `details.rs`.

use inkcell_engine::api::{
    CellReport, EndReport, KernelStep, NotebookReport, Problem, PythonReport, State,
};
use inkcell_engine::artifact::Scope;
use inkcell_engine::output::{ArtifactRef, ImageItem, RichItem, RichKind};
use inkcell_engine::{Kind, StaleReason};
use serde_json::json;

use super::details::{self, Language};
use super::facts::Facts;
use super::news::Since;
use super::running::CallProgress;
use super::session::profile;
use super::{Content, Desk, Fault, ToolError, ToolReply, weight};
use crate::settings::Images;
use crate::view::reply::{self, Afterwards, Reply, Room, Terms, cut};
use crate::words;
use crate::words::step::Audience;

/// How many pictures one answer shows; the others are stored.
const MAX_IMAGES: usize = 8;

/// How many links to whole outputs one answer has; the text names the others.
const MAX_LINKS: usize = 8;

/// Remarks about the call may take one part of the text, if it is divided into so many.
const LINES: usize = 8;

/// What is kept free of pictures for notes and links.
const SPARE_BYTES: usize = 32 << 10;

/// Who gets the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Readers {
    /// A model. It gets no structured content: clients would show that in place of the text, which is made for it.
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

/// Looks up what is stored in files, where nobody else waits for them.
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
    let Reply { mut text, is_error } = reply::of_report_with(&report, terms);
    if text.is_empty() && since.is_some() {
        text.push_str(words::call::NO_NEW_OUTPUT);
    }
    let can_ask_again = desk.exposure.can_ask_again();
    if can_ask_again && !is_whole && reply::is_folded(&report.cells[told..]) {
        asides.push(words::reply::folded(&report.execution.0));
    }
    let facts = Facts::of(&report, told, is_error);
    let (structured, details) = match readers {
        Readers::Programs(language) => (Some(details::of(desk, &report, &facts, language)), None),
        // In a field that no client shows in place of the text.
        Readers::Model => (None, Some(json!(facts))),
    };
    let forms = structured.iter().chain(&details).map(weight::of_json);
    let words = weight::of_text(&text) + forms.sum::<usize>();
    let left = weight::MOST_BYTES.saturating_sub(SPARE_BYTES + words);
    let news: Vec<&CellReport> =
        report.cells[told..].iter().filter(|cell| !report.can_spare(cell)).collect();
    let pictures = Pictures::of(desk, &news, left);
    let next = next_step(desk, &report, next_mark)
        .map(|next| format!("\nNext: {next}"))
        .unwrap_or_default();
    let lines = asides.iter().map(|aside| format!("[{aside}]")).chain(pictures.lines);
    let lines: String = lines.map(|line| format!("\n\n{line}")).collect();
    let left = Room { max_bytes: lines_bytes.saturating_sub(next.len()), is_end: false };
    text.push_str(&cut(lines, left));
    text.push_str(&next);
    let mut content = vec![Content::Text(text.trim_start_matches('\n').to_owned())];
    content.extend(pictures.content);
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

/// Why nothing was run, if that is so.
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

/// What to do next, where the text does not say so itself.
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

/// What to do after a run that stopped at a cell.
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

/// Where all of a truncated output is.
fn whole_output(cell: &CellReport) -> Option<Content> {
    let ArtifactRef { id, bytes } = cell.output.artifact.as_ref()?;
    let name = cell.source.title.clone().unwrap_or_else(|| "full output".to_owned());
    Some(link(id, name, "text/plain", *bytes))
}

fn link(id: &str, name: String, mime: &str, bytes: u64) -> Content {
    Content::Link { uri: format!("artifact://{id}"), name, mime: mime.to_owned(), bytes }
}

/// The pictures of a call.
#[derive(Default)]
struct Pictures {
    content: Vec<Content>,
    /// What is said of them in the text.
    lines: Vec<String>,
}

impl Pictures {
    /// As many as there is room for; where the files of the others are.
    fn of(desk: &Desk, cells: &[&CellReport], mut room: usize) -> Pictures {
        let images = desk.settings.calls(profile(desk)).images;
        let mut pictures = Pictures::default();
        let mut shown = 0;
        let mut left_out = 0;
        for (item, image) in cells.iter().copied().flat_map(of_cell) {
            let stored = image.artifact.as_ref();
            match (images, &image.data) {
                (Images::Inline, Some(_)) if shown == MAX_IMAGES => left_out += 1,
                (Images::Inline, Some(data)) if weight::of_bytes(data.len()) > room => {
                    let file = stored.and_then(|stored| file(desk, stored));
                    let file = file.map(|path| format!(". Its file: {path}")).unwrap_or_default();
                    let digest = &item.digest;
                    pictures.lines.push(words::output::not_shown(digest, &file));
                }
                (Images::Inline, Some(data)) => {
                    shown += 1;
                    room -= weight::of_bytes(data.len());
                    let (mime, data) = (image.mime.clone(), data.clone());
                    pictures.content.push(Content::Image { mime, data });
                }
                (Images::Path, _) => {
                    let path = stored.and_then(|stored| file(desk, stored));
                    pictures.lines.extend(path.map(|path| format!("[image file: {path}]")));
                }
                (Images::Inline, None) | (Images::Off, _) => {}
            }
            if let Some(ArtifactRef { id, bytes }) = stored {
                pictures.content.push(link(id, item.digest.clone(), &image.mime, *bytes));
            }
        }
        if left_out > 0 {
            pictures.lines.push(words::output::images_not_shown(&left_out));
        }
        pictures
    }
}

fn of_cell(cell: &CellReport) -> impl Iterator<Item = (&RichItem, &ImageItem)> {
    cell.output.rich.iter().filter_map(|item| match &item.kind {
        RichKind::Image(image) => Some((item, image)),
        _ => None,
    })
}

/// The file of a picture.
fn file(desk: &Desk, stored: &ArtifactRef) -> Option<String> {
    let found = desk.engine.artifacts().find_reference(&stored.id, Scope::All).ok()?;
    Some(found.info().path.display().to_string())
}
