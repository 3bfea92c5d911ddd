//! The process environment and the settings files, read once and made into configurations.
//!
//! Owns the meaning of every environment variable; `surroundings` reads them. The parts: `table` (the list of
//! settings), `value` (the allowed values), `file` (the two files), `variables` (the names), `resolve` (which
//! source counts), `read` (values as types), `engine` (the configuration of an engine), `calls` (the defaults of
//! calls), `clients` (where agents' programs look).

use std::fs::{DirEntry, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use inkcell_engine::kernel::{
    EnvMode, EnvPattern, KernelspecSearch, Ladder, ParentEnv, Prelude, ProjectModules, Shell,
    make_private_folder,
};
use inkcell_engine::notebook::MarkerIds;
use inkcell_engine::{FilesConfig, Notebooks, PathBase, Roots, system_random};

use crate::exit::Failure;
use crate::words;

mod calls;
mod clients;
mod engine;
mod file;
mod kernel_files;
mod read;
mod resolve;
mod runtime_folder;
mod surroundings;
mod table;
mod value;
mod variables;

#[allow(unused_imports, reason = "commands that run code are about to use them")]
pub(crate) use calls::{CallSettings, GatewaySettings, Images, LogSettings, ToolMode, TraceSwitch};
pub(crate) use engine::{
    artifacts_config, engine_config, kernel_pool, output_bytes, runner_config, size_policy,
};
pub(crate) use resolve::{ResolvedSettings, Setting, Source, anchored};
pub(crate) use runtime_folder::RuntimeFolder;
pub(crate) use surroundings::Surroundings;
pub(crate) use table::{Key, Profile, ProjectFile, Row};
pub(crate) use value::Value;
#[cfg(test)]
pub(crate) use value::{Address, Secret};

use file::{FileError, FileSettings, Owner};
use kernel_files::KernelFiles;
use read::SettingsReader;

/// How long an edit waits for another edit of the same file.
const LOCK_WAIT: Duration = Duration::from_secs(10);

pub(crate) struct Settings {
    pub(crate) notebooks: Notebooks,
    pub(crate) marker_ids: MarkerIds,
    /// The source of all these values.
    pub(crate) surroundings: Surroundings,
    /// The folder in which inkcell was started.
    pub(crate) cwd: PathBuf,
    pub(crate) home: Option<PathBuf>,
    pub(crate) state_dir: PathBuf,
    /// Every value with its source.
    pub(crate) resolved: ResolvedSettings,
    /// The user's file, and the project's if it exists, in their order of precedence.
    pub(crate) files: Vec<PathBuf>,
    /// Warnings about parts of a file that have no effect.
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
    pub(crate) env_pass: Vec<EnvPattern>,
}

impl Settings {
    pub(crate) fn of(surroundings: Surroundings) -> Result<Settings, Failure> {
        let cwd = surroundings.cwd.clone();
        let path_base = PathBase { cwd: cwd.clone(), home: surroundings.path("HOME") };
        let home = path_base.home.clone();
        let works_in = surroundings.works_in.as_ref();
        let files = settings_files(
            &works_in.map_or(cwd.clone(), |folder| cwd.join(folder)),
            &home,
            &surroundings,
        )?;
        for name in variables::known() {
            if surroundings.get(&name).is_some_and(|value| value.to_str().is_none()) {
                return Err(Failure::argument(&name, words::setting::VARIABLE_NOT_TEXT));
            }
        }
        let variable = |name: &str| surroundings.get(name)?.to_str().map(str::to_owned);
        let resolved = ResolvedSettings::new(&variable, &files)?;
        let told = &resolved.get(Key::StateDir).value;
        let state_dir = state_dir(told, &cwd, home.as_deref(), &surroundings);
        let config = FilesConfig {
            state_dir: state_dir.clone(),
            max_bytes: match resolved.get(Key::NotebookMaxBytes).value {
                Value::Bytes(size) => size,
                _ => u64::MAX,
            },
            roots: roots_of(&surroundings.roots, &resolved, &cwd, home.as_deref()),
            path_base,
            lock_wait: LOCK_WAIT,
            random: system_random,
        };
        let marker_ids = match resolved.get(Key::NotebookTextIds).value {
            Value::Choice("off") => MarkerIds::Off,
            _ => MarkerIds::Auto,
        };
        let (files, said): (Vec<PathBuf>, Vec<FileSettings>) = files.into_iter().unzip();
        let mut warnings = variables::misspelt(surroundings.names());
        warnings.extend(said.into_iter().flat_map(|said| said.warnings));
        let notebooks = Notebooks::new(config);
        let mut settings = Settings {
            notebooks,
            marker_ids,
            surroundings,
            cwd,
            home,
            state_dir,
            resolved,
            files,
            warnings,
        };
        let kernels = Arc::new(settings.kernel_files());
        settings.notebooks = settings.notebooks.making(kernels);
        Ok(settings)
    }

    /// The settings for the kernels of a command.
    pub(crate) fn python(&self) -> PythonSettings {
        self.python_in(Profile::CommandLine)
    }

    /// The settings for kernels, in this profile.
    pub(crate) fn python_in(&self, profile: Profile) -> PythonSettings {
        let read = SettingsReader { resolved: &self.resolved, profile };
        let patterns = read.list(Key::EnvPass).into_iter();
        PythonSettings {
            interpreter: self.interpreter(),
            shell: match read.choice(Key::PythonShell) {
                "ipython" => Shell::IPython,
                _ => Shell::Lite,
            },
            prelude: match read.choice(Key::PythonPrelude) {
                "minimal" => Prelude::Minimal,
                "off" => Prelude::Off,
                _ => Prelude::Full,
            },
            project_modules: match read.choice(Key::PythonProjectModules) {
                "off" => ProjectModules::Off,
                _ => ProjectModules::On,
            },
            start_timeout: read.time(Key::PythonStartTimeout).unwrap_or(Duration::from_secs(30)),
            ladder: Ladder::new(read.time(Key::KernelInterruptGrace).unwrap_or(Ladder::GRACE)),
            env_mode: match read.choice(Key::EnvMode) {
                "inherit" => EnvMode::Inherit,
                _ => EnvMode::Filtered,
            },
            // The setting accepted only valid patterns, so none is lost here.
            env_pass: patterns.filter_map(|pattern| pattern.parse().ok()).collect(),
        }
    }

    /// The interpreter that is set for the folder in which inkcell works.
    fn interpreter(&self) -> Option<String> {
        self.interpreter_of(self.resolved.get(Key::PythonInterpreter))
    }

    /// A relative path in a project's file begins at the project's folder.
    fn interpreter_of(&self, setting: &Setting) -> Option<String> {
        let Setting { value: Value::Text(given), source } = setting else { return None };
        Some(anchored(given, source.project().unwrap_or(&self.cwd)))
    }

    /// The places to look up the kernels of new notebooks.
    fn kernel_files(&self) -> KernelFiles {
        KernelFiles {
            interpreter: self.interpreter(),
            home: self.home.clone(),
            state: self.state_dir.clone(),
            env: self.parent_env(),
            program: self.surroundings.program.clone(),
            system: KernelspecSearch::SYSTEM.iter().map(PathBuf::from).collect(),
        }
    }

    /// The connection file of a running Jupyter kernel, as a user in this folder names it.
    pub(crate) fn connection_file(&self, given: &Path, folder: &Path) -> PathBuf {
        let search = KernelspecSearch {
            env: self.parent_env(),
            home: self.home.clone(),
            ..KernelspecSearch::default()
        };
        search.connection_file(given, folder)
    }

    /// The decisions of a project's file that a user of code in this folder should know, each in a sentence. They
    /// belong into the first answer of a session (B:C-08).
    pub(crate) fn decided_by_project(&self, folder: &Path) -> Vec<String> {
        let rows = table::TABLE.iter();
        let rows = rows.filter(|row| row.project_file == ProjectFile::InsideAndTold);
        let set = rows.map(|row| (row, self.resolved.get_for(row.key, folder)));
        let told = set.filter(|(_, setting)| setting.source.project().is_some());
        told.map(|(row, Setting { value, source })| {
            format!("{} is {value}, set by {source}", row.name)
        })
        .collect()
    }

    /// A path in the spelling of settings.
    fn path(&self, given: &str) -> PathBuf {
        folder(given, &self.cwd, self.home.as_deref())
    }

    /// The environment with which this process was started.
    pub(crate) fn parent_env(&self) -> ParentEnv {
        ParentEnv::from_os(self.surroundings.vars.clone())
    }

    /// The folders of `PATH`, where a shell looks for programs.
    pub(crate) fn program_folders(&self) -> Vec<PathBuf> {
        let path = self.surroundings.get("PATH").unwrap_or_default();
        std::env::split_paths(path).collect()
    }

    /// The words of the command line, without the program.
    pub(crate) fn typed_words(&self) -> Vec<String> {
        let words = std::env::args_os().skip(1);
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// The executable of this process.
    pub(crate) fn program(&self) -> std::io::Result<PathBuf> {
        let program = self.surroundings.program.clone();
        program.ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }

    /// Variables that begin like ours and set nothing.
    pub(crate) fn unknown_variables(&self) -> Vec<String> {
        variables::unknown(self.surroundings.names())
    }

    /// The pager for long answers on a terminal; none if PAGER disables it.
    pub(crate) fn pager(&self) -> Vec<String> {
        if !self.can_draw() {
            return Vec::new();
        }
        let given = self.surroundings.get("PAGER").and_then(|value| value.to_str());
        match given.map(str::trim) {
            Some("" | "cat") => Vec::new(),
            Some(words) if words.split('/').next_back() != Some("less") => {
                words.split_whitespace().map(str::to_owned).collect()
            }
            program => {
                let program = program.unwrap_or("less").to_owned();
                vec![program, "-FRX".to_owned()]
            }
        }
    }

    /// Returns whether a terminal may get colours.
    pub(crate) fn may_colour(&self) -> bool {
        self.surroundings.may_colour(true)
    }

    /// Returns whether a terminal can do more than print text.
    pub(crate) fn can_draw(&self) -> bool {
        self.surroundings.can_draw()
    }
}

/// The folders that may contain notebooks: from the command line, else from the settings.
fn roots_of(
    told: &[PathBuf],
    resolved: &ResolvedSettings,
    cwd: &Path,
    home: Option<&Path>,
) -> Roots {
    match (told, &resolved.get(Key::NotebookRoots).value) {
        ([], Value::List(set)) if !set.is_empty() => {
            Roots::Only(set.iter().map(|root| folder(root, cwd, home)).collect())
        }
        ([], _) => Roots::Anywhere,
        (told, _) => Roots::Only(told.iter().map(|root| cwd.join(root)).collect()),
    }
}

/// A folder in the spelling of settings.
fn folder(given: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    match (given.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(&rest[1..]),
        _ => cwd.join(given),
    }
}

/// The settings of the files, the project's first.
fn settings_files(
    works_in: &Path,
    home: &Option<PathBuf>,
    surroundings: &Surroundings,
) -> Result<Vec<(PathBuf, FileSettings)>, Failure> {
    let failed = |FileError { place, problem }| Failure::argument(&place, problem);
    let mut found = Vec::new();
    if let Some(path) = file::project_file(works_in)
        && let Some(text) = file::read(&path, Owner::Project).map_err(failed)?
    {
        let said = file::parse(&path, &text, Owner::Project).map_err(failed)?;
        found.push((path, said));
    }
    if let Some(path) = surroundings.path("INKCELL_CONFIG") {
        let Some(text) = file::read(&path, Owner::User).map_err(failed)? else {
            let problem = words::setting::file_not_there(&path.display());
            return Err(Failure::argument("INKCELL_CONFIG", problem));
        };
        let said = file::parse(&path, &text, Owner::User).map_err(failed)?;
        found.push((path, said));
    } else if let Some(path) = usual_user_file(home, surroundings)
        && let Some(text) = file::read(&path, Owner::User).map_err(failed)?
    {
        let said = file::parse(&path, &text, Owner::User).map_err(failed)?;
        found.push((path, said));
    }
    Ok(found)
}

fn usual_user_file(home: &Option<PathBuf>, surroundings: &Surroundings) -> Option<PathBuf> {
    let xdg = surroundings.path("XDG_CONFIG_HOME").filter(|dir| dir.is_absolute());
    let base = xdg.or_else(|| home.as_ref().map(|home| home.join(".config")))?;
    Some(base.join("inkcell/config.toml"))
}

/// Returns whether the default state folder exists or can be made: for this user alone, whatever the umask is.
/// Write access of the group and of others is removed, unless they have used it: the folder holds code that runs.
fn make_ours(dir: &Path) -> bool {
    let Ok(found) = std::fs::metadata(dir) else {
        return make_private_folder(dir).is_ok();
    };
    let (mode, user) = (found.permissions().mode(), rustix::process::geteuid().as_raw());
    if found.uid() == user && mode & 0o022 != 0 && holds_only_files_of(user, dir) {
        // If the folder stays open, the code that needs it refuses it.
        let _ = std::fs::set_permissions(dir, Permissions::from_mode(mode & !0o022));
    }
    found.is_dir()
}

/// Returns whether everything below a folder belongs to this user, and no other user can change the folders there.
fn holds_only_files_of(user: u32, dir: &Path) -> bool {
    let is_theirs = |entry: std::io::Result<DirEntry>| {
        let Ok((path, found)) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)))
        else {
            return false;
        };
        let is_closed = || found.mode() & 0o022 == 0 && holds_only_files_of(user, &path);
        found.uid() == user && (!found.is_dir() || is_closed())
    };
    std::fs::read_dir(dir).is_ok_and(|mut entries| entries.all(is_theirs))
}

/// The folder for locks and records: the one that is set, else the XDG folder, else a private folder for temporary
/// files. A default folder that cannot be made is not an error.
fn state_dir(
    told: &Value,
    cwd: &Path,
    home: Option<&Path>,
    surroundings: &Surroundings,
) -> PathBuf {
    if let Value::Text(dir) = told {
        return folder(dir, cwd, home);
    }
    let xdg = surroundings.path("XDG_STATE_HOME").filter(|dir| dir.is_absolute());
    let usual = xdg.or_else(|| home.map(|home| home.join(".local/state")));
    match usual.map(|base| base.join("inkcell")) {
        Some(dir) if make_ours(&dir) => dir,
        _ => {
            let user = rustix::process::geteuid().as_raw();
            surroundings
                .path("TMPDIR")
                .unwrap_or_else(|| PathBuf::from("/tmp"))
                .join(format!("inkcell-{user}"))
        }
    }
}

#[cfg(test)]
mod tests;
