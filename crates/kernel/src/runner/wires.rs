//! Connections between a runner and its host: the channel, the lifeline, the two pipes, and a handle to
//! watch the host's process.
//!
//! Owns creating them and assigning the ends. It must not know what travels on them.

use std::io::{self, PipeReader};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;

use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use crate::process::own_pidfd;

/// The ends of the host.
pub(crate) struct Wires {
    pub(crate) control: UnixStream,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
    /// No other process holds this end: it closes however the host ends, and then the runner ends.
    pub(crate) lifeline: OwnedFd,
    /// Inode numbers, which identify a process that still holds one of these.
    pub(crate) inodes: Vec<u64>,
}

/// The ends of the runner.
pub(crate) struct Theirs {
    pub(crate) control: OwnedFd,
    pub(crate) lifeline: OwnedFd,
    /// The host's process, to see its end even if another process got hold of the lifeline.
    pub(crate) host: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

impl Theirs {
    /// The ends in the order in which the fork server takes them.
    pub(crate) fn in_order(self) -> [OwnedFd; 5] {
        [self.control, self.lifeline, self.host, self.stdout, self.stderr]
    }
}

/// Makes both ends of all connections.
pub(crate) fn pair() -> io::Result<(Wires, Theirs)> {
    let (ours, control) = StdUnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let (lifeline, our_lifeline) = io::pipe()?;
    let (our_stdout, stdout) = io::pipe()?;
    let (our_stderr, stderr) = io::pipe()?;
    let theirs = Theirs {
        control: control.into(),
        lifeline: lifeline.into(),
        host: own_pidfd()?,
        stdout: stdout.into(),
        stderr: stderr.into(),
    };
    let inode = |fd: &OwnedFd| rustix::fs::fstat(fd.as_fd()).map(|stat| stat.st_ino);
    let inodes = [&theirs.control, &theirs.stdout, &theirs.stderr];
    let inodes = inodes.into_iter().map(inode).collect::<Result<Vec<u64>, _>>()?;
    let receiver = |pipe: PipeReader| pipe::Receiver::from_owned_fd(pipe.into());
    let wires = Wires {
        control: UnixStream::from_std(ours)?,
        stdout: receiver(our_stdout)?,
        stderr: receiver(our_stderr)?,
        lifeline: our_lifeline.into(),
        inodes,
    };
    Ok((wires, theirs))
}

/// Splits the channel of a ready runner into its output and the end for commands. A socket watched for both would
/// wake us, for nothing, each time the runner has read a command. So the reading end is watched only for
/// reading, like a pipe, and the writing end only while it is full.
pub(crate) fn split(control: UnixStream) -> io::Result<(pipe::Receiver, OwnedFd)> {
    let read = OwnedFd::from(control.into_std()?);
    let write = read.try_clone()?;
    Ok((pipe::Receiver::from_owned_fd_unchecked(read)?, write))
}
