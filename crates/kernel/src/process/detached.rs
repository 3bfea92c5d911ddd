//! Starts a process that outlives this one and shares nothing with it.
//!
//! Owns the separation: from our session and terminal, and from every descriptor that our own parent left open. The
//! caller sets its streams and folder.

use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

/// Starts a command in a session of its own, without a descriptor beyond the three streams.
#[allow(unsafe_code, reason = "pre_exec is the only way to run code between fork and exec")]
pub fn spawn_detached(command: &mut Command) -> io::Result<Child> {
    let fds = open_beyond_streams();
    // SAFETY: between fork and exec only async-signal-safe calls are made: system calls through rustix, no allocation,
    // no lock. For a number that has been closed since, that one call fails, which is ignored. A number that has
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

/// The open descriptors other than the streams, if the system lists them.
fn open_beyond_streams() -> Vec<RawFd> {
    let folders = ["/proc/self/fd", "/dev/fd"];
    let listed = folders.iter().find_map(|folder| std::fs::read_dir(folder).ok());
    let names = listed.into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.parse::<RawFd>().ok()
    });
    names.filter(|fd| *fd > 2).collect()
}
