//! A call's output, written as it comes: bytes unchanged, displays as text, and the reason for the end last. A
//! terminal receives no sequence that could control it.
//!
//! Owns the split between our two streams. It must not know processes or threads. It is not a fold: it keeps bytes on their
//! way, and nothing of a call.

use std::borrow::Cow;
use std::io::{self, IsTerminal};

use inkcell_engine::kernel::{ExecEvent, PyError, StreamName};

use super::display;
use super::ending::Summary;
use super::fold::CallNews;
use crate::output::{Stream, visible};
use crate::view::paint::{Colour, TerminalText};
use crate::words::step::Audience;

/// Bytes held back at most while more output is waiting.
const KEPT: usize = 1 << 16;

/// Turns events into an answer.
pub(crate) trait Show: Send {
    /// Takes news of the call. A view of the end alone needs none.
    fn news(&mut self, _news: CallNews<'_>) -> io::Result<()> {
        Ok(())
    }
    /// Flushes held output, since no event is waiting.
    fn pause(&mut self) -> io::Result<()> {
        Ok(())
    }
    /// Shows the end of the call.
    fn end(&mut self, summary: &Summary) -> io::Result<()>;
}

pub(crate) struct Live {
    stdout: Stream,
    stderr: Stream,
    /// Held bytes of the last written stream.
    kept: Vec<u8>,
    kept_for: StreamName,
    is_mid_line: bool,
    colour: Colour,
    /// Colours on terminals, on or off.
    looks: Colour,
    /// Filters for standard output and standard error, for each one that is a terminal.
    terminals: [Option<TerminalText>; 2],
}

/// Index of a stream in `terminals`.
fn number(name: StreamName) -> usize {
    match name {
        StreamName::Stdout => 0,
        StreamName::Stderr => 1,
    }
}

impl Live {
    /// Creates the view. `looks` turns colours on terminals on or off.
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
        // Flush on a change of stream: on a terminal, both share one screen and must keep their order.
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
                Some(text) => self.show_display(&text),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Shows a display on lines of its own.
    fn show_display(&mut self, text: &str) -> io::Result<()> {
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
    fn news(&mut self, news: CallNews<'_>) -> io::Result<()> {
        match news {
            CallNews::Event(_, event) => self.exec(event),
            CallNews::Notice(text) => self.say(&format!("note: {text}")),
            _ => Ok(()),
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

/// The final lines on standard error.
pub(crate) fn last_words(summary: &Summary, colour: Colour) -> String {
    let error = summary.error().map(|error| painted_traceback(error, colour));
    let mut text = error.unwrap_or_default();
    if let Some(sentence) = summary.sentence() {
        push_lines(&mut text, &format!("error: {sentence}"));
    }
    if let Some(hint) = Audience::Person.about_missed(&summary.report) {
        push_lines(&mut text, &format!("hint: {hint}"));
    }
    for note in summary.notes() {
        push_lines(&mut text, &format!("note: {note}"));
    }
    text
}

/// A traceback for a terminal. It contains the exception's text, which comes from the program, so it needs the filter
/// too.
pub(in crate::view) fn painted_traceback(error: &PyError, colour: Colour) -> String {
    TerminalText::whole(&still(&traceback(error, colour)), colour)
}

/// Makes carriage returns and backspaces visible. In output they draw progress bars, but in a traceback they hide
/// text.
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
