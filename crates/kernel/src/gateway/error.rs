//! What goes wrong between us and a gateway, in words for whoever has to mend it.
//!
//! Owns the sentences. None of them holds a token: tokens are in no address that is shown here.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a gateway did not do what it was asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GatewayError {
    /// It wants to know who asks.
    #[error("{at} requires authentication. {}", .at.how_to_open())]
    Authentication {
        /// Which it is.
        at: Named,
        /// Whether it was told something that it did not take.
        token: TokenSent,
    },
    /// It knows who asks, and does not let them.
    #[error(
        "{at} does not allow this: {said}. If somebody else may, set PI_PYTHON_GATEWAY_TOKEN to their token."
    )]
    Forbidden {
        /// Which it is.
        at: Named,
        /// What it said about it.
        said: String,
    },
    /// It answered, but not as a gateway does.
    #[error("{at} returned status {status}{}", after_colon(.said))]
    Status {
        /// Which it is.
        at: Named,
        /// The number.
        status: u16,
        /// What it said about it.
        said: String,
    },
    /// It sent us elsewhere, where nothing of ours is taken.
    #[error(
        "{at} sent the request on to {to}, which was not followed; give the address \
         of the server itself"
    )]
    Redirect {
        /// Which it is.
        at: Named,
        /// Where it wanted us to go.
        to: String,
    },
    /// It did not answer in time.
    #[error("{at} is not reachable (timeout)")]
    Timeout {
        /// Which it is.
        at: Named,
    },
    /// There is no way to it.
    #[error("{at} is not reachable: {reason}")]
    Unreachable {
        /// Which it is.
        at: Named,
        /// What the system said.
        reason: String,
        /// Whether nobody listens there.
        refused: Refused,
    },
    /// It answered with something that is no answer.
    #[error(
        "{at} answered with something that is not Jupyter's ({what}); is the address \
         that of a gateway or server?"
    )]
    Nonsense {
        /// Which it is.
        at: Named,
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
        "{at} has no kernel named {name:?}; it has: {}", .names.join(", ")
    )]
    NoSuchKernel {
        /// Which it is.
        at: Named,
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

impl GatewayError {
    /// The interpreter lacks the packages that a gateway needs.
    pub fn not_installed() -> GatewayError {
        let reason = "kernel_gateway (jupyter-kernel-gateway) or ipykernel not installed. Run: python -m pip install \
                      jupyter_kernel_gateway ipykernel";
        GatewayError::Shared { reason: reason.to_owned() }
    }
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

/// A gateway as sentences begin with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// Whose it is.
    pub whose: Whose,
    /// Where it is, without anything secret.
    pub url: String,
}

impl Named {
    fn how_to_open(&self) -> &'static str {
        match self.whose {
            Whose::External => "Set PI_PYTHON_GATEWAY_TOKEN.",
            Whose::Shared => {
                "Something else may have taken its place; end it with inkcell gateway stop."
            }
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = match self.whose {
            Whose::External => "External",
            Whose::Shared => "Shared Python",
        };
        write!(f, "{whose} gateway at {}", self.url)
    }
}

/// Whether a gateway that lets nobody in was told a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenSent {
    /// It was, and did not take it.
    Yes,
    /// None is known.
    No,
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
