//! The files of one shared gateway, and its process.
//!
//! Owns their contents and the right to change them. One system lock decides which process may
//! start or end the gateway. Another lock, held by the gateway itself, shows that it lives; a
//! process id in a file proves nothing. This module must not know how a gateway is started.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::error::gateway::GatewayError;
use crate::gateway::transport::url::{GatewayUrl, PlainHttp, Token};
use crate::new_file::replace_file;
use crate::private_folder::make_private_folder;

/// Interval between tries for a lock that another process holds, and the longest wait for it.
const LOCK_AGAIN: Duration = Duration::from_millis(50);
pub(crate) const LOCK_LIMIT: Duration = Duration::from_secs(35);

/// Interval at which the holder of the lock touches its file.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Time that a gateway has to end, for each signal.
const END_LIMIT: Duration = Duration::from_secs(5);

/// Recorded state of a shared gateway.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SharedStatus {
    /// `true` while the gateway lives.
    pub active: bool,
    /// Address of the gateway, if recorded.
    pub url: Option<String>,
    /// Process id of the gateway, if recorded.
    pub pid: Option<u32>,
    /// Running time of the gateway in milliseconds.
    pub uptime: Option<u64>,
    /// Path of the gateway's interpreter.
    pub python_path: Option<String>,
    /// Path of the interpreter's virtual environment.
    pub venv_path: Option<String>,
}

/// Contents of the gateway's info file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Info {
    pub(crate) url: String,
    pub(crate) pid: u32,
    pub(crate) started_at: u64,
    #[serde(default)]
    pub(crate) python_path: Option<String>,
    #[serde(default)]
    pub(crate) venv_path: Option<String>,
}

/// A folder with the files of one gateway.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) folder: PathBuf,
}

impl Site {
    /// Lists the folders of all gateways that were ever started from this state folder.
    pub(crate) fn all(state_dir: &Path) -> Vec<Site> {
        let Ok(entries) = fs::read_dir(folder(state_dir)) else { return Vec::new() };
        let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        folders.sort();
        folders.into_iter().map(|folder| Site { folder }).collect()
    }

    /// Returns the recorded state, without a request to the gateway.
    pub(crate) fn status(&self) -> SharedStatus {
        let is_alive = self.is_alive().unwrap_or(false);
        let info = self.info().ok().flatten().filter(|_| is_alive);
        let uptime = info.as_ref().map(|info| millis().saturating_sub(info.started_at));
        SharedStatus {
            active: info.is_some(),
            url: info.as_ref().map(|info| info.url.clone()),
            pid: info.as_ref().map(|info| info.pid),
            uptime,
            python_path: info.as_ref().and_then(|info| info.python_path.clone()),
            venv_path: info.and_then(|info| info.venv_path),
        }
    }

