//! The kernel of the notebook: runs cells in it, and reports everything that happens in it, for any caller.
//!
//! Owns the choice of the host: the one that has the notebook's session, even an agent's, otherwise the shared one.
//! A notebook that is only viewed starts no host. One thread sends requests, and one thread for each request listens
//! to the answers. It must not know the screen or the content of the file.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use inkcell_engine::api::{
    CellChoice, CellReport, Completions, Inspect, InspectRequest, InspectionAnswer, KernelReport,
    KernelRequest, KernelWishes, NeededCells, PythonReport, RunRequest, SessionPhase, SessionRef,
    State,
};
use inkcell_engine::registry::SessionName;
use inkcell_engine::session::Loss;

use super::model::{Input, KernelNow, KernelState, Lasting, RunEnd, Stop};
use super::pages::{self, PAGE_LINES};
use crate::app::python;
use crate::args::HostArgs;
use crate::client::hosts::{self, everywhere};
use crate::client::{self, AskHandle, Client, Exchange, Step};
use crate::exit::Failure;
use crate::host::{
    Answer, Ask, Attention, Detachment, HostEvent, KernelOptions, Life, Refusal, RunAsk,
};
use crate::settings::Settings;
use crate::term::screen::{asking, last_page, stored_lines};
use crate::view::ending::exception;
use crate::view::execution::Page;
use crate::words;

/// Characters of an exception's message in the bottom bar.
const WHY_CHARS: usize = 200;

/// Time limit for completions, since the user waits for them.
const COMPLETES: Duration = Duration::from_secs(3);

/// Time between two searches for a session, while there is none.
const SEEK: Duration = Duration::from_secs(1);

/// A queue of inputs from other threads. Each input wakes the reader, and a full queue blocks the sender.
#[derive(Clone)]
pub(super) struct Inbox {
    inputs: SyncSender<Input>,
    wake: Arc<UnixStream>,
}

impl Inbox {
    pub(super) fn new(inputs: SyncSender<Input>, wake: UnixStream) -> Inbox {
        Inbox { inputs, wake: Arc::new(wake) }
    }

    pub(super) fn put(&self, input: Input) {
        // Either call may fail harmlessly: the reader is gone, or is awake already.
        let _ = self.inputs.send(input);
        let _ = (&*self.wake).write(&[0]);
    }
}

/// The notebook to open, and the settings for its kernel.
pub(crate) struct Opening {
    /// The path as the user gave it.
    pub(crate) path: String,
    pub(crate) settings: Arc<Settings>,
    pub(crate) host: HostArgs,
    pub(crate) wanted: KernelWishes,
    pub(crate) kernel: KernelOptions,
}

impl Opening {
    /// Tells whether running code may outlive the program.
    pub(super) fn lasting(&self) -> Lasting {
        match self.host.no_host || !self.settings.uses_host() {
            true => Lasting::EndsWithUs,
            false => Lasting::GoesOn,
        }
    }
}

/// A request to the session's thread.
enum Wish {
    Run(CellChoice),
    Interrupt,
    Restart,
    /// Fetch a part of a stored output.
    Page(pages::LinesRequest),
    /// Ask for completions of code at a cursor.
    Complete {
        code: String,
        cursor: usize,
    },
    /// A run of this program now has a session.
    HasBegun,
    /// A run of this program is over.
    RunIsOver(u64),
    /// The watched session is gone. The thread searches for a new one.
    WatchIsOver,
    End,
}

/// A handle to the notebook's session. Dropping it releases the session.
pub(super) struct Session {
    wishes: Sender<Wish>,
    thread: Option<JoinHandle<()>>,
}

impl Session {
    pub(super) fn open(
        opening: Arc<Opening>,
        file: PathBuf,
        inbox: Inbox,
    ) -> Result<Session, Failure> {
        let (wishes, heard) = channel();
        let own = wishes.clone();
        let work = move || {
            let asking = Asking {
                opening,
                file,
                inbox,
                wishes: own,
                client: None,
                session: None,
                is_watched: false,
                runs: Vec::new(),
                count: 0,
            };
            asking.work(&heard);
        };
        let thread = std::thread::Builder::new().name("session".to_owned()).spawn(work);
        let thread = thread.map_err(Failure::of_thread)?;
        Ok(Session { wishes, thread: Some(thread) })
    }

    pub(super) fn run(&self, choice: CellChoice) {
        let _ = self.wishes.send(Wish::Run(choice));
    }

