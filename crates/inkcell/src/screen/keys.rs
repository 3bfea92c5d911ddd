//! Keys while code runs: those that stop it or show more of it, what is typed ahead, and lines that it asks for.
//!
//! Owns how the terminal reads: by lines while code asks for one, else at once and without an echo, so that what is
//! typed between a cell and the next prompt is neither shown twice nor lost. It is put back as it was in any case, also
//! while we are suspended, and is left alone while another job is in front of us. The line editor has its own way.

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

/// How often is looked whether somebody presses Ctrl-C while a line is typed.
const TICK: Duration = Duration::from_millis(50);

/// How long the rest of a key that has a name may take to come.
const REST: Duration = Duration::from_millis(30);

const ESCAPE: u8 = 0x1b;

const EXPAND: u8 = 0x0f;

/// What a terminal does not do whose keys come at once.
const AT_ONCE: LocalModes = LocalModes::ICANON.union(LocalModes::ECHO);

/// A key that means something while code runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    /// The code is to stop.
    Stop,
    /// Everything is to be seen, or a preview again.
    Expand,
    /// Another page of it.
    Page(Turn),
}

/// Tells the keys that somebody wants the code to stop, from any thread.
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
    /// Ctrl-Z was pressed.
    suspended: Arc<AtomicBool>,
    /// Whether Ctrl-Z does at once what it does to any program.
    is_usual: Arc<AtomicBool>,
    /// We were stopped and go on.
    continued: Arc<AtomicBool>,
    /// As the terminal was found; none where nobody types at one.
    found: Option<Termios>,
    without: LocalModes,
    /// What it does not do while no line is asked for.
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
    /// From here on Ctrl-C does not end this process.
    pub(crate) fn with_interrupts() -> io::Result<Keys> {
        let stop = Waker::default();
        signal_hook::flag::register(Signal::INT.as_raw(), Arc::clone(&stop.0))?;
        Keys::new(stop)
    }

    /// From here on Ctrl-C does not end this process, and it is the only key: what is typed ahead waits in the terminal,
    /// and is seen there.
    pub(crate) fn by_lines() -> io::Result<Keys> {
        let mut keys = Keys::with_interrupts()?;
        keys.between = LocalModes::empty();
        keys.set(keys.between);
        Ok(keys)
    }

    /// Whoever hears signals says so.
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

    /// Whether somebody can press any.
    pub(crate) fn are_there(&self) -> bool {
        self.found.is_some()
    }

    /// What was pressed so far is not meant for what comes.
    pub(crate) fn forget(&mut self) {
        self.stop.take();
    }

    /// Code runs: it is shown, so that Ctrl-Z is obeyed between two frames.
    pub(crate) fn watch(&mut self) {
        self.suspended.store(false, Ordering::SeqCst);
        self.is_usual.store(false, Ordering::SeqCst);
    }

    /// No code runs.
    pub(crate) fn rest(&self) {
        self.is_usual.store(true, Ordering::SeqCst);
    }

    /// A terminal that is gone has no settings to be changed, and one that is another job's keeps those it has.
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

    /// Whether the terminal is ours now, and whether it was somebody else's in between.
    pub(crate) fn place(&mut self) -> Place {
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

    /// Whether Ctrl-Z was pressed and is to be obeyed.
    pub(crate) fn is_to_suspend(&self) -> bool {
        self.suspended.load(Ordering::SeqCst)
    }

    /// Stops this process until somebody lets it go on; the terminal is as it was meanwhile.
    pub(crate) fn suspend(&mut self) {
        self.suspended.store(false, Ordering::SeqCst);
        let without = self.without;
        self.set(LocalModes::empty());
        let _ = kill_process(getpid(), Signal::STOP);
        self.without = without;
        // Whoever was in front meanwhile may have changed its settings.
        if let (true, Ok(found)) = (self.found.is_some() && is_ours(), tcgetattr(io::stdin())) {
            self.found = Some(found);
        }
        self.was_ours = false;
    }

    /// The next key that means something; everything else that was typed is kept.
    pub(crate) fn next(&mut self) -> Option<Key> {
        if self.stop.take() {
            return Some(Key::Stop);
        }
        let come_at_once = self.found.is_some() && self.between == AT_ONCE;
        while come_at_once && is_ours() && is_ready(Duration::ZERO) {
            let mut typed = [0; 256];
            let Ok(length @ 1..) = rustix::io::read(io::stdin(), &mut typed) else { break };
            let mut typed = typed[..length].to_vec();
            // Keys with names begin with the same byte as the one that stops.
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

    /// What was typed that means nothing here.
    pub(crate) fn typed(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.ahead)
    }

    /// The same, for whoever goes on typing at a prompt.
    pub(crate) fn typed_ahead(&mut self) -> String {
        let typed = String::from_utf8_lossy(&self.typed()).replace('\r', "\n");
        typed.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
    }

    /// A line is to be typed. To be called before it is asked for: whoever types answers at once.
    pub(crate) fn expect_line(&mut self, echo: Echo) {
        self.set(match echo {
            Echo::Shown => LocalModes::empty(),
            Echo::Hidden => LocalModes::ECHO,
        });
    }

    /// The line.
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
            if self.place() == Place::Behind {
                // Whoever is in front is typing; the line is asked for when we are.
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

/// Whose the terminal is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    InFront,
    /// Ours again: others have written on it.
    Again,
    Behind,
}

/// The first key in what was typed that means something; what is before it goes to `ahead`, and what is behind it is
/// dropped, as it was pressed together with it.
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

/// Whether something was typed, or is within this time.
fn is_ready(within: Duration) -> bool {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    let within = Timespec::try_from(within).ok();
    matches!(poll(&mut polled, within.as_ref()), Ok(ready) if ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B:T-20: one key stops, others show more, and keys with names are none of them.
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
