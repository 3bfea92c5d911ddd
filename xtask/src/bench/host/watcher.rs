//! A watcher of a session while code runs in it: `inkcell attach`, with its output dropped.
//!
//! Owns the process. Must not know what the code does.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::warm::{Warm, until};

/// The time without output after which the session's history counts as shown.
const QUIET: Duration = Duration::from_millis(150);

pub(super) struct Watcher {
    child: Child,
    /// Bytes that it had written when it became ready.
    before: u64,
}

impl Watcher {
    /// Attaches to the session of a folder, and returns when the session's history has been shown.
    pub(super) fn attach(warm: &Warm, dir: &Path) -> Result<Watcher> {
        let mut command = warm.command(dir);
        command.args(["attach", "--json"]).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(Stdio::null()).spawn().context("cannot attach")?;
        let mut watcher = Watcher { child, before: 0 };
        warm.until_clients(1)?;
        until("the watcher shows things although nothing happens", || {
            let shown = watcher.written()?;
            std::thread::sleep(QUIET);
            watcher.before = watcher.written()?;
            Ok(shown > 0 && shown == watcher.before)
        })?;
        Ok(watcher)
    }

    /// Ends the watcher; returns the megabytes that it has written since it was ready.
    pub(super) fn end(self) -> Result<f64> {
        Ok((self.written()? - self.before) as f64 / 1e6)
    }

    /// All bytes that the watcher has passed to the system.
    fn written(&self) -> Result<u64> {
        let path = format!("/proc/{}/io", self.child.id());
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        let value = text.lines().find_map(|line| line.strip_prefix("wchar:"));
        let value = value.and_then(|value| value.trim().parse().ok());
        value.with_context(|| format!("{path} does not say what was written"))
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
