//! A notebook in the terminal, with a pure core: input changes state, and state gives a frame.
//!
//! `model` holds the state of the screen. `update` applies an input to it and returns effects; `change`, `editing` and
//! `running` have the parts about cells, their text and their runs. `draw` renders a frame. `program` takes inputs from
//! the terminal, the file and the session, and performs the effects.

mod backend;
mod cell_rows;
mod change;
mod clipboard;
mod cursor;
mod document;
mod draw;
mod editing;
mod editor;
mod keys;
mod look;
mod marks;
mod model;
mod outside;
mod pages;
mod program;
mod running;
mod screen;
mod search;
mod session;
mod text_buffer;
mod update;

pub(crate) use program::run;
pub(crate) use session::Opening;

#[cfg(test)]
mod tests;
