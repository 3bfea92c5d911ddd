//! The programs that can use inkcell's tools: where each looks for its servers, and the entry that it expects
//! there.
//!
//! Owns these facts, one row a program. It must not know how a file is written.

use std::path::{Path, PathBuf};

use super::{Entry, Field, Format, Hold, Server, Value};
use crate::words;

/// The time limit of a call in seconds, for clients that need one: a little more than code may take.
const CALL_SECONDS: u32 = 660;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Client {
    ClaudeCode,
    Cursor,
    VsCode,
    Codex,
    Zed,
    Goose,
}

/// Who gets the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    /// This user, in every folder.
    User,
    /// Everyone who works in this project.
    Project,
}

impl Scope {
    pub(crate) fn argument(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
        }
    }
}

/// The places where clients look, as their variables say.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Places {
    /// The folder of the project.
    pub(crate) project: PathBuf,
    pub(crate) home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, or its default.
    pub(crate) config: Option<PathBuf>,
    /// The value of `CLAUDE_CONFIG_DIR`, a folder.
    pub(crate) claude: Option<PathBuf>,
    /// The value of `CODEX_HOME`, a folder.
    pub(crate) codex: Option<PathBuf>,
    /// The value of `VSCODE_PORTABLE`, a folder.
    pub(crate) vscode_portable: Option<PathBuf>,
    /// The value of `VSCODE_APPDATA`, a folder.
    pub(crate) vscode_data: Option<PathBuf>,
    /// The value of `FLATPAK_XDG_CONFIG_HOME`, a folder.
    pub(crate) flatpak_config: Option<PathBuf>,
    /// The value of `GOOSE_PATH_ROOT`, a folder.
    pub(crate) goose: Option<PathBuf>,
}

/// The reason why a client has no file for an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoPlace {
    /// The home folder of the user is unknown.
    NoHome,
    /// The client has no file for one project.
    NoProjectFile,
}

