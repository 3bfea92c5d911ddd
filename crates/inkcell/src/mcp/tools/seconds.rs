//! Times that a caller gives, in seconds.
//!
//! Owns the accepted range, and the notice about a value that is moved into it (B:X-02). Each tool explains what
//! its time is for.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

use crate::words;

/// A number of seconds, with fractions.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub(crate) struct Seconds(f64);

/// The meaning of 0 seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Zero {
    /// No limit.
    NoLimit,
    /// A value below the range, as any other.
    TooSmall,
}

/// A time within its range.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TimeLimit {
    pub(crate) limit: Option<Duration>,
    /// That it is another one than the caller gave.
    pub(crate) notice: Option<String>,
}

impl Seconds {
    /// The time, moved into the range where it is outside.
    pub(crate) fn within(self, argument: &str, least: u16, most: u16, zero: Zero) -> TimeLimit {
        let Seconds(given) = self;
        if given == 0.0 && zero == Zero::NoLimit {
            return TimeLimit { limit: None, notice: None };
        }
        let taken = given.clamp(f64::from(least), f64::from(most));
        // The value is unchanged unless it was moved to one of the two bounds.
        let is_moved = (taken - given).abs() > 0.0;
        let notice = is_moved.then(|| {
            let given = SecondsVisitor::in_words(given);
            words::tool::moved_into_bounds(argument, &given, &least, &most, &taken)
        });
        TimeLimit { limit: Some(Duration::from_secs_f64(taken)), notice }
    }

    /// The time as it is; none is below 0, and none is longer than an answer can be waited for.
    pub(crate) fn at_most(self, most: Duration) -> Duration {
        Duration::from_secs_f64(self.0.clamp(0.0, most.as_secs_f64()))
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Seconds, D::Error> {
        deserializer.deserialize_any(SecondsVisitor)
    }
}

/// Models write numbers in quotes now and then.
struct SecondsVisitor;

impl SecondsVisitor {
    /// As few digits as say it.
    fn in_words(given: f64) -> String {
        if given.abs() < 1e9 { given.to_string() } else { format!("{given:e}") }
    }
}

impl Visitor<'_> for SecondsVisitor {
    type Value = Seconds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of seconds")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Seconds, E> {
        if value.is_finite() {
            Ok(Seconds(value))
        } else {
            Err(E::custom(words::tool::not_seconds(&value)))
        }
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Seconds, E> {
        self.visit_f64(value as f64)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Seconds, E> {
        self.visit_f64(value as f64)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Seconds, E> {
        match value.trim().parse() {
            Ok(number) => self.visit_f64(number),
            Err(_) => Err(E::custom(words::tool::not_seconds(&format_args!("{value:?}")))),
        }
    }
}

impl JsonSchema for Seconds {
    fn schema_name() -> Cow<'static, str> {
        "Seconds".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number"})
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// B:X-02
    #[test]
    fn a_time_outside_its_range_is_moved_and_told() {
        let limited = |given: f64, zero| Seconds(given).within("timeout", 1, 600, zero);
        let some = |seconds: f64, notice: Option<&str>| TimeLimit {
            limit: Some(Duration::from_secs_f64(seconds)),
            notice: notice.map(str::to_owned),
        };
        assert_eq!(limited(0.0, Zero::NoLimit), TimeLimit { limit: None, notice: None });
        let low = "timeout 0 is outside 1 to 600 seconds; 1 was used";
        assert_eq!(limited(0.0, Zero::TooSmall), some(1.0, Some(low)));
        assert_eq!(limited(1.0, Zero::NoLimit), some(1.0, None));
        assert_eq!(limited(2.5, Zero::NoLimit), some(2.5, None));
        let low = "timeout -3 is outside 1 to 600 seconds; 1 was used";
        assert_eq!(limited(-3.0, Zero::NoLimit), some(1.0, Some(low)));
        let high = "timeout 601 is outside 1 to 600 seconds; 600 was used";
        assert_eq!(limited(601.0, Zero::NoLimit), some(600.0, Some(high)));
        let high = "timeout 1e300 is outside 1 to 600 seconds; 600 was used";
        assert_eq!(limited(1e300, Zero::NoLimit), some(600.0, Some(high)));
        let low = "timeout -1e300 is outside 1 to 600 seconds; 1 was used";
        assert_eq!(limited(-1e300, Zero::NoLimit), some(1.0, Some(low)));
    }

    /// B:X-02
    #[test]
    fn what_is_no_number_is_refused() {
        let read = |given| serde_json::from_value::<Seconds>(given).map_err(|e| e.to_string());
        assert_eq!(read(json!(30)), Ok(Seconds(30.0)));
        assert_eq!(read(json!("30")), Ok(Seconds(30.0)));
        assert_eq!(read(json!(0.5)), Ok(Seconds(0.5)));
        assert_eq!(read(json!("NaN")), Err("NaN is not a number of seconds".to_owned()));
        assert_eq!(read(json!("inf")), Err("inf is not a number of seconds".to_owned()));
        assert_eq!(read(json!("soon")), Err("\"soon\" is not a number of seconds".to_owned()));
        assert!(read(json!(true)).is_err());
    }
}
