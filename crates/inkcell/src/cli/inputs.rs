//! The notebooks that a command was given: patterns are expanded, and links are resolved.
//!
//! Owns the meaning of a name on the command line if there are several, and the error about a name without one.

use std::fs;
use std::path::{Path, PathBuf};

use inkcell_engine::Kind;

use crate::exit::Failure;
use crate::glob::{is_glob, matching};
use crate::setup::quoted;
use crate::words;

/// How many names of existing notebooks an error suggests.
const SHOWN: usize = 3;

/// Files as a command sees them, from the folder in which it was called.
pub(super) struct Files<'a> {
    pub(super) cwd: &'a Path,
}

impl Files<'_> {
    /// The named notebooks, with patterns expanded, in order.
    pub(super) fn inputs<'a>(
        &self,
        given: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<String>, Failure> {
        let mut found = Vec::new();
        for given in given {
            let named = self.named(given)?;
            if let Some(missing) = named.iter().find(|name| !self.cwd.join(name).exists()) {
                let message = words::path::no_notebook(missing);
                return Err(not_found(message, Some(self.beside(missing))));
            }
            found.extend(named);
        }
        match found.is_empty() {
            true => Err(Failure::argument("PATH", words::path::NONE_BESIDE_MATRIX)),
            false => Ok(found),
        }
    }

    /// The named files, with patterns expanded, in order. Unlike `inputs`, it takes a name without a file as it is: the
    /// command has a better error for it.
    pub(super) fn expanded<'a>(
        &self,
        given: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<String>, Failure> {
        let named: Result<Vec<Vec<String>>, Failure> =
            given.map(|given| self.named(given)).collect();
        Ok(named?.into_iter().flatten().collect())
    }

    /// The only file that a name or a pattern means.
    pub(super) fn only(&self, given: &str) -> Result<String, Failure> {
        // A folder may be what the command explains best, and a name may be no file at all.
        if self.cwd.join(given).exists() || !is_glob(given) {
            return Ok(given.to_owned());
        }
        let mut found = self.named(given)?;
        match (found.len(), found.pop()) {
            (1, Some(only)) => Ok(only),
            (some, _) => {
                let hint = Some(words::path::NAME_ONE.to_owned());
                Err(Failure::new(Kind::Invalid, words::path::matches_many(given, some), hint))
            }
        }
    }

    /// Expands one name: to the notebooks that a pattern matches, or to itself, whether or not the file exists.
    pub(super) fn named(&self, given: &str) -> Result<Vec<String>, Failure> {
        let path = self.cwd.join(given);
        if path.is_dir() {
            return Err(folder(given));
        }
        // A name that exists means that file, whatever wildcards it contains.
        if path.exists() || !is_glob(given) {
            return Ok(vec![given.to_owned()]);
        }
        let matched = matching(self.cwd, given);
        let matched = matched.map_err(|problem| Failure::argument(given, problem))?;
        let mut notebooks: Vec<String> = matched.into_iter().collect();
        notebooks.retain(|name| self.cwd.join(name).is_file());
        // A pattern without an ending means notebooks.
        if !given.ends_with(".ipynb") {
            notebooks.retain(|name| name.ends_with(".ipynb"));
        }
        if notebooks.is_empty() {
            let hint = words::path::LOOK_WITH_LS;
            return Err(not_found(words::path::no_match(given), Some(hint.to_owned())));
        }
        Ok(notebooks)
    }

    /// Suggests notebooks that exist in place of a missing one.
    fn beside(&self, missing: &str) -> String {
        let path = self.cwd.join(missing);
        let folder = path.parent().unwrap_or(self.cwd);
        let Ok(entries) = fs::read_dir(folder) else {
            return words::path::no_folder(&folder.display(), &self.cwd.display());
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".ipynb")).collect();
        names.sort();
        let there = match names.len() {
            0 => {
                return words::path::no_notebooks_in(&folder.display());
            }
            1..=SHOWN => names.join(", "),
            more => format!("{} and {} more", names[..SHOWN].join(", "), more - SHOWN),
        };
        format!("{} has {there}", folder.display())
    }

    /// The file that a name leads to. Links are followed for as much of the path as exists.
    pub(super) fn real(&self, name: &str) -> PathBuf {
        let path = self.cwd.join(name);
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        // For a file that does not exist yet, resolve its nearest existing folder.
        let mut missing = Vec::new();
        let mut known = path.as_path();
        while let (Some(parent), Some(name)) = (known.parent(), known.file_name()) {
            missing.push(name.to_owned());
            if let Ok(real) = parent.canonicalize() {
                return missing.iter().rev().fold(real, |path, name| path.join(name));
            }
            known = parent;
        }
        path
    }
}