    pub(super) fn interrupt(&self) {
        let _ = self.wishes.send(Wish::Interrupt);
    }

    pub(super) fn page(&self, wanted: pages::LinesRequest) {
        let _ = self.wishes.send(Wish::Page(wanted));
    }

    pub(super) fn complete(&self, code: String, cursor: usize) {
        let _ = self.wishes.send(Wish::Complete { code, cursor });
    }

    pub(super) fn restart(&self) {
        let _ = self.wishes.send(Wish::Restart);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.wishes.send(Wish::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Asking {
    opening: Arc<Opening>,
    file: PathBuf,
    inbox: Inbox,
    wishes: Sender<Wish>,
    client: Option<Client>,
    /// The session, once it exists.
    session: Option<SessionRef>,
    is_watched: bool,
    runs: Vec<(u64, AskHandle)>,
    count: u64,
}

impl Asking {
    fn work(mut self, wishes: &Receiver<Wish>) {
        self.seek();
        loop {
            match wishes.recv_timeout(SEEK) {
                Ok(Wish::End) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(wish) => {
                    if let Err(failure) = self.grant(wish) {
                        self.inbox.put(Input::Told(said(failure)));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.seek();
                    self.tell_state();
                }
            }
        }
    }

    fn grant(&mut self, wish: Wish) -> Result<(), Failure> {
        match wish {
            Wish::Run(choice) => {
                if let Err(failure) = self.run(choice) {
                    self.inbox.put(Input::RunOver(RunEnd::Failed(said(failure))));
                }
                Ok(())
            }
            Wish::Interrupt => self.interrupt(),
            Wish::Restart => self.kernel(KernelRequest::Restart),
            Wish::Page(wanted) => {
                let page = self.page(&wanted);
                self.inbox.put(Input::Paged { artifact: wanted.artifact, page });
                Ok(())
            }
            Wish::Complete { code, cursor } => self.complete(code, cursor),
            Wish::HasBegun => {
                let own = self.own_session();
                self.watch(own)?;
                self.tell_state();
                Ok(())
            }
            Wish::RunIsOver(number) => {
                self.runs.retain(|(run, _)| *run != number);
                self.tell_state();
                Ok(())
            }
            Wish::WatchIsOver => {
                (self.is_watched, self.session) = (false, None);
                Ok(())
            }
            Wish::End => Ok(()),
        }
    }

    /// Fetches a part of a stored output from the host that ran the code.
    fn page(&self, wanted: &pages::LinesRequest) -> Option<Page> {
        let client = self.client.as_ref()?;
        let first = match wanted.first {
            Some(first) => first,
            None => {
                let stored = stored_lines(&wanted.artifact, (1, 1), &asking(client))?;
                last_page(stored.total_lines, PAGE_LINES)
            }
        };
        stored_lines(&wanted.artifact, (first, first + PAGE_LINES - 1), &asking(client))
    }

    /// Tells the state of the kernel, if there is a session.
    fn tell_state(&self) {
        let (Some(client), Some(session)) = (&self.client, &self.session) else { return };
        let asked = client.answer(Ask::Kernel(KernelRequest::Status(session.clone())));
        // A session that is just ending is told by the end of its watch.
        let Ok(Answer::Kernel(KernelReport::Session(report))) = asked else { return };
        let has_died = matches!(report.lost, Some(Loss::Died(_) | Loss::Killed { .. }));
        let state = match report.state {
            SessionPhase::NoKernel if has_died => KernelState::Dead,
            SessionPhase::NoKernel => KernelState::None,
            SessionPhase::Starting => KernelState::Starting,
            SessionPhase::Idle => KernelState::Idle,
            SessionPhase::Busy => KernelState::Busy,
        };
        let elapsed = report.running.as_ref().map(|running| running.elapsed);
        self.inbox.put(Input::Kernel(KernelNow { state, elapsed, waiting: report.waiting }));
    }

    /// The notebook's own session, by the name that runs use.
    fn own_session(&self) -> SessionRef {
        SessionRef {
            session: Some(SessionName(self.file.display().to_string())),
            cwd: self.file.parent().unwrap_or(Path::new("/")).to_owned(),
            wanted: KernelWishes::default(),
        }
    }

    /// Searches for an existing session of this notebook.
    fn seek(&mut self) {
        if self.is_watched || !self.runs.is_empty() || self.opening.lasting() == Lasting::EndsWithUs
        {
            return;
        }
        let name = SessionName(self.file.display().to_string());
        let all = everywhere(&self.opening.settings).sessions;
        let met = all.into_iter().find(|met| met.session.name == name);
        let Some(met) = met else { return };
        self.client = Some(Client::of_host(met.found.clone(), &self.opening.settings));
        // If that session is just ending, the next search tries again.
        let _ = self.watch(met.reference());
    }

    fn watch(&mut self, session: SessionRef) -> Result<(), Failure> {
        let Some(client) = self.client.as_ref().filter(|_| !self.is_watched) else { return Ok(()) };
        let asked =
            client.ask(Ask::Watch { session: session.clone(), from: None, only_past: false })?;
        let (inbox, wishes) = (self.inbox.clone(), self.wishes.clone());
        listen("watch", move || watched(asked, &inbox, &wishes))?;
        (self.is_watched, self.session) = (true, Some(session));
        Ok(())
    }

    /// The client for runs. Created on first use.
    fn client(&mut self) -> Result<&Client, Failure> {
        if self.client.is_none() {
            let settings = &self.opening.settings;
            self.client = Some(match self.opening.lasting() {
                Lasting::EndsWithUs => {
                    Client::local(python::engine(settings)?, settings, Life::Long)?
                }
                Lasting::GoesOn => {
                    let name = SessionName(self.file.display().to_string());
                    let whom = hosts::for_session(Some(&name), settings)?;
                    whom.silent_notes().for_each(|note| self.inbox.put(Input::Told(note)));
                    whom.client
                }
            });
        }
        self.client.as_ref().ok_or(Failure::Pipe)
    }

    fn run(&mut self, choice: CellChoice) -> Result<(), Failure> {
        let request = RunRequest {
            cells: choice,
            // A user sees on the screen what has run.
            needed: NeededCells::LeaveOut,
            cwd: self.session.as_ref().map(|session| session.cwd.clone()),
            wanted: self.opening.wanted.clone(),
            ..RunRequest::of(self.file.display().to_string())
        };
        let ask = RunAsk {
            request,
            kernel: self.opening.kernel.clone(),
            state: None,
            copy_of: None,
            attention: Attention::Usual,
            detached: Detachment::No,
            copied_from: None,
            shows_outputs: false,
        };
        let asked = self.client()?.ask(Ask::Run(Box::new(ask)));
        let asked = match asked {
            Ok(asked) => asked,
            Err(failure) => {
                // The next run looks for another host.
                self.client = None;
                return Err(failure);
            }
        };
        self.count += 1;
        let number = self.count;
        self.runs.push((number, asked.handle()));
        let (inbox, wishes) = (self.inbox.clone(), self.wishes.clone());
        listen("run", move || ran(asked, number, &inbox, &wishes))
    }

    /// Cancels the runs of this program. Without any, interrupts the run of another program.
    fn interrupt(&mut self) -> Result<(), Failure> {
        if self.runs.is_empty() {
            return self.kernel(KernelRequest::Interrupt);
        }
        self.runs.iter().for_each(|(_, run)| run.cancel());
        Ok(())
    }

    /// Asks the kernel for completions. They arrive as an input.
    fn complete(&self, code: String, cursor: usize) -> Result<(), Failure> {
        let what = Inspect::Complete { code: code.clone(), cursor: Some(cursor) };
        let asked = self.client.as_ref().zip(self.session.clone()).and_then(|(client, session)| {
            let request = InspectRequest { session, what, wait: Some(COMPLETES), behind: None };
            client.ask(Ask::Inspect(request)).ok()
        });
        let inbox = self.inbox.clone();
        listen("complete", move || {
            let found = asked.and_then(completions);
            inbox.put(Input::Completed { code, cursor, found });
        })
    }

    fn kernel(&mut self, what: impl Fn(SessionRef) -> KernelRequest) -> Result<(), Failure> {
        let (Some(client), Some(session)) = (&self.client, &self.session) else {
            self.inbox.put(Input::Told(words::notebook_screen::NO_KERNEL.to_owned()));
            return Ok(());
        };
        let asked = client.ask(Ask::Kernel(what(session.clone())))?;
        let inbox = self.inbox.clone();
        listen("kernel", move || answered(asked, &inbox))
    }
}

fn listen(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(Failure::of_thread)
}

fn watched(mut asked: Exchange, inbox: &Inbox, wishes: &Sender<Wish>) {
    loop {
        match asked.next(None) {
            Step::Event(event) => match *event {
                HostEvent::Session { event, .. } => inbox.put(Input::Session(Box::new(event))),
                HostEvent::Missed(events) => inbox.put(Input::Missed(events)),
                _ => {}
            },
            Step::Nothing => {}
            Step::Done(_) => {
                inbox.put(Input::Unwatched);
                let _ = wishes.send(Wish::WatchIsOver);
                return;
            }
        }
    }
}

fn ran(mut asked: Exchange, number: u64, inbox: &Inbox, wishes: &Sender<Wish>) {
    let mut has_begun = false;
    let done = loop {
        match asked.next(None) {
            Step::Event(event) => match *event {
                HostEvent::Began(_) => {
                    has_begun = true;
                    let _ = wishes.send(Wish::HasBegun);
                }
                HostEvent::Aside(line) => inbox.put(Input::Told(line)),
                _ => {}
            },
            Step::Nothing => {}
            Step::Done(done) => break done,
        }
    };
    let _ = wishes.send(Wish::RunIsOver(number));
    inbox.put(Input::RunOver(match done {
        Ok(Answer::Python(done)) => outcome(&done.report),
        Ok(_) => RunEnd::Well,
        Err(refusal) if has_begun => RunEnd::Unsaved(describe_refusal(refusal)),
        Err(refusal) => RunEnd::Failed(describe_refusal(refusal)),
    }));
}

fn completions(mut asked: Exchange) -> Option<Completions> {
    loop {
        match asked.next(None) {
            Step::Event(_) | Step::Nothing => {}
            Step::Done(Ok(Answer::Inspect(report))) => {
                let InspectionAnswer::Completions(found) = report.seen else { return None };
                return Some(found);
            }
            Step::Done(_) => return None,
        }
    }
}

fn answered(mut asked: Exchange, inbox: &Inbox) {
    loop {
        match asked.next(None) {
            Step::Event(_) | Step::Nothing => {}
            Step::Done(Ok(_)) => return,
            Step::Done(Err(refusal)) => return inbox.put(Input::Told(describe_refusal(refusal))),
        }
    }
}

/// The result of a run, apart from the output of its cells.
fn outcome(report: &PythonReport) -> RunEnd {
    if let Some(failure) = client::not_begun(report) {
        return RunEnd::Failed(said(failure));
    }
    let unsaved = report.notebook.as_ref().and_then(|notebook| notebook.unsaved());
    match (unsaved, stop(report)) {
        (Some((_, problem)), _) => RunEnd::Unsaved(words::file::not_in_file(problem)),
        (None, Some(stop)) => RunEnd::Stopped(stop),
        (None, None) => RunEnd::Well,
    }
}

/// The cell that ended the run before its time.
fn stop(report: &PythonReport) -> Option<Stop> {
    let has_run = |state: State| !matches!(state, State::Done | State::Queued | State::NeverRun);
    let may_fail = |cell: &CellReport| cell.notebook.as_ref().is_some_and(|cell| cell.may_fail);
    let is_stop = |cell: &&CellReport| has_run(cell.state) && !may_fail(cell);
    let cell = report.cells.iter().find(is_stop)?;
    let named = cell.notebook.as_ref()?;
    let why = match (cell.state, exception(cell)) {
        (State::Error, Some(error)) => first_line(&format!("{}: {}", error.name, error.value)),
        (state, _) => words::call::sentence(state, cell.end.as_ref())
            .unwrap_or_else(|| state.name().to_owned()),
    };
    let is_left = |cell: &&CellReport| cell.state == State::NeverRun && !cell.is_left_out();
    let left = report.cells.iter().filter(is_left).count();
    let place = words::notebook_screen::cell(named.index, named.id.as_deref());
    let said = match cell.state {
        State::Cancelled => words::notebook_screen::interrupted(&place, left),
        _ => words::notebook_screen::stopped(&place, &why, (report.cells.len(), left)),
    };
    Some(Stop { cell: named.index, id: named.id.clone(), said })
}

/// The first line of a message that may be long.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(WHY_CHARS).collect();
    if cut.len() < text.trim_end().len() { format!("{} …", cut.trim_end()) } else { cut }
}

fn said(failure: Failure) -> String {
    describe_refusal(Refusal::from(failure))
}

fn describe_refusal(refusal: Refusal) -> String {
    match refusal.hint {
        Some(hint) => format!("{} ({hint})", refusal.message),
        None => refusal.message,
    }
}
