//! Checks that need no Python: the program, its folders and settings, and the limits of the
//! machine.

use std::path::Path;

use inkcell_engine::kernel::make_private_folder;
use inkcell_engine::system_random;
use rustix::process::{Resource, getrlimit};

use super::super::artifacts;
use super::Check;
use crate::exit::Exit;
use crate::output::count;
use crate::settings::{Key, Profile, Settings, Source, Value, artifacts_config};
use crate::view::run::duration;
use crate::words;
use crate::words::doctor::size;

/// Below this many free bytes, stored output has no room.
const LITTLE_SPACE: u64 = 64 << 20;

/// The fewest open files without a warning. A kernel needs about ten; the usual soft limit is 1024,
/// and on some systems 256.
const FEW_FILES: u64 = 512;

/// The checks that come before code is run.
pub(super) fn checks(settings: &Settings) -> Vec<Check> {
    let mut checks = vec![program(settings), state(settings)];
    checks.extend(said(settings));
    checks.push(open_files());
    checks.push(stored(settings));
    checks
}

fn program(settings: &Settings) -> Check {
    let version = env!("CARGO_PKG_VERSION");
    match settings.program() {
        Ok(path) => Check::ok("inkcell", format!("{version} ({})", path.display())),
        Err(_) => Check::ok("inkcell", version),
    }
}

fn state(settings: &Settings) -> Check {
    let folder = &settings.state_dir;
    if let Err(error) = try_writing(folder) {
        let found = words::doctor::not_writable(&folder.display(), &error);
        let source = &settings.resolved.get(Key::StateDir).source;
        let next = match source {
            Source::Default => words::doctor::NAME_FOLDER.to_owned(),
            source => words::doctor::folder_set_by(source),
        };
        return Check::fail("state folder", Exit::Unavailable, found).next(next);
    }
    let free = rustix::fs::statvfs(folder).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    match free {
        Ok(free) if free < LITTLE_SPACE => {
            let found = words::doctor::free(&folder.display(), &size(free));
            Check::warn("state folder", found).next(words::doctor::FREE_SPACE)
        }
        Ok(free) => Check::ok("state folder", words::doctor::free(&folder.display(), &size(free))),
        Err(_) => Check::ok("state folder", folder.display().to_string()),
    }
}

/// Writes a real file, since modes do not tell everything.
fn try_writing(folder: &Path) -> std::io::Result<()> {
    make_private_folder(folder)?;
    let file = folder.join(format!(".doctor.{:016x}.tmp", system_random()));
    let written = std::fs::write(&file, b"x");
    let removed = std::fs::remove_file(&file);
    written.and(removed)
}

/// Reports problems in settings files and variables.
fn said(settings: &Settings) -> Vec<Check> {
    let files: Vec<String> = settings.files.iter().map(|file| file.display().to_string()).collect();
    let set = settings.resolved.iter().filter(|(_, set)| set.source != Source::Default).count();
    let from = match files.is_empty() {
        true => words::doctor::NO_FILES.to_owned(),
        false => files.join(", "),
    };
    let mut checks = vec![Check::ok("settings", format!("{from}; {} set", count(set, "value")))];
    for warning in &settings.warnings {
        checks.push(Check::warn("settings", warning.clone()).next(words::doctor::SEE_SETTINGS));
    }
    let is_told =
        |name: &String| settings.warnings.iter().any(|said| said.starts_with(&format!("{name} ")));
    let unknown: Vec<String> =
        settings.unknown_variables().into_iter().filter(|name| !is_told(name)).collect();
    if !unknown.is_empty() {
        let found = words::doctor::unknown_variables(&unknown.join(", "));
        let next = words::doctor::LIST_VARIABLES;
        checks.push(Check::warn("variables", found).next(next));
    }
    checks
}

/// Checks the limit of open files: every kernel takes some, and without any left nothing starts
/// (EMFILE).
fn open_files() -> Check {
    let limit = getrlimit(Resource::Nofile);
    let shown = |limit: Option<u64>| match limit {
        Some(number) => number.to_string(),
        None => words::doctor::NO_LIMIT.to_owned(),
    };
    let found = words::doctor::open_files(&shown(limit.current), &shown(limit.maximum));
    if limit.current.is_none_or(|current| current >= FEW_FILES) {
        return Check::ok("open files", found);
    }
    let next = words::doctor::CLOSE_SESSIONS;
    Check::warn("open files", found).next(next)
}

fn stored(settings: &Settings) -> Check {
    let most = artifacts_config(settings).limits.total_bytes;
    match artifacts::store(settings).kept() {
        Ok(kept) => {
            let number = usize::try_from(kept.artifacts).unwrap_or(usize::MAX);
            let number = count(number, "artifact");
            let found = words::doctor::stored(&number, &size(kept.bytes), &size(most));
            if kept.bytes > most / 10 * 9 {
                let next = words::doctor::OLDEST_FIRST;
                return Check::warn("stored output", found).next(next);
            }
            Check::ok("stored output", found)
        }
        Err(error) => Check::of_error("stored output", &error.into()),
    }
}

/// Answers to the usual questions when something does not work.
pub(super) fn advice(settings: &Settings) -> Vec<Check> {
    let timeout = settings.resolved.value_in(Key::PythonTimeout, Profile::Default);
    let found = match &timeout {
        Value::Seconds(time) => words::doctor::stopped_after(&duration(*time)),
        _ => words::doctor::NO_TIME_LIMIT.to_owned(),
    };
    let raise = words::doctor::ASK_FOR_MORE;
    vec![
        Check::ok("time limit", found).next(raise),
        Check::ok("input", words::doctor::NO_INPUT).next(words::doctor::PUT_INTO_VARIABLES),
    ]
}
