//! The fork server seen from the host: takes requests for runners, and reports their ends.
//!
//! Owns one process per interpreter and environment. It only saves time: if it cannot be used, the caller
//! starts a runner directly, and keeps the reason for the status.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader, Interest};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::process::{Process, ReapedStatus, Spawner, children, kill_group};
use crate::runner::boot::{self, Kind, Role};
use crate::trace::{KernelTrace, ZygoteState};

/// A running fork server.
pub(crate) struct Zygote {
    requests: mpsc::Sender<Request>,
    state: watch::Receiver<ZygoteState>,
    pid: u32,
    unwanted: CancellationToken,
    /// Set once its process has ended and its status was taken.
    over: CancellationToken,
    /// Dropping this value ends the fork server, even if it does not answer.
    _wanted: DropGuard,
}

struct Request {
    fds: [OwnedFd; 5],
    reply: oneshot::Sender<io::Result<RunnerCopy>>,
}

/// A forked runner, and the report of its end.
pub(crate) struct RunnerCopy {
    pub(crate) pid: u32,
    pub(crate) ended: oneshot::Receiver<ReapedStatus>,
}

#[derive(Deserialize)]
#[serde(tag = "t", rename_all = "lowercase")]
enum ServerReport {
    Ready {
        failed: BTreeMap<String, String>,
        /// Why it cannot make copies, if it already knows.
        #[serde(default)]
        refused: Option<String>,
    },
    Forked {
        pid: u32,
    },
    Refused {
        reason: String,
    },
    Exit {
        pid: u32,
        status: i32,
    },
}

