//! Configurations in TOML.
//!
//! Owns the text: a new entry is a table at the end, and a change replaces only the old value. Everything else
//! keeps its bytes, since the file is never serialized as a whole.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::tree::Tree;
use super::{Entry, Refusal, Task, Value, line_and_column, line_end, spliced};

pub(super) fn parse(text: &str) -> Result<Tree, Refusal> {
    Ok(table(document(text)?.get_ref()))
}

fn document(text: &str) -> Result<toml::Spanned<DeTable<'_>>, Refusal> {
    DeTable::parse(text).map_err(|error| {
        let (line, column) = line_and_column(text, error.span().map_or(0, |span| span.start));
        Refusal::Broken { line, column, problem: error.message().to_owned() }
    })
}

fn table(found: &DeTable<'_>) -> Tree {
    let entries = found.iter().map(|(key, value)| (key.get_ref().to_string(), tree(value)));
    Tree::Map(entries.collect())
}

fn tree(value: &toml::Spanned<DeValue<'_>>) -> Tree {
    match value.get_ref() {
        DeValue::String(text) => Tree::Text(text.to_string()),
        DeValue::Array(array) => Tree::List(array.iter().map(tree).collect()),
        DeValue::Table(found) => table(found),
        DeValue::Integer(number) => Tree::Other(number.to_string()),
        DeValue::Float(number) => Tree::Other(number.to_string()),
        DeValue::Boolean(on) => Tree::Other(on.to_string()),
        DeValue::Datetime(time) => Tree::Other(time.to_string()),
    }
}

pub(super) fn write(text: &str, entry: &Entry, task: &Task<'_>) -> Result<String, Refusal> {
    let end = line_end(text);
    match task {
        Task::Add => {
            // The name consists of letters that need no quotes.
            let mut new = format!("[{}.{}]{end}", entry.table, entry.name);
            for field in &entry.fields {
                new.push_str(&format!("{} = {}{end}", field.key, written(&field.value)));
            }
            let gap = match text {
                "" => String::new(),
                text if text.ends_with('\n') => end.to_owned(),
                _ => end.repeat(2),
            };
            Ok(format!("{text}{gap}{new}"))
        }
        Task::Set(fields) => {
            let document = document(text)?;
            let found = below(document.get_ref(), entry.table)
                .and_then(|(servers, _)| below(servers, &entry.name));
            let (found, span) = found.ok_or(Refusal::Odd)?;
            let mut splices = Vec::new();
            for field in fields {
                let new = written(&field.value);
                match found.get(field.key) {
                    Some(old) => splices.push((old.span(), new)),
                    None => {
                        let new = format!("{} = {new}", field.key);
                        splices.push(before_first(text, found, span.clone(), &new)?);
                    }
                }
            }
            spliced(text, splices).ok_or(Refusal::Odd)
        }
    }
}

fn below<'a, 'i>(found: &'a DeTable<'i>, key: &str) -> Option<(&'a DeTable<'i>, Range<usize>)> {
    let value = found.get(key)?;
    match value.get_ref() {
        DeValue::Table(below) => Some((below, value.span())),
        _ => None,
    }
}

/// The position for one more key: before the first key of the table itself.
fn before_first(
    text: &str,
    found: &DeTable<'_>,
    span: Range<usize>,
    new: &str,
) -> Result<(Range<usize>, String), Refusal> {
    let mut starts: Vec<usize> = found.keys().map(|key| key.span().start).collect();
    starts.sort_unstable();
    if text.get(span).is_some_and(|whole| whole.starts_with('{')) {
        let first = *starts.first().ok_or(Refusal::Odd)?;
        return Ok((first..first, format!("{new}, ")));
    }
    for first in starts {
        let line = text[..first].rfind('\n').map_or(0, |end| end + 1);
        let indent = &text[line..first];
        // Otherwise the key is part of a longer name: that of a table below, or one with dots.
        if indent.trim().is_empty() {
            return Ok((line..line, format!("{indent}{new}{}", line_end(text))));
        }
    }
    Err(Refusal::Odd)
}

fn written(value: &Value) -> String {
    match value {
        Value::Text(text) => quoted(text),
        Value::Texts(texts) => {
            let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
            format!("[{}]", texts.join(", "))
        }
        Value::Switch(on) => on.to_string(),
        Value::Number(number) => number.to_string(),
    }
}

/// TOML reads every text in JSON quotes as the same text.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
