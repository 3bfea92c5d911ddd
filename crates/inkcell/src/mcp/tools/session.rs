//! The session of a call, and its working folder.
//!
//! Owns the way from the arguments `session` and `cwd` to a session of the engine. The tools decide what to do in
//! it.

use std::path::{Path, PathBuf};

use inkcell_engine::api::{KernelWishes, SessionRef};
use inkcell_engine::registry::SessionName;
use inkcell_engine::{is_notebook_path, system_random};

use super::{Desk, ToolError};
use crate::settings::Profile;
use crate::words;

/// The session name that asks for a new session.
pub(crate) const NEW: &str = "new";

/// No name of a session is longer.
pub(crate) const NAME_CHARS: usize = 100;

/// A session that a call means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) name: Option<SessionName>,
    pub(crate) cwd: PathBuf,
    /// Whether the name was generated, so that the answer must show it.
    pub(crate) is_generated: bool,
}

/// The session that is meant. A notebook's path is the name of its own. One that is named without a folder is found in whichever folder it is, as long
/// as that is clear: a caller who named its folder once does not do so again.
pub(crate) fn resolve_place(
    desk: &Desk,
    session: Option<&str>,
    cwd: Option<&str>,
) -> Result<Place, ToolError> {
    let folder = folder(desk, cwd);
    let Some(given) = session else {
        return Ok(Place { name: None, cwd: folder, is_generated: false });
    };
    if let Some(path) = notebook(desk, given) {
        let own = path.parent().map_or_else(|| folder.clone(), Path::to_owned);
        let name = Some(SessionName(path.display().to_string()));
        let cwd = if cwd.is_some() { folder } else { own };
        return Ok(Place { name, cwd, is_generated: false });
    }
    if given.trim().is_empty() || given.chars().count() > NAME_CHARS || has_control(given) {
        let problem = format!("session: {}", words::session::name_limits(NAME_CHARS));
        return Err(ToolError::argument(problem));
    }
    if given == NEW {
        let name = Some(SessionName(format!("s{:08x}", system_random() as u32)));
        return Ok(Place { name, cwd: folder, is_generated: true });
    }
    let name = SessionName(given.to_owned());
    let cwd = match cwd {
        Some(_) => folder,
        None => known_folder(desk, &name, &folder).unwrap_or(folder),
    };
    Ok(Place { name: Some(name), cwd, is_generated: false })
}

/// A notebook that is there, as sessions are named after it.
pub(crate) fn notebook(desk: &Desk, given: &str) -> Option<PathBuf> {
    if !is_notebook_path(given) {
        return None;
    }
    folder(desk, Some(given)).canonicalize().ok().filter(|path| path.is_file())
}

/// The same for a session that should be there already.
pub(crate) fn reference(
    desk: &Desk,
    session: Option<&str>,
    cwd: Option<&str>,
) -> Result<SessionRef, ToolError> {
    let Place { name, cwd, .. } = resolve_place(desk, session, cwd)?;
    Ok(SessionRef { session: name, cwd, wanted: KernelWishes::default() })
}

/// The folder of the only session of this name, when there is none of it in `folder`.
fn known_folder(desk: &Desk, name: &SessionName, folder: &Path) -> Option<PathBuf> {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let sessions = desk.engine.sessions().into_iter();
    let mut folders: Vec<PathBuf> =
        sessions.filter(|listed| listed.key.name == *name).map(|listed| listed.key.cwd).collect();
    folders.dedup();
    match &*folders {
        [only] if *only != real => Some(only.clone()),
        _ => None,
    }
}

/// A folder as a caller spells it.
pub(crate) fn folder(desk: &Desk, given: Option<&str>) -> PathBuf {
    let Some(given) = given else { return desk.cwd.clone() };
    match (given.strip_prefix('~'), &desk.settings.home) {
        (Some(""), Some(home)) => home.clone(),
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(&rest[1..]),
        _ => desk.cwd.join(given),
    }
}

/// The profile whose rules hold for a call.
pub(crate) fn profile(desk: &Desk) -> Profile {
    desk.exposure.profile()
}

fn has_control(text: &str) -> bool {
    text.chars().any(char::is_control)
}
