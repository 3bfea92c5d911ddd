//! A kernel for a test, and its events until an execution ends.
//!
//! Owns getting kernels from every backend. `ledger.rs` checks what they leave behind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use inkcell_kernel::{
    Backend, CodeRequest, Death, ExecEvent, ExecId, ForkServer, GatewayBackend, History, InputMode,
    InputReply, Kernel, KernelEvent, KernelEvents, KernelSpec, Ladder, LaunchError, LaunchedKernel,
    Origin, Prelude, Rung, RunnerBackend, RunnerConfig, Shell, Startup, StopSignal, StreamName,
    Transport, ZmqBackend, ZmqConfig, ZygoteState,
};
use inkcell_testkit::need::{is_exhaustive, jupyter_server, python_package};
use inkcell_testkit::wait::until_async;
use tempfile::TempDir;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use crate::ran::{Ran, written};
use crate::{ledger, served};

/// The longest wait of any test.
pub(crate) const LIMIT: Duration = Duration::from_secs(240);

/// The ways to start a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Start {
    /// The runner as a new process.
    Direct,
    /// The runner as a copy of a fork server.
    Forked,
    /// The runner, started ahead of time.
    Spare,
    /// The runner with the interpreter's own IPython, as a new process.
    IPython,
    /// The runner with the interpreter's own IPython, as a copy of a fork server.
    ForkedIPython,
    /// IPython's kernel over ZeroMQ, through sockets in a folder.
    Ipc,
    /// IPython's kernel over ZeroMQ, through ports.
    Tcp,
    /// IPython's kernel on Jupyter's kernel gateway.
    Gateway,
    /// IPython's kernel on Jupyter's server.
    Server,
    /// IPython's kernel on Jupyter's server, as if on another machine.
    Elsewhere,
    /// IPython's kernel over ZeroMQ, started ahead of time.
    Pooled,
}

impl Start {
    /// The way to start the kernel, whichever shell runs its cells.
    fn way(self) -> Start {
        match self {
            Start::IPython => Start::Direct,
            Start::ForkedIPython => Start::Forked,
            other => other,
        }
    }

    fn shell(self) -> Shell {
        if self == self.way() { Shell::Lite } else { Shell::IPython }
    }

    /// The number of attempts at something that fails now and then. Foreign kernels are slow, and our part is the
    /// same for all of them: they get a fifth, unless the run is exhaustive.
    pub(crate) fn times(self, count: usize) -> usize {
        let is_runner = matches!(self.way(), Start::Direct | Start::Forked | Start::Spare);
        if is_runner || is_exhaustive() { count } else { count / 5 }
    }

    /// Checks that the test Python supports this start, and reports it if not.
    pub(crate) fn is_possible(self, test: &str) -> bool {
        if matches!(self, Start::Gateway | Start::Server | Start::Elsewhere) {
            return jupyter_server(test);
        }
        let module = match self {
            Start::Ipc | Start::Tcp | Start::Pooled => "ipykernel",
            _ if self.shell() == Shell::IPython => "IPython",
            _ => return true,
        };
        python_package(test, python().as_os_str(), module)
    }
}

/// A kernel with its events, in a folder of its own.
pub(crate) struct Bench {
    pub(crate) kernel: Option<Box<dyn Kernel>>,
    pub(crate) events: KernelEvents,
    dir: Option<TempDir>,
    pub(crate) backend: RunnerBackend,
    /// The backend of kernels over ZeroMQ, if they come from it.
    pub(crate) zmq: Option<ZmqBackend>,
    /// The backend of kernels on a gateway, if they come from it.
    pub(crate) gateway: Option<GatewayBackend>,
    pub(crate) spec: KernelSpec,
    next: u64,
}

fn python() -> PathBuf {
    std::env::var_os("INKCELL_TEST_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from)
}

/// One folder for all tests, so that the runner is compiled once. Kernels share it in real use too.
pub(crate) fn state_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("conformance")
}

