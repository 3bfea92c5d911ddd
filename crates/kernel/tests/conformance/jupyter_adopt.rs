//! Kernels that another program started, joined through their connection files: they can be used, and are not changed.

use inkcell_kernel::{
    Backend as _, DeathCause, History, KernelEvent, KernelEvents, Program, StopSignal, ZmqBackend,
};
use tokio_util::sync::CancellationToken;

use crate::bench::{Bench, LIMIT, Start};
use crate::ledger::{is_alive, is_gone_soon};

/// A backend that joins the kernel of this bench as a foreign one.
fn others(bench: &Bench) -> ZmqBackend {
    let runtime = bench.cwd().with_file_name("tmp");
    let home = std::fs::read_dir(&runtime).expect("a folder").next().expect("one").expect("one");
    let file = home.path().join("kernel.json");
    bench.zmq.as_ref().expect("a backend").running(Program::Existing(file))
}

/// The cause of its death, as reported to the joined client.
async fn died(mut events: KernelEvents) -> DeathCause {
    let last = async {
        loop {
            if let KernelEvent::Died(death) = events.next().await.expect("a death") {
                return death.cause;
            }
        }
    };
    tokio::time::timeout(LIMIT, last).await.expect("in time")
}

/// Issue 7, 3: a client joins a running kernel through its connection file, and the kernel outlives the client.
async fn a_running_kernel_is_adopted_and_left(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("kept = 41").await.ok();
    let pid = bench.pid();
    let other = others(&bench);
    let launched = other.launch(&bench.spec, &CancellationToken::new()).await.expect("a kernel");
    let first = (
        bench.kernel.replace(launched.kernel),
        std::mem::replace(&mut bench.events, launched.events),
    );
    assert_eq!(bench.kernel().info().pid, None);
    assert_eq!(bench.value("kept + 1").await, "42");
    // Each client gets only its own output.
    let exec = bench
        .post("print('go', flush=True)\nimport time\nwhile True: time.sleep(0.01)", History::Store);
    bench.wait_for_output("go").await;
    bench.kernel().interrupt().expect("it is there");
    assert_eq!(bench.collect(exec).await.error().name, "KeyboardInterrupt");
    assert_eq!(bench.shut_down().await.cause, DeathCause::Shutdown);
    assert!(is_alive(pid), "it is not ours");
    (bench.kernel, bench.events) = first;
    assert_eq!(bench.value("kept").await, "41");
    // The client notices when the kernel ends.
    let launched = other.launch(&bench.spec, &CancellationToken::new()).await.expect("a kernel");
    bench.shut_down().await;
    assert!(is_gone_soon(pid).await);
    assert_eq!(died(launched.events).await, DeathCause::Unknown);
}

/// Issue 7, 3: a joined kernel survives any way in which a client drops, forces or shuts it down.
async fn an_adopted_kernel_is_never_ended(start: Start) {
    let mut bench = Bench::start(start).await;
    let pid = bench.pid();
    let other = others(&bench);
    let cancel = CancellationToken::new();
    let adopted = other.launch(&bench.spec, &cancel).await.expect("a kernel");
    drop(adopted.kernel);
    assert_eq!(died(adopted.events).await, DeathCause::Shutdown);
    let mut adopted = other.launch(&bench.spec, &cancel).await.expect("a kernel");
    adopted.kernel.force(StopSignal::Kill).expect("it is there");
    assert_eq!(died(adopted.events).await, DeathCause::LeftAlone);
    let mut adopted = other.launch(&bench.spec, &cancel).await.expect("a kernel");
    adopted.kernel.force(StopSignal::Terminate).expect("it is there");
    assert_eq!(died(adopted.events).await, DeathCause::LeftAlone);
    assert_eq!(bench.value("'it lives'").await, "'it lives'");
    assert_eq!(bench.pid(), pid);
}

crate::on_jupyter!(a_running_kernel_is_adopted_and_left, an_adopted_kernel_is_never_ended,);
