//! The contents of messages: the JSON of each type, read into the types of the contract.
//!
//! Owns the shapes. One that cannot be read is an error of that message alone. MIME types stay in
//! the order of the kernel, and JSON stays the text that the kernel sent.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::event::{CodeNames, DisplayId, MimeBundle, MimeData, PyError, StreamName};
use crate::lenient::{self, ContentResult};

/// MIME types whose text is base64. The runner has the same list.
const BINARY: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"];

/// Entries of a JSON object, in their order.
struct Entries<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Entries<'a>, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of MIME types")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry::<String, &RawValue>()? {
                    entries.push((Cow::Owned(entry.0), entry.1));
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(Visit).map(Entries)
    }
}

/// Reads the content of a `stream` message.
pub(crate) fn stream(content: &[u8]) -> ContentResult<(StreamName, Bytes)> {
    #[derive(Deserialize)]
    struct Stream {
        name: String,
        text: String,
    }
    let read: Stream = lenient::read(content, |text| serde_json::from_str(text))?;
    let name = if read.name == "stderr" { StreamName::Stderr } else { StreamName::Stdout };
    Ok((name, Bytes::from(read.text)))
}

/// Content of `display_data`, `update_display_data` and `execute_result`.
pub(crate) struct DisplayContent {
    pub(crate) data: MimeBundle,
    pub(crate) id: Option<DisplayId>,
    pub(crate) count: Option<u32>,
}

pub(crate) fn read_display(content: &[u8]) -> ContentResult<DisplayContent> {
    #[derive(Deserialize)]
    struct Content<'a> {
        #[serde(borrow)]
        data: Entries<'a>,
        #[serde(borrow, default)]
        metadata: Option<&'a RawValue>,
        #[serde(default)]
        transient: Option<Transient>,
        #[serde(default)]
        execution_count: Option<u32>,
    }
    #[derive(Deserialize)]
    struct Transient {
        #[serde(default)]
        display_id: Option<String>,
    }
    lenient::read(content, |text| {
        let read: Content<'_> = serde_json::from_str(text)?;
        let id = read.transient.and_then(|transient| transient.display_id);
        Ok(DisplayContent {
            data: bundle(&read.data, read.metadata),
            id: id.map(|id| DisplayId(Arc::from(id))),
            count: read.execution_count,
        })
    })
}

