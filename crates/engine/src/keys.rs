//! Which session a request means: what tells sessions apart, and which one may stand in for another.
//!
//! Owns the way from a name, a folder and a kernel to a key. Finding and making sessions is the registry's.

use std::path::Path;

use inkcell_kernel::{KernelInfo, Prelude};

use crate::api::{Helpers, KernelChoice, KernelName, RunNote, Wanted};
use crate::engine::Engine;
use crate::error::{EngineError, SessionError};
use crate::kernels::{Chosen, ChosenKernel, Insists};
use crate::registry::{Listed, SessionKey, SessionName};
use crate::session::SessionState;

impl Engine {
    /// The session a request means, and the kernel it has or gets. A session has one kernel: whoever insists on
    /// another is told so, and a notebook that asks for one of another kind than before gets it instead.
    pub async fn place(
        &self,
        session: Option<&SessionName>,
        cwd: &Path,
        wanted: &Wanted,
    ) -> Result<(SessionKey, Chosen), EngineError> {
        let mut chosen = self.choose(cwd, wanted).await?;
        let key = self.key(session, cwd, Some(&chosen.kernel));
        let is_live = self.registry().find(&key).is_some();
        if !is_live && (key.backend != chosen.kernel.backend || key.kernel != chosen.kernel.name) {
            // It was let go of, and comes back as what it was.
            chosen = self.choose(cwd, &as_before(&key, wanted)).await?;
        }
        let in_the_way = self.sessions().into_iter().find(|listed| {
            is_namesake(&listed.key, &key)
                && (listed.key.backend != key.backend || listed.key.kernel != key.kernel)
        });
        if let Some(listed) = in_the_way.filter(|_| !is_live) {
            let had = shown(&listed.key);
            if !is_somebodys(&listed.state) {
                self.close(&listed.key).await?;
                return Ok((key, chosen));
            }
            if !matches!(chosen.kernel.insists, Insists::Language(_)) || listed.state.is_busy {
                return Err(SessionError::OtherKernel { name: key.name, had }.into());
            }
            self.close(&listed.key).await?;
            chosen.notes.push(RunNote::ReplacedKernel { had });
        }
        if wanted.helpers == Helpers::None && self.has_helpers(&key) {
            chosen.notes.push(RunNote::Helpers);
        }
        Ok((key, chosen))
    }

    /// Whether the kernel of a session was started with helpers. It keeps them for every later user.
    fn has_helpers(&self, key: &SessionKey) -> bool {
        self.registry().find(key).is_some_and(|session| {
            let state = session.state();
            let is_python = state.kernel.as_ref().is_none_or(KernelInfo::is_python);
            state.has_begun && is_python && state.prelude != Prelude::Off
        })
    }

    /// The key of the session a request means: that of the kernel that was chosen for it, or of one that is there
    /// and that its caller would not tell from it.
    pub fn key(
        &self,
        session: Option<&SessionName>,
        cwd: &Path,
        chosen: Option<&ChosenKernel>,
    ) -> SessionKey {
        // A folder that is not there is told by the launch.
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

    /// The only session of this name and folder, where its caller does not insist on another kernel.
    fn stand_in(&self, key: &SessionKey, insists: &Insists) -> Option<SessionKey> {
        let will_do = |listed: &Listed| match insists {
            Insists::Nothing => true,
            Insists::Kernel => false,
            // One that has no kernel at the moment says nothing of itself.
            Insists::Language(language) => match &listed.state.kernel {
                Some(kernel) => kernel.language.eq_ignore_ascii_case(language),
                None => listed.key.kernel == key.kernel,
            },
        };
        let is_same =
            |listed: &Listed| is_namesake(&listed.key, key) && is_somebodys(&listed.state);
        let all = self.sessions();
        let mut same = all.iter().filter(|listed| is_same(listed));
        match (same.next(), same.next()) {
            (Some(only), None) if will_do(only) => Some(only.key.clone()),
            // One that was let go of comes back as what it was.
            (None, _) if *insists == Insists::Nothing => self.registry().lost(&key.name, &key.cwd),
            _ => None,
        }
    }
}

/// Whether two keys are told apart by their kernels alone.
fn is_namesake(other: &SessionKey, key: &SessionKey) -> bool {
    other.name == key.name
        && other.cwd == key.cwd
        && (key.interpreter.is_none() || other.interpreter == key.interpreter)
}

/// Whether anybody has something to lose with a session. One whose kernel could never be started keeps no kind.
fn is_somebodys(state: &SessionState) -> bool {
    state.has_begun || state.is_busy || state.waiting > 0
}

/// The wish for the kernel that a session had.
fn as_before(key: &SessionKey, wanted: &Wanted) -> Wanted {
    let choice = |name: &KernelName| match Path::new(&name.0).is_absolute() {
        true => KernelChoice::Existing(name.0.clone().into()),
        false => KernelChoice::Named(name.clone()),
    };
    Wanted {
        interpreter: wanted.interpreter.clone(),
        backend: Some(key.backend),
        kernel: key.kernel.as_ref().map(choice),
        helpers: wanted.helpers,
    }
}

/// What a session has, in words.
fn shown(key: &SessionKey) -> String {
    match &key.kernel {
        Some(name) => format!("{name}, by {}", key.backend.name()),
        None => format!("Python, by {}", key.backend.name()),
    }
}
