//! What is known of a call and its cells, folded from reports and events.
//!
//! Owns the folds that views share. It must not know how anything is drawn.

pub(in crate::view) mod cell;
pub(in crate::view) mod lines;
pub(in crate::view) mod live_output;
