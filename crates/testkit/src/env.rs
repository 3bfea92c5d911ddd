//! Runs the real executable in a private environment.
//!
//! Owns the temporary folders, the environment of the child and its time limit. A child that does
//! not end is killed by its own handle, and the test fails.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The time limit of a command; only a hang takes this long.
const LIMIT: Duration = Duration::from_secs(300);

/// A private environment: one folder that is both working folder and home, and a state folder
/// beside it.
pub struct TestEnv {
    root: TempDir,
    program: PathBuf,
}

/// The exit and the output of a command.
#[derive(Debug)]
pub struct CommandOutput {
    /// Exit code; none if a signal ended the command.
    pub code: Option<i32>,
    /// The signal that ended the command, if one did.
    pub signal: Option<i32>,
    /// Standard output as text; bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// The error stream as text; bytes that are not UTF-8 are replaced.
    pub stderr: String,
    /// Standard output as bytes.
    pub bytes: Vec<u8>,
}

impl TestEnv {
    /// Makes an environment for `program`, the executable under test:
    /// `env!("CARGO_BIN_EXE_inkcell")` in the caller.
    pub fn new(program: &str) -> TestEnv {
        let root = tempfile::Builder::new().prefix("inkcell-test-").tempdir().expect("a folder");
        std::fs::create_dir(root.path().join("work")).expect("a working folder");
        crate::runner::share(&root.path().join("state"));
        TestEnv { root, program: PathBuf::from(program) }
    }

    /// Removes the state folder, as before the first command.
    pub fn without_state(self) -> TestEnv {
        std::fs::remove_dir_all(self.state()).expect("a state folder");
        self
    }

    /// Path of the working folder, which is also the home folder.
    pub fn dir(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Path of the folder in which the executable keeps locks and records.
    pub fn state(&self) -> PathBuf {
        self.root.path().join("state")
    }

    /// A path outside the working folder, for files that the executable must not change.
    pub fn outside(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// A path in the working folder; nothing is created.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    /// Writes a file into the working folder.
    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Reads a file of the working folder, which must exist.
    pub fn get(&self, name: &str) -> Vec<u8> {
        let path = self.path(name);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The sorted names of files in the working folder.
    pub fn names(&self) -> Vec<String> {
        names_in(&self.dir())
    }

    /// Prepares any program to run here; it gets only `PATH` from the caller's environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.dir())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir())
            .env("INKCELL_HOST_USE", "off")
            .env("INKCELL_STATE_DIR", self.state());
        command
    }

    /// Prepares the executable under test.
    pub fn inkcell(&self) -> Command {
        self.command(&self.program)
    }

    /// Path of the executable under test.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs the executable with empty standard input.
    pub fn run(&self, args: &[&str]) -> CommandOutput {
        self.run_with(args, b"")
    }

    /// Runs the executable with this standard input.
    pub fn run_with(&self, args: &[&str], input: impl AsRef<[u8]>) -> CommandOutput {
        let mut command = self.inkcell();
        command.args(args);
        finish(command, input)
    }

    /// Replaces what differs between runs: the paths of the folders, and versions of 16 digits.
    pub fn redact(&self, text: &str) -> String {
        let root = self.root.path().display().to_string();
        let real = self.root.path().canonicalize().expect("the folder is there");
        let text = text.replace(&real.display().to_string(), "[tmp]").replace(&root, "[tmp]");
        redact_versions(&text)
    }
}

impl CommandOutput {
    /// Asserts that the command succeeded.
    #[track_caller]
    pub fn ok(self) -> CommandOutput {
        self.exits(0)
    }

    /// Asserts that the command ended with this code.
    #[track_caller]
    pub fn exits(self, code: i32) -> CommandOutput {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }
}

/// The sorted names in a folder.
pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder can be listed");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into())
        .collect();
    names.sort();
    names
}

/// Replaces every word of exactly 16 hexadecimal digits by `[version]`.
fn redact_versions(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric();
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let split = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(split);
        let is_version = word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        out.push_str(if is_version { "[version]" } else { word });
        let other = after.find(is_word).unwrap_or(after.len());
        out.push_str(&after[..other]);
        rest = &after[other..];
    }
    out
}

/// Runs a command to its end, within the usual time limit.
pub fn finish(command: Command, input: impl AsRef<[u8]>) -> CommandOutput {
    finish_within(command, input, LIMIT)
}

/// Runs a command to its end; one that takes longer than `limit` is killed and the test fails.
pub fn finish_within(
    mut command: Command,
    input: impl AsRef<[u8]>,
    limit: Duration,
) -> CommandOutput {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let shown = format!("{command:?}");
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{shown}: {error}"));
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.as_ref().to_vec();
    // A command may end without reading its input, so ignore a failed write.
    std::thread::spawn(move || drop(stdin.write_all(&input)));
    let stdout = collect(child.stdout.take().expect("a pipe"));
    let stderr = collect(child.stderr.take().expect("a pipe"));
    let end = Instant::now() + limit;
    let bytes = received(&stdout, end, &mut child, &shown);
    let stderr = received(&stderr, end, &mut child, &shown);
    let status = child.wait().expect("the command ended");
    CommandOutput {
        code: status.code(),
        signal: status.signal(),
        stdout: String::from_utf8_lossy(&bytes).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
        bytes,
    }
}

fn collect(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        drop(pipe.read_to_end(&mut bytes));
        drop(sender.send(bytes));
    });
    receiver
}

fn received(
    pipe: &mpsc::Receiver<Vec<u8>>,
    end: Instant,
    child: &mut Child,
    shown: &str,
) -> Vec<u8> {
    match pipe.recv_timeout(end.saturating_duration_since(Instant::now())) {
        Ok(bytes) => bytes,
        Err(_) => {
            drop(child.kill());
            drop(child.wait());
            panic!("{shown} did not end");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::redact_versions;

    #[test]
    fn versions_are_redacted_and_other_words_are_not() {
        let text = "version 0123456789abcdef, cell 01234567 of 0123456789abcdef0\n";
        assert_eq!(
            redact_versions(text),
            "version [version], cell 01234567 of 0123456789abcdef0\n"
        );
    }
}
