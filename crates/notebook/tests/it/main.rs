//! Tests of the notebook crate from outside: its laws, and comparisons with Python, nbformat and papermill.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod batch;
mod exporting;
mod laws;
mod layout;
mod nbformat;
mod papermill;
mod python_json;
mod reading;
