//! Whoever answers a command: a host in this process, or one that listens elsewhere. Both are told the same.
//!
//! Owns the connection of one question and finding out whom to ask. It builds no async runtime for a host elsewhere:
//! a command that only asks is over before one would be ready. What is asked and answered is in `host/frames`.

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use inkcell_engine::api::KernelStep;
use inkcell_engine::kernel::InputReply;
use inkcell_engine::{Engine, Kind};
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use tokio::sync::mpsc;

use crate::exit::{Exit, Failure};
use crate::host::{
    Answer, Ask, Found, FromHost, Hello, Host, HostEvent, Hosts, Life, Refusal, SpawnError, ToHost,
    serve_one, spawn,
};
use crate::render::hint;
use crate::settings::{Profile, Settings, Surroundings};

/// Room that is made for what a host says next.
const READ_BYTES: usize = 64 << 10;

/// Whom a command asks.
pub(crate) enum Client {
    /// A host of its own, which ends with it.
    Local(LocalHost),
    /// One that listens.
    Remote(RemoteHost),
}

/// A host that listens, and on whose behalf it is asked.
pub(crate) struct RemoteHost {
    found: Found,
    caller: Surroundings,
    /// A connection that nobody has asked anything yet.
    ready: std::cell::Cell<Option<UnixStream>>,
}

/// A thread with an engine in it.
pub(crate) struct LocalHost {
    connections: Option<mpsc::UnboundedSender<UnixStream>>,
    caller: Surroundings,
    thread: Option<JoinHandle<()>>,
}

