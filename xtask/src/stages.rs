//! Named, timed steps, and the table at the end of a run.
//!
//! Must not know what a stage does.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

/// Stages so far, in order, and warnings to repeat at the end.
#[derive(Default)]
pub(crate) struct Stages {
    done: Vec<Stage>,
    warnings: Vec<String>,
}

struct Stage {
    name: &'static str,
    took: Duration,
    outcome: Outcome,
}

#[derive(Clone, Copy)]
enum Outcome {
    Passed,
    Failed,
}

impl Stages {
    /// Runs one stage. A failure carries the stage's name, and the caller stops there.
    pub(crate) fn run<T>(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        println!("\n== {name}");
        let start = Instant::now();
        let result = work();
        let outcome = if result.is_ok() { Outcome::Passed } else { Outcome::Failed };
        self.done.push(Stage { name, took: start.elapsed(), outcome });
        result.with_context(|| format!("stage {name}"))
    }

    /// Prints a warning now, and again under the table at the end.
    pub(crate) fn warn(&mut self, line: String) {
        println!("!! {line}");
        self.warnings.push(line);
    }

    /// Formats the table at the end: minutes of each stage, and the warnings.
    pub(crate) fn table(&self) -> String {
        let width = self.done.iter().map(|stage| stage.name.len()).max().unwrap_or(0).max(5);
        let mut table = format!("{:width$}  minutes\n", "stage");
        for stage in &self.done {
            let mark = match stage.outcome {
                Outcome::Passed => "",
                Outcome::Failed => "  FAILED",
            };
            // A write into a String cannot fail.
            let _ = writeln!(table, "{:width$}  {:>7.2}{mark}", stage.name, minutes(stage.took));
        }
        let total = self.done.iter().map(|stage| stage.took).sum();
        let _ = writeln!(table, "{:width$}  {:>7.2}", "all", minutes(total));
        for warning in &self.warnings {
            let _ = writeln!(table, "!! {warning}");
        }
        table
    }
}

fn minutes(took: Duration) -> f64 {
    took.as_secs_f64() / 60.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_each_stage_the_failed_one_and_the_warnings() {
        let stages = Stages {
            done: vec![
                Stage { name: "fmt", took: Duration::from_secs(3), outcome: Outcome::Passed },
                Stage { name: "clippy", took: Duration::from_secs(90), outcome: Outcome::Failed },
            ],
            warnings: vec!["no tracer".to_owned()],
        };
        assert_eq!(
            stages.table(),
            "stage   minutes\n\
             fmt        0.05\n\
             clippy     1.50  FAILED\n\
             all        1.55\n\
             !! no tracer\n"
        );
    }

    #[test]
    fn a_failure_names_its_stage() {
        let mut stages = Stages::default();
        let error = stages.run("fmt", || -> Result<()> { anyhow::bail!("bad") }).unwrap_err();
        assert_eq!(format!("{error:#}"), "stage fmt: bad");
    }
}
