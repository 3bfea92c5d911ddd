//! What a tool is, and what it works on.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use inkcell_engine::Engine;
use inkcell_engine::registry::OwnerId;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::reply::{ToolError, ToolReply};
use super::turns::{Order, Turn};
use crate::bridge::Bridge;
use crate::exposure::Exposure;
use crate::settings::Settings;

/// One tool. The struct that is decoded makes the schema, so the two cannot differ.
pub(crate) struct ToolSpec {
    pub(crate) name: &'static str,
    /// A template: `mcp/offer.rs` leaves out what is not for a client.
    pub(crate) description: &'static str,
    pub(crate) hints: Hints,
    /// How its calls are kept in order.
    pub(crate) order: Order,
    /// The JSON Schema of the arguments, as whoever is offered this sees them.
    pub(crate) schema: fn(&Exposure) -> Value,
    pub(crate) call:
        for<'a> fn(&'a Desk, Value, CallContext) -> BoxFuture<'a, Result<ToolReply, ToolError>>,
}

/// What a client may rely on before it asks its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hints {
    pub(crate) title: &'static str,
    pub(crate) read_only: bool,
    pub(crate) destructive: bool,
    pub(crate) idempotent: bool,
    pub(crate) open_world: bool,
}

/// Everything tools work on. Clones are the same desk.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) engine: Engine,
    pub(crate) settings: Arc<Settings>,
    pub(crate) exposure: Arc<Exposure>,
    /// Where relative paths begin.
    pub(crate) cwd: PathBuf,
    /// How code that is run here calls tools.
    pub(crate) bridge: Bridge,
    /// The folders that a client says it works in, which narrow where files may be.
    pub(crate) roots: Option<Arc<[PathBuf]>>,
}

/// One call of a tool.
pub(crate) struct CallContext {
    /// On whose behalf sessions are held.
    pub(crate) owner: OwnerId,
    /// Set when the caller gave the call up.
    pub(crate) cancel: CancellationToken,
    /// Where to say how far it is; nobody listens when there is none.
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

/// How far a call is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Progress {
    /// Grows from one to the next.
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: String,
}
