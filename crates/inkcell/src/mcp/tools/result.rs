//! `result`: a call that went on after its answer, or a part of stored output.
//!
//! Owns the meaning of the arguments and the form of parts. The engine reads them.

use futures_util::FutureExt;
use inkcell_engine::api::{
    ArtifactForm, ArtifactFound, ArtifactPart, ArtifactReport, ExecutionId, LineHit, LinesPiece,
    ResultReport, ResultRequest,
};
use inkcell_engine::artifact::{ArtifactId, Scope, is_text_kind};
use inkcell_engine::notebook::{Form, LineRange, split_selector};
use inkcell_engine::output::{SVG, size};
use inkcell_engine::{EngineError, Kind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use super::answer::Readers;
use super::news::Since;
use super::pictures::Pictures;
use super::running::{self, CallProgress, GivenUp, LONGEST_WAIT};
use super::seconds::Seconds;
use super::session::profile;
use super::shown::Portion;
use super::{Alias, CallContext, Content, Desk, Hints, Order, ToolError, ToolReply, ToolSpec};
use super::{answer, decode, lean};
use crate::settings::Images;
use crate::words;

pub(crate) static SPEC: ToolSpec = ToolSpec {
    name: "result",
    description: include_str!("result.md"),
    hints: Hints::reading("Fetch a result"),
    order: Order::None,
    schema: lean::schema::<Arguments>,
    call: |desk, given, context| call(desk, given, context).boxed(),
};

const ALIASES: [Alias; 3] = [("execution", "id"), ("artifact", "id"), ("pattern", "grep")];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Execution id, or artifact://ID.
    id: String,
    /// Lines of an artifact: 10-20, 3+4, 50-.
    lines: Option<String>,
    /// Lines that match this regex.
    grep: Option<String>,
    /// In JSON: .rows[0]["id"], [2:5], [*].id; then | keys, | length or | skeleton.
    json_path: Option<String>,
    /// Lines around a match.
    context: Option<u64>,
    /// Bytes of an artifact from here on.
    offset: Option<u64>,
    /// As written: escape sequences, whole tracebacks.
    #[serde(default)]
    raw: bool,
    /// Seconds to wait for an execution, default 45.
    wait: Option<Seconds>,
    /// Only what is new since this mark.
    since: Option<String>,
    max_bytes: Option<u64>,
    #[serde(default)]
    tail: bool,
}

/// With less room than this, no further part is shown.
const LEAST_PART_BYTES: usize = 200;

/// Which part of stored output is wanted.
enum PartChoice {
    /// As it is best shown.
    Whole,
    Lines(Vec<LineRange>),
    Part(ArtifactPart),
}

async fn call(desk: &Desk, given: Value, context: CallContext) -> Result<ToolReply, ToolError> {
    let arguments: Arguments = decode(given, &ALIASES)?;
    let (id, selector) = split_selector(arguments.id.trim()).map_err(EngineError::from)?;
    let mut id = id.to_owned();
    if is_execution(desk, &id) {
        let Arguments { lines, grep, json_path, offset, context: around, .. } = &arguments;
        let is_part = lines.is_some() || grep.is_some() || json_path.is_some();
        let is_part = is_part || offset.is_some() || around.is_some();
        if !is_part && selector.ranges.is_empty() {
            return execution(desk, &id, &arguments, context).await;
        }
        id = artifact_of(desk, &id)?;
    }
    let shown = Portion::of(arguments.max_bytes, arguments.tail)?;
    let is_raw = arguments.raw || selector.form == Form::Raw;
    let form = if is_raw { ArtifactForm::Raw } else { ArtifactForm::Clean };
    let wanted = wanted(&arguments, selector.ranges)?;
    artifact(desk, &id, wanted, (form, shown)).await
}

/// Whether a reference names a call. Calls have short names, so that only what looks like neither is left to
/// be told apart by what there is.
fn is_execution(desk: &Desk, id: &str) -> bool {
    let execution = ExecutionId(id.to_owned());
    desk.engine.find_call(&execution).is_ok()
        || (ArtifactId::from_reference(id).is_err() && id.starts_with('x') && id.len() <= 12)
}

