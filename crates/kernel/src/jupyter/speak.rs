//! Whoever can send requests to a kernel, by whatever way.
//!
//! Owns nothing but the word for it, so that what is asked need not know the way.

use serde_json::Value;

use crate::jupyter::fold::Channel;

pub(crate) trait Speak {
    /// Sends a request; gives its name.
    fn request(&self, channel: Channel, kind: &str, content: &Value) -> String;
}
