//! The places of hosts: a folder that only this user can open, with a lock, a socket and a description for each
//! host.
//!
//! Owns whether a host is alive: it holds its lock, which the system releases when the process ends. A number in a
//! file is never proof of that. It must not know what a host says.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use inkcell_engine::kernel::{make_private_folder, replace_file};
use rustix::fs::{AtFlags, CWD, OFlags, Timespec, Timestamps, UTIME_NOW, utimensat};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::getuid;
use serde::{Deserialize, Serialize};

use crate::settings::{RuntimeFolder, Settings};
use crate::words;

/// How often a lock is tried again when other processes remove it meanwhile.
const ATTEMPTS: usize = 16;

/// The name of the host that commands share.
const SHARED: &str = "main";

/// The purpose of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HostKind {
    /// Commands share it, and it stays by itself.
    Shared,
    /// It serves an agent and ends with it.
    Agent,
}

impl HostKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            HostKind::Shared => "shared",
            HostKind::Agent => "agent",
        }
    }

    /// The purpose as part of a sentence.
    pub(crate) fn described(self) -> &'static str {
        match self {
            HostKind::Shared => words::host::SHARED,
            HostKind::Agent => words::host::OF_AGENT,
        }
    }
}

/// The description of a host, for lists and for people who look into the folder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct About {
    kind: HostKind,
    pid: u32,
    version: String,
}

/// The reason why a host cannot have a place.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaceError {
    #[error("{path} is not a private folder of this user")]
    NotPrivate { path: PathBuf },
    #[error("a host is already running")]
    Taken,
    #[error("cannot use {path}: {error}")]
    Io { path: PathBuf, error: io::Error },
}

/// The folder of the hosts that share one state folder.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    folder: PathBuf,
}

/// The address of a host that seems to exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HostAddress {
    pub(crate) kind: HostKind,
    pub(crate) socket: PathBuf,
}

impl HostAddress {
    /// Connects, without waiting for a host whose queue is full.
    pub(crate) fn connect_at_once(&self) -> io::Result<UnixStream> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(&self.socket)?)?;
        let stream = UnixStream::from(socket);
        stream.set_nonblocking(false)?;
        Ok(stream)
    }

    /// The process that listens there, according to the system and not to a file.
    pub(crate) fn listener(&self) -> io::Result<rustix::process::Pid> {
        Ok(rustix::net::sockopt::socket_peercred(&self.connect_at_once()?)?.pid)
    }

    /// Returns whether its process is stopped, if the system reports that. A stopped process is still alive: only
    /// its lock tells that.
    pub(crate) fn is_stopped(&self) -> bool {
        let state = self.pid().and_then(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).ok());
        // The process name before it may hold any characters.
        let state = state.as_deref().and_then(|stat| stat.rsplit_once(") "));
        state.is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
    }

    /// The number of its process, as the host has written it for people.
    pub(crate) fn pid(&self) -> Option<u32> {
        let about = fs::read(self.socket.with_extension("json")).ok()?;
        serde_json::from_slice::<About>(&about).ok().map(|about| about.pid)
    }
}

/// The place of a host that is alive. Dropping it gives the place back.
#[derive(Debug)]
pub(crate) struct HostPlace {
    socket: PathBuf,
    about: PathBuf,
    lock: PathBuf,
    /// Held for as long as the host is alive.
    _held: File,
}

impl Hosts {
    pub(crate) fn of(settings: &Settings) -> Hosts {
        Hosts::below(&RuntimeFolder::of(settings).find(), &settings.state_dir)
    }

    /// The hosts of a state folder, below the folder of sockets.
    pub(super) fn below(folder: &Path, state: &Path) -> Hosts {
        // Paths of sockets must be short, so only a hash of the state folder is part of them.
        let mark = blake3::hash(state.as_os_str().as_encoded_bytes()).to_hex();
        Hosts { folder: folder.join(format!("h{}", &mark[..12])) }
    }

