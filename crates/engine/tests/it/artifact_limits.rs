//! Limits for size and age of artifacts, and reading a large one in little memory.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use inkcell_engine::artifact::{
    ArtifactId, ArtifactLimits, ArtifactSession, ArtifactSpec, ArtifactState, Artifacts,
    ArtifactsConfig, Cause, GrepLimits, Incomplete, RemovedFor, Scope, SearchPattern,
};
use inkcell_engine::notebook::{LineRange, PageLimits};
use inkcell_engine::system_random;
use inkcell_testkit::need;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn store(state: &Path, session_bytes: u64, total_bytes: u64) -> Artifacts {
    Artifacts::new(ArtifactsConfig {
        state_dir: state.to_owned(),
        limits: ArtifactLimits { session_bytes, total_bytes, max_age: 7 * DAY },
        random: system_random,
        now: SystemTime::now,
    })
}

fn session(name: &str) -> ArtifactSession {
    ArtifactSession::new(name, &[])
}

fn spec(name: &str) -> ArtifactSpec {
    let kind = "text/plain".to_owned();
    ArtifactSpec { session: session(name), kind, title: String::new() }
}

/// Stores this many bytes and returns the id. The clock of records counts milliseconds, so each call waits for the next
/// one to make every artifact newer than the last.
fn put(store: &Artifacts, name: &str, bytes: usize) -> ArtifactId {
    let now = SystemTime::now();
    while now.elapsed().is_ok_and(|elapsed| elapsed < Duration::from_millis(2)) {
        std::thread::yield_now();
    }
    let written = store.store(&spec(name), &vec![b'x'; bytes]).expect("begun");
    assert_eq!(written.incomplete, None);
    written.info.expect("kept").id
}

fn ids(store: &Artifacts, scope: Scope<'_>) -> Vec<ArtifactId> {
    store.list(scope).expect("a list").into_iter().map(|info| info.id).collect()
}

/// F-036: an endless output stops at the session's limit and says so. Older artifacts of the session were removed for
/// it, but none of other sessions.
#[test]
fn one_endless_output_stops_at_the_quota() {
    let state = tempfile::tempdir().expect("a folder");
    let store = store(state.path(), 100_000, 1_000_000);
    let other = put(&store, "other", 50_000);
    let old = put(&store, "default", 50_000);
    let mut writer = store.create(&spec("default")).expect("begun");
    let id = writer.id().clone();
    for _ in 0..1000 {
        writer.append(&[b'y'; 999]);
    }
    let written = writer.finish();
    let incomplete = written.incomplete.expect("it stopped");
    assert_eq!(incomplete.cause, Cause::SessionQuota { limit_bytes: 100_000 });
    let words = "artifact incomplete: the session's quota of 97.7KB is used up after ";
    assert!(incomplete.to_string().starts_with(words), "{incomplete}");
    let info = written.info.expect("kept");
    assert_eq!(info.bytes, incomplete.after_bytes);
    assert!((90_000..=100_000).contains(&info.bytes), "{}", info.bytes);
    assert_eq!(info.state, ArtifactState::Incomplete(incomplete));
    assert!(store.find(&old, Scope::All).is_err(), "it made room");
    assert_eq!(ids(&store, Scope::All), [other, id]);
}

/// F-036: all sessions together have a limit as well; an artifact under another writer's lock is not removed for it.
#[test]
fn all_sessions_together_have_a_limit() {
    let state = tempfile::tempdir().expect("a folder");
    let store = store(state.path(), 100_000, 120_000);
    let mut held = store.create(&spec("held")).expect("begun");
    held.append(&[b'h'; 50_000]);
    let old = put(&store, "old", 30_000);
    let mut writer = store.create(&spec("default")).expect("begun");
    writer.append(&[b'y'; 200_000]);
    let incomplete = writer.incomplete().expect("it stopped");
    assert_eq!(incomplete.cause, Cause::TotalQuota { limit_bytes: 120_000 });
    assert!((60_000..70_000).contains(&incomplete.after_bytes), "{incomplete}");
    assert!(store.find(&old, Scope::All).is_err());
    assert_eq!(held.finish().incomplete, None);
}

/// If no room can be made, an artifact without bytes is not kept.
#[test]
fn no_room_at_all_is_told_without_an_artifact() {
    let state = tempfile::tempdir().expect("a folder");
    let store = store(state.path(), 1000, 1000);
    let written = store.store(&spec("default"), b"x").expect("begun");
    let cause = Cause::SessionQuota { limit_bytes: 1000 };
    assert_eq!(written.incomplete, Some(Incomplete { after_bytes: 0, cause }));
    assert_eq!(written.info, None);
}

