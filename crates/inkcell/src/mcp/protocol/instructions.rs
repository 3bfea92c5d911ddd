//! The instructions: the text that a model gets about this server before its first call.

use super::offer::filled;
use crate::mcp::exposure::Exposure;

pub(super) const TEXT: &str = include_str!("instructions.md");

/// The instructions, about the tools on offer.
pub(super) fn of(exposure: &Exposure) -> String {
    filled(TEXT, exposure)
}
