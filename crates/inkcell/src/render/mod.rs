//! Answers as lines for people and as JSON for programs, side by side.

pub(crate) mod diff;
pub(crate) mod hint;
pub(crate) mod outline;
pub(crate) mod reading;
pub(crate) mod report;
