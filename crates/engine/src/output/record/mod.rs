//! The output of an execution for a notebook file: exact outputs, as Jupyter stores them.
//!
//! Owns the rules by which messages become outputs. It must not know budgets, cleaning or readers: output is neither
//! cleaned nor, without a policy, cut. This fold and the reader's are never merged, because a shortened text in a
//! notebook is lost data.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inkcell_kernel::{DisplayId, ExecEvent, MimeBundle, MimeData, Outcome, PyError, StreamName};
use inkcell_notebook::{NbOutput, OutputError};
use serde_json::value::RawValue;

use super::keep::window::{Repeats, Window};
use super::model::{Mark, Part, size};

mod value;

/// The MIME type of status events, by which helpers report their actions.
const STATUS: &str = "application/x-omp-status";

/// Policy for outputs that would make a notebook too large to handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SizePolicy {
    /// Outputs are kept as they are, of any size.
    #[default]
    Whole,
    /// Store only the beginning and the end of longer streams, and omit longer forms of displays.
    Limit {
        /// Bytes of one stream output or one form.
        max_bytes: usize,
    },
}

/// A display that has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DisplayChange {
    /// The id under which the code displays and updates it.
    pub id: DisplayId,
    data: Arc<str>,
    metadata: Arc<str>,
}

impl DisplayChange {
    /// Returns the output with the new content; its type and count stay.
    pub fn apply(&self, output: &NbOutput) -> Result<NbOutput, OutputError> {
        let text = String::from_utf8_lossy(output.json());
        let mut fields: BTreeMap<String, &RawValue> =
            serde_json::from_str(&text).map_err(|_| OutputError::NotAnOutput)?;
        let data = serde_json::from_str(&self.data).map_err(|_| OutputError::NotAnOutput)?;
        let metadata =
            serde_json::from_str(&self.metadata).map_err(|_| OutputError::NotAnOutput)?;
        fields.insert("data".to_owned(), data);
        fields.insert("metadata".to_owned(), metadata);
        let changed = serde_json::to_string(&fields).map_err(|_| OutputError::NotAnOutput)?;
        NbOutput::from_json(&changed)
    }
}

/// The outputs of an execution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExecutionOutputs {
    /// The outputs, in order.
    pub outputs: Vec<NbOutput>,
    /// Outputs that can be updated later, by position.
    pub displays: Vec<(DisplayId, usize)>,
    /// Displays that other cells may hold and that have changed: the last state of each.
    pub changes: Vec<DisplayChange>,
    /// Errors of outputs that were invalid and are missing. No kernel should cause any.
    pub problems: Vec<OutputError>,
}

#[derive(Debug)]
enum Item {
    Stream { name: StreamName, text: StreamText },
    Data { id: Option<DisplayId>, count: Option<u32>, data: Arc<str>, metadata: Arc<str> },
    Error(PyError),
}

/// The bytes of a stream, all of them or as the policy allows. They are decoded once all are there, so that a character
/// cut by a chunk stays complete.
#[derive(Debug)]
enum StreamText {
    Whole(Vec<u8>),
    Limited { window: Box<Window>, partial: Vec<u8> },
}

impl StreamText {
    fn new(policy: SizePolicy) -> StreamText {
        match policy {
            SizePolicy::Whole => StreamText::Whole(Vec::new()),
            SizePolicy::Limit { max_bytes } => StreamText::Limited {
                window: Box::new(Window::new(max_bytes, max_bytes / 2, Repeats::Keep)),
                partial: Vec::new(),
            },
        }
    }

    fn push(&mut self, data: &[u8]) {
        match self {
            StreamText::Whole(bytes) => bytes.extend_from_slice(data),
            StreamText::Limited { window, partial } => {
                partial.extend_from_slice(data);
                let mut used = 0;
                for chunk in partial.utf8_chunks() {
                    window.push(chunk.valid());
                    used += chunk.valid().len();
                    // An unfinished character at the very end waits for its rest.
                    let is_unfinished = used + chunk.invalid().len() == partial.len()
                        && std::str::from_utf8(chunk.invalid())
                            .is_err_and(|error| error.error_len().is_none());
                    if is_unfinished {
                        break;
                    }
                    if !chunk.invalid().is_empty() {
                        window.push("\u{FFFD}");
                        used += chunk.invalid().len();
                    }
                }
                partial.drain(..used);
            }
        }
    }

