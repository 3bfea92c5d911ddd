//! The host that a command talks to: one of its own, the one that commands share, or the one that has the named
//! session.
//!
//! Owns the choice. `client` owns the conversation.

use std::io;
use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;

use inkcell_engine::api::{KernelReport, KernelRequest, KernelWishes, SessionRef, SessionReport};
use inkcell_engine::registry::SessionName;
use inkcell_engine::types::Suggestion;
use inkcell_engine::{Generation, Kind, is_notebook_path};

use super::{Client, answer_at_once};
use crate::app::python;
use crate::args::HostArgs;
use crate::exit::Failure;
use crate::host::{Answer, Ask, HostAddress, HostKind, Hosts, Life, Silent};
use crate::mcp::tools::NAME_CHARS;
use crate::output::Output;
use crate::settings::Settings;
use crate::words;

/// The host to ask, and the folder of the named session.
pub(crate) struct Target {
    pub(crate) client: Client,
    pub(crate) cwd: Option<PathBuf>,
    /// Hosts that may have the named session, and do not answer.
    pub(crate) silent: Vec<Silent>,
}

impl Target {
    pub(crate) fn new(client: Client) -> Target {
        Target { client, cwd: None, silent: Vec::new() }
    }

    /// A note about each host that does not answer and may have the session.
    pub(crate) fn silent_notes(&self) -> impl Iterator<Item = String> {
        self.silent.iter().map(|silent| words::host::may_have_session(&silent.describe()))
    }

    /// Reports the hosts that do not answer.
    pub(crate) fn report_silent(&self, output: &mut Output) {
        self.silent_notes().for_each(|note| output.aside(&note));
    }
}

/// A session of some host.
pub(crate) struct HostSession {
    pub(crate) found: HostAddress,
    pub(crate) session: SessionReport,
}

impl HostSession {
    /// The session, in the form that its host expects.
    pub(crate) fn reference(&self) -> SessionRef {
        SessionRef {
            session: Some(self.session.name.clone()),
            cwd: self.session.cwd.clone(),
            wanted: KernelWishes::default(),
        }
    }
}

/// The session that a user names, and its folder if that is known: the session of a notebook is named by its path
/// and works in its folder.
pub(crate) fn named(
    given: &str,
    settings: &Settings,
) -> Result<(SessionName, Option<PathBuf>), Failure> {
    if is_notebook_path(given) {
        let path = settings.cwd.join(given);
        if let Ok(path) = path.canonicalize() {
            let folder = path.parent().map(Path::to_owned);
            return Ok((SessionName(path.display().to_string()), folder));
        }
    }
    let is_long = given.chars().count() > NAME_CHARS;
    if given.trim().is_empty() || is_long || given.chars().any(char::is_control) {
        let problem = words::session::name_limits(NAME_CHARS);
        return Err(Failure::argument("--session", problem));
    }
    Ok((SessionName(given.to_owned()), None))
}

/// The host for code: the host of the named session, else the one that commands share, else none.
pub(crate) fn for_code(
    (host, fresh): (HostArgs, bool),
    session: Option<&SessionName>,
    settings: &Settings,
) -> Result<Target, Failure> {
    let local = || Client::local(python::engine(settings)?, settings, Life::OneCall);
    if host.no_host || !settings.uses_host() || fresh {
        if session.is_some() {
            let problem = words::session::NEEDS_HOST;
            return Err(Failure::argument("--session", problem));
        }
        return Ok(Target::new(local()?));
    }
    for_session(session, settings)
}

/// The host for a prompt: as for code, and a host of its own stays for as long as the prompt does.
pub(crate) fn for_prompt(
    host: HostArgs,
    session: Option<&SessionName>,
    settings: &Settings,
) -> Result<Target, Failure> {
    if session.is_none() && (host.no_host || !settings.uses_host()) {
        let client = Client::local(python::engine(settings)?, settings, Life::Long)?;
        return Ok(Target::new(client));
    }
    for_code((host, false), session, settings)
}

/// The host for a notebook in a session that stays: the host that has the session, else the one that commands
/// share.
pub(crate) fn for_session(
    session: Option<&SessionName>,
    settings: &Settings,
) -> Result<Target, Failure> {
    let mut silent = Vec::new();
    if let Some(name) = session {
        let all = in_other_hosts(name, settings);
        if let Some(met) = all.sessions.into_iter().next() {
            let cwd = Some(met.session.cwd.clone());
            return Ok(Target { cwd, ..Target::new(Client::of_host(met.found, settings)) });
        }
        silent = all.silent;
    }
    Ok(Target { silent, ..Target::new(Client::shared(settings)?) })
}

/// The session of this name in hosts other than the shared one, unless the shared one has it, too; and the hosts
/// among them that do not answer.
fn in_other_hosts(name: &SessionName, settings: &Settings) -> AllSessions {
    let hosts = Hosts::of(settings).all();
    if hosts.iter().all(|found| found.kind == HostKind::Shared) {
        return AllSessions { sessions: Vec::new(), silent: Vec::new() };
    }
    let AllSessions { mut sessions, mut silent } = everywhere(settings);
    sessions.retain(|met| is_meant(&met.session, &name.0, &settings.cwd));
    let is_shared = |met: &HostSession| met.found.kind == HostKind::Shared;
    if sessions.iter().any(is_shared) || sessions.len() > 1 {
        sessions.retain(|met| met.session.cwd == settings.cwd);
    }
    if sessions.iter().any(is_shared) {
        silent.clear();
    }
    sessions.retain(|met| met.found.kind != HostKind::Shared);
    silent.retain(|silent| silent.kind != HostKind::Shared);
    AllSessions { sessions, silent }
}

