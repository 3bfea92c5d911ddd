//! `notebook_read`: a notebook as text, outline, outputs, hits of a search, differences, or stored JSON.
//!
//! Owns which parts of a notebook a model sees. The rendering is shared with the command line.

mod changes;

use std::borrow::Cow;

use futures_util::FutureExt as _;
use inkcell_engine::notebook::{Form, MarkerIds, Outputs, SearchIn, Selector, visible_line};
use inkcell_engine::output::size;
use inkcell_engine::{
    CellFilter, EngineError, LastRuns, Notebooks, OpenNotebook, is_notebook_path, parse_notebook,
    read_with_runs,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::files::{self, Reader, joined, on_disk, select_lines};
use super::pictures::Pictures;
use super::portion::Portion;
use super::{Alias, CallContext, Content, Desk, Hints, Order, ToolError, ToolReply, ToolSpec};
use super::{decode, lean, weight};
use crate::git;
use crate::output::count;
use crate::view::{outline, reading};
use crate::words;
use crate::words::run::recovered;

pub(crate) static SPEC: ToolSpec = ToolSpec {
    name: "notebook_read",
    description: include_str!("notebook_read.md"),
    hints: Hints::reading("Read a notebook"),
    order: Order::File,
    schema: lean::schema::<Args>,
    call: |desk, given, context| call(desk, given, context).boxed(),
};

const ALIASES: &[Alias] =
    &[("notebook_path", "path"), ("file_path", "path"), ("cell", "cells"), ("cell_id", "cells")];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// An .ipynb file; nb.ipynb:40-80 for lines; **/*.ipynb to search many
    path: String,
    #[serde(default)]
    view: View,
    /// Only these: 0,3-5,ab12,-1 or stale, failed, headings, makes:df, uses:df
    #[serde(default, deserialize_with = "files::list")]
    #[schemars(with = "Option<String>")]
    cells: Option<String>,
    #[serde(default)]
    outputs: OutputsArg,
    /// Only lines that match this regex (full outputs too)
    search: Option<String>,
    against: Option<String>,
    max_bytes: Option<u64>,
    #[serde(default)]
    tail: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum View {
    #[default]
    Text,
    Outline,
    Diff,
    Raw,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum OutputsArg {
    #[default]
    None,
    Digest,
    Full,
}

impl From<OutputsArg> for Outputs {
    fn from(given: OutputsArg) -> Outputs {
        match given {
            OutputsArg::None => Outputs::None,
            OutputsArg::Digest => Outputs::Digest,
            OutputsArg::Full => Outputs::Full,
        }
    }
}

async fn call(desk: &Desk, given: Value, context: CallContext) -> Result<ToolReply, ToolError> {
    let args: Args = decode(given, ALIASES)?;
    let (notebooks, ids) = (files::notebooks(desk), desk.settings.marker_ids);
    let portion = Portion::of(args.max_bytes, args.tail)?;
    let reader = Reader::at(desk, portion);
    let this = desk;
    let desk = desk.clone();
    let reply = on_disk(&context, move || match &args.search {
        Some(pattern) => match files::matching_notebooks(&desk.cwd, &args.path)? {
            Some(paths) => search_all(&args, pattern, &notebooks, &paths, reader),
            None => read(&args, &notebooks, &desk, (ids, reader)),
        },
        None => read(&args, &notebooks, &desk, (ids, reader)),
    })
    .await?;
    // Code takes the text as a whole.
    Ok(if reader == Reader::Code { reply } else { portion.fitted(this, reply) })
}

/// The hits of each notebook that has some, with their number.
fn search_all(
    args: &Args,
    pattern: &str,
    notebooks: &Notebooks,
    paths: &[String],
    reader: Reader,
) -> Result<ToolReply, ToolError> {
    if args.cells.is_some() {
        return Err(ToolError::argument(words::file::CELLS_OF_ONE));
    }
    let (mut lines, mut total, mut with_hits) = (Vec::new(), 0, 0);
    for path in paths {
        let opened = match notebooks.read(path) {
            Ok(opened) => opened,
            Err(EngineError::OutsideRoots { .. }) => continue,
            Err(error) => {
                lines.push(error.to_string());
                continue;
            }
        };
        let cells: Vec<usize> = (0..opened.notebook.len()).collect();
        let hits = hits(&opened, pattern, args.outputs.into(), &cells)?;
        if hits.is_empty() {
            continue;
        }
        (total, with_hits) = (total + hits.len(), with_hits + 1);
        let found = count(hits.len(), "line");
        lines.push(format!("{}  version {}  {found}", visible_line(path), opened.version));
        lines.extend(hits.iter().map(|hit| format!("  {hit}")));
    }
    let head = words::file::found_in(&count(total, "line"), with_hits, paths.len());
    Ok(reply(head, select_lines(&joined(&lines), &Selector::default(), reader).text, reader))
}

fn read(
    args: &Args,
    notebooks: &Notebooks,
    desk: &Desk,
    (ids, reader): (MarkerIds, Reader),
) -> Result<ToolReply, ToolError> {
    let (path, selector) = notebooks.split_path(&args.path)?;
    if args.view == View::Raw || selector.form == Form::Raw {
        return raw(args, notebooks, path, &selector, reader);
    }
    let is_diff = args.view == View::Diff || args.against.is_some();
    if is_diff {
        // Cells can be chosen in a diff, too.
        not_given(&by_cell(args)[1..], words::file::NOT_IN_DIFF)?;
    }
    let filters = args.cells.as_deref().map(CellFilter::parse_all).unwrap_or_default();
    let needs_runs = filters.iter().any(|filter| filter.needs_runs());
    let is_outline = args.view == View::Outline && args.search.is_none();
    let (opened, runs) = match is_outline || needs_runs {
        true => read_with_runs(notebooks, path)?,
        false => (notebooks.read(path)?, LastRuns::default()),
    };
    let cells = match &args.cells {
        Some(_) if !filters.is_empty() => CellFilter::pick_all(&filters, &opened, &runs),
        Some(list) => opened.pick_cells(list)?,
        None => (0..opened.notebook.len()).collect(),
    };
    let mut head = outline::head(path, &opened);
    if let Some(cells) = opened.recovered {
        head.push_str(&format!("\n[{}]", recovered(cells)));
    }
    let outputs = Outputs::from(args.outputs);
    let text: Cow<'_, str> = if is_diff {
        let against = args.against.as_deref().unwrap_or(git::LAST);
        head.push_str(&format!("  against {}", visible_line(against)));
        let mut found = changes::since(&opened, against, notebooks)?;
        if args.cells.is_some() {
            found.only_in(&cells);
        }
        match found.is_empty() {
            true => words::file::NO_CHANGE.into(),
            false => joined(&found.lines()).into(),
        }
    } else if let Some(pattern) = &args.search {
        let hits = hits(&opened, pattern, outputs, &cells)?;
        head.push_str(&format!("  {} found", count(hits.len(), "line")));
        joined(&hits).into()
    } else if args.view == View::Outline {
        let kernels = desk.engine.kernels_of(&opened.path);
        head.push_str(&outline::in_kernel(&opened, &runs, &kernels));
        if let Some(running) = desk.engine.run_of(&opened.path) {
            head.push_str(&outline::running(&running));
        }
        joined(&outline::lines(&opened, &cells, &runs)).into()
    } else if outputs != Outputs::None {
        let text = joined(&reading::lines(&opened, &cells, outputs));
        let mut reply = reply(head, select_lines(&text, &selector, reader).text, reader);
        // Further pages of the text do not repeat them.
        if outputs == Outputs::Full && selector.ranges.is_empty() && reader != Reader::Code {
            add_pictures(&mut reply, &opened, &cells, desk);
        }
        return Ok(reply);
    } else {
        let text = opened.cells_to_text(&cells, ids)?;
        let part = select_lines(&text, &selector, reader);
        if !part.is_whole {
            notebooks.note_part(&opened, &[part.text.as_bytes()]);
        }
        return Ok(reply(head, part.text, reader));
    };
    Ok(reply(head, select_lines(&text, &selector, reader).text, reader))
}

/// The head is a piece of its own, so that the other piece is the text and nothing else. Code gets the text alone,
/// so that it can be changed and given back.
fn reply(head: String, text: String, reader: Reader) -> ToolReply {
    if reader == Reader::Code {
        return ToolReply::text(text);
    }
    let text = Some(text).filter(|text| !text.is_empty());
    let content = std::iter::once(head).chain(text).map(Content::Text).collect();
    ToolReply { content, ..ToolReply::default() }
}

/// The pictures in the outputs of these cells, after the text and a piece with a line for each.
fn add_pictures(reply: &mut ToolReply, opened: &OpenNotebook, cells: &[usize], desk: &Desk) {
    let mut pictures = Pictures::beside(desk, reply.content.iter().map(weight::of_content).sum());
    pictures.add_stored(opened, cells);
    let (images, lines) = pictures.finish();
    let lines = Some(joined(&lines)).filter(|lines| !lines.is_empty());
    reply.content.extend(lines.map(Content::Text));
    reply.content.extend(images);
}

/// The arguments for views of cells, and whether each is given.
fn by_cell(args: &Args) -> [(&'static str, bool); 4] {
    [
        ("cells", args.cells.is_some()),
        ("outputs", args.outputs != OutputsArg::None),
        ("search", args.search.is_some()),
        ("view: outline", args.view == View::Outline),
    ]
}

/// Refuses arguments that mean nothing for a view.
fn not_given(arguments: &[(&str, bool)], problem: &str) -> Result<(), ToolError> {
    match arguments.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(ToolError::argument(format!("{name}: {problem}"))),
        None => Ok(()),
    }
}

fn raw(
    args: &Args,
    notebooks: &Notebooks,
    path: &str,
    selector: &Selector,
    reader: Reader,
) -> Result<ToolReply, ToolError> {
    let not_raw = ("view: diff", args.view == View::Diff || args.against.is_some());
    let given = [&by_cell(args)[..], &[not_raw]].concat();
    not_given(&given, &words::file::raw_by_lines("raw"))?;
    let (bytes, version) = notebooks.read_bytes(path)?;
    // A broken notebook can be inspected. Other tools, if offered, read files that are not notebooks.
    if !is_notebook_path(path) {
        parse_notebook(path, bytes.clone())?;
    }
    let head = format!("{}  version {version}  {}", visible_line(path), size(bytes.len() as u64));
    let text = select_lines(&String::from_utf8_lossy(&bytes), selector, reader).text;
    Ok(reply(head, text, reader))
}

fn hits(
    opened: &OpenNotebook,
    pattern: &str,
    outputs: Outputs,
    cells: &[usize],
) -> Result<Vec<String>, ToolError> {
    let pattern = regex::Regex::new(pattern)
        .map_err(|error| ToolError::argument(words::file::not_pattern(pattern, &error)))?;
    let place = match outputs {
        Outputs::Full => SearchIn::SourcesAndOutputs,
        _ => SearchIn::Sources,
    };
    let mut hits = opened.notebook.search(&pattern, place);
    hits.retain(|hit| cells.binary_search(&hit.cell).is_ok());
    Ok(outline::hit_lines(opened, &hits))
}

#[cfg(test)]
#[path = "notebook_read/tests.rs"]
mod tests;
