//! Files that are no notebooks, changed by the rules that hold for notebooks: inside the roots, one writer at a
//! time, whole or not at all.
//!
//! Owns the order of these steps for bytes of any sort. It must not know what the bytes mean.

use std::path::{Path, PathBuf};

use super::{MAX_ATTEMPTS, Notebooks};
use crate::change::Effect;
use crate::error::EngineError;
use crate::files::{
    Expect, FileNote, Force, Lock, Outcome, PathBase, Replacement, Version, is_notebook_path,
};

/// What became of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SavedBytes {
    /// What became of the change.
    pub effect: Effect,
    /// Whether there was no file before.
    pub is_new: bool,
    /// How many bytes it has now.
    pub bytes: usize,
    /// Their version.
    pub version: Version,
    /// What else there is to say about the file.
    pub notes: Vec<FileNote>,
}

impl Notebooks {
    /// The same, with relative paths that begin in this folder.
    pub fn starting_at(&self, cwd: &Path) -> Notebooks {
        let mut config = self.config.clone();
        config.path_base = PathBase { cwd: cwd.to_owned(), ..config.path_base };
        Notebooks { config, ..self.clone() }
    }

    /// The same, for paths that also stay in one of these folders. Nothing is allowed that was not before.
    pub fn narrowed_to(&self, folders: &[PathBuf]) -> Notebooks {
        let mut config = self.config.clone();
        config.roots = config.roots.narrowed(folders);
        Notebooks { config, ..self.clone() }
    }

    /// Changes a file that is no notebook. `change` is called with what the file holds, `None` where there is
    /// none, and again when somebody else changed it meanwhile.
    pub fn change_bytes(
        &self,
        path: &str,
        mut change: impl FnMut(Option<&[u8]>) -> Result<Vec<u8>, EngineError>,
    ) -> Result<SavedBytes, EngineError> {
        let target = self.target(path)?;
        if target.path.to_str().is_some_and(is_notebook_path) {
            // A link whose name does not say so; bytes put there would not be checked.
            let problem = format!("{path} leads to a notebook; give the notebook's own path");
            return Err(EngineError::Argument { argument: "path".to_owned(), problem });
        }
        let mut lock = Lock::take(&target, &self.config.state_dir, self.config.lock_wait)?;
        for _ in 0..MAX_ATTEMPTS {
            let content = target.read(self.config.max_bytes)?;
            let old = content.as_ref().map(|content| content.bytes.as_slice());
            let new = change(old)?;
            let saved = SavedBytes {
                effect: if old == Some(&new) { Effect::Nothing } else { Effect::Written },
                is_new: old.is_none(),
                bytes: new.len(),
                version: Version::of(&new),
                notes: Vec::new(),
            };
            if saved.effect == Effect::Nothing {
                return Ok(saved);
            }
            let expect = match &content {
                Some(content) => Expect::Read(&content.metadata, &content.bytes),
                None => Expect::Nothing,
            };
            let (chunks, random) = (&[new.as_slice()], (self.config.random)());
            let new = Replacement { chunks, expect, force: Force::No, random };
            if let Outcome::Replaced(notes) = target.replace(&mut lock, &new)? {
                return Ok(SavedBytes { notes, ..saved });
            }
        }
        Err(EngineError::KeepsChanging { path: path.to_owned() })
    }
}
