//! Which host a command talks to: one of its own, the one that commands share, or whichever has the session it names.
//!
//! Owns the choice. How a host is asked is `client`'s.

use std::io;
use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;

use clap::Args as ClapArgs;
use inkcell_engine::Kind;
use inkcell_engine::api::{
    KernelReport, KernelRequest, Request, Response, SessionRef, SessionReport, Wanted,
};
use inkcell_engine::is_notebook_path;
use inkcell_engine::registry::SessionName;

use super::python;
use crate::client::{Client, answer_at_once};
use crate::exit::{Exit, Failure};
use crate::host::{Answer, Ask, Found, HostKind, Hosts, Life, Silent};
use crate::output::Output;
use crate::settings::Settings;
use crate::tools::NAME_CHARS;

/// Whether a command may use a host that stays.
#[derive(ClapArgs, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct HostArgs {
    /// Use no host that stays: everything ends with the command. It is so where CI is set, too.
    #[arg(long)]
    pub(crate) no_host: bool,
}

/// Whom to ask, and where the session works that was named.
pub(crate) struct Whom {
    pub(crate) client: Client,
    pub(crate) cwd: Option<PathBuf>,
    /// Hosts that may have the session that was named, and do not answer.
    pub(crate) silent: Vec<Silent>,
}

impl Whom {
    pub(crate) fn new(client: Client) -> Whom {
        Whom { client, cwd: None, silent: Vec::new() }
    }

    /// Reports the hosts that do not answer.
    pub(crate) fn report_silent(&self, output: &mut Output) {
        for silent in &self.silent {
            let line = format!(
                "note: {}. If it has a session of this name, this command uses another one",
                silent.told()
            );
            output.aside(&line);
        }
    }
}

/// A session of some host.
pub(crate) struct Met {
    pub(crate) found: Found,
    pub(crate) session: SessionReport,
}

impl Met {
    /// The session, as its host is told which.
    pub(crate) fn reference(&self) -> SessionRef {
        SessionRef {
            session: Some(self.session.name.clone()),
            cwd: self.session.cwd.clone(),
            wanted: Wanted::default(),
        }
    }
}

/// The session that somebody names, and where it works if that is known: one of a notebook is named by its path and
/// works in its folder.
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
        let problem = format!("a name has 1 to {NAME_CHARS} characters on one line");
        return Err(Failure::argument("--session", problem));
    }
    Ok((SessionName(given.to_owned()), None))
}

/// Whom code is for: the host of the session that is named, else the one that commands share, else none.
pub(crate) fn for_code(
    (host, fresh): (HostArgs, bool),
    session: Option<&SessionName>,
    settings: &Settings,
) -> Result<Whom, Failure> {
    let local = || Client::local(python::engine(settings)?, settings, Life::OneCall);
    if host.no_host || !settings.uses_host() || fresh {
        if session.is_some() {
            let problem = "a session needs a host, and there is to be none here; leave out --no-host \
                           and --fresh, or set host.use to on";
            return Err(Failure::argument("--session", problem));
        }
        return Ok(Whom::new(local()?));
    }
    for_session(session, settings)
}

/// Whom a prompt is for: the same, and a host of its own stays for as long as the prompt does.
pub(crate) fn for_prompt(
    host: HostArgs,
    session: Option<&SessionName>,
    settings: &Settings,
) -> Result<Whom, Failure> {
    if session.is_none() && (host.no_host || !settings.uses_host()) {
        let client = Client::local(python::engine(settings)?, settings, Life::Long)?;
        return Ok(Whom::new(client));
    }
    for_code((host, false), session, settings)
}

/// Whom a notebook is for that is run in a session which stays: the host that has it, else the one that commands share.
pub(crate) fn for_session(
    session: Option<&SessionName>,
    settings: &Settings,
) -> Result<Whom, Failure> {
    let mut silent = Vec::new();
    if let Some(name) = session {
        let all = in_other_hosts(name, settings);
        if let Some(met) = all.sessions.into_iter().next() {
            let cwd = Some(met.session.cwd.clone());
            return Ok(Whom { cwd, ..Whom::new(Client::of_host(met.found, settings)) });
        }
        silent = all.silent;
    }
    Ok(Whom { silent, ..Whom::new(Client::shared(settings)?) })
}

