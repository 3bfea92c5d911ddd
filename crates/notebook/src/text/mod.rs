//! Virtual text: a notebook as one text of marked cells, and the way back from text to operations.
//!
//! Also serves readers of any text: line selectors, pages, visible control characters.
//!
//! ```
//! use inkcell_notebook::{
//!     DropRule, IdSource, MarkerIds, Notebook, OutputsAfter, SourceShape, TextRules,
//! };
//!
//! let mut notebook = Notebook::empty();
//! let rules = TextRules {
//!     drop: DropRule::Exactly(0),
//!     outputs: OutputsAfter::ClearIfChanged,
//!     shape: SourceShape::Keep,
//! };
//! let text = "# %% [markdown]\n# Title\n# %% [code]\nx = 1";
//! notebook.apply_text(text, rules, &mut IdSource::seeded(7))?;
//!
//! let text = notebook.to_text(MarkerIds::Off)?;
//! assert_eq!(text, "# %% [markdown] cell:0\n# Title\n# %% [code] cell:1\nx = 1");
//! # Ok::<(), inkcell_notebook::TextError>(())
//! ```

mod controls;
mod lower;
mod parse;
mod select;
mod substitute;
mod write;

pub use controls::{visible_char, visible_controls, visible_line};
pub use lower::{DropRule, TextBase, TextRules, is_same_text, lower_text};
pub use parse::{TextCell, parse_text};
pub use select::{Form, LineRange, PageLimits, Selector, SelectorError, page, split_selector};
pub use substitute::substitute_between_markers;
pub use write::MarkerIds;

#[cfg(test)]
mod tests;
