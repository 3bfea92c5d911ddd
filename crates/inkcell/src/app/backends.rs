//! Backends of kernels for a command or a server, built from the settings.
//!
//! Owns what the settings mean for backends. The kernel crate makes the kernels.

use std::sync::Arc;

use inkcell_engine::kernel::{BackendKind, RunnerConfig, Transport, ZmqConfig};
use inkcell_engine::{BackendNeeds, Backends, EngineError, GatewayChoice};

use super::gateways;
use crate::exit::Failure;
use crate::log;
use crate::settings::{Profile, RuntimeFolder, Settings, kernel_pool, runner_config};

/// The backends that the settings select.
pub(crate) fn backends(settings: &Settings, profile: Profile) -> Result<Backends, Failure> {
    made(settings, profile, settings.backend(profile), runner_config(settings, profile))
}

/// The requirements of the default backend for running code.
pub(crate) fn needed(settings: &Settings, profile: Profile) -> Result<BackendNeeds, EngineError> {
    Ok(match settings.backend(profile) {
        BackendKind::Runner => BackendNeeds::Runner,
        BackendKind::Zmq => BackendNeeds::Zmq,
        BackendKind::Gateway => {
            let choice = gateways::choice(settings, profile);
            BackendNeeds::Gateway(choice(&RuntimeFolder::of(settings))?)
        }
    })
}

/// The backends for a caller that needs kernel after kernel: these are copies of a fork server, as in a server for
/// agents.
pub(crate) fn backends_for_many(
    settings: &Settings,
    profile: Profile,
) -> Result<Backends, Failure> {
    made(settings, profile, settings.backend(profile), runner_config(settings, Profile::Default))
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

/// The backends with this gateway, whatever the settings say.
pub(crate) fn backends_on(
    settings: &Settings,
    profile: Profile,
    gateway: GatewayChoice,
) -> Result<Backends, Failure> {
    let backends = backends(settings, profile)?;
    let gateway = move || Ok(gateway.clone());
    Ok(backends.with_gateway(gateway, Some(log::kernels())).usually(BackendKind::Gateway))
}
