//! Kernels started ahead of time: the launches that get them, and that they match kernels started on
//! request.

use std::collections::BTreeSet;

use inkcell_kernel::{Origin, Prelude, Transport, ZmqBackend, ZmqConfig};
use inkcell_testkit::wait::until_async;

use crate::bench::{Bench, Start, state_dir};
use crate::faults_death::kill;
use crate::jupyter_faults::bad;
use crate::ledger::{carriers, is_alive, is_gone_soon, variable};

/// Everything that a cell can see of the start of its kernel, without the values unique to each kernel.
const SEEN: &str = "import os, sys, threading\n\
    env = {k: v for k, v in os.environ.items() if k not in ('INKCELL_KERNEL', 'JPY_PARENT_PID')}\n\
    print([sorted(env.items()), os.getcwd(), sys.path, [a for a in sys.argv if 'kernel.json' not in a], sys.flags, \
    sorted(n for n in globals()), In, Out, _dh, get_ipython().execution_count, os.getsid(0) == os.getpid(), \
    [s.name for s in (sys.stdin, sys.stdout, sys.stderr)], os.readlink('/proc/self/fd/0'), os.umask(os.umask(0)), \
    sorted(t.name for t in threading.enumerate() if 'Thread-' not in t.name), type(sys.stdout)])";

async fn ready(bench: &Bench, count: usize) {
    let zmq = bench.zmq.as_ref().expect("a backend");
    until_async("kernels that wait", async || zmq.pooled() == count).await;
}

fn waited(bench: &mut Bench) -> bool {
    matches!(bench.kernel().info().origin, Origin::Spare { .. })
}

/// The processes of kernels without an owner.
fn idle(bench: &mut Bench) -> Vec<u32> {
    let own = bench.kernel.as_ref().and_then(|kernel| kernel.info().pid);
    let is_kernel = |(_, command): &(u32, String)| command.contains("kernel.json");
    let all = carriers(&variable().1).into_iter().filter(is_kernel).map(|(pid, _)| pid);
    all.filter(|pid| Some(*pid) != own).collect()
}

/// Issue 7: a spare fulfils a launch as if its kernel had been started for it.
async fn a_kernel_that_waited_is_as_if_started_now(start: Start) {
    let mut bench = Bench::empty(start);
    let path = bench.cwd().join("extension.py");
    std::fs::write(&path, "loaded = 5").expect("a file");
    let spec = &mut bench.spec;
    spec.startup.modules = vec![("extension".to_owned(), path)];
    spec.startup.prelude = Prelude::Full;
    spec.startup.preload = vec!["colorsys".to_owned()];
    spec.env.insert("PI_SESSION_FILE".to_owned(), "one".to_owned());
    bench.relaunch().await;
    assert!(!waited(&mut bench));
    let fresh = bench.run(SEEN).await.ok().stdout();
    assert!(fresh.contains("'PI_SESSION_FILE', 'one'") && fresh.contains("'loaded'"), "{fresh}");
    ready(&bench, 1).await;
    bench.relaunch().await;
    assert!(waited(&mut bench));
    assert_eq!(bench.run(SEEN).await.ok().stdout(), fresh);
    // Properties that a running kernel can change may differ from launch to launch.
    ready(&bench, 1).await;
    bench.spec.env.insert("PI_SESSION_FILE".to_owned(), "two".to_owned());
    bench.spec.startup.prelude = Prelude::Off;
    bench.spec.startup.modules.clear();
    bench.relaunch().await;
    assert!(waited(&mut bench));
    let names =
        "import os\nos.environ['PI_SESSION_FILE'], 'loaded' in globals(), 'write' in globals()";
    assert_eq!(bench.value(names).await, "('two', False, False)");
}