    /// The host that commands share, whether or not it exists.
    pub(crate) fn shared(&self) -> HostAddress {
        HostAddress { kind: HostKind::Shared, socket: self.folder.join(format!("{SHARED}.sock")) }
    }

    /// All hosts that seem to exist, the shared one first. Files of dead hosts are removed.
    pub(crate) fn all(&self) -> Vec<HostAddress> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        if must_be_private(&self.folder).is_err() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_none_or(|end| end != "sock") {
                continue;
            }
            if swept(&path) {
                continue;
            }
            let shared = self.shared();
            if path == shared.socket {
                found.insert(0, shared);
            } else {
                found.push(HostAddress { kind: HostKind::Agent, socket: path });
            }
        }
        let last = usize::from(found.first().is_some_and(|host| host.kind == HostKind::Shared));
        found[last..].sort_by(|a, b| a.socket.cmp(&b.socket));
        found
    }

    /// Takes the place of a host, for as long as the returned value is held. The listener is ready then.
    pub(crate) fn take(&self, kind: HostKind) -> Result<(HostPlace, UnixListener), PlaceError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| PlaceError::Io { path, error }
        };
        make_private_folder(&self.folder).map_err(failed(&self.folder))?;
        must_be_private(&self.folder)?;
        let name = match kind {
            HostKind::Shared => SHARED.to_owned(),
            HostKind::Agent => format!("mcp-{}", std::process::id()),
        };
        let at = |end: &str| self.folder.join(format!("{name}.{end}"));
        let (lock, socket, about) = (at("lock"), at("sock"), at("json"));
        let held = held(&lock)?;
        // The previous holder of the lock is gone; its leftover socket is in the way.
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(&socket)(error));
            }
            _ => {}
        }
        let listener = UnixListener::bind(&socket).map_err(failed(&socket))?;
        let word =
            About { kind, pid: std::process::id(), version: env!("CARGO_PKG_VERSION").to_owned() };
        // For people; no code depends on it.
        let _ = replace_file(&about, &serde_json::to_vec(&word).unwrap_or_default(), 0o600);
        Ok((HostPlace { socket, about, lock, _held: held }, listener))
    }
}

impl HostPlace {
    /// Marks the files as used, so that programs that clear temporary folders leave them alone.
    pub(crate) fn touch(&self) {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        for path in [&self.socket, &self.about, &self.lock] {
            let _ = utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW);
        }
    }

    /// Returns whether its socket is still the one that was made here.
    pub(crate) fn is_there(&self) -> bool {
        fs::symlink_metadata(&self.socket).is_ok_and(|found| found.file_type().is_socket())
    }
}

impl Drop for HostPlace {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.socket);
        let _ = fs::remove_file(&self.about);
        // Last, and before the lock is released: a process that waits for the lock sees that it is not in the
        // folder any more.
        let _ = fs::remove_file(&self.lock);
        // Fails if the folder holds files of other hosts, which is fine.
        let _ = self.lock.parent().map(fs::remove_dir);
    }
}

/// Takes the lock. A lock file that its holder removed in this very moment does not count.
fn held(path: &Path) -> Result<File, PlaceError> {
    let failed = |error| PlaceError::Io { path: path.to_owned(), error };
    for _ in 0..ATTEMPTS {
        let file = open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(PlaceError::Taken),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let (ours, there) = (file.metadata().map_err(failed)?, fs::symlink_metadata(path));
        if there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
            return Ok(file);
        }
    }
    Err(PlaceError::Taken)
}

/// Opens or creates a file of ours, and refuses a link that another program has put in its place.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options.open(path)
}

/// Removes the files of a dead host. A host is dead if its lock is free; while we hold it, no other process takes
/// its place.
fn swept(socket: &Path) -> bool {
    let lock = socket.with_extension("lock");
    let Ok(_held) = held(&lock) else { return false };
    let _ = fs::remove_file(socket);
    let _ = fs::remove_file(socket.with_extension("json"));
    let _ = fs::remove_file(lock);
    true
}

