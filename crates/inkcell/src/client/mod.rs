//! The host that answers a command: in this process, or in another one that listens. Both get the same messages.
//!
//! Owns the connection of one question and the choice of the host. It builds no async runtime for a host elsewhere:
//! a command that only asks is over before a runtime would be ready. The messages are in `host/frames`.

pub(crate) mod hosts;

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use inkcell_engine::api::{EndReport, KernelStep, PythonReport, State};
use inkcell_engine::kernel::InputReply;
use inkcell_engine::{Engine, Kind};
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use tokio::sync::mpsc;

use crate::exit::{Exit, Failure};
use crate::host::{
    Answer, Ask, FromHost, Hello, Host, HostAddress, HostEvent, Hosts, LOOK, Life, Refusal,
    Silence, Silent, SpawnError, ToHost, serve_one, spawn,
};
use crate::settings::{Profile, Settings, Surroundings};
use crate::words;
use crate::words::step::Audience;

/// The buffer space for each read from a host, in bytes.
const READ_BYTES: usize = 64 << 10;

/// The pause before the next attempt to connect to a host whose queue is full.
const CROWDED: Duration = Duration::from_millis(5);

/// After this time of silence, check whether the host is stopped.
const STILL: Duration = Duration::from_secs(1);

/// The host that a command asks.
pub(crate) enum Client {
    /// A host of its own, which ends with it.
    Local(LocalHost),
    Remote(RemoteHost),
}

/// A host that listens, and the settings of its caller. It may be stopped at any moment, and is not waited for
/// then.
pub(crate) struct RemoteHost {
    found: HostAddress,
    caller: Surroundings,
    /// A connection that has not been used yet.
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
        // No client can connect from here on; the thread ends with the last kernel.
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

    /// Like `local`, with this many threads, for a command that asks many things at once.
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
        // Output may have to wait for its reader, and the code must not wait with it.
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let built = builder.worker_threads(threads).enable_all().build();
        let runtime = built.map_err(|error| Failure::Io(words::failure::START_RUNTIME, error))?;
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
        let thread = thread.map_err(Failure::of_thread)?;
        let caller = settings.surroundings.clone();
        Ok(Client::Local(LocalHost {
            connections: Some(connections),
            caller,
            thread: Some(thread),
        }))
    }

    /// The host that commands share, started if necessary.
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

    /// A client for a host that was found.
    pub(crate) fn of_host(found: HostAddress, settings: &Settings) -> Client {
        let caller = settings.surroundings.clone();
        Client::Remote(RemoteHost { found, caller, ready: std::cell::Cell::default() })
    }

    pub(crate) fn is_remote(&self) -> bool {
        matches!(self, Client::Remote(_))
    }

    /// Asks; events arrive until the answer comes. Several questions may be open at once.
    pub(crate) fn ask(&self, ask: Ask) -> Result<Exchange, Failure> {
        match self {
            Client::Local(host) => {
                let (ours, theirs) = UnixStream::pair().map_err(|error| no_connection(&error))?;
                let sent = host.connections.as_ref().map(|connections| connections.send(theirs));
                if !matches!(sent, Some(Ok(()))) {
                    return Err(gone());
                }
                Exchange::begin(ours, &host.caller, ask, None)?.ok_or_else(gone)
            }
            Client::Remote(host) => {
                let (found, mut silence) = (&host.found, Silence::of(&host.found));
                let stream = match host.ready.take() {
                    Some(stream) => Some(stream),
                    None => connect(found, &mut silence).map_err(|_| gone())?,
                };
                let asked = match stream {
                    Some(stream) => Exchange::begin(stream, &host.caller, ask, Some(&mut silence))?,
                    None => None,
                };
                let asked = asked.ok_or_else(|| Silent::of(found).failure())?;
                Ok(Exchange { host: Some(Watch::of(found)), ..asked })
            }
        }
    }

    /// The address of the host, unless it is in this process.
    pub(crate) fn found(&self) -> Option<&HostAddress> {
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

/// Connects to a host; none if it accepts no connection for too long.
fn connect(found: &HostAddress, silence: &mut Silence<'_>) -> io::Result<Option<UnixStream>> {
    loop {
        match found.connect_at_once() {
            Ok(stream) => return Ok(Some(stream)),
            // The queue of the host is full. It accepts waiting clients as soon as it can.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if silence.is_over() {
            return Ok(None);
        }
        std::thread::sleep(CROWDED);
    }
}

/// Asks a host for an answer that needs no waiting; none if it stays silent for too long.
pub(crate) fn answer_at_once(
    found: &HostAddress,
    settings: &Settings,
    ask: Ask,
) -> Result<Option<Answer>, Failure> {
    let mut silence = Silence::of(found);
    let Some(stream) = connect(found, &mut silence).map_err(|_| gone())? else { return Ok(None) };
    let begun = Exchange::begin(stream, &settings.surroundings, ask, Some(&mut silence))?;
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
    Failure::new(Kind::Unavailable, error.to_string(), Some(words::host::RUN_WITHOUT.to_owned()))
}

/// The failure to create a local connection, which takes no more than two descriptors.
fn no_connection(error: &io::Error) -> Failure {
    let is_scarce = matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE));
    Failure::new(
        Kind::Unavailable,
        format!("cannot make a connection: {error}"),
        is_scarce.then(|| Audience::Person.kernel_step(KernelStep::RaiseOpenFiles)),
    )
}

/// The failure of a host that ended before it answered.
fn gone() -> Failure {
    Failure::new(
        Kind::Unavailable,
        words::host::ENDED_BEFORE_ANSWER,
        Some(words::host::TRY_AGAIN.to_owned()),
    )
}

