//! Starts child processes, waits for them, and describes their failures.
//!
//! Must not know which chore wants the process, and never reads or rewrites the output of a
//! streamed child.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// Runs a command with this process's own streams, so that its output appears unchanged.
pub(crate) fn stream(command: &mut Command) -> Result<()> {
    let shown = show(command);
    println!("$ {shown}");
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed: {status}");
    }
    Ok(())
}

/// Like [`stream`], with the child's error stream joined to our standard output. Test runners write
/// their closing lines to the error stream, and a log of standard output alone must contain them.
pub(crate) fn stream_to_stdout(command: &mut Command) -> Result<()> {
    stream(command.stderr(Stdio::from(std::io::stdout())))
}

/// Runs a command and returns its standard output; a failure includes its error stream.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{shown}` failed: {}\n{}", output.status, said.trim_end());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{shown}` printed no UTF-8"))
}

/// True if a command starts and succeeds; its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Finds the program of this name on `PATH`.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    find_in(std::env::split_paths(&path), name)
}

fn find_in(mut dirs: impl Iterator<Item = PathBuf>, name: &str) -> Option<PathBuf> {
    dirs.find_map(|dir| {
        let candidate = dir.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        is_executable(&candidate).then_some(candidate)
    })
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// Installs a system package if no consent is needed: as root, with apt-get. Returns true if it
/// did.
pub(crate) fn install_system_package(package: &str) -> bool {
    if !is_root() || on_path("apt-get").is_none() {
        return false;
    }
    let install = || {
        let mut apt = Command::new("apt-get");
        apt.args(["install", "-y", package]).env("DEBIAN_FRONTEND", "noninteractive");
        stream(&mut apt).is_ok()
    };
    // A fresh container has no package lists, so the first try fails; update them and try again.
    install() || (stream(Command::new("apt-get").arg("update")).is_ok() && install())
}

fn is_root() -> bool {
    capture(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn show(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    std::iter::once(name)
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_without_the_folder_of_its_program() {
        let mut command = Command::new("/some/where/cargo");
        command.args(["fmt", "--all"]);
        assert_eq!(show(&command), "cargo fmt --all");
    }

    #[cfg(unix)]
    #[test]
    fn a_failure_carries_what_the_child_said() {
        let error = capture(Command::new("sh").args(["-c", "echo broken >&2; exit 3"]))
            .unwrap_err()
            .to_string();
        assert!(error.contains("broken") && error.contains('3'), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn only_executable_files_are_programs() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tool");
        std::fs::write(&file, "").unwrap();
        let look = || find_in([dir.path().to_path_buf()].into_iter(), "tool");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(look(), None);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(look(), Some(file));
    }
}
