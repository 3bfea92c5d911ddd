//! A file that tells programs started by a cell in which session they run (`PI_SESSION_FILE`, B:E-30).
//!
//! Owns the files below `sessions` in the state folder: private, one for each session, removed with it. The
//! next process removes the files of a process that was killed.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use inkcell_kernel::make_private_folder;
use rustix::process::{Pid, test_kill_process};
use serde_json::json;

use crate::kernels::ResolvedKernel;
use crate::types::SessionKey;

/// The file of one session. Dropping this removes the file.
#[derive(Debug)]
pub(crate) struct SessionFile {
    path: PathBuf,
}

impl SessionFile {
    /// The path of the file with this number, whether or not the file exists.
    pub(crate) fn path_of(state_dir: &Path, number: u64) -> PathBuf {
        let process = std::process::id();
        state_dir.join("sessions").join(format!("{process}-{number:016x}.json"))
    }

    pub(crate) fn write(
        path: PathBuf,
        key: &SessionKey,
        chosen: &ResolvedKernel,
        artifacts: Option<&Path>,
    ) -> io::Result<SessionFile> {
        if let Some(folder) = path.parent() {
            make_private_folder(folder)?;
            remove_leavings(folder);
        }
        let content = json!({
            "id": key.name.0,
            "cwd": key.cwd.to_string_lossy(),
            "notebook": null,
            "interpreter": chosen.interpreter.as_ref().map(|python| python.path.to_string_lossy()),
            "backend": key.backend,
            "kernel": key.kernel,
            "artifacts": artifacts.map(Path::to_string_lossy),
        });
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let file_of_session = SessionFile { path };
        file.write_all(format!("{content}\n").as_bytes())?;
        Ok(file_of_session)
    }
}

impl Drop for SessionFile {
    fn drop(&mut self) {
        // The file may be gone already.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the files of processes that are gone.
fn remove_leavings(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.split_once('-')).map(|(pid, _)| pid);
        let Some(process) = process.and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw) else {
            continue;
        };
        if test_kill_process(process) == Err(rustix::io::Errno::SRCH) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
