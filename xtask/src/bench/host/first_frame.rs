//! Measures the time until a notebook is visible at a terminal, and the time to read it.
//!
//! Owns the terminal and the clock of one sample. Must not know the figures that are compared.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Result, bail};
use inkcell_testkit::pty::{Pty, Size};

use crate::bench::arena::Arena;

/// Text in the last row of every complete frame.
const LAST_ROW: &str = "? keys";

/// Times a command whose output is dropped.
pub(super) fn of_command(arena: &Arena, command: &[OsString]) -> Result<f64> {
    let Some((program, args)) = command.split_first() else { bail!("a command has a program") };
    let mut command = arena.command(program, &arena.work());
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begin = Instant::now();
    let status = command.status()?;
    let took = begin.elapsed();
    if !status.success() {
        bail!("{status}");
    }
    Ok(took.as_secs_f64() * 1e3)
}

/// Times a program at a terminal, from before its start until its first complete frame. Ending the program afterwards
/// does not count.
pub(super) fn of_terminal(arena: &Arena, command: &[OsString]) -> Result<f64> {
    let Some((program, args)) = command.split_first() else { bail!("a command has a program") };
    let mut command = arena.command(program, &arena.work());
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
