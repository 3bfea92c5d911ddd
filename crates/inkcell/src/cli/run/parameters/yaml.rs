//! Parameters as YAML, understood as PyYAML understands it, since such files were written for it.
//!
//! Owns the way from a parser's events to values: which plain words are numbers (YAML 1.1: `yes`, `0o17` is text,
//! `017` is fifteen, `1:30` is ninety), anchors, merge keys, tags. Dates stay text.

use std::collections::HashMap;
use std::sync::LazyLock;

use inkcell_engine::api::MAX_PARAMETER_DEPTH;
use inkcell_engine::notebook::{ParameterValue, Parameters, WholeNumber};
use regex::Regex;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, StrInput};

use super::{Problem, TOO_DEEP, no_mapping};
use crate::words;

/// The most values in a text, counting those that aliases repeat.
const MAX_VALUES: usize = 200_000;

/// The parameters of a text; none if it is empty.
pub(super) fn parameters(text: &str) -> Result<Parameters, Problem> {
    match document(text)? {
        None | Some(ParameterValue::Null) => Ok(Parameters::default()),
        Some(ParameterValue::Map(entries)) => Ok(entries.into_iter().collect()),
        Some(other) => Err(no_mapping(&other)),
    }
}

/// The only document of a text.
fn document(text: &str) -> Result<Option<ParameterValue>, Problem> {
    let mut reader =
        Reader { parser: Parser::new_from_str(text), anchors: HashMap::new(), values: 0 };
    let mut found = None;
    loop {
        match reader.next()? {
            Event::StreamEnd => return Ok(found),
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => {}
            _ if found.is_some() => {
                return Err(words::parameters::MORE_DOCUMENTS.to_owned());
            }
            event => found = Some(reader.value(event, 0)?),
        }
    }
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    /// The values that anchors name, once they are complete.
    anchors: HashMap<usize, ParameterValue>,
    /// The number of values so far.
    values: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Event<'a>, Problem> {
        let broken = |error: ScanError| {
            let (line, column) = (error.marker().line(), error.marker().col() + 1);
            words::parameters::no_yaml(line, column, error.info())
        };
        match self.parser.next_event() {
            None => Ok(Event::StreamEnd),
            Some(event) => event.map(|(event, _)| event).map_err(broken),
        }
    }

    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<ParameterValue, Problem> {
        if depth > MAX_PARAMETER_DEPTH {
            return Err(TOO_DEEP.to_owned());
        }
        self.count(1)?;
        let (anchor, value) = match event {
            Event::Alias(anchor) => return self.alias(anchor),
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.as_deref().map(Tag::of).transpose()?;
                (anchor, scalar(&text, style, tag)?)
            }
            Event::SequenceStart(anchor, tag) => {
                match tag.as_deref().map(Tag::of).transpose()? {
                    None | Some(Tag::Seq) => {}
                    Some(_) => return Err(words::parameters::TAGGED_LIST.to_owned()),
                }
                (anchor, ParameterValue::List(self.items(depth)?))
            }
            Event::MappingStart(anchor, tag) => {
                match tag.as_deref().map(Tag::of).transpose()? {
                    None | Some(Tag::Map) => {}
                    Some(_) => return Err(words::parameters::TAGGED_MAPPING.to_owned()),
                }
                (anchor, ParameterValue::Map(self.entries(depth)?))
            }
            _ => return Err(words::parameters::YAML_ENDS.to_owned()),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    fn count(&mut self, more: usize) -> Result<(), Problem> {
        self.values += more;
        match self.values > MAX_VALUES {
            true => Err(words::parameters::too_many(MAX_VALUES)),
            false => Ok(()),
        }
    }

    fn alias(&mut self, anchor: usize) -> Result<ParameterValue, Problem> {
        let Some(value) = self.anchors.get(&anchor).cloned() else {
            return Err(words::parameters::ALIAS_INSIDE.to_owned());
        };
        self.count(size(&value))?;
        Ok(value)
    }

    fn items(&mut self, depth: usize) -> Result<Vec<ParameterValue>, Problem> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                Event::SequenceEnd => return Ok(items),
                event => items.push(self.value(event, depth + 1)?),
            }
        }
    }

    /// The entries of a mapping: merged ones come first, and the mapping's own take precedence.
    fn entries(&mut self, depth: usize) -> Result<Vec<(String, ParameterValue)>, Problem> {
        let (mut merged, mut own) = (Vec::new(), Vec::new());
        loop {
            let event = match self.next()? {
                Event::MappingEnd => break,
                event => event,
            };
            let is_merge = matches!(
                &event,
                Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<"
            );
            let key = self.value(event, depth + 1)?;
            let event = self.next()?;
            let value = self.value(event, depth + 1)?;
            match is_merge {
                true => merged.extend(merge(value)?),
                false => own.push((key_text(key)?, value)),
            }
        }
        let mut entries: Vec<(String, ParameterValue)> = Vec::new();
        for (key, value) in merged.into_iter().chain(own) {
            match entries.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) => *known = value,
                None => entries.push((key, value)),
            }
        }
        Ok(entries)
    }
}

