//! The thread that shows what code does while it runs.
//!
//! Owns the writing to our own streams, so that a reader who does not read holds up this thread and
//! nothing else. What is written is decided by a `Show`.

use std::io;
use std::sync::mpsc;
use std::time::Duration;

use inkcell_engine::Tapped;

use crate::client::AskHandle;
use crate::render::ending::Summary;
use crate::render::live::Show;

/// After so many events the host is told that there is room again.
const TOLD_EVERY: usize = 16;

pub(crate) struct Listener {
    pub(crate) events: mpsc::Sender<Tapped>,
    pub(crate) rest: Rest,
}

/// What is left to be shown once the code has ended.
pub(crate) struct Rest {
    summary: mpsc::Sender<Summary>,
    done: mpsc::Receiver<io::Result<()>>,
}

/// What has become of what was left.
pub(crate) enum Shown {
    All(io::Result<()>),
    /// Not everything in the time that was given.
    NotYet,
}

impl Listener {
    pub(crate) fn start(show: Box<dyn Show>, host: AskHandle) -> io::Result<Listener> {
        let (events, queue) = mpsc::channel();
        let (summary, last) = mpsc::channel();
        let (told, done) = mpsc::channel();
        std::thread::Builder::new().name("listener".to_owned()).spawn(move || {
            // Nobody is left to hear of it when this fails.
            let _ = told.send(listen(show, &queue, &last, &host));
        })?;
        Ok(Listener { events, rest: Rest { summary, done } })
    }
}

impl Rest {
    /// Hands over the end.
    pub(crate) fn end(&self, summary: Summary) {
        // A thread that is gone says why below.
        let _ = self.summary.send(summary);
    }

    /// Waits for a while until everything was shown. Dropped, it leaves the thread to itself.
    pub(crate) fn wait(&self, time: Duration) -> Shown {
        match self.done.recv_timeout(time) {
            Ok(shown) => Shown::All(shown),
            Err(mpsc::RecvTimeoutError::Timeout) => Shown::NotYet,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                Shown::All(Err(io::Error::other("the listener is gone")))
            }
        }
    }
}

fn listen(
    mut show: Box<dyn Show>,
    queue: &mpsc::Receiver<Tapped>,
    last: &mpsc::Receiver<Summary>,
    host: &AskHandle,
) -> io::Result<()> {
    let mut shown = 0;
    loop {
        let (cell, event) = match queue.try_recv() {
            Ok(event) => event,
            Err(mpsc::TryRecvError::Disconnected) => break,
            Err(mpsc::TryRecvError::Empty) => {
                show.pause()?;
                if shown > 0 {
                    host.shown(std::mem::take(&mut shown));
                }
                match queue.recv() {
                    Ok(event) => event,
                    Err(_) => break,
                }
            }
        };
        show.event(cell, event)?;
        shown += 1;
        if shown >= TOLD_EVERY {
            host.shown(std::mem::take(&mut shown));
        }
    }
    show.pause()?;
    match last.recv() {
        Ok(summary) => show.end(&summary),
        Err(_) => Ok(()),
    }
}
