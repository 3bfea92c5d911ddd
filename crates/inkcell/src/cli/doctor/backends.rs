//! Checks that the selected backend has its requirements on this machine, and that the configured gateway answers
//! and accepts its token. Nothing is sent anywhere unless a gateway is set.
//!
//! Owns two checks. The runner needs only a Python, which has a check of its own.

use std::path::PathBuf;

use inkcell_engine::kernel::{BackendKind, LaunchError, Workspace};
use inkcell_engine::{BackendNeeds, EngineError, GatewayChoice};

use super::{Check, Level};
use crate::app::gateways::{self, GatewayStatus};
use crate::app::{needed, python};
use crate::args::PythonArgs;
use crate::settings::{Key, Profile, RuntimeFolder, Settings, Value};
use crate::words;

/// The check that decides whether agents are offered Python, except that this one may run interpreters from the
/// workspace.
pub(super) async fn backend(args: &PythonArgs, settings: &Settings, cwd: PathBuf) -> Option<Check> {
    // Wrong settings of a gateway are reported by its own check.
    let needed = needed(settings, Profile::Default).ok()?;
    let found = match &needed {
        BackendNeeds::Zmq => words::doctor::ZMQ,
        BackendNeeds::Gateway(GatewayChoice::Local(_)) => words::doctor::GATEWAY,
        BackendNeeds::Runner | BackendNeeds::Gateway(GatewayChoice::External(_)) => return None,
    };
    let search = python::search(args, settings, cwd);
    let checked = needed.check(&python::finder(settings), &search, &Workspace::none()).await;
    Some(match checked {
        Ok(()) => {
            let source = &settings.resolved.get(Key::PythonBackend).source;
            Check::ok("backend", format!("{found} (set by {source})"))
        }
        Err(error) => Check::of_error("backend", &error),
    })
}

pub(super) async fn gateway(settings: &Settings) -> Check {
    let set = |key| settings.resolved.get(key);
    let is_set = |key| set(key).value != Value::Unset;
    if !is_set(Key::GatewayUrl) {
        if !is_set(Key::GatewayToken) {
            return Check::ok("gateway", words::doctor::NO_GATEWAY);
        }
        let found = words::doctor::token_alone(&set(Key::GatewayToken).source);
        return Check::warn("gateway", found).next(words::doctor::NAME_GATEWAY);
    }
    let source = &set(Key::GatewayUrl).source;
    match answer(settings).await {
        Ok(Some(seen)) => Check::ok("gateway", format!("{seen} (set by {source})")),
        Ok(None) => Check::ok("gateway", format!("set by {source}")),
        Err(error) => {
            let check = Check::of_error("gateway", &error);
            // Kernels of this machine do not need the gateway.
            let is_used = settings.backend(Profile::Default) == BackendKind::Gateway;
            if is_used { check } else { Check { level: Level::Warn, ..check } }
        }
    }
}

async fn answer(settings: &Settings) -> Result<Option<GatewayStatus>, EngineError> {
    let choice = gateways::choice(settings, Profile::Default)(&RuntimeFolder::of(settings))?;
    let GatewayChoice::External(config) = choice else { return Ok(None) };
    Ok(Some(gateways::ask_status(*config).await.map_err(LaunchError::from)?))
}
