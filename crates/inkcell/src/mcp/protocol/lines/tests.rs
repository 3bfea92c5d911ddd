use std::path::Path;

use super::*;
use serde_json::Value;

/// The replies to this input, and the messages that come through.
async fn spoken(input: Vec<u8>) -> (Vec<RxJsonRpcMessage<RoleServer>>, Vec<Value>) {
    let (mut client, server) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(server);
    let mut lines = Lines::new(read, write, Turns::new(Path::new("/"), None));
    let sending = tokio::spawn(async move {
        client.write_all(&input).await.unwrap();
        client.shutdown().await.unwrap();
        let mut said = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut client, &mut said).await.unwrap();
        said
    });
    let mut messages = Vec::new();
    while let Some(message) = lines.receive().await {
        messages.push(message);
    }
    lines.close().await.unwrap();
    drop(lines);
    let said = String::from_utf8(sending.await.unwrap()).unwrap();
    (messages, said.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// S-030: a message that is too long is refused under its id, and the next one comes through.
#[tokio::test]
async fn a_line_that_is_too_long_is_refused_by_name() {
    let mut input = br#"{"jsonrpc":"2.0","method":"x","params":{"a":""#.to_vec();
    input.resize(input.len() + LONGEST, b'x');
    input.extend_from_slice(b"\"},\"id\":\"big\"}\n");
    input.extend_from_slice(format!("{PING}\n").as_bytes());
    let (messages, said) = spoken(input).await;
    assert_eq!(messages.len(), 1);
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0]["id"], "big");
    assert!(said[0]["error"]["message"].as_str().unwrap().contains("the limit is"), "{said:?}");
}

/// S-030: half a line is ignored.
#[tokio::test]
async fn a_line_without_its_end_is_nothing() {
    let (messages, said) = spoken(PING.as_bytes().to_vec()).await;
    assert!(messages.is_empty() && said.is_empty(), "{messages:?} {said:?}");
}

/// S-030: of two requests with one id, the second is refused; the first is not affected. A cancelled request keeps
/// its id.
#[tokio::test]
async fn an_id_is_given_to_one_request() {
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let (messages, said) =
        spoken(format!("{PING}\n{PING}\n{cancelled}\n{PING}\n").into_bytes()).await;
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert_eq!(said.len(), 2, "{said:?}");
    for refusal in &said {
        assert_eq!(
            (refusal["id"].as_i64(), refusal["error"]["code"].as_i64()),
            (Some(1), Some(-32600))
        );
    }
    let mut ids = Ids::default();
    let is_let_in =
        |ids: &mut Ids| matches!(ids.admit(strict::take(PING.as_bytes())), LineContent::Message(_));
    assert!(is_let_in(&mut ids) && !is_let_in(&mut ids));
    let answer = serde_json::from_str(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).unwrap();
    ids.answered(&answer);
    assert!(is_let_in(&mut ids), "an id is free once it is answered");
}

/// S-030: before the first request nothing else is accepted.
#[tokio::test]
async fn nothing_comes_before_the_first_request() {
    let early = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let (messages, said) = spoken(format!("{early}\n{PING}\n{early}\n").into_bytes()).await;
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(said.is_empty(), "{said:?}");
}
