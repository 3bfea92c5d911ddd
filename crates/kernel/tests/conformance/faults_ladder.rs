//! Faults of tier 3: code that resists stopping, and interrupts at bad moments.

use std::time::Duration;

use inkcell_kernel::{DeathCause, History, Ladder, Outcome, Rung};

use crate::bench::{Bench, Ran, Start};

/// Shorter than the default for users, to be quick.
const GRACE: Duration = Duration::from_millis(600);

/// Runs a cell until it prints `go`, then climbs the ladder up to this rung. Returns the rung that ended it.
async fn stop(bench: &mut Bench, top: Rung, code: &str) -> (Ran, Rung) {
    let exec = bench.post(code, History::Store);
    bench.wait_for_output("go").await;
    bench.climb_to(top, exec, Ladder::new(GRACE)).await
}

/// F-004 B:R-21: force ends code that ignores interrupts, and the death has that cause.
async fn code_that_ignores_interrupts_is_ended(start: Start) {
    let cells = [
        "import signal, time\nsignal.signal(2, signal.SIG_IGN)\nprint('go')\nwhile True: time.sleep(60)",
        "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, [2])\nprint('go')\n\
         while True: time.sleep(60)",
        // These two hold the interpreter lock, so that no thread of the runner can act either.
        "import ctypes\nprint('go')\nwhile True: ctypes.PyDLL(None).sleep(60)",
        "print('go')\nn = 10 ** 10 ** 8",
        "while True:\n    try:\n        print('go')\n        while True: pass\n    except KeyboardInterrupt: pass",
    ];
    for code in cells {
        let mut bench = Bench::start(start).await;
        let (ran, rung) = stop(&mut bench, Rung::Terminate, code).await;
        if ran.death.is_none() {
            // The signal ended the call, the arithmetic of this Python checks for signals, or a thread that
            // does not block the signal received it.
            let may_listen = ["ctypes", "**", "sigmask"].iter().any(|word| code.contains(word));
            assert!(may_listen, "{code}");
            assert_eq!(ran.error().name, "KeyboardInterrupt", "{code}");
            continue;
        }
        assert_eq!(rung, Rung::Terminate, "{code}");
        assert_eq!(ran.cause(), &DeathCause::IgnoredInterrupt, "{code}");
    }
}

/// F-004: late code is still interrupted; the kernel and its state live.
async fn code_that_listens_late_is_interrupted(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("kept = 1").await.ok();
    let cells = [
        // The regular expression engine checks for signals now and then, and holds the interpreter lock.
        "import re\nprint('go')\nre.match(r'(a+)+$', 'a' * 64 + 'b')",
        // A program that catches the first interrupt itself and leaves the second to the cell.
        "try:\n    print('go')\n    while True: pass\nexcept KeyboardInterrupt: pass\nwhile True: pass",
        // The signal ends a C call early, and then Python checks for it.
        "import ctypes\nprint('go')\nctypes.CDLL(None).sleep(60)",
        "import threading\nprint('go')\nthreading.Event().wait()",
        "import os, time\nos.system('echo go; exec sleep 60')\nwhile True: time.sleep(60)",
    ];
    for code in cells {
        let (ran, rung) = stop(&mut bench, Rung::Interrupt, code).await;
        assert_eq!(rung, Rung::Interrupt, "{code}");
        assert_eq!(ran.error().name, "KeyboardInterrupt", "{code}");
        assert_eq!(bench.value("kept").await, "1", "{code}");
    }
}

/// F-005: code that ignores both signals is killed, in the same time.
async fn code_that_ignores_everything_is_killed(start: Start) {
    let cells = [
        "import signal, time\nfor s in (2, 15): signal.signal(s, signal.SIG_IGN)\nprint('go')\n\
         while True: time.sleep(60)",
        "import signal\nfor s in (2, 15): signal.signal(s, lambda *_: None)\nprint('go')\n\
         n = 10 ** 10 ** 8",
    ];
    for code in cells {
        let mut bench = Bench::start(start).await;
        let (ran, rung) = stop(&mut bench, Rung::Kill, code).await;
        assert_eq!((rung, ran.cause()), (Rung::Kill, &DeathCause::IgnoredInterrupt), "{code}");
        bench.relaunch().await;
        bench.run("1").await.ok();
    }
}

/// F-004: a SIGTERM handler that cleans up gets the time for it.
async fn code_that_is_told_to_end_can_clean_up(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "import os, signal, time\nsignal.signal(2, signal.SIG_IGN)\n\
                def leave(*_):\n    print('cleaned')\n    os._exit(0)\n\
                signal.signal(15, leave)\nprint('go')\nwhile True: time.sleep(60)";
    let (ran, rung) = stop(&mut bench, Rung::Terminate, code).await;
    assert_eq!((rung, ran.cause()), (Rung::Terminate, &DeathCause::IgnoredInterrupt));
    assert_eq!(ran.stdout(), "cleaned\n");
}

