//! Allocates ports for servers that tests start: free ports that no client gets by chance.
//!
//! Owns the range of ports, and that no two tests get the same one. The system gives clients ports from a range of
//! its own. A server that should listen on one of those may find it taken, and a client that asks if the server
//! listens already may connect to itself.
//!
//! Also ends a server written in Python through its port: [`terminate`].

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::process::Child;
use std::sync::{Mutex, PoisonError};

/// Ports below the range that systems give to clients.
const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;

/// The ports of this process: one locked file for each, until the process ends.
static TAKEN: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// A port on this machine without a listener, which no other test gets while this one runs.
pub fn free_port() -> u16 {
    let folder = std::env::temp_dir().join("inkcell-test-ports");
    std::fs::create_dir_all(&folder).expect("a folder for the locks of ports");
    for at in 0..COUNT {
        // Processes with consecutive ids begin at different ports.
        let at = std::process::id().wrapping_mul(37).wrapping_add(at) % COUNT;
        let port = u16::try_from(FIRST + at).expect("the range ends below");
        let lock = File::create(folder.join(port.to_string())).expect("a file to lock");
        if lock.try_lock().is_ok() && TcpListener::bind(("127.0.0.1", port)).is_ok() {
            TAKEN.lock().unwrap_or_else(PoisonError::into_inner).push(lock);
            return port;
        }
    }
    panic!("no port is free");
}

/// Ends a Jupyter server with the signal that its user would send.
///
/// Python handles a signal that arrives right before a wait only after the wait, and an idle server waits without a
/// limit. The connection after the signal ends the wait.
pub fn terminate(server: &Child, port: u16) {
    let pid = rustix::process::Pid::from_child(server);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
    // A server that is already gone refuses the connection.
    let _ = TcpStream::connect(("127.0.0.1", port));
}
