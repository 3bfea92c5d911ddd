//! Status events from the helpers of the prelude, one line each (B:T-13).
//!
//! Owns the wording of an event. The prelude decides which fields a helper sends. Unknown fields appear
//! under their names.

use serde_json::{Map, Value};

use super::Expansion;
use crate::view::paint::{Line, Role, fit};

const COLLAPSED_EVENTS: usize = 3;
const EXPANDED_EVENTS: usize = 10;
const ITEMS: usize = 5;
const ENV_ITEMS: usize = 10;
const PREVIEW_LINES: usize = 3;
const PREVIEW_COLUMNS: usize = 80;

/// Fields that may name the subject of an event. The first one present stands behind the event's name.
const SUBJECTS: [&str; 10] =
    ["path", "cmd", "message", "title", "key", "id", "ref", "branch", "current", "pattern"];

/// Numbers that read better in front of their names, as in `3 lines`.
const COUNTED: [&str; 10] = [
    "chars",
    "lines",
    "words",
    "files",
    "entries",
    "commits",
    "groups",
    "total_chars",
    "stages",
    "lines_inserted",
];

type Fields = Map<String, Value>;

/// Renders events, each given as JSON text.
pub(super) fn lines(events: &[String], expansion: Expansion, width: usize) -> Vec<Line> {
    let events: Vec<Fields> = (events.iter())
        .filter_map(|text| serde_json::from_str::<Fields>(text).ok())
        .filter(|fields| fields.get("op").is_some_and(Value::is_string))
        .collect();
    let shown = match expansion {
        Expansion::Collapsed => COLLAPSED_EVENTS,
        Expansion::Expanded => EXPANDED_EVENTS,
    };
    let hidden = events.len().saturating_sub(shown);
    let mut out = Vec::new();
    for (at, fields) in events.iter().take(shown).enumerate() {
        let is_last = at + 1 == events.len();
        let (branch, more) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let mut line = Line::of(Role::Dim, branch);
        push_event(&mut line, fields);
        out.push(fit(&line, width));
        if expansion == Expansion::Expanded {
            let details = details(fields).into_iter();
            out.extend(
                details.map(|text| fit(&Line::of(Role::Dim, &format!("{more}  {text}")), width)),
            );
        }
    }
    if hidden > 0 {
        out.push(fit(&Line::of(Role::Dim, &format!("└─ … {hidden} more")), width));
    }
    out
}

fn push_event(line: &mut Line, fields: &Fields) {
    let op = text(fields.get("op")).unwrap_or_default();
    if let Some(error) = text(fields.get("error")) {
        return line.push(Role::Error, &one_line(&format!("{op}: {error}")));
    }
    line.push(Role::Name, &one_line(&op));
    let mut told = vec!["op", "preview", "output"];
    let subject = subject(fields, &mut told);
    if let Some(subject) = subject {
        line.push(Role::Plain, &one_line(&format!(" {subject}")));
    }
    let others = fields.iter().filter(|(name, _)| !told.contains(&name.as_str()));
    let others: Vec<String> = others.filter_map(|(name, value)| aside(name, value)).collect();
    if !others.is_empty() {
        line.push(Role::Dim, &one_line(&format!(" ({})", others.join(", "))));
    }
}

/// The subject of an event. Every field that it uses is added to `told`.
fn subject(fields: &Fields, told: &mut Vec<&'static str>) -> Option<String> {
    let mut take = |name: &'static str| {
        let found = text(fields.get(name))?;
        told.push(name);
        Some(found)
    };
    for (from, to, between) in [("src", "dst", "→"), ("file_a", "file_b", "↔")] {
        if fields.contains_key(from) && fields.contains_key(to) {
            return Some(format!("{} {between} {}", take(from)?, take(to)?));
        }
    }
    if let Some(pattern) = take("pattern") {
        let path = take("path").map(|path| format!(" in {path}")).unwrap_or_default();
        return Some(format!("\"{pattern}\"{path}"));
    }
    if let Some(key) = take("key") {
        let value = take("value").map(|value| format!("={value}")).unwrap_or_default();
        return Some(format!("{key}{value}"));
    }
    SUBJECTS.iter().find_map(|name| take(name))
}

/// A field other than the subject, in a few words. `None` if it adds nothing.
fn aside(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::Number(number) if COUNTED.contains(&name) => {
            Some(format!("{number} {}", name.replace('_', " ")))
        }
        Value::Number(number) => Some(format!("{name} {number}")),
        Value::Bool(true) => Some(name.replace('_', " ")),
        Value::String(text) if !text.is_empty() => Some(format!("{name} {text}")),
        _ => None,
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is_so) => Some(is_so.to_string()),
        _ => None,
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// The first items of an event's list, or the start of its preview.
fn details(fields: &Fields) -> Vec<String> {
    let list = fields.values().find_map(|value| match value {
        Value::Array(items) if !items.is_empty() => Some(items),
        _ => None,
    });
    if let Some(items) = list {
        let is_env = fields.get("op").and_then(Value::as_str) == Some("env");
        let shown = if is_env { ENV_ITEMS } else { ITEMS };
        let mut out: Vec<String> = items.iter().take(shown).map(item).collect();
        if items.len() > shown {
            out.push(format!("… {} more", items.len() - shown));
        }
        return out;
    }
    let preview = ["preview", "output"].iter().find_map(|name| text(fields.get(*name)));
    let preview = preview.unwrap_or_default();
    let lines = preview.trim_end().lines().take(PREVIEW_LINES);
    lines.map(|line| fit(&Line::of(Role::Dim, line), PREVIEW_COLUMNS).text()).collect()
}

