//! What makes kernels for a command or a server: the settings, made into backends.
//!
//! Owns what the settings mean for backends, and where those keep what must not outlive them. How kernels are made is
//! the kernel crate's.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inkcell_engine::kernel::{BackendKind, RunnerConfig, Transport, ZmqConfig};
use inkcell_engine::{Backends, EngineError, GatewayChoice, Needed};
use rustix::process::getuid;

use crate::exit::Failure;
use crate::gateways;
use crate::log;
use crate::settings::{BackendSettings, Profile, Settings, kernel_pool, runner_config};

/// No folder of sockets has a longer name: what is added to it must fit into the name of a socket, too.
const LONGEST: usize = 70;

/// The backends, as the settings want them.
pub(crate) fn backends(settings: &Settings, profile: Profile) -> Result<Backends, Failure> {
    made(settings, profile, usual(settings, profile), runner_config(settings, profile))
}

/// What makes the kernels of those who do not say.
fn usual(settings: &Settings, profile: Profile) -> BackendKind {
    match settings.backend(profile) {
        BackendSettings::Runner => BackendKind::Runner,
        BackendSettings::Zmq => BackendKind::Zmq,
        BackendSettings::Gateway => BackendKind::Gateway,
    }
}

/// What the default backend needs to run code.
pub(crate) fn needed(settings: &Settings, profile: Profile) -> Result<Needed, EngineError> {
    Ok(match usual(settings, profile) {
        BackendKind::Runner => Needed::Runner,
        BackendKind::Zmq => Needed::Zmq,
        BackendKind::Gateway => {
            let choice = gateways::choice(settings, profile);
            Needed::Gateway(choice(&RuntimeFolder::of(settings))?)
        }
    })
}

/// The same for whoever wants kernel after kernel: they are copies of a fork server, as those of a server for agents are.
pub(crate) fn backends_for_many(
    settings: &Settings,
    profile: Profile,
) -> Result<Backends, Failure> {
    made(settings, profile, usual(settings, profile), runner_config(settings, Profile::Default))
}

fn made(
    settings: &Settings,
    profile: Profile,
    usual: BackendKind,
    runner: RunnerConfig,
) -> Result<Backends, Failure> {
    let runner = log::runner(runner).map_err(EngineError::from)?;
    let (state_dir, pool) = (settings.state_dir.clone(), kernel_pool(settings, profile));
    let sockets = RuntimeFolder::of(settings);
    let choice = gateways::choice(settings, profile);
    let folder = sockets.clone();
    let zmq = move || ZmqConfig {
        state_dir: state_dir.clone(),
        runtime_dir: sockets.find(),
        transport: Transport::Auto,
        pool,
    };
    let backends = Backends::only(Arc::new(runner)).with_zmq(zmq, Some(log::kernels()));
    let backends = backends.with_gateway(move || choice(&folder), Some(log::kernels()));
    Ok(backends.usually(usual))
}

/// The same, with this gateway whatever the settings say.
pub(crate) fn backends_on(
    settings: &Settings,
    profile: Profile,
    gateway: GatewayChoice,
) -> Result<Backends, Failure> {
    let backends = backends(settings, profile)?;
    let gateway = move || Ok(gateway.clone());
    Ok(backends.with_gateway(gateway, Some(log::kernels())).usually(BackendKind::Gateway))
}

/// Where sockets are made: a folder of this user's alone, with a short name, on a disk of this machine. It is looked
/// for when the first socket is: a command without kernels makes no folder.
#[derive(Clone, Debug)]
pub(crate) struct RuntimeFolder {
    candidates: Vec<PathBuf>,
    otherwise: PathBuf,
}

impl RuntimeFolder {
    pub(crate) fn of(settings: &Settings) -> Self {
        let given = settings.parent_env().get("XDG_RUNTIME_DIR").map(PathBuf::from);
        let given = given.filter(|folder| folder.is_absolute());
        let given = given.map(|folder| folder.join("inkcell"));
        let common = PathBuf::from(format!("/tmp/inkcell-run-{}", getuid().as_raw()));
        let candidates = given.into_iter().chain([common]).collect();
        Self { candidates, otherwise: settings.state_dir.join("run") }
    }

    pub(crate) fn find(&self) -> PathBuf {
        let private = self.candidates.iter().find(|folder| is_private(folder));
        private.unwrap_or(&self.otherwise).clone()
    }

    /// The one that is there, if one is: nothing is made.
    pub(crate) fn look(&self) -> Option<PathBuf> {
        let is_short = |folder: &&PathBuf| folder.as_os_str().len() <= LONGEST;
        let mut all = self.candidates.iter().filter(is_short).chain([&self.otherwise]);
        all.find(|folder| is_ours(folder)).cloned()
    }
}

/// Whether a folder is there, or can be made, that nobody else can put anything into.
fn is_private(folder: &Path) -> bool {
    // One that is there already is looked at below.
    let _ = DirBuilder::new().mode(0o700).create(folder);
    is_ours(folder) && folder.as_os_str().len() <= LONGEST
}

fn is_ours(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|found| {
        found.is_dir() && found.uid() == getuid().as_raw() && found.mode() & 0o077 == 0
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A folder that somebody else could change is not one for the sockets of kernels.
    #[test]
    fn only_a_private_folder_is_used() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        assert!(is_private(&at("new")));
        assert_eq!(fs::metadata(at("new")).unwrap().permissions().mode() & 0o777, 0o700);
        fs::create_dir(at("open")).unwrap();
        fs::set_permissions(at("open"), fs::Permissions::from_mode(0o777)).unwrap();
        symlink(at("new"), at("link")).unwrap();
        fs::write(at("file"), "").unwrap();
        for refused in ["open", "link", "file", "missing/below", &"long".repeat(20)] {
            assert!(!is_private(&at(refused)), "{refused}");
        }
    }
}
