//! Keys while code runs: keys that stop it or show more of it, text typed ahead, and lines that the code asks for.
//!
//! Owns the mode of the terminal: line by line while code asks for a line, otherwise key by key without echo. Text
//! typed between a cell and the next prompt then neither appears twice nor gets lost. The old mode is always restored,
//! also while this process is suspended, and never changed while another job has the terminal. The line editor sets its
//! own mode.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use inkcell_engine::kernel::InputReply;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::follow::{Echo, Reply};
use super::is_ours;
use super::pages::Turn;

/// Time between two checks for Ctrl-C and suspension while a line is typed.
const TICK: Duration = Duration::from_millis(50);

/// Time limit for the rest of an escape sequence from a single key.
const REST: Duration = Duration::from_millis(30);

const ESCAPE: u8 = 0x1b;

const EXPAND: u8 = 0x0f;

/// Modes turned off to read key by key.
const AT_ONCE: LocalModes = LocalModes::ICANON.union(LocalModes::ECHO);

/// A key with a meaning while code runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    /// Stop the running code.
    Stop,
    /// Switch between preview and full view.
    Expand,
    /// Turn to another page of stored output.
    Page(Turn),
}

/// Requests a stop of the code, from any thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waker(Arc<AtomicBool>);

impl Waker {
    pub(crate) fn stop(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

pub(crate) struct Keys {
    stop: Waker,
    /// Set by the handler of Ctrl-Z.
    suspended: Arc<AtomicBool>,
    /// True while Ctrl-Z suspends the process at once, as in any program.
    is_usual: Arc<AtomicBool>,
    /// Set when the process continues after a stop.
    continued: Arc<AtomicBool>,
    /// The terminal's settings at the start. `None` if standard input is not a terminal.
    found: Option<Termios>,
    without: LocalModes,
    /// Modes turned off while no line is asked for.
    between: LocalModes,
    was_ours: bool,
    ahead: Vec<u8>,
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.set(LocalModes::empty());
        self.rest();
    }
}

impl Keys {
    /// From here on Ctrl-C no longer ends this process.
    pub(crate) fn with_interrupts() -> io::Result<Keys> {
        let stop = Waker::default();
        signal_hook::flag::register(Signal::INT.as_raw(), Arc::clone(&stop.0))?;
        Keys::new(stop)
    }

    /// From here on Ctrl-C no longer ends this process, and it is the only key: text typed ahead waits in the terminal,
    /// which echoes it.
    pub(crate) fn by_lines() -> io::Result<Keys> {
        let mut keys = Keys::with_interrupts()?;
        keys.between = LocalModes::empty();
        keys.set(keys.between);
        Ok(keys)
    }

    /// Reads keys from the terminal. The caller reports signals through `stop`.
    pub(crate) fn new(stop: Waker) -> io::Result<Keys> {
        let found = match io::stdin().is_terminal() {
            true => Some(tcgetattr(io::stdin())?),
            false => None,
        };
        let mut keys = Keys {
            stop,
            suspended: Arc::default(),
            is_usual: Arc::new(AtomicBool::new(true)),
            continued: Arc::default(),
            found,
            without: LocalModes::empty(),
            between: AT_ONCE,
            was_ours: is_ours(),
            ahead: Vec::new(),
        };
        let (suspend, go_on) = (Signal::TSTP.as_raw(), Signal::CONT.as_raw());
        signal_hook::flag::register(go_on, Arc::clone(&keys.continued))?;
        if keys.are_there() {
            signal_hook::flag::register_conditional_default(suspend, Arc::clone(&keys.is_usual))?;
            signal_hook::flag::register(suspend, Arc::clone(&keys.suspended))?;
        }
        keys.set(keys.between);
        Ok(keys)
    }

    /// Returns true if standard input is a terminal.
    pub(crate) fn are_there(&self) -> bool {
        self.found.is_some()
    }

    /// Discards an earlier stop, which was not meant for the next code.
    pub(crate) fn forget(&mut self) {
        self.stop.take();
    }

    /// Code runs and is shown. From here on Ctrl-Z takes effect between two frames.
    pub(crate) fn watch(&mut self) {
        self.suspended.store(false, Ordering::SeqCst);
        self.is_usual.store(false, Ordering::SeqCst);
    }

    pub(crate) fn rest(&self) {
        self.is_usual.store(true, Ordering::SeqCst);
    }

    /// Changes the mode. A lost terminal has no settings, and that of another job keeps its own.
    fn set(&mut self, without: LocalModes) {
        self.without = without;
        if let Some(found) = &self.found
            && is_ours()
        {
            let mut termios = found.clone();
            termios.local_modes.remove(without);
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &termios);
        }
    }

    /// Tells whether this process has the terminal now, and whether another job had it since the last call.
    pub(crate) fn check_terminal(&mut self) -> Place {
        let is_ours = is_ours();
        let was_ours = std::mem::replace(&mut self.was_ours, is_ours);
        let is_back = self.continued.swap(false, Ordering::SeqCst) || !was_ours;
        match (is_ours, is_back) {
            (false, _) => Place::Behind,
            (true, false) => Place::InFront,
            (true, true) => {
                self.set(self.without);
                Place::Again
            }
        }
    }

    /// Returns true if Ctrl-Z was pressed and has not taken effect yet.
    pub(crate) fn is_to_suspend(&self) -> bool {
        self.suspended.load(Ordering::SeqCst)
    }

