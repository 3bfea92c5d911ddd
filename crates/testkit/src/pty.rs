//! Runs a program at a terminal of its own and reads the screen as a person sees it.
//!
//! Owns the pseudo-terminal, a model of its screen, the terminal's answers to queries, and a time limit on every
//! wait. A program that its test does not end is killed by its own handle.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};
use vt100::{Callbacks, Parser, Screen};

/// The time limit of a wait; only a hang takes this long.
const LIMIT: Duration = Duration::from_secs(240);

/// The interval between checks that the program still runs.
const STEP: Duration = Duration::from_millis(50);

/// The size of a terminal in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Lines of text, from the top.
    pub rows: u16,
    /// Cells in a line; wide characters take two.
    pub columns: u16,
}

/// The initial size of most terminals.
pub const USUAL: Size = Size { rows: 24, columns: 80 };

/// The terminal's answers to queries; without them some programs wait forever.
#[derive(Default)]
struct Answers(Vec<u8>);

impl Callbacks for Answers {
    fn unhandled_csi(
        &mut self,
        screen: &mut Screen,
        first: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        last: char,
    ) {
        let number = params.first().and_then(|param| param.first()).copied().unwrap_or(0);
        match (first, number, last) {
            (None, 6, 'n') => {
                let (row, column) = screen.cursor_position();
                self.0.extend(format!("\x1b[{};{}R", row + 1, column + 1).bytes());
            }
            (None, 5, 'n') => self.0.extend(b"\x1b[0n"),
            (None, 0, 'c') => self.0.extend(b"\x1b[?6c"),
            _ => {}
        }
    }
}

/// A program running at a terminal.
pub struct Pty {
    child: Child,
    master: File,
    /// Kept open, so that a test can inspect the terminal settings that the program left.
    slave: OwnedFd,
    parser: Parser<Answers>,
    seen: Vec<u8>,
    is_over: bool,
}

