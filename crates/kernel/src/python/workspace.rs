//! Decides which programs belong to the workspace. Other people may have written them, so inkcell does not run them
//! until the user asks to run code (S-026).
//!
//! Owns the rule. It reads paths and starts nothing.

use std::path::{Path, PathBuf};

use super::files::Config;

/// The working folder, and the repository around it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Workspace {
    /// Absolute paths with all links followed.
    folders: Vec<PathBuf>,
}

impl Workspace {
    /// The workspace of this folder: the folder, and the whole repository that contains it. The root of the file system
    /// never counts as a workspace.
    pub fn around(cwd: &Path) -> Workspace {
        let root = cwd.ancestors().find(|folder| folder.join(".git").exists());
        let folders = [cwd].into_iter().chain(root).map(real);
        Workspace { folders: folders.filter(|folder| folder.parent().is_some()).collect() }
    }

    /// An empty workspace: inkcell may run every program.
    pub fn none() -> Workspace {
        Workspace::default()
    }

    /// Whether starting this program runs code of the workspace: the program itself, modules that its virtual
    /// environment makes every Python import at the start, or the Python that the environment was made from.
    pub fn holds(&self, program: &Path) -> bool {
        let named = match (program.parent(), program.file_name()) {
            (Some(folder), Some(name)) => real(folder).join(name),
            _ => program.to_owned(),
        };
        let home = Config::around(program).and_then(|config| config.home);
        let mut paths = [real(program), named].into_iter().chain(home.map(|home| real(&home)));
        paths.any(|path| self.folders.iter().any(|folder| path.starts_with(folder)))
    }

    /// True if the workspace contains no folder.
    pub(super) fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