impl Bench {
    /// Starts a kernel in this way.
    pub(crate) async fn start(start: Start) -> Bench {
        let mut bench = Bench::empty(start);
        bench.begin(start).await;
        bench
    }

    /// Waits until the next kernel will be of the wanted kind.
    pub(crate) async fn settle(&self, start: Start) {
        until_async("a supply of kernels", async || self.is_ready(start).await).await;
    }

    /// Starts a kernel. The first kernel of a backend is always a new process; the next is of the wanted kind.
    pub(crate) async fn begin(&mut self, start: Start) {
        self.relaunch().await;
        self.settle(start).await;
        if matches!(start.way(), Start::Forked | Start::Spare | Start::Pooled) {
            self.relaunch().await;
        }
        let origin = &self.kernel().info().origin;
        let is_right = match start.way() {
            Start::Forked => *origin == Origin::Forked,
            Start::Spare | Start::Pooled => matches!(origin, Origin::Spare { .. }),
            _ => matches!(origin, Origin::Started { .. }),
        };
        assert!(is_right, "{start:?}: {origin:?}");
    }

    async fn is_ready(&self, start: Start) -> bool {
        match start.way() {
            Start::Spare => self.backend.spares() > 0,
            Start::Pooled => self.zmq.as_ref().is_some_and(|zmq| zmq.pooled() > 0),
            Start::Forked => match self.backend.fork_servers().await.as_slice() {
                [(_, _, ZygoteState::Ready { .. })] => true,
                [(_, _, ZygoteState::Starting)] => false,
                other => panic!("{other:?}"),
            },
            _ => true,
        }
    }

    /// A backend without a kernel.
    pub(crate) fn empty(start: Start) -> Bench {
        let dir = TempDir::new().expect("a folder");
        for name in ["work", "tmp"] {
            std::fs::create_dir(dir.path().join(name)).expect("a folder");
        }
        let (fork_server, spares) = match start.way() {
            // A busy machine slows the server down, and these tests need a copy.
            Start::Forked => (ForkServer::On { wait: LIMIT }, 0),
            Start::Spare => (ForkServer::Off, 1),
            _ => (ForkServer::Off, 0),
        };
        let config = RunnerConfig { state_dir: state_dir(), fork_server, spares };
        let backend = RunnerBackend::new(config).expect("a backend");
        let transport = match start {
            Start::Ipc | Start::Pooled => Some(Transport::Ipc),
            Start::Tcp => Some(Transport::Tcp),
            _ => None,
        };
        let zmq = transport.map(|transport| {
            let (state_dir, runtime_dir) = (state_dir(), dir.path().join("tmp"));
            let pool = usize::from(start == Start::Pooled);
            let config = ZmqConfig { state_dir, runtime_dir, transport, pool };
            ZmqBackend::new(config).expect("a backend")
        });
        let mut env = BTreeMap::from([ledger::variable()]);
        env.insert("TMPDIR".to_owned(), dir.path().join("tmp").display().to_string());
        for name in ["PATH", "HOME", "LANG"] {
            if let Ok(value) = std::env::var(name) {
                env.insert(name.to_owned(), value);
            }
        }
        let cwd = dir.path().join("work");
        let startup = Startup {
            shell: start.shell(),
            prelude: Prelude::Off,
            modules: Vec::new(),
            preload: Vec::new(),
        };
        let spec = KernelSpec { python: python(), cwd, env, start_timeout: LIMIT, startup };
        let (_, events) = KernelEvents::channel(1);
        let gateway = matches!(start, Start::Gateway | Start::Server | Start::Elsewhere);
        let gateway = gateway.then(|| served::backend(start, dir.path()));
        Bench { kernel: None, events, backend, zmq, gateway, spec, dir: Some(dir), next: 0 }
    }

    /// The working folder of its kernels.
    pub(crate) fn cwd(&self) -> &Path {
        &self.spec.cwd
    }

