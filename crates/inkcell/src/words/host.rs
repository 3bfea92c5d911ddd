//! Sentences about the background process that holds sessions.

use std::fmt::{Debug, Display};

pub(crate) fn unexpected_answer(answer: &dyn Debug) -> String {
    format!("the host sent an unexpected answer: {answer:?}")
}

/// The answer to a request that its caller withdrew.
pub(crate) const WITHDRAWN: &str = "the caller withdrew it";

pub(crate) const FAILED_INSIDE: &str = "internal error in the host (please report this)";

pub(crate) const OTHERS_NOT_AFFECTED: &str = "other calls are not affected";

/// The state of a host that a signal has stopped.
pub(crate) fn is_stopped(host: &str, pid: u32) -> String {
    format!("{host} is stopped and does not answer; kill -CONT {pid} resumes it")
}

pub(crate) fn does_not_answer(host: &str) -> String {
    format!("{host} does not answer")
}

pub(crate) const END_BY_FORCE: &str = "end it and its sessions with 'inkcell host stop --force'; the next command starts a new \
     host. To work without a host, add --no-host (py, repl, tui) or remove --keep (run)";

pub(crate) const LIST_OTHERS: &str = "list the sessions of all hosts with 'inkcell sessions'";

/// A host by its purpose, as a part of a sentence.
pub(crate) const OF_AGENT: &str = "the host of an agent";

pub(crate) const SHARED: &str = "the shared host";

pub(crate) const NONE_RUNS: &str = "No host is running. Sessions start one when they need it.";

/// The line about a host that runs.
pub(crate) fn state(
    host: &str,
    pid: u32,
    version: &str,
    sessions: &str,
    clients: &str,
    minutes: u64,
) -> String {
    format!("{host}: process {pid}, inkcell {version}, {sessions}, {clients}, for {minutes} min")
}

pub(crate) const NONE_WAS_RUNNING: &str = "No shared host was running.";

pub(crate) const HAS_ENDED: &str = "The shared host has ended.";

pub(crate) const ALREADY: &str = "a host is already running";

pub(crate) const SET_RUNTIME_DIR: &str = "set XDG_RUNTIME_DIR to a folder of your own";

pub(crate) const SOCKET_GONE: &str = "its socket is gone";

pub(crate) const RUN_WITHOUT: &str = "run without a host: add --no-host";

pub(crate) const ENDED_BEFORE_ANSWER: &str = "the host ended before it answered";

pub(crate) const TRY_AGAIN: &str = "try again, and check the host with 'inkcell host status'";

pub(crate) fn other_version(pid: &dyn Display, theirs: &str, own: &str) -> String {
    format!("the running host (process {pid}) is inkcell {theirs}; this command is inkcell {own}")
}

pub(crate) const END_IT: &str = "end it and its sessions with 'inkcell host stop'";

/// The note about a host that does not answer.
pub(crate) fn may_have_session(silence: &dyn Display) -> String {
    format!("note: {silence}. If it has a session of this name, this command uses another one")
}

pub(crate) const END_SHARED: &str =
    "end the shared host and its sessions with 'inkcell host stop --force'";

/// What a host lost that ended a call without an answer.
pub(crate) const REPORT: &str = "the report of this call";
