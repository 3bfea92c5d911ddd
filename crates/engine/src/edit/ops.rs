//! Operations in JSON, as all faces accept them.
//!
//! Owns the reading of their fields and the messages for invalid ones. `operations.rs` owns which operations and
//! fields there are.

use std::fmt;

use inkcell_notebook::{CellRef, EditOp, OutputsAfter, nearest};
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use super::operations::{Field, FieldKind, FieldValue, FieldValues, OPERATIONS, Operation};
use crate::error::EngineError;
use crate::types::meant_field;

/// Reads operations: one object, a list of objects, or an object with a list `ops`. `outputs` is the default for
/// operations that do not set it.
pub fn parse_ops(json: &str, outputs: OutputsAfter) -> Result<Vec<EditOp>, EngineError> {
    let bad = |problem: String| EngineError::Argument { argument: "ops".to_owned(), problem };
    let not_json = |error: serde_json::Error| bad(format!("not JSON that can be read: {error}"));
    let list = |json: &str| {
        let list: Vec<Fields<'_>> = serde_json::from_str(json).map_err(not_json)?;
        list.into_iter().enumerate().map(|(at, fields)| fields.operation(at, outputs)).collect()
    };
    if json.trim_start().starts_with('[') {
        return list(json);
    }
    let fields: Fields<'_> = serde_json::from_str(json).map_err(not_json)?;
    match fields.0.as_slice() {
        [(name, ops)] if name == "ops" => list(ops.get()),
        _ => Ok(vec![fields.operation(0, outputs)?]),
    }
}

