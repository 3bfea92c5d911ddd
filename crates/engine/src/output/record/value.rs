//! JSON values as Jupyter writes them into files: keys in order, text by lines, characters unescaped.
//!
//! Owns that spelling. It must not know outputs. Numbers keep the text from the kernel.

use std::collections::BTreeMap;

use inkcell_notebook::NbOutput;
use serde_json::value::RawValue;

/// Nesting depth to which keys are sorted; deeper parts stay as they came.
const MAX_DEPTH: usize = 64;

/// A text as a JSON string.
pub(super) fn string(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned())
}

/// A text as a list of its lines, each with its end. Lines end where Python's `splitlines` ends them.
pub(super) fn lines(text: &str) -> String {
    let mut list = String::from("[");
    let mut from = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let mut end = at + c.len_utf8();
        match c {
            '\r' if chars.peek().is_some_and(|(_, next)| *next == '\n') => {
                chars.next();
                end += 1;
            }
            '\n'
            | '\r'
            | '\u{b}'
            | '\u{c}'
            | '\u{1c}'..='\u{1e}'
            | '\u{85}'
            | '\u{2028}'
            | '\u{2029}' => {}
            _ => continue,
        }
        push(&mut list, &text[from..end]);
        from = end;
    }
    if from < text.len() {
        push(&mut list, &text[from..]);
    }
    list.push(']');
    list
}

fn push(list: &mut String, line: &str) {
    if list.len() > 1 {
        list.push(',');
    }
    list.push_str(&string(line));
}

/// Metadata as an object; any other value becomes an empty one.
pub(super) fn metadata(json: &str) -> String {
    let sorted = sorted(json);
    if sorted.starts_with('{') { sorted } else { "{}".to_owned() }
}

/// A JSON text with the keys of its objects sorted. `NaN` and the like, which Python writes and notebooks hold, stay as
/// they came. A text that is not JSON becomes null.
pub(super) fn sorted(json: &str) -> String {
    match serde_json::from_str::<&RawValue>(json) {
        Ok(value) => {
            let mut out = String::with_capacity(json.len());
            write(&mut out, value.get(), 0);
            out
        }
        Err(_) if is_stored(json) => json.to_owned(),
        Err(_) => "null".to_owned(),
    }
}

/// Returns true if a notebook can hold this text as a value.
fn is_stored(json: &str) -> bool {
    let output =
        format!("{{\"output_type\":\"display_data\",\"data\":{{\"x\":{json}}},\"metadata\":{{}}}}");
    NbOutput::from_json(&output).is_ok()
}

fn write(out: &mut String, json: &str, depth: usize) {
    let first = json.as_bytes().first();
    if depth < MAX_DEPTH
        && first == Some(&b'{')
        && let Ok(fields) = serde_json::from_str::<BTreeMap<String, &RawValue>>(json)
    {
        out.push('{');
        for (at, (key, value)) in fields.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(&string(key));
            out.push(':');
            write(out, value.get(), depth + 1);
        }
        out.push('}');
    } else if depth < MAX_DEPTH
        && first == Some(&b'[')
        // A list without objects or strings has nothing to sort, and may be long.
        && json.contains(['{', '\\'])
        && let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(json)
    {
        out.push('[');
        for (at, value) in items.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            write(out, value.get(), depth + 1);
        }
        out.push(']');
    } else if first == Some(&b'"')
        && json.contains("\\u")
        && let Ok(text) = serde_json::from_str::<String>(json)
    {
        out.push_str(&string(&text));
    } else {
        out.push_str(json);
    }
}
