//! The files of one shared gateway, and the process that they are about.
//!
//! Owns who may change them and what they say. A lock of the system decides who may start or end the gateway,
//! and another, which the gateway itself holds, tells whether it lives; a number in a file proves nothing. It
//! must not know how a gateway is started.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::gateway::error::GatewayError;
use crate::gateway::url::{GatewayUrl, PlainHttp, Token};

/// How often a lock that somebody holds is tried, and for how long.
const LOCK_AGAIN: Duration = Duration::from_millis(50);
pub(crate) const LOCK_LIMIT: Duration = Duration::from_secs(35);

/// How often the file of a lock that is held is touched.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// How long a gateway that is ended may take, by each signal.
const END_LIMIT: Duration = Duration::from_secs(5);

/// What is known of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedStatus {
    /// Whether it lives.
    pub active: bool,
    /// Where it is.
    pub url: Option<String>,
    /// Its process.
    pub pid: Option<u32>,
    /// How long it has been running, in milliseconds.
    pub uptime: Option<u64>,
    /// Its interpreter.
    pub python_path: Option<String>,
    /// The environment of that.
    pub venv_path: Option<String>,
}

/// What is written down about it.
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
    /// Those of every gateway that was ever started from here.
    pub(crate) fn all(state_dir: &Path) -> Vec<Site> {
        let Ok(entries) = fs::read_dir(folder(state_dir)) else { return Vec::new() };
        let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        folders.sort();
        folders.into_iter().map(|folder| Site { folder }).collect()
    }

    /// What is known of it, without asking it.
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

    /// Waits for the right to change anything, for this long.
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

    /// What is started from here runs as this user, so the folder must be this user's own.
    pub(crate) fn make_folder(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let found = fs::metadata(&self.folder)?;
        if found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o077 != 0 {
            return Err(io::Error::other("other users can use the folder"));
        }
        Ok(())
    }

    /// What was written down; nothing where it cannot be understood.
    pub(crate) fn info(&self) -> io::Result<Option<Info>> {
        let text = self.read("gateway.json")?;
        Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    /// A file of the gateway, where there is one.
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.folder.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a gateway of ours lives: it holds a lock from its first moment to its last. Where we cannot look,
    /// that is no answer.
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

    /// Where the gateway is that was written down, and what opens it, if it lives.
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

    /// Ends the gateway that lives here, whether it was written down or its starter died before that.
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
        // One that could not be ended is not ours to speak to, and the next has a lock of its own.
        let _ = fs::remove_file(self.folder.join("gateway.alive"));
        Ok(was_alive)
    }

    /// The processes whose standard input is the file whose lock tells that a gateway lives. Numbers of
    /// processes are used again, and one in a file says nothing; nobody else has this file as its input. A
    /// process is held before it is looked at, so that no other can take its place.
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

    /// Writes down what there is.
    pub(crate) fn write(&self, info: &Info, token: &Token) -> io::Result<()> {
        self.replace("gateway.token", token.secret().as_bytes())?;
        self.replace("gateway.json", &serde_json::to_vec(info)?)
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let fresh = self.folder.join(format!(".{name}.new"));
        let _ = fs::remove_file(&fresh);
        private().create_new(true).open(&fresh)?.write_all(bytes)?;
        fs::rename(&fresh, self.folder.join(name))
    }
}

/// The right to change anything. Dropped, somebody else may have it.
pub(crate) struct Lock {
    /// Shows whoever looks at the file that somebody is at work.
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
        // The task must not outlive the right, so it has none to the file itself.
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

/// Where the folders of gateways are.
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

    /// B:G-10: whoever looks at the file sees who holds it, and that it is at work; it is free again at the end.
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

    /// B:G-12 F-027: whatever the file says about who holds it, the lock of the system decides: one that nobody
    /// holds is taken at once, though the process that is named lives; one that somebody holds is not, though
    /// nobody is named.
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
            assert!(site.lock(LOCK_LIMIT).now_or_never().is_none(), "somebody holds it");
            drop(lock);
        }
    }

    /// B:G-13: what cannot be understood counts as absent.
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
