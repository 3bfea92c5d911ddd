//! From a request to its session: the key that tells sessions apart, and the session that may stand in for another.
//!
//! Owns the way from a name, a folder and a kernel to a key. The registry finds and creates sessions.

use std::path::Path;

use inkcell_kernel::{KernelInfo, Prelude};

use crate::api::{Helpers, KernelChoice, KernelMode, KernelWishes, RunNote, SessionRef};
use crate::engine::Engine;
use crate::error::{EngineError, SessionError};
use crate::files::is_notebook_path;
use crate::kernels::{ChosenKernel, Insists, ResolvedKernel};
use crate::session::registry::SessionEntry;
use crate::session::{Session, SessionState};
use crate::types::{KernelName, SessionKey, SessionName, Suggestion};

/// The session key and the kernel for a request.
pub struct Resolution {
    /// The key under which the session is found or created.
    pub key: SessionKey,
    /// The kernel that a new session would launch.
    pub chosen: ResolvedKernel,
}

/// A requested session that exists.
pub(super) struct LiveSession {
    pub(super) key: SessionKey,
    pub(super) session: Session,
}

impl Engine {
    /// The session of a request, and the kernel for its code. Code with a kernel to itself shares no session, so only
    /// the kernel is chosen for it.
    pub async fn resolve(
        &self,
        wanted: &SessionRef,
        mode: KernelMode,
    ) -> Result<Resolution, EngineError> {
        let SessionRef { session, cwd, wanted } = wanted;
        let (key, chosen) = match mode {
            KernelMode::Session => self.resolve_session(session.as_ref(), cwd, wanted).await?,
            KernelMode::PerCall => {
                let chosen = self.choose(cwd, wanted).await?;
                (self.key(session.as_ref(), cwd, Some(&chosen.kernel)), chosen)
            }
        };
        Ok(Resolution { key, chosen })
    }

    /// The session of a request, and the kernel that it has or gets. A session has one kernel: a caller that insists
    /// on another gets an error, and a notebook that asks for another kind of kernel than before gets that kernel
    /// instead.
    pub(super) async fn resolve_session(
        &self,
        session: Option<&SessionName>,
        cwd: &Path,
        wanted: &KernelWishes,
    ) -> Result<(SessionKey, ResolvedKernel), EngineError> {
        let wanted = &wishes_in(session, wanted);
        let mut chosen = self.choose(cwd, wanted).await?;
        let key = self.key(session, cwd, Some(&chosen.kernel));
        let is_live = self.registry().find(&key).is_some();
        if !is_live && (key.backend != chosen.kernel.backend || key.kernel != chosen.kernel.name) {
            // The session was closed, and is created again with its former kernel.
            chosen = self.choose(cwd, &as_before(&key, wanted)).await?;
        }
        let in_the_way = self.sessions().into_iter().find(|listed| {
            is_namesake(&listed.key, &key)
                && (listed.key.backend != key.backend || listed.key.kernel != key.kernel)
        });
        if let Some(listed) = in_the_way.filter(|_| !is_live) {
            let had = describe_kernel(&listed.key);
            if !has_something_to_lose(&listed.state) {
                self.registry().close(&listed.key).await;
                return Ok((key, chosen));
            }
            if !matches!(chosen.kernel.insists, Insists::Language(_)) || listed.state.is_busy {
                return Err(SessionError::OtherKernel { name: key.name, had }.into());
            }
            self.registry().close(&listed.key).await;
            chosen.notes.push(RunNote::ReplacedKernel { had });
        }
        if wanted.helpers == Helpers::None && self.has_helpers(&key) {
            chosen.notes.push(RunNote::Helpers);
        }
        Ok((key, chosen))
    }

    /// The session that a request refers to. A session that was created with a kernel of its own is found without
    /// naming the kernel as long as no other session has the name.
    pub(super) async fn find_session(
        &self,
        wanted: &SessionRef,
    ) -> Result<LiveSession, EngineError> {
        let chosen = match &wanted.wanted {
            nothing if *nothing == KernelWishes::default() => None,
            something => Some(self.choose(&wanted.cwd, something).await?.kernel),
        };
        let key = self.key(wanted.session.as_ref(), &wanted.cwd, chosen.as_ref());
        let all = self.sessions();
        let session = self.registry().find(&key);
        let found = session.map(|session| LiveSession { key: key.clone(), session });
        let Some(found) = found else {
            return Err(match self.registry().closed(&key) {
                Some((reason, ago)) => SessionError::Closed { name: key.name, reason, ago }.into(),
                None => unknown_session(&key, &all),
            });
        };
        Ok(found)
    }

    /// Returns whether the kernel of a session was started with helpers. It keeps them for every later user.
    fn has_helpers(&self, key: &SessionKey) -> bool {
        self.registry().find(key).is_some_and(|session| {
            let state = session.state();
            let is_python = state.kernel.as_ref().is_none_or(KernelInfo::is_python);
            state.has_begun && is_python && state.prelude != Prelude::Off
        })
    }

