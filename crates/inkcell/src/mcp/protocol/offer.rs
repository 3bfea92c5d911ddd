//! The tools as a client sees them.
//!
//! Owns the parts of a tool for this client: its description without words about hidden tools, its schema, its
//! hints.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::Value;

use crate::mcp::desk::ToolSpec;
use crate::mcp::exposure::Exposure;
use crate::mcp::find;
use crate::settings::Profile;

/// The tools on offer, in their order.
pub(crate) fn offered(exposure: &Exposure) -> Vec<Tool> {
    let specs = exposure.tools.iter().filter_map(|name| find(name));
    specs.map(|spec| tool(spec, exposure)).collect()
}

fn tool(spec: &ToolSpec, exposure: &Exposure) -> Tool {
    let schema = match (spec.schema)(exposure) {
        Value::Object(fields) => fields,
        _ => serde_json::Map::new(),
    };
    let mut hints = ToolAnnotations::with_title(spec.hints.title)
        .read_only(spec.hints.read_only)
        .destructive(spec.hints.destructive)
        .open_world(spec.hints.open_world);
    // A tool is not idempotent unless it says so, and one that only reads need not say so.
    if spec.hints.idempotent && !spec.hints.read_only {
        hints = hints.idempotent(true);
    }
    let description = filled(spec.description, exposure);
    Tool::new(spec.name, description, Arc::new(schema)).with_annotations(hints)
}

/// Fills a template for this client: lines between `{{if NAME}}` and `{{end}}` stay if the tool of that name is
/// offered, those after `{{if not NAME}}` if it is not; `compat` stands for the profile. A line that only holds a
/// mark is dropped. Templates write the name of a tool in backticks, so that a test finds it.
pub(super) fn filled(template: &str, exposure: &Exposure) -> String {
    let holds = |name: &str| match name {
        "compat" => exposure.profile() == Profile::Compat,
        tool => exposure.offers(tool),
    };
    let mut text = String::new();
    let mut shown = vec![true];
    for line in template.lines() {
        let mark = line.trim();
        let is_shown = shown.last().copied().unwrap_or(true);
        if let Some(name) = mark.strip_prefix("{{if ").and_then(|rest| rest.strip_suffix("}}")) {
            let is_met = name.strip_prefix("not ").map_or_else(|| holds(name), |name| !holds(name));
            shown.push(is_shown && is_met);
        } else if mark == "{{end}}" {
            if shown.len() > 1 {
                shown.pop();
            }
        } else if is_shown {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.trim().to_owned()
}

#[cfg(test)]
mod tests;
