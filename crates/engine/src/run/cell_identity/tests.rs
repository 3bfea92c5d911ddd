use inkcell_notebook::Notebook;
use serde_json::{Value, json};

use super::*;

/// A notebook of code cells, each with an id and a source; an empty id stands for a missing one.
fn book(cells: &[(&str, &str)]) -> Notebook {
    let cell = |(id, source): &(&str, &str)| -> Value {
        let mut cell =
            json!({"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": []});
        cell["source"] = (*source).into();
        if !id.is_empty() {
            cell["id"] = (*id).into();
        }
        cell
    };
    let cells: Vec<Value> = cells.iter().map(cell).collect();
    let text = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4});
    Notebook::parse(text.to_string().into_bytes()).expect("a notebook")
}

fn known(id: Option<&str>, index: usize) -> KnownCell {
    KnownCell { id: id.map(str::to_owned), index, source: "x".to_owned(), planned: None }
}

/// F-079: finds the cell that ran, knowing only the current file.
#[test]
fn a_cell_is_found_again() {
    let find =
        |known: &KnownCell, cells: &[(&str, &str)]| CellFinder::new(&book(cells), None).find(known);
    let named = known(Some("aaaa"), 0);
    assert_eq!(find(&named, &[("bbbb", "y"), ("aaaa", "x")]), CellMatch::Same(1));
    assert_eq!(find(&named, &[("bbbb", "x"), ("aaaa", "y")]), CellMatch::Changed(1));
    assert_eq!(find(&named, &[("bbbb", "x")]), CellMatch::Gone);
    // An id that two cells share identifies neither.
    assert_eq!(find(&named, &[("aaaa", "y"), ("aaaa", "x")]), CellMatch::Same(1));
    let unnamed = known(None, 1);
    assert_eq!(find(&unnamed, &[("", "y"), ("", "x")]), CellMatch::Same(1));
    assert_eq!(find(&unnamed, &[("", "x"), ("", "y")]), CellMatch::Same(0));
    assert_eq!(find(&unnamed, &[("", "x"), ("", "y"), ("", "x")]), CellMatch::Changed(1));
    assert_eq!(find(&unnamed, &[("", "y")]), CellMatch::Gone);
}

/// F-079: order tells cells without ids apart, even if they hold the same code.
#[test]
fn cells_without_ids_are_known_by_their_order() {
    let planned = book(&[("", "a"), ("", "x"), ("", "b"), ("", "x"), ("", "c")]);
    let (first, second) = (
        KnownCell { planned: Some(1), ..known(None, 1) },
        KnownCell { planned: Some(3), ..known(None, 3) },
    );
    let table = [
        (vec!["new", "a", "x", "b", "x", "c"], CellMatch::Same(2), CellMatch::Same(4)),
        (vec!["x", "b", "x", "c"], CellMatch::Same(0), CellMatch::Same(2)),
        (vec!["a", "b", "x", "c"], CellMatch::Gone, CellMatch::Same(2)),
        (vec!["a", "x", "b", "y", "c"], CellMatch::Same(1), CellMatch::Changed(3)),
        (vec!["a", "y", "b", "x", "c"], CellMatch::Changed(1), CellMatch::Same(3)),
        (vec![], CellMatch::Gone, CellMatch::Gone),
    ];
    for (sources, wanted_first, wanted_second) in table {
        let cells: Vec<(&str, &str)> = sources.iter().map(|source| ("", *source)).collect();
        let now = book(&cells);
        let sight = CellFinder::new(&now, Some(&planned));
        assert_eq!(sight.find(&first), wanted_first, "{sources:?}");
        assert_eq!(sight.find(&second), wanted_second, "{sources:?}");
    }
}

/// The planned notebook is remembered only if ids do not tell all cells apart.
#[test]
fn ids_that_tell_all_cells_apart() {
    assert!(has_unique_ids(&book(&[("a", "x"), ("b", "x")])));
    assert!(!has_unique_ids(&book(&[("a", "x"), ("a", "x")])));
    assert!(!has_unique_ids(&book(&[("a", "x"), ("", "x")])));
    assert!(has_unique_ids(&book(&[])));
}