    fn finish(self) -> String {
        match self {
            StreamText::Whole(bytes) => match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            },
            StreamText::Limited { mut window, partial } => {
                window.push(&String::from_utf8_lossy(&partial));
                let mut text = String::new();
                for part in window.parts().parts {
                    match part {
                        Part::Text(kept) => text.push_str(&kept),
                        Part::Mark(mark @ Mark::Elided { .. }) => {
                            let feed = if text.ends_with('\n') { "" } else { "\n" };
                            text.push_str(&format!("{feed}{mark}\n"));
                        }
                        Part::Mark(_) => {}
                    }
                }
                text
            }
        }
    }
}

/// Folds the events of one execution into the outputs of its cell.
#[derive(Debug, Default)]
pub struct OutputRecorder {
    policy: SizePolicy,
    items: Vec<Item>,
    /// Positions of the displays with an id.
    places: HashMap<DisplayId, Vec<usize>>,
    changes: Vec<DisplayChange>,
    /// Position of an id in `changes`.
    changed: HashMap<DisplayId, usize>,
    clear_is_pending: bool,
}

impl OutputRecorder {
    /// Creates a recorder without outputs.
    pub fn new(policy: SizePolicy) -> OutputRecorder {
        OutputRecorder { policy, ..OutputRecorder::default() }
    }

    /// Takes an event. Returns a changed display that other cells may hold.
    pub fn push(&mut self, event: &ExecEvent) -> Option<DisplayChange> {
        match event {
            ExecEvent::Stream { name, data } => {
                if !data.is_empty() {
                    self.stream(*name, data);
                }
                None
            }
            ExecEvent::Display { data, .. } if is_for_readers_only(data) => None,
            ExecEvent::Display { id, data } => self.display(id.as_ref(), None, data),
            ExecEvent::Result { count, id, data } => self.display(id.as_ref(), Some(*count), data),
            ExecEvent::UpdateDisplay { id, data } => {
                // An update adds no output, so it does not trigger a pending clear.
                Some(self.change(id, data))
            }
            ExecEvent::ClearOutput { wait: true } => {
                self.clear_is_pending = true;
                None
            }
            ExecEvent::ClearOutput { wait: false } => {
                self.clear();
                None
            }
            ExecEvent::Finished(Outcome::Error(error)) => {
                self.begin_output();
                self.items.push(Item::Error(error.clone()));
                None
            }
            ExecEvent::Started { .. }
            | ExecEvent::Names(_)
            | ExecEvent::Widgets(_)
            | ExecEvent::InputRequested { .. }
            | ExecEvent::Finished(_) => None,
        }
    }

    fn clear(&mut self) {
        self.clear_is_pending = false;
        self.items.clear();
        self.places.clear();
    }

    fn begin_output(&mut self) {
        if self.clear_is_pending {
            self.clear();
        }
    }

    fn stream(&mut self, name: StreamName, data: &[u8]) {
        self.begin_output();
        if let Some(Item::Stream { name: last, text }) = self.items.last_mut()
            && *last == name
        {
            return text.push(data);
        }
        let mut text = StreamText::new(self.policy);
        text.push(data);
        self.items.push(Item::Stream { name, text });
    }

    fn display(
        &mut self,
        id: Option<&DisplayId>,
        count: Option<u32>,
        bundle: &MimeBundle,
    ) -> Option<DisplayChange> {
        // A second display under a known id changes the earlier ones and also appears here.
        let change = id.map(|id| self.change(id, bundle));
        self.begin_output();
        let (data, metadata) = match &change {
            Some(change) => (change.data.clone(), change.metadata.clone()),
            None => (self.data(bundle), value::metadata(&bundle.metadata).into()),
        };
        if let Some(id) = id {
            self.places.entry(id.clone()).or_default().push(self.items.len());
        }
        self.items.push(Item::Data { id: id.cloned(), count, data, metadata });
        change
    }

