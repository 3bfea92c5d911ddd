//! A host without free descriptors. The limit applies to a process, so each test runs in its own.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;

use inkcell_engine::NextStep;
use inkcell_engine::api::{EndReport, KernelStep, PythonReport, PythonRequest, State};
use inkcell_engine::registry::OwnerId;
use inkcell_engine::session::{CallNote, CloseReason, Loss};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::faults_kit::{Desk, ME, run_code, told, wait_for};

const OTHER: OwnerId = OwnerId(2);

/// Set in the process that runs the test.
const IN_CHILD: &str = "INKCELL_TEST_FEW_DESCRIPTORS";

/// Runs one of the tests below in a process of its own.
fn in_child(test: &str) {
    let program = std::env::current_exe().expect("this program");
    let child = Command::new(program)
        .args(["--exact", &format!("faults_descriptors::{test}"), "--ignored", "--nocapture"])
        .env(IN_CHILD, "1")
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&child.stdout);
    let problem = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && said.contains("1 passed"), "{said}\n{problem}");
}

/// Leaves this process `left` descriptors, and returns the files that occupy the others. Kernels have the same limit,
/// and use high numbers for descriptors that code must not hit by accident.
fn few_descriptors(left: usize) -> Vec<File> {
    assert!(std::env::var_os(IN_CHILD).is_some(), "only in a process of its own");
    let limit = Rlimit { current: Some(300), maximum: Some(300) };
    setrlimit(Resource::Nofile, limit).expect("a lower limit");
    let mut hogs = hogs();
    hogs.truncate(hogs.len() - left);
    hogs
}

/// Occupies all free descriptors.
fn hogs() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

async fn ask(desk: &Desk, request: PythonRequest, owner: OwnerId) -> PythonReport {
    run_code(&desk.engine, request, owner).await.expect("a report")
}

/// B:K-15 F-046 Issue 21, 21: with more sessions than descriptors, idle sessions of the same owner make room, and the
/// answer names them. Running code goes on, and sessions of other owners stay.
#[test]
fn idle_sessions_make_room_where_descriptors_are_scarce() {
    in_child("idle_sessions_make_room");
}

#[tokio::test]
#[ignore = "lowers a limit of its process; the test above runs it"]
async fn idle_sessions_make_room() {
    let desk = Desk::with(|config| config.limits.sessions = 100);
    let few = few_descriptors(60);
    assert_eq!(ask(&desk, desk.named("theirs", &["x = 'theirs'"]), OTHER).await.state, State::Done);
    let code = format!("open('begun', 'w').close()\n{}\n'worked'", wait_for("gate"));
    let busy = PythonRequest { wait: Some(Duration::ZERO), ..desk.named("busy", &[&code]) };
    let busy = ask(&desk, busy, ME).await;
    desk.seen("begun").await;
    let mut announced = Vec::new();
    for n in 0..40 {
        let report = ask(&desk, desk.named(&format!("s{n}"), &[&format!("x = {n}")]), ME).await;
        assert_eq!(report.state, State::Done, "{n}: {:?}", report.cells[0].end);
        announced.extend(report.cells[0].notes.iter().filter_map(|note| match note {
            CallNote::Kernel(said) => Some(said.clone()),
            _ => None,
        }));
    }
    let first = announced.first().expect("a notice about the closed sessions");
    // Only as many as needed are closed, the oldest first.
    let wanted =
        "too many open files (ulimit -n): closed idle session s0 to make room for this one";
    assert!(first.starts_with(wanted), "{first}");
    assert!(!announced.iter().any(|said| said.contains("busy") || said.contains("theirs")));
    let open = desk.engine.sessions().len();
    assert!(open < 42, "{open} sessions fit, so nothing was scarce");
    let first = ask(&desk, desk.named("s0", &["x"]), ME).await;
    assert_eq!(first.state, State::Error, "its variables are gone");
    let is_told = |note: &CallNote| match note {
        CallNote::StateLost(Loss::Closed { reason, .. }) => *reason == CloseReason::OpenFiles,
        _ => false,
    };
    assert!(first.cells[0].notes.iter().any(is_told), "{first:?}");
    let theirs = ask(&desk, desk.named("theirs", &["x"]), OTHER).await;
    assert_eq!((told(&theirs).as_str(), theirs.cells[0].notes.len()), ("'theirs'", 0));
    desk.touch("gate");
    assert_eq!(told(&desk.end(&busy).await), "'worked'");
    desk.engine.shutdown().await;
    drop(few);
}

/// F-046: with hardly any descriptor left, a new session is refused in plain words and existing ones go on. With room
/// again everything works.
#[test]
fn a_host_without_descriptors_says_so_and_recovers() {
    in_child("without_descriptors");
}

#[tokio::test]
#[ignore = "lowers a limit of its process; the test above runs it"]
async fn without_descriptors() {
    let desk = Desk::with(|config| config.limits.sessions = 100);
    let few = few_descriptors(60);
    assert_eq!(ask(&desk, desk.named("theirs", &["x = 1"]), OTHER).await.state, State::Done);
    // Reading a folder takes one for a moment; a kernel takes more than are free.
    let mut hogs = hogs();
    hogs.truncate(hogs.len() - 3);
    for _ in 0..3 {
        let refused = ask(&desk, desk.named("mine", &["1"]), ME).await;
        assert_eq!(refused.state, State::NeverRun, "{refused:?}");
        let Some(EndReport::NoKernel(problem)) = &refused.cells[0].end else {
            panic!("{refused:?}")
        };
        assert!(problem.message.contains("Too many open files"), "{problem:?}");
        let theirs = ask(&desk, desk.named("theirs", &["x += 1\nx"]), OTHER).await;
        assert!(theirs.cells[0].notes.is_empty(), "{theirs:?}");
        assert_eq!(theirs.state, State::Done);
    }
    drop(hogs);
    assert_eq!(told(&ask(&desk, desk.named("mine", &["1 + 1"]), ME).await), "2");
    assert_eq!(told(&ask(&desk, desk.named("theirs", &["x"]), OTHER).await), "4");
    desk.engine.shutdown().await;
    drop(few);
}

/// F-046 Issue 21, 21: a start that fails for lack of a descriptor says so, whichever step failed.
#[test]
fn every_step_of_a_start_names_the_missing_descriptor() {
    in_child("a_start_with_any_number");
}

#[tokio::test]
#[ignore = "lowers a limit of its process; the test above runs it"]
async fn a_start_with_any_number() {
    let desk = Desk::new();
    let few = few_descriptors(60);
    let mut refused = 0;
    for left in 0.. {
        let mut hogs = hogs();
        hogs.truncate(hogs.len() - left);
        let report = match run_code(&desk.engine, desk.named("mine", &["1"]), ME).await {
            Ok(report) => report,
            Err(error) => {
                assert!(error.to_string().contains("Too many open files"), "{left}: {error}");
                assert_eq!(error.next_step(), Some(NextStep::RaiseOpenFiles), "{left}: {error}");
                refused += 1;
                continue;
            }
        };
        if report.state == State::Done {
            break;
        }
        let Some(EndReport::NoKernel(problem)) = &report.cells[0].end else { panic!("{report:?}") };
        assert!(problem.message.contains("Too many open files"), "{left}: {problem:?}");
        assert_eq!(problem.step, Some(KernelStep::RaiseOpenFiles), "{left}: {problem:?}");
        refused += 1;
    }
    assert!(refused > 5, "{refused}");
    desk.engine.shutdown().await;
    drop(few);
}
