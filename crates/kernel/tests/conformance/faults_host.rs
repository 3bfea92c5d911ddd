//! Faults of the host: killed in each of its states, it leaves no process.
//!
//! The host is this test program again, running one test that is a host and nothing else.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use inkcell_kernel::{DeathCause, History};

use crate::bench::{Bench, Start};
use crate::faults_death::kill;
use crate::ledger::{self, carriers, is_alive, is_gone_soon, nothing_carries};

/// Which way the host gets its kernels; set for the test that is the host.
const ROLE: &str = "INKCELL_TEST_HOST";

/// What the host's cell does: it says who is who, and stays: the kernel, a child, a copy, what a shell
/// helper runs, which has a group of its own, and a process that left on purpose.
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

/// Not a test of its own: the process that the tests below kill.
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
        // Until it is killed, or its parent is gone; the cell goes on meanwhile.
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
        // It may be dead already, which is what most tests are about.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// F-020 B:R-10: a host that is killed leaves nothing: no kernel, no child, no fork server, no spare.
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
    // What left the group is nobody's when its kernel and its host are gone; it is ended here.
    let stray = host.pids[3];
    if is_alive(stray) {
        kill(stray);
    }
    assert!(nothing_carries(&host.mark).await, "{:?}", carriers(&host.mark));
}

/// F-020: a host that stands still is no host that is gone.
async fn a_stopped_host_keeps_its_kernels(start: Start) {
    let (host, other) = (Host::start(start), Host::start(start));
    let pid = rustix::process::Pid::from_child(&host.process);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).expect("the host is there");
    let strays = [host.pids[3], other.pids[3]];
    // A host that is killed later takes its kernel along; this one's kernel is still there.
    let gone = other.pids[0];
    drop(other);
    assert!(is_gone_soon(gone).await);
    assert!(is_alive(host.pids[0]) && is_alive(host.pids[1]));
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).expect("the host is there");
    drop(host);
    strays.into_iter().filter(|stray| is_alive(*stray)).for_each(kill);
}

/// F-020, in turn: the fork server is killed, then the host; then a kernel.
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
