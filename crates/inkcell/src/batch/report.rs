//! The result of a batch, for people and programs.
//!
//! Owns the shape of the report, its words and the exit code. It must not know how rows were run.

use std::collections::HashSet;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::plan::Row;
use crate::exit::Exit;
use crate::output::count;
use crate::words;

/// The whole result. Counts are computed from the rows.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct BatchReport {
    pub(crate) rows: Vec<RowReport>,
    pub(crate) took: Duration,
    /// The start of the batch, in RFC 3339.
    pub(crate) began: String,
    /// The number of rows that ran at once.
    pub(crate) jobs: usize,
    pub(crate) stopped: Option<StopReason>,
    /// Remarks for the reader of the report.
    pub(crate) notes: Vec<String>,
}

/// The reason why not every row was begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StopReason {
    ByFailure,
    BySignal,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RowReport {
    pub(crate) row: Row,
    pub(crate) fate: Fate,
    /// All tries of the row, the first one first.
    pub(crate) tries: Vec<Try>,
}

/// The final state of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fate {
    Ok,
    /// Cells failed, and `--allow-errors` let it go on.
    FailedCells,
    Failed,
    /// The user stopped it.
    Cancelled,
    /// An earlier run of the batch had finished it.
    Unchanged,
    /// The row was never begun.
    NotRun,
}

/// One try of a row.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Try {
    /// The status in the words of `inkcell run --json`.
    pub(crate) status: &'static str,
    #[serde(serialize_with = "code")]
    pub(crate) exit: Exit,
    #[serde(serialize_with = "seconds", rename = "seconds")]
    pub(crate) took: Duration,
    /// The number of cells that ran.
    pub(crate) cells: usize,
    /// The number of failed cells that the notebook does not allow to fail.
    pub(crate) failed_cells: usize,
    pub(crate) error: Option<Trouble>,
    pub(crate) notes: Vec<Note>,
}

/// A remark about a run, beside its error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Note {
    pub(crate) text: String,
    /// True if something that ran is not in the file.
    pub(crate) is_loss: bool,
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}

/// The reason why a row did not end well.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Trouble {
    /// A word or two, such as the name of the exception.
    pub(crate) kind: String,
    /// The reason in one line.
    pub(crate) message: String,
    /// The index of the cell, if a cell failed.
    pub(crate) cell: Option<usize>,
    /// The full text, such as a traceback.
    pub(crate) details: String,
}

/// A line of the report for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ReportLine {
    pub(crate) tone: Tone,
    pub(crate) text: String,
}

/// The subject of a line of the report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tone {
    Bad,
    Counts,
    Plain,
}

fn code<S: Serializer>(exit: &Exit, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u8(*exit as u8)
}

fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}

/// The number of rows for each fate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub(crate) struct Counts {
    pub(crate) all: usize,
    pub(crate) ok: usize,
    pub(crate) with_failed_cells: usize,
    pub(crate) failed: usize,
    pub(crate) cancelled: usize,
    pub(crate) unchanged: usize,
    pub(crate) not_run: usize,
    /// The failed cells of all rows.
    pub(crate) failed_cells: usize,
}

impl RowReport {
    /// The last try, which decides.
    pub(crate) fn last(&self) -> Option<&Try> {
        self.tries.last()
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "path": self.row.input,
            "written": self.row.output.as_ref().unwrap_or(&self.row.input),
            "parameters": self.row.parameters,
            "status": self.fate,
            "tries": self.tries,
        })
    }
}

