//! Kernels on a gateway whose host is no more.

use std::fs;

use inkcell_kernel::{GatewayBackend, LeftBehind, left_behind};

use crate::desk::{Desk, config};
use crate::fake_kernel::cell;
use crate::scripted::{Act, Scripted};

/// F-118: what a host left is removed by the next one, and what lives is left alone.
#[test]
fn what_a_dead_host_left_is_removed() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let main = runtime();
    let gateway = main.block_on(Scripted::start(|_| Act::Usual, |_| cell(vec![])));
    let desk = Desk::at(gateway.url());
    let living = main.block_on(desk.launch()).unwrap();
    // A host that ends with its runtime, before anything can be removed.
    let config = config(gateway.url(), &desk.folder);
    let url = gateway.url();
    let serving = std::thread::scope(|threads| {
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
        url
    });
    assert_eq!(serving, gateway.url());
    assert_eq!(gateway.kernels().len(), 2);
    let state = desk.folder.path().join("state");
    let left = left_behind(&state).unwrap();
    assert_eq!(left, [LeftBehind { url: gateway.url().to_string(), kernels: 1 }]);
    let removed = main.block_on(desk.backend.remove_leftovers()).unwrap();
    assert_eq!(removed, 1);
    assert_eq!(gateway.kernels().len(), 1);
    assert_eq!(main.block_on(desk.backend.remove_leftovers()).unwrap(), 0);
    assert_eq!(left_behind(&state).unwrap(), []);
    drop(living);
}

fn left_by_a_dead_host(desk: &Desk, url: &str, id: &str) {
    let folder = desk.folder.path().join("state/gateway-kernels");
    fs::create_dir_all(&folder).unwrap();
    let line = format!("{{\"made\":{{\"url\":\"{url}\",\"id\":\"{id}\"}}}}\n");
    fs::write(folder.join("dead.jsonl"), line).unwrap();
}

/// F-118: they are also removed by whoever uses the gateway next, without being asked to.
#[tokio::test]
async fn the_next_start_removes_what_was_left() {
    let gateway = Scripted::start(|_| Act::Usual, |_| cell(vec![])).await;
    let desk = Desk::at(gateway.url());
    gateway.inside.kernels.lock().unwrap().insert("old".to_owned(), std::sync::Arc::default());
    left_by_a_dead_host(&desk, &gateway.url().to_string(), "old");
    let one = desk.launch().await.unwrap();
    let two = desk.launch().await.unwrap();
    for _ in 0..3000 {
        if !gateway.kernels().contains(&"old".to_owned()) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(gateway.kernels(), ["k1", "k2"]);
    assert_eq!(gateway.count("DELETE", "/api/kernels/old"), 1);
    drop((one, two));
}

/// F-118: a gateway of this machine that has ended took its kernels along; elsewhere that is not known.
#[tokio::test]
async fn what_was_left_on_a_gateway_that_ended_is_forgotten() {
    let mut gateway = Scripted::start(|_| Act::Usual, |_| cell(vec![])).await;
    let desk = Desk::at(gateway.url());
    left_by_a_dead_host(&desk, &gateway.url().to_string(), "old");
    gateway.kill();
    while std::net::TcpStream::connect(gateway.address).is_ok() {
        tokio::task::yield_now().await;
    }
    assert_eq!(desk.backend.remove_leftovers().await.unwrap(), 1);
    assert_eq!(left_behind(&desk.folder.path().join("state")).unwrap(), []);
}
