//! Copies of a runner that has run code, seen from the host, which requests them as from a fork server.
//!
//! Owns the meeting of runner and host, and turning a copy into a kernel. The runner decides whether it can be copied,
//! and reports why not.

use std::io;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;

use crate::error::LaunchError;
use crate::kernel::{Backend, BackendKind, KernelSpec, LaunchedKernel, NoCopies, Origin};
use crate::process::{Mark, Process};
use crate::runner::launch::{nonce, start};
use crate::runner::supply::Fresh;
use crate::runner::wires;
use crate::runner::zygote::Zygote;
use crate::trace::{KernelTrace, ZygoteState};
use crate::widgets::Widgets;

/// The time in which a runner must report whether it can be copied: it delivers its output first.
const MEETING: Duration = Duration::from_secs(30);

/// The time for one copy; a process with much memory takes long to fork.
const FORK_WAIT: Duration = Duration::from_secs(60);

/// The socket at which a runner connects to take requests for copies. Only a process that knows the name can connect,
/// and only once.
pub(super) struct Meeting {
    pub(super) name: String,
    listener: UnixListener,
}

impl Meeting {
    pub(super) fn open() -> Result<Meeting, NoCopies> {
        let failed =
            |error: io::Error| NoCopies { reason: format!("no socket can be made: {error}") };
        let name = format!("inkcell-copies-{}", nonce().map_err(failed)?);
        let listener = bind(&name).and_then(|listener| {
            listener.set_nonblocking(true)?;
            UnixListener::from_std(listener)
        });
        Ok(Meeting { name, listener: listener.map_err(failed)? })
    }
}

/// A socket without a file: a path can exceed the length limit of socket addresses.
#[cfg(target_os = "linux")]
fn bind(name: &str) -> io::Result<StdUnixListener> {
    use std::os::linux::net::SocketAddrExt as _;
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
    StdUnixListener::bind_addr(&address)
}

#[cfg(not(target_os = "linux"))]
fn bind(_: &str) -> io::Result<StdUnixListener> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "only Linux has such sockets"))
}

/// Makes copies of one runner. The copies outlive it only as the copies of a fork server do.
pub(crate) struct Copies {
    zygote: Zygote,
    python: String,
    trace: Option<Arc<dyn KernelTrace>>,
    /// The widgets of the original runner, which runs nothing any more.
    widgets: Arc<Mutex<Widgets>>,
}

impl Copies {
    /// Waits until the runner connects and reports that it can be copied.
    pub(super) async fn meet(
        meeting: Meeting,
        pid: u32,
        python: String,
        (trace, widgets): (Option<Arc<dyn KernelTrace>>, Arc<Mutex<Widgets>>),
    ) -> Result<Copies, NoCopies> {
        let silent = || NoCopies { reason: "the kernel did not answer".to_owned() };
        let met = async {
            let (stream, _) = meeting.listener.accept().await.map_err(|_| silent())?;
            let peer = stream.peer_cred().map_err(|_| silent())?;
            if peer.uid() != rustix::process::getuid().as_raw() {
                return Err(silent());
            }
            let zygote = Zygote::on(stream, pid, |_| {});
            match zygote.settled().await {
                ZygoteState::Refused(reason) => Err(NoCopies { reason }),
                ZygoteState::Ready { .. } => Ok(zygote),
                ZygoteState::Gone | ZygoteState::Starting => Err(silent()),
            }
        };
        let zygote = tokio::time::timeout(MEETING, met).await.unwrap_or_else(|_| Err(silent()))?;
        Ok(Copies { zygote, python, trace, widgets })
    }

    async fn copy(&self) -> io::Result<Fresh> {
        let (wires, theirs) = wires::pair()?;
        let copied = tokio::time::timeout(FORK_WAIT, self.zygote.fork(theirs.in_order())).await;
        let forked =
            copied.map_err(|_| io::Error::other("the kernel made no copy of itself"))??;
        let process = Process::forked(forked.pid, forked.ended);
        let mark = Mark::new(forked.pid, &wires.inodes)?;
        let widgets = self.widgets.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Fresh { process, wires, mark, origin: Origin::Forked, widgets, notice: None })
    }
}

impl Backend for Copies {
    fn kind(&self) -> BackendKind {
        BackendKind::Runner
    }

    fn launch<'a>(
        &'a self,
        spec: &'a KernelSpec,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<LaunchedKernel, LaunchError>> {
        start(self.copy(), (spec, self.python.clone()), self.trace.clone(), cancel).boxed()
    }
}
