//! The offer that a client sees before its first call: complete, small, and silent about hidden tools.

use inkcell_engine::Preflight;
use inkcell_engine::kernel::FindError;
use inkcell_testkit::prose::{self, Place};
use regex::Regex;
use serde_json::{Value, json};

use super::*;
use crate::mcp::TOOLS;
use crate::mcp::exposure::ToolSet;
use crate::mcp::protocol::{instructions, page, prompts};
use crate::settings::ToolMode;

const SETS: [ToolSet; 3] = [ToolSet::Default, ToolSet::Compat, ToolSet::All];

fn both(set: ToolSet) -> Exposure {
    Exposure::new(set, ToolMode::Both, &Preflight::Ready)
}

/// Every profile in every mode, with a Python and without.
fn all() -> Vec<(String, Exposure)> {
    let failed = Preflight::Failed(FindError::NoneFound.to_string());
    let mut all = Vec::new();
    for set in SETS {
        for mode in [ToolMode::Both, ToolMode::IpyOnly, ToolMode::BashOnly] {
            for preflight in [&Preflight::Ready, &failed] {
                let case = format!("{set:?} {mode:?} {preflight:?}");
                all.push((case, Exposure::new(set, mode, preflight)));
            }
        }
    }
    all
}

/// The whole list of the default profile: a model reads every byte of it with every question.
#[test]
fn the_whole_list_of_the_default_profile() {
    let list = json!({"tools": offered(&both(ToolSet::Default))});
    let text = serde_json::to_string_pretty(&list).unwrap();
    insta::assert_snapshot!("default", text);
}

/// Size limits in bytes as they are sent.
#[test]
fn every_list_has_a_budget() {
    let budgets = [(ToolSet::Default, 12_000), (ToolSet::Compat, 10_000), (ToolSet::All, 20_000)];
    for (set, budget) in budgets {
        for mode in [ToolMode::Both, ToolMode::IpyOnly, ToolMode::BashOnly] {
            let exposure = Exposure::new(set, mode, &Preflight::Ready);
            let size = json!({"tools": offered(&exposure)}).to_string().len();
            assert!(size <= budget, "{set:?} {mode:?}: {size} of {budget}");
            let told = instructions::of(&exposure).len();
            assert!(told <= 1_024, "{set:?} {mode:?}: {told}");
        }
    }
}

/// The words that name a tool wherever they stand, and those that do so in backticks.
fn named(text: &str) -> Vec<String> {
    let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    let is_own =
        |name: &str| name == "NotebookEdit" || name == "eval" || name.starts_with("notebook_");
    let (own, words): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| is_own(name));
    let pattern = format!(r"\b({})\b|`({})`", own.join("|"), words.join("|"));
    let found = Regex::new(&pattern).unwrap();
    let found = found.captures_iter(text);
    found.filter_map(|hit| hit.get(1).or(hit.get(2))).map(|name| name.as_str().to_owned()).collect()
}

/// No description, schema, instruction or prompt names a tool that is hidden, whatever is offered.
#[test]
fn no_text_names_a_hidden_tool() {
    for (case, exposure) in all() {
        let prompts: Vec<Value> =
            prompts::list(&exposure).iter().map(|prompt| json!(prompt)).collect();
        let mut texts = vec![instructions::of(&exposure), json!(prompts).to_string()];
        for tool in offered(&exposure) {
            texts.push(tool.description.clone().unwrap_or_default().into_owned());
            texts.push(json!(tool.input_schema).to_string());
        }
        for text in texts {
            assert!(!text.contains("{{"), "{case}: {text}");
            for name in named(&text) {
                assert!(exposure.offers(&name), "{case}: {name} is named in: {text}");
            }
        }
        assert!(!page(&exposure).contains("{{"), "{case}");
    }
    // Checks the helper: it finds the names.
    assert_eq!(named("use `read`, then NotebookEdit; read it"), ["read", "NotebookEdit"]);
}

/// The texts of a schema: its descriptions, at any depth.
fn descriptions(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| match value.as_str() {
                Some(text) if name == "description" => vec![text.to_owned()],
                _ => descriptions(value),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(descriptions).collect(),
        _ => Vec::new(),
    }
}

