//! The notebooks that are run: made here, the same on every machine, and what must be in them afterwards.
//!
//! Must not know who runs them or how long that takes.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::bench::notebook_file::{lines, to_text, with_cells};

/// What the analysis imports, which a fork server can import ahead.
pub(in crate::bench) const LIBRARIES: &str = "numpy,pandas,matplotlib.pyplot";

/// The beginning of an analysis as people write them: imports, a table, two plots.
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

/// What shows a figure in a notebook, and what draws it in a script.
const SHOW: &str = "plt.show()";
const DRAW: &str = "plt.savefig(\"figure.png\"); plt.close()";

/// A notebook that has never been run.
#[derive(Clone)]
pub(in crate::bench) struct Subject {
    sources: Vec<String>,
    /// How many of its cells show a picture.
    pictures: usize,
    /// How many displays it has to have; none where that is not counted.
    pub(super) displays: Option<usize>,
}

impl Subject {
    /// Fifty cells with the usual libraries and two plots.
    pub(in crate::bench) fn analysis() -> Subject {
        let mut sources: Vec<String> = ANALYSIS.map(str::to_owned).into();
        sources.extend((sources.len()..50).map(step));
        Subject { sources, pictures: 2, displays: None }
    }

    /// Cells that do next to nothing.
    pub(super) fn trivial(cells: usize) -> Subject {
        let sources = (0..cells).map(|cell| format!("x = {cell}")).collect();
        Subject { sources, pictures: 0, displays: None }
    }

    /// A hundred cells that print so much that the notebook has about this size in the end, each after a while.
    pub(super) fn printing(megabytes: usize, seconds: f64) -> Subject {
        // In the file a line also has its indent, quotes, a comma and the escaped line end.
        let lines = megabytes * 1_000_000 / 100 / 68;
        let text = "the quick brown fox jumps over the lazy dog".to_owned();
        let source = |cell: usize| {
            format!(
                "import time\ntime.sleep({seconds})\nprint(\"\\n\".join(f\"{cell:03} {{n:07}} {text}\" for n in range({lines})))"
            )
        };
        Subject { sources: (0..100).map(source).collect(), pictures: 0, displays: None }
    }

    /// A cell with so many displays, and one with as many calls of `print`.
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
        let cell = |(index, source): (usize, &String)| {
            json!({"cell_type": "code", "execution_count": null, "id": format!("cell-{index:03}"),
                "metadata": {}, "outputs": [], "source": lines(source)})
        };
        let cells: Vec<Value> = self.sources.iter().enumerate().map(cell).collect();
        std::fs::write(path, to_text(&with_cells(&cells))?)
            .with_context(|| format!("cannot make {}", path.display()))
    }

    /// The same code as a program.
    pub(super) fn script(&self) -> String {
        self.sources.join("\n\n") + "\n"
    }

    /// The same, with the figures drawn as a notebook has them drawn; a program without a screen shows none.
    pub(super) fn drawing_script(&self) -> String {
        self.script().replace(SHOW, DRAW)
    }

    /// Why a notebook does not hold what running it has to leave there, if so.
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
