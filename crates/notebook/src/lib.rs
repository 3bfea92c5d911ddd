//! Edits Jupyter notebook files and leaves everything else in them untouched.
//!
//! Bytes in, bytes out: this crate does no input or output and knows nothing of clocks, kernels or
//! file names. Its promise is [`Notebook`]: what an operation does not name keeps its bytes.
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
//!
//! Each module shows its task with an example:
//!
//! | to | see |
//! | --- | --- |
//! | open a file, list its cells, read outputs | [`document`] |
//! | insert, replace, move and delete cells, store outputs | [`edit`] |
//! | show a notebook as one text and take the text back | [`text`] |
//! | outline, search and compare notebooks | [`query`] |
//! | make a script or Markdown | [`export`] |
//! | read and set parameters | [`parameters`] |
//!
//! The crate root re-exports the items of all modules.

mod cell;
pub mod document;
pub mod edit;
mod error;
pub mod export;
mod json;
mod marker;
mod matching;
pub mod parameters;
mod python;
pub mod query;
pub mod text;

pub use cell::{CellId, CellKind, CellRef, IdSource};
pub use document::{
    CellNames, CellView, Chunk, FormatVersion, NbOutput, Notebook, OutputDigest, OutputError,
    OutputView, Source, first_line,
};
pub use edit::{
    Action, CellChange, CellPlace, EditNote, EditOp, EditReport, Matches, MetaChange, OutputsAfter,
    SourceShape, substitute,
};
pub use error::{
    CellCandidate, EditError, NotebookError, Oddity, OpError, ReadOnly, RefError, RenameError,
    SubError, TextError,
};
pub use export::{Outputs, to_markdown, to_script};
pub use json::{
    JsonFault, JsonKind, JsonLimits, JsonRole, JsonScanner, JsonToken, JsonTokens, SyntaxError,
    json_tokens,
};
pub use matching::{Alignment, align, nearest, nearest_few, unique_ids};
pub use parameters::{
    Injection, InjectionWay, NoParameters, Parameter, ParameterError, ParameterLanguage,
    ParameterValue, Parameters, WholeNumber, parameters_cell,
};
pub use python::{PythonToken, PythonTokenKind, StringEnd, python_tokens};
pub use query::{
    CellComparison, CellDiff, CellMarks, CellVerdict, Compare, ComparePictures, CompareRules,
    CompareScope, Hit, MAY_FAIL_TAG, NameUse, OutlineCell, OutputDifference, PartDifference,
    Pictures, RunSide, SKIP_TAG, SearchIn, Tolerance, compare, compare_outputs, diff,
    has_code_to_run, is_never_run, notebook_changes, pairs,
};
pub use text::{
    DropRule, Form, LineRange, MarkerIds, PageLimits, Selector, SelectorError, TextBase, TextCell,
    TextRules, is_same_text, lower_text, page, parse_text, split_selector,
    substitute_between_markers, visible_char, visible_controls, visible_line,
};
