//! A store that fails while cells run: the cell completes, its report says what is missing, and names only artifacts
//! that exist.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use inkcell_engine::api::{PythonReport, State};
use inkcell_engine::artifact::{ArtifactId, ArtifactState, Scope};
use inkcell_engine::output::Notice;
use inkcell_testkit::need;
use inkcell_testkit::wait::until_async;

use crate::faults_kit::{Desk, wait_for};

/// The store of the test that runs as another process.
const STORE: &str = "INKCELL_TEST_FAULT_STORE";

/// Lines of 10 MB of output, and a shorter flood for tests where the size does not matter.
const TEN_MB: usize = 1_000_000;
const ENOUGH: usize = 100_000;

/// Code that prints distinct lines of ten bytes each.
fn flood(lines: std::ops::Range<usize>) -> String {
    format!("for n in range({}, {}): print(f'{{n:09}}')", lines.start, lines.end)
}

/// The output of the flood, cut at `bytes`.
fn flooded(bytes: usize) -> Vec<u8> {
    let mut text = Vec::new();
    for n in 0..bytes / 10 + 1 {
        writeln!(text, "{n:09}").expect("written");
    }
    text.truncate(bytes);
    text
}

/// The artifact of a report's only cell: the reported causes of a loss, and the bytes that can be read.
fn told(desk: &Desk, report: &PythonReport) -> (Vec<(String, u64)>, Option<Vec<u8>>) {
    assert_eq!(report.state, State::Done, "{report:?}");
    let output = &report.cells[0].output;
    let incomplete = |notice: &Notice| match notice {
        Notice::ArtifactIncomplete { cause, after_bytes, .. } => {
            Some((cause.clone(), *after_bytes))
        }
        Notice::Truncated { .. } | Notice::LinesCut { .. } | Notice::RichDropped { .. } => None,
    };
    let causes: Vec<_> = output.notices.iter().filter_map(incomplete).collect();
    // Only a complete artifact is offered as the full output.
    assert_eq!(output.block(None).contains("for full output]"), causes.is_empty());
    let stored = output.artifact.as_ref().map(|stored| {
        let id = ArtifactId::parse(&stored.id).expect("an id");
        let found = desk.engine.artifacts().find(&id, Scope::All).expect("what is named is there");
        assert_eq!(found.info().bytes, stored.bytes);
        assert!(stored.bytes > 0, "nothing is named that is empty");
        let is_whole = found.info().state == ArtifactState::Complete;
        assert_eq!(is_whole, causes.is_empty(), "{:?}", found.info());
        std::fs::read(&found.info().path).expect("its bytes")
    });
    (causes, stored)
}

/// The counts and ends of the flood are right, whatever happened to the artifact.
fn check_flood(report: &PythonReport, lines: usize) {
    let output = &report.cells[0].output;
    assert_eq!(output.counts.raw_bytes, lines as u64 * 10);
    assert!(output.text().starts_with("000000000\n000000001\n"), "the beginning");
    let end = format!("{:09}\n{:09}\n", lines - 2, lines - 1);
    assert!(output.text().ends_with(&end), "the end");
}

/// Waits until output is being stored.
async fn writing(desk: &Desk) {
    until_async("an artifact that is being written", async || {
        let listed = desk.engine.artifacts().list(Scope::All).expect("a list");
        listed.iter().any(|info| info.state == ArtifactState::Writing)
    })
    .await;
}

/// Not a test of its own: the process of the tests below whose disk is small or read-only.
#[tokio::test]
#[ignore = "run by the other tests of this file"]
#[allow(clippy::print_stdout, reason = "this is how the test hears of it")]
async fn other_process() {
    let Some(store) = std::env::var_os(STORE).map(PathBuf::from) else { return };
    let desk = Desk::with(|config| config.artifacts.state_dir = store);
    let report = desk.run(&[&flood(0..TEN_MB)]).await;
    check_flood(&report, TEN_MB);
    let (causes, stored) = told(&desk, &report);
    let exact = stored.as_ref().map(|bytes| *bytes == flooded(bytes.len()));
    let notice = report.cells[0].output.notices.last().map(ToString::to_string);
    println!("\nsays {}", notice.unwrap_or_default());
    println!("says {:?} {}", exact, causes[0].1 == stored.map_or(0, |bytes| bytes.len() as u64));
    // The kernel still works.
    assert_eq!(crate::faults_kit::told(&desk.run(&["1 + 1"]).await), "2");
    desk.engine.shutdown().await;
}

/// Output of the other process, started after these lines of a shell script.
fn heard(script: &str, store: &Path) -> Vec<String> {
    let mut command = Command::new("unshare");
    command
        .args(["-Urm", "sh", "-ec", &format!("{script}\nexec \"$@\""), "sh"])
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", "artifact_faults::other_process", "--ignored", "--nocapture"])
        .env(STORE, store)
        .stdin(Stdio::null());
    let ran = command.output().expect("it runs");
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{text}\n{}", String::from_utf8_lossy(&ran.stderr));
    text.lines().filter_map(|line| line.strip_prefix("says ")).map(str::to_owned).collect()
}

