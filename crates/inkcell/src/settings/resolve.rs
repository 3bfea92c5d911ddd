//! The precedence of sources: a variable over the project's file over the user's file over the default.
//!
//! Owns the order, and the origin of each value. It is pure: variables and files come in as values.

use std::fmt;
use std::path::{Path, PathBuf};

use super::file::{self, FileSettings, Owner};
use super::table::{Key, Profile, ProjectFile, Row, TABLE};
use super::value::Value;
use crate::exit::Failure;

/// The origin of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    Default,
    Variable(String),
    ProjectFile(PathBuf),
    UserFile(PathBuf),
}

impl Source {
    /// The folder of the project, if its file set the value.
    pub(crate) fn project(&self) -> Option<&Path> {
        match self {
            Source::ProjectFile(path) => Some(file::project_folder(path)),
            Source::Default | Source::Variable(_) | Source::UserFile(_) => None,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("default"),
            Source::Variable(name) => f.write_str(name),
            Source::ProjectFile(path) | Source::UserFile(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A value and its origin.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Setting {
    pub(crate) value: Value,
    pub(crate) source: Source,
}

#[derive(Debug)]
pub(crate) struct ResolvedSettings {
    here: Vec<Setting>,
    /// The settings without the project's file.
    outside: Vec<Setting>,
}

impl ResolvedSettings {
    /// `files` are in their order of precedence.
    pub(crate) fn new(
        variable: &dyn Fn(&str) -> Option<String>,
        files: &[(PathBuf, FileSettings)],
    ) -> Result<ResolvedSettings, Failure> {
        let decided = |files: &[&(PathBuf, FileSettings)]| {
            TABLE.iter().map(|row| decide(row, variable, files)).collect::<Result<Vec<_>, _>>()
        };
        let all: Vec<_> = files.iter().collect();
        let without: Vec<_> =
            files.iter().filter(|(_, said)| said.owner != Owner::Project).collect();
        let here = decided(&all)?;
        let outside = if without.len() == all.len() { here.clone() } else { decided(&without)? };
        Ok(ResolvedSettings { here, outside })
    }

    /// The setting for a command. Other profiles have other defaults.
    pub(crate) fn get(&self, key: Key) -> &Setting {
        &self.here[key as usize]
    }

    /// The setting for code in this folder, where the project's file may not count (B:C-08).
    pub(crate) fn get_for(&self, key: Key, folder: &Path) -> &Setting {
        match self.get(key) {
            Setting { source: Source::ProjectFile(file), .. }
                if TABLE[key as usize].project_file == ProjectFile::InsideAndTold
                    && !is_inside(folder, file::project_folder(file)) =>
            {
                &self.outside[key as usize]
            }
            setting => setting,
        }
    }

    /// The setting without the project's file.
    pub(crate) fn get_outside(&self, key: Key) -> &Setting {
        &self.outside[key as usize]
    }

    /// The value in this profile.
    pub(crate) fn value_in(&self, key: Key, profile: Profile) -> Value {
        match self.get(key) {
            Setting { source: Source::Default, .. } => TABLE[key as usize].default_in(profile),
            Setting { value, .. } => value.clone(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static Row, &Setting)> {
        TABLE.iter().zip(&self.here)
    }
}

/// Returns whether a folder is really inside a project: `..` and links can lead out of it.
fn is_inside(folder: &Path, project: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(folder).starts_with(real(project))
}

fn decide(
    row: &Row,
    variable: &dyn Fn(&str) -> Option<String>,
    files: &[&(PathBuf, FileSettings)],
) -> Result<Setting, Failure> {
    // An empty variable counts as absent, as in shells.
    let set = |name: String| {
        let value = variable(&name).filter(|value| !value.trim().is_empty())?;
        Some((name, value))
    };
    for (name, given) in row.overriding_variables().into_iter().filter_map(set) {
        if let Some(value) = row.overridden(&given) {
            return Ok(Setting { value, source: Source::Variable(name) });
        }
    }
    if let Some((name, given)) = row.variables().into_iter().find_map(set) {
        let value = row.kind.read(&given).map_err(|problem| Failure::argument(&name, problem))?;
        return Ok(Setting { value, source: Source::Variable(name) });
    }
    for (path, said) in files {
        if let Some((_, value)) = said.values.iter().find(|(key, _)| *key == row.key) {
            let source = match said.owner {
                Owner::Project => Source::ProjectFile(path.clone()),
                Owner::User => Source::UserFile(path.clone()),
            };
            return Ok(Setting { value: value.clone(), source });
        }
    }
    Ok(Setting { value: row.default_in(Profile::CommandLine), source: Source::Default })
}

/// Makes a written path independent of the folder of the code: a relative one begins at `base`. A bare name without
/// a file there is left for a lookup in `PATH`.
pub(crate) fn anchored(given: &str, base: &Path) -> String {
    if given.starts_with('~') || Path::new(given).is_absolute() {
        return given.to_owned();
    }
    let joined = base.join(given);
    match joined.to_str() {
        Some(joined_text) if given.contains('/') || joined.exists() => joined_text.to_owned(),
        _ => given.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::parse;
    use super::*;

    fn resolved(variables: &[(&str, &str)], project: &str, user: &str) -> ResolvedSettings {
        let read = |path: &str, text: &str, owner| {
            (PathBuf::from(path), parse(Path::new(path), text, owner).unwrap())
        };
        let files = [read("P", project, Owner::Project), read("U", user, Owner::User)];
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        ResolvedSettings::new(&variable, &files).unwrap()
    }

    /// B:C-08
    #[test]
    fn variables_count_over_files_and_the_project_over_the_user() {
        let (project, user) = ("python.shell = 'lite'", "python.shell = 'ipython'");
        let theirs = ("PI_PYTHON_SHELL", "ipython");
        let ours = ("INKCELL_PYTHON_SHELL", "lite");
        let empty = ("INKCELL_PYTHON_SHELL", "");
        let other = ("INKCELL_ENV_PASS", "A");
        let table = [
            (vec![], "", "", "lite", "default"),
            (vec![], "", user, "ipython", "U"),
            (vec![], project, user, "lite", "P"),
            (vec![theirs], project, user, "ipython", "PI_PYTHON_SHELL"),
            (vec![theirs, ours], project, user, "lite", "INKCELL_PYTHON_SHELL"),
            (vec![empty], project, user, "lite", "P"),
            (vec![other], project, user, "lite", "P"),
        ];
        for (variables, project, user, value, source) in table {
            let found = resolved(&variables, project, user);
            let shell = found.get(Key::PythonShell);
            assert_eq!(
                (shell.value.to_string(), shell.source.to_string()),
                (value.into(), source.into())
            );
        }
    }

    /// B:C-08
    #[test]
    fn a_project_does_not_decide_what_passes() {
        let found = resolved(&[], "env.pass = ['SECRET']\nstate.dir = '/x'", "env.pass = ['MINE']");
        assert_eq!(found.get(Key::EnvPass).value, Value::List(vec!["MINE".into()]));
        assert_eq!(found.get(Key::StateDir).value, Value::Unset);
    }

    #[test]
    fn a_wrong_variable_is_named() {
        let variable = |name: &str| (name == "PI_KERNEL_ZYGOTE").then(|| "maybe".to_owned());
        let error = ResolvedSettings::new(&variable, &[]).unwrap_err();
        let Failure::Engine(error) = error else { unreachable!() };
        assert_eq!(error.to_string(), "PI_KERNEL_ZYGOTE: is \"maybe\"; it takes on or off");
    }

    #[test]
    fn relative_paths_begin_where_they_were_written() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path();
        std::fs::create_dir(base.join("venv")).unwrap();
        let below = |name: &str| base.join(name).to_str().unwrap().to_owned();
        let table = [
            ("/usr/bin/python3", "/usr/bin/python3".to_owned()),
            ("~/env", "~/env".to_owned()),
            ("./env/bin/python", below("./env/bin/python")),
            ("venv", below("venv")),
            ("python3.12", "python3.12".to_owned()),
        ];
        for (given, wanted) in table {
            assert_eq!(anchored(given, base), wanted);
        }
    }
}
