//! Escapes in addresses: `%20` stands for a space.

/// The bytes that a part of an address stands for. A percent sign that begins no escape stands for itself.
pub(super) fn unescaped(part: &str) -> Vec<u8> {
    let part = part.as_bytes();
    let digit = |at: usize| part.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let (mut bytes, mut at) = (Vec::new(), 0);
    while let Some(byte) = part.get(at) {
        let escaped = (*byte == b'%').then(|| digit(at + 1).zip(digit(at + 2))).flatten();
        let (byte, length) = match escaped.map(|(high, low)| u8::try_from(high * 16 + low)) {
            Some(Ok(escaped)) => (escaped, 3),
            _ => (*byte, 1),
        };
        bytes.push(byte);
        at += length;
    }
    bytes
}
