//! The common beginning of the rows of one notebook: the cells before their values, run once, in a kernel that is
//! copied.
//!
//! Owns where these cells end, and the requests for them and for the rest. The kernel makes the copies, and says
//! whether it can.

use std::path::{Path, PathBuf};

use inkcell_engine::api::{
    CellChoice, CellSide, KernelMode, KernelRequest, KernelWishes, RunStart, SessionRef,
};
use inkcell_engine::notebook::{CellKind, Notebook, Parameters};
use inkcell_engine::registry::SessionName;
use inkcell_engine::{Notebooks, forget_runs, system_random};

use crate::batch::{RowId, Shared};
use crate::host::{Ask, Attention, RunAsk};
use crate::scratch::Scratch;
use crate::words;

/// The folder for such beginnings, in the state folder.
const FOLDERS: &str = "prefixes";

/// The common beginning of some rows. Dropping it leaves nothing of it on disk.
pub(super) struct Prefix {
    pub(super) rows: Vec<RowId>,
    pub(super) input: String,
    session: SessionName,
    notebooks: Notebooks,
    _folder: Scratch,
    /// The notebook with the outputs of its beginning.
    file: PathBuf,
    /// The last cell of the beginning.
    last: usize,
    /// The folder in which the notebook works.
    cwd: PathBuf,
    /// Set when the beginning has run; the requests for rows depend on it.
    pub(super) is_there: bool,
}

impl Drop for Prefix {
    fn drop(&mut self) {
        // No code reads this file again.
        forget_runs(&self.notebooks, &self.file);
    }
}

impl Prefix {
    /// The beginning that these rows share, or the reason why they share none.
    pub(super) fn of(
        shared: &Shared,
        real: &Path,
        notebooks: &Notebooks,
        state_dir: &Path,
    ) -> Result<Prefix, String> {
        let opened = notebooks.read(&shared.input).map_err(|error| error.to_string())?;
        let last = last_shared(&opened.notebook)?;
        let folder =
            Scratch::make(state_dir, FOLDERS).map_err(|error| words::batch::no_place(&error))?;
        let file = folder.path().join(real.file_name().unwrap_or_default());
        let cwd = real.parent().map_or_else(PathBuf::new, Path::to_owned);
        Ok(Prefix {
            rows: shared.rows.iter().copied().map(RowId).collect(),
            input: shared.input.clone(),
            session: SessionName(format!("prefix-{:016x}", system_random())),
            notebooks: notebooks.clone(),
            _folder: folder,
            file,
            last,
            cwd,
            is_there: false,
        })
    }

    /// The request to run it, made from the request for one of its rows.
    pub(super) fn ask(&self, row: &RunAsk) -> RunAsk {
        let mut ask = row.clone();
        let request = &mut ask.request;
        request.parameters = Parameters::default();
        request.output = Some(self.file.display().to_string());
        request.cells =
            CellChoice { side: Some(CellSide::UpTo(self.last)), ..CellChoice::default() };
        request.session = Some(self.session.clone());
        request.mode = KernelMode::Session;
        request.cwd.get_or_insert_with(|| self.cwd.clone());
        ask
    }

    /// The request that finds out whether its kernel can be copied.
    pub(super) fn copies(&self) -> Ask {
        Ask::Copies(self.session.clone())
    }

    /// The request for a row: the rest, in a copy.
    pub(super) fn rest(&self, row: &RunAsk) -> RunAsk {
        let mut ask = row.clone();
        let request = &mut ask.request;
        request.path = self.file.display().to_string();
        request.cells =
            CellChoice { side: Some(CellSide::After(self.last)), ..CellChoice::default() };
        request.start = RunStart::Copied;
        request.cwd.get_or_insert_with(|| self.cwd.clone());
        ask.copy_of = Some(self.input.clone());
        ask.copied_from = Some(self.session.clone());
        // The remarks about the kernel were made with the beginning.
        ask.attention = Attention::Quiet;
        ask
    }

    /// The request to end its kernel.
    pub(super) fn end(&self) -> Ask {
        Ask::Kernel(KernelRequest::Stop(SessionRef {
            session: Some(self.session.clone()),
            cwd: self.cwd.clone(),
            wanted: KernelWishes::default(),
        }))
    }
}

/// The last cell that no value can affect: the one with the defaults, after which values are inserted, or the one
/// before the values of an earlier run. Later cells may use the values in ways that cannot be seen, and are not
/// shared.
fn last_shared(notebook: &Notebook) -> Result<usize, String> {
    let last = match (notebook.injected_cell(), notebook.defaults_cell()) {
        (Some(values), _) => values.checked_sub(1),
        (None, defaults) => defaults,
    };
    let nothing = || words::batch::NOTHING_BEFORE.to_owned();
    let last = last.ok_or_else(nothing)?;
    let has_code = |from: usize, to: usize| {
        (from..to).filter_map(|at| notebook.cell(at)).any(|cell| {
            cell.kind() == Some(CellKind::Code) && !cell.source().text.trim().is_empty()
        })
    };
    if !has_code(0, last + 1) {
        return Err(nothing());
    }
    if !has_code(last + 1, notebook.len()) {
        return Err(words::batch::NOTHING_AFTER.to_owned());
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DEFAULTS: &str = "parameters";
    const VALUES: &str = "injected-parameters";

    fn notebook(cells: &[(&str, &str)]) -> Notebook {
        let cells: Vec<_> = cells
            .iter()
            .enumerate()
            .map(|(at, (source, tag))| {
                json!({"cell_type": "code", "id": format!("c{at}"), "source": source, "outputs": [],
                       "execution_count": null, "metadata": {"tags": [tag]}})
            })
            .collect();
        let text = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
        Notebook::parse(text.to_string().into_bytes()).unwrap()
    }

    #[test]
    fn the_beginning_ends_with_the_defaults() {
        let none = "no cell stands before the values; tag one with parameters";
        type Cells = &'static [(&'static str, &'static str)];
        let table: [(Cells, Result<usize, &str>); 7] = [
            (&[("load", ""), ("y = 1", DEFAULTS), ("use", "")], Ok(1)),
            (&[("load", ""), ("y = 1", DEFAULTS), ("y = 2", VALUES), ("use", "")], Ok(1)),
            (&[("load", ""), ("y = 2", VALUES), ("use", "")], Ok(0)),
            (&[("y = 2", VALUES), ("use", "")], Err(none)),
            (&[("load", ""), ("use", "")], Err(none)),
            (&[(" ", DEFAULTS), ("use", "")], Err(none)),
            (&[("load", ""), ("y = 1", DEFAULTS)], Err("no cell stands after the values")),
        ];
        for (cells, wanted) in table {
            let found = last_shared(&notebook(cells));
            assert_eq!(found.as_ref().map_err(String::as_str).copied(), wanted, "{cells:?}");
        }
    }
}