    /// Waits up to `limit` for the right to change the files or the process.
    pub(crate) async fn lock(&self, limit: Duration) -> Result<Lock, GatewayError> {
        self.make_folder().map_err(in_folder(&self.folder))?;
        let path = self.folder.join("gateway.lock");
        let file = private().read(true).create(true).truncate(false).open(&path);
        let file = file.map_err(in_folder(&path))?;
        let until = Instant::now() + limit;
        loop {
            match file.try_lock() {
                Ok(()) => return Lock::held(file).map_err(in_folder(&path)),
                Err(TryLockError::Error(error)) => return Err(in_folder(&path)(error)),
                Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                    return Err(unavailable("Timed out waiting for shared gateway lock"));
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_AGAIN).await,
            }
        }
    }

    /// Creates the folder. A program started from here runs as this user, so the folder must belong
    /// to this user.
    pub(crate) fn make_folder(&self) -> io::Result<()> {
        make_private_folder(&self.folder)?;
        let found = fs::metadata(&self.folder)?;
        if found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o077 != 0 {
            return Err(io::Error::other("other users can use the folder"));
        }
        Ok(())
    }

    /// Reads the info file. Returns `None` if it cannot be understood.
    pub(crate) fn info(&self) -> io::Result<Option<Info>> {
        let text = self.read("gateway.json")?;
        Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    /// Reads a file of the gateway, if it exists.
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.folder.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns `true` if a gateway of ours lives: it holds a lock from its first moment to its
    /// last. Fails if the lock cannot be examined.
    pub(crate) fn is_alive(&self) -> io::Result<bool> {
        let file = match File::open(self.folder.join("gateway.alive")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            file => file?,
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns the recorded address and token, if the gateway lives.
    pub(crate) fn living(&self) -> io::Result<Option<(GatewayUrl, Token)>> {
        if !self.is_alive()? {
            return Ok(None);
        }
        let (Some(info), Some(token)) = (self.info()?, self.read("gateway.token")?) else {
            return Ok(None);
        };
        let url = GatewayUrl::parse(&info.url, PlainHttp::OnlyHere).ok().map(|(url, _)| url);
        let token = std::str::from_utf8(&token).ok().and_then(|token| Token::parse(token).ok()?);
        Ok(url.zip(token))
    }

    /// Ends the gateway that lives here, even if its starter died before recording it.
    pub(crate) async fn end(&self) -> Result<bool, GatewayError> {
        let is_alive = || self.is_alive().map_err(in_folder(&self.folder));
        let was_alive = is_alive()?;
        for signal in [Signal::TERM, Signal::KILL] {
            let until = Instant::now() + END_LIMIT;
            if !is_alive()? {
                break;
            }
            for holder in self.holders() {
                let _ = rustix::process::pidfd_send_signal(holder, signal);
            }
            while is_alive()? && Instant::now() < until {
                tokio::time::sleep(LOCK_AGAIN).await;
            }
        }
        for name in ["gateway.json", "gateway.token"] {
            match fs::remove_file(self.folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(in_folder(&self.folder)(error));
                }
                _ => {}
            }
        }
        // A gateway that survived must not be spoken to any more, and the next one gets a lock file
        // of its own.
        let _ = fs::remove_file(self.folder.join("gateway.alive"));
        Ok(was_alive)
    }

    /// Returns the processes whose standard input is the lock file of the gateway.
    ///
    /// The system reuses process ids, so an id in a file proves nothing, but only the gateway has
    /// this file as its input. Each process is pinned before it is examined, so that no other can
    /// take its place.
    fn holders(&self) -> Vec<OwnedFd> {
        let Ok(ours) = fs::metadata(self.folder.join("gateway.alive")) else { return Vec::new() };
        let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
        let holder = |entry: fs::DirEntry| {
            let number: i32 = entry.file_name().to_str()?.parse().ok()?;
            let held = pidfd_open(Pid::from_raw(number)?, PidfdFlags::empty()).ok()?;
            let theirs = fs::metadata(entry.path().join("fd/0")).ok()?;
            ((theirs.dev(), theirs.ino()) == (ours.dev(), ours.ino())).then_some(held)
        };
        processes.flatten().filter_map(holder).collect()
    }

    /// Writes the info file and the token.
    pub(crate) fn write(&self, info: &Info, token: &Token) -> io::Result<()> {
        let place = |name: &str| self.folder.join(name);
        replace_file(&place("gateway.token"), token.secret().as_bytes(), 0o600)?;
        replace_file(&place("gateway.json"), &serde_json::to_vec(info)?, 0o600)
    }
}

/// The right to change anything in the folder. Dropping this frees it for other processes.
pub(crate) struct Lock {
    /// Touches the file, so that a reader of the file sees that its holder is at work.
    _heart: JoinSet<()>,
    _file: Arc<File>,
}

impl Lock {
    fn held(mut file: File) -> io::Result<Lock> {
        let content = serde_json::json!({"pid": std::process::id(), "startedAt": millis()});
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(content.to_string().as_bytes())?;
        let file = Arc::new(file);
        // Give the task a weak reference, so that it cannot outlive the lock.
        let beating = Arc::downgrade(&file);
        let mut heart = JoinSet::new();
        heart.spawn(async move {
            loop {
                tokio::time::sleep(HEARTBEAT).await;
                let Some(file) = beating.upgrade() else { return };
                let _ = file.set_modified(SystemTime::now());
            }
        });
        Ok(Lock { _heart: heart, _file: file })
    }
}

/// Returns the parent folder of all gateway folders.
pub(crate) fn folder(state_dir: &Path) -> PathBuf {
    state_dir.join("python-gateway")
}

pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

pub(crate) fn millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn unavailable(reason: &str) -> GatewayError {
    GatewayError::Shared { reason: reason.to_owned() }
}

pub(crate) fn in_folder(path: &Path) -> impl Fn(io::Error) -> GatewayError {
    move |error| unavailable(&format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use inkcell_testkit::wait::skip_time;

    use super::*;

    fn site(folder: &Path) -> Site {
        Site { folder: folder.join("site") }
    }

    fn touched(site: &Site) -> SystemTime {
        fs::metadata(site.folder.join("gateway.lock")).unwrap().modified().unwrap()
    }

    /// B:G-10: a reader of the file sees who holds it and that the holder is at work; at the end it
    /// is free again.
    #[tokio::test]
    async fn a_lock_that_is_held_shows_it() {
        let temp = tempfile::tempdir().unwrap();
        let site = site(temp.path());
        let lock = site.lock(LOCK_LIMIT).await.unwrap();
        let path = site.folder.join("gateway.lock");
        let content: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(content["pid"], std::process::id());
        assert!(content["startedAt"].as_u64().is_some_and(|at| at.abs_diff(millis()) < 600_000));
        let long_ago = UNIX_EPOCH + Duration::from_secs(1);
        File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        skip_time(2 * HEARTBEAT).await;
        assert!(touched(&site) > long_ago, "it is touched while it is held");
        drop(lock);
        File::open(&path).unwrap().try_lock().expect("it is free");
    }

    /// B:G-12 F-027: the lock of the system decides, and not the holder that the file names. A free
    /// lock is taken at once, even if the named process lives. A held lock is not taken, even if
    /// the file names no holder.
    #[tokio::test]
    async fn what_a_lock_says_proves_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let site = site(temp.path());
        site.make_folder().unwrap();
        let path = site.folder.join("gateway.lock");
        let living = serde_json::json!({"pid": 1, "startedAt": millis()}).to_string();
        let dead = serde_json::json!({"pid": i32::MAX, "startedAt": millis()}).to_string();
        for content in [living.as_str(), &dead, "", "nonsense", "{\"pid\":\"x\"}"] {
            fs::write(&path, content).unwrap();
            let lock = site.lock(LOCK_LIMIT).now_or_never().expect("at once").unwrap();
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains(&std::process::id().to_string()), "{text}");
            fs::write(&path, "").unwrap();
            assert!(site.lock(LOCK_LIMIT).now_or_never().is_none(), "another launcher holds it");
            drop(lock);
        }
    }

    /// B:G-13: a file that cannot be understood counts as absent.
    #[test]
    fn what_was_written_down_is_read_or_absent() {
        let temp = tempfile::tempdir().unwrap();
        let site = site(temp.path());
        site.make_folder().unwrap();
        let path = site.folder.join("gateway.json");
        let good = "{\"url\":\"http://127.0.0.1:1\",\"pid\":7,\"startedAt\":9,\"venvPath\":null,\"cwd\":\"/\"}";
        fs::write(&path, good).unwrap();
        let info = site.info().unwrap().expect("it is whole");
        assert_eq!((info.pid, info.started_at, info.venv_path), (7, 9, None));
        for bad in ["", "{}", "[]", "null", &good[..20], &good.replace('7', "\"7\""), "\u{0}"] {
            fs::write(&path, bad).unwrap();
            assert!(site.info().unwrap().is_none(), "{bad}");
        }
    }
}
