//! The outline of a notebook, and the hits of a search.

use std::io;
use std::time::Duration;

use inkcell_engine::api::State;
use inkcell_engine::notebook::{CellView, Hit, OutlineCell, OutputDigest, visible_line};
use inkcell_engine::{
    Freshness, Generation, LastRuns, OpenCell, OpenNotebook, RanCell, Records, RunningRun, outlined,
};
use serde_json::{Value, json};

use super::answer::{self, Shape};
use super::ending::status;
use super::freshness;
use super::paint::Role;
use super::run::duration;
use crate::output::{Output, count};
use crate::words;

/// A cell, with its last run if that is known.
struct Row {
    cell: OutlineCell,
    run: Option<Run>,
    mark: Option<Freshness>,
}

impl Row {
    fn id(&self) -> String {
        self.cell.id.clone().unwrap_or_else(|| "-".to_owned())
    }

    /// The execution count, in brackets as in Jupyter.
    fn number(&self) -> String {
        match (self.cell.execution_count, self.cell.kind.as_str()) {
            (Some(count), _) => format!("[{count}]"),
            (None, "code") => "[ ]".to_owned(),
            (None, _) => String::new(),
        }
    }

    fn tags(&self) -> String {
        self.cell.tags.iter().map(|tag| format!("#{tag}")).collect::<Vec<_>>().join(" ")
    }

    /// The last run and its freshness, in a few words.
    fn words(&self) -> String {
        match (&self.run, &self.mark) {
            // This includes a cell that failed and is allowed to fail.
            (Some(Run::Ended { took, .. }), Some(Freshness::Fresh)) => {
                format!("fresh {}", duration(*took))
            }
            (Some(run), Some(mark @ (Freshness::Stale(_) | Freshness::OutOfOrder(_)))) => {
                format!("{}, {}", run.words(), words::freshness::mark(mark))
            }
            (Some(run), _) => run.words(),
            (None, Some(mark)) => words::freshness::mark(mark),
            (None, None) => String::new(),
        }
    }

    /// The look of these words.
    fn role(&self) -> Role {
        match (&self.run, &self.mark) {
            (_, Some(Freshness::Fresh)) => Role::Success,
            (_, Some(Freshness::Failed)) | (Some(Run::CutOff), _) => Role::Error,
            (Some(Run::Running), _) => Role::Strong,
            (Some(Run::Ended { is_changed: true, .. }), _) => Role::Warning,
            (Some(Run::Ended { state: State::Done, .. }), None) => Role::Success,
            (Some(Run::Ended { .. }), None) => Role::Error,
            (_, Some(Freshness::NeverRun)) => Role::Dim,
            _ => Role::Warning,
        }
    }
}

/// The last run of a cell.
enum Run {
    Running,
    /// Its host died during the run.
    CutOff,
    Ended {
        state: State,
        took: Duration,
        /// True if the source has changed since the run.
        is_changed: bool,
    },
}

