//! What goes wrong between us and a gateway, in words for whoever has to mend it.
//!
//! Owns the sentences. None of them holds a token: tokens are in no address that is shown here.

use serde::{Deserialize, Serialize};

/// Why a gateway did not do what it was asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GatewayError {
    /// It wants to know who asks.
    #[error("External gateway at {url} requires authentication. Set PI_PYTHON_GATEWAY_TOKEN.")]
    Authentication {
        /// Where it is.
        url: String,
    },
    /// It knows who asks, and does not let them.
    #[error(
        "External gateway at {url} does not allow this: {said}. If somebody else may, set \
         PI_PYTHON_GATEWAY_TOKEN to their token."
    )]
    Forbidden {
        /// Where it is.
        url: String,
        /// What it said about it.
        said: String,
    },
    /// It answered, but not as a gateway does.
    #[error("External gateway at {url} returned status {status}{}", after_colon(.said))]
    Status {
        /// Where it is.
        url: String,
        /// The number.
        status: u16,
        /// What it said about it.
        said: String,
    },
    /// It sent us elsewhere, where nothing of ours is taken.
    #[error(
        "External gateway at {url} sent the request on to {to}, which was not followed; give the address \
         of the server itself"
    )]
    Redirect {
        /// Where it is.
        url: String,
        /// Where it wanted us to go.
        to: String,
    },
    /// It did not answer in time.
    #[error("External gateway at {url} is not reachable (timeout)")]
    Timeout {
        /// Where it is.
        url: String,
    },
    /// There is no way to it.
    #[error("External gateway at {url} is not reachable: {reason}")]
    Unreachable {
        /// Where it is.
        url: String,
        /// What the system said.
        reason: String,
        /// Whether nobody listens there.
        refused: Refused,
    },
    /// It answered with something that is no answer.
    #[error(
        "External gateway at {url} answered with something that is not Jupyter's ({what}); is the address \
         that of a gateway or server?"
    )]
    Nonsense {
        /// Where it is.
        url: String,
        /// What it was.
        what: String,
    },
    /// It did not make a kernel.
    #[error("Failed to create kernel on {} gateway: {said}", .whose.name())]
    Create {
        /// Whose it is.
        whose: Whose,
        /// The number of its answer.
        status: u16,
        /// What it said.
        said: String,
    },
    /// It did not say whether it made a kernel, so it is not asked again.
    #[error(
        "{problem} (it may have made a kernel all the same, which inkcell does not know; look at what runs there)"
    )]
    PerhapsMade {
        /// What went wrong.
        problem: String,
    },
    /// It has no kernel of that name.
    #[error(
        "External gateway at {url} has no kernel named {name:?}; it has: {}", .names.join(", ")
    )]
    NoSuchKernel {
        /// Where it is.
        url: String,
        /// What was asked for.
        name: String,
        /// What there is.
        names: Vec<String>,
    },
    /// Its websocket did not open.
    #[error("WebSocket connection timeout")]
    SocketTimeout,
    /// Its websocket did not open.
    #[error("WebSocket closed before connection: {reason}")]
    Socket {
        /// Why.
        reason: String,
    },
    /// The one that is shared on this machine cannot be had.
    #[error("Shared Python gateway unavailable: {reason}")]
    Shared {
        /// Why.
        reason: String,
    },
    /// Neither can another one in its place.
    #[error("Shared Python gateway unavailable after retry: {reason}")]
    SharedAgain {
        /// Why.
        reason: String,
    },
}

/// Whether nobody listens where a gateway should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// Its machine says so.
    Yes,
    /// That cannot be told.
    Unknown,
}

/// Whose gateway it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    /// The one that is shared on this machine.
    Shared,
    /// Somebody else's.
    External,
}

impl Whose {
    fn name(self) -> &'static str {
        match self {
            Whose::Shared => "shared",
            Whose::External => "external",
        }
    }
}

fn after_colon(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}
