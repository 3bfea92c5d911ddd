//! A gateway backend for a test, with a kernel and its events.

use std::collections::BTreeMap;
use std::time::Duration;

use inkcell_kernel::{
    Backend as _, CodeRequest, Death, ExecEvent, ExecId, GatewayBackend, GatewayConfig,
    GatewayLocation, GatewayUrl, History, KernelEvent, KernelEvents, KernelSpec, LaunchError,
    LaunchedKernel, Outcome, Prelude, Shell, Startup, StreamName, Token, Whose,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The longest wait of any test.
pub(crate) const LIMIT: Duration = Duration::from_secs(240);

/// A backend with its own folders.
pub(crate) struct Desk {
    pub(crate) folder: TempDir,
    pub(crate) backend: GatewayBackend,
}

/// The outcome of a cell.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) text: String,
    pub(crate) orphaned: String,
    pub(crate) notices: Vec<String>,
    pub(crate) ends: Vec<Outcome>,
    pub(crate) death: Option<Death>,
}

pub(crate) fn config(url: GatewayUrl, folder: &TempDir) -> GatewayConfig {
    let state_dir = folder.path().join("state");
    inkcell_testkit::runner::share(&state_dir);
    GatewayConfig {
        url,
        token: Token::parse("secret").unwrap(),
        whose: Whose::External,
        place: GatewayLocation::Elsewhere,
        kernel_name: None,
        env: BTreeMap::new(),
        user: None,
        start_limit: None,
        beside: None,
        authorities: None,
        state_dir,
        runtime_dir: folder.path().to_owned(),
    }
}

impl Desk {
    pub(crate) fn at(url: GatewayUrl) -> Desk {
        let folder = TempDir::new().unwrap();
        let backend = GatewayBackend::new(config(url, &folder));
        Desk { folder, backend }
    }

    pub(crate) fn spec(&self) -> KernelSpec {
        KernelSpec {
            python: "python3".into(),
            cwd: self.folder.path().to_owned(),
            env: BTreeMap::new(),
            start_timeout: LIMIT,
            startup: Startup {
                shell: Shell::IPython,
                prelude: Prelude::Off,
                modules: Vec::new(),
                preload: Vec::new(),
            },
        }
    }

    pub(crate) async fn launch(&self) -> Result<LaunchedKernel, LaunchError> {
        self.backend.launch(&self.spec(), &CancellationToken::new()).await
    }

    /// The error text of a launch that must fail.
    pub(crate) async fn refusal(&self) -> String {
        match self.launch().await {
            Ok(_) => panic!("a kernel was launched"),
            Err(error) => error.to_string(),
        }
    }
}

pub(crate) fn request(exec: u64, code: &str) -> CodeRequest {
    CodeRequest {
        exec: ExecId(exec),
        code: code.to_owned(),
        history: History::Store,
        env: Vec::new(),
        cwd: None,
        input: inkcell_kernel::InputMode::Refuse,
        names: inkcell_kernel::NamesWanted::No,
    }
}

/// Runs a cell until it or the kernel ends.
pub(crate) async fn run(launched: &mut LaunchedKernel, code: &str) -> Ran {
    launched.kernel.execute(request(1, code)).unwrap();
    collect(&mut launched.events).await
}

pub(crate) async fn collect(events: &mut KernelEvents) -> Ran {
    let mut ran = Ran::default();
    while ran.ends.is_empty() && ran.death.is_none() {
        let next = tokio::time::timeout(LIMIT, events.next()).await.expect("an event in time");
        match next.expect("the stream ends with a death") {
            KernelEvent::Exec { event: ExecEvent::Finished(outcome), .. } => ran.ends.push(outcome),
            KernelEvent::Exec {
                event: ExecEvent::Stream { name: StreamName::Stdout, data },
                ..
            } => {
                ran.text.push_str(&String::from_utf8_lossy(&data));
            }
            KernelEvent::Orphan(ExecEvent::Stream { data, .. }) => {
                ran.orphaned.push_str(&String::from_utf8_lossy(&data));
            }
            KernelEvent::Notice(text) => ran.notices.push(text),
            KernelEvent::Died(death) => ran.death = Some(death),
            _ => {}
        }
    }
    ran
}

impl Ran {
    pub(crate) fn cause(&self) -> String {
        self.death.as_ref().expect("a death").cause.to_string()
    }

    pub(crate) fn is_ok(&self) -> bool {
        self.ends == [Outcome::Ok]
    }
}
