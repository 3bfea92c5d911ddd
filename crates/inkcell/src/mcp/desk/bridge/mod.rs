//! The tool bridge: code that runs in a kernel calls the notebook tools of its host (B: ).
//!
//! Owns the variables that the code of a run gets, and which tools it may call. The tools are in `mcp/tools`; the
//! transport of a call is in `server.rs`. The bridge is a server on this machine's loopback that begins with the
//! first run. Each run has a token of its own, which loses its value when the run is over.

mod request;
mod runs;
mod server;
mod value;

use std::sync::Arc;

use inkcell_engine::CallExtras;
use inkcell_engine::api::KernelMode;
use inkcell_engine::registry::{OwnerId, SessionKey};
use tokio::sync::OnceCell;

use super::Desk;
use crate::mcp::exposure::Exposure;
use server::Server;

/// The tools that code may call, if they are offered at all. Code that could run code would wait for itself, and
/// code in a kernel must not call tools that end kernels.
const TOOLS: [&str; 7] =
    ["notebook_read", "notebook_edit", "notebook", "NotebookEdit", "read", "edit", "write"];

/// The names of the tools on offer here.
fn offered(exposure: &Exposure) -> Vec<&'static str> {
    TOOLS.into_iter().filter(|name| exposure.tools.contains(name)).collect()
}

/// The bridge of one desk. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Bridge {
    server: Arc<OnceCell<Server>>,
    /// Whether calls at this desk come from code.
    is_for_code: bool,
    /// Sessions whose code waits for the calls at this desk.
    waiting: Vec<SessionKey>,
}

impl Bridge {
    /// Whether calls at this desk come from code.
    pub(crate) fn is_for_code(&self) -> bool {
        self.is_for_code
    }

    /// Returns whether a session cannot run anything before a call at this desk is answered.
    pub(crate) fn is_waited_for_in(&self, session: &SessionKey) -> bool {
        self.waiting.contains(session)
    }

    /// Lends a run of code the way back to the tools, until the run is over.
    pub(crate) async fn lend(
        &self,
        desk: &Desk,
        session: &SessionKey,
        mode: KernelMode,
        owner: OwnerId,
    ) -> CallExtras {
        if offered(&desk.exposure).is_empty() {
            return CallExtras::default();
        }
        match self.server.get_or_try_init(Server::start).await {
            Ok(server) => server.register(self.desk_within(desk, session, mode), session, owner),
            Err(error) => {
                // Code runs without the bridge, and gets an error if it calls a tool.
                tracing::warn!("there is no tool bridge: {error}");
                CallExtras::default()
            }
        }
    }

    /// The desk for the tool calls of code in this session: relative paths begin where the code works.
    pub(crate) fn desk_within(&self, desk: &Desk, session: &SessionKey, mode: KernelMode) -> Desk {
        let mut waiting = self.waiting.clone();
        // Only its own call can wait for a kernel that belongs to one call.
        if mode == KernelMode::Session {
            waiting.push(session.clone());
        }
        let bridge = Bridge { server: Arc::clone(&self.server), is_for_code: true, waiting };
        Desk { cwd: session.cwd.clone(), bridge, ..desk.clone() }
    }
}
