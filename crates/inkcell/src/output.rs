//! The output streams: answers on standard output, everything else on standard error.
//!
//! Owns both streams, the choice between text for people and JSON for programs, and how long to wait for a reader
//! that does not read: without limit, until a signal asks us to end.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::BorrowedFd;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use inkcell_engine::Kind;
use inkcell_engine::notebook::visible_char;
use inkcell_engine::output::Cleaner;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Stat, fstat};
use rustix::io::Errno;
use serde_json::{Value, json};

use crate::wrap;

/// Bytes per write. A pipe with any room takes this many without waiting.
const PIECE: usize = 4096;

/// How long to wait for a reader that takes nothing, once a signal has asked us to end.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The interval at which a write without room checks for such a signal.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The signal that asked this process to end; 0 if none has. It is global, as both streams are.
static ENDING: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// Set when a stream was given up: its reader took nothing after that signal.
static STDOUT_GIVEN_UP: AtomicBool = AtomicBool::new(false);
static STDERR_GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// Makes this signal ask the process to end: from then on a stalled reader no longer holds it up. The handler
/// itself sets the flag, because the thread that listens for signals may be the one that waits for a reader.
pub(crate) fn end_on(signal: i32) -> io::Result<()> {
    let value = usize::try_from(signal).unwrap_or_default();
    signal_hook::flag::register_usize(signal, Arc::clone(&ENDING), value).map(drop)
}

/// The reader took nothing after a signal asked us to end.
#[derive(Debug, thiserror::Error)]
#[error("nothing reads the output")]
pub(crate) struct Unread {
    pub(crate) signal: i32,
}

/// The form of the answer: text for people, or JSON for programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    Text,
    Json,
}

pub(crate) struct Output {
    stdout: BufWriter<Sink>,
    pub(crate) form: Form,
    is_terminal: bool,
    /// Set when the answer has colours.
    is_coloured: bool,
    /// Set while the terminal's cursor is in the middle of a line.
    is_mid_line: bool,
    /// Set while the answer in a pipe ends in the middle of a line.
    is_open_line: bool,
    /// Set when each JSON object takes one line.
    is_in_lines: bool,
    /// Work finished so far, for the JSON of an error that follows.
    done: Option<Value>,
    errors: ErrorLook,
}

/// How errors appear on standard error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ErrorLook {
    pub(crate) is_coloured: bool,
    /// Columns of the terminal; `None` in a pipe, where an error is one line.
    pub(crate) width: Option<usize>,
}

impl ErrorLook {
    /// A message with its label, in rows that fit the terminal.
    fn draw(self, colour: &str, label: &str, message: &str) -> String {
        let mut text = String::new();
        // A message without lines has its label anyway.
        for (at, line) in message.lines().chain(message.is_empty().then_some("")).enumerate() {
            let line = visible(line);
            let line = if at == 0 { format!("{label}: {line}") } else { line.into_owned() };
            let rows = self.width.map_or(vec![line.clone()], |width| wrap::sentence(&line, width));
            rows.iter().for_each(|row| text.extend([row, "\n"]));
        }
        match self.is_coloured {
            true => {
                text.replacen(&format!("{label}:"), &format!("\x1b[{colour}m{label}:\x1b[0m"), 1)
            }
            false => text,
        }
    }
}

impl Output {
    pub(crate) fn new(form: Form, errors: ErrorLook) -> Output {
        let is_terminal = io::stdout().is_terminal();
        Output {
            stdout: BufWriter::with_capacity(1 << 16, Sink::Stdout(Stream::stdout())),
            form,
            is_terminal,
            is_coloured: false,
            is_mid_line: false,
            is_open_line: false,
            is_in_lines: false,
            done: None,
            errors,
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.form == Form::Json
    }

    /// Returns whether the answer goes to a terminal, and so to a user.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Gives the answer colours, or takes them.
    pub(crate) fn set_coloured(&mut self, is_coloured: bool) {
        self.is_coloured = is_coloured;
    }

    /// Returns whether the answer has colours.
    pub(crate) fn is_coloured(&self) -> bool {
        self.is_coloured
    }

    /// Sends what follows through a pager if it is text on a terminal. Without a pager it is written directly.
    pub(crate) fn page(&mut self, pager: &[String]) {
        let [program, args @ ..] = pager else { return };
        if !self.is_terminal || self.is_json() {
            return;
        }
        let mut command = Command::new(program);
        // The pager exits at once if the text fits on one screen, and it keeps our colours.
        command.args(args).stdin(Stdio::piped()).env("LESSCHARSET", "utf-8");
        if let Ok(child) = command.spawn() {
            self.stdout = BufWriter::with_capacity(1 << 16, Sink::Pager(child));
        }
    }

    /// Flushes everything, and waits until the user closes the pager.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        let flushed = self.flush();
        let stdout = Sink::Stdout(Stream::stdout());
        let sink = std::mem::replace(&mut self.stdout, BufWriter::new(stdout));
        if let (Sink::Pager(mut child), _) = sink.into_parts() {
            drop(child.stdin.take());
            let _ = child.wait();
        }
        flushed
    }

