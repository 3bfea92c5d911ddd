//! The events of a backend, as events of the log.
//!
//! Owns their levels. A death is logged with its cause and never with output of the kernel.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use inkcell_engine::kernel::{
    Death, DeathCause, Direction, KernelInfo, KernelTrace, LaunchError, Message, Messages, Origin,
    RunnerBackend, RunnerConfig, ZygoteState,
};

use super::{MESSAGES, millis, stage};

/// A backend whose kernels are logged as the settings say.
pub(crate) fn runner(config: RunnerConfig) -> Result<RunnerBackend, LaunchError> {
    RunnerBackend::traced(config, Some(kernels()))
}

/// A trace that logs the actions of any backend.
pub(crate) fn kernels() -> Arc<dyn KernelTrace> {
    Arc::new(Kernels)
}

struct Kernels;

impl KernelTrace for Kernels {
    fn messages(&self) -> Messages {
        let is_wanted = tracing::enabled!(target: MESSAGES, tracing::Level::INFO);
        if is_wanted { Messages::Told } else { Messages::Untold }
    }

    fn message(&self, message: &Message<'_>) {
        let Message { pid, direction, channel, kind, id } = message;
        let direction = match direction {
            Direction::Sent => "sent",
            Direction::Received => "received",
        };
        let kernel = pid.map(tracing::field::display);
        let id = id.as_ref().map(tracing::field::display);
        tracing::info!(target: MESSAGES, kernel, r#type = kind, id, channel, "{direction}");
    }

    fn started(&self, info: &KernelInfo, took: Duration) {
        stage("kernel started");
        let kernel = info.pid.map(tracing::field::display);
        let (language, version) = (&*info.language, &*info.version);
        let ms = millis(took);
        match &info.origin {
            Origin::Forked => {
                tracing::info!(kernel, language, version, ms, origin = "forked", "kernel started");
            }
            Origin::Spare { reason } => {
                tracing::info!(
                    kernel,
                    language,
                    version,
                    ms,
                    origin = "spare",
                    reason,
                    "kernel started"
                );
            }
            Origin::Joined { reason } => {
                tracing::info!(
                    kernel,
                    language,
                    version,
                    ms,
                    origin = "joined",
                    reason,
                    "kernel joined"
                );
            }
            Origin::Started { reason } => {
                tracing::info!(
                    kernel,
                    language,
                    version,
                    ms,
                    origin = "started",
                    reason,
                    "kernel started"
                );
            }
        }
    }

    fn died(&self, pid: Option<u32>, death: &Death) {
        let (kernel, strays) = (pid.map(tracing::field::display), death.strays.len());
        match &death.cause {
            DeathCause::Shutdown => tracing::info!(kernel, strays, "kernel ended"),
            // The other fields may hold output of the kernel.
            DeathCause::Protocol { .. } => {
                tracing::warn!(kernel, strays, cause = "it broke the protocol", "kernel died");
            }
            cause => tracing::warn!(kernel, strays, cause = %cause, "kernel died"),
        }
    }

    fn fork_server(&self, python: &Path, state: &ZygoteState) {
        let python = python.display();
        match state {
            ZygoteState::Starting => {}
            ZygoteState::Ready { failed } => {
                stage("fork server ready");
                for (module, reason) in failed {
                    tracing::warn!(%python, module, reason, "could not preload a module");
                }
                tracing::debug!(%python, "fork server ready");
            }
            ZygoteState::Refused(reason) => {
                tracing::warn!(%python, reason, "the fork server cannot be copied; kernels start one by one");
            }
            ZygoteState::Gone => tracing::debug!(%python, "fork server gone"),
        }
    }
}
