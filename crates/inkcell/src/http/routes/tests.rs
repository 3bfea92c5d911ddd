use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::routing::{any, get, post};

use super::*;
use crate::http::token::{Caller, Token, Tokens};

const HERE: &str = "127.0.0.1:4321";
const LIMITS: BodyLimits = BodyLimits { bytes: 64, time: Duration::from_secs(60) };

struct Site {
    guarded: Guarded,
    token: String,
}

fn site() -> Site {
    site_with(LIMITS)
}

fn site_with(limits: BodyLimits) -> Site {
    let (tokens, token) = (Tokens::new().unwrap(), Token::make().unwrap());
    tokens.admit(&token, Caller(7));
    let guard = Guard::new(vec![HERE.to_owned()], tokens);
    let whose = |request: Request<Body>| async move {
        format!("{:?}", request.extensions().get::<Caller>())
    };
    let guarded = Routes::new()
        .add("/health", Policy::Open, get(|| async { StatusCode::NO_CONTENT }))
        .add("/any", Policy::Token, any(whose))
        .add("/post", Policy::Token, post(|body: String| async move { body }))
        .behind(Arc::new(guard), limits);
    Site { guarded, token: token.reveal().to_owned() }
}

impl Site {
    async fn ask(&self, request: Request<Body>) -> (StatusCode, HeaderMap, String) {
        let response = self.guarded.answer(request).await.unwrap();
        let (head, body) = response.into_parts();
        let body = to_bytes(body, 4096).await.unwrap();
        (head.status, head.headers, String::from_utf8(body.to_vec()).unwrap())
    }

    fn request(&self, method: &str, path: &str) -> axum::http::request::Builder {
        Request::builder().method(method).uri(path).header(HOST, HERE)
    }

    fn with_token(&self, method: &str, path: &str) -> axum::http::request::Builder {
        self.request(method, path).header(AUTHORIZATION, format!("Bearer {}", self.token))
    }
}

const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"];

/// S-012: every route, and every path that is none, with every method.
#[tokio::test]
async fn without_the_token_nothing_is_to_be_seen() {
    let site = site();
    let declared = site.guarded.policies.iter();
    let closed = declared.filter(|(_, policy)| *policy == Policy::Token).map(|(path, _)| *path);
    let none = ["/", "/nothing", "/health/", "//health", "/Health", "/%68ealth", "/any/../health"];
    for path in closed.chain(none) {
        for method in METHODS {
            let bare = site.request(method, path).body(Body::empty()).unwrap();
            let wrong = site
                .request(method, path)
                .header(AUTHORIZATION, "Bearer 0")
                .body(Body::empty())
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

/// S-012: what is open has no content at all.
#[tokio::test]
async fn what_is_open_says_nothing() {
    let site = site();
    let open = site.guarded.policies.iter().filter(|(_, policy)| *policy == Policy::Open);
    for (path, _) in open {
        for method in ["GET", "HEAD"] {
            let request = site.request(method, path).body(Body::empty()).unwrap();
            let (status, _, body) = site.ask(request).await;
            assert_eq!((status, &*body), (StatusCode::NO_CONTENT, ""), "{method} {path}");
        }
    }
}

/// S-012: routes are made in one place, which asks for a policy.
#[test]
fn a_router_is_made_here_only() {
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "rs")
                && !path.ends_with("http/routes.rs")
                && !path.ends_with("http/routes/tests.rs")
            {
                let text = std::fs::read_to_string(&path).unwrap();
                for word in ["Router::", "axum::Router", ".fallback(", ".route(", ".nest("] {
                    assert!(!text.contains(word), "{} uses {word}", path.display());
                }
            }
        }
    }
}

/// S-010, S-011: before anything else, on every path and with every method.
#[tokio::test]
async fn a_stranger_is_turned_away_before_routing() {
    let site = site();
    for path in ["/health", "/any", "/post", "/nothing"] {
        for method in METHODS {
            let strange = Request::builder().method(method).uri(path).header(HOST, "evil.example");
            let strange = strange.header(AUTHORIZATION, format!("Bearer {}", site.token));
            let (status, ..) = site.ask(strange.body(Body::empty()).unwrap()).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{method} {path}");
            let page = site.with_token(method, path).header(ORIGIN, "http://evil.example");
            let (status, headers, _) = site.ask(page.body(Body::empty()).unwrap()).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{method} {path}");
            let shares = headers.keys().any(|name| name.as_str().starts_with("access-control"));
            assert!(!shares, "{headers:?}");
        }
    }
}

/// S-013: what a page may send without asking is not taken, whatever token comes with it.
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
        let (status, ..) = site.ask(request.body(Body::from("{}")).unwrap()).await;
        assert_eq!(status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{kind:?}");
    }
    for kind in ["application/json", "application/json; charset=utf-8", "Application/JSON"] {
        let request = site.with_token("POST", "/post").header(CONTENT_TYPE, kind);
        let (status, _, body) = site.ask(request.body(Body::from("{}")).unwrap()).await;
        assert_eq!((status, &*body), (StatusCode::OK, "{}"), "{kind:?}");
    }
}

#[tokio::test]
async fn a_guest_is_known_by_its_token() {
    let site = site();
    let (status, headers, body) =
        site.ask(site.with_token("GET", "/any").body(Body::empty()).unwrap()).await;
    assert_eq!((status, &*body), (StatusCode::OK, "Some(Caller(7))"));
    assert_eq!(headers[CACHE_CONTROL], "no-store");
}

/// S-015: no answer sends anybody elsewhere.
#[tokio::test]
async fn no_path_leads_elsewhere() {
    let site = site();
    let paths = ["//evil.example", "/%2f%2fevil.example", "/..;/", "/any/", "//any", "/any%2f.."];
    for path in paths {
        for method in METHODS {
            let request = site.with_token(method, path).header(CONTENT_TYPE, "application/json");
            let (status, headers, _) = site.ask(request.body(Body::empty()).unwrap()).await;
            assert!(!status.is_redirection() && !status.is_success(), "{method} {path}: {status}");
            assert!(!headers.contains_key("location"), "{method} {path}");
        }
    }
}

/// F-032 for requests: a body that is too large is not taken, whether it says so or not.
#[tokio::test]
async fn a_large_body_is_refused() {
    let site = site();
    let post = || site.with_token("POST", "/post").header(CONTENT_TYPE, "application/json");
    let (status, ..) = site.ask(post().body(Body::from("x".repeat(64))).unwrap()).await;
    assert_eq!(status, StatusCode::OK);
    let (status, ..) = site.ask(post().body(Body::from("x".repeat(65))).unwrap()).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    let announced = post().header(CONTENT_LENGTH, "65").body(Body::empty()).unwrap();
    let (status, ..) = site.ask(announced).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}

/// A body that never ends is given up.
#[tokio::test]
async fn a_slow_body_is_given_up() {
    let site = site_with(BodyLimits { time: Duration::from_millis(20), ..LIMITS });
    let never = futures_util::stream::pending::<Result<bytes::Bytes, Infallible>>();
    let request = site.with_token("POST", "/post").header(CONTENT_TYPE, "application/json");
    let (status, ..) = site.ask(request.body(Body::from_stream(never)).unwrap()).await;
    assert_eq!(status, StatusCode::REQUEST_TIMEOUT);
}
