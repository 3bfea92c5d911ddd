//! `inkcell result`: stored output, whole, by lines, by pattern or by a JSON path. Nothing is cut: the answer comes
//! in pieces, whatever its size.

use std::time::Duration;

use inkcell_engine::EngineError;
use inkcell_engine::Kind;
use inkcell_engine::api::{ExecutionId, PythonReport, ResultReport, ResultRequest};
use inkcell_engine::artifact::{
    Artifact, ArtifactError, ArtifactState, JsonFound, JsonKind, JsonPath, Scope, SearchPattern,
    is_text_kind,
};
use inkcell_engine::notebook::{Form, LineRange, split_selector};
use serde_json::{Value, json};

use super::artifacts;
use crate::args::ShowResult;
use crate::client::Client;
use crate::exit::{Exit, Failure};
use crate::host::{Answer, Ask, Hosts, Silent};
use crate::output::{Output, count};
use crate::settings::Settings;
use crate::view::reply;
use crate::words;

/// The most bytes of an answer that is made of several values.
const MADE_BYTES: usize = 1 << 20;

/// The part of an artifact that the arguments select.
enum Part {
    /// These lines; no ranges mean all.
    Lines(Vec<LineRange>),
    Matches(SearchPattern),
    Value(JsonPath, String),
}

