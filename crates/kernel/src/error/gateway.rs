//! Errors of a gateway, in words for the person who has to fix them.
//!
//! Owns the sentences. No sentence holds a token: the addresses in them never do.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a gateway did not fulfil a request.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GatewayError {
    /// The gateway requires authentication.
    #[error("{at} requires authentication. {}", .at.how_to_open())]
    Authentication {
        /// The gateway, as sentences begin with it.
        at: GatewayName,
        /// Whether the request carried a token, which the gateway then refused.
        token: TokenSent,
    },
    /// The gateway knows the user, and does not allow the request.
    #[error(
        "{at} does not allow this: {said}; to use another account, set PI_PYTHON_GATEWAY_TOKEN to \
         its token"
    )]
    Forbidden {
        /// The gateway, as sentences begin with it.
        at: GatewayName,
        /// The text of its answer.
        said: String,
    },
    /// The gateway answered with an unexpected status.
    #[error("{at} returned status {status}{}", after_colon(.said))]
    Status {
        /// The gateway, as sentences begin with it.
        at: GatewayName,
        /// The HTTP status of its answer.
        status: u16,
        /// The text of its answer.
        said: String,
    },
    /// The gateway redirected a request to another address, which inkcell does not follow.
    #[error(
        "{at} sent the request on to {to}, which was not followed; give the address \
         of the server itself"
    )]
    Redirect {
        /// The gateway, as sentences begin with it.
        at: GatewayName,
        /// The address in the redirect.
        to: String,
    },
    /// The gateway did not answer in time.
    #[error("{at} is not reachable (timeout)")]
    Timeout {
        /// The gateway, as sentences begin with it.
        at: GatewayName,
    },
    /// No connection to the gateway could be made.
    #[error("{at} is not reachable: {reason}")]
    Unreachable {
        /// The gateway, as sentences begin with it.
        at: GatewayName,
        /// The error of the system.
        reason: String,
        /// Whether the machine refused the connection, so no gateway listens there.
        refused: RefusalCause,
    },
    /// The gateway answered with something other than Jupyter's protocol.
    #[error(
        "{at} does not answer like a Jupyter server ({what}); check that the address \
         is a gateway's or a server's"
    )]
    Nonsense {
        /// The gateway, as sentences begin with it.
        at: GatewayName,
        /// A description of the answer.
        what: String,
    },
    /// The gateway did not make a kernel.
    #[error("Failed to create kernel on {} gateway: {said}", .whose.name())]
    Create {
        /// The owner of the gateway.
        whose: Whose,
        /// The HTTP status of its answer.
        status: u16,
        /// The text of its answer.
        said: String,
    },
    /// The gateway did not report whether it made a kernel, so inkcell does not ask again.
    #[error(
        "{problem} (it may have started a kernel that inkcell does not know; check which kernels run there)"
    )]
    PerhapsMade {
        /// The error of the request.
        problem: String,
    },
    /// The gateway has no kernel of that name.
    #[error(
        "{at} has no kernel named {name:?}; it has: {}", .names.join(", ")
    )]
    NoSuchKernel {
        /// The gateway, as sentences begin with it.
        at: GatewayName,
        /// The name that the caller asked for.
        name: String,
        /// The names that the gateway has.
        names: Vec<String>,
    },
    /// The websocket of a kernel did not open in time.
    #[error("WebSocket connection timeout")]
    SocketTimeout,
    /// The websocket of a kernel closed before it was open.
    #[error("WebSocket closed before connection: {reason}")]
    Socket {
        /// The error, or the reason in the close frame.
        reason: String,
    },
    /// The shared gateway of this machine is unavailable.
    #[error("Shared Python gateway unavailable: {reason}")]
    Shared {
        /// The cause, as a sentence for the user.
        reason: String,
    },
    /// The shared gateway is unavailable, and starting it again failed too.
    #[error("Shared Python gateway unavailable after retry: {reason}")]
    SharedAgain {
        /// The cause of the second failure.
        reason: String,
    },
}

impl GatewayError {
    /// The interpreter lacks packages that a gateway needs.
    pub fn not_installed() -> GatewayError {
        let reason = "kernel_gateway (jupyter-kernel-gateway) or ipykernel not installed. Run: python -m pip install \
                      jupyter_kernel_gateway ipykernel";
        GatewayError::Shared { reason: reason.to_owned() }
    }
}

/// The cause of a failed connection, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RefusalCause {
    /// The machine refused it: nothing listens there.
    Yes,
    /// The error does not tell.
    Unknown,
}

/// The owner of a gateway.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    /// The shared gateway of this machine.
    Shared,
    /// A gateway that inkcell did not start.
    External,
}

/// A gateway, displayed as sentences begin with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GatewayName {
    /// The owner, which decides the words and the advice.
    pub whose: Whose,
    /// The address, without anything secret.
    pub url: String,
}

impl GatewayName {
    fn how_to_open(&self) -> &'static str {
        match self.whose {
            Whose::External => "Set PI_PYTHON_GATEWAY_TOKEN.",
            Whose::Shared => {
                "Something else may have taken its place; a user can end it with `inkcell gateway stop`."
            }
        }
    }
}

impl fmt::Display for GatewayName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = match self.whose {
            Whose::External => "External",
            Whose::Shared => "Shared Python",
        };
        write!(f, "{whose} gateway at {}", self.url)
    }
}

/// Whether a request that the gateway refused carried a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenSent {
    /// The request carried a token, and the gateway refused it.
    Yes,
    /// No token is known.
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