impl Pty {
    /// Starts a command at a terminal of this size, its controlling terminal. `TERM` is set unless the command
    /// sets it.
    #[allow(unsafe_code, reason = "pre_exec is the only way to run code between fork and exec")]
    pub fn start(mut command: Command, size: Size) -> Pty {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a pseudo-terminal");
        grantpt(&master).expect("a grant");
        unlockpt(&master).expect("unlocked");
        let name = ptsname(&master, Vec::new()).expect("a name");
        let flags =
            rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
        let slave = rustix::fs::open(name, flags, rustix::fs::Mode::empty()).expect("its end");
        tcsetwinsize(&slave, winsize(size)).expect("a size");
        let end = || slave.try_clone().expect("a copy");
        if !command.get_envs().any(|(name, _)| name == "TERM") {
            command.env("TERM", "xterm-256color");
        }
        command.stdin(end()).stdout(end()).stderr(end());
        // SAFETY: between fork and exec only two system calls are made, through rustix; nothing is allocated and
        // no lock is taken. Descriptor 0 is the terminal by then.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                let stdin = std::os::fd::BorrowedFd::borrow_raw(0);
                rustix::process::ioctl_tiocsctty(stdin)?;
                Ok(())
            });
        }
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let parser = Parser::new_with_callbacks(rows(size), columns(size), 0, Answers::default());
        Pty { child, master: master.into(), slave, parser, seen: Vec::new(), is_over: false }
    }

    /// Types these keys, byte for byte: `\r` is Enter, `\x1b` is Escape, `\x03` is Ctrl-C.
    pub fn send(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("the terminal takes it");
    }

    /// Waits until the screen shows this text somewhere.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        self.wait_until(&format!("{text:?} on the screen"), |screen| {
            screen.contents().contains(text)
        });
    }

    /// Waits until the screen no longer shows this text.
    #[track_caller]
    pub fn wait_gone(&mut self, text: &str) {
        self.wait_until(&format!("{text:?} gone from the screen"), |screen| {
            !screen.contents().contains(text)
        });
    }

    /// Waits until the screen meets a condition; `what` describes it in the message of a failure.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, is_so: impl Fn(&Screen) -> bool) {
        let until = Instant::now() + LIMIT;
        loop {
            if is_so(self.parser.screen()) {
                return;
            }
            let more = self.take(until);
            if !more && !is_so(self.parser.screen()) {
                let why = if self.is_over { "the program ended" } else { "it never came" };
                panic!("no {what}: {why}; the screen:\n{}", self.text());
            }
        }
    }

    /// Takes the next output of the program; false if the program has closed the terminal or the time is up.
    fn take(&mut self, until: Instant) -> bool {
        if self.is_over {
            return false;
        }
        let mut has_ended = false;
        // Wait in short steps: this process holds the terminal open, so the program's end does not show on it.
        while !self.is_ready_within(if has_ended { Duration::ZERO } else { STEP }) {
            // The program may have written between the last check and its end, so check once more.
            self.is_over = has_ended;
            if has_ended || Instant::now() >= until {
                return false;
            }
            has_ended = self.child.try_wait().expect("its state").is_some();
        }
        let mut bytes = [0; 4096];
        let count = self.master.read(&mut bytes).unwrap_or(0);
        self.seen.extend_from_slice(&bytes[..count]);
        self.parser.process(&bytes[..count]);
        let answers = std::mem::take(&mut self.parser.callbacks_mut().0);
        // A program that has ended takes no answer.
        let _ = self.master.write_all(&answers);
        count > 0
    }

    fn is_ready_within(&self, wait: Duration) -> bool {
        let wait = Timespec::try_from(wait).expect("a short time");
        let mut wanted = [PollFd::new(&self.master, PollFlags::IN)];
        poll(&mut wanted, Some(&wait)).is_ok_and(|ready| ready > 0)
    }

    /// The screen as of the last wait.
    pub fn screen(&self) -> &Screen {
        self.parser.screen()
    }

    /// The text of the screen, line by line.
    pub fn text(&self) -> String {
        self.screen().contents()
    }

    /// All bytes that the program has written so far.
    pub fn seen(&self) -> &[u8] {
        &self.seen
    }

    /// Resizes the terminal, and notifies the program.
    pub fn resize(&mut self, size: Size) {
        self.parser.set_size(rows(size), columns(size));
        tcsetwinsize(&self.master, winsize(size)).expect("a size");
    }

    /// Takes the terminal away, as a closed window or a lost connection does.
    pub fn hang_up(&mut self) {
        let nothing = || File::options().read(true).write(true).open("/dev/null").expect("opened");
        (self.master, self.slave) = (nothing(), nothing().into());
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a signal");
    }

    /// The process id of the program.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// True in raw mode, in which a program gets each key at once, as full-screen programs want it.
    pub fn is_raw(&self) -> bool {
        let modes = tcgetattr(self.slave.as_fd()).expect("its settings").local_modes;
        !modes.contains(rustix::termios::LocalModes::ICANON)
    }

    /// Waits for the end of the program, and reads the rest of its output.
    #[track_caller]
    pub fn end(&mut self) -> ExitStatus {
        let until = Instant::now() + LIMIT;
        while self.take(until) {}
        assert!(self.is_over, "the program did not end; the screen:\n{}", self.text());
        self.child.wait().expect("it ended")
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn winsize(size: Size) -> Winsize {
    Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn rows(size: Size) -> std::num::NonZeroU16 {
    size.rows.try_into().expect("a terminal has rows")
}

fn columns(size: Size) -> std::num::NonZeroU16 {
    size.columns.try_into().expect("a terminal has columns")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Pty {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Pty::start(command, USUAL)
    }

    #[test]
    fn a_program_is_typed_to_and_its_screen_is_read() {
        let mut pty = shell("printf 'who? '; read name; stty size; echo \"hello $name\"");
        pty.wait_for("who?");
        pty.send("you\r");
        pty.wait_for("hello you");
        assert!(pty.text().contains("24 80"), "{}", pty.text());
        assert!(pty.end().success());
    }

    #[test]
    fn a_terminal_answers_where_its_cursor_is() {
        let script =
            "stty raw -echo; printf 'ab\\033[6n'; dd bs=1 count=6 2>/dev/null | od -c; stty sane";
        let mut pty = shell(script);
        pty.wait_for("033   [   1   ;   3   R");
        assert!(pty.end().success());
        assert!(!pty.is_raw());
    }

    #[test]
    fn a_program_is_told_of_another_size() {
        let mut pty =
            shell("trap 'stty size; exit 3' WINCH; echo ready; while :; do sleep 0.05; done");
        pty.wait_for("ready");
        pty.resize(Size { rows: 10, columns: 33 });
        pty.wait_for("10 33");
        assert_eq!(pty.end().code(), Some(3));
    }
}
