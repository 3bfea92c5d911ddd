//! The way of a tool's request into the engine.
//!
//! Owns what code at a desk is lent, and the sessions in which it must not run. Tools make the requests and wait for
//! the answers.

use std::path::Path;

use inkcell_engine::api::KernelMode;
use inkcell_engine::registry::{OwnerId, SessionKey};
use inkcell_engine::{
    AnswerHandle, CallExtras, CallHandle, CallOptions, EngineError, Kind, Request,
};

use super::{Desk, ToolError};
use crate::words;

/// A call that has begun, with further remarks for its caller.
pub(crate) struct StartedCall {
    pub(crate) call: CallHandle,
    pub(crate) asides: Vec<String>,
}

impl Desk {
    /// Submits code, or a run of a notebook, that was resolved to this session and works in this folder.
    pub(crate) async fn submit_call(
        &self,
        request: impl Request<Handle = CallHandle>,
        (key, cwd): (&SessionKey, &Path),
        owner: OwnerId,
    ) -> Result<StartedCall, ToolError> {
        let mut asides = Vec::new();
        let lent = self.admit(key, cwd, owner, &mut asides).await?;
        let options = CallOptions { lent, ..CallOptions::of(owner) };
        let call = self.engine.submit(request, options).await?;
        Ok(StartedCall { call, asides })
    }

    /// Submits a question or a kernel verb.
    pub(crate) async fn ask<T>(
        &self,
        request: impl Request<Handle = AnswerHandle<T>>,
        owner: OwnerId,
    ) -> Result<AnswerHandle<T>, EngineError> {
        self.engine.submit(request, CallOptions::of(owner)).await
    }

    /// Whether kernels outlive the calls at this desk.
    pub(crate) fn kernel_mode(&self) -> KernelMode {
        self.settings.calls(self.exposure.profile()).kernel_mode
    }

    /// The loan for code in this session.
    async fn admit(
        &self,
        key: &SessionKey,
        cwd: &Path,
        owner: OwnerId,
        asides: &mut Vec<String>,
    ) -> Result<CallExtras, ToolError> {
        let mode = self.kernel_mode();
        if mode == KernelMode::Session && self.bridge.is_waited_for_in(key) {
            return Err(waits_for_itself(key));
        }
        let is_first = self.engine.sessions().iter().all(|listed| listed.key != *key);
        if is_first || mode == KernelMode::PerCall {
            asides.extend(self.settings.decided_by_project(cwd));
        }
        Ok(self.bridge.lend(self, key, mode, owner).await)
    }
}

/// The error for code that wants to run code where it runs itself (B:X-40).
fn waits_for_itself(key: &SessionKey) -> ToolError {
    let message = words::session::waits_for_itself(&key.name);
    let next = Some(words::session::RUN_IN_CELL.to_owned());
    ToolError { kind: Kind::Busy, message, next }
}
