//! Whether the gateway that is set answers, and takes its token. Nothing is sent anywhere unless one is set.

use inkcell_engine::kernel::LaunchError;
use inkcell_engine::{EngineError, GatewayChoice};

use super::{Check, Level};
use crate::backends::RuntimeFolder;
use crate::gateways::{self, Seen};
use crate::settings::{BackendSettings, Key, Profile, Settings, Value};

const WHAT: &str = "gateway";

pub(super) async fn check(settings: &Settings) -> Check {
    let set = |key| settings.resolved.get(key);
    let is_set = |key| set(key).value != Value::Unset;
    if !is_set(Key::GatewayUrl) {
        if !is_set(Key::GatewayToken) {
            return Check::ok(WHAT, "none is set; kernels run on this machine");
        }
        let found = format!("a token is set by {}, but no gateway", set(Key::GatewayToken).source);
        return Check::warn(WHAT, found).next("name the gateway: INKCELL_GATEWAY_URL=URL");
    }
    let source = &set(Key::GatewayUrl).source;
    match answer(settings).await {
        Ok(Some(seen)) => Check::ok(WHAT, format!("{seen} (set by {source})")),
        Ok(None) => Check::ok(WHAT, format!("set by {source}")),
        Err(error) => {
            let check = Check::of_error(WHAT, &error);
            // Kernels of this machine do not need it.
            let is_used = settings.backend(Profile::Default) == BackendSettings::Gateway;
            if is_used { check } else { Check { level: Level::Warn, ..check } }
        }
    }
}

async fn answer(settings: &Settings) -> Result<Option<Seen>, EngineError> {
    let choice = gateways::choice(settings, Profile::Default)(&RuntimeFolder::of(settings))?;
    let GatewayChoice::External(config) = choice else { return Ok(None) };
    Ok(Some(gateways::look(*config).await.map_err(LaunchError::from)?))
}
