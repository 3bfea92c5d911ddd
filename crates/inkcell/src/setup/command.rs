//! The command with which a client starts inkcell: through `uvx`, `npx` or pipx if one of them keeps this program in a
//! cache that may be cleared, else its name if that means this very program in every shell, else its path.
//!
//! Owns the choice. It must not know variables: the folders to search are an argument.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A program that fetches inkcell when it is needed, and keeps it in a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Launcher {
    Uvx,
    Npx,
    Pipx,
}

impl Launcher {
    /// The launcher whose cache has the program at this path, with all links followed.
    pub(crate) fn of(program: &Path) -> Option<Launcher> {
        let parts: Vec<&str> =
            program.iter().map(|part| part.to_str().unwrap_or_default()).collect();
        match *parts.as_slice() {
            // An environment of uv's cache, or a wheel there that the environment links to.
            [.., bucket, _, "bin", _] | [.., bucket, _, _, "scripts", _] if is_of_uv(bucket) => {
                Some(Launcher::Uvx)
            }
            _ if parts.contains(&"_npx") => Some(Launcher::Npx),
            // Environments that stay are in `pipx/venvs`.
            [.., "pipx", _, "bin", _] | [.., "pipx", ".cache", _, "bin", _] => Some(Launcher::Pipx),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Launcher::Uvx => "uvx",
            Launcher::Npx => "npx",
            Launcher::Pipx => "pipx",
        }
    }

    /// Its arguments that start inkcell.
    fn args(self) -> &'static [&'static str] {
        match self {
            Launcher::Uvx => &["inkcell"],
            Launcher::Npx => &["-y", "inkcell"],
            Launcher::Pipx => &["run", "inkcell"],
        }
    }
}

/// Whether a folder of uv's cache with this name holds environments: `archive-v0` and its like.
fn is_of_uv(name: &str) -> bool {
    let version = ["archive-v", "environments-v", "builds-v"]
        .iter()
        .find_map(|bucket| name.strip_prefix(bucket));
    version.is_some_and(|version| version.parse::<u32>().is_ok())
}

/// The reason why no command can be given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NoCommand {
    /// The program is no longer at this path.
    Gone(PathBuf),
    /// Its path is not UTF-8, and a configuration must be.
    NotText(PathBuf),
}

/// The command that starts a program, and its first arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StartCommand {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
}

/// The command that starts `program`, given the folders that clients search, and those of the launchers that started
/// this process.
pub(crate) fn command_of(
    program: &Path,
    folders: &[PathBuf],
    launchers: &[PathBuf],
) -> Result<StartCommand, NoCommand> {
    let real = program.canonicalize().map_err(|_| NoCommand::Gone(program.to_owned()))?;
    if let Some(launcher) = Launcher::of(&real) {
        let args = launcher.args().iter().map(|word| (*word).to_owned()).collect();
        return Ok(StartCommand { command: launcher_command(launcher, folders, launchers), args });
    }
    let text = program.to_str().ok_or_else(|| NoCommand::NotText(program.to_owned()))?;
    let name = program.file_name().and_then(OsStr::to_str).unwrap_or(text);
    let is_this = first_in(folders, name).and_then(|file| file.canonicalize().ok()) == Some(real);
    let command = if is_this { name.to_owned() } else { text.to_owned() };
    Ok(StartCommand { command, args: Vec::new() })
}

/// The launcher by name if every shell finds it, else by the path from which it started us.
fn launcher_command(launcher: Launcher, folders: &[PathBuf], launchers: &[PathBuf]) -> String {
    let name = launcher.name();
    if first_in(folders, name).is_some() {
        return name.to_owned();
    }
    let there = launchers.iter().map(|folder| folder.join(name)).find(|file| is_program(file));
    there.and_then(|file| file.to_str().map(str::to_owned)).unwrap_or_else(|| name.to_owned())
}

/// The first program of this name, in the folders that a new shell searches as well.
fn first_in(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let lasting = folders.iter().filter(|folder| is_lasting(folder));
    lasting.map(|folder| folder.join(name)).find(|file| is_program(file))
}

