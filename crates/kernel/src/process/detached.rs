//! A process that outlives us and has nothing of ours.
//!
//! Owns what it is cut off from: our session and terminal, and every descriptor that was left open for us by whoever
//! started us. Its streams and folder are for the caller.

use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

/// Starts a command in a session of its own, without a descriptor beyond the three streams.
#[allow(unsafe_code, reason = "pre_exec is the only way to run code between fork and exec")]
pub fn spawn_detached(command: &mut Command) -> io::Result<Child> {
    let fds = open_beyond_streams();
    // SAFETY: between fork and exec only async-signal-safe calls are made: system calls through rustix, no allocation,
    // no lock. A number that is not open any more is an error of that one call, which is passed over; one that has
    // become another descriptor gets a mark that all of ours have.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            for fd in &fds {
                let fd = BorrowedFd::borrow_raw(*fd);
                let _ = rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC);
            }
            Ok(())
        });
    }
    command.spawn()
}

/// The descriptors that are open besides the streams, as far as the system lists them.
fn open_beyond_streams() -> Vec<RawFd> {
    let folders = ["/proc/self/fd", "/dev/fd"];
    let listed = folders.iter().find_map(|folder| std::fs::read_dir(folder).ok());
    let names = listed.into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.parse::<RawFd>().ok()
    });
    names.filter(|fd| *fd > 2).collect()
}
