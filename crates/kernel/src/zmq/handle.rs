//! The handle that commands a Jupyter kernel.
//!
//! Owns its signals and the orders that must reach it whatever else goes on. What it runs is sent, and what
//! it says is read, by `pump.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rustix::process::Signal;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::event::{Death, ExecId};
use crate::input::InputReply;
use crate::jupyter::fold::Channel;
use crate::kernel::{CodeRequest, Force, Gone, Kernel, KernelInfo};
use crate::process::kill_group;
use crate::question::{AskId, Question};
use crate::zmq::interrupts::Interrupts;
use crate::zmq::lines::Speaker;

/// How long a kernel that is being shut down has after each signal.
const RUNG: Duration = Duration::from_secs(1);

/// What the handle tells the pump, which is the one that reports the death.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intent {
    /// Nobody listens any more.
    pub(crate) stop: CancellationToken,
    /// It did not listen to interrupts and is being ended for it.
    pub(crate) forced: Arc<AtomicBool>,
    /// Something was posted; the pump takes this back when nothing is left to be done.
    pub(crate) busy: Arc<AtomicBool>,
}

/// What is posted to the pump.
pub(crate) enum Post {
    Execute(CodeRequest),
    Ask(AskId, Question),
    Input(ExecId, InputReply),
    /// An interrupt was sent.
    Interrupted,
}

/// A kernel that can be commanded.
pub(crate) struct ZmqKernel {
    pub(crate) info: KernelInfo,
    /// The leader of its group; none when the kernel is not ours.
    pub(crate) pid: Option<u32>,
    pub(crate) interrupts: Interrupts,
    pub(crate) speaker: Speaker,
    /// Boxed, because a queue has room for many from its beginning.
    pub(crate) posts: mpsc::UnboundedSender<Box<Post>>,
    pub(crate) death: watch::Receiver<Option<Death>>,
    pub(crate) intent: Intent,
}

impl ZmqKernel {
    fn check_alive(&self) -> Result<(), Gone> {
        if self.death.borrow().is_some() { Err(Gone) } else { Ok(()) }
    }

    fn post(&self, post: Post) -> Result<(), Gone> {
        self.check_alive()?;
        self.posts.send(Box::new(post)).map_err(|_| Gone)
    }

    fn signal(&self, signal: Signal, kind: &str) {
        if let Some(pid) = self.pid {
            self.speaker.signalled(kind);
            kill_group(pid, signal);
        }
    }

    async fn died_within(&mut self, limit: Duration) -> Option<Death> {
        let died = self.death.wait_for(Option::is_some);
        match tokio::time::timeout(limit, died).await {
            Ok(Ok(death)) => death.clone(),
            _ => None,
        }
    }
}

impl Kernel for ZmqKernel {
    fn info(&self) -> &KernelInfo {
        &self.info
    }

    fn execute(&mut self, request: CodeRequest) -> Result<(), Gone> {
        self.intent.busy.store(true, Ordering::SeqCst);
        self.interrupts.turn.post_cell();
        self.post(Post::Execute(request))
    }

    fn reply_input(&mut self, exec: ExecId, reply: InputReply) -> Result<(), Gone> {
        self.post(Post::Input(exec, reply))
    }

    fn ask(&mut self, id: AskId, question: Question) -> Result<(), Gone> {
        self.intent.busy.store(true, Ordering::SeqCst);
        self.interrupts.turn.post_question();
        self.post(Post::Ask(id, question))
    }

    fn interrupt(&mut self) -> Result<(), Gone> {
        self.check_alive()?;
        // A kernel that does nothing need not know what an interrupt is.
        if !self.intent.busy.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.interrupts.interrupt();
        self.post(Post::Interrupted)
    }

    fn force(&mut self, force: Force) -> Result<(), Gone> {
        self.check_alive()?;
        self.intent.forced.store(true, Ordering::SeqCst);
        match (force, self.pid) {
            (Force::Terminate, Some(_)) => self.signal(Signal::TERM, "terminate"),
            (Force::Kill, Some(_)) => self.signal(Signal::KILL, "kill"),
            // It is not ours to end; it is left, and what it does is its own affair.
            (Force::Terminate | Force::Kill, None) => self.intent.stop.cancel(),
        }
        Ok(())
    }

    fn shutdown(mut self: Box<Self>, grace: Duration) -> BoxFuture<'static, Death> {
        async move {
            // One that ran before we came runs on when we go.
            if self.pid.is_some() && self.check_alive().is_ok() {
                self.say_shutdown();
            }
            self.intent.stop.cancel();
            if let Some(death) = self.died_within(grace).await {
                return death;
            }
            for (signal, kind) in [(Signal::TERM, "terminate"), (Signal::KILL, "kill")] {
                self.signal(signal, kind);
                if let Some(death) = self.died_within(RUNG).await {
                    return death;
                }
            }
            Death::unknown()
        }
        .boxed()
    }
}

impl ZmqKernel {
    fn say_shutdown(&self) {
        self.speaker.request(Channel::Control, "shutdown_request", &json!({"restart": false}));
    }
}

impl Drop for ZmqKernel {
    fn drop(&mut self) {
        self.intent.stop.cancel();
        if let Some(pid) = self.pid.filter(|_| self.death.borrow().is_none()) {
            kill_group(pid, Signal::KILL);
        }
    }
}
