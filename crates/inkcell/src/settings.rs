//! What the process environment and the settings files say, read once and made into configurations.
//!
//! Owns every look at an environment variable. The parts: `table` (which settings there are), `value` (what
//! each may be), `file` (the two files), `resolve` (which source counts).

use std::path::{Path, PathBuf};
use std::time::Duration;

use inkcell_engine::kernel::{EnvMode, Ladder, ParentEnv, Pattern, Prelude, ProjectModules, Shell};
use inkcell_engine::notebook::MarkerIds;
use inkcell_engine::{FilesConfig, Notebooks, PathBase, Roots, system_random};

use crate::exit::Failure;

mod file;
mod resolve;
mod table;
mod value;

pub(crate) use resolve::{Resolved, Setting, Source, anchored};
pub(crate) use table::{Key, ProjectFile};
pub(crate) use value::Value;

use file::{FileError, Owner, Said};

/// How long an edit waits for another one of the same file.
const LOCK_WAIT: Duration = Duration::from_secs(10);

pub(crate) struct Settings {
    pub(crate) notebooks: Notebooks,
    pub(crate) marker_ids: MarkerIds,
    /// The folder inkcell was started in.
    pub(crate) cwd: PathBuf,
    pub(crate) home: Option<PathBuf>,
    pub(crate) state_dir: PathBuf,
    /// Every value with its source.
    pub(crate) resolved: Resolved,
    /// The user's file, and the project's when there is one, in the order in which they count.
    pub(crate) files: Vec<PathBuf>,
    /// Sentences about what a file says and is not heard.
    pub(crate) warnings: Vec<String>,
}

/// The settings of a kernel, as the kernel's own types.
pub(crate) struct PythonSettings {
    pub(crate) interpreter: Option<String>,
    pub(crate) shell: Shell,
    pub(crate) prelude: Prelude,
    pub(crate) project_modules: ProjectModules,
    pub(crate) start_timeout: Duration,
    pub(crate) ladder: Ladder,
    pub(crate) env_mode: EnvMode,
    pub(crate) env_pass: Vec<Pattern>,
}

impl Settings {
    /// `works_in` is the folder whose project counts when it is not the one inkcell was started in.
    pub(crate) fn from_process(
        roots: &[PathBuf],
        works_in: Option<&Path>,
    ) -> Result<Settings, Failure> {
        // A folder that was removed under us is told when a relative path is used, not before.
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let path_base = PathBase { cwd: cwd.clone(), home: variable_path("HOME") };
        let home = path_base.home.clone();
        let files =
            settings_files(&works_in.map_or(cwd.clone(), |folder| cwd.join(folder)), &home)?;
        for name in table::TABLE.iter().flat_map(table::Row::variables) {
            if std::env::var_os(&name).is_some_and(|value| value.to_str().is_none()) {
                return Err(Failure::argument(
                    &name,
                    "is not UTF-8 text; set it again, or unset it",
                ));
            }
        }
        let resolved = Resolved::new(&|name| std::env::var(name).ok(), &files)?;
        let state_dir = state_dir(&resolved.get(Key::StateDir).value, &cwd, home.as_deref());
        let config = FilesConfig {
            state_dir: state_dir.clone(),
            max_bytes: match resolved.get(Key::NotebookMaxBytes).value {
                Value::Bytes(size) => size,
                _ => u64::MAX,
            },
            roots: match roots {
                [] => Roots::Anywhere,
                some => Roots::Only(some.iter().map(|root| cwd.join(root)).collect()),
            },
            path_base,
            lock_wait: LOCK_WAIT,
            random: system_random,
        };
        let marker_ids = match resolved.get(Key::NotebookTextIds).value {
            Value::Choice("off") => MarkerIds::Off,
            _ => MarkerIds::Auto,
        };
        let (files, said): (Vec<PathBuf>, Vec<Said>) = files.into_iter().unzip();
        let warnings = said.into_iter().flat_map(|said| said.warnings).collect();
        let notebooks = Notebooks::new(config);
        Ok(Settings { notebooks, marker_ids, cwd, home, state_dir, resolved, files, warnings })
    }

