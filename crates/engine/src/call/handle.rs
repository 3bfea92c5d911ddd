//! A submitted request as its caller sees it: the handle of a call, the handle of an answer, and the extras that the
//! caller lends to code.
//!
//! Owns these shapes. The caller decides what lent variables mean and what is held. A handle keeps the call's record
//! even after the engine drops its results to make room.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use inkcell_kernel::InputReply;
use tokio_util::sync::CancellationToken;

use super::{CallEvent, Record};
use crate::api::PythonReport;
use crate::error::{EngineError, SessionError};
use crate::session::journal::{Seq, Watch};
use crate::types::ExecutionId;

/// A call that waits for its turn, runs or is over. Clones are the same call. Dropping a handle does not stop the call.
#[derive(Clone)]
pub struct CallHandle {
    record: Arc<Record>,
}

impl fmt::Debug for CallHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallHandle").field(&self.id().0).finish()
    }
}

impl CallHandle {
    pub(crate) fn new(record: Arc<Record>) -> CallHandle {
        CallHandle { record }
    }

    /// The id with which a caller can ask for the call again.
    pub fn id(&self) -> &ExecutionId {
        &self.record.execution
    }

    /// The call in its current state.
    pub fn report(&self) -> PythonReport {
        self.record.report()
    }

    /// Waits until the call is over, however long that takes.
    pub async fn settled(&self) -> PythonReport {
        self.record.settled(None).await
    }

    /// Waits until the call is over, at most for `patience`.
    pub async fn wait(&self, patience: Duration) -> PythonReport {
        self.record.settled(Some(patience)).await
    }

    /// Watches the events of the call, from this entry on.
    pub fn watch(&self, from: Seq) -> Watch<CallEvent> {
        self.record.journal.watch(from)
    }

    /// Cancels the call. A second cancel stops it by force.
    pub fn cancel(&self) {
        self.record.cancel();
    }

    /// Answers a cell that asked for a line of input.
    pub fn reply_input(&self, reply: InputReply) -> Result<(), EngineError> {
        if self.record.reply(reply) {
            return Ok(());
        }
        Err(SessionError::NothingAsked(self.id().clone()).into())
    }
}

/// A question or a kernel verb that has its place, and whose answer comes. Dropping the handle gives the answer up.
pub struct AnswerHandle<T> {
    answer: BoxFuture<'static, Result<T, EngineError>>,
}

impl<T: Send + 'static> AnswerHandle<T> {
    pub(crate) fn new(
        answer: impl Future<Output = Result<T, EngineError>> + Send + 'static,
    ) -> AnswerHandle<T> {
        AnswerHandle { answer: answer.boxed() }
    }

    /// An answer that is there already.
    pub(crate) fn ready(answer: T) -> AnswerHandle<T> {
        AnswerHandle::new(std::future::ready(Ok(answer)))
    }

    /// Waits for the answer.
    pub async fn answer(self) -> Result<T, EngineError> {
        self.answer.await
    }
}

impl<T> fmt::Debug for AnswerHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerHandle")
    }
}

/// Extras that a caller lends to the code of one call.
#[derive(Default)]
pub struct CallExtras {
    /// Variables that exist in every cell of this call, and in no other call. Only variables that are reset before
    /// every cell anyway ([`inkcell_kernel::MANAGED`]) can be removed again, so only those are set.
    pub env: Vec<(String, String)>,
    /// Set when the code is made to stop, before it has stopped. Code that ends by itself does not set it.
    pub stopping: CancellationToken,
    /// Dropped when no code of the call runs any more, before the report says that the call is over.
    pub held: Option<Box<dyn Any + Send>>,
}

impl CallExtras {
    /// The lent value of a managed variable.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
