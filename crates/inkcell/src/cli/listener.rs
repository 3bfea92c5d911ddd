//! The thread that shows the output of code while it runs.
//!
//! Owns the writing to our own streams, so that a stalled reader holds up this thread and nothing
//! else. A `Show` decides what is written.

use std::io;
use std::sync::mpsc;
use std::time::Duration;

use crate::client::AskHandle;
use crate::host::HostEvent;
use crate::view::ending::Summary;
use crate::view::live::Show;
use crate::words;

/// After this many events the host learns that there is room again.
const TOLD_EVERY: usize = 16;

pub(crate) struct Listener {
    pub(crate) events: mpsc::Sender<HostEvent>,
    pub(crate) rest: Rest,
}

/// The output that is still to be shown once the code has ended.
pub(crate) struct Rest {
    summary: mpsc::Sender<Summary>,
    done: mpsc::Receiver<io::Result<()>>,
}

/// The progress of that output.
pub(crate) enum ShowState {
    All(io::Result<()>),
    /// Not everything within the given time.
    NotYet,
}

impl Listener {
    pub(crate) fn start(show: Box<dyn Show>, host: AskHandle) -> io::Result<Listener> {
        let (events, queue) = mpsc::channel();
        let (summary, last) = mpsc::channel();
        let (told, done) = mpsc::channel();
        std::thread::Builder::new().name("listener".to_owned()).spawn(move || {
            // If this fails, the receiver is gone and needs no answer.
            let _ = told.send(listen(show, &queue, &last, &host));
        })?;
        Ok(Listener { events, rest: Rest { summary, done } })
    }
}

impl Rest {
    /// Hands over the summary.
    pub(crate) fn end(&self, summary: Summary) {
        // If the thread is gone, the code below reports why.
        let _ = self.summary.send(summary);
    }

    /// Waits for this long until everything is shown. Dropping it detaches the thread.
    pub(crate) fn wait(&self, time: Duration) -> ShowState {
        match self.done.recv_timeout(time) {
            Ok(shown) => ShowState::All(shown),
            Err(mpsc::RecvTimeoutError::Timeout) => ShowState::NotYet,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                ShowState::All(Err(io::Error::other(words::failure::LISTENER_GONE)))
            }
        }
    }
}

fn listen(
    mut show: Box<dyn Show>,
    queue: &mpsc::Receiver<HostEvent>,
    last: &mpsc::Receiver<Summary>,
    host: &AskHandle,
) -> io::Result<()> {
    let mut shown = 0;
    loop {
        let event = match queue.try_recv() {
            Ok(event) => event,
            Err(mpsc::TryRecvError::Disconnected) => break,
            Err(mpsc::TryRecvError::Empty) => {
                show.pause()?;
                if shown > 0 {
                    host.grant_room(std::mem::take(&mut shown));
                }
                match queue.recv() {
                    Ok(event) => event,
                    Err(_) => break,
                }
            }
        };
        event.news().map_or(Ok(()), |news| show.news(news))?;
        shown += 1;
        if shown >= TOLD_EVERY {
            host.grant_room(std::mem::take(&mut shown));
        }
    }
    show.pause()?;
    match last.recv() {
        Ok(summary) => show.end(&summary),
        Err(_) => Ok(()),
    }
}
