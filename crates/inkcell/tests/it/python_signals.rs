//! `inkcell py` and signals, as the code, its kernel and the shell see them.

use std::os::unix::process::ExitStatusExt;

use rustix::process::Signal;

use crate::env;
use crate::running::{Process, Running, py};

/// One expression prints its process id and sleeps. With two statements, a signal between them would hit neither.
const SLEEPS: &str = "import os, time\nprint(os.getpid()) or time.sleep(600)";

const STUBBORN: &str = "import os, signal, time\n\
                        signal.signal(signal.SIGINT, signal.SIG_IGN)\n\
                        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
                        print(os.getpid())\nwhile True: time.sleep(600)";

/// F-021: Ctrl-C stops the code and shows its place; the shell sees the signal.
#[test]
fn an_interrupt_stops_the_code() {
    let env = env();
    let mut command = py(&env, &[SLEEPS]);
    // A busy machine may take long to format the answer, which imports modules for the first time.
    command.env("INKCELL_KERNEL_INTERRUPT_GRACE", "180");
    let mut running = Running::start(command);
    let kernel = running.process();
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.status.signal(), Some(2), "{ended:?}");
    assert!(ended.stderr.contains("time.sleep(600)"), "{}", ended.stderr);
    assert!(ended.stderr.contains("KeyboardInterrupt"), "{}", ended.stderr);
    let last = "error: Interrupted; the kernel stopped at the interrupt.\n";
    assert!(ended.stderr.ends_with(last), "{}", ended.stderr);
    kernel.is_gone_already();
}

/// F-021: the second one skips the wait.
#[test]
fn a_second_interrupt_kills_at_once() {
    let env = env();
    let mut command = py(&env, &[STUBBORN]);
    // The ladder alone would take longer than the test has.
    command.env("INKCELL_KERNEL_INTERRUPT_GRACE", "600");
    let mut running = Running::start(command);
    let kernel = running.process();
    // Two equal signals in quick succession may merge into one.
    let mut is_over = false;
    for _ in 0..1000 {
        running.signal(Signal::INT);
        is_over = kernel.is_gone_within_millis(20);
        if is_over {
            break;
        }
    }
    assert!(is_over, "the kernel is still there");
    let ended = running.end();
    assert_eq!(ended.status.signal(), Some(2), "{ended:?}");
    assert!(ended.stderr.contains("ended by SIGKILL"), "{}", ended.stderr);
}

/// F-021
#[test]
fn a_signal_to_end_ends_the_kernel_first() {
    let env = env();
    for (signal, number) in [(Signal::TERM, 15), (Signal::HUP, 1)] {
        for code in [SLEEPS, STUBBORN] {
            let mut running = Running::start(py(&env, &[code]));
            let kernel = running.process();
            running.signal(signal);
            let ended = running.end();
            assert_eq!(ended.status.signal(), Some(number), "{ended:?}");
            kernel.is_gone_already();
        }
    }
}

/// A signal that the shell told us to ignore stays ignored, as under `nohup`.
#[test]
fn an_ignored_signal_stays_ignored() {
    let env = env();
    let code = "import os, time\nprint(os.getpid())\n\
                while not os.path.exists('go'): time.sleep(0.01)\nprint('done')";
    let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = env.command("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(env.program());
    command.args(["py", "--python", &python, code]);
    let mut running = Running::start(command);
    let kernel = running.process();
    running.signal(Signal::HUP);
    env.put("go", "");
    let ended = running.end();
    assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(0), "done\n"), "{ended:?}");
    kernel.is_gone_already();
}

/// F-021: a signal before the code runs.
#[test]
fn an_interrupt_during_the_start_leaves_nothing() {
    let env = env();
    std::fs::create_dir_all(env.path(".inkcell/modules")).expect("a folder");
    let pipe = env.path("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .expect("a pipe");
    let slow = "import os, time\nwith open('pipe', 'w') as pipe: pipe.write(str(os.getpid()))\n\
                time.sleep(600)\n";
    env.put(".inkcell/modules/slow.py", slow);
    let running = Running::start(py(&env, &["1"]));
    let kernel = Process::open(&std::fs::read_to_string(&pipe).expect("a process id"));
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.status.signal(), Some(2), "{ended:?}");
    assert_eq!(ended.stderr, "");
    kernel.is_gone();
}

/// F-020: a killed host takes its kernel and the kernel's children with it.
#[test]
fn a_killed_host_leaves_no_kernel() {
    let env = env();
    let code = "import os, subprocess, time\nprint(os.getpid())\n\
                print(subprocess.Popen(['sleep', '600']).pid)\ntime.sleep(600)";
    let mut running = Running::start(py(&env, &[code]));
    let (kernel, child) = (running.process(), running.process());
    running.signal(Signal::KILL);
    let ended = running.end();
    assert_eq!(ended.status.signal(), Some(9));
    kernel.is_gone();
    child.is_gone();
}
