//! Connections of a host: each is greeted, asks once, gets its answer, and is noticed when it goes.
//!
//! Owns who may connect and how frames travel. The answers are in `answer`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::process::getuid;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::OwnedReadHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::answer::answer;
use super::frames::{Answer, Ask, FromHost, Hello, Refusal, ToHost, WINDOW};
use super::talk::{Host, Talk, line, send};
use crate::exit::Failure;
use crate::settings::Surroundings;
use crate::words;

/// How many frames may wait for a client; beyond that their producer waits.
const QUEUE: usize = 16;

/// The longest line, in bytes. Code may be large, and the sender is the same user.
const LONGEST: u64 = 512 << 20;

/// Serves all clients, until the host is to end.
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
    // The permissions of the folder already shut other users out; this is a second check.
    let is_ours = stream.peer_cred().is_ok_and(|peer| peer.uid() == getuid().as_raw());
    if !is_ours {
        return;
    }
    host.clients.fetch_add(1, Ordering::SeqCst);
    // A client that goes away in the middle has received what was ready.
    let _ = converse(&host, stream).await;
    host.calls.settle();
    host.clients.fetch_sub(1, Ordering::SeqCst);
}

async fn converse(host: &Host, stream: UnixStream) -> io::Result<()> {
    let peer = stream.peer_cred().ok().and_then(|peer| peer.pid());
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::with_capacity(64 << 10, read);
    // A client that only sends a notice may be gone before the greeting, and its notice still
    // counts.
    let _ = send(&mut write, &FromHost::Hello(Hello::own())).await;
    let Some(frame) = receive(&mut read).await? else { return Ok(()) };
    let (caller, ask) = match frame {
        Ok(ToHost::Call { caller, ask }) => (caller, ask),
        Ok(ToHost::Edited(edits)) => {
            // This process already knows its own changes.
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
            // Send all ready frames together.
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
        // Keep the senders, so that a receiver does not take their end for a message.
        std::future::pending::<()>().await;
    });
    let done = answered(host, *caller, *ask, talk).await;
    let _ = events.send(FromHost::Done(done)).await;
    drop(events);
    let _ = writing.await;
    listening.abort();
    Ok(())
}

/// Answers in a task of its own, so that a panic becomes a refusal of this one call.
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
            words::host::FAILED_INSIDE,
            io::Error::other(words::host::OTHERS_NOT_AFFECTED),
        ))),
    }
}

/// The next frame; none at the end. A malformed frame is returned as an error text.
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
