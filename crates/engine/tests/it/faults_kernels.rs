//! Faults of kernels, as callers see them: memory, interrupts, suspension, and host data that kernels must not see.

use std::collections::BTreeSet;
use std::time::Duration;

use inkcell_engine::api::{EndReport, KernelRequest, PythonRequest, State};
use inkcell_engine::kernel::{EnvMode, EnvRules, ParentEnv};
use rustix::process::{Pid, Signal, kill_process};

use crate::faults_kit::{Desk, LONG, told, wait_for};

/// F-007: a kernel that needs more memory than the system has reports it or dies; the host and other sessions are not
/// affected.
#[tokio::test]
async fn a_memory_bomb_ends_its_cell_and_nothing_else() {
    let desk = Desk::new();
    let other = desk.named("other", &["x = 1"]);
    assert_eq!(desk.ask(other).await.state, State::Done);
    let limited = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))";
    let report = desk.run(&[limited, "kept = 7", "bytearray(10**10)", "1"]).await;
    assert_eq!(report.state, State::Error, "{report:?}");
    let Some(EndReport::Exception(error)) = &report.cells[2].end else { panic!("{report:?}") };
    assert_eq!(error.name, "MemoryError");
    assert_eq!(told(&desk.run(&["kept"]).await), "7");
    // Gradual growth leaves no memory for an answer, either; any outcome is reported.
    let grows = "held = []\nwhile True: held.append(bytearray(1 << 20))";
    let report = desk.run(&[grows]).await;
    assert!(matches!(report.state, State::Error | State::KernelDied), "{report:?}");
    assert_eq!(told(&desk.run(&["held = None\n1 + 1"]).await), "2");
    assert_eq!(told(&desk.ask(desk.named("other", &["x"])).await), "1");
    desk.engine.shutdown().await;
}

/// F-011: interrupts of an idle or busy session, or between two calls, never end its kernel and never reach the next
/// call.
#[tokio::test]
async fn interrupts_that_race_with_calls_harm_nothing() {
    let desk = Desk::new();
    assert_eq!(told(&desk.run(&["kept = 1\nkept"]).await), "1");
    let mut struck = 0;
    for round in 0..300 {
        let call = desk.run(&["for n in range(2000): pass"]);
        let interrupts = async {
            for _ in 0..round % 11 {
                tokio::task::yield_now().await;
            }
            for _ in 0..=round % 2 {
                desk.act(KernelRequest::Interrupt).await.expect("the session is there");
            }
        };
        let (report, ()) = tokio::join!(call, interrupts);
        match report.state {
            State::Done => {}
            State::Error => {
                let Some(EndReport::Exception(error)) = &report.cells[0].end else {
                    panic!("{round}: {report:?}")
                };
                assert_eq!(error.name, "KeyboardInterrupt", "{round}");
                struck += 1;
            }
            other => panic!("{round}: {other:?}"),
        }
        let next = desk.run(&["kept"]).await;
        assert_eq!(told(&next), "1", "{round}");
        assert!(next.cells[0].notes.is_empty(), "{round}: {next:?}");
    }
    assert!(struck < 300, "an interrupt of an idle session must do nothing");
    desk.engine.shutdown().await;
}

/// F-025: a suspended kernel is not dead, and goes on where it was.
#[tokio::test]
async fn a_suspended_kernel_is_not_taken_for_dead() {
    let desk = Desk::new();
    assert_eq!(told(&desk.run(&["kept = 3\nkept"]).await), "3");
    let code = format!("open('begun', 'w').close()\n{}\nkept", wait_for("gate"));
    let begun = desk.begin(&[&code]).await;
    desk.seen("begun").await;
    let kernel = desk.engine.sessions()[0].state.kernel.clone().expect("a kernel");
    let pid = Pid::from_raw(i32::try_from(kernel.pid.expect("a process")).expect("a pid"));
    let pid = pid.expect("a pid");
    kill_process(pid, Signal::STOP).expect("stopped");
    desk.touch("gate");
    let call = desk.engine.find_call(&begun.execution).expect("known");
    assert_eq!(call.wait(Duration::from_millis(500)).await.state, State::Running);
    kill_process(pid, Signal::CONT).expect("continued");
    let report = desk.end(&begun).await;
    assert_eq!(told(&report), "3");
    assert_eq!(told(&desk.run(&["kept"]).await), "3");
    desk.engine.shutdown().await;
}

