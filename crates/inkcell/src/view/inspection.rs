//! Names of a session, as text.
//!
//! Owns the layout. The kernel has already made each value a short, bounded text.

use inkcell_engine::api::{
    Column, Completions, Help, HelperList, InspectionAnswer, TableDigest, Variable, VariableDigest,
    VariableList,
};
use inkcell_engine::output::size;

use crate::words::inspection as words;

/// Formats the answer to an inspection.
pub(crate) fn of(seen: &InspectionAnswer) -> String {
    match seen {
        InspectionAnswer::Variables(list) => variables(list),
        InspectionAnswer::Name(digest) => name(digest),
        InspectionAnswer::Table(digest) => table(digest),
        InspectionAnswer::Help(found) => help(found),
        InspectionAnswer::Helpers(list) => helpers(list),
        InspectionAnswer::Completions(found) => completions(found),
    }
}

fn variables(list: &VariableList) -> String {
    if list.variables.is_empty() {
        return words::NO_VARIABLES.to_owned();
    }
    let mut lines: Vec<String> = list.variables.iter().map(line).collect();
    let shown = lines.len() as u64;
    if shown < list.total {
        lines.push(words::some_variables(shown, list.total));
    }
    if !list.complete {
        lines.push(words::NO_TIME.to_owned());
    }
    lines.join("\n")
}

/// Formats one variable as a line.
fn line(variable: &Variable) -> String {
    let preview = variable.preview.iter().map(|preview| format!(" = {preview}"));
    format!("{}: {}{}", variable.name, kind(variable), preview.collect::<String>())
}

/// The type with its size, as far as known.
fn kind(variable: &Variable) -> String {
    let Variable { type_name, shape, length, .. } = variable;
    // The size of a module or a function excludes its referents, so it tells the reader nothing.
    let is_code = matches!(&*variable.kind, "module" | "function" | "class");
    let bytes = variable.bytes.filter(|_| !is_code);
    let mut facts: Vec<String> = Vec::new();
    if let Some(shape) = shape {
        facts.push(shape.iter().map(u64::to_string).collect::<Vec<_>>().join("×"));
    }
    facts.extend(length.map(|length| format!("length {length}")));
    facts.extend(bytes.map(size));
    match &*facts {
        [] => type_name.clone(),
        facts => format!("{type_name} ({})", facts.join(", ")),
    }
}

fn name(digest: &VariableDigest) -> String {
    let VariableDigest { variable, dtype, inside, items, total, table: figures } = digest;
    let dtype = dtype.iter().map(|dtype| format!(", elements {dtype}")).collect::<String>();
    let mut lines = vec![format!("{}: {}{dtype}", variable.name, kind(variable))];
    if let Some(figures) = figures {
        lines.push(table(figures));
        return lines.join("\n");
    }
    lines.extend(variable.preview.clone());
    if let Some(inside) = inside.as_ref().filter(|_| *total > 0) {
        lines.push(format!("{inside} ({total}):"));
        lines.extend(items.iter().map(|item| {
            let preview = item.preview.iter().map(|preview| format!(" = {preview}"));
            format!("  {}: {}{}", item.name, item.type_name, preview.collect::<String>())
        }));
        let left = total.saturating_sub(items.len() as u64);
        if left > 0 {
            lines.push(format!("  [{left} more]"));
        }
    }
    lines.join("\n")
}

fn table(digest: &TableDigest) -> String {
    let TableDigest { rows, width, columns, head, sampled, complete, .. } = digest;
    let mut lines = vec![format!("{rows} rows, {width} columns:")];
    lines.extend(columns.iter().map(column));
    let left = width.saturating_sub(columns.len() as u64);
    if left > 0 {
        lines.push(format!("  [{left} more columns]"));
    }
    if !head.is_empty() {
        lines.push("first rows:".to_owned());
        lines.extend(head.iter().map(|row| format!("  {}", row.join(" | "))));
    }
    if let Some(sampled) = sampled {
        lines.push(words::sampled(*sampled));
    }
    if !complete {
        lines.push(words::COLUMNS_LEFT_OUT.to_owned());
    }
    lines.join("\n")
}

fn column(column: &Column) -> String {
    let mut facts: Vec<String> = column.dtype.iter().cloned().collect();
    facts.extend(column.nulls.filter(|nulls| *nulls > 0).map(|nulls| format!("{nulls} missing")));
    if let (Some(min), Some(max)) = (&column.min, &column.max) {
        facts.push(format!("{min} to {max}"));
    }
    if let Some((shortest, longest)) = column.lengths {
        facts.push(format!("lengths {shortest} to {longest}"));
    }
    facts.extend(column.distinct.map(|distinct| format!("{distinct} distinct")));
    format!("  {}: {}", column.name, facts.join(", "))
}

fn help(found: &Help) -> String {
    let mut lines = vec![match &found.signature {
        Some(signature) => signature.clone(),
        None => format!("{}: {}", found.name, found.type_name),
    }];
    lines.extend(found.doc.clone());
    if let Some(file) = &found.file {
        let line = found.line.map(|line| format!(":{line}")).unwrap_or_default();
        lines.push(format!("defined in {file}{line}"));
    }
    lines.extend(found.source.clone());
    lines.join("\n")
}

fn helpers(list: &HelperList) -> String {
    let mut lines = Vec::new();
    let mut category = None;
    for helper in &list.helpers {
        if category != Some(&helper.category) {
            category = Some(&helper.category);
            lines.extend(helper.category.iter().map(|category| format!("{category}:")));
        }
        let signature = helper.signature.as_deref().unwrap_or_default();
        let doc = helper.doc.as_deref().unwrap_or_default();
        let missing = if helper.installed { "" } else { words::NOT_INSTALLED };
        lines.push(format!("  {}{signature}  {doc}{missing}", helper.name));
    }
    lines.join("\n")
}

fn completions(found: &Completions) -> String {
    if found.matches.is_empty() {
        return words::NO_COMPLETIONS.to_owned();
    }
    let (start, end) = (found.start, found.end);
    let mut lines = vec![words::replaces(start, end)];
    lines.extend(found.matches.iter().map(|one| format!("  {} ({})", one.text, one.kind)));
    let left = found.total.saturating_sub(found.matches.len() as u64);
    if left > 0 {
        lines.push(format!("  [{left} more]"));
    }
    lines.join("\n")
}
