//! The kernel of the notebook: cells are run in it, and what happens in it is told, whoever asked for it.
//!
//! Owns whom to ask: the host that has the notebook's session, be it an agent's, else the one that commands share. A
//! notebook that is only looked at starts none. One thread asks, and one each listens to what was asked. It must not
//! know the screen or what the file holds.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use inkcell_engine::api::{
    CellChoice, KernelRequest, PythonReport, Request, RunRequest, SessionRef, Wanted,
};
use inkcell_engine::registry::SessionName;

use super::model::{Input, Lasting};
use super::pages::{self, PAGE_LINES};
use crate::cli::hosts::{HostArgs, everywhere};
use crate::cli::{hosts, py, python};
use crate::client::{AskHandle, Asked, Client, Step};
use crate::exit::Failure;
use crate::host::{
    Answer, Ask, Attention, Detached, HostEvent, KernelOptions, Life, Refusal, RunAsk,
};
use crate::render::execution::Page;
use crate::screen::{asking, last_page, stored_lines};
use crate::settings::Settings;

/// How often a session is looked for where there is none.
const SEEK: Duration = Duration::from_secs(1);

/// Where other threads put what happens; whoever waits for it is woken. Who puts too much waits.
#[derive(Clone)]
pub(super) struct Inbox {
    inputs: SyncSender<Input>,
    wake: Arc<UnixStream>,
}

impl Inbox {
    pub(super) fn new(inputs: SyncSender<Input>, wake: UnixStream) -> Inbox {
        Inbox { inputs, wake: Arc::new(wake) }
    }

    fn put(&self, input: Input) {
        // Nobody is there any more, or is awake already.
        let _ = self.inputs.send(input);
        let _ = (&*self.wake).write(&[0]);
    }
}

/// Which notebook, and what its kernel is to be.
pub(crate) struct Opening {
    /// As it was named.
    pub(crate) path: String,
    pub(crate) settings: Arc<Settings>,
    pub(crate) host: HostArgs,
    pub(crate) wanted: Wanted,
    pub(crate) kernel: KernelOptions,
}

impl Opening {
    /// Whether a host may stay when we go.
    pub(super) fn lasting(&self) -> Lasting {
        match self.host.no_host || !self.settings.uses_host() {
            true => Lasting::EndsWithUs,
            false => Lasting::GoesOn,
        }
    }
}

/// What is asked of the thread that asks.
enum Wish {
    Run(CellChoice),
    Interrupt,
    Restart,
    /// A part of a stored output.
    Page(pages::Wanted),
    /// A run of ours has a session now.
    HasBegun,
    /// A run of ours is over.
    RunIsOver(u64),
    /// The session that was watched is gone.
    WatchIsOver,
    End,
}

