//! The text of a notebook in colours, for a terminal: markers, prose and code can be told apart at a glance.
//!
//! Owns the roles of lines. It must not change a letter.

use inkcell_engine::notebook::{CellKind, parse_text};

use super::execution::highlighted;
use super::paint::{Line, Role};

/// The text as lines. What stands before the first marker, in a part of a text, has no colours.
pub(crate) fn painted(text: &str, is_python: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    let (mut kind, mut body) = (None, Vec::new());
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        let Some(next) = marked(line) else {
            body.push(line);
            continue;
        };
        lines.extend(cell(kind, &std::mem::take(&mut body), is_python));
        kind = Some(next);
        lines.push(marker(line));
    }
    lines.extend(cell(kind, &body, is_python));
    lines
}

/// The lines of a cell.
pub(crate) fn cell(kind: Option<CellKind>, body: &[&str], is_python: bool) -> Vec<Line> {
    match kind {
        Some(CellKind::Code) if is_python => {
            let mut lines = highlighted(&body.join("\n"));
            // The highlighter takes an empty last line for the end of the line before it.
            lines.resize(body.len(), Line::default());
            lines
        }
        Some(CellKind::Markdown) => body.iter().map(|line| prose(line)).collect(),
        _ => body.iter().map(|line| Line::of(Role::Plain, line)).collect(),
    }
}

fn prose(line: &str) -> Line {
    let level = line.len() - line.trim_start_matches('#').len();
    let is_heading = (1..=6).contains(&level) && line[level..].starts_with(' ');
    Line::of(if is_heading { Role::Title } else { Role::Plain }, line)
}

/// The kind of the cell that begins with this line, if it is a marker.
fn marked(line: &str) -> Option<CellKind> {
    let is_candidate = line.starts_with("# %%");
    let cells = is_candidate.then(|| parse_text(line).ok())??;
    cells.first().map(|cell| cell.kind)
}

/// A marker: the kind in bold, the rest dim.
fn marker(line: &str) -> Line {
    let (start, end) = (line.find('[').unwrap_or(0), line.find(']').map_or(0, |at| at + 1));
    let mut marker = Line::of(Role::Dim, &line[..start]);
    marker.push(Role::Strong, line.get(start..end).unwrap_or_default());
    marker.push(Role::Dim, line.get(end.max(start)..).unwrap_or_default());
    marker
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Issue 24: every cell has a marker that stands out, headings are bold, code is highlighted.
    #[test]
    fn kinds_of_lines_have_roles_of_their_own() {
        let text = "x = 1\n# %% [markdown] cell:0\n# One\n#two\n# %% [code] cell:1\nif x:\n";
        let roles = |line: &Line| line.spans().iter().map(|span| span.role()).collect::<Vec<_>>();
        let lines: Vec<Vec<Role>> = painted(text, true).iter().map(roles).collect();
        assert_eq!(
            lines,
            [
                vec![Role::Plain],
                vec![Role::Dim, Role::Strong, Role::Dim],
                vec![Role::Title],
                vec![Role::Plain],
                vec![Role::Dim, Role::Strong, Role::Dim],
                vec![Role::Keyword, Role::Plain],
            ]
        );
        assert_eq!(roles(&painted(text, false)[5]), [Role::Plain], "another language");
    }

    proptest! {
        #[test]
        fn no_letter_is_changed(
            text in "((# %% \\[(code|markdown|raw)\\]( cell:1)?|[a-z# '\"(\\]é]{0,9})\n){0,9}",
        ) {
            let lines: Vec<String> = painted(&text, true).iter().map(Line::text).collect();
            let text = text.strip_suffix('\n').unwrap_or(&text);
            prop_assert_eq!(lines.join("\n"), text);
        }
    }
}
