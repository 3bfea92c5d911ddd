//! Getting a kernel from a gateway: made, written down, met, and made what it is to be.
//!
//! Owns the backend and the ways in which a start can fail. Whatever fails after a kernel was made removes it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cwd::check_cwd;
use crate::error::LaunchError;
use crate::gateway::contents::ContentsPath;
use crate::gateway::dial::Dial;
use crate::gateway::end::Ending;
use crate::gateway::error::{GatewayError, Named, Whose};
use crate::gateway::guest::{self, Namespace, Place};
use crate::gateway::handle::{GatewayKernel, Intent};
use crate::gateway::kernel_env::{self, Told};
use crate::gateway::meet::{self, Unmet};
use crate::gateway::near::{Near, Seen};
use crate::gateway::pump::{Pump, State};
use crate::gateway::record::Record;
use crate::gateway::rest::{NewKernel, RemoteKernels, Rest, Starts};
use crate::gateway::socket;
use crate::gateway::talk::Talk;
use crate::gateway::url::{GatewayUrl, Token};
use crate::jupyter::guest::Guest;
use crate::jupyter::home::random_hex;
use crate::jupyter::kernelspec::InterruptMode;
use crate::kernel::{Backend, BackendKind, KernelEvents, KernelInfo, KernelSpec, Launched, Origin};
use crate::runner::install;
use crate::trace::{MessageTrace, Trace};

/// How much sooner than a start a websocket is given up, so that its own words are heard.
const LEEWAY: Duration = Duration::from_millis(500);

/// How long the last requests may take when everything ends.
const CLOSING: Duration = Duration::from_secs(5);

/// How many events may wait for the session.
const EVENT_QUEUE: usize = 64;

/// Everything the backend must be told; there are no defaults.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// Where the gateway is.
    pub url: GatewayUrl,
    /// What opens it.
    pub token: Option<Token>,
    /// Whose it is.
    pub whose: Whose,
    /// Where its kernels are.
    pub place: Place,
    /// Which of its kernels is taken; none means Python: its default, or another one of that language.
    pub kernel_name: Option<String>,
    /// Variables that are named when a kernel is made. Gateways take those that begin with `KERNEL_`.
    pub env: BTreeMap<String, String>,
    /// Whom kernels belong to, for a gateway that starts them on other machines.
    pub user: Option<String>,
    /// How long its kernels may take to be ready, where that is longer than others are given: a cluster has to
    /// find room for them first.
    pub start_limit: Option<Duration>,
    /// The notebook of the server that its kernels are for: they work where the server has it, and not where we are.
    pub beside: Option<ContentsPath>,
    /// Certificates to believe besides the system's, in a PEM file.
    pub authorities: Option<PathBuf>,
    /// Where it is written down which kernels are ours, and where the files lie that are put into them.
    pub state_dir: PathBuf,
    /// Where output waits that comes faster than it is taken.
    pub runtime_dir: PathBuf,
}

impl GatewayConfig {
    /// For a gateway that inkcell started on this machine.
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
            place: Place::Here,
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

/// Makes kernels on a gateway or a Jupyter server.
#[derive(Clone)]
pub struct GatewayBackend {
    pub(crate) config: Arc<GatewayConfig>,
    pub(crate) rest: Arc<Rest>,
    record: Arc<Record>,
    /// Whether what dead hosts left on it has been looked for.
    pub(crate) is_swept: Arc<AtomicBool>,
    trace: Option<Arc<dyn Trace>>,
    /// Which of its kernels is taken.
    kernel_name: Option<String>,
}

impl GatewayBackend {
    /// A backend for this gateway. Nothing is asked of it yet.
    pub fn new(config: GatewayConfig) -> GatewayBackend {
        GatewayBackend::with(config, None)
    }

    /// The same, and somebody is told what it does.
    pub fn traced(config: GatewayConfig, trace: Arc<dyn Trace>) -> GatewayBackend {
        GatewayBackend::with(config, Some(trace))
    }

