//! The gateway for kernels: its address and its credentials, from the settings.
//!
//! Owns what the settings mean for gateways. The kernel crate defines what a gateway is.

use std::fmt;

use inkcell_engine::kernel::{
    GatewayBackend, GatewayConfig, GatewayError, GatewayLocation, GatewayUrl, LocalConfig, Token,
    TokenSent, Whose, kernel_environment, user_of,
};
use inkcell_engine::{EngineError, GatewayChoice};

use crate::settings::{GatewaySettings, Profile, RuntimeFolder, Settings};
use crate::words;

/// The gateway that the settings select. Errors in these settings are reported only here, when a caller needs a
/// gateway: a user without one need not fix them.
pub(crate) fn choice(
    settings: &Settings,
    profile: Profile,
) -> impl Fn(&RuntimeFolder) -> Result<GatewayChoice, EngineError> + Send + Sync + 'static {
    choice_at(settings, profile, None)
}

/// The gateway of the settings, or the one at this page. The settings hold for it, too, except for the token of a
/// different gateway.
pub(crate) fn choice_at(
    settings: &Settings,
    profile: Profile,
    page: Option<&str>,
) -> impl Fn(&RuntimeFolder) -> Result<GatewayChoice, EngineError> + Send + Sync + 'static {
    let (gateway, state_dir) = (settings.gateway(profile), settings.state_dir.clone());
    let env = kernel_environment(settings.parent_env().iter());
    let user = user_of(settings.parent_env().iter());
    let page = page.map(str::to_owned);
    move |sockets| {
        let (state_dir, runtime_dir) = (state_dir.clone(), sockets.find());
        let place = match &page {
            Some(page) => Some(address_of_page(page, &gateway)?),
            None => address(&gateway)?,
        };
        let Some((url, token)) = place else {
            let (sharing, idle_stop) = (gateway.sharing, gateway.idle_stop);
            let config = LocalConfig { state_dir, runtime_dir, sharing, idle_stop };
            return Ok(GatewayChoice::Local(config));
        };
        Ok(GatewayChoice::External(Box::new(GatewayConfig {
            url,
            token,
            whose: Whose::External,
            place: GatewayLocation::Unknown,
            kernel_name: None,
            env: env.clone(),
            user: user.clone(),
            start_limit: gateway.start_limit,
            beside: None,
            authorities: gateway.authorities.clone(),
            state_dir,
            runtime_dir,
        })))
    }
}

/// A gateway's description of itself.
pub(crate) struct GatewayStatus {
    pub(crate) url: String,
    /// The version of its software, if it reports one.
    pub(crate) version: Option<String>,
    pub(crate) kernels: Vec<String>,
    token: TokenSent,
}

impl fmt::Display for GatewayStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: answers", self.url)?;
        if let Some(version) = &self.version {
            write!(f, " (version {version})")?;
        }
        f.write_str(match self.token {
            TokenSent::Yes => ", takes the token",
            TokenSent::No => ", wants no token",
        })?;
        match self.kernels.as_slice() {
            [] => f.write_str(words::gateway::NO_KERNELS),
            kernels => f.write_str(&words::gateway::its_kernels(&kernels.join(", "))),
        }
    }
}

/// Asks a gateway for its description.
pub(crate) async fn ask_status(config: GatewayConfig) -> Result<GatewayStatus, GatewayError> {
    let url = config.url.to_string();
    let token = if config.token.is_some() { TokenSent::Yes } else { TokenSent::No };
    let backend = GatewayBackend::new(config);
    let found = backend.kernelspecs().await?;
    let kernels = found.kernels.into_keys().collect();
    Ok(GatewayStatus { url, version: backend.version().await?, kernels, token })
}

/// The address of the server of a page, and its token. A token of the settings is only for the gateway that they
/// name: the server at an address that a user opens must not get it.
fn address_of_page(
    page: &str,
    gateway: &GatewaySettings,
) -> Result<(GatewayUrl, Option<Token>), EngineError> {
    let (url, pasted) =
        GatewayUrl::parse(page, gateway.plain_http).map_err(|problem| wrong("path", &problem))?;
    let set = address(gateway)?.filter(|(set, _)| *set == url);
    let token = pasted.or_else(|| set.and_then(|(_, token)| token));
    Ok((url, token))
}