/// An object whose values are still text, so that numbers in metadata keep their spelling. Duplicate keys are refused.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an operation, such as {\"op\": \"delete\", \"cell\": 3}")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut pairs: Vec<(String, &'de RawValue)> = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                    if pairs.iter().any(|(seen, _)| *seen == key) {
                        return Err(serde::de::Error::custom(format!(
                            "the field {key:?} stands twice"
                        )));
                    }
                    pairs.push((key, value));
                }
                Ok(Fields(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

impl<'a> Fields<'a> {
    fn operation(self, at: usize, outputs: OutputsAfter) -> Result<EditOp, EngineError> {
        self.decode(outputs).map_err(|problem| EngineError::Argument {
            argument: format!("operation {at}"),
            problem,
        })
    }

    fn decode(self, outputs: OutputsAfter) -> Result<EditOp, String> {
        let Some((_, op)) = self.0.iter().find(|(name, _)| name == "op") else {
            return Err(format!("the field \"op\" is missing; it is one of {}", names()));
        };
        let op = string("op", op)?;
        let Some(operation) = OPERATIONS.iter().find(|operation| operation.name == op) else {
            let hint = match meant_operation(&op) {
                Some(name) => format!(" (did you mean {name:?}?)"),
                None => suggestion(OPERATIONS.iter().map(|operation| operation.name), &op),
            };
            return Err(format!("op {op:?} is not known{hint}; it is one of {}", names()));
        };
        let given = self.matched(operation)?;
        let is_given = |field: &Field| given.iter().any(|(known, _)| known.name == field.name);
        let mut required = operation.fields.iter().filter(|field| field.is_required);
        if let Some(field) = required.find(|field| !is_given(field)) {
            return Err(format!("{op} needs the field {:?}", field.name));
        }
        let mut values = FieldValues::new(outputs);
        for (field, value) in given {
            values.add(field, read(field, value)?);
        }
        match operation.missing_choice(&values) {
            Some(choice) => Err(choice.json_error.to_owned()),
            None => operation.edit(values),
        }
    }

    /// Finds the field of each value by its name or an alias, and refuses other names.
    fn matched(self, operation: &Operation) -> Result<Vec<(&'static Field, &'a RawValue)>, String> {
        let mut matched: Vec<(&Field, &RawValue)> = Vec::new();
        for (name, value) in self.0.into_iter().filter(|(name, _)| name != "op") {
            let own = operation.fields.iter().find(|field| field.name == name);
            let alias = || operation.fields.iter().find(|f| f.aliases.contains(&name.as_str()));
            let Some(field) = own.or_else(alias) else {
                let known: Vec<&str> = operation.fields.iter().map(|field| field.name).collect();
                let op = operation.name;
                return Err(match meant_field(&known, &name) {
                    Some(meant) => format!("`{name}` is not a field of {op}: use `{meant}`"),
                    None => format!(
                        "{op} takes no field {name:?}{}; it takes {}",
                        suggestion(known.iter().copied(), &name),
                        known.join(", "),
                    ),
                });
            };
            if matched.iter().any(|(known, _)| known.name == field.name) {
                let name = field.name;
                return Err(format!("the field {name:?} stands twice, once under another name"));
            }
            matched.push((field, value));
        }
        Ok(matched)
    }
}

/// The field that takes a word for a place, and what its error says to a caller who gave a cell.
const AT: &str = "at";
const BY_CELL: &str =
    "; before takes a cell and puts this one in front of it, such as \"before\": 2";

/// Reads a value as the field wants it.
fn read(field: &Field, value: &RawValue) -> Result<FieldValue, String> {
    let name = field.name;
    let wrong = |expected: &str| format!("{name} is {}; {expected}", shorten_value(value));
    Ok(match field.kind {
        FieldKind::Cell => FieldValue::Cell(match string(name, value) {
            Ok(text) => CellRef::Text(text),
            Err(_) => CellRef::Index(value.get().parse().map_err(|_| {
                wrong(
                    "a cell is an id, the first four or more characters of one, or a whole number",
                )
            })?),
        }),
        FieldKind::Source if value.get().starts_with('[') => {
            FieldValue::Text(strings(name, value)?.concat())
        }
        FieldKind::Source | FieldKind::Text => FieldValue::Text(string(name, value)?),
        FieldKind::Word(words) => {
            let given: Option<String> = serde_json::from_str(value.get()).ok();
            let word = words.iter().find(|word| given.as_deref() == Some(**word));
            let hint = if name == AT { BY_CELL } else { "" };
            FieldValue::Word(word.ok_or_else(|| wrong(&format!("it is {}{hint}", either(words))))?)
        }
        FieldKind::Switch => FieldValue::Switch(match value.get() {
            "true" => true,
            "false" => false,
            _ => return Err(wrong("it is true or false")),
        }),
        FieldKind::Keys => {
            let keys: Result<Fields<'_>, _> = serde_json::from_str(value.get());
            let keys = keys.map_err(|_| wrong("it is an object"))?.0;
            let owned = |(key, value): (String, &RawValue)| (key, value.get().to_owned());
            FieldValue::Keys(keys.into_iter().map(owned).collect())
        }
        FieldKind::Texts => FieldValue::Texts(strings(name, value)?),
    })
}

fn string(name: &str, value: &RawValue) -> Result<String, String> {
    serde_json::from_str(value.get())
        .map_err(|_| format!("{name} is {}; it is a string", shorten_value(value)))
}

fn strings(name: &str, value: &RawValue) -> Result<Vec<String>, String> {
    serde_json::from_str(value.get())
        .map_err(|_| format!("{name} is {}; it is a list of strings", shorten_value(value)))
}

/// Words in quotes, such as `"keep" or "clear"`.
fn either(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    match quoted.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => quoted.concat(),
    }
}

/// The operation that another common word for it means.
fn meant_operation(word: &str) -> Option<&'static str> {
    let is_alias = |operation: &&Operation| operation.command_aliases.contains(&word);
    match word {
        "edit" | "modify" | "change" | "write" => Some("replace"),
        _ => OPERATIONS.iter().find(is_alias).map(|operation| operation.name),
    }
}

fn names() -> String {
    OPERATIONS.iter().map(|operation| operation.name).collect::<Vec<_>>().join(", ")
}

fn shorten_value(value: &RawValue) -> String {
    const MAX_CHARS: usize = 40;
    let text = value.get();
    if text.chars().count() <= MAX_CHARS {
        return text.to_owned();
    }
    text.chars().take(MAX_CHARS).chain(std::iter::once('…')).collect()
}

fn suggestion<'a>(known: impl Iterator<Item = &'a str>, given: &str) -> String {
    let known: Vec<&str> = known.collect();
    match nearest(known.iter().copied(), given).map(|at| known[at]) {
        Some(name) => format!(" (did you mean {name:?}?)"),
        None => String::new(),
    }
}