/// The lint of help and of errors, over everything that a model reads before its first call.
#[test]
fn texts_for_models_are_read_once() {
    let mut wrong = Vec::new();
    for (case, exposure) in all() {
        let prompts: Vec<Value> =
            prompts::list(&exposure).iter().map(|prompt| json!(prompt)).collect();
        let mut texts = descriptions(&json!(prompts));
        texts.push(instructions::of(&exposure));
        for tool in offered(&exposure) {
            texts.push(tool.description.clone().unwrap_or_default().into_owned());
            texts.extend(descriptions(&json!(tool.input_schema)));
        }
        for line in texts.iter().flat_map(|text| text.lines()) {
            let faults = [prose::faults(line, Place::Text), prose::long_sentences(line)].concat();
            wrong.extend(faults.iter().map(|fault| format!("{case}: {line:?} {fault}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(descriptions(&json!({"a": [{"description": "b", "title": "c"}]})), ["b"]);
}

/// Each condition in a template names a real tool: a typo would hide its lines for ever.
#[test]
fn conditions_name_tools() {
    let templates = TOOLS.iter().map(|tool| tool.description).chain([instructions::TEXT]);
    for template in templates {
        let mut depth = 0;
        for line in template.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix("{{if ").and_then(|rest| rest.strip_suffix("}}"))
            {
                depth += 1;
                let name = name.strip_prefix("not ").unwrap_or(name);
                assert!(name == "compat" || find(name).is_some(), "{line}");
            } else if line == "{{end}}" {
                depth -= 1;
            } else {
                assert!(!line.contains("{{"), "a mark stands alone: {line}");
            }
            assert!(depth >= 0, "{template}");
        }
        assert_eq!(depth, 0, "{template}");
    }
}

/// The text of `python` holds everything a model has to know, in every profile that has it.
#[test]
fn the_text_of_python_says_what_it_has_to() {
    for (case, exposure) in all() {
        let tools = offered(&exposure);
        let Some(python) = tools.iter().find(|tool| tool.name == "python") else { continue };
        let text = python.description.as_deref().unwrap();
        let wanted = [
            "persistent, kernel-backed session",
            "Output streams as progress",
            "artifact://ID, which holds all of it",
            "artifact://ID",
            "It does not change notebook files: use `notebook",
            "Helpers, already there: Shell: bash(cmd)",
            "Git: git_status",
            "plt.show() shows the figure",
            "return it as the last expression, or savefig it",
            "No stdin",
            "`reset: true` starts a new kernel",
            "Example: {",
        ];
        for words in wanted {
            assert!(text.contains(words), "{case}: {words:?} is not in: {text}");
        }
    }
}

/// The names of a tool's arguments; required ones have a mark.
fn names(exposure: &Exposure, tool: &str) -> String {
    let tools = offered(exposure);
    let tool = tools.iter().find(|offered| offered.name == tool).unwrap();
    let names = |schema: &Value| {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let names = schema["properties"].as_object().unwrap().keys().map(|name| {
            if required.contains(&json!(name)) { format!("{name}!") } else { name.clone() }
        });
        names.collect::<Vec<_>>().join(" ")
    };
    let schema = json!(tool.input_schema);
    assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
    let properties = &schema["properties"];
    let list = if properties["edits"].is_null() { "cells" } else { "edits" };
    match &properties[list]["items"] {
        Value::Null => names(&schema),
        cell if cell["properties"].is_null() => names(&schema),
        cell => format!("{} [{}]", names(&schema), names(cell)),
    }
}

/// B:X-01 B:N-10 B:N-30 B:C-02: the arguments of each tool, by name; those of the source documents exactly.
#[test]
fn the_exact_arguments_of_every_tool() {
    let own = [
        (
            "python",
            "code cells path cell session cwd timeout wait reset backend [code! title reset timeout]",
        ),
        ("notebook_read", "path! view cells outputs search against"),
        (
            "notebook_edit",
            "path! ops text drop op cell source type after before at old new all set unset add remove \
             outputs if_hash backup create dry_run run",
        ),
        (
            "notebook_run",
            "path! cells from to parameters with_needed fresh on_error timeout wait output backend kernel",
        ),
        ("result", "id! lines grep json_path context offset raw wait since"),
        ("kernel", "action! session cwd backend kernel"),
        ("inspect", "session path cwd name help code cursor"),
    ];
    let theirs = [
        ("python", "cells code timeout cwd reset kernelId [code! title]"),
        ("eval", "cells! [language! code! title timeout reset]"),
        ("notebook", "action! notebook_path! cell_index! content cell_type"),
        (
            "NotebookEdit",
            "notebook_path! cell_id cell_type new_source edit_mode outputs backup edits create \
             [cell_id new_source cell_type edit_mode]",
        ),
        ("read", "path!"),
        ("edit", "path! old_text! new_text! all"),
        ("write", "path! content!"),
        ("bash", "command! timeout cwd"),
    ];
    for (set, tables) in [
        (ToolSet::Default, vec![&own[..]]),
        (ToolSet::Compat, vec![&theirs[..]]),
        // The only `python` is ours.
        (ToolSet::All, vec![&own[..], &theirs[1..]]),
    ] {
        let exposure = both(set);
        let tables: Vec<&(&str, &str)> = tables.into_iter().flatten().collect();
        for (tool, wanted) in &tables {
            assert_eq!(names(&exposure, tool), *wanted, "{set:?} {tool}");
        }
        let offered: Vec<String> =
            offered(&exposure).iter().map(|tool| tool.name.to_string()).collect();
        assert_eq!(offered, tables.iter().map(|(tool, _)| *tool).collect::<Vec<_>>(), "{set:?}");
    }
}

/// The values that the schemas describe: B:N-10, B:N-30, B:X-01, B:X-02, B:C-02.
#[test]
fn choices_and_limits_are_in_the_schemas() {
    let compat = both(ToolSet::Compat);
    let tools = offered(&compat);
    let of = |tool: &str, pointer: &str| {
        let tool = tools.iter().find(|offered| offered.name == tool).unwrap();
        json!(tool.input_schema).pointer(pointer).cloned().unwrap_or_default()
    };
    let table = [
        ("notebook", "/properties/action/enum", json!(["edit", "insert", "delete"])),
        ("notebook", "/properties/cell_index/type", json!("integer")),
        ("notebook", "/properties/cell_type/enum", json!(["code", "markdown", "raw"])),
        ("NotebookEdit", "/properties/cell_id/type", json!("string")),
        ("NotebookEdit", "/properties/cell_type/enum", json!(["code", "markdown", "raw"])),
        ("NotebookEdit", "/properties/edit_mode/enum", json!(["replace", "insert", "delete"])),
        ("eval", "/properties/cells/items/properties/language/enum", json!(["py"])),
        ("eval", "/properties/cells/minItems", json!(1)),
        (
            "eval",
            "/properties/cells/items/properties/timeout/description",
            json!("Seconds, 1 to 3600, default 30."),
        ),
        (
            "python",
            "/properties/timeout/description",
            json!("Seconds for the whole call, 1 to 600, default 30."),
        ),
        ("bash", "/properties/timeout/description", json!("Seconds, 1 to 600, default 30.")),
    ];
    for (tool, pointer, wanted) in table {
        assert_eq!(of(tool, pointer), wanted, "{tool} {pointer}");
    }
}
