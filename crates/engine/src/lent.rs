//! What a caller lends to the code of one call, and takes back when the call is over.
//!
//! Owns the shape. What the variables mean, and what is held, is the caller's business.

use std::any::Any;

use tokio_util::sync::CancellationToken;

/// What the code of one call has besides its session.
#[derive(Default)]
pub struct Lent {
    /// Variables that are there in every cell of the call, and in no other call. Only those that are set anew
    /// before every cell anyway ([`inkcell_kernel::MANAGED`]) can be taken back, so only those are set.
    pub env: Vec<(String, String)>,
    /// Set when the code is made to stop, before it has. Code that ends by itself does not set it.
    pub stopping: CancellationToken,
    /// Dropped when no code of the call runs any more, before anybody hears that it is over.
    pub held: Option<Box<dyn Any + Send>>,
}

impl Lent {
    /// The value of a managed variable.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
