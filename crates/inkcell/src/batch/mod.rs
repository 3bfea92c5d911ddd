//! Many notebooks as one piece of work: the rows, the order in which they begin, the final report.
//!
//! Owns every decision about a batch. It is pure: paths, values and ends come in, rows, orders and texts go out. It
//! must not know files, kernels, terminals or a clock.

mod junit;
mod matrix;
mod plan;
mod record;
mod report;
mod schedule;
mod template;
mod width;

pub(crate) use junit::{escaped, junit, seconds};
pub(crate) use matrix::{Matrix, is_axis};
pub(crate) use plan::{Naming, Row, Shared, rows, shared};
pub(crate) use record::{Past, Record, RowKey, source};
pub(crate) use report::{BatchReport, Fate, Note, RowReport, StopReason, Tone, Trouble, Try};
pub(crate) use schedule::{Again, OnFailure, Retries, RowEnd, RowId, Schedule, Task};
pub(crate) use template::{Template, TemplateError};
pub(crate) use width::{Machine, Parallelism, Width};
