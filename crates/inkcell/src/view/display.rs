//! Displayed values as one text for a terminal or a pipe.
//!
//! Owns the choice among the formats of an output. Pictures are named, not drawn.

use inkcell_engine::kernel::{MimeBundle, MimeData};

/// Messages from helpers to a watching program. Users never see them.
pub(in crate::view) const STATUS: &str = "application/x-omp-status";

/// Returns true for a message from a helper, which is not output.
pub(crate) fn is_status(bundle: &MimeBundle) -> bool {
    bundle.get(STATUS).is_some()
}

/// The text of a bundle. `None` for a helper's message or an empty bundle.
pub(crate) fn text(bundle: &MimeBundle) -> Option<String> {
    if is_status(bundle) || bundle.data.is_empty() {
        return None;
    }
    let plain = match bundle.get("text/plain") {
        Some(MimeData::Text(text) | MimeData::Json(text)) => Some(text),
        _ => None,
    };
    let picture = bundle.data.iter().find_map(|(mime, data)| match data {
        MimeData::Binary(bytes) if mime.starts_with("image/") => Some((mime, bytes)),
        _ => None,
    });
    match (plain, picture) {
        (Some(plain), Some((mime, bytes))) => {
            let says_the_same =
                size(bytes).is_some_and(|(wide, high)| plain.contains(&format!("{wide}x{high}")));
            Some(if says_the_same { plain.clone() } else { named(mime, bytes) })
        }
        (Some(plain), None) => Some(plain.clone()),
        (None, Some((mime, bytes))) => Some(named(mime, bytes)),
        (None, None) => bundle.data.first().map(|(mime, data)| match data {
            MimeData::Text(text) if mime.starts_with("text/") && mime != "text/html" => {
                text.clone()
            }
            MimeData::Text(text) | MimeData::Json(text) => named(mime, text.as_bytes()),
            MimeData::Binary(bytes) => named(mime, bytes),
        }),
    }
}

/// A placeholder for an output that cannot be shown as text.
fn named(mime: &str, bytes: &[u8]) -> String {
    let amount = match bytes.len() {
        small @ 0..1024 => format!("{small} bytes"),
        other => format!("{} KB", other.div_ceil(1024)),
    };
    match size(bytes) {
        Some((wide, high)) => format!("<{mime}, {wide}x{high}, {amount}>"),
        None => format!("<{mime}, {amount}>"),
    }
}

/// Width and height of a PNG, from its header.
fn size(bytes: &[u8]) -> Option<(u32, u32)> {
    let header = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    let number = |at: usize| {
        let four = header.get(at..at + 4)?;
        Some(u32::from_be_bytes(four.try_into().ok()?))
    };
    if header.get(4..8)? != b"IHDR" {
        return None;
    }
    Some((number(8)?, number(12)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png() -> MimeData {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0".to_vec();
        bytes.resize(12 * 1024, 0);
        MimeData::Binary(bytes.into())
    }

    #[test]
    fn people_see_text_and_the_names_of_pictures() {
        let plain = |text: &str| ("text/plain", MimeData::Text(text.into()));
        let other = |mime, text: &str| (mime, MimeData::Text(text.into()));
        let table = [
            (Vec::<(&str, MimeData)>::new(), None),
            (vec![plain("42")], Some("42")),
            (vec![other("text/html", "<b>42</b>"), plain("42")], Some("42")),
            (vec![("image/png", png())], Some("<image/png, 640x480, 12 KB>")),
            (
                vec![plain("<Figure size 640x480 with 1 Axes>"), ("image/png", png())],
                Some("<Figure size 640x480 with 1 Axes>"),
            ),
            (
                vec![plain("<IPython.core.display.Image object>"), ("image/png", png())],
                Some("<image/png, 640x480, 12 KB>"),
            ),
            (
                vec![("image/jpeg", MimeData::Binary(vec![0; 10].into()))],
                Some("<image/jpeg, 10 bytes>"),
            ),
            (vec![other("text/html", "<b>x</b>")], Some("<text/html, 8 bytes>")),
            (vec![other("text/markdown", "# x")], Some("# x")),
            (
                vec![("application/json", MimeData::Json("{}".into()))],
                Some("<application/json, 2 bytes>"),
            ),
            (
                vec![plain("read a.txt"), (STATUS, MimeData::Json("{\"op\": \"read\"}".into()))],
                None,
            ),
        ];
        for (data, wanted) in table {
            let data = data.into_iter().map(|(mime, data)| (mime.to_owned(), data)).collect();
            let bundle = MimeBundle { data, metadata: String::new() };
            assert_eq!(text(&bundle).as_deref(), wanted, "{bundle:?}");
        }
    }

    #[test]
    fn half_a_picture_has_no_size() {
        let MimeData::Binary(bytes) = png() else { unreachable!() };
        for length in 0..24 {
            assert_eq!(size(&bytes[..length]), None, "{length}");
        }
        assert_eq!(size(&bytes[..24]), Some((640, 480)));
    }
}
