//! An event as one line of text.
//!
//! Owns how the time and the words are written. Text that a client or a program chose cannot begin a line of its
//! own or drive a terminal.

use std::fmt::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use tracing::Metadata;
use tracing::field::{Field, Visit};

use crate::output::visible;

const SECONDS_OF_A_DAY: u64 = 24 * 60 * 60;

/// The words of an event: its message, followed by each field as `name=value`.
#[derive(Default)]
pub(super) struct Words {
    message: String,
    fields: String,
}

impl Words {
    /// The source location of an event, in place of its words.
    pub(super) fn place(&mut self, metadata: &Metadata<'_>) {
        let file = metadata.file().unwrap_or_default();
        let file = file.rsplit(['/', '\\']).next().unwrap_or_default();
        let line = metadata.line().unwrap_or_default();
        let _ = write!(self.message, "{} at {file}:{line}", metadata.target());
    }

    pub(super) fn into_text(self) -> String {
        format!("{}{}", visible(&self.message), visible(&self.fields))
    }
}

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        let is_plain = |c: char| c.is_ascii_graphic() && c != '"';
        if !value.is_empty() && value.chars().all(is_plain) {
            self.record_debug(field, &format_args!("{value}"));
        } else {
            self.record_debug(field, &value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // A field that cannot be written is left out.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

/// A time in the usual form of logs: UTC, to the millisecond.
pub(crate) fn time(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, rest) = (since.as_secs() / SECONDS_OF_A_DAY, since.as_secs() % SECONDS_OF_A_DAY);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let milli = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The date this many days after the first of January 1970. Years are counted from March, so that a leap day is the
/// last day of a year.
fn date(days: u64) -> (u64, u64, u64) {
    // Days since the first of March of the year 0.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let (month, next) =
        if month_from_march < 10 { (month_from_march + 3, 0) } else { (month_from_march - 9, 1) };
    (era * 400 + year_of_era + next, month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        let table = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (1_735_689_600, "2025-01-01T00:00:00.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ];
        for (seconds, wanted) in table {
            assert_eq!(time(UNIX_EPOCH + Duration::from_secs(seconds)), wanted);
        }
        let late = UNIX_EPOCH + Duration::from_millis(1_735_689_600_042);
        assert_eq!(time(late), "2025-01-01T00:00:00.042Z");
    }
}
