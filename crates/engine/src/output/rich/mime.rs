//! The meaning of a display for a reader: one text, and the rich forms beside it.
//!
//! Owns the order of preference between MIME types (B: ). It must not know text budgets or storage.

use std::borrow::Cow;

use bytes::Bytes;
use inkcell_kernel::{MimeBundle, MimeData};

use super::image::SVG;
use super::{chart, html, json_text};
use crate::output::model::size;

/// A status event replaces all other forms of its display (B:X-32).
const STATUS: &str = "application/x-omp-status";
const MAX_DIGEST_CHARS: usize = 600;
/// A status event is small; larger data is not a status event.
const MAX_STATUS_BYTES: usize = 1024 * 1024;

/// The forms that a display yields.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct DisplayForms {
    /// The text, ending with a line feed.
    pub(crate) text: Option<String>,
    pub(crate) is_markdown: bool,
    pub(crate) rich: Vec<RichForm>,
}

/// A rich form, as it came.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum RichForm {
    Image {
        mime: String,
        data: Bytes,
    },
    Json {
        text: String,
        /// True if the plain text of the display has the same content.
        is_in_text: bool,
    },
    Status(String),
    /// A form that is only described. Its data are present if they are worth storing.
    Digest {
        mime: String,
        digest: String,
        data: Option<Bytes>,
    },
}

impl RichForm {
    /// Approximate size in memory.
    pub(crate) fn held_bytes(&self) -> usize {
        match self {
            RichForm::Image { data, .. } => data.len(),
            RichForm::Json { text, .. } | RichForm::Status(text) => text.len(),
            RichForm::Digest { data, .. } => data.as_ref().map_or(0, Bytes::len),
        }
    }
}

fn text_of<'a>(bundle: &'a MimeBundle, mime: &str) -> Option<Cow<'a, str>> {
    match bundle.get(mime)? {
        MimeData::Text(text) => Some(Cow::Borrowed(text)),
        MimeData::Binary(bytes) => Some(String::from_utf8_lossy(bytes)),
        MimeData::Json(_) => None,
    }
}

fn json_of<'a>(bundle: &'a MimeBundle, mime: &str) -> Option<&'a str> {
    match bundle.get(mime)? {
        MimeData::Json(text) | MimeData::Text(text) => Some(text),
        MimeData::Binary(_) => None,
    }
}

fn bytes_of(data: &MimeData) -> Bytes {
    match data {
        MimeData::Text(text) | MimeData::Json(text) => Bytes::copy_from_slice(text.as_bytes()),
        MimeData::Binary(bytes) => bytes.clone(),
    }
}

fn len_of(data: &MimeData) -> usize {
    match data {
        MimeData::Text(text) | MimeData::Json(text) => text.len(),
        MimeData::Binary(bytes) => bytes.len(),
    }
}

