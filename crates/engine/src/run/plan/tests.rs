use serde_json::json;

use super::*;
use crate::api::CellSide;
use crate::types::Version;

fn opened(cells: &Value, metadata: &Value) -> OpenNotebook {
    let notebook =
        json!({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5});
    let bytes = notebook.to_string().into_bytes();
    let version = Version::of(&bytes);
    let notebook = Notebook::parse(bytes).expect("a notebook");
    let (path, shown) = ("/a.ipynb".into(), "a.ipynb".to_owned());
    OpenNotebook { notebook, version, path, shown, recovered: None }
}

fn code(id: &str, source: &str, metadata: &Value) -> Value {
    json!({"cell_type": "code", "execution_count": null, "id": id, "metadata": metadata,
           "outputs": [], "source": source})
}

fn book() -> OpenNotebook {
    let cells = json!([
        code("aaaa", "a", &json!({})),
        {"cell_type": "markdown", "id": "bbbb", "metadata": {}, "source": "b"},
        code("cccc", "c", &json!({"tags": ["skip-execution"]})),
        code("dddd", " \n", &json!({})),
        code("eeee", "e", &json!({"tags": ["raises-exception"], "execution": {"timeout": 3}})),
        code("ffff", "f", &json!({})),
    ]);
    opened(&cells, &json!({"execution": {"timeout": 9.5}}))
}

fn ids(choice: &CellChoice) -> Vec<String> {
    let plan = plan(&book(), choice).expect("a plan");
    plan.cells.into_iter().filter_map(|planned| planned.cell.id).collect()
}

#[test]
fn code_is_run_and_nothing_else() {
    let plan = plan(&book(), &CellChoice::default()).expect("a plan");
    let rules: Vec<_> = plan
        .cells
        .iter()
        .map(|planned| (planned.cell.index, planned.on_error, planned.timeout))
        .collect();
    let seconds = |seconds| Some(Duration::from_secs_f64(seconds));
    let expected = [
        (0, OnError::Stop, seconds(9.5)),
        (4, OnError::GoOn, seconds(3.0)),
        (5, OnError::Stop, seconds(9.5)),
    ];
    assert_eq!((rules.as_slice(), plan.skipped.as_slice()), (expected.as_slice(), [2].as_slice()));
}

#[test]
fn cells_are_chosen_by_list_and_by_ends() {
    let choice = |list: Option<&str>, from: Option<&str>, to: Option<&str>| CellChoice {
        list: list.map(str::to_owned),
        from: from.map(str::to_owned),
        to: to.map(str::to_owned),
        side: None,
    };
    for (choice, expected) in [
        (choice(Some("all"), None, None), vec!["aaaa", "eeee", "ffff"]),
        (choice(Some("0,eeee"), None, None), vec!["aaaa", "eeee"]),
        (choice(None, Some("1"), None), vec!["eeee", "ffff"]),
        (choice(None, None, Some("eeee")), vec!["aaaa", "eeee"]),
        (choice(None, Some("eeee"), Some("eeee")), vec!["eeee"]),
        (choice(Some("0-4"), Some("bbbb"), None), vec!["eeee"]),
    ] {
        assert_eq!(ids(&choice), expected, "{choice:?}");
    }
    assert!(plan(&book(), &choice(None, Some("none"), None)).is_err());
    let reversed = plan(&book(), &choice(None, Some("eeee"), Some("0")));
    let problem = reversed.expect_err("it has no end").to_string();
    assert_eq!(problem, "to: 0 is cell 0, which stands before cell 4 (eeee), the first to run");
}

/// A position is not an id, even if an id looks the same.
#[test]
fn a_side_is_told_by_its_position() {
    let cell = |id: &str| code(id, "1", &json!({}));
    let book = opened(&json!([cell("2"), cell("1"), cell("0")]), &json!({}));
    let on = |side| {
        let choice = CellChoice { side: Some(side), ..CellChoice::default() };
        let plan = plan(&book, &choice).expect("a plan");
        plan.cells.into_iter().map(|planned| planned.cell.index).collect::<Vec<_>>()
    };
    assert_eq!((on(CellSide::UpTo(0)), on(CellSide::After(0))), (vec![0], vec![1, 2]));
    assert_eq!((on(CellSide::UpTo(9)), on(CellSide::After(9))), (vec![0, 1, 2], vec![]));
}

