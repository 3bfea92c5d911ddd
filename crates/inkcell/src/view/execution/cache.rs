//! A cache of rows, for one width and one expansion (B:T-04).
//!
//! Owns the decision to render again. It must not know the content of the rows.

use super::Area;
use crate::view::paint::Line;

/// The rows of the last rendering.
#[derive(Default)]
pub(in crate::view) struct Cache {
    made: Option<(Area, u64)>,
    rows: Vec<Line>,
    renders: u64,
}

impl Cache {
    /// Returns the rows for this area and this revision of their content.
    pub(in crate::view) fn rows(
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

    /// Counts renderings. Tests use it to show that an unchanged cell is not rendered again.
    #[cfg(test)]
    pub(in crate::view) fn renders(&self) -> u64 {
        self.renders
    }
}
