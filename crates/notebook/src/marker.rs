//! Lines that begin a cell: markers of virtual text, their escape, and markers of scripts.
//!
//! Owns that grammar, over single lines. It must not know notebooks.

use crate::cell::{CellKind, is_valid_id};

/// The parts of a marker line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Marker<'a> {
    pub(crate) kind: CellKind,
    /// `cell:N`; a number too large for any notebook becomes `usize::MAX`.
    pub(crate) number: Option<usize>,
    pub(crate) id: Option<&'a str>,
}

/// Splits `# %%` with two or more `%` off a line; returns the number of `%` and the rest.
fn split_percents(line: &str) -> Option<(usize, &str)> {
    let rest = line.strip_prefix("# ")?;
    let percents = rest.bytes().take_while(|byte| *byte == b'%').count();
    (percents >= 2).then(|| (percents, &rest[percents..]))
}

/// Parses the part of a marker behind its percent signs.
fn parse_marker_tail(tail: &str) -> Option<Marker<'_>> {
    let rest = tail.strip_prefix(" [")?;
    let (name, rest) = rest.split_once(']')?;
    let kind = CellKind::from_name(name)?;
    let mut marker = Marker { kind, number: None, id: None };
    let mut rest = rest;
    if let Some(after) = rest.strip_prefix(" cell:") {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return None;
        }
        marker.number = Some(after[..digits].parse().unwrap_or(usize::MAX));
        rest = &after[digits..];
    }
    if let Some(id) = rest.strip_prefix(" id:") {
        if !is_valid_id(id) {
            return None;
        }
        marker.id = Some(id);
        rest = "";
    }
    rest.is_empty().then_some(marker)
}

/// Drops a carriage return at the end of a line, so that CR LF and LF lines compare equal.
pub(crate) fn strip_cr(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

/// Parses a marker line; none for any other line.
pub(crate) fn parse_marker(line: &str) -> Option<Marker<'_>> {
    match split_percents(strip_cr(line))? {
        (2, tail) => parse_marker_tail(tail),
        _ => None,
    }
}

/// True for a source line that would be read as a marker or as an escaped marker.
fn looks_like_marker(line: &str) -> bool {
    split_percents(strip_cr(line)).is_some_and(|(_, tail)| parse_marker_tail(tail).is_some())
}

/// Appends a source and escapes every line that would be read as a marker.
pub(crate) fn escape_into(out: &mut String, source: &str) {
    for (at, line) in source.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        if looks_like_marker(line) {
            out.push_str("# %");
            out.push_str(&line[2..]);
        } else {
            out.push_str(line);
        }
    }
}

/// Undoes the escape of a line; none for a line that is not escaped.
pub(crate) fn unescape(line: &str) -> Option<String> {
    let (percents, _) = split_percents(strip_cr(line))?;
    (percents >= 3 && looks_like_marker(line)).then(|| format!("# {}", &line[3..]))
}

/// Lines that begin a cell in scripts of IPython's old notebooks and of Databricks.
const WHOLE_LINES: [&str; 4] = ["<codecell>", "<markdowncell>", "<rawcell>", "COMMAND ----------"];

/// True for a line that begins a cell in scripts but not in virtual text. `# %%time` is a comment about a
/// magic.
pub(crate) fn is_stray_marker(line: &str) -> bool {
    let Some(comment) = strip_cr(line).strip_prefix('#') else { return false };
    let comment = comment.trim_matches([' ', '\t']);
    if let Some(tail) = comment.strip_prefix("%%") {
        let is_mark = tail.is_empty() || tail.starts_with([' ', '\t', '[']);
        return is_mark && parse_marker(line).is_none();
    }
    // jupytext's light scripts: `# +`, optionally with a title and then a kind or metadata.
    if let Some(tail) = comment.strip_prefix('+') {
        return tail.is_empty() || (tail.starts_with(' ') && tail.ends_with([']', '}']));
    }
    // nbconvert writes `# In[7]:`.
    let count = comment.strip_prefix("In[").and_then(|rest| rest.strip_suffix("]:"));
    let is_count = |count: &str| count.chars().all(|c| c.is_ascii_digit() || c == ' ');
    count.is_some_and(is_count) || WHOLE_LINES.contains(&comment)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 21, 9: the markers of jupytext, nbconvert, IPython's old notebooks and Databricks.
    #[test]
    fn markers_of_scripts_are_told_from_comments_and_from_ours() {
        let percent =
            ["# %%", "#%%", "# %% title", "# %% [md]", "#  %% [code]", "# %%\r", "# %%[code]"];
        let others = ["# In[7]:", "# In[ ]:", "# <codecell>", "# COMMAND ----------", "# +\r"];
        let light = ["# + [markdown]", "# + {\"tags\": []}", "# + tags=[\"x\"]", "# + a [md]"];
        for line in percent.into_iter().chain(others).chain(light) {
            assert!(is_stray_marker(line), "{line:?}");
        }
        let comments =
            ["# %%time", "# %%%", " # %%", "x # %%", "# %", "# + 1", "# + [ ] todo", "# In[x]:"];
        for line in comments.into_iter().chain(["# %% [code]", "# %% [raw] cell:1\r"]) {
            assert!(!is_stray_marker(line), "{line:?}");
        }
    }
}
