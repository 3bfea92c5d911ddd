//! The parts of a tool: its shape, its environment and its answer.
//!
//! Owns the shape of every tool, the turns of its calls, their way into the engine, and the bridge by which code calls
//! tools. It must not know a single tool.

mod bridge;
mod guarded;
mod reply;
mod submit;
mod turns;
pub(crate) mod weight;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use inkcell_engine::registry::OwnerId;
use inkcell_engine::{Engine, Notebooks};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::exposure::Exposure;
use crate::settings::Settings;

pub(crate) use bridge::Bridge;
pub(crate) use guarded::guarded;
pub(crate) use reply::{Content, Fault, ToolError, ToolReply};
pub(crate) use submit::StartedCall;
pub(crate) use turns::{Order, Turn, Turns};

/// Bytes of the versions that a desk keeps, to say what changed since.
pub(crate) const SEEN_VERSIONS: usize = 64 << 20;

/// One tool. Its schema is made from the struct that is decoded, so the two cannot differ.
pub(crate) struct ToolSpec {
    pub(crate) name: &'static str,
    /// A template: `mcp/protocol/offer.rs` removes the parts that do not concern a client.
    pub(crate) description: &'static str,
    pub(crate) hints: Hints,
    /// How its calls are kept in order.
    pub(crate) order: Order,
    /// The JSON Schema of the arguments, as a client with this exposure sees them.
    pub(crate) schema: fn(&Exposure) -> Value,
    pub(crate) call:
        for<'a> fn(&'a Desk, Value, CallContext) -> BoxFuture<'a, Result<ToolReply, ToolError>>,
}

/// Facts about a tool that a client may rely on before it asks its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hints {
    pub(crate) title: &'static str,
    pub(crate) read_only: bool,
    pub(crate) destructive: bool,
    pub(crate) idempotent: bool,
    pub(crate) open_world: bool,
}

impl Hints {
    /// A tool that only reads.
    pub(crate) const fn reading(title: &'static str) -> Hints {
        Hints { title, read_only: true, destructive: false, idempotent: true, open_world: false }
    }

    /// A tool that can change or remove what is there.
    pub(crate) const fn changing(title: &'static str) -> Hints {
        Hints { title, read_only: false, destructive: true, idempotent: false, open_world: false }
    }

    /// The same call a second time changes nothing.
    pub(crate) const fn idempotent(self) -> Hints {
        Hints { idempotent: true, ..self }
    }

    /// It can reach beyond this machine.
    pub(crate) const fn in_open_world(self) -> Hints {
        Hints { open_world: true, ..self }
    }
}

/// Everything tools work on. Clones share it.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) engine: Engine,
    pub(crate) settings: Arc<Settings>,
    /// The notebooks of the settings, with the versions that callers of this desk have seen.
    pub(crate) notebooks: Notebooks,
    pub(crate) exposure: Arc<Exposure>,
    /// Every tool of every profile, for code that calls tools by their names.
    pub(crate) tools: &'static [&'static ToolSpec],
    /// The base of relative paths.
    pub(crate) cwd: PathBuf,
    /// How code that runs here calls tools.
    pub(crate) bridge: Bridge,
    /// The folders that a client says it works in. They restrict where files may be.
    pub(crate) roots: Option<Arc<[PathBuf]>>,
}

/// One call of a tool.
pub(crate) struct CallContext {
    /// The owner of the sessions that this call uses.
    pub(crate) owner: OwnerId,
    /// Set when the caller gave the call up.
    pub(crate) cancel: CancellationToken,
    /// Receives progress reports; without it nothing is reported.
    pub(crate) progress: Option<mpsc::Sender<Progress>>,
    /// Holds back later requests for the same session or file.
    pub(crate) turn: Option<Turn>,
}

impl CallContext {
    /// A call that holds back no other, without progress reports.
    pub(crate) fn new(owner: OwnerId, cancel: CancellationToken) -> CallContext {
        CallContext { owner, cancel, progress: None, turn: None }
    }
}

/// Progress of a call.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Progress {
    /// Grows with every report.
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: String,
}
