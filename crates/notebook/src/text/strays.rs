//! Finds marker lines of scripts in a text that is to become cells.
//!
//! Owns which lines begin a cell in other programs, and when such a line is refused. A script is not virtual text:
//! taken for it, a script would lose the cells whose markers are not known here.

use std::collections::HashSet;

use super::{marker, without_cr};
use crate::document::Notebook;
use crate::error::TextError;

/// How much of a line an error shows.
const SHOWN_CHARS: usize = 60;

/// Lines that begin a cell in the scripts of IPython's old notebooks and of Databricks.
const WHOLE_LINES: [&str; 4] = ["<codecell>", "<markdowncell>", "<rawcell>", "COMMAND ----------"];

/// Whether a line begins a cell in a script and not in virtual text. `# %%time` is a comment about a magic.
pub(crate) fn is_stray_marker(line: &str) -> bool {
    let Some(comment) = without_cr(line).strip_prefix('#') else { return false };
    let comment = comment.trim_matches([' ', '\t']);
    if let Some(tail) = comment.strip_prefix("%%") {
        let is_mark = tail.is_empty() || tail.starts_with([' ', '\t', '[']);
        return is_mark && marker(line).is_none();
    }
    // jupytext's light scripts: `# +`, also with a title, and then a kind or metadata.
    if let Some(tail) = comment.strip_prefix('+') {
        return tail.is_empty() || (tail.starts_with(' ') && tail.ends_with([']', '}']));
    }
    // What nbconvert writes: `# In[7]:`.
    let count = comment.strip_prefix("In[").and_then(|rest| rest.strip_suffix("]:"));
    let is_count = |count: &str| count.chars().all(|c| c.is_ascii_digit() || c == ' ');
    count.is_some_and(is_count) || WHOLE_LINES.contains(&comment)
}

impl Notebook {
    /// Refuses a text with a line that begins a cell of a script: the line would become a part of the cell above it.
    /// In a cell that the text names by number or id, the line is source if the notebook has such a line, or has no
    /// cells yet: then the text was made from a notebook.
    pub fn check_markers(&self, text: &str) -> Result<(), TextError> {
        let mut is_named = None;
        let mut sources = None;
        for (at, line) in text.split('\n').enumerate() {
            if let Some(found) = marker(line) {
                is_named = Some(found.number.is_some() || found.id.is_some());
                continue;
            }
            // A first line that is not a marker is refused elsewhere.
            let Some(is_named) = is_named.filter(|_| is_stray_marker(line)) else { continue };
            let line = without_cr(line);
            let is_source = is_named
                && (self.is_empty()
                    || sources.get_or_insert_with(|| self.stray_markers()).contains(line));
            if !is_source {
                let text = line.chars().take(SHOWN_CHARS).collect();
                return Err(TextError::UnknownMarker { line: at + 1, text });
            }
        }
        Ok(())
    }

    /// Lines of the sources that look like markers of scripts.
    fn stray_markers(&self) -> HashSet<String> {
        let mut found = HashSet::new();
        for cell in self.cells() {
            let source = cell.source().text;
            let lines = source.split('\n').filter(|line| is_stray_marker(line));
            found.extend(lines.map(|line| without_cr(line).to_owned()));
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

    /// The line is named; nothing that a notebook itself shows is refused.
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
        // A wrong first line is reported elsewhere.
        assert_eq!(plain.check_markers("# %%\nx"), Ok(()));
    }
}
