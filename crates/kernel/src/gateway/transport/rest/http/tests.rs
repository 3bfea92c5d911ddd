//! The handshake of a websocket.

use proptest::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::*;
use crate::error::gateway::Whose;
use crate::gateway::transport::dial::Dial;
use crate::gateway::transport::url::GatewayUrl;

/// RFC 6455, section 1.3.
#[test]
fn accept_key_is_that_of_the_rfc() {
    assert_eq!(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

proptest! {
    #[test]
    fn accept_key_is_that_of_another_implementation(key in "[A-Za-z0-9+/]{0,22}(==)?") {
        prop_assert_eq!(accept_key(&key), derive_accept_key(key.as_bytes()));
    }
}

/// Reads one request and accepts the websocket. `answer` computes the accept key from the request's
/// key.
async fn agree(listener: &TcpListener, answer: impl Fn(&str) -> Option<String>) {
    let mut stream = listener.accept().await.unwrap().0;
    let (mut head, mut buffer) = (Vec::new(), [0; 1024]);
    while !head.ends_with(b"\r\n\r\n") {
        let size = stream.read(&mut buffer).await.unwrap();
        assert!(size > 0, "the request ended early");
        head.extend_from_slice(&buffer[..size]);
    }
    let head = String::from_utf8(head).unwrap();
    let key = head.lines().find_map(|line| line.strip_prefix("sec-websocket-key: ")).unwrap();
    let accept = answer(key).map(|key| format!("Sec-WebSocket-Accept: {key}\r\n"));
    let reply = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{}\r\nearly",
        accept.unwrap_or_default()
    );
    stream.write_all(reply.as_bytes()).await.unwrap();
}

/// F-113: only a server that has read our key has agreed to the websocket.
#[tokio::test]
async fn websocket_with_a_wrong_accept_key_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = GatewayUrl::local(listener.local_addr().unwrap().port());
    let rest = Rest::new(url, None, Whose::External, Dial::new(None));
    let right = |key: &str| Some(derive_accept_key(key.as_bytes()));
    let (upgraded, ()) = tokio::join!(rest.upgrade("api", None), agree(&listener, right));
    assert_eq!(upgraded.map(|it| it.early).unwrap(), Bytes::from_static(b"early"));
    let wrong: [fn(&str) -> Option<String>; 4] = [
        |_| None,
        |key| Some(key.to_owned()),
        |_| Some(derive_accept_key(b"another")),
        |key| Some(derive_accept_key(key.as_bytes()).to_ascii_lowercase() + "="),
    ];
    for answer in wrong {
        let (upgraded, ()) = tokio::join!(rest.upgrade("api", None), agree(&listener, answer));
        assert!(matches!(upgraded, Err(GatewayError::Nonsense { .. })));
    }
}
