//! Access control: the check of a request before any other code sees it.
//!
//! Owns the rules about `Host`, `Origin` and `Authorization`. It is pure: it must not know sockets, routes or the
//! purpose of a request. Browsers let any page send requests to this machine, and names can be made to point at it,
//! so a request has to name us exactly and prove that its sender knows a secret.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use hyper::header::{AUTHORIZATION, HOST, HeaderName, ORIGIN};
use hyper::{HeaderMap, Uri};

use super::token::{Caller, Tokens};

/// Wrong tokens per window that get the normal refusal. Further ones are only told when to come back.
const WRONG_TOKENS: u32 = 20;
const WINDOW: Duration = Duration::from_secs(10);

/// The requirements of a route, besides a right name in `Host`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Policy {
    Token,
    /// None: for answers without any content.
    Open,
}

/// The reason why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    Host,
    Origin,
    Token,
    /// Too many wrong tokens in this window: the client is only told to come back later.
    TooManyTokens {
        wait: Duration,
    },
}

/// The check in front of all routes.
pub(crate) struct Guard {
    /// Our names, as exact `host:port` pairs.
    authorities: Vec<String>,
    tokens: Tokens,
    wrong: Mutex<Wrong>,
}

/// Wrong tokens since the beginning of a window.
#[derive(Default)]
struct Wrong {
    since: Option<Instant>,
    count: u32,
}

impl Guard {
    /// A guard that admits requests to one of these names, `host:port` each, with one of these tokens.
    pub(crate) fn new(authorities: Vec<String>, tokens: Tokens) -> Guard {
        Guard { authorities, tokens, wrong: Mutex::default() }
    }

    /// The tokens that this guard accepts.
    pub(crate) fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Checks a request and returns its caller; none if the policy asks for no token.
    pub(crate) fn check(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        policy: Policy,
        now: Instant,
    ) -> Result<Option<Caller>, Refusal> {
        self.check_host(uri, headers)?;
        self.check_origin(headers)?;
        match policy {
            Policy::Open => Ok(None),
            Policy::Token => self.check_token(headers, now).map(Some),
        }
    }

    /// A name in the request line is checked too, so that it cannot differ from the header.
    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let is_ours = |name: &str| self.authorities.iter().any(|ours| ours == name);
        let named = only(headers, HOST).map_err(|_| Refusal::Host)?.ok_or(Refusal::Host)?;
        if !is_ours(named) || uri.authority().is_some_and(|line| line.as_str() != named) {
            return Err(Refusal::Host);
        }
        Ok(())
    }

    /// Only our own pages may call us. Other programs send no origin, and their token alone identifies them.
    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(origin) = only(headers, ORIGIN).map_err(|_| Refusal::Origin)? else {
            return Ok(());
        };
        let host = origin.strip_prefix("http://").ok_or(Refusal::Origin)?;
        if self.authorities.iter().any(|ours| ours == host) { Ok(()) } else { Err(Refusal::Origin) }
    }

    fn check_token(&self, headers: &HeaderMap, now: Instant) -> Result<Caller, Refusal> {
        let sent = only(headers, AUTHORIZATION).ok().flatten();
        let Some(token) = sent.and_then(bearer) else { return Err(Refusal::Token) };
        // A right token counts at any time: a limit that shut out every client would serve attackers.
        self.tokens.caller(token).ok_or_else(|| self.wrong_token(now))
    }

    fn wrong_token(&self, now: Instant) -> Refusal {
        let mut wrong = self.wrong.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let since = match wrong.since {
            Some(since) if now.saturating_duration_since(since) < WINDOW => since,
            _ => {
                *wrong = Wrong { since: Some(now), count: 0 };
                now
            }
        };
        wrong.count = wrong.count.saturating_add(1);
        if wrong.count <= WRONG_TOKENS {
            return Refusal::Token;
        }
        Refusal::TooManyTokens { wait: WINDOW.saturating_sub(now.saturating_duration_since(since)) }
    }
}

/// A header that is given more than once, or is not text.
struct Ambiguous;

/// The only header of this name.
fn only(headers: &HeaderMap, name: HeaderName) -> Result<Option<&str>, Ambiguous> {
    let mut all = headers.get_all(name).into_iter();
    let Some(first) = all.next() else { return Ok(None) };
    if all.next().is_some() {
        return Err(Ambiguous);
    }
    first.to_str().map(Some).map_err(|_| Ambiguous)
}

/// Extracts the token from the value of an `Authorization` header.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

#[cfg(test)]
mod tests;
