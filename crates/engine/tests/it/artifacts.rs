//! Artifacts on a real disk: access to the folder, limits for size and age, and the state after a failure of a process
//! or the disk. Reading and injected failures are tested beside the code.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use inkcell_engine::artifact::{
    ArtifactError, ArtifactId, ArtifactInfo, ArtifactLimits, ArtifactSession, ArtifactSpec,
    ArtifactState, Artifacts, ArtifactsConfig, Cause, Incomplete, Scope,
};
use inkcell_engine::notebook::{Form, PageLimits};
use inkcell_engine::{Kind, system_random};
use inkcell_testkit::need;
use tempfile::TempDir;

/// The store and the role of a test that runs as another process.
const STATE: &str = "INKCELL_TEST_ARTIFACT_STATE";
const ROLE: &str = "INKCELL_TEST_ARTIFACT_ROLE";

fn state() -> TempDir {
    tempfile::Builder::new().prefix("inkcell-test-").tempdir().expect("a folder")
}

fn store(state: &Path) -> Artifacts {
    limited(state, ArtifactLimits::STANDARD)
}

fn limited(state: &Path, limits: ArtifactLimits) -> Artifacts {
    let config = ArtifactsConfig {
        state_dir: state.to_owned(),
        limits,
        random: system_random,
        now: SystemTime::now,
    };
    Artifacts::new(config)
}

fn session(name: &str) -> ArtifactSession {
    ArtifactSession::new(name, &[b"/work"])
}

fn spec(name: &str, kind: &str) -> ArtifactSpec {
    ArtifactSpec { session: session(name), kind: kind.to_owned(), title: "a cell".to_owned() }
}

fn put(store: &Artifacts, name: &str, bytes: &[u8]) -> ArtifactInfo {
    let written = store.store(&spec(name, "text/plain"), bytes).expect("begun");
    assert_eq!(written.incomplete, None);
    written.info.expect("kept")
}

/// Every file and folder inside the artifact folder, with its mode.
fn below(state: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    let mut folders = vec![state.join("artifacts")];
    while let Some(folder) = folders.pop() {
        let mode = |path: &Path| std::fs::symlink_metadata(path).expect("there").mode() & 0o7777;
        found.push((folder.clone(), mode(&folder)));
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { found.push((path.clone(), mode(&path))) }
        }
    }
    found
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Not a test of its own: the other process of the tests below.
#[test]
#[ignore = "run by the other tests of this file"]
fn other_process() {
    let (Ok(role), Some(state)) = (std::env::var(ROLE), std::env::var_os(STATE)) else { return };
    let state = PathBuf::from(state);
    match role.as_str() {
        // Writes some bytes and then stays, with the file open, until it is ended.
        "stays" => {
            let mut writer = store(&state).create(&spec("default", "text/plain")).expect("begun");
            writer.append(b"the beginning\n");
            say(writer.id().as_str());
            std::io::stdin().read_to_end(&mut Vec::new()).expect("the end");
        }
        "many" => {
            for number in 0..50 {
                put(&store(&state), "default", format!("{number}\n").repeat(100).as_bytes());
            }
        }
        "fills" => {
            let mut writer = store(&state).create(&spec("default", "text/plain")).expect("begun");
            for _ in 0..1000 {
                writer.append(&b"0123456789\n".repeat(1000));
            }
            let written = writer.finish();
            let info = written.info.expect("there is something to read");
            let kept = std::fs::read(&info.path).expect("a file");
            let exact = b"0123456789\n".repeat(10_000);
            say(&format!(
                "{} exact={}",
                written.incomplete.expect("full"),
                exact.starts_with(&kept)
            ));
            let found = store(&state).find(&info.id, Scope::All).expect("found");
            say(&format!(
                "{:?} lines={:?}",
                found.info().state == info.state,
                info.lines == Some((info.bytes).div_ceil(11))
            ));
        }
        "cannot" => {
            let error = store(&state).create(&spec("default", "text/plain")).expect_err("closed");
            say(&format!("{:?} {}", error.kind(), error));
        }
        other => panic!("{other}"),
    }
}

#[allow(clippy::print_stdout, reason = "this is how the test hears of it")]
fn say(text: &str) {
    println!("\nsays {text}");
    std::io::stdout().flush().expect("written");
}

