//! Addresses as people paste them, and those that must be refused.

use proptest::prelude::*;

use super::*;

fn here(text: &str) -> Result<(String, Option<String>), UrlError> {
    let (url, token) = GatewayUrl::parse(text, PlainHttp::OnlyHere)?;
    Ok((url.to_string(), token.map(|token| token.secret().to_owned())))
}

/// B:G-01 All trailing slashes are removed, prefixes stay, pages of a server are removed, and
/// tokens are found.
#[test]
fn what_people_paste_is_understood() {
    let check = |text: &str, wanted: &str, token: Option<&str>| {
        assert_eq!(here(text), Ok((wanted.to_owned(), token.map(str::to_owned))), "{text}");
    };
    check("http://localhost:8888", "http://localhost:8888", None);
    check("http://localhost:8888/", "http://localhost:8888", None);
    check(" http://127.0.0.1:8888/lab?token=abc\n", "http://127.0.0.1:8888", Some("abc"));
    check("http://localhost:8888/tree?token=abc", "http://localhost:8888", Some("abc"));
    check("http://localhost:8888/?token=abc&x=1", "http://localhost:8888", Some("abc"));
    check("http://localhost:8888/?x=1&token=a%2Bb#top", "http://localhost:8888", Some("a+b"));
    check("http://localhost:8888/lab?token=", "http://localhost:8888", None);
    check(
        "http://localhost:8888/notebooks/a%20b/c.ipynb?token=t",
        "http://localhost:8888",
        Some("t"),
    );
    check("http://localhost:8888/lab/tree/x.ipynb", "http://localhost:8888", None);
    check("http://localhost:8888/lab/workspaces/a/tree/x", "http://localhost:8888", None);
    check("http://[::1]:8888/api/kernels", "http://[::1]:8888", None);
    check("HTTP://LocalHost:80/", "http://localhost", None);
    check("https://Hub.Example.org:443/user/me/lab", "https://hub.example.org/user/me", None);
    check("https://h.org/user/me/", "https://h.org/user/me", None);
    check("https://h.org/user/me/named/tree?token=t", "https://h.org/user/me/named", Some("t"));
    check("https://h.org/user/lab/lab", "https://h.org/user/lab", None);
    check("https://h.org/user/a%40b.c/lab", "https://h.org/user/a%40b.c", None);
    check("https://h.org/deep/er/gateway/default/", "https://h.org/deep/er/gateway/default", None);
}

/// S-015 S-016
#[test]
fn what_would_lead_elsewhere_is_refused() {
    let check = |text: &str, wanted: UrlError| assert_eq!(here(text), Err(wanted), "{text}");
    check("", UrlError::Scheme);
    check("localhost:8888", UrlError::Scheme);
    check("ws://localhost:8888", UrlError::Scheme);
    check("file:///etc", UrlError::Scheme);
    check("http:/localhost", UrlError::Scheme);
    check("https://", UrlError::Host);
    check("https:///path", UrlError::Host);
    check("https://a b/", UrlError::Host);
    check("https://a\\b/", UrlError::Host);
    check("https://ex\u{e4}mple.org/", UrlError::Host);
    check("https://[::1/", UrlError::Host);
    check("https://[::1]x/", UrlError::Host);
    check("https://h:0/", UrlError::Port);
    check("https://h:65536/", UrlError::Port);
    check("https://h:+80/", UrlError::Port);
    check("https://me:secret@h.org/", UrlError::UserInfo);
    check("https://localhost@evil.org/", UrlError::UserInfo);
    check("https://h.org/a/../b", UrlError::Path);
    check("https://h.org/a/%2e%2e/b", UrlError::Path);
    check("https://h.org//evil.org", UrlError::Path);
    check("https://h.org/%2f%2fevil", UrlError::Path);
    check("https://h.org/a\\evil", UrlError::Path);
    check("https://h.org/a b", UrlError::Path);
    check("https://h.org/a%zz", UrlError::Path);
    check("https://h.org/a%0d%0aX: y", UrlError::Path);
    check("https://h.org/hub/user-redirect/lab", UrlError::HubPage);
    check("https://h.org/lab?token=a%0d%0aX:y", UrlError::Token);
    check("https://h.org/lab?token=a%20b", UrlError::Token);
    for host in ["example.org", "localhost.evil", "127.0.0.1.nip.io", "10.0.0.1", "0.0.0.0"] {
        let insecure = UrlError::Insecure { host: host.to_owned() };
        check(&format!("http://{host}:8888/?token=t"), insecure);
        let allowed = GatewayUrl::parse(&format!("http://{host}:8888/"), PlainHttp::Anywhere);
        assert_eq!(allowed.unwrap().0.to_string(), format!("http://{host}:8888"));
    }
    check("http://[2001:db8::1]/", UrlError::Insecure { host: "2001:db8::1".to_owned() });
}

/// S-020
#[test]
fn a_token_is_never_shown() {
    let (url, token) =
        GatewayUrl::parse("https://h.org/lab?token=secret", PlainHttp::OnlyHere).unwrap();
    assert!(!format!("{url:?} {url} {token:?}").contains("secret"));
    assert_eq!(token.unwrap().header(), "token secret");
    for text in ["http://h.org/?token=secret", "https://u:secret@h/", "https://h/\\?token=secret"] {
        let error = here(text).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
    }
    assert_eq!(Token::parse("two words"), Err(UrlError::Token));
    assert_eq!(Token::parse(" \n"), Ok(None));
}

/// S-020: a token file's first line is the token. An error about the file does not show its
/// contents.
#[test]
fn a_token_comes_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Token::read(&path)
    };
    for text in ["secret", "secret\n", " secret \r\nanother line"] {
        assert_eq!(read(text).unwrap().secret(), "secret");
    }
    for text in ["", "\nsecret", "two secrets", "s\u{e9}cret"] {
        let refusal = read(text).unwrap_err().to_string();
        assert!(refusal.contains("holds no token") && !refusal.contains("cret"), "{refusal}");
    }
    std::fs::remove_file(&path).unwrap();
    assert!(Token::read(&path).unwrap_err().to_string().contains("cannot be read from"));
    // A pipe, which would block the reader.
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    assert!(Token::read(&path).unwrap_err().to_string().contains("not a regular file"));
}

#[test]
fn what_is_below_has_its_addresses() {
    let url = GatewayUrl::parse("https://[::1]:9/user/me/lab", PlainHttp::OnlyHere).unwrap().0;
    assert_eq!(url.path("/api"), "/user/me/api");
    assert_eq!((url.host(), url.port(), url.authority().as_str()), ("::1", 9, "[::1]:9"));
    assert_eq!(GatewayUrl::local(7).to_string(), "http://127.0.0.1:7");
}

proptest! {
    /// No pasted text does harm. An accepted address, as it is shown, is accepted again.
    #[test]
    fn any_text_is_read_or_refused(
        text in any::<String>(),
        tail in "[a-z0-9:/?#%.@\\\\&=\\[\\] -]{0,40}",
    ) {
        let _ = here(&text);
        for scheme in ["http://localhost", "https://h.org/", "https://"] {
            if let Ok((shown, _)) = here(&format!("{scheme}{tail}")) {
                prop_assert_eq!(here(&shown), Ok((shown.clone(), None)), "{}", shown);
            }
        }
    }
}
