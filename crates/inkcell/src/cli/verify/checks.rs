//! Several checks at once: threads that take one notebook after the other, and their messages.
//!
//! Owns the order and the end of the checks. The main thread shows them, so that a stalled reader of the output holds no
//! check up.

use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Desk, Outcome, VerifiedNotebook};
use crate::exit::Failure;
use crate::host::HostEvent;

/// The interval at which the view is updated.
const TICK: Duration = Duration::from_millis(100);

/// A message of a check, with the number of its notebook.
pub(super) enum News {
    Began(usize),
    Event(usize, Box<HostEvent>),
    Done(usize, Box<VerifiedNotebook>),
    /// The only notebook could not be checked, which is the whole answer.
    Refused(Box<Failure>),
    /// A moment to update the view.
    Tick,
}

/// The notebooks that wait for their check.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: usize,
    running: usize,
    is_given_up: bool,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the next notebook. From here on a signal waits for its check.
    fn take(&self, all: usize, desk: &Desk<'_>) -> Option<usize> {
        let mut state = self.state();
        if state.is_given_up || state.next >= all || desk.stopping.signal().is_some() {
            return None;
        }
        let number = state.next;
        (state.next, state.running) = (number + 1, state.running + 1);
        desk.stopping.goes_on();
        Some(number)
    }

    /// A check is over. Between checks a signal may end the process at once, even if the reader is stalled.
    fn put_down(&self, desk: &Desk<'_>) {
        let mut state = self.state();
        state.running -= 1;
        if state.running == 0 {
            desk.stopping.is_over();
        }
    }
}

/// Checks all notebooks, as many at once as there are `jobs`, and hands their messages to `show`. An error of `show` ends all checks.
pub(super) fn run(
    desk: &Desk<'_>,
    paths: &[String],
    jobs: usize,
    mut show: impl FnMut(News) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let queue = Queue::default();
    let (tell, heard) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (tell, queue) = (tell.clone(), &queue);
            let thread = std::thread::Builder::new().name("check".to_owned());
            let began = thread.spawn_scoped(scope, move || work(desk, paths, queue, &tell));
            if let Err(error) = began {
                queue.state().is_given_up = true;
                return Err(Failure::of_thread(error));
            }
        }
        drop(tell);
        loop {
            let shown = match heard.recv_timeout(TICK) {
                Ok(news) => show(news),
                Err(mpsc::RecvTimeoutError::Timeout) => show(News::Tick),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(()),
            };
            if shown.is_err() {
                queue.state().is_given_up = true;
                desk.stopping.give_up();
                return shown;
            }
        }
    })
}

fn work(desk: &Desk<'_>, paths: &[String], queue: &Queue, tell: &Sender<News>) {
    while let Some(number) = queue.take(paths.len(), desk) {
        let (path, began) = (&paths[number], Instant::now());
        let _ = tell.send(News::Began(number));
        let outcome = desk.check(path, |event| drop(tell.send(News::Event(number, event))));
        queue.put_down(desk);
        if desk.stopping.signal().is_some() {
            return;
        }
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(failure) if paths.len() == 1 => {
                let _ = tell.send(News::Refused(Box::new(failure)));
                return;
            }
            Err(failure) => Outcome::Failed(failure.into()),
        };
        let checked = VerifiedNotebook { path: path.clone(), took: began.elapsed(), outcome };
        let _ = tell.send(News::Done(number, Box::new(checked)));
    }
}
