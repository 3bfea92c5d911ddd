use hyper::header::HeaderValue;

use super::*;
use crate::http::token::Token;

const HERE: &str = "127.0.0.1:4321";

fn guard() -> (Guard, Token) {
    let (tokens, token) = (Tokens::new().unwrap(), Token::make().unwrap());
    tokens.admit(&token, Caller(7));
    let authorities = vec![HERE.to_owned(), "localhost:4321".to_owned()];
    (Guard::new(authorities, tokens), token)
}

fn headers(fields: &[(HeaderName, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in fields {
        map.append(name.clone(), HeaderValue::from_str(value).unwrap());
    }
    map
}

/// The guard's decision about a request with these headers and the right token.
fn with_token(
    guard: &Guard,
    token: &Token,
    uri: &str,
    fields: &[(HeaderName, &str)],
) -> Result<Option<Caller>, Refusal> {
    let mut map = headers(fields);
    let value = format!("Bearer {}", token.reveal());
    map.append(AUTHORIZATION, HeaderValue::from_str(&value).unwrap());
    guard.check(&uri.parse().unwrap(), &map, Policy::Token, Instant::now())
}

/// S-010: only our own name, letter by letter, with the port.
#[test]
fn a_host_is_ours_or_refused() {
    let (guard, token) = guard();
    let ours = [HERE, "localhost:4321"];
    for host in ours {
        assert_eq!(with_token(&guard, &token, "/mcp", &[(HOST, host)]), Ok(Some(Caller(7))));
    }
    let others = [
        "evil.example",
        "evil.example:4321",
        "localhost.evil:4321",
        "127.0.0.1.nip.io:4321",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:4322",
        "127.0.0.1:43210",
        "127.0.0.1:04321",
        "[::1]:4321",
        "LOCALHOST:4321",
        "localhost.:4321",
        "127.0.0.1.:4321",
        "127.1:4321",
        "2130706433:4321",
        "0.0.0.0:4321",
        "user@127.0.0.1:4321",
        " 127.0.0.1:4321",
        "127.0.0.1:4321,evil.example",
        "",
    ];
    for host in others {
        let said = with_token(&guard, &token, "/mcp", &[(HOST, host)]);
        assert_eq!(said, Err(Refusal::Host), "{host:?}");
    }
    assert_eq!(with_token(&guard, &token, "/mcp", &[]), Err(Refusal::Host), "missing");
    let twice = with_token(&guard, &token, "/mcp", &[(HOST, HERE), (HOST, HERE)]);
    assert_eq!(twice, Err(Refusal::Host), "twice");
    let line = "http://evil.example/mcp";
    assert_eq!(with_token(&guard, &token, line, &[(HOST, HERE)]), Err(Refusal::Host), "{line}");
    let line = "http://127.0.0.1:4321/mcp";
    assert!(with_token(&guard, &token, line, &[(HOST, HERE)]).is_ok(), "{line}");
}

/// S-011: our own origin exactly, or none.
#[test]
fn an_origin_is_ours_or_refused() {
    let (guard, token) = guard();
    for origin in ["http://127.0.0.1:4321", "http://localhost:4321"] {
        let said = with_token(&guard, &token, "/mcp", &[(HOST, HERE), (ORIGIN, origin)]);
        assert_eq!(said, Ok(Some(Caller(7))), "{origin}");
    }
    let others = [
        "null",
        "",
        "http://evil.example",
        "http://localhost:4322",
        "http://localhost",
        "http://127.0.0.1.evil:4321",
        "http://127.0.0.1:4321.evil",
        "https://127.0.0.1:4321",
        "HTTP://127.0.0.1:4321",
        "http://127.0.0.1:4321/",
        "127.0.0.1:4321",
        "file://",
        "vscode-webview://abc",
    ];
    for origin in others {
        let said = with_token(&guard, &token, "/mcp", &[(HOST, HERE), (ORIGIN, origin)]);
        assert_eq!(said, Err(Refusal::Origin), "{origin:?}");
    }
    let own = "http://127.0.0.1:4321";
    let said = with_token(&guard, &token, "/mcp", &[(HOST, HERE), (ORIGIN, own), (ORIGIN, "null")]);
    assert_eq!(said, Err(Refusal::Origin), "twice");
}

/// S-011, S-012: our own origin is no substitute for a token.
#[test]
fn a_token_is_asked_for_whatever_the_origin() {
    let (guard, _) = guard();
    for fields in [vec![(HOST, HERE)], vec![(HOST, HERE), (ORIGIN, "http://127.0.0.1:4321")]] {
        let said = guard.check(
            &Uri::from_static("/mcp"),
            &headers(&fields),
            Policy::Token,
            Instant::now(),
        );
        assert_eq!(said, Err(Refusal::Token));
    }
}

/// S-012: a token counts only in the `Authorization` header.
#[test]
fn a_token_is_in_its_place_or_none() {
    let (guard, token) = guard();
    let token = token.reveal();
    let place = |name: &'static str, value: String| (HeaderName::from_static(name), value);
    let wrong = [
        place("authorization", token.to_owned()),
        place("authorization", format!("Basic {token}")),
        place("authorization", format!("Token {token}")),
        place("authorization", format!("Bearer  {token}")),
        place("authorization", format!("Bearer {token} ")),
        place("authorization", format!("Bearer {token}, Bearer {token}")),
        place("authorization", "Bearer ".to_owned()),
        place("authorization", "Bearer".to_owned()),
        place("authorization", format!("Bearer {}", token.to_uppercase())),
        place("authorization", format!("Bearer {}", &token[..63])),
        place("authorization", format!("Bearer {token}0")),
        place("authorization", format!("Bearer {}", "0".repeat(64))),
        place("cookie", format!("token={token}")),
        place("x-token", token.to_owned()),
        place("proxy-authorization", format!("Bearer {token}")),
    ];
    for (name, value) in &wrong {
        let map = headers(&[(HOST, HERE), (name.clone(), value)]);
        let said = guard.check(&Uri::from_static("/mcp"), &map, Policy::Token, Instant::now());
        assert_eq!(said, Err(Refusal::Token), "{name}: {value}");
    }
    let uri = format!("/mcp?token={token}&access_token={token}").parse().unwrap();
    let said = guard.check(&uri, &headers(&[(HOST, HERE)]), Policy::Token, Instant::now());
    assert_eq!(said, Err(Refusal::Token), "in the address");
    let bearer = format!("Bearer {token}");
    let twice = headers(&[(HOST, HERE), (AUTHORIZATION, &bearer), (AUTHORIZATION, &bearer)]);
    let said = guard.check(&Uri::from_static("/mcp"), &twice, Policy::Token, Instant::now());
    assert_eq!(said, Err(Refusal::Token), "twice");
    // The scheme is case-insensitive in HTTP.
    let low = headers(&[(HOST, HERE), (AUTHORIZATION, &format!("bearer {token}"))]);
    let said = guard.check(&Uri::from_static("/mcp"), &low, Policy::Token, Instant::now());
    assert_eq!(said, Ok(Some(Caller(7))));
}

/// S-010, S-011: even an open route is closed to foreign pages.
#[test]
fn an_open_route_is_still_for_those_who_name_us() {
    let (guard, _) = guard();
    let check = |fields: &[(HeaderName, &str)]| {
        let uri = Uri::from_static("/health");
        guard.check(&uri, &headers(fields), Policy::Open, Instant::now())
    };
    assert_eq!(check(&[(HOST, HERE)]), Ok(None));
    assert_eq!(check(&[(HOST, "evil.example")]), Err(Refusal::Host));
    assert_eq!(check(&[(HOST, HERE), (ORIGIN, "null")]), Err(Refusal::Origin));
}

/// S-018: after a hundred thousand guesses, few of which get a full answer, the right token still works.
#[test]
fn guesses_are_limited_and_shut_nobody_out() {
    let (guard, token) = guard();
    let uri = Uri::from_static("/mcp");
    let began = Instant::now();
    let guess = |n: u32, at: Instant| {
        let map = headers(&[(HOST, HERE), (AUTHORIZATION, &format!("Bearer {n:064x}"))]);
        guard.check(&uri, &map, Policy::Token, at)
    };
    let mut answered = 0;
    for n in 0..100_000 {
        match guess(n, began) {
            Err(Refusal::Token) => answered += 1,
            Err(Refusal::TooManyTokens { wait }) => assert!(wait <= WINDOW),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(answered, WRONG_TOKENS);
    let said = with_token(&guard, &token, "/mcp", &[(HOST, HERE)]);
    assert_eq!(said, Ok(Some(Caller(7))));
    assert_eq!(guess(0, began + WINDOW), Err(Refusal::Token), "a new window");
}

/// S-018: requests without a token do not count as guesses.
#[test]
fn a_forgotten_token_does_not_count_as_a_guess() {
    let (guard, _) = guard();
    for _ in 0..1000 {
        let map = headers(&[(HOST, HERE)]);
        let said = guard.check(&Uri::from_static("/mcp"), &map, Policy::Token, Instant::now());
        assert_eq!(said, Err(Refusal::Token));
    }
}
