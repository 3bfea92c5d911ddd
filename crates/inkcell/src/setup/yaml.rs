//! Configurations in YAML.
//!
//! Owns the text: a parser supplies the positions, and lines are inserted or values replaced there. Text that this
//! cannot change safely is left alone.

use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span};

use super::tree::Tree;
use super::{Entry, Field, Refusal, Task, Value, line_end, spliced};
use crate::words;

/// The deepest nesting of a configuration.
const MAX_DEPTH: usize = 100;

struct Node {
    /// In bytes; of a block, from its first word to its last.
    range: Range<usize>,
    kind: Kind,
}

enum Kind {
    Scalar { text: String, is_plain: bool },
    Alias,
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

pub(super) fn parse(text: &str) -> Result<Tree, Refusal> {
    match document(text)? {
        Some(node) => tree(&node),
        None => Ok(Tree::empty()),
    }
}

fn tree(node: &Node) -> Result<Tree, Refusal> {
    Ok(match &node.kind {
        Kind::Scalar { text, is_plain: true } if is_other(text) => Tree::Other(text.clone()),
        Kind::Scalar { text, .. } => Tree::Text(text.clone()),
        Kind::Alias => Tree::Other("*".to_owned()),
        Kind::List(items) => Tree::List(items.iter().map(tree).collect::<Result<_, _>>()?),
        Kind::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| match &key.kind {
                Kind::Scalar { text, .. } => Ok((text.clone(), tree(value)?)),
                _ => Err(Refusal::Odd),
            });
            Tree::Map(entries.collect::<Result<_, _>>()?)
        }
    })
}

/// Returns whether an unquoted word means something else than its letters.
fn is_other(word: &str) -> bool {
    matches!(word, "" | "~") || {
        let word = word.to_ascii_lowercase();
        matches!(word.as_str(), "null" | "true" | "false" | "yes" | "no" | "on" | "off")
            || word.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
                && word.contains(|any: char| any.is_ascii_digit())
            || matches!(word.trim_start_matches(['+', '-']), ".inf" | ".nan")
    }
}

/// The only document of a text; none if the text is empty.
fn document(text: &str) -> Result<Option<Node>, Refusal> {
    let mut offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    offsets.push(text.len());
    let mut reader = Reader { parser: Parser::new_from_str(text), text, offsets };
    let mut found = None;
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => return Ok(found),
            (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd, _) => {}
            _ if found.is_some() => {
                return Err(Refusal::Shape(words::setup::MORE_DOCUMENTS.to_owned()));
            }
            (event, span) => found = Some(reader.node(event, span, 0)?),
        }
    }
}

