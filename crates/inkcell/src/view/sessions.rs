//! Sessions as text: one line each, and the results of commands on them.
//!
//! Owns the lines, and the order of facts in them. The facts about a session come from the engine.

use std::time::Duration;

use inkcell_engine::api::{InterruptFate, KernelReport, RunningReport, SessionReport};
use inkcell_engine::is_notebook_path;
use inkcell_engine::kernel::BackendKind;
use inkcell_engine::notebook::visible_line;
use inkcell_engine::output::size;
use inkcell_engine::registry::Keep;
use inkcell_engine::session::CallNote;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use crate::output::visible;
use crate::words;

/// The result of a command on a session.
pub(crate) fn report(report: &KernelReport) -> String {
    match report {
        KernelReport::Sessions(sessions) if sessions.is_empty() => words::session::NONE.to_owned(),
        KernelReport::Sessions(sessions) => {
            sessions.iter().map(line).collect::<Vec<_>>().join("\n")
        }
        KernelReport::Session(session) => line(session),
        KernelReport::Started { session, notes } => with_notes(line(session), notes),
        KernelReport::Interrupted { session, fate } => interrupted(session, *fate),
        KernelReport::Stopped(session) => format!("Stopped: {}", line(session)),
    }
}

/// The result of an interrupt. The session itself is unchanged.
fn interrupted(session: &SessionReport, fate: InterruptFate) -> String {
    let name = &session.name;
    let Some(running) = session.running.as_ref().filter(|_| fate != InterruptFate::NothingRan)
    else {
        return words::session::nothing_ran(&name.to_string());
    };
    words::session::interrupted(&name.to_string(), &what(running), fate)
}

/// The line for a session with a new kernel.
pub(crate) fn restarted(session: &SessionReport, notes: &[CallNote]) -> String {
    with_notes(format!("{}{}", words::session::RESTARTED, line(session)), notes)
}

fn with_notes(mut text: String, notes: &[CallNote]) -> String {
    for note in notes {
        text.push_str(&format!("\n[{}]", words::call::note(note)));
    }
    text
}

/// One session as a line.
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
        parts.push(words::session::not_used_for(idle.as_secs() / 60));
    }
    if session.keep == Keep::Always {
        parts.push("kept".to_owned());
    }
    if session.lost.is_some() {
        parts.push(words::session::VARIABLES_GONE.to_owned());
    }
    let (name, cwd) = (visible_line(&session.name.0), session.cwd.to_string_lossy());
    format!("{name} in {}: {}", visible_line(&cwd), parts.join("; "))
}

/// The running call, and its time so far.
fn what(running: &RunningReport) -> String {
    let id = running.execution.iter().map(|id| format!("{}, ", id.0)).collect::<String>();
    format!("`{}` ({id}{} s)", visible_line(&running.title), running.elapsed.as_secs())
}

/// One entry in the list of all sessions.
pub(crate) struct Listing<'a> {
    /// Kind of the host that holds the session.
    pub(crate) host: &'static str,
    pub(crate) session: &'a SessionReport,
    pub(crate) memory_bytes: Option<u64>,
}

impl Listing<'_> {
    fn name(&self) -> &str {
        &self.session.name.0
    }

    fn notebook(&self) -> Option<&str> {
        is_notebook_path(self.name()).then(|| self.name())
    }

    fn python(&self) -> String {
        match &self.session.kernel {
            Some(kernel) if kernel.is_python() => kernel.version.clone(),
            Some(kernel) => format!("{} {}", kernel.language, kernel.version),
            None => "-".to_owned(),
        }
    }

    fn state(&self) -> String {
        match (&self.session.running, self.session.idle) {
            (Some(running), _) => format!("busy {}", age(running.elapsed)),
            (None, Some(idle)) if idle.as_secs() >= 60 => {
                format!("{} {}", self.session.state.name(), age(idle))
            }
            _ => self.session.state.name().to_owned(),
        }
    }

    fn row(&self) -> [String; 8] {
        let pid = self.session.kernel.as_ref().and_then(|kernel| kernel.pid);
        let folder = self.session.cwd.display().to_string();
        [
            match self.notebook() {
                Some(path) => path.rsplit('/').next().unwrap_or(path).to_owned(),
                None => self.name().to_owned(),
            },
            self.host.to_owned(),
            self.session.backend.name().to_owned(),
            self.python(),
            self.state(),
            age(self.session.age),
            self.memory_bytes.map_or("-".to_owned(), size),
            match pid {
                Some(pid) => format!("{folder} ({pid})"),
                None => folder,
            },
        ]
    }
}

const HEADS: [&str; 8] =
    ["SESSION", "HOST", "BACKEND", "PYTHON", "STATE", "AGE", "MEMORY", "FOLDER (PROCESS)"];

/// All sessions as a table with a header line. Names are filtered for display, whatever they contain
/// (S-006).
pub(crate) fn table(listings: &[Listing<'_>]) -> Vec<String> {
    let rows: Vec<[String; 8]> = listings
        .iter()
        .map(|listing| listing.row().map(|cell| visible(&cell).into_owned()))
        .collect();
    let heads = HEADS.map(str::to_owned);
    let all = || std::iter::once(&heads).chain(&rows);
    let widths: Vec<usize> =
        (0..HEADS.len()).map(|at| all().map(|row| row[at].width()).max().unwrap_or(0)).collect();
    let line = |row: &[String; 8]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| {
            let room = width.saturating_sub(cell.width());
            format!("{cell}{}", " ".repeat(room))
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    all().map(line).collect()
}

/// The same entry for programs.
pub(crate) fn listing_json(listing: &Listing<'_>) -> Value {
    let mut value = json!(listing.session);
    value["host"] = json!(listing.host);
    value["notebook"] = json!(listing.notebook());
    value["memory_bytes"] = json!(listing.memory_bytes);
    value
}

/// A time in its largest unit.
fn age(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..86_400 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}