    /// Stops this process until another program continues it. The terminal has its original mode meanwhile.
    pub(crate) fn suspend(&mut self) {
        self.suspended.store(false, Ordering::SeqCst);
        let without = self.without;
        self.set(LocalModes::empty());
        let _ = kill_process(getpid(), Signal::STOP);
        self.without = without;
        // The job in front may have changed the terminal's settings meanwhile.
        if let (true, Ok(found)) = (self.found.is_some() && is_ours(), tcgetattr(io::stdin())) {
            self.found = Some(found);
        }
        self.was_ours = false;
    }

    /// The next key with a meaning. Any other typed text is kept.
    pub(crate) fn next(&mut self) -> Option<Key> {
        if self.stop.take() {
            return Some(Key::Stop);
        }
        let come_at_once = self.found.is_some() && self.between == AT_ONCE;
        while come_at_once && is_ours() && is_ready(Duration::ZERO) {
            let mut typed = [0; 256];
            let Ok(length @ 1..) = rustix::io::read(io::stdin(), &mut typed) else { break };
            let mut typed = typed[..length].to_vec();
            // Named keys begin with the same byte as Escape.
            if typed.last() == Some(&ESCAPE) && is_ready(REST) {
                let mut rest = [0; 256];
                let length = rustix::io::read(io::stdin(), &mut rest).unwrap_or(0);
                typed.extend_from_slice(&rest[..length]);
            }
            if let Some(key) = read(&typed, &mut self.ahead) {
                return Some(key);
            }
        }
        None
    }

    /// Takes the typed text that is not a key with a meaning.
    pub(crate) fn typed(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.ahead)
    }

    /// The same without control characters, as the start of the next input at a prompt.
    pub(crate) fn typed_ahead(&mut self) -> String {
        let typed = String::from_utf8_lossy(&self.typed()).replace('\r', "\n");
        typed.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
    }

    /// Prepares for a line. Call this before the prompt appears, since the user may answer at once.
    pub(crate) fn expect_line(&mut self, echo: Echo) {
        self.set(match echo {
            Echo::Shown => LocalModes::empty(),
            Echo::Hidden => LocalModes::ECHO,
        });
    }

    pub(crate) fn line(&mut self, is_wanted: &mut dyn FnMut() -> bool) -> Reply {
        let mut line = Vec::new();
        let reply = loop {
            if self.stop.take() {
                break Reply::Interrupted;
            }
            if !is_wanted() {
                break Reply::Overtaken;
            }
            if self.is_to_suspend() {
                self.suspend();
            }
            if self.check_terminal() == Place::Behind {
                // Another job has the terminal. Wait until this process is in front again.
                std::thread::sleep(TICK);
                continue;
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
        self.set(self.between);
        reply
    }
}

/// Which job has the terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    InFront,
    /// This process has the terminal again, and other jobs have written on it.
    Again,
    Behind,
}

/// The first key with a meaning. Text before it goes to `ahead`. Bytes after it are dropped, since they were pressed
/// together with it.
fn read(typed: &[u8], ahead: &mut Vec<u8>) -> Option<Key> {
    let mut rest = typed;
    while let Some((first, behind)) = rest.split_first() {
        match (*first, behind) {
            (EXPAND, _) => return Some(Key::Expand),
            (ESCAPE, []) => return Some(Key::Stop),
            (ESCAPE, [b'[', b'5', b'~', ..]) => return Some(Key::Page(Turn::Back)),
            (ESCAPE, [b'[', b'6', b'~', ..]) => return Some(Key::Page(Turn::On)),
            (ESCAPE, [b'[', name @ ..]) => {
                let end = name.iter().position(|byte| (0x40..=0x7e).contains(byte));
                rest = end.map_or(&[], |end| &name[end + 1..]);
            }
            (ESCAPE, [b'O', _, behind @ ..] | [_, behind @ ..]) => rest = behind,
            (byte, _) => {
                ahead.push(byte);
                rest = behind;
            }
        }
    }
    None
}

/// Returns true if input is waiting, or arrives within this time.
fn is_ready(within: Duration) -> bool {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    let within = Timespec::try_from(within).ok();
    matches!(poll(&mut polled, within.as_ref()), Ok(ready) if ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B:T-20: one key stops, others show more, and named keys do neither.
    #[test]
    fn keys_are_told_apart() {
        let table: [(&[u8], Option<Key>, &[u8]); 10] = [
            (b"\x1b", Some(Key::Stop), b""),
            (b"ab\x1b", Some(Key::Stop), b"ab"),
            (b"\x0f", Some(Key::Expand), b""),
            (b"x\x0fy", Some(Key::Expand), b"x"),
            (b"\x1b[5~", Some(Key::Page(Turn::Back)), b""),
            (b"\x1b[A\x1b[6~", Some(Key::Page(Turn::On)), b""),
            (b"\x1b[1;5Dx\r", None, b"x\r"),
            (b"\x1bOPz", None, b"z"),
            (b"\x1bbz", None, b"z"),
            (b"\x1b[200", None, b""),
        ];
        for (typed, wanted, wanted_ahead) in table {
            let mut ahead = Vec::new();
            assert_eq!(read(typed, &mut ahead), wanted, "{typed:?}");
            assert_eq!(ahead, wanted_ahead, "{typed:?}");
        }
    }
}