impl BatchReport {
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts { all: self.rows.len(), ..Counts::default() };
        for row in &self.rows {
            let count = match row.fate {
                Fate::Ok => &mut counts.ok,
                Fate::FailedCells => &mut counts.with_failed_cells,
                Fate::Failed => &mut counts.failed,
                Fate::Cancelled => &mut counts.cancelled,
                Fate::Unchanged => &mut counts.unchanged,
                Fate::NotRun => &mut counts.not_run,
            };
            *count += 1;
            counts.failed_cells += row.last().map_or(0, |last| last.failed_cells);
        }
        counts
    }

    /// The exit code: that of the failed rows if they agree, else the one for failed code.
    pub(crate) fn exit(&self) -> Exit {
        let failed = self.rows.iter().filter(|row| row.fate == Fate::Failed);
        let mut codes = failed.map(|row| row.last().map_or(Exit::Failed, |last| last.exit));
        match codes.next() {
            None if self.stopped == Some(StopReason::BySignal) => Exit::Failed,
            None => Exit::Ok,
            Some(first) if codes.all(|other| other == first) => first,
            Some(_) => Exit::Failed,
        }
    }

    /// The report as JSON. Its keys are those of `inkcell run --json` where possible.
    pub(crate) fn to_json(&self) -> Value {
        let counts = self.counts();
        let status = match self.stopped {
            Some(StopReason::BySignal) => "cancelled",
            _ if counts.failed > 0 => "error",
            _ => "ok",
        };
        json!({
            "event": "batch_finished",
            "status": status,
            "exit": self.exit() as u8,
            "began": self.began,
            "seconds": self.took.as_secs_f64(),
            "jobs": self.jobs,
            "counts": counts,
            "notebooks": self.rows.iter().map(RowReport::to_json).collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }

    /// The report for people: the failures, then the counts. `time` formats a duration.
    pub(crate) fn lines(&self, time: impl Fn(Duration) -> String) -> Vec<ReportLine> {
        let mut lines = Vec::new();
        let bad = |text: String| ReportLine { tone: Tone::Bad, text };
        let plain = |text: String| ReportLine { tone: Tone::Plain, text };
        for row in &self.rows {
            let again = match row.tries.len() {
                0 | 1 => "",
                _ if row.fate == Fate::Ok => words::batch::SECOND_TRY,
                _ => " twice",
            };
            let name = row.row.name();
            match (row.fate, row.last().and_then(|last| last.error.as_ref())) {
                (Fate::Failed, Some(trouble)) => {
                    lines.push(bad(format!("failed{again}: {name}: {}", trouble.message)));
                }
                (Fate::Failed, None) => lines.push(bad(format!("failed{again}: {name}"))),
                (Fate::FailedCells, Some(trouble)) => {
                    let failed = row.last().map_or(0, |last| last.failed_cells);
                    let failed = count(failed, "failed cell");
                    lines.push(bad(format!("{failed}{again}: {name}: {}", trouble.message)));
                }
                (Fate::Ok, _) if !again.is_empty() => {
                    lines.push(plain(format!("ok{again}: {name}")));
                }
                _ => {}
            }
        }
        let counts = self.counts();
        let inputs: HashSet<&str> = self.rows.iter().map(|row| row.row.input.as_str()).collect();
        // A notebook with several values is run several times.
        let what = match counts.all - inputs.len() {
            0 => count(counts.all, "notebook"),
            _ => format!("{} of {}", count(counts.all, "run"), count(inputs.len(), "notebook")),
        };
        let mut parts = vec![format!("{what}: {} ok", counts.ok)];
        for (count, word) in [
            (counts.with_failed_cells, "with failed cells"),
            (counts.failed, "failed"),
            (counts.cancelled, "interrupted"),
            (counts.unchanged, "done before"),
            (counts.not_run, "not run"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {word}"));
            }
        }
        let text = format!("{} in {}", parts.join(", "), time(self.took));
        lines.push(ReportLine { tone: Tone::Counts, text });
        lines.extend(self.notes.iter().map(|note| plain(format!("note: {note}"))));
        lines.extend(self.notes_of_rows().into_iter().map(plain));
        lines
    }

    /// The notes about single notebooks: each text once, with the notebooks that it is about.
    fn notes_of_rows(&self) -> Vec<String> {
        let mut told: Vec<(&str, Vec<&str>)> = Vec::new();
        for row in &self.rows {
            for Note { text, .. } in row.last().map_or(&[][..], |last| &last.notes) {
                let known = told.iter().position(|(known, _)| known == text);
                let at = known.unwrap_or_else(|| {
                    told.push((text, Vec::new()));
                    told.len() - 1
                });
                // Rows of one notebook follow each other.
                if told[at].1.last() != Some(&&*row.row.input) {
                    told[at].1.push(&row.row.input);
                }
            }
        }
        told.iter().map(|(text, notebooks)| words::batch::note(notebooks, text)).collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::Map;

    use super::*;

    pub(in crate::batch) fn tried(exit: Exit, trouble: Option<&str>) -> Try {
        Try {
            status: if exit == Exit::Ok { "ok" } else { "error" },
            exit,
            took: Duration::from_millis(1500),
            cells: 3,
            failed_cells: usize::from(exit == Exit::Ok && trouble.is_some()),
            error: trouble.map(|message| Trouble {
                kind: "ValueError".to_owned(),
                message: message.to_owned(),
                cell: Some(2),
                details: format!("Traceback\n{message}"),
            }),
            notes: Vec::new(),
        }
    }

    pub(in crate::batch) fn row(name: &str, fate: Fate, tries: Vec<Try>) -> RowReport {
        let values = vec![("year".to_owned(), "2022".to_owned())];
        let parameters = Map::from_iter([("year".to_owned(), json!(2022))]);
        let row = Row { input: name.to_owned(), output: None, values, parameters };
        RowReport { row, fate, tries }
    }

    pub(in crate::batch) fn report(rows: Vec<RowReport>) -> BatchReport {
        BatchReport {
            rows,
            took: Duration::from_secs(3),
            began: "2024-01-01T00:00:00Z".to_owned(),
            jobs: 2,
            stopped: None,
            notes: vec!["a note".to_owned()],
        }
    }

    /// The exit code: that of all failures if they agree, else 1.
    #[test]
    fn exit_codes_are_those_of_the_rows() {
        let failed = |exit| row("x", Fate::Failed, vec![tried(exit, None)]);
        let well = || row("x", Fate::Ok, vec![tried(Exit::Ok, None)]);
        let table = [
            (vec![well(), row("x", Fate::Unchanged, vec![])], Exit::Ok),
            (vec![well(), failed(Exit::TimedOut)], Exit::TimedOut),
            (vec![failed(Exit::KernelDied), failed(Exit::KernelDied)], Exit::KernelDied),
            (vec![failed(Exit::KernelDied), failed(Exit::TimedOut)], Exit::Failed),
            (vec![failed(Exit::Invalid), row("y", Fate::NotRun, vec![])], Exit::Invalid),
            (vec![row("x", Fate::FailedCells, vec![tried(Exit::Ok, Some("x"))])], Exit::Ok),
            (vec![], Exit::Ok),
        ];
        for (rows, wanted) in table {
            assert_eq!(report(rows).exit(), wanted);
        }
    }

    #[test]
    fn people_are_told_what_failed_and_how_many() {
        let all = report(vec![
            row("a.ipynb", Fate::Ok, vec![tried(Exit::Ok, None)]),
            row("b.ipynb", Fate::Failed, vec![tried(Exit::Failed, Some("ValueError: x")); 2]),
            row("c.ipynb", Fate::Ok, vec![tried(Exit::Failed, None), tried(Exit::Ok, None)]),
            row("f.ipynb", Fate::FailedCells, vec![tried(Exit::Ok, Some("cell 2: KeyError"))]),
            row("d.ipynb", Fate::Unchanged, vec![]),
            row("e.ipynb", Fate::NotRun, vec![]),
        ]);
        let wanted = [
            "failed twice: b.ipynb [year=2022]: ValueError: x",
            "ok at the second try: c.ipynb [year=2022]",
            "1 failed cell: f.ipynb [year=2022]: cell 2: KeyError",
            "6 notebooks: 2 ok, 1 with failed cells, 1 failed, 1 done before, 1 not run in 3 s",
            "note: a note",
        ];
        let lines = all.lines(|time| format!("{} s", time.as_secs()));
        assert_eq!(lines.iter().map(|line| &*line.text).collect::<Vec<_>>(), wanted);
        assert_eq!((lines[0].tone, lines[3].tone), (Tone::Bad, Tone::Counts));
    }

    /// Issue 21, 13: notes about the widgets, the kernel or the parameters of a notebook.
    #[test]
    fn a_note_is_told_once_with_its_notebooks() {
        let noted = |name, texts: &[&str]| {
            let note = |text: &&str| Note { text: (*text).to_owned(), is_loss: false };
            let tried = Try { notes: texts.iter().map(note).collect(), ..tried(Exit::Ok, None) };
            row(name, Fate::Ok, vec![tried])
        };
        let rows =
            [("a", &["x"][..]), ("a", &["x", "y"]), ("b", &[]), ("c", &["x"]), ("d", &["x"])];
        let mut all = report(rows.into_iter().map(|(name, texts)| noted(name, texts)).collect());
        all.notes.clear();
        let lines = all.lines(|_| String::new()).into_iter().map(|line| line.text);
        let lines: Vec<String> = lines.collect();
        assert_eq!(lines[1..], ["note: a and 2 more: x", "note: a: y"]);
        assert_eq!(all.to_json()["notebooks"][1]["tries"][0]["notes"], json!(["x", "y"]));
    }

    #[test]
    fn programs_are_told_the_same() {
        let mut all =
            report(vec![row("b.ipynb", Fate::Failed, vec![tried(Exit::TimedOut, Some("late"))])]);
        let value = all.to_json();
        assert_eq!(value["status"], "error");
        assert_eq!(value["exit"], 124);
        assert_eq!(value["counts"]["failed"], 1);
        let one = &value["notebooks"][0];
        assert_eq!(one["parameters"], json!({"year": 2022}));
        assert_eq!(one["written"], "b.ipynb");
        assert_eq!(one["tries"][0]["exit"], 124);
        assert_eq!(one["tries"][0]["seconds"], 1.5);
        assert_eq!(one["tries"][0]["error"]["cell"], 2);
        all.stopped = Some(StopReason::BySignal);
        assert_eq!(all.to_json()["status"], "cancelled");
    }
}
