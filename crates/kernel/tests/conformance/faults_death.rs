//! Faults of tier 4: kernels that are killed, end themselves, or run out of memory.

use std::path::PathBuf;

use inkcell_kernel::{DeathCause, ExecEvent, History, KernelEvent, Outcome};
use inkcell_testkit::need::skip;
use inkcell_testkit::wait::until;
use rustix::process::{Pid, Signal, kill_process};

use crate::bench::{Bench, LIMIT, Start};

pub(crate) fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::KILL).expect("the process is there");
}

/// F-001 B:R-11: death comes soon, has its cause, and loses no output.
async fn a_kernel_that_is_killed_in_a_cell_is_missed_at_once(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("kept = 1").await.ok();
    let exec = bench.post("print('a')\nimport time\ntime.sleep(600)", History::Store);
    bench.wait_for_output("a").await;
    let pid = bench.pid();
    kill(pid);
    // The death does not wait for the cell's own end.
    let ran = bench.collect(exec).await;
    assert_eq!(ran.cause().to_string(), "killed by signal 9");
    assert!(bench.events.next().await.is_none(), "nothing follows a death");
    bench.relaunch().await;
    assert_eq!(bench.run("kept").await.error().name, "NameError");
    assert_eq!(bench.value("1 + 1").await, "2");
}

/// F-002: code that may have begun is never posted again.
async fn code_that_died_is_not_run_again(start: Start) {
    let mut bench = Bench::start(start).await;
    let file = bench.cwd().join("effects");
    for end in ["os._exit(1)", "import ctypes; ctypes.string_at(0)"] {
        let code =
            format!("import os\nwith open('effects', 'a') as f: print('once', file=f)\n{end}");
        let ran = bench.run(&code).await;
        assert!(matches!(ran.events[0], ExecEvent::Started { .. }), "{:?}", ran.events);
        ran.cause();
        bench.relaunch().await;
        bench.run("1").await.ok();
        assert_eq!(std::fs::read_to_string(&file).expect("effects"), "once\n", "{end}");
        std::fs::remove_file(&file).expect("effects");
    }
}

/// F-003: a kernel that died between cells reports it unasked, and takes no more code.
async fn a_kernel_that_died_between_cells_runs_nothing(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("1").await.ok();
    let pid = bench.pid();
    kill(pid);
    let next = tokio::time::timeout(LIMIT, bench.events.next()).await.expect("a death in time");
    match next {
        Some(KernelEvent::Died(death)) => {
            assert_eq!(death.cause, DeathCause::Signal { signal: 9 });
        }
        other => panic!("{other:?}"),
    }
    let request = bench.request("1");
    assert!(bench.kernel().execute(request).is_err());
    assert!(bench.kernel().interrupt().is_err());

    // Code posted at the moment of the death is either refused or followed by the death.
    bench.relaunch().await;
    let pid = bench.pid();
    kill(pid);
    let request = bench.request("open('effects', 'w')");
    let exec = request.exec;
    if bench.kernel().execute(request).is_ok() {
        let ran = bench.collect(exec).await;
        assert_eq!(ran.cause(), &DeathCause::Signal { signal: 9 });
        assert_eq!(ran.events, [], "it never began");
    }
    assert!(!bench.cwd().join("effects").exists());
    bench.relaunch().await;
    bench.run("1").await.ok();
}

/// F-006: an exit is an error of the cell, not the end of the kernel.
async fn leaving_is_an_error_of_the_cell(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("kept = 1").await.ok();
    let table = [
        ("import sys\nsys.exit(3)", "3"),
        ("sys.exit()", ""),
        ("sys.exit('bye')", "bye"),
        ("quit()", ""),
        ("exit(4)", "4"),
        ("raise SystemExit", ""),
        ("raise SystemExit(5)", "5"),
        ("import asyncio\nawait asyncio.sleep(0)\nsys.exit(6)", "6"),
        ("async def leave(): sys.exit(7)\nawait leave()", "7"),
        ("!exit 8\nsys.exit(8)", "8"),
    ];
    for (code, value) in table {
        let ran = bench.run(code).await;
        let error = ran.error();
        assert_eq!(error.name, "SystemExit", "{code}");
        assert!(value.is_empty() || error.value == value, "{code}: {:?}", error.value);
        assert_eq!(bench.value("kept").await, "1", "{code}");
    }
}

/// F-006: recursion in C with a raised limit overflows the stack of older Pythons.
async fn endless_recursion_is_an_error_or_a_death_with_its_cause(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "import sys\nsys.setrecursionlimit(10 ** 6)\nclass Deep:\n    def __repr__(self): \
                return repr([self, Deep()])\nprint('a')\nlen(repr(Deep()))";
    let ran = bench.run(code).await;
    assert_eq!(ran.stdout(), "a\n");
    if ran.death.is_some() {
        assert_eq!(ran.cause(), &DeathCause::Signal { signal: 11 });
    } else {
        assert_eq!(ran.error().name, "RecursionError");
        bench.run("1").await.ok();
    }
}

/// F-007: running out of memory is an error of the cell.
async fn memory_that_is_not_there_is_an_error(start: Start) {
    let mut bench = Bench::start(start).await;
    let before = host_memory();
    let code = "import resource\nused = int(open('/proc/self/statm').read().split()[0]) * 4096\n\
                resource.setrlimit(resource.RLIMIT_AS, (used + 2 ** 28, -1))\nbytearray(10 ** 10)";
    assert_eq!(bench.run(code).await.error().name, "MemoryError");
    let ran = bench.run("hoard = []\nwhile True: hoard.append('x' * 10 ** 6)").await;
    // A Python without the memory to report this ends, and the test accepts that death.
    if ran.death.is_none() {
        assert_eq!(ran.error().name, "MemoryError");
        assert_eq!(bench.run("del hoard").await.outcome(), &Outcome::Ok);
        assert_eq!(bench.value("1 + 1").await, "2");
    }
    assert!(host_memory() < before + (64 << 20), "the host must not grow");
}

