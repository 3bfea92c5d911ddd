//! The prompt at a text-only terminal: the terminal edits lines, and output appears as it comes.
//!
//! Owns the alternation of typing and running there. It never writes an escape sequence.

use inkcell_engine::api::CellSource;
use inkcell_engine::kernel::InputReply;

use super::face::{Entry, Face};
use super::streamed::{EventStream, lines};
use super::terminal::read_plainly;
use crate::exit::Failure;
use crate::host::HostEvent;
use crate::output::visible;
use crate::term::screen::{self, Echo, Key, Keys, Reply, Watcher, Wish};
use crate::view::ending::Summary;
use crate::view::live::Live;
use crate::view::paint::Colour;

pub(crate) struct Plain {
    keys: Keys,
    shown: EventStream<Live>,
}

impl Plain {
    pub(crate) fn new() -> Result<Plain, Failure> {
        let keys = Keys::by_lines().map_err(Failure::of_terminal)?;
        Ok(Plain { keys, shown: EventStream::new(Live::new(Colour::Off)) })
    }
}

impl Watcher for Plain {
    fn event(&mut self, event: HostEvent) -> Result<(), Failure> {
        match self.shown.event(event)? {
            Some(aside) => self.warn(&aside),
            None => Ok(()),
        }
    }

    fn poll(&mut self) -> Result<Wish, Failure> {
        self.shown.pause()?;
        if self.keys.is_to_suspend() {
            self.keys.suspend();
        }
        self.keys.check_terminal();
        Ok(match self.keys.next() {
            Some(Key::Stop) => Wish::Stop,
            Some(Key::Expand | Key::Page(_)) | None => Wish::GoOn,
        })
    }

    fn ask(
        &mut self,
        prompt: &str,
        echo: Echo,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, Failure> {
        self.shown.pause()?;
        let shown: Vec<String> =
            prompt.split('\n').map(|line| visible(line).into_owned()).collect();
        self.keys.expect_line(echo);
        screen::write(&shown.join("\n"))?;
        let reply = self.keys.line(is_wanted);
        if echo == Echo::Hidden || !matches!(reply, Reply::Given(InputReply::Line(_))) {
            screen::write("\n")?;
        }
        Ok(reply)
    }
}

impl Face for Plain {
    fn read(&mut self) -> Result<Entry, Failure> {
        read_plainly(&mut self.keys)
    }

    fn began(&mut self, _source: &CellSource) -> Result<(), Failure> {
        self.keys.forget();
        self.keys.watch();
        Ok(())
    }

    fn ended(&mut self, summary: Option<&Summary>) -> Result<(), Failure> {
        self.keys.rest();
        self.shown.end(summary)
    }

    fn say(&mut self, text: &str) -> Result<(), Failure> {
        screen::write(&lines(text))
    }

    fn warn(&mut self, text: &str) -> Result<(), Failure> {
        self.say(text)
    }
}
