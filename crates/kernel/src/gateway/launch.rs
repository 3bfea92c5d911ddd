//! The start of a kernel on a gateway: request, record, handshake, preparation.
//!
//! Owns the backend and the ways in which a start can fail. A failure after the gateway has started
//! a kernel removes that kernel.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::LaunchError;
use crate::error::gateway::{GatewayError, GatewayName, Whose};
use crate::gateway::end::Ending;
use crate::gateway::handshake::GatewayNewcomer;
use crate::gateway::identity::KernelIdentity;
use crate::gateway::kernel_env::{self, EnvScope};
use crate::gateway::link::{GatewayControl, GatewayLink};
use crate::gateway::local_process::{LocalProcess, ProcessClaim};
use crate::gateway::location::{self, GatewayLocation, Namespace};
use crate::gateway::record::Record;
use crate::gateway::talk::Talk;
use crate::gateway::transport::dial::Dial;
use crate::gateway::transport::path::ContentsPath;
use crate::gateway::transport::rest::{NewKernel, RemoteKernels, Rest, Starts};
use crate::gateway::transport::socket;
use crate::gateway::transport::url::{GatewayUrl, Token};
use crate::jupyter::guest::{Guest, Machine, Setup, Variables, setup_error};
use crate::jupyter::handshake::{self, About, MeetError, StartPhase};
use crate::jupyter::home::random_hex;
use crate::jupyter::pump::{self, Opening};
use crate::jupyter::start::start;
use crate::kernel::{Backend, BackendKind, KernelInfo, KernelSpec, LaunchedKernel, Origin};
use crate::kernelspec::InterruptMode;
use crate::process::check_cwd;
use crate::python::package::install;
use crate::trace::{KernelTrace, MessageTrace};

/// The websocket gives up this much before the start does, so that its own error is the one
/// reported.
const LEEWAY: Duration = Duration::from_millis(500);

/// Longest wait for the last requests when the backend closes.
const CLOSING: Duration = Duration::from_secs(5);

/// Configuration of the backend, without defaults.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// Address of the gateway.
    pub url: GatewayUrl,
    /// Token that opens the gateway, if it needs one.
    pub token: Option<Token>,
    /// Owner of the gateway: inkcell or another party.
    pub whose: Whose,
    /// Location of the gateway's kernels: this machine or elsewhere.
    pub place: GatewayLocation,
    /// Name of the kernelspec to start. `None` means Python: the gateway's default, or another one
    /// of that language.
    pub kernel_name: Option<String>,
    /// Variables for the request that starts a kernel. Gateways take those that begin with
    /// `KERNEL_`.
    pub env: BTreeMap<String, String>,
    /// Owner of the kernels, for a gateway that starts them on other machines.
    pub user: Option<String>,
    /// Time limit for a start, where it is longer than the usual limit: a cluster has to find room
    /// first.
    pub start_limit: Option<Duration>,
    /// Notebook of the server that the kernels belong to. They work in its folder on the server,
    /// and not in ours.
    pub beside: Option<ContentsPath>,
    /// PEM file with certificates to trust besides the system's.
    pub authorities: Option<PathBuf>,
    /// Folder for the record of our kernels and for the files that go into kernels.
    pub state_dir: PathBuf,
    /// Folder for output that arrives faster than it is read.
    pub runtime_dir: PathBuf,
}

impl GatewayConfig {
    /// Returns the configuration for a gateway that inkcell started on this machine.
    pub fn shared(
        url: GatewayUrl,
        token: Option<Token>,
        state_dir: PathBuf,
        runtime_dir: PathBuf,
    ) -> GatewayConfig {
        GatewayConfig {
            url,
            token,
            whose: Whose::Shared,
            place: GatewayLocation::Here,
            kernel_name: None,
            env: BTreeMap::new(),
            user: None,
            start_limit: None,
            beside: None,
            authorities: None,
            state_dir,
            runtime_dir,
        }
    }
}

