//! A kernel between its process and its first answer: met, or given up.
//!
//! Owns the ways in which a start can fail. Dropped, it leaves nothing behind.

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
use crate::jupyter::about::About;
use crate::jupyter::beginning::Beginning;
use crate::jupyter::guest::Wires;
use crate::jupyter::home::Home;
use crate::jupyter::kernelspec::InterruptMode;
use crate::process::{Mark, Process, kill_group, watch_exit};
use crate::trace::{MessageTrace, Trace};
use crate::zmq::connection::Connection;
use crate::zmq::drain::Drains;
use crate::zmq::lines::{self, Lines, Speaker};
use crate::zmq::meet::{self, Oddity, Unmet};
use crate::zmq::ready::Ready;
use crate::zmq::tail::Tail;

/// A process that is no kernel yet.
pub(crate) struct Young {
    pub(crate) process: Process,
    pub(crate) mark: Mark,
    pub(crate) tail: Tail,
    pub(crate) lifeline: OwnedFd,
    pub(crate) wires: Wires,
}

/// A kernel on its way; dropped, it is killed.
pub(crate) struct Starting {
    /// What is started, for messages.
    pub(crate) name: String,
    /// Its program.
    pub(crate) program: String,
    /// The folder that it starts in.
    pub(crate) cwd: PathBuf,
    pub(crate) own: Option<Young>,
    pub(crate) home: Option<Home>,
    pub(crate) trace: Option<Arc<dyn Trace>>,
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(young) = self.own.take() {
            young.process.destroy();
        }
    }
}

/// How long a start may take, and whether it is still wanted.
#[derive(Clone, Copy)]
pub(crate) struct Patience<'a> {
    pub(crate) limit: Duration,
    pub(crate) deadline: Instant,
    pub(crate) cancel: &'a CancellationToken,
}

impl<'a> Patience<'a> {
    /// From now on.
    pub(crate) fn new(limit: Duration, cancel: &'a CancellationToken) -> Patience<'a> {
        Patience { limit, deadline: Instant::now() + limit, cancel }
    }
}

/// What was waited for, or what came before it.
pub(crate) enum Watched<T> {
    Done(Result<T, Unmet>),
    Over,
    Late,
    Cancelled,
}

impl Starting {
    /// Waits until it answers, in the time there is.
    pub(crate) async fn meet(
        mut self,
        connection: &Connection,
        drains: &Drains,
        root: Option<PathBuf>,
        mode: InterruptMode,
        patience: Patience<'_>,
    ) -> Result<Ready, LaunchError> {
        let pid = self.own.as_ref().map(|young| young.process.id());
        let exit = match pid.map(watch_exit).transpose() {
            Ok(exit) => exit,
            // One that cannot be watched has ended already.
            Err(_) => return Err(self.ended().await),
        };
        let trace = MessageTrace::new(self.trace.as_ref(), pid);
        let folder = self.home.as_ref().map_or(Path::new(""), Home::folder);
        let mut odd = Oddity::default();
        let is_watched = exit.is_some();
        let words = first_words(connection, drains, folder, &trace, &mut odd, is_watched);
        let watched = watch(words, exit.as_ref(), self.own.as_ref(), patience).await;
        let (lines, speaker, about, beginning) = self.settle(watched, odd, patience).await?;
        Ok(Ready { starting: self, exit, lines, speaker, about, beginning, mode, root })
    }

    /// What there is, or why it is not.
    pub(crate) async fn settle<T>(
        &mut self,
        watched: Watched<T>,
        odd: Oddity,
        patience: Patience<'_>,
    ) -> Result<T, LaunchError> {
        match watched {
            Watched::Done(Ok(done)) => Ok(done),
            Watched::Done(Err(Unmet::Startup { name, value })) => {
                // Our own code says why in words; whatever else is raised there is known by its name.
                let reason = match name.as_str() {
                    "ModuleLoadError" => value,
                    _ => format!("what the kernel begins with failed: {name}: {value}"),
                };
                Err(LaunchError::Startup { reason })
            }
            // The process ends in this moment, or has closed its sockets for some other reason.
            Watched::Done(Err(Unmet::Closed)) | Watched::Over => Err(self.ended().await),
            Watched::Late => Err(self.late(patience.limit, odd)),
            Watched::Cancelled => Err(LaunchError::Cancelled),
        }
    }