/// Age comes first, then the limit of each session, then that of all; each step removes the oldest first.
#[test]
fn a_clean_up_removes_the_oldest_first() {
    let state = tempfile::tempdir().expect("a folder");
    let wide = store(state.path(), 1_000_000, 10_000_000);
    let a: Vec<ArtifactId> = (0..4).map(|_| put(&wide, "a", 30_000)).collect();
    let b: Vec<ArtifactId> = (0..2).map(|_| put(&wide, "b", 30_000)).collect();
    let nothing = wide.gc(SystemTime::now()).expect("cleaned");
    assert_eq!((nothing.artifacts.len(), nothing.bytes), (0, 0));

    let tight = store(state.path(), 100_000, 130_000);
    let removed = tight.gc(SystemTime::now()).expect("cleaned");
    let why: Vec<(ArtifactId, RemovedFor)> =
        removed.artifacts.iter().map(|gone| (gone.info.id.clone(), gone.why)).collect();
    let wanted = [(a[0].clone(), RemovedFor::SessionQuota), (a[1].clone(), RemovedFor::TotalQuota)];
    assert_eq!(why, wanted);
    assert_eq!(removed.bytes, 2 * (30_000 + 2048));
    assert_eq!(ids(&tight, Scope::All), [&a[2..], &b[..]].concat());

    let later = SystemTime::now() + 8 * DAY;
    let removed = wide.gc(later).expect("cleaned");
    assert!(removed.artifacts.iter().all(|gone| gone.why == RemovedFor::Age));
    assert_eq!(removed.artifacts.len(), 4);
    assert_eq!(inkcell_testkit::env::names_in(&state.path().join("artifacts")).len(), 0);
    // The folder of a session without artifacts stays.
    let folder = wide.folder(&session("a")).expect("a folder");
    wide.gc(SystemTime::now()).expect("cleaned");
    assert!(folder.exists());
    // A clock that was set back makes no artifact old.
    put(&wide, "a", 10);
    assert_eq!(wide.gc(SystemTime::UNIX_EPOCH).expect("cleaned").artifacts.len(), 0);
}

/// A session's artifacts are removed on request, and no others; one can be removed by its id.
#[test]
fn artifacts_are_removed_when_asked() {
    let state = tempfile::tempdir().expect("a folder");
    let store = store(state.path(), 1_000_000, 10_000_000);
    assert_eq!(store.remove_session(&session("none")).expect("asked").artifacts.len(), 0);
    let a = [put(&store, "a", 10), put(&store, "a", 10)];
    let b = [put(&store, "b", 10), put(&store, "b", 10)];
    let removed = store.remove_session(&session("a")).expect("asked");
    assert_eq!(removed.artifacts.iter().map(|gone| gone.info.id.clone()).collect::<Vec<_>>(), a);
    assert!(removed.artifacts.iter().all(|gone| gone.why == RemovedFor::Asked));
    assert!(store.remove(&b[0], Scope::Session(&session("a"))).is_err(), "of another session");
    assert_eq!(store.remove(&b[0], Scope::All).expect("asked").id, b[0]);
    assert!(store.remove(&b[0], Scope::All).is_err(), "it is gone");
    assert_eq!(ids(&store, Scope::All), [b[1].clone()]);
}

/// S-021 F-035: a clean-up removes half-made files of a crash, and no other files.
#[test]
fn leavings_are_removed_and_other_files_are_not() {
    let state = tempfile::tempdir().expect("a folder");
    let store = store(state.path(), 1 << 30, 1 << 30);
    let kept = put(&store, "default", 4);
    let folder = store.folder(&session("default")).expect("a folder");
    let names = ["aaaaaaaaaaaaaaaa.md", "bbbbbbbbbbbbbbbb.json", "cccccccccccccccc.lines"];
    for name in names {
        std::fs::write(folder.join(name), "half").expect("written");
    }
    std::fs::write(folder.join("dddddddddddddddd.md"), "data").expect("written");
    std::fs::write(folder.join("dddddddddddddddd.json"), "{\"id\": \"dd").expect("written");
    // A record with another id does not belong to this artifact.
    std::fs::copy(folder.join(format!("{kept}.json")), folder.join("eeeeeeeeeeeeeeee.json"))
        .expect("copied");
    std::fs::write(folder.join("eeeeeeeeeeeeeeee.md"), "xxxx").expect("written");
    let theirs = ["notes.md", "aaaaaaaaaaaaaaaa.txt", "AAAAAAAAAAAAAAAA.md", "ffffffffffffffff"];
    for name in theirs {
        std::fs::write(folder.join(name), "theirs").expect("written");
    }
    // An artifact that is just being created has a lock but no record.
    let made = File::create(folder.join("gggggggggggggggg.md")).expect("made");
    made.lock().expect("locked");
    assert_eq!(ids(&store, Scope::All), std::slice::from_ref(&kept));
    let removed = store.gc(SystemTime::now()).expect("cleaned");
    assert_eq!((removed.remnants, removed.artifacts.len()), (5, 0));
    let mut wanted: Vec<String> = theirs.map(str::to_owned).to_vec();
    wanted.extend([format!("{kept}.md"), format!("{kept}.json")]);
    wanted.push("gggggggggggggggg.md".to_owned());
    wanted.sort();
    let mut left = inkcell_testkit::env::names_in(&folder);
    left.sort();
    assert_eq!(left, wanted);
}

