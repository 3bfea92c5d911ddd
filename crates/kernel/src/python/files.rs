//! Judges an interpreter by its files: enough to expect that it works, without running it.
//!
//! Owns the reading of `pyvenv.cfg`, file types and package folders. It must not know when inkcell avoids running an
//! interpreter.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::candidate::{PythonCandidate, Search, venv_of};
use super::interpreter::{OLDEST, PythonVersion, Reason, SkipReason, SkippedCandidate};
use super::probe::script_runner;

/// The size in bytes above which a file is not read.
const MOST_BYTES: u64 = 64 << 10;

/// The first bytes of programs on Linux and macOS.
const PROGRAMS: [&[u8]; 6] = [
    b"\x7fELF",
    b"\xcf\xfa\xed\xfe",
    b"\xce\xfa\xed\xfe",
    b"\xfe\xed\xfa\xcf",
    b"\xfe\xed\xfa\xce",
    b"\xca\xfe\xba\xbe",
];

/// An interpreter chosen by its files, without running it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct UnrunPython {
    /// Path of the interpreter.
    pub path: PathBuf,
    /// Its `sys.prefix`, if files show it. A version manager decides that only when it runs.
    pub prefix: Option<PathBuf>,
    /// The virtual environment it belongs to.
    pub venv: Option<PathBuf>,
    /// Its version, if files show it.
    pub version: Option<PythonVersion>,
    /// Why it would be chosen.
    pub reason: Reason,
    /// The candidates before it that cannot be used.
    pub skipped: Vec<SkippedCandidate>,
}

impl UnrunPython {
    /// Reads the files of a candidate; an error says why it cannot work.
    pub(super) fn read(
        candidate: &PythonCandidate,
        is_shim: bool,
    ) -> Result<UnrunPython, SkipReason> {
        let PythonCandidate { path, venv, reason } = candidate;
        must_be_program(path)?;
        let version = Config::around(path).and_then(|config| version_of(&config.version?));
        if let Some(version) = version.filter(|version| *version < OLDEST) {
            return Err(SkipReason::TooOld(version));
        }
        let prefix = match venv {
            Some(venv) => Some(venv.clone()),
            None if is_shim => None,
            None => installation(path),
        };
        let (path, venv) = (path.clone(), venv.clone());
        Ok(UnrunPython { path, prefix, venv, version, reason: *reason, skipped: Vec::new() })
    }

    /// The modules among these top-level ones that the interpreter lacks, as far as files show.
    pub(super) fn lacking<'a>(&self, modules: &[&'a str], search: &Search) -> Vec<&'a str> {
        let Some(prefix) = &self.prefix else { return Vec::new() };
        let own = packages_below(prefix);
        if own.is_empty() {
            return Vec::new();
        }
        let config = Config::around(&self.path).filter(|_| self.venv.is_some());
        let is_open = config.as_ref().is_none_or(|config| config.sees_system);
        let base = config.and_then(|config| config.home).and_then(|home| parent(&home));
        let base = base.unwrap_or_else(|| prefix.clone());
        let user = match search.env.get("PYTHONUSERBASE") {
            Some(folder) => Some(PathBuf::from(folder)),
            None => search.home.as_ref().map(|home| home.join(".local")),
        };
        // Debian's Python has a second folder, for packages from outside the system's package manager.
        let beyond = [base.join("local"), base].into_iter().chain(user).filter(|_| is_open);
        let mut folders = search.python_path();
        folders.extend(own);
        folders.extend(beyond.flat_map(|folder| packages_below(&folder)));
        let linked: Vec<PathBuf> = folders.iter().flat_map(|folder| linked_from(folder)).collect();
        folders.extend(linked);
        let is_there = |module: &str| {
            let file = format!("{module}.py");
            folders.iter().any(|in_it| in_it.join(module).is_dir() || in_it.join(&file).is_file())
        };
        modules.iter().copied().filter(|module| !is_there(module)).collect()
    }
}

/// The prefix of an installation, derived from the path of its program.
fn installation(program: &Path) -> Option<PathBuf> {
    let program = program.canonicalize().ok()?;
    parent(program.parent()?)
}

