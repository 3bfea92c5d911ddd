//! The thread that shows what code does while it runs.
//!
//! Owns the writing to our own streams, so that a reader who does not read holds up this thread and
//! nothing else. What is written is decided by a `Show`.

use std::io;

use inkcell_engine::Tapped;
use tokio::sync::{mpsc, oneshot};

use crate::render::ending::Summary;
use crate::render::live::Show;

/// How many events may wait to be shown; the code is held up beyond that.
const QUEUE: usize = 16;

pub(crate) struct Listener {
    pub(crate) events: mpsc::Sender<Tapped>,
    pub(crate) rest: Rest,
}

/// What is left to be shown once the code has ended.
pub(crate) struct Rest {
    summary: oneshot::Sender<Summary>,
    done: oneshot::Receiver<io::Result<()>>,
}

impl Listener {
    pub(crate) fn start(show: Box<dyn Show>) -> io::Result<Listener> {
        let (events, queue) = mpsc::channel(QUEUE);
        let (summary, last) = oneshot::channel();
        let (told, done) = oneshot::channel();
        std::thread::Builder::new().name("listener".to_owned()).spawn(move || {
            // Nobody is left to hear of it when this fails.
            let _ = told.send(listen(show, queue, last));
        })?;
        Ok(Listener { events, rest: Rest { summary, done } })
    }
}

impl Rest {
    /// Hands over the end and waits until everything was shown. Dropped, it leaves the thread to itself.
    pub(crate) async fn finish(self, summary: Summary) -> io::Result<()> {
        // A thread that is gone says why below.
        let _ = self.summary.send(summary);
        self.done.await.unwrap_or_else(|_| Err(io::Error::other("the listener is gone")))
    }
}

fn listen(
    mut show: Box<dyn Show>,
    mut queue: mpsc::Receiver<Tapped>,
    last: oneshot::Receiver<Summary>,
) -> io::Result<()> {
    loop {
        match queue.try_recv() {
            Ok((cell, event)) => show.event(cell, event)?,
            Err(mpsc::error::TryRecvError::Disconnected) => break,
            Err(mpsc::error::TryRecvError::Empty) => {
                show.pause()?;
                match queue.blocking_recv() {
                    Some((cell, event)) => show.event(cell, event)?,
                    None => break,
                }
            }
        }
    }
    show.pause()?;
    match last.blocking_recv() {
        Ok(summary) => show.end(&summary),
        Err(_) => Ok(()),
    }
}
