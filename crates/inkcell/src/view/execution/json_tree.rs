//! A JSON value as a tree (B:T-14).
//!
//! Owns the depth and the width of a tree. It must not know the origin of the value.

use serde_json::Value;

use super::{Expansion, plural};
use crate::view::paint::{Line, Role};

/// Limits on how much of a value is drawn.
#[derive(Clone, Copy)]
struct Extent {
    depth: usize,
    items: usize,
}

impl Extent {
    fn of(expansion: Expansion) -> Extent {
        match expansion {
            Expansion::Collapsed => Extent { depth: 2, items: 5 },
            Expansion::Expanded => Extent { depth: 6, items: 20 },
        }
    }
}

/// Draws a value as lines.
pub(super) fn lines(value: &Value, expansion: Expansion) -> Vec<Line> {
    let mut tree = Tree { lines: Vec::new(), extent: Extent::of(expansion) };
    let mut root = Line::default();
    push_value(&mut root, value, 0, tree.extent);
    tree.lines.push(root);
    tree.children(value, "", 0);
    tree.lines
}

struct Tree {
    lines: Vec<Line>,
    extent: Extent,
}

impl Tree {
    fn children(&mut self, value: &Value, margin: &str, depth: usize) {
        if depth >= self.extent.depth {
            return;
        }
        let children: Vec<(String, &Value)> = match value {
            Value::Array(items) => {
                let shown = items.iter().take(self.extent.items).enumerate();
                shown.map(|(at, item)| (format!("[{at}]: "), item)).collect()
            }
            Value::Object(fields) => {
                let shown = fields.iter().take(self.extent.items);
                shown.map(|(name, field)| (format!("{name}: "), field)).collect()
            }
            _ => return,
        };
        let hidden = len(value).saturating_sub(children.len());
        let last = children.len().saturating_sub(1);
        for (at, (key, child)) in children.into_iter().enumerate() {
            let is_last = at == last && hidden == 0;
            let (branch, more) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let mut line = Line::of(Role::Dim, &format!("{margin}{branch}"));
            line.push(Role::Name, &key);
            push_value(&mut line, child, depth + 1, self.extent);
            self.lines.push(line);
            self.children(child, &format!("{margin}{more}"), depth + 1);
        }
        if hidden > 0 {
            let more = format!("{margin}└─ … {} more {}", hidden, plural(hidden, "item"));
            self.lines.push(Line::of(Role::Dim, &more));
        }
    }
}

fn len(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    }
}

fn push_value(line: &mut Line, value: &Value, depth: usize, extent: Extent) {
    match value {
        Value::Array(_) | Value::Object(_) if depth >= extent.depth && len(value) > 0 => {
            line.push(Role::Dim, "[object]");
        }
        Value::Array(items) => line.push(Role::Plain, &format!("Array({})", items.len())),
        Value::Object(fields) => line.push(Role::Plain, &format!("Object({})", fields.len())),
        Value::String(_) => line.push(Role::Text, &value.to_string()),
        Value::Number(_) => line.push(Role::Number, &value.to_string()),
        Value::Bool(_) | Value::Null => line.push(Role::Keyword, &value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn draw(value: &Value, expansion: Expansion) -> String {
        let lines: Vec<String> = lines(value, expansion).iter().map(Line::text).collect();
        lines.join("\n")
    }

    /// B:T-14
    #[test]
    fn a_value_is_a_tree() {
        let value = json!({"name": "a\u{1b}\"b", "list": [1, [2, {"x": 3}], []], "none": null});
        insta::assert_snapshot!(draw(&value, Expansion::Collapsed), @r#"
        Object(3)
        ├─ name: "a\u001b\"b"
        ├─ list: Array(3)
        │  ├─ [0]: 1
        │  ├─ [1]: [object]
        │  └─ [2]: Array(0)
        └─ none: null
        "#);
        insta::assert_snapshot!(draw(&value, Expansion::Expanded), @r#"
        Object(3)
        ├─ name: "a\u001b\"b"
        ├─ list: Array(3)
        │  ├─ [0]: 1
        │  ├─ [1]: Array(2)
        │  │  ├─ [0]: 2
        │  │  └─ [1]: Object(1)
        │  │     └─ x: 3
        │  └─ [2]: Array(0)
        └─ none: null
        "#);
    }

    /// B:T-14: the expanded tree also counts what it leaves out.
    #[test]
    fn what_is_left_out_is_counted() {
        let value = Value::from((0..26).collect::<Vec<i32>>());
        let collapsed = draw(&value, Expansion::Collapsed);
        assert!(collapsed.ends_with("├─ [4]: 4\n└─ … 21 more items"), "{collapsed}");
        let expanded = draw(&value, Expansion::Expanded);
        assert!(expanded.ends_with("├─ [19]: 19\n└─ … 6 more items"), "{expanded}");
        let six = draw(&json!([0, 1, 2, 3, 4, 5]), Expansion::Collapsed);
        assert!(six.ends_with("… 1 more item"), "{six}");
        assert_eq!(draw(&json!(7), Expansion::Collapsed), "7");
    }

    #[test]
    fn depth_is_bounded() {
        let mut value = json!(1);
        for _ in 0..100 {
            value = json!([value]);
        }
        assert_eq!(lines(&value, Expansion::Collapsed).len(), 3);
        assert_eq!(lines(&value, Expansion::Expanded).len(), 7);
    }
}
