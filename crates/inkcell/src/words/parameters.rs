//! Sentences about parameters of notebooks: those that a run gives, and those that a cell defines.

use std::fmt::Display;

pub(crate) fn move_tag(path: &dyn Display, cell: &dyn Display) -> String {
    format!(
        "move the tag with 'inkcell edit {path} meta {cell} --untag parameters' and \
         'inkcell edit {path} meta CELL --tag parameters'"
    )
}

pub(crate) fn look_at(path: &dyn Display, cell: &dyn Display) -> String {
    format!("look at it: inkcell read {path} --cells {cell}")
}

pub(crate) fn no_cell(name: &str) -> String {
    format!(
        "{name} has no cell with the tag parameters; tag the one that sets the defaults: \
         inkcell edit {name} meta CELL --tag parameters"
    )
}

pub(crate) fn sets_none(cell: usize, name: &str) -> String {
    format!("cell {cell} of {name} has the tag parameters and sets no name")
}

pub(crate) fn not_json(error: &dyn Display) -> String {
    format!("this is not JSON: {error}")
}

pub(crate) fn not_base64(error: &dyn Display) -> String {
    format!("this is not base64 ({error}); make it with: base64 -w0 values.yaml")
}

pub(crate) const ENCODED_NOT_TEXT: &str =
    "the encoded value is not text; encode YAML, as in: base64 -w0 values.yaml";

pub(crate) fn not_read(error: &dyn Display) -> String {
    format!("it cannot be read: {error}")
}

pub(crate) fn too_large(size: u64) -> String {
    format!("it has {size} bytes, which is too much for parameters")
}

pub(crate) fn not_mapping(kind: &str) -> String {
    format!("give parameters as names with values, such as year: 2024; this is {kind}")
}

pub(crate) const TOO_DEEP: &str = "values are nested more than 40 deep";

pub(crate) fn not_toml(line: usize, error: &str) -> String {
    format!("this is not TOML, at line {line}: {error}")
}

pub(crate) fn number_too_large(digits: &str) -> String {
    format!("the number {digits} is too large")
}

pub(crate) const MORE_DOCUMENTS: &str = "it holds more than one document; give one";

pub(crate) fn not_yaml(line: usize, column: usize, error: &str) -> String {
    format!("this is not YAML, at line {line}, column {column}: {error}")
}

pub(crate) const TAGGED_LIST: &str = "a list is tagged as something else";

pub(crate) const TAGGED_MAPPING: &str = "a mapping is tagged as something else";

pub(crate) const YAML_ENDS: &str = "the YAML ends in the middle of a value";

pub(crate) fn too_many(most: usize) -> String {
    format!("it holds more than {most} values, counting what aliases repeat")
}

pub(crate) const ALIAS_INSIDE: &str = "an alias is inside the value that it names";

pub(crate) const MERGE_KEY: &str = "<< is for a mapping, or a list of mappings";

pub(crate) fn key_is(kind: &str) -> String {
    format!("a key must be a single word; one is {kind}")
}

pub(crate) fn unknown_type(name: &str) -> String {
    format!(
        "{name} is not a type of a parameter; known are !!str, !!int, !!float, !!bool, !!null, \
         !!seq and !!map"
    )
}

pub(crate) fn tagged_as(text: &str, what: &str) -> String {
    format!("{text:?} is tagged as {what}, but is not one")
}

pub(crate) const ARGUMENT_TOO_DEEP: &str = "parameters: values are nested too deep";

pub(crate) const NOT_TEXT: &str = "it is not text";
