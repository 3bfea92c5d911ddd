//! A notebook in the terminal: what is to be seen and what keys do is pure, and everything else is around it.
//!
//! `model` holds what is on the screen, `update` says what an input does to it and what is to be done besides,
//! `draw` makes a frame of it. `program` takes inputs from the terminal, the file and the session, and does what is
//! to be done.

mod backend;
mod cursor;
mod document;
mod draw;
mod editor;
mod keys;
mod model;
mod outside;
mod pages;
mod program;
mod screen;
mod search;
mod session;
mod shown;
mod text_buffer;
mod update;

pub(crate) use program::run;
pub(crate) use session::Opening;

#[cfg(test)]
mod tests;
