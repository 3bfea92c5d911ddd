//! Pictures in the graphics protocol of kitty.
//!
//! Owns its escape sequences. It must not know the origin of a picture.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::picture::Extent;

/// Characters in one chunk of data. The protocol allows at most 4096.
const PIECE: usize = 4096;

/// Removes every visible picture.
pub(crate) const WIPE: &str = "\u{1b}_Ga=d,d=A,q=2\u{1b}\\";

/// Draws a PNG file at the cursor without moving it. `q=2` keeps the terminal from replying.
pub(super) fn bytes(png: &[u8], extent: Extent) -> Vec<u8> {
    let encoded = STANDARD.encode(png);
    let mut out = Vec::with_capacity(encoded.len() + encoded.len() / PIECE * 16 + 64);
    let mut pieces = encoded.as_bytes().chunks(PIECE).peekable();
    let Extent { columns, rows } = extent;
    let mut head = format!("a=T,f=100,t=d,q=2,C=1,c={columns},r={rows},");
    while let Some(piece) = pieces.next() {
        let more = u8::from(pieces.peek().is_some());
        out.extend_from_slice(format!("\u{1b}_G{head}m={more};").as_bytes());
        out.extend_from_slice(piece);
        out.extend_from_slice(b"\x1b\\");
        head = "q=2,".to_owned();
    }
    out
}