/// Starts kernels on a gateway or a Jupyter server.
#[derive(Clone)]
pub struct GatewayBackend {
    pub(crate) config: Arc<GatewayConfig>,
    pub(crate) rest: Arc<Rest>,
    record: Arc<Record>,
    /// Set after the first search for kernels that dead hosts left on the gateway.
    pub(crate) is_swept: Arc<AtomicBool>,
    trace: Option<Arc<dyn KernelTrace>>,
    /// Name of the kernelspec to start; `None` means Python.
    kernel_name: Option<String>,
}

impl GatewayBackend {
    /// Creates a backend for this gateway. Sends no request yet.
    pub fn new(config: GatewayConfig) -> GatewayBackend {
        GatewayBackend::traced(config, None)
    }

    /// Creates a backend that reports its traffic to `trace`.
    pub fn traced(config: GatewayConfig, trace: Option<Arc<dyn KernelTrace>>) -> GatewayBackend {
        let record = Arc::new(Record::new(&config.state_dir));
        GatewayBackend {
            rest: Arc::new(rest(&config)),
            kernel_name: config.kernel_name.clone(),
            config: Arc::new(config),
            record,
            trace,
            is_swept: Arc::default(),
        }
    }

    /// Returns the same backend for another kernelspec, or for the gateway's Python.
    pub fn running(&self, kernel_name: Option<String>) -> GatewayBackend {
        GatewayBackend { kernel_name, ..self.clone() }
    }

    /// Returns the gateway's name for messages.
    pub fn named(&self) -> GatewayName {
        self.rest.named()
    }

    /// Waits, up to a limit, for requests under way, such as the removal of kernels without a
    /// caller.
    pub async fn close(&self) {
        self.rest.under_way.close();
        let _ = tokio::time::timeout(CLOSING, self.rest.under_way.wait()).await;
    }

    /// Returns the address of the gateway.
    pub fn url(&self) -> &GatewayUrl {
        &self.config.url
    }

    /// Lists the kernels that the gateway can start. Ask this first: its errors say what is wrong
    /// with the address or the token.
    pub async fn kernelspecs(&self) -> Result<RemoteKernels, GatewayError> {
        self.rest.kernelspecs().await
    }

    /// Checks that the gateway answers, accepts the token and has a kernel. Starts no kernel.
    pub async fn check(&self) -> Result<(), GatewayError> {
        self.chosen().await.map(drop)
    }

    /// Returns the version of the Jupyter server, where it reports one.
    pub async fn version(&self) -> Result<Option<String>, GatewayError> {
        self.rest.version().await
    }

    async fn start(
        &self,
        spec: &KernelSpec,
        cancel: &CancellationToken,
    ) -> Result<LaunchedKernel, LaunchError> {
        if self.config.place == GatewayLocation::Here {
            check_cwd(&spec.cwd)?;
        }
        let limit = self.config.start_limit.unwrap_or_default().max(spec.start_timeout);
        let deadline = Instant::now() + limit;
        self.sweep();
        tokio::select! {
            started = self.attempts(spec, deadline) => started,
            () = tokio::time::sleep_until(deadline) => Err(LaunchError::TimedOut {
                python: format!("the kernel on {}", self.rest.url),
                seconds: limit.as_secs_f64(),
                stderr_tail: String::new(),
            }),
            () = cancel.cancelled() => Err(LaunchError::Cancelled),
        }
    }

    /// Starts a kernel once more if the first one dies before it has begun anything.
    async fn attempts(
        &self,
        spec: &KernelSpec,
        deadline: Instant,
    ) -> Result<LaunchedKernel, LaunchError> {
        let kernel = self.chosen().await?;
        match self.attempt(spec, &kernel, deadline).await {
            Err(LaunchError::Gateway(
                GatewayError::Status { status: 404, .. } | GatewayError::Socket { .. },
            )) => self.attempt(spec, &kernel, deadline).await,
            done => done,
        }
    }

