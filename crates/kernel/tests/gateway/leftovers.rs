//! Kernels on a gateway whose host is no more.

use inkcell_kernel::GatewayBackend;

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
    let removed = main.block_on(desk.backend.remove_leftovers()).unwrap();
    assert_eq!(removed, 1);
    assert_eq!(gateway.kernels().len(), 1);
    assert_eq!(main.block_on(desk.backend.remove_leftovers()).unwrap(), 0);
    drop(living);
}
