//! The notebook in the terminal as a program: it waits for keys, the file and the kernel, and performs effects.
//!
//! Owns the loop only: `update` decides what inputs mean, and `draw` makes the screen.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyEventKind};
use inkcell_engine::Kind;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};

use super::document::{Document, Reading};
use super::marks::Marks;
use super::model::{Effect, Input, Model};
use super::outside;
use super::screen::Screen;
use super::session::{Inbox, Opening, Session};
use crate::exit::{Exit, Failure};
use crate::output::end_on;
use crate::settings::Settings;
use crate::setup::quoted;
use crate::term::screen::Looks;
use crate::words;

/// Time between two looks at the file.
const LOOK: Duration = Duration::from_millis(300);

/// Inputs that are processed before the next frame.
const BATCH: usize = 1000;

/// Capacity of the queue of inputs.
const WAITING: usize = 4096;

/// Signals that ask the program to end.
const ENDS: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];

struct Program<'a> {
    model: Model,
    document: Document,
    session: Session,
    marks: Marks,
    screen: Screen,
    settings: &'a Settings,
    began: Instant,
    is_over: bool,
}

pub(crate) fn run(opening: &Arc<Opening>) -> Result<Exit, Failure> {
    let settings = &*opening.settings;
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let problem = words::notebook_screen::no_terminal(&opening.path);
        let hint = words::notebook_screen::read_instead(&quoted(&opening.path));
        return Err(Failure::new(Kind::Invalid, problem, Some(hint)));
    }
    if !settings.can_draw() {
        let hint = words::notebook_screen::read_instead(&quoted(&opening.path));
        let problem = words::notebook_screen::TEXT_TERMINAL.to_owned();
        return Err(Failure::new(Kind::Invalid, problem, Some(hint)));
    }
    let (document, notebook) = Document::open(&settings.notebooks, &opening.path)?;
    let failed = |error| Failure::Io("cannot listen", error);
    let (sender, inputs) = sync_channel(WAITING);
    let (woken, wake) = UnixStream::pair().map_err(failed)?;
    woken.set_nonblocking(true).map_err(failed)?;
    wake.set_nonblocking(true).map_err(failed)?;
    let ended_by = Arc::new(AtomicUsize::new(0));
    for signal in ENDS {
        let (number, wake) = (signal.as_raw(), wake.try_clone().map_err(failed)?);
        let value = usize::try_from(number).unwrap_or(0);
        signal_hook::flag::register_usize(number, Arc::clone(&ended_by), value).map_err(failed)?;
        signal_hook::low_level::pipe::register(number, wake).map_err(failed)?;
        end_on(number).map_err(failed)?;
    }
    let inbox = Inbox::new(sender, wake);
    let mut model = Model::new(&opening.path, notebook, document.version(), opening.lasting());
    let taken = Screen::take(Looks::of(settings));
    let mut screen = taken.map_err(Failure::of_terminal)?;
    // Show the notebook before any request to a kernel.
    screen.draw(&mut model).map_err(of_screen)?;
    let notebooks = settings.notebooks.clone();
    let marks = Marks::open(notebooks, opening.path.clone(), inbox.clone())?;
    marks.ask();
    let session = Session::open(Arc::clone(opening), document.file.clone(), inbox)?;
    let began = Instant::now();
    let mut program =
        Program { model, document, session, marks, screen, settings, began, is_over: false };
    let done = program.main_loop(&inputs, &woken, &ended_by);
    // Give the terminal back at once: own kernels may take a moment to end.
    let Program { screen, session, .. } = program;
    drop((screen, inputs));
    drop(session);
    done
}

