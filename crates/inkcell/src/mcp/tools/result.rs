//! `result`: a call that went on after its answer, or a part of stored output.
//!
//! Owns the meaning of the arguments and the form of parts. The engine reads them.

pub(crate) mod pieces;

use futures_util::FutureExt;
use inkcell_engine::api::{
    ArtifactForm, ArtifactFound, ArtifactPart, ArtifactReport, Excerpt, ExecutionId, LineHit,
    LinesPiece, PythonReport, ResultReport, ResultRequest,
};
use inkcell_engine::artifact::{ArtifactId, Scope, is_text_kind};
use inkcell_engine::notebook::{Form, LineRange, split_selector};
use inkcell_engine::output::{ModelOutput, Notice, SVG, size};
use inkcell_engine::{EngineError, Kind, part_of_text};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use self::pieces::{Piece, Source};
use super::answer::Readers;
use super::news::Since;
use super::pictures::Pictures;
use super::portion::Portion;
use super::running::{self, CallProgress, GivenUp, LONGEST_WAIT};
use super::seconds::Seconds;
use super::session::profile;
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
    /// Execution id, ID/2 for its cell 2, or artifact://ID.
    id: String,
    /// Lines of output: 10-20, 3+4, 50-.
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
    let id = id.to_owned();
    let (call, piece) = pieces::split(&id);
    let is_call = is_execution(desk, call);
    if is_call {
        let Arguments { lines, grep, json_path, offset, context: around, .. } = &arguments;
        let is_part = lines.is_some() || grep.is_some() || json_path.is_some();
        let is_part = is_part || offset.is_some() || around.is_some() || piece.is_some();
        if !is_part && selector.ranges.is_empty() {
            return execution(desk, &id, &arguments, context).await;
        }
    }
    let shown = Portion::of(arguments.max_bytes, arguments.tail)?;
    let is_raw = arguments.raw || selector.form == Form::Raw;
    let form = if is_raw { ArtifactForm::Raw } else { ArtifactForm::Clean };
    let wanted = wanted(&arguments, selector.ranges)?;
    let reply = match is_call {
        true => {
            let report = desk.engine.find_call(&ExecutionId(call.to_owned()))?.report();
            let pieces = pieces::of_call(&report, piece)?;
            parts_of_call(desk, &pieces, &wanted, (form, shown)).await?
        }
        false => artifact(desk, &id, &wanted, (form, shown)).await?,
    };
    Ok(shown.fitted(desk, reply))
}

/// Whether a reference names a call: one that exists, or at least a short name that looks like a call's and not like
/// an artifact's.
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
    let mut report = running::follow(&call, until, GivenUp::GoesOn, context).await;
    if report.state.is_end() && shown != Portion::default() && since.is_none() {
        let desk = desk.clone();
        report = answer::off_thread(move || cut_again(&desk, report, shown)).await?;
    }
    let followed = CallProgress { report, asides: Vec::new(), wanted, since };
    answer::of(desk, followed, Readers::Model).await
}

/// The report with as much of the stored outputs as its reader wants to see.
fn cut_again(desk: &Desk, mut report: PythonReport, shown: Portion) -> PythonReport {
    let excerpt = shown.excerpt();
    let is_cut = |output: &ModelOutput| output.is_truncated && output.artifact.is_some();
    let outputs = || report.cells.iter().map(|cell| &cell.output);
    let cut = outputs().filter(|output| is_cut(output)).count();
    let others = outputs().filter(|output| !is_cut(output)).map(|output| output.text().len());
    let others: usize = others.sum();
    let each = excerpt.max_bytes.map(|most| most.saturating_sub(others) / cut.max(1));
    let each = Excerpt { max_bytes: each.map(|each| each.max(LEAST_PART_BYTES)), ..excerpt };
    for cell in &mut report.cells {
        let output = &mut cell.output;
        let Some(stored) = output.artifact.as_ref().filter(|_| output.is_truncated) else {
            continue;
        };
        // An output that was removed from the store meanwhile stays as it was cut before.
        let Ok(again) = desk.engine.excerpt_of(&stored.id, each) else { continue };
        output.parts = again.parts;
        output.is_truncated = again.is_truncated;
        output.notices.retain(|notice| !matches!(notice, Notice::Truncated { .. }));
        output.notices.splice(..0, again.notices);
        output.counts.output_bytes = again.counts.output_bytes;
        output.counts.output_lines = again.counts.output_lines;
        output.counts.output_chars = again.counts.output_chars;
    }
    report
}

/// A part of the output of each of these cells, under a heading where there are several.
async fn parts_of_call(
    desk: &Desk,
    pieces: &[Piece],
    wanted: &PartChoice,
    (form, shown): (ArtifactForm, Portion),
) -> Result<ToolReply, ToolError> {
    let mut left = shown.page_bytes(desk);
    let mut text = String::new();
    let mut empty = 0;
    for (at, piece) in pieces.iter().enumerate() {
        if left < LEAST_PART_BYTES {
            let rest = words::call::further_pieces(pieces.len() - at, &piece.id);
            text.push_str(&format!("\n{rest}\n"));
            break;
        }
        let part = part_of(desk, &piece.source, wanted, (form, left, shown.is_end)).await?;
        if part.is_empty && pieces.len() > 1 {
            empty += 1;
            continue;
        }
        if pieces.len() > 1 {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}{}\n", piece.heading()));
        }
        text.push_str(part.text.trim_end_matches('\n'));
        text.push('\n');
        left = left.saturating_sub(part.text.len() + piece.heading().len());
    }
    if empty > 0 {
        text.push_str(&format!("\n{}", words::call::empty_pieces(empty)));
    }
    Ok(ToolReply::text(text.trim_matches('\n')))
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
    wanted: &PartChoice,
    (form, shown): (ArtifactForm, Portion),
) -> Result<ToolReply, ToolError> {
    if let PartChoice::Whole = wanted {
        let is_text = form == ArtifactForm::Raw || shown.is_end;
        if let Some(reply) = not_text(desk, id, is_text).await? {
            return Ok(reply);
        }
    }
    let source = Source::Stored(id.to_owned());
    let how = (form, shown.page_bytes(desk), shown.is_end);
    Ok(ToolReply::text(part_of(desk, &source, wanted, how).await?.text))
}