/// The failure for a file that is missing or cannot be used.
fn not_found(message: String, hint: Option<String>) -> Failure {
    Failure::new(Kind::NotFound, message, hint)
}

/// The failure for a folder, with the pattern to write instead.
fn folder(given: &str) -> Failure {
    let name = given.trim_end_matches('/');
    let name = if name.is_empty() { "/" } else { name };
    let (here, below) = (format!("{name}/*.ipynb"), format!("{name}/**/*.ipynb"));
    Failure::new(
        Kind::Invalid,
        words::path::is_folder(given),
        Some(words::path::run_folder(&quoted(&here), &quoted(&below))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glob::DEEPEST;

    fn folder_with(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        }
        folder
    }

    #[test]
    fn patterns_find_notebooks_in_order() {
        let folder = folder_with(&[
            "nb/b.ipynb",
            "nb/a.ipynb",
            "nb/x.py",
            "nb/deep/er/c.ipynb",
            "nb/.ipynb_checkpoints/a.ipynb",
            "odd[1].ipynb",
        ]);
        let files = Files { cwd: folder.path() };
        let table: [(&[&str], &[&str]); 6] = [
            (&["nb/*.ipynb"], &["nb/a.ipynb", "nb/b.ipynb"]),
            (&["nb/*"], &["nb/a.ipynb", "nb/b.ipynb"]),
            (&["nb/b.ipynb", "nb/[a]*"], &["nb/b.ipynb", "nb/a.ipynb"]),
            (&["nb/**/*.ipynb"], &["nb/a.ipynb", "nb/b.ipynb", "nb/deep/er/c.ipynb"]),
            (&["**/c.ipynb"], &["nb/deep/er/c.ipynb"]),
            (&["odd[1].ipynb"], &["odd[1].ipynb"]),
        ];
        for (given, wanted) in table {
            let found = files.inputs(given.iter().copied());
            assert_eq!(found.ok().unwrap_or_default(), wanted, "{given:?}");
        }
        let absolute = format!("{}/nb/*.ipynb", folder.path().display());
        assert_eq!(files.inputs([absolute.as_str()].into_iter()).ok().unwrap_or_default().len(), 2);
    }

    /// Each error is one sentence that says what to write.
    #[test]
    fn what_is_no_notebook_is_told() {
        let folder = folder_with(&["nb/a.ipynb"]);
        let files = Files { cwd: folder.path() };
        let told = |given: &[&str]| match files.inputs(given.iter().copied()) {
            Err(Failure::Told { message, hint, .. }) => (message, hint.unwrap_or_default()),
            other => panic!("{other:?}"),
        };
        let (message, hint) = told(&["nb/gone.ipynb"]);
        assert_eq!(message, "no notebook named nb/gone.ipynb");
        assert!(hint.ends_with("nb has a.ipynb"), "{hint}");
        assert!(
            told(&["gone.ipynb"])
                .1
                .contains("has no notebooks; create one with 'inkcell new NAME.ipynb'")
        );
        assert!(told(&["no/gone.ipynb"]).1.contains("/no does not exist either"));
        let (message, hint) = told(&["nb/*.nb"]);
        assert_eq!(message, "no notebook matches nb/*.nb");
        assert!(hint.contains("ls"), "{hint}");
        let (message, hint) = told(&["nb/"]);
        assert_eq!(message, "nb/ is a folder, not a notebook");
        assert!(hint.contains("nb/*.ipynb") && hint.contains("nb/**/*.ipynb"), "{hint}");
    }

    /// A part of the matches of a pattern is not taken for all of them.
    #[test]
    fn a_search_that_is_cut_short_says_so() {
        let deep = format!("{}x.ipynb", "d/".repeat(DEEPEST + 2));
        let folder = folder_with(&[&deep]);
        let files = Files { cwd: folder.path() };
        let told = match files.inputs(["**/*.ipynb"].into_iter()) {
            Err(Failure::Engine(error)) => error.to_string(),
            other => panic!("{other:?}"),
        };
        assert!(told.contains("folders down; begin the pattern further down"), "{told}");
    }

    /// Links are also resolved for files that do not exist yet.
    #[test]
    fn names_that_lead_to_one_place_are_the_same() {
        let folder = folder_with(&["nb/a.ipynb"]);
        std::os::unix::fs::symlink(folder.path().join("nb"), folder.path().join("link")).unwrap();
        let files = Files { cwd: folder.path() };
        assert_eq!(files.real("link/a.ipynb"), files.real("nb/../nb/a.ipynb"));
        assert_eq!(files.real("link/new/b.ipynb"), files.real("nb/new/b.ipynb"));
        assert_ne!(files.real("nb/b.ipynb"), files.real("nb/a.ipynb"));
    }
}