    /// Chooses the kernelspec and its way of interrupting.
    async fn chosen(&self) -> Result<KernelChoice, GatewayError> {
        let found = self.rest.kernelspecs().await?;
        let name = self.kernel_name.as_deref().or_else(|| found.python());
        let name = name.unwrap_or("python3").to_owned();
        let Some(spec) = found.kernels.get(&name) else {
            let names = found.kernels.into_keys().collect();
            return Err(GatewayError::NoSuchKernel { at: self.rest.named(), name, names });
        };
        let scope = match spec.starts() {
            Starts::Elsewhere => EnvScope::Everything,
            Starts::Usually => EnvScope::WhatIsSet,
        };
        Ok(KernelChoice { name, interrupts: spec.interrupt_mode, scope })
    }

    async fn attempt(
        &self,
        spec: &KernelSpec,
        chosen: &KernelChoice,
        deadline: Instant,
    ) -> Result<LaunchedKernel, LaunchError> {
        let ending = self.create(chosen, deadline).await?;
        let session = random_hex::<16>().map_err(LaunchError::resources("get randomness"))?;
        let trace = MessageTrace::new(self.trace.as_ref(), None);
        let (rest, id) = (Arc::clone(&self.rest), ending.id.clone());
        // Some servers open the websocket only after the kernel has answered.
        let within = deadline.saturating_duration_since(Instant::now() + LEEWAY).max(socket::OPEN);
        let talk = Talk::open(rest, id, session, &self.config.runtime_dir, within, trace).await?;
        let met = self.meet(spec, &talk).await.map_err(GatewayBackend::unmet)?;
        Ok(self.launched(talk, ending, met, chosen.interrupts))
    }

    /// Starts a kernel. If the caller stops waiting, the kernel is still recorded and removed.
    async fn create(
        &self,
        chosen: &KernelChoice,
        deadline: Instant,
    ) -> Result<Ending, GatewayError> {
        let (done, made) = oneshot::channel();
        let (rest, record) = (Arc::clone(&self.rest), Arc::clone(&self.record));
        let new = NewKernel {
            name: chosen.name.clone(),
            env: self.environment(chosen.scope),
            beside: self.config.beside.clone(),
        };
        self.rest.under_way.spawn(async move {
            let created = rest.create(&new, deadline, || !done.is_closed()).await;
            let ending = created.map(|id| Ending::of(Arc::clone(&rest), record, id));
            // A value without a receiver is dropped, and the drop removes the kernel.
            let _ = done.send(ending);
        });
        let gone = |_| GatewayError::Timeout { at: self.rest.named() };
        made.await.map_err(gone)?
    }

    fn environment(&self, scope: EnvScope) -> BTreeMap<String, String> {
        let GatewayConfig { env, user, start_limit, .. } = &*self.config;
        kernel_env::named(env, user.as_deref(), *start_limit, scope)
    }

    async fn meet(&self, spec: &KernelSpec, talk: &Talk) -> Result<ReadyKernel, MeetError> {
        let mut newcomer = GatewayNewcomer { talk, identity: KernelIdentity::new(talk.session()) };
        let (about, start_phase) = handshake::meet(&mut newcomer).await?;
        if !about.is_python() {
            return Ok(ReadyKernel {
                executable: format!("{} on {}", about.language_info.name, self.rest.url),
                about,
                guest: Guest::Absent,
                takes_settings: false,
                claim: None,
                identity: newcomer.identity,
                start_phase,
            });
        }
        let place = match self.config.place {
            GatewayLocation::Unknown => {
                let whose = Some(location::WHOSE);
                location::locate(&handshake::run_at_start(&mut newcomer, "", whose).await?.0)
            }
            known => known,
        };
        let root;
        let machine = match place {
            GatewayLocation::Here => {
                root = install(&self.config.state_dir).map_err(|error| {
                    let (name, value) = ("OSError".to_owned(), error.to_string());
                    MeetError::Startup { name, value }
                })?;
                self.machine(&root, spec)
            }
            GatewayLocation::Elsewhere | GatewayLocation::Unknown => Machine::Elsewhere,
        };
        // The server started the kernel with the history file of its user. Keep cells of an agent
        // out of it.
        let setup = Setup { startup: &spec.startup, machine, keeps_history: false };
        let place_and_program = Some(location::WHERE);
        let (shown, start_phase) =
            handshake::run_at_start(&mut newcomer, &setup.code(), place_and_program).await?;
        let (claim, executable) = location::parse_process_claim(&shown, &Namespace::ours());
        Ok(ReadyKernel {
            about,
            executable,
            guest: Guest::Present,
            takes_settings: place == GatewayLocation::Here,
            claim,
            identity: newcomer.identity,
            start_phase,
        })
    }

