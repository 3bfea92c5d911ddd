//! A host that says nothing: how long to wait for it, and what to report.
//!
//! Owns those times. A host that runs gets time, because machines are busy. One that is stopped gets almost none,
//! because only the user can resume it.

use std::time::{Duration, Instant};

use inkcell_engine::Kind;
use serde_json::{Value, json};

use super::place::{HostAddress, HostKind};
use crate::exit::Failure;
use crate::words;

/// How long a host may take to answer, and a stopped one to resume.
const PATIENCE: Duration = Duration::from_secs(10);
const STOPPED_PATIENCE: Duration = Duration::from_millis(500);

/// The time between two checks.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// The wait for a host that should answer now.
pub(crate) struct Silence<'a> {
    found: &'a HostAddress,
    began: Instant,
    stopped: Option<Instant>,
}

impl<'a> Silence<'a> {
    /// Begins to wait for a host.
    pub(crate) fn of(found: &'a HostAddress) -> Silence<'a> {
        let began = Instant::now();
        Silence { found, began, stopped: found.is_stopped().then_some(began) }
    }

    /// Returns whether the wait was long enough.
    pub(crate) fn is_over(&mut self) -> bool {
        let now = Instant::now();
        self.stopped = self.found.is_stopped().then(|| self.stopped.unwrap_or(now));
        let is_over = |since: Instant, limit| now.saturating_duration_since(since) >= limit;
        is_over(self.began, PATIENCE)
            || self.stopped.is_some_and(|since| is_over(since, STOPPED_PATIENCE))
    }
}

/// A host that exists and does not answer.
pub(crate) struct Silent {
    pub(crate) kind: HostKind,
    pub(crate) pid: Option<u32>,
    pub(crate) is_stopped: bool,
}

impl Silent {
    pub(crate) fn of(found: &HostAddress) -> Silent {
        Silent { kind: found.kind, pid: found.pid(), is_stopped: found.is_stopped() }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({"host": self.kind.name(), "pid": self.pid, "stopped": self.is_stopped})
    }

    /// A sentence that names the host and says how to resume it.
    pub(crate) fn describe(&self) -> String {
        let what = self.kind.described();
        let process = self.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
        match (self.is_stopped, self.pid) {
            (true, Some(pid)) => words::host::is_stopped(&format!("{what}{process}"), pid),
            _ => words::host::does_not_answer(&format!("{what}{process}")),
        }
    }

    /// The same sentence, as the failure of a command that needs the host.
    pub(crate) fn failure(&self) -> Failure {
        let hint = match self.kind {
            HostKind::Shared => words::host::END_BY_FORCE,
            HostKind::Agent => words::host::LIST_OTHERS,
        };
        Failure::new(Kind::Unavailable, self.describe(), Some(hint.to_owned()))
    }
}
