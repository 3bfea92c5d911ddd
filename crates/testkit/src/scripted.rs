//! A kernel that follows a test's script, for tests of everything above the kernel contract.
//!
//! Owns a backend whose launches and executions follow scripts, and the record of requests to it. It keeps
//! the rules of `kernel.rs` like any other backend. It uses only tokio's clock, so that a test may pause it.
//! It must not know Python or processes.

mod actor;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use inkcell_kernel::{
    Answer, AskId, Backend, BackendKind, CodeRequest, Death, DeathCause, DisplayId, ExecEvent,
    ExecId, InputReply, Kernel, KernelEvents, KernelGone, KernelInfo, KernelSpec, LaunchError,
    LaunchedKernel, MimeBundle, MimeData, Origin, Outcome, PyError, Question, StopSignal,
    StreamName,
};
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;

use actor::{Actor, Order};

/// The length of the event queue, the same as in the runner's backend.
const EVENT_QUEUE: usize = 64;

/// One step of an execution.
#[derive(Clone, Debug)]
pub enum Step {
    /// Reports an event of this execution.
    Emit(ExecEvent),
    /// Reports output that belongs to no execution.
    Orphan(ExecEvent),
    /// Reports an oddity as a notice.
    Notice(String),
    /// Takes this long, by tokio's clock.
    Take(Duration),
    /// Waits until the test notifies it.
    Gate(Arc<Notify>),
    /// Asks for a line and writes the answer to standard output; fails if the input ends.
    Ask {
        /// The text before the input.
        prompt: String,
        /// True if the terminal must hide the input.
        password: bool,
    },
    /// Waits for an interrupt, survives it, and continues.
    CatchInterrupt,
    /// Ignores interrupts from here on.
    IgnoreInterrupts,
    /// Ignores interrupts and [`StopSignal::Terminate`] from here on.
    IgnoreTerminate,
    /// Never ends by itself.
    Hang,
    /// Ends the kernel for this reason.
    Die(DeathCause),
    /// Ends the execution; steps after it are not reached.
    Finish(Outcome),
}

impl Step {
    /// Writes this text to standard output.
    pub fn print(text: &str) -> Step {
        let data = bytes::Bytes::copy_from_slice(text.as_bytes());
        Step::Emit(ExecEvent::Stream { name: StreamName::Stdout, data })
    }

    /// Displays this text as plain text, with this display id.
    pub fn display(id: &str, text: &str) -> Step {
        let id = Some(DisplayId(Arc::from(id)));
        Step::Emit(ExecEvent::Display { id, data: plain_text(text) })
    }

    fn is_about_orders(&self) -> bool {
        matches!(
            self,
            Step::Ask { .. }
                | Step::CatchInterrupt
                | Step::IgnoreInterrupts
                | Step::IgnoreTerminate
        )
    }

    /// Ends with this exception.
    pub fn fail(name: &str, value: &str) -> Step {
        Step::Finish(Outcome::Error(exception(name, value)))
    }
}

/// Makes a bundle of plain text.
pub fn plain_text(text: &str) -> MimeBundle {
    let data = vec![("text/plain".to_owned(), MimeData::Text(text.to_owned()))];
    MimeBundle { data, metadata: String::new() }
}

fn exception(name: &str, value: &str) -> PyError {
    let line = format!("{name}: {value}");
    PyError {
        name: name.to_owned(),
        value: value.to_owned(),
        traceback: vec![line.clone()],
        plain: vec![line],
    }
}

/// The script of one execution. It succeeds if it reaches its end.
#[derive(Clone, Debug, Default)]
pub struct Script {
    steps: Vec<Step>,
    is_unstarted: bool,
}

impl Script {
    /// Starts, then follows these steps.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Script {
        Script { steps: steps.into_iter().collect(), is_unstarted: false }
    }

    /// Follows these steps without reporting a start, as a kernel that dies too early.
    pub fn unstarted(steps: impl IntoIterator<Item = Step>) -> Script {
        Script { steps: steps.into_iter().collect(), is_unstarted: true }
    }
}

/// The script of one launch.
#[derive(Debug)]
pub enum Launch {
    /// Launches a kernel at once.
    Work,
    /// Launches a kernel after this long.
    Slow(Duration),
    /// Launches a kernel when the test notifies it.
    Gate(Arc<Notify>),
    /// Fails to launch a kernel.
    Fail(LaunchError),
}

/// The number of a kernel in its backend: the first launch is number 1, even if it fails.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct KernelNumber(pub u32);

