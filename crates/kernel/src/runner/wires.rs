//! What connects a runner to its host: the channel, the lifeline, the two pipes, and the host's own
//! process to watch.
//!
//! Owns making them and which end is whose. What travels on them is for others.

use std::io::{self, PipeReader};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;

use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use crate::process::own_pidfd;

/// Our ends.
pub(crate) struct Wires {
    pub(crate) control: UnixStream,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
    /// Only we hold this end: when it closes, the runner ends, however we ended.
    pub(crate) lifeline: OwnedFd,
    /// The numbers by which a process that still holds one of these can be known.
    pub(crate) inodes: Vec<u64>,
}

/// The runner's ends.
pub(crate) struct Theirs {
    pub(crate) control: OwnedFd,
    pub(crate) lifeline: OwnedFd,
    /// This process, to be seen ending even when somebody else got hold of the lifeline.
    pub(crate) host: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

impl Theirs {
    /// In the order the fork server takes them.
    pub(crate) fn in_order(self) -> [OwnedFd; 5] {
        [self.control, self.lifeline, self.host, self.stdout, self.stderr]
    }
}

/// Both ends of everything.
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

/// The channel of a runner that is ready, taken apart: what it says, and where commands go. A socket that
/// is watched for both would wake us each time the runner has read a command, for nothing; so the reading
/// end is watched for reading alone, as a pipe is, and the writing end only while it is full.
pub(crate) fn split(control: UnixStream) -> io::Result<(pipe::Receiver, OwnedFd)> {
    let read = OwnedFd::from(control.into_std()?);
    let write = read.try_clone()?;
    Ok((pipe::Receiver::from_owned_fd_unchecked(read)?, write))
}
