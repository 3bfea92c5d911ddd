//! The prompt at a terminal: typing with a line editor, output that grows in place below what was typed.
//!
//! Owns what is on the screen. What a cell looks like is the renderer's, keys are read by `keys`.

mod editor;

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use inkcell_engine::api::{CellReport, CellSource};
use inkcell_engine::kernel::ExecEvent;
use inkcell_engine::output::{OutputLimits, OutputSink, Spill};
use rustix::termios::tcgetwinsize;

use super::Shared;
use super::face::{Echo, Entry, Face, Reply, Wish};
use super::keys::Keys;
use super::locked;
use crate::exit::Failure;
use crate::host::HostEvent;
use crate::output::visible;
use crate::render::ending::Summary;
use crate::render::execution::interactive::Interactive;
use crate::render::execution::{Area, Expansion, Frame, Renderer as _};
use crate::render::image::{Gallery, Protocol, Surroundings, protocol};
use crate::render::live::Colour;
use crate::render::repaint::{Repaint, Size};
use editor::{Editor, Typing};

/// How often the screen is painted anew while a cell runs, and how long a cell may run before it is at all.
const PAINT: Duration = Duration::from_millis(80);

/// The terminal.
pub(crate) struct Terminal {
    editor: Editor,
    keys: Keys,
    colour: Colour,
    protocol: Protocol,
    repaint: Repaint,
    stretch: Option<Stretch>,
    /// The last cell, for whoever wants to see all of it.
    last: Option<Interactive>,
    painted: Instant,
}

/// What a cell shows between two lines that it asks for.
struct Stretch {
    source: CellSource,
    shown: Interactive,
    /// The same for the end, where the report has also what came before the last question.
    sink: OutputSink,
    has_asked: bool,
}

impl Terminal {
    pub(crate) fn new(talk: &Shared, colour: Colour) -> Result<Terminal, Failure> {
        let failed = |error| Failure::Io("cannot use the terminal", error);
        let settings = locked(talk).settings.clone();
        let variable = |name: &str| {
            let value = settings.surroundings.get(name)?;
            Some(value.to_string_lossy().into_owned())
        };
        let protocol = match colour {
            Colour::On => protocol(&Surroundings::of(variable), None),
            Colour::Off => Protocol::None,
        };
        Ok(Terminal {
            editor: Editor::new(talk, colour)?,
            keys: Keys::new().map_err(failed)?,
            colour,
            protocol,
            repaint: Repaint::default(),
            stretch: None,
            last: None,
            painted: Instant::now(),
        })
    }

    fn stretch_of(&self, source: &CellSource) -> Stretch {
        let gallery = Gallery::new(self.protocol);
        let gallery = match tcgetwinsize(io::stdout()) {
            Ok(window) => gallery.with_window(window.into()),
            Err(_) => gallery,
        };
        Stretch {
            source: source.clone(),
            shown: Interactive::new(source.clone()).below_typed_code().with_gallery(gallery),
            sink: OutputSink::new(OutputLimits::head_and_tail(), Spill::none()),
            has_asked: false,
        }
    }

    /// Puts what stays above what may still change.
    fn paint(&mut self, settled: &Frame, live: &Frame) -> Result<(), Failure> {
        let (settled, live) = (self.coloured(settled), self.coloured(live));
        let bytes = self.repaint.paint(&settled, &live, size());
        write(&bytes)
    }

    fn coloured(&self, frame: &Frame) -> Frame {
        match self.colour {
            Colour::On => frame.clone(),
            Colour::Off => frame.uncoloured(),
        }
    }

    /// Leaves what the stretch shows on the screen, without the word that it runs.
    fn settle(&mut self, report: Option<&CellReport>) -> Result<(), Failure> {
        let Some(mut stretch) = self.stretch.take() else { return Ok(()) };
        match report {
            Some(report) if stretch.has_asked => {
                let output = stretch.sink.finish();
                stretch.shown.report(&CellReport { output, ..report.clone() });
            }
            Some(report) => stretch.shown.report(report),
            None => {}
        }
        let frame = stretch.shown.still(area(Expansion::Collapsed));
        self.last = Some(stretch.shown);
        self.paint(&frame, &Frame::default())
    }

