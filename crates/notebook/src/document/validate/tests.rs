use super::*;

fn problems(text: &str) -> Vec<String> {
    Notebook::parse(text.as_bytes().to_vec()).unwrap().problems()
}

#[test]
fn what_nbformat_demands_is_named_when_it_is_missing() {
    let whole = |cell: &str| {
        format!(
            "{{\"cells\": [{cell}], \"metadata\": {{}}, \"nbformat\": 4, \"nbformat_minor\": 5}}"
        )
    };
    let good = r#"{"cell_type": "code", "id": "a1", "metadata": {}, "source": ["x"], "outputs": [], "execution_count": null}"#;
    assert!(problems(&whole(good)).is_empty());
    assert!(Notebook::empty().problems().is_empty());
    let table = [
        (good.replace("\"id\": \"a1\", ", ""), "cell 0: \"id\" must be"),
        (good.replace("a1", "not an id!"), "cell 0: \"id\" must be"),
        (format!("{good}, {good}"), "cell 1: another cell has the same \"id\""),
        (good.replace("[\"x\"]", "[1]"), "cell 0: \"source\" must be"),
        (good.replace(", \"source\": [\"x\"]", ""), "cell 0: \"source\" must be"),
        (good.replace("\"metadata\": {}, ", ""), "cell 0: \"metadata\" must be"),
        (good.replace("\"outputs\": []", "\"outputs\": {}"), "cell 0: \"outputs\" must be a list"),
        (good.replace("\"outputs\": []", "\"outputs\": [5]"), "cell 0: \"outputs\" holds"),
        (good.replace("null", "\"1\""), "cell 0: \"execution_count\" must be"),
        (good.replace("\"code\"", "\"markdown\""), "cell 0: only code cells"),
        (good.replace("\"code\"", "\"heading\""), "cell 0: \"cell_type\" must be"),
        ("7".to_owned(), "cell 0: \"cell_type\" must be"),
    ];
    for (cell, wanted) in table {
        let found = problems(&whole(&cell));
        assert!(found.iter().any(|problem| problem.starts_with(wanted)), "{cell}: {found:?}");
    }
    let found = problems(r#"{"cells": []}"#);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(problems(&whole(&vec!["1"; 99].join(", "))).len() <= 10);
}
