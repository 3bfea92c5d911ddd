//! The channel of a kernel's output, which is read at all times: a kernel drops output that is not
//! taken in time, and a task would have to wait for its turn.
//!
//! Owns the choice of the reader. Usually the task that waits for a message reads. One thread looks
//! after all kernels of a backend: it moves output that stays unread into the kernel's spool. Other
//! modules know the meaning of messages.

use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak, mpsc};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::jupyter::spool::{Bounds, Room, Spool};
use crate::zmq::socket::{OpenSocket, Stream};
use crate::zmq::zmtp::{Decoder, Incoming};

/// Time that output may stay unread before the thread takes it. A kernel holds a thousand messages,
/// and even a flood takes much longer to fill that.
const SOON: Duration = Duration::from_millis(2);

/// Bytes that the thread takes with one read.
const DRAIN_BYTES: usize = 1 << 18;

/// Reads for one kernel before the other kernels get their turn.
const READS: usize = 4;

/// Stack of the thread in bytes; the thread needs very little.
const STACK_BYTES: usize = 128 << 10;

/// The thread that looks after all kernels of a backend, while there are any.
#[derive(Default)]
pub(crate) struct Drains(Mutex<Weak<Thread>>);

/// The running thread. Dropping this ends it.
struct Thread {
    runtime: Handle,
    /// Shared by all kernels, because it is only used between two waits.
    buffer: Arc<Mutex<Vec<u8>>>,
    _end: oneshot::Sender<()>,
}

/// The output channel of one kernel.
pub(crate) struct Output {
    stream: Stream,
    decoder: Decoder,
    drain: Arc<Drain>,
    /// Topic with our only subscriber, so that the kernel's welcome proves our own subscription.
    pub(crate) topic: String,
    task: AbortHandle,
    _thread: Arc<Thread>,
}

/// State that the thread and the waiting reader share.
struct Drain {
    spool: Spool,
    /// Number of times that data has arrived.
    reads: AtomicU64,
    is_crowded: AtomicBool,
}

/// Result of one step of the thread.
enum DrainStep {
    /// Bytes were moved, and earlier ones still wait for the reader.
    Backlog,
    Bytes,
    Nothing,
    /// The spool has no room.
    Full,
    End,
}

impl Drains {
    fn thread(&self) -> io::Result<Arc<Thread>> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = running.upgrade() {
            return Ok(thread);
        }
        let thread = Arc::new(Thread::start()?);
        *running = Arc::downgrade(&thread);
        Ok(thread)
    }

    /// Begins to look after a connection. Output that waits too long is stored in `folder`.
    pub(crate) fn output(
        &self,
        joined: OpenSocket,
        topic: String,
        folder: &Path,
    ) -> io::Result<Output> {
        let thread = self.thread()?;
        let OpenSocket { stream, decoder } = joined;
        let drain = Arc::new(Drain {
            spool: Spool::new(folder, Bounds::USUAL),
            reads: AtomicU64::new(0),
            is_crowded: AtomicBool::new(false),
        });
        let shared = stream.shared_with(&thread.runtime)?;
        let work = Arc::clone(&drain).run(shared, Arc::clone(&thread.buffer));
        let task = thread.runtime.spawn(work).abort_handle();
        Ok(Output { stream, decoder, drain, topic, task, _thread: thread })
    }
}

impl Thread {
    fn start() -> io::Result<Thread> {
        let (end, ended) = oneshot::channel::<()>();
        let (tell, told) = mpsc::sync_channel(1);
        let run = move || {
            // Create and drop the runtime here: a runtime must not end inside another one.
            match Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => {
                    let _ = tell.send(Ok(runtime.handle().clone()));
                    let _ = runtime.block_on(ended);
                }
                Err(error) => drop(tell.send(Err(error))),
            }
        };
        let thread = std::thread::Builder::new().name("inkcell-iopub".to_owned());
        thread.stack_size(STACK_BYTES).spawn(run)?;
        let runtime = told.recv().map_err(io::Error::other)??;
        let buffer = Arc::new(Mutex::new(vec![0; DRAIN_BYTES]));
        Ok(Thread { runtime, buffer, _end: end })
    }
}