    /// Returns the settings of a kernel on this machine. On a shared gateway, the kernel inherits
    /// the variables of the host that started the gateway, so ours replace them. A kernel for a
    /// notebook of its server stays in the folder that the server chose.
    fn machine<'a>(&self, root: &'a Path, spec: &'a KernelSpec) -> Machine<'a> {
        let env = match self.config.whose {
            Whose::Shared => Variables::Replace(&spec.env),
            Whose::External => Variables::Add(&spec.env),
        };
        let cwd = self.config.beside.is_none().then_some(&*spec.cwd);
        Machine::Here { root, cwd, env, wires: None }
    }

    fn unmet(unmet: MeetError) -> LaunchError {
        match unmet {
            MeetError::Closed(reason) => GatewayError::Socket { reason }.into(),
            MeetError::Lost(reason) => LaunchError::Startup {
                reason: format!("the connection to the kernel was lost while it began ({reason})"),
            },
            MeetError::Died(problem) => LaunchError::Startup {
                reason: format!("the kernel {problem}, before it was ready"),
            },
            MeetError::Startup { name, value } => {
                let what_failed = "Failed to initialize Python kernel environment";
                setup_error(what_failed, &name, value)
            }
        }
    }

    fn launched(
        &self,
        mut talk: Talk,
        ending: Ending,
        met: ReadyKernel,
        interrupts: InterruptMode,
    ) -> LaunchedKernel {
        let local = met.claim.and_then(|claim| LocalProcess::new(&claim, interrupts));
        let pid = local.as_ref().map(|local| local.pid);
        talk.trace = MessageTrace::new(self.trace.as_ref(), pid);
        let info = KernelInfo {
            backend: BackendKind::Gateway,
            pid,
            language: met.about.language_info.name,
            version: met.about.language_info.version,
            executable: met.executable,
            origin: Origin::Started {
                reason: format!("it is on the gateway at {}", self.rest.url),
            },
        };
        let opening = Opening {
            guest: met.guest,
            takes_settings: met.takes_settings,
            start_phase: met.start_phase,
            trace: self.trace.clone(),
        };
        let link = GatewayLink::new(talk, local, ending, met.identity);
        pump::launch(info, link, GatewayControl, opening)
    }
}

impl Backend for GatewayBackend {
    fn kind(&self) -> BackendKind {
        BackendKind::Gateway
    }

    fn launch<'a>(
        &'a self,
        spec: &'a KernelSpec,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<LaunchedKernel, LaunchError>> {
        let try_once = move || self.start(spec, cancel);
        start(&self.config.state_dir, self.trace.as_ref(), try_once).boxed()
    }
}

fn rest(config: &GatewayConfig) -> Rest {
    let dial = Dial::new(config.authorities.clone());
    Rest::new(config.url.clone(), config.token.clone(), config.whose, dial)
}

/// A kernelspec to start, and how its kernel is interrupted.
struct KernelChoice {
    name: String,
    interrupts: InterruptMode,
    scope: EnvScope,
}

/// A kernel that is ready for its first request.
struct ReadyKernel {
    about: About,
    executable: String,
    guest: Guest,
    takes_settings: bool,
    claim: Option<ProcessClaim>,
    identity: KernelIdentity,
    start_phase: StartPhase,
}