/// The session of this name in hosts that are not the shared one, unless the shared one has it, too; and those of them
/// that do not answer.
fn in_other_hosts(name: &SessionName, settings: &Settings) -> Everywhere {
    let hosts = Hosts::of(settings).all();
    if hosts.iter().all(|found| found.kind == HostKind::Shared) {
        return Everywhere { sessions: Vec::new(), silent: Vec::new() };
    }
    let Everywhere { mut sessions, mut silent } = everywhere(settings);
    sessions.retain(|met| is_meant(&met.session, &name.0, &settings.cwd));
    let is_shared = |met: &Met| met.found.kind == HostKind::Shared;
    if sessions.iter().any(is_shared) || sessions.len() > 1 {
        sessions.retain(|met| met.session.cwd == settings.cwd);
    }
    if sessions.iter().any(is_shared) {
        silent.clear();
    }
    sessions.retain(|met| met.found.kind != HostKind::Shared);
    silent.retain(|silent| silent.kind != HostKind::Shared);
    Everywhere { sessions, silent }
}

/// The sessions of every host, and the hosts that did not say.
pub(crate) struct Everywhere {
    pub(crate) sessions: Vec<Met>,
    pub(crate) silent: Vec<Silent>,
}

/// Asks every host, all at the same time, for what it can say at once; none for a host that is silent.
pub(crate) fn ask_all(
    ask: impl Fn() -> Ask,
    settings: &Settings,
) -> Vec<(Found, Result<Option<Answer>, Failure>)> {
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
        // One that could not be asked has not answered.
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
pub(crate) fn everywhere(settings: &Settings) -> Everywhere {
    let mut all = Everywhere { sessions: Vec::new(), silent: Vec::new() };
    let list = || Ask::Engine(Request::Kernel(KernelRequest::List));
    for (found, answer) in ask_all(list, settings) {
        match answer {
            Ok(Some(Answer::Engine(Response::Kernel(KernelReport::Sessions(sessions))))) => {
                let met = |session| Met { found: found.clone(), session };
                all.sessions.extend(sessions.into_iter().map(met));
            }
            Ok(None) => all.silent.push(Silent::of(&found)),
            // It has just ended, or is of another version.
            Ok(Some(_)) | Err(_) => {}
        }
    }
    all
}

/// Whether a session is the one that somebody calls so: by its name, its notebook, or the number of its process.
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

/// The session that is meant; the only one, or that of this folder, where none is named.
pub(crate) fn one(given: Option<&str>, settings: &Settings) -> Result<Met, Failure> {
    let Everywhere { sessions: mut all, silent } = everywhere(settings);
    let names: Vec<String> = all.iter().map(|met| known_as(&met.session)).collect();
    let cwd = settings.cwd.canonicalize().unwrap_or_else(|_| settings.cwd.clone());
    match given {
        Some(given) => all.retain(|met| is_meant(&met.session, given, &settings.cwd)),
        None if all.len() > 1 => all.retain(|met| met.session.cwd == cwd),
        None => {}
    }
    if all.len() > 1 && all.iter().any(|met| met.session.cwd == cwd) {
        all.retain(|met| met.session.cwd == cwd);
    }
    let told = |message: String, exit, kind| {
        let hint = Some("inkcell sessions lists them; a session is named by its name, its notebook or its process".to_owned());
        Err(Failure::Told { exit, kind, message, hint })
    };
    match (all.pop(), all.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(_), false) => {
            let message = "there is more than one such session; say which".to_owned();
            told(message, Exit::Invalid, Kind::Invalid)
        }
        (None, _) => {
            let what = given.map_or("there is no session here".to_owned(), |given| {
                format!("there is no session {given}")
            });
            let known = match &*names {
                [] => String::new(),
                names => format!("; there are: {}", names.join(", ")),
            };
            let silent: String =
                silent.iter().map(|silent| format!("; {}", silent.told())).collect();
            told(format!("{what}{known}{silent}"), Exit::NotFound, Kind::NotFound)
        }
    }
}

fn known_as(session: &SessionReport) -> String {
    format!("{} in {}", session.name, session.cwd.display())
}
