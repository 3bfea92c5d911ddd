//! Faults of starting: programs that are not interpreters, many starts at once, and ends during starts.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use inkcell_kernel::{DeathCause, KernelSpec, LaunchError};
use inkcell_testkit::wait::until_async;
use tokio_util::sync::CancellationToken;

use crate::bench::{Bench, Start};

/// Writes a program that takes the place of an interpreter.
fn program(bench: &Bench, script: &str) -> PathBuf {
    let path = bench.cwd().join("python");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    path
}

fn spec(bench: &Bench, script: &str) -> KernelSpec {
    KernelSpec { python: program(bench, script), ..bench.spec.clone() }
}

/// F-008: a start that never becomes ready ends in time, with the program's output.
async fn an_interpreter_that_never_gets_ready_is_given_up(start: Start) {
    let bench = Bench::empty(start);
    for script in
        ["echo 'no luck' >&2; sleep 600", "echo 'no luck' >&2; trap '' INT TERM; sleep 600 & wait"]
    {
        // Long enough for the shell to start on a busy machine.
        let start_timeout = Duration::from_secs(5);
        let brief = KernelSpec { start_timeout, ..spec(&bench, script) };
        let error = bench.launch(&brief).await.err().expect("no kernel");
        match &error {
            LaunchError::TimedOut { stderr_tail, .. } => {
                assert_eq!(stderr_tail, "no luck\n");
            }
            other => panic!("{other:?}"),
        }
        assert!(error.to_string().contains("no luck"), "{error}");
    }
}

/// F-008: an interpreter that dies at its start gives an error with the cause and its output.
async fn an_interpreter_that_dies_at_its_start_says_why(start: Start) {
    let bench = Bench::empty(start);
    let real = bench.spec.python.display();
    // Its fifth argument is the channel.
    let speaking = |words: &str| {
        let code = format!(
            "import os, time\ntry:\n os.write(2, b'broken build\\n')\n os.write($5, {words})\nfinally: time.sleep(600)"
        );
        format!("exec {real} -I -c \"{code}\"")
    };
    let table: [(&str, Option<DeathCause>); 6] = [
        ("echo 'broken build' >&2; exit 3", Some(DeathCause::Exit { code: 3 })),
        ("echo 'broken build' >&2; kill -SEGV $$", Some(DeathCause::Signal { signal: 11 })),
        // A child that keeps standard error open must not delay the error.
        ("echo 'broken build' >&2; sleep 600 & exit 3", Some(DeathCause::Exit { code: 3 })),
        // Malformed frames, frames of another kernel and endless ones are not believed.
        (&speaking("b'garbage\\n'"), None),
        (&speaking("b'{\\\"n\\\":\\\"\\\",\\\"s\\\":1,\\\"t\\\":\\\"ready\\\"}\\n'"), None),
        (&speaking("bytes(70 << 20)"), None),
    ];
    for (script, wanted) in table {
        // A start that runs into its limit would be a different error.
        let error = bench.launch(&spec(&bench, script)).await.err().expect("no kernel");
        match &error {
            LaunchError::EndedEarly { cause, stderr_tail, .. } => {
                assert_eq!(stderr_tail, "broken build\n", "{script}");
                assert!(wanted.is_none_or(|wanted| *cause == wanted), "{script}: {cause:?}");
            }
            other => panic!("{script}: {other:?}"),
        }
    }
    let gone = KernelSpec { python: bench.cwd().join("nowhere"), ..bench.spec.clone() };
    let error = bench.launch(&gone).await.err().expect("no kernel");
    assert!(matches!(error, LaunchError::Spawn { .. }), "{error:?}");
    assert!(error.to_string().contains("nowhere"), "{error}");
}

