//! One family's figures as a table: printed, and as JSON.
//!
//! Owns the columns. Must not know where a figure comes from.

use serde_json::{Value, json};

use super::report::{Goal, cell};
use super::row::Row;

pub(super) struct Table {
    pub(super) family: &'static str,
    pub(super) title: String,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<(&'static str, Row)>,
    pub(super) goals: Vec<Goal>,
    /// How busy the machine was before and after.
    pub(super) load: [String; 2],
}

/// A column: its heading, and what of which figure it shows.
pub(super) struct Column(pub(super) &'static str, pub(super) Shown);

#[derive(Clone, Copy)]
pub(super) enum Shown {
    Count(&'static str),
    Median(&'static str),
    Least(&'static str),
    Most(&'static str),
    P99(&'static str),
    /// How many times the median of the other row this one's is.
    Times(&'static str, &'static str),
    /// The same for the least of each, which a busy machine disturbs less.
    LeastTimes(&'static str, &'static str),
    /// How many times this row's median fits into the other's.
    Under(&'static str, &'static str),
}

impl Table {
    /// A table of whole processes, with what they are held against; its goals are added when it is there.
    pub(super) fn of_processes(
        family: &'static str,
        title: &str,
        rows: Vec<(&'static str, Row)>,
        against: Column,
    ) -> Table {
        let columns = vec![
            Column("n", Shown::Count("ms")),
            Column("median ms", Shown::Median("ms")),
            Column("min ms", Shown::Least("ms")),
            Column("CPU ms", Shown::Median("cpu_ms")),
            Column("peak MiB", Shown::Most("peak_mib")),
            against,
        ];
        let (goals, load) = (Vec::new(), [String::new(), String::new()]);
        Table { family, title: title.to_owned(), columns, rows, goals, load }
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

    /// What one contender needed as a multiple of what the best of some others did; nothing unless all have figures.
    pub(super) fn to_best(&self, figure: &str, name: &str, others: &[&str]) -> Option<f64> {
        let ratios: Option<Vec<f64>> =
            others.iter().map(|other| self.times(figure, name, other)).collect();
        ratios?.into_iter().max_by(f64::total_cmp)
    }

    fn shown(&self, name: &str, row: &Row, shown: Shown) -> String {
        match shown {
            Shown::Count(figure) => row.count(figure).to_string(),
            Shown::Median(figure) => cell(row.median(figure), ""),
            Shown::Least(figure) => cell(row.least(figure), ""),
            Shown::Most(figure) => cell(row.most(figure), ""),
            Shown::P99(figure) => cell(row.p99(figure), ""),
            Shown::Times(figure, base) => cell(self.times(figure, name, base), "x"),
            Shown::LeastTimes(figure, base) => cell(self.least_times(figure, name, base), "x"),
            Shown::Under(figure, base) => cell(self.times(figure, base, name), "x"),
        }
    }

    pub(super) fn print(&self) {
        println!("\n### {}: {}\n", self.family, self.title);
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
        json!({"family": self.family, "title": self.title, "rows": rows, "goals": goals, "load": self.load})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(figures: &[(&'static str, f64)]) -> Table {
        let rows = figures.iter().map(|(name, ms)| {
            let mut row = Row::default();
            row.add(&json!({"ms": ms}));
            (*name, row)
        });
        Table {
            family: "test",
            title: String::new(),
            columns: Vec::new(),
            rows: rows.collect(),
            goals: Vec::new(),
            load: [String::new(), String::new()],
        }
    }

    #[test]
    fn we_are_compared_with_the_quicker_of_the_others() {
        let found = table(&[("ours", 6.0), ("slow", 12.0), ("quick", 4.0)]);
        assert_eq!(found.to_best("ms", "ours", &["slow", "quick"]), Some(1.5));
        assert_eq!(found.to_best("ms", "ours", &["slow"]), Some(0.5));
    }

    #[test]
    fn a_row_that_is_missing_or_failed_leaves_no_ratio() {
        let mut found = table(&[("ours", 6.0), ("quick", 4.0)]);
        assert_eq!(found.to_best("ms", "ours", &["quick", "absent"]), None);
        found.rows[0].1.failure = Some("gone".to_owned());
        assert_eq!(found.to_best("ms", "ours", &["quick"]), None);
    }
}
