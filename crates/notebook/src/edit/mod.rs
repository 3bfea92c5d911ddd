//! Changes a document: operations, their effect on a cell's bytes, and a report.
//!
//! [`Notebook::apply`](crate::Notebook::apply) is the only way in: all operations of a batch happen, or none.
//!
//! ```
//! use inkcell_notebook::{CellKind, CellPlace, CellRef, EditOp, IdSource, NbOutput, Notebook};
//!
//! let mut notebook = Notebook::empty();
//! let mut ids = IdSource::seeded(7);
//! let source = "print(1)".to_owned();
//! let insert = EditOp::Insert { at: CellPlace::End, kind: CellKind::Code, source };
//! let report = notebook.apply(&[insert], &mut ids)?;
//! assert_eq!(report.changes[0].index, Some(0));
//! assert!(report.changes[0].id.is_some(), "nbformat 4.5 gives cells ids");
//!
//! let output = r#"{"output_type": "stream", "name": "stdout", "text": "1\n"}"#;
//! let store = EditOp::SetOutputs {
//!     cell: CellRef::Index(0),
//!     count: Some(1),
//!     outputs: vec![NbOutput::from_json(output)?],
//! };
//! notebook.apply(&[store], &mut ids)?;
//! let cell = notebook.cell(0).expect("it was inserted");
//! assert_eq!(cell.execution_count(), Some(1));
//! assert_eq!(cell.outputs()[0].text().as_deref(), Some("1\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod metadata;
mod operation;
mod order;
mod patch;
mod rename;
mod report;
mod substitute;

pub use operation::{CellPlace, EditOp, MetaChange, OutputsAfter};
pub use patch::SourceShape;
pub use report::{Action, CellChange, EditNote, EditReport};
pub use substitute::{Matches, substitute};

#[cfg(test)]
mod tests;
