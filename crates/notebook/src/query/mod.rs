//! Queries on notebooks: outlines, matching lines, differences.
//!
//! Owns the answers as values. It changes nothing and must not know how an answer is printed.
//!
//! ```
//! use inkcell_notebook::{
//!     CellDiff, CellKind, CellPlace, Compare, EditOp, IdSource, Notebook, SearchIn, diff,
//! };
//!
//! let old = Notebook::empty();
//! let mut new = old.clone();
//! let source = "x = 1\nprint(x)".to_owned();
//! let op = EditOp::Insert { at: CellPlace::Start, kind: CellKind::Code, source };
//! new.apply(&[op], &mut IdSource::seeded(7))?;
//!
//! let differences = diff(&old, &new, Compare::All);
//! assert!(matches!(&differences[..], [CellDiff::Added { new, .. }] if new.index == 0));
//!
//! let outline: Vec<String> = new.cells().map(|cell| cell.outline().first_line).collect();
//! assert_eq!(outline, ["x = 1"]);
//!
//! let hits = new.search(&regex::Regex::new("print")?, SearchIn::Sources);
//! assert_eq!(hits[0].line, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compare;
mod diff;
mod names;
mod outline;
mod search;

pub use compare::{
    CellComparison, CellMarks, CellVerdict, ComparePictures, CompareRules, CompareScope,
    MAY_FAIL_TAG, OutputDifference, PartDifference, Pictures, RunSide, SKIP_TAG, Tolerance,
    compare, compare_outputs, has_code_to_run, is_never_run,
};
pub use diff::{CellDiff, Compare, diff, notebook_changes, pairs};
pub use names::NameUse;
pub use outline::OutlineCell;
pub use search::{Hit, SearchIn};
