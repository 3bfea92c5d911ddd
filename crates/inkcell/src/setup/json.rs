//! Configurations in JSON, with comments or without.
//!
//! Owns the text. A change edits a syntax tree that keeps comments, blanks and line ends, so it touches only its
//! own lines.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};

use super::tree::Tree;
use super::{Entry, Format, Refusal, Task, Value, line_end};

fn options(format: Format) -> ParseOptions {
    let is_loose = format == Format::JsonWithComments;
    ParseOptions {
        allow_comments: is_loose,
        allow_trailing_commas: is_loose,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn root(format: Format, text: &str) -> Result<CstRootNode, Refusal> {
    // The parser accepts some comments even where the format forbids them.
    if format == Format::Json && !text.trim().is_empty() {
        serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|error| Refusal::Broken {
            line: error.line(),
            column: error.column(),
            problem: without_place(&error.to_string()).to_owned(),
        })?;
    }
    CstRootNode::parse(text, &options(format)).map_err(|error| Refusal::Broken {
        line: error.line_display(),
        column: error.column_display(),
        problem: error.kind().to_string(),
    })
}

/// The words of an error without its position, which is reported separately.
fn without_place(words: &str) -> &str {
    words.rfind(" at line ").map_or(words, |end| &words[..end])
}

pub(super) fn parse(format: Format, text: &str) -> Result<Tree, Refusal> {
    match root(format, text)?.value() {
        Some(value) => tree(&value),
        None => Ok(Tree::empty()),
    }
}

fn tree(node: &CstNode) -> Result<Tree, Refusal> {
    if let Some(object) = node.as_object() {
        let entries = object.properties().into_iter().map(|property| {
            let name = property.decoded_name().ok_or(Refusal::Odd)?;
            Ok((name, tree(&property.value().ok_or(Refusal::Odd)?)?))
        });
        return Ok(Tree::Map(entries.collect::<Result<_, _>>()?));
    }
    if let Some(array) = node.as_array() {
        let elements = array.elements();
        return Ok(Tree::List(elements.iter().map(tree).collect::<Result<_, _>>()?));
    }
    match node.as_string_lit() {
        Some(text) => Ok(Tree::Text(text.decoded_value().map_err(|_| Refusal::Odd)?)),
        None => Ok(Tree::Other(node.to_string())),
    }
}

pub(super) fn write(
    format: Format,
    text: &str,
    entry: &Entry,
    task: &Task<'_>,
) -> Result<String, Refusal> {
    let end = line_end(text);
    let is_empty = root(format, text)?.value().is_none();
    // A file without a value has at most comments, which stay above it.
    let text = match is_empty {
        true if text.is_empty() || text.ends_with('\n') => format!("{text}{{}}{end}"),
        true => format!("{text}{end}{{}}{end}"),
        false => text.to_owned(),
    };
    let root = root(format, &text)?;
    let top = root.object_value().ok_or(Refusal::Odd)?;
    match task {
        Task::Add => {
            let fields = entry.fields.iter();
            let fields = fields.map(|field| (field.key.to_owned(), input(&field.value)));
            let new = CstInputValue::Object(fields.collect());
            match top.get(entry.table) {
                Some(servers) => match servers.object_value() {
                    Some(servers) => drop(servers.append(&entry.name, new)),
                    None => {
                        servers.set_value(CstInputValue::Object(vec![(entry.name.clone(), new)]));
                    }
                },
                None => {
                    let servers = CstInputValue::Object(vec![(entry.name.clone(), new)]);
                    drop(top.append(entry.table, servers));
                }
            }
        }
        Task::Set(fields) => {
            let found = entry_of(&top, entry).ok_or(Refusal::Odd)?;
            for field in fields {
                match found.get(field.key) {
                    Some(property) => property.set_value(input(&field.value)),
                    None => drop(found.append(field.key, input(&field.value))),
                }
            }
        }
    }
    Ok(root.to_string())
}

fn entry_of(top: &CstObject, entry: &Entry) -> Option<CstObject> {
    top.object_value(entry.table)?.object_value(&entry.name)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Text(text) => CstInputValue::String(text.clone()),
        Value::Texts(texts) => {
            CstInputValue::Array(texts.iter().cloned().map(CstInputValue::String).collect())
        }
        Value::Switch(on) => CstInputValue::Bool(*on),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
    }
}
