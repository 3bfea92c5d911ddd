//! Cells of notebooks as resources of the protocol.
//!
//! Owns the form of their addresses. `view/reading.rs` decides how a cell is shown.

use inkcell_engine::notebook::{CellRef, Outputs};
use inkcell_engine::{EngineError, Notebooks};

use super::answer::cleaned;
use super::escapes::unescaped;
use crate::mcp::desk::weight;
use crate::view::{outline, reading};
use crate::words;

/// The address of a cell: its notebook's path, and its id or position.
pub(super) const TEMPLATE: &str = "notebook:{+path}?cell={cell}";

#[derive(PartialEq, Eq, Debug)]
pub(super) struct CellAddress {
    path: String,
    cell: String,
}

impl CellAddress {
    /// Parses an address; none if it is the address of something else.
    pub(super) fn parse(uri: &str) -> Option<CellAddress> {
        let (path, cell) = uri.strip_prefix("notebook:")?.rsplit_once("?cell=")?;
        let text = |part: &str| String::from_utf8(unescaped(part)).ok();
        Some(CellAddress { path: text(path)?, cell: text(cell)? })
    }

    /// Reads the source and the outputs of the cell as a text of about this size at most.
    pub(super) fn read(&self, notebooks: &Notebooks, most: usize) -> Result<String, EngineError> {
        let CellAddress { path, cell } = self;
        let opened = notebooks.read(path)?;
        let index = opened.notebook.find(&CellRef::Text(cell.clone()));
        let index = index.map_err(|error| EngineError::Ref { path: path.clone(), error })?;
        let mut lines = vec![outline::head(path, &opened)];
        lines.extend(reading::lines(&opened, &[index], Outputs::Full));
        let mut text = cleaned(lines.join("\n"));
        let shown = weight::beginning(&text, most).len();
        if shown < text.len() {
            let mark = words::tool::bytes_left_out(text.len() - shown);
            text.truncate(shown);
            text.push_str(&format!("\n{mark}"));
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use inkcell_testkit::notebooks::small;

    use super::*;
    use crate::mcp::tools::files::notebooks;
    use crate::mcp::tools::tests::TestDesk;

    #[test]
    fn an_address_names_a_notebook_and_a_cell() {
        let address = |path: &str, cell: &str| {
            Some(CellAddress { path: path.to_owned(), cell: cell.to_owned() })
        };
        let cases = [
            ("notebook:nb.ipynb?cell=ab12", address("nb.ipynb", "ab12")),
            ("notebook:/home/me/a%20b.ipynb?cell=-1", address("/home/me/a b.ipynb", "-1")),
            ("notebook:why?cell=1.ipynb?cell=%C3%A9", address("why?cell=1.ipynb", "é")),
            ("notebook:100%.ipynb?cell=0", address("100%.ipynb", "0")),
            ("notebook:nb.ipynb", None),
            ("notebook:%ff.ipynb?cell=0", None),
            ("artifact://0123?cell=0", None),
        ];
        for (uri, wanted) in cases {
            assert_eq!(CellAddress::parse(uri), wanted, "{uri}");
        }
    }

    #[tokio::test]
    async fn a_cell_is_read_with_its_outputs_and_inside_the_roots() {
        let desk = TestDesk::on_files();
        desk.put("nb.ipynb", small());
        let read = |uri: &str, most: usize| {
            CellAddress::parse(uri).unwrap().read(&notebooks(&desk.desk), most)
        };
        let whole = read("notebook:nb.ipynb?cell=aaaa1111", 10_000).unwrap();
        assert!(whole.starts_with("nb.ipynb  version "), "{whole}");
        assert!(whole.contains("id:aaaa1111") && whole.contains("x = 1\nprint(x)"), "{whole}");
        assert!(whole.contains("→ output 0: "), "{whole}");
        assert_eq!(read("notebook:nb.ipynb?cell=1", 10_000).unwrap(), whole);
        let cut = read("notebook:nb.ipynb?cell=1", 50).unwrap();
        assert!(cut.ends_with(" bytes left out, the answer would be too large …]"), "{cut}");
        for uri in ["notebook:nb.ipynb?cell=zzzz", "notebook:none.ipynb?cell=0"] {
            assert_eq!(read(uri, 1000).unwrap_err().kind().name(), "not_found", "{uri}");
        }
        assert!(read("notebook:/etc/nb.ipynb?cell=0", 1000).is_err());
    }
}
