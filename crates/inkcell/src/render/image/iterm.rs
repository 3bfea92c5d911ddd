//! Pictures as files in the text, as iTerm2 and others read them.
//!
//! Owns the escape sequence. It must not know where a picture comes from.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::picture::Extent;

/// What draws a file at the cursor. It has no name: names are the program's.
pub(super) fn bytes(file: &[u8], extent: Extent) -> Vec<u8> {
    let Extent { columns, rows } = extent;
    let size = file.len();
    let mut out = format!(
        "\u{1b}]1337;File=inline=1;size={size};width={columns};height={rows};preserveAspectRatio=1:"
    );
    STANDARD.encode_string(file, &mut out);
    out.push('\u{7}');
    out.into_bytes()
}
