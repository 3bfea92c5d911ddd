//! Changes of notebooks, told to every host that may have a session of them.
//!
//! Owns who is told and that nobody is waited for: a host that hears nothing holds up no edit. What hosts do with it is
//! theirs.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use inkcell_engine::feeds::{Elsewhere, FailedEdit, NotebookEdit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::frames::ToHost;
use super::place::{Found, Hosts};
use crate::backends::RuntimeFolder;
use crate::settings::Settings;

/// How long all of them together may take to make room for what they are told. What is usual fits without that, also
/// where nobody reads it.
const PATIENCE: Duration = Duration::from_millis(100);

/// The hosts that share a state folder.
#[derive(Debug)]
pub(crate) struct OtherHosts {
    folder: RuntimeFolder,
    state: PathBuf,
}

impl OtherHosts {
    pub(crate) fn of(settings: &Settings) -> OtherHosts {
        OtherHosts { folder: RuntimeFolder::of(settings), state: settings.state_dir.clone() }
    }

    /// Tells all other hosts, if there are any.
    fn tell_all(&self, frame: impl FnOnce() -> ToHost) {
        // Looked for now: a host may have come since. No folder is made for that.
        let folder = self.folder.look();
        let all = folder.map(|folder| Hosts::below(&folder, &self.state).all()).unwrap_or_default();
        if all.is_empty() {
            return;
        }
        let Ok(mut bytes) = serde_json::to_vec(&frame()) else { return };
        bytes.push(b'\n');
        let until = Instant::now() + PATIENCE;
        for found in all {
            // The file is what counts; whoever is not told sees it there.
            let _ = tell(&found, &bytes, until);
        }
    }
}

impl Elsewhere for OtherHosts {
    fn edited(&self, edits: &mut dyn FnMut() -> Vec<NotebookEdit>) {
        self.tell_all(|| ToHost::Edited(edits()));
    }

    fn failed(&self, failure: &FailedEdit) {
        self.tell_all(|| ToHost::EditFailed(failure.clone()));
    }
}

fn tell(found: &Found, bytes: &[u8], until: Instant) -> io::Result<()> {
    let mut stream = found.connect_at_once()?;
    stream.set_nonblocking(true)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        match stream.write(rest) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let left = until.saturating_duration_since(Instant::now());
                let mut wanted = [PollFd::new(&stream, PollFlags::OUT)];
                let left = Timespec::try_from(left).unwrap_or_default();
                if poll(&mut wanted, Some(&left)) == Ok(0) {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::place::HostKind;

    /// F-025: a host that stands still, with as many waiting as it has room for, holds up nobody who edits: not by
    /// connecting, and not with more to say than fits into what it has not read yet.
    #[test]
    fn a_host_that_stands_still_holds_up_no_edit() {
        let temp = tempfile::tempdir().unwrap();
        let hosts = Hosts::below(temp.path(), temp.path());
        // It listens, and nobody ever takes a connection.
        let (_place, _listener) = hosts.take(HostKind::Shared).unwrap();
        let found = hosts.shared();
        let large = vec![b'x'; 4 << 20];
        let done = tell(&found, &large, Instant::now());
        assert_eq!(done.unwrap_err().kind(), io::ErrorKind::TimedOut);
        let mut waiting = Vec::new();
        let refused = loop {
            assert!(waiting.len() < 100_000, "there is room for any number");
            match found.connect_at_once() {
                Ok(stream) => waiting.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        assert!(tell(&found, b"x", Instant::now()).is_err());
    }
}
