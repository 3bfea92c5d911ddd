//! The settings files: their places and their content.
//!
//! Owns the places and the parsing of TOML, with the line of every value. It must not know what a setting means.

use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use inkcell_engine::notebook::nearest;
use toml::de::{DeTable, DeValue};

use super::table::{Key, ProjectFile, Row, TABLE};
use super::value::Value;
use crate::words;

/// The path of the project's file, below the project's folder.
pub(crate) const PROJECT_FILE: &str = ".inkcell/config.toml";

/// The most bytes of a settings file. A larger file is something else.
const MAX_BYTES: u64 = 1 << 20;

/// The owner of a settings file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    User,
    Project,
}

/// The content of a settings file.
#[derive(Debug)]
pub(crate) struct FileSettings {
    pub(crate) owner: Owner,
    pub(crate) values: Vec<(Key, Value)>,
    /// Warnings about parts of the file that have no effect.
    pub(crate) warnings: Vec<String>,
}

/// The reason why a file cannot be used: the file with its line, and the problem.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct FileError {
    pub(crate) place: String,
    pub(crate) problem: String,
}

/// The project's file: in the working folder, or inside a git work tree the nearest one from there up to the root
/// of the tree. Further up, the file could belong to another user.
pub(crate) fn project_file(cwd: &Path) -> Option<PathBuf> {
    let mut found: Option<PathBuf> = None;
    for (depth, folder) in cwd.ancestors().enumerate() {
        if found.is_none() {
            let file = folder.join(PROJECT_FILE);
            found = is_there(&file).then_some(file);
            if depth == 0 && found.is_some() {
                return found;
            }
        }
        if folder.join(".git").exists() {
            return found;
        }
    }
    None
}

/// Returns whether there is a file to read, or an error to report: a cycle of links, or a folder of the project
/// that we cannot open.
fn is_there(file: &Path) -> bool {
    match std::fs::metadata(file) {
        Ok(_) => true,
        Err(error) if is_absence(&error) => false,
        Err(_) => file.parent().is_some_and(|folder| std::fs::symlink_metadata(folder).is_ok()),
    }
}

/// The folder of the project that this file belongs to.
pub(crate) fn project_folder(file: &Path) -> &Path {
    file.parent().and_then(Path::parent).unwrap_or(file)
}

/// The text of a file; none if it does not exist.
pub(crate) fn read(path: &Path, owner: Owner) -> Result<Option<String>, FileError> {
    let error = |problem: String| FileError { place: path.display().to_string(), problem };
    let unreadable = |problem: io::Error| {
        error(match owner {
            Owner::User => words::setting::unreadable(&problem),
            Owner::Project => words::setting::unreadable_in_project(&problem),
        })
    };
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(problem) if is_absence(&problem) => return Ok(None),
        Err(problem) => return Err(unreadable(problem)),
    };
    let wrong = || error(words::setting::not_settings_file(MAX_BYTES));
    // Users give the null device for no settings; other devices may be endless.
    let is_null = found.file_type().is_char_device()
        && std::fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == found.rdev());
    if !(found.is_file() || is_null) || found.len() > MAX_BYTES {
        return Err(wrong());
    }
    let mut bytes = Vec::new();
    // The file may have grown since, and some files do not report their length.
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(wrong());
    }
    String::from_utf8(bytes).map(Some).map_err(|_| error(words::setting::NOT_TEXT.to_owned()))
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Parses the text of a file.
pub(crate) fn parse(path: &Path, text: &str, owner: Owner) -> Result<FileSettings, FileError> {
    let reader = Reader { path, text, owner };
    let table = DeTable::parse(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        reader.error(start, format!("not valid TOML: {}", error.message()))
    })?;
    let mut said = FileSettings { owner, values: Vec::new(), warnings: Vec::new() };
    reader.table("", table.get_ref(), &mut said)?;
    Ok(said)
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    owner: Owner,
}

