//! Rows that are made once for a width and a state of expansion (B:T-04).
//!
//! Owns when rows are made again. It must not know what they show.

use super::Area;
use super::frame::Line;

/// The rows made last.
#[derive(Default)]
pub(in crate::render) struct Cache {
    made: Option<(Area, u64)>,
    rows: Vec<Line>,
    renders: u64,
}

impl Cache {
    /// The rows for this area and this revision of what they show.
    pub(in crate::render) fn rows(
        &mut self,
        area: Area,
        revision: u64,
        make: impl FnOnce() -> Vec<Line>,
    ) -> &[Line] {
        if self.made != Some((area, revision)) {
            self.rows = make();
            self.made = Some((area, revision));
            self.renders += 1;
        }
        &self.rows
    }

    /// How often rows were made.
    #[cfg(test)]
    pub(in crate::render) fn renders(&self) -> u64 {
        self.renders
    }
}