/// The sessions of every host, and the hosts that did not answer.
pub(crate) struct AllSessions {
    pub(crate) sessions: Vec<HostSession>,
    pub(crate) silent: Vec<Silent>,
}

/// Asks every host, all at the same time, for an answer that needs no waiting; none for a silent host.
pub(crate) fn ask_all(
    ask: impl Fn() -> Ask,
    settings: &Settings,
) -> Vec<(HostAddress, Result<Option<Answer>, Failure>)> {
    let found = Hosts::of(settings).all();
    if let [only] = &*found {
        let answer = answer_at_once(only, settings, ask());
        return vec![(only.clone(), answer)];
    }
    let answers: Vec<_> = std::thread::scope(|scope| {
        let begin = |found| {
            let ask = ask();
            let work = move || answer_at_once(found, settings, ask);
            std::thread::Builder::new().name("asking".to_owned()).spawn_scoped(scope, work)
        };
        let asked: Vec<_> = found.iter().map(begin).collect();
        // A host that could not be asked has not answered.
        let answer =
            |asked: io::Result<ScopedJoinHandle<'_, _>>| match asked.map(ScopedJoinHandle::join) {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) | Err(_) => Ok(None),
            };
        asked.into_iter().map(answer).collect()
    });
    found.into_iter().zip(answers).collect()
}

/// The sessions of every host that answers.
pub(crate) fn everywhere(settings: &Settings) -> AllSessions {
    let mut all = AllSessions { sessions: Vec::new(), silent: Vec::new() };
    let list = || Ask::Kernel(KernelRequest::List);
    for (found, answer) in ask_all(list, settings) {
        match answer {
            Ok(Some(Answer::Kernel(KernelReport::Sessions(sessions)))) => {
                let met = |session| HostSession { found: found.clone(), session };
                all.sessions.extend(sessions.into_iter().map(met));
            }
            Ok(None) => all.silent.push(Silent::of(&found)),
            // The host has just ended, or has another version.
            Ok(Some(_)) | Err(_) => {}
        }
    }
    all
}

/// The kernels that this notebook's own sessions have, in the hosts that answer.
pub(crate) fn kernels_of(notebook: &Path, settings: &Settings) -> Vec<Generation> {
    let own = notebook.display().to_string();
    let met = everywhere(settings).sessions.into_iter();
    met.filter(|met| met.session.name.0 == own).filter_map(|met| met.session.generation).collect()
}

/// Returns whether the text that a user gave means this session: its name, its notebook, or its process number.
fn is_meant(session: &SessionReport, given: &str, cwd: &Path) -> bool {
    if session.name.0 == given {
        return true;
    }
    if is_notebook_path(given) {
        let path = cwd.join(given);
        let path = path.canonicalize().unwrap_or(path);
        return Path::new(&session.name.0) == path;
    }
    let pid = session.kernel.as_ref().and_then(|kernel| kernel.pid);
    given.parse::<u32>().is_ok_and(|given| pid == Some(given))
}

/// The session that the user means. Without a name, it is the only session, or the one of this folder.
pub(crate) fn one(given: Option<&str>, settings: &Settings) -> Result<HostSession, Failure> {
    let AllSessions { sessions: mut all, silent } = everywhere(settings);
    let known: Vec<Suggestion> = all.iter().map(|met| known_as(&met.session)).collect();
    let cwd = settings.cwd.canonicalize().unwrap_or_else(|_| settings.cwd.clone());
    // A host that does not answer may have more sessions, so the only known session may not be the only one.
    let is_only = all.len() <= 1 && silent.is_empty();
    match given {
        Some(given) => all.retain(|met| is_meant(&met.session, given, &settings.cwd)),
        None if !is_only => all.retain(|met| met.session.cwd == cwd),
        None => {}
    }
    if all.len() > 1 && all.iter().any(|met| met.session.cwd == cwd) {
        all.retain(|met| met.session.cwd == cwd);
    }
    match (all.pop(), all.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(_), false) => {
            let message = words::session::SAY_WHICH.to_owned();
            let hint = Some(words::session::NAMING.to_owned());
            Err(Failure::new(Kind::Invalid, message, hint))
        }
        (None, _) => Err(not_found(given, &known, &silent)),
    }
}

/// The failure of a search. A host that does not answer may have the session, so the message does not deny it.
fn not_found(given: Option<&str>, known: &[Suggestion], silent: &[Silent]) -> Failure {
    let known = Suggestion::words(&Suggestion::choose(known, given.unwrap_or_default()));
    if silent.is_empty() {
        let what = given.map_or(words::session::NONE_HERE.to_owned(), words::session::not_found);
        return Failure::new(
            Kind::NotFound,
            format!("{what}{known}"),
            Some(words::session::NAMING.to_owned()),
        );
    }
    let what = given.map_or("a session here".to_owned(), |given| format!("the session {given}"));
    let told: Vec<String> = silent.iter().map(Silent::describe).collect();
    let hint = match silent.iter().any(|silent| silent.kind == HostKind::Shared) {
        true => words::host::END_SHARED,
        false => words::session::NAMING,
    };
    Failure::new(
        Kind::Unavailable,
        format!("cannot find {what}: {}{known}", told.join("; ")),
        Some(hint.to_owned()),
    )
}

fn known_as(session: &SessionReport) -> Suggestion {
    Suggestion { id: session.name.0.clone(), what: format!("in {}", session.cwd.display()) }
}