fn bundle(data: &Entries<'_>, metadata: Option<&RawValue>) -> MimeBundle {
    let form = |(mime, raw): &(Cow<'_, str>, &RawValue)| (mime.to_string(), form(mime, raw));
    let metadata =
        metadata.map(|raw| raw.get().trim()).filter(|raw| !matches!(*raw, "{}" | "null"));
    MimeBundle {
        data: data.0.iter().map(form).collect(),
        metadata: metadata.unwrap_or("").to_owned(),
    }
}

fn form(mime: &str, raw: &RawValue) -> MimeData {
    let raw = raw.get();
    // Most values are text; a value of another type stays JSON.
    let Ok(text) = serde_json::from_str::<String>(raw) else {
        return MimeData::Json(raw.to_owned());
    };
    if BINARY.contains(&mime) {
        let decode = |text: &str| STANDARD.decode(text).ok();
        // The base64 may end in a line break, or be split into several lines.
        let joined = || text.split_ascii_whitespace().collect::<String>();
        if let Some(bytes) = decode(&text).or_else(|| decode(&joined())) {
            return MimeData::Binary(Bytes::from(bytes));
        }
    }
    if mime == "application/json" || mime.ends_with("+json") {
        return MimeData::Json(raw.to_owned());
    }
    MimeData::Text(text)
}

/// Reads the content of a message with the names of a cell.
pub(crate) fn names(content: &[u8]) -> ContentResult<Box<CodeNames>> {
    lenient::read(content, |text| serde_json::from_str(text))
}

/// Reads the content of a `status` message.
pub(crate) fn state(content: &[u8]) -> ContentResult<String> {
    #[derive(Deserialize)]
    struct Status {
        execution_state: String,
    }
    let read: Status = lenient::read(content, |text| serde_json::from_str(text))?;
    Ok(read.execution_state)
}

/// Reads the content of an `execute_input` message.
pub(crate) fn count(content: &[u8]) -> ContentResult<Option<u32>> {
    #[derive(Deserialize)]
    struct Input {
        #[serde(default)]
        execution_count: Option<u32>,
    }
    let read: Input = lenient::read(content, |text| serde_json::from_str(text))?;
    Ok(read.execution_count)
}

/// Reads the content of a `clear_output` message.
pub(crate) fn wait(content: &[u8]) -> ContentResult<bool> {
    #[derive(Deserialize)]
    struct Clear {
        #[serde(default)]
        wait: bool,
    }
    let read: Clear = lenient::read(content, |text| serde_json::from_str(text))?;
    Ok(read.wait)
}

/// Reads the content of an `input_request` message: the prompt, and whether to hide the input.
pub(crate) fn prompt(content: &[u8]) -> ContentResult<(String, bool)> {
    #[derive(Deserialize)]
    struct Request {
        #[serde(default)]
        prompt: String,
        #[serde(default)]
        password: bool,
    }
    let read: Request = lenient::read(content, |text| serde_json::from_str(text))?;
    Ok((read.prompt, read.password))
}

/// An exception, in `error` and in `execute_reply`.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
struct Problem {
    #[serde(default)]
    ename: Option<String>,
    #[serde(default)]
    evalue: Option<String>,
    #[serde(default)]
    traceback: Option<Vec<String>>,
}

impl Problem {
    fn into_error(self) -> PyError {
        let name = self.ename.unwrap_or_default();
        let value = self.evalue.unwrap_or_default();
        let mut traceback = self.traceback.unwrap_or_default();
        if traceback.is_empty() {
            traceback.push(format!("{name}: {value}"));
        }
        let plain = traceback.iter().map(|line| without_colours(line)).collect();
        PyError { name, value, traceback, plain }
    }
}

/// Reads the content of an `error` message.
pub(crate) fn error(content: &[u8]) -> ContentResult<PyError> {
    let read: Problem = lenient::read(content, |text| serde_json::from_str(text))?;
    Ok(read.into_error())
}

/// Content of an `execute_reply` message.
pub(crate) struct Reply {
    pub(crate) status: ReplyStatus,
    pub(crate) count: Option<u32>,
    /// Texts for a pager, such as the help of `?`.
    pub(crate) pages: Vec<MimeBundle>,
}

pub(crate) enum ReplyStatus {
    Ok,
    Error(PyError),
    Aborted,
}

pub(crate) fn reply(content: &[u8]) -> ContentResult<Reply> {
    #[derive(Deserialize)]
    struct Content {
        status: String,
        #[serde(default)]
        execution_count: Option<u32>,
    }
    #[derive(Deserialize)]
    struct Payloads<'a> {
        #[serde(borrow, default)]
        payload: Vec<Payload<'a>>,
    }
    #[derive(Deserialize)]
    struct Payload<'a> {
        #[serde(default)]
        source: String,
        #[serde(borrow, default)]
        data: Option<Entries<'a>>,
    }
    lenient::read(content, |text| {
        let read: Content = serde_json::from_str(text)?;
        let status = match read.status.as_str() {
            "ok" => ReplyStatus::Ok,
            "error" => ReplyStatus::Error(serde_json::from_str::<Problem>(text)?.into_error()),
            // Old kernels write `abort`.
            _ => ReplyStatus::Aborted,
        };
        // Skip payloads of other shapes: they are for front ends that know them.
        let payloads = serde_json::from_str::<Payloads<'_>>(text).map(|read| read.payload);
        let pages = payloads.unwrap_or_default().into_iter();
        let pages = pages.filter(|payload| payload.source == "page");
        let pages = pages.filter_map(|payload| payload.data.map(|data| bundle(&data, None)));
        Ok(Reply { status, count: read.execution_count, pages: pages.collect() })
    })
}

