//! Faces that use a whole terminal, or a part of one, while code runs.
//!
//! Owns three of them: `screen` shows running code, `repl` is the prompt, and `tui` is a notebook.

pub(crate) mod repl;
pub(crate) mod screen;
pub(crate) mod tui;
