//! Pictures as files within the text, in the format of iTerm2.
//!
//! Owns the escape sequence. It must not know the origin of a picture.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::picture::Extent;

/// The sequence that draws a file at the cursor. It carries no file name, since the program chose
/// that name.
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