/// A request to a backend or to one of its kernels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScriptRequest {
    /// Launch a kernel in this folder.
    Launch(PathBuf),
    /// Run code, as the request says.
    Execute(CodeRequest),
    /// Take a line of input.
    ReplyInput(ExecId, InputReply),
    /// Answer a question, with or without a running execution.
    Ask(AskId, Question),
    /// Interrupt the running code.
    Interrupt,
    /// End a kernel that does not react.
    Force(StopSignal),
    /// End, within this time.
    Shutdown(Duration),
    /// The kernel's handle was dropped.
    Drop,
}

/// A backend that follows scripts. Clones share one backend.
#[derive(Clone, Default)]
pub struct ScriptedBackend {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    plan: Mutex<Plan>,
    asked: watch::Sender<Vec<(KernelNumber, ScriptRequest)>>,
}

#[derive(Default)]
struct Plan {
    launches: VecDeque<Launch>,
    scripts: VecDeque<Script>,
    by_code: HashMap<String, Script>,
    answers: VecDeque<Answer>,
    shutdown_takes: Duration,
    kernels: Vec<Option<mpsc::UnboundedSender<Order>>>,
}

impl Shared {
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, number: KernelNumber, asked: ScriptRequest) {
        self.asked.send_modify(|all| all.push((number, asked)));
    }

    /// The script for this code, else the next in line, else one that succeeds at once.
    fn script(&self, code: &str) -> Script {
        let mut plan = self.plan();
        match plan.by_code.get(code) {
            Some(script) => script.clone(),
            None => plan.scripts.pop_front().unwrap_or_default(),
        }
    }

    fn answer(&self) -> Answer {
        self.plan().answers.pop_front().unwrap_or_else(|| Answer::Json("{}".to_owned()))
    }
}

impl ScriptedBackend {
    /// A backend whose kernels launch at once and whose executions succeed at once.
    pub fn new() -> ScriptedBackend {
        ScriptedBackend::default()
    }

    /// Sets the next unplanned launch.
    pub fn plan_launch(&self, launch: Launch) {
        self.shared.plan().launches.push_back(launch);
    }

    /// Sets the steps of the next execution without a script.
    pub fn plan(&self, steps: impl IntoIterator<Item = Step>) {
        self.plan_script(Script::new(steps));
    }

    /// Sets the script of the next execution without one.
    pub fn plan_script(&self, script: Script) {
        self.shared.plan().scripts.push_back(script);
    }

    /// Sets the script of every execution of exactly this code.
    pub fn plan_code(&self, code: &str, script: Script) {
        self.shared.plan().by_code.insert(code.to_owned(), script);
    }

    /// Sets the answer to the next question while the kernel is idle; without a plan, the answer is an empty
    /// object.
    pub fn plan_answer(&self, answer: Answer) {
        self.shared.plan().answers.push_back(answer);
    }

    /// Sets the time that a shutdown takes, up to the time that the caller allows.
    pub fn plan_shutdown(&self, takes: Duration) {
        self.shared.plan().shutdown_takes = takes;
    }

    /// Kills a kernel from outside, whatever it does.
    pub fn kill(&self, number: KernelNumber, cause: DeathCause) {
        let index = (number.0 as usize).checked_sub(1).expect("kernels are counted from 1");
        let plan = self.shared.plan();
        let orders = plan.kernels.get(index).and_then(Option::as_ref).expect("a kernel");
        // A kernel that is gone stays gone.
        let _ = orders.send(Order::Die(cause));
    }

    /// All requests so far, in order.
    pub fn asked(&self) -> Vec<(KernelNumber, ScriptRequest)> {
        self.shared.asked.borrow().clone()
    }

    /// Waits until this many requests match.
    pub async fn asked_for(&self, count: usize, is_wanted: impl Fn(&ScriptRequest) -> bool) {
        let mut asked = self.shared.asked.subscribe();
        let enough = |all: &Vec<(KernelNumber, ScriptRequest)>| {
            all.iter().filter(|(_, asked)| is_wanted(asked)).count() >= count
        };
        asked.wait_for(enough).await.expect("the backend is there as long as this borrow");
    }

    /// Gives the launch a number and takes its script.
    fn begin(&self, spec: &KernelSpec) -> (KernelNumber, Launch) {
        let mut plan = self.shared.plan();
        plan.kernels.push(None);
        let number = KernelNumber(u32::try_from(plan.kernels.len()).expect("few kernels"));
        let launch = plan.launches.pop_front().unwrap_or(Launch::Work);
        drop(plan);
        self.shared.note(number, ScriptRequest::Launch(spec.cwd.clone()));
        (number, launch)
    }

