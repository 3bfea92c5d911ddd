//! Which gateway kernels come from: the settings, made into an address and what opens it.
//!
//! Owns what the settings mean for gateways. What a gateway is, is the kernel crate's.

use inkcell_engine::kernel::{
    GatewayConfig, GatewayUrl, LocalConfig, Place, Token, Whose, kernel_environment, user_of,
};
use inkcell_engine::{EngineError, GatewayChoice};

use crate::backends::RuntimeFolder;
use crate::settings::{GatewaySettings, Profile, Settings};

/// The gateway that the settings mean. What is wrong with them is told when it is wanted, and not before: who does
/// not use it need not mend it.
pub(crate) fn choice(
    settings: &Settings,
    profile: Profile,
    sockets: RuntimeFolder,
) -> impl Fn() -> Result<GatewayChoice, EngineError> + Send + Sync + 'static {
    let (gateway, state_dir) = (settings.gateway(profile), settings.state_dir.clone());
    let env = kernel_environment(settings.parent_env().iter());
    let user = user_of(settings.parent_env().iter());
    move || {
        let (state_dir, runtime_dir) = (state_dir.clone(), sockets.find());
        let Some((url, token)) = address(&gateway)? else {
            let (sharing, idle_stop) = (gateway.sharing, gateway.idle_stop);
            let config = LocalConfig { state_dir, runtime_dir, sharing, idle_stop };
            return Ok(GatewayChoice::Local(config));
        };
        Ok(GatewayChoice::External(Box::new(GatewayConfig {
            url,
            token,
            whose: Whose::External,
            place: Place::Unknown,
            kernel_name: None,
            env: env.clone(),
            user: user.clone(),
            start_limit: gateway.start_limit,
            authorities: gateway.authorities.clone(),
            state_dir,
            runtime_dir,
        })))
    }
}

/// Where a gateway is that is there already, and what opens it; none where no address is set.
pub(crate) fn address(
    gateway: &GatewaySettings,
) -> Result<Option<(GatewayUrl, Option<Token>)>, EngineError> {
    let Some(url) = &gateway.url else { return Ok(None) };
    let (url, pasted) = GatewayUrl::parse(url, gateway.plain_http)
        .map_err(|problem| wrong("gateway.url", &problem))?;
    let given = gateway.token.as_ref().map(|token| Token::parse(token.reveal())).transpose();
    let given = given.map_err(|problem| wrong("gateway.token", &problem))?.flatten();
    let token = match (given, &gateway.token_file) {
        (Some(token), _) => Some(token),
        (None, Some(file)) => {
            Some(Token::read(file).map_err(|problem| wrong("gateway.token_file", &problem))?)
        }
        (None, None) => pasted,
    };
    Ok(Some((url, token)))
}

fn wrong(argument: &str, problem: &dyn std::fmt::Display) -> EngineError {
    EngineError::Argument { argument: argument.to_owned(), problem: problem.to_string() }
}
