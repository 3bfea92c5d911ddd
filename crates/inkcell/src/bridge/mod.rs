//! The tool bridge: code that runs in a kernel calls the notebook tools of its host (B: ).
//!
//! Owns what the code of a run is told, and which tools it may call. What a tool does is in `tools/`; how a call
//! travels is in `server.rs`. It is a server on this machine's loopback that begins with the first run, and each
//! run has a token of its own, which is good for nothing once the run is over.

mod request;
mod runs;
mod server;
mod value;

use std::sync::Arc;

use inkcell_engine::Lent;
use inkcell_engine::api::KernelMode;
use inkcell_engine::registry::{OwnerId, SessionKey};
use tokio::sync::OnceCell;

use crate::exposure::Exposure;
use crate::tools::Desk;
use server::Server;

/// The tools that code may call, where they are offered at all. Code that could run code would wait for itself,
/// and what ends kernels is not for what runs in one.
const TOOLS: [&str; 7] =
    ["notebook_read", "notebook_edit", "notebook", "NotebookEdit", "read", "edit", "write"];

/// The names of those that are offered here.
fn offered(exposure: &Exposure) -> Vec<&'static str> {
    TOOLS.into_iter().filter(|name| exposure.tools.contains(name)).collect()
}

/// The bridge as one desk has it. Clones are the same bridge.
#[derive(Clone, Default)]
pub(crate) struct Bridge {
    server: Arc<OnceCell<Server>>,
    /// Whether calls at this desk come from code.
    is_for_code: bool,
    /// Sessions whose code waits for what is called at this desk.
    waiting: Vec<SessionKey>,
}

impl Bridge {
    /// Whether calls at this desk come from code.
    pub(crate) fn is_for_code(&self) -> bool {
        self.is_for_code
    }

    /// Whether a session cannot run anything before a call at this desk is answered.
    pub(crate) fn is_waited_for_in(&self, session: &SessionKey) -> bool {
        self.waiting.contains(session)
    }

    /// What a run of code is lent: the way back to the tools, for as long as it takes.
    pub(crate) async fn lend(
        &self,
        desk: &Desk,
        session: &SessionKey,
        mode: KernelMode,
        owner: OwnerId,
    ) -> Lent {
        if offered(&desk.exposure).is_empty() {
            return Lent::default();
        }
        match self.server.get_or_try_init(Server::start).await {
            Ok(server) => server.register(self.desk_within(desk, session, mode), session, owner),
            Err(error) => {
                // Code runs without it; it is told so when it asks.
                tracing::warn!("there is no tool bridge: {error}");
                Lent::default()
            }
        }
    }

    /// The desk for what code in this session calls: paths begin where the code works.
    pub(crate) fn desk_within(&self, desk: &Desk, session: &SessionKey, mode: KernelMode) -> Desk {
        let mut waiting = self.waiting.clone();
        // A kernel that is one call's own is nobody else's to wait for.
        if mode == KernelMode::Session {
            waiting.push(session.clone());
        }
        let bridge = Bridge { server: Arc::clone(&self.server), is_for_code: true, waiting };
        Desk { cwd: session.cwd.clone(), bridge, ..desk.clone() }
    }
}
