//! Ports for servers that tests start: free ones that no client gets by chance.
//!
//! Owns where they are looked for. The system gives clients ports of a range of its own: a server that is to listen
//! on one of those can find it taken, and whoever asks whether it listens already can be connected with itself.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the range that systems give to clients.
const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;

/// A port on this machine that nobody listens on.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Tests run at the same time, in processes whose numbers follow each other.
    let own = std::process::id().wrapping_mul(37);
    for _ in 0..COUNT {
        let at = own.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let port = u16::try_from(FIRST + at).expect("the range ends below");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no port is free");
}