fn parent(folder: &Path) -> Option<PathBuf> {
    folder.parent().map(Path::to_owned)
}

/// The package folders below a prefix, by the names that Python and its distributors use.
pub(super) fn packages_below(prefix: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for library in ["lib", "lib64"] {
        let Ok(entries) = fs::read_dir(prefix.join(library)) else { continue };
        let is_python = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("python");
        for entry in entries.flatten().filter(|entry| is_python(&entry.file_name())) {
            for name in ["site-packages", "dist-packages"] {
                found.push(entry.path().join(name));
            }
        }
    }
    found.retain(|folder| folder.is_dir());
    found
}

/// The folders that `.pth` files in a package folder add to the path.
fn linked_from(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let links = paths.filter(|path| path.extension().is_some_and(|extension| extension == "pth"));
    let texts: Vec<String> = links.filter_map(|path| text_of(&path)).collect();
    let lines = texts.iter().flat_map(|text| text.lines()).map(str::trim);
    let named = lines.filter(|line| !line.is_empty()).map(|line| folder.join(line));
    named.filter(|path| path.is_dir()).collect()
}

/// The content of a `pyvenv.cfg`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Config {
    /// The folder of the Python that the environment was made from.
    pub(super) home: Option<PathBuf>,
    version: Option<String>,
    sees_system: bool,
}

impl Config {
    /// Reads the `pyvenv.cfg` of the virtual environment that contains a program.
    pub(super) fn around(program: &Path) -> Option<Config> {
        Config::of(&venv_of(program)?)
    }

    fn of(environment: &Path) -> Option<Config> {
        let text = text_of(&environment.join("pyvenv.cfg"))?;
        let mut config = Config::default();
        for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
            let value = value.trim();
            match name.trim().to_ascii_lowercase().as_str() {
                "home" => config.home = Some(PathBuf::from(value)),
                "version" | "version_info" => config.version = Some(value.to_owned()),
                "include-system-site-packages" => {
                    config.sees_system = value.eq_ignore_ascii_case("true");
                }
                _ => {}
            }
        }
        Some(config)
    }
}

/// The version of a virtual environment, if its `pyvenv.cfg` names all three numbers.
pub fn environment_version(environment: &Path) -> Option<PythonVersion> {
    let version = Config::of(environment)?.version?;
    version_of(&version).filter(|_| version.split('.').count() > 2)
}

/// Parses `3.12.1`, `3.12` or `3.12.1.final.0`.
fn version_of(text: &str) -> Option<PythonVersion> {
    let digits = |part: &str| part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
    let mut numbers = text.split('.').map(|part| part[..digits(part)].parse().ok());
    let (major, minor) = (numbers.next()??, numbers.next()??);
    Some(PythonVersion { major, minor, micro: numbers.next().flatten().unwrap_or_default() })
}

/// Checks that the system could start this program.
fn must_be_program(path: &Path) -> Result<(), SkipReason> {
    let wrong = |problem: String| Err(SkipReason::CannotStart { problem });
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) => return wrong(error.to_string()),
    };
    if !found.is_file() {
        return wrong("it is not a file".to_owned());
    }
    if found.permissions().mode() & 0o111 == 0 {
        return wrong("permission denied".to_owned());
    }
    let mut start = Vec::new();
    // We may be allowed to start the file but not to read it.
    let Ok(file) = fs::File::open(path) else { return Ok(()) };
    let _ = file.take(4).read_to_end(&mut start);
    if start.starts_with(b"#!") {
        return match script_runner(path) {
            Some(runner) if !Path::new(&runner).exists() => {
                wrong(format!("its first line names {runner}, which does not exist"))
            }
            _ => Ok(()),
        };
    }
    match PROGRAMS.iter().any(|begin| start.starts_with(begin)) {
        true => Ok(()),
        false => wrong("it is not a program".to_owned()),
    }
}

/// The text of a file of at most [`MOST_BYTES`].
fn text_of(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    if !found.is_file() || found.len() > MOST_BYTES {
        return None;
    }
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
