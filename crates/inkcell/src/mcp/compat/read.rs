//! `read`: a notebook as virtual text, any other file as its lines, stored output by its id.

use futures_util::FutureExt as _;
use inkcell_engine::artifact::{
    ArtifactError, ArtifactState, Artifacts, LinesRead, Scope, is_text_kind,
};
use inkcell_engine::notebook::{
    Form, LineRange, MarkerIds, PageLimits, Selector, split_selector, visible_line,
};
use inkcell_engine::output::size;
use inkcell_engine::{EngineError, Notebooks, is_notebook_path};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::mcp::desk::{CallContext, Desk, Hints, Order, ToolError, ToolReply, ToolSpec};
use crate::mcp::tools::files::{self, PAGE, Reader, compat_error, on_disk, select_lines};
use crate::mcp::tools::portion::Portion;
use crate::mcp::tools::{Alias, decode, lean};
use crate::words;

pub(crate) static SPEC: ToolSpec = ToolSpec {
    name: "read",
    description: include_str!("read.md"),
    hints: Hints::reading("Read a file"),
    order: Order::File,
    schema: lean::schema::<Args>,
    call: |desk, given, context| call(desk, given, context).boxed(),
};

/// Bytes at the start of a file that are searched for a zero byte, which no text has.
const LOOKED_AT: usize = 8 * 1024;

pub(super) const PATHS: &[Alias] = &[("file_path", "path"), ("notebook_path", "path")];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    path: String,
    max_bytes: Option<u64>,
    #[serde(default)]
    tail: bool,
}

async fn call(desk: &Desk, given: Value, context: CallContext) -> Result<ToolReply, ToolError> {
    let args: Args = decode(given, PATHS)?;
    let notebooks = files::notebooks(desk);
    let artifacts = desk.engine.artifacts().clone();
    let portion = Portion::of(args.max_bytes, args.tail)?;
    let reader = Reader::at(desk, portion);
    let page = PageLimits { max_bytes: portion.page_bytes(desk), ..PAGE };
    let reply = on_disk(&context, move || {
        let text = match args.path.starts_with("artifact://") {
            true => stored(&args.path, &artifacts, (page, portion.is_end)),
            false => file(&args.path, &notebooks, reader),
        };
        text.map(ToolReply::text).map_err(|error| compat_error(&error))
    })
    .await?;
    // Code takes the text as a whole.
    Ok(if reader == Reader::Code { reply } else { portion.fitted(desk, reply) })
}

fn file(given: &str, notebooks: &Notebooks, reader: Reader) -> Result<String, EngineError> {
    let (path, selector) = notebooks.split_path(given)?;
    if is_notebook_path(path) && selector.form == Form::Text {
        return virtual_text(path, &selector, notebooks, reader);
    }
    let (bytes, _) = notebooks.read_bytes(path)?;
    if bytes[..bytes.len().min(LOOKED_AT)].contains(&0) {
        let problem = format!("{} is not text ({})", visible_line(path), size(bytes.len() as u64));
        return Err(EngineError::Argument { argument: "path".to_owned(), problem });
    }
    Ok(match select_lines(&String::from_utf8_lossy(&bytes), &selector, reader).text {
        text if text.is_empty() && reader != Reader::Code => "(empty file)".to_owned(),
        text => text,
    })
}

fn virtual_text(
    path: &str,
    selector: &Selector,
    notebooks: &Notebooks,
    reader: Reader,
) -> Result<String, EngineError> {
    let opened = notebooks.read(path)?;
    let cells: Vec<usize> = (0..opened.notebook.len()).collect();
    let text = opened.cells_to_text(&cells, MarkerIds::Off)?;
    let part = select_lines(&text, selector, reader);
    if !part.is_whole {
        notebooks.note_part(&opened, &[part.text.as_bytes()]);
    }
    Ok(part.text)
}

fn stored(
    given: &str,
    artifacts: &Artifacts,
    (page, is_end): (PageLimits, bool),
) -> Result<String, EngineError> {
    let (reference, selector) = split_selector(given)?;
    let found = artifacts.find_reference(reference, Scope::All)?;
    let info = found.info();
    if !is_text_kind(&info.kind) {
        let (id, kind, path) = (info.id.clone(), info.kind.clone(), info.path.clone());
        return Err(ArtifactError::NotText { id, kind, path }.into());
    }
    let lines = |ranges: &[LineRange]| match selector.form {
        Form::Text => found.cleaned().lines(ranges, page),
        Form::Raw => found.lines(ranges, page),
    };
    let read = match is_end && selector.ranges.is_empty() {
        true => last_lines(lines, page.max_lines)?,
        false => lines(&selector.ranges)?,
    };
    let mut text = lines_text(&read, is_end);
    match &info.state {
        ArtifactState::Complete => {}
        ArtifactState::Writing => text.push_str(&format!("\n{}", words::artifact::STILL_WRITTEN)),
        ArtifactState::Incomplete(incomplete) => text.push_str(&format!("\n[{incomplete}]")),
    }
    Ok(text)
}

/// The last lines, as many as a page holds.
fn last_lines(
    lines: impl Fn(&[LineRange]) -> Result<LinesRead, ArtifactError>,
    max_lines: usize,
) -> Result<LinesRead, ArtifactError> {
    let from = |start| lines(&[LineRange { start, end: None }]);
    let total = usize::try_from(from(usize::MAX)?.total_lines).unwrap_or(usize::MAX).max(1);
    // Find the first line from which all lines fit.
    let (mut first, mut last) = (total.saturating_sub(max_lines) + 1, total);
    while first < last {
        let middle = first + (last - first) / 2;
        let read = from(middle)?;
        match read.cut.is_none() && read.next_line.is_none() {
            true => last = middle,
            false => first = middle + 1,
        }
    }
    from(first)
}

fn lines_text(read: &LinesRead, is_end: bool) -> String {
    let bytes: Vec<u8> = read.pieces.iter().flat_map(|piece| piece.bytes.clone()).collect();
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    let (Some(first), Some(last)) = (read.pieces.first(), read.pieces.last()) else {
        return words::artifact::lines_of_text(read.total_lines);
    };
    let mut notices = Vec::new();
    if let Some(cut) = &read.cut {
        let (part, all) = (size(cut.shown_bytes), size(cut.line_bytes));
        notices.push(words::artifact::part_of_line(&part, &cut.line, &all));
    }
    if let Some(next) = read.next_line {
        let (first, last, total) = (first.first, last.last, read.total_lines);
        let notice = words::artifact::lines_of(first, last, total, next);
        notices.push(notice);
    } else if is_end && first.first > 1 {
        let (first, last) = (first.first, last.last);
        notices.push(format!("[Showing lines {first}-{last} of {}]", read.total_lines));
    }
    if !notices.is_empty() {
        let blank = if text.ends_with('\n') { "\n" } else { "\n\n" };
        text.push_str(&format!("{blank}{}", notices.join("\n")));
    }
    text
}
