//! Kernels on a gateway after their host has ended.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use inkcell_kernel::{GatewayBackend, GatewayConfig, LeftBehind, Whose, left_behind};
use inkcell_testkit::wait::until_async;

use super::desk::{Desk, LIMIT, config};
use super::fake_kernel::cell;
use super::scripted::{Act, Scripted, Seen};

/// F-118: the next host removes what a dead host left, and spares what lives.
#[test]
fn what_a_dead_host_left_is_removed() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let main = runtime();
    let gateway = main.block_on(Scripted::start(|_| Act::Usual, |_| cell(vec![])));
    let desk = Desk::at(gateway.url());
    let living = main.block_on(desk.launch()).unwrap();
    // A host that ends with its runtime, before it can remove anything.
    let config = config(gateway.url(), &desk.folder);
    std::thread::scope(|threads| {
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let dying = threads.spawn(move || {
            let other = runtime();
            let backend = GatewayBackend::new(config);
            let dying = Desk { folder: tempfile::TempDir::new().unwrap(), backend };
            let launched = other.block_on(dying.launch()).unwrap();
            other.shutdown_background();
            std::mem::forget(launched.kernel);
            drop(dying);
            stop.send(()).unwrap();
        });
        main.block_on(stopped).unwrap();
        dying.join().unwrap();
    });
    assert_eq!(gateway.kernels().len(), 2);
    let state = desk.folder.path().join("state");
    let left = left_behind(&state).unwrap();
    assert_eq!(
        left,
        [LeftBehind { url: gateway.url().to_string(), whose: Whose::External, kernels: 1 }]
    );
    let removed = main.block_on(desk.backend.remove_leftovers()).unwrap();
    assert_eq!(removed, 1);
    assert_eq!(gateway.kernels().len(), 1);
    assert_eq!(main.block_on(desk.backend.remove_leftovers()).unwrap(), 0);
    assert_eq!(left_behind(&state).unwrap(), []);
    drop(living);
}

/// F-118: if the first use cannot remove them, the next use does.
#[tokio::test]
async fn a_removal_that_failed_is_done_by_the_next_start() {
    let is_well = Arc::new(AtomicBool::new(false));
    let script = {
        let is_well = Arc::clone(&is_well);
        move |seen: &Seen| match seen.method == "DELETE" && !is_well.load(Ordering::SeqCst) {
            true => Act::Reply(503, String::new(), String::new()),
            false => Act::Usual,
        }
    };
    let gateway = Scripted::start(script, |_| cell(vec![])).await;
    let desk = Desk::at(gateway.url());
    gateway.inside.kernels.lock().unwrap().insert("old".to_owned(), Arc::default());
    left_by_a_dead_host(&desk, &gateway.url().to_string(), &["old"], "external");
    let mut launched = vec![desk.launch().await.unwrap()];
    let is_tried = async || gateway.count("DELETE", "/api/kernels/old") > 0;
    until_async("the first try", is_tried).await;
    is_well.store(true, Ordering::SeqCst);
    while gateway.kernels().contains(&"old".to_owned()) {
        assert!(launched.len() < 100, "no start tries again");
        launched.push(desk.launch().await.unwrap());
    }
}

fn left_by_a_dead_host(desk: &Desk, url: &str, ids: &[&str], whose: &str) {
    let folder = desk.folder.path().join("state/gateway-kernels");
    fs::create_dir_all(&folder).unwrap();
    let line = |id: &&str| {
        let made = serde_json::json!({"url": url, "id": id, "whose": whose});
        format!("{}\n", serde_json::json!({"made": made}))
    };
    let lines: String = ids.iter().map(line).collect();
    fs::write(folder.join("dead.jsonl"), lines).unwrap();
}