async fn execution(
    desk: &Desk,
    id: &str,
    arguments: &Arguments,
    context: CallContext,
) -> Result<ToolReply, ToolError> {
    let wait = arguments.wait.map_or(running::WAIT, |wait| wait.at_most(LONGEST_WAIT));
    let until = Instant::now().checked_add(wait);
    let since = arguments.since.as_deref().map(Since::parse).transpose()?;
    let shown = Portion::of(arguments.max_bytes, arguments.tail)?;
    let wanted = Portion { is_raw: arguments.raw, ..shown };
    let id = ExecutionId(id.to_owned());
    let call = desk.engine.find_call(&id)?;
    let report = running::follow(&call, until, GivenUp::GoesOn, context).await;
    let followed = CallProgress { report, asides: Vec::new(), wanted, since };
    answer::of(desk, followed, Readers::Model).await
}

/// The artifact from which a part of a call's output is read: that of the last cell that has one.
fn artifact_of(desk: &Desk, id: &str) -> Result<String, ToolError> {
    let report = desk.engine.find_call(&ExecutionId(id.to_owned()))?.report();
    let stored = report.cells.iter().rev().find_map(|cell| cell.output.artifact.as_ref());
    stored.map(|stored| stored.id.clone()).ok_or_else(|| {
        let problem = words::call::nothing_stored(id);
        ToolError::argument(problem).with_next(words::call::LEAVE_PART_OUT)
    })
}

fn wanted(arguments: &Arguments, selected: Vec<LineRange>) -> Result<PartChoice, ToolError> {
    let Arguments { lines, grep, json_path, offset, context, .. } = arguments;
    let ranges = match lines {
        Some(lines) => ranges(lines, &selected)?,
        None => selected,
    };
    let by_line = grep.is_some() || !ranges.is_empty();
    if u8::from(by_line) + u8::from(json_path.is_some()) + u8::from(offset.is_some()) > 1 {
        let problem = words::artifact::MORE_THAN_ONE_PART;
        return Err(ToolError::argument(problem).with_next(words::artifact::ONE_PART));
    }
    if context.is_some() && grep.is_none() {
        return Err(ToolError::argument(words::artifact::CONTEXT_OF_GREP));
    }
    Ok(match (grep, json_path, offset) {
        (Some(pattern), _, _) => PartChoice::Part(ArtifactPart::Grep {
            pattern: pattern.clone(),
            lines: ranges.iter().map(|range| (range.start, range.end)).collect(),
            context: context.unwrap_or_default(),
        }),
        (_, Some(path), _) => PartChoice::Part(ArtifactPart::Json { path: path.clone() }),
        (_, _, Some(offset)) => PartChoice::Part(ArtifactPart::Whole { offset: *offset }),
        _ if !ranges.is_empty() => PartChoice::Lines(ranges),
        _ => PartChoice::Whole,
    })
}

/// The lines that a text names. The id must not name some, too.
fn ranges(lines: &str, selected: &[LineRange]) -> Result<Vec<LineRange>, ToolError> {
    let selector = format!(":{}", lines.trim());
    match split_selector(&selector).map_err(EngineError::from)? {
        ("", selector) if !selector.ranges.is_empty() && selected.is_empty() => Ok(selector.ranges),
        _ => {
            let problem = format!("lines: {}", words::artifact::not_lines(lines));
            Err(ToolError::argument(problem).with_next(words::artifact::WRITE_LINES))
        }
    }
}

