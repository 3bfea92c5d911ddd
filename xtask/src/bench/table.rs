//! The figures of one part as a table with its goals: printed, and as JSON.
//!
//! Owns columns, goals and their verdicts. Must not know where a figure comes from.

use anyhow::Result;
use serde_json::{Value, json};

use super::measure::{Row, Rows};

pub(super) struct Table {
    pub(super) part: &'static str,
    pub(super) title: String,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Rows,
    pub(super) goals: Vec<Goal>,
    /// Notes about the rows, one line each.
    pub(super) notes: Vec<String>,
    /// Load of the machine before and after the measurement.
    pub(super) load: [String; 2],
}

/// A column: its heading, and the figure with the statistic that it shows.
#[derive(Clone, Copy)]
pub(super) struct Column(pub(super) &'static str, pub(super) Statistic);

#[derive(Clone, Copy)]
pub(super) enum Statistic {
    Count(&'static str),
    /// The median of a figure that is a count itself.
    Whole(&'static str),
    Median(&'static str),
    Least(&'static str),
    Most(&'static str),
    P99(&'static str),
    /// The largest value of a figure that is a ratio.
    MostShare(&'static str),
    /// This row's median as a multiple of the other row's.
    Times(&'static str, &'static str),
    /// This row's least as a multiple of the other row's; a busy machine disturbs it less.
    LeastTimes(&'static str, &'static str),
    /// The other row's median as a multiple of this row's.
    Under(&'static str, &'static str),
}

/// First columns of most tables: the number of samples, and their times.
pub(super) const MS: [Column; 3] = [
    Column("n", Statistic::Count("ms")),
    Column("median ms", Statistic::Median("ms")),
    Column("min ms", Statistic::Least("ms")),
];

/// The same columns with the time that one sample in a hundred exceeds.
pub(super) const MS_P99: [Column; 4] =
    [MS[0], MS[1], MS[2], Column("p99 ms", Statistic::P99("ms"))];

/// The same columns in microseconds, for times below a millisecond.
pub(super) const US_P99: [Column; 4] = [
    Column("n", Statistic::Count("us")),
    Column("median µs", Statistic::Median("us")),
    Column("min µs", Statistic::Least("us")),
    Column("p99 µs", Statistic::P99("us")),
];

/// Memory of a client's process.
pub(super) const CLIENT_MEMORY: [Column; 4] = [
    Column("n", Statistic::Count("mib")),
    Column("RSS with one MiB", Statistic::Median("before_mib")),
    Column("RSS with all MiB", Statistic::Median("mib")),
    Column("grown by MiB", Statistic::Median("grown_mib")),
];

/// Figures of whole processes.
pub(super) const PROCESS: [Column; 5] = [
    MS[0],
    MS[1],
    MS[2],
    Column("CPU ms", Statistic::Median("cpu_ms")),
    Column("peak MiB", Statistic::Most("peak_mib")),
];

impl Table {
    /// Makes a table and takes its figures; callers add the goals afterwards.
    pub(super) fn measure(
        part: &'static str,
        title: impl Into<String>,
        columns: Vec<Column>,
        take: impl FnOnce() -> Result<Rows>,
    ) -> Result<Table> {
        let before = load();
        let mut table = Table::new(part, title, columns, take()?);
        table.load = [before, load()];
        Ok(table)
    }

    pub(super) fn new(
        part: &'static str,
        title: impl Into<String>,
        columns: Vec<Column>,
        rows: Rows,
    ) -> Table {
        let (goals, notes, load) = (Vec::new(), Vec::new(), [String::new(), String::new()]);
        Table { part, title: title.into(), columns, rows, goals, notes, load }
    }

    /// Adds figures that were computed or taken separately to an existing row.
    pub(super) fn add(&mut self, name: &str, figures: &Value) {
        if let Some((_, row)) = self.rows.iter_mut().find(|(of, _)| *of == name) {
            row.add(figures);
        }
    }

    pub(super) fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|(of, _)| *of == name).map(|(_, row)| row)
    }

    /// The median of one row as a multiple of another's.
    pub(super) fn times(&self, figure: &str, name: &str, base: &str) -> Option<f64> {
        Some(self.row(name)?.median(figure)? / self.row(base)?.median(figure)?)
    }

    fn least_times(&self, figure: &str, name: &str, base: &str) -> Option<f64> {
        Some(self.row(name)?.least(figure)? / self.row(base)?.least(figure)?)
    }

    /// The figure of one contender as a multiple of the lowest among some others; none unless all have figures.
    pub(super) fn to_best(&self, figure: &str, name: &str, others: &[&str]) -> Option<f64> {
        let ratios: Option<Vec<f64>> =
            others.iter().map(|other| self.times(figure, name, other)).collect();
        ratios?.into_iter().max_by(f64::total_cmp)
    }

    /// The speed of one contender as a multiple of the fastest of some others.
    pub(super) fn quicker(&self, figure: &str, name: &str, others: &[&str]) -> Option<f64> {
        self.to_best(figure, name, others).map(|part| 1.0 / part)
    }

    fn shown(&self, name: &str, row: &Row, shown: Statistic) -> String {
        match shown {
            Statistic::Count(figure) => row.count(figure).to_string(),
            Statistic::Whole(figure) => {
                row.median(figure).map_or_else(|| cell(None, ""), |count| format!("{count:.0}"))
            }
            Statistic::Median(figure) => cell(row.median(figure), ""),
            Statistic::Least(figure) => cell(row.least(figure), ""),
            Statistic::Most(figure) => cell(row.most(figure), ""),
            Statistic::P99(figure) => cell(row.p99(figure), ""),
            Statistic::MostShare(figure) => cell(row.most(figure), "x"),
            Statistic::Times(figure, base) => cell(self.times(figure, name, base), "x"),
            Statistic::LeastTimes(figure, base) => cell(self.least_times(figure, name, base), "x"),
            Statistic::Under(figure, base) => cell(self.times(figure, base, name), "x"),
        }
    }

    pub(super) fn print(&self) {
        println!("\n### {}: {}\n", self.part, self.title);
        let heads: Vec<&str> = self.columns.iter().map(|column| column.0).collect();
        println!("| contender | {} |", heads.join(" | "));
        println!("| --- |{}", " ---: |".repeat(heads.len()));
        for (name, row) in &self.rows {
            let cells: Vec<String> =
                self.columns.iter().map(|column| self.shown(name, row, column.1)).collect();
            println!("| {name} | {} |", cells.join(" | "));
        }
        println!();
        for (name, row) in &self.rows {
            if let Some(failure) = &row.failure {
                println!("ERROR: {name} has no figures: {failure}");
            }
        }
        for note in &self.notes {
            println!("{note}");
        }
        for goal in &self.goals {
            println!("{}", goal.line());
        }
        println!("Before: {} After: {}", self.load[0], self.load[1]);
    }

    pub(super) fn to_json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|(name, row)| json!({"contender": name, "figures": row.figures(), "failure": row.failure}))
            .collect();
        let goals: Vec<Value> = self.goals.iter().map(Goal::to_json).collect();
        json!({"family": self.part, "title": self.title, "rows": rows, "goals": goals,
            "notes": self.notes, "load": self.load})
    }
}

/// A goal with its measured figure; no figure means that a row it needs has failed.
pub(super) struct Goal {
    text: String,
    figure: Option<f64>,
    limit: f64,
    at_least: bool,
    unit: &'static str,
}

impl Goal {
    pub(super) fn at_most(text: impl Into<String>, figure: Option<f64>, limit: f64) -> Self {
        Self { text: text.into(), figure, limit, at_least: false, unit: "x" }
    }

    pub(super) fn at_least(text: impl Into<String>, figure: Option<f64>, limit: f64) -> Self {
        Self { text: text.into(), figure, limit, at_least: true, unit: "x" }
    }

    /// The same goal for a figure with a unit, which is not a ratio.
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

/// Formats a figure with three significant digits, or a dash for a missing one.
pub(super) fn cell(figure: Option<f64>, unit: &str) -> String {
    match figure {
        None => "–".to_owned(),
        Some(figure) if figure >= 100.0 => format!("{figure:.0}{unit}"),
        Some(figure) if figure >= 10.0 => format!("{figure:.1}{unit}"),
        Some(figure) => format!("{figure:.2}{unit}"),
    }
}

/// Load of the machine; empty if the system does not report it.
pub(super) fn load() -> String {
    let Ok(text) = std::fs::read_to_string("/proc/loadavg") else { return String::new() };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let minutes: Vec<_> = text.split(' ').take(2).collect();
    format!("Load average {} on {cores} cores.", minutes.join(", "))
}

/// Makes a table of contenders with these times in milliseconds.
#[cfg(test)]
pub(super) fn table_of(figures: &[(&'static str, f64)]) -> Table {
    let rows = figures.iter().map(|(name, ms)| {
        let mut row = Row::default();
        row.add(&json!({"ms": ms}));
        (*name, row)
    });
    Table::new("test", "", Vec::new(), rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_compared_with_the_quicker_of_the_others() {
        let found = table_of(&[("ours", 6.0), ("slow", 12.0), ("quick", 4.0)]);
        assert_eq!(found.to_best("ms", "ours", &["slow", "quick"]), Some(1.5));
        assert_eq!(found.to_best("ms", "ours", &["slow"]), Some(0.5));
    }

    #[test]
    fn a_row_that_is_missing_or_failed_leaves_no_ratio() {
        let mut found = table_of(&[("ours", 6.0), ("quick", 4.0)]);
        assert_eq!(found.to_best("ms", "ours", &["quick", "absent"]), None);
        found.rows[0].1.failure = Some("gone".to_owned());
        assert_eq!(found.to_best("ms", "ours", &["quick"]), None);
    }

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