fn item(value: &Value) -> String {
    let told = match value {
        Value::Object(fields) => {
            let of = |name| text(fields.get(name));
            match (of("file"), of("line"), of("text")) {
                (Some(file), Some(line), Some(text)) => format!("{file}:{line}: {text}"),
                (None, Some(line), Some(text)) => format!("{line}: {text}"),
                _ => words(fields.values()),
            }
        }
        Value::Array(items) => words(items.iter()),
        value => text(Some(value)).unwrap_or_default(),
    };
    one_line(&told)
}

fn words<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    values.filter_map(|value| text(Some(value))).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn draw(events: &[Value], expansion: Expansion) -> String {
        let events: Vec<String> = events.iter().map(Value::to_string).collect();
        let lines: Vec<String> = lines(&events, expansion, 100).iter().map(Line::text).collect();
        lines.join("\n")
    }

    /// B:T-13
    #[test]
    fn an_event_is_a_line() {
        let table = [
            (
                json!({"op": "read", "path": "a.txt", "chars": 12, "preview": "x"}),
                "read a.txt (12 chars)",
            ),
            (json!({"op": "rm", "path": "a", "error": "missing"}), "rm: missing"),
            (json!({"op": "cp", "src": "a", "dst": "b"}), "cp a → b"),
            (
                json!({"op": "grep", "pattern": "x", "path": "b.py", "count": 2, "hits": []}),
                "grep \"x\" in b.py (count 2)",
            ),
            (
                json!({"op": "env", "key": "HOME", "value": "/h", "action": "get"}),
                "env HOME=/h (action get)",
            ),
            (json!({"op": "sh", "cmd": "ls\n-l", "code": 0, "output": "x"}), "sh ls -l (code 0)"),
            (
                json!({"op": "wc", "lines": 1, "words": 2, "chars": 3}),
                "wc (1 lines, 2 words, 3 chars)",
            ),
            (
                json!({"op": "git_status", "branch": "main", "clean": true}),
                "git_status main (clean)",
            ),
            (json!({"op": "new", "mystery": {"a": 1}}), "new"),
            (json!({"op": "x\u{1b}[2J", "path": "\u{1b}"}), "x␛[2J ␛"),
        ];
        for (event, wanted) in table {
            let line = draw(std::slice::from_ref(&event), Expansion::Collapsed);
            assert_eq!(line, format!("└─ {wanted}"), "{event}");
        }
    }

    /// B:T-13
    #[test]
    fn first_events_and_items_are_shown_and_the_rest_counted() {
        let cd = |n: usize| json!({"op": "cd", "path": format!("d{n}")});
        let events: Vec<Value> = (0..12).map(cd).collect();
        assert_eq!(
            draw(&events, Expansion::Collapsed),
            "├─ cd d0\n├─ cd d1\n├─ cd d2\n└─ … 9 more"
        );
        let expanded = draw(&events, Expansion::Expanded);
        assert!(expanded.ends_with("├─ cd d9\n└─ … 2 more"), "{expanded}");
        assert_eq!(draw(&events[..3], Expansion::Collapsed).matches("more").count(), 0);

        let names: Vec<String> = (0..12).map(|n| format!("n{n}")).collect();
        let ls = draw(&[json!({"op": "ls", "path": ".", "items": names})], Expansion::Expanded);
        assert!(ls.ends_with("     n4\n     … 7 more"), "{ls}");
        let env = draw(&[json!({"op": "env", "count": 12, "keys": names})], Expansion::Expanded);
        assert!(env.ends_with("     n9\n     … 2 more"), "{env}");

        let text = format!("{}\n2\n3\n4", "w".repeat(90));
        let read = draw(&[json!({"op": "read", "preview": text})], Expansion::Expanded);
        let wanted = format!("└─ read\n     {}…\n     2\n     3", "w".repeat(79));
        assert_eq!(read, wanted);
        let hit = json!({"op": "rgrep", "hits": [{"file": "a", "line": 3, "text": "t\nu"}]});
        assert_eq!(draw(&[hit], Expansion::Expanded), "└─ rgrep\n     a:3: t u");
    }

    /// B:X-32: JSON that is not an event is left out.
    #[test]
    fn what_is_no_event_is_left_out() {
        let events = ["no json".to_owned(), "[1]".to_owned(), "{\"path\":\"x\"}".to_owned()];
        assert!(lines(&events, Expansion::Expanded, 80).is_empty());
    }
}
