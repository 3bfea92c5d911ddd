//! What runs need of notebooks on disk.
//!
//! Owns what a run may do that an edit does not: look again at little cost, save without leaving a trace among
//! the versions that people have seen, and put in what a host that died had not saved.

use std::sync::Arc;

use inkcell_notebook::Notebook;
use rustix::fs::{Access, AtFlags};

use super::{Notebooks, Opened, Patience, must_be_notebook_path, not_a_notebook};
use crate::error::EngineError;
use crate::files::{Force, Metadata, Target};
use crate::run::recover;

impl Notebooks {
    /// The same notebooks, with what is noted about them in another folder.
    pub fn keeping_state_in(&self, folder: &std::path::Path) -> Notebooks {
        let mut notebooks = self.clone();
        notebooks.config.state_dir = folder.to_owned();
        notebooks
    }

    pub(crate) fn state_dir(&self) -> &std::path::Path {
        &self.config.state_dir
    }

    /// The file that a path means.
    pub(crate) fn absolute(&self, path: &str) -> std::path::PathBuf {
        self.config.path_base.absolute(path)
    }

    /// A notebook that was read before, as it is now.
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

    /// The same notebook in another file.
    pub(crate) fn copy(&self, from: &Opened, to: &str) -> Result<(), EngineError> {
        must_be_notebook_path(to)?;
        self.export(to, from, from.notebook.original_bytes())
    }

    /// Fails as a save would, before anything is run.
    pub(crate) fn must_be_writable(&self, path: &str) -> Result<(), EngineError> {
        let target = self.target(path)?;
        let missing = || EngineError::NotFound { what: "Notebook", path: path.to_owned() };
        target.must_be_writable(&target.look()?.ok_or_else(missing)?, Force::No)?;
        // The new content is put beside the old one first.
        let access = Access::WRITE_OK | Access::EXEC_OK;
        rustix::fs::accessat(target.dir(), ".", access, AtFlags::empty())
            .map_err(|error| target.io("make a temporary file beside it")(error.into()))
    }

    /// Puts in what a host that died had not saved; of how many cells. A notebook that cannot be written keeps
    /// it for another time.
    pub(super) fn recovered(&self, target: &Target, path: &str) -> Option<usize> {
        recover(self, target, path).unwrap_or_default()
    }
}
