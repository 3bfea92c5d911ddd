//! Widgets as a front end holds them: their state, and the output captured by `ipywidgets.Output`.
//! Pure.
//!
//! Owns the models that a kernel has opened. Output of a request goes to the `Output` widget that
//! asked for it last, as in JupyterLab and nbclient. No user moves a widget here, so a kernel
//! learns only what its `Output` widgets captured.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::event::WidgetStates;
use crate::lenient::{self, ContentResult};

/// Target name of the comm channels of widgets.
const TARGET: &str = "jupyter.widget";

/// Most bytes for all widgets of a kernel, and the notice for more.
const MAX_BYTES: usize = 64 << 20;
pub(crate) const TOO_LARGE: &str = "the widgets of this kernel hold more than 64 MiB: their state is not stored, and \
    output that Output widgets capture from now on is dropped";

#[derive(Clone, Default)]
pub(crate) struct Widgets {
    models: BTreeMap<String, Model>,
    /// By request id, the widgets that capture its output. The last one gets it.
    takers: HashMap<String, Vec<String>>,
    is_changed: bool,
    size: Size,
}

/// Memory used by the widgets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    /// Estimate of the bytes in use; replaced values still count.
    Bytes(usize),
    TooLarge {
        is_told: bool,
    },
}

impl Default for Size {
    fn default() -> Size {
        Size::Bytes(0)
    }
}

#[derive(Clone, Default)]
struct Model {
    state: Map<String, Value>,
    /// By their path in the state; the path is JSON.
    buffers: BTreeMap<String, Buffer>,
    /// The stored form of the model in a notebook; `None` after a change.
    stored: Option<Arc<str>>,
    /// Present for an `Output` widget.
    capture: Option<Capture>,
}

#[derive(Clone, Default)]
struct Capture {
    /// Id of the request whose output is captured; empty for none.
    request: String,
    /// The outputs are removed when the next one arrives.
    is_clear_pending: bool,
    /// The kernel does not have the outputs yet.
    is_unsent: bool,
}

#[derive(Clone, Serialize)]
struct Buffer {
    data: String,
    encoding: &'static str,
    path: Value,
}

#[derive(Deserialize)]
struct Comm {
    comm_id: String,
    #[serde(default)]
    target_name: String,
    #[serde(default)]
    data: Value,
}

fn comm(content: &[u8]) -> ContentResult<Comm> {
    lenient::read(content, |text| serde_json::from_str(text))
}

impl Widgets {
    /// Handles `comm_open`. Returns the id of the channel if it belongs to no widget.
    pub(crate) fn open(
        &mut self,
        content: &[u8],
        buffers: &[Bytes],
    ) -> ContentResult<Option<String>> {
        let Comm { comm_id, target_name, data } = comm(content)?;
        if target_name != TARGET {
            return Ok(Some(comm_id));
        }
        let mut model = Model::default();
        let is = |key: &str, wanted: &str| data["state"][key].as_str() == Some(wanted);
        if is("_model_name", "OutputModel") && is("_model_module", "@jupyter-widgets/output") {
            model.capture = Some(Capture::default());
        }
        self.models.insert(comm_id.clone(), model);
        self.update(&comm_id, data, buffers, content.len());
        Ok(None)
    }

    /// Handles `comm_msg`, which updates a widget.
    pub(crate) fn message(&mut self, content: &[u8], buffers: &[Bytes]) -> ContentResult<()> {
        let Comm { comm_id, data, .. } = comm(content)?;
        self.update(&comm_id, data, buffers, content.len());
        Ok(())
    }

    /// Handles `comm_close`, which removes a widget.
    pub(crate) fn close(&mut self, content: &[u8]) -> ContentResult<()> {
        let Comm { comm_id, .. } = comm(content)?;
        if let Some(model) = self.models.remove(&comm_id) {
            self.is_changed |= model.has_name();
            self.capture_from(&comm_id, model.capture.as_ref(), "");
        }
        Ok(())
    }

