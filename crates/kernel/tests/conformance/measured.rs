//! Time limits promised to users. These tests have the machine to themselves.

use std::time::{Duration, Instant};

use inkcell_kernel::{DeathCause, History, KernelEvent};

use crate::bench::{Bench, LIMIT, Start};
use crate::faults_death::kill;
use crate::output::longest_delay;

const SECOND: Duration = Duration::from_secs(1);

/// F-001
async fn a_death_in_a_cell_is_told_within_a_second(start: Start) {
    let mut bench = Bench::start(start).await;
    let exec = bench.post("print('a')\nimport time\ntime.sleep(600)", History::Store);
    bench.wait_for_output("a").await;
    let begun = Instant::now();
    kill(bench.pid());
    let ran = bench.collect(exec).await;
    let took = begun.elapsed();
    assert_eq!(ran.cause(), &DeathCause::Signal { signal: 9 });
    assert!(took < SECOND, "{took:?}");
}

/// F-001
async fn a_death_between_cells_is_told_within_a_second(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("1").await.ok();
    let begun = Instant::now();
    kill(bench.pid());
    let next = tokio::time::timeout(LIMIT, bench.events.next()).await.expect("a death");
    let took = begun.elapsed();
    assert!(matches!(next, Some(KernelEvent::Died(_))), "{next:?}");
    assert!(took < SECOND, "{took:?}");
}

/// The runner holds output back for 0.1 s, and IPython's kernel for 0.2 s.
async fn output_is_seen_within_a_second(start: Start) {
    let longest = longest_delay(start).await;
    assert!(longest < 1.0, "{longest} s");
}

crate::on_every_backend!(
    a_death_in_a_cell_is_told_within_a_second,
    a_death_between_cells_is_told_within_a_second,
    output_is_seen_within_a_second,
);

crate::on_ipc!(
    a_death_in_a_cell_is_told_within_a_second,
    a_death_between_cells_is_told_within_a_second,
    output_is_seen_within_a_second,
);