impl Run {
    /// Looks up the last run of a cell.
    fn of(
        opened: &OpenNotebook,
        cell: &OutlineCell,
        mark: Option<&Freshness>,
        (runs, records): (&LastRuns, &Records<'_>),
    ) -> Option<Run> {
        let id = cell.id.as_deref();
        let is_it = |open: &Option<OpenCell>| {
            let open = open.as_ref();
            open.is_some_and(|open| match &open.id {
                Some(open) => Some(open.as_str()) == id,
                None => open.index == cell.index,
            })
        };
        if is_it(&runs.running) {
            return Some(Run::Running);
        }
        if is_it(&runs.cut_off) {
            return Some(Run::CutOff);
        }
        let ran = records.of(id, cell.index)?;
        let is_changed = match mark {
            Some(mark) => *mark == Freshness::Changed,
            None => !ran.ran(&opened.notebook.cell(cell.index)?.source().text),
        };
        Some(Run::Ended { state: ran.state, took: ran.duration, is_changed })
    }

    fn words(&self) -> String {
        let (state, took, is_changed) = match self {
            Run::Running => return "running".to_owned(),
            Run::CutOff => return "cut off".to_owned(),
            Run::Ended { state, took, is_changed } => (*state, *took, *is_changed),
        };
        let state = match state {
            State::Done => "ok",
            State::Error | State::InputRefused => "failed",
            State::TimedOut => "timed out",
            State::KernelDied => "died",
            State::Cancelled => "stopped",
            State::NeverRun | State::Queued | State::Running => "not run",
        };
        let changed = if is_changed { ", changed since" } else { "" };
        format!("{state} {}{changed}", duration(took))
    }

    fn json(&self) -> Value {
        match self {
            Run::Running => json!({"status": "running"}),
            Run::CutOff => json!({"status": "cut_off"}),
            Run::Ended { state, took, is_changed } => json!({
                "status": status(*state),
                "seconds": took.as_secs_f64(),
                "changed_since": is_changed,
            }),
        }
    }
}

pub(crate) fn write(
    output: &mut Output,
    path: &str,
    opened: &OpenNotebook,
    cells: &[usize],
    runs: &LastRuns,
    kernels: &[Generation],
) -> io::Result<()> {
    if output.is_json() {
        return output.json(&to_json(path, opened, cells, runs, kernels));
    }
    let head = head(path, opened) + &in_kernel(opened, runs, kernels);
    answer::write(output, Shape::Sentence, &[(Role::Plain, &head)])?;
    let width = answer::width(output);
    table(opened, cells, runs, width).iter().try_for_each(|row| {
        let pieces: Vec<(Role, &str)> =
            row.iter().map(|(role, text)| (*role, text.as_str())).collect();
        answer::write(output, Shape::Row, &pieces)
    })
}

/// The outline as programs read it.
pub(crate) fn to_json(
    path: &str,
    opened: &OpenNotebook,
    cells: &[usize],
    runs: &LastRuns,
    kernels: &[Generation],
) -> Value {
    let rows: Vec<Value> = rows(opened, cells, runs).iter().map(json_row).collect();
    let mut answer = head_json(path, opened);
    answer["in_kernel"] = held(opened, runs, kernels).into();
    answer["cells"] = rows.into();
    answer
}

fn rows(opened: &OpenNotebook, cells: &[usize], runs: &LastRuns) -> Vec<Row> {
    let records = runs.by_cell();
    let row = |(cell, mark): (OutlineCell, Option<Freshness>)| {
        // The outcome of a run counts only while the file shows its result.
        let is_shown = !matches!(mark, Some(Freshness::NeverRun | Freshness::Unknown));
        let is_ended = |run: &Run| matches!(run, Run::Ended { .. });
        let run = Run::of(opened, &cell, mark.as_ref(), (runs, &records));
        let run = run.filter(|run| is_shown || !is_ended(run));
        Row { cell, run, mark }
    };
    outlined(opened, cells, runs).into_iter().map(row).collect()
}

/// The outline for a model, one line for each cell: a model needs no aligned columns.
pub(crate) fn lines(opened: &OpenNotebook, cells: &[usize], runs: &LastRuns) -> Vec<String> {
    let line = |row: &Row| {
        let cell = &row.cell;
        let mut fields = vec![
            cell.index.to_string(),
            row.id(),
            format!("{} {}", cell.kind, row.number()).trim_end().to_owned(),
            row.words(),
            count(cell.lines, "line"),
            cell.first_line.clone(),
            row.tags(),
        ];
        fields.extend(cell.outputs.iter().map(|digest| format!("→ {digest}")));
        fields.retain(|field| !field.is_empty());
        fields.join("  ")
    };
    rows(opened, cells, runs).iter().map(line).collect()
}

/// Columns that the first line of a cell gets at least, if the others can make room.
const FIRST_LINE: usize = 16;

/// Columns of an id that was cut.
const SHORT_ID: usize = 8;

/// The outline as the pieces of its rows. Within a width, ids are cut and columns left out until something of the first
/// line of a cell is seen.
fn table(
    opened: &OpenNotebook,
    cells: &[usize],
    runs: &LastRuns,
    width: Option<usize>,
) -> Vec<Vec<(Role, String)>> {
    let rows = rows(opened, cells, runs);
    let longest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let ran: Vec<String> = rows.iter().map(Row::words).collect();
    let ids = longest(&mut rows.iter().map(|row| row.id().chars().count()));
    let kinds = longest(&mut rows.iter().map(|row| row.cell.kind.chars().count()));
    let digits = longest(&mut rows.iter().map(|row| row.cell.index.to_string().len()));
    // Without known runs the column has width 0.
    let states = longest(&mut ran.iter().map(|words| words.chars().count()));
    let room = width.map_or(usize::MAX, |width| {
        let others = digits + 2 + 2 + kinds + 1 + 5 + (states + usize::from(states > 0)) + 12;
        width.saturating_sub(others + FIRST_LINE)
    });
    let is_narrow = room < ids.min(SHORT_ID);
    let ids = if is_narrow { ids.min(SHORT_ID) } else { ids.min(room) };
    let row = |(row, ran): (&Row, &String)| {
        let cell = &row.cell;
        let number = match (row.number(), cell.kind.as_str()) {
            (number, "markdown") if number.is_empty() && is_narrow => "md".to_owned(),
            (number, kind) if number.is_empty() && is_narrow => kind.to_owned(),
            (number, _) => number,
        };
        let mut pieces = vec![(Role::Strong, format!("{:>digits$}", cell.index))];
        pieces.push((Role::Dim, format!("  {:<ids$}", cut(&row.id(), ids))));
        let kind = if is_narrow { String::new() } else { format!("  {:<kinds$}", cell.kind) };
        pieces.push((Role::Plain, format!("{kind} {number:<5}")));
        if states > 0 {
            pieces.push((row.role(), format!(" {ran:<states$}")));
        }
        let unit = if cell.lines == 1 { "line " } else { "lines" };
        let lines = format!(" {:>3} {unit} ", cell.lines);
        pieces.push((Role::Plain, if is_narrow { String::new() } else { lines }));
        let is_title = cell.kind == "markdown" && cell.first_line.starts_with('#');
        let look = if is_title { Role::Title } else { Role::Plain };
        pieces.push((look, format!(" {}", cell.first_line)));
        if !cell.tags.is_empty() {
            pieces.push((Role::Comment, format!("  {}", row.tags())));
        }
        let digests = cell.outputs.iter().map(|digest| format!("  → {digest}"));
        pieces.push((Role::Dim, digests.collect()));
        // No blanks at the end of a row.
        while let Some((_, last)) = pieces.last_mut() {
            last.truncate(last.trim_end().len());
            if !last.is_empty() {
                break;
            }
            pieces.pop();
        }
        pieces
    };
    rows.iter().zip(&ran).map(row).collect()
}

/// The text, with an ellipsis if it is longer.
fn cut(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.to_owned();
    }
    text.chars().take(length.saturating_sub(1)).chain(['…']).collect()
}