    /// Writes bytes exactly as they are. A terminal gets control characters made visible instead, so that the
    /// content of a notebook cannot drive it, and a final line end.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.is_terminal {
            if let Some(last) = bytes.last() {
                self.is_open_line = *last != b'\n';
            }
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
        self.is_open_line = false;
        writeln!(self.stdout, "{}", visible(line))
    }

    /// Writes text that a painter has made for a terminal.
    pub(crate) fn painted(&mut self, text: &str) -> io::Result<()> {
        self.is_open_line = false;
        self.stdout.write_all(text.as_bytes())
    }

    /// From here on each object takes one line, like those before it.
    pub(crate) fn in_lines(&mut self) {
        self.is_in_lines = true;
    }

    pub(crate) fn json(&mut self, value: &Value) -> io::Result<()> {
        self.is_open_line = false;
        let to = PlainJson(&mut self.stdout);
        match self.is_in_lines {
            true => serde_json::to_writer(to, value)?,
            false => serde_json::to_writer_pretty(to, value)?,
        }
        self.stdout.write_all(b"\n")
    }

    /// Keeps what was done so far, an object, for the JSON of an error that may follow.
    pub(crate) fn keep_done(&mut self, done: Value) {
        self.done = Some(done);
    }

    /// Writes a remark about the answer that is not part of the answer.
    pub(crate) fn aside(&mut self, line: &str) {
        if self.form == Form::Text {
            self.beforehand(line);
        }
    }

    /// Writes a remark about what happens next. It is written at once, in every output form.
    pub(crate) fn beforehand(&mut self, line: &str) {
        self.tell(&format!("{}\n", visible(line)));
    }

    /// Writes lines to standard error, behind the end of a line.
    fn tell(&mut self, lines: &str) {
        // A remark must not stick to the answer where both streams lead to the same place.
        let is_open = std::mem::take(&mut self.is_open_line);
        let begin = if is_open && is_one_stream() { "\n" } else { "" };
        // Standard error may be closed, which must not fail the command.
        drop(Stream::stderr().write_all(format!("{begin}{lines}").as_bytes()));
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_mid_line) {
            self.stdout.write_all(b"\n")?;
        }
        self.stdout.flush()
    }

    /// Reports an error. In JSON it comes together with the work finished before it.
    pub(crate) fn error(&mut self, message: &str, hint: Option<&str>, kind: Kind) {
        if self.form == Form::Json {
            let mut value = self.done.take().unwrap_or_else(|| json!({}));
            value["error"] = json!({"kind": kind.name(), "message": message, "hint": hint});
            if self.json(&value).and_then(|()| self.flush()).is_ok() {
                return;
            }
            // If the answer's own stream is closed, the other stream is still better than silence.
        }
        let error = self.errors.draw("1;31", "error", message);
        let hint = hint.map(|hint| self.errors.draw("1;36", "hint", hint)).unwrap_or_default();
        self.tell(&(error + &hint));
    }
}

/// Returns whether standard output and standard error lead to the same place, as after `2>&1`.
fn is_one_stream() -> bool {
    let place = |stat: Stat| (stat.st_dev, stat.st_ino);
    match (fstat(io::stdout()), fstat(io::stderr())) {
        (Ok(stdout), Ok(stderr)) => place(stdout) == place(stderr),
        _ => false,
    }
}

/// Writes JSON with every control character escaped. Each piece of text holds whole characters.
struct PlainJson<W>(W);