    /// Launches a kernel of this backend.
    pub(crate) async fn launch(&self, spec: &KernelSpec) -> Result<LaunchedKernel, LaunchError> {
        self.launch_until(spec, &CancellationToken::new()).await
    }

    /// As [`Bench::launch`], with a token to cancel.
    pub(crate) async fn launch_until(
        &self,
        spec: &KernelSpec,
        cancel: &CancellationToken,
    ) -> Result<LaunchedKernel, LaunchError> {
        match (&self.gateway, &self.zmq) {
            (Some(gateway), _) => gateway.launch(spec, cancel).await,
            (None, Some(zmq)) => zmq.launch(spec, cancel).await,
            (None, None) => self.backend.launch(spec, cancel).await,
        }
    }

    /// Replaces the kernel with a new one.
    pub(crate) async fn relaunch(&mut self) {
        let launched = self.launch(&self.spec).await.expect("a kernel");
        (self.kernel, self.events) = (Some(launched.kernel), launched.events);
    }

    pub(crate) fn kernel(&mut self) -> &mut dyn Kernel {
        self.kernel.as_deref_mut().expect("the kernel was not taken")
    }

    pub(crate) fn pid(&mut self) -> u32 {
        self.kernel().info().pid.expect("a process")
    }

    /// A request with a new id.
    pub(crate) fn request(&mut self, code: &str) -> CodeRequest {
        self.next += 1;
        CodeRequest {
            exec: ExecId(self.next),
            code: code.to_owned(),
            history: History::Store,
            env: Vec::new(),
            cwd: None,
            input: InputMode::Refuse,
            names: inkcell_kernel::NamesWanted::No,
        }
    }

    pub(crate) fn post(&mut self, code: &str, history: History) -> ExecId {
        let request = CodeRequest { history, ..self.request(code) };
        let exec = request.exec;
        self.kernel().execute(request).expect("the kernel is there");
        exec
    }

    pub(crate) async fn run(&mut self, code: &str) -> Ran {
        let request = self.request(code);
        self.run_request(request).await
    }

    pub(crate) async fn run_request(&mut self, request: CodeRequest) -> Ran {
        let exec = request.exec;
        self.kernel().execute(request).expect("the kernel is there");
        self.collect(exec).await
    }

    /// Runs a cell and returns the plain text of its result.
    pub(crate) async fn value(&mut self, code: &str) -> String {
        self.run(code).await.ok().result().expect("a result")
    }

    /// Collects all events until the execution or the kernel ends.
    pub(crate) async fn collect(&mut self, exec: ExecId) -> Ran {
        let mut ran = Ran::default();
        while !self.hear(exec, &mut ran, Instant::now() + LIMIT).await.expect("an event in time") {}
        ran
    }

    /// Runs code that may ask for lines, and gives it these answers in turn. Also returns the requests.
    pub(crate) async fn converse(
        &mut self,
        code: &str,
        replies: &[InputReply],
    ) -> (Ran, Vec<(String, bool)>) {
        let request = CodeRequest { input: InputMode::Ask, ..self.request(code) };
        let exec = request.exec;
        self.kernel().execute(request).expect("the kernel is there");
        let (mut ran, mut asked) = (Ran::default(), Vec::new());
        loop {
            let is_end = self.hear(exec, &mut ran, Instant::now() + LIMIT).await;
            if is_end.expect("an event in time") {
                return (ran, asked);
            }
            if let Some(ExecEvent::InputRequested { prompt, password }) = ran.events.last()
                && asked.len() < ran.asked()
            {
                match replies.get(asked.len()) {
                    Some(reply) => self.kernel().reply_input(exec, reply.clone()),
                    None => self.kernel().interrupt(),
                }
                .expect("the kernel is there");
                asked.push((prompt.clone(), *password));
            }
        }
    }