async fn artifact(
    desk: &Desk,
    id: &str,
    wanted: PartChoice,
    (form, shown): (ArtifactForm, Portion),
) -> Result<ToolReply, ToolError> {
    let max_bytes = shown.page_bytes(desk);
    let mut left = max_bytes;
    let parts = match wanted {
        PartChoice::Whole => {
            let is_text = form == ArtifactForm::Raw || shown.is_end;
            if let Some(reply) = not_text(desk, id, is_text).await? {
                return Ok(reply);
            }
            let start =
                if shown.is_end { last_page(desk, id, (form, max_bytes)).await? } else { 1 };
            vec![ArtifactPart::Lines { start, end: None }]
        }
        PartChoice::Lines(ranges) => {
            let part = |LineRange { start, end }| ArtifactPart::Lines { start, end };
            ranges.into_iter().map(part).collect()
        }
        PartChoice::Part(part) => vec![part],
    };
    let mut text = String::new();
    for part in parts {
        if !text.is_empty() {
            text.push('\n');
        }
        let shown = part_text(&stored(desk, id, part, (form, left)).await?)?;
        text.push_str(&shown.text);
        left = left.saturating_sub(shown.text.len());
        if shown.is_full || left < LEAST_PART_BYTES {
            break;
        }
    }
    Ok(ToolReply::text(text))
}

async fn stored(
    desk: &Desk,
    id: &str,
    part: ArtifactPart,
    (form, max_bytes): (ArtifactForm, usize),
) -> Result<ArtifactReport, ToolError> {
    let (id, max_bytes) = (id.to_owned(), Some(max_bytes));
    match desk.engine.stored(ResultRequest::Artifact { id, part, form, max_bytes }).await? {
        ResultReport::Artifact(report) => Ok(*report),
        ResultReport::Execution(_) => Err(ToolError::argument(words::artifact::NO_ARTIFACT)),
    }
}

/// The first line of the last page. The text without escape sequences is never longer than the bytes.
async fn last_page(
    desk: &Desk,
    id: &str,
    (form, max_bytes): (ArtifactForm, usize),
) -> Result<usize, ToolError> {
    let count = ArtifactPart::Lines { start: usize::MAX, end: None };
    let report = stored(desk, id, count, (form, max_bytes)).await?;
    let ArtifactFound::Lines { total_lines, .. } = report.found else { return Ok(1) };
    let offset = report.total_bytes.saturating_sub(max_bytes as u64);
    let end = stored(desk, id, ArtifactPart::Whole { offset }, (form, max_bytes)).await?;
    let ArtifactFound::Bytes { bytes, .. } = end.found else { return Ok(1) };
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    // These bytes may begin in the middle of a line, which is not counted.
    let first = if offset == 0 { 1 } else { (total_lines + 2).saturating_sub(lines) };
    let first = first.clamp(1, total_lines.max(1));
    Ok(usize::try_from(first).unwrap_or(usize::MAX))
}

/// A part in words.
struct PartText {
    text: String,
    /// Whether an answer holds no more than this.
    is_full: bool,
}

