//! Tests with messages about widgets, in the usual order and in unusual ones.

use serde_json::json;

use super::*;

fn open(widgets: &mut Widgets, id: &str, state: &Value) {
    let content = json!({"comm_id": id, "target_name": TARGET, "data": {"state": state}});
    assert_eq!(widgets.open(content.to_string().as_bytes(), &[]).unwrap(), None);
}

fn output(widgets: &mut Widgets, id: &str) {
    let state = json!({"_model_name": "OutputModel", "_model_module": "@jupyter-widgets/output",
        "outputs": [], "msg_id": ""});
    open(widgets, id, &state);
}

fn update(widgets: &mut Widgets, id: &str, state: &Value) {
    let content = json!({"comm_id": id, "data": {"method": "update", "state": state}});
    widgets.message(content.to_string().as_bytes(), &[]).unwrap();
}

fn capture(widgets: &mut Widgets, id: &str, request: &str) {
    update(widgets, id, &json!({"msg_id": request}));
}

fn print(widgets: &mut Widgets, request: &str, text: &str) {
    let content = json!({"name": "stdout", "text": text});
    widgets.take(request, "stream", content.to_string().as_bytes()).unwrap();
}

fn outputs(widgets: &mut Widgets, id: &str) -> Value {
    widgets.models[id].state["outputs"].clone()
}

fn stdout(text: &str) -> Value {
    json!({"name": "stdout", "output_type": "stream", "text": text})
}

/// Issue 21, 13: a widget is stored as Jupyter stores it, with its buffers.
#[test]
fn a_widget_is_stored_with_its_buffers() {
    let mut widgets = Widgets::default();
    let state = json!({"_model_name": "ImageModel", "_model_module": "@jupyter-widgets/controls",
        "_model_module_version": "2.0.0", "width": ""});
    let data = json!({"state": state, "buffer_paths": [["value"]]});
    let content = json!({"comm_id": "i", "target_name": TARGET, "data": data}).to_string();
    widgets.open(content.as_bytes(), &[Bytes::from_static(b"png")]).unwrap();
    update(&mut widgets, "i", &json!({"width": "10"}));
    let states = widgets.changed().unwrap();
    let stored: Value = serde_json::from_str(&states.0["i"]).unwrap();
    let wanted = json!({
        "buffers": [{"data": "cG5n", "encoding": "base64", "path": ["value"]}],
        "model_module": "@jupyter-widgets/controls", "model_module_version": "2.0.0",
        "model_name": "ImageModel",
        "state": {"_model_name": "ImageModel", "_model_module": "@jupyter-widgets/controls",
            "_model_module_version": "2.0.0", "width": "10"},
    });
    assert_eq!(stored, wanted);
    assert_eq!(widgets.changed(), None);
    widgets.close(br#"{"comm_id": "i", "data": {}}"#).unwrap();
    assert_eq!(widgets.changed(), Some(WidgetStates::default()), "a closed one is gone");
}

/// Issue 21, 15: if several widgets capture one request, the last gets the output; when it stops,
/// the previous one does.
#[test]
fn outputs_are_nested() {
    let mut widgets = Widgets::default();
    for id in ["a", "b"] {
        output(&mut widgets, id);
        capture(&mut widgets, id, "r");
    }
    print(&mut widgets, "r", "inner");
    capture(&mut widgets, "b", "");
    print(&mut widgets, "r", "outer");
    assert!(widgets.takes("r") && !widgets.takes("s"));
    capture(&mut widgets, "a", "");
    assert!(!widgets.takes("r"));
    assert_eq!(outputs(&mut widgets, "a"), json!([stdout("outer")]));
    assert_eq!(outputs(&mut widgets, "b"), json!([stdout("inner")]));
    assert_eq!(widgets.unsent().len(), 2);
    assert_eq!(widgets.unsent().len(), 0, "it was told");
}

#[test]
fn a_clearing_that_waits_is_carried_out_by_the_next_output() {
    let mut widgets = Widgets::default();
    output(&mut widgets, "o");
    capture(&mut widgets, "o", "r");
    print(&mut widgets, "r", "old");
    widgets.take("r", "clear_output", br#"{"wait": true}"#).unwrap();
    assert_eq!(outputs(&mut widgets, "o"), json!([stdout("old")]));
    let shown =
        br#"{"data": {"text/plain": "x"}, "metadata": {}, "transient": {"display_id": "d"}}"#;
    widgets.take("r", "display_data", shown).unwrap();
    let display =
        json!({"data": {"text/plain": "x"}, "metadata": {}, "output_type": "display_data"});
    assert_eq!(outputs(&mut widgets, "o"), json!([display]));
    // The kernel sets the outputs itself.
    update(&mut widgets, "o", &json!({"outputs": [stdout("set")]}));
    print(&mut widgets, "r", " and more");
    assert_eq!(outputs(&mut widgets, "o"), json!([stdout("set and more")]));
    // A closed widget captures nothing.
    widgets.close(br#"{"comm_id": "o"}"#).unwrap();
    assert!(!widgets.takes("r"));
}

/// Odd messages, and messages of other channels, do no harm.
#[test]
fn odd_messages_are_passed_over() {
    let mut widgets = Widgets::default();
    let odd = [json!(5), json!("text"), json!([1]), json!({"state": 5}), Value::Null];
    for (at, data) in odd.iter().enumerate() {
        let content = json!({"comm_id": at.to_string(), "target_name": TARGET, "data": data});
        assert_eq!(widgets.open(content.to_string().as_bytes(), &[]).unwrap(), None);
        let content = json!({"comm_id": "unknown", "data": data});
        widgets.message(content.to_string().as_bytes(), &[]).unwrap();
        widgets.close(content.to_string().as_bytes()).unwrap();
    }
    assert!(widgets.open(b"{}", &[]).is_err());
    assert_eq!(widgets.changed(), None);
}

/// Issue 21, 13: however large the widgets of a kernel become, the stored state has a bound, and
/// reaching it is reported once.
#[test]
fn what_is_kept_has_a_bound() {
    let mut widgets = Widgets::default();
    open(&mut widgets, "w", &json!({"_model_name": "A"}));
    let text = "x".repeat(MAX_BYTES / 4);
    for _ in 0..5 {
        // Each value replaces the previous one.
        update(&mut widgets, "w", &json!({"value": text}));
    }
    assert!(widgets.changed().is_some() && !widgets.overflows());
    for n in 0..5 {
        update(&mut widgets, "w", &json!({(n.to_string()): text}));
    }
    assert_eq!(widgets.changed(), None);
    assert!(widgets.overflows() && !widgets.overflows());
    assert!(widgets.models.values().all(|model| model.state.is_empty()));
}
