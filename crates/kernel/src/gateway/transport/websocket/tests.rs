//! Tests with frames as servers send them, cut anywhere, and with malformed frames.

use std::io::Cursor;

use proptest::prelude::*;
use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;

use super::{AsyncRead, Broken, FrameKind, Kind, Piece, Reader, io, write};

/// Returns the bytes of a server's frame.
fn frame(opcode: u8, is_final: bool, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![opcode | if is_final { 0x80 } else { 0 }];
    match payload.len() {
        size @ 0..126 => bytes.push(u8::try_from(size).unwrap()),
        size if size < 65536 => {
            bytes.push(126);
            bytes.extend(u16::try_from(size).unwrap().to_be_bytes());
        }
        size => {
            bytes.push(127);
            bytes.extend((size as u64).to_be_bytes());
        }
    }
    bytes.extend(payload);
    bytes
}

/// Reads bytes that arrive in parts: returns whole messages, control frames and the final error.
async fn read(bytes: &[u8], early: usize, cut: usize, limit: u64) -> (Vec<String>, Broken) {
    let early = early.min(bytes.len());
    // No part may be larger than the room that the block always has.
    let parts = Parts(bytes[early..].chunks(cut.clamp(1, 1000)));
    let mut reader = Reader::new(parts, &bytes[..early], limit);
    let (mut said, mut message) = (Vec::new(), Vec::new());
    loop {
        match reader.next().await {
            Err(broken) => return (said, broken),
            Ok(Piece::Data(data, ends)) => {
                message.extend_from_slice(data);
                if let Some(kind) = ends {
                    said.push(format!("{kind:?} {}", String::from_utf8_lossy(&message)));
                    message.clear();
                }
            }
            Ok(other) => said.push(format!("{other:?}")),
        }
    }
}

/// A source that returns exactly these parts.
struct Parts<'a>(std::slice::Chunks<'a, u8>);

impl AsyncRead for Parts<'_> {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        if let Some(part) = self.0.next() {
            buffer.put_slice(part);
        }
        std::task::Poll::Ready(Ok(()))
    }
}

/// RFC 6455: messages in fragments, with pings between them, and with every form of length.
#[tokio::test]
async fn messages_are_read_whole() {
    let long = "x".repeat(70_000);
    let bytes = [
        frame(1, true, b"one"),
        frame(2, true, "y".repeat(200).as_bytes()),
        frame(1, false, b"a"),
        frame(9, true, b"ping"),
        frame(0, false, b""),
        frame(0, true, b"b"),
        frame(2, true, b""),
        frame(1, true, long.as_bytes()),
        frame(10, true, b""),
        frame(8, true, b"\x03\xe8bye\n"),
    ]
    .concat();
    let wanted = [
        "Text one".to_owned(),
        format!("Binary {}", "y".repeat(200)),
        "Ping([112, 105, 110, 103])".to_owned(),
        "Text ab".to_owned(),
        "Binary ".to_owned(),
        format!("Text {long}"),
        "Pong".to_owned(),
        "Close(\"bye\")".to_owned(),
    ];
    for (early, cut) in [(0, 1), (1, 3), (7, 1000), (100_000, 1), (0, 100_000)] {
        let (said, broken) = read(&bytes, early, cut, 1 << 20).await;
        assert!(said == wanted, "early {early}, cut {cut}");
        assert!(matches!(broken, Broken::Ended));
    }
}

/// F-113: a message that is too long is refused by its header, in one piece or in many.
#[tokio::test]
async fn a_message_has_a_limit() {
    let mut giant = vec![0x82, 127];
    giant.extend((1u64 << 62).to_be_bytes());
    let pieces = [frame(1, false, &[0; 60]), frame(0, true, &[0; 60])].concat();
    for bytes in [giant, pieces] {
        let (said, broken) = read(&bytes, 0, 5, 100).await;
        assert!(said.is_empty() && matches!(broken, Broken::TooLong { .. }), "{broken}");
    }
    let words = Broken::TooLong { size: 600 << 20, limit: 512 << 20 }.to_string();
    assert!(words.contains("a message of 600 MB") && words.contains("512 MB"), "{words}");
}

/// F-113
#[tokio::test]
async fn what_breaks_the_protocol_is_refused() {
    let table: [&[u8]; 8] = [
        &[0x83, 0],
        &[0xc1, 0],
        &[0x81, 0x80, 0, 0, 0, 0],
        &[0x09, 0],
        &[0x89, 126, 0, 126],
        &[0x80, 0],
        &[0x01, 0, 0x81, 0],
        &[0x8b, 0],
    ];
    for bytes in table {
        let (_, broken) = read(bytes, 0, 1, 100).await;
        assert!(matches!(broken, Broken::Protocol(_)), "{bytes:?}: {broken}");
    }
}

proptest! {
    /// F-113: arbitrary bytes do no harm.
    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        cut in 1usize..50,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(read(&bytes, cut, cut, 1000));
    }

    /// A frame that we send is masked, and decodes to the same payload.
    #[test]
    fn what_is_sent_can_be_read(payload in prop::collection::vec(any::<u8>(), 0..300)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut sent = Vec::new();
        runtime.block_on(write(&mut sent, FrameKind::Message(Kind::Binary), &payload)).unwrap();
        let mut cursor = Cursor::new(&sent);
        let (header, size) = FrameHeader::parse(&mut cursor).unwrap().unwrap();
        let mask = header.mask.unwrap();
        let at = usize::try_from(cursor.position()).unwrap();
        prop_assert_eq!(size, payload.len() as u64);
        let unmasked = sent[at..].iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask);
        prop_assert!(unmasked.eq(payload.iter().copied()));
    }
}