    /// Shows everything that is kept of the last cell's output.
    fn expand(&mut self) -> Result<(), Failure> {
        let Some(last) = &mut self.last else { return Ok(()) };
        let frame = last.still(area(Expansion::Expanded));
        self.paint(&frame, &Frame::default())
    }
}

impl Face for Terminal {
    fn read(&mut self) -> Result<Entry, Failure> {
        loop {
            let ahead = self.keys.typed_ahead();
            match self.editor.read(&ahead) {
                Typing::Read(entry) => return Ok(entry),
                // The editor cannot draw here; lines can still be typed.
                Typing::Impossible => return self.editor.read_plainly(&mut self.keys),
                Typing::Expand => self.expand()?,
            }
        }
    }

    fn began(&mut self, source: &CellSource) -> Result<(), Failure> {
        self.keys.watch();
        self.painted = Instant::now();
        self.stretch = Some(self.stretch_of(source));
        Ok(())
    }

    fn event(&mut self, event: HostEvent) -> Result<(), Failure> {
        match event {
            HostEvent::Aside(line) => self.say(&line),
            HostEvent::Exec { cell, event } | HostEvent::Orphan { cell, event } => {
                if let Some(stretch) = &mut self.stretch
                    && !matches!(event, ExecEvent::Started { .. })
                {
                    stretch.sink.push(&event);
                    stretch.shown.event(&(cell, event));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn look(&mut self) -> Result<Wish, Failure> {
        if self.painted.elapsed() >= PAINT
            && let Some(stretch) = &mut self.stretch
        {
            self.painted = Instant::now();
            stretch.shown.tick();
            let frame = stretch.shown.frame(area(Expansion::Collapsed));
            self.paint(&Frame::default(), &frame)?;
        }
        Ok(self.keys.wish())
    }

    fn ask(
        &mut self,
        prompt: &str,
        echo: Echo,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, Failure> {
        let source = self.stretch.as_ref().map(|stretch| stretch.source.clone());
        self.settle(None)?;
        let shown: Vec<String> =
            prompt.split('\n').map(|line| visible(line).into_owned()).collect();
        self.keys.expect_line(echo);
        write(&shown.join("\r\n"))?;
        let reply = self.keys.line(is_wanted);
        let is_line_open = echo == Echo::Hidden
            || !matches!(reply, Reply::Given(inkcell_engine::kernel::InputReply::Line(_)));
        if is_line_open {
            write("\r\n")?;
        }
        if let Some(source) = source {
            self.stretch = Some(Stretch { has_asked: true, ..self.stretch_of(&source) });
        }
        self.painted = Instant::now();
        Ok(reply)
    }

    fn ended(&mut self, summary: Option<&Summary>) -> Result<(), Failure> {
        let report = summary.and_then(|summary| summary.report.cells.first());
        self.settle(report)?;
        match summary.and_then(|summary| summary.report.withheld_hint.as_ref()) {
            Some(hint) => self.say(&format!("hint: {hint}")),
            None => Ok(()),
        }
    }

    fn warn(&mut self, text: &str) -> Result<(), Failure> {
        self.say(text)
    }

    fn say(&mut self, text: &str) -> Result<(), Failure> {
        let mut bytes = self.repaint.wipe(size());
        for line in text.lines() {
            bytes.push_str(&visible(line));
            bytes.push_str("\r\n");
        }
        write(&bytes)
    }
}

fn write(bytes: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(bytes.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(Failure::of_output)
}

fn size() -> Size {
    let known = tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    let (columns, rows) = known.map_or((80, 24), |size| (size.ws_col, size.ws_row));
    Size { columns: usize::from(columns), rows: usize::from(rows) }
}

fn area(expansion: Expansion) -> Area {
    Area { width: size().columns, expansion }
}
