//! Looking at the names of a real kernel.

use serde_json::json;

use crate::mcp::exposure::ToolSet;
use crate::mcp::find;
use crate::mcp::tools::tests::TestDesk;

/// Variables, one value, help, helpers and completion.
#[tokio::test]
async fn names_are_looked_at() {
    let desk = TestDesk::new(ToolSet::Default);
    let nothing = desk.text("inspect", json!({})).await;
    assert!(nothing.starts_with("Error: "), "{nothing}");
    let code = "rows = [1, 2, 3]\nlabel = 'hi'\ndef double(n):\n    'Twice n.'\n    return 2 * n";
    desk.text("python", json!({"code": code})).await;
    let all = desk.text("inspect", json!({})).await;
    assert!(all.contains("rows: list (length 3"), "{all}");
    assert!(all.contains("= 'hi'"), "{all}");
    let one = desk.text("inspect", json!({"name": "rows"})).await;
    assert!(one.contains("items (3):\n  0: int = 1\n"), "{one}");
    let help = desk.text("inspect", json!({"help": "double"})).await;
    assert!(help.starts_with("double(n)\nTwice n."), "{help}");
    let helpers = desk.text("inspect", json!({"name": "prelude"})).await;
    assert!(helpers.contains("Shell:\n  bash("), "{helpers}");
    let described = find("python").unwrap().description;
    for line in helpers.lines().filter_map(|line| line.strip_prefix("  ")) {
        let name = line.split(['(', '.']).next().unwrap();
        // No function can be called through `tool` yet.
        let is_named =
            described.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|w| w == name);
        assert!(is_named || name == "tool", "B:E-42: {name}");
    }
    let completed = desk.text("inspect", json!({"code": "rows.app"})).await;
    assert!(completed.contains("append"), "{completed}");
    let near = desk.text("inspect", json!({"name": "row"})).await;
    assert!(near.contains("The nearest is rows."), "{near}");
    let unknown = desk.text("inspect", json!({"name": "quite_unknown"})).await;
    assert!(unknown.contains("; ask without a name to list what is."), "{unknown}");
    let two = desk.text("inspect", json!({"name": "a", "code": "b"})).await;
    assert_eq!(
        two,
        "Error: only one of these can be asked for at a time\nNext: give one of: name, help, code"
    );
    desk.end().await;
}
