//! Tier 2: everything that is written arrives, in order, before the end.

use inkcell_kernel::{ExecEvent, StreamName};

use crate::bench::{Bench, Start};

/// B:R-07 B:R-08
async fn streams_and_displays_keep_the_order_they_were_written_in(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "import sys\nprint('one')\nprint('two', file=sys.stderr)\nprint('three')\ndisplay('four')\n\
                print('five')\n'six'";
    let ran = bench.run(code).await.ok();
    let wanted = [
        "stdout one",
        "stderr two",
        "stdout three",
        "display 'four'",
        "stdout five",
        "result 'six'",
    ];
    assert_eq!(ran.order(), wanted);
}

/// F-045: what C code and children write is there before the end.
async fn output_of_c_code_and_children_is_caught(start: Start) {
    let mut bench = Bench::start(start).await;
    let ran =
        bench.run("import os\nos.system('echo out; echo err >&2')\nos.write(1, b'raw')").await.ok();
    assert!(ran.stdout().contains("out\n") && ran.stdout().contains("raw"), "{:?}", ran.events);
    assert_eq!(ran.stderr(), "err\n");
    let code = "import ctypes\nlibc = ctypes.CDLL(None)\n_ = libc.printf(b'buffered in C')";
    assert_eq!(bench.run(code).await.ok().stdout(), "buffered in C");
    let display = "os.system('echo child'); display('after')";
    assert_eq!(bench.run(display).await.ok().order(), ["stdout child", "display 'after'"]);
}

/// F-033
async fn bytes_arrive_as_they_were_written(start: Start) {
    let mut bench = Bench::start(start).await;
    let ran = bench.run("import sys\n_ = sys.stdout.buffer.write(b'a\\xff\\xfe\\x00b')").await.ok();
    let data: Vec<u8> = ran
        .events
        .iter()
        .flat_map(|event| match event {
            ExecEvent::Stream { name: StreamName::Stdout, data } => data.to_vec(),
            _ => Vec::new(),
        })
        .collect();
    assert_eq!(data, b"a\xff\xfe\x00b");
    assert_eq!(bench.run("print('\\ud800')").await.ok().stdout(), "\\ud800\n");
}

async fn nothing_is_lost_of_much_output(start: Start) {
    let mut bench = Bench::start(start).await;
    let ran = bench.run("for n in range(100_000):\n    print(n)").await.ok();
    let wanted: String = (0..100_000).map(|n| format!("{n}\n")).collect();
    assert!(ran.stdout() == wanted, "{} of {} bytes", ran.stdout().len(), wanted.len());
    let ran = bench.run("import os\nos.system('seq 1 100000')").await.ok();
    assert_eq!(ran.stdout().lines().count(), 100_000);
}

/// Output is shown soon although it is buffered.
async fn output_shows_while_the_cell_runs(start: Start) {
    let mut bench = Bench::start(start).await;
    let exec = bench.post(
        "print('early', end='')\nimport time\ntime.sleep(60)",
        inkcell_kernel::History::Store,
    );
    bench.wait_for_output("early").await;
    bench.kernel().interrupt().expect("the kernel is there");
    assert_eq!(bench.collect(exec).await.error().name, "KeyboardInterrupt");
}

/// F-039
async fn streams_are_whole_again_in_the_next_cell(start: Start) {
    let mut bench = Bench::start(start).await;
    let harm = [
        "import sys\nsys.stdout = None",
        "del sys.stdout",
        "sys.stdout.close()",
        "sys.stdout = object()",
        "import os\nos.close(1)",
        "os.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
        "sys.stderr.close()",
        "os.close(2)",
    ];
    for code in harm {
        bench.run(code).await;
        let ran = bench
            .run("print('back')\nos.system('echo child') if 'os' in globals() else None;")
            .await
            .ok();
        assert!(ran.stdout().contains("back\n"), "{code}: {:?}", ran.events);
        let ran = bench.run("print('err', file=sys.stderr)").await.ok();
        assert_eq!(ran.stderr(), "err\n", "{code}");
    }
    assert_eq!(bench.run("os.system('echo child');").await.ok().stdout(), "child\n");
}

/// F-038: output between cells belongs to none.
async fn a_thread_that_goes_on_is_no_part_of_a_cell(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "import threading, time\ngate = threading.Event()\ndone = threading.Event()\n\
                def later():\n    gate.wait(20)\n    print('late')\n    done.set()\n\
                threading.Thread(target=later).start()";
    bench.run(code).await.ok();
    // The thread prints while this cell runs, and then belongs to it.
    let ran = bench.run("gate.set()\ndone.wait(20)").await.ok();
    assert_eq!(ran.stdout(), "late\n");
    let code = "def idle():\n    time.sleep(0.3)\n    print('orphan')\nthreading.Thread(target=idle).start()";
    bench.run(code).await.ok();
    let next =
        tokio::time::timeout(crate::bench::LIMIT, bench.events.next()).await.expect("in time");
    match next {
        Some(inkcell_kernel::KernelEvent::Orphan(ExecEvent::Stream { data, .. })) => {
            assert_eq!(&data[..], b"orphan\n");
        }
        other => panic!("{other:?}"),
    }
    bench.run("1").await.ok();
}

crate::on_every_shell!(
    streams_and_displays_keep_the_order_they_were_written_in,
    output_of_c_code_and_children_is_caught,
    bytes_arrive_as_they_were_written,
    nothing_is_lost_of_much_output,
    output_shows_while_the_cell_runs,
    streams_are_whole_again_in_the_next_cell,
    a_thread_that_goes_on_is_no_part_of_a_cell
);
