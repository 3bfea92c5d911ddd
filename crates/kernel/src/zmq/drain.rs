//! The channel of a kernel's output, which is read whatever else goes on: a kernel drops what is not taken from it
//! in time, and a task would have to wait for its turn.
//!
//! Owns who reads it. Usually that is whoever waits for a message. One thread looks after all kernels of a backend:
//! what nobody has taken soon, it takes into the kernel's spool. What messages mean is for others.

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
use crate::zmq::socket::{Joined, Stream};
use crate::zmq::zmtp::{Decoder, Incoming};

/// How long something may lie there before the thread takes it. A kernel holds a thousand messages, which even a
/// flood needs much longer for.
const SOON: Duration = Duration::from_millis(2);

/// What the thread takes with one read.
const DRAIN_BYTES: usize = 1 << 18;

/// How many times it reads for one kernel before others have their turn.
const READS: usize = 4;

/// It needs next to nothing.
const STACK_BYTES: usize = 128 << 10;

/// The thread that looks after all kernels of a backend, while there are any.
#[derive(Default)]
pub(crate) struct Drains(Mutex<Weak<Thread>>);

/// Dropped, it ends.
struct Thread {
    runtime: Handle,
    /// One is enough: it is only used between two waits.
    buffer: Arc<Mutex<Vec<u8>>>,
    _end: oneshot::Sender<()>,
}

/// The channel of output of one kernel.
pub(crate) struct Output {
    stream: Stream,
    decoder: Decoder,
    drain: Arc<Drain>,
    /// What we alone have subscribed to, so that the kernel's welcome proves our subscription.
    pub(crate) topic: String,
    task: AbortHandle,
    _thread: Arc<Thread>,
}

/// What the thread and whoever waits for messages share.
struct Drain {
    spool: Spool,
    /// How many times something has come.
    reads: AtomicU64,
    is_crowded: AtomicBool,
}

/// What the thread found.
enum Found {
    /// Bytes, and whoever waits for messages has not yet taken those before them.
    Backlog,
    Bytes,
    Nothing,
    /// There is no room for any.
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

    /// Begins to look after a connection. Output that waits too long lies in this folder.
    pub(crate) fn output(
        &self,
        joined: Joined,
        topic: String,
        folder: &Path,
    ) -> io::Result<Output> {
        let thread = self.thread()?;
        let Joined { stream, decoder } = joined;
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
            // Made and dropped here: a runtime must not end inside of another.
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
    /// The next message; none when the kernel has closed the channel. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<io::Result<Vec<Bytes>>> {
        loop {
            match self.decoder.next() {
                Ok(Some(Incoming::Message(frames))) => return Some(Ok(frames)),
                // Nothing is due to a command here: subscribers only listen.
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
        // Nothing waits, so what comes now is next; and nobody else reads while the spool is held.
        let read = ready!(self.stream.poll_more(&mut self.decoder, context));
        self.drain.reads.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(read.ok())
    }

    /// A count that moves whenever something comes.
    pub(crate) fn reads(&self) -> u64 {
        self.drain.reads.load(Ordering::Relaxed)
    }

    /// Whether messages had to wait in the kernel since this was last asked.
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
            // Whoever waits for it takes it with one step less.
            if !is_behind {
                tokio::time::sleep(SOON).await;
            }
            is_behind = false;
            for turn in 1.. {
                match self.take(&stream, &buffer) {
                    Found::Backlog => is_behind = true,
                    Found::Bytes => {}
                    Found::Nothing => break,
                    Found::Full => self.spool.room().await,
                    Found::End => return self.spool.hold().close(),
                }
                if turn % READS == 0 {
                    tokio::task::yield_now().await;
                }
            }
        }
        self.spool.hold().close();
    }

    fn take(&self, stream: &Stream, buffer: &Mutex<Vec<u8>>) -> Found {
        let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut held = self.spool.hold();
        if !held.has_room() {
            return Found::Full;
        }
        let size = match stream.try_read(&mut buffer) {
            Ok(0) => return Found::End,
            Ok(size) => size,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Found::Nothing,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Found::Bytes,
            Err(_) => return Found::End,
        };
        self.reads.fetch_add(1, Ordering::Relaxed);
        let found = if held.is_empty() { Found::Bytes } else { Found::Backlog };
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

    /// Longer than anything here takes.
    const LIMIT: Duration = Duration::from_secs(60);

    const MESSAGE_BYTES: usize = 1 << 16;

    /// A kernel's end of a connection, and ours. There is no folder for what waits.
    fn pair(drains: &Drains) -> (UnixStream, Output) {
        let (kernel, ours) = UnixStream::pair().unwrap();
        let joined = Joined { stream: Stream::Unix(ours), decoder: Decoder::default() };
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

    /// Trap 1: what nobody waits for is taken from the kernel all the same; its end is seen behind it.
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

    /// One kernel whose output has no room any more waits; nothing of it is lost, and no other waits with it.
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
