use std::time::Duration;

use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use hyper::header::{AUTHORIZATION, HOST, ORIGIN};
use hyper::http::request::Builder;

use super::*;
use crate::http::token::{Caller, Token, Tokens};

const HERE: &str = "127.0.0.1:4321";
const LIMITS: BodyLimits = BodyLimits { bytes: 64, time: Duration::from_secs(60) };

struct Site {
    guarded: GuardedRoutes,
    token: String,
}

fn site() -> Site {
    site_with(LIMITS)
}

fn site_with(limits: BodyLimits) -> Site {
    let (tokens, token) = (Tokens::new().unwrap(), Token::make().unwrap());
    tokens.admit(&token, Caller(7));
    let guard = Guard::new(vec![HERE.to_owned()], tokens);
    let health = |_| async { respond(StatusCode::NO_CONTENT, "") };
    let whose = |request: Request<Bytes>| async move {
        respond(StatusCode::OK, format!("{:?}", request.extensions().get::<Caller>()))
    };
    let echo = |request: Request<Bytes>| async { respond(StatusCode::OK, request.into_body()) };
    let guarded = Routes::new()
        .add("/health", Policy::Open, Methods::READ, health)
        .add("/any", Policy::Token, Methods::Any, whose)
        .add("/post", Policy::Token, Methods::Only(&[Method::POST]), echo)
        .behind(Arc::new(guard), limits);
    Site { guarded, token: token.reveal().to_owned() }
}

/// The body of a request.
fn body(text: impl Into<Bytes>) -> Body {
    Full::new(text.into()).boxed()
}

impl Site {
    async fn ask(&self, request: Request<Body>) -> (StatusCode, HeaderMap, String) {
        let response = self.guarded.answer(request).await.unwrap();
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (head.status, head.headers, String::from_utf8(body.to_vec()).unwrap())
    }

    fn request(&self, method: &str, path: &str) -> Builder {
        Request::builder().method(method).uri(path).header(HOST, HERE)
    }

    fn with_token(&self, method: &str, path: &str) -> Builder {
        self.request(method, path).header(AUTHORIZATION, format!("Bearer {}", self.token))
    }
}

const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"];

/// S-012: every route, and every unknown path, with every method.
#[tokio::test]
async fn without_the_token_nothing_is_to_be_seen() {
    let site = site();
    let declared = site.guarded.table.iter();
    let closed = declared.filter(|route| route.policy == Policy::Token).map(|route| route.path);
    let none = ["/", "/nothing", "/health/", "//health", "/Health", "/%68ealth", "/any/../health"];
    for path in closed.chain(none) {
        for method in METHODS {
            let bare = site.request(method, path).body(Body::default()).unwrap();
            let wrong = site
                .request(method, path)
                .header(AUTHORIZATION, "Bearer 0")
                .body(Body::default())
                .unwrap();
            let (status, headers, _) = site.ask(bare).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{method} {path}");
            assert!(headers.contains_key(WWW_AUTHENTICATE), "{method} {path}");
            let (status, ..) = site.ask(wrong).await;
            let refused = [StatusCode::UNAUTHORIZED, StatusCode::TOO_MANY_REQUESTS];
            assert!(refused.contains(&status), "{method} {path}: {status}");
        }
    }
}

/// S-012: an open route has no content at all.
#[tokio::test]
async fn what_is_open_says_nothing() {
    let site = site();
    let open = site.guarded.table.iter().filter(|route| route.policy == Policy::Open);
    for Route { path, .. } in open {
        for method in ["GET", "HEAD"] {
            let request = site.request(method, path).body(Body::default()).unwrap();
            let (status, _, body) = site.ask(request).await;
            assert_eq!((status, &*body), (StatusCode::NO_CONTENT, ""), "{method} {path}");
        }
    }
}

/// S-012: requests are answered in two places, and both ask the guard. The table of routes is only readable through
/// `GuardedRoutes`, whose fields are private.
#[test]
fn connections_are_served_behind_the_guard_only() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let words = [
        ("serve_connection(", &["http/listen.rs", "mcp/desk/bridge/server.rs"][..]),
        ("service_fn(", &["http/listen.rs", "mcp/desk/bridge/server.rs"]),
        ("impl Service<", &[]),
        ("StreamableHttpService::new(", &["mcp/protocol/http.rs"]),
        ("Router::", &[]),
    ];
    let mut folders = vec![source.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "rs")
                && !path.ends_with("http/routes/tests.rs")
            {
                let text = std::fs::read_to_string(&path).unwrap();
                for (word, places) in words {
                    let is_place = places.iter().any(|place| path == source.join(place));
                    assert_eq!(text.contains(word), is_place, "{word} in {}", path.display());
                }
            }
        }
    }
    let asks = [
        ("http/listen.rs", "site: GuardedRoutes"),
        ("mcp/desk/bridge/server.rs", "self.guard.check("),
    ];
    for (place, word) in asks {
        let text = std::fs::read_to_string(source.join(place)).unwrap();
        assert!(text.contains(word), "{word} in {place}");
        assert_eq!(text.matches("service_fn(").count(), 1, "{place}");
    }
    let serving = std::fs::read_to_string(source.join("http/listen.rs")).unwrap();
    assert!(serving.contains("async move { site.answer(request).await }"));
}