/// Times far enough apart to matter.
fn in_a_month() -> SystemTime {
    SystemTime::now() + 30 * DAY
}

fn in_a_month_and_a_day() -> SystemTime {
    in_a_month() + DAY
}

/// Old artifacts are removed without a request when another is stored. The search for them runs now and then, not every
/// time.
#[test]
fn what_is_too_old_goes_by_itself() {
    let state = tempfile::tempdir().expect("a folder");
    let at = |now: fn() -> SystemTime| {
        let limits = ArtifactLimits::STANDARD;
        let state_dir = state.path().to_owned();
        Artifacts::new(ArtifactsConfig { state_dir, limits, random: system_random, now })
    };
    let ids = || ids(&at(SystemTime::now), Scope::All);
    let first = put(&at(SystemTime::now), "default", 5);
    assert_eq!(ids(), [first]);
    let second = put(&at(in_a_month), "default", 6);
    assert_eq!(ids(), std::slice::from_ref(&second));
    // No bytes are written to it, so its room is not checked.
    let third = put(&at(SystemTime::now), "default", 0);
    put(&at(in_a_month), "default", 8);
    assert!(ids().contains(&third), "it was looked at a moment ago");
    put(&at(in_a_month_and_a_day), "default", 9);
    assert!(!ids().contains(&third) && ids().contains(&second));
    assert_eq!(at(in_a_month).kept().expect("counted").artifacts, 3);
}

/// Peak memory of this process in bytes, and a way to reset it.
#[cfg(target_os = "linux")]
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kilobytes = line.trim().trim_end_matches("kB").trim();
    kilobytes.parse::<u64>().expect("a number") * 1024
}

/// F-030 F-031 B:O-08: 200 MB are written and read in parts, by line, by pattern and by byte, in memory that does not
/// grow with their size.
#[test]
#[cfg(target_os = "linux")]
fn a_large_artifact_is_read_without_loading_it() {
    let megabytes: u64 = if need::is_quick() { 24 } else { 200 };
    let state = tempfile::tempdir().expect("a folder");
    let store = store(state.path(), 1 << 30, 1 << 30);
    let mut writer = store.create(&spec("default")).expect("begun");
    let mut number = 0u64;
    let before = peak_bytes();
    while writer.bytes() < megabytes << 20 {
        let mut chunk = String::new();
        for _ in 0..1000 {
            number += 1;
            chunk.push_str(&format!("line {number} {}\n", "x".repeat(180)));
        }
        writer.append(chunk.as_bytes());
    }
    let info = writer.finish().info.expect("kept");
    assert_eq!(info.lines, Some(number));
    let found = store.find(&info.id, Scope::All).expect("found");
    let limits = PageLimits { max_lines: 3, max_bytes: 51_200 };
    for first in [1, number / 2, number - 2] {
        let first_line = usize::try_from(first).expect("it fits");
        let range = LineRange { start: first_line, end: Some(first_line + 1) };
        let read = found.lines(&[range], limits).expect("read");
        let text = String::from_utf8(read.pieces[0].bytes.clone()).expect("text");
        assert!(text.starts_with(&format!("line {first} x")), "{}", &text[..40]);
        assert!(text.contains(&format!("\nline {} x", first + 1)));
        assert_eq!((read.total_lines, read.next_line), (number, None));
        assert_eq!(found.cleaned().lines(&[range], limits).expect("read"), read);
    }
    let pattern = SearchPattern::new(&format!("^line {} ", number - 5)).expect("a pattern");
    let hits = found.grep(&pattern, GrepLimits { max_hits: 5, max_hit_bytes: 100 }).expect("read");
    assert_eq!((hits.matching_lines, hits.hits[0].line), (1, number - 5));
    let grown = peak_bytes() - before;
    assert!(grown < 16 << 20, "it took {grown} bytes for {megabytes} MB");
}
