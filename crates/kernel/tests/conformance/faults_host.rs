//! Faults of the host: killed in any state, it leaves no process.
//!
//! The host is this test program again; it runs a single test that only acts as a host.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use inkcell_kernel::{DeathCause, History};

use crate::bench::{Bench, Start};
use crate::faults_death::kill;
use crate::ledger::{self, carriers, is_alive, is_gone_soon, nothing_carries};

/// The way in which the host starts its kernels; set for the test that acts as the host.
const ROLE: &str = "INKCELL_TEST_HOST";

/// The cell of the host. It prints process ids and stays: the kernel, a child, a copy, the child of a shell
/// helper, which has its own group, and a process that left on purpose.
const CELL: &str = "import os, subprocess, time\n\
    child = subprocess.Popen(['sleep', '600'])\n\
    stray = subprocess.Popen(['sleep', '600'], start_new_session=True)\n\
    if os.fork() == 0:\n    while True: time.sleep(60)\n\
    import threading\n\
    from inkcell_runner.prelude.process import Capture, Child\n\
    line = 'echo $$ > pid.new; mv pid.new pid; sleep 600'\n\
    out, err = Capture('stdout', True, None), Capture('stderr', True, None)\n\
    shell = Child(['sh', '-c', line], None, out, err)\n\
    threading.Thread(target=shell.finish, daemon=True).start()\n\
    while not os.path.exists('pid'): time.sleep(0.01)\n\
    print(os.getpid(), child.pid, open('pid').read().strip(), stray.pid)\n\
    while True: time.sleep(60)";

/// Not a test itself: the process that the tests below kill.
#[tokio::test]
#[ignore = "run by the other tests of this file"]
async fn host() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let start = match role.as_str() {
        "direct" => Start::Direct,
        "forked" => Start::Forked,
        "ipc" => Start::Ipc,
        "tcp" => Start::Tcp,
        "pooled" => Start::Pooled,
        _ => Start::Spare,
    };
    ledger::adopting(async {
        let mut bench = Bench::start(start).await;
        bench.post(CELL, History::Store);
        let words = bench.wait_for_words().await;
        let server = bench.backend.fork_servers().await.first().map_or(0, |server| server.1);
        #[allow(clippy::print_stdout, reason = "this is how the test learns of the processes")]
        {
            println!("\npids {} {server}", words.join(" "));
        }
        // Runs until a test kills it, or its parent ends; the cell goes on meanwhile.
        while bench.events.next().await.is_some() {}
    })
    .await;
}

/// A host with a kernel that runs a cell, and the processes: kernel, child, shell helper, stray, fork server.
struct Host {
    process: Child,
    pids: Vec<u32>,
    mark: String,
}

impl Host {
    fn start(start: Start) -> Host {
        let (name, mark) = ledger::variable();
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command
            .args(["--exact", "faults_host::host", "--ignored", "--nocapture"])
            .env(ROLE, format!("{start:?}").to_lowercase())
            .env(name, &mark)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut process = command.spawn().expect("a host");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let line = lines.find_map(|line| line.ok()?.strip_prefix("pids ").map(str::to_owned));
        let line = line.expect("the host says who is who");
        let pids = line.split_whitespace().map(|word| word.parse().expect("a pid")).collect();
        Host { process, pids, mark }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Most tests have killed it already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// F-020 B:R-10: a killed host leaves nothing: neither kernel, child, fork server nor spare.
async fn a_killed_host_leaves_nothing(start: Start) {
    let mut host = Host::start(start);
    for pid in &host.pids[..4] {
        assert!(is_alive(*pid), "{pid} is not there yet");
    }
    host.process.kill().expect("the host is there");
    host.process.wait().expect("its status");
    for pid in &host.pids[..3] {
        assert!(is_gone_soon(*pid).await, "{pid} of {:?}", host.pids);
    }
    // No process owns the stray once its kernel and its host have died; the test ends it.
    let stray = host.pids[3];
    if is_alive(stray) {
        kill(stray);
    }
    assert!(nothing_carries(&host.mark).await, "{:?}", carriers(&host.mark));
}

/// F-020: a stopped host keeps its kernels, because it has not ended.
async fn a_stopped_host_keeps_its_kernels(start: Start) {
    let (host, other) = (Host::start(start), Host::start(start));
    let pid = rustix::process::Pid::from_child(&host.process);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).expect("the host is there");
    let strays = [host.pids[3], other.pids[3]];
    // A host killed later takes its kernel with it, while the kernel of this one still lives.
    let gone = other.pids[0];
    drop(other);
    assert!(is_gone_soon(gone).await);
    assert!(is_alive(host.pids[0]) && is_alive(host.pids[1]));
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).expect("the host is there");
    drop(host);
    strays.into_iter().filter(|stray| is_alive(*stray)).for_each(kill);
}

/// F-020, in turn: kill the fork server, then the host; then a kernel.
async fn every_order_of_deaths_ends_well() {
    let mut host = Host::start(Start::Forked);
    kill(host.pids[4]);
    assert!(is_gone_soon(host.pids[4]).await);
    assert!(is_alive(host.pids[0]), "a kernel does not depend on the fork server");
    host.process.kill().expect("the host is there");
    host.process.wait().expect("its status");
    assert!(is_gone_soon(host.pids[0]).await);
    if is_alive(host.pids[3]) {
        kill(host.pids[3]);
    }

    let mut bench = Bench::start(Start::Forked).await;
    let exec = bench.post("import time\nprint('go')\ntime.sleep(600)", History::Store);
    bench.wait_for_output("go").await;
    let (kernel, server) = (bench.pid(), bench.backend.fork_servers().await[0].1);
    kill(server);
    kill(kernel);
    assert_eq!(bench.collect(exec).await.cause(), &DeathCause::Signal { signal: 9 });
    bench.relaunch().await;
    bench.run("1").await.ok();
}

crate::on_every_backend!(a_killed_host_leaves_nothing, a_stopped_host_keeps_its_kernels);
crate::on_spares!(a_killed_host_leaves_nothing);
crate::alone!(every_order_of_deaths_ends_well);

crate::on_jupyter!(a_killed_host_leaves_nothing, a_stopped_host_keeps_its_kernels,);

crate::on_pooled!(a_killed_host_leaves_nothing);