impl Drop for LocalHost {
    fn drop(&mut self) {
        // Nobody connects any more; the thread ends when no kernel is left.
        self.connections = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Client {
    /// A host of this command's own.
    pub(crate) fn local(
        engine: Engine,
        settings: &Settings,
        life: Life,
    ) -> Result<Client, Failure> {
        let (connections, mut queue) = mpsc::unbounded_channel::<UnixStream>();
        // What is shown may have to wait for its reader, and the code must not wait with it.
        let built =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = built.map_err(|error| Failure::Io("cannot start the runtime", error))?;
        let serve = move || {
            let host = Host::new(engine, Profile::CommandLine, life);
            runtime.block_on(async {
                while let Some(stream) = queue.recv().await {
                    let is_ready = stream.set_nonblocking(true);
                    if let (Ok(()), Ok(stream)) =
                        (is_ready, tokio::net::UnixStream::from_std(stream))
                    {
                        tokio::spawn(serve_one(host.clone(), stream));
                    }
                }
                host.engine.shutdown().await;
            });
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("host".to_owned()).spawn(serve);
        let thread = thread.map_err(|error| Failure::Io("cannot start a thread", error))?;
        let caller = settings.surroundings.clone();
        Ok(Client::Local(LocalHost {
            connections: Some(connections),
            caller,
            thread: Some(thread),
        }))
    }

    /// The host that commands share, which is started where it is not there.
    pub(crate) fn shared(settings: &Settings) -> Result<Client, Failure> {
        let hosts = Hosts::of(settings);
        let found = hosts.shared();
        let stream = match found.connect() {
            Ok(stream) => stream,
            Err(_) => spawn(&hosts, settings).map_err(|error| not_started(&error))?,
        };
        let caller = settings.surroundings.clone();
        let ready = std::cell::Cell::new(Some(stream));
        Ok(Client::Remote(RemoteHost { found, caller, ready }))
    }

    /// A host that was found.
    pub(crate) fn of_host(found: Found, settings: &Settings) -> Client {
        let caller = settings.surroundings.clone();
        Client::Remote(RemoteHost { found, caller, ready: std::cell::Cell::default() })
    }

    pub(crate) fn is_remote(&self) -> bool {
        matches!(self, Client::Remote(_))
    }

    /// Asks; what happens meanwhile comes as events until the answer. Many may be open at once.
    pub(crate) fn ask(&self, ask: Ask) -> Result<Asked, Failure> {
        let (stream, caller) = match self {
            Client::Local(host) => {
                let (ours, theirs) = UnixStream::pair().map_err(|error| no_connection(&error))?;
                let sent = host.connections.as_ref().map(|connections| connections.send(theirs));
                if !matches!(sent, Some(Ok(()))) {
                    return Err(gone());
                }
                (ours, &host.caller)
            }
            Client::Remote(host) => {
                let stream = match host.ready.take() {
                    Some(stream) => stream,
                    None => host.found.connect().map_err(|_| gone())?,
                };
                (stream, &host.caller)
            }
        };
        Asked::begin(stream, caller, ask, None)?.ok_or_else(gone)
    }

    /// Asks and waits for the answer alone.
    pub(crate) fn answer(&self, ask: Ask) -> Result<Answer, Failure> {
        let mut asked = self.ask(ask)?;
        loop {
            match asked.next(None) {
                Step::Event(_) | Step::Nothing => {}
                Step::Done(done) => return done.map_err(Failure::from),
            }
        }
    }
}

/// Asks a host that was found and waits for the answer, but no longer than this; none where it says nothing meanwhile.
pub(crate) fn answer_within(
    found: &Found,
    settings: &Settings,
    ask: Ask,
    limit: Duration,
) -> Result<Option<Answer>, Failure> {
    let until = Instant::now() + limit;
    let stream = match found.connect_at_once() {
        Ok(stream) => stream,
        // It has no room for one more: nobody takes those that wait.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
        Err(_) => return Err(gone()),
    };
    stream.set_write_timeout(Some(limit)).map_err(|_| gone())?;
    let begun = Asked::begin(stream, &settings.surroundings, ask, Some(limit))?;
    let Some(mut asked) = begun else { return Ok(None) };
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match asked.next(Some(left)) {
            Step::Event(_) => {}
            Step::Nothing if left.is_zero() => return Ok(None),
            Step::Nothing => {}
            Step::Done(done) => return done.map(Some).map_err(Failure::from),
        }
    }
}

fn not_started(error: &SpawnError) -> Failure {
    Failure::Told {
        exit: Exit::Unavailable,
        kind: Kind::Unavailable,
        message: error.to_string(),
        hint: Some("run it without one: --no-host".to_owned()),
    }
}

/// Two descriptors are all it takes.
fn no_connection(error: &io::Error) -> Failure {
    let is_scarce = matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE));
    Failure::Told {
        exit: Exit::Unavailable,
        kind: Kind::Unavailable,
        message: format!("cannot make a connection: {error}"),
        hint: is_scarce.then(|| hint::of_step(KernelStep::RaiseOpenFiles)),
    }
}

/// A host went away before it answered.
fn gone() -> Failure {
    Failure::Told {
        exit: Exit::Unavailable,
        kind: Kind::Unavailable,
        message: "the host ended before it answered".to_owned(),
        hint: Some("try again; inkcell host status shows what runs".to_owned()),
    }
}

/// The next thing that a host says.
#[derive(Debug)]
pub(crate) enum Step {
    Event(Box<HostEvent>),
    Done(Result<Answer, Refusal>),
    /// Not within the time that was given.
    Nothing,
}

/// A question that was asked.
pub(crate) struct Asked {
    stream: Arc<UnixStream>,
    /// What has come and is not read yet.
    bytes: Vec<u8>,
    /// How much of it has been read, and how much of it was seen to hold no end of a line.
    read: usize,
    seen: usize,
    wait: Option<Duration>,
}

/// Says something about a question that was asked, from any thread.
#[derive(Clone)]
pub(crate) struct AskHandle {
    stream: Arc<UnixStream>,
}