/// The cells that one of these kernels has run to their end, by position; `None` without a kernel.
fn held(opened: &OpenNotebook, runs: &LastRuns, kernels: &[Generation]) -> Option<Vec<usize>> {
    let records = runs.by_cell();
    let is_held = |ran: &RanCell| kernels.iter().any(|kernel| ran.is_made_in(kernel));
    let cells = opened.notebook.cells();
    let held =
        cells.filter(|cell| records.of(cell.id().as_deref(), cell.index()).is_some_and(is_held));
    (!kernels.is_empty()).then(|| held.map(|cell| cell.index()).collect())
}

/// The cells that one of these kernels has run, and another kernel later.
fn outdated(opened: &OpenNotebook, runs: &LastRuns, kernels: &[Generation]) -> Vec<usize> {
    let records = runs.by_cell();
    let is_in = |ran: &RanCell| kernels.iter().any(|kernel| ran.is_made_in(kernel));
    let is_outdated = |cell: &CellView<'_>| {
        let (id, index) = (cell.id(), cell.index());
        let is_earlier = |ran: &RanCell| ran.is_of(id.as_deref(), index) && is_in(ran);
        runs.earlier.iter().any(is_earlier) && !records.of(id.as_deref(), index).is_some_and(is_in)
    };
    opened.notebook.cells().filter(is_outdated).map(|cell| cell.index()).collect()
}

/// The remark on the first line about the kernels of the notebook. Empty if no cell is known to have run.
pub(crate) fn in_kernel(opened: &OpenNotebook, runs: &LastRuns, kernels: &[Generation]) -> String {
    if runs.cells.is_empty() {
        return String::new();
    }
    let list = held(opened, runs, kernels).map(|cells| ranges(&cells));
    let older = ranges(&outdated(opened, runs, kernels));
    words::freshness::in_kernel(list.as_deref(), &older)
}

/// Positions as a list of cells takes them: `0-3,5`.
fn ranges(cells: &[usize]) -> String {
    let range = |cells: &[usize]| match cells {
        [first, .., last] => format!("{first}-{last}"),
        one => one.iter().map(usize::to_string).collect(),
    };
    let ranges = cells.chunk_by(|one, next| one + 1 == *next).map(range);
    ranges.collect::<Vec<String>>().join(",")
}

