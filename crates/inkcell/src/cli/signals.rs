//! Signals, for a command that runs code: the first asks the code to stop, the second ends it.
//!
//! Owns which signals are handled, and how often the user asked for an end. The process ends by the same signal
//! after its cleanup.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use tokio::signal::unix::{Signal as Heard, SignalKind, signal};
use tokio::sync::watch;

use crate::exit::Failure;
use crate::output::end_on;
use crate::words;

/// After a signal that asks us to end, the code gets this long to react, because another program waits for us.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

pub(super) const HEARD: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

/// The signal that asked this command to end, if one did.
#[derive(Clone, Debug)]
pub(crate) struct Signals {
    first: Arc<AtomicI32>,
    times: watch::Receiver<u32>,
}

impl Signals {
    /// Listens from now on. Needs the runtime.
    pub(crate) fn listen() -> Result<Signals, Failure> {
        let failed = |error| Failure::Io(words::failure::LISTEN_TO_SIGNALS, error);
        let ignored = ignored_signals();
        let mut heard = Vec::new();
        for number in HEARD {
            // Ignored signals stay ignored: `nohup` and shells that start jobs in the background rely on it.
            let kind = number.as_raw();
            if ignored & (1 << (kind - 1)) == 0 {
                heard.push((kind, signal(SignalKind::from_raw(kind)).map_err(failed)?));
                end_on(kind).map_err(failed)?;
            }
        }
        let (asked, times) = watch::channel(0);
        let signals = Signals { first: Arc::default(), times };
        tokio::spawn(pass_on(heard, asked, signals.first.clone()));
        Ok(signals)
    }

    /// Returns when the user has asked this often: once for an end, twice for an immediate one.
    pub(crate) async fn asked(&self, times: u32) {
        let mut asked = self.times.clone();
        if asked.wait_for(|so_far| *so_far >= times).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The signal that came first.
    pub(crate) fn first(&self) -> Option<i32> {
        match self.first.load(Ordering::SeqCst) {
            0 => None,
            number => Some(number),
        }
    }
}

async fn pass_on(mut heard: Vec<(i32, Heard)>, asked: watch::Sender<u32>, first: Arc<AtomicI32>) {
    let number = next(&mut heard).await;
    first.store(number, Ordering::SeqCst);
    asked.send_replace(1);
    if number == Signal::INT.as_raw() {
        next(&mut heard).await;
    } else {
        let _ = tokio::time::timeout(PATIENCE, next(&mut heard)).await;
    }
    asked.send_replace(2);
    // More than that never comes: wait for as long as the process lives.
    std::future::pending::<()>().await;
}

async fn next(heard: &mut [(i32, Heard)]) -> i32 {
    std::future::poll_fn(|cx| {
        for (number, signal) in heard.iter_mut() {
            if signal.poll_recv(cx).is_ready() {
                return std::task::Poll::Ready(*number);
            }
        }
        std::task::Poll::Pending
    })
    .await
}

/// The signals that this process ignores from its start, one bit each; none if the system does not tell.
pub(super) fn ignored_signals() -> u64 {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return 0 };
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