    /// The key of a request's session: the key for the kernel that was chosen, or the key of an existing session that
    /// the caller would not tell apart from it.
    pub fn key(
        &self,
        session: Option<&SessionName>,
        cwd: &Path,
        chosen: Option<&ChosenKernel>,
    ) -> SessionKey {
        // The launch reports a missing folder.
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        let key = SessionKey {
            name: session.cloned().unwrap_or_else(|| SessionName(SessionName::DEFAULT.to_owned())),
            cwd,
            interpreter: chosen.and_then(|kernel| kernel.interpreter.clone()),
            backend: chosen.map_or(self.kernels().usual(), |kernel| kernel.backend),
            kernel: chosen.and_then(|kernel| kernel.name.clone()),
        };
        let insists = chosen.map_or(&Insists::Nothing, |kernel| &kernel.insists);
        self.stand_in(&key, insists).unwrap_or(key)
    }

    /// The only session of this name and folder, unless the caller insists on another kernel.
    fn stand_in(&self, key: &SessionKey, insists: &Insists) -> Option<SessionKey> {
        let will_do = |listed: &SessionEntry| match insists {
            Insists::Nothing => true,
            Insists::Kernel => false,
            // A session without a kernel does not know its language, so the kernel names are compared.
            Insists::Language(language) => match &listed.state.kernel {
                Some(kernel) => kernel.language.eq_ignore_ascii_case(language),
                None => listed.key.kernel == key.kernel,
            },
        };
        let is_same = |listed: &SessionEntry| {
            is_namesake(&listed.key, key) && has_something_to_lose(&listed.state)
        };
        let all = self.sessions();
        let mut same = all.iter().filter(|listed| is_same(listed));
        match (same.next(), same.next()) {
            (Some(only), None) if will_do(only) => Some(only.key.clone()),
            // A session that was closed is created again with its former kernel.
            (None, _) if *insists == Insists::Nothing => self.registry().lost(&key.name, &key.cwd),
            _ => None,
        }
    }
}

/// The wishes of a request in this session. A notebook's own session never has helpers: its cells must mean here what they
/// mean in Jupyter.
fn wishes_in(session: Option<&SessionName>, wanted: &KernelWishes) -> KernelWishes {
    let is_notebook = session
        .is_some_and(|SessionName(name)| is_notebook_path(name) && Path::new(name).is_absolute());
    let helpers = if is_notebook { Helpers::None } else { wanted.helpers };
    KernelWishes { helpers, ..wanted.clone() }
}

/// Whether two keys differ by their kernels alone.
fn is_namesake(other: &SessionKey, key: &SessionKey) -> bool {
    other.name == key.name
        && other.cwd == key.cwd
        && (key.interpreter.is_none() || other.interpreter == key.interpreter)
}

/// Whether closing the session would lose state or work. A session whose kernel never
/// started does not keep its kind of kernel.
fn has_something_to_lose(state: &SessionState) -> bool {
    state.has_begun || state.is_busy || state.waiting > 0
}

/// A request for the kernel that a session had.
fn as_before(key: &SessionKey, wanted: &KernelWishes) -> KernelWishes {
    let choice = |name: &KernelName| match Path::new(&name.0).is_absolute() {
        true => KernelChoice::Existing(name.0.clone().into()),
        false => KernelChoice::Named(name.clone()),
    };
    KernelWishes {
        interpreter: wanted.interpreter.clone(),
        backend: Some(key.backend),
        kernel: key.kernel.as_ref().map(choice),
        helpers: wanted.helpers,
    }
}

/// The kernel of a session, in words.
fn describe_kernel(key: &SessionKey) -> String {
    match &key.kernel {
        Some(name) => format!("{name}, by {}", key.backend.name()),
        None => format!("Python, by {}", key.backend.name()),
    }
}

/// The error for a missing session. It names existing ones, each with its state, and with its folder if that differs.
pub(super) fn unknown_session(wanted: &SessionKey, all: &[SessionEntry]) -> EngineError {
    let described = |listed: &SessionEntry| {
        let SessionEntry { key, state, .. } = listed;
        let phase = match (state.is_busy, &state.kernel) {
            (true, _) => "busy",
            (false, Some(_)) => "idle",
            (false, None) => "without a kernel",
        };
        let folder = match key.cwd == wanted.cwd {
            true => String::new(),
            false => format!(", in {}", key.cwd.display()),
        };
        Suggestion { id: key.name.0.clone(), what: format!("{phase}{folder}") }
    };
    let known: Vec<Suggestion> = all.iter().map(described).collect();
    let known = Suggestion::choose(&known, &wanted.name.0);
    SessionError::NoSession { name: wanted.name.clone(), known }.into()
}
