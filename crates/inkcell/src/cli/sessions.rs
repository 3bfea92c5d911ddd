//! `inkcell sessions`, and the actions on one: `interrupt`, `restart`, `stop`.
//!
//! Owns the list of all hosts' sessions. The wording about a session is in `view/sessions`.

use inkcell_engine::api::{KernelReport, KernelRequest, SessionRef};
use serde_json::{Value, json};

use crate::args::OneSession;
use crate::client::Client;
use crate::client::hosts::{self, HostSession};
use crate::exit::{Exit, Failure};
use crate::host::{Answer, Ask, Silent};
use crate::output::Output;
use crate::settings::Settings;
use crate::view::sessions::{self, Listing};
use crate::words;

/// An action on a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verb {
    Interrupt,
    Restart,
    Stop,
}

pub(crate) fn list(settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let all = hosts::everywhere(settings);
    let listings: Vec<Listing<'_>> = all
        .sessions
        .iter()
        .map(|met| Listing {
            host: met.found.kind.name(),
            session: &met.session,
            memory_bytes: met.session.kernel.as_ref().and_then(|k| k.pid).and_then(memory_bytes),
        })
        .collect();
    let shown = if output.is_json() {
        let sessions: Vec<Value> = listings.iter().map(sessions::listing_json).collect();
        let silent: Vec<Value> = all.silent.iter().map(Silent::to_json).collect();
        output.json(&json!({"sessions": sessions, "silent": silent}))
    } else if listings.is_empty() && all.silent.is_empty() {
        output.line(words::session::NONE_YET)
    } else if listings.is_empty() {
        Ok(())
    } else {
        sessions::table(&listings).iter().try_for_each(|line| output.line(line))
    };
    shown.map_err(Failure::of_output)?;
    all.silent.iter().for_each(|silent| output.aside(&format!("note: {}", silent.describe())));
    Ok(Exit::Ok)
}

pub(crate) fn act(
    verb: Verb,
    args: &OneSession,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let met = hosts::one(args.session.as_deref(), settings)?;
    let report = ask(verb, &met, settings)?;
    let shown = if output.is_json() {
        output.json(&json!(report))
    } else {
        let text = match (verb, &report) {
            (Verb::Restart, KernelReport::Started { session, notes }) => {
                sessions::restarted(session, notes)
            }
            (_, report) => sessions::report(report),
        };
        text.lines().try_for_each(|line| output.line(line))
    };
    shown.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

fn ask(verb: Verb, met: &HostSession, settings: &Settings) -> Result<KernelReport, Failure> {
    let session: SessionRef = met.reference();
    let request = match verb {
        Verb::Interrupt => KernelRequest::Interrupt(session),
        Verb::Restart => KernelRequest::Restart(session),
        Verb::Stop => KernelRequest::Stop(session),
    };
    let client = Client::of_host(met.found.clone(), settings);
    match client.answer(Ask::Kernel(request))? {
        Answer::Kernel(report) => Ok(report),
        _ => Err(Failure::Pipe),
    }
}

/// The memory of a process in bytes, if the system reports it.
fn memory_bytes(pid: u32) -> Option<u64> {
    let pages = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = pages.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * u64::try_from(rustix::param::page_size()).ok()?)
}
