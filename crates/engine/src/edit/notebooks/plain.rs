//! Changes files other than notebooks by the same rules: inside the roots, one writer at a time, completely or not at
//! all.
//!
//! Owns the order of these steps for bytes of any sort. It must not know what the bytes mean.

use std::path::{Path, PathBuf};

use super::{MAX_ATTEMPTS, Notebooks};
use crate::edit::change::FileEffect;
use crate::error::EngineError;
use crate::files::{
    Expect, FileNote, Force, Lock, Outcome, PathBase, Replacement, is_notebook_path,
};
use crate::types::Version;

/// The result of changing a file.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SavedBytes {
    /// Effect on the file.
    pub effect: FileEffect,
    /// True if the file did not exist.
    pub is_new: bool,
    /// Size of the new content.
    pub bytes: usize,
    /// The version of the new content, to give with the next change.
    pub version: Version,
    /// Further notes about the file.
    pub notes: Vec<FileNote>,
}

impl Notebooks {
    /// Starts relative paths in this folder.
    pub fn starting_at(&self, cwd: &Path) -> Notebooks {
        let mut config = self.config.clone();
        config.path_base = PathBase { cwd: cwd.to_owned(), ..config.path_base };
        Notebooks { config, ..self.clone() }
    }

    /// Also confines paths to these folders. It can only take permissions away.
    pub fn narrowed_to(&self, folders: &[PathBuf]) -> Notebooks {
        let mut config = self.config.clone();
        config.roots = config.roots.narrowed(folders);
        Notebooks { config, ..self.clone() }
    }

    /// Changes a file other than a notebook. `change` receives the content, `None` if the file does not exist. It runs
    /// again if another program changes the file meanwhile.
    pub fn change_bytes(
        &self,
        path: &str,
        mut change: impl FnMut(Option<&[u8]>) -> Result<Vec<u8>, EngineError>,
    ) -> Result<SavedBytes, EngineError> {
        let target = self.target(path)?;
        if target.path.to_str().is_some_and(is_notebook_path) {
            // The path is a link with another extension; bytes written there would not be checked.
            let problem = format!("{path} leads to a notebook; give the notebook's own path");
            return Err(EngineError::Argument { argument: "path".to_owned(), problem });
        }
        let mut lock = Lock::take(&target, &self.config.state_dir, self.config.lock_wait)?;
        for _ in 0..MAX_ATTEMPTS {
            let content = target.read(self.config.max_bytes)?;
            let old = content.as_ref().map(|content| content.bytes.as_slice());
            let new = change(old)?;
            let saved = SavedBytes {
                effect: if old == Some(&new) { FileEffect::Nothing } else { FileEffect::Written },
                is_new: old.is_none(),
                bytes: new.len(),
                version: Version::of(&new),
                notes: Vec::new(),
            };
            if saved.effect == FileEffect::Nothing {
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