impl<W: Write> Write for PlainJson<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // 0xc2 is the lead byte of the characters from 80 to 9f, and of some others.
        if bytes.iter().any(|byte| matches!(byte, 0x7f | 0xc2)) {
            self.0.write_all(plain_json(&String::from_utf8_lossy(bytes)).as_bytes())?;
        } else {
            self.0.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The destination of an answer.
enum Sink {
    Stdout(Stream),
    /// A program that shows the answer page by page.
    Pager(Child),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Stdout(stdout) => stdout.write_some(bytes),
            Sink::Pager(child) => match &mut child.stdin {
                Some(stdin) => stdin.write(bytes),
                None => Err(io::ErrorKind::BrokenPipe.into()),
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One of our own streams without a buffer, for bytes as they come. It does not take the standard library's lock,
/// because a thread that waits for a reader may hold it.
#[derive(Debug)]
pub(crate) struct Stream(Which);

#[derive(Clone, Copy, Debug)]
enum Which {
    Stdout,
    Stderr,
}

impl Stream {
    pub(crate) fn stdout() -> Stream {
        Stream(Which::Stdout)
    }

    pub(crate) fn stderr() -> Stream {
        Stream(Which::Stderr)
    }

    /// Writes as much as there is room for, and waits at most this long for more room, since the reader may have
    /// stopped. The pieces are so small that a pipe with room takes each at once.
    pub(crate) fn write_within(&mut self, bytes: &[u8], limit: Duration) {
        let until = Instant::now() + limit;
        for piece in bytes.chunks(PIECE) {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(left) = Timespec::try_from(left) else { return };
            if !matches!(self.has_room(&left), Ok(true)) || self.write_all(piece).is_err() {
                return;
            }
        }
    }

    /// Writes everything. It also waits for room if the parent process made the stream non-blocking. Once a signal
    /// has asked us to end, it no longer waits for a reader that takes nothing.
    pub(crate) fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let size = self.write_some(bytes)?;
            bytes = &bytes[size..];
        }
        Ok(())
    }

    /// Writes a part of the bytes, at least one.
    fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(PIECE)];
        loop {
            self.wait_for_room()?;
            match rustix::io::write(self.fd(), piece) {
                Ok(0) if !piece.is_empty() => return Err(io::ErrorKind::WriteZero.into()),
                Ok(size) => return Ok(size),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn wait_for_room(&self) -> io::Result<()> {
        let mut until = None;
        loop {
            if self.has_room(&LOOK)? {
                return Ok(());
            }
            let signal = i32::try_from(ENDING.load(Ordering::SeqCst)).unwrap_or_default();
            if signal == 0 {
                continue;
            }
            let until = *until.get_or_insert_with(|| Instant::now() + LAST_WORDS);
            let is_given_up = match self.0 {
                Which::Stdout => &STDOUT_GIVEN_UP,
                Which::Stderr => &STDERR_GIVEN_UP,
            };
            if is_given_up.load(Ordering::SeqCst) || Instant::now() >= until {
                is_given_up.store(true, Ordering::SeqCst);
                return Err(io::Error::new(io::ErrorKind::TimedOut, Unread { signal }));
            }
        }
    }

    /// Whether room appears within this time. An error counts as room; the next write reports it.
    fn has_room(&self, wait: &Timespec) -> io::Result<bool> {
        let fd = self.fd();
        let mut wanted = [PollFd::new(&fd, PollFlags::OUT)];
        match poll(&mut wanted, Some(wait)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn fd(&self) -> BorrowedFd<'static> {
        match self.0 {
            Which::Stdout => rustix::stdio::stdout(),
            Which::Stderr => rustix::stdio::stderr(),
        }
    }
}

/// Makes control characters and characters that reorder text visible, so that a terminal shows them instead of
/// obeying them.
pub(crate) fn visible(line: &str) -> std::borrow::Cow<'_, str> {
    let is_plain = |c: char| c == '\t' || !(c.is_control() || is_reordering(c));
    if line.chars().all(is_plain) {
        return line.into();
    }
    let mut out = String::with_capacity(line.len() + 8);
    for c in line.chars() {
        if is_plain(c) {
            out.push(c);
        } else {
            out.push_str(&visible_char(c));
        }
    }
    out.into()
}

/// Like `visible`, for a text of any number of lines.
pub(crate) fn visible_text(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|piece| match piece.strip_suffix('\n') {
            Some(line) => format!("{}\n", visible(line)),
            None => visible(piece).into_owned(),
        })
        .collect()
}

/// The text without escape sequences and control characters: the output of a program as readers get it.
pub(crate) fn cleaned(text: &str) -> String {
    let mut cleaner = Cleaner::default();
    let mut out = String::with_capacity(text.len());
    cleaner.push(text.as_bytes(), &mut |piece| out.push_str(piece));
    cleaner.finish(&mut |piece| out.push_str(piece));
    out
}

/// JSON with every control character escaped. JSON itself requires that only for those below 32.
pub(crate) fn plain_json(text: &str) -> std::borrow::Cow<'_, str> {
    let is_hidden = |c: char| matches!(c, '\u{7f}'..='\u{9f}');
    if !text.contains(is_hidden) {
        return text.into();
    }
    let spelled = |c: char| match c {
        c if is_hidden(c) => format!("\\u{:04x}", c as u32),
        c => c.to_string(),
    };
    text.chars().map(spelled).collect::<String>().into()
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
    use super::{plain_json, visible, visible_text};

    /// The content of a notebook cannot move the cursor, set a title or reorder text.
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
        assert_eq!(visible_text("a\u{7}\n\n\u{1b}b"), "a␇\n\n␛b");
        let json = serde_json::json!("\u{9b}\u{1b}\u{7f}é").to_string();
        let plain = plain_json(&json);
        assert_eq!(plain, r#""\u009b\u001b\u007fé""#);
        assert_eq!(serde_json::from_str::<String>(&plain).unwrap(), "\u{9b}\u{1b}\u{7f}é");
    }
}
