//! Sessions as text: one line each, and what a verb did.
//!
//! Owns the words. What is known of a session comes from the engine.

use std::time::Duration;

use inkcell_engine::api::{KernelReport, RunningReport, SessionReport};
use inkcell_engine::kernel::BackendKind;
use inkcell_engine::registry::Keep;
use inkcell_engine::session::Note;

use super::words;

/// What became of a verb.
pub(crate) fn report(report: &KernelReport) -> String {
    match report {
        KernelReport::Sessions(sessions) if sessions.is_empty() => {
            "There are no sessions.".to_owned()
        }
        KernelReport::Sessions(sessions) => {
            sessions.iter().map(line).collect::<Vec<_>>().join("\n")
        }
        KernelReport::Session(session) => line(session),
        KernelReport::Started { session, notes } => with_notes(line(session), notes),
        KernelReport::Stopped(session) => format!("Stopped: {}", line(session)),
    }
}

/// A session whose running code was interrupted, as it was before.
pub(crate) fn interrupted(session: &SessionReport) -> String {
    match &session.running {
        Some(running) => format!("Interrupted {} in session {}.", what(running), session.name),
        None => format!("Nothing was running in session {}.", session.name),
    }
}

/// A session with a new kernel.
pub(crate) fn restarted(session: &SessionReport, notes: &[Note]) -> String {
    with_notes(format!("Restarted; variables are gone. {}", line(session)), notes)
}

fn with_notes(mut text: String, notes: &[Note]) -> String {
    for note in notes {
        text.push_str(&format!("\n[{}]", words::note(note)));
    }
    text
}

/// One session in a line.
fn line(session: &SessionReport) -> String {
    let mut parts = vec![session.state.name().to_owned()];
    if let Some(running) = &session.running {
        parts.push(format!("running {}", what(running)));
    }
    match session.waiting {
        0 => {}
        1 => parts.push("1 call waits".to_owned()),
        some => parts.push(format!("{some} calls wait")),
    }
    if let Some(kernel) = &session.kernel {
        let language = match kernel.is_python() {
            true => format!("Python {}", kernel.version),
            false => format!("{} {}", kernel.language, kernel.version).trim_end().to_owned(),
        };
        parts.push(match kernel.pid {
            Some(pid) => format!("{language}, process {pid}"),
            None => language,
        });
    }
    if session.backend != BackendKind::Runner {
        let named = session.kernel_name.iter().map(|name| format!(" {name}")).collect::<String>();
        parts.push(format!("{} kernel{named}", session.backend.name()));
    }
    if let Some(idle) = session.idle.filter(|idle| *idle >= Duration::from_secs(60)) {
        parts.push(format!("not used for {} min", idle.as_secs() / 60));
    }
    if session.keep == Keep::Always {
        parts.push("kept".to_owned());
    }
    if session.lost.is_some() {
        parts.push("its variables are gone".to_owned());
    }
    format!("{} in {}: {}", session.name, session.cwd.display(), parts.join("; "))
}

/// What runs, and for how long.
fn what(running: &RunningReport) -> String {
    let id = running.execution.iter().map(|id| format!("{}, ", id.0)).collect::<String>();
    format!("`{}` ({id}{} s)", running.title, running.elapsed.as_secs())
}