impl Program<'_> {
    fn main_loop(
        &mut self,
        inputs: &Receiver<Input>,
        woken: &UnixStream,
        ended_by: &AtomicUsize,
    ) -> Result<Exit, Failure> {
        let mut looked = Instant::now();
        loop {
            self.take(Input::Time(self.began.elapsed()))?;
            self.screen.draw(&mut self.model).map_err(of_screen)?;
            wait(woken, LOOK.saturating_sub(looked.elapsed()))?;
            if let Ok(signal @ 1..) = i32::try_from(ended_by.load(Ordering::SeqCst)) {
                return Err(Failure::Signal(signal));
            }
            for input in inputs.try_iter().take(BATCH) {
                self.take(input)?;
            }
            for _ in 0..BATCH {
                let failed = |error| Failure::Io(words::failure::READ_TERMINAL, error);
                if !event::poll(Duration::ZERO).map_err(failed)? {
                    break;
                }
                if let Some(input) = input_of(event::read().map_err(failed)?) {
                    self.take(input)?;
                }
            }
            if looked.elapsed() >= LOOK {
                self.refresh()?;
                looked = Instant::now();
            }
            if self.is_over {
                return Ok(Exit::Ok);
            }
        }
    }

    fn refresh(&mut self) -> Result<(), Failure> {
        match self.document.refresh() {
            Ok(None) => Ok(()),
            Ok(Some(reading)) => self.take(read(reading)),
            Err(why) => self.take(Input::Told(why)),
        }
    }

    /// Takes an input, and performs all effects that follow from it.
    fn take(&mut self, input: Input) -> Result<(), Failure> {
        let is_edit = matches!(&input, Input::Session(event)
            if matches!(**event, inkcell_engine::feeds::SessionEvent::Edited(_)
                | inkcell_engine::feeds::SessionEvent::Ended { .. }));
        let mut queue = VecDeque::from([input]);
        while let Some(input) = queue.pop_front() {
            // The file or the records of runs are other ones now.
            if is_edit || matches!(input, Input::Read { .. } | Input::RunOver(_)) {
                self.marks.ask();
            }
            for effect in self.model.update(input) {
                queue.extend(self.perform(effect)?);
            }
        }
        // The event says that another program wrote the file, so read it now.
        if is_edit { self.refresh() } else { Ok(()) }
    }

    fn perform(&mut self, effect: Effect) -> Result<Vec<Input>, Failure> {
        let done = match effect {
            Effect::Change { what, ops } => self.document.change(what, &ops),
            Effect::Paste { at, copy } => self.document.paste(&at, &copy),
            Effect::Undo => self.document.undo(),
            Effect::Redo => self.document.redo(),
            Effect::Run(choice) => {
                self.session.run(choice);
                return Ok(Vec::new());
            }
            Effect::Interrupt => {
                self.session.interrupt();
                return Ok(Vec::new());
            }
            Effect::Restart => {
                self.session.restart();
                return Ok(Vec::new());
            }
            Effect::Complete { code, cursor } => {
                self.session.complete(code, cursor);
                return Ok(Vec::new());
            }
            Effect::Page(wanted) => {
                self.session.page(wanted);
                return Ok(Vec::new());
            }
            Effect::OpenPicture(picture) => {
                let opened = outside::open(&picture, self.settings);
                return Ok(vec![opened.map_or_else(Input::Refused, Input::Told)]);
            }
            Effect::EditOutside { cell, text } => return self.edit_outside(cell, text),
            Effect::Suspend => {
                self.suspend()?;
                return Ok(Vec::new());
            }
            Effect::Quit => {
                self.is_over = true;
                return Ok(Vec::new());
            }
        };
        Ok(match done {
            Ok(reading) => vec![read(reading)],
            // Show the change that caused the refusal.
            Err(why) => {
                let news = self.document.refresh().ok().flatten();
                news.map(read).into_iter().chain([Input::Refused(why)]).collect()
            }
        })
    }

    fn edit_outside(&mut self, cell: usize, text: String) -> Result<Vec<Input>, Failure> {
        let (language, settings) = (self.model.language_of(cell), self.settings);
        let lent = self.screen.lend(|| outside::edit(&text, language, settings));
        let edited = lent.map_err(Failure::of_terminal)?;
        Ok(match edited {
            Ok(edited) => vec![Input::EditedOutside { cell, before: text, text: edited }],
            Err(why) => vec![Input::Refused(why)],
        })
    }

    fn suspend(&mut self) -> Result<(), Failure> {
        let lent = self.screen.lend(|| kill_process(getpid(), Signal::TSTP));
        let stopped = lent.map_err(Failure::of_terminal)?;
        stopped.map_err(|error| Failure::Io("cannot stop", error.into()))
    }
}

fn read(reading: Reading) -> Input {
    let Reading { notebook, version, by } = reading;
    Input::Read { notebook: Box::new(notebook), version, by }
}

fn input_of(event: Event) -> Option<Input> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(Input::Key(key)),
        Event::Mouse(mouse) => Some(Input::Mouse(mouse)),
        Event::Paste(text) => Some(Input::Paste(text)),
        // A resize needs no input: every frame checks the size of the screen.
        _ => None,
    }
}

/// The terminal is gone. The program ends as after the signal, which only the shell before it may have received.
const HUNG_UP: Failure = Failure::Signal(Signal::HUP.as_raw());

fn of_screen(error: io::Error) -> Failure {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::IO) => HUNG_UP,
        _ => Failure::of_output(error),
    }
}

/// Waits for an input, at most for `limit`.
fn wait(woken: &UnixStream, limit: Duration) -> Result<(), Failure> {
    let stdin = io::stdin();
    let mut wanted = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(woken, PollFlags::IN)];
    let limit = Timespec::try_from(limit).unwrap_or_default();
    match poll(&mut wanted, Some(&limit)) {
        // A signal came: the screen was resized, or another process asks this one to end.
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(Failure::Io("cannot wait", error.into())),
    }
    // Reading events from a terminal that is gone would never end.
    if wanted[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) {
        return Err(HUNG_UP);
    }
    let mut bytes = [0; 64];
    // The bytes carry no data: they only wake this thread.
    while (&*woken).read(&mut bytes).is_ok_and(|count| count > 0) {}
    Ok(())
}
