//! Scripted kernels under observation: which are alive, what runs, and in which order.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use inkcell_engine::kernel::{
    AskId, Backend, BackendKind, CodeRequest, Death, DeathCause, ExecEvent, ExecId, InputReply,
    Kernel, KernelEvent, KernelEvents, KernelGone, KernelInfo, KernelSpec, LaunchError,
    LaunchedKernel, Question, StopSignal,
};
use inkcell_engine::session::{Policy, Retry};
use inkcell_testkit::scripted::{KernelNumber, ScriptedBackend};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::dice::Dice;
use super::script::Tag;

/// Observations of all kernels, and errors in them.
#[derive(Clone)]
pub(super) struct Log {
    seen: Arc<Mutex<Seen>>,
    policy: Policy,
}

#[derive(Default)]
struct Seen {
    /// Kernels by launch number.
    kernels: Vec<Watched>,
    /// Cells in the order in which a folder's kernels received them.
    orders: HashMap<PathBuf, Vec<Tag>>,
    cells: HashMap<Tag, Ran>,
    chains: HashMap<PathBuf, Chain>,
    wrong: Vec<String>,
}

/// Consecutive kernels of a folder without a successful cell or a requested end between them.
#[derive(Default)]
struct Chain {
    had_kernel: bool,
    restarts: u32,
    /// Number of launches beyond the limit.
    excesses: u64,
}

#[derive(Default)]
struct Watched {
    cwd: PathBuf,
    is_alive: bool,
    running: Option<Tag>,
}

#[derive(Clone, Default)]
pub(super) struct Ran {
    /// Number of kernels that received it, and of those that began it.
    pub(super) times: u32,
    pub(super) starts: u32,
    pub(super) last: Option<Instant>,
}

impl Log {
    pub(super) fn new(policy: Policy) -> Log {
        Log { seen: Arc::default(), policy }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wrong(&self, what: String) {
        self.seen().wrong.push(what);
    }

    pub(super) fn all_wrong(&self) -> Vec<String> {
        self.seen().wrong.clone()
    }

    pub(super) fn alive(&self) -> usize {
        self.seen().kernels.iter().filter(|kernel| kernel.is_alive).count()
    }

    /// A living kernel, as a victim.
    pub(super) fn some_kernel(&self, dice: &mut Dice) -> Option<KernelNumber> {
        let seen = self.seen();
        let alive: Vec<usize> =
            (0..seen.kernels.len()).filter(|at| seen.kernels[*at].is_alive).collect();
        let at = *(!alive.is_empty()).then(|| dice.pick(&alive))?;
        Some(KernelNumber(u32::try_from(at + 1).expect("few kernels")))
    }

    pub(super) fn ran(&self, tag: Tag) -> Ran {
        self.seen().cells.get(&tag).cloned().unwrap_or_default()
    }

    /// Number of launches in this folder beyond the allowed number in a row.
    pub(super) fn excesses(&self, cwd: &Path) -> u64 {
        self.seen().chains.get(cwd).map_or(0, |chain| chain.excesses)
    }

    fn asked_to_launch(&self, cwd: &Path) {
        let mut seen = self.seen();
        let chain = seen.chains.entry(cwd.to_owned()).or_default();
        chain.restarts += u32::from(chain.had_kernel);
        if chain.restarts > self.policy.max_restarts {
            chain.excesses += 1;
            (chain.restarts, chain.had_kernel) = (0, false);
        }
    }

    fn launched(&self, number: usize, cwd: &Path) {
        let mut seen = self.seen();
        seen.chains.entry(cwd.to_owned()).or_default().had_kernel = true;
        while seen.kernels.len() < number {
            seen.kernels.push(Watched::default());
        }
        seen.kernels[number - 1] = Watched { cwd: cwd.to_owned(), is_alive: true, running: None };
    }

    fn executes(&self, number: usize, code: &str) {
        let tag = Tag::parse(code);
        let mut seen = self.seen();
        let cwd = seen.kernels[number - 1].cwd.clone();
        let mut wrong = Vec::new();
        // Calls with a kernel of their own share a folder and run side by side.
        if cwd.ends_with("free") {
            seen.kernels[number - 1].running = Some(tag);
        } else {
            let others = seen.kernels.iter().filter(|other| other.cwd == cwd && other.is_alive);
            if let Some(other) = others.filter_map(|other| other.running).next() {
                wrong.push(format!("{tag:?} begins while {other:?} runs"));
            }
            seen.kernels[number - 1].running = Some(tag);
            let order = seen.orders.entry(cwd).or_default();
            if order.last().is_some_and(|last| last.call != tag.call)
                && order.iter().any(|before| before.call == tag.call)
            {
                wrong.push(format!("{tag:?} runs although its call was over: {order:?}"));
            }
            if order.last().is_some_and(|last| last.call == tag.call && last.cell > tag.cell) {
                wrong.push(format!("{tag:?} runs after a later cell"));
            }
            order.push(tag);
        }
        let ran = seen.cells.entry(tag).or_default();
        if ran.times > 0 && ran.starts > 0 && self.policy.retry != Retry::Once {
            wrong.push(format!("{tag:?} had begun and is run again"));
        }
        ran.times += 1;
        ran.last = Some(Instant::now());
        if ran.times > 2 {
            wrong.push(format!("{tag:?} is run for the {}th time", ran.times));
        }
        seen.wrong.append(&mut wrong);
    }

    fn reports(&self, number: usize, event: &KernelEvent) {
        let mut seen = self.seen();
        match event {
            KernelEvent::Exec { event: ExecEvent::Started { .. }, .. } => {
                if let Some(tag) = seen.kernels[number - 1].running {
                    seen.cells.entry(tag).or_default().starts += 1;
                }
            }
            KernelEvent::Exec { event: ExecEvent::Finished(_), .. } => {
                let kernel = &mut seen.kernels[number - 1];
                kernel.running = None;
                let cwd = kernel.cwd.clone();
                seen.chains.entry(cwd).or_default().restarts = 0;
            }
            KernelEvent::Died(_) => seen.kernels[number - 1].running = None,
            _ => {}
        }
    }

    fn ends_by_wish(&self, number: usize) {
        let mut seen = self.seen();
        let cwd = seen.kernels[number - 1].cwd.clone();
        let chain = seen.chains.entry(cwd).or_default();
        (chain.restarts, chain.had_kernel) = (0, false);
    }

    fn gone(&self, number: usize) {
        let kernel = &mut self.seen().kernels[number - 1];
        (kernel.is_alive, kernel.running) = (false, None);
    }
}

/// Launches scripted kernels, late or not at all as the dice decide.
pub(super) struct SimBackend {
    pub(super) scripted: ScriptedBackend,
    pub(super) log: Log,
    dice: Mutex<Dice>,
    launches: Mutex<usize>,
}

impl SimBackend {
    pub(super) fn new(log: Log, dice: Dice) -> SimBackend {
        let scripted = ScriptedBackend::new();
        SimBackend { scripted, log, dice: Mutex::new(dice), launches: Mutex::new(0) }
    }

