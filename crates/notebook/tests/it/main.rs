//! The notebook crate from outside: its laws, and what Python, nbformat and papermill say to the same files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod batch;
mod exporting;
mod laws;
mod layout;
mod nbformat;
mod papermill;
mod python_json;
mod reading;
