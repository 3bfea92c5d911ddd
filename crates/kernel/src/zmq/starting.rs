//! A kernel between its process and its first answer.
//!
//! Owns the ways in which a start can fail. Dropping an unfinished start leaves nothing behind.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::unix::AsyncFd;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::LaunchError;
use crate::event::DeathCause;
use crate::jupyter::guest::{self, Wires};
use crate::jupyter::handshake::MeetError;
use crate::jupyter::home::Home;
use crate::process::{Mark, Process, kill_group, wait_for_exit, watch_exit};
use crate::trace::KernelTrace;
use crate::zmq::handshake::Oddity;
use crate::zmq::tail::Tail;

/// A child process that does not answer yet.
pub(crate) struct StartingChild {
    pub(crate) process: Process,
    pub(crate) mark: Mark,
    pub(crate) tail: Tail,
    pub(crate) lifeline: OwnedFd,
    pub(crate) wires: Wires,
}

/// An unfinished start. Dropping this kills the process.
pub(crate) struct Starting {
    /// Name of the kernel, for messages.
    pub(crate) name: String,
    /// Path of the kernel's program.
    pub(crate) program: String,
    /// Folder in which the kernel starts.
    pub(crate) cwd: PathBuf,
    pub(crate) child: Option<StartingChild>,
    pub(crate) home: Option<Home>,
    pub(crate) trace: Option<Arc<dyn KernelTrace>>,
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            child.process.destroy();
        }
    }
}

/// Time limit of a start, and the token that cancels it.
#[derive(Clone, Copy)]
pub(crate) struct Patience<'a> {
    pub(crate) limit: Duration,
    pub(crate) deadline: Instant,
    pub(crate) cancel: &'a CancellationToken,
}

impl<'a> Patience<'a> {
    /// Begins the time limit now.
    pub(crate) fn new(limit: Duration, cancel: &'a CancellationToken) -> Patience<'a> {
        Patience { limit, deadline: Instant::now() + limit, cancel }
    }
}

/// Result of a wait, or the event that ended it early.
pub(crate) enum WatchEnd<T> {
    Done(Result<T, MeetError>),
    Over,
    Late,
    Cancelled,
}

impl Starting {
    /// Returns the result of a wait, or the error that explains its absence.
    pub(crate) async fn settle<T>(
        &mut self,
        watched: WatchEnd<T>,
        odd: Oddity,
        patience: Patience<'_>,
    ) -> Result<T, LaunchError> {
        match watched {
            WatchEnd::Done(Ok(done)) => Ok(done),
            WatchEnd::Done(Err(MeetError::Startup { name, value })) => {
                Err(guest::setup_error("the first code of the kernel failed", &name, value))
            }
            // The process is ending just now, or has closed its sockets for another reason.
            WatchEnd::Done(Err(_)) | WatchEnd::Over => Err(self.ended().await),
            WatchEnd::Late => Err(self.late(patience.limit, odd)),
            WatchEnd::Cancelled => Err(LaunchError::Cancelled),
        }
    }

    /// Returns the error for an exceeded time limit. The output so far may explain it.
    fn late(&self, limit: Duration, odd: Oddity) -> LaunchError {
        let said = self.child.as_ref().map(|child| child.tail.text()).unwrap_or_default();
        let odd = odd.0.map(|odd| format!("{odd}\n")).unwrap_or_default();
        LaunchError::TimedOut {
            python: self.name.clone(),
            seconds: limit.as_secs_f64(),
            stderr_tail: format!("{odd}{said}"),
        }
    }

