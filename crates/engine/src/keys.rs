//! Which session a request means: what tells sessions apart, and which one may stand in for another.
//!
//! Owns the way from a name, a folder and a kernel to a key. Finding and making sessions is the registry's.

use std::path::Path;

use crate::engine::Engine;
use crate::kernels::{ChosenKernel, Insists};
use crate::registry::{Listed, SessionKey, SessionName};

impl Engine {
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
            name: session.cloned().unwrap_or_else(|| SessionName("default".to_owned())),
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
        let is_same = |listed: &Listed| {
            let other = &listed.key;
            other.name == key.name
                && other.cwd == key.cwd
                && (key.interpreter.is_none() || other.interpreter == key.interpreter)
        };
        let all = self.sessions();
        let mut same = all.iter().filter(|listed| is_same(listed));
        match (same.next(), same.next()) {
            (Some(only), None) if will_do(only) => Some(only.key.clone()),
            _ => None,
        }
    }
}
