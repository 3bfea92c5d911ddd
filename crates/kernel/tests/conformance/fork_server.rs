//! The fork server: kernels depend on the host and not on the server; copies are independent of each other.

use inkcell_kernel::{
    Backend as _, DeathCause, ForkServer, Origin, RunnerBackend, RunnerConfig, ZygoteState,
};
use inkcell_testkit::wait::until_async;

use crate::bench::{Bench, LIMIT, Start, state_dir};

fn kill(pid: u32) {
    signal(pid, "-KILL");
}

fn signal(pid: u32, name: &str) {
    let status = std::process::Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(status.expect("kill runs").success());
}

/// F-020, the fork server's case: killing it harms no kernel, and deaths still have causes.
async fn a_kernel_outlives_its_fork_server() {
    let mut bench = Bench::start(Start::Forked).await;
    bench.run("kept = 1").await.ok();
    let servers = bench.backend.fork_servers().await;
    kill(servers[0].1);
    until_async("the end of the server", async || {
        bench.backend.fork_servers().await[0].2 == ZygoteState::Gone
    })
    .await;
    assert_eq!(bench.run("kept").await.ok().result().as_deref(), Some("1"));
    let ran = bench.run("import os\nos._exit(9)").await;
    assert_eq!(ran.death.expect("a death").cause, DeathCause::Exit { code: 9 });
    // The next kernel comes without a server and starts a new one; the kernel after that is a copy of it.
    bench.relaunch().await;
    bench.run("1").await.ok();
    let again = async {
        loop {
            bench.relaunch().await;
            if bench.kernel().info().origin == Origin::Forked {
                return;
            }
        }
    };
    tokio::time::timeout(LIMIT, again).await.expect("a new server");
}

/// A fork server that does not answer is dropped, and the kernel still starts.
async fn a_stuck_fork_server_holds_nobody_up() {
    let mut bench = Bench::empty(Start::Forked);
    let config = RunnerConfig { state_dir: state_dir(), fork_server: ForkServer::USUAL, spares: 0 };
    bench.backend = RunnerBackend::new(config).expect("a backend");
    bench.relaunch().await;
    bench.settle(Start::Forked).await;
    let stuck = bench.backend.fork_servers().await[0].1;
    signal(stuck, "-STOP");
    bench.relaunch().await;
    let reason = "the fork server did not answer".to_owned();
    assert_eq!(bench.kernel().info().origin, Origin::Started { reason });
    bench.run("1").await.ok();
    assert!(crate::ledger::is_gone_soon(stuck).await, "the stuck server is ended");
}

/// F-022: closing a backend waits for everything it started. Neither the fork server nor a spare remains, not even as
/// a status to reap, and a later kernel starts as a new process.
async fn nothing_is_left_of_a_closed_supply() {
    let mut bench = Bench::empty(Start::Forked);
    let fork_server = ForkServer::On { wait: LIMIT };
    let config = RunnerConfig { state_dir: state_dir(), fork_server, spares: 2 };
    bench.backend = RunnerBackend::new(config).expect("a backend");
    bench.begin(Start::Forked).await;
    until_async("a spare", async || bench.backend.spares() > 0).await;
    let server = bench.backend.fork_servers().await[0].1;
    // Also a server that does not answer.
    signal(server, "-STOP");
    bench.backend.close().await;
    let is_there = std::path::Path::new("/proc").join(server.to_string()).exists();
    assert!(!is_there, "the fork server, or its status");
    assert_eq!(bench.backend.spares(), 0);
    bench.run("1").await.ok();
    bench.relaunch().await;
    assert!(matches!(bench.kernel().info().origin, Origin::Started { .. }));
    assert_eq!(bench.backend.fork_servers().await.len(), 0);
    bench.run("1").await.ok();
}

async fn copies_are_independent() {
    let mut bench = Bench::start(Start::Forked).await;
    bench.run("import random, os\nx = 1").await.ok();
    let one = bench.run("(random.random(), os.getpid())").await.ok().result();
    bench.relaunch().await;
    assert_eq!(bench.run("x").await.error().name, "NameError");
    let other = bench.run("import random, os\n(random.random(), os.getpid())").await.ok().result();
    assert_ne!(one, other, "copies must not draw the same numbers");
    let names =
        bench.run("sorted(name for name in globals() if not name.startswith('_'))").await.ok();
    assert_eq!(names.result().as_deref(), Some("['In', 'Out', 'os', 'random']"));
}