/// This program as another process, started after some words of a shell script.
fn other(script: &str, role: &str, state: &Path) -> Command {
    // Mounts need a namespace of their own.
    let mut command = Command::new(if script.contains("mount") { "unshare" } else { "sh" });
    if script.contains("mount") {
        command.args(["-Urm", "sh"]);
    }
    command
        .args(["-ec", &format!("{script}\nexec \"$@\""), "sh"])
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", "artifacts::other_process", "--ignored", "--nocapture"])
        .env(STATE, state)
        .env(ROLE, role)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// The output of the other process until it ends.
fn heard(mut command: Command) -> Vec<String> {
    let ran = command.stdin(Stdio::null()).output().expect("it runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    text.lines().filter_map(|line| line.strip_prefix("says ")).map(str::to_owned).collect()
}

/// A writer that stays until its input ends or it is killed.
struct Staying {
    process: Child,
    id: ArtifactId,
}

impl Staying {
    fn start(state: &Path) -> Staying {
        let mut process = other("", "stays", state).spawn().expect("a process");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let line = lines.find_map(|line| line.ok()?.strip_prefix("says ").map(str::to_owned));
        let id = ArtifactId::parse(&line.expect("an id")).expect("an id");
        Staying { process, id }
    }
}

impl Drop for Staying {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// B:O-08 B:O-09 B:E-41: all bytes are in `<id>.md` in the session's folder, where Python's `output` looks; a picture
/// has its own extension.
#[test]
fn an_artifact_is_a_file_of_its_session() {
    let state = state();
    let store = store(state.path());
    let bytes = b"a\xff\xfe\x00b\r\n\x1b[31mred";
    let info = put(&store, "default", bytes);
    let folder = store.folder(&session("default")).expect("a folder");
    assert_eq!(info.path, folder.join(format!("{}.md", info.id)));
    assert_eq!(std::fs::read(&info.path).expect("a file"), bytes);
    assert_eq!((info.bytes, info.lines, &*info.session), (15, Some(2), "default"));
    assert_eq!(info.state, ArtifactState::Complete);
    let found = store.find(&info.id, Scope::All).expect("found");
    assert_eq!(found.bytes(0, usize::MAX, Form::Raw).expect("read").bytes, bytes);
    for (kind, ending, lines) in [
        ("image/png", "png", None),
        ("application/json", "md", Some(1)),
        ("application/octet-stream", "bin", None),
    ] {
        let written = store.store(&spec("default", kind), b"\x89PNG").expect("begun");
        let info = written.info.expect("kept");
        assert_eq!(info.path.extension().expect("an ending"), ending);
        assert_eq!((info.kind.as_str(), info.lines, info.bytes), (kind, lines, 4));
    }
    assert_eq!(store.list(Scope::Session(&session("default"))).expect("a list").len(), 4);
    assert_ne!(store.folder(&session("other")).expect("a folder"), folder);
}

/// S-040: an id of another session looks like one that never existed, and so does one whose file belongs to another
/// user.
#[test]
fn only_what_is_recorded_is_found() {
    let state = state();
    let store = store(state.path());
    let info = put(&store, "default", b"mine");
    let other = session("other");
    let unknown = |id: &ArtifactId, scope| {
        let error = store.find(id, scope).expect_err("unknown");
        assert!(matches!(error, ArtifactError::Unknown { .. }) && error.kind() == Kind::NotFound);
    };
    unknown(&info.id, Scope::Session(&other));
    let never = ArtifactId::parse("aaaaaaaaaaaaaaaa").expect("an id");
    unknown(&never, Scope::All);
    // A file of the right name without a record, a link, a FIFO: none of them is an artifact.
    let folder = store.folder(&session("default")).expect("a folder");
    std::fs::write(folder.join(format!("{never}.md")), "planted").expect("written");
    unknown(&never, Scope::All);
    let secret = state.path().join("secret");
    std::fs::write(&secret, "secret").expect("written");
    std::fs::remove_file(&info.path).expect("removed");
    symlink(&secret, &info.path).expect("a link");
    unknown(&info.id, Scope::All);
    std::fs::remove_file(&info.path).expect("removed");
    let made = Command::new("mkfifo").arg(&info.path).status().expect("it runs");
    assert!(made.success());
    unknown(&info.id, Scope::All);
    assert_eq!(store.list(Scope::All).expect("a list"), []);
}

/// S-021: with any umask the folders are 0700 and the files 0600.
#[test]
fn nobody_else_can_read_it() {
    let state = state();
    heard(other("umask 000", "many", state.path()));
    let found = below(state.path());
    assert_eq!(found.len(), 2 + 2 * 50);
    for (path, mode) in found {
        let wanted = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, wanted, "{}", path.display());
    }
    // A folder of this user that was open to readers is closed.
    let folder = store(state.path()).folder(&session("default")).expect("a folder");
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).expect("opened");
    put(&store(state.path()), "default", b"x");
    assert_eq!(std::fs::metadata(&folder).expect("there").mode() & 0o777, 0o700);
}

/// S-021: a link, a file, another user's folder and a folder that others may write are refused by name.
#[test]
fn a_folder_that_is_not_ours_is_refused() {
    let refused = |prepare: &dyn Fn(&Path), words: &str| {
        let state = state();
        prepare(state.path());
        let error = store(state.path()).create(&spec("default", "text/plain")).expect_err(words);
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.to_string().contains("choose another state folder"), "{error}");
        assert_eq!(error.kind(), Kind::Invalid);
    };
    let link = |state: &Path| {
        std::fs::create_dir(state.join("elsewhere")).expect("made");
        symlink(state.join("elsewhere"), state.join("artifacts")).expect("a link");
    };
    refused(&link, "a link");
    let session_link = |state: &Path| {
        let folder = store(state).folder(&session("default")).expect("a folder");
        std::fs::remove_dir(&folder).expect("removed");
        symlink(state, folder).expect("a link");
    };
    refused(&session_link, "a link");
    refused(&|state| std::fs::write(state.join("artifacts"), "x").expect("written"), "a file");
    let open = |state: &Path| {
        let folder = state.join("artifacts");
        std::fs::create_dir(&folder).expect("made");
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o777)).expect("opened");
    };
    refused(&open, "others may write into the folder");
    if !is_root() {
        need::skip("a_folder_that_is_not_ours_is_refused", "only root can give folders away");
        return;
    }
    let foreign = |state: &Path| {
        std::fs::create_dir(state.join("artifacts")).expect("made");
        std::os::unix::fs::chown(state.join("artifacts"), Some(12345), None).expect("given away");
    };
    refused(&foreign, "belongs to another user");
}

