//! Times that users are promised. These tests have the machine to themselves.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::client::Client;
use crate::env;
use crate::mcp_life::busy;

/// How long a server may take to end with everything that it started.
const LIMIT: Duration = Duration::from_secs(5);

/// Ends a server while code runs that does not listen, and checks that everything goes with it in time.
fn end(end: impl FnOnce(&mut Client)) -> ExitStatus {
    let env = env();
    let mut client = Client::start(&env, &[]);
    let (idle, running) = busy(&mut client, &env);
    let begun = Instant::now();
    end(&mut client);
    let status = client.end();
    let took = begun.elapsed();
    assert!(took < LIMIT, "{took:?}");
    idle.is_gone();
    running.is_gone();
    status
}

/// F-022: a client that goes away takes everything with it within 5 s.
#[test]
fn the_end_of_the_client_is_the_end() {
    assert_eq!(end(Client::leave).code(), Some(0));
}

/// F-021: a signal does the same.
#[test]
fn a_signal_ends_the_server_and_its_kernels() {
    assert_eq!(end(|client| client.signal(Signal::TERM)).signal(), Some(15));
}
