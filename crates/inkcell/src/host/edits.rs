//! Changes of notebooks, told to every host that may have a session of them.
//!
//! Owns who is told and that nobody is waited for: a host that hears nothing holds up no edit. What hosts do with it is
//! theirs.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use inkcell_engine::feeds::{Elsewhere, NotebookEdit};

use super::frames::ToHost;
use super::place::{Found, Hosts};
use crate::backends::RuntimeFolder;
use crate::settings::Settings;

/// How long a host may take to make room for what it is told.
const PATIENCE: Duration = Duration::from_millis(500);

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
}

impl Elsewhere for OtherHosts {
    fn edited(&self, edits: &mut dyn FnMut() -> Vec<NotebookEdit>) {
        // Looked for now: a host may have come since. No folder is made for that.
        let folder = self.folder.look();
        let all = folder.map(|folder| Hosts::below(&folder, &self.state).all()).unwrap_or_default();
        if all.is_empty() {
            return;
        }
        let edits = edits();
        let Ok(mut bytes) = serde_json::to_vec(&ToHost::Edited(edits)) else { return };
        bytes.push(b'\n');
        for found in all {
            // The file is what counts; whoever is not told sees it there.
            let _ = tell(&found, &bytes);
        }
    }
}

fn tell(found: &Found, bytes: &[u8]) -> std::io::Result<()> {
    let mut stream = found.connect()?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(bytes)
}
