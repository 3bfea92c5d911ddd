//! The result of one contender: its figures by name, and statistics of them.
//!
//! Must not know the meaning of a figure or how it was taken.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All figures of one contender by name, or the reason why it has none.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::bench) struct Row {
    figures: BTreeMap<String, Vec<f64>>,
    pub(in crate::bench) failure: Option<String>,
}

impl Row {
    /// Adds the figures of one sample: numbers, and lists of them.
    pub(in crate::bench) fn add(&mut self, figures: &Value) {
        for (name, value) in figures.as_object().into_iter().flatten() {
            let values = match value {
                Value::Array(values) => values.iter().filter_map(Value::as_f64).collect(),
                one => one.as_f64().into_iter().collect::<Vec<f64>>(),
            };
            self.figures.entry(name.clone()).or_default().extend(values);
        }
    }

    pub(in crate::bench) fn count(&self, name: &str) -> usize {
        self.figures.get(name).map_or(0, Vec::len)
    }

    pub(in crate::bench) fn median(&self, name: &str) -> Option<f64> {
        median(&self.sorted(name)?)
    }

    /// The medians of all figures, by name.
    pub(in crate::bench) fn medians(&self) -> Value {
        let median = |name: &String| (name.clone(), self.median(name).into());
        Value::Object(self.figures.keys().map(median).collect())
    }

    pub(in crate::bench) fn least(&self, name: &str) -> Option<f64> {
        self.sorted(name)?.first().copied()
    }

    pub(in crate::bench) fn most(&self, name: &str) -> Option<f64> {
        self.sorted(name)?.last().copied()
    }

    /// The value that one figure in a hundred exceeds.
    pub(in crate::bench) fn p99(&self, name: &str) -> Option<f64> {
        let sorted = self.sorted(name)?;
        sorted.get((sorted.len() * 99 / 100).min(sorted.len().saturating_sub(1))).copied()
    }

    /// Sorts the values of a figure; none for a row that failed at any time, because half a row
    /// cannot be compared.
    fn sorted(&self, name: &str) -> Option<Vec<f64>> {
        if self.failure.is_some() {
            return None;
        }
        let mut values = self.figures.get(name)?.clone();
        values.sort_by(f64::total_cmp);
        Some(values)
    }

    pub(in crate::bench) fn figures(&self) -> &BTreeMap<String, Vec<f64>> {
        &self.figures
    }
}

fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted {
        [] => None,
        _ if sorted.len() % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
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
    fn a_median_is_the_middle_or_between_the_two_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, 2.0, 9.0]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), Some(3.0));
    }

    #[test]
    fn a_row_that_failed_has_no_figures() {
        let mut row = Row::default();
        row.add(&json!({"ms": 2.0}));
        row.failure = Some("gone".to_owned());
        assert_eq!((row.median("ms"), row.p99("ms")), (None, None));
    }
}