/// The entries that a merge key brings; of several mappings the first takes precedence.
fn merge(value: ParameterValue) -> Result<Vec<(String, ParameterValue)>, Problem> {
    let wrong = || words::parameters::MERGE_KEY.to_owned();
    match value {
        ParameterValue::Map(entries) => Ok(entries),
        ParameterValue::List(items) => {
            let entries = items.into_iter().rev().map(|item| match item {
                ParameterValue::Map(entries) => Ok(entries),
                _ => Err(wrong()),
            });
            Ok(entries.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        }
        _ => Err(wrong()),
    }
}

fn size(value: &ParameterValue) -> usize {
    match value {
        ParameterValue::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        ParameterValue::Map(entries) => {
            1 + entries.iter().map(|(_, value)| size(value)).sum::<usize>()
        }
        _ => 1,
    }
}

/// A key as text, as Python's `str` shows it.
fn key_text(key: ParameterValue) -> Result<String, Problem> {
    Ok(match key {
        ParameterValue::Text(text) => text,
        ParameterValue::Null => "None".to_owned(),
        ParameterValue::Bool(true) => "True".to_owned(),
        ParameterValue::Bool(false) => "False".to_owned(),
        ParameterValue::Int(number) => number.as_str().to_owned(),
        ParameterValue::Float(number) => format!("{number:?}"),
        other @ (ParameterValue::List(_) | ParameterValue::Map(_)) => {
            return Err(words::parameters::key_is(other.kind()));
        }
    })
}

/// The tags that have a meaning here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tag {
    Text,
    Int,
    Float,
    Bool,
    Null,
    Seq,
    Map,
}

