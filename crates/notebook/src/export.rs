//! A notebook as a script in the percent format, or as Markdown.
//!
//! Owns both forms. They are for reading and running elsewhere; the form that can be written back is
//! the virtual text.

mod markdown;
mod python;
mod script;

pub use markdown::{Outputs, to_markdown};
pub use script::to_script;

pub(crate) use python::{
    Kind as PythonKind, Statement as PythonStatement, statements as python_statements,
};
