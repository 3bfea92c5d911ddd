//! Tier 2: all output arrives, in order, before the end.

use std::time::{SystemTime, UNIX_EPOCH};

use inkcell_kernel::{ExecEvent, History, KernelEvent, StreamName};

use crate::bench::{Bench, LIMIT, Start};

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

/// F-045: output of C code and children arrives before the end.
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
    let lines = start.times(100_000);
    let ran = bench.run(&format!("for n in range({lines}):\n    print(n)")).await.ok();
    let wanted: String = (0..lines).map(|n| format!("{n}\n")).collect();
    assert!(ran.stdout() == wanted, "{} of {} bytes", ran.stdout().len(), wanted.len());
    let ran = bench.run(&format!("import os\nos.system('seq 1 {lines}')")).await.ok();
    assert_eq!(ran.stdout().lines().count(), lines);
}

/// Buffered output still appears soon.
async fn output_shows_while_the_cell_runs(start: Start) {
    let mut bench = Bench::start(start).await;
    // A signal right before a long sleep would take effect only at its end; short sleeps have no such gap.
    let code = "import time\nprint('early', end='')\nwhile True: time.sleep(0.01)";
    let exec = bench.post(code, History::Store);
    bench.wait_for_output("early").await;
    bench.kernel().interrupt().expect("the kernel is there");
    assert_eq!(bench.collect(exec).await.error().name, "KeyboardInterrupt");
}

/// Output that waited for the end of the cell, or for more output, would never arrive.
async fn output_is_seen_although_the_cell_goes_on(start: Start) {
    longest_delay(start).await;
}

/// The longest time in seconds, by the writer's clock, until output of a running cell arrives: a part of
/// a line, lines with pauses between them, and the end of a flood.
pub(crate) async fn longest_delay(start: Start) -> f64 {
    let mut longest = 0.0_f64;
    let mut bench = Bench::start(start).await;
    let cells = [
        "print(time.time(), end='<')",
        "for _ in range(4):\n    print(time.time(), end='<\\n')\n    time.sleep(0.2)",
        "for n in range(5000): print('x' * 20)\nprint(time.time(), end='<')",
        "for n in range(5000): print('x' * 20)\nprint(time.time(), end='<\\n')",
    ];
    for code in cells {
        let code = format!("import time\n{code}\nwhile True: time.sleep(0.01)");
        let exec = bench.post(&code, History::Store);
        let mut text = String::new();
        for seen in 1..=code.matches("range(4)").count() * 3 + 1 {
            while text.matches('<').count() < seen {
                let next = tokio::time::timeout(LIMIT, bench.events.next()).await;
                match next.expect("an event in time") {
                    Some(KernelEvent::Exec { event: ExecEvent::Stream { data, .. }, .. }) => {
                        text.push_str(&String::from_utf8_lossy(&data));
                    }
                    Some(KernelEvent::Exec { event: ExecEvent::Started { .. }, .. }) => {}
                    other => panic!("{code}: {other:?}"),
                }
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs_f64();
            let last = text.rsplit('<').nth(1).expect("a time");
            let written: f64 = last.lines().last().expect("a line").parse().expect("a time");
            longest = longest.max(now - written);
        }
        bench.kernel().interrupt().expect("the kernel is there");
        assert_eq!(bench.collect(exec).await.error().name, "KeyboardInterrupt");
    }
    longest
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

/// F-038: output between cells belongs to no cell.
async fn a_thread_that_goes_on_is_no_part_of_a_cell(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "import threading, time\ngate = threading.Event()\ndone = threading.Event()\n\
                def later():\n    gate.wait(20)\n    print('late')\n    done.set()\n\
                threading.Thread(target=later).start()";
    bench.run(code).await.ok();
    // The thread prints while this cell runs, so its output belongs to this cell.
    let ran = bench.run("gate.set()\ndone.wait(20)").await.ok();
    assert_eq!(ran.stdout(), "late\n");
    let code = "import os\ndef idle():\n    while not os.path.exists('over'): time.sleep(0.01)\n    \
                print('orphan')\nthreading.Thread(target=idle).start()";
    bench.run(code).await.ok();
    std::fs::write(bench.cwd().join("over"), "").expect("a file");
    let next = tokio::time::timeout(LIMIT, bench.events.next()).await.expect("in time");
    match next {
        Some(KernelEvent::Orphan(ExecEvent::Stream { data, .. })) => {
            assert_eq!(&data[..], b"orphan\n");
        }
        other => panic!("{other:?}"),
    }
    bench.run("1").await.ok();
}

crate::on_gateways!(
    nothing_is_lost_of_much_output,
    output_shows_while_the_cell_runs,
    output_is_seen_although_the_cell_goes_on,
    a_thread_that_goes_on_is_no_part_of_a_cell,
);

crate::on_every_shell!(
    streams_and_displays_keep_the_order_they_were_written_in,
    output_of_c_code_and_children_is_caught,
    bytes_arrive_as_they_were_written,
    nothing_is_lost_of_much_output,
    output_shows_while_the_cell_runs,
    output_is_seen_although_the_cell_goes_on,
    streams_are_whole_again_in_the_next_cell,
    a_thread_that_goes_on_is_no_part_of_a_cell
);

crate::on_jupyter!(
    output_of_c_code_and_children_is_caught,
    nothing_is_lost_of_much_output,
    output_shows_while_the_cell_runs,
    output_is_seen_although_the_cell_goes_on,
);
