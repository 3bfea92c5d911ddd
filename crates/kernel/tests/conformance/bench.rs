//! What a test needs of a backend: a kernel, and its events until an execution is over.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use inkcell_kernel::{
    Backend, CodeRequest, Death, ExecEvent, ExecId, ForkServer, History, Kernel, KernelEvent,
    KernelEvents, KernelSpec, MimeBundle, MimeData, Outcome, Prelude, RunnerBackend, RunnerConfig,
    StreamName, ZygoteState,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// No test waits longer than this for anything.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// The ways to a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start {
    /// The runner, each by itself.
    Direct,
    /// The runner, from a fork server.
    Forked,
}

/// A kernel with its events, in a folder of its own.
pub(crate) struct Bench {
    pub(crate) kernel: Option<Box<dyn Kernel>>,
    pub(crate) events: KernelEvents,
    _dir: TempDir,
    pub(crate) backend: RunnerBackend,
    spec: KernelSpec,
    next: u64,
}

/// One execution, from its start to its end.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) events: Vec<ExecEvent>,
    pub(crate) orphans: Vec<ExecEvent>,
    pub(crate) death: Option<Death>,
}

fn python() -> PathBuf {
    std::env::var_os("INKCELL_TEST_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from)
}

impl Bench {
    /// A kernel, got in this way.
    pub(crate) async fn start(start: Start) -> Bench {
        match start {
            Start::Direct => Bench::with(ForkServer::Off).await,
            Start::Forked => Bench::forked().await,
        }
    }

    /// A kernel that was forked from a server.
    async fn forked() -> Bench {
        let mut bench = Bench::with(ForkServer::On).await;
        let ready = async {
            loop {
                let servers = bench.backend.fork_servers().await;
                match servers.as_slice() {
                    [(_, _, ZygoteState::Ready { .. })] => return,
                    [(_, _, ZygoteState::Starting)] => {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                    other => panic!("{other:?}"),
                }
            }
        };
        tokio::time::timeout(LIMIT, ready).await.expect("a fork server in time");
        bench.relaunch().await;
        bench
    }

    /// Another kernel in the place of this one.
    pub(crate) async fn relaunch(&mut self) {
        let launched = self.backend.launch(&self.spec, &CancellationToken::new()).await;
        let launched = launched.expect("a kernel");
        (self.kernel, self.events) = (Some(launched.kernel), launched.events);
    }

    async fn with(fork_server: ForkServer) -> Bench {
        let dir = TempDir::new().expect("a folder");
        let config = RunnerConfig {
            state_dir: dir.path().join("state"),
            prelude: Prelude::Off,
            modules: Vec::new(),
            fork_server,
            preload: Vec::new(),
        };
        let backend = RunnerBackend::new(config).expect("a backend");
        let mut env = BTreeMap::new();
        for name in ["PATH", "HOME", "LANG"] {
            if let Ok(value) = std::env::var(name) {
                env.insert(name.to_owned(), value);
            }
        }
        let cwd = dir.path().to_owned();
        let spec = KernelSpec { python: python(), cwd, env, start_timeout: LIMIT };
        let launched = backend.launch(&spec, &CancellationToken::new()).await.expect("a kernel");
        let (kernel, events) = (Some(launched.kernel), launched.events);
        Bench { kernel, events, backend, spec, _dir: dir, next: 0 }
    }

    pub(crate) fn kernel(&mut self) -> &mut dyn Kernel {
        self.kernel.as_deref_mut().expect("the kernel was not taken")
    }

    pub(crate) fn post(&mut self, code: &str, history: History) -> ExecId {
        self.next += 1;
        let exec = ExecId(self.next);
        let (code, env) = (code.to_owned(), Vec::new());
        let request = CodeRequest { exec, code, history, env, cwd: None };
        self.kernel().execute(request).expect("the kernel is there");
        exec
    }

    pub(crate) async fn run(&mut self, code: &str) -> Ran {
        let exec = self.post(code, History::Store);
        self.collect(exec).await
    }

    /// Everything up to the end of an execution, or of the kernel.
    pub(crate) async fn collect(&mut self, exec: ExecId) -> Ran {
        let mut ran = Ran::default();
        loop {
            let next = tokio::time::timeout(LIMIT, self.events.next()).await;
            match next.expect("an event in time").expect("the stream ends with a death") {
                KernelEvent::Exec { exec: of, event } => {
                    assert_eq!(of, exec, "an event of another execution: {event:?}");
                    let is_end = matches!(event, ExecEvent::Finished(_));
                    ran.events.push(event);
                    if is_end {
                        return ran;
                    }
                }
                KernelEvent::Orphan(event) => ran.orphans.push(event),
                KernelEvent::Notice(_) => {}
                KernelEvent::Died(death) => {
                    ran.death = Some(death);
                    return ran;
                }
            }
        }
    }

    /// Waits until the running execution has written this to standard output.
    pub(crate) async fn wait_for_output(&mut self, wanted: &str) -> Vec<ExecEvent> {
        let mut seen = Vec::new();
        let mut text = String::new();
        while !text.contains(wanted) {
            let next = tokio::time::timeout(LIMIT, self.events.next()).await;
            let Some(KernelEvent::Exec { event, .. }) = next.expect("an event in time") else {
                panic!("no output {wanted:?}, only {text:?}")
            };
            if let ExecEvent::Stream { data, .. } = &event {
                text.push_str(&String::from_utf8_lossy(data));
            }
            seen.push(event);
        }
        seen
    }
}

impl Ran {
    pub(crate) fn text(&self, name: StreamName) -> String {
        let mut bytes = Vec::new();
        for event in &self.events {
            match event {
                ExecEvent::Stream { name: of, data } if *of == name => {
                    bytes.extend_from_slice(data);
                }
                _ => {}
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub(crate) fn stdout(&self) -> String {
        self.text(StreamName::Stdout)
    }

    pub(crate) fn stderr(&self) -> String {
        self.text(StreamName::Stderr)
    }

    pub(crate) fn outcome(&self) -> &Outcome {
        match self.events.last() {
            Some(ExecEvent::Finished(outcome)) => outcome,
            other => panic!("no end: {other:?}, {:?}", self.death),
        }
    }

    pub(crate) fn error(&self) -> &inkcell_kernel::PyError {
        match self.outcome() {
            Outcome::Error(error) => error,
            other => panic!("no error: {other:?}"),
        }
    }

    pub(crate) fn ok(self) -> Ran {
        assert_eq!(self.outcome(), &Outcome::Ok);
        self
    }

    /// The plain text of the result.
    pub(crate) fn result(&self) -> Option<String> {
        self.events.iter().find_map(|event| match event {
            ExecEvent::Result { data, .. } => Some(plain(data)),
            _ => None,
        })
    }

    /// Streams, displays and results as one line each, in order; pieces of one stream joined.
    pub(crate) fn order(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut last = None;
        for event in &self.events {
            let name = match event {
                ExecEvent::Stream { name, .. } => Some(*name),
                _ => None,
            };
            let is_more = name.is_some() && name == last;
            last = name;
            match event {
                ExecEvent::Stream { data, .. } if is_more => {
                    if let Some(line) = lines.last_mut() {
                        line.push_str(String::from_utf8_lossy(data).trim_end());
                    }
                }
                ExecEvent::Stream { name, data } => {
                    lines.push(format!(
                        "{} {}",
                        name.as_str(),
                        String::from_utf8_lossy(data).trim_end()
                    ));
                }
                ExecEvent::Display { data, .. } => lines.push(format!("display {}", plain(data))),
                ExecEvent::Result { data, .. } => lines.push(format!("result {}", plain(data))),
                _ => {}
            }
        }
        lines
    }
}

pub(crate) fn plain(bundle: &MimeBundle) -> String {
    match bundle.get("text/plain") {
        Some(MimeData::Text(text)) => text.clone(),
        other => format!("{other:?}"),
    }
}