/// F-034
#[test]
fn a_full_disk_ends_the_artifact_and_nothing_else() {
    if !need::private_mounts("a_full_disk_ends_the_artifact_and_nothing_else") {
        return;
    }
    let script = "mount -t tmpfs -o size=64k,mode=700 none /mnt";
    let said = heard(other(script, "fills", Path::new("/mnt")));
    let words = said[0].strip_prefix("artifact incomplete: disk full after ").expect("the words");
    let bytes: u64 =
        words.strip_suffix(" bytes exact=true").expect("exact").parse().expect("a number");
    assert!((32 * 1024..64 * 1024).contains(&bytes), "{bytes}");
    // The final record is written, although the disk is full.
    assert_eq!(said[1], "true lines=true");
}

/// F-035: a folder that cannot be written, and a missing one that cannot be created.
#[test]
fn a_closed_disk_is_told_before_there_is_an_id() {
    if !need::private_mounts("a_closed_disk_is_told_before_there_is_an_id") {
        return;
    }
    let script = "mount -t tmpfs -o size=64k,mode=700 none /mnt\nmkdir -m 700 /mnt/artifacts\n\
                  mount -o remount,ro /mnt";
    for state in ["/mnt", "/mnt/below"] {
        let said = heard(other(script, "cannot", Path::new(state)));
        assert!(said[0].starts_with("Unavailable /mnt"), "{said:?}");
        assert!(said[0].contains("Read-only file system"), "{said:?}");
    }
}