struct Reader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    text: &'a str,
    /// The byte offset of every character; the parser counts characters.
    offsets: Vec<usize>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Refusal> {
        let broken = |error: ScanError| Refusal::Broken {
            line: error.marker().line(),
            column: error.marker().col() + 1,
            problem: error.info().to_owned(),
        };
        self.parser.next_event().unwrap_or(Ok((Event::StreamEnd, Span::default()))).map_err(broken)
    }

    fn bytes(&self, span: Span) -> Range<usize> {
        let at = |index: usize| self.offsets.get(index).copied().unwrap_or(self.text.len());
        at(span.start.index())..at(span.end.index())
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, Refusal> {
        if depth > MAX_DEPTH {
            return Err(Refusal::Shape(words::setup::TOO_DEEP.to_owned()));
        }
        let mut range = self.bytes(span);
        let kind = match event {
            Event::Scalar(text, style, _, _) => {
                Kind::Scalar { text: text.into_owned(), is_plain: style == ScalarStyle::Plain }
            }
            Event::Alias(_) => Kind::Alias,
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, end) => {
                            let last = items.last().map(|item: &Node| item.range.end);
                            range.end = self.end_of(&range, '[', end, last);
                            break Kind::List(items);
                        }
                        (event, span) => items.push(self.node(event, span, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(..) => {
                let mut entries = Vec::new();
                loop {
                    match self.next()? {
                        (Event::MappingEnd, end) => {
                            let last =
                                entries.last().map(|(_, value): &(Node, Node)| value.range.end);
                            range.end = self.end_of(&range, '{', end, last);
                            break Kind::Map(entries);
                        }
                        (event, span) => {
                            let key = self.node(event, span, depth + 1)?;
                            let (event, span) = self.next()?;
                            entries.push((key, self.node(event, span, depth + 1)?));
                        }
                    }
                }
            }
            _ => return Err(Refusal::Odd),
        };
        Ok(Node { range, kind })
    }

    /// The end of a collection: its bracket, or its last word.
    fn end_of(&self, range: &Range<usize>, bracket: char, end: Span, last: Option<usize>) -> usize {
        match last {
            Some(last) if !self.text[range.start..].starts_with(bracket) => last,
            // The parser includes a comment behind the bracket.
            _ => self.bytes(end).start + bracket.len_utf8(),
        }
    }
}

pub(super) fn write(text: &str, entry: &Entry, task: &Task<'_>) -> Result<String, Refusal> {
    let end = line_end(text);
    let Some(root) = document(text)?.filter(|root| !is_nothing(root)) else {
        return Ok(appended(text, &new_table(entry, end), end));
    };
    let Kind::Map(entries) = &root.kind else { return Err(Refusal::Odd) };
    if text[root.range.start..].starts_with('{') {
        return Err(Refusal::Odd);
    }
    let Some((key, servers)) = value_of(entries, entry.table) else {
        return Ok(appended(text, &new_table(entry, end), end));
    };
    let outer = indent_at(text, key)?;
    let after_key = next_line(text, key);
    if is_nothing(servers) {
        let new = block(entry, &format!("{outer}  "), end);
        return match text[servers.range.clone()].trim() {
            "" => put_in(text, after_key, new, end),
            // The value is written as nothing, such as `~` or `{}`, and is replaced; the rest of its line stays.
            word if is_written_nothing(word) => {
                let gap = text[..servers.range.start].trim_end_matches(' ').len();
                let without = spliced(text, vec![(gap..servers.range.end, String::new())]);
                let text = without.ok_or(Refusal::Odd)?;
                let after_key = text[gap..].find('\n').map_or(text.len(), |at| gap + at + 1);
                put_in(&text, after_key, new, end)
            }
            // Another part of the file may refer to this value by an anchor.
            _ => Err(Refusal::Odd),
        };
    }
    let Kind::Map(servers) = &servers.kind else { return Err(Refusal::Odd) };
    let inner = indent_at(text, &servers.first().ok_or(Refusal::Odd)?.0)?;
    match task {
        Task::Add => put_in(text, after_key, block(entry, inner, end), end),
        Task::Set(fields) => {
            let found = value_of(servers, &entry.name).ok_or(Refusal::Odd)?;
            set(text, found, fields, end)
        }
    }
}

/// Sets fields of an existing entry.
fn set(text: &str, found: &(Node, Node), fields: &[&Field], end: &str) -> Result<String, Refusal> {
    let (key, Node { kind: Kind::Map(entries), .. }) = found else { return Err(Refusal::Odd) };
    let indent = indent_at(text, &entries.first().ok_or(Refusal::Odd)?.0)?;
    let mut splices = Vec::new();
    let mut missing = String::new();
    for field in fields {
        let new = written(&field.value);
        match value_of(entries, field.key) {
            Some((key, value)) => {
                let range = match text.get(key.range.end..value.range.start) {
                    // A block that begins on a line of its own moves up to its key.
                    Some(gap) if is_gap(gap, value) && !has_mark(text, value) => {
                        key.range.end..value.range.end
                    }
                    // An empty value has its position right behind the key.
                    Some("") if text[key.range.end..].starts_with(':') => {
                        key.range.end..key.range.end + 1
                    }
                    _ => return Err(Refusal::Odd),
                };
                splices.push((range, format!(": {new}")));
            }
            None => missing.push_str(&format!("{indent}{}: {new}{end}", field.key)),
        }
    }
    let at = next_line(text, key);
    splices.push((at..at, missing));
    spliced(text, splices).ok_or(Refusal::Odd)
}

/// Returns whether only the colon is between a key and its value. The dash before the first item of a list may
/// count as that.
fn is_gap(gap: &str, value: &Node) -> bool {
    let Some(gap) = gap.trim_start().strip_prefix(':') else { return false };
    let gap = match value.kind {
        Kind::List(_) => gap.trim_end().strip_suffix('-').unwrap_or(gap),
        _ => gap,
    };
    gap.trim().is_empty()
}

fn value_of<'a>(entries: &'a [(Node, Node)], key: &str) -> Option<&'a (Node, Node)> {
    entries.iter().find(|(name, _)| matches!(&name.kind, Kind::Scalar { text, .. } if text == key))
}

