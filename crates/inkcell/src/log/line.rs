//! An event as one line of text.
//!
//! Owns how the time and the words are written. Text that a client or a program chose cannot begin a line of its
//! own or drive a terminal.

use std::fmt::{self, Write as _};
use std::time::SystemTime;

use inkcell_engine::kernel::utc_text;
use tracing::Metadata;
use tracing::field::{Field, Visit};

use crate::output::visible;

/// The words of an event: its message, followed by each field as `name=value`.
#[derive(Default)]
pub(super) struct Words {
    message: String,
    fields: String,
}

impl Words {
    /// The source location of an event, in place of its words.
    pub(super) fn write_location(&mut self, metadata: &Metadata<'_>) {
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
    let mut text = utc_text(at);
    text.truncate("2023-11-14T22:13:20.123".len());
    text + "Z"
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(time(UNIX_EPOCH), "1970-01-01T00:00:00.000Z");
        let late = UNIX_EPOCH + Duration::from_millis(1_735_689_600_042);
        assert_eq!(time(late), "2025-01-01T00:00:00.042Z");
    }
}