fn must_be_private(folder: &Path) -> Result<(), PlaceError> {
    let is_private = fs::symlink_metadata(folder).is_ok_and(|found| {
        found.is_dir() && found.uid() == getuid().as_raw() && found.mode() & 0o077 == 0
    });
    if is_private { Ok(()) } else { Err(PlaceError::NotPrivate { path: folder.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn hosts(folder: &Path) -> Hosts {
        Hosts { folder: folder.join("hosts") }
    }

    /// F-026, F-027: there is one shared host at a time; the place of a dead holder can be taken at once, and a
    /// number in a file means nothing.
    #[test]
    fn a_place_has_one_holder() {
        let temp = tempfile::tempdir().unwrap();
        let hosts = hosts(temp.path());
        assert_eq!(hosts.all(), []);
        let (place, _listener) = hosts.take(HostKind::Shared).unwrap();
        assert!(matches!(hosts.take(HostKind::Shared), Err(PlaceError::Taken)));
        assert_eq!(hosts.all(), [hosts.shared()]);
        assert!(hosts.shared().connect_at_once().is_ok());
        assert_eq!(hosts.shared().listener().unwrap(), rustix::process::getpid());
        drop(place);
        assert_eq!(hosts.all(), []);
        // A killed host leaves everything but its lock.
        let (place, listener) = hosts.take(HostKind::Shared).unwrap();
        drop(listener);
        let HostPlace { socket, .. } = &place;
        fs::copy(hosts.folder.join("main.json"), temp.path().join("kept")).unwrap();
        let socket = socket.clone();
        std::mem::forget(place);
        assert!(socket.exists());
        // This very process still holds the lock, so the host counts as alive.
        assert!(matches!(hosts.take(HostKind::Shared), Err(PlaceError::Taken)));
    }

    /// F-028: files of dead hosts are removed, and garbage does no harm.
    #[test]
    fn what_dead_hosts_leave_is_removed() {
        let temp = tempfile::tempdir().unwrap();
        let hosts = hosts(temp.path());
        let (_place, _listener) = hosts.take(HostKind::Agent).unwrap();
        for (name, bytes) in [("mcp-1.json", "garbage"), ("mcp-1.lock", "4194304"), ("x.json", "{")]
        {
            fs::write(hosts.folder.join(name), bytes).unwrap();
        }
        drop(UnixListener::bind(hosts.folder.join("mcp-1.sock")).unwrap());
        drop(UnixListener::bind(hosts.folder.join("mcp-2.sock")).unwrap());
        let kinds: Vec<HostKind> = hosts.all().into_iter().map(|host| host.kind).collect();
        assert_eq!(kinds, [HostKind::Agent], "only the living one");
        assert!(!hosts.folder.join("mcp-1.sock").exists());
        assert!(!hosts.folder.join("mcp-1.json").exists());
    }

    /// S-021: no file is put into a folder that other users can change, and no link is followed.
    #[test]
    fn only_a_private_folder_will_do() {
        let temp = tempfile::tempdir().unwrap();
        let hosts = hosts(temp.path());
        fs::create_dir(&hosts.folder).unwrap();
        fs::set_permissions(&hosts.folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(hosts.take(HostKind::Shared), Err(PlaceError::NotPrivate { .. })));
        fs::set_permissions(&hosts.folder, fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(temp.path().join("victim"), "precious").unwrap();
        symlink(temp.path().join("victim"), hosts.folder.join("main.lock")).unwrap();
        assert!(matches!(hosts.take(HostKind::Shared), Err(PlaceError::Io { .. })));
        fs::remove_file(hosts.folder.join("main.lock")).unwrap();
        symlink(temp.path().join("victim"), hosts.folder.join("main.json")).unwrap();
        let (place, _listener) = hosts.take(HostKind::Shared).unwrap();
        assert_eq!(fs::read(temp.path().join("victim")).unwrap(), b"precious");
        for path in [&place.about, &place.lock] {
            let mode = fs::symlink_metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        }
    }
}