/// F-034: a disk of 64 KiB and 10 MB of output.
#[test]
fn a_full_disk_costs_the_artifact_and_not_the_cell() {
    if !need::private_mounts("a_full_disk_costs_the_artifact_and_not_the_cell") {
        return;
    }
    let said = heard("mount -t tmpfs -o size=64k,mode=700 none /mnt", Path::new("/mnt"));
    let number = said[0]
        .strip_prefix("[artifact incomplete: disk full after ")
        .and_then(|rest| rest.split_once(" bytes. Read artifact://"))
        .map(|(number, _)| number);
    let bytes: u64 = number.unwrap_or_else(|| panic!("{said:?}")).parse().expect("a number");
    assert!((16 * 1024..64 * 1024).contains(&bytes), "{bytes}");
    assert_eq!(said[1], "Some(true) true");
    // If the disk has room only for the folder, no artifact is named.
    let script = "mount -t tmpfs -o size=64k,mode=700 none /mnt\nhead -c 64k /dev/zero > /mnt/filler || true";
    let said = heard(script, Path::new("/mnt"));
    assert_eq!(said, ["[artifact incomplete: disk full after 0 bytes]", "None true"]);
}

/// F-035: a folder that cannot be written.
#[test]
fn a_read_only_store_costs_the_artifact_and_not_the_cell() {
    if !need::private_mounts("a_read_only_store_costs_the_artifact_and_not_the_cell") {
        return;
    }
    let script = "mount -t tmpfs -o size=64k,mode=700 none /mnt\nmkdir -m 700 /mnt/artifacts\n\
                  mount -o remount,ro /mnt";
    let wanted = "[artifact incomplete: the artifact folder cannot be written after 0 bytes]";
    for store in ["/mnt", "/mnt/below"] {
        assert_eq!(heard(script, Path::new(store)), [wanted, "None true"]);
    }
}

/// F-035: a missing folder is created again, and a file or a link in its place is refused by name. Once repaired, the
/// store works again.
#[tokio::test]
async fn a_store_that_is_missing_or_replaced_is_told() {
    let desk = Desk::new();
    let artifacts = desk.dir.path().join("state/artifacts");
    let code = flood(0..ENOUGH);
    let whole = |report: &PythonReport| {
        check_flood(report, ENOUGH);
        let (causes, stored) = told(&desk, report);
        assert_eq!(causes, []);
        assert!(stored.expect("all of it") == flooded(10 * ENOUGH));
    };
    whole(&desk.run(&[&code]).await);
    std::fs::remove_dir_all(&artifacts).expect("removed");
    whole(&desk.run(&[&code]).await);
    std::fs::remove_dir_all(&artifacts).expect("removed");
    std::fs::write(&artifacts, "not a folder").expect("written");
    let report = desk.run(&[&code]).await;
    check_flood(&report, ENOUGH);
    let (causes, stored) = told(&desk, &report);
    assert!(
        causes[0].0.contains("a link or a file stands where a private folder should be"),
        "{causes:?}"
    );
    assert_eq!((causes.len(), causes[0].1, stored), (1, 0, None));
    assert_eq!(std::fs::read(&artifacts).expect("as it was"), b"not a folder");
    std::fs::remove_file(&artifacts).expect("removed");
    let elsewhere = desk.dir.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("made");
    std::os::unix::fs::symlink(&elsewhere, &artifacts).expect("a link");
    let (causes, stored) = told(&desk, &desk.run(&[&code]).await);
    assert!(causes[0].0.contains("a link"), "{causes:?}");
    assert_eq!(stored, None);
    assert_eq!(inkcell_testkit::env::names_in(&elsewhere), [""; 0]);
    std::fs::remove_file(&artifacts).expect("removed");
    whole(&desk.run(&[&code]).await);
    desk.engine.shutdown().await;
}

/// F-035: the store is removed, moved or replaced while a cell writes. The cell ends well, the report says that the
/// artifact is gone and names none, and the next one is stored.
#[tokio::test]
async fn a_store_that_vanishes_under_a_cell_is_told() {
    let desk = Desk::new();
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 3] = [
        ("removed", |artifacts| std::fs::remove_dir_all(artifacts).expect("removed")),
        ("moved", |artifacts| {
            std::fs::rename(artifacts, artifacts.with_extension("moved")).expect("moved");
        }),
        ("replaced", |artifacts| {
            std::fs::remove_dir_all(artifacts).expect("removed");
            std::fs::write(artifacts, "").expect("written");
        }),
    ];
    for (what, harm) in harms {
        let artifacts = desk.dir.path().join("state/artifacts");
        let (half, rest) = (flood(0..ENOUGH / 2), flood(ENOUGH / 2..ENOUGH));
        let code = format!("{half}\n{}\n{rest}", wait_for("go on"));
        let report = desk.begin(&[&code]).await;
        writing(&desk).await;
        harm(&artifacts);
        desk.touch("go on");
        let report = desk.end(&report).await;
        check_flood(&report, ENOUGH);
        let gone = ("the artifact folder is gone".to_owned(), 0);
        assert_eq!(told(&desk, &report), (vec![gone], None), "{what}");
        std::fs::remove_file(desk.dir.path().join("go on")).expect("removed");
        // The user must remove the obstacle.
        if what == "replaced" {
            std::fs::remove_file(&artifacts).expect("removed");
        }
        let (causes, stored) = told(&desk, &desk.run(&[&flood(0..ENOUGH)]).await);
        assert_eq!((causes.len(), stored.expect("all of it").len()), (0, 10 * ENOUGH), "{what}");
    }
    desk.engine.shutdown().await;
}