impl Reader<'_> {
    fn error(&self, at: usize, problem: String) -> FileError {
        FileError { place: self.line_of(at), problem }
    }

    fn line_of(&self, at: usize) -> String {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        format!("{}:{line}", self.path.display())
    }

    fn table(
        &self,
        prefix: &str,
        table: &DeTable<'_>,
        said: &mut FileSettings,
    ) -> Result<(), FileError> {
        for (key, value) in table.iter() {
            let name = format!("{prefix}{}", key.get_ref());
            let at = key.span().start;
            if let Some(row) = TABLE.iter().find(|row| row.is_called(&name)) {
                if said.values.iter().any(|(known, _)| *known == row.key) {
                    let problem = words::setting::twice(row.name);
                    return Err(self.error(at, problem));
                }
                if self.owner == Owner::Project && row.project_file == ProjectFile::MayNot {
                    said.warnings
                        .push(words::setting::not_from_project(&self.line_of(at), row.name));
                    continue;
                }
                let read = row.kind.read_toml(value.get_ref());
                let problem = |problem| self.error(at, format!("{} {problem}", row.name));
                said.values.push((row.key, read.map_err(problem)?));
                continue;
            }
            match value.get_ref() {
                DeValue::Table(below) if is_section(&name) => {
                    self.table(&format!("{name}."), below, said)?;
                }
                _ => return Err(self.error(at, unknown(&name))),
            }
        }
        Ok(())
    }
}

fn is_section(name: &str) -> bool {
    let section = |row: &Row| row.name.split_once('.').is_some_and(|(first, _)| first == name);
    TABLE.iter().any(section)
}

fn unknown(name: &str) -> String {
    let near = nearest(TABLE.iter().map(|row| row.name), name);
    match near.and_then(|at| TABLE.get(at)) {
        Some(row) => words::setting::unknown_near(name, row.name),
        None => words::setting::unknown(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, owner: Owner) -> Result<FileSettings, FileError> {
        parse(Path::new("c.toml"), text, owner)
    }

    /// B:C-08
    #[test]
    fn what_is_not_heard_is_told() {
        let text = "[python]\nshell = 'ipython'\n[env]\npass = ['X']\nmode = 'inherit'\n";
        let heard = said(text, Owner::Project).unwrap();
        assert_eq!(heard.values, [(Key::PythonShell, Value::Choice("ipython"))]);
        // A table is sorted by its keys, so the order of the warnings may differ from that of the lines.
        let mut warnings = heard.warnings;
        warnings.sort();
        let wanted = [
            "c.toml:4: env.pass cannot be set in a project's file; set it in your own settings",
            "c.toml:5: env.mode cannot be set in a project's file; set it in your own settings",
        ];
        assert_eq!(warnings, wanted);
        assert_eq!(said(text, Owner::User).unwrap().values.len(), 3);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let table = [
            ("python = 1", "c.toml:1", "no setting named 'python'; did you mean python.shell?"),
            (
                "x.y = 1",
                "c.toml:1",
                "no setting named 'x'; list them with 'INKCELL_CONFIG=/dev/null inkcell settings'",
            ),
            (
                "\n[python]\nshel = 'lite'",
                "c.toml:3",
                "no setting named 'python.shel'; did you mean python.shell?",
            ),
            ("[pyhton]\nshell = 'lite'", "c.toml:1", "no setting named 'pyhton'"),
            (
                "python.shell = 'bash'",
                "c.toml:1",
                "python.shell is \"bash\"; it takes lite or ipython",
            ),
            ("x", "c.toml:1", "not valid TOML: "),
            (
                "[python]\nshell = 'lite'\nshell = 'lite'",
                "c.toml:3",
                "not valid TOML: duplicate key",
            ),
            (
                "kernel = {zygote = 'maybe'}",
                "c.toml:1",
                "kernel.zygote is \"maybe\"; it takes on or off",
            ),
        ];
        for (text, place, problem) in table {
            let error = said(text, Owner::User).unwrap_err();
            assert_eq!(error.place, place, "{text}");
            assert!(error.problem.starts_with(problem), "{text}: {}", error.problem);
        }
        assert!(said("", Owner::User).unwrap().values.is_empty());
    }

    #[test]
    fn a_project_ends_at_its_work_tree() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        let below = root.join("tree/a/b");
        std::fs::create_dir_all(&below).unwrap();
        let config = |folder: &Path| {
            std::fs::create_dir_all(folder.join(".inkcell")).unwrap();
            std::fs::write(folder.join(PROJECT_FILE), "").unwrap();
            folder.join(PROJECT_FILE)
        };
        let outer = config(root);
        assert_eq!(project_file(&below), None, "not inside a work tree");
        assert_eq!(project_file(root), Some(outer));
        std::fs::create_dir(root.join("tree/.git")).unwrap();
        assert_eq!(project_file(&below), None, "the one outside the tree is not its own");
        let tree = config(&root.join("tree"));
        assert_eq!(project_file(&below), Some(tree.clone()));
        assert_eq!(project_folder(&tree), root.join("tree"));
        let nearer = config(&root.join("tree/a"));
        assert_eq!(project_file(&below), Some(nearer));
    }
}
