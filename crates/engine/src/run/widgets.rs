//! Stores the widgets of a kernel in a notebook, as Jupyter's front ends do.
//!
//! Owns the form, and which widgets of earlier kernels stay: those that an output of the notebook still shows, and the
//! widgets inside them.

use std::collections::BTreeMap;

use inkcell_kernel::WidgetStates;
use inkcell_notebook::{EditOp, MetaChange, Notebook, OpError};
use serde_json::{Map, Value, json};

const KEY: &str = "widgets";
const NOT_JSON: &str = "the state of a widget is not plain JSON; it may hold NaN";
const KIND: &str = "application/vnd.jupyter.widget-state+json";

/// The change of the notebook's metadata; `None` if it has all of that already.
pub(super) fn stored(
    notebook: &Notebook,
    states: &WidgetStates,
) -> Result<Option<EditOp>, OpError> {
    let unreadable = |problem| OpError::BadMetadata { key: KEY.to_owned(), problem };
    let metadata: Map<String, Value> = serde_json::from_slice(notebook.metadata_json())
        .map_err(|_| unreadable("the notebook's metadata is not plain JSON; it may hold NaN"))?;
    let before = metadata.get(KEY).and_then(Value::as_object).cloned().unwrap_or_default();
    let known = before.get(KIND).and_then(|stored| stored["state"].as_object());
    let known = known.into_iter().flatten().map(|(id, model)| (id.clone(), model.clone()));
    let mut earlier: BTreeMap<String, Value> =
        known.filter(|(id, _)| !states.0.contains_key(id)).collect();
    let mut models: BTreeMap<String, Value> = BTreeMap::new();
    for (id, model) in &states.0 {
        models.insert(id.clone(), serde_json::from_str(model).map_err(|_| unreadable(NOT_JSON))?);
    }
    // A view names its widget, and a widget names its parts. Ids are unique, so a text search finds them.
    let outputs = notebook.cells().filter_map(|cell| cell.outputs_json());
    let mut texts: Vec<String> =
        outputs.map(|outputs| String::from_utf8_lossy(outputs).into_owned()).collect();
    while let Some(text) = texts.pop() {
        for (id, model) in earlier.extract_if(.., |id, _| text.contains(id.as_str())) {
            texts.push(model.to_string());
            models.insert(id, model);
        }
    }
    let mut after = before.clone();
    if models.is_empty() {
        after.remove(KIND);
    } else {
        let stored = json!({"state": models, "version_major": 2, "version_minor": 0});
        after.insert(KIND.to_owned(), stored);
    }
    if after == before {
        return Ok(None);
    }
    let mut change = MetaChange::default();
    match after.is_empty() {
        true => change.unset.push(KEY.to_owned()),
        false => change.set.push((KEY.to_owned(), Value::Object(after).to_string())),
    }
    Ok(Some(EditOp::SetMeta { cell: None, change }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// A notebook whose outputs show these widgets, and that stores this state.
    fn notebook(shown: &[&str], stored: &Value) -> Notebook {
        let view = |id: &&str| {
            let view = json!({"application/vnd.jupyter.widget-view+json": {"model_id": id}});
            json!({"output_type": "display_data", "data": view, "metadata": {}})
        };
        let outputs: Vec<Value> = shown.iter().map(view).collect();
        let cell = json!({"cell_type": "code", "id": "a", "metadata": {}, "source": [],
            "execution_count": null, "outputs": outputs});
        let widgets = json!({KIND: {"state": stored, "version_major": 2, "version_minor": 0}});
        let text = json!({"cells": [cell], "metadata": {"widgets": widgets}, "nbformat": 4,
            "nbformat_minor": 5});
        Notebook::parse(text.to_string().into_bytes()).expect("a notebook")
    }

    fn states(models: &[(&str, &str)]) -> WidgetStates {
        let model = |(id, model): &(&str, &str)| ((*id).to_owned(), Arc::from(*model));
        WidgetStates(models.iter().map(model).collect())
    }

    fn ids(change: Option<EditOp>) -> Vec<String> {
        let Some(EditOp::SetMeta { cell: None, change }) = change else { panic!("{change:?}") };
        let value: Value = serde_json::from_str(&change.set[0].1).expect("JSON");
        assert_eq!(
            (&value[KIND]["version_major"], &value[KIND]["version_minor"]),
            (&json!(2), &json!(0))
        );
        value[KIND]["state"].as_object().expect("widgets").keys().cloned().collect()
    }

    /// Issue 21, 13: current widgets are stored; of earlier ones, those that an output still shows, with their parts.
    #[test]
    fn widgets_that_nothing_shows_any_more_are_left_out() {
        let old = json!({"shown1": {"state": {"layout": "IPY_MODEL_part1"}}, "part1": {"state": {}},
            "gone1": {"state": {"layout": "IPY_MODEL_gone2"}}, "gone2": {"state": {}}});
        let notebook = notebook(&["shown1", "new1"], &old);
        let now = states(&[("new1", r#"{"model_name":"A","state":{}}"#)]);
        assert_eq!(ids(stored(&notebook, &now).expect("stored")), ["new1", "part1", "shown1"]);
    }

    #[test]
    fn what_is_stored_already_changes_nothing() {
        let model = r#"{"model_name":"A","state":{"n":1}}"#;
        let known = json!({"one1": serde_json::from_str::<Value>(model).expect("JSON")});
        let stored = stored(&notebook(&["one1"], &known), &states(&[("one1", model)]));
        assert_eq!(stored, Ok(None));
    }

    /// Issue 21, 13: what cannot be stored is told.
    #[test]
    fn text_that_is_no_json_is_an_error() {
        let text = br#"{"cells": [], "metadata": {"n": NaN}, "nbformat": 4, "nbformat_minor": 5}"#;
        let odd = Notebook::parse(text.to_vec()).expect("a notebook");
        for (notebook, model) in [(odd, "{}"), (notebook(&[], &json!({})), r#"{"n":NaN}"#)] {
            let problem = stored(&notebook, &states(&[("one1", model)])).expect_err("not stored");
            assert!(problem.to_string().contains("NaN"), "{problem}");
        }
    }
}
