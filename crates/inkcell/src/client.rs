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
    Answer, Ask, Found, FromHost, Hello, Host, HostEvent, Hosts, LOOK, Life, Refusal, Silence,
    Silent, SpawnError, ToHost, serve_one, spawn,
};
use crate::render::hint;
use crate::settings::{Profile, Settings, Surroundings};

/// Room that is made for what a host says next.
const READ_BYTES: usize = 64 << 10;

/// The pause before the next attempt to connect to a host that has no room for one more.
const CROWDED: Duration = Duration::from_millis(5);

/// After this time without a word, check whether the host is stopped.
const STILL: Duration = Duration::from_secs(1);

/// Whom a command asks.
pub(crate) enum Client {
    /// A host of its own, which ends with it.
    Local(LocalHost),
    /// One that listens.
    Remote(RemoteHost),
}

/// A host that listens, and on whose behalf it is asked. It may be stopped at any moment, and is not waited for then.
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
        Client::own(1, engine, settings, life)
    }

    /// The same with this many threads, for a command that asks many things at once.
    pub(crate) fn local_on(
        threads: usize,
        engine: Engine,
        settings: &Settings,
    ) -> Result<Client, Failure> {
        Client::own(threads.max(1), engine, settings, Life::Long)
    }

    fn own(
        threads: usize,
        engine: Engine,
        settings: &Settings,
        life: Life,
    ) -> Result<Client, Failure> {
        let (connections, mut queue) = mpsc::unbounded_channel::<UnixStream>();
        // What is shown may have to wait for its reader, and the code must not wait with it.
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let built = builder.worker_threads(threads).enable_all().build();
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
        let stream = match connect(&found, &mut Silence::of(&found)) {
            Ok(Some(stream)) => stream,
            Ok(None) => return Err(Silent::of(&found).failure()),
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
        match self {
            Client::Local(host) => {
                let (ours, theirs) = UnixStream::pair().map_err(|error| no_connection(&error))?;
                let sent = host.connections.as_ref().map(|connections| connections.send(theirs));
                if !matches!(sent, Some(Ok(()))) {
                    return Err(gone());
                }
                Asked::begin(ours, &host.caller, ask, None)?.ok_or_else(gone)
            }
            Client::Remote(host) => {
                let (found, mut silence) = (&host.found, Silence::of(&host.found));
                let stream = match host.ready.take() {
                    Some(stream) => Some(stream),
                    None => connect(found, &mut silence).map_err(|_| gone())?,
                };
                let asked = match stream {
                    Some(stream) => Asked::begin(stream, &host.caller, ask, Some(&mut silence))?,
                    None => None,
                };
                let asked = asked.ok_or_else(|| Silent::of(found).failure())?;
                Ok(Asked { host: Some(Watch::of(found)), ..asked })
            }
        }
    }

    /// The host that is asked, unless it is in this process.
    pub(crate) fn found(&self) -> Option<&Found> {
        match self {
            Client::Local(_) => None,
            Client::Remote(host) => Some(&host.found),
        }
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

/// A connection to a host; none if it accepts nobody for too long.
fn connect(found: &Found, silence: &mut Silence<'_>) -> io::Result<Option<UnixStream>> {
    loop {
        match found.connect_at_once() {
            Ok(stream) => return Ok(Some(stream)),
            // It has no room for one more, and takes those that wait as soon as it can.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if silence.is_over() {
            return Ok(None);
        }
        std::thread::sleep(CROWDED);
    }
}

/// Asks a host for what it can say at once; none if it says nothing for too long.
pub(crate) fn answer_at_once(
    found: &Found,
    settings: &Settings,
    ask: Ask,
) -> Result<Option<Answer>, Failure> {
    let mut silence = Silence::of(found);
    let Some(stream) = connect(found, &mut silence).map_err(|_| gone())? else { return Ok(None) };
    let begun = Asked::begin(stream, &settings.surroundings, ask, Some(&mut silence))?;
    let Some(mut asked) = begun else { return Ok(None) };
    loop {
        match asked.next(Some(LOOK)) {
            Step::Event(_) => {}
            Step::Nothing if silence.is_over() => return Ok(None),
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
    /// The host, where it is another process.
    host: Option<Watch>,
}

/// Whether a host in another process still runs while it answers.
struct Watch {
    found: Found,
    /// When it was last heard from, or looked at.
    heard: Instant,
    /// Whether it was stopped at the last look, and whether its client was told.
    is_stopped: bool,
    is_told: bool,
}

impl Watch {
    fn of(found: &Found) -> Watch {
        let (found, heard) = (found.clone(), Instant::now());
        Watch { found, heard, is_stopped: false, is_told: false }
    }

    fn is_heard(&mut self) {
        (self.heard, self.is_stopped, self.is_told) = (Instant::now(), false, false);
    }

    /// The note about a silent host, once. It may be stopped, and goes on with the call when the user resumes it.
    fn look(&mut self) -> Option<HostEvent> {
        if self.is_told || self.heard.elapsed() < STILL {
            return None;
        }
        self.heard = Instant::now();
        // Look twice: a host that was stopped together with us resumes a moment later.
        let was_stopped = std::mem::replace(&mut self.is_stopped, self.found.is_stopped());
        self.is_told = was_stopped && self.is_stopped;
        let told = || HostEvent::Aside(format!("note: {}", Silent::of(&self.found).told()));
        self.is_told.then(told)
    }
}

/// Says something about a question that was asked, from any thread.
#[derive(Clone)]
pub(crate) struct AskHandle {
    stream: Arc<UnixStream>,
}

impl Asked {
    /// Asks a host once it has greeted; none if it does not greet, or takes nothing, for too long.
    fn begin(
        stream: UnixStream,
        caller: &Surroundings,
        ask: Ask,
        mut silence: Option<&mut Silence<'_>>,
    ) -> Result<Option<Asked>, Failure> {
        let stream = Arc::new(stream);
        let mut asked =
            Asked { stream, bytes: Vec::new(), read: 0, seen: 0, wait: None, host: None };
        let is_about_host = matches!(ask, Ask::Shutdown | Ask::Status);
        let greeted = loop {
            let frame = asked.frame(silence.is_some().then_some(LOOK));
            if !matches!(frame, Ok(None)) {
                break frame;
            }
            if silence.as_mut().is_some_and(|silence| silence.is_over()) {
                return Ok(None);
            }
        };
        match greeted {
            Ok(Some(FromHost::Hello(hello))) => {
                let own = Hello::own();
                if hello.version != own.version && !is_about_host {
                    return Err(other_version(&hello, &own));
                }
            }
            _ => return Err(gone()),
        }
        let call = ToHost::Call { caller: Box::new(caller.clone()), ask: Box::new(ask) };
        let said = match silence {
            None => asked.handle().say(&call).map(|()| true),
            Some(silence) => asked.handle().say_unless(&call, || silence.is_over()),
        };
        said.map(|said| said.then_some(asked)).map_err(|_| gone())
    }

    /// The next step; waits no longer than `wait` if there is a limit. Without one it may be nothing as well, so that
    /// a host in another process is looked at.
    pub(crate) fn next(&mut self, wait: Option<Duration>) -> Step {
        let wait = wait.or(self.host.as_ref().map(|_| STILL));
        let frame = self.frame(wait);
        if let (Ok(Some(_)), Some(host)) = (&frame, &mut self.host) {
            host.is_heard();
        }
        match frame {
            Ok(Some(FromHost::Event(event))) => Step::Event(event),
            Ok(Some(FromHost::Done(done))) => Step::Done(done.map(|answer| *answer)),
            Ok(Some(FromHost::Hello(_))) => Step::Nothing,
            Ok(None) => match self.host.as_mut().and_then(Watch::look) {
                Some(event) => Step::Event(Box::new(event)),
                None => Step::Nothing,
            },
            Err(_) => Step::Done(Err(Refusal::from(gone()))),
        }
    }

    /// The host, where it is another process.
    pub(crate) fn found(&self) -> Option<&Found> {
        self.host.as_ref().map(|host| &host.found)
    }

    pub(crate) fn handle(&self) -> AskHandle {
        AskHandle { stream: Arc::clone(&self.stream) }
    }

    /// The connection, once it is the caller's own, with what has come on it already.
    pub(crate) fn into_parts(self) -> (Arc<UnixStream>, Vec<u8>) {
        let rest = self.bytes[self.read..].to_vec();
        // The next reader waits for as long as it takes.
        let _ = self.stream.set_read_timeout(None);
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
        (&*self.stream).write_all(&bytes_of(frame)?)
    }

    /// The same, but gives up on a host that takes nothing. Returns whether everything was sent.
    fn say_unless(&self, frame: &ToHost, mut is_over: impl FnMut() -> bool) -> io::Result<bool> {
        let bytes = bytes_of(frame)?;
        let mut rest = &*bytes;
        self.stream.set_write_timeout(Some(LOOK))?;
        while !rest.is_empty() {
            match (&*self.stream).write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(size) => rest = &rest[size..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if is_over() {
                        return Ok(false);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        self.stream.set_write_timeout(None)?;
        Ok(true)
    }
}

fn bytes_of(frame: &ToHost) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(frame).map_err(io::Error::other)?;
    bytes.push(b'\n');
    Ok(bytes)
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