/// Fork handlers of libraries run for the forks of cells, but not for the copy itself.
async fn a_cell_of_a_copy_can_fork_beside_threads() {
    let mut bench = Bench::empty(Start::Forked);
    bench.spec.startup.preload = vec!["logging".to_owned(), "concurrent.futures.thread".to_owned()];
    bench.begin(Start::Forked).await;
    let number = "import os, threading\nthreading.main_thread().native_id == os.getpid()";
    assert_eq!(bench.value(number).await, "True");
    // Another thread holds a lock that the child needs. The child's alarm ends it if it waits for the lock.
    let code = "import logging, signal\nhandler = logging.StreamHandler()\nheld, gate = threading.Event(), \
                threading.Event()\ndef hold():\n    handler.acquire()\n    held.set()\n    gate.wait(30)\n\
                threading.Thread(target=hold).start()\nheld.wait()\npid = os.fork()\nif pid == 0:\n    \
                signal.alarm(10)\n    handler.acquire()\n    os._exit(7)\n\
                status = os.waitpid(pid, 0)[1]\ngate.set()\nos.WEXITSTATUS(status), os.WIFEXITED(status)";
    assert_eq!(bench.value(code).await, "(7, True)");
}

/// S-023: a kernel holds only its own descriptors.
async fn a_kernel_has_only_its_own_descriptors() {
    for start in [Start::Direct, Start::Forked] {
        let mut bench = Bench::start(start).await;
        let code = "import os\nfound = []\nfor fd in os.listdir('/proc/self/fd'):\n    try: \
                    found.append((int(fd), os.readlink('/proc/self/fd/' + fd).split(':')[0]))\n    \
                    except OSError: pass\nlow = sorted(k for fd, k in found if fd < 3)\n\
                    high = sorted(k for fd, k in found if fd >= 3)\n(low, high)";
        let found = bench.run(code).await.ok().result();
        // Low: the null device and two pipes. High: the host's process, the lifeline, the channel, both ends of the
        // signal pipe, and the copies of 0, 1 and 2 that restore a closed stream.
        let wanted = "(['/dev/null', 'pipe', 'pipe'], \
                      ['/dev/null', 'anon_inode', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe', 'socket'])";
        let found = found.map(|text| text.replace(",\n ", ", "));
        assert_eq!(found.as_deref(), Some(wanted), "{start:?}");
    }
}

/// Writes a module to preload into the folder of `PYTHONPATH`.
fn preload(bench: &mut Bench, name: &str, text: &str) {
    let folder = bench.cwd().join("modules");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(format!("{name}.py")), text).expect("a file");
    bench.spec.env.insert("PYTHONPATH".to_owned(), folder.display().to_string());
    bench.spec.startup.preload.push(name.to_owned());
}

async fn wait_until_ready(bench: &Bench) {
    until_async("a fork server", async || {
        bench.backend.fork_servers().await[0].2 != ZygoteState::Starting
    })
    .await;
}

const THREAD: &str =
    "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()";
/// A descriptor that pretends to belong to a device.
const GPU: &str = "import os\nkept, read = open(os.devnull), os.readlink\n\
    def readlink(path, *rest, **more):\n    is_it = path == '/proc/self/fd/%d' % kept.fileno()\n    \
    return '/dev/nvidia0' if is_it else read(path, *rest, **more)\nos.readlink = readlink";

/// Issue 21, 22: the backend never copies a server that cannot be copied soundly. Kernels start without it, and the
/// first answer says why.
async fn a_server_with_a_thread_or_a_gpu_is_not_copied() {
    let table = [
        ("threaded", THREAD, "importing threaded left 1 thread running in the fork server"),
        ("graphic", GPU, "importing graphic began to use a GPU in the fork server (/dev/nvidia0)"),
    ];
    for (name, text, wanted) in table {
        let mut bench = Bench::empty(Start::Forked);
        preload(&mut bench, name, text);
        bench.relaunch().await;
        wait_until_ready(&bench).await;
        // No kernel has requested a copy yet.
        let state = bench.backend.fork_servers().await[0].2.clone();
        assert_eq!(state, ZygoteState::Refused(wanted.to_owned()));
        let notice = first_notice(&mut bench).await;
        let begin = format!("python.preload cannot be used: {wanted}. ");
        assert!(notice.starts_with(&begin), "{notice}");
        // A kernel that starts at the moment of the discovery may repeat it: the first kernel may have ended by then.
        for most in [1, 0] {
            bench.relaunch().await;
            let reason = wanted.to_owned();
            assert_eq!(bench.kernel().info().origin, Origin::Started { reason }, "{name}");
            let ran = bench.run(&format!("import {name}\n1 + 1")).await.ok();
            assert_eq!(ran.result().as_deref(), Some("2"));
            assert!(ran.notices.len() <= most, "{:?}", ran.notices);
        }
    }
}

