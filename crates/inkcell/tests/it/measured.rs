//! Times that users are promised. These tests have the machine to themselves.

use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::client::Client;
use crate::env;
use crate::mcp_life::busy;

/// How long a server may take to end with everything that it started.
const LIMIT: Duration = Duration::from_secs(5);

/// F-022: a client that goes away takes everything with it, within 5 s, though code is running that does not
/// listen.
#[test]
fn the_end_of_the_client_is_the_end() {
    let env = env();
    let mut client = Client::start(&env, &[]);
    let (idle, running) = busy(&mut client, &env);
    let begun = Instant::now();
    client.leave();
    let status = client.end();
    let took = begun.elapsed();
    assert_eq!(status.code(), Some(0));
    assert!(took < LIMIT, "{took:?}");
    idle.is_gone();
    running.is_gone();
}

/// F-021: the same for a signal.
#[test]
fn a_signal_ends_the_server_and_its_kernels() {
    let env = env();
    let mut client = Client::start(&env, &[]);
    let (idle, running) = busy(&mut client, &env);
    let begun = Instant::now();
    client.signal(Signal::TERM);
    let status = client.end();
    let took = begun.elapsed();
    assert_eq!(status.signal(), Some(15), "{status:?}");
    assert!(took < LIMIT, "{took:?}");
    idle.is_gone();
    running.is_gone();
}