/// Reads a display. HTML is converted up to about `max_html_bytes` of Markdown.
pub(crate) fn read(bundle: &MimeBundle, max_html_bytes: usize) -> DisplayForms {
    if bundle.get(STATUS).is_some() {
        return DisplayForms {
            rich: status(bundle).into_iter().collect(),
            ..DisplayForms::default()
        };
    }
    let mut shown = DisplayForms { rich: rich(bundle), ..DisplayForms::default() };
    let (plain, html) = (text_of(bundle, "text/plain"), text_of(bundle, "text/html"));
    let is_chart = shown.rich.iter().any(|found| matches!(found, RichForm::Digest { .. }));
    // The plain form of IPython's own wrappers only names the class, and that of a chart repeats the same data.
    let has_other = bundle.data.len() > 1;
    let plain = plain.filter(|plain| !(has_other && (is_chart || is_wrapper(plain))));
    // A styled table has no text of its own, so its plain form is only its address.
    let is_table = html.as_ref().is_some_and(|html| html.contains("<table"));
    let plain = plain.filter(|plain| !(is_table && is_address(plain)));
    if let Some(markdown) = text_of(bundle, "text/markdown") {
        shown.text = Some(markdown.into_owned());
        shown.is_markdown = true;
    } else if let Some(plain) = plain {
        shown.text = Some(plain.into_owned());
    } else if let Some(html) = html.filter(|_| !is_chart) {
        let converted = html::to_markdown(&html, max_html_bytes);
        if converted.is_cut {
            let digest = match converted.table {
                Some(table) => table.digest(),
                None => format!("HTML, {}", size(html.len() as u64)),
            };
            let data = Some(Bytes::copy_from_slice(html.as_bytes()));
            shown.rich.push(found_digest("text/html", &digest, data));
        }
        shown.is_markdown = !converted.markdown.is_empty();
        shown.text = Some(converted.markdown).filter(|text| !text.is_empty());
    } else if let Some(latex) = text_of(bundle, "text/latex") {
        shown.text = Some(latex.into_owned());
    }
    if shown.text.is_none() && shown.rich.is_empty() {
        shown.rich.extend(bundle.data.iter().find_map(|(mime, data)| other(mime, data)));
    }
    if let Some(text) = &mut shown.text {
        for form in &mut shown.rich {
            if let RichForm::Json { text: json, is_in_text } = form {
                *is_in_text = json_text::is_in(text, json);
            }
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    shown
}

/// Returns true for `<IPython.core.display.HTML object>` and the like.
fn is_wrapper(plain: &str) -> bool {
    let plain = plain.trim();
    ["<IPython.core.display.", "<IPython.lib.display."].iter().any(|start| plain.starts_with(start))
        && plain.ends_with(" object>")
}

/// Returns true for `<pandas.io.formats.style.Styler at 0x7f>` and the like.
fn is_address(plain: &str) -> bool {
    let plain = plain.trim();
    plain.starts_with('<') && plain.ends_with('>') && plain.contains(" at 0x")
}

fn status(bundle: &MimeBundle) -> Option<RichForm> {
    let text = json_of(bundle, STATUS).filter(|text| text.len() <= MAX_STATUS_BYTES)?;
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    value.as_object()?.get("op")?.as_str()?;
    Some(RichForm::Status(text.to_owned()))
}

/// The picture of a display. Two forms of the same picture say no more than one.
pub fn find_picture(bundle: &MimeBundle) -> Option<(&'static str, Bytes)> {
    let rasters = ["image/png", "image/jpeg"].into_iter().find_map(|mime| match bundle.get(mime) {
        Some(MimeData::Binary(data)) => Some((mime, data.clone())),
        _ => None,
    });
    let drawing = || bundle.get(SVG).filter(|data| len_of(data) > 0);
    rasters.or_else(|| drawing().map(|data| (SVG, bytes_of(data))))
}

/// Images, then JSON, then charts.
fn rich(bundle: &MimeBundle) -> Vec<RichForm> {
    let image = |(mime, data): (&str, Bytes)| RichForm::Image { mime: mime.to_owned(), data };
    let mut found: Vec<RichForm> = find_picture(bundle).map(image).into_iter().collect();
    if let Some(json) = json_of(bundle, "application/json") {
        found.push(RichForm::Json { text: json.to_owned(), is_in_text: false });
    }
    for (mime, data) in &bundle.data {
        let is_chart = ["application/vnd.plotly.", "application/vnd.vega", "application/geo+json"]
            .iter()
            .any(|start| mime.starts_with(start));
        if is_chart && let Some(json) = json_of(bundle, mime) {
            let digest = chart::digest(mime, json);
            let digest = digest.unwrap_or_else(|| format!("{mime}: {}", json_text::shape(json)));
            found.push(found_digest(mime, &digest, Some(bytes_of(data))));
            break;
        }
    }
    found
}

/// A form that is neither text nor a known rich one.
fn other(mime: &str, data: &MimeData) -> Option<RichForm> {
    let bytes = size(len_of(data) as u64);
    let digest = match data {
        MimeData::Json(json) => format!("{mime}: {}", json_text::shape(json)),
        _ => format!("{mime}, {bytes}"),
    };
    let is_empty = len_of(data) == 0 || mime.starts_with("text/html");
    (!is_empty).then(|| found_digest(mime, &digest, Some(bytes_of(data))))
}

/// Makes a digest of one line, without control characters.
fn found_digest(mime: &str, digest: &str, data: Option<Bytes>) -> RichForm {
    RichForm::Digest { mime: mime.to_owned(), digest: one_line(digest), data }
}

/// A text as one line of bounded length.
pub(crate) fn one_line(text: &str) -> String {
    let is_shown = |c: &char| !c.is_control() && !('\u{fff9}'..='\u{fffb}').contains(c);
    let flat = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(is_shown);
    let mut line: String = flat.take(MAX_DIGEST_CHARS + 1).collect();
    if let Some((at, _)) = line.char_indices().nth(MAX_DIGEST_CHARS) {
        line.truncate(at);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests;
