//! Cells from a pipe: no prompt and no escape sequences. Output appears as it comes.
//!
//! Owns the boundary between cells. If a cell asks for input, it reads the next lines of the same pipe, as in Python
//! itself.

use std::io::BufRead;

use inkcell_engine::api::CellSource;
use inkcell_engine::kernel::InputReply;

use super::completeness::{Completeness, completeness};
use super::face::{Entry, Face};
use super::streamed::{EventStream, lines};
use crate::exit::Failure;
use crate::host::HostEvent;
use crate::output::Stream;
use crate::term::screen::{Echo, Reply, Watcher, Wish};
use crate::view::ending::Summary;
use crate::view::live::Show;
use crate::words;

pub(crate) struct PipeRepl<R, S> {
    lines: R,
    shown: EventStream<S>,
}

impl<R: BufRead, S: Show> PipeRepl<R, S> {
    pub(crate) fn new(lines: R, show: S) -> PipeRepl<R, S> {
        PipeRepl { lines, shown: EventStream::new(show) }
    }

    /// Reads the next line without its line end. `None` at the end of the pipe.
    fn line(&mut self) -> Result<Option<String>, Failure> {
        let mut bytes = Vec::new();
        let failed = |error| Failure::Io(words::failure::READ_STDIN, error);
        if self.lines.read_until(b'\n', &mut bytes).map_err(failed)? == 0 {
            return Ok(None);
        }
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        Ok(Some(String::from_utf8_lossy(&bytes).trim_end_matches('\r').to_owned()))
    }
}

impl<R: BufRead, S: Show> Watcher for PipeRepl<R, S> {
    fn event(&mut self, event: HostEvent) -> Result<(), Failure> {
        match self.shown.event(event)? {
            Some(aside) => self.warn(&aside),
            None => Ok(()),
        }
    }

    fn poll(&mut self) -> Result<Wish, Failure> {
        self.shown.pause()?;
        Ok(Wish::GoOn)
    }

    fn ask(
        &mut self,
        _prompt: &str,
        _echo: Echo,
        _is_wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, Failure> {
        Ok(Reply::Given(self.line()?.map_or(InputReply::End, InputReply::Line)))
    }
}

impl<R: BufRead, S: Show> Face for PipeRepl<R, S> {
    fn read(&mut self) -> Result<Entry, Failure> {
        let mut cell = String::new();
        loop {
            match self.line()? {
                None if cell.trim().is_empty() => return Ok(Entry::End),
                None => return Ok(Entry::Text(cell)),
                Some(line) => {
                    if !cell.is_empty() {
                        cell.push('\n');
                    }
                    cell.push_str(&line);
                }
            }
            if !cell.trim().is_empty() && completeness(&cell) == Completeness::Complete {
                return Ok(Entry::Text(cell));
            }
            if cell.trim().is_empty() {
                cell.clear();
            }
        }
    }

    fn began(&mut self, _source: &CellSource) -> Result<(), Failure> {
        Ok(())
    }

    fn ended(&mut self, summary: Option<&Summary>) -> Result<(), Failure> {
        self.shown.end(summary)
    }

    fn say(&mut self, text: &str) -> Result<(), Failure> {
        Stream::stdout().write_all(lines(text).as_bytes()).map_err(Failure::of_output)
    }

    fn warn(&mut self, text: &str) -> Result<(), Failure> {
        Stream::stderr().write_all(lines(text).as_bytes()).map_err(Failure::of_output)
    }
}
