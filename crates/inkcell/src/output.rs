//! Where answers go: standard output for what was asked for, standard error for the rest.
//!
//! Owns both streams and the choice between text for people and JSON for programs.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use inkcell_engine::Kind;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde_json::{Value, json};

/// What a pipe that has any room takes without waiting.
const PIECE: usize = 4096;

/// For whom the answer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    Text,
    Json,
}

pub(crate) struct Output {
    stdout: BufWriter<Sink>,
    pub(crate) form: Form,
    is_terminal: bool,
    /// A terminal was left in the middle of a line.
    is_mid_line: bool,
    /// Whether each object takes one line.
    is_in_lines: bool,
    /// What was done so far, for the answer that tells of a failure in the middle.
    done: Option<Value>,
}

impl Output {
    pub(crate) fn new(form: Form) -> Output {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        Output {
            stdout: BufWriter::with_capacity(1 << 16, Sink::Stdout(stdout)),
            form,
            is_terminal,
            is_mid_line: false,
            is_in_lines: false,
            done: None,
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.form == Form::Json
    }

    /// Whether somebody looks at the answer on a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Lets somebody turn the pages of what follows, where it is text on a terminal. Without a program for that it is
    /// written as it is.
    pub(crate) fn page(&mut self, pager: &[String]) {
        let [program, args @ ..] = pager else { return };
        if !self.is_terminal || self.is_json() {
            return;
        }
        let mut command = Command::new(program);
        // What fits on one screen is shown like anything else, and colours are ours.
        command.args(args).stdin(Stdio::piped()).env("LESSCHARSET", "utf-8");
        if let Ok(child) = command.spawn() {
            self.stdout = BufWriter::with_capacity(1 << 16, Sink::Pager(child));
        }
    }

    /// Everything is written; whoever turns pages is waited for.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        let flushed = self.flush();
        let sink = std::mem::replace(&mut self.stdout, BufWriter::new(Sink::Stdout(io::stdout())));
        if let (Sink::Pager(mut child), _) = sink.into_parts() {
            drop(child.stdin.take());
            let _ = child.wait();
        }
        flushed
    }

    /// Bytes exactly as they are. A terminal gets control characters made visible instead, so that what
    /// a notebook holds cannot drive it, and at the very end a line end.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.is_terminal {
            return self.stdout.write_all(bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.stdout.write_all(b"\n")?;
            }
            self.stdout.write_all(visible(line).as_bytes())?;
        }
        if !text.is_empty() {
            self.is_mid_line = !text.ends_with('\n');
        }
        Ok(())
    }

    /// A line of an answer.
    pub(crate) fn line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.stdout, "{}", visible(line))
    }

    /// From here on an object takes one line, as those before it did.
    pub(crate) fn in_lines(&mut self) {
        self.is_in_lines = true;
    }

    pub(crate) fn json(&mut self, value: &Value) -> io::Result<()> {
        match self.is_in_lines {
            true => serde_json::to_writer(&mut self.stdout, value)?,
            false => serde_json::to_writer_pretty(&mut self.stdout, value)?,
        }
        self.stdout.write_all(b"\n")
    }

    /// Keeps what was done so far, an object, for the JSON of an error that may follow.
    pub(crate) fn keep_done(&mut self, done: Value) {
        self.done = Some(done);
    }

    /// A line about the answer, which is not part of it.
    pub(crate) fn aside(&mut self, line: &str) {
        if self.form == Form::Text {
            // Standard error may be closed; that is no reason to fail.
            drop(writeln!(io::stderr(), "{}", visible(line)));
        }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_mid_line) {
            self.stdout.write_all(b"\n")?;
        }
        self.stdout.flush()
    }

    /// What went wrong; in JSON together with what was done before it.
    pub(crate) fn error(&mut self, message: &str, hint: Option<&str>, kind: Kind) {
        if self.form == Form::Json {
            let mut value = self.done.take().unwrap_or_else(|| json!({}));
            value["error"] = json!({"kind": kind.name(), "message": message, "hint": hint});
            if self.json(&value).and_then(|()| self.flush()).is_ok() {
                return;
            }
            // Where the answer cannot go, the other stream is still better than silence.
        }
        let mut text = String::new();
        for line in format!("error: {message}").lines() {
            text.push_str(&visible(line));
            text.push('\n');
        }
        if let Some(hint) = hint {
            text.push_str(&format!("hint: {}\n", visible(hint)));
        }
        drop(io::stderr().write_all(text.as_bytes()));
    }
}

