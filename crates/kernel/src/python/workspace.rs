//! Which programs belong to the folder that somebody works in: whoever filled it wrote them, so they are not run before
//! somebody asks for code to be run (S-026).
//!
//! Owns the rule. It looks at paths and starts nothing.

use std::path::{Path, PathBuf};

use super::files::Config;

/// The folder of somebody's work, and the checkout it is in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Workspace {
    /// Behind all links.
    folders: Vec<PathBuf>,
}

impl Workspace {
    /// The workspace of whoever works in this folder: the folder, and all of the repository that it is a part of. Whoever
    /// is started in the root of the machine works nowhere yet.
    pub fn around(cwd: &Path) -> Workspace {
        let root = cwd.ancestors().find(|folder| folder.join(".git").exists());
        let folders = [cwd].into_iter().chain(root).map(real);
        Workspace { folders: folders.filter(|folder| folder.parent().is_some()).collect() }
    }

    /// Nothing is in it: whoever looks may run what they find.
    pub fn none() -> Workspace {
        Workspace::default()
    }

    /// Whether to start this program is to run something of the workspace: the program itself, or what the virtual
    /// environment around it has every Python import at its start.
    pub fn holds(&self, program: &Path) -> bool {
        let named = match (program.parent(), program.file_name()) {
            (Some(folder), Some(name)) => real(folder).join(name),
            _ => program.to_owned(),
        };
        let home = Config::around(program).and_then(|config| config.home);
        let mut paths = [real(program), named].into_iter().chain(home.map(|home| real(&home)));
        paths.any(|path| self.folders.iter().any(|folder| path.starts_with(folder)))
    }

    /// Whether nothing is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
