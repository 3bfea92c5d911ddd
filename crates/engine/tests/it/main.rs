//! Notebooks on disk, as the engine's callers see them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod artifact_faults;
mod artifact_ids;
mod artifact_limits;
mod artifact_owners;
mod artifact_python;
mod artifacts;
mod backup;
mod bad_files;
mod by_id;
mod by_index;
mod change;
mod executing;
mod faults_calls;
mod faults_descriptors;
mod faults_kernels;
mod faults_kit;
mod faults_output;
mod inspecting;
mod keep;
mod kit;
mod lending;
mod locks;
mod ops;
mod paths;
mod places;
mod python_calls;
mod registry;
mod requests;
mod roots;
mod runs;
mod sessions;
mod simulation;
mod verbs;
mod versions;
