use super::*;

fn refused(text: &str) -> (Option<i64>, i32, String) {
    match take(text.as_bytes()) {
        LineContent::Refused(Refusal { id, error }) => {
            let id = id.and_then(|id| id.into_json_value().as_i64());
            (id, error.code.0, error.message.into_owned())
        }
        other => panic!("{text}: {other:?}"),
    }
}

/// S-030: an invalid message is refused, under its id if it has one.
#[test]
fn what_is_no_message_is_refused() {
    let deep = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"a":{open}{close}}},"id":5}}"#)
    };
    let table: [(&str, Option<i64>, i32, &str); 19] = [
        ("{", None, -32700, "not JSON"),
        (
            r#"{"jsonrpc":"2.0","id":85,"method":"ping","params":{"a":"\ud800"}}"#,
            Some(85),
            -32700,
            "not JSON",
        ),
        ("\0", None, -32700, "not JSON"),
        ("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"} x", None, -32700, "not JSON"),
        ("{\"jsonrpc\":\"2.0\",\"id\":1e999,\"method\":\"ping\"}", None, -32700, "not JSON"),
        ("[{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}]", None, -32600, "batches"),
        ("7", None, -32600, "not an object"),
        ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", None, -32600, "id must be"),
        ("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", None, -32600, "id must be"),
        ("{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", None, -32600, "id must be"),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999,\"method\":\"ping\"}",
            None,
            -32600,
            "64 bits",
        ),
        ("{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"ping\"}", Some(5), -32600, "jsonrpc"),
        ("{\"id\":5,\"method\":\"ping\"}", Some(5), -32600, "jsonrpc"),
        ("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":7}", Some(5), -32600, "method"),
        ("{\"jsonrpc\":\"2.0\",\"id\":5}", Some(5), -32600, "neither"),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":[1]}",
            Some(5),
            -32602,
            "tools/call",
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":7}}",
            Some(5),
            -32602,
            "expected a string",
        ),
        (&deep(200), Some(5), -32600, "202 levels"),
        (&deep(100_000), Some(5), -32600, "100002 levels"),
    ];
    for (text, id, code, word) in table {
        let (found, number, message) = refused(text);
        let text: String = text.chars().take(80).collect();
        assert_eq!((found, number), (id, code), "{text}: {message}");
        assert!(message.contains(word), "{text}: {message}");
    }
    assert!(matches!(take(deep(100).as_bytes()), LineContent::Message(_)));
}

/// S-031: a duplicate key is refused, at any depth.
#[test]
fn a_key_that_is_given_twice_is_refused() {
    let twice =
        |inner: &str| format!(r#"{{"jsonrpc":"2.0","id":5,"method":"x","params":{inner}}}"#);
    for inner in [
        r#"{"name":"a","name":"b"}"#,
        r#"{"name":"a","name":"a"}"#,
        r#"{"name":"a","arguments":{"x":[{"path":"a","path":"b"}]}}"#,
        // The same key, written in two ways.
        r#"{"name":"a","n\u0061me":"b"}"#,
    ] {
        let (id, code, message) = refused(&twice(inner));
        assert_eq!((id, code), (Some(5), -32600), "{inner}");
        assert!(message.contains("given twice"), "{inner}: {message}");
    }
    // Behind a number of any length.
    let long = format!(r#"{{"a":0.{}1,"name":"a","name":"b"}}"#, "0".repeat(20_000));
    assert!(refused(&twice(&long)).2.contains("given twice"));
    let (id, _, message) = refused(r#"{"jsonrpc":"2.0","id":5,"id":6,"method":"ping"}"#);
    assert!(id.is_none() && message.contains("\"id\""), "{message}");
    let (id, _, _) = refused(r#"{"jsonrpc":"2.0","method":"ping","method":"tools/list","id":5}"#);
    assert_eq!(id, Some(5));
}

/// S-030: a notification is not answered, whatever is wrong with it.
#[test]
fn a_wrong_notification_is_passed_over() {
    for text in [
        "",
        "\r\n",
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#,
        r#"{"jsonrpc":"2.0","method":"x","params":{"a":1,"a":2}}"#,
    ] {
        assert!(!matches!(take(text.as_bytes()), LineContent::Refused(_)), "{text}");
    }
}

#[test]
fn a_byte_order_mark_and_a_carriage_return_do_no_harm() {
    let text = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\r\n";
    assert!(matches!(take(text.as_bytes()), LineContent::Message(_)));
}