/// Whether a folder is on `PATH` in other shells too. An environment is there only while it is active, `node_modules`
/// only while npm runs, and a relative folder means another one elsewhere.
fn is_lasting(folder: &Path) -> bool {
    let marks = ["pyvenv.cfg", "conda-meta"];
    let is_environment =
        || folder.parent().is_some_and(|root| marks.iter().any(|mark| root.join(mark).exists()));
    folder.is_absolute() && !folder.ends_with("node_modules/.bin") && !is_environment()
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

    /// The words of a command, joined by blanks.
    fn words(program: &Path, folders: &[&Path], launchers: &[&Path]) -> String {
        let owned = |folders: &[&Path]| -> Vec<PathBuf> {
            folders.iter().map(|folder| folder.to_path_buf()).collect()
        };
        let found = command_of(program, &owned(folders), &owned(launchers)).unwrap();
        [vec![found.command], found.args].concat().join(" ")
    }

    #[test]
    fn launcher_is_known_by_the_cache_that_has_the_program() {
        let table = [
            // As uv 0.13, npm 11 and pipx 1 make them.
            ("/h/.cache/uv/archive-v0/r9aPmaA5FXXOk7bu/bin/inkcell", Some(Launcher::Uvx)),
            ("/tmp/.tmpzWQl2T/archive-v0/R0hqX2xyadzl4cjV/bin/inkcell", Some(Launcher::Uvx)),
            (
                "/c/archive-v0/BbixhTaEBPkqWtq-/inkcell-0.1.0.data/scripts/inkcell",
                Some(Launcher::Uvx),
            ),
            ("/h/.cache/uv/builds-v0/.tmpGutxlQ/bin/inkcell", Some(Launcher::Uvx)),
            ("/h/.local/share/uv/tools/inkcell/bin/inkcell", None),
            ("/h/.npm/_npx/0fecb43b/node_modules/inkcell/bin/inkcell", Some(Launcher::Npx)),
            ("/h/.npm/_npx/0f/node_modules/@inkcell/linux-x64/bin/inkcell", Some(Launcher::Npx)),
            ("/usr/lib/node_modules/inkcell/node_modules/@inkcell/linux-x64/bin/inkcell", None),
            ("/work/node_modules/@inkcell/linux-x64/bin/inkcell", None),
            ("/h/.cache/pipx/1c2fe5f90d30af5/bin/inkcell", Some(Launcher::Pipx)),
            ("/h/.local/pipx/.cache/1c2fe5f90d30af5/bin/inkcell", Some(Launcher::Pipx)),
            ("/h/.local/share/pipx/venvs/inkcell/bin/inkcell", None),
            ("/h/.cargo/bin/inkcell", None),
            ("/work/.venv/bin/inkcell", None),
            ("/usr/local/bin/inkcell", None),
            ("/src/archive-v2/target/debug/inkcell", None),
            ("/src/archive-vault/x/bin/inkcell", None),
            ("/inkcell", None),
        ];
        for (path, wanted) in table {
            assert_eq!(Launcher::of(Path::new(path)), wanted, "{path}");
        }
    }

    #[test]
    fn program_in_a_cache_is_started_through_its_launcher() {
        let temp = tempfile::tempdir().unwrap();
        let [bin, tools, venv] = ["bin", "tools", "venv/bin"].map(|name| temp.path().join(name));
        let uvx = temp.path().join("uv/archive-v0/a/bin");
        let cached = program(&uvx, "inkcell");
        // The environment is first on PATH, which no other shell has.
        std::fs::write(uvx.with_file_name("pyvenv.cfg"), "").unwrap();
        program(&bin, "uvx");
        program(&tools, "uvx");
        program(&venv, "uvx");
        std::fs::write(venv.with_file_name("pyvenv.cfg"), "").unwrap();
        let tool = tools.join("uvx").display().to_string();
        assert_eq!(words(&cached, &[&uvx, &bin], &[&tools]), "uvx inkcell");
        assert_eq!(words(&cached, &[&uvx], &[&tools]), format!("{tool} inkcell"));
        assert_eq!(words(&cached, &[&uvx, &venv], &[&tools]), format!("{tool} inkcell"));
        assert_eq!(words(&cached, &[&uvx], &[]), "uvx inkcell");
        let npx = program(&temp.path().join("_npx/a/node_modules/inkcell/bin"), "inkcell");
        assert_eq!(words(&npx, &[&bin], &[&bin]), "npx -y inkcell");
        let pipx = program(&temp.path().join("pipx/a/bin"), "inkcell");
        assert_eq!(words(&pipx, &[], &[]), "pipx run inkcell");
    }

    #[test]
    fn name_is_used_where_it_means_this_program_in_every_shell() {
        let temp = tempfile::tempdir().unwrap();
        let [one, two, links, active, conda, modules] =
            ["one", "two", "links", "venv/bin", "conda/bin", "node_modules/.bin"]
                .map(|name| temp.path().join(name));
        let this = program(&one, "inkcell");
        program(&two, "inkcell");
        for folder in [&links, &active, &conda, &modules] {
            std::fs::create_dir_all(folder).unwrap();
            std::os::unix::fs::symlink(&this, folder.join("inkcell")).unwrap();
        }
        std::fs::write(temp.path().join("venv/pyvenv.cfg"), "").unwrap();
        std::fs::create_dir(temp.path().join("conda/conda-meta")).unwrap();
        let full = this.to_str().unwrap();
        let table: [(&[&Path], &str); 11] = [
            (&[&one], "inkcell"),
            (&[&links, &two], "inkcell"),
            (&[&two, &one], full),
            (&[temp.path(), &one], "inkcell"),
            (&[&active], full),
            (&[&active, &links], "inkcell"),
            (&[&active, &two], full),
            (&[&conda], full),
            (&[&modules], full),
            (&[], full),
            (&[Path::new("one"), Path::new("")], full),
        ];
        for (folders, wanted) in table {
            assert_eq!(words(&this, folders, &[]), wanted, "{folders:?}");
        }
        let gone = temp.path().join("gone");
        assert_eq!(command_of(&gone, &[], &[]), Err(NoCommand::Gone(gone)));
    }
}
