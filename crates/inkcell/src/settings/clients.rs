//! What the variables of other programs say about where those look for their configuration.
//!
//! Owns their names. What is done with the places is for `setup`.

use super::Settings;
use crate::setup::Places;

impl Settings {
    /// Where the programs that can use inkcell's tools look.
    pub(crate) fn client_places(&self) -> Places {
        let absolute = |name| self.surroundings.path(name).filter(|folder| folder.is_absolute());
        // These mean what they mean to the program, which is started in the same folder as often as not.
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
}
