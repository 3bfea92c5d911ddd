//! Jupyter notebook files that can be changed without harming anything else in them.
//!
//! Bytes in, bytes out: this crate does no input or output, knows no clock, no kernel and no file
//! names. Its promise is [`Notebook`]: what an operation does not name keeps its bytes.
//!
//! ```
//! use inkcell_notebook::{CellRef, EditOp, IdSource, Notebook, OutputsAfter, SourceShape};
//!
//! let file = br#"{"cells": [{"cell_type": "code", "execution_count": 1, "metadata": {},
//!   "outputs": [], "source": "x = 1"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"#;
//! let mut notebook = Notebook::parse(file.to_vec()).unwrap();
//! assert_eq!(notebook.to_bytes(), file);
//!
//! let op = EditOp::Replace {
//!     cell: CellRef::Index(0),
//!     source: "x = 2".to_owned(),
//!     kind: None,
//!     outputs: OutputsAfter::ClearIfChanged,
//!     shape: SourceShape::Keep,
//! };
//! notebook.apply(&[op], &mut IdSource::seeded(1)).unwrap();
//! let expected = std::str::from_utf8(file).unwrap();
//! let expected = expected.replace("x = 1", "x = 2").replace("count\": 1", "count\": null");
//! assert_eq!(notebook.to_bytes(), expected.as_bytes());
//! ```

mod batch;
mod by_id;
mod by_index;
mod cell;
mod compare;
mod diagnose;
mod diff;
mod document;
mod edit;
mod error;
mod export;
mod fields;
mod json;
mod legacy;
mod metadata;
mod names;
mod order;
mod outline;
mod output;
mod parameters;
mod search;
mod select;
mod style;
mod text;
mod validate;
mod view;

pub use by_id::{IdEdit, IdEditReply, IdMode};
pub use by_index::{IndexAction, IndexEdit, IndexEditDetails, IndexEditError};
pub use cell::{CellId, CellKind, CellRef, IdSource, unique_ids};
pub use compare::{
    CellMarks, CellVerdict, CheckedCells, ComparePictures, CompareRules, ComparedCell, Difference,
    MAY_FAIL_TAG, OutputDifference, Pictures, SKIP_TAG, Side, Tolerance, compare, has_code_to_run,
    is_never_run,
};
pub use diagnose::Oddity;
pub use diff::{CellDiff, Compare, diff, notebook_changes, pairs};
pub use document::{Chunk, FormatVersion, Notebook};
pub use edit::{
    Action, CellChange, EditOp, EditReport, Matches, MetaChange, Note, OutputsAfter, Place,
};
pub use error::{
    Candidate, EditError, NotebookError, OpError, ReadOnly, RefError, SubError, TextError,
};
pub use export::{Outputs, to_markdown, to_script};
pub use fields::SourceShape;
pub use json::SyntaxError;
pub use names::CellNames;
pub use outline::{Hit, OutlineCell, SearchIn, first_line};
pub use output::{NbOutput, OutputDigest, OutputError, OutputView};
pub use parameters::{
    Injected, InjectedWay, NoParameters, Parameter, ParameterError, ParameterLanguage,
    ParameterValue, Parameters, WholeNumber, parameters_cell,
};
pub use search::{nearest, substitute};
pub use select::{Form, LineRange, PageLimits, Selector, SelectorError, page, split_selector};
pub use text::{
    Drop, MarkerIds, TextBase, TextCell, TextRules, is_same_text, lower_text, parse_text,
    substitute_between_markers, visible_char, visible_controls,
};
pub use view::{CellView, Source};
