//! A module that the code of a run lacks: which Python ran it, and the command that installs the module there.
//!
//! Owns the choice among pip, uv and inkcell's own environment. It looks at the environment's folder and runs nothing.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use inkcell_engine::api::{EndReport, PythonReport, State};
use inkcell_engine::kernel::PyError;

use crate::setup::quoted;
use crate::words;

/// Modules whose package has another name.
const PACKAGES: [(&str, &str); 10] = [
    ("bs4", "beautifulsoup4"),
    ("cv2", "opencv-python"),
    ("dateutil", "python-dateutil"),
    ("docx", "python-docx"),
    ("dotenv", "python-dotenv"),
    ("fitz", "pymupdf"),
    ("PIL", "pillow"),
    ("skimage", "scikit-image"),
    ("sklearn", "scikit-learn"),
    ("yaml", "pyyaml"),
];

/// The file that forbids pip to change the Python of a system.
const MANAGED_BY_SYSTEM: &str = "EXTERNALLY-MANAGED";

/// How to install the module whose absence stopped the run. `program_folders` are those of `PATH`.
pub(super) fn advice(report: &PythonReport, program_folders: &[PathBuf]) -> Option<String> {
    // A kernel elsewhere has a Python that no command of this machine changes.
    let kernel = report.kernel.as_ref().filter(|kernel| kernel.pid.is_some() && kernel.is_python());
    let python = Path::new(&kernel?.executable);
    let last = report.cells.iter().rev().find(|cell| cell.state == State::Error)?;
    let module = match &last.end {
        Some(EndReport::Exception(error)) if report.state == State::Error => missing(error)?,
        _ => return None,
    };
    let known = PACKAGES.iter().find(|(known, _)| *known == module);
    let package = known.map_or(module, |(_, package)| package);
    let command = command(python, package, program_folders);
    Some(words::run::install(module, &python.display(), &command))
}

/// The top module that an exception says is missing.
fn missing(error: &PyError) -> Option<&str> {
    let said = error.value.strip_prefix("No module named '")?;
    let module = said.split(['.', '\'']).next()?;
    let is_name = !module.is_empty() && module.chars().all(|c| c.is_alphanumeric() || c == '_');
    (error.name == "ModuleNotFoundError" && is_name).then_some(module)
}

/// The command that installs a package where this Python finds it.
fn command(python: &Path, package: &str, program_folders: &[PathBuf]) -> String {
    let name = quoted(&python.display().to_string());
    let folders = package_folders(python);
    let has = |file: &str| folders.iter().any(|folder| folder.join(file).exists());
    let is_venv = prefix(python).is_some_and(|prefix| prefix.join("pyvenv.cfg").exists());
    let has_uv = program_folders.iter().any(|folder| folder.join("uv").is_file());
    match () {
        () if !is_venv && has(MANAGED_BY_SYSTEM) => format!("inkcell env setup {package}"),
        () if has("pip") || has("site-packages/pip") || has("dist-packages/pip") => {
            format!("{name} -m pip install {package}")
        }
        () if has_uv => words::run::install_with_uv(&name, package),
        () => format!("{name} -m ensurepip && {name} -m pip install {package}"),
    }
}

/// The installation or the virtual environment of a Python.
fn prefix(python: &Path) -> Option<&Path> {
    python.parent()?.parent()
}

/// Folders that hold the modules of a Python: `lib/python3.12`, and for Debian `lib/python3`.
fn package_folders(python: &Path) -> Vec<PathBuf> {
    let real = python.canonicalize().ok();
    // The link of a virtual environment leads to a Python that has other packages.
    let is_venv = prefix(python).is_some_and(|prefix| prefix.join("pyvenv.cfg").exists());
    let prefixes = [prefix(python), real.as_deref().filter(|_| !is_venv).and_then(prefix)];
    let libraries = prefixes.into_iter().flatten().map(|prefix| prefix.join("lib"));
    let entries = libraries.filter_map(|library| library.read_dir().ok()).flatten().flatten();
    let is_python = |name: &OsStr| name.to_str().is_some_and(|name| name.starts_with("python3"));
    entries.filter(|entry| is_python(&entry.file_name())).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str, value: &str) -> PyError {
        PyError { name: name.to_owned(), value: value.to_owned(), ..PyError::default() }
    }

    #[test]
    fn the_missing_module_is_the_top_one() {
        let module = |value: &str| {
            missing(&error("ModuleNotFoundError", value)).map(str::to_owned).unwrap_or_default()
        };
        assert_eq!(module("No module named 'pandas'"), "pandas");
        assert_eq!(module("No module named 'google.cloud'"), "google");
        assert_eq!(module("No module named 'a; rm -r x'"), "");
        assert_eq!(missing(&error("ImportError", "No module named 'x'")), None);
    }

    /// The command is one that works with the environment as it is.
    #[test]
    fn each_environment_has_its_command() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let make = |name: &str| std::fs::create_dir_all(at(name)).unwrap();
        make("uv");
        std::fs::write(at("uv/uv"), "").unwrap();
        for name in
            ["own/bin", "own/lib/python3.12/site-packages/pip", "bare/bin", "bare/lib/python3.12"]
        {
            make(name);
        }
        std::fs::write(at("own/pyvenv.cfg"), "").unwrap();
        std::fs::write(at("bare/pyvenv.cfg"), "").unwrap();
        make("system/bin");
        make("system/lib/python3.12");
        std::fs::write(at("system/lib/python3.12/EXTERNALLY-MANAGED"), "").unwrap();
        let told = |name: &str, has_uv: bool| {
            let folders: Vec<PathBuf> = has_uv.then(|| at("uv")).into_iter().collect();
            let command = command(&at(name), "x", &folders);
            command.replace(&folder.path().display().to_string(), "")
        };
        assert_eq!(told("own/bin/python", true), "/own/bin/python -m pip install x");
        assert_eq!(told("bare/bin/python", true), "uv pip install --python /bare/bin/python x");
        assert_eq!(
            told("bare/bin/python", false),
            "/bare/bin/python -m ensurepip && /bare/bin/python -m pip install x"
        );
        assert_eq!(told("system/bin/python3", true), "inkcell env setup x");
    }
}