/// F-008 B:E-51: an error names a module that exits, blocks or asks at the start; other modules print nothing.
async fn a_module_that_keeps_a_kernel_from_starting_is_named(start: Start) {
    let mut bench = Bench::start(start).await;
    let path = bench.cwd().join("extension.py");
    bench.spec.startup.modules = vec![("extension".to_owned(), path.clone())];
    let whole = bench.spec.clone();
    for text in ["input()", "import os; os._exit(3)", "import sys; sys.exit(1)"] {
        std::fs::write(&path, text).expect("a file");
        let error = bench.launch(&whole).await.err().expect("no kernel");
        assert!(error.to_string().contains("extension.py"), "{text}: {error}");
    }
    std::fs::write(&path, "while True: pass").expect("a file");
    // On a busy machine Python itself may need more than the first limit.
    for seconds in [2, 10, 60] {
        let start_timeout = Duration::from_secs(seconds);
        let brief = KernelSpec { start_timeout, ..whole.clone() };
        let error = bench.launch(&brief).await.err().expect("no kernel");
        if error.to_string().contains("extension.py") {
            break;
        }
        assert!(seconds < 60, "the module is not named: {error}");
    }
    // IPython's kernel reads raw output in a thread, which may be late.
    let raw = if bench.zmq.is_some() { "" } else { "import os; os.write(2, b'raw'); " };
    std::fs::write(&path, format!("{raw}loaded = 5")).expect("a file");
    bench.relaunch().await;
    let ran = bench.run("loaded").await.ok();
    assert_eq!(ran.result().as_deref(), Some("5"));
    assert_eq!((ran.orphaned(), ran.stderr()), (String::new(), String::new()));
}

/// F-008: a slow interpreter still starts.
async fn an_interpreter_that_needs_time_gets_it(start: Start) {
    let bench = Bench::empty(start);
    let real = bench.spec.python.display().to_string();
    let slow = spec(&bench, &format!("sleep 1\nexec {real} \"$@\""));
    let launched = bench.launch(&slow).await.expect("a kernel");
    assert!(launched.kernel.info().pid.is_some());
}

/// A cancelled start leaves nothing behind; `ledger` checks that.
async fn a_start_that_is_cancelled_leaves_nothing(start: Start) {
    let bench = Bench::empty(start);
    let begun = bench.cwd().join("begun");
    let script = format!("trap '' INT TERM; echo > '{}'; sleep 600 & wait", begun.display());
    let never = spec(&bench, &script);
    let cancel = CancellationToken::new();
    let (launched, ()) = tokio::join!(bench.launch_until(&never, &cancel), async {
        until_async("the interpreter", async || begun.exists()).await;
        cancel.cancel();
    });
    assert!(matches!(launched.err(), Some(LaunchError::Cancelled)));
    // Dropped in the middle, as by a caller that is itself cancelled.
    for millis in [0, 1, 5, 20, 100] {
        let launch = bench.launch(&bench.spec);
        assert!(
            tokio::time::timeout(Duration::from_millis(millis), launch).await.is_err()
                || millis > 0
        );
    }
}

/// F-014: many simultaneous starts, several times: all succeed, and each kernel is its own.
async fn many_kernels_start_at_once(start: Start) {
    let bench = Bench::start(start).await;
    for _ in 0..4 {
        let launches = (0..8).map(|_| bench.launch(&bench.spec));
        let launched = futures_util::future::join_all(launches).await;
        let mut pids = std::collections::BTreeSet::new();
        for one in launched {
            pids.insert(one.expect("a kernel").kernel.info().pid);
        }
        assert_eq!(pids.len(), 8);
    }
}

/// A kernel that ends searches for processes it left, and never mistakes another kernel for one.
async fn a_kernel_that_ends_harms_none_that_starts(start: Start) {
    let mut bench = Bench::start(start).await;
    for round in 0..start.times(25) {
        // The old kernel ends while the new one starts.
        bench.relaunch().await;
        assert_eq!(bench.value(&format!("{round}")).await, round.to_string());
    }
}

crate::on_every_backend!(
    an_interpreter_that_never_gets_ready_is_given_up,
    an_interpreter_that_dies_at_its_start_says_why,
    a_module_that_keeps_a_kernel_from_starting_is_named,
    an_interpreter_that_needs_time_gets_it,
    a_start_that_is_cancelled_leaves_nothing,
    many_kernels_start_at_once,
    a_kernel_that_ends_harms_none_that_starts,
);

crate::on_spares!(
    a_start_that_is_cancelled_leaves_nothing,
    many_kernels_start_at_once,
    a_kernel_that_ends_harms_none_that_starts,
);

crate::on_jupyter!(
    an_interpreter_that_never_gets_ready_is_given_up,
    a_module_that_keeps_a_kernel_from_starting_is_named,
    an_interpreter_that_needs_time_gets_it,
    a_start_that_is_cancelled_leaves_nothing,
    many_kernels_start_at_once,
    a_kernel_that_ends_harms_none_that_starts,
);

crate::on_pooled!(
    a_module_that_keeps_a_kernel_from_starting_is_named,
    a_start_that_is_cancelled_leaves_nothing,
    a_kernel_that_ends_harms_none_that_starts,
);
