//! Splits a text into cells, and refuses scripts.
//!
//! Owns which lines belong to which cell. A script is not virtual text: read as such, it would lose the cells whose
//! markers are unknown here.

use std::collections::HashSet;

use crate::cell::CellKind;
use crate::document::Notebook;
use crate::error::TextError;
use crate::marker::{is_stray_marker, parse_marker, strip_cr, unescape};
/// The most characters of a line that an error quotes.
const SHOWN_CHARS: usize = 60;

/// One cell of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TextCell {
    /// The kind in its marker.
    pub kind: CellKind,
    /// The cell number in its marker, from 0, if any.
    pub number: Option<usize>,
    /// The id in its marker, if any.
    pub id: Option<String>,
    /// The lines below its marker, with escapes undone.
    pub source: String,
}

/// Splits a text into cells. Only the empty text has no cells.
pub fn parse_text(text: &str) -> Result<Vec<TextCell>, TextError> {
    let mut cells: Vec<TextCell> = Vec::new();
    if text.is_empty() {
        return Ok(cells);
    }
    // If the first line ends in CR LF, an editor saved the whole text that way, and carriage returns are not part of
    // the sources. In any other text they are.
    let is_crlf = text.split('\n').next().is_some_and(|line| line.ends_with('\r'));
    let mut has_line = false;
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        if let Some(found) = parse_marker(line) {
            let id = found.id.map(str::to_owned);
            let source = String::new();
            cells.push(TextCell { kind: found.kind, number: found.number, id, source });
            has_line = false;
            continue;
        }
        let Some(cell) = cells.last_mut() else {
            return Err(TextError::FirstLine { found: quoted(line) });
        };
        if has_line {
            cell.source.push('\n');
        }
        has_line = true;
        // The last line has no line feed, so its carriage return belongs to the source.
        let line = if is_crlf && lines.peek().is_some() { strip_cr(line) } else { line };
        match unescape(line) {
            Some(line) => cell.source.push_str(&line),
            None => cell.source.push_str(line),
        }
    }
    Ok(cells)
}

/// A line as an error quotes it.
fn quoted(line: &str) -> String {
    strip_cr(line).chars().take(SHOWN_CHARS).collect()
}

impl Notebook {
    /// Refuses a text with a line that begins a cell of a script: the line would become part of the cell above it.
    /// In a cell that the text names by number or id, the line is source if the notebook contains such a line or has
    /// no cells yet, because then the text was made from a notebook.
    pub fn check_markers(&self, text: &str) -> Result<(), TextError> {
        let mut is_named = None;
        let mut sources = None;
        for (at, line) in text.split('\n').enumerate() {
            if let Some(found) = parse_marker(line) {
                is_named = Some(found.number.is_some() || found.id.is_some());
                continue;
            }
            // `parse_text` refuses a first line that is not a marker.
            let Some(is_named) = is_named.filter(|_| is_stray_marker(line)) else { continue };
            let line = strip_cr(line);
            let is_source = is_named
                && (self.is_empty()
                    || sources.get_or_insert_with(|| self.stray_markers()).contains(line));
            if !is_source {
                return Err(TextError::UnknownMarker { line: at + 1, text: quoted(line) });
            }
        }
        Ok(())
    }

    /// Collects the lines of all sources that look like markers of scripts.
    fn stray_markers(&self) -> HashSet<String> {
        let mut found = HashSet::new();
        for cell in self.cells() {
            let source = cell.source().text;
            let lines = source.split('\n').filter(|line| is_stray_marker(line));
            found.extend(lines.map(|line| strip_cr(line).to_owned()));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkcell_testkit::notebooks;

    fn book(source: &str) -> Notebook {
        let text = notebooks::jupyter(&[("code", "ab12cd34", source)]);
        Notebook::parse(text.into_bytes()).unwrap()
    }

    /// Issue 21, 9: the error names the line; text that the notebook itself produces always passes.
    #[test]
    fn a_marker_of_a_script_is_refused_where_it_is_no_source() {
        let refused = |book: &Notebook, text: &str, line: usize, shown: &str| {
            let wanted = TextError::UnknownMarker { line, text: shown.to_owned() };
            assert_eq!(book.check_markers(text), Err(wanted), "{text:?}");
        };
        let plain = book("x = 1");
        refused(&plain, "# %% [markdown]\n# Title\n\n# %%\nx = 1", 4, "# %%");
        refused(&plain, "# %% [code] cell:0\nx = 1\r\n#%% two\r\ny", 3, "#%% two");
        refused(&Notebook::empty(), "# %% [code]\n# %% [md]", 2, "# %% [md]");
        let marked = book("# %%\nx = 1\n");
        refused(&marked, "# %% [code]\n# %%\n", 2, "# %%");
        refused(&marked, "# %% [code] cell:0\n# %% other", 2, "# %% other");
        for ids in [crate::MarkerIds::Auto, crate::MarkerIds::Off] {
            let text = marked.to_text(ids).unwrap();
            assert_eq!(marked.check_markers(&text), Ok(()));
            assert_eq!(Notebook::empty().check_markers(&text), Ok(()));
        }
        // `parse_text` reports a wrong first line.
        assert_eq!(plain.check_markers("# %%\nx"), Ok(()));
    }
}