    /// Returns the reason why the kernel ended before it was ready.
    pub(crate) async fn ended(&mut self) -> LaunchError {
        let (cause, stderr_tail) = match &mut self.child {
            None => (DeathCause::Unknown, String::new()),
            Some(child) => {
                let pid = child.process.id();
                if let Ok(exit) = watch_exit(pid) {
                    // The sockets close a moment before the process ends.
                    let _ = tokio::time::timeout(Duration::from_secs(1), exit.readable()).await;
                }
                kill_group(pid, Signal::KILL);
                let cause = child.process.cause().await;
                (cause.unwrap_or(DeathCause::Unknown), child.tail.last_words().await)
            }
        };
        // The name may be quoted: an import quotes it, and `python -m` does not.
        let is_missing = |name: &str| stderr_tail.contains(&format!("No module named {name}"));
        if is_missing("ipykernel") || is_missing("'ipykernel") {
            return LaunchError::without_ipykernel(&self.program);
        }
        let named = shadowing_file(&stderr_tail).map(PathBuf::from);
        if let Some(file) = named.or_else(|| lacking_module(&stderr_tail, &self.cwd)) {
            let file = file.display();
            let reason = format!(
                "{} could not start: Python imported {file} in place of its own module. Rename that file, or run the \
                 kernel in another folder. Python said:\n{}",
                self.name,
                stderr_tail.trim_end()
            );
            return LaunchError::Startup { reason };
        }
        LaunchError::EndedEarly { python: self.name.clone(), cause, stderr_tail }
    }
}

/// Returns `true` if a file is in a folder of Python itself.
fn is_pythons_own(file: &str) -> bool {
    ["/lib/python", "/lib64/python", "/lib/pypy"].iter().any(|part| file.contains(part))
}

/// Returns the last file in a traceback that Python's own code imported by name, and that is not
/// Python's own.
fn shadowing_file(said: &str) -> Option<&str> {
    let (mut found, mut importer, mut source) = (None, "", "");
    for line in said.lines() {
        let place = line.trim().strip_prefix("File \"").and_then(|rest| rest.split_once('"'));
        let Some((file, _)) = place else {
            // Newer versions of Python underline a part of the line.
            if line.contains(|c: char| !matches!(c, '^' | '~' | ' ')) {
                source = line;
            }
            continue;
        };
        let name = file.strip_suffix("/__init__.py").unwrap_or(file);
        let name = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let is_named = source.split([' ', ',', '.']).any(|word| word == name);
        if source.contains("import ")
            && is_named
            && is_pythons_own(importer)
            && !is_pythons_own(file)
        {
            found = Some(file);
        }
        importer = file;
    }
    found
}

/// Returns the file of the module in which Python's own code misses a name, if the file is in this
/// folder.
fn lacking_module(said: &str, folder: &Path) -> Option<PathBuf> {
    let (_, last) = said.rsplit_once("File \"")?;
    let (misser, problem) = last.split_once('"')?;
    let (_, named) = problem.rsplit_once("module '").or_else(|| problem.rsplit_once("from '"))?;
    let (name, rest) = named.split_once('\'')?;
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_lacking =
        rest.starts_with(" has no attribute") || problem.contains("cannot import name");
    if !is_name || !is_lacking || !is_pythons_own(misser) {
        return None;
    }
    let places = [folder.join(format!("{name}.py")), folder.join(name).join("__init__.py")];
    places.into_iter().find(|place| place.is_file())
}

/// Waits for work of a kernel until it is done, the kernel ends, time runs out, or the start is
/// cancelled.
pub(crate) async fn watch<T>(
    work: impl Future<Output = Result<T, MeetError>>,
    exit: Option<&AsyncFd<OwnedFd>>,
    child: Option<&StartingChild>,
    patience: Patience<'_>,
) -> WatchEnd<T> {
    tokio::select! {
        done = work => WatchEnd::Done(done),
        () = wait_for_exit(exit) => WatchEnd::Over,
        () = is_stolen_from(child) => WatchEnd::Over,
        () = tokio::time::sleep_until(patience.deadline) => WatchEnd::Late,
        () = patience.cancel.cancelled() => WatchEnd::Cancelled,
    }
}

/// Waits until a kernel reports that another program has one of its ports. The kernel may go on
/// then, but without all of its sockets.
async fn is_stolen_from(child: Option<&StartingChild>) {
    let Some(child) = child else { return std::future::pending().await };
    while !says_stolen(&child.tail.text()) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Returns `true` if the output says that another program took a port before the kernel could.
pub(crate) fn says_stolen(said: &str) -> bool {
    ["Address already in use", "EADDRINUSE"].iter().any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 21, 31: the error names the file that hides a module.
    #[test]
    fn a_file_in_the_place_of_a_module_is_named() {
        let said = "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\n  \
                    File \"/usr/lib64/python3.11/ipykernel/_version.py\", line 5, in <module>\n    import re\n    \
                    ^^^^^^^^^\n  File \"/data/re.py\", line 1, in <module>\n    raise ImportError('mine')\n\
                    ImportError: mine";
        assert_eq!(shadowing_file(said), Some("/data/re.py"));
        let package = said.replace("/data/re.py", "/data/re/__init__.py");
        assert_eq!(shadowing_file(&package), Some("/data/re/__init__.py"));
        assert_eq!(shadowing_file(&said.replace("/data", "/usr/lib/python3.11")), None);
        assert_eq!(shadowing_file(&said.replace("import re", "start()")), None);
        // A module of the user, imported by another module of the user.
        assert_eq!(shadowing_file(&said.replace("/usr/lib64/python3.11", "/data")), None);
        assert_eq!(shadowing_file("Segmentation fault"), None);
    }

    /// A file that lacks a name is not in the traceback of the code that misses it.
    #[test]
    fn a_file_that_lacks_something_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let said = "  File \"/usr/lib64/python3.11/string.py\", line 86\n\
                    AttributeError: module 're' has no attribute 'compile'\n";
        assert_eq!(lacking_module(said, folder.path()), None);
        std::fs::write(folder.path().join("re.py"), "x = 1").unwrap();
        let named = Some(folder.path().join("re.py"));
        assert_eq!(lacking_module(said, folder.path()), named);
        let import = said.replace(
            "module 're' has no attribute 'compile'",
            "cannot import name 'x' from 're' (re.py)",
        );
        assert_eq!(lacking_module(&import, folder.path()), named);
        // Code of the user that misses a name.
        assert_eq!(
            lacking_module(&said.replace("/usr/lib64/python3.11", "/data"), folder.path()),
            None
        );
        assert_eq!(lacking_module(&said.replace("'re'", "'../re'"), folder.path()), None);
        assert_eq!(lacking_module("module 're'", folder.path()), None);
    }
}
