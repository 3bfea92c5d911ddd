//! Operations on notebooks that runs need.
//!
//! Owns what a run may do and an edit may not: cheap repeated reads, saves that leave no trace among the versions that
//! callers have seen, and restoring outputs that a dead host had not saved.

use std::sync::Arc;

use inkcell_notebook::Notebook;
use rustix::fs::{Access, AtFlags};

use super::{Notebooks, OpenNotebook, Patience, must_be_notebook_path, not_a_notebook};
use crate::error::EngineError;
use crate::files::{Force, Metadata, Target};

/// Restores outputs that a dead host had not saved, and returns the number of cells. `run` installs it: editing does
/// not know how runs keep outputs.
pub(crate) type Recover = fn(&Notebooks, &Target, &str) -> Result<Option<usize>, EngineError>;

impl Notebooks {
    /// Keeps locks and records in another folder.
    pub fn keeping_state_in(&self, folder: &std::path::Path) -> Notebooks {
        let mut notebooks = self.clone();
        notebooks.config.state_dir = folder.to_owned();
        notebooks
    }

    pub(crate) fn state_dir(&self) -> &std::path::Path {
        &self.config.state_dir
    }

    /// The absolute path that `path` means.
    pub(crate) fn absolute(&self, path: &str) -> std::path::PathBuf {
        self.config.path_base.absolute(path)
    }

    /// Reads a known notebook again.
    pub(crate) fn read_again(&self, target: &Target) -> Result<(Notebook, Metadata), EngineError> {
        let path = &target.shown;
        let missing = || EngineError::NotFound { what: "Notebook", path: path.clone() };
        let mut patience = Patience::new(self.pause);
        loop {
            let content = target.read(self.config.max_bytes)?.ok_or_else(missing)?;
            match Notebook::parse_shared(Arc::new(content.bytes)) {
                Ok(notebook) => return Ok((notebook, content.metadata)),
                Err(error) if patience.waits_for(&error, &content.metadata) => {}
                Err(error) => return Err(not_a_notebook(path, error)),
            }
        }
    }

    /// Copies the notebook to another file.
    pub(crate) fn copy(&self, from: &OpenNotebook, to: &str) -> Result<(), EngineError> {
        must_be_notebook_path(to)?;
        self.export(to, from, from.notebook.original_bytes())
    }

    /// Fails as a save would, before any cell runs.
    pub(crate) fn must_be_writable(&self, path: &str) -> Result<(), EngineError> {
        let target = self.target(path)?;
        let missing = || EngineError::NotFound { what: "Notebook", path: path.to_owned() };
        target.must_be_writable(&target.examine()?.ok_or_else(missing)?, Force::No)?;
        // A save first writes the new content beside the old one.
        let access = Access::WRITE_OK | Access::EXEC_OK;
        rustix::fs::accessat(target.dir(), ".", access, AtFlags::empty())
            .map_err(|error| target.io("make a temporary file beside it")(error.into()))
    }

    /// Restores outputs that a dead host had not saved, and returns the number of cells. If the notebook cannot be
    /// written, the outputs are kept for later.
    pub(super) fn recovered(&self, target: &Target, path: &str) -> Option<usize> {
        (self.recover)(self, target, path).unwrap_or_default()
    }
}
