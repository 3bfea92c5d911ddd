//! Connections of a host: each greeted, asked once, answered, and noticed when it is gone.
//!
//! Owns who may connect and how frames travel. What is answered is in `answer`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use inkcell_engine::Engine;
use inkcell_engine::kernel::InputReply;
use inkcell_engine::registry::OwnerId;
use rustix::process::getuid;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::answer::answer;
use super::frames::{Answer, Ask, FromHost, Hello, HostEvent, Refusal, ToHost, WINDOW};
use crate::exit::Failure;
use crate::mcp::Calls;
use crate::settings::{Profile, Surroundings};

/// How many frames may wait for a client; whoever makes them waits beyond that.
const QUEUE: usize = 16;

/// The longest line. Code may be large, and whoever sends it is the same user.
const LONGEST: u64 = 512 << 20;

/// What a host has. Clones are the same host.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) engine: Engine,
    pub(crate) profile: Profile,
    /// Whether it ends with its only call.
    pub(crate) life: Life,
    /// Set when it is to end.
    pub(crate) ending: CancellationToken,
    /// The calls of agents' clients.
    pub(crate) calls: Calls,
    pub(super) started: Instant,
    pub(super) clients: Arc<AtomicUsize>,
    owners: Arc<AtomicU64>,
}

/// For how long a host is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life {
    /// For one command: when its call is answered no kernel is left.
    OneCall,
    /// Until it is told to end, or nobody needs it.
    Long,
}

/// Owners that are no clients of a host have smaller numbers.
const FIRST_OWNER: u64 = 1 << 32;

impl Host {
    pub(crate) fn new(engine: Engine, profile: Profile, life: Life) -> Host {
        let calls = Calls::default();
        Host {
            engine,
            profile,
            life,
            ending: calls.ending.clone(),
            calls,
            started: Instant::now(),
            clients: Arc::default(),
            owners: Arc::new(AtomicU64::new(FIRST_OWNER)),
        }
    }

    /// A number for somebody who uses sessions.
    pub(super) fn new_owner(&self) -> OwnerId {
        OwnerId(self.owners.fetch_add(1, Ordering::Relaxed))
    }

    /// How many are connected.
    pub(crate) fn clients(&self) -> usize {
        self.clients.load(Ordering::SeqCst)
    }
}

/// Serves whoever connects, until the host is to end.
pub(crate) async fn listen(host: Host, listener: UnixListener) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = host.ending.cancelled() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                tokio::spawn(serve_one(host.clone(), stream));
            }
            // Descriptors may be scarce for a moment; trying again at once would only burn time.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
        }
    }
}

/// Serves one connection to its end.
pub(crate) async fn serve_one(host: Host, stream: UnixStream) {
    // The folder is closed to others already; this is a second door.
    let is_ours = stream.peer_cred().is_ok_and(|peer| peer.uid() == getuid().as_raw());
    if !is_ours {
        return;
    }
    host.clients.fetch_add(1, Ordering::SeqCst);
    // Whoever goes away in the middle has had what there was.
    let _ = converse(&host, stream).await;
    host.clients.fetch_sub(1, Ordering::SeqCst);
}

/// What a call has of its client.
pub(super) struct Talk {
    pub(super) events: mpsc::Sender<FromHost>,
    /// How often it was taken back.
    pub(super) cancels: watch::Receiver<u32>,
    /// What its code was answered.
    pub(super) replies: mpsc::UnboundedReceiver<InputReply>,
    /// How many more events of code it has room for.
    pub(super) room: Arc<Semaphore>,
    /// Set when the client is gone.
    pub(super) gone: CancellationToken,
}

impl Talk {
    /// Tells the client; one that is gone is not told.
    pub(super) async fn tell(&self, event: HostEvent) {
        let _ = self.events.send(FromHost::Event(Box::new(event))).await;
    }

