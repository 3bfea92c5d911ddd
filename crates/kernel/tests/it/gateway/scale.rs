//! Many kernels on one gateway through one backend: the cost of each does not grow with their number.

use std::sync::Arc;

use futures_util::future::join_all;
use inkcell_kernel::{Backend as _, LaunchedKernel};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio_util::sync::CancellationToken;

use super::desk::{Desk, LIMIT, run};
use super::fake_kernel::{cell, stream};
use super::scripted::{Act, Scripted, Seen};

/// A gateway on a thread of its own, so that its tasks do not count as ours.
fn apart() -> (Arc<Scripted>, impl FnOnce()) {
    let (send, receive) = std::sync::mpsc::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let gateway = Scripted::start(|_| Act::Usual, |code| cell(vec![stream(code)])).await;
            *gateway.inside.language.lock().unwrap() = "scripted";
            send.send(Arc::new(gateway)).unwrap();
            let _ = stopped.await;
        });
    });
    let end = move || {
        let _ = stop.send(());
        thread.join().unwrap();
    };
    (receive.recv().unwrap(), end)
}

fn count(folder: &str) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

fn memory() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// The resources in use with this number of kernels.
#[derive(Debug)]
struct Cost {
    kernels: usize,
    tasks: usize,
    files: usize,
    bytes: usize,
    requests: usize,
}

/// A thousand kernels on one client: each takes the same tasks, connections and requests, and memory does not
/// grow faster than their number.
#[test]
fn a_thousand_kernels_cost_a_thousand_times_one() {
    let limit = getrlimit(Resource::Nofile);
    if limit.maximum.is_some_and(|most| most < 4096) {
        return inkcell_testkit::need::skip("a_thousand_kernels", "too few files may be open");
    }
    let more = Rlimit { current: limit.maximum.or(Some(8192)), maximum: limit.maximum };
    setrlimit(Resource::Nofile, more).unwrap();
    let (gateway, end) = apart();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let desk = Desk::at(gateway.url());
    let measure = |kernels: usize| Cost {
        kernels,
        tasks: runtime.metrics().num_alive_tasks(),
        files: count("/proc/self/fd"),
        bytes: memory(),
        requests: gateway.inside.seen.lock().unwrap().len(),
    };
    let mut kernels: Vec<LaunchedKernel> = Vec::new();
    let mut costs = Vec::new();
    for wanted in [1, 250, 500, 750, 1000] {
        runtime.block_on(async {
            while kernels.len() < wanted {
                let group = (wanted - kernels.len()).min(50);
                let launched = join_all((0..group).map(|_| desk.launch())).await;
                kernels.extend(launched.into_iter().map(Result::unwrap));
            }
            let ran = join_all(kernels.iter_mut().map(|kernel| run(kernel, "x"))).await;
            assert!(ran.iter().all(|ran| ran.is_ok() && ran.text == "x"));
        });
        costs.push(measure(wanted));
    }
    eprintln!("{costs:#?}");
    for pair in costs.windows(2) {
        let (few, many) = (&pair[0], &pair[1]);
        let more = many.kernels - few.kernels;
        assert_eq!(
            many.tasks - few.tasks,
            3 * more,
            "one that decides, one that reads, one that writes"
        );
        // One connection, both ends of which are in this process.
        let files = many.files - few.files;
        assert!((2 * more..2 * more + 20).contains(&files), "{files} more for {more} kernels");
        assert_eq!(many.requests - few.requests, 3 * more, "which kernels, a kernel, a websocket");
        let bytes = many.bytes.saturating_sub(few.bytes) / more;
        assert!(bytes < 256 << 10, "{bytes} bytes for one kernel, on both sides");
    }
    assert!(gateway.at_once() <= 16, "{} requests at once", gateway.at_once());
    runtime.block_on(async {
        let ends = kernels.into_iter().map(|launched| launched.kernel.shutdown(4 * LIMIT));
        join_all(ends).await;
        // A slow gateway delays no caller, and its work goes on.
        assert!(gateway.is_empty_soon().await, "{:?}", gateway.kernels());
    });
    drop(desk);
    drop(runtime);
    end();
}

/// 32 at once: the client limits its simultaneous requests to what a gateway can take, and every kernel exists
/// in the end.
#[tokio::test]
async fn thirty_two_at_once_are_let_in_in_turn() {
    let script = |seen: &Seen| {
        let takes_long = seen.method != "GET" || seen.path.contains("/channels");
        if takes_long { Act::Slowly } else { Act::Usual }
    };
    let gateway = Scripted::start(script, |code| cell(vec![stream(code)])).await;
    *gateway.inside.language.lock().unwrap() = "scripted";
    let desk = Desk::at(gateway.url());
    let one = |number: usize| {
        let desk = &desk;
        async move {
            let launched = desk.backend.launch(&desk.spec(), &CancellationToken::new()).await;
            let mut launched = launched.unwrap();
            let text = number.to_string();
            let ran = run(&mut launched, &text).await;
            assert!(ran.is_ok() && ran.text == text, "{ran:?}");
            launched.kernel.shutdown(LIMIT).await;
        }
    };
    join_all((0..32).map(one)).await;
    assert!((2..=16).contains(&gateway.at_once()), "{} requests at once", gateway.at_once());
    assert_eq!(gateway.count("POST", "/api/kernels"), 32, "one for each, and none twice");
    assert!(gateway.is_empty_soon().await, "{:?}", gateway.kernels());
}