impl Output {
    /// Returns the next message, or `None` when the kernel has closed the channel. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<io::Result<Vec<Bytes>>> {
        loop {
            match self.decoder.next() {
                Ok(Some(Incoming::Message(frames))) => return Some(Ok(frames)),
                // Commands need no answer here: a subscriber only listens.
                Ok(Some(Incoming::Command(_))) => {}
                Ok(None) => poll_fn(|context| self.poll_more(context)).await?,
                Err(problem) => return Some(Err(problem.into())),
            }
        }
    }

    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<Option<()>> {
        let mut held = self.drain.spool.hold();
        if let Some(bytes) = held.pop() {
            self.decoder.buffer().extend_from_slice(&bytes);
            return Poll::Ready(Some(()));
        }
        if held.is_closed() {
            return Poll::Ready(None);
        }
        held.wake_by(context);
        // The spool is empty, so the next bytes of the stream follow. Holding the spool keeps the
        // thread from reading.
        let read = ready!(self.stream.poll_more(&mut self.decoder, context));
        self.drain.reads.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(read.ok())
    }

    /// Returns a count that grows whenever data arrives.
    pub(crate) fn reads(&self) -> u64 {
        self.drain.reads.load(Ordering::Relaxed)
    }

    /// Returns `true` if messages had to wait in the kernel since the last call.
    pub(crate) fn take_crowded(&self) -> bool {
        self.drain.is_crowded.swap(false, Ordering::SeqCst)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Drain {
    async fn run(self: Arc<Drain>, stream: Stream, buffer: Arc<Mutex<Vec<u8>>>) {
        let mut is_behind = false;
        while stream.readable().await.is_ok() {
            // Leave a waiting reader time to take it, which saves one step.
            if !is_behind {
                tokio::time::sleep(SOON).await;
            }
            is_behind = false;
            for turn in 1.. {
                match self.take(&stream, &buffer) {
                    DrainStep::Backlog => is_behind = true,
                    DrainStep::Bytes => {}
                    DrainStep::Nothing => break,
                    DrainStep::Full => self.spool.room().await,
                    DrainStep::End => return self.spool.hold().close(),
                }
                if turn % READS == 0 {
                    tokio::task::yield_now().await;
                }
            }
        }
        self.spool.hold().close();
    }

    fn take(&self, stream: &Stream, buffer: &Mutex<Vec<u8>>) -> DrainStep {
        let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut held = self.spool.hold();
        if !held.has_room() {
            return DrainStep::Full;
        }
        let size = match stream.try_read(&mut buffer) {
            Ok(0) => return DrainStep::End,
            Ok(size) => size,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return DrainStep::Nothing,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return DrainStep::Bytes,
            Err(_) => return DrainStep::End,
        };
        self.reads.fetch_add(1, Ordering::Relaxed);
        let found = if held.is_empty() { DrainStep::Bytes } else { DrainStep::Backlog };
        if held.push(&buffer[..size]) == Room::Late {
            self.is_crowded.store(true, Ordering::SeqCst);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::UnixStream;
    use tokio::time::timeout;

    use super::*;
    use crate::zmq::zmtp;

    /// Longer than any step of these tests takes.
    const LIMIT: Duration = Duration::from_secs(60);

    const MESSAGE_BYTES: usize = 1 << 16;

    /// Returns a kernel's end of a connection, and ours. Without a folder for waiting output.
    fn pair(drains: &Drains) -> (UnixStream, Output) {
        let (kernel, ours) = UnixStream::pair().unwrap();
        let joined = OpenSocket { stream: Stream::Unix(ours), decoder: Decoder::default() };
        let folder = tempfile::tempdir().unwrap();
        (kernel, drains.output(joined, String::new(), &folder.path().join("absent")).unwrap())
    }

    fn message(number: u32) -> Vec<u8> {
        let mut body = vec![0; MESSAGE_BYTES];
        body[..4].copy_from_slice(&number.to_le_bytes());
        zmtp::encode(&[Bytes::from(body)])
    }

    async fn say(kernel: &mut UnixStream, numbers: std::ops::Range<u32>) {
        for number in numbers {
            kernel.write_all(&message(number)).await.unwrap();
        }
    }

    async fn hear(output: &mut Output, numbers: std::ops::Range<u32>) {
        for number in numbers {
            let frames = timeout(LIMIT, output.next()).await.unwrap().unwrap().unwrap();
            assert_eq!((frames.len(), frames[0].len()), (1, MESSAGE_BYTES));
            assert_eq!(frames[0][..4], number.to_le_bytes());
        }
    }

    /// Trap 1: output without a reader is still taken from the kernel, and the end of the channel
    /// comes after it.
    #[tokio::test]
    async fn a_kernel_gets_rid_of_what_it_says() {
        let drains = Drains::default();
        let (mut kernel, mut output) = pair(&drains);
        timeout(LIMIT, say(&mut kernel, 0..100)).await.unwrap();
        drop(kernel);
        hear(&mut output, 0..100).await;
        assert!(timeout(LIMIT, output.next()).await.unwrap().is_none());
        drop(output);
        assert!(drains.0.lock().unwrap().upgrade().is_none(), "the thread goes with the last");
    }

    /// Both read at once, and the order is kept.
    #[tokio::test]
    async fn what_is_waited_for_comes_in_order() {
        let drains = Drains::default();
        let (mut kernel, mut output) = pair(&drains);
        let said = tokio::spawn(async move { say(&mut kernel, 0..1000).await });
        hear(&mut output, 0..500).await;
        let taken = async {
            while output.drain.spool.hold().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        timeout(LIMIT, taken).await.unwrap();
        hear(&mut output, 500..1000).await;
        said.await.unwrap();
        assert!(timeout(LIMIT, output.next()).await.unwrap().is_none());
    }

    /// A kernel whose output has no room waits. It loses nothing, and no other kernel waits with
    /// it.
    #[tokio::test]
    async fn one_that_floods_holds_up_nobody_else() {
        const MANY: u32 = 300;
        let drains = Drains::default();
        let (mut flooding, mut flood) = pair(&drains);
        let (mut quiet, mut few) = pair(&drains);
        let said = tokio::spawn(async move { say(&mut flooding, 0..MANY).await });
        let full = async {
            while flood.drain.spool.hold().has_room() {
                tokio::task::yield_now().await;
            }
        };
        timeout(LIMIT, full).await.unwrap();
        timeout(LIMIT, say(&mut quiet, 0..50)).await.unwrap();
        hear(&mut few, 0..50).await;
        assert!(!said.is_finished(), "more than there is room for");
        hear(&mut flood, 0..MANY).await;
        said.await.unwrap();
        assert!(flood.take_crowded() && !few.take_crowded());
    }
}