impl Client {
    /// Its name as an argument of the command.
    pub(crate) fn argument(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude-code",
            Client::Cursor => "cursor",
            Client::VsCode => "vscode",
            Client::Codex => "codex",
            Client::Zed => "zed",
            Client::Goose => "goose",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Client::ClaudeCode => "Claude Code",
            Client::Cursor => "Cursor",
            Client::VsCode => "VS Code",
            Client::Codex => "Codex",
            Client::Zed => "Zed",
            Client::Goose => "Goose",
        }
    }

    pub(crate) fn format(self) -> Format {
        match self {
            Client::ClaudeCode => Format::Json,
            Client::Cursor | Client::VsCode | Client::Zed => Format::JsonWithComments,
            Client::Codex => Format::Toml,
            Client::Goose => Format::Yaml,
        }
    }

    /// The configuration file that the client reads.
    pub(crate) fn file(self, scope: Scope, places: &Places) -> Result<PathBuf, NoPlace> {
        let Places { project, home, config, .. } = places;
        let home = || home.as_deref().ok_or(NoPlace::NoHome);
        let config = || config.as_deref().ok_or(NoPlace::NoHome);
        let or_home = |set: &Option<PathBuf>, usual: &str| -> Result<PathBuf, NoPlace> {
            set.clone().map_or_else(|| Ok(home()?.join(usual)), Ok)
        };
        Ok(match (self, scope) {
            (Client::ClaudeCode, Scope::User) => or_home(&places.claude, "")?.join(".claude.json"),
            (Client::ClaudeCode, Scope::Project) => project.join(".mcp.json"),
            (Client::Cursor, Scope::User) => home()?.join(".cursor/mcp.json"),
            (Client::Cursor, Scope::Project) => project.join(".cursor/mcp.json"),
            (Client::VsCode, Scope::User) => vscode(places)?.join("User/mcp.json"),
            (Client::VsCode, Scope::Project) => project.join(".vscode/mcp.json"),
            (Client::Codex, Scope::User) => or_home(&places.codex, ".codex")?.join("config.toml"),
            (Client::Codex, Scope::Project) => project.join(".codex/config.toml"),
            (Client::Zed, Scope::User) => {
                let base = places.flatpak_config.as_deref().map_or_else(config, Ok)?;
                base.join("zed/settings.json")
            }
            (Client::Zed, Scope::Project) => project.join(".zed/settings.json"),
            (Client::Goose, Scope::User) => match &places.goose {
                Some(root) => root.join("config/config.yaml"),
                None => config()?.join("goose/config.yaml"),
            },
            (Client::Goose, Scope::Project) => return Err(NoPlace::NoProjectFile),
        })
    }

    /// The entry that its file must hold.
    pub(crate) fn entry(self, server: &Server) -> Entry {
        let always = |key, value| Field { key, value, hold: Hold::Always };
        let when_new = |key, value| Field { key, value, hold: Hold::WhenNew };
        let command = |key| always(key, Value::Text(server.command.clone()));
        let args = always("args", Value::Texts(server.args.clone()));
        let stdio = || always("type", Value::Text("stdio".to_owned()));
        let (table, fields) = match self {
            Client::ClaudeCode | Client::Cursor => {
                ("mcpServers", vec![stdio(), command("command"), args])
            }
            Client::VsCode => ("servers", vec![stdio(), command("command"), args]),
            // Its default limit for an answer is a minute, and a cell may take longer.
            Client::Codex => {
                let wait = when_new("tool_timeout_sec", Value::Number(CALL_SECONDS));
                ("mcp_servers", vec![command("command"), args, wait])
            }
            Client::Zed => ("context_servers", vec![command("command"), args]),
            Client::Goose => {
                let about = words::setup::ABOUT;
                let fields = vec![
                    when_new("enabled", Value::Switch(true)),
                    stdio(),
                    when_new("name", Value::Text(server.name.clone())),
                    when_new("description", Value::Text(about.to_owned())),
                    command("cmd"),
                    args,
                    when_new("timeout", Value::Number(CALL_SECONDS)),
                ];
                ("extensions", fields)
            }
        };
        Entry { table, name: server.name.clone(), fields }
    }

    /// The client's own command with the same effect.
    pub(crate) fn own_command(self, scope: Scope, server: &Server) -> Option<String> {
        let Server { name, command, args } = server;
        let words: Vec<String> =
            std::iter::once(command).chain(args).map(|word| quoted(word)).collect();
        let run = words.join(" ");
        match (self, scope) {
            (Client::ClaudeCode, scope) => {
                Some(format!("claude mcp add --scope {} {name} -- {run}", scope.argument()))
            }
            (Client::Codex, Scope::User) => Some(format!("codex mcp add {name} -- {run}")),
            (Client::VsCode, Scope::User) => {
                let server =
                    serde_json::json!({"name": name, "command": command, "args": args}).to_string();
                Some(format!("code --add-mcp {}", quoted(&server)))
            }
            _ => None,
        }
    }

    /// How to check that it worked.
    pub(crate) fn next_step(self, scope: Scope) -> &'static str {
        match (self, scope) {
            (Client::ClaudeCode, Scope::User) => words::setup::CLAUDE_CODE,
            (Client::ClaudeCode, Scope::Project) => words::setup::CLAUDE_CODE_HERE,
            (Client::Cursor, _) => words::setup::CURSOR,
            (Client::VsCode, _) => words::setup::VSCODE,
            (Client::Codex, Scope::User) => words::setup::CODEX,
            (Client::Codex, Scope::Project) => words::setup::CODEX_HERE,
            (Client::Zed, Scope::User) => words::setup::ZED,
            (Client::Zed, Scope::Project) => words::setup::ZED_HERE,
            (Client::Goose, _) => words::setup::GOOSE,
        }
    }
}

/// The folder for the data of VS Code.
fn vscode(places: &Places) -> Result<PathBuf, NoPlace> {
    if let Some(portable) = &places.vscode_portable {
        return Ok(portable.join("user-data"));
    }
    if let Some(data) = &places.vscode_data {
        return Ok(data.join("Code"));
    }
    if cfg!(target_os = "macos") {
        let home: &Path = places.home.as_deref().ok_or(NoPlace::NoHome)?;
        return Ok(home.join("Library/Application Support/Code"));
    }
    places.config.as_deref().map(|config| config.join("Code")).ok_or(NoPlace::NoHome)
}

/// A word, quoted for a shell if necessary.
pub(crate) fn quoted(word: &str) -> String {
    let is_safe = |any: char| any.is_ascii_alphanumeric() || "/._-+=:,@%".contains(any);
    if !word.is_empty() && word.chars().all(is_safe) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