/// The notebook's session. Dropped, it lets go of it.
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
        let thread = thread.map_err(|error| Failure::Io("cannot start a thread", error))?;
        Ok(Session { wishes, thread: Some(thread) })
    }

    pub(super) fn run(&self, choice: CellChoice) {
        let _ = self.wishes.send(Wish::Run(choice));
    }

    pub(super) fn interrupt(&self) {
        let _ = self.wishes.send(Wish::Interrupt);
    }

    pub(super) fn page(&self, wanted: pages::Wanted) {
        let _ = self.wishes.send(Wish::Page(wanted));
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
    /// The session, once there is one.
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
                Err(RecvTimeoutError::Timeout) => self.seek(),
            }
        }
    }

    fn grant(&mut self, wish: Wish) -> Result<(), Failure> {
        match wish {
            Wish::Run(choice) => {
                if let Err(failure) = self.run(choice) {
                    self.inbox.put(Input::RunOver(Err(said(failure))));
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
            Wish::HasBegun => {
                let own = self.own_session();
                self.watch(own)
            }
            Wish::RunIsOver(number) => {
                self.runs.retain(|(run, _)| *run != number);
                Ok(())
            }
            Wish::WatchIsOver => {
                (self.is_watched, self.session) = (false, None);
                Ok(())
            }
            Wish::End => Ok(()),
        }
    }

    /// A part of a stored output, as the host has it that ran the code.
    fn page(&self, wanted: &pages::Wanted) -> Option<Page> {
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

    /// The notebook's own session, as runs call it.
    fn own_session(&self) -> SessionRef {
        SessionRef {
            session: Some(SessionName(self.file.display().to_string())),
            cwd: self.file.parent().unwrap_or(Path::new("/")).to_owned(),
            wanted: Wanted::default(),
        }
    }

    /// Looks whether somebody has a session of this notebook.
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
        // One that is just going is looked for again.
        let _ = self.watch(met.reference());
    }

    fn watch(&mut self, session: SessionRef) -> Result<(), Failure> {
        let Some(client) = self.client.as_ref().filter(|_| !self.is_watched) else { return Ok(()) };
        let asked = client.ask(Ask::Watch { session: session.clone(), from: None })?;
        let (inbox, wishes) = (self.inbox.clone(), self.wishes.clone());
        listen("watch", move || watched(asked, &inbox, &wishes))?;
        (self.is_watched, self.session) = (true, Some(session));
        Ok(())
    }

    /// Whom to ask for a run.
    fn client(&mut self) -> Result<&Client, Failure> {
        if self.client.is_none() {
            let settings = &self.opening.settings;
            self.client = Some(match self.opening.lasting() {
                Lasting::EndsWithUs => {
                    Client::local(python::engine(settings)?, settings, Life::Long)?
                }
                Lasting::GoesOn => {
                    let name = SessionName(self.file.display().to_string());
                    hosts::for_session(Some(&name), settings)?.client
                }
            });
        }
        self.client.as_ref().ok_or(Failure::Pipe)
    }

    fn run(&mut self, choice: CellChoice) -> Result<(), Failure> {
        let request = RunRequest {
            cells: choice,
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
            detached: Detached::No,
            copied_from: None,
        };
        let asked = self.client()?.ask(Ask::Run(ask));
        let asked = match asked {
            Ok(asked) => asked,
            Err(failure) => {
                // The next one looks for another host.
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

    /// Takes our own runs back, or else interrupts what somebody else runs.
    fn interrupt(&mut self) -> Result<(), Failure> {
        if self.runs.is_empty() {
            return self.kernel(KernelRequest::Interrupt);
        }
        self.runs.iter().for_each(|(_, run)| run.cancel());
        Ok(())
    }

    fn kernel(&mut self, what: impl Fn(SessionRef) -> KernelRequest) -> Result<(), Failure> {
        let (Some(client), Some(session)) = (&self.client, &self.session) else {
            self.inbox.put(Input::Told("there is no kernel yet; x runs a cell".to_owned()));
            return Ok(());
        };
        let asked = client.ask(Ask::Engine(Request::Kernel(what(session.clone()))))?;
        let inbox = self.inbox.clone();
        listen("kernel", move || answered(asked, &inbox))
    }
}

fn listen(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(|error| Failure::Io("cannot start a thread", error))
}

fn watched(mut asked: Asked, inbox: &Inbox, wishes: &Sender<Wish>) {
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

fn ran(mut asked: Asked, number: u64, inbox: &Inbox, wishes: &Sender<Wish>) {
    let done = loop {
        match asked.next(None) {
            Step::Event(event) => match *event {
                HostEvent::Began(_) => drop(wishes.send(Wish::HasBegun)),
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
        Ok(_) => Ok(()),
        Err(refusal) => Err(told(refusal)),
    }));
}

fn answered(mut asked: Asked, inbox: &Inbox) {
    loop {
        match asked.next(None) {
            Step::Event(_) | Step::Nothing => {}
            Step::Done(Ok(_)) => return,
            Step::Done(Err(refusal)) => return inbox.put(Input::Told(told(refusal))),
        }
    }
}

/// What is to be said of a run besides what its cells show.
fn outcome(report: &PythonReport) -> Result<(), String> {
    if let Some(failure) = py::not_begun(report) {
        return Err(said(failure));
    }
    let unsaved = report.notebook.as_ref().and_then(|notebook| notebook.unsaved());
    match unsaved {
        Some((_, problem)) => Err(format!("the outputs are not in the file: {}", problem.message)),
        None => Ok(()),
    }
}

fn said(failure: Failure) -> String {
    told(Refusal::from(failure))
}

fn told(refusal: Refusal) -> String {
    match refusal.hint {
        Some(hint) => format!("{} ({hint})", refusal.message),
        None => refusal.message,
    }
}
