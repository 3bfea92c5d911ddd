//! The fork server: kernels depend on the host, never on it; copies are independent of each other.

use std::time::Duration;

use inkcell_kernel::{DeathCause, Origin, ZygoteState};

use crate::bench::{Bench, LIMIT, Start};

fn kill(pid: u32) {
    signal(pid, "-KILL");
}

fn signal(pid: u32, name: &str) {
    let status = std::process::Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(status.expect("kill runs").success());
}

/// F-020 as far as the fork server goes: killing it harms no kernel, and deaths still have causes.
async fn a_kernel_outlives_its_fork_server() {
    let mut bench = Bench::start(Start::Forked).await;
    bench.run("kept = 1").await.ok();
    let servers = bench.backend.fork_servers().await;
    kill(servers[0].1);
    let gone = async {
        while bench.backend.fork_servers().await[0].2 != ZygoteState::Gone {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, gone).await.expect("the end of the server is noticed");
    assert_eq!(bench.run("kept").await.ok().result().as_deref(), Some("1"));
    let ran = bench.run("import os\nos._exit(9)").await;
    assert_eq!(ran.death.expect("a death").cause, DeathCause::Exit { code: 9 });
    // The next kernel comes without a server, and starts a new one, of which the one after it is a copy.
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

/// A fork server that does not answer is let go of, and the kernel comes all the same.
async fn a_stuck_fork_server_holds_nobody_up() {
    let mut bench = Bench::start(Start::Forked).await;
    let stuck = bench.backend.fork_servers().await[0].1;
    signal(stuck, "-STOP");
    bench.relaunch().await;
    assert!(matches!(bench.kernel().info().origin, Origin::Started { .. }));
    bench.run("1").await.ok();
    assert!(crate::ledger::is_gone_soon(stuck).await, "the stuck server is ended");
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

/// S-023: a kernel holds its own descriptors and no others.
async fn a_kernel_has_only_its_own_descriptors() {
    for start in [Start::Direct, Start::Forked] {
        let mut bench = Bench::start(start).await;
        let code = "import os\nfound = []\nfor fd in os.listdir('/proc/self/fd'):\n    try: \
                    found.append((int(fd), os.readlink('/proc/self/fd/' + fd).split(':')[0]))\n    \
                    except OSError: pass\nlow = sorted(k for fd, k in found if fd < 3)\n\
                    high = sorted(k for fd, k in found if fd >= 3)\n(low, high)";
        let found = bench.run(code).await.ok().result();
        // Low: the null device and two pipes. High: the channel, the lifeline, and the copies of 1 and 2
        // that put a closed stream back.
        let wanted =
            "(['/dev/null', 'pipe', 'pipe'], ['anon_inode', 'pipe', 'pipe', 'pipe', 'socket'])";
        let found = found.map(|text| text.replace(",\n ", ", "));
        assert_eq!(found.as_deref(), Some(wanted), "{start:?}");
    }
}

crate::alone!(
    a_stuck_fork_server_holds_nobody_up,
    a_kernel_outlives_its_fork_server,
    copies_are_independent,
    a_kernel_has_only_its_own_descriptors
);
