//! `inkcell artifacts`: lists stored output, and removes it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use inkcell_engine::artifact::{
    ArtifactId, ArtifactInfo, ArtifactState, Artifacts as Store, RemovedFor, Scope, StoreUsage,
    SweepResult,
};
use inkcell_engine::output::size;
use inkcell_engine::{EngineError, Kind};
use serde_json::{Value, json};

use crate::app::python::text;
use crate::args::{Artifacts, ArtifactsCommand, ListArtifacts, RemoveArtifacts};
use crate::exit::{Exit, Failure};
use crate::output::{Output, count};
use crate::settings::{Settings, artifacts_config};
use crate::words;

pub(crate) fn run(
    args: &Artifacts,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let store = store(settings);
    match &args.command {
        None => list(&args.list, &store, output),
        Some(ArtifactsCommand::List(args)) => list(args, &store, output),
        Some(ArtifactsCommand::Rm(args)) => remove(args, &store, output),
        Some(ArtifactsCommand::Gc) => {
            let removed = store.gc(SystemTime::now())?;
            tell_removed(&removed, &store, output)
        }
    }
}

/// The store for output, with the limits of the settings.
pub(super) fn store(settings: &Settings) -> Store {
    Store::new(artifacts_config(settings))
}

fn list(args: &ListArtifacts, store: &Store, output: &mut Output) -> Result<Exit, Failure> {
    let all = store.list(Scope::All)?;
    let is_wanted =
        |info: &&ArtifactInfo| args.session.as_ref().is_none_or(|name| info.session == *name);
    let shown: Vec<&ArtifactInfo> = all.iter().filter(is_wanted).collect();
    let written = if output.is_json() {
        let artifacts: Vec<Value> = shown.iter().map(|info| to_json(info)).collect();
        output.json(&json!({"artifacts": artifacts, "kept": kept_json(store.kept()?)}))
    } else {
        let now = SystemTime::now();
        table(&shown, now).iter().try_for_each(|line| output.line(line))
    };
    written.map_err(Failure::of_output)?;
    // The list is on one stream, and remarks about it are on the other.
    output.flush().map_err(Failure::of_output)?;
    match &args.session {
        Some(name) if shown.is_empty() => {
            output.aside(&words::artifact::none_of(name, &sessions(&all)));
        }
        _ => {
            let bytes = shown.iter().map(|info| info.bytes).sum();
            output.aside(&format!("{}, {}", count(shown.len(), "artifact"), size(bytes)));
        }
    }
    Ok(Exit::Ok)
}

/// The sessions that have artifacts, as the end of a sentence.
fn sessions(all: &[ArtifactInfo]) -> String {
    let mut names: Vec<&str> = all.iter().map(|info| info.session.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [] => "; nothing is stored".to_owned(),
        some => words::artifact::some_of(&some.join(", ")),
    }
}

fn remove(args: &RemoveArtifacts, store: &Store, output: &mut Output) -> Result<Exit, Failure> {
    if let Some(name) = &args.session {
        let all = store.list(Scope::All)?;
        if all.iter().all(|info| info.session != *name) {
            let message = words::artifact::nothing_to_remove_of(name, &sessions(&all));
            return Err(Failure::new(Kind::NotFound, message, None));
        }
        let removed = store.remove_all(|info| info.session == *name)?;
        return tell_removed(&removed, store, output);
    }
    if args.all {
        return tell_removed(&store.remove_all(|_| true)?, store, output);
    }
    // Look all of them up first: a typo in one id removes nothing.
    let mut ids: Vec<ArtifactId> = Vec::new();
    for reference in &args.ids {
        let found = store.find_reference(reference, Scope::All)?;
        ids.push(found.info().id.clone());
    }
    ids.sort();
    ids.dedup();
    let mut gone: Vec<Value> = Vec::new();
    for id in ids {
        let info = store.remove(&id, Scope::All).map_err(EngineError::from)?;
        if !output.is_json() {
            let line = format!("removed {id} ({})", size(info.bytes));
            output.line(&line).map_err(Failure::of_output)?;
        }
        gone.push(to_json(&info));
        output.keep_done(json!({"removed": gone}));
    }
    if output.is_json() {
        let left = kept_json(store.kept()?);
        output.json(&json!({"removed": gone, "left": left})).map_err(Failure::of_output)?;
    }
    Ok(Exit::Ok)
}