    /// The time is up; what it has said so far may tell why.
    fn late(&self, limit: Duration, odd: Oddity) -> LaunchError {
        let said = self.own.as_ref().map(|young| young.tail.text()).unwrap_or_default();
        let odd = odd.0.map(|odd| format!("{odd}\n")).unwrap_or_default();
        LaunchError::TimedOut {
            python: self.name.clone(),
            seconds: limit.as_secs_f64(),
            stderr_tail: format!("{odd}{said}"),
        }
    }

    /// Why it ended before it was ready.
    async fn ended(&mut self) -> LaunchError {
        let (cause, stderr_tail) = match &mut self.own {
            None => (DeathCause::Unknown, String::new()),
            Some(young) => {
                let pid = young.process.id();
                if let Ok(exit) = watch_exit(pid) {
                    // Its sockets close a moment before its process ends.
                    let _ = tokio::time::timeout(Duration::from_secs(1), exit.readable()).await;
                }
                kill_group(pid, Signal::KILL);
                let cause = young.process.cause().await;
                (cause.unwrap_or(DeathCause::Unknown), young.tail.last_words().await)
            }
        };
        // With quotes or without: an import says it in one way, `python -m` in the other.
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

/// Whether a file is in a folder of Python's own.
fn is_pythons_own(file: &str) -> bool {
    ["/lib/python", "/lib64/python", "/lib/pypy"].iter().any(|part| file.contains(part))
}

/// The last file in a traceback that Python's own code imported by name and that is not from a folder of Python's own.
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

/// The file of the module that lacks what Python's own code wants of it, if it is in this folder.
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

/// Connects, and waits until the kernel answers.
///
/// A port may have belonged to another program that has ended since. A connection that closes while the process of the
/// kernel lives is therefore made anew; without a process to watch, it is the end.
async fn first_words(
    connection: &Connection,
    drains: &Drains,
    folder: &Path,
    trace: &MessageTrace,
    odd: &mut Oddity,
    is_watched: bool,
) -> Result<(Lines, Speaker, About, Beginning), Unmet> {
    loop {
        let connected = lines::connect(connection, drains, folder, trace).await;
        let (mut lines, speaker) = connected.map_err(|_| Unmet::Closed)?;
        match meet::meet(&mut lines, &speaker, odd).await {
            Ok((about, beginning)) => return Ok((lines, speaker, about, beginning)),
            Err(Unmet::Closed) if is_watched => tokio::time::sleep(lines::AGAIN).await,
            Err(unmet) => return Err(unmet),
        }
    }
}

/// Waits for something that a kernel is to do, as long as that makes sense.
pub(crate) async fn watch<T>(
    work: impl Future<Output = Result<T, Unmet>>,
    exit: Option<&AsyncFd<OwnedFd>>,
    young: Option<&Young>,
    patience: Patience<'_>,
) -> Watched<T> {
    tokio::select! {
        done = work => Watched::Done(done),
        () = is_over(exit) => Watched::Over,
        () = is_stolen_from(young) => Watched::Over,
        () = tokio::time::sleep_until(patience.deadline) => Watched::Late,
        () = patience.cancel.cancelled() => Watched::Cancelled,
    }
}

async fn is_over(exit: Option<&AsyncFd<OwnedFd>>) {
    match exit {
        // Whatever it says, there is nothing more to wait for.
        Some(exit) => drop(exit.readable().await),
        None => std::future::pending().await,
    }
}

/// Waits until a kernel says that somebody else has one of its ports. It need not end of that, but has not all
/// of its sockets.
async fn is_stolen_from(young: Option<&Young>) {
    let Some(young) = young else { return std::future::pending().await };
    while !says_stolen(&young.tail.text()) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Whether somebody took a port between our choice and the kernel's use of it.
pub(crate) fn says_stolen(said: &str) -> bool {
    ["Address already in use", "EADDRINUSE"].iter().any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 21, 31: the error names the file that took the place of a module.
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
        // A module of the user's own that another one of theirs imports.
        assert_eq!(shadowing_file(&said.replace("/usr/lib64/python3.11", "/data")), None);
        assert_eq!(shadowing_file("Segmentation fault"), None);
    }

    /// A file that lacks something is not in the traceback of those who miss it.
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
        // Code of the user's own that misses something.
        assert_eq!(
            lacking_module(&said.replace("/usr/lib64/python3.11", "/data"), folder.path()),
            None
        );
        assert_eq!(lacking_module(&said.replace("'re'", "'../re'"), folder.path()), None);
        assert_eq!(lacking_module("module 're'", folder.path()), None);
    }
}
