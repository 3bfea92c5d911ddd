//! What code does, written as it happens: its bytes as they are, displays as text, and at the end why it
//! ended. A terminal gets what cannot command it.
//!
//! Owns which of our two streams gets what. It must not know processes or threads.

use std::borrow::Cow;
use std::io::{self, IsTerminal};

use inkcell_engine::kernel::{ExecEvent, KernelEvent, PyError, StreamName};

use super::display;
use super::ending::Summary;
use super::terminal_text::TerminalText;
use crate::output::{Stream, visible};

/// What is kept back while more is already waiting.
const KEPT: usize = 1 << 16;

/// How events become an answer.
pub(crate) trait Show: Send {
    /// Something happened in this cell of the call, counted from 0.
    fn event(&mut self, cell: usize, event: KernelEvent) -> io::Result<()>;
    /// Nothing more is waiting, so that what was kept back is to be seen now.
    fn pause(&mut self) -> io::Result<()>;
    /// What is to be said at the end.
    fn end(&mut self, summary: &Summary) -> io::Result<()>;
}

/// Whether tracebacks have colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Colour {
    On,
    Off,
}

pub(crate) struct Live {
    stdout: Stream,
    stderr: Stream,
    /// For the stream that was written to last.
    kept: Vec<u8>,
    kept_for: StreamName,
    is_mid_line: bool,
    colour: Colour,
    /// Whether a terminal may be given colours.
    looks: Colour,
    /// For standard output and standard error, where they are terminals.
    terminals: [Option<TerminalText>; 2],
}

/// Which of two a stream is.
fn number(name: StreamName) -> usize {
    match name {
        StreamName::Stdout => 0,
        StreamName::Stderr => 1,
    }
}

impl Live {
    /// Gives a terminal colours, or none.
    pub(crate) fn new(looks: Colour) -> Live {
        let kept_for = StreamName::Stdout;
        let (stdout, stderr) = (Stream::stdout(), Stream::stderr());
        let are_terminals = [io::stdout().is_terminal(), io::stderr().is_terminal()];
        let text = |is_terminal: bool| is_terminal.then(|| TerminalText::new(looks));
        let terminals = are_terminals.map(text);
        let colour = if are_terminals[1] { looks } else { Colour::Off };
        let (kept, is_mid_line) = (Vec::new(), false);
        Live { stdout, stderr, kept, kept_for, is_mid_line, colour, looks, terminals }
    }

    fn write(&mut self, name: StreamName, bytes: &[u8]) -> io::Result<()> {
        if name == StreamName::Stdout
            && let Some(last) = bytes.last()
        {
            self.is_mid_line = *last != b'\n';
        }
        // Where both streams are one terminal, what comes first is to be seen first.
        if name != self.kept_for || self.kept.len() + bytes.len() > KEPT {
            self.flush()?;
        }
        self.kept_for = name;
        if bytes.len() > KEPT {
            return self.stream().write_all(bytes);
        }
        self.kept.extend_from_slice(bytes);
        Ok(())
    }

    fn stream(&mut self) -> &mut Stream {
        match self.kept_for {
            StreamName::Stdout => &mut self.stdout,
            StreamName::Stderr => &mut self.stderr,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let kept = std::mem::take(&mut self.kept);
        let written = self.stream().write_all(&kept);
        self.kept = kept;
        self.kept.clear();
        written
    }

    fn exec(&mut self, event: &ExecEvent) -> io::Result<()> {
        match event {
            ExecEvent::Stream { name, data } => match &mut self.terminals[number(*name)] {
                Some(terminal) => {
                    let text = terminal.push(data);
                    self.write(*name, text.as_bytes())
                }
                None => self.write(*name, data),
            },
            ExecEvent::Display { data, .. }
            | ExecEvent::UpdateDisplay { data, .. }
            | ExecEvent::Result { data, .. } => match display::text(data) {
                Some(text) => self.shown(&text),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// A display stands on lines of its own.
    fn shown(&mut self, text: &str) -> io::Result<()> {
        let before = if self.is_mid_line { "\n" } else { "" };
        let text: Cow<'_, str> = match self.terminals[number(StreamName::Stdout)] {
            Some(_) => TerminalText::whole(text, self.looks).into(),
            None => text.into(),
        };
        self.write(StreamName::Stdout, format!("{before}{text}\n").as_bytes())
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        let mut text = String::new();
        push_lines(&mut text, line);
        self.write(StreamName::Stderr, text.as_bytes())
    }
}

impl Show for Live {
    fn event(&mut self, _cell: usize, event: KernelEvent) -> io::Result<()> {
        match &event {
            KernelEvent::Exec { event, .. } | KernelEvent::Orphan(event) => self.exec(event),
            KernelEvent::Notice(text) => self.say(&format!("note: {text}")),
            KernelEvent::Answer { .. } | KernelEvent::Died(_) => Ok(()),
        }
    }

    fn pause(&mut self) -> io::Result<()> {
        self.flush()
    }

    fn end(&mut self, summary: &Summary) -> io::Result<()> {
        let lines = summary.error().is_some() || summary.sentence().is_some();
        if lines && self.is_mid_line && io::stdout().is_terminal() && io::stderr().is_terminal() {
            self.write(StreamName::Stdout, b"\n")?;
        }
        self.write(StreamName::Stderr, last_words(summary, self.colour).as_bytes())?;
        self.flush()
    }
}

/// What is said at the end, on standard error.
pub(crate) fn last_words(summary: &Summary, colour: Colour) -> String {
    // A traceback has the words of the exception in it, which are the program's.
    let whole = |error| TerminalText::whole(&still(&traceback(error, colour)), colour);
    let error = summary.error().map(whole);
    let mut text = error.unwrap_or_default();
    if let Some(sentence) = summary.sentence() {
        push_lines(&mut text, &format!("error: {sentence}"));
    }
    if let Some(hint) = &summary.report.withheld_hint {
        push_lines(&mut text, &format!("hint: {hint}"));
    }
    for note in summary.notes() {
        push_lines(&mut text, &format!("note: {note}"));
    }
    text
}

/// Makes characters visible that move back on a line. They draw progress bars in output, but hide text in a traceback.
fn still(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\u{240d}").replace('\u{8}', "\u{2408}")
}

fn push_lines(text: &mut String, lines: &str) {
    for line in lines.lines() {
        text.push_str(&visible(line));
        text.push('\n');
    }
}

pub(crate) fn traceback(error: &PyError, colour: Colour) -> String {
    let lines = match colour {
        Colour::Off if !error.plain.is_empty() => &error.plain,
        _ => &error.traceback,
    };
    if lines.is_empty() {
        return format!("{}: {}\n", error.name, error.value);
    }
    let mut text = lines.join("\n");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