    fn with(config: GatewayConfig, trace: Option<Arc<dyn Trace>>) -> GatewayBackend {
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

    /// The same for kernels of this name, or for its Python.
    pub fn running(&self, kernel_name: Option<String>) -> GatewayBackend {
        GatewayBackend { kernel_name, ..self.clone() }
    }

    /// The gateway as sentences name it.
    pub fn named(&self) -> Named {
        self.rest.named()
    }

    /// Waits until what is under way is done, for a while: kernels that nobody waits for any more are removed.
    pub async fn close(&self) {
        self.rest.under_way.close();
        let _ = tokio::time::timeout(CLOSING, self.rest.under_way.wait()).await;
    }

    /// Where the gateway is.
    pub fn url(&self) -> &GatewayUrl {
        &self.config.url
    }

    /// Which kernels the gateway can make. The first thing to ask: its errors say what is wrong with the address
    /// or the token.
    pub async fn kernelspecs(&self) -> Result<RemoteKernels, GatewayError> {
        self.rest.kernelspecs().await
    }

    /// Checks that the gateway answers, lets us in and has a kernel. Starts none.
    pub async fn check(&self) -> Result<(), GatewayError> {
        self.chosen().await.map(drop)
    }

    /// Which version of Jupyter's server it is made with, where it says so.
    pub async fn version(&self) -> Result<Option<String>, GatewayError> {
        self.rest.version().await
    }

    async fn start(
        &self,
        spec: &KernelSpec,
        cancel: &CancellationToken,
    ) -> Result<Launched, LaunchError> {
        if self.config.place == Place::Here {
            check_cwd(&spec.cwd)?;
        }
        let began = Instant::now();
        let limit = self.config.start_limit.unwrap_or_default().max(spec.start_timeout);
        let deadline = began + limit;
        self.sweep();
        let started = tokio::select! {
            started = self.attempts(spec, deadline) => started,
            () = tokio::time::sleep_until(deadline) => Err(LaunchError::TimedOut {
                python: format!("the kernel on {}", self.rest.url),
                seconds: limit.as_secs_f64(),
                stderr_tail: String::new(),
            }),
            () = cancel.cancelled() => Err(LaunchError::Cancelled),
        };
        if let (Ok(launched), Some(trace)) = (&started, &self.trace) {
            trace.started(launched.kernel.info(), began.elapsed());
        }
        started
    }

    /// A kernel that is gone before it has begun anything is made anew, once.
    async fn attempts(
        &self,
        spec: &KernelSpec,
        deadline: Instant,
    ) -> Result<Launched, LaunchError> {
        let kernel = self.chosen().await?;
        match self.attempt(spec, &kernel, deadline).await {
            Err(LaunchError::Gateway(
                GatewayError::Status { status: 404, .. } | GatewayError::Socket { .. },
            )) => self.attempt(spec, &kernel, deadline).await,
            done => done,
        }
    }

    /// Which kernel is made, and what interrupts it.
    async fn chosen(&self) -> Result<Chosen, GatewayError> {
        let found = self.rest.kernelspecs().await?;
        let name = self.kernel_name.as_deref().or_else(|| found.python());
        let name = name.unwrap_or("python3").to_owned();
        let Some(spec) = found.kernels.get(&name) else {
            let names = found.kernels.into_keys().collect();
            return Err(GatewayError::NoSuchKernel { at: self.rest.named(), name, names });
        };
        let told = match spec.starts() {
            Starts::Elsewhere => Told::Everything,
            Starts::Usually => Told::WhatIsSet,
        };
        Ok(Chosen { name, interrupts: spec.interrupt_mode, told })
    }

    async fn attempt(
        &self,
        spec: &KernelSpec,
        chosen: &Chosen,
        deadline: Instant,
    ) -> Result<Launched, LaunchError> {
        let ending = self.create(chosen, deadline).await?;
        let session = random_hex::<16>();
        let what = "get randomness";
        let session = session.map_err(|source| LaunchError::Resources { what, source })?;
        let trace = MessageTrace::new(self.trace.as_ref(), None);
        let (rest, id) = (Arc::clone(&self.rest), ending.id.clone());
        // A server may open it only when the kernel has answered.
        let within = deadline.saturating_duration_since(Instant::now() + LEEWAY).max(socket::OPEN);
        let talk = Talk::open(rest, id, session, &self.config.runtime_dir, within, trace).await?;
        let met = self.meet(spec, &talk).await.map_err(|unmet| self.unmet(unmet))?;
        Ok(self.launched(talk, ending, met, chosen.interrupts))
    }

    /// Makes a kernel. Also when nobody waits for it any more, it is known and removed.
    async fn create(&self, chosen: &Chosen, deadline: Instant) -> Result<Ending, GatewayError> {
        let (done, made) = oneshot::channel();
        let (rest, record) = (Arc::clone(&self.rest), Arc::clone(&self.record));
        let new = NewKernel {
            name: chosen.name.clone(),
            env: self.environment(chosen.told),
            beside: self.config.beside.clone(),
        };
        self.rest.under_way.spawn(async move {
            let created = rest.create(&new, deadline, || !done.is_closed()).await;
            let ending = created.map(|id| Ending::of(Arc::clone(&rest), record, id));
            // What is not taken is dropped, and removed thereby.
            let _ = done.send(ending);
        });
        let gone = |_| GatewayError::Timeout { at: self.rest.named() };
        made.await.map_err(gone)?
    }

    fn environment(&self, told: Told) -> BTreeMap<String, String> {
        let GatewayConfig { env, user, start_limit, .. } = &*self.config;
        kernel_env::named(env, user.as_deref(), *start_limit, told)
    }

    async fn meet(&self, spec: &KernelSpec, talk: &Talk) -> Result<Met, Unmet> {
        let (about, voice, beginning) = meet::meet(talk).await?;
        let (language, version) = (about.language_info.name, about.language_info.version);
        if !language.eq_ignore_ascii_case("python") {
            let executable = format!("{language} on {}", self.rest.url);
            let (guest, place, seen) = (Guest::Absent, Place::Elsewhere, None);
            let state = State::new(talk.session(), voice, beginning);
            return Ok(Met { guest, place, language, version, executable, seen, state });
        }
        let place = match self.config.place {
            Place::Unknown => guest::place(&meet::run_at_start(talk, "", guest::WHOSE).await?.0),
            known => known,
        };
        let code = match place {
            Place::Here => match install(&self.config.state_dir) {
                Ok(root) => {
                    let GatewayConfig { whose, beside, .. } = &*self.config;
                    guest::here(&root, spec, *whose, beside.as_ref())
                }
                Err(error) => {
                    let (name, value) = ("OSError".to_owned(), error.to_string());
                    return Err(Unmet::Startup { name, value });
                }
            },
            Place::Elsewhere | Place::Unknown => guest::elsewhere(spec),
        };
        let (shown, beginning) = meet::run_at_start(talk, &code, guest::WHERE).await?;
        let (seen, executable) = guest::found(&shown, &Namespace::ours());
        let (guest, state) = (Guest::Present, State::new(talk.session(), voice, beginning));
        Ok(Met { guest, place, language, version, executable, seen, state })
    }

    fn unmet(&self, unmet: Unmet) -> LaunchError {
        match unmet {
            Unmet::Closed(reason) => GatewayError::Socket { reason }.into(),
            Unmet::Lost(reason) => LaunchError::Startup {
                reason: format!("the connection to the kernel was lost while it began ({reason})"),
            },
            Unmet::Died(problem) => LaunchError::Startup {
                reason: format!("the kernel {problem}, before it was ready"),
            },
            // Our own code says why in words; whatever else is raised there is known by its name.
            Unmet::Startup { name, value } if name == "ModuleLoadError" => {
                LaunchError::Startup { reason: value }
            }
            Unmet::Startup { name, value } => LaunchError::Startup {
                reason: format!("Failed to initialize Python kernel environment: {name}: {value}"),
            },
        }
    }

    fn launched(
        &self,
        mut talk: Talk,
        ending: Ending,
        met: Met,
        interrupts: InterruptMode,
    ) -> Launched {
        let near = met.seen.and_then(|seen| Near::new(&seen, interrupts));
        let pid = near.as_ref().map(|near| near.pid);
        talk.trace = MessageTrace::new(self.trace.as_ref(), pid);
        let info = KernelInfo {
            backend: BackendKind::Gateway,
            pid,
            language: met.language,
            version: met.version,
            executable: met.executable,
            origin: Origin::Started {
                reason: format!("it is on the gateway at {}", self.rest.url),
            },
        };
        let (events, receiver) = KernelEvents::channel(EVENT_QUEUE);
        let (died, death) = watch::channel(None);
        let (posts, posted) = mpsc::unbounded_channel();
        let intent = Intent::default();
        let pump = Pump {
            state: met.state,
            talk,
            near,
            guest: met.guest,
            place: met.place,
            ending,
            events,
            intent: intent.clone(),
            posts: posted,
            trace: self.trace.clone(),
        };
        tokio::spawn(pump.run(died));
        let kernel = GatewayKernel { info, posts, death, intent };
        Launched { kernel: Box::new(kernel), events: receiver }
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
    ) -> BoxFuture<'a, Result<Launched, LaunchError>> {
        self.start(spec, cancel).boxed()
    }
}

fn rest(config: &GatewayConfig) -> Rest {
    let dial = Dial::new(config.authorities.clone());
    Rest::new(config.url.clone(), config.token.clone(), config.whose, dial)
}

/// A kernel that is to be made.
struct Chosen {
    name: String,
    interrupts: InterruptMode,
    told: Told,
}

/// A kernel that is ready.
struct Met {
    guest: Guest,
    place: Place,
    language: String,
    version: String,
    executable: String,
    seen: Option<Seen>,
    state: State,
}