/// S-010, S-011: the guard comes first, on every path and with every method.
#[tokio::test]
async fn a_stranger_is_turned_away_before_routing() {
    let site = site();
    for path in ["/health", "/any", "/post", "/nothing"] {
        for method in METHODS {
            let strange = Request::builder().method(method).uri(path).header(HOST, "evil.example");
            let strange = strange.header(AUTHORIZATION, format!("Bearer {}", site.token));
            let (status, ..) = site.ask(strange.body(Body::default()).unwrap()).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{method} {path}");
            let page = site.with_token(method, path).header(ORIGIN, "http://evil.example");
            let (status, headers, _) = site.ask(page.body(Body::default()).unwrap()).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{method} {path}");
            let shares = headers.keys().any(|name| name.as_str().starts_with("access-control"));
            assert!(!shares, "{headers:?}");
        }
    }
}

/// S-013: a request that a page can send without asking is refused, even with a token.
#[tokio::test]
async fn a_simple_post_is_refused() {
    let site = site();
    let kinds = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
        "application/jsonx",
        "",
    ];
    for kind in kinds {
        let request = site.with_token("POST", "/post").header(CONTENT_TYPE, kind);
        let (status, ..) = site.ask(request.body(body("{}")).unwrap()).await;
        assert_eq!(status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{kind:?}");
    }
    for kind in ["application/json", "application/json; charset=utf-8", "Application/JSON"] {
        let request = site.with_token("POST", "/post").header(CONTENT_TYPE, kind);
        let (status, _, body) = site.ask(request.body(body("{}")).unwrap()).await;
        assert_eq!((status, &*body), (StatusCode::OK, "{}"), "{kind:?}");
    }
}

/// A refused method gets the list of allowed ones; an unknown path has none.
#[tokio::test]
async fn unknown_method_is_told_the_known_ones() {
    let site = site();
    let table = [
        ("/health", "GET,HEAD", &["GET", "HEAD"][..]),
        ("/post", "POST", &["POST"]),
        ("/any", "", &METHODS),
        ("/nothing", "", &[]),
    ];
    for (path, allowed, known) in table {
        for method in METHODS {
            let request = site.with_token(method, path).header(CONTENT_TYPE, "application/json");
            let (status, headers, body) = site.ask(request.body(Body::default()).unwrap()).await;
            let allow = headers.get(ALLOW).map_or("", |value| value.to_str().unwrap());
            if known.contains(&method) {
                assert!(status.is_success() && allow.is_empty(), "{method} {path}: {status}");
                continue;
            }
            let expected = match allowed {
                "" => StatusCode::NOT_FOUND,
                _ => StatusCode::METHOD_NOT_ALLOWED,
            };
            assert_eq!((status, allow, &*body), (expected, allowed, ""), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_guest_is_known_by_its_token() {
    let site = site();
    let (status, headers, body) =
        site.ask(site.with_token("GET", "/any").body(Body::default()).unwrap()).await;
    assert_eq!((status, &*body), (StatusCode::OK, "Some(Caller(7))"));
    assert_eq!(headers[CACHE_CONTROL], "no-store");
}

/// S-015: no answer redirects.
#[tokio::test]
async fn no_path_leads_elsewhere() {
    let site = site();
    let paths = ["//evil.example", "/%2f%2fevil.example", "/..;/", "/any/", "//any", "/any%2f.."];
    for path in paths {
        for method in METHODS {
            let request = site.with_token(method, path).header(CONTENT_TYPE, "application/json");
            let (status, headers, _) = site.ask(request.body(Body::default()).unwrap()).await;
            assert!(!status.is_redirection() && !status.is_success(), "{method} {path}: {status}");
            assert!(!headers.contains_key("location"), "{method} {path}");
        }
    }
}

/// F-032 for requests: a body that is too large is refused, whether or not its length is announced.
#[tokio::test]
async fn a_large_body_is_refused() {
    let site = site();
    let post = || site.with_token("POST", "/post").header(CONTENT_TYPE, "application/json");
    let (status, ..) = site.ask(post().body(body("x".repeat(64))).unwrap()).await;
    assert_eq!(status, StatusCode::OK);
    let (status, ..) = site.ask(post().body(body("x".repeat(65))).unwrap()).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    let announced = post().header("content-length", "65").body(Body::default()).unwrap();
    let (status, ..) = site.ask(announced).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}

/// A body that never ends is given up.
#[tokio::test]
async fn a_slow_body_is_given_up() {
    let site = site_with(BodyLimits { time: Duration::from_millis(20), ..LIMITS });
    let never = futures_util::stream::pending::<Result<Frame<Bytes>, Infallible>>();
    let request = site.with_token("POST", "/post").header(CONTENT_TYPE, "application/json");
    let (status, ..) = site.ask(request.body(StreamBody::new(never).boxed()).unwrap()).await;
    assert_eq!(status, StatusCode::REQUEST_TIMEOUT);
}
