//! Headers as RFC 6455 shows them, and laws about all headers. The reference implementation is
//! `tungstenite`.

use std::io::Cursor;

use proptest::prelude::*;
use tokio_tungstenite::tungstenite::protocol::frame as other;

use super::*;

const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

fn header(opcode: Opcode, mask: Option<[u8; 4]>, size: u64) -> FrameHeader {
    FrameHeader { opcode, is_final: true, reserved: 0, mask, size }
}

fn formatted(header: &FrameHeader) -> Vec<u8> {
    let mut bytes = Vec::new();
    format(header, &mut bytes);
    bytes
}

/// RFC 6455, section 5.7, and the lengths at which a header grows.
#[test]
fn header_has_the_bytes_of_the_rfc() {
    let unfinished = FrameHeader { is_final: false, ..header(Opcode::Text, None, 3) };
    let compressed = FrameHeader { reserved: 0x40, ..header(Opcode::Text, None, 3) };
    let masked = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d];
    let table: [(FrameHeader, &[u8]); 14] = [
        (header(Opcode::Text, None, 5), &[0x81, 5]),
        (header(Opcode::Text, Some(MASK), 5), &masked),
        (unfinished, &[0x01, 3]),
        (compressed, &[0xc1, 3]),
        (header(Opcode::Continuation, None, 2), &[0x80, 2]),
        (header(Opcode::Close, None, 0), &[0x88, 0]),
        (header(Opcode::Ping, None, 5), &[0x89, 5]),
        (header(Opcode::Pong, Some(MASK), 5), &[0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d]),
        (header(Opcode::Binary, None, 125), &[0x82, 125]),
        (header(Opcode::Binary, None, 126), &[0x82, 126, 0, 126]),
        (header(Opcode::Binary, None, 256), &[0x82, 126, 1, 0]),
        (header(Opcode::Binary, None, 65535), &[0x82, 126, 255, 255]),
        (header(Opcode::Binary, None, 65536), &[0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        (
            header(Opcode::Binary, None, u64::MAX),
            &[0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255],
        ),
    ];
    for (header, bytes) in table {
        assert_eq!(formatted(&header), bytes, "{header:?}");
        assert_eq!(parse(bytes), Ok(Some((header, bytes.len()))), "{bytes:?}");
    }
}

/// A reserved opcode is refused once the whole header is there.
#[test]
fn reserved_opcode_is_refused() {
    for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        assert_eq!(parse(&[0x80 | opcode, 0]), Err(UnknownOpcode), "{opcode}");
        assert_eq!(parse(&[0x80 | opcode, 126, 0]), Ok(None), "{opcode}");
    }
}

#[test]
fn length_in_more_bytes_than_it_needs_is_taken() {
    let table: [&[u8]; 3] = [
        &[0x82, 126, 0, 5],
        &[0x82, 127, 0, 0, 0, 0, 0, 0, 0, 5],
        &[0x82, 127, 0, 0, 0, 0, 0, 0, 0, 5, 9],
    ];
    for bytes in table {
        let (header, length) = parse(bytes).unwrap().unwrap();
        assert_eq!(header.size, 5, "{bytes:?}");
        assert_eq!(length, if bytes[1] == 126 { 4 } else { 10 }, "{bytes:?}");
    }
}

fn opcodes() -> impl Strategy<Value = Opcode> {
    prop::sample::select(vec![
        Opcode::Continuation,
        Opcode::Text,
        Opcode::Binary,
        Opcode::Close,
        Opcode::Ping,
        Opcode::Pong,
    ])
}

fn headers() -> impl Strategy<Value = FrameHeader> {
    let sizes = prop_oneof![0u64..300, 65_000u64..66_000, any::<u64>()];
    (opcodes(), any::<bool>(), 0u8..8, any::<Option<[u8; 4]>>(), sizes).prop_map(
        |(opcode, is_final, reserved, mask, size)| FrameHeader {
            opcode,
            is_final,
            reserved: reserved << 4,
            mask,
            size,
        },
    )
}

fn as_other(header: &FrameHeader) -> other::FrameHeader {
    use other::coding::{Control, Data, OpCode};
    other::FrameHeader {
        is_final: header.is_final,
        rsv1: header.reserved & 0x40 != 0,
        rsv2: header.reserved & 0x20 != 0,
        rsv3: header.reserved & 0x10 != 0,
        opcode: match header.opcode {
            Opcode::Continuation => OpCode::Data(Data::Continue),
            Opcode::Text => OpCode::Data(Data::Text),
            Opcode::Binary => OpCode::Data(Data::Binary),
            Opcode::Close => OpCode::Control(Control::Close),
            Opcode::Ping => OpCode::Control(Control::Ping),
            Opcode::Pong => OpCode::Control(Control::Pong),
        },
        mask: header.mask,
    }
}

proptest! {
    #[test]
    fn formatted_header_is_parsed_as_it_was(
        header in headers(),
        payload in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let bytes = formatted(&header);
        prop_assert!(bytes.len() <= HEADER_BYTES);
        let frame = [&bytes[..], &payload].concat();
        prop_assert_eq!(parse(&frame), Ok(Some((header, bytes.len()))));
    }

    #[test]
    fn prefix_of_a_header_needs_more(header in headers()) {
        let bytes = formatted(&header);
        for end in 0..bytes.len() {
            prop_assert_eq!(parse(&bytes[..end]), Ok(None));
        }
    }

    #[test]
    fn header_has_the_bytes_of_another_implementation(header in headers()) {
        let mut bytes = Vec::new();
        as_other(&header).format(header.size, &mut bytes).unwrap();
        prop_assert_eq!(formatted(&header), bytes);
    }

    /// Arbitrary bytes, among them reserved opcodes, and lengths in more bytes than they need.
    #[test]
    fn bytes_mean_what_they_mean_to_another_implementation(
        start in any::<[u8; 2]>(),
        rest in prop::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..14),
        length in 0usize..20,
    ) {
        let mut bytes = [&start[..], &rest].concat();
        bytes.truncate(length);
        let mut cursor = Cursor::new(&bytes);
        let expected = other::FrameHeader::parse(&mut cursor);
        match (parse(&bytes), expected) {
            (Ok(None), Ok(None)) | (Err(UnknownOpcode), Err(_)) => {}
            (Ok(Some((header, length))), Ok(Some((expected, size)))) => {
                prop_assert_eq!(as_other(&header), expected);
                prop_assert_eq!((header.size, length as u64), (size, cursor.position()));
            }
            (ours, theirs) => prop_assert!(false, "{ours:?} and {theirs:?}"),
        }
    }
}