/// A control group with little memory, below one that the tester prepared.
struct SmallGroup(PathBuf);

impl SmallGroup {
    /// `None` without a prepared group. The test never uses a group of the tester's own session by itself.
    fn make(name: &str) -> Option<SmallGroup> {
        let parent = PathBuf::from(std::env::var_os("INKCELL_TEST_CGROUP")?);
        let folder = parent.join(format!("inkcell-{name}-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("INKCELL_TEST_CGROUP is a group of processes");
        let group = SmallGroup(folder);
        let limits = ["memory.max", "memory.limit_in_bytes"];
        assert!(limits.iter().any(|file| group.set(file, "67108864")), "memory can be limited");
        // With swap, the kernel would be slow rather than dead.
        let _is_set = group.set("memory.swap.max", "0") || group.set("memory.swappiness", "0");
        Some(group)
    }

    fn set(&self, file: &str, value: &str) -> bool {
        let file = self.0.join(file);
        file.exists() && std::fs::write(file, value).is_ok()
    }
}

impl Drop for SmallGroup {
    fn drop(&mut self) {
        // The system takes a moment to notice that the last member was reaped.
        until("the end of the group", || std::fs::remove_dir(&self.0).is_ok());
    }
}

/// F-007: if the system ends a kernel because memory ran out, its death has that cause.
async fn a_kernel_that_the_system_ends_for_its_memory_says_so(start: Start) {
    let name = "a_kernel_that_the_system_ends_for_its_memory_says_so";
    let Some(group) = SmallGroup::make(&format!("{start:?}")) else {
        return skip(name, "INKCELL_TEST_CGROUP names no group in which memory can be limited");
    };
    let mut bench = Bench::start(start).await;
    assert!(group.set("cgroup.procs", &bench.pid().to_string()), "the kernel can be moved");
    let ran = bench.run("hoard = []\nwhile True: hoard.append(bytearray(b'x') * 10 ** 6)").await;
    assert_eq!(ran.cause(), &DeathCause::OutOfMemory);
    bench.relaunch().await;
    assert_eq!(bench.value("1 + 1").await, "2");
}

/// The resident memory of this process, in bytes.
pub(crate) fn host_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("statm");
    let pages: u64 = text.split_whitespace().nth(1).expect("rss").parse().expect("a number");
    pages * 4096
}

/// F-020, the kernel's case: a killed kernel takes its children with it.
async fn a_killed_kernel_takes_its_children_along(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "import subprocess, os\nchild = subprocess.Popen(['sleep', '600'])\n\
                print(child.pid, os.getpid())\nchild.wait()";
    let exec = bench.post(code, History::Store);
    let words = bench.wait_for_words().await;
    let pids: Vec<u32> = words.iter().map(|word| word.parse().expect("a pid")).collect();
    kill(pids[1]);
    assert_eq!(bench.collect(exec).await.cause(), &DeathCause::Signal { signal: 9 });
    let gone = crate::ledger::is_gone_soon(pids[0]);
    assert!(tokio::time::timeout(LIMIT, gone).await.expect("in time"), "the child lives");
}

/// F-001: output from before the death arrives, even for a late reader, and even if a copy
/// of the kernel lives on and holds every descriptor open.
async fn output_before_a_death_is_not_lost(start: Start) {
    let cells = [
        "import os\nprint('x' * 1_000_000)\nos._exit(3)",
        "import os, time\nif os.fork() == 0:\n    time.sleep(60)\nprint('x' * 999_999)\nos.write(1, b'yz')\n\
         os._exit(3)",
    ];
    for code in cells {
        let mut bench = Bench::start(start).await;
        let exec = bench.post(code, History::Store);
        let pid = bench.pid();
        assert!(crate::ledger::is_gone_soon(pid).await);
        let ran = bench.collect(exec).await;
        assert_eq!(ran.stdout().len(), 1_000_001 + usize::from(code.contains("yz")), "{code}");
        assert_eq!(ran.cause(), &DeathCause::Exit { code: 3 }, "{code}");
    }
}

crate::on_gateways!(
    code_that_died_is_not_run_again,
    leaving_is_an_error_of_the_cell,
    memory_that_is_not_there_is_an_error,
);

crate::on_every_backend!(
    output_before_a_death_is_not_lost,
    a_kernel_that_is_killed_in_a_cell_is_missed_at_once,
    code_that_died_is_not_run_again,
    a_kernel_that_died_between_cells_runs_nothing,
    a_killed_kernel_takes_its_children_along,
    leaving_is_an_error_of_the_cell,
    endless_recursion_is_an_error_or_a_death_with_its_cause,
    memory_that_is_not_there_is_an_error,
    a_kernel_that_the_system_ends_for_its_memory_says_so,
);

crate::on_spares!(
    a_kernel_that_is_killed_in_a_cell_is_missed_at_once,
    a_kernel_that_died_between_cells_runs_nothing,
    a_killed_kernel_takes_its_children_along,
);

crate::on_jupyter!(
    a_kernel_that_is_killed_in_a_cell_is_missed_at_once,
    code_that_died_is_not_run_again,
    a_kernel_that_died_between_cells_runs_nothing,
    a_killed_kernel_takes_its_children_along,
    leaving_is_an_error_of_the_cell,
    memory_that_is_not_there_is_an_error,
    a_kernel_that_the_system_ends_for_its_memory_says_so,
);