/// The remark on the first line while the notebook runs.
pub(crate) fn running(run: &RunningRun) -> String {
    let cell = run.cell.as_ref().map(|cell| format!(" cell {}", cell.index)).unwrap_or_default();
    format!("  (running{cell}, execution {})", run.execution.0)
}

/// The first line of an answer about a whole notebook.
pub(crate) fn head(path: &str, opened: &OpenNotebook) -> String {
    let version = opened.notebook.version();
    let part = |number: Option<u64>| number.map_or("?".to_owned(), |number| number.to_string());
    let format = format!("{}.{}", part(version.major), part(version.minor));
    let cells = count(opened.notebook.len(), "cell");
    let path = visible_line(path);
    let mut line = format!("{path}  version {}  {cells}  nbformat {format}", opened.version);
    if let Some(language) = opened.notebook.language() {
        line.push_str(&format!("  {language}"));
    }
    if opened.notebook.read_only().is_some() {
        line.push_str(words::file::READ_ONLY);
    }
    line
}

fn head_json(path: &str, opened: &OpenNotebook) -> Value {
    let version = opened.notebook.version();
    json!({
        "path": path,
        "version": opened.version.to_string(),
        "nbformat": version.major,
        "nbformat_minor": version.minor,
        "language": opened.notebook.language(),
        "editable": opened.notebook.read_only().is_none(),
        "count": opened.notebook.len(),
    })
}

fn json_row(Row { cell, run, mark }: &Row) -> Value {
    let outputs: Vec<Value> = cell.outputs.iter().map(digest_json).collect();
    let run = run.as_ref().map(Run::json);
    json!({
        "index": cell.index,
        "id": cell.id,
        "type": cell.kind,
        "execution_count": cell.execution_count,
        "run": run,
        "freshness": mark.as_ref().map(freshness::json),
        "lines": cell.lines,
        "first_line": cell.first_line,
        "tags": cell.tags,
        "outputs": outputs,
    })
}

pub(crate) fn digest_json(digest: &OutputDigest) -> Value {
    match digest {
        OutputDigest::Stream { name, lines, bytes } => {
            json!({"kind": "stream", "name": name, "lines": lines, "bytes": bytes})
        }
        OutputDigest::Data { forms, is_result } => {
            let forms: Vec<Value> =
                forms.iter().map(|(mime, bytes)| json!({"mime": mime, "bytes": bytes})).collect();
            json!({"kind": if *is_result { "result" } else { "display" }, "forms": forms})
        }
        OutputDigest::Error { name, value } => {
            json!({"kind": "error", "name": name, "value": value})
        }
        OutputDigest::Other { kind } => json!({"kind": kind}),
    }
}

pub(crate) fn write_hits(
    output: &mut Output,
    path: &str,
    opened: &OpenNotebook,
    hits: &[Hit],
) -> io::Result<()> {
    let id = |hit: &Hit| hit_id(opened, hit);
    if output.is_json() {
        let rows: Vec<Value> = hits
            .iter()
            .map(|hit| {
                json!({"index": hit.cell, "id": id(hit), "output": hit.output, "line": hit.line, "text": hit.text})
            })
            .collect();
        let mut answer = head_json(path, opened);
        answer["hits"] = rows.into();
        return output.json(&answer);
    }
    hits.iter().try_for_each(|hit| {
        let place = hit_place(opened, hit);
        answer::write(output, Shape::Text, &[(Role::Dim, &place), (Role::Plain, &hit.text)])
    })?;
    output.flush()?;
    let found = count(hits.len(), "line");
    output.aside(&format!("{path}: version {}, {found} found", opened.version));
    Ok(())
}

fn hit_id(opened: &OpenNotebook, hit: &Hit) -> Option<String> {
    opened.notebook.cell(hit.cell).and_then(|cell| cell.id()).map(|id| id.into_owned())
}

/// The hits of a search, one line each.
pub(crate) fn hit_lines(opened: &OpenNotebook, hits: &[Hit]) -> Vec<String> {
    hits.iter().map(|hit| format!("{}{}", hit_place(opened, hit), hit.text)).collect()
}

fn hit_place(opened: &OpenNotebook, hit: &Hit) -> String {
    let place = hit.output.map(|at| format!(" output {at}")).unwrap_or_default();
    let id = hit_id(opened, hit).map(|id| format!(" {id}")).unwrap_or_default();
    format!("cell {}{id}{place} line {}: ", hit.cell, hit.line)
}