/// Issue 7: a launch with another environment or folder gets a kernel started there.
async fn another_wish_is_another_kernel(start: Start) {
    let mut bench = Bench::start(start).await;
    let old = bench.spec.clone();
    ready(&bench, 1).await;
    bench.spec.env.insert("OTHER".to_owned(), "1".to_owned());
    bench.relaunch().await;
    assert!(!waited(&mut bench));
    assert_eq!(bench.value("import os\nos.environ['OTHER']").await, "'1'");
    // A kernel of the new kind waits now, and no more than the limit.
    bench.settle(start).await;
    let other = old.cwd.join("other");
    std::fs::create_dir(&other).expect("a folder");
    bench.spec.cwd = other.clone();
    bench.relaunch().await;
    assert!(!waited(&mut bench));
    let shown = format!("'{}'", other.canonicalize().expect("a path").display());
    assert_eq!(bench.value("import os\nos.getcwd()").await, shown);
}

/// A kernel that died while waiting is given to no launch, and soon replaced.
async fn a_kernel_that_died_while_it_waited_is_not_given(start: Start) {
    let mut bench = Bench::start(start).await;
    ready(&bench, 1).await;
    let idle = idle(&mut bench);
    assert_eq!(idle.len(), 1, "{idle:?}");
    kill(idle[0]);
    assert!(is_gone_soon(idle[0]).await);
    bench.relaunch().await;
    assert!(!waited(&mut bench));
    assert_eq!(bench.value("1 + 1").await, "2");
    ready(&bench, 1).await;
    bench.relaunch().await;
    assert!(waited(&mut bench));
}

/// Waiting kernels end with their backend, including one that is just starting.
async fn kernels_that_wait_end_with_the_backend(start: Start) {
    let mut bench = Bench::start(start).await;
    ready(&bench, 1).await;
    let idle = idle(&mut bench);
    assert!(idle.len() == 1 && is_alive(idle[0]), "{idle:?}");
    bench.shut_down().await;
    drop(bench.zmq.take());
    assert!(is_gone_soon(idle[0]).await);
    // `ledger` checks the end of this one.
    let bench = Bench::empty(start);
    bench.zmq.as_ref().expect("a backend").warm(&bench.spec);
}

/// Simultaneous launches get separate kernels, some spare and some new.
async fn many_launches_share_the_pool(start: Start) {
    let mut bench = Bench::empty(start);
    let runtime_dir = bench.cwd().with_file_name("tmp");
    let config =
        ZmqConfig { state_dir: state_dir(), runtime_dir, transport: Transport::Ipc, pool: 2 };
    let zmq = ZmqBackend::new(config).expect("a backend");
    zmq.warm(&bench.spec);
    bench.zmq = Some(zmq);
    ready(&bench, 2).await;
    let launches = (0..4).map(|_| bench.launch(&bench.spec));
    let launched = futures_util::future::join_all(launches).await;
    let launched: Vec<_> = launched.into_iter().map(|one| one.expect("a kernel").kernel).collect();
    let pids: BTreeSet<_> = launched.iter().map(|kernel| kernel.info().pid).collect();
    let spare = |origin: &Origin| matches!(origin, Origin::Spare { .. });
    assert_eq!(launched.iter().filter(|kernel| spare(&kernel.info().origin)).count(), 2);
    assert_eq!(pids.len(), 4);
}

/// A kernel of another language waits only for an exactly equal launch: inkcell cannot change it.
async fn a_kernel_of_another_language_waits_too(start: Start) {
    let mut bench = bad(start, "well");
    bench.relaunch().await;
    ready(&bench, 1).await;
    bench.relaunch().await;
    assert!(waited(&mut bench));
    assert_eq!(bench.run("executed").await.ok().stdout(), "1 {}");
    ready(&bench, 1).await;
    bench.spec.env.insert("PI_SESSION_FILE".to_owned(), "x".to_owned());
    bench.relaunch().await;
    assert!(!waited(&mut bench));
    bench.run("well").await.ok();
}

crate::on_pooled!(
    a_kernel_that_waited_is_as_if_started_now,
    another_wish_is_another_kernel,
    a_kernel_that_died_while_it_waited_is_not_given,
    kernels_that_wait_end_with_the_backend,
    many_launches_share_the_pool,
    a_kernel_of_another_language_waits_too,
);
