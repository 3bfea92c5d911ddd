//! The document: a notebook's bytes, its cells, and a reader for each field.
//!
//! Owns parsing and writing. It must not know how an edit is decided.
//!
//! ```
//! use inkcell_notebook::{CellKind, Notebook};
//!
//! let file = br##"{"cells": [
//!   {"cell_type": "markdown", "metadata": {}, "source": "# Title"},
//!   {"cell_type": "code", "execution_count": 1, "metadata": {}, "source": ["x = 1\n", "print(x)"],
//!    "outputs": [{"output_type": "stream", "name": "stdout", "text": "1\n"}]}
//! ], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"##;
//! let notebook = Notebook::parse(file.to_vec())?;
//!
//! let kinds: Vec<Option<CellKind>> = notebook.cells().map(|cell| cell.kind()).collect();
//! assert_eq!(kinds, [Some(CellKind::Markdown), Some(CellKind::Code)]);
//!
//! let cell = notebook.cell(1).expect("there are two");
//! assert_eq!(cell.source().text, "x = 1\nprint(x)");
//! assert_eq!(cell.outputs()[0].text().as_deref(), Some("1\n"));
//! # Ok::<(), inkcell_notebook::NotebookError>(())
//! ```

mod diagnose;
mod legacy;
mod names;
mod new_output;
mod notebook;
mod output;
mod read;
mod slot;
mod source;
mod style;
mod validate;
mod view;
mod write;

pub use names::CellNames;
pub use new_output::{NbOutput, OutputError};
pub use notebook::Notebook;
pub use output::{OutputDigest, OutputView};
pub use read::FormatVersion;
pub use source::{Source, first_line};
pub use view::CellView;
pub use write::Chunk;

pub(crate) use names::resolve_index;
pub(crate) use new_output::{Rule, expect_object, expect_text};
pub(crate) use output::read_digests;
pub(crate) use slot::{Key, Slot};
pub(crate) use source::{join_source, split_lines};
pub(crate) use style::{Container, Entry, Indent, Style, format_value};

#[cfg(test)]
mod tests;
