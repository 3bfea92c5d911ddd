//! Exports a notebook as a script in the percent format, or as Markdown.
//!
//! Owns both forms. They are for reading and for running elsewhere; only virtual text can be written
//! back.
//!
//! ```
//! use inkcell_notebook::{Notebook, Outputs, to_markdown, to_script};
//!
//! let file = br##"{"cells": [{"cell_type": "code", "execution_count": null, "metadata": {},
//!   "outputs": [], "source": "x = 1"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"##;
//! let notebook = Notebook::parse(file.to_vec())?;
//! assert_eq!(to_script(&notebook), "# %%\nx = 1\n");
//! assert_eq!(to_markdown(&notebook, Outputs::None), "```python\nx = 1\n```\n");
//! # Ok::<(), inkcell_notebook::NotebookError>(())
//! ```

mod markdown;
mod script;

pub use markdown::{Outputs, to_markdown};
pub use script::to_script;