/// The address and the token of an existing gateway; none if no address is set.
pub(crate) fn address(
    gateway: &GatewaySettings,
) -> Result<Option<(GatewayUrl, Option<Token>)>, EngineError> {
    let Some(url) = &gateway.url else { return Ok(None) };
    let (url, pasted) = GatewayUrl::parse(url.reveal(), gateway.plain_http)
        .map_err(|problem| wrong("gateway.url", &problem))?;
    let token = given(gateway)?.or(pasted);
    Ok(Some((url, token)))
}

/// The token that is set separately from the address.
fn given(gateway: &GatewaySettings) -> Result<Option<Token>, EngineError> {
    let given = gateway.token.as_ref().map(|token| Token::parse(token.reveal())).transpose();
    let given = given.map_err(|problem| wrong("gateway.token", &problem))?.flatten();
    match (given, &gateway.token_file) {
        (None, Some(file)) => {
            let read = Token::read(file);
            read.map(Some).map_err(|problem| wrong("gateway.token_file", &problem))
        }
        (given, _) => Ok(given),
    }
}

/// Returns whether this is the address of a page and not a path.
pub(crate) fn is_address(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        text.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme))
    })
}

fn wrong(argument: &str, problem: &dyn fmt::Display) -> EngineError {
    EngineError::Argument { argument: argument.to_owned(), problem: problem.to_string() }
}

#[cfg(test)]
mod tests {
    use inkcell_engine::kernel::{PlainHttp, Sharing};

    use super::*;
    use crate::settings::{Address, Secret};

    fn set(url: Option<&str>, token: Option<&str>) -> GatewaySettings {
        GatewaySettings {
            url: url.map(|url| Address::parse(url).unwrap()),
            token: token.map(Secret::new),
            token_file: None,
            plain_http: PlainHttp::OnlyHere,
            authorities: None,
            start_limit: None,
            sharing: Sharing::Allowed,
            idle_stop: None,
        }
    }

    fn token(text: &str) -> Option<Token> {
        Token::parse(text).unwrap()
    }

    /// B:G-01: a separate token takes precedence over one in the pasted address.
    #[test]
    fn a_token_may_come_with_the_address() {
        let found = |url, token| address(&set(url, token)).unwrap().map(|(_, token)| token);
        assert_eq!(found(None, Some("given")), None);
        let pasted = Some("http://localhost:1/lab?token=pasted");
        assert_eq!(found(pasted, None), Some(token("pasted")));
        assert_eq!(found(pasted, Some("given")), Some(token("given")));
        assert_eq!(found(Some("http://localhost:1/"), None), Some(None));
    }

    /// S-016: the token of one server is not sent to another.
    #[test]
    fn a_token_is_for_its_own_server() {
        let page = "http://localhost:1/lab/tree/a.ipynb";
        let found = |page: &str, url, token| address_of_page(page, &set(url, token)).unwrap().1;
        assert_eq!(found(page, Some("http://localhost:1/?token=t"), None), token("t"));
        assert_eq!(found(page, Some("http://localhost:1/"), Some("t")), token("t"));
        assert_eq!(found(page, Some("http://localhost:2/?token=t"), Some("u")), None);
        assert_eq!(found(page, None, Some("t")), None, "nobody said that it is for this one");
        let with = format!("{page}?token=own");
        assert_eq!(found(&with, Some("http://localhost:1/"), Some("t")), token("own"));
    }

    #[test]
    fn addresses_are_no_paths() {
        for text in ["http://a", "HTTPS://a/b.ipynb"] {
            assert!(is_address(text), "{text}");
        }
        for text in ["", "http", "http:/a", "./http://a", "a.ipynb", "é://"] {
            assert!(!is_address(text), "{text}");
        }
    }
}