/// S-022: a kernel sees none of sixty secret variables, and has those it needs.
#[tokio::test]
async fn secrets_of_the_host_do_not_reach_a_kernel() {
    let ours = [
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "NPM_TOKEN",
        "HF_TOKEN",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "AZURE_CLIENT_SECRET",
        "SLACK_BOT_TOKEN",
        "DATABASE_URL",
        "PGPASSWORD",
        "COOKIES",
        "INKCELL_GATEWAY_TOKEN",
        "INKCELL_HTTP_TOKEN",
        "INKCELL_API_KEY",
        "PI_GATEWAY_TOKEN",
        "PI_TOOL_BRIDGE_TOKEN",
        "PI_SOME_SECRET",
        "XDG_SECRET",
        "LC_TOKEN",
        "JUPYTER_TOKEN",
        "KUBECONFIG",
        "DOCKER_AUTH_CONFIG",
    ];
    let more: Vec<String> = (0..35).map(|n| format!("CANARY_{n}_PASSWORD")).collect();
    let names: Vec<String> = ours.iter().map(|name| (*name).to_owned()).chain(more).collect();
    assert_eq!(names.len(), 60);
    let host =
        ["PATH", "HOME"].map(|name| (name.into(), std::env::var_os(name).unwrap_or_default()));
    let canaries = names.iter().map(|name| (name.into(), format!("canary-{name}").into()));
    let parent = ParentEnv::from_os(host.into_iter().chain(canaries));
    let desk = Desk::with(|config| {
        config.kernels.parent_env = parent;
        config.kernels.env_rules = EnvRules { mode: EnvMode::Filtered, pass: Vec::new() };
    });
    let code = "import os\nprint([n for n, v in os.environ.items() if 'canary' in v])\n\
                print('PATH' in os.environ)\n\
                print(b'canary' in open('/proc/self/environ', 'rb').read())";
    assert_eq!(told(&desk.run(&[code]).await), "[]\nTrue\nFalse");
    // A program started by a cell sees no more than the cell.
    let child = "import subprocess\nprint('canary' in subprocess.run(['env'], \
                 capture_output=True, text=True).stdout)";
    assert_eq!(told(&desk.run(&[child]).await), "False");
    desk.engine.shutdown().await;
}

/// S-023: a kernel has its own descriptors and none of its host's: no lock, listener or artifact, and none of another
/// session.
#[tokio::test]
async fn descriptors_of_the_host_do_not_reach_a_kernel() {
    let desk = Desk::new();
    let lock = desk.dir.path().join("held.lock");
    let held = std::fs::File::create(&lock).expect("a file");
    held.lock().expect("a lock");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    // Another session exists, with output on its way to the store.
    let noisy =
        format!("print('x' * 300_000, flush=True)\nopen('on', 'w').close()\n{}", wait_for("gate"));
    let busy = PythonRequest { wait: Some(Duration::ZERO), ..desk.named("busy", &[&noisy]) };
    let busy = desk.ask(busy).await;
    desk.seen("on").await;
    let code = "import os\nfor fd in sorted(map(int, os.listdir('/proc/self/fd'))):\n    \
                try: print(fd, os.readlink(f'/proc/self/fd/{fd}'))\n    except OSError: pass";
    let listed = told(&desk.run(&[code]).await);
    let inode = |fd: &dyn std::os::fd::AsRawFd| {
        std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).expect("a link")
    };
    let socket = inode(&listener).display().to_string();
    assert!(!listed.contains(&socket) && !listed.contains("held.lock"), "{listed}");
    assert!(!listed.contains("artifacts"), "{listed}");
    // Standard input, output and error, the channel, the lifeline, the host's pidfd and the runner's own pipe for
    // signals. Copies count once.
    let ends: BTreeSet<&str> =
        listed.lines().filter_map(|line| Some(line.split_once(' ')?.1)).collect();
    assert!((5..=7).contains(&ends.len()), "{listed}");
    desk.touch("gate");
    desk.end(&busy).await;
    desk.engine.shutdown().await;
    drop((held, listener));
}

/// F-095: two sessions in different folders do not see each other's folder, variables or environment.
#[tokio::test]
async fn folders_and_environments_do_not_leak_between_sessions() {
    let desk = Desk::new();
    let folders = ["one", "two"].map(|name| desk.dir.path().join(name));
    for folder in &folders {
        std::fs::create_dir(folder).expect("a folder");
    }
    let code = "import os, time\nname = os.path.basename(os.getcwd())\nos.environ['MINE'] = name\n\
                for n in range(20):\n    assert os.path.basename(os.getcwd()) == name\n    \
                assert os.environ['MINE'] == name\n    time.sleep(0.002)\nos.chdir('/')\nname";
    let ask = |folder: &std::path::Path, code: &str| {
        let request = crate::faults_kit::request(folder, &[code]);
        desk.ask(PythonRequest { wait: Some(LONG), ..request })
    };
    let (one, two) = tokio::join!(ask(&folders[0], code), ask(&folders[1], code));
    assert_eq!((told(&one).as_str(), told(&two).as_str()), ("'one'", "'two'"));
    let look = "(name, os.environ['MINE'])";
    let (one, two) = tokio::join!(ask(&folders[0], look), ask(&folders[1], look));
    assert_eq!(told(&one), "('one', 'one')");
    assert_eq!(told(&two), "('two', 'two')");
    assert_eq!(desk.engine.sessions().len(), 2);
    desk.engine.shutdown().await;
}