/// Where an answer goes.
enum Sink {
    Stdout(Stdout),
    /// To a program that shows it page by page.
    Pager(Child),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Stdout(stdout) => stdout.write(bytes),
            Sink::Pager(child) => match &mut child.stdin {
                Some(stdin) => stdin.write(bytes),
                None => Err(io::ErrorKind::BrokenPipe.into()),
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Stdout(stdout) => stdout.flush(),
            Sink::Pager(_) => Ok(()),
        }
    }
}

/// One of our own streams without a buffer, for bytes as they come.
#[derive(Debug)]
pub(crate) struct Stream(Which);

#[derive(Debug)]
enum Which {
    Stdout(Stdout),
    Stderr(io::Stderr),
}

impl Stream {
    pub(crate) fn stdout() -> Stream {
        Stream(Which::Stdout(io::stdout()))
    }

    pub(crate) fn stderr() -> Stream {
        Stream(Which::Stderr(io::stderr()))
    }

    /// Writes what there is room for, and waits no longer than this for more room: whoever reads may have
    /// stopped. The pieces are so small that a pipe with room takes each at once.
    pub(crate) fn write_within(&mut self, bytes: &[u8], limit: Duration) {
        let until = Instant::now() + limit;
        for piece in bytes.chunks(PIECE) {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(left) = Timespec::try_from(left) else { return };
            let fd = self.fd();
            let mut wanted = [PollFd::new(&fd, PollFlags::OUT)];
            let has_room = poll(&mut wanted, Some(&left)).is_ok_and(|ready| ready > 0);
            if !has_room || self.write_all(piece).is_err() {
                return;
            }
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match &self.0 {
            Which::Stdout(stdout) => stdout.as_fd(),
            Which::Stderr(stderr) => stderr.as_fd(),
        }
    }

    /// Writes everything, and waits for room also where whoever started us made the stream one that does
    /// not wait.
    pub(crate) fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let fd = self.fd();
        while !bytes.is_empty() {
            match rustix::io::write(fd, bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(size) => bytes = &bytes[size..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let mut wanted = [PollFd::new(&fd, PollFlags::OUT)];
                    match poll(&mut wanted, None) {
                        Ok(_) | Err(Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Control characters and those that reorder text, made visible: a terminal shows them and does not
/// obey them.
pub(crate) fn visible(line: &str) -> std::borrow::Cow<'_, str> {
    let is_plain = |c: char| c == '\t' || !(c.is_control() || is_reordering(c));
    if line.chars().all(is_plain) {
        return line.into();
    }
    let mut out = String::with_capacity(line.len() + 8);
    for c in line.chars() {
        match c {
            c if is_plain(c) => out.push(c),
            '\0'..='\u{1f}' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('?')),
            '\u{7f}' => out.push('\u{2421}'),
            c => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
        }
    }
    out.into()
}

/// A number of things, in words.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn is_reordering(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::visible;

    /// Nothing a notebook holds can move the cursor, set a title or turn text round.
    #[test]
    fn control_characters_are_shown_not_sent() {
        let table = [
            ("plain\ttext é", "plain\ttext é"),
            ("\u{1b}[2Jx", "␛[2Jx"),
            ("a\rb\u{7f}", "a␍b␡"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("\u{202e}evil", "\\u{202e}evil"),
        ];
        for (given, wanted) in table {
            assert_eq!(visible(given), wanted);
        }
    }
}
