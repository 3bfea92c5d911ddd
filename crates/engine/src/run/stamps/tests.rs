use super::*;

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
    assert_eq!(naive(time), "2000-02-28T23:59:59.000007");
    assert_eq!(zulu(UNIX_EPOCH), "1970-01-01T00:00:00.000000Z");
}

/// A cell of the user's that speaks of such marks is none.
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
