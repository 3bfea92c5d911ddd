//! Answers as lines for users and as JSON for programs, side by side.

pub(crate) mod answer;
pub(crate) mod batch;
pub(crate) mod blocks;
pub(crate) mod bounded_outputs;
pub(crate) mod call_json;
pub(crate) mod diff;
pub(crate) mod diff_lines;
pub(crate) mod display;
pub(crate) mod ending;
pub(crate) mod execution;
pub(crate) mod fold;
pub(crate) mod freshness;
pub(crate) mod image;
pub(crate) mod inspection;
pub(crate) mod live;
pub(crate) mod notebook_edit;
pub(crate) mod outline;
pub(crate) mod paint;
pub(crate) mod place;
pub(crate) mod reading;
pub(crate) mod reply;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod sessions;
pub(crate) mod source;
pub(crate) mod transcript;

#[cfg(test)]
pub(crate) mod tests;
