//! Tests the answers of real, odd and broken programs, and that none of them stays running.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use inkcell_testkit::wait::until_async;

use super::{LONG, Tree, real_python, write_program};
use crate::python::{OLDEST, PythonFacts, PythonVersion, SkipReason, probe};

async fn probe_script(text: &str, limit: Duration) -> Result<PythonFacts, SkipReason> {
    let temp = tempfile::tempdir().unwrap();
    let program = temp.path().join("python");
    write_program(&program, text);
    let path = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
    probe(&program, temp.path(), &path.into(), limit).await
}

/// B:E-12: a candidate that never answers does not block the search.
#[tokio::test]
async fn a_program_that_hangs_is_killed_with_its_children() {
    let temp = tempfile::tempdir().unwrap();
    let pids = temp.path().join("pids");
    let script = format!("#!/bin/sh\nsleep 1000 &\necho $$ $! > {}\nwait\n", pids.display());
    // Long enough for the shell to start on a busy machine.
    let limit = Duration::from_secs(2);
    let answer = probe_script(&script, limit).await;
    assert_eq!(answer, Err(SkipReason::NoAnswer { within: limit }));
    assert_eq!(answer.unwrap_err().to_string(), "no answer within 2 s");
    all_end(&pids).await;
}

/// Waits until the processes listed in the file have ended.
async fn all_end(pids: &Path) {
    let said = fs::read_to_string(pids).unwrap();
    assert!(!said.trim().is_empty());
    for pid in said.split_whitespace() {
        let is_running = || {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
        };
        until_async(&format!("the end of process {pid}"), async || !is_running()).await;
    }
}

#[tokio::test]
async fn odd_programs_get_true_answers() {
    let check = async |script: &str, expected: SkipReason| {
        assert_eq!(probe_script(script, LONG).await, Err(expected), "{script}");
    };
    check("#!/bin/sh\nexit 3\n", SkipReason::ExitCode(3)).await;
    check("#!/bin/sh\nkill -TERM $$\n", SkipReason::Signal(15)).await;
    check("#!/bin/sh\necho Python 3.11\n", SkipReason::NotAPython).await;
    check(
        "#!/bin/sh\nprintf 'inkcell-python 1\\n3 11 7\\ncpython\\nzz\\n'\n",
        SkipReason::NotAPython,
    )
    .await;
    check("#!/bin/sh\nhead -c 3000000 /dev/zero\nexit 0\n", SkipReason::NotAPython).await;
    check("#!/bin/sh\necho 'Unknown option: -I' >&2\nexit 2\n", SkipReason::Ancient).await;
    let old = "#!/bin/sh\nprintf 'inkcell-python 1\\n3 8 18\\ncpython\\n2f\\n2f\\n2f\\ninkcell-python end\\n'\n";
    let version = PythonVersion { major: 3, minor: 8, micro: 18 };
    check(old, SkipReason::TooOld(version)).await;
    assert_eq!(SkipReason::TooOld(version).to_string(), "Python 3.8.18 is older than 3.9");
}

#[tokio::test]
async fn a_child_that_keeps_the_pipe_makes_no_answer_late_and_is_not_left() {
    let temp = tempfile::tempdir().unwrap();
    let pids = temp.path().join("pids");
    let script = format!("#!/bin/sh\nsleep 1000 &\necho $! > {}\nexit 4\n", pids.display());
    assert_eq!(probe_script(&script, LONG).await, Err(SkipReason::ExitCode(4)));
    all_end(&pids).await;
}

/// S-025, the part that the probe covers. B:E-12
#[tokio::test]
async fn files_of_the_working_folder_have_no_say_in_the_answer() {
    let tree = Tree::new();
    for name in ["os.py", "sys.py", "site.py", "sitecustomize.py", "encodings.py"] {
        fs::write(tree.path("cwd").join(name), "raise SystemExit(9)").unwrap();
    }
    let answer = probe(&real_python(), &tree.search.cwd, &BTreeMap::new(), LONG).await.unwrap();
    assert!(answer.version >= OLDEST);
    assert_eq!(answer.implementation, "cpython");
    assert_eq!(answer.executable, real_python());
}
