//! Generates the notebooks for runs, the same on every machine, and checks them after a run.
//!
//! Owns their reset before each sample. Must not know goals.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;

use crate::bench::arena::Arena;
use crate::bench::contender::{Contender, DRAWING, NOTEBOOK, SCRIPT};
use crate::bench::measure::{Process, Rounds, Rows};
use crate::bench::notebook_file::{self, settle};

/// Libraries that the analysis imports, which a fork server can import in advance.
pub(in crate::bench) const LIBRARIES: &str = "numpy,pandas,matplotlib.pyplot";

/// The beginning of a typical analysis: imports, a table, two plots.
const ANALYSIS: [&str; 8] = [
    "import numpy as np\nimport pandas as pd",
    "import matplotlib.pyplot as plt",
    "rng = np.random.default_rng(7)\nsize = 20_000",
    "frame = pd.DataFrame({\n    \"key\": rng.integers(0, 40, size),\n    \"when\": pd.date_range(\"2024-01-01\", periods=size, freq=\"min\"),\n    \"value\": rng.normal(size=size),\n})",
    "frame.head()",
    "frame.describe()",
    "fig, ax = plt.subplots(figsize=(7, 4))\nax.plot(frame[\"when\"][:500], frame[\"value\"][:500].cumsum())\nax.set_title(\"a walk\")\nplt.show()",
    "plt.hist(frame[\"value\"], bins=60)\nplt.xlabel(\"value\")\nplt.show()",
];

/// The call that shows a figure in a notebook, and its replacement that draws it in a script.
const SHOW: &str = "plt.show()";
const DRAW: &str = "plt.savefig(\"figure.png\"); plt.close()";

/// A notebook that has never been run.
#[derive(Clone)]
pub(in crate::bench) struct Subject {
    sources: Vec<String>,
    /// The number of cells that show a picture.
    pictures: usize,
    /// The number of displays that the notebook must have; none if they are not counted.
    pub(super) displays: Option<usize>,
}

impl Subject {
    /// Fifty cells with the usual libraries and two plots.
    pub(in crate::bench) fn analysis() -> Subject {
        let mut sources: Vec<String> = ANALYSIS.map(str::to_owned).into();
        sources.extend((sources.len()..50).map(step));
        Subject { sources, pictures: 2, displays: None }
    }

    /// Cells that do almost nothing.
    pub(super) fn trivial(cells: usize) -> Subject {
        let sources = (0..cells).map(|cell| format!("x = {cell}")).collect();
        Subject { sources, pictures: 0, displays: None }
    }

    /// A hundred cells, each with a pause, whose output gives the finished notebook about this size.
    pub(super) fn printing(megabytes: usize, seconds: f64) -> Subject {
        // A line in the file also has its indent, quotes, a comma and the escaped line end.
        let lines = megabytes * 1_000_000 / 100 / 68;
        let text = "the quick brown fox jumps over the lazy dog".to_owned();
        let source = |cell: usize| {
            format!(
                "import time\ntime.sleep({seconds})\nprint(\"\\n\".join(f\"{cell:03} {{n:07}} {text}\" for n in range({lines})))"
            )
        };
        Subject { sources: (0..100).map(source).collect(), pictures: 0, displays: None }
    }

    /// A cell with this many displays, and one with as many calls of `print`.
    pub(super) fn flood(count: usize) -> Subject {
        let sources = vec![
            format!(
                "for n in range({count}): display({{\"text/plain\": f\"{{n:010d}}\"}}, raw=True)"
            ),
            format!("for n in range({count}): print(f\"{{n:09d}}\", flush=True)"),
        ];
        Subject { sources, pictures: 0, displays: Some(count) }
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        notebook_file::write_cells(path, self.sources.iter().map(|source| (source.as_str(), false)))
    }

    /// The same code as a program.
    pub(super) fn script(&self) -> String {
        self.sources.join("\n\n") + "\n"
    }

    /// The same program, with the figures drawn as in a notebook; without a screen, a program shows none.
    pub(super) fn drawing_script(&self) -> String {
        self.script().replace(SHOW, DRAW)
    }