    /// What is set for kernels.
    pub(crate) fn python(&self) -> PythonSettings {
        let word = |key| match self.resolved.get(key).value {
            Value::Choice(word) => word,
            _ => "",
        };
        let time = |key, usual| match self.resolved.get(key).value {
            Value::Seconds(time) => time,
            _ => usual,
        };
        let list = |key| match &self.resolved.get(key).value {
            Value::List(words) => words.clone(),
            _ => Vec::new(),
        };
        let patterns = list(Key::EnvPass).into_iter();
        PythonSettings {
            interpreter: self.interpreter(),
            shell: match word(Key::PythonShell) {
                "ipython" => Shell::IPython,
                _ => Shell::Lite,
            },
            prelude: match word(Key::PythonPrelude) {
                "minimal" => Prelude::Minimal,
                "off" => Prelude::Off,
                _ => Prelude::Full,
            },
            project_modules: match word(Key::PythonProjectModules) {
                "off" => ProjectModules::Off,
                _ => ProjectModules::On,
            },
            start_timeout: time(Key::PythonStartTimeout, Duration::from_secs(30)),
            ladder: Ladder::new(time(Key::KernelInterruptGrace, Ladder::GRACE)),
            env_mode: match word(Key::EnvMode) {
                "filtered" => EnvMode::Filtered,
                _ => EnvMode::Inherit,
            },
            // They were read once already, when the setting was.
            env_pass: patterns.filter_map(|pattern| pattern.parse().ok()).collect(),
        }
    }

    /// The interpreter that is set. A relative one in a project's file begins at the project's folder.
    fn interpreter(&self) -> Option<String> {
        let Setting { value: Value::Text(given), source } =
            self.resolved.get(Key::PythonInterpreter)
        else {
            return None;
        };
        let base = match source {
            Source::File(path) if path.ends_with(file::PROJECT_FILE) => file::project_folder(path),
            _ => &self.cwd,
        };
        Some(anchored(given, base))
    }

    /// The environment this process was started with.
    pub(crate) fn parent_env(&self) -> ParentEnv {
        ParentEnv::from_os(std::env::vars_os())
    }

    /// Whether a terminal may be given colours.
    pub(crate) fn may_colour(&self) -> bool {
        std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
    }
}

/// What the files say, the project's first.
fn settings_files(
    works_in: &Path,
    home: &Option<PathBuf>,
) -> Result<Vec<(PathBuf, Said)>, Failure> {
    let failed = |FileError { place, problem }| Failure::argument(&place, problem);
    let mut found = Vec::new();
    if let Some(path) = file::project_file(works_in)
        && let Some(text) = file::read(&path, Owner::Project).map_err(failed)?
    {
        let said = file::parse(&path, &text, Owner::Project).map_err(failed)?;
        found.push((path, said));
    }
    if let Some(path) = variable_path("INKCELL_CONFIG") {
        let Some(text) = file::read(&path, Owner::User).map_err(failed)? else {
            let problem = format!("names {}, which is not there", path.display());
            return Err(Failure::argument("INKCELL_CONFIG", problem));
        };
        let said = file::parse(&path, &text, Owner::User).map_err(failed)?;
        found.push((path, said));
    } else if let Some(path) = usual_user_file(home)
        && let Some(text) = file::read(&path, Owner::User).map_err(failed)?
    {
        let said = file::parse(&path, &text, Owner::User).map_err(failed)?;
        found.push((path, said));
    }
    Ok(found)
}

fn usual_user_file(home: &Option<PathBuf>) -> Option<PathBuf> {
    let xdg = variable_path("XDG_CONFIG_HOME").filter(|dir| dir.is_absolute());
    let base = xdg.or_else(|| home.as_ref().map(|home| home.join(".config")))?;
    Some(base.join("inkcell/config.toml"))
}

fn variable_path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Where locks and records live: as told, else as XDG says, else a private folder for temporary files.
/// A folder that was not chosen by hand and cannot be made is no reason to fail.
fn state_dir(told: &Value, cwd: &Path, home: Option<&Path>) -> PathBuf {
    if let Value::Text(dir) = told {
        let expanded = dir.strip_prefix("~/").and_then(|rest| home.map(|home| home.join(rest)));
        return expanded.unwrap_or_else(|| cwd.join(dir));
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
