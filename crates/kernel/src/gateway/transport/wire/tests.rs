//! Tests with frames as servers send them, and with malformed frames.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::jupyter::message::Author;

fn parts(text: &str) -> Parts {
    let author = Author::new("me".to_owned());
    author.request("execute_request", &json!({"code": text})).parts
}

fn table(count: u64, offsets: &[u64], rest: &[u8]) -> Frame {
    let mut frame = count.to_le_bytes().to_vec();
    for offset in offsets {
        frame.extend_from_slice(&offset.to_le_bytes());
    }
    frame.extend_from_slice(rest);
    Frame::Binary(Bytes::from(frame))
}

fn old(read: fn(u32) -> [u8; 4], json: &str, buffers: &[&[u8]]) -> Frame {
    let count = buffers.len() + 1;
    let mut at = 4 * (count + 1);
    let mut frame = read(u32::try_from(count).unwrap()).to_vec();
    for piece in std::iter::once(json.as_bytes()).chain(buffers.iter().copied()) {
        frame.extend_from_slice(&read(u32::try_from(at).unwrap()));
        at += piece.len();
    }
    frame.extend_from_slice(json.as_bytes());
    frame.extend_from_slice(&buffers.concat());
    Frame::Binary(Bytes::from(frame))
}

/// The current layout, byte for byte, as its definition has it.
#[test]
fn the_form_of_today_is_laid_out_as_defined() {
    let parts = ["{\"msg_id\":\"a\"}", "{}", "{}", "{\"x\":1}"].map(Bytes::from);
    let rest = b"shell{\"msg_id\":\"a\"}{}{}{\"x\":1}";
    let wanted = table(6, &[56, 61, 75, 77, 79, 86], rest);
    assert_eq!(encode(Form::V1, Channel::Shell, &parts), wanted);
}

/// B:G-33 With buffers or without, and in both byte orders.
#[test]
fn the_forms_of_old_are_read() {
    let json = r#"{"channel":"iopub","header":{"msg_id":"a","msg_type":"stream"},
        "parent_header":{"msg_id":"p","session":"me"},"metadata":{},"content":{"é":"\ud800"}}"#;
    let json_read = decode(Form::Old, &Frame::Text(Bytes::from(json))).unwrap();
    assert_eq!(json_read.0, Channel::Iopub);
    assert!(json_read.1.is_of("p"));
    assert_eq!(json_read.1.header.msg_type, "stream");
    for read in [u32::to_be_bytes, u32::to_le_bytes] {
        for buffers in [&[][..], &[&b"one"[..], b"", b"three"]] {
            assert_eq!(decode(Form::Old, &old(read, json, buffers)).unwrap(), json_read);
        }
    }
    // A server that accepts the binary form may still send text.
    assert_eq!(decode(Form::V1, &Frame::Text(Bytes::from(json))).unwrap(), json_read);
    let bare = r#"{"channel":"shell","header":{"msg_id":"a"}}"#;
    let (_, message) = decode(Form::Old, &Frame::Text(Bytes::from(bare))).unwrap();
    assert_eq!((message.parent, &message.content[..]), (None, &b"{}"[..]));
}

/// F-113
#[test]
fn tables_that_lie_are_refused() {
    let ends = |frame: &Frame| matches!(decode(Form::V1, frame), Err(WireError::Table));
    assert!(ends(&Frame::Binary(Bytes::new())));
    assert!(ends(&table(0, &[], b"")));
    assert!(ends(&table(u64::MAX, &[], b"")));
    assert!(ends(&table(1 << 60, &[56, 61, 63, 65, 67, 69], b"shell{}{}{}{}")));
    assert!(ends(&table(6, &[56, 61, 63, 65, 67, u64::MAX], b"shell{}{}{}{}")));
    assert!(ends(&table(6, &[56, 61, 60, 65, 67, 69], b"shell{}{}{}{}")));
    assert!(ends(&table(6, &[1 << 40, 61, 63, 65, 67, 69], b"shell{}{}{}{}")));
    let other = table(6, &[56, 61, 63, 65, 67, 69], b"shell{}{}{}{}");
    assert!(matches!(decode(Form::V1, &other), Err(WireError::Header(_))), "no name in its header");
    let json = r#"{"channel":"side","header":{"msg_id":"a"}}"#;
    let refused = decode(Form::Old, &Frame::Text(Bytes::from(json)));
    assert!(matches!(refused, Err(WireError::Channel(name)) if name == "side"));
    for text in ["", "[]", "null", "{\"channel\":\"shell\"}", "<html>", "{\"channel\":5}"] {
        let refused = decode(Form::Old, &Frame::Text(Bytes::from_static(text.as_bytes())));
        assert!(matches!(refused, Err(WireError::Json(_))), "{text}");
    }
    for bytes in [&b""[..], b"\0\0\0", b"\0\0\0\0", b"\0\0\0\x01\0\0\0\xff", b"\xff\xff\xff\xff{}"]
    {
        let refused = decode(Form::Old, &Frame::Binary(Bytes::from_static(bytes)));
        assert!(matches!(refused, Err(WireError::Table)), "{bytes:?}");
    }
}

proptest! {
    /// F-113: arbitrary bytes do no harm, alone or in place of others; every encoded message
    /// decodes to itself.
    #[test]
    fn any_frame_is_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        text in any::<String>(),
        at in any::<prop::sample::Index>(),
    ) {
        for form in [Form::V1, Form::Old] {
            let raw = Bytes::from(bytes.clone());
            let _ = decode(form, &Frame::Binary(raw.clone()));
            let _ = decode(form, &Frame::Text(raw));
            let sent = encode(form, Channel::Control, &parts(&text));
            let (channel, message) = decode(form, &sent).unwrap();
            prop_assert_eq!(channel, Channel::Control);
            let content: serde_json::Value = serde_json::from_slice(&message.content).unwrap();
            prop_assert_eq!(content["code"].as_str(), Some(text.as_str()));
            let (Frame::Binary(whole) | Frame::Text(whole)) = &sent;
            let mut broken = whole.to_vec();
            let start = at.index(broken.len());
            let end = (start + bytes.len()).min(broken.len());
            broken[start..end].copy_from_slice(&bytes[..end - start]);
            let _ = decode(form, &Frame::Binary(Bytes::from(broken.clone())));
            let _ = decode(form, &Frame::Text(Bytes::from(broken[..start].to_vec())));
        }
    }
}