    fn update(&mut self, id: &str, mut data: Value, buffers: &[Bytes], content_bytes: usize) {
        let state = data.get_mut("state").map(Value::take);
        let Some(Value::Object(mut state)) = state else { return };
        let Some(mut model) = self.models.remove(id) else { return };
        let request = state.get("msg_id").and_then(Value::as_str).map(str::to_owned);
        if let (Some(capture), Some(request)) = (&mut model.capture, request) {
            self.capture_from(id, Some(&*capture), &request);
            capture.request = request;
        }
        if model.capture.is_some() && data["method"] == "echo_update" {
            // Skip the echo of our own update: more output may have been captured since.
            state.remove("outputs");
        }
        let bytes = content_bytes + buffers.iter().map(Bytes::len).sum::<usize>();
        self.models.insert(id.to_owned(), model);
        if self.has_room(bytes)
            && let Some(model) = self.models.get_mut(id)
        {
            model.state.extend(state);
            let paths = data["buffer_paths"].as_array().into_iter().flatten();
            for (path, bytes) in paths.zip(buffers) {
                let (data, encoding) = (STANDARD.encode(bytes), "base64");
                let buffer = Buffer { data, encoding, path: path.clone() };
                model.buffers.insert(path.to_string(), buffer);
            }
            model.stored = None;
            self.is_changed |= model.has_name();
        }
    }

    /// Lets a widget capture the output of this request, and no longer that of the previous one.
    fn capture_from(&mut self, id: &str, before: Option<&Capture>, request: &str) {
        if let Some(before) = before.filter(|before| !before.request.is_empty())
            && let Some(takers) = self.takers.get_mut(&before.request)
        {
            if let Some(at) = takers.iter().rposition(|taker| taker == id) {
                takers.remove(at);
            }
            if takers.is_empty() {
                self.takers.remove(&before.request);
            }
        }
        if before.is_some() && !request.is_empty() {
            self.takers.entry(request.to_owned()).or_default().push(id.to_owned());
        }
    }

    /// Returns `true` if a widget captures the output of this request.
    pub(crate) fn takes(&self, request: &str) -> bool {
        self.takers.contains_key(request)
    }

    /// Adds output to the widget that captures it.
    pub(crate) fn take(&mut self, request: &str, kind: &str, content: &[u8]) -> ContentResult<()> {
        let content: Map<String, Value> =
            lenient::read(content, |text| serde_json::from_str(text))?;
        let has_room = self.has_room(content.values().map(weight).sum());
        let taker = self.takers.get(request).and_then(|takers| takers.last());
        let Some(model) = taker.and_then(|taker| self.models.get_mut(taker)) else { return Ok(()) };
        let Some(capture) = model.capture.as_mut().filter(|_| has_room) else { return Ok(()) };
        if kind == "clear_output" && content.get("wait").and_then(Value::as_bool) == Some(true) {
            capture.is_clear_pending = true;
            return Ok(());
        }
        let mut outputs = match model.state.remove("outputs") {
            Some(Value::Array(outputs)) => outputs,
            _ => Vec::new(),
        };
        if std::mem::take(&mut capture.is_clear_pending) || kind == "clear_output" {
            outputs.clear();
        }
        if kind != "clear_output" {
            add(&mut outputs, output(kind, content));
        }
        model.state.insert("outputs".to_owned(), Value::Array(outputs));
        (capture.is_unsent, model.stored, self.is_changed) = (true, None, true);
        Ok(())
    }

    /// Returns the updates for the kernel, as contents of `comm_msg`.
    pub(crate) fn unsent(&mut self) -> Vec<Value> {
        let mut unsent = Vec::new();
        for (id, model) in &mut self.models {
            if let Some(capture) = model.capture.as_mut().filter(|capture| capture.is_unsent) {
                capture.is_unsent = false;
                let state = json!({"outputs": model.state.get("outputs")});
                let data = json!({"method": "update", "state": state, "buffer_paths": []});
                unsent.push(json!({"comm_id": id, "data": data}));
            }
        }
        unsent
    }