/// The next message of a host.
#[derive(Debug)]
pub(crate) enum Step {
    Event(Box<HostEvent>),
    Done(Result<Answer, Refusal>),
    /// Nothing arrived within the time limit.
    Nothing,
}

/// A question to a host, and the host's messages until the answer.
pub(crate) struct Exchange {
    stream: Arc<UnixStream>,
    /// Received bytes that have not been decoded yet.
    bytes: Vec<u8>,
    /// How many of these bytes are decoded, and how many were searched in vain for the end of a line.
    read: usize,
    seen: usize,
    wait: Option<Duration>,
    /// The host, if it is another process.
    host: Option<Watch>,
}

/// Checks that a host in another process still runs while it answers.
struct Watch {
    found: HostAddress,
    /// When the host last sent something, or was last checked.
    heard: Instant,
    /// The last check found the host stopped, and (`is_told`) the client has the note about it.
    is_stopped: bool,
    is_told: bool,
}

impl Watch {
    fn of(found: &HostAddress) -> Watch {
        let (found, heard) = (found.clone(), Instant::now());
        Watch { found, heard, is_stopped: false, is_told: false }
    }

    fn is_heard(&mut self) {
        (self.heard, self.is_stopped, self.is_told) = (Instant::now(), false, false);
    }

    /// The note about a silent host, once. The host may be stopped, and goes on with the call when the user resumes
    /// it.
    fn note_silence(&mut self) -> Option<HostEvent> {
        if self.is_told || self.heard.elapsed() < STILL {
            return None;
        }
        self.heard = Instant::now();
        // Check twice: a host that was stopped together with us resumes a moment later.
        let was_stopped = std::mem::replace(&mut self.is_stopped, self.found.is_stopped());
        self.is_told = was_stopped && self.is_stopped;
        let told = || HostEvent::Aside(format!("note: {}", Silent::of(&self.found).describe()));
        self.is_told.then(told)
    }
}

/// Sends messages about an open question, from any thread.
#[derive(Clone)]
pub(crate) struct AskHandle {
    stream: Arc<UnixStream>,
}

impl Exchange {
    /// Asks a host once it has greeted; none if it does not greet, or accepts nothing, for too long.
    fn begin(
        stream: UnixStream,
        caller: &Surroundings,
        ask: Ask,
        mut silence: Option<&mut Silence<'_>>,
    ) -> Result<Option<Exchange>, Failure> {
        let stream = Arc::new(stream);
        let mut asked =
            Exchange { stream, bytes: Vec::new(), read: 0, seen: 0, wait: None, host: None };
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

    /// The next step. With a limit it waits no longer than `wait`; without one it may also return nothing, so that
    /// a host in another process is checked.
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
            Ok(None) => match self.host.as_mut().and_then(Watch::note_silence) {
                Some(event) => Step::Event(Box::new(event)),
                None => Step::Nothing,
            },
            Err(_) => Step::Done(Err(Refusal::from(gone()))),
        }
    }

    /// The address of the host, if it is another process.
    pub(crate) fn found(&self) -> Option<&HostAddress> {
        self.host.as_ref().map(|host| &host.found)
    }

    pub(crate) fn handle(&self) -> AskHandle {
        AskHandle { stream: Arc::clone(&self.stream) }
    }

    /// The connection, once it is the caller's own, and the bytes that have already arrived on it.
    pub(crate) fn into_parts(self) -> (Arc<UnixStream>, Vec<u8>) {
        let rest = self.bytes[self.read..].to_vec();
        // The next reader waits without a limit.
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
                // A timeout of zero would mean no limit.
                let limit = wait.map(|wait| wait.max(Duration::from_millis(1)));
                self.stream.set_read_timeout(limit)?;
                self.wait = wait;
            }
            // Spare capacity needs no clearing, since the read overwrites it at once.
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
    /// Returns whether both belong to the same question.
    pub(crate) fn is_same(&self, other: &AskHandle) -> bool {
        Arc::ptr_eq(&self.stream, &other.stream)
    }

    /// Cancels the call; the second time by force.
    pub(crate) fn cancel(&self) {
        // A host that is gone has no call to cancel.
        let _ = self.say(&ToHost::Cancel);
    }

    /// Sends the input that the code asked for.
    pub(crate) fn reply(&self, reply: InputReply) {
        let _ = self.say(&ToHost::Reply(reply));
    }

    /// Reports that this many events were shown.
    pub(crate) fn grant_room(&self, events: usize) {
        let _ = self.say(&ToHost::Room(events));
    }

    fn say(&self, frame: &ToHost) -> io::Result<()> {
        (&*self.stream).write_all(&bytes_of(frame)?)
    }

    /// Like `say`, but gives up on a host that accepts nothing. Returns whether everything was sent.
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

/// The messages of another version may have any form.
fn other_version(theirs: &Hello, own: &Hello) -> Failure {
    Failure::new(
        Kind::Conflict,
        words::host::other_version(&theirs.pid, &theirs.version, &own.version),
        Some(words::host::END_IT.to_owned()),
    )
}

/// The reason why nothing was run, if so.
pub(crate) fn not_begun(report: &PythonReport) -> Option<Failure> {
    let end = report.cells.iter().find_map(|cell| cell.end.as_ref());
    let Some(EndReport::NoKernel(problem)) = end else { return None };
    let is_late = report.state == State::TimedOut;
    Some(Failure::Told {
        exit: if is_late { Exit::TimedOut } else { Exit::of_kind(problem.kind) },
        kind: problem.kind,
        message: problem.message.clone(),
        hint: problem.step.map(|step| Audience::Person.kernel_step(step)),
    })
}