    fn luck(&self) -> (u64, Duration) {
        let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
        (dice.below(100), dice.pause(Duration::from_secs(8)))
    }

    async fn start(
        &self,
        spec: &KernelSpec,
        cancel: &CancellationToken,
    ) -> Result<LaunchedKernel, LaunchError> {
        self.log.asked_to_launch(&spec.cwd);
        let (luck, wait) = self.luck();
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = cancel.cancelled() => return Err(LaunchError::Cancelled),
        }
        match luck {
            0..3 => {
                let (python, stderr_tail) = (String::new(), String::new());
                let cause = DeathCause::Exit { code: 1 };
                return Err(LaunchError::EndedEarly { python, cause, stderr_tail });
            }
            3..6 => {
                let source = io::Error::from_raw_os_error(24);
                return Err(LaunchError::Resources { what: "make a pipe", source });
            }
            _ => {}
        }
        // No await between the two, so the numbers match those of the scripted backend.
        let number = {
            let mut launches = self.launches.lock().unwrap_or_else(PoisonError::into_inner);
            *launches += 1;
            *launches
        };
        let LaunchedKernel { kernel, mut events } = self.scripted.launch(spec, cancel).await?;
        self.log.launched(number, &spec.cwd);
        let (sender, watched) = KernelEvents::channel(1);
        let log = self.log.clone();
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                log.reports(number, &event);
                if forward(&sender, event).await.is_err() {
                    return;
                }
            }
        });
        let kernel = SimKernel { inner: Some(kernel), number, log: self.log.clone() };
        Ok(LaunchedKernel { kernel: Box::new(kernel), events: watched })
    }
}

async fn forward(sender: &mpsc::Sender<KernelEvent>, event: KernelEvent) -> Result<(), KernelGone> {
    sender.send(event).await.map_err(|_| KernelGone)
}

impl Backend for SimBackend {
    fn kind(&self) -> BackendKind {
        BackendKind::Runner
    }

    fn launch<'a>(
        &'a self,
        spec: &'a KernelSpec,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<LaunchedKernel, LaunchError>> {
        self.start(spec, cancel).boxed()
    }
}

struct SimKernel {
    /// `None` after the shutdown.
    inner: Option<Box<dyn Kernel>>,
    number: usize,
    log: Log,
}

impl SimKernel {
    fn kernel(&mut self) -> &mut Box<dyn Kernel> {
        self.inner.as_mut().expect("it is not shut down")
    }
}

impl Kernel for SimKernel {
    fn info(&self) -> &KernelInfo {
        self.inner.as_ref().expect("it is not shut down").info()
    }

    fn execute(&mut self, request: CodeRequest) -> Result<(), KernelGone> {
        self.log.executes(self.number, &request.code);
        self.kernel().execute(request)
    }

    fn reply_input(&mut self, exec: ExecId, reply: InputReply) -> Result<(), KernelGone> {
        self.kernel().reply_input(exec, reply)
    }

    fn ask(&mut self, id: AskId, question: Question) -> Result<(), KernelGone> {
        self.kernel().ask(id, question)
    }

    fn interrupt(&mut self) -> Result<(), KernelGone> {
        self.kernel().interrupt()
    }

    fn force(&mut self, force: StopSignal) -> Result<(), KernelGone> {
        self.kernel().force(force)
    }

    fn shutdown(mut self: Box<Self>, grace: Duration) -> BoxFuture<'static, Death> {
        let ending = self.inner.take().expect("shut down once").shutdown(grace);
        self.log.ends_by_wish(self.number);
        async move {
            let death = ending.await;
            drop(self);
            death
        }
        .boxed()
    }
}

impl Drop for SimKernel {
    fn drop(&mut self) {
        self.log.gone(self.number);
    }
}