    /// Changes the displays of this id here, and notes the change for other cells.
    fn change(&mut self, id: &DisplayId, bundle: &MimeBundle) -> DisplayChange {
        let (data, metadata) = (self.data(bundle), value::metadata(&bundle.metadata).into());
        let change = DisplayChange { id: id.clone(), data, metadata };
        for at in self.places.get(id).into_iter().flatten() {
            if let Some(Item::Data { data, metadata, .. }) = self.items.get_mut(*at) {
                *data = Arc::clone(&change.data);
                *metadata = Arc::clone(&change.metadata);
            }
        }
        match self.changed.get(id).and_then(|at| self.changes.get_mut(*at)) {
            Some(known) => known.clone_from(&change),
            None => {
                self.changed.insert(id.clone(), self.changes.len());
                self.changes.push(change.clone());
            }
        }
        change
    }

    /// The forms of a display as JSON, in the order of their names.
    fn data(&self, bundle: &MimeBundle) -> Arc<str> {
        let mut forms: BTreeMap<&str, String> = BTreeMap::new();
        let mut left_out = Vec::new();
        for (mime, data) in &bundle.data {
            let len = match data {
                MimeData::Text(text) | MimeData::Json(text) => text.len(),
                MimeData::Binary(bytes) => bytes.len(),
            };
            match self.policy {
                SizePolicy::Limit { max_bytes } if len > max_bytes => {
                    left_out.push(format!("{mime} of {}", size(len as u64)));
                }
                _ => {
                    forms.insert(mime, form(mime, data));
                }
            }
        }
        if !left_out.is_empty() && forms.is_empty() {
            let text = format!("[left out of the notebook: {}]", left_out.join(", "));
            forms.insert("text/plain", value::lines(&text));
        }
        let fields: Vec<String> =
            forms.iter().map(|(mime, form)| format!("{}:{form}", value::string(mime))).collect();
        format!("{{{}}}", fields.join(",")).into()
    }

    /// Returns the outputs in the form that Jupyter stores.
    pub fn finish(self) -> ExecutionOutputs {
        let mut recorded =
            ExecutionOutputs { changes: self.changes, ..ExecutionOutputs::default() };
        for item in self.items {
            let mut display = None;
            let json = match item {
                Item::Stream { name, text } => format!(
                    "{{\"name\":\"{}\",\"output_type\":\"stream\",\"text\":{}}}",
                    name.as_str(),
                    value::lines(&text.finish())
                ),
                Item::Data { id, count, data, metadata } => {
                    display = id;
                    match count {
                        Some(count) => format!(
                            "{{\"data\":{data},\"execution_count\":{count},\"metadata\":{metadata},\
                             \"output_type\":\"execute_result\"}}"
                        ),
                        None => format!(
                            "{{\"data\":{data},\"metadata\":{metadata},\
                             \"output_type\":\"display_data\"}}"
                        ),
                    }
                }
                Item::Error(error) => format!(
                    "{{\"ename\":{},\"evalue\":{},\"output_type\":\"error\",\"traceback\":[{}]}}",
                    value::string(&error.name),
                    value::string(&error.value),
                    error
                        .traceback
                        .iter()
                        .map(|line| value::string(line))
                        .collect::<Vec<_>>()
                        .join(",")
                ),
            };
            match NbOutput::from_json(&json) {
                Ok(output) => {
                    let at = recorded.outputs.len();
                    recorded.displays.extend(display.map(|id| (id, at)));
                    recorded.outputs.push(output);
                }
                Err(problem) => recorded.problems.push(problem),
            }
        }
        recorded
    }
}

/// Status events of helpers are for live readers; the notebook format has no such form.
fn is_for_readers_only(bundle: &MimeBundle) -> bool {
    !bundle.data.is_empty() && bundle.data.iter().all(|(mime, _)| mime == STATUS)
}

/// The only types for which the format accepts JSON other than text.
fn is_json_type(mime: &str) -> bool {
    mime.starts_with("application/") && (mime.ends_with("+json") || mime == "application/json")
}

/// One form as the file has it: text by lines, bytes as base64, JSON as JSON where the format allows it.
fn form(mime: &str, data: &MimeData) -> String {
    match data {
        MimeData::Json(json) if is_json_type(mime) => value::sorted(json),
        MimeData::Json(json) => value::string(json),
        MimeData::Binary(bytes) => value::string(&STANDARD.encode(bytes)),
        MimeData::Text(text) => {
            let is_split = mime.starts_with("text/")
                || ["application/javascript", "image/svg+xml"].contains(&mime);
            if is_split { value::lines(text) } else { value::string(text) }
        }
    }
}

#[cfg(test)]
mod tests;