impl Zygote {
    pub(crate) async fn start(
        spawner: &Spawner,
        kind: &Kind,
        trace: Option<Arc<dyn KernelTrace>>,
    ) -> io::Result<Zygote> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let mut command =
            boot::command(Role::ForkServer, kind, [theirs.as_raw_fd()], &kind.preload);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = spawner.spawn(command, vec![theirs.into()]).await?;
        let pid = child.id();
        let end = move |told: &[u32]| {
            // If it was killed between a fork and the report, it leaves a copy that no process knows.
            let mut untold = children(pid);
            untold.retain(|copy| !told.contains(copy));
            Process::own(child).destroy();
            untold.into_iter().map(Process::orphan).for_each(Process::destroy);
        };
        let zygote = Zygote::on(UnixStream::from_std(ours)?, pid, end);
        if let Some(trace) = trace {
            tokio::spawn(tell(kind.python.clone(), zygote.state.clone(), trace));
        }
        Ok(zygote)
    }

    /// Connects to a process that makes copies of itself, over this stream. Calls `end` when the stream ends, with
    /// the copies that the process reported.
    pub(crate) fn on(
        stream: UnixStream,
        pid: u32,
        end: impl FnOnce(&[u32]) + Send + 'static,
    ) -> Zygote {
        let (requests, queue) = mpsc::channel(16);
        let (sender, state) = watch::channel(ZygoteState::Starting);
        let unwanted = CancellationToken::new();
        let over = CancellationToken::new();
        // Notifies callers that wait for its end, even if the runtime ends first.
        let (given_up, has_ended) = (unwanted.clone(), over.clone().drop_guard());
        tokio::spawn(async move {
            let ends = Ends::default();
            tokio::select! {
                () = serve(stream, queue, &sender, &ends) => {}
                () = given_up.cancelled() => {}
            }
            sender.send_replace(ZygoteState::Gone);
            let told: Vec<u32> = std::mem::take(&mut *locked(&ends)).into_keys().collect();
            end(&told);
            drop(has_ended);
        });
        let wanted = unwanted.clone().drop_guard();
        Zygote { requests, state, pid, unwanted, over, _wanted: wanted }
    }

    /// Ends it, and returns once nothing of it remains.
    pub(crate) async fn end(&self) {
        self.unwanted.cancel();
        self.over.cancelled().await;
    }

    pub(crate) fn state(&self) -> ZygoteState {
        self.state.borrow().clone()
    }

    /// Waits until it reports whether it can be used, and returns its state. The wait does not keep it alive.
    pub(crate) fn settled(&self) -> impl Future<Output = ZygoteState> + Send + use<> {
        let mut state = self.state.clone();
        async move {
            let settled = state.wait_for(|state| *state != ZygoteState::Starting).await;
            settled.map_or(ZygoteState::Gone, |state| state.clone())
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Requests a runner on these descriptors.
    pub(crate) async fn fork(&self, fds: [OwnedFd; 5]) -> io::Result<RunnerCopy> {
        let (reply, answer) = oneshot::channel();
        let gone = || io::Error::other("the fork server is gone");
        self.requests.send(Request { fds, reply }).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

/// Traces the states of a fork server, until it ends.
async fn tell(
    python: PathBuf,
    mut state: watch::Receiver<ZygoteState>,
    trace: Arc<dyn KernelTrace>,
) {
    while state.changed().await.is_ok() {
        let now = state.borrow_and_update().clone();
        trace.fork_server(&python, &now);
        if now == ZygoteState::Gone {
            return;
        }
    }
}

/// The reported copies, each with the sender for its end.
type Ends = Mutex<HashMap<u32, oneshot::Sender<ReapedStatus>>>;

fn locked(ends: &Ends) -> MutexGuard<'_, HashMap<u32, oneshot::Sender<ReapedStatus>>> {
    ends.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends requests one at a time and handles the reports, until either side closes.
async fn serve(
    stream: UnixStream,
    mut queue: mpsc::Receiver<Request>,
    state: &watch::Sender<ZygoteState>,
    ends: &Ends,
) {
    let (read, write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let mut asked: Option<oneshot::Sender<io::Result<RunnerCopy>>> = None;
    loop {
        let request = tokio::select! {
            line = lines.next_line() => {
                let Ok(Some(line)) = line else { return };
                let Ok(said) = serde_json::from_str::<ServerReport>(&line) else { return };
                hear(said, state, ends, &mut asked);
                continue;
            }
            // Even before the server is ready: the queue closes when its last user drops it.
            request = queue.recv(), if asked.is_none() => request,
        };
        let Some(Request { fds, reply }) = request else { return };
        let sent = write.as_ref().async_io(Interest::WRITABLE, || send(write.as_ref(), &fds));
        match sent.await {
            Ok(()) => asked = Some(reply),
            Err(error) => {
                let _ = reply.send(Err(error));
                return;
            }
        }
    }
}

/// Sends the descriptors of one runner, with one byte to carry them.
fn send(stream: &UnixStream, fds: &[OwnedFd]) -> io::Result<()> {
    let borrowed: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(5))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&borrowed)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let request = [IoSlice::new(b"f")];
    rustix::net::sendmsg(stream, &request, &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn hear(
    said: ServerReport,
    state: &watch::Sender<ZygoteState>,
    ends: &Ends,
    asked: &mut Option<oneshot::Sender<io::Result<RunnerCopy>>>,
) {
    let mut ends = locked(ends);
    match said {
        ServerReport::Ready { failed, refused } => {
            let now = refused.map_or(ZygoteState::Ready { failed }, ZygoteState::Refused);
            state.send_replace(now);
        }
        ServerReport::Forked { pid } => {
            let (sender, ended) = oneshot::channel();
            let is_taken =
                asked.take().is_some_and(|reply| reply.send(Ok(RunnerCopy { pid, ended })).is_ok());
            if is_taken {
                ends.insert(pid, sender);
            } else {
                kill_group(pid, rustix::process::Signal::KILL);
            }
        }
        ServerReport::Refused { reason } => {
            state.send_replace(ZygoteState::Refused(reason.clone()));
            if let Some(reply) = asked.take() {
                let _ = reply.send(Err(io::Error::other(reason)));
            }
        }
        ServerReport::Exit { pid, status } => {
            if let Some(sender) = ends.remove(&pid) {
                let _ = sender.send(ReapedStatus::from_raw(status));
            }
        }
    }
}
