//! The variables that tell other programs where their configuration is.
//!
//! Owns their names. `setup` uses the places, and the folders of the programs that start inkcell.

use std::path::{Path, PathBuf};

use super::Settings;
use crate::setup::Places;

impl Settings {
    /// The places where programs that can use inkcell's tools look for their configuration.
    pub(crate) fn client_places(&self) -> Places {
        let absolute = |name| self.surroundings.path(name).filter(|folder| folder.is_absolute());
        // A relative path counts from the working folder, as for the program itself, which is often started there.
        let anywhere = |name| self.surroundings.path(name).map(|folder| self.cwd.join(folder));
        let home = self.home.clone();
        let usual = home.as_ref().map(|home| home.join(".config"));
        Places {
            project: self.cwd.clone(),
            config: absolute("XDG_CONFIG_HOME").or(usual),
            claude: anywhere("CLAUDE_CONFIG_DIR"),
            codex: anywhere("CODEX_HOME"),
            vscode_portable: anywhere("VSCODE_PORTABLE"),
            vscode_data: anywhere("VSCODE_APPDATA"),
            flatpak_config: absolute("FLATPAK_XDG_CONFIG_HOME"),
            goose: absolute("GOOSE_PATH_ROOT"),
            home,
        }
    }

    /// The folders of `uvx` and `npx`, if one of them started this process: uv tells its own path, and npm that of
    /// Node, beside which it is installed.
    pub(crate) fn launcher_folders(&self) -> Vec<PathBuf> {
        let told = ["UV", "npm_node_execpath"].map(|name| self.surroundings.path(name));
        let folders = told.iter().flatten().filter_map(|program| program.parent());
        folders.filter(|folder| folder.is_absolute()).map(Path::to_owned).collect()
    }
}
