use inkcell_notebook::Notebook;
use serde_json::{Value, json};

use super::*;
use crate::types::State;

fn notebook(cells: &[(&str, Option<&str>, Option<u32>)]) -> Notebook {
    let cell = |(source, id, count): &(&str, Option<&str>, Option<u32>)| {
        let mut cell = json!({"cell_type": "code", "execution_count": count, "metadata": {},
                              "outputs": [], "source": source});
        if let Some(id) = id {
            cell["id"] = (*id).into();
        }
        cell
    };
    let cells: Vec<Value> = cells.iter().map(cell).collect();
    let file = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4});
    Notebook::parse(file.to_string().into_bytes()).expect("a notebook")
}

fn record(source: &str, id: Option<&str>, index: usize, count: u32) -> RanCell {
    RanCell {
        source: SourceDigest::of(source),
        count: Some(count),
        is_twin: id.is_some(),
        ..RanCell::unknown(id, index, State::Done)
    }
}

type Cells = &'static [(&'static str, Option<u32>)];

/// `x` and `y` ran at 0 and 1, with counts 1 and 2. Each row gives the current cells and the
/// expected positions.
#[test]
fn cells_are_found_where_they_went() {
    let table: &[(Cells, Option<[Option<usize>; 2]>)] = &[
        (&[("x", Some(1)), ("y", Some(2))], None),
        (&[("x", None), ("y", None), ("new", None)], None),
        (&[("new", None), ("x", Some(1)), ("y", Some(2))], Some([Some(1), Some(2)])),
        (&[("x", Some(1)), ("new", None), ("y", Some(2))], Some([Some(0), Some(2)])),
        (&[("y", Some(2))], Some([None, Some(0)])),
        (&[], Some([None, None])),
        // A changed cell is found by its position or its count.
        (&[("x", Some(1)), ("z", Some(2))], None),
        (&[("x", Some(1)), ("z", None)], None),
        (&[("new", None), ("z", Some(1)), ("y", Some(2))], Some([Some(1), Some(2)])),
        // Two cells with the same source.
        (&[("x", Some(1)), ("x", None), ("y", Some(2))], Some([Some(0), Some(2)])),
    ];
    for id in [None, Some("twin")] {
        let records = [record("x", id, 0, 1), record("y", id, 1, 2)];
        for (cells, wanted) in table {
            let cells: Vec<_> = cells.iter().map(|(source, count)| (*source, id, *count)).collect();
            let found = places(&notebook(&cells), &records);
            assert_eq!(found.as_deref(), wanted.as_ref().map(|wanted| &wanted[..]), "{cells:?}");
        }
    }
}

#[test]
fn cells_with_ids_of_their_own_stay_out_of_it() {
    let own = RanCell { is_twin: false, ..record("a", Some("a"), 7, 1) };
    let cells = [("new", None, None), ("x", None, Some(2)), ("a", Some("a"), Some(1))];
    assert_eq!(places(&notebook(&cells), std::slice::from_ref(&own)), None);
    let records = [own, record("x", None, 0, 2)];
    assert_eq!(places(&notebook(&cells), &records), Some(vec![Some(7), Some(1)]));
}
