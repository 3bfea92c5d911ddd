//! The handle that commands a kernel on a gateway.
//!
//! Owns what is posted. Everything is done, and said, by `pump.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::event::{Death, ExecId};
use crate::input::InputReply;
use crate::kernel::{CodeRequest, Force, Gone, Kernel, KernelInfo};
use crate::question::{AskId, Question};

/// How much longer than it was given a kernel may take to end.
const MORE: Duration = Duration::from_secs(2);

/// What the handle tells the pump, which is the one that reports the death.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intent {
    /// Nobody listens any more.
    pub(crate) stop: CancellationToken,
    /// Something was posted; the pump takes this back when nothing is left to be done.
    pub(crate) busy: Arc<AtomicBool>,
}

/// What is posted to the pump.
pub(crate) enum Post {
    Execute(CodeRequest),
    Ask(AskId, Question),
    Input(ExecId, InputReply),
    Interrupt,
    Force(Force),
}

/// A kernel that can be commanded.
pub(crate) struct GatewayKernel {
    pub(crate) info: KernelInfo,
    pub(crate) posts: mpsc::UnboundedSender<Post>,
    pub(crate) death: watch::Receiver<Option<Death>>,
    pub(crate) intent: Intent,
}

impl GatewayKernel {
    fn check_alive(&self) -> Result<(), Gone> {
        if self.death.borrow().is_some() { Err(Gone) } else { Ok(()) }
    }

    fn post(&self, post: Post) -> Result<(), Gone> {
        self.check_alive()?;
        self.posts.send(post).map_err(|_| Gone)
    }
}

impl Kernel for GatewayKernel {
    fn info(&self) -> &KernelInfo {
        &self.info
    }

    fn execute(&mut self, request: CodeRequest) -> Result<(), Gone> {
        self.intent.busy.store(true, Ordering::SeqCst);
        self.post(Post::Execute(request))
    }

    fn reply_input(&mut self, exec: ExecId, reply: InputReply) -> Result<(), Gone> {
        self.post(Post::Input(exec, reply))
    }

    fn ask(&mut self, id: AskId, question: Question) -> Result<(), Gone> {
        self.intent.busy.store(true, Ordering::SeqCst);
        self.post(Post::Ask(id, question))
    }

    fn interrupt(&mut self) -> Result<(), Gone> {
        self.check_alive()?;
        // A kernel that does nothing need not know what an interrupt is.
        if !self.intent.busy.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.post(Post::Interrupt)
    }

    fn force(&mut self, force: Force) -> Result<(), Gone> {
        self.post(Post::Force(force))
    }

    fn shutdown(mut self: Box<Self>, grace: Duration) -> BoxFuture<'static, Death> {
        async move {
            self.intent.stop.cancel();
            let died = self.death.wait_for(Option::is_some);
            match tokio::time::timeout(grace + MORE, died).await {
                Ok(Ok(death)) => death.clone().unwrap_or_else(Death::unknown),
                // The gateway is slow; what is left to do is done, or written down.
                _ => Death::unknown(),
            }
        }
        .boxed()
    }
}

impl Drop for GatewayKernel {
    fn drop(&mut self) {
        self.intent.stop.cancel();
    }
}