/// The part of a text that is wanted, in this many bytes at most.
async fn part_of(
    desk: &Desk,
    source: &Source,
    wanted: &PartChoice,
    (form, max_bytes, is_end): (ArtifactForm, usize, bool),
) -> Result<PartText, ToolError> {
    let how = (form, max_bytes);
    let parts = match wanted {
        PartChoice::Whole => {
            let start = if is_end { last_page(desk, source, how).await? } else { 1 };
            vec![ArtifactPart::Lines { start, end: None }]
        }
        PartChoice::Lines(ranges) => match &**ranges {
            [range] if is_end => vec![end_of(desk, source, *range, how).await?],
            ranges => {
                let part =
                    |range: &LineRange| ArtifactPart::Lines { start: range.start, end: range.end };
                ranges.iter().map(part).collect()
            }
        },
        PartChoice::Part(part) => vec![part.clone()],
    };
    let mut all = PartText { text: String::new(), is_full: false, is_empty: true };
    let mut left = max_bytes;
    for part in parts {
        if !all.text.is_empty() {
            all.text.push('\n');
        }
        let shown = part_text(&read(desk, source, part, (form, left)).await?)?;
        all.text.push_str(&shown.text);
        all.is_empty &= shown.is_empty;
        left = left.saturating_sub(shown.text.len());
        if shown.is_full || left < LEAST_PART_BYTES {
            break;
        }
    }
    Ok(all)
}

async fn read(
    desk: &Desk,
    source: &Source,
    part: ArtifactPart,
    (form, max_bytes): (ArtifactForm, usize),
) -> Result<ArtifactReport, ToolError> {
    let id = match source {
        Source::Held(text) => return Ok(part_of_text(text, &part, max_bytes)?),
        Source::Stored(id) => id.clone(),
    };
    let max_bytes = Some(max_bytes);
    match desk.engine.stored(ResultRequest::Artifact { id, part, form, max_bytes }).await? {
        ResultReport::Artifact(report) => Ok(*report),
        ResultReport::Execution(_) => Err(ToolError::argument(words::artifact::NO_ARTIFACT)),
    }
}

/// The last lines of a range, as many as fit. Each look doubles or halves the number of lines that are tried.
async fn end_of(
    desk: &Desk,
    source: &Source,
    range: LineRange,
    how: (ArtifactForm, usize),
) -> Result<ArtifactPart, ToolError> {
    let count = ArtifactPart::Lines { start: usize::MAX, end: None };
    let total = match read(desk, source, count, how).await?.found {
        ArtifactFound::Lines { total_lines, .. } => total_lines,
        _ => 0,
    };
    let total = usize::try_from(total).unwrap_or(usize::MAX);
    let end = range.end.unwrap_or(total).min(total).max(range.start);
    let most = end - range.start + 1;
    // Numbers of lines at the end: one that fits, and one that does not.
    let (mut fits, mut too_many) = (0, most + 1);
    let mut tried = most;
    while tried > fits && tried < too_many {
        let part = ArtifactPart::Lines { start: end + 1 - tried, end: Some(end) };
        let found = read(desk, source, part, how).await?.found;
        match found {
            ArtifactFound::Lines { cut: None, next_line: None, .. } => fits = tried,
            _ => too_many = tried,
        }
        tried = fits + (too_many - fits) / 2;
    }
    Ok(ArtifactPart::Lines { start: end + 1 - fits.max(1), end: Some(end) })
}

/// The first line of the last page. The text without escape sequences is never longer than the bytes.
async fn last_page(
    desk: &Desk,
    source: &Source,
    (form, max_bytes): (ArtifactForm, usize),
) -> Result<usize, ToolError> {
    let count = ArtifactPart::Lines { start: usize::MAX, end: None };
    let report = read(desk, source, count, (form, max_bytes)).await?;
    let ArtifactFound::Lines { total_lines, .. } = report.found else { return Ok(1) };
    let offset = report.total_bytes.saturating_sub(max_bytes as u64);
    let end = read(desk, source, ArtifactPart::Whole { offset }, (form, max_bytes)).await?;
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
    /// Whether no part of the text matches the request.
    is_empty: bool,
}

fn part_text(report: &ArtifactReport) -> Result<PartText, ToolError> {
    let mut text = String::new();
    let mut notes: Vec<String> =
        report.problem.iter().map(|problem| format!("[{problem}]")).collect();
    let (mut is_full, mut is_empty) = (false, false);
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
                _ => {
                    is_empty = true;
                    notes.push(format!("[There are {total_lines} lines.]"));
                }
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
            is_empty = *matching_lines == 0;
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
    Ok(PartText { text: text.trim_start_matches('\n').to_owned(), is_full, is_empty })
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

/// The answer for an artifact that is not text: a picture, or the name of anything else. An SVG counts as a picture
/// unless its text is wanted.
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
