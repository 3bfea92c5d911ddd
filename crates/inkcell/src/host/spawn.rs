//! Starting the host that commands share, in the background.
//!
//! Owns its separation from our terminal, our folder and our streams. `cli/host` owns its work.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use inkcell_engine::kernel::{make_private_folder, spawn_detached};

use super::place::Hosts;
use crate::settings::Settings;

/// How long a host may take until it listens.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long a host that another command started first may take to listen, before one is started again.
const AGAIN: Duration = Duration::from_millis(500);

/// The time between two checks.
const LOOK: Duration = Duration::from_millis(2);

/// The reason why no host could be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SpawnError {
    #[error("cannot start a host: {0}")]
    Start(io::Error),
    #[error("the host ended at its start ({status}); its log is {}", log.display())]
    Ended { status: String, log: PathBuf },
    #[error("the host was not ready within {} s; its log is {}", PATIENCE.as_secs(), log.display())]
    Late { log: PathBuf },
}

/// Starts a host and connects to it. If another command starts one at the same moment, connects to that one.
pub(crate) fn spawn(hosts: &Hosts, settings: &Settings) -> Result<UnixStream, SpawnError> {
    make_private_folder(&settings.state_dir).map_err(SpawnError::Start)?;
    let log = settings.state_dir.join("host.log");
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    let file = options.open(&log).map_err(SpawnError::Start)?;
    let mut command = Command::new(settings.program().map_err(SpawnError::Start)?);
    command.args(["host", "serve"]).current_dir("/").stdin(Stdio::null());
    command.stdout(file.try_clone().map_err(SpawnError::Start)?).stderr(file);
    // The folder of the host differs, so pass the state folder on explicitly.
    command.env("INKCELL_STATE_DIR", &settings.state_dir);
    let mut child = spawn_detached(&mut command).map_err(SpawnError::Start)?;
    let mut began = Instant::now();
    let until = began + PATIENCE;
    let shared = hosts.shared();
    loop {
        if let Ok(stream) = shared.connect_at_once() {
            return Ok(stream);
        }
        match child.try_wait() {
            // Another host was quicker. It may not listen yet, or be gone again.
            Ok(Some(status)) if status.success() => {
                if began.elapsed() >= AGAIN {
                    child = spawn_detached(&mut command).map_err(SpawnError::Start)?;
                    began = Instant::now();
                }
            }
            Ok(Some(status)) => {
                // Another host may have begun to listen meanwhile.
                if let Ok(stream) = shared.connect_at_once() {
                    return Ok(stream);
                }
                return Err(SpawnError::Ended { status: status.to_string(), log });
            }
            Ok(None) | Err(_) => {}
        }
        if Instant::now() >= until {
            return Err(SpawnError::Late { log });
        }
        std::thread::sleep(LOOK);
    }
}