/// Issue 21, 22: a GPU library is ordinary code; `import torch` loads it on every machine. The check knows it only by
/// name, so any mapping of that name will do.
async fn a_server_with_the_library_of_a_gpu_is_copied() {
    let library = "import mmap, os\npath = os.path.join(os.path.dirname(__file__), 'libcuda.so.1')\n\
        with open(path, 'wb') as file: file.write(bytes(4096))\n\
        with open(path, 'rb') as file: kept = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)";
    let mut bench = Bench::empty(Start::Forked);
    preload(&mut bench, "graphic", library);
    bench.begin(Start::Forked).await;
    assert_eq!(bench.value("import sys\n'graphic' in sys.modules").await, "True");
}

/// Waits for the first notice that a kernel sends unasked.
async fn first_notice(bench: &mut Bench) -> String {
    let said = async {
        loop {
            if let Some(notice) = bench.run("1").await.ok().notices.pop() {
                return notice;
            }
        }
    };
    tokio::time::timeout(LIMIT, said).await.expect("a notice")
}

/// With spares, these replace the refused copies: they start as new processes, with the module imported, and say why.
async fn a_spare_takes_the_place_of_a_copy_that_is_refused() {
    let mut bench = Bench::empty(Start::Forked);
    let config = RunnerConfig { state_dir: state_dir(), fork_server: ForkServer::USUAL, spares: 1 };
    bench.backend = RunnerBackend::new(config).expect("a backend");
    preload(&mut bench, "threaded", THREAD);
    bench.relaunch().await;
    wait_until_ready(&bench).await;
    let spare = async {
        loop {
            bench.relaunch().await;
            if let Origin::Spare { reason } = &bench.kernel().info().origin {
                return reason.clone();
            }
            until_async("a spare", async || bench.backend.spares() > 0).await;
        }
    };
    let reason = tokio::time::timeout(LIMIT, spare).await.expect("a spare in time");
    assert!(reason.contains("importing threaded left 1 thread"), "{reason}");
    assert_eq!(bench.value("import sys\n'threaded' in sys.modules").await, "True");
}

/// A module that could not be preloaded is reported as soon as that is known, and in the first answer of a kernel that
/// starts then. Later kernels do not repeat it.
async fn a_preload_that_fails_is_told() {
    let mut bench = Bench::empty(Start::Forked);
    preload(&mut bench, "broken", "raise RuntimeError('no luck')");
    preload(&mut bench, "whole", "");
    bench.spec.startup.preload.push("nowhere_to_be_found".to_owned());
    bench.relaunch().await;
    let notice = first_notice(&mut bench).await;
    for part in ["broken (RuntimeError: no luck)", "nowhere_to_be_found", "python.preload"] {
        assert!(notice.contains(part), "{notice}");
    }
    for most in [1, 0] {
        bench.relaunch().await;
        assert_eq!(bench.kernel().info().origin, Origin::Forked);
        let code = "import sys\n'whole' in sys.modules, 'broken' in sys.modules";
        let ran = bench.run(code).await.ok();
        assert_eq!(ran.result().as_deref(), Some("(True, False)"));
        assert!(ran.notices.iter().all(|one| *one == notice) && ran.notices.len() <= most);
    }
}

crate::alone!(
    a_server_with_a_thread_or_a_gpu_is_not_copied,
    a_server_with_the_library_of_a_gpu_is_copied,
    a_spare_takes_the_place_of_a_copy_that_is_refused,
    a_preload_that_fails_is_told,
    a_cell_of_a_copy_can_fork_beside_threads,
    a_stuck_fork_server_holds_nobody_up,
    nothing_is_left_of_a_closed_supply,
    a_kernel_outlives_its_fork_server,
    copies_are_independent,
    a_kernel_has_only_its_own_descriptors
);
