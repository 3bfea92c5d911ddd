//! A host that says nothing: how long it is waited for, and what is told of it.
//!
//! Owns those times. A host that works has time, as machines are busy; one whose process is stopped has next to none, since
//! nobody but the user can let it go on.

use std::time::{Duration, Instant};

use inkcell_engine::Kind;

use super::place::{Found, HostKind};
use crate::exit::{Exit, Failure};

/// How long a host may take to say what it knows, and one that is stopped to go on.
const PATIENCE: Duration = Duration::from_secs(10);
const STOPPED_PATIENCE: Duration = Duration::from_millis(500);

/// How long is waited between two looks.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// The wait for a host that is to say something now.
pub(crate) struct Silence<'a> {
    found: &'a Found,
    began: Instant,
    stopped: Option<Instant>,
}

impl<'a> Silence<'a> {
    /// Waits from now on.
    pub(crate) fn of(found: &'a Found) -> Silence<'a> {
        let began = Instant::now();
        Silence { found, began, stopped: found.is_stopped().then_some(began) }
    }

    /// Whether it was waited for long enough.
    pub(crate) fn is_over(&mut self) -> bool {
        let now = Instant::now();
        self.stopped = self.found.is_stopped().then(|| self.stopped.unwrap_or(now));
        let is_over = |since: Instant, limit| now.saturating_duration_since(since) >= limit;
        is_over(self.began, PATIENCE)
            || self.stopped.is_some_and(|since| is_over(since, STOPPED_PATIENCE))
    }
}

/// A host that is there and does not answer.
pub(crate) struct Silent {
    pub(crate) kind: HostKind,
    pub(crate) pid: Option<u32>,
    pub(crate) is_stopped: bool,
}

impl Silent {
    pub(crate) fn of(found: &Found) -> Silent {
        Silent { kind: found.kind, pid: found.pid(), is_stopped: found.is_stopped() }
    }

    /// Which it is, and what can be done.
    pub(crate) fn told(&self) -> String {
        let what = self.kind.described();
        let process = self.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
        match (self.is_stopped, self.pid) {
            (true, Some(pid)) => {
                format!(
                    "{what}{process} is stopped and does not answer; kill -CONT {pid} lets it go on"
                )
            }
            _ => format!("{what}{process} does not answer"),
        }
    }

    /// The same as the end of a command that needs it.
    pub(crate) fn failure(&self) -> Failure {
        let hint = match self.kind {
            HostKind::Shared => {
                "inkcell host stop --force ends it, with its sessions, and the next command starts another one; with \
                 --no-host py, repl and tui do without one, and so does run without --keep"
            }
            HostKind::Agent => "inkcell sessions lists the sessions of the others",
        };
        Failure::Told {
            exit: Exit::Unavailable,
            kind: Kind::Unavailable,
            message: self.told(),
            hint: Some(hint.to_owned()),
        }
    }
}