    async fn start(
        &self,
        spec: &KernelSpec,
        cancel: &CancellationToken,
    ) -> Result<LaunchedKernel, LaunchError> {
        let (number, launch) = self.begin(spec);
        let wait = async {
            match launch {
                Launch::Work => Ok(()),
                Launch::Slow(time) => {
                    tokio::time::sleep(time).await;
                    Ok(())
                }
                Launch::Gate(gate) => {
                    gate.notified().await;
                    Ok(())
                }
                Launch::Fail(error) => Err(error),
            }
        };
        tokio::select! {
            ready = wait => ready?,
            () = tokio::time::sleep(spec.start_timeout) => {
                return Err(LaunchError::TimedOut {
                    python: spec.python.display().to_string(),
                    seconds: spec.start_timeout.as_secs_f64(),
                    stderr_tail: String::new(),
                });
            }
            () = cancel.cancelled() => return Err(LaunchError::Cancelled),
        }
        Ok(self.launched(number, spec))
    }

    fn launched(&self, number: KernelNumber, spec: &KernelSpec) -> LaunchedKernel {
        let (orders, queue) = mpsc::unbounded_channel();
        let (sender, events) = KernelEvents::channel(EVENT_QUEUE);
        let state = State::default();
        self.shared.plan().kernels[number.0 as usize - 1] = Some(orders.clone());
        tokio::spawn(Actor::new(queue, sender, state.clone()).run());
        let info = KernelInfo {
            backend: BackendKind::Runner,
            pid: None,
            language: KernelInfo::PYTHON.to_owned(),
            version: "3.11.0".to_owned(),
            executable: spec.python.display().to_string(),
            origin: Origin::Started { reason: "a script says so".to_owned() },
        };
        let kernel = ScriptedKernel { number, info, shared: self.shared.clone(), orders, state };
        LaunchedKernel { kernel: Box::new(kernel), events }
    }
}

impl Backend for ScriptedBackend {
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

/// State that a kernel's handle and its actor share.
#[derive(Clone, Default)]
struct State {
    /// Cancelled when the handle is dropped or closed.
    stop: CancellationToken,
    is_gone: Arc<AtomicBool>,
    is_busy: Arc<AtomicBool>,
}

struct ScriptedKernel {
    number: KernelNumber,
    info: KernelInfo,
    shared: Arc<Shared>,
    orders: mpsc::UnboundedSender<Order>,
    state: State,
}

impl ScriptedKernel {
    /// Records a request, and passes it on if the kernel exists.
    fn post(&self, asked: ScriptRequest, order: Order) -> Result<(), KernelGone> {
        self.shared.note(self.number, asked);
        if self.state.is_gone.load(Ordering::SeqCst) {
            return Err(KernelGone);
        }
        self.orders.send(order).map_err(|_| KernelGone)
    }
}

impl Kernel for ScriptedKernel {
    fn info(&self) -> &KernelInfo {
        &self.info
    }

    fn execute(&mut self, request: CodeRequest) -> Result<(), KernelGone> {
        let order = Order::Execute {
            exec: request.exec,
            history: request.history,
            script: self.shared.script(&request.code),
        };
        let is_gone = self.state.is_gone.load(Ordering::SeqCst);
        let was_busy = self.state.is_busy.swap(true, Ordering::SeqCst);
        assert!(is_gone || !was_busy, "two requests are open at once: {request:?}");
        self.post(ScriptRequest::Execute(request), order)
    }

    fn reply_input(&mut self, exec: ExecId, reply: InputReply) -> Result<(), KernelGone> {
        self.post(ScriptRequest::ReplyInput(exec, reply.clone()), Order::Input(reply))
    }

    fn ask(&mut self, id: AskId, question: Question) -> Result<(), KernelGone> {
        let is_busy = self.state.is_busy.load(Ordering::SeqCst);
        let answer = if is_busy { Answer::Busy } else { self.shared.answer() };
        self.post(ScriptRequest::Ask(id, question), Order::Answer { id, answer })
    }

    fn interrupt(&mut self) -> Result<(), KernelGone> {
        self.post(ScriptRequest::Interrupt, Order::Interrupt)
    }

    fn force(&mut self, force: StopSignal) -> Result<(), KernelGone> {
        self.post(ScriptRequest::Force(force), Order::Force(force))
    }

    fn shutdown(self: Box<Self>, grace: Duration) -> BoxFuture<'static, Death> {
        async move {
            self.shared.note(self.number, ScriptRequest::Shutdown(grace));
            let takes = self.shared.plan().shutdown_takes;
            tokio::time::sleep(takes.min(grace + Duration::from_secs(2))).await;
            let _ = self.orders.send(Order::Die(DeathCause::Shutdown));
            self.state.stop.cancel();
            death(DeathCause::Shutdown)
        }
        .boxed()
    }
}

impl Drop for ScriptedKernel {
    fn drop(&mut self) {
        self.shared.note(self.number, ScriptRequest::Drop);
        self.state.stop.cancel();
    }
}

fn death(cause: DeathCause) -> Death {
    Death { cause, stderr_tail: String::new(), strays: Vec::new() }
}