fn tell_removed(
    removed: &SweepResult,
    store: &Store,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let left = store.kept()?;
    let written = if output.is_json() {
        let gone = removed.artifacts.iter().map(|removed| {
            let mut value = to_json(&removed.info);
            value["why"] = json!(why(removed.why).0);
            value
        });
        output.json(&json!({
            "removed": gone.collect::<Vec<_>>(),
            "bytes": removed.bytes,
            "remnants": removed.remnants,
            "busy": removed.busy.iter().map(ArtifactId::as_str).collect::<Vec<_>>(),
            "left": kept_json(left),
        }))
    } else {
        removed_lines(removed, left).iter().try_for_each(|line| output.line(line))
    };
    written.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

/// The reason why artifacts were removed, for programs and for people.
fn why(reason: RemovedFor) -> (&'static str, &'static str) {
    match reason {
        RemovedFor::Age => ("age", "too old"),
        RemovedFor::SessionQuota => ("session_quota", words::artifact::OVER_SESSION_LIMIT),
        RemovedFor::TotalQuota => ("total_quota", words::artifact::OVER_TOTAL_LIMIT),
        RemovedFor::Asked => ("asked", ""),
    }
}

fn removed_lines(removed: &SweepResult, left: StoreUsage) -> Vec<String> {
    let mut lines = Vec::new();
    let gone = removed.artifacts.len();
    let reasons = [RemovedFor::Age, RemovedFor::SessionQuota, RemovedFor::TotalQuota];
    let counted: Vec<String> = reasons
        .iter()
        .map(|reason| (removed.artifacts.iter().filter(|gone| gone.why == *reason).count(), reason))
        .filter(|(number, _)| *number > 0)
        .map(|(number, reason)| format!("{number} {}", why(*reason).1))
        .collect();
    let reasons =
        if counted.is_empty() { String::new() } else { format!(": {}", counted.join(", ")) };
    if gone > 0 {
        lines.push(format!(
            "removed {}, {}{reasons}",
            count(gone, "artifact"),
            size(removed.bytes)
        ));
    }
    if removed.remnants > 0 {
        let number = usize::try_from(removed.remnants).unwrap_or(usize::MAX);
        lines.push(format!("removed what {} left", count(number, "killed writer")));
    }
    if lines.is_empty() {
        lines.push("nothing to remove".to_owned());
    }
    if !removed.busy.is_empty() {
        let ids: Vec<&str> = removed.busy.iter().map(ArtifactId::as_str).collect();
        lines.push(words::artifact::still_written(&ids.join(", ")));
    }
    let number = usize::try_from(left.artifacts).unwrap_or(usize::MAX);
    lines.push(format!("left: {}, {}", count(number, "artifact"), size(left.bytes)));
    lines
}

fn kept_json(kept: StoreUsage) -> Value {
    json!({"artifacts": kept.artifacts, "bytes": kept.bytes})
}

/// The stored artifacts, in columns.
fn table(shown: &[&ArtifactInfo], now: SystemTime) -> Vec<String> {
    let row = |info: &&ArtifactInfo| {
        let lines = info.lines.map_or_else(|| "-".to_owned(), |lines| lines.to_string());
        let age = now.duration_since(info.created).unwrap_or_default();
        let columns =
            [info.id.to_string(), age_text(age), size(info.bytes), lines, info.session.clone()];
        let title = if info.title.is_empty() { String::new() } else { format!("  {}", info.title) };
        (columns, format!("{}{title}{}", info.kind, state_words(&info.state)))
    };
    let heads = ["ID", "AGE", "SIZE", "LINES", "SESSION"].map(str::to_owned);
    let mut rows: Vec<_> = shown.iter().map(row).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    rows.insert(0, (heads, "WHAT".to_owned()));
    let width =
        |at: usize| rows.iter().map(|(row, _)| row[at].chars().count()).max().unwrap_or_default();
    let [id, age, bytes, lines, session] = [0, 1, 2, 3, 4].map(width);
    let line = |(row, what): &([String; 5], String)| {
        let [a, b, c, d, e] = row;
        format!("{a:<id$}  {b:>age$}  {c:>bytes$}  {d:>lines$}  {e:<session$}  {what}")
    };
    rows.iter().map(line).collect()
}

fn state_words(state: &ArtifactState) -> String {
    match state {
        ArtifactState::Complete => String::new(),
        ArtifactState::Writing => "  (being written)".to_owned(),
        ArtifactState::Incomplete(incomplete) => format!("  ({incomplete})"),
    }
}

/// An age as a single number that people can compare.
fn age_text(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..86_400 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// An artifact as JSON.
pub(super) fn to_json(info: &ArtifactInfo) -> Value {
    let (state, problem) = match &info.state {
        ArtifactState::Complete => ("complete", None),
        ArtifactState::Writing => ("writing", None),
        ArtifactState::Incomplete(incomplete) => ("incomplete", Some(incomplete.to_string())),
    };
    json!({
        "id": info.id.as_str(),
        "uri": info.id.reference(),
        "session": info.session,
        "kind": info.kind,
        "title": info.title,
        "created": seconds(info.created),
        "ended": info.ended.map(seconds),
        "bytes": info.bytes,
        "lines": info.lines,
        "state": state,
        "problem": problem,
        "path": text(&info.path),
    })
}

/// Seconds since 1970, as programs give times.
fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let table = [(0, "0s"), (59, "59s"), (60, "1m"), (7199, "1h"), (86_400 * 20, "20d")];
        for (age, wanted) in table {
            assert_eq!(age_text(Duration::from_secs(age)), wanted);
        }
    }
}
