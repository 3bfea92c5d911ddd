//! Keys while a cell runs: an escape that stops it, what is typed ahead, and lines that the cell asks for.
//!
//! Owns how the terminal reads: by lines while a cell asks for one, else at once and without an echo, so that what is
//! typed between a cell and the next prompt is neither shown twice nor lost. It is put back as it was in any case. The
//! line editor has its own way.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use inkcell_engine::kernel::InputReply;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::face::{Echo, Reply, Wish};

/// How often is looked whether somebody presses Ctrl-C while a line is typed.
const TICK: Duration = Duration::from_millis(50);

const ESCAPE: u8 = 0x1b;

/// What a terminal does not do whose keys come at once.
const AT_ONCE: LocalModes = LocalModes::ICANON.union(LocalModes::ECHO);

pub(super) struct Keys {
    /// Ctrl-C was pressed.
    interrupted: Arc<AtomicBool>,
    /// As the terminal was found.
    found: Termios,
    ahead: Vec<u8>,
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.set(LocalModes::empty());
    }
}

impl Keys {
    /// From here on Ctrl-C does not end this process.
    pub(super) fn new() -> io::Result<Keys> {
        let found = tcgetattr(io::stdin())?;
        let interrupted = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(Signal::INT.as_raw(), Arc::clone(&interrupted))?;
        let keys = Keys { interrupted, found, ahead: Vec::new() };
        keys.set(AT_ONCE);
        Ok(keys)
    }

    /// A cell runs: what was pressed before is not meant for it.
    pub(super) fn watch(&mut self) {
        self.interrupted.store(false, Ordering::SeqCst);
    }

    /// A terminal that is gone has no settings to be changed.
    fn set(&self, without: LocalModes) {
        let mut termios = self.found.clone();
        termios.local_modes.remove(without);
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &termios);
    }

    /// Whether somebody wants the cell to stop; everything else that was typed is kept.
    pub(super) fn wish(&mut self) -> Wish {
        if self.interrupted.swap(false, Ordering::SeqCst) {
            return Wish::Stop;
        }
        while is_ready(Duration::ZERO) {
            let mut typed = [0; 256];
            match rustix::io::read(io::stdin(), &mut typed) {
                // Keys with names begin with the same byte, and come whole.
                Ok(1) if typed[0] == ESCAPE => return Wish::Stop,
                Ok(length) if length > 0 && typed[0] != ESCAPE => {
                    self.ahead.extend_from_slice(&typed[..length]);
                }
                Ok(length) if length > 0 => {}
                _ => break,
            }
        }
        Wish::GoOn
    }

    /// What was typed while a cell ran.
    pub(super) fn typed_ahead(&mut self) -> String {
        let typed = String::from_utf8_lossy(&std::mem::take(&mut self.ahead)).replace('\r', "\n");
        typed.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
    }

    /// A line is to be typed. To be called before it is asked for: whoever types answers at once.
    pub(super) fn expect_line(&mut self, echo: Echo) {
        self.interrupted.store(false, Ordering::SeqCst);
        self.set(match echo {
            Echo::Shown => LocalModes::empty(),
            Echo::Hidden => LocalModes::ECHO,
        });
    }

    /// The line.
    pub(super) fn line(&mut self, is_wanted: &mut dyn FnMut() -> bool) -> Reply {
        let mut line = Vec::new();
        let reply = loop {
            if self.interrupted.swap(false, Ordering::SeqCst) {
                break Reply::Interrupted;
            }
            if !is_wanted() {
                break Reply::Overtaken;
            }
            if !is_ready(TICK) {
                continue;
            }
            let mut typed = [0; 4096];
            match rustix::io::read(io::stdin(), &mut typed) {
                Ok(0) if line.is_empty() => break Reply::Given(InputReply::End),
                Ok(length) => line.extend_from_slice(&typed[..length]),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => break Reply::Given(InputReply::End),
            }
            if line.last() == Some(&b'\n') {
                line.pop();
                break Reply::Given(InputReply::Line(String::from_utf8_lossy(&line).into_owned()));
            }
        };
        self.set(AT_ONCE);
        reply
    }
}

/// Whether something was typed, or is within this time.
fn is_ready(within: Duration) -> bool {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    let within = Timespec::try_from(within).ok();
    matches!(poll(&mut polled, within.as_ref()), Ok(ready) if ready > 0)
}
