//! The lines that the log writes, and the words that it never writes.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::*;

const SECRET: &str = "canary-5d1f";

/// The lines that this work logs with these settings, without their time.
fn logged(settings: &LogSettings, path: &Path, work: impl FnOnce()) -> Vec<String> {
    let settings = LogSettings { file: Some(path.to_owned()), ..settings.clone() };
    let log = Log::new(&settings, Instant::now()).unwrap();
    tracing::subscriber::with_default(log, work);
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let own = std::process::id().to_string();
    text.lines()
        .map(|line| {
            let (time, rest) = line.split_at(24);
            assert!(time.ends_with('Z') && time.as_bytes()[10] == b'T', "{line}");
            rest.replacen(&format!(" {own}"), "", 1).trim_start().to_owned()
        })
        .collect()
}

fn level(level: &'static str) -> LogSettings {
    LogSettings { level, file: None, messages: TraceSwitch::No, startup: TraceSwitch::No }
}

fn one_of_each() {
    tracing::error!("e");
    tracing::warn!(cause = "a b", count = 3, word = "plain", "w");
    tracing::info!("i");
    tracing::debug!("d");
    tracing::trace!("t");
    tracing::info!(target: MESSAGES, "m");
}

#[test]
fn levels_and_switches_are_kept_apart() {
    let dir = tempfile::tempdir().unwrap();
    let all =
        ["ERROR e", "WARN w cause=\"a b\" count=3 word=plain", "INFO i", "DEBUG d", "TRACE t"];
    for (at, name) in ["off", "error", "warn", "info", "debug", "trace"].into_iter().enumerate() {
        let path = dir.path().join(name);
        assert_eq!(logged(&level(name), &path, one_of_each), all[..at], "{name}");
        assert_eq!(path.exists(), name != "off", "what is not written to is not made");
    }
    let messages = LogSettings { messages: TraceSwitch::Yes, ..level("off") };
    assert_eq!(logged(&messages, &dir.path().join("m"), one_of_each), ["INFO m"]);
}

/// S-020: an event of another crate is logged by its source location, and at no level by a word of
/// it.
#[test]
fn words_of_other_crates_are_never_written() {
    let dir = tempfile::tempdir().unwrap();
    let others = || {
        tracing::error!(target: "rmcp::service", secret = SECRET, "{SECRET}");
        tracing::trace!(target: "hyper", secret = ?SECRET, "{SECRET}");
        tracing::error!(target: "inkcellar", "{SECRET}");
        let span = tracing::error_span!("span", secret = SECRET);
        span.in_scope(|| tracing::warn!("inside"));
    };
    assert_eq!(logged(&level("info"), &dir.path().join("info"), others), ["WARN inside"]);
    let lines = logged(&level("trace"), &dir.path().join("trace"), others);
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[0].starts_with("ERROR rmcp::service at tests.rs:"), "{lines:?}");
    assert!(lines.iter().all(|line| !line.contains(SECRET)), "{lines:?}");
}

/// Text that a client chooses, such as a name, cannot begin a line of the log or drive a terminal.
#[test]
fn a_line_is_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let lines = logged(&level("info"), &dir.path().join("log"), || {
        let name = "a\n2020-01-01T00:00:00.000Z ERROR forged\u{1b}[2J";
        tracing::info!(name, "client {name}");
        tracing::info!("{}", "é".repeat(10_000));
    });
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].starts_with("INFO client a␊2020") && !lines[0].contains('\u{1b}'),
        "{lines:?}"
    );
    assert!(lines[1].len() < 4096 && lines[1].ends_with("é…"), "{}", lines[1].len());
}

/// S-021: only the owner can read a log, and earlier lines stay.
#[test]
fn a_file_is_private_and_grows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new/folder/log");
    assert_eq!(logged(&level("error"), &path, one_of_each).len(), 1);
    assert_eq!(logged(&level("error"), &path, one_of_each).len(), 2);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let folder = LogSettings { file: Some(dir.path().to_owned()), ..level("warn") };
    let Err(Failure::Engine(error)) = Log::new(&folder, Instant::now()) else { unreachable!() };
    assert!(error.to_string().starts_with("log.file: "), "{error}");
}