/// The kernel and language that the metadata of a notebook name.
#[test]
fn a_notebook_says_which_kernel_it_is_for() {
    let says = |metadata: Value| match kernel(&opened(&json!([]), &metadata).notebook) {
        None => (String::new(), String::new()),
        Some(KernelChoice::OfNotebook { name, language }) => {
            (name.map(|name| name.0).unwrap_or_default(), language.unwrap_or_default())
        }
        Some(other) => panic!("{other:?}"),
    };
    for (metadata, name, language) in [
        (json!({}), "", ""),
        (json!({"kernelspec": 7, "language_info": "R"}), "", ""),
        (json!({"kernelspec": {"name": ""}}), "", ""),
        (json!({"kernelspec": {"name": "python3"}}), "python3", "python"),
        (json!({"kernelspec": {"name": "env", "display_name": "Python (env)"}}), "env", "python"),
        (json!({"kernelspec": {"name": "env", "display_name": "Env"}}), "env", ""),
        (json!({"kernelspec": {"name": "ir", "language": "R"}}), "ir", "R"),
        (json!({"language_info": {"name": "Python"}}), "", "Python"),
        (
            json!({"kernelspec": {"name": "x", "language": "python"}, "language_info": {"name": "julia"}}),
            "x",
            "julia",
        ),
    ] {
        assert_eq!(says(metadata.clone()), (name.to_owned(), language.to_owned()), "{metadata}");
    }
}

/// Durations that other runners noted in the file are used.
#[test]
fn durations_in_the_file_are_known() {
    let times = json!({"iopub.execute_input": "2024-01-01T00:00:00.5Z",
                       "shell.execute_reply": "2024-01-01T00:00:02Z", "timeout": "7"});
    let cells = json!([
        code("aaaa", "a", &json!({"papermill": {"duration": 2.5}})),
        code("bbbb", "b", &json!({"execution": times})),
        code("cccc", "c", &json!({"papermill": {"duration": -1}, "execution": times})),
        code("dddd", "d", &json!({"papermill": {"duration": null}})),
    ]);
    let plan = plan(&opened(&cells, &json!({})), &CellChoice::default()).expect("a plan");
    let took: Vec<_> = plan.cells.iter().map(|planned| planned.last_took).collect();
    let seconds = |seconds| Some(Duration::from_secs_f64(seconds));
    assert_eq!(took, [seconds(2.5), seconds(1.5), seconds(1.5), None]);
    assert_eq!(plan.cells[1].timeout, seconds(7.0));
}

/// Error policies from the metadata of the notebook and its cells.
#[test]
fn metadata_says_what_may_fail() {
    let cells = json!([
        code("aaaa", "a", &json!({"execution": {"allow_errors": true}})),
        code("bbbb", "b", &json!({"execution": {"allow_errors": "yes", "timeout": "soon"}})),
    ]);
    let rules = |of_notebook: &Value| {
        let plan = plan(&opened(&cells, of_notebook), &CellChoice::default()).expect("a plan");
        let of_cells: Vec<_> =
            plan.cells.iter().map(|cell| (cell.on_error, cell.timeout)).collect();
        (plan.on_error, of_cells)
    };
    let (go_on, stop) = ((OnError::GoOn, None), (OnError::Stop, None));
    assert_eq!(rules(&json!({})), (OnError::Stop, vec![go_on, stop]));
    // A permission in the notebook applies to all its cells.
    let allowing = json!({"execution": {"allow_errors": true}});
    assert_eq!(rules(&allowing), (OnError::GoOn, vec![go_on, go_on]));
}

/// A run with needed cells plans all cells above the chosen ones.
#[test]
fn cells_above_the_chosen_ones_may_be_needed() {
    let book = book();
    // The choice, the cells of the plan, the numbers of the chosen ones, and whether a cell above is left out.
    let table: [(&str, &[usize], &[usize], bool); 5] = [
        ("5", &[0, 4, 5], &[2], true),
        ("0,5", &[0, 4, 5], &[0, 2], true),
        ("0-4", &[0, 4], &[0, 1], false),
        ("0", &[0], &[0], false),
        ("1-3", &[], &[], false),
    ];
    for (list, planned, chosen, is_any_left_out) in table {
        let choice = CellChoice { list: Some(list.to_owned()), ..CellChoice::default() };
        let given = plan(&book, &choice).expect("a plan");
        assert_eq!(leaves_out_some(&book.notebook, &given.cells), is_any_left_out, "{list}");
        let skipped = given.skipped.clone();
        let (all, numbers) = with_cells_above(&book, given).expect("a plan");
        let places: Vec<usize> = all.cells.iter().map(|planned| planned.cell.index).collect();
        assert_eq!((places.as_slice(), all.skipped), (planned, skipped), "{list}");
        assert_eq!(numbers.into_iter().collect::<Vec<_>>(), chosen, "{list}");
    }
}
