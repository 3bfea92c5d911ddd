//! The real executable, run as its users run it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod artifacts;
mod attach_terminal;
mod backends;
mod batches;
mod bridge;
mod cleaning;
mod client;
mod comfort;
mod comparing;
mod crash;
mod differential;
mod doctor;
mod editing;
mod env;
mod exits;
mod exporting;
mod gateways;
mod guards;
mod help;
mod hints;
mod host_doors;
mod host_faults;
mod host_life;
mod hosts;
mod http_client;
mod http_clients;
mod http_guard;
mod http_life;
mod jupyter_kernels;
mod logging;
mod loud_calls;
mod mcp_agent;
mod mcp_end;
mod mcp_folders;
mod mcp_hostile;
mod mcp_life;
mod mcp_official;
mod mcp_pictures;
mod mcp_stale;
mod measured;
mod no_room;
mod notebook_runs;
mod pages;
mod parameters;
mod paths;
mod peer_lines;
mod power_cut;
mod py_terminal;
mod python;
mod python_edges;
mod python_signals;
mod reading;
mod reaping;
mod recipes;
mod repl;
mod run_crash;
mod run_screens;
mod run_told;
mod running;
mod samples;
mod saving;
mod served_notebooks;
mod settings;
mod setup;
mod sizes;
mod stale_cells;
mod starting;
mod tool;
mod trace;
mod tui;
mod tui_beside;
mod two_writers;
mod uvx;
mod variables;
mod verify;
mod writing;

use inkcell_testkit::env::TestEnv;

/// A private environment with the executable of this build.
fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_inkcell"))
}