fn is_nothing(node: &Node) -> bool {
    match &node.kind {
        Kind::Scalar { text, is_plain } => {
            *is_plain && matches!(text.to_ascii_lowercase().as_str(), "" | "~" | "null")
        }
        Kind::Map(entries) => entries.is_empty(),
        Kind::Alias | Kind::List(_) => false,
    }
}

/// Returns whether a word means nothing, such as `~`, `null` or `{}`.
fn is_written_nothing(word: &str) -> bool {
    let inside = word.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    matches!(word.to_ascii_lowercase().as_str(), "~" | "null")
        || inside.is_some_and(|inside| inside.trim().is_empty())
}

/// Returns whether a value has an anchor or a tag, which a replacement would lose.
fn has_mark(text: &str, value: &Node) -> bool {
    text[value.range.clone()].starts_with(['&', '!'])
}

/// The indentation of a key that is the first word of its line.
fn indent_at<'a>(text: &'a str, key: &Node) -> Result<&'a str, Refusal> {
    let line = text[..key.range.start].rfind('\n').map_or(0, |end| end + 1);
    let indent = &text[line..key.range.start];
    if indent.bytes().all(|byte| byte == b' ') { Ok(indent) } else { Err(Refusal::Odd) }
}

/// The start of the line after that of a key.
fn next_line(text: &str, key: &Node) -> usize {
    let at = key.range.end;
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

fn put_in(text: &str, at: usize, new: String, end: &str) -> Result<String, Refusal> {
    let is_whole_line = at == 0 || text[..at].ends_with('\n');
    let new = if is_whole_line { new } else { format!("{end}{new}") };
    spliced(text, vec![(at..at, new)]).ok_or(Refusal::Odd)
}

fn appended(text: &str, new: &str, end: &str) -> String {
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { end };
    format!("{text}{gap}{new}")
}

fn new_table(entry: &Entry, end: &str) -> String {
    format!("{}:{end}{}", entry.table, block(entry, "  ", end))
}

fn block(entry: &Entry, indent: &str, end: &str) -> String {
    let mut text = format!("{indent}{}:{end}", entry.name);
    for field in &entry.fields {
        text.push_str(&format!("{indent}  {}: {}{end}", field.key, written(&field.value)));
    }
    text
}

fn written(value: &Value) -> String {
    match value {
        Value::Text(text) => quote(text),
        Value::Texts(texts) => {
            let texts: Vec<String> = texts.iter().map(|text| quote(text)).collect();
            format!("[{}]", texts.join(", "))
        }
        Value::Switch(on) => on.to_string(),
        Value::Number(number) => number.to_string(),
    }
}

/// A text, unquoted if it cannot be taken for anything else.
fn quote(text: &str) -> String {
    let is_safe = |any: char| any.is_ascii_alphanumeric() || "/._-".contains(any);
    let begins_well = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/');
    if begins_well && text.chars().all(is_safe) && !is_other(text) {
        return text.to_owned();
    }
    // YAML reads every text in JSON quotes as the same text.
    serde_json::Value::from(text).to_string()
}