    /// Returns when the call was taken back so often.
    pub(super) async fn cancelled(&self, times: u32) {
        let mut cancels = self.cancels.clone();
        if cancels.wait_for(|so_far| *so_far >= times).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

async fn converse(host: &Host, stream: UnixStream) -> io::Result<()> {
    let peer = stream.peer_cred().ok().and_then(|peer| peer.pid());
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::with_capacity(64 << 10, read);
    // Whoever only tells something may be gone before it is greeted, and is heard all the same.
    let _ = send(&mut write, &FromHost::Hello(Hello::own())).await;
    let Some(frame) = receive(&mut read).await? else { return Ok(()) };
    let (caller, ask) = match frame {
        Ok(ToHost::Call { caller, ask }) => (caller, ask),
        Ok(ToHost::Edited(edits)) => {
            // What was changed in this very process is known here already.
            if peer != Some(rustix::process::getpid().as_raw_pid()) {
                for edit in &edits {
                    host.engine.feeds().edited_elsewhere(edit);
                }
            }
            return Ok(());
        }
        Ok(ToHost::EditFailed(failure)) => {
            if peer != Some(rustix::process::getpid().as_raw_pid()) {
                host.engine.feeds().edit_failed(&failure);
            }
            return Ok(());
        }
        Ok(_) => return Ok(()),
        Err(problem) => {
            let done = FromHost::Done(Err(Refusal::from(Failure::argument("frame", problem))));
            return send(&mut write, &done).await;
        }
    };
    if let Ask::Mcp(asked) = *ask {
        return super::answer::mcp(host, (*caller, asked), read, write).await;
    }
    let (events, mut queue) = mpsc::channel::<FromHost>(QUEUE);
    let writing = tokio::spawn(async move {
        while let Some(frame) = queue.recv().await {
            let mut bytes = line(&frame);
            // What is ready goes out together.
            while bytes.len() < 64 << 10 {
                let Ok(more) = queue.try_recv() else { break };
                bytes.extend(line(&more));
            }
            if write.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    let (times, cancels) = watch::channel(0);
    let (replied, replies) = mpsc::unbounded_channel();
    let gone = CancellationToken::new();
    let room = Arc::new(Semaphore::new(WINDOW));
    let talk = Talk {
        events: events.clone(),
        cancels,
        replies,
        room: Arc::clone(&room),
        gone: gone.clone(),
    };
    let listening = tokio::spawn(async move {
        while let Ok(Some(Ok(frame))) = receive(&mut read).await {
            match frame {
                ToHost::Cancel => times.send_modify(|times| *times += 1),
                ToHost::Reply(line) => drop(replied.send(line)),
                ToHost::Room(more) => room.add_permits(more.min(WINDOW)),
                ToHost::Call { .. } | ToHost::Edited(_) | ToHost::EditFailed(_) => break,
            }
        }
        gone.cancel();
        // The senders are kept, so that whoever waits for another word does not take this for one.
        std::future::pending::<()>().await;
    });
    let done = answered(host, *caller, *ask, talk).await;
    let _ = events.send(FromHost::Done(done)).await;
    drop(events);
    let _ = writing.await;
    listening.abort();
    Ok(())
}

/// Answers in a task of its own, so that a panic is a refusal of this one call.
async fn answered(
    host: &Host,
    caller: Surroundings,
    ask: Ask,
    talk: Talk,
) -> Result<Box<Answer>, Refusal> {
    let host = host.clone();
    let work = tokio::spawn(async move { answer(&host, caller, ask, talk).await });
    match work.await {
        Ok(done) => done.map(Box::new).map_err(Refusal::from),
        Err(_) => Err(Refusal::from(Failure::Io(
            "inkcell failed inside of its host; this is a bug of inkcell",
            io::Error::other("other calls are not affected"),
        ))),
    }
}

fn line(frame: &FromHost) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(frame).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

pub(super) async fn send(write: &mut OwnedWriteHalf, frame: &FromHost) -> io::Result<()> {
    write.write_all(&line(frame)).await
}

/// The next frame; none at the end. What cannot be read as one is a problem in words.
async fn receive(
    read: &mut BufReader<OwnedReadHalf>,
) -> io::Result<Option<Result<ToHost, String>>> {
    let mut bytes = Vec::new();
    let mut limited = tokio::io::AsyncReadExt::take(read, LONGEST);
    let length = limited.read_until(b'\n', &mut bytes).await?;
    if length == 0 || bytes.last() != Some(&b'\n') {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&bytes).map_err(|error| error.to_string())))
}
