//! The parts of long output that a reader gets: its beginning, its end, and the place of the rest.

pub(super) mod shelf;
pub(super) mod spill;
pub(super) mod stage;
pub(super) mod text;
pub(super) mod window;
