//! The header of a websocket frame (RFC 6455, section 5.2).
//!
//! Owns its bytes, in both directions. It is pure. `websocket` decides which frames may follow each
//! other.

/// Longest header: two bytes, eight of length, four of mask.
pub(crate) const HEADER_BYTES: usize = 14;

/// The bits of the first byte.
const FINAL: u8 = 0x80;
const RESERVED: u8 = 0x70;
const OPCODE: u8 = 0x0f;

/// The bits of the second byte.
const MASKED: u8 = 0x80;
const LENGTH: u8 = 0x7f;

/// Lengths of the second byte that announce a longer field.
const TWO_BYTES: u8 = 126;
const EIGHT_BYTES: u8 = 127;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Opcode {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Opcode {
    fn parse(number: u8) -> Option<Opcode> {
        Some(match number {
            0 => Opcode::Continuation,
            1 => Opcode::Text,
            2 => Opcode::Binary,
            8 => Opcode::Close,
            9 => Opcode::Ping,
            10 => Opcode::Pong,
            _ => return None,
        })
    }

    fn number(self) -> u8 {
        match self {
            Opcode::Continuation => 0,
            Opcode::Text => 1,
            Opcode::Binary => 2,
            Opcode::Close => 8,
            Opcode::Ping => 9,
            Opcode::Pong => 10,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameHeader {
    pub(crate) opcode: Opcode,
    /// `true` if the message ends with this frame.
    pub(crate) is_final: bool,
    /// The three bits reserved for extensions, at their places in the first byte.
    pub(crate) reserved: u8,
    pub(crate) mask: Option<[u8; 4]>,
    /// Length of the payload in bytes.
    pub(crate) size: u64,
}

/// An opcode that RFC 6455 reserves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UnknownOpcode;

/// Parses the header at the beginning of `bytes`. Returns it with its length, or `None` if more
/// bytes are needed.
///
/// A length may take more bytes than it needs. RFC 6455 forbids that, but such a frame has one
/// meaning only.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(FrameHeader, usize)>, UnknownOpcode> {
    let Some((&[first, second], rest)) = bytes.split_first_chunk() else { return Ok(None) };
    let (size, rest) = match second & LENGTH {
        TWO_BYTES => {
            let Some((size, rest)) = rest.split_first_chunk() else { return Ok(None) };
            (u64::from(u16::from_be_bytes(*size)), rest)
        }
        EIGHT_BYTES => {
            let Some((size, rest)) = rest.split_first_chunk() else { return Ok(None) };
            (u64::from_be_bytes(*size), rest)
        }
        size => (u64::from(size), rest),
    };
    let (mask, rest) = if second & MASKED == 0 {
        (None, rest)
    } else {
        let Some((mask, rest)) = rest.split_first_chunk() else { return Ok(None) };
        (Some(*mask), rest)
    };
    let header = FrameHeader {
        opcode: Opcode::parse(first & OPCODE).ok_or(UnknownOpcode)?,
        is_final: first & FINAL != 0,
        reserved: first & RESERVED,
        mask,
        size,
    };
    Ok(Some((header, bytes.len() - rest.len())))
}

/// Appends the header, with its length in as few bytes as possible.
pub(crate) fn format(header: &FrameHeader, output: &mut Vec<u8>) {
    let last = if header.is_final { FINAL } else { 0 };
    let masked = if header.mask.is_some() { MASKED } else { 0 };
    output.push(last | header.reserved & RESERVED | header.opcode.number());
    match (u8::try_from(header.size), u16::try_from(header.size)) {
        (Ok(size @ ..TWO_BYTES), _) => output.push(masked | size),
        (_, Ok(size)) => {
            output.push(masked | TWO_BYTES);
            output.extend(size.to_be_bytes());
        }
        _ => {
            output.push(masked | EIGHT_BYTES);
            output.extend(header.size.to_be_bytes());
        }
    }
    output.extend(header.mask.iter().flatten());
}

#[cfg(test)]
mod tests;
