//! A running host, in the state that earlier commands have left.
//!
//! Owns it from its start to its end, even if a measurement fails. Must not know what is measured.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde_json::Value;

use crate::bench::arena::Arena;
use crate::child;

/// The time limit of a wait, and the interval between two checks.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(5);

/// The folder of its socket, inside the arena, so that commands find no other host.
pub(super) const RUNTIME: &str = "run";

pub(super) struct Warm<'a> {
    arena: &'a Arena,
    pid: Option<Pid>,
}

impl<'a> Warm<'a> {
    pub(super) fn start(arena: &'a Arena) -> Result<Warm<'a>> {
        std::fs::create_dir_all(arena.root.join(RUNTIME))?;
        // Make this first, so that a host that fails while starting is ended too.
        let mut warm = Warm { arena, pid: None };
        child::capture(warm.command(&arena.root).args(["host", "start"]))?;
        let pid = warm.status()?["pid"].as_i64().context("a host has a process")?;
        warm.pid = Some(Pid::from_raw(i32::try_from(pid)?));
        Ok(warm)
    }

    /// Prepares an inkcell command in the environment of measured ones.
    pub(super) fn command(&self, dir: &Path) -> Command {
        self.arena.command(&self.arena.inkcell, dir)
    }

    /// Starts the Python session of a folder, and checks that commands there find it.
    pub(super) fn open_session(&self, dir: &Path) -> Result<()> {
        child::capture(self.command(dir).args(["py", "warm = 6 * 7"]))?;
        let said = child::capture(self.command(dir).args(["py", "warm"]))?;
        if said.trim() != "42" {
            bail!("commands do not share a session: {said:?}");
        }
        Ok(())
    }

    /// Path of the socket on which the host listens.
    pub(super) fn socket(&self) -> Result<PathBuf> {
        let folder = self.arena.root.join(RUNTIME).join("inkcell");
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut sockets = entries.map(|entry| entry.path().join("main.sock"));
        let found = sockets.find(|socket| socket.exists());
        found.context("no host listens there; the path of the workspace may be too long for one")
    }

    /// Waits until the host has this many clients.
    pub(super) fn until_clients(&self, wanted: u64) -> Result<()> {
        until("the clients of the host are not those there should be", || {
            Ok(self.status()?["clients"].as_u64() == Some(wanted))
        })
    }

    fn status(&self) -> Result<Value> {
        let mut command = self.command(&self.arena.root);
        let said = child::capture(command.args(["host", "status", "--json"]))?;
        let mut value: Value = serde_json::from_str(&said).context("the status is no JSON")?;
        Ok(value["hosts"][0].take())
    }
}

impl Drop for Warm<'_> {
    fn drop(&mut self) {
        let ended = child::capture(self.command(&self.arena.root).args(["host", "stop"]));
        if let Err(failure) = ended {
            println!("WARNING: the host could not be ended: {failure:#}");
        }
        // The folder can only be removed after the host has stopped writing to it.
        let gone = |pid| until("the host is still there", || Ok(kill(pid, None).is_err()));
        if let Some(Err(failure)) = self.pid.map(gone) {
            println!("WARNING: {failure:#}");
        }
    }
}

/// Waits until a condition holds; `wrong` is the message if it does not in time.
pub(super) fn until(wrong: &str, mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    let begin = Instant::now();
    while !is_so()? {
        if begin.elapsed() > PATIENCE {
            bail!("{wrong}");
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}
