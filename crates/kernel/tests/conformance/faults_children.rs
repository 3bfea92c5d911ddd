//! Faults of children: copies of the kernel that a cell forks, and processes that leave its group.

use inkcell_kernel::{Death, History, StrayFate};

use crate::bench::{Bench, Start};
use crate::ledger::{is_alive, is_gone_soon};

/// F-009: whatever a copy does, the kernel's cell ends correctly and the next one works.
async fn a_copy_never_speaks_for_the_kernel(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("import os, sys, time\nkept = 1").await.ok();
    let leaving = [
        ("print('child', flush=True)\n    os._exit(7)", 7),
        ("print('child')\n    sys.exit(8)", 8),
        ("print('child')\n    sys.exit()", 0),
        ("print('child')\n    raise ValueError('of the child')", 1),
        ("print('child')\n    display('of the child')\n    os._exit(9)", 9),
        ("print('child')", 0),
    ];
    for (child, code) in leaving {
        let cell = format!(
            "print('parent', end=' ')\npid = os.fork()\nif pid == 0:\n    {child}\n\
             else:\n    status = os.waitpid(pid, 0)[1] >> 8\nstatus"
        );
        // A copy that leaves by itself runs past the condition, and has no `status`.
        let cell = if code == 0 && !child.contains("exit") {
            cell.replace("\nstatus", "\nNone if pid == 0 else status")
        } else {
            cell
        };
        let ran = bench.run(&cell).await.ok();
        assert_eq!(ran.result().as_deref(), Some(code.to_string().as_str()), "{child}");
        let text = ran.stdout();
        assert_eq!(
            (text.matches("parent").count(), text.matches("child").count()),
            (1, 1),
            "{text:?}"
        );
        assert!(!ran.order().iter().any(|line| line.starts_with("display")), "{:?}", ran.order());
        assert_eq!(
            ran.stderr().contains("ValueError: of the child"),
            code == 1,
            "{:?}",
            ran.stderr()
        );
        assert_eq!(bench.value("kept").await, "1", "{child}");
    }
}

/// F-009: a copy that stays reads no commands, and ends with the kernel.
async fn a_copy_that_stays_is_no_second_kernel(start: Start) {
    let mut bench = Bench::start(start).await;
    let stay =
        "import os, time\npid = os.fork()\nif pid == 0:\n    while True: time.sleep(60)\npid";
    // A copy lacks the threads of its original; any attempt to read the channel there is refused.
    let read = "import os, time\npid = os.fork()\nif pid == 0:\n    \
                for fd in os.listdir('/proc/self/fd'):\n        try: os.fsync(int(fd))\n        except OSError: pass\n    \
                while True: time.sleep(60)\npid";
    let mut pids: Vec<u32> = Vec::new();
    for code in [stay, read] {
        pids.push(bench.value(code).await.parse().expect("a pid"));
    }
    for n in 0..20 {
        assert_eq!(bench.value(&format!("{n} + 1")).await, (n + 1).to_string());
    }
    assert!(pids.iter().all(|pid| is_alive(*pid)), "they stay as long as the kernel");
    bench.shut_down().await;
    for pid in pids {
        assert!(is_gone_soon(pid).await, "{pid}");
    }
}

/// Ways out of a kernel's group; each cell prints the id of the process that left.
const LEAVING: [&str; 4] = [
    // A classic daemon, without exec.
    "import os, time\nr, w = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        \
     os.write(w, str(os.getpid()).encode())\n        while True: time.sleep(60)\n    os._exit(0)\n\
     os.wait()\nprint(os.read(r, 20).decode(), flush=True)",
    // A classic daemon, with exec.
    "import os\nr, w = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        \
     os.write(w, str(os.getpid()).encode())\n        os.execvp('sleep', ['sleep', '600'])\n    os._exit(0)\n\
     os.wait()\nprint(os.read(r, 20).decode(), flush=True)",
    "import subprocess\nprint(subprocess.Popen(['sleep', '600'], start_new_session=True).pid, flush=True)",
    // A process that also drops the pipes and ignores SIGTERM.
    "import subprocess\nnull = subprocess.DEVNULL\nprint(subprocess.Popen(\"trap '' TERM; sleep 600; sleep 600\", \
     shell=True, start_new_session=True, stdout=null, stderr=null).pid, flush=True)",
];

fn check_strays(death: &Death, pids: &[u32]) {
    for pid in pids {
        let stray = death.strays.iter().find(|stray| stray.pid == *pid);
        let stray = stray.unwrap_or_else(|| panic!("{pid} is not named: {death:?}"));
        assert_eq!(stray.fate, StrayFate::Ended, "{stray:?}");
        assert!(!stray.program.is_empty());
        assert!(!is_alive(*pid), "{stray:?}");
    }
}

/// F-010: the death of a kernel lists processes that left the group, and they end with it.
async fn processes_that_left_are_named_and_ended(start: Start) {
    let mut bench = Bench::start(start).await;
    let mut pids: Vec<u32> = Vec::new();
    for code in LEAVING {
        pids.push(bench.run(code).await.ok().stdout().trim().parse().expect("a pid"));
    }
    assert!(pids.iter().all(|pid| is_alive(*pid)), "{pids:?}");
    check_strays(&bench.shut_down().await, &pids);

    // The same if the kernel ends by itself.
    bench.relaunch().await;
    // A Jupyter kernel may lose output from right before its end, so the id goes into a file.
    let code = "import os, subprocess\nleft = subprocess.Popen(['sleep', '600'], start_new_session=True)\n\
                with open('left', 'w') as file: file.write(str(left.pid))\nos._exit(3)";
    let ran = bench.run(code).await;
    let left = std::fs::read_to_string(bench.cwd().join("left")).expect("a file");
    let pid: u32 = left.parse().expect("a pid");
    check_strays(ran.death.as_ref().expect("a death"), &[pid]);
}

/// F-010: dropping a kernel also ends the processes that left its group.
async fn a_dropped_kernel_ends_what_left_it(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.post(&format!("{}\nimport time\ntime.sleep(600)", LEAVING[2]), History::Store);
    let pid: u32 = bench.wait_for_words().await[0].parse().expect("a pid");
    drop(bench.kernel.take());
    assert!(is_gone_soon(pid).await, "{pid}");
}

crate::on_every_backend!(
    a_copy_never_speaks_for_the_kernel,
    a_copy_that_stays_is_no_second_kernel,
    processes_that_left_are_named_and_ended,
    a_dropped_kernel_ends_what_left_it,
);

crate::on_spares!(processes_that_left_are_named_and_ended);

crate::on_ipc!(processes_that_left_are_named_and_ended, a_dropped_kernel_ends_what_left_it,);

crate::on_pooled!(processes_that_left_are_named_and_ended);