/// F-011 B:R-23: interrupts that race with short cells end at most those cells, and never arrive late.
async fn interrupts_that_race_with_cells_harm_nothing(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("kept = 1").await.ok();
    let mut interrupted = 0;
    for n in 0..start.times(500) {
        let exec = bench.post("for n in range(n): pass", History::Store);
        // A different moment each time: before the cell begins, while it runs, or after its end.
        for _ in 0..n % 7 {
            tokio::task::yield_now().await;
        }
        bench.kernel().interrupt().expect("the kernel is there");
        if n % 2 == 0 {
            bench.kernel().interrupt().expect("the kernel is there");
        }
        let ran = bench.collect(exec).await;
        match ran.outcome() {
            Outcome::Ok => {}
            Outcome::Error(error) if error.name == "NameError" => {}
            Outcome::Error(error) => {
                assert_eq!(error.name, "KeyboardInterrupt");
                interrupted += 1;
            }
            Outcome::Aborted => panic!("nothing failed before it"),
        }
        // The host sent the signals before the cell ended, so the next cell is free of them only if the runner
        // keeps none. They must not harm a cell that is posted now.
        assert_eq!(bench.run("kept").await.ok().result().as_deref(), Some("1"), "{n}");
    }
    assert!(interrupted < 500, "an interrupt of an idle kernel must do nothing");
}

/// F-012: an interrupt also reaches the process that a cell waits for, whichever way it was started.
async fn an_interrupt_reaches_children(start: Start) {
    let mut bench = Bench::start(start).await;
    let cells = [
        "import subprocess\np = subprocess.Popen(['sleep', '600'])\nprint(p.pid)\np.wait()",
        "p = subprocess.Popen('sleep 600 & echo $!; wait', shell=True)\np.wait()",
        "p = subprocess.Popen(['sh', '-c', 'echo $$; exec sleep 600'])\np.wait()",
        "import os\nos.system('echo $$; exec sleep 600')\nimport time\ntime.sleep(600)",
    ];
    for code in cells {
        let exec = bench.post(code, History::Store);
        let words = bench.wait_for_words().await;
        let child: u32 = words[0].parse().expect("a pid");
        let ladder = Ladder::new(Ladder::GRACE);
        let (ran, _) = bench.climb_to(Rung::Interrupt, exec, ladder).await;
        assert_eq!(ran.error().name, "KeyboardInterrupt", "{code}");
        if !code.contains('&') {
            assert!(crate::ledger::is_gone_soon(child).await, "{code}");
        }
    }
}

/// F-036: a cell with endless output can be stopped like any other.
async fn endless_output_can_be_stopped(start: Start) {
    let mut bench = Bench::start(start).await;
    let before = crate::faults_death::host_memory();
    let cells = [
        "while True: print('y')",
        "import os\nos.system('yes')",
        "import sys\nprint('y')\nwhile True: sys.stderr.write('e' * 5000)",
    ];
    for code in cells {
        let exec = bench.post(code, History::Store);
        bench.wait_for_output("y").await;
        // Some of it is read; then the cell must stop.
        for _ in 0..50 {
            bench.events.next().await.expect("output");
        }
        let (ran, _) = bench.climb_to(Rung::Interrupt, exec, Ladder::new(GRACE)).await;
        match ran.outcome() {
            // The child took the interrupt. The cell goes on and reports the child's end, unless the next interrupt,
            // which comes while output remains, still finds the cell running.
            Outcome::Ok if code.contains("os.system") => {}
            _ => assert_eq!(ran.error().name, "KeyboardInterrupt", "{code}"),
        }
        drop(ran);
        bench.run("1").await.ok();
    }
    let grown = crate::faults_death::host_memory().saturating_sub(before);
    assert!(grown < 256 << 20, "{grown} bytes more than before");
}

crate::on_gateways!(interrupts_that_race_with_cells_harm_nothing, an_interrupt_reaches_children,);

crate::on_every_backend!(
    code_that_ignores_interrupts_is_ended,
    code_that_listens_late_is_interrupted,
    code_that_ignores_everything_is_killed,
    code_that_is_told_to_end_can_clean_up,
    interrupts_that_race_with_cells_harm_nothing,
    an_interrupt_reaches_children,
    endless_output_can_be_stopped,
);

crate::on_ipc!(
    interrupts_that_race_with_cells_harm_nothing,
    an_interrupt_reaches_children,
    endless_output_can_be_stopped,
);