impl Tag {
    fn of(tag: &saphyr_parser::Tag) -> Result<Tag, Problem> {
        let known = match tag.suffix.as_str() {
            "str" => Some(Tag::Text),
            "int" => Some(Tag::Int),
            "float" => Some(Tag::Float),
            "bool" => Some(Tag::Bool),
            "null" => Some(Tag::Null),
            "seq" => Some(Tag::Seq),
            "map" => Some(Tag::Map),
            _ => None,
        };
        // An exclamation mark alone declares text.
        if tag.handle.is_empty() && tag.suffix == "!" {
            return Ok(Tag::Text);
        }
        known.filter(|_| tag.is_yaml_core_schema()).ok_or_else(|| {
            let name = match tag.is_yaml_core_schema() {
                true => format!("!!{}", tag.suffix),
                false => format!("{}{}", tag.handle, tag.suffix),
            };
            words::parameters::no_type(&name)
        })
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<Tag>) -> Result<ParameterValue, Problem> {
    let wrong = |what: &str| words::parameters::tagged_as(text, what);
    Ok(match tag {
        Some(Tag::Text) => ParameterValue::Text(text.to_owned()),
        Some(Tag::Int) => ParameterValue::Int(int(text).ok_or_else(|| wrong("!!int"))?),
        Some(Tag::Float) => {
            let number = int(text).and_then(|whole| whole.as_str().parse().ok());
            let number = number.or_else(|| float(text)).or_else(|| text.parse().ok());
            ParameterValue::Float(number.ok_or_else(|| wrong("!!float"))?)
        }
        Some(Tag::Bool) => {
            ParameterValue::Bool(truth(&text.to_lowercase()).ok_or_else(|| wrong("!!bool"))?)
        }
        Some(Tag::Null) => ParameterValue::Null,
        Some(Tag::Seq) => return Err(wrong("!!seq")),
        Some(Tag::Map) => return Err(wrong("!!map")),
        None if style == ScalarStyle::Plain => plain(text),
        None => ParameterValue::Text(text.to_owned()),
    })
}

/// The value of a word without quotes and tag.
fn plain(text: &str) -> ParameterValue {
    if matches!(text, "" | "~" | "null" | "Null" | "NULL") {
        return ParameterValue::Null;
    }
    // Each in lower case, in upper case, or with an initial capital.
    let lower = text.to_lowercase();
    let capital = || lower.get(..1).map(|first| first.to_uppercase() + &lower[1..]);
    let is_spelled =
        text == lower || text == lower.to_uppercase() || capital().as_deref() == Some(text);
    if let Some(yes) = truth(&lower).filter(|_| is_spelled) {
        return ParameterValue::Bool(yes);
    }
    if let Some(whole) = int(text) {
        return ParameterValue::Int(whole);
    }
    match float(text) {
        Some(number) => ParameterValue::Float(number),
        None => ParameterValue::Text(text.to_owned()),
    }
}

fn truth(lower: &str) -> Option<bool> {
    match lower {
        "yes" | "true" | "on" => Some(true),
        "no" | "false" | "off" => Some(false),
        _ => None,
    }
}

fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

static INT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)$",
    )
});

static FLOAT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
    )
});

fn is_like(pattern: &Option<Regex>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// A whole number in the forms of YAML 1.1: binary, octal, hexadecimal, base sixty.
fn int(text: &str) -> Option<WholeNumber> {
    if !is_like(&INT, text) {
        return None;
    }
    let text = text.replace('_', "");
    let (sign, digits) = match text.strip_prefix(['-', '+']) {
        Some(digits) => (&text[..1], digits),
        None => ("", text.as_str()),
    };
    let with_sign = |digits: String| WholeNumber::parse(&format!("{sign}{digits}"));
    let in_base =
        |digits: &str, base| u128::from_str_radix(digits, base).ok().map(|n| n.to_string());
    if let Some(binary) = digits.strip_prefix("0b") {
        return with_sign(in_base(binary, 2)?);
    }
    if let Some(hexadecimal) = digits.strip_prefix("0x") {
        return with_sign(in_base(hexadecimal, 16)?);
    }
    if digits.len() > 1 && digits.starts_with('0') {
        return with_sign(in_base(digits, 8)?);
    }
    if digits.contains(':') {
        let mut parts = digits.split(':').map(|part| part.parse::<u128>().ok());
        let sum = parts.try_fold(0u128, |sum, part| sum.checked_mul(60)?.checked_add(part?));
        return with_sign(sum?.to_string());
    }
    with_sign(digits.to_owned())
}

fn float(text: &str) -> Option<f64> {
    if !is_like(&FLOAT, text) {
        return None;
    }
    let text = text.replace('_', "").to_lowercase();
    let (sign, digits) = match text.strip_prefix(['-', '+']) {
        Some(digits) => (if text.starts_with('-') { -1.0 } else { 1.0 }, digits),
        None => (1.0, text.as_str()),
    };
    match digits {
        ".inf" => Some(sign * f64::INFINITY),
        ".nan" => Some(f64::NAN),
        _ if digits.contains(':') => {
            let parts = digits.split(':').map(|part| part.parse::<f64>().ok());
            let sum: Option<f64> =
                parts.into_iter().try_fold(0.0, |sum, part| Some(sum * 60.0 + part?));
            Some(sign * sum?)
        }
        _ => Some(sign * digits.parse::<f64>().ok()?),
    }
}

#[cfg(test)]
mod tests;
