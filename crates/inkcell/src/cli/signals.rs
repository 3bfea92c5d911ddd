//! Signals, for a command that runs code: the first asks the code to stop, the second ends it.
//!
//! Owns which signals are handled, and how often the user asked for an end. The process ends by the same signal
//! after its cleanup. A thread receives them, so that a command without an async runtime hears them, too.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use tokio::sync::watch;

use crate::exit::Failure;
use crate::output::end_on;
use crate::words;

/// After a signal that asks us to end, the code gets this long to react, because another program waits for us.
const PATIENCE: Duration = Duration::from_secs(2);

const HEARD: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

/// The signal that asked this command to end, if one did.
#[derive(Clone, Debug, Default)]
pub(crate) struct SignalThread {
    first: Arc<AtomicI32>,
    times: Arc<AtomicU32>,
}

impl SignalThread {
    /// Listens from now on, and reports signals: with 1 for the first request to end, with 2 for an immediate end.
    pub(crate) fn listen(
        mut asked: impl FnMut(u32) + Send + 'static,
    ) -> Result<SignalThread, Failure> {
        let failed = |error| Failure::Io(words::failure::LISTEN_TO_SIGNALS, error);
        let ignored = ignored_signals();
        let mut pipes = Vec::new();
        for signal in HEARD {
            let number = signal.as_raw();
            // Ignored signals stay ignored: `nohup` and shells that start jobs in the background rely on it.
            if ignored & (1 << (number - 1)) != 0 {
                continue;
            }
            let (read, write) = UnixStream::pair().map_err(failed)?;
            signal_hook::low_level::pipe::register(number, write).map_err(failed)?;
            end_on(number).map_err(failed)?;
            pipes.push((number, read));
        }
        let heard = SignalThread::default();
        let (first, times) = (Arc::clone(&heard.first), Arc::clone(&heard.times));
        let listen = move || {
            let Some(number) = next(&mut pipes, None) else { return };
            first.store(number, Ordering::SeqCst);
            times.store(1, Ordering::SeqCst);
            asked(1);
            // A user who pressed Ctrl-C decides when to end the code. Other signals come from programs.
            let patience = (number != Signal::INT.as_raw()).then_some(PATIENCE);
            next(&mut pipes, patience);
            times.store(2, Ordering::SeqCst);
            asked(2);
        };
        let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(listen);
        thread.map_err(failed)?;
        Ok(heard)
    }

    /// How often signals asked for an end: once, or twice for an immediate end.
    pub(crate) fn times(&self) -> u32 {
        self.times.load(Ordering::SeqCst)
    }

    /// The signal that came first.
    pub(crate) fn first(&self) -> Option<i32> {
        match self.first.load(Ordering::SeqCst) {
            0 => None,
            number => Some(number),
        }
    }
}

/// The same for a command with an async runtime, which waits for signals beside other events.
#[derive(Clone, Debug)]
pub(crate) struct Signals {
    heard: SignalThread,
    times: watch::Receiver<u32>,
}

impl Signals {
    /// Listens from now on.
    pub(crate) fn listen() -> Result<Signals, Failure> {
        let (asked, times) = watch::channel(0);
        let heard = SignalThread::listen(move |times| _ = asked.send_replace(times))?;
        Ok(Signals { heard, times })
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
        self.heard.first()
    }
}

/// The next signal; none after `patience`.
fn next(pipes: &mut [(i32, UnixStream)], patience: Option<Duration>) -> Option<i32> {
    let until = patience.map(|patience| Instant::now() + patience);
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let mut polled: Vec<PollFd<'_>> =
            pipes.iter().map(|(_, pipe)| PollFd::new(pipe, PollFlags::IN)).collect();
        match poll(&mut polled, left.as_ref()) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return None,
        }
        let at = polled.iter().position(|polled| !polled.revents().is_empty())?;
        drop(polled);
        let (number, pipe) = &mut pipes[at];
        let mut byte = [0; 1];
        if pipe.read(&mut byte).is_ok_and(|length| length == 1) {
            return Some(*number);
        }
    }
}

/// The signals that this process ignores from its start, one bit each; none if the system does not tell.
fn ignored_signals() -> u64 {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return 0 };
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
