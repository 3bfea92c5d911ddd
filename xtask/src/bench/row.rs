//! What one contender was found to do: its figures by their names, and what a row of them says.
//!
//! Must not know what a figure stands for or how it was taken.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::sample::median;

/// All figures of one contender by their names, or why there are none.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Row {
    figures: BTreeMap<String, Vec<f64>>,
    pub(super) failure: Option<String>,
}

impl Row {
    /// Adds what one sample found: numbers, and lists of them.
    pub(super) fn add(&mut self, figures: &Value) {
        for (name, value) in figures.as_object().into_iter().flatten() {
            let values = match value {
                Value::Array(values) => values.iter().filter_map(Value::as_f64).collect(),
                one => one.as_f64().into_iter().collect::<Vec<f64>>(),
            };
            self.figures.entry(name.clone()).or_default().extend(values);
        }
    }

    pub(super) fn count(&self, name: &str) -> usize {
        self.figures.get(name).map_or(0, Vec::len)
    }

    pub(super) fn median(&self, name: &str) -> Option<f64> {
        median(&self.sorted(name)?)
    }

    pub(super) fn least(&self, name: &str) -> Option<f64> {
        self.sorted(name)?.first().copied()
    }

    pub(super) fn most(&self, name: &str) -> Option<f64> {
        self.sorted(name)?.last().copied()
    }

    /// The figure that one in a hundred exceeds.
    pub(super) fn p99(&self, name: &str) -> Option<f64> {
        let sorted = self.sorted(name)?;
        sorted.get((sorted.len() * 99 / 100).min(sorted.len().saturating_sub(1))).copied()
    }

    /// In order, or nothing for a row that failed at any time: half a row compares with nothing.
    fn sorted(&self, name: &str) -> Option<Vec<f64>> {
        if self.failure.is_some() {
            return None;
        }
        let mut values = self.figures.get(name)?.clone();
        values.sort_by(f64::total_cmp);
        Some(values)
    }

    pub(super) fn figures(&self) -> &BTreeMap<String, Vec<f64>> {
        &self.figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn figures_of_all_samples_are_gathered_by_name() {
        let mut row = Row::default();
        row.add(&json!({"ms": [3.0, 1.0], "pss_mib": 7, "ready": true}));
        row.add(&json!({"ms": 2.0}));
        assert_eq!((row.count("ms"), row.median("ms")), (3, Some(2.0)));
        assert_eq!((row.least("ms"), row.most("ms")), (Some(1.0), Some(3.0)));
        assert_eq!((row.p99("pss_mib"), row.median("ready")), (Some(7.0), None));
    }

    #[test]
    fn a_row_that_failed_has_no_figures() {
        let mut row = Row::default();
        row.add(&json!({"ms": 2.0}));
        row.failure = Some("gone".to_owned());
        assert_eq!((row.median("ms"), row.p99("ms")), (None, None));
    }
}