fn part_text(report: &ArtifactReport) -> Result<PartText, ToolError> {
    let mut text = String::new();
    let mut notes: Vec<String> =
        report.problem.iter().map(|problem| format!("[{problem}]")).collect();
    let mut is_full = false;
    match &report.found {
        ArtifactFound::Lines { pieces, total_lines, cut, next_line } => {
            for LinesPiece { bytes, .. } in pieces {
                text.push_str(&String::from_utf8_lossy(bytes));
            }
            let (first, last) = (pieces.first(), pieces.last());
            match (first, last) {
                (Some(first), Some(last)) => {
                    let (first, last) = (first.first, last.last);
                    let go_on = next_line.map(|next| words::artifact::use_lines(&next));
                    let go_on = go_on.unwrap_or_default();
                    let is_all = first == 1 && last == *total_lines;
                    if !is_all || cut.is_some() {
                        let shown =
                            format!("[Showing lines {first}-{last} of {total_lines}.{go_on}]");
                        notes.push(shown.replace(".]", "]"));
                    }
                }
                _ => notes.push(format!("[There are {total_lines} lines.]")),
            }
            is_full = next_line.is_some();
            if let Some(cut) = cut {
                let (part, all) = (size(cut.shown_bytes), size(cut.line_bytes));
                let go_on = cut.next_offset.map(|at| words::artifact::use_offset(&at));
                let go_on = go_on.unwrap_or_else(|| words::artifact::USE_RAW.to_owned());
                notes.push(words::artifact::line_cut(&cut.line, &part, &all, &go_on));
            }
        }
        ArtifactFound::Grep { hits, matching_lines, total_lines, context } => {
            let shown = match context.last() {
                Some(last) => {
                    text.push_str(&in_context(hits, context));
                    hits.iter().filter(|hit| hit.line <= last.last).count()
                }
                None => {
                    for hit in hits {
                        let cut = if hit.is_cut { " …" } else { "" };
                        text.push_str(&format!("{}: {}{cut}\n", hit.line, hit.text));
                    }
                    hits.len()
                }
            };
            let shown = match u64::try_from(shown) {
                Ok(shown) if shown < *matching_lines => words::artifact::first_shown(&shown),
                _ => String::new(),
            };
            notes.push(format!("[{matching_lines} of {total_lines} lines match{shown}]"));
        }
        ArtifactFound::Json { kind, bytes, offset, value_bytes, entries } => {
            text.push_str(&String::from_utf8_lossy(bytes));
            let shown = bytes.len() as u64;
            if shown < *value_bytes {
                let entries = words::output::with_entries(*entries);
                let (part, all, at) = (size(shown), size(*value_bytes), offset + shown);
                notes.push(words::artifact::part_of_value(&part, &all, kind, &entries, &at));
            }
        }
        ArtifactFound::Made { text: made, shown, count } => {
            text.push_str(made);
            if shown < count {
                notes.push(words::artifact::first_values(*shown, *count));
            }
        }
        ArtifactFound::Bytes { offset, bytes, next_offset } => {
            text.push_str(&String::from_utf8_lossy(bytes));
            let end = offset + bytes.len() as u64;
            let go_on = next_offset.map(|at| words::artifact::use_offset(&at));
            let go_on = go_on.unwrap_or_default();
            let all = report.total_bytes;
            notes.push(format!("[Bytes {offset} to {end} of {all}.{go_on}]"));
        }
        ArtifactFound::NoValue { followed, kind, entries, keys } => {
            let message = format!(
                "the json_path {}",
                words::output::leads_nowhere(*followed, kind, *entries)
            );
            let next = (!keys.is_empty()).then(|| format!("use one of: {}", keys.join(", ")));
            return Err(ToolError { kind: Kind::NotFound, message, next });
        }
    }
    if !notes.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("\n{}", notes.join("\n")));
    }
    Ok(PartText { text: text.trim_start_matches('\n').to_owned(), is_full })
}

/// Matches among the lines around them, marked as `grep` marks them.
fn in_context(hits: &[LineHit], context: &[LinesPiece]) -> String {
    let mut text = String::new();
    for piece in context {
        if !text.is_empty() {
            text.push_str("--\n");
        }
        let lines = String::from_utf8_lossy(&piece.bytes);
        for (number, line) in (piece.first..).zip(lines.lines()) {
            let is_hit = hits.binary_search_by_key(&number, |hit| hit.line).is_ok();
            text.push_str(&format!("{number}{} {line}\n", if is_hit { ':' } else { '-' }));
        }
    }
    text
}

/// An artifact that is no text: a picture is shown, anything else is named. A drawing is both.
async fn not_text(desk: &Desk, id: &str, wants_text: bool) -> Result<Option<ToolReply>, ToolError> {
    let id = ArtifactId::from_reference(id).map_err(EngineError::from)?;
    let desk = desk.clone();
    let look = move || -> Result<Option<ToolReply>, EngineError> {
        let found = desk.engine.artifacts().find(&id, Scope::All)?;
        let is_inline = desk.settings.calls(profile(&desk)).images == Images::Inline;
        let is_drawn = found.info().kind == SVG && is_inline && !wants_text;
        if is_text_kind(&found.info().kind) && !is_drawn {
            return Ok(None);
        }
        let mut pictures = Pictures::beside(&desk, 0);
        let text = Content::Text(pictures.add_artifact(&found));
        let (images, _) = pictures.finish();
        let content = std::iter::once(text).chain(images).collect();
        Ok(Some(ToolReply { content, ..ToolReply::default() }))
    };
    Ok(answer::off_thread(look).await??)
}
