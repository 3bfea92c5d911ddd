//! The command with which a client starts inkcell: its name if that means this very program, else
//! its path.
//!
//! Owns the choice. It must not know variables: the folders to search are an argument.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The reason why no command can be given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NoCommand {
    /// The program is no longer at this path.
    Gone(PathBuf),
    /// Its path is not UTF-8, and a configuration must be.
    NotText(PathBuf),
}

/// The command that starts `program`, given the folders that clients search.
pub(crate) fn command_of(program: &Path, folders: &[PathBuf]) -> Result<String, NoCommand> {
    let real = program.canonicalize().map_err(|_| NoCommand::Gone(program.to_owned()))?;
    let text = program.to_str().ok_or_else(|| NoCommand::NotText(program.to_owned()))?;
    let name = program.file_name().and_then(OsStr::to_str).unwrap_or(text);
    // A relative folder depends on where a client is started.
    let folders = folders.iter().filter(|folder| folder.is_absolute());
    let first = folders.map(|folder| folder.join(name)).find(|file| is_program(file));
    let is_this = first.and_then(|file| file.canonicalize().ok()) == Some(real);
    Ok(if is_this { name.to_owned() } else { text.to_owned() })
}

fn is_program(file: &Path) -> bool {
    std::fs::metadata(file)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(folder: &Path, name: &str) -> PathBuf {
        std::fs::create_dir_all(folder).unwrap();
        let file = folder.join(name);
        std::fs::write(&file, "").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    #[test]
    fn a_name_is_used_where_it_means_this_program() {
        let temp = tempfile::tempdir().unwrap();
        let [one, two, links] = ["one", "two", "links"].map(|name| temp.path().join(name));
        let this = program(&one, "inkcell");
        program(&two, "inkcell");
        std::fs::create_dir(&links).unwrap();
        std::os::unix::fs::symlink(&this, links.join("inkcell")).unwrap();
        let full = this.to_str().unwrap();
        let table: [(&[&Path], &str); 6] = [
            (&[&one], "inkcell"),
            (&[&links, &two], "inkcell"),
            (&[&two, &one], full),
            (&[temp.path(), &one], "inkcell"),
            (&[], full),
            (&[Path::new("one"), Path::new("")], full),
        ];
        for (folders, wanted) in table {
            let folders: Vec<PathBuf> = folders.iter().map(|folder| folder.to_path_buf()).collect();
            assert_eq!(command_of(&this, &folders).as_deref(), Ok(wanted), "{folders:?}");
        }
        let gone = temp.path().join("gone");
        assert_eq!(command_of(&gone, &[]), Err(NoCommand::Gone(gone)));
    }
}
