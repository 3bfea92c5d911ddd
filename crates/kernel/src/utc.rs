//! A time as text, in UTC.
//!
//! Owns the calendar. Callers add the zone, or leave digits out.

use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_OF_A_DAY: u64 = 86_400;

/// Formats a time in ISO 8601, to the microsecond and without a zone: `2023-11-14T22:13:20.123456`.
pub fn utc_text(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, of_day) = (since.as_secs() / SECONDS_OF_A_DAY, since.as_secs() % SECONDS_OF_A_DAY);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let micros = since.subsec_micros();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}")
}

/// Year, month and day for a number of days since 1970-01-01, in the Gregorian calendar, which repeats every 400 years.
/// Years begin in March here, so that a leap day is the last of its year.
fn date(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 146_097;
    let from_march = days + 719_468;
    let (era, day_of_era) = (from_march / ERA, from_march % ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_written_as_the_calendar_has_them() {
        let check = |seconds: u64, wanted: &str| {
            let moment = UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_micros(5);
            assert_eq!(utc_text(moment), format!("{wanted}.000005"));
        };
        check(0, "1970-01-01T00:00:00");
        check(951_782_399, "2000-02-28T23:59:59");
        check(951_782_400, "2000-02-29T00:00:00");
        check(951_868_799, "2000-02-29T23:59:59");
        check(951_868_800, "2000-03-01T00:00:00");
        check(1_709_251_199, "2024-02-29T23:59:59");
        check(1_735_689_599, "2024-12-31T23:59:59");
        check(1_735_689_600, "2025-01-01T00:00:00");
        check(4_107_542_400, "2100-03-01T00:00:00");
    }
}