pub(crate) fn run(
    args: &ShowResult,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let (reference, selector) = split_selector(&args.id).map_err(EngineError::from)?;
    let part = part(args, &selector.ranges)?;
    let form = if args.raw { Form::Raw } else { selector.form };
    let found = match artifacts::store(settings).find_reference(reference, Scope::All) {
        Ok(found) => found,
        // Calls have ids, too, and the host that runs them knows them.
        Err(missing) => match execution(reference, args.wait, settings, output)? {
            Some(report) => return call(&report, output),
            None => return Err(missing.into()),
        },
    };
    tell_state(&found, output);
    if !is_text_kind(&found.info().kind) {
        return binary(&found, &part, output);
    }
    match &part {
        Part::Lines(ranges) => lines(&found, ranges, form, output),
        Part::Matches(pattern) => matches(&found, pattern, form, output),
        Part::Value(path, given) => value(&found, path, given, output),
    }?;
    output.flush().map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

/// The call of this id, from whichever host remembers it.
fn execution(
    id: &str,
    wait: Option<Duration>,
    settings: &Settings,
    output: &mut Output,
) -> Result<Option<PythonReport>, Failure> {
    let is_id = id.starts_with('x') && id.chars().all(|c| c.is_ascii_alphanumeric());
    if !is_id {
        return Ok(None);
    }
    for found in Hosts::of(settings).all() {
        // A stopped host does not answer, and other hosts may know the call.
        if found.is_stopped() {
            output.aside(&format!("note: {}", Silent::of(&found).describe()));
            continue;
        }
        let request = ResultRequest::Execution { id: ExecutionId(id.to_owned()), wait };
        let client = Client::of_host(found, settings);
        match client.answer(Ask::Result(request)) {
            Ok(Answer::Result(ResultReport::Execution(report))) => {
                return Ok(Some(*report));
            }
            Ok(_) | Err(Failure::Told { kind: Kind::NotFound | Kind::Unavailable, .. }) => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(None)
}

/// Shows a call and its progress.
fn call(report: &PythonReport, output: &mut Output) -> Result<Exit, Failure> {
    let shown = match output.is_json() {
        true => output.json(&json!(report)),
        false => {
            let reply = reply::of_report(report);
            reply.text.lines().try_for_each(|line| output.line(line))
        }
    };
    shown.map_err(Failure::of_output)?;
    if !report.state.is_end() {
        let id = &report.execution.0;
        output.aside(&words::call::still_runs(id));
        return Ok(Exit::Ok);
    }
    Ok(Exit::of_state(report.state))
}

fn part(args: &ShowResult, ranges: &[LineRange]) -> Result<Part, Failure> {
    let flag = [("--lines", args.lines.is_some()), ("--json-path", args.json_path.is_some())];
    if let Some((flag, _)) = flag.iter().find(|(_, given)| *given && !ranges.is_empty()) {
        return Err(Failure::argument(flag, words::artifact::LINES_CHOSEN));
    }
    if let Some(path) = &args.json_path {
        return Ok(Part::Value(JsonPath::parse(path)?, path.clone()));
    }
    let ranges = match &args.lines {
        Some(given) => named_lines(given)?,
        None => ranges.to_vec(),
    };
    Ok(match &args.grep {
        Some(pattern) => Part::Matches(SearchPattern::new(pattern)?.within(ranges)),
        None => Part::Lines(ranges),
    })
}

fn named_lines(given: &str) -> Result<Vec<LineRange>, Failure> {
    let selector = format!(":{given}");
    match split_selector(&selector).map_err(EngineError::from)? {
        ("", selector) if !selector.ranges.is_empty() => Ok(selector.ranges),
        _ => {
            let problem =
                format!("{}; {}", words::artifact::not_lines(given), words::artifact::WRITE_LINES);
            Err(Failure::argument("--lines", problem))
        }
    }
}

/// Remarks that an artifact is incomplete.
fn tell_state(found: &Artifact, output: &mut Output) {
    match &found.info().state {
        ArtifactState::Complete => {}
        ArtifactState::Writing => {
            output.aside(words::artifact::BEING_WRITTEN);
        }
        ArtifactState::Incomplete(incomplete) => output.aside(&format!("note: {incomplete}")),
    }
}

/// Shows an artifact that is not text: it has no lines, and its bytes stay as they are.
fn binary(found: &Artifact, part: &Part, output: &mut Output) -> Result<Exit, Failure> {
    let info = found.info();
    if !matches!(part, Part::Lines(ranges) if ranges.is_empty()) {
        let (id, kind, path) = (info.id.clone(), info.kind.clone(), info.path.clone());
        return Err(ArtifactError::NotText { id, kind, path }.into());
    }
    if output.is_json() {
        let value = json!({"artifact": artifacts::to_json(info)});
        output.json(&value).map_err(Failure::of_output)?;
        return Ok(Exit::Ok);
    }
    if output.is_terminal() {
        let id = &info.id;
        return Err(Failure::new(
            Kind::Invalid,
            words::artifact::not_for_terminal(&id, &info.kind),
            Some(words::artifact::open_it(&info.path.display(), &id)),
        ));
    }
    found.pass_bytes(0, info.bytes, &mut |piece| output.raw(piece).map_err(Failure::of_output))?;
    Ok(Exit::Ok)
}

fn lines(
    found: &Artifact,
    ranges: &[LineRange],
    form: Form,
    output: &mut Output,
) -> Result<(), Failure> {
    let is_json = output.is_json();
    if is_json {
        begin(found, output)?;
        raw(output, ",\n  \"text\": \"")?;
    }
    let mut written = 0;
    let mut take = |piece: &[u8]| {
        written += piece.len();
        if is_json { escaped(output, piece) } else { output.raw(piece).map_err(Failure::of_output) }
    };
    let total = match form {
        Form::Raw => found.pass_lines(ranges, &mut take),
        Form::Text => found.cleaned().pass_lines(ranges, &mut |text| take(text.as_bytes())),
    }?;
    if is_json {
        return raw(output, &format!("\",\n  \"total_lines\": {total}\n}}\n"));
    }
    if written == 0 && !ranges.is_empty() {
        output.aside(&format!("the artifact has {}", lines_text(total)));
    }
    Ok(())
}

fn matches(
    found: &Artifact,
    pattern: &SearchPattern,
    form: Form,
    output: &mut Output,
) -> Result<(), Failure> {
    let is_json = output.is_json();
    if is_json {
        begin(found, output)?;
        raw(output, ",\n  \"matches\": [")?;
    }
    // A long line comes in several pieces under its number.
    let mut last = 0;
    let mut take = |line: u64, piece: &[u8]| {
        if line != last {
            let lead = match (is_json, last) {
                (true, 0) => format!("\n    {{\"line\": {line}, \"text\": \""),
                (true, _) => format!("\"}},\n    {{\"line\": {line}, \"text\": \""),
                (false, 0) => format!("{line}:"),
                (false, _) => format!("\n{line}:"),
            };
            raw(output, &lead)?;
            last = line;
        }
        if is_json { escaped(output, piece) } else { output.raw(piece).map_err(Failure::of_output) }
    };
    let read = match form {
        Form::Raw => found.pass_matches(pattern, &mut take),
        Form::Text => {
            let mut take = |line: u64, text: &str| take(line, text.as_bytes());
            found.cleaned().pass_matches(pattern, &mut take)
        }
    }?;
    let (matching, total) = (read.matching_lines, read.total_lines);
    if is_json {
        let end = if matching > 0 { "\"}\n  ]" } else { "]" };
        let counts = format!("\"matching_lines\": {matching},\n  \"total_lines\": {total}");
        return raw(output, &format!("{end},\n  {counts}\n}}\n"));
    }
    if matching > 0 {
        raw(output, "\n")?;
    }
    output.flush().map_err(Failure::of_output)?;
    output.aside(&format!("{matching} of {} match", lines_text(total)));
    Ok(())
}

fn value(
    found: &Artifact,
    path: &JsonPath,
    given: &str,
    output: &mut Output,
) -> Result<(), Failure> {
    let read = match found.json(path, MADE_BYTES)? {
        JsonFound::Value(read) => read,
        JsonFound::Made { text, shown, count } => {
            if output.is_json() {
                begin(found, output)?;
                let head = format!("\"shown\": {shown},\n  \"count\": {count}");
                raw(output, &format!(",\n  \"path\": {},\n  {head}", Value::from(given)))?;
                return raw(output, &format!(",\n  \"made\": {}\n}}\n", Value::from(text)));
            }
            raw(output, &format!("{text}\n"))?;
            if shown < count {
                output.aside(&words::artifact::first_values(shown, count));
            }
            return Ok(());
        }
        JsonFound::Nothing { followed, kind, entries, keys } => {
            return Err(nowhere(given, followed, kind, entries, &keys));
        }
    };
    let is_json = output.is_json();
    if is_json {
        begin(found, output)?;
        let (kind, entries) = (read.kind.name(), json!(read.entries));
        // The value as it is spelled there: Python writes numbers that JSON does not have.
        let head = format!("\"kind\": \"{kind}\",\n  \"entries\": {entries},\n  \"json\": \"");
        raw(output, &format!(",\n  \"path\": {},\n  {head}", Value::from(given)))?;
    }
    found.pass_bytes(read.offset, read.total_bytes, &mut |piece| {
        if is_json { escaped(output, piece) } else { output.raw(piece).map_err(Failure::of_output) }
    })?;
    raw(output, if is_json { "\"\n}\n" } else { "\n" })
}

/// The step at which a path failed, and the steps that would work instead.
fn nowhere(
    given: &str,
    followed: usize,
    kind: JsonKind,
    entries: Option<u64>,
    keys: &[String],
) -> Failure {
    let keys = match keys {
        [] => String::new(),
        keys => format!(": {}", keys.join(", ")),
    };
    let article = if matches!(kind, JsonKind::Object | JsonKind::Array) { "an" } else { "a" };
    let kind = kind.name();
    let kind = if kind == "null" { kind.to_owned() } else { format!("{article} {kind}") };
    Failure::new(
        Kind::NotFound,
        format!(
            "the path {given} {}{keys}",
            words::output::leads_nowhere(followed, &kind, entries)
        ),
        None,
    )
}

fn lines_text(lines: u64) -> String {
    count(usize::try_from(lines).unwrap_or(usize::MAX), "line")
}

/// The beginning of a JSON answer that is written in pieces, since it may be larger than memory.
fn begin(found: &Artifact, output: &mut Output) -> Result<(), Failure> {
    let info = serde_json::to_string_pretty(&artifacts::to_json(found.info()));
    let info = info.unwrap_or_default().replace('\n', "\n  ");
    raw(output, &format!("{{\n  \"artifact\": {info}"))
}

/// Writes bytes as a part of a JSON string. Bytes that are not UTF-8 are replaced.
fn escaped(output: &mut Output, piece: &[u8]) -> Result<(), Failure> {
    let quoted = Value::from(String::from_utf8_lossy(piece)).to_string();
    raw(output, &quoted[1..quoted.len() - 1])
}

fn raw(output: &mut Output, text: &str) -> Result<(), Failure> {
    output.raw(text.as_bytes()).map_err(Failure::of_output)
}
