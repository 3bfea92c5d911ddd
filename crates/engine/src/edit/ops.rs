//! Cell operations as JSON, as all faces accept them.
//!
//! Owns the names of operations and fields, in one table, and the messages for invalid ones. The notebook crate owns
//! the meaning of each operation.

use std::fmt;

use inkcell_notebook::{
    CellKind, CellPlace, CellRef, EditOp, Matches, MetaChange, OutputsAfter, SourceShape, nearest,
};
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::EngineError;

/// Every operation with its fields, required ones first and marked with `!`.
const OPS: &[(&str, &[&str])] = &[
    ("replace", &["cell!", "source!", "type", "outputs"]),
    ("insert", &["source!", "type", "after", "before", "at"]),
    ("delete", &["cell!"]),
    ("move", &["cell!", "after", "before", "at"]),
    ("type", &["cell!", "type!"]),
    ("sub", &["cell!", "old!", "new!", "all", "outputs"]),
    ("clear", &["cell"]),
    ("meta", &["cell", "set", "unset"]),
    ("tags", &["cell!", "add", "remove"]),
];

/// Names that models and other tools use for the same fields.
const ALIASES: &[(&str, &str)] = &[
    ("cell_id", "cell"),
    ("cell_index", "cell"),
    ("new_source", "source"),
    ("content", "source"),
    ("cell_type", "type"),
    ("old_text", "old"),
    ("new_text", "new"),
];

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
    fn operation(mut self, at: usize, outputs: OutputsAfter) -> Result<EditOp, EngineError> {
        self.decode(outputs).map_err(|problem| EngineError::Argument {
            argument: format!("operation {at}"),
            problem,
        })
    }

    fn decode(&mut self, outputs: OutputsAfter) -> Result<EditOp, String> {
        let Some(op) = self.string("op")? else {
            return Err(format!("the field \"op\" is missing; it is one of {}", names()));
        };
        let Some((_, fields)) = OPS.iter().find(|(name, _)| *name == op) else {
            let hint = suggestion(OPS.iter().map(|(name, _)| *name), &op);
            return Err(format!("op {op:?} is not known{hint}; it is one of {}", names()));
        };
        self.check_names(&op, fields)?;
        let outputs = match self.string("outputs")?.as_deref() {
            None => outputs,
            Some("keep") => OutputsAfter::Keep,
            Some("clear") => OutputsAfter::Clear,
            Some(other) => {
                return Err(format!("outputs is {other:?}; it is \"keep\" or \"clear\""));
            }
        };
        Ok(match op.as_str() {
            "replace" => EditOp::Replace {
                cell: self.required_cell()?,
                source: self.source()?,
                kind: self.kind()?,
                outputs,
                shape: SourceShape::Keep,
            },
            "insert" => EditOp::Insert {
                at: self.place()?.unwrap_or(CellPlace::End),
                kind: self.kind()?.unwrap_or(CellKind::Code),
                source: self.source()?,
            },
            "delete" => EditOp::Delete { cell: self.required_cell()? },
            "move" => EditOp::Move {
                cell: self.required_cell()?,
                to: self
                    .place()?
                    .ok_or("say where to: one of after, before (a cell) or at (start, end)")?,
            },
            "type" => EditOp::SetKind {
                cell: self.required_cell()?,
                kind: self.kind()?.ok_or("the field \"type\" is missing")?,
            },
            "sub" => EditOp::Sub {
                cell: self.required_cell()?,
                old: self.required("old")?,
                new: self.required("new")?,
                matches: match self.take("all").map(RawValue::get) {
                    None | Some("false") => Matches::One,
                    Some("true") => Matches::All,
                    Some(other) => return Err(format!("all is {other}; it is true or false")),
                },
                outputs,
            },
            "clear" => EditOp::Clear { cell: self.cell("cell")? },
            "tags" => {
                let (add, remove) = (self.strings("add")?, self.strings("remove")?);
                if add.is_empty() && remove.is_empty() {
                    return Err("tags needs \"add\" or \"remove\"".to_owned());
                }
                EditOp::SetTags { cell: self.required_cell()?, add, remove }
            }
            _ => EditOp::SetMeta { cell: self.cell("cell")?, change: self.meta()? },
        })
    }

    /// Replaces aliases, and refuses fields that the operation does not take.
    fn check_names(&mut self, op: &str, fields: &[&str]) -> Result<(), String> {
        let known: Vec<&str> = fields.iter().map(|field| field.trim_end_matches('!')).collect();
        for (name, _) in &mut self.0 {
            if let Some((_, own)) = ALIASES.iter().find(|(alias, _)| alias == name)
                && !known.contains(&name.as_str())
            {
                (*own).clone_into(name);
            }
            if name != "op" && !known.contains(&name.as_str()) {
                let hint = suggestion(known.iter().copied(), name);
                return Err(format!(
                    "{op} takes no field {name:?}{hint}; it takes {}",
                    known.join(", ")
                ));
            }
        }
        for (at, (name, _)) in self.0.iter().enumerate() {
            if self.0[..at].iter().any(|(seen, _)| seen == name) {
                return Err(format!("the field {name:?} stands twice, once under another name"));
            }
        }
        let missing = fields.iter().filter_map(|field| field.strip_suffix('!'));
        for name in missing {
            if !self.0.iter().any(|(given, _)| given == name) {
                return Err(format!("{op} needs the field {name:?}"));
            }
        }
        Ok(())
    }

    fn take(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| *value)
    }

    fn string(&self, name: &str) -> Result<Option<String>, String> {
        match self.take(name) {
            None => Ok(None),
            Some(value) => match serde_json::from_str(value.get()) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(format!("{name} is {}; it is a string", shown(value))),
            },
        }
    }

    fn required(&self, name: &str) -> Result<String, String> {
        self.string(name)?.ok_or_else(|| format!("the field {name:?} is missing"))
    }

    /// A source as a notebook may store it: a string, or a list of strings to join.
    fn source(&self) -> Result<String, String> {
        match self.take("source") {
            Some(list) if list.get().starts_with('[') => Ok(self.strings("source")?.concat()),
            _ => self.required("source"),
        }
    }

    fn cell(&self, name: &str) -> Result<Option<CellRef>, String> {
        let Some(value) = self.take(name) else { return Ok(None) };
        if let Ok(text) = serde_json::from_str::<String>(value.get()) {
            return Ok(Some(CellRef::Text(text)));
        }
        match value.get().parse::<i64>() {
            Ok(index) => Ok(Some(CellRef::Index(index))),
            Err(_) => Err(format!(
                "{name} is {}; a cell is an id, the first four or more characters of one, or a whole number",
                shown(value)
            )),
        }
    }

    fn required_cell(&self) -> Result<CellRef, String> {
        self.cell("cell")?.ok_or_else(|| "the field \"cell\" is missing".to_owned())
    }

    fn kind(&self) -> Result<Option<CellKind>, String> {
        let Some(name) = self.string("type")? else { return Ok(None) };
        CellKind::from_name(&name)
            .map(Some)
            .ok_or_else(|| format!("type is {name:?}; it is \"code\", \"markdown\" or \"raw\""))
    }

    fn place(&self) -> Result<Option<CellPlace>, String> {
        let after = self.cell("after")?.map(CellPlace::After);
        let before = self.cell("before")?.map(CellPlace::Before);
        let at = match self.string("at")?.as_deref() {
            None => None,
            Some("start") => Some(CellPlace::Start),
            Some("end") => Some(CellPlace::End),
            Some(other) => return Err(format!("at is {other:?}; it is \"start\" or \"end\"")),
        };
        let mut given = [after, before, at].into_iter().flatten();
        match (given.next(), given.next()) {
            (place, None) => Ok(place),
            _ => Err("give only one of after, before and at".to_owned()),
        }
    }

    fn strings(&self, name: &str) -> Result<Vec<String>, String> {
        let Some(list) = self.take(name) else { return Ok(Vec::new()) };
        serde_json::from_str(list.get())
            .map_err(|_| format!("{name} is {}; it is a list of strings", shown(list)))
    }

    fn meta(&self) -> Result<MetaChange, String> {
        let mut change = MetaChange::default();
        if let Some(set) = self.take("set") {
            let fields: Fields<'_> = serde_json::from_str(set.get())
                .map_err(|_| format!("set is {}; it is an object", shown(set)))?;
            change.set =
                fields.0.into_iter().map(|(key, value)| (key, value.get().to_owned())).collect();
        }
        change.unset = self.strings("unset")?;
        if change == MetaChange::default() {
            return Err("meta needs \"set\" or \"unset\"".to_owned());
        }
        Ok(change)
    }
}

fn names() -> String {
    OPS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

fn shown(value: &RawValue) -> String {
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
