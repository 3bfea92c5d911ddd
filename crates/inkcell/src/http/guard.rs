//! Who may come in: the check of a request before anything else looks at it.
//!
//! Owns the rules about `Host`, `Origin` and `Authorization`. It is pure: it must not know sockets, routes or what
//! a request asks for. Browsers let any page send requests to this machine, and names can be made to point at it,
//! so a request has to name us exactly and prove that it comes from somebody who was told a secret.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use hyper::header::{AUTHORIZATION, HOST, HeaderName, ORIGIN};
use hyper::{HeaderMap, Uri};

use super::token::{Caller, Tokens};

/// So many wrong tokens in a window are answered as such; the rest of it, all that is said is when to come back.
const WRONG_TOKENS: u32 = 20;
const WINDOW: Duration = Duration::from_secs(10);

/// What a route asks of its callers, besides naming us rightly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Policy {
    /// A token.
    Token,
    /// Nothing: for answers without any content.
    Open,
}

/// Why a request is not let in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    Host,
    Origin,
    Token,
    /// As before, for so long already that it is only told to come back later.
    TooManyTokens {
        wait: Duration,
    },
}

/// What a request must say to be let in.
pub(crate) struct Guard {
    /// Exactly these are we, `host:port` each.
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
    /// Lets in who names one of these, `host:port` each, and has one of these tokens.
    pub(crate) fn new(authorities: Vec<String>, tokens: Tokens) -> Guard {
        Guard { authorities, tokens, wrong: Mutex::default() }
    }

    /// The tokens that count.
    pub(crate) fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Who is calling; nobody where the policy asks for no token.
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

    /// The name in the request line counts too where there is one, so that the two cannot differ.
    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let is_ours = |name: &str| self.authorities.iter().any(|ours| ours == name);
        let named = only(headers, HOST).map_err(|_| Refusal::Host)?.ok_or(Refusal::Host)?;
        if !is_ours(named) || uri.authority().is_some_and(|line| line.as_str() != named) {
            return Err(Refusal::Host);
        }
        Ok(())
    }

    /// No page but our own may speak to us. Programs send no origin; they are known by their token alone.
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
        // A right token counts at any time: a limit that shuts everybody out would serve whoever has none.
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

/// More than one header of a name, or one that is no text.
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

/// The token of an `Authorization` header.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

#[cfg(test)]
mod tests;
