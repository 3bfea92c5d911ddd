//! What the process environment says, read once and made into the engine's configuration.
//!
//! Owns every look at an environment variable. Names begin with `INKCELL_`; the `PI_` spelling of the
//! source documents is taken where ours is not set.

use std::path::{Path, PathBuf};
use std::time::Duration;

use inkcell_engine::notebook::MarkerIds;
use inkcell_engine::{FilesConfig, Notebooks, PathBase, Roots, system_random};

use crate::exit::Failure;

/// The largest notebook that is read when nothing else is said: 2 GiB.
const MAX_BYTES: u64 = 2 << 30;

/// How long an edit waits for another one of the same file.
const LOCK_WAIT: Duration = Duration::from_secs(10);

pub(crate) struct Settings {
    pub(crate) notebooks: Notebooks,
    pub(crate) marker_ids: MarkerIds,
}

impl Settings {
    pub(crate) fn from_process(roots: &[PathBuf]) -> Result<Settings, Failure> {
        // A folder that was removed under us is told when a relative path is used, not before.
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let path_base = PathBase { cwd, home: variable_path("HOME") };
        let config = FilesConfig {
            state_dir: state_dir(&path_base.cwd, path_base.home.as_deref()),
            max_bytes: max_bytes()?,
            roots: match roots {
                [] => Roots::Anywhere,
                some => Roots::Only(some.iter().map(|root| path_base.cwd.join(root)).collect()),
            },
            path_base,
            lock_wait: LOCK_WAIT,
            random: system_random,
        };
        let marker_ids = match variable("TEXT_IDS").as_deref() {
            None | Some("auto") => MarkerIds::Auto,
            Some("off") => MarkerIds::Off,
            Some(other) => {
                let problem = format!("is {other:?}; it is auto or off");
                return Err(Failure::argument("INKCELL_TEXT_IDS", problem));
            }
        };
        Ok(Settings { notebooks: Notebooks::new(config), marker_ids })
    }
}

fn variable(name: &str) -> Option<String> {
    ["INKCELL_", "PI_"].iter().find_map(|prefix| std::env::var(format!("{prefix}{name}")).ok())
}

fn variable_path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn max_bytes() -> Result<u64, Failure> {
    let Some(given) = variable("NOTEBOOK_MAX_BYTES") else { return Ok(MAX_BYTES) };
    given.parse().map_err(|_| {
        let problem = format!("is {given:?}; it is a number of bytes, such as {MAX_BYTES}");
        Failure::argument("INKCELL_NOTEBOOK_MAX_BYTES", problem)
    })
}

/// Where locks and records live: as told, else as XDG says, else a private folder for temporary files.
/// A folder that was not chosen by hand and cannot be made is no reason to fail.
fn state_dir(cwd: &Path, home: Option<&Path>) -> PathBuf {
    if let Some(dir) = variable("STATE_DIR").filter(|dir| !dir.is_empty()) {
        return cwd.join(dir);
    }
    let xdg = variable_path("XDG_STATE_HOME").filter(|dir| dir.is_absolute());
    let usual = xdg.or_else(|| home.map(|home| home.join(".local/state")));
    match usual.map(|base| base.join("inkcell")) {
        Some(dir) if dir.is_dir() || std::fs::create_dir_all(&dir).is_ok() => dir,
        _ => {
            let user = rustix::process::geteuid().as_raw();
            std::env::temp_dir().join(format!("inkcell-{user}"))
        }
    }
}
