//! Notices about changed notebooks, sent to every host that may have a session of them.
//!
//! Owns the recipients, and that no edit waits for a host that does not listen. Each host owns its reaction.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use inkcell_engine::feeds::{Elsewhere, FailedEdit, NotebookEdit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::frames::ToHost;
use super::place::{HostAddress, Hosts};
use crate::settings::{RuntimeFolder, Settings};

/// The time limit for all hosts together to make room for the notices. Usual notices fit at once, even if no host
/// reads them.
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
        // Look now, since a host may have started meanwhile. This must not create a folder.
        let folder = self.folder.find_existing();
        let all = folder.map(|folder| Hosts::below(&folder, &self.state).all()).unwrap_or_default();
        if all.is_empty() {
            return;
        }
        let Ok(mut bytes) = serde_json::to_vec(&frame()) else { return };
        bytes.push(b'\n');
        let until = Instant::now() + PATIENCE;
        for found in all {
            // The file is what counts: a host that misses the notice sees the change there.
            let _ = tell(&found, &bytes, until);
        }
    }
}

/// The same settings, extended so that other hosts learn of changes to notebooks: a user who follows a notebook's
/// session sees the changes, in whichever host the session is.
pub(crate) fn tell_other_hosts(settings: Settings) -> Settings {
    let others = Arc::new(OtherHosts::of(&settings));
    Settings { notebooks: settings.notebooks.telling_elsewhere(others), ..settings }
}

impl Elsewhere for OtherHosts {
    fn edited(&self, edits: &mut dyn FnMut() -> Vec<NotebookEdit>) {
        self.tell_all(|| ToHost::Edited(edits()));
    }

    fn failed(&self, failure: &FailedEdit) {
        self.tell_all(|| ToHost::EditFailed(failure.clone()));
    }
}

fn tell(found: &HostAddress, bytes: &[u8], until: Instant) -> io::Result<()> {
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

    /// F-025: a host that is stopped, with its queue of connections full, holds up no edit: neither while
    /// connecting, nor with a notice larger than its unread buffer.
    #[test]
    fn a_host_that_stands_still_holds_up_no_edit() {
        let temp = tempfile::tempdir().unwrap();
        let hosts = Hosts::below(temp.path(), temp.path());
        // The host listens, and never accepts a connection.
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
