//! The real executable, run as its users run it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod crash;
mod power_cut;
mod trace;

use inkcell_testkit::env::TestEnv;

/// A private environment with the executable of this build.
fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_inkcell"))
}
