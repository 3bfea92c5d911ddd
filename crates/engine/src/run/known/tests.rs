use inkcell_notebook::Notebook;
use serde_json::{Value, json};

use super::*;

/// A notebook of code cells, each with an id and a source; an empty id is none.
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

/// F-079: which cell of a file it is that ran, where nothing else is known of the notebook.
#[test]
fn a_cell_is_found_again() {
    let find =
        |known: &KnownCell, cells: &[(&str, &str)]| Sight::new(&book(cells), None).find(known);
    let named = known(Some("aaaa"), 0);
    assert_eq!(find(&named, &[("bbbb", "y"), ("aaaa", "x")]), Found::Same(1));
    assert_eq!(find(&named, &[("bbbb", "x"), ("aaaa", "y")]), Found::Changed(1));
    assert_eq!(find(&named, &[("bbbb", "x")]), Found::Gone);
    // An id that two cells have names neither.
    assert_eq!(find(&named, &[("aaaa", "y"), ("aaaa", "x")]), Found::Same(1));
    let unnamed = known(None, 1);
    assert_eq!(find(&unnamed, &[("", "y"), ("", "x")]), Found::Same(1));
    assert_eq!(find(&unnamed, &[("", "x"), ("", "y")]), Found::Same(0));
    assert_eq!(find(&unnamed, &[("", "x"), ("", "y"), ("", "x")]), Found::Changed(1));
    assert_eq!(find(&unnamed, &[("", "y")]), Found::Gone);
}

/// F-079: cells without ids are told apart by their order, also when they hold the same code.
#[test]
fn cells_without_ids_are_known_by_their_order() {
    let planned = book(&[("", "a"), ("", "x"), ("", "b"), ("", "x"), ("", "c")]);
    let (first, second) = (
        KnownCell { planned: Some(1), ..known(None, 1) },
        KnownCell { planned: Some(3), ..known(None, 3) },
    );
    let table = [
        (vec!["new", "a", "x", "b", "x", "c"], Found::Same(2), Found::Same(4)),
        (vec!["x", "b", "x", "c"], Found::Same(0), Found::Same(2)),
        (vec!["a", "b", "x", "c"], Found::Gone, Found::Same(2)),
        (vec!["a", "x", "b", "y", "c"], Found::Same(1), Found::Changed(3)),
        (vec!["a", "y", "b", "x", "c"], Found::Changed(1), Found::Same(3)),
        (vec![], Found::Gone, Found::Gone),
    ];
    for (sources, wanted_first, wanted_second) in table {
        let cells: Vec<(&str, &str)> = sources.iter().map(|source| ("", *source)).collect();
        let now = book(&cells);
        let sight = Sight::new(&now, Some(&planned));
        assert_eq!(sight.find(&first), wanted_first, "{sources:?}");
        assert_eq!(sight.find(&second), wanted_second, "{sources:?}");
    }
}

/// Only where ids do not tell all cells apart is more remembered.
#[test]
fn ids_that_tell_all_cells_apart() {
    assert!(has_unique_ids(&book(&[("a", "x"), ("b", "x")])));
    assert!(!has_unique_ids(&book(&[("a", "x"), ("a", "x")])));
    assert!(!has_unique_ids(&book(&[("a", "x"), ("", "x")])));
    assert!(has_unique_ids(&book(&[])));
}