/// F-118: the next user of the gateway removes them without a request.
#[tokio::test]
async fn the_next_start_removes_what_was_left() {
    let gateway = Scripted::start(|_| Act::Usual, |_| cell(vec![])).await;
    let desk = Desk::at(gateway.url());
    gateway.inside.kernels.lock().unwrap().insert("old".to_owned(), Arc::default());
    left_by_a_dead_host(&desk, &gateway.url().to_string(), &["old"], "external");
    let one = desk.launch().await.unwrap();
    let two = desk.launch().await.unwrap();
    let is_removed = async || !gateway.kernels().contains(&"old".to_owned());
    until_async("the end of the kernel that was left", is_removed).await;
    assert_eq!(gateway.kernels(), ["k1", "k2"]);
    assert_eq!(gateway.count("DELETE", "/api/kernels/old"), 1);
    drop((one, two));
}

/// F-118: a shared gateway of this machine that has ended took its kernels along. For any other that is unknown, even
/// if its address is on this machine: it can be a tunnel to another gateway.
#[tokio::test]
async fn what_was_left_on_a_gateway_that_ended_is_forgotten() {
    let mut gateway = Scripted::start(|_| Act::Usual, |_| cell(vec![])).await;
    let desk = Desk::at(gateway.url());
    let url = gateway.url().to_string();
    gateway.kill();
    while std::net::TcpStream::connect(gateway.address).is_ok() {
        tokio::task::yield_now().await;
    }
    let state = desk.folder.path().join("state");
    left_by_a_dead_host(&desk, &url, &["old"], "external");
    desk.backend.remove_leftovers().await.unwrap_err();
    let left = LeftBehind { url: url.clone(), whose: Whose::External, kernels: 1 };
    assert_eq!(left_behind(&state).unwrap(), [left]);
    left_by_a_dead_host(&desk, &url, &["old"], "shared");
    let config = GatewayConfig { whose: Whose::Shared, ..config(gateway.url(), &desk.folder) };
    assert_eq!(GatewayBackend::new(config).remove_leftovers().await.unwrap(), 1);
    assert_eq!(left_behind(&state).unwrap(), []);
}

/// F-118: one kernel that the gateway does not remove does not block the removal of the others.
#[tokio::test]
async fn one_that_cannot_be_removed_does_not_hold_up_the_others() {
    let script = |seen: &Seen| match seen.path.as_str() {
        "/api/kernels/a" => Act::Reply(500, String::new(), String::new()),
        _ => Act::Usual,
    };
    let gateway = Scripted::start(script, |_| cell(vec![])).await;
    let desk = Desk::at(gateway.url());
    for id in ["a", "b", "c"] {
        gateway.inside.kernels.lock().unwrap().insert(id.to_owned(), Arc::default());
    }
    let url = gateway.url().to_string();
    left_by_a_dead_host(&desk, &url, &["a", "b", "c"], "external");
    let problem = desk.backend.remove_leftovers().await.unwrap_err().to_string();
    assert!(problem.contains("status 500"), "{problem}");
    assert_eq!(gateway.kernels(), ["a"]);
    let left = left_behind(&desk.folder.path().join("state")).unwrap();
    assert_eq!(left, [LeftBehind { url, whose: Whose::External, kernels: 1 }]);
}

/// F-118: a kernel that a living host could not remove is removed once the gateway has made the next one.
#[tokio::test]
async fn what_could_not_be_removed_is_tried_again() {
    let is_well = Arc::new(AtomicBool::new(false));
    let script = {
        let is_well = Arc::clone(&is_well);
        move |seen: &Seen| match seen.method == "DELETE" && !is_well.load(Ordering::SeqCst) {
            true => Act::Reply(503, String::new(), String::new()),
            false => Act::Usual,
        }
    };
    let gateway = Scripted::start(script, |_| cell(vec![])).await;
    let desk = Desk::at(gateway.url());
    desk.launch().await.unwrap().kernel.shutdown(LIMIT).await;
    assert_eq!(gateway.kernels(), ["k1"], "it stays");
    is_well.store(true, Ordering::SeqCst);
    let second = desk.launch().await.unwrap();
    until_async("the end of the first kernel", async || gateway.kernels() == ["k2"]).await;
    second.kernel.shutdown(LIMIT).await;
    assert_eq!(gateway.kernels(), [""; 0]);
}
