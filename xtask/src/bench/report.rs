//! What is printed: a table for each job and size, the goals with their verdicts, and the JSON.
//!
//! Owns the goals. Must not start anything.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::peers::{FLOOR, INKCELL, NBFORMAT, Peer};
use super::sample::Row;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    Edit,
    Outline,
}

impl Job {
    pub(super) fn name(self) -> &'static str {
        match self {
            Job::Edit => "edit",
            Job::Outline => "outline",
        }
    }
}

/// The figures of one job at one size.
pub(super) struct Table {
    pub(super) job: Job,
    pub(super) megabytes: usize,
    pub(super) file_bytes: u64,
    pub(super) peers: Vec<Peer>,
    pub(super) rows: BTreeMap<&'static str, Row>,
    /// What each peer left in the file or printed, looked at once.
    pub(super) verdicts: BTreeMap<&'static str, String>,
}

/// A goal and what was measured for it; no figure means that a row it needs has failed.
pub(super) struct Goal {
    text: String,
    figure: Option<f64>,
    limit: f64,
    at_least: bool,
    unit: &'static str,
}

impl Goal {
    pub(super) fn at_most(text: &str, figure: Option<f64>, limit: f64) -> Self {
        Self { text: text.to_owned(), figure, limit, at_least: false, unit: "x" }
    }

    pub(super) fn at_least(text: &str, figure: Option<f64>, limit: f64) -> Self {
        Self { text: text.to_owned(), figure, limit, at_least: true, unit: "x" }
    }

    /// The same goal for a figure that is no ratio.
    pub(super) fn counted_in(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    pub(super) fn passed(&self) -> bool {
        self.figure.is_some_and(|figure| {
            if self.at_least { figure >= self.limit } else { figure <= self.limit }
        })
    }

    pub(super) fn line(&self) -> String {
        let verdict = if self.passed() { "PASS" } else { "MISS" };
        let bound = if self.at_least { "at least" } else { "at most" };
        let unit = self.unit;
        let figure = self
            .figure
            .map_or_else(|| "no figure".to_owned(), |figure| format!("{figure:.2}{unit}"));
        format!("{verdict}  {}: {figure} (goal: {bound} {}{unit})", self.text, self.limit)
    }

    pub(super) fn to_json(&self) -> Value {
        json!({"goal": self.text, "figure": self.figure, "limit": self.limit, "passed": self.passed()})
    }
}

impl Table {
    fn wall(&self, name: &str) -> Option<f64> {
        self.rows.get(name)?.wall_ms()
    }

    fn ratio(&self, name: &str, base: &str) -> Option<f64> {
        Some(self.wall(name)? / self.wall(base)?)
    }

    fn peak_to_file(&self, name: &str) -> Option<f64> {
        let peak_bytes = self.rows.get(name)?.peak_mib()? * 1024.0 * 1024.0;
        Some(peak_bytes / self.file_bytes as f64)
    }

    pub(super) fn goals(&self) -> Vec<Goal> {
        let to_floor = self.ratio(INKCELL, FLOOR);
        match (self.job, self.megabytes) {
            (Job::Edit, 100) => vec![
                Goal::at_most("edit 100 MB, time to floor", to_floor, 2.5),
                Goal::at_most(
                    "edit 100 MB, peak memory to file size",
                    self.peak_to_file(INKCELL),
                    1.3,
                ),
            ],
            (Job::Edit, 1) => vec![
                Goal::at_most("edit 1 MB, time to floor", to_floor, 2.0),
                Goal::at_least(
                    "edit 1 MB, quicker than nbformat",
                    self.ratio(NBFORMAT, INKCELL),
                    20.0,
                ),
            ],
            (Job::Outline, 100) => {
                vec![Goal::at_most("outline 100 MB, time to floor", to_floor, 1.7)]
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn print(&self) {
        println!(
            "\n### {} of {} MB ({:.1} MiB)\n",
            self.job.name(),
            self.megabytes,
            self.file_bytes as f64 / 1024.0 / 1024.0
        );
        println!(
            "| peer | n | median ms | min ms | CPU ms | peak MiB | peak / file | time / floor | quicker than nbformat |"
        );
        println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        for peer in &self.peers {
            let Some(row) = self.rows.get(peer.name) else { continue };
            println!(
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                peer.name,
                row.count(),
                cell(row.wall_ms(), ""),
                cell(row.fastest_ms(), ""),
                cell(row.cpu_ms(), ""),
                cell(row.peak_mib(), ""),
                cell(self.peak_to_file(peer.name), "x"),
                cell(self.ratio(peer.name, FLOOR), "x"),
                cell(self.ratio(NBFORMAT, peer.name), "x"),
            );
        }
        println!();
        for (name, row) in &self.rows {
            if let Some(failure) = &row.failure {
                println!("ERROR: {name} failed and has no figures: {failure}");
            }
            if self.ratio(name, FLOOR).is_some_and(|ratio| ratio < 0.97) {
                println!(
                    "WARNING: the floor is slower than {name}, which stands on it: read neither as exact."
                );
            }
        }
        for peer in &self.peers {
            if let Some(verdict) = self.verdicts.get(peer.name) {
                println!("result of {}: {verdict}", peer.name);
            }
        }
        for goal in self.goals() {
            println!("{}", goal.line());
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let rows: Vec<Value> = self
            .peers
            .iter()
            .filter_map(|peer| Some((peer, self.rows.get(peer.name)?)))
            .map(|(peer, row)| {
                json!({
                    "peer": peer.name,
                    "n": row.count(),
                    "median_ms": row.wall_ms(),
                    "min_ms": row.fastest_ms(),
                    "cpu_ms": row.cpu_ms(),
                    "peak_mib": row.peak_mib(),
                    "peak_to_file": self.peak_to_file(peer.name),
                    "to_floor": self.ratio(peer.name, FLOOR),
                    "quicker_than_nbformat": self.ratio(NBFORMAT, peer.name),
                    "result": self.verdicts.get(peer.name),
                    "failure": row.failure,
                })
            })
            .collect();
        let goals: Vec<Value> = self.goals().iter().map(Goal::to_json).collect();
        json!({
            "job": self.job.name(),
            "megabytes": self.megabytes,
            "file_bytes": self.file_bytes,
            "rows": rows,
            "goals": goals,
        })
    }
}

/// Three figures that mean something, and a dash for what is not known.
pub(super) fn cell(figure: Option<f64>, unit: &str) -> String {
    match figure {
        None => "–".to_owned(),
        Some(figure) if figure >= 100.0 => format!("{figure:.0}{unit}"),
        Some(figure) if figure >= 10.0 => format!("{figure:.1}{unit}"),
        Some(figure) => format!("{figure:.2}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_without_a_figure_is_missed() {
        assert!(!Goal::at_most("a", None, 2.0).passed());
        assert!(!Goal::at_least("a", None, 2.0).passed());
    }

    #[test]
    fn a_goal_is_met_at_its_limit() {
        assert!(Goal::at_most("a", Some(2.0), 2.0).passed());
        assert!(!Goal::at_most("a", Some(2.01), 2.0).passed());
        assert!(Goal::at_least("a", Some(20.0), 20.0).passed());
        assert!(!Goal::at_least("a", Some(19.9), 20.0).passed());
    }
}
