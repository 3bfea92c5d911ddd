//! A notebook at a terminal until it is seen, beside reading it.
//!
//! Owns the terminal and the clock of one sample. Must not know what figures are compared with.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Result, bail};
use inkcell_testkit::pty::{Pty, Size};

use crate::bench::sample::StopWatch;

/// What is in the last row of every whole frame.
const LAST_ROW: &str = "? keys";

/// How long a command takes, with nobody who reads what it says.
pub(super) fn of_command(watch: &StopWatch, command: &[OsString], dir: &Path) -> Result<f64> {
    let Some((program, args)) = command.split_first() else { bail!("a command has a program") };
    let mut command = watch.command(program, dir);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begin = Instant::now();
    let status = command.status()?;
    let took = begin.elapsed();
    if !status.success() {
        bail!("{status}");
    }
    Ok(took.as_secs_f64() * 1e3)
}

/// How long it takes from before the start of a program at a terminal until its first whole frame is there. The program
/// is ended then, which does not count.
pub(super) fn of_terminal(watch: &StopWatch, command: &[OsString], dir: &Path) -> Result<f64> {
    let Some((program, args)) = command.split_first() else { bail!("a command has a program") };
    let mut command = watch.command(program, dir);
    command.args(args);
    let begin = Instant::now();
    let mut pty = Pty::start(command, Size { rows: 50, columns: 120 });
    pty.wait_for(LAST_ROW);
    let took = begin.elapsed();
    pty.send("q");
    let status = pty.end();
    if !status.success() {
        bail!("{status}");
    }
    Ok(took.as_secs_f64() * 1e3)
}
