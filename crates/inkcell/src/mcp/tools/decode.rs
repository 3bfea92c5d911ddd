//! Arguments as a model writes them, converted to what a tool expects.
//!
//! Owns other names for arguments, and the errors about wrong names and values. Each tool gives its values a
//! meaning.

use std::borrow::Cow;
use std::fmt::Display;

use inkcell_engine::notebook::{nearest, visible_line};
use inkcell_engine::types::meant_field;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use super::{ToolError, portion};
use crate::words;

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

/// The names of the arguments, in order. A derived decoder lists them, with serde's aliases. One with `flatten` does
/// not, so they are taken from its schema, which takes longer to make than most calls take.
fn field_names<T: DeserializeOwned + JsonSchema>() -> Vec<Cow<'static, str>> {
    let mut names = None;
    // This always ends with an error: there are no values.
    let _ = T::deserialize(FieldNames(&mut names));
    if let Some(names) = names {
        return names.iter().copied().map(Cow::Borrowed).collect();
    }
    match &schema::<T>()["properties"] {
        Value::Object(properties) => properties.keys().cloned().map(Cow::Owned).collect(),
        _ => Vec::new(),
    }
}

/// A decoder that only notes which fields a type asks for.
struct FieldNames<'a>(&'a mut Option<&'static [&'static str]>);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = NoValue;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, NoValue> {
        *self.0 = Some(fields);
        Err(NoValue)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoValue> {
        Err(NoValue)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The error of a decoder that has no values.
#[derive(Debug, thiserror::Error)]
#[error("no value")]
struct NoValue;

impl de::Error for NoValue {
    fn custom<T: Display>(_: T) -> NoValue {
        NoValue
    }
}

/// Arguments by their own names and by aliases. The error for an unknown name suggests the nearest.
pub(crate) fn decode<T: DeserializeOwned + JsonSchema>(
    given: Value,
    aliases: &[Alias],
) -> Result<T, ToolError> {
    let given = match given {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        other => {
            return Err(ToolError::argument(words::tool::not_object(&other)));
        }
    };
    let known = field_names::<T>();
    let known: Vec<&str> = known.iter().map(|name| &**name).collect();
    let mut fields = Map::new();
    for (name, value) in given {
        let alias = aliases.iter().find(|(alias, _)| *alias == name);
        // The argument's own name counts before an alias.
        let own = match alias {
            Some((_, own)) if !known.contains(&name.as_str()) => (*own).to_owned(),
            _ => name.clone(),
        };
        if !known.contains(&own.as_str()) {
            return Err(unknown(&name, &known));
        }
        // Models write null for arguments that they omit.
        if value.is_null() {
            continue;
        }
        if fields.insert(own.clone(), value).is_some() {
            return Err(ToolError::argument(words::tool::given_twice(&own, &name)));
        }
    }
    let fields = Value::Object(fields);
    serde_path_to_error::deserialize(fields).map_err(|error| {
        let at = error.path().to_string();
        let at = if at == "." { "" } else { &at };
        refusal(at, &error.into_inner().to_string())
    })
}

/// Why a value is not taken, in our words where they say more than those of the decoder.
fn refusal(at: &str, problem: &str) -> ToolError {
    let place = if at.is_empty() { String::new() } else { format!("{at}: ") };
    // Names stand in backticks: first the wrong one, then the valid ones.
    let mut names = problem.split('`').skip(1).step_by(2);
    let first = names.next().unwrap_or_default();
    let known: Vec<&str> = names.collect();
    let near = nearest(known.iter().copied(), first);
    let near = near.map(|at| format!("; did you mean {}?", known[at])).unwrap_or_default();
    let right = known.join(", ");
    if problem.starts_with("missing field ") {
        return ToolError::argument(format!("{place}{first} is missing"))
            .with_next(format!("give {first}"));
    }
    // A name that contains a backtick cannot be told apart, so the message stays as it is.
    if known.is_empty() || first.is_empty() {
        return ToolError::argument(format!("{place}{problem}"));
    }
    if problem.starts_with("unknown variant ") {
        ToolError::argument(words::tool::not_value(&place, &visible_line(first), &near))
            .with_next(format!("use one of: {right}"))
    } else if problem.starts_with("unknown field ") {
        match meant_field(&known, first) {
            Some(field) => ToolError::argument(words::tool::not_field(at, field)),
            None => ToolError::argument(words::tool::no_argument(&at, &near))
                .with_next(format!("use these: {right}")),
        }
    } else {
        ToolError::argument(format!("{place}{problem}"))
    }
}

fn unknown(name: &str, known: &[&str]) -> ToolError {
    if let Some(field) = meant_field(known, name) {
        return ToolError::argument(words::tool::not_field(name, field));
    }
    // Names that schemas leave out are listed, but never taken for a slip.
    let offered: Vec<&str> =
        known.iter().copied().filter(|name| !portion::HIDDEN.contains(name)).collect();
    let near = nearest(offered.iter().copied(), name);
    let near = near.map(|at| format!("; did you mean {}?", offered[at])).unwrap_or_default();
    ToolError::argument(words::tool::no_argument(&name, &near))
        .with_next(format!("use these: {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::mcp::TOOLS;
    use crate::mcp::tools::tests::TestDesk;

    #[derive(Deserialize, JsonSchema, Debug)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only decoding is looked at")]
    struct Args {
        path: String,
        mode: Option<Mode>,
        cells: Option<Vec<Cell>>,
        count: Option<u8>,
    }

    #[derive(Deserialize, JsonSchema, Debug)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        Edit,
        Insert,
    }

    #[derive(Deserialize, JsonSchema, Debug)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only decoding is looked at")]
    struct Cell {
        code: String,
        title: Option<String>,
    }

    /// An error names the wrong argument and the values allowed.
    #[test]
    fn wrong_arguments_are_told_with_the_next_step() {
        let table = [
            (json!({}), "path is missing", Some("give path")),
            (
                json!({"path": "x", "mode": "instert"}),
                "mode: instert is not one of its values; did you mean insert?",
                Some("use one of: edit, insert"),
            ),
            (
                json!({"path": "x", "cells": [{"code": "1"}, {"cod": "1"}]}),
                "no argument named 'cells[1].cod'; did you mean code?",
                Some("use these: code, title"),
            ),
            (json!({"path": "x", "cells": [{}]}), "cells[0]: code is missing", Some("give code")),
            (
                json!({"pat": "x"}),
                "no argument named 'pat'; did you mean path?",
                Some("use these: path, mode, cells, count"),
            ),
            (json!({"file": "x"}), "`file` is not a field: use `path`", None),
            (
                json!({"path": "x", "cells": [{"source": "1"}]}),
                "`cells[0].source` is not a field: use `code`",
                None,
            ),
            (json!({"path": "x", "count": 300}), "count: invalid value: integer `300`", None),
            (json!({"path": "x", "count": "`"}), "count: invalid type: string \"`\"", None),
            (json!({"path": "x", "mode": "`"}), "mode: ", None),
        ];
        for (given, message, next) in table {
            let error = decode::<Args>(given.clone(), &[]).unwrap_err();
            assert!(error.message.starts_with(message), "{given}: {error:?}");
            if next.is_some() {
                assert_eq!(error.next.as_deref(), next, "{given}");
            }
        }
    }

    /// Every tool answers a wrong name of a field with the right one.
    #[tokio::test]
    async fn slips_of_every_tool_name_the_field() {
        let table: [(&str, &[(&str, &str)]); 14] = [
            (
                "python",
                &[
                    ("source", "code"),
                    ("text", "code"),
                    ("cmd", "code"),
                    ("file", "path"),
                    ("notebook", "path"),
                    ("id", "cell"),
                    ("index", "cell"),
                    ("timeoutMs", "timeout"),
                    ("session_id", "session"),
                    ("dir", "cwd"),
                    ("restart", "reset"),
                ],
            ),
            ("eval", &[("cell", "cells")]),
            ("notebook_read", &[("file", "path"), ("index", "cells"), ("query", "search")]),
            (
                "notebook_edit",
                &[
                    ("filename", "path"),
                    ("code", "source"),
                    ("id", "cell"),
                    ("old_string", "old"),
                    ("new_string", "new"),
                    ("version", "if_hash"),
                    ("operation", "op"),
                    ("position", "before"),
                    ("edits", "ops"),
                ],
            ),
            (
                "notebook_run",
                &[
                    ("notebook", "path"),
                    ("ids", "cells"),
                    ("params", "parameters"),
                    ("output_path", "output"),
                    ("restart", "fresh"),
                    ("timeout_seconds", "timeout"),
                ],
            ),
            (
                "result",
                &[("execution_id", "id"), ("uri", "id"), ("line", "lines"), ("timeout", "wait")],
            ),
            ("kernel", &[("operation", "action"), ("name", "session"), ("folder", "cwd")]),
            ("inspect", &[("variable", "name"), ("file", "path"), ("position", "cursor")]),
            (
                "notebook",
                &[("file", "notebook_path"), ("index", "cell_index"), ("source", "content")],
            ),
            (
                "NotebookEdit",
                &[("file", "notebook_path"), ("id", "cell_id"), ("content", "new_source")],
            ),
            ("read", &[("file", "path"), ("filename", "path")]),
            ("edit", &[("old", "old_text"), ("replacement", "new_text")]),
            ("write", &[("filename", "path"), ("code", "content")]),
            ("bash", &[("cmd", "command"), ("script", "command"), ("directory", "cwd")]),
        ];
        assert_eq!(table.len(), TOOLS.len(), "every tool has its slips");
        let desk = TestDesk::on_files();
        for (tool, slips) in table {
            for (slip, field) in slips {
                let error = desk.error(tool, json!({*slip: "x"})).await;
                let wanted = format!("`{slip}` is not a field: use `{field}`");
                assert!(error.message.starts_with(&wanted), "{tool}: {error:?}");
            }
        }
        let error = desk.error("bash", json!({"timeout_ms": 500})).await;
        assert_eq!(error.message, "`timeout_ms` is not a field: use `timeout`, in seconds");
        let error = desk.error("notebook_run", json!({"params": {}})).await;
        assert_eq!(error.message, "`params` is not a field: use `parameters`");
        let insert = json!({"path": "x.ipynb", "ops": [{"op": "insert", "code": "1"}]});
        let error = desk.error("notebook_edit", insert).await;
        assert_eq!(error.message, "operation 0: `code` is not a field of insert: use `source`");
    }
}
