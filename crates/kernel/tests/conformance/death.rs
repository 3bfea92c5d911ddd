//! Tier 4: death is an event with a cause, comes last, and leaves nothing behind.

use inkcell_kernel::{DeathCause, ExecEvent, History, KernelEvent};

use crate::bench::{Bench, LIMIT, Start};
use crate::ledger::is_gone_soon;

/// F-001 F-006
async fn every_way_to_die_has_its_cause(start: Start) {
    let table = [
        ("import os\nprint('a', flush=True)\nos._exit(3)", DeathCause::Exit { code: 3 }),
        (
            "import os\nprint('a', flush=True)\nos.kill(os.getpid(), 9)",
            DeathCause::Signal { signal: 9 },
        ),
        ("import os\nprint('a', flush=True)\nos.abort()", DeathCause::Signal { signal: 6 }),
        (
            "import ctypes\nprint('a', flush=True)\nctypes.string_at(0)",
            DeathCause::Signal { signal: 11 },
        ),
    ];
    for (code, cause) in table {
        let mut bench = Bench::start(start).await;
        let ran = bench.run(code).await;
        assert_eq!(ran.stdout(), "a\n", "{code}");
        assert_eq!(ran.death.expect("a death").cause, cause, "{code}");
        assert!(bench.events.next().await.is_none(), "nothing follows a death");
        let request = inkcell_kernel::CodeRequest {
            exec: inkcell_kernel::ExecId(99),
            code: "1".to_owned(),
            history: History::Store,
            env: Vec::new(),
            cwd: None,
            input: inkcell_kernel::InputMode::Refuse,
            names: inkcell_kernel::NamesWanted::No,
        };
        assert!(bench.kernel().execute(request).is_err());
    }
}

/// F-009: a child of a cell never sends messages as the kernel.
async fn a_forked_child_is_not_the_kernel(start: Start) {
    let mut bench = Bench::start(start).await;
    let cells = [
        "import os, sys\npid = os.fork()\nif pid == 0:\n    print('child')\n    os._exit(0)\nos.waitpid(pid, 0)[1]",
        "pid = os.fork()\nif pid == 0:\n    os._exit(7)\nos.waitpid(pid, 0)[1] >> 8",
    ];
    let ran = bench.run(cells[0]).await.ok();
    assert_eq!(ran.result().as_deref(), Some("0"));
    let ran = bench.run(cells[1]).await.ok();
    assert_eq!(ran.result().as_deref(), Some("7"));
    assert_eq!(bench.run("'parent'").await.ok().result().as_deref(), Some("'parent'"));
}

/// B:R-22
async fn shutting_down_ends_the_process(start: Start) {
    let mut bench = Bench::start(start).await;
    let pid = bench.kernel().info().pid.expect("a process");
    let kernel = bench.kernel.take().expect("the kernel");
    let death = kernel.shutdown(LIMIT).await;
    assert_eq!(death.cause, DeathCause::Shutdown);
    assert!(is_gone_soon(pid).await);
}

/// B:R-22: a shutdown runs the usual end of a program: files are written, and the last output arrives.
async fn shutting_down_writes_files_and_hears_last_words(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "import atexit\nclass Last:\n    def __del__(self): print('deleted')\nlast = Last()\n\
                file = open('open.txt', 'w')\n_ = file.write('held back')\n\
                _ = atexit.register(print, 'at exit', end=' ')";
    bench.run(code).await.ok();
    assert_eq!(bench.shut_down().await.cause, DeathCause::Shutdown);
    let written = std::fs::read_to_string(bench.cwd().join("open.txt")).expect("a file");
    assert_eq!(written, "held back");
    let mut said = Vec::new();
    while let Some(event) = bench.events.next().await {
        if let KernelEvent::Orphan(ExecEvent::Stream { data, .. }) = event {
            said.extend_from_slice(&data);
        }
    }
    assert_eq!(String::from_utf8_lossy(&said), "at exit deleted\n");
}

async fn dropping_the_kernel_kills_its_group(start: Start) {
    let mut bench = Bench::start(start).await;
    let exec = bench.post(
        "import subprocess\nchild = subprocess.Popen(['sleep', '600'])\nprint(child.pid, flush=True)\n\
         child.wait()",
        History::Store,
    );
    let seen = bench.wait_for_output("\n").await;
    let text: String = seen
        .iter()
        .filter_map(|event| match event {
            ExecEvent::Stream { data, .. } => Some(String::from_utf8_lossy(data).into_owned()),
            _ => None,
        })
        .collect();
    let child: u32 = text.trim().parse().expect("a pid");
    let pid = bench.kernel().info().pid.expect("a process");
    drop(bench.kernel.take());
    assert!(is_gone_soon(pid).await && is_gone_soon(child).await);
    let ended =
        tokio::time::timeout(LIMIT, async { while bench.events.next().await.is_some() {} }).await;
    assert!(ended.is_ok(), "the stream of {exec:?} ends");
}

crate::on_gateways!(
    a_forked_child_is_not_the_kernel,
    shutting_down_ends_the_process,
    dropping_the_kernel_kills_its_group,
);

crate::on_every_backend!(
    every_way_to_die_has_its_cause,
    a_forked_child_is_not_the_kernel,
    shutting_down_ends_the_process,
    shutting_down_writes_files_and_hears_last_words,
    dropping_the_kernel_kills_its_group
);

crate::on_jupyter!(
    a_forked_child_is_not_the_kernel,
    shutting_down_ends_the_process,
    dropping_the_kernel_kills_its_group,
);