    /// Returns all widgets, if one has changed since the last call.
    pub(crate) fn changed(&mut self) -> Option<WidgetStates> {
        if !std::mem::take(&mut self.is_changed) || self.measured() > MAX_BYTES {
            return None;
        }
        let models = self.models.iter_mut().filter(|(_, model)| model.has_name());
        Some(WidgetStates(models.map(|(id, model)| (id.clone(), model.stored())).collect()))
    }

    /// Returns `true` once after the widgets have become too large.
    pub(crate) fn overflows(&mut self) -> bool {
        match &mut self.size {
            Size::Bytes(_) => false,
            Size::TooLarge { is_told } => !std::mem::replace(is_told, true),
        }
    }

    fn has_room(&mut self, more: usize) -> bool {
        let Size::Bytes(known) = self.size else { return false };
        self.size = Size::Bytes(known + more);
        known + more <= MAX_BYTES || self.measured() <= MAX_BYTES
    }

    /// Measures the widgets in bytes. If that is or was too much, drops their state.
    fn measured(&mut self) -> usize {
        let Size::Bytes(_) = self.size else { return usize::MAX };
        let bytes = self.models.values_mut().map(|model| model.stored().len()).sum();
        if bytes <= MAX_BYTES {
            self.size = Size::Bytes(bytes);
            return bytes;
        }
        self.size = Size::TooLarge { is_told: false };
        for model in self.models.values_mut() {
            (model.state, model.buffers, model.stored) = Default::default();
        }
        bytes
    }
}

impl Model {
    /// A front end cannot restore a model without a name.
    fn has_name(&self) -> bool {
        self.state.contains_key("_model_name")
    }

    fn stored(&mut self) -> Arc<str> {
        #[derive(Serialize)]
        struct StoredModel<'a> {
            #[serde(skip_serializing_if = "Vec::is_empty")]
            buffers: Vec<&'a Buffer>,
            model_module: Option<&'a Value>,
            model_module_version: Option<&'a Value>,
            model_name: Option<&'a Value>,
            state: &'a Map<String, Value>,
        }
        if let Some(stored) = &self.stored {
            return Arc::clone(stored);
        }
        let state = &self.state;
        let stored = StoredModel {
            buffers: self.buffers.values().collect(),
            model_module: state.get("_model_module"),
            model_module_version: state.get("_model_module_version"),
            model_name: state.get("_model_name"),
            state,
        };
        // A value that was read from JSON can be written as JSON.
        let text: Arc<str> = serde_json::to_string(&stored).unwrap_or_default().into();
        self.stored = Some(Arc::clone(&text));
        text
    }
}

/// Returns output as a notebook stores it. The order of fields is that of nbclient, because the
/// kernel may show it.
fn output(kind: &str, mut content: Map<String, Value>) -> Map<String, Value> {
    let fields: &[&str] = match kind {
        "stream" => &["name", "text"],
        "error" => &["ename", "evalue", "traceback"],
        "execute_result" => &["metadata", "data", "execution_count"],
        _ => &["metadata", "data"],
    };
    let mut output = Map::new();
    output.insert("output_type".to_owned(), json!(kind));
    for field in fields {
        let value = content.remove(*field).unwrap_or_default();
        output.insert((*field).to_owned(), value);
    }
    output
}

/// Adds an output. Text of the same stream is joined.
fn add(outputs: &mut Vec<Value>, output: Map<String, Value>) {
    let is_stream = output.get("output_type").is_some_and(|kind| kind == "stream");
    if let (true, Some(Value::Object(last))) = (is_stream, outputs.last_mut())
        && last.get("output_type") == output.get("output_type")
        && last.get("name") == output.get("name")
        && let (Some(Value::String(text)), Some(Value::String(more))) =
            (last.get_mut("text"), output.get("text"))
    {
        return text.push_str(more);
    }
    outputs.push(Value::Object(output));
}

/// Estimates the size of a value in bytes.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 8,
        Value::Array(items) => 8 + items.iter().map(weight).sum::<usize>(),
        Value::Object(fields) => {
            8 + fields.iter().map(|(name, value)| name.len() + weight(value)).sum::<usize>()
        }
        _ => 8,
    }
}

#[cfg(test)]
mod tests;
