//! Time limits promised to users of gateways. These tests have the machine to themselves.

use std::time::{Duration, Instant};

use super::desk::{Desk, LIMIT, collect, request};
use super::fake_kernel::{busy, input, stream};
use super::scripted::{Act, Scripted};

/// F-110: the end is reported within two seconds, with an unknown outcome.
#[tokio::test]
async fn a_gateway_that_dies_in_a_cell_is_told_in_two_seconds() {
    let cell = |_: &str| vec![busy(), input(), stream("a")];
    let mut gateway = Scripted::start(|_| Act::Usual, cell).await;
    let desk = Desk::at(gateway.url());
    let mut launched = desk.launch().await.unwrap();
    launched.kernel.execute(request(1, "")).unwrap();
    loop {
        let next = tokio::time::timeout(LIMIT, launched.events.next()).await.unwrap().unwrap();
        if format!("{next:?}").contains("Stream") {
            break;
        }
    }
    let begun = Instant::now();
    gateway.kill();
    let ran = collect(&mut launched.events).await;
    let took = begun.elapsed();
    assert!(ran.cause().contains("the outcome of the cell is unknown"), "{}", ran.cause());
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert!(launched.events.next().await.is_none(), "nothing follows a death");
    assert!(launched.kernel.execute(request(2, "")).is_err());
}