/// Returns the text without its colour sequences.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut parts = text.split('\u{1b}');
    plain.push_str(parts.next().unwrap_or(""));
    for part in parts {
        let rest = part.strip_prefix('[').map(|sequence| {
            let end = sequence.find(|c: char| ('@'..='~').contains(&c));
            end.map_or("", |end| &sequence[end + 1..])
        });
        plain.push_str(rest.unwrap_or(part));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B:Z-12: every MIME type keeps its place and its kind of data.
    #[test]
    fn bundles_keep_their_order_and_their_json() {
        let content = br#"{"data": {"text/plain": "x", "image/png": "aGk=\n", "application/vnd.x+json": {"b": 1.0, "a": NaN0},
            "text/html": "<b>"}, "metadata": {}, "transient": {}}"#;
        assert!(read_display(content).is_err(), "a bundle must be JSON");
        let content = String::from_utf8_lossy(content).replace("NaN0", "1e2");
        let read = read_display(content.as_bytes()).unwrap();
        let wanted = [
            ("text/plain".to_owned(), MimeData::Text("x".to_owned())),
            ("image/png".to_owned(), MimeData::Binary(Bytes::from_static(b"hi"))),
            (
                "application/vnd.x+json".to_owned(),
                MimeData::Json(r#"{"b": 1.0, "a": 1e2}"#.to_owned()),
            ),
            ("text/html".to_owned(), MimeData::Text("<b>".to_owned())),
        ];
        assert_eq!(read.data.data, wanted);
        assert_eq!((read.data.metadata.as_str(), read.id), ("", None));
    }

    /// Trap 7: one malformed MIME type does not lose the others.
    #[test]
    fn odd_forms_are_kept_as_they_are() {
        let content = br#"{"data": {"text/plain": 5, "image/png": "no base64!", "text/html": ["a", "b"],
            "application/json": "text"}, "metadata": {"image/png": {"width": 3}}, "transient": {"display_id": "d"}}"#;
        let read = read_display(content).unwrap();
        let wanted = [
            ("text/plain".to_owned(), MimeData::Json("5".to_owned())),
            ("image/png".to_owned(), MimeData::Text("no base64!".to_owned())),
            ("text/html".to_owned(), MimeData::Json(r#"["a", "b"]"#.to_owned())),
            ("application/json".to_owned(), MimeData::Json("\"text\"".to_owned())),
        ];
        assert_eq!(read.data.data, wanted);
        assert_eq!(read.data.metadata, r#"{"image/png": {"width": 3}}"#);
        assert_eq!(read.id, Some(DisplayId(Arc::from("d"))));
    }

    /// B:Z-12
    #[test]
    fn an_error_has_a_traceback_in_any_case() {
        let read = error(br#"{"ename": "E", "evalue": "v", "traceback": []}"#).unwrap();
        assert_eq!(read.traceback, ["E: v"]);
        let read =
            error(br#"{"ename": "E", "evalue": "v", "traceback": ["\u001b[0;31mE\u001b[0m: v"]}"#);
        let read = read.unwrap();
        assert_eq!((read.plain, read.traceback.len()), (vec!["E: v".to_owned()], 1));
        let read = error(br#"{"ename": null, "traceback": null}"#).unwrap();
        assert_eq!((read.name.as_str(), read.traceback.len()), ("", 1));
    }

    /// B:Z-11
    #[test]
    fn replies_say_how_it_ended() {
        let is = |content: &str| match reply(content.as_bytes()).unwrap().status {
            ReplyStatus::Ok => "ok".to_owned(),
            ReplyStatus::Error(error) => error.name,
            ReplyStatus::Aborted => "aborted".to_owned(),
        };
        assert_eq!(is(r#"{"status": "ok", "execution_count": 3}"#), "ok");
        assert_eq!(is(r#"{"status": "error", "ename": "E"}"#), "E");
        assert_eq!(is(r#"{"status": "aborted"}"#), "aborted");
        assert_eq!(is(r#"{"status": "abort", "payload": 5}"#), "aborted");
        let paged = br#"{"status": "ok", "payload": [{"source": "set_next_input", "text": "x"},
            {"source": "page", "data": {"text/plain": "help"}, "start": 0}]}"#;
        let pages = reply(paged).unwrap().pages;
        assert_eq!(pages[0].data, [("text/plain".to_owned(), MimeData::Text("help".to_owned()))]);
        assert_eq!(pages.len(), 1);
    }

    #[test]
    fn colours_are_taken_off() {
        let check = |text: &str, wanted: &str| assert_eq!(without_colours(text), wanted);
        check("plain", "plain");
        check("\u{1b}[31mred\u{1b}[0m and \u{1b}[1;32mgreen\u{1b}[39;49;00m", "red and green");
        check("cut \u{1b}[3", "cut ");
        check("lone \u{1b} and é", "lone  and é");
    }
}