/// F-035: a file or folder that is removed or replaced during a write is reported at the end. No file appears in the
/// folder's place, and the next artifact works.
#[test]
fn a_folder_that_vanishes_is_told() {
    let gone = Incomplete { after_bytes: 0, cause: Cause::Gone };
    type Harm = fn(&Path, &Path);
    let harms: [(&str, Harm); 4] = [
        ("file", |_, path| std::fs::remove_file(path).expect("removed")),
        ("folder", |_, path| std::fs::remove_dir_all(path.parent().unwrap()).expect("removed")),
        ("all", |state, _| std::fs::remove_dir_all(state.join("artifacts")).expect("removed")),
        ("moved", |state, path| {
            std::fs::rename(path.parent().unwrap(), state.join("moved")).expect("moved");
        }),
    ];
    for (what, harm) in harms {
        let state = state();
        let store = store(state.path());
        let path = |id: &ArtifactId| {
            store.folder(&session("default")).expect("a folder").join(format!("{id}.md"))
        };
        let mut writer = store.create(&spec("default", "text/plain")).expect("begun");
        writer.append(b"before");
        harm(state.path(), &path(writer.id()));
        writer.append(b"after");
        let (id, written) = (writer.id().clone(), writer.finish());
        assert_eq!(written.incomplete, Some(gone.clone()), "{what}");
        assert_eq!(written.info, None, "{what}");
        assert!(store.find(&id, Scope::All).is_err(), "{what}");
        let mut writer = store.create(&spec("default", "text/plain")).expect("begun");
        harm(state.path(), &path(writer.id()));
        let error = writer.write_all(b"as a writer").and_then(|()| writer.flush());
        assert_eq!(error.expect_err(what).kind(), std::io::ErrorKind::NotFound);
        drop(writer);
        std::fs::remove_dir_all(state.path().join("moved")).ok();
        put(&store, "default", b"the next one");
        assert_eq!(store.list(Scope::All).expect("a list").len(), 1, "{what}");
    }
    // A file in the place of the folder.
    let state = state();
    std::fs::write(state.path().join("artifacts"), "").expect("written");
    assert!(store(state.path()).create(&spec("default", "text/plain")).is_err());
    assert!(store(state.path()).list(Scope::All).is_err());
}

/// F-026: two processes with one state folder write, list and clean up at once, and no artifact is lost.
#[test]
fn two_processes_share_a_state_folder() {
    let state = state();
    let store = store(state.path());
    let mut others: Vec<Child> =
        (0..2).map(|_| other("", "many", state.path()).spawn().expect("a process")).collect();
    let mut rounds = 0;
    while others.iter_mut().any(|other| other.try_wait().expect("a status").is_none()) {
        rounds += 1;
        assert!(rounds < 100_000, "they do not end");
        assert_eq!(store.gc(SystemTime::now()).expect("cleaned").artifacts, []);
        for info in store.list(Scope::All).expect("a list") {
            let is_fine = matches!(info.state, ArtifactState::Complete | ArtifactState::Writing);
            assert!(is_fine, "{info:?}");
        }
        put(&store, "mine", b"mine\n");
    }
    for other in &mut others {
        assert!(other.wait().expect("a status").success());
    }
    assert_eq!(store.list(Scope::Session(&session("default"))).expect("a list").len(), 100);
    assert_eq!(store.list(Scope::Session(&session("mine"))).expect("a list").len(), rounds);
}

/// F-026: an artifact that another process is writing can be read so far, says that it is being written, and is never
/// removed. Once that process is killed, the artifact says so and can be removed.
#[test]
fn a_killed_writer_leaves_an_artifact_that_says_so() {
    let state = state();
    let tight = ArtifactLimits { session_bytes: 10, total_bytes: 10, max_age: Duration::ZERO };
    let store = limited(state.path(), tight);
    let mut other = Staying::start(state.path());
    let found = store.find(&other.id, Scope::All).expect("found");
    assert_eq!(found.info().state, ArtifactState::Writing);
    assert_eq!(found.info().lines, None);
    let limits = PageLimits { max_lines: 10, max_bytes: 1000 };
    let read = found.lines(&[], limits).expect("read");
    assert_eq!((&*read.pieces[0].bytes, read.total_lines), (&b"the beginning\n"[..], 1));
    let later = SystemTime::now() + Duration::from_secs(1_000_000);
    let removed = store.gc(later).expect("cleaned");
    assert_eq!((removed.artifacts.len(), &removed.busy[..]), (0, &[other.id.clone()][..]));
    let busy = store.remove(&other.id, Scope::All).expect_err("busy");
    assert_eq!(busy.kind(), Kind::Busy);
    assert_eq!(store.remove_session(&session("default")).expect("asked").busy.len(), 1);
    other.process.kill().expect("there");
    other.process.wait().expect("gone");
    let found = store.find(&other.id, Scope::All).expect("found");
    let died = Incomplete { after_bytes: 14, cause: Cause::WriterDied };
    assert_eq!(found.info().state, ArtifactState::Incomplete(died));
    let removed = store.gc(later).expect("cleaned");
    assert_eq!(removed.artifacts.len(), 1);
    assert_eq!(below(state.path()).len(), 1, "the empty folder of the session is gone too");
}
