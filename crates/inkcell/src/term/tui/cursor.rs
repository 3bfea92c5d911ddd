//! The position of the screen in the notebook: addresses of rows, and steps between them.
//!
//! Owns scrolling. Only cells within a step are rendered, so that a long notebook costs no more than its visible
//! part.

use super::model::{Model, Top};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    Up,
    Down,
}

impl Model {
    /// The address `rows` rows further up, or the first one.
    pub(super) fn back(&mut self, from: Top, rows: usize, width: usize) -> Top {
        let (mut at, mut left) = (from, rows);
        while left > at.row {
            if at.cell == 0 {
                return Top::default();
            }
            left -= at.row + 1;
            at.cell -= 1;
            at.row = self.height(at.cell, width).saturating_sub(1);
        }
        Top { row: at.row - left, ..at }
    }

    /// The address `rows` rows further down, or the last one.
    pub(super) fn forward(&mut self, from: Top, rows: usize, width: usize) -> Top {
        let (mut at, mut left) = (from, rows);
        loop {
            let height = self.height(at.cell, width);
            if at.row + left < height {
                return Top { row: at.row + left, ..at };
            }
            if at.cell + 1 >= self.cells.len() {
                return Top { row: height.saturating_sub(1), ..at };
            }
            left -= height.saturating_sub(at.row).max(1).min(left);
            at = Top { cell: at.cell + 1, row: 0 };
        }
    }

    /// Scrolls so that these rows of a cell are visible, or as many of them as fit.
    pub(super) fn bring(&mut self, cell: usize, rows: (usize, usize), width: usize) {
        let body = self.body_rows.max(1);
        let first = Top { cell, row: rows.0 };
        let last = Top { cell, row: rows.1.min(rows.0 + body - 1).max(rows.0) };
        if first < self.top {
            self.top = first;
            return;
        }
        let highest = self.back(last, body - 1, width);
        self.top = self.top.max(highest);
    }

    /// Scrolls up if cells above grew or cells below went, so that the screen does not end in empty rows.
    pub(super) fn fill(&mut self, width: usize) {
        let Some(last) = self.cells.len().checked_sub(1) else { return };
        let below = self.body_rows.max(1) - 1;
        let end = self.forward(self.top, below, width);
        if end.cell == last && end.row + 1 >= self.height(last, width) {
            self.top = self.back(end, below, width).min(self.top);
        }
    }

    /// Scrolls up or down, but not beyond the end.
    pub(super) fn scroll(&mut self, to: Direction, rows: usize, width: usize) {
        let Some(last) = self.cells.len().checked_sub(1) else { return };
        if to == Direction::Up {
            self.top = self.back(self.top, rows, width);
            return;
        }
        let top = self.forward(self.top, rows, width);
        let below = self.body_rows.max(1) - 1;
        let end = self.forward(top, below, width);
        let is_at_end = end.cell == last && end.row + 1 >= self.height(last, width);
        self.top = if is_at_end { self.back(end, below, width).max(self.top) } else { top };
    }
}