    /// Checks that a notebook contains the results of a run.
    pub(super) fn check(&self, path: &Path) -> Result<(), String> {
        let text = std::fs::read(path).map_err(|error| format!("left no notebook: {error}"))?;
        let notebook: Value = serde_json::from_slice(&text)
            .map_err(|error| format!("left something that is no notebook: {error}"))?;
        let cells = || notebook["cells"].as_array().into_iter().flatten();
        let outputs = || cells().flat_map(|cell| cell["outputs"].as_array().into_iter().flatten());
        let counted = cells().filter(|cell| cell["execution_count"].is_u64()).count();
        let drawn = outputs().filter(|output| output["data"]["image/png"].is_string()).count();
        if outputs().any(|output| output["output_type"] == "error") {
            return Err("a cell failed".to_owned());
        }
        if (counted, drawn) != (self.sources.len(), self.pictures) {
            let (cells, pictures) = (self.sources.len(), self.pictures);
            return Err(format!(
                "left {counted} cells run of {cells}, {drawn} pictures of {pictures}"
            ));
        }
        let displays = outputs().filter(|output| output["output_type"] == "display_data").count();
        match self.displays {
            Some(wanted) if displays != wanted => {
                Err(format!("left {displays} displays of {wanted}"))
            }
            _ => Ok(()),
        }
    }
}

impl Arena {
    /// Resets the folder of a contender: only a new notebook and its scripts are left in it. The folder itself
    /// stays, because a server or a session may work in it.
    pub(super) fn fresh(&self, name: &str, subject: &Subject) -> Result<PathBuf> {
        let dir = self.folder(name);
        std::fs::create_dir_all(&dir)?;
        for entry in std::fs::read_dir(&dir)? {
            std::fs::remove_file(entry?.path())?;
        }
        let file = dir.join(NOTEBOOK);
        subject.write(&file)?;
        std::fs::write(dir.join(SCRIPT), subject.script())?;
        std::fs::write(dir.join(DRAWING), subject.drawing_script())?;
        settle(&dir, &file)?;
        Ok(dir)
    }

    /// Runs whole processes by turns, each on its own notebook.
    pub(in crate::bench) fn run_notebooks(
        &self,
        contenders: &[(Contender, &Subject)],
        rounds: Rounds,
    ) -> Result<Rows> {
        let by_name: BTreeMap<&str, _> =
            contenders.iter().map(|row| (row.0.name, (row.0.leaves, row.1))).collect();
        let processes: Vec<Process> =
            contenders.iter().filter_map(|row| self.process(&row.0, &[])).collect();
        let before = |process: &Process| self.fresh(process.name, by_name[process.name].1);
        let after = |process: &Process| {
            let (leaves, subject) = by_name[process.name];
            let left = leaves.map(|left| self.folder(process.name).join(left));
            Ok(left.map_or(Ok(()), |left| subject.check(&left)))
        };
        self.run_in_turn(&processes, rounds, before, after)
    }
}

/// One of the many small steps of an analysis.
fn step(cell: usize) -> String {
    match cell % 5 {
        0 => format!("part = frame[frame[\"key\"] == {}]\nlen(part)", cell % 40),
        1 => format!("print(\"step {cell}\", round(frame[\"value\"].iloc[{cell}:].mean(), 6))"),
        2 => format!(
            "frame.groupby(\"key\")[\"value\"].agg([\"mean\", \"std\"]).iloc[{}:{}]",
            cell % 30,
            cell % 30 + 5
        ),
        3 => format!("frame[\"c{cell}\"] = frame[\"value\"].rolling({cell}).mean()"),
        _ => format!("total = float(np.sum(np.arange({cell} + 1000) ** 2))\ntotal"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_analysis_has_fifty_cells_and_its_script_draws_both_figures() {
        let subject = Subject::analysis();
        assert_eq!(subject.sources.len(), 50);
        assert_eq!(subject.script().matches(SHOW).count(), subject.pictures);
        let drawn = subject.drawing_script();
        assert_eq!((drawn.matches(SHOW).count(), drawn.matches(DRAW).count()), (0, 2));
    }

    #[test]
    fn a_notebook_counts_as_run_when_every_cell_was_and_none_failed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notebook.ipynb");
        let subject = Subject::trivial(2);
        assert!(subject.check(&path).unwrap_err().contains("left no notebook"));
        subject.write(&path).unwrap();
        assert!(subject.check(&path).unwrap_err().contains("left 0 cells run of 2"));
        let text = std::fs::read_to_string(&path).unwrap();
        let run = text.replace("\"execution_count\": null", "\"execution_count\": 1");
        std::fs::write(&path, &run).unwrap();
        assert_eq!(subject.check(&path), Ok(()));
        let failed = run.replace("\"outputs\": []", "\"outputs\": [{\"output_type\": \"error\"}]");
        std::fs::write(&path, failed).unwrap();
        assert!(subject.check(&path).unwrap_err().contains("failed"));
    }
}