    /// Takes one event of an execution, if it comes in time. True if it was the last.
    async fn hear(&mut self, exec: ExecId, ran: &mut Ran, until: Instant) -> Option<bool> {
        let next = tokio::time::timeout_at(until, self.events.next()).await.ok()?;
        match next.expect("the stream ends with a death") {
            KernelEvent::Exec { exec: of, event } => {
                assert_eq!(of, exec, "an event of another execution: {event:?}");
                let is_end = matches!(event, ExecEvent::Finished(_));
                ran.events.push(event);
                return Some(is_end);
            }
            KernelEvent::Orphan(event) => ran.orphans.push(event),
            KernelEvent::Notice(text) => ran.notices.push(text),
            KernelEvent::Answer { id, answer } => panic!("{id:?} was not awaited: {answer:?}"),
            KernelEvent::Died(death) => {
                ran.death = Some(death);
                return Some(true);
            }
        }
        Some(false)
    }

    /// Climbs the ladder while it waits for the end of an execution; returns the last rung.
    pub(crate) async fn climb(&mut self, exec: ExecId, ladder: Ladder) -> (Ran, Rung) {
        self.climb_to(Rung::Kill, exec, ladder).await
    }

    /// As [`Bench::climb`], up to this rung, which it repeats: the reaction time depends on the machine, and
    /// two signals at the same time count as one.
    pub(crate) async fn climb_to(
        &mut self,
        top: Rung,
        exec: ExecId,
        ladder: Ladder,
    ) -> (Ran, Rung) {
        let (begun, mut ran, mut last) = (Instant::now(), Ran::default(), Rung::Interrupt);
        let rungs = ladder.rungs();
        let of_top = rungs.iter().rfind(|(_, rung)| *rung == top).expect("a rung").0;
        let below = rungs.into_iter().take_while(|(at, _)| *at <= of_top);
        let again = (1..LIMIT.as_secs()).map(|more| (of_top + Duration::from_secs(more), top));
        for (at, rung) in below.chain(again) {
            while let Some(is_end) = self.hear(exec, &mut ran, begun + at).await {
                if is_end {
                    return (ran, last);
                }
            }
            // The kernel may have just died; the event reports that.
            let _ = match rung {
                Rung::Interrupt => self.kernel().interrupt(),
                Rung::Terminate => self.kernel().force(StopSignal::Terminate),
                Rung::Kill => self.kernel().force(StopSignal::Kill),
                Rung::Answer => unreachable!("that is for whoever waits"),
            };
            last = rung;
        }
        panic!("no end after the whole ladder: {ran:?}")
    }

    /// Waits until the running execution has written this to standard output.
    pub(crate) async fn wait_for_output(&mut self, wanted: &str) -> Vec<ExecEvent> {
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&written(&seen, StreamName::Stdout)).contains(wanted) {
            let next = tokio::time::timeout(LIMIT, self.events.next()).await;
            match next.expect("an event in time") {
                Some(KernelEvent::Exec { event, .. }) => seen.push(event),
                Some(KernelEvent::Orphan(_) | KernelEvent::Notice(_)) => {}
                other => panic!("no output {wanted:?}, only {seen:?}, then {other:?}"),
            }
        }
        seen
    }

    /// The words on the first line that the running execution writes.
    pub(crate) async fn wait_for_words(&mut self) -> Vec<String> {
        let seen = self.wait_for_output("\n").await;
        let text = String::from_utf8_lossy(&written(&seen, StreamName::Stdout)).into_owned();
        text.split_whitespace().map(str::to_owned).collect()
    }

    /// Shuts the kernel down, and returns its death.
    pub(crate) async fn shut_down(&mut self) -> Death {
        self.shut_down_within(LIMIT).await
    }

    /// As [`Bench::shut_down`], but kills a kernel that takes longer than `grace`.
    pub(crate) async fn shut_down_within(&mut self, grace: Duration) -> Death {
        let kernel = self.kernel.take().expect("the kernel was not taken");
        kernel.shutdown(grace).await
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some(dir) = self.dir.take() {
            ledger::keep(dir);
        }
    }
}