impl Asked {
    /// Asks a host that has greeted; none if it does not do so, or takes nothing, within the time that was given.
    fn begin(
        stream: UnixStream,
        caller: &Surroundings,
        ask: Ask,
        wait: Option<Duration>,
    ) -> Result<Option<Asked>, Failure> {
        let mut asked =
            Asked { stream: Arc::new(stream), bytes: Vec::new(), read: 0, seen: 0, wait: None };
        let is_about_host = matches!(ask, Ask::Shutdown | Ask::Status);
        match asked.frame(wait) {
            Ok(None) => return Ok(None),
            Ok(Some(FromHost::Hello(hello))) => {
                let own = Hello::own();
                if hello.version != own.version && !is_about_host {
                    return Err(other_version(&hello, &own));
                }
            }
            _ => return Err(gone()),
        }
        let call = ToHost::Call { caller: Box::new(caller.clone()), ask: Box::new(ask) };
        match asked.handle().say(&call) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            said => said.map(|()| Some(asked)).map_err(|_| gone()),
        }
    }

    /// The next step; waits no longer than `wait` when there is a limit.
    pub(crate) fn next(&mut self, wait: Option<Duration>) -> Step {
        match self.frame(wait) {
            Ok(Some(FromHost::Event(event))) => Step::Event(event),
            Ok(Some(FromHost::Done(done))) => Step::Done(done.map(|answer| *answer)),
            Ok(Some(FromHost::Hello(_))) | Ok(None) => Step::Nothing,
            Err(_) => Step::Done(Err(Refusal::from(gone()))),
        }
    }

    pub(crate) fn handle(&self) -> AskHandle {
        AskHandle { stream: Arc::clone(&self.stream) }
    }

    /// The connection, once it is the caller's own, with what has come on it already.
    pub(crate) fn into_parts(self) -> (Arc<UnixStream>, Vec<u8>) {
        let rest = self.bytes[self.read..].to_vec();
        (self.stream, rest)
    }

    fn frame(&mut self, wait: Option<Duration>) -> io::Result<Option<FromHost>> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.bytes[self.seen..]) {
                let end = self.seen + at;
                let line = &self.bytes[self.read..end];
                let frame = serde_json::from_slice(line).map_err(io::Error::other)?;
                self.read = end + 1;
                self.seen = self.read;
                if self.read == self.bytes.len() {
                    self.bytes.clear();
                    (self.read, self.seen) = (0, 0);
                }
                return Ok(Some(frame));
            }
            self.seen = self.bytes.len();
            if self.read > 0 {
                self.bytes.drain(..self.read);
                self.seen -= self.read;
                self.read = 0;
            }
            if self.wait != wait {
                // No time at all would be taken for no limit.
                let limit = wait.map(|wait| wait.max(Duration::from_millis(1)));
                self.stream.set_read_timeout(limit)?;
                self.wait = wait;
            }
            // Nothing is cleared that is written over at once.
            self.bytes.reserve(READ_BYTES);
            match rustix::io::read(&*self.stream, spare_capacity(&mut self.bytes)) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::TIMEDOUT) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AskHandle {
    /// Whether both are of one question.
    pub(crate) fn is_same(&self, other: &AskHandle) -> bool {
        Arc::ptr_eq(&self.stream, &other.stream)
    }

    /// Takes it back; the second time by force.
    pub(crate) fn cancel(&self) {
        // A host that is gone has nothing to be taken back.
        let _ = self.say(&ToHost::Cancel);
    }

    /// Answers what the code asked.
    pub(crate) fn reply(&self, reply: InputReply) {
        let _ = self.say(&ToHost::Reply(reply));
    }

    /// So many events were shown.
    pub(crate) fn shown(&self, events: usize) {
        let _ = self.say(&ToHost::Room(events));
    }

    fn say(&self, frame: &ToHost) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(frame).map_err(io::Error::other)?;
        bytes.push(b'\n');
        (&*self.stream).write_all(&bytes)
    }
}

/// Nobody can know what another version says.
fn other_version(theirs: &Hello, own: &Hello) -> Failure {
    Failure::Told {
        exit: Exit::Conflict,
        kind: Kind::Conflict,
        message: format!(
            "the host that runs (process {}) is inkcell {}, and this is inkcell {}",
            theirs.pid, theirs.version, own.version
        ),
        hint: Some("end it, with its sessions: inkcell host stop".to_owned()),
    }
}
