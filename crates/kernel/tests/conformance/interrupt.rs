//! Tier 3: an interrupt ends the running code, and nothing else.

use inkcell_kernel::{History, Outcome};

use crate::bench::{Bench, Start};

/// B:R-20 F-012
async fn an_interrupt_ends_the_cell_and_the_kernel_lives(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("import asyncio, subprocess, time\nkept = 1").await.ok();
    let cells = [
        "print('go', flush=True)\ntime.sleep(600)",
        "print('go', flush=True)\nwhile True: pass",
        "print('go', flush=True)\nawait asyncio.sleep(60)",
        "print('go', flush=True)\nsubprocess.run(['sleep', '60'])",
    ];
    for code in cells {
        let exec = bench.post(code, History::Store);
        bench.wait_for_output("go").await;
        bench.kernel().interrupt().expect("the kernel is there");
        let ran = bench.collect(exec).await;
        assert_eq!(ran.error().name, "KeyboardInterrupt", "{code}");
        assert_eq!(bench.run("kept").await.ok().result().as_deref(), Some("1"), "{code}");
    }
}

/// B:R-20 Issue 21, 6: the host does not wait for the cell to begin. The interrupt may come before the kernel has read
/// the request, before the first line runs, or right before the system call in which the cell waits.
async fn interrupt_right_after_the_request_ends_the_cell(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("import time").await.ok();
    for _ in 0..start.times(50) {
        let exec = bench.post("time.sleep(600)", History::Store);
        bench.kernel().interrupt().expect("the kernel is there");
        let ran = bench.collect(exec).await;
        assert_eq!(ran.error().name, "KeyboardInterrupt", "{:?}", ran.error());
    }
    assert_eq!(bench.run("6 * 7").await.ok().result().as_deref(), Some("42"));
}

/// B:R-23 F-011 An idle runner handles a signal before it reads the next request.
async fn interrupt_of_an_idle_runner_never_reaches_the_next_cell(start: Start) {
    let mut bench = Bench::start(start).await;
    for _ in 0..100 {
        bench.kernel().interrupt().expect("the kernel is there");
        assert_eq!(bench.run("2").await.ok().result().as_deref(), Some("2"));
    }
}

/// B:R-23 F-011
async fn an_interrupt_between_cells_does_nothing(start: Start) {
    let mut bench = Bench::start(start).await;
    for _ in 0..start.times(100) {
        bench.kernel().interrupt().expect("the kernel is there");
        let exec = bench.post("1", History::Store);
        let ran = bench.collect(exec).await;
        // The signal may arrive after the cell has begun; it must end at most that cell.
        if let Outcome::Error(error) = ran.outcome() {
            assert_eq!(error.name, "KeyboardInterrupt");
        }
        assert_eq!(bench.run("2").await.ok().result().as_deref(), Some("2"), "the next is sound");
    }
}

/// An interrupt during much output never tears the channel.
async fn an_interrupt_during_output_leaves_the_channel_whole(start: Start) {
    let mut bench = Bench::start(start).await;
    for _ in 0..start.times(20) {
        let exec = bench.post("while True: print('y' * 1000)", History::Store);
        bench.wait_for_output("yyyy").await;
        bench.kernel().interrupt().expect("the kernel is there");
        assert_eq!(bench.collect(exec).await.error().name, "KeyboardInterrupt");
    }
    assert_eq!(bench.run("5").await.ok().result().as_deref(), Some("5"));
}

crate::on_gateways!(
    interrupt_right_after_the_request_ends_the_cell,
    an_interrupt_between_cells_does_nothing,
    an_interrupt_during_output_leaves_the_channel_whole,
);

crate::on_every_shell!(
    an_interrupt_ends_the_cell_and_the_kernel_lives,
    interrupt_right_after_the_request_ends_the_cell,
    interrupt_of_an_idle_runner_never_reaches_the_next_cell,
    an_interrupt_during_output_leaves_the_channel_whole
);

crate::on_ipc!(
    interrupt_right_after_the_request_ends_the_cell,
    an_interrupt_between_cells_does_nothing,
    an_interrupt_during_output_leaves_the_channel_whole,
);

crate::on_pooled!(an_interrupt_between_cells_does_nothing,);
