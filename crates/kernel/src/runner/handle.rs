//! The handle through which the host commands a runner.
//!
//! Owns the commands and the signals. `pump.rs` reads the output.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rustix::process::Signal;
use tokio::sync::{OnceCell, mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::event::{Death, ExecId};
use crate::kernel::{
    Backend, CodeRequest, History, InputMode, InputReply, Kernel, KernelGone, KernelInfo, NoCopies,
    StopSignal,
};
use crate::process::{Mark, kill_group};
use crate::question::{AskId, Question};
use crate::runner::commands::CommandWriter;
use crate::runner::copies::{Copies, Meeting};
use crate::runner::frames::Command;
use crate::trace::KernelTrace;
use crate::turn::{Interrupt, Turn};
use crate::widgets::Widgets;

/// The time for a kernel to end after each signal of a shutdown.
const RUNG: Duration = Duration::from_secs(1);

/// State that the handle and the pump share. The pump reports the death.
#[derive(Clone, Default)]
pub(crate) struct Intent {
    /// Cancelled once no caller reads the events any more.
    pub(crate) stop: CancellationToken,
    /// The kernel ignored interrupts, and the host ends it for that.
    pub(crate) forced: Arc<AtomicBool>,
    /// The commands that have not ended.
    pub(crate) turn: Arc<Turn>,
    /// The widgets of the kernel. Its copies start with the same ones.
    pub(crate) widgets: Arc<Mutex<Widgets>>,
}

impl Intent {
    pub(crate) fn widgets(&self) -> MutexGuard<'_, Widgets> {
        self.widgets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The handle of a live runner.
pub(crate) struct RunnerKernel {
    info: KernelInfo,
    pid: u32,
    commands: CommandWriter,
    /// Questions that arrive during a cell. The pump, which sends the events, answers them.
    refused: mpsc::UnboundedSender<AskId>,
    death: watch::Receiver<Option<Death>>,
    intent: Intent,
    /// Permission of the current cell to ask for input.
    input: InputMode,
    trace: Option<Arc<dyn KernelTrace>>,
    /// The maker of copies, after the first request for one.
    copies: Arc<OnceCell<Result<Arc<Copies>, NoCopies>>>,
    /// Closing this pipe ends the runner.
    _lifeline: OwnedFd,
}

impl RunnerKernel {
    pub(crate) fn new(
        info: KernelInfo,
        pid: u32,
        commands: CommandWriter,
        (refused, trace): (mpsc::UnboundedSender<AskId>, Option<Arc<dyn KernelTrace>>),
        death: watch::Receiver<Option<Death>>,
        intent: Intent,
        lifeline: OwnedFd,
    ) -> RunnerKernel {
        RunnerKernel {
            info,
            pid,
            commands,
            refused,
            death,
            intent,
            input: InputMode::Refuse,
            trace,
            copies: Arc::default(),
            _lifeline: lifeline,
        }
    }

    fn check_alive(&self) -> Result<(), KernelGone> {
        if self.death.borrow().is_some() { Err(KernelGone) } else { Ok(()) }
    }

    fn post(&self, command: &Command<'_>) -> Result<(), KernelGone> {
        self.check_alive()?;
        self.commands.command(command)
    }

    async fn died_within(&mut self, limit: Duration) -> Option<Death> {
        let died = self.death.wait_for(Option::is_some);
        match tokio::time::timeout(limit, died).await {
            Ok(Ok(death)) => death.clone(),
            _ => None,
        }
    }
}

impl Kernel for RunnerKernel {
    fn info(&self) -> &KernelInfo {
        &self.info
    }

    fn execute(&mut self, request: CodeRequest) -> Result<(), KernelGone> {
        self.intent.turn.post_cell();
        self.input = request.input;
        let env = request.env.into_iter().map(|(name, value)| (name, value.into())).collect();
        self.post(&Command::Run {
            id: request.exec.0,
            code: &request.code,
            silent: request.history == History::Silent,
            asks: request.input == InputMode::Ask,
            names: request.names == crate::kernel::NamesWanted::Yes,
            env,
            cwd: request.cwd.map(|cwd| cwd.display().to_string()),
        })
    }

    fn reply_input(&mut self, exec: ExecId, reply: InputReply) -> Result<(), KernelGone> {
        match self.input {
            // The runner has already refused by itself.
            InputMode::Refuse => self.check_alive(),
            InputMode::Ask => self.post(&Command::Input { id: exec.0, reply: &reply }),
        }
    }

    fn ask(&mut self, id: AskId, question: Question) -> Result<(), KernelGone> {
        if self.intent.turn.has_cell() {
            self.check_alive()?;
            return self.refused.send(id).map_err(|_| KernelGone);
        }
        self.intent.turn.post_question();
        self.post(&Command::Ask { id: id.0, question: &question })
    }

    fn interrupt(&mut self) -> Result<(), KernelGone> {
        self.check_alive()?;
        if self.intent.turn.interrupt() == Interrupt::SendNow {
            self.commands.signalled("interrupt");
            kill_group(self.pid, Signal::INT);
        }
        Ok(())
    }

    fn force(&mut self, force: StopSignal) -> Result<(), KernelGone> {
        self.check_alive()?;
        self.intent.forced.store(true, Ordering::SeqCst);
        let (signal, kind) = match force {
            StopSignal::Terminate => (Signal::TERM, "terminate"),
            StopSignal::Kill => (Signal::KILL, "kill"),
        };
        self.commands.signalled(kind);
        kill_group(self.pid, signal);
        Ok(())
    }

    fn copies(&mut self) -> BoxFuture<'static, Result<Arc<dyn Backend>, NoCopies>> {
        let known = Arc::clone(&self.copies);
        let asked = match known.get() {
            Some(_) => None,
            None => Some(Meeting::open().and_then(|meeting| {
                let (name, mark) = (meeting.name.as_str(), Mark::VARIABLE);
                let is_busy = self.intent.turn.has_cell();
                let posted = !is_busy && self.post(&Command::Copies { name, mark }).is_ok();
                let reason = "the kernel is busy or gone".to_owned();
                if posted { Ok(meeting) } else { Err(NoCopies { reason }) }
            })),
        };
        let (info, pid, trace) = (self.info.clone(), self.pid, self.trace.clone());
        let widgets = Arc::clone(&self.intent.widgets);
        async move {
            let made = known.get_or_init(|| async move {
                let reason = "the kernel is busy making other copies".to_owned();
                let meeting = asked.unwrap_or(Err(NoCopies { reason }))?;
                Copies::meet(meeting, pid, info.executable, (trace, widgets)).await.map(Arc::new)
            });
            let made: Arc<dyn Backend> = made.await.clone()?;
            Ok(made)
        }
        .boxed()
    }

    fn shutdown(mut self: Box<Self>, grace: Duration) -> BoxFuture<'static, Death> {
        async move {
            let _ = self.post(&Command::Exit);
            self.intent.stop.cancel();
            if let Some(death) = self.died_within(grace).await {
                return death;
            }
            for signal in [Signal::TERM, Signal::KILL] {
                kill_group(self.pid, signal);
                if let Some(death) = self.died_within(RUNG).await {
                    return death;
                }
            }
            Death::unknown()
        }
        .boxed()
    }
}

impl Drop for RunnerKernel {
    fn drop(&mut self) {
        self.intent.stop.cancel();
        if self.death.borrow().is_none() {
            kill_group(self.pid, Signal::KILL);
        }
    }
}
