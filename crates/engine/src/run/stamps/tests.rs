use std::time::UNIX_EPOCH;

use super::*;

fn date(days: u64) -> (u64, u64, u64) {
    let text = utc_text(UNIX_EPOCH + Duration::from_secs(days * 86_400));
    let number = |from: usize, to: usize| text[from..to].parse().expect("digits");
    (number(0, 4), number(5, 7), number(8, 10))
}

#[test]
fn days_have_dates() {
    for (days, expected) in [
        (0, (1970, 1, 1)),
        (58, (1970, 2, 28)),
        (59, (1970, 3, 1)),
        (11_016, (2000, 2, 29)),
        (11_017, (2000, 3, 1)),
        (19_675, (2023, 11, 14)),
        (47_540, (2100, 2, 28)),
        (47_541, (2100, 3, 1)),
    ] {
        assert_eq!(date(days), expected, "{days}");
    }
}

#[test]
fn a_time_has_microseconds() {
    let time = UNIX_EPOCH + Duration::new(951_782_399, 7_000);
    assert_eq!(utc_text(time), "2000-02-28T23:59:59.000007");
    assert_eq!(zulu(UNIX_EPOCH), "1970-01-01T00:00:00.000000Z");
}

/// A cell of the user that mentions such marks is not a marker.
#[test]
fn only_our_own_marks_are_marked() {
    let cell = |source: &str| json!({"cell_type": "markdown", "id": format!("c{}", source.len()), "metadata": {}, "source": source});
    let top = format!("{}3{}", TOP.0, TOP.1);
    let cells = [cell(&top), cell("see #papermill-error-cell"), cell(HERE)];
    let notebook = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    let notebook = Notebook::parse(notebook.to_string().into_bytes()).expect("a notebook");
    let marked: Vec<CellRef> = marker_tags(Stamps::Papermill, &notebook)
        .into_iter()
        .filter_map(|op| match op {
            EditOp::SetTags { cell, .. } => Some(cell),
            _ => None,
        })
        .collect();
    assert_eq!(marked, [CellRef::Index(0), CellRef::Index(2)]);
    assert!(marker_tags(Stamps::Jupyter, &notebook).is_empty());
}

/// Written times are read back. The times of other runners give durations, too.
#[test]
fn times_that_were_noted_are_understood() {
    let noted = |began: &str, ended: &str| {
        noted(&json!({"iopub.execute_input": began, "shell.execute_reply": ended}))
    };
    let took = noted("2023-12-31T23:59:59.250000Z", "2024-01-01T00:00:01.5Z");
    assert_eq!(took, Some(Duration::from_millis(2250)));
    let took = noted("2024-02-29T12:00:00.000000+00:00", "2024-03-01T12:00:00+00:00");
    assert_eq!(took, Some(Duration::from_secs(86_400)));
    let span = Span {
        began: UNIX_EPOCH + Duration::from_micros(1_700_000_000_123_456),
        ended: UNIX_EPOCH + Duration::from_micros(1_700_000_003_123_457),
        state: State::Done,
    };
    let CellStamps(Some((_, own))) = CellStamps::of(Stamps::Jupyter, span) else { panic!() };
    assert_eq!(super::noted(&own), Some(Duration::from_micros(3_000_001)));
    for odd in ["", "yesterday", "2024-13-01T00:00:00Z", "2024-01-01", "2024-01-01T00:00:0\u{e9}"] {
        assert_eq!(noted("2023-12-31T23:59:59Z", odd), None, "{odd}");
        assert_eq!(noted(odd, "2023-12-31T23:59:59Z"), None, "{odd}");
    }
    // A clock that was set back gives no duration.
    assert_eq!(noted("2024-01-01T00:00:01Z", "2024-01-01T00:00:00Z"), None);
    for days_since in [0, 58, 59, 11_016, 11_017, 19_675, 47_540, 47_541] {
        let (year, month, day) = date(days_since);
        assert_eq!(days(year, month, day), Some(days_since));
    }
}

/// A file may hold any numbers.
#[test]
fn a_note_with_a_number_that_no_execution_can_have_is_none() {
    let noted = |ran: u64| {
        let trace = json!({"kernel": "k", "ran": ran, "saw": {"x": ran}});
        let note = json!({"source": "0f", "count": 1, "state": "done", "trace": trace});
        let cell = json!({"cell_type": "code", "id": "c", "execution_count": 1, "outputs": [],
                          "metadata": {"inkcell": note}, "source": "x"});
        let file = json!({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
        let notebook = Notebook::parse(file.to_string().into_bytes()).expect("a notebook");
        notebook.cell(0).and_then(|cell| recorded(&cell))
    };
    assert!(noted(7).is_some());
    assert!(noted(1 << 63).is_none() && noted(u64::MAX).is_none());
}
