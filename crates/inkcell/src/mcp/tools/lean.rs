//! Schemas without the parts that tell a model nothing: it reads every byte of them again with every question.
//!
//! Owns what is left out. A schema never says that a value may be null: omitting it means the same.

use schemars::JsonSchema;
use serde_json::{Map, Value};

use super::portion;
use crate::mcp::exposure::Exposure;

/// The schema of arguments, lean, and the same for everybody.
pub(crate) fn schema<T: JsonSchema>(_: &Exposure) -> Value {
    let mut schema = super::schema::<T>();
    if let Some(Value::Object(arguments)) = schema.get_mut("properties") {
        portion::HIDDEN.iter().for_each(|name| drop(arguments.shift_remove(*name)));
    }
    trim(&mut schema);
    schema
}

fn trim(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    let is_idle = |value: &Value| matches!(value, Value::Null | Value::Bool(false));
    if fields.get("default").is_some_and(is_idle) {
        fields.shift_remove("default");
    }
    // The width of a number is internal, no number here is negative, and every object allows any field by default.
    fields.shift_remove("format");
    if fields.get("minimum") == Some(&Value::from(0)) {
        fields.shift_remove("minimum");
    }
    if fields.get("additionalProperties") == Some(&Value::Bool(true)) {
        fields.shift_remove("additionalProperties");
    }
    for key in ["type", "enum"] {
        if let Some(Value::Array(words)) = fields.get_mut(key) {
            words.retain(|word| !word.is_null() && word != "null");
            if key == "type" && words.len() == 1 {
                let word = words.remove(0);
                fields.insert(key.to_owned(), word);
            }
        }
    }
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(choices)) = fields.get_mut(key) else { continue };
        choices.retain(|choice| choice["type"] != "null");
        if let [Value::Object(only)] = &choices[..] {
            let only = only.clone();
            fields.shift_remove(key);
            merge(fields, only);
        }
    }
    for key in ["anyOf", "oneOf", "items", "properties", "$defs"] {
        match fields.get_mut(key) {
            Some(Value::Array(inner)) => inner.iter_mut().for_each(trim),
            Some(Value::Object(named)) if key != "items" => named.values_mut().for_each(trim),
            Some(inner) => trim(inner),
            None => {}
        }
    }
}

/// Fields beside the list of choices win over those of its only choice.
fn merge(fields: &mut Map<String, Value>, only: Map<String, Value>) {
    for (key, value) in only {
        fields.entry(key).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::trim;

    /// Only what says nothing goes; names of fields are not mistaken for words of the schema.
    #[test]
    fn nulls_and_idle_words_are_left_out() {
        let mut schema = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "text": {"type": ["string", "null"], "description": "x"},
                "count": {"type": ["integer", "null"], "format": "uint", "minimum": 0},
                "kind": {"description": "y", "anyOf": [{"enum": ["a", "b"], "type": "string"}, {"type": "null"}]},
                "cell": {"anyOf": [{"type": "integer", "format": "int64"}, {"type": "string"}, {"type": "null"}]},
                "list": {"type": ["array", "null"], "items": {"type": ["string", "null"]}},
                "default": {"type": "boolean", "default": false},
                "format": {"type": "object", "additionalProperties": true, "default": null},
            },
            "required": ["text"],
        });
        trim(&mut schema);
        let wanted = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "text": {"type": "string", "description": "x"},
                "count": {"type": "integer"},
                "kind": {"description": "y", "enum": ["a", "b"], "type": "string"},
                "cell": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                "list": {"type": "array", "items": {"type": "string"}},
                "default": {"type": "boolean"},
                "format": {"type": "object"},
            },
            "required": ["text"],
        });
        assert_eq!(schema, wanted);
    }
}
