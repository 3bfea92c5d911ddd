//! The handle that commands a Jupyter kernel, over any transport.
//!
//! Owns the commands for the pump, and the steps that force a kernel to its end. `pump.rs` carries
//! out the commands and reads the kernel's messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rustix::process::Signal;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::event::{Death, ExecId};
use crate::kernel::{CodeRequest, InputReply, Kernel, KernelGone, KernelInfo, StopSignal};
use crate::question::{AskId, Question};
use crate::turn::{Interrupt, Turn};

/// Time for a kernel to end after each signal of a shutdown.
const RUNG: Duration = Duration::from_secs(1);

/// Information from the handle for the pump, which reports the death.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intent {
    /// Cancelled when nothing reads the kernel any more: on a shutdown, on a drop, when the session
    /// stops reading events, or on the forced end of a kernel that is not our child.
    pub(crate) stop: CancellationToken,
    /// Set when the kernel is being ended because it ignored interrupts.
    forced: Arc<AtomicBool>,
    /// Set when a command is posted; the pump clears it when no work is left.
    pub(crate) busy: Arc<AtomicBool>,
}

impl Intent {
    /// Returns `true` if the kernel is being ended because it ignored interrupts.
    pub(crate) fn is_forced(&self) -> bool {
        self.forced.load(Ordering::SeqCst)
    }
}

/// A command on its way to the pump.
pub(crate) enum Post {
    Execute(CodeRequest),
    Ask(AskId, Question),
    Input(ExecId, InputReply),
    /// Interrupt: the control has sent it if its time was now, or the pump must.
    Interrupt(Interrupt),
    Force(StopSignal),
}

/// Actions of a handle on its kernel without the pump, which may be waiting for a reader of events.
pub(crate) trait Control: Send + 'static {
    /// Extra time for the kernel's end, beyond the grace of the shutdown.
    const MORE: Duration;

    /// Signals for a kernel that has not ended by then, each with its name in traces.
    const SIGNALS: &'static [(Signal, &'static str)];

    /// Interrupts the kernel now, unless the pump does that.
    fn interrupt(&self) {}

    /// Ends a kernel that ignores interrupts. Returns the part that is left to the pump.
    fn force(&self, force: StopSignal, intent: &Intent) -> Option<StopSignal>;

    /// Asks a live kernel to end.
    fn request_shutdown(&self) {}

    /// Sends one of the signals.
    fn signal(&self, _: Signal, _: &str) {}

    /// Ends a live kernel whose handle is dropped.
    fn kill(&self) {}
}

/// A kernel that takes commands.
pub(crate) struct JupyterKernel<C: Control> {
    pub(crate) info: KernelInfo,
    pub(crate) control: C,
    /// Boxed, because a queue allocates room for many posts from its beginning.
    pub(crate) posts: mpsc::UnboundedSender<Box<Post>>,
    pub(crate) death: watch::Receiver<Option<Death>>,
    pub(crate) intent: Intent,
    pub(crate) turn: Arc<Turn>,
}

impl<C: Control> JupyterKernel<C> {
    fn check_alive(&self) -> Result<(), KernelGone> {
        if self.death.borrow().is_some() { Err(KernelGone) } else { Ok(()) }
    }

    fn post(&self, post: Post) -> Result<(), KernelGone> {
        self.check_alive()?;
        self.posts.send(Box::new(post)).map_err(|_| KernelGone)
    }

    async fn died_within(&mut self, limit: Duration) -> Option<Death> {
        let died = self.death.wait_for(Option::is_some);
        match tokio::time::timeout(limit, died).await {
            Ok(Ok(death)) => death.clone(),
            _ => None,
        }
    }

    async fn end(&mut self, grace: Duration) -> Option<Death> {
        if self.check_alive().is_ok() {
            self.control.request_shutdown();
        }
        self.intent.stop.cancel();
        if let Some(death) = self.died_within(grace + C::MORE).await {
            return Some(death);
        }
        for (signal, kind) in C::SIGNALS {
            self.control.signal(*signal, kind);
            if let Some(death) = self.died_within(RUNG).await {
                return Some(death);
            }
        }
        None
    }
}

impl<C: Control> Kernel for JupyterKernel<C> {
    fn info(&self) -> &KernelInfo {
        &self.info
    }

    fn execute(&mut self, request: CodeRequest) -> Result<(), KernelGone> {
        self.intent.busy.store(true, Ordering::SeqCst);
        self.turn.post_cell();
        self.post(Post::Execute(request))
    }

    fn reply_input(&mut self, exec: ExecId, reply: InputReply) -> Result<(), KernelGone> {
        self.post(Post::Input(exec, reply))
    }

    fn ask(&mut self, id: AskId, question: Question) -> Result<(), KernelGone> {
        self.intent.busy.store(true, Ordering::SeqCst);
        self.turn.post_question();
        self.post(Post::Ask(id, question))
    }

    fn interrupt(&mut self) -> Result<(), KernelGone> {
        self.check_alive()?;
        // An idle kernel gets no interrupt, because it may not handle one.
        if !self.intent.busy.load(Ordering::SeqCst) {
            return Ok(());
        }
        let moment = self.turn.interrupt();
        if moment == Interrupt::SendNow {
            self.control.interrupt();
        }
        self.post(Post::Interrupt(moment))
    }

    fn force(&mut self, force: StopSignal) -> Result<(), KernelGone> {
        self.check_alive()?;
        self.intent.forced.store(true, Ordering::SeqCst);
        match self.control.force(force, &self.intent) {
            Some(force) => self.post(Post::Force(force)),
            None => Ok(()),
        }
    }

    fn shutdown(mut self: Box<Self>, grace: Duration) -> BoxFuture<'static, Death> {
        async move { self.end(grace).await.unwrap_or_else(Death::unknown) }.boxed()
    }
}

impl<C: Control> Drop for JupyterKernel<C> {
    fn drop(&mut self) {
        self.intent.stop.cancel();
        if self.death.borrow().is_none() {
            self.control.kill();
        }
    }
}
