//! Arguments as a model writes them, made into what a tool expects.
//!
//! Owns other names for arguments, and what is said about names and values that are wrong. What values mean is
//! for each tool.

use inkcell_engine::notebook::nearest;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::reply::ToolError;

/// Another name for an argument.
pub(crate) type Alias = (&'static str, &'static str);

/// The schema of arguments, in the plain form that clients understand.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    if let Value::Object(fields) = &mut schema {
        fields.remove("$schema");
        fields.remove("title");
    }
    schema
}

/// Arguments by their own names and by aliases. A name nobody knows is refused with the nearest.
pub(crate) fn decode<T: DeserializeOwned + JsonSchema>(
    given: Value,
    aliases: &[Alias],
) -> Result<T, ToolError> {
    let given = match given {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        other => {
            return Err(ToolError::argument(format!("the arguments are no object: {other}")));
        }
    };
    let schema = schema::<T>();
    let known: Vec<&str> = match &schema["properties"] {
        Value::Object(properties) => properties.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let mut fields = Map::new();
    for (name, value) in given {
        let alias = aliases.iter().find(|(alias, _)| *alias == name);
        // A name of its own counts before an alias.
        let own = match alias {
            Some((_, own)) if !known.contains(&name.as_str()) => (*own).to_owned(),
            _ => name.clone(),
        };
        if !known.contains(&own.as_str()) {
            return Err(unknown(&name, &known));
        }
        // Models write null for what they leave out.
        if value.is_null() {
            continue;
        }
        if fields.insert(own.clone(), value).is_some() {
            return Err(ToolError::argument(format!("{own} is given twice, once as {name}")));
        }
    }
    let fields = Value::Object(fields);
    serde_path_to_error::deserialize(fields).map_err(|error| {
        let at = error.path().to_string();
        let problem = error.into_inner();
        match at.as_str() {
            "." => ToolError::argument(problem.to_string()),
            at => ToolError::argument(format!("{at}: {problem}")),
        }
    })
}

fn unknown(name: &str, known: &[&str]) -> ToolError {
    let near = nearest(known.iter().copied(), name);
    let near = near.map(|at| format!("; did you mean {}?", known[at])).unwrap_or_default();
    ToolError::argument(format!("there is no argument {name}{near}"))
        .with_next(format!("use these: {}", known.join(", ")))
}
