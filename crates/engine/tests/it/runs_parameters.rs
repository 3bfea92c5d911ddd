//! Notebooks run with values for their parameters.

use inkcell_engine::api::{CellChoice, RunNote, RunRequest, RunStart, Stamps, State};
use inkcell_engine::notebook::{ParameterValue, Parameters};
use serde_json::{Value, json};

use crate::runs::{Rig, notes, states};

fn values(given: &[(&str, i64)]) -> Parameters {
    let value =
        |(name, number): &(&str, i64)| ((*name).to_owned(), ParameterValue::Int((*number).into()));
    given.iter().map(value).collect()
}

fn only(list: &str) -> CellChoice {
    CellChoice { list: Some(list.to_owned()), ..CellChoice::default() }
}

fn with_defaults(rig: &Rig) {
    rig.put(&[
        ("import os", json!({})),
        ("year = 1999\nregion = 7", json!({"metadata": {"tags": ["parameters"]}})),
        ("print(year, region)", json!({})),
    ]);
}

/// The cell with the values follows the defaults, runs in its turn, and replaces an earlier one.
#[tokio::test]
async fn values_are_in_the_file_and_count() {
    let rig = Rig::new();
    with_defaults(&rig);
    let before = rig.file("a.ipynb");
    for year in [2024, 2025] {
        let parameters = values(&[("year", year)]);
        let report = rig.run(RunRequest { parameters, ..rig.request() }).await;
        assert_eq!(report.state, State::Done, "{report:?}");
        assert_eq!(notes(&report), []);
        let indexes: Vec<_> =
            report.cells.iter().map(|cell| cell.notebook.as_ref().map(|cell| cell.index)).collect();
        assert_eq!(indexes, [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(rig.shown(3), [format!("{year} 7\n")]);
        let file = rig.file("a.ipynb");
        assert_eq!(file["cells"].as_array().map(Vec::len), Some(4));
        assert_eq!(file["cells"][2]["metadata"], json!({"tags": ["injected-parameters"]}));
        let source = match &file["cells"][2]["source"] {
            Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
            other => other.as_str().unwrap_or_default().to_owned(),
        };
        assert_eq!(source, format!("# Parameters\nyear = {year}\n"));
        assert!(file["cells"][2]["execution_count"].is_u64());
    }
    // No other part of the notebook changes: without the values it is as before.
    let mut after = rig.file("a.ipynb");
    after["cells"].as_array_mut().unwrap().remove(2);
    for cell in after["cells"].as_array_mut().unwrap() {
        cell["outputs"] = json!([]);
        cell["execution_count"] = json!(null);
    }
    assert_eq!(after, before);
    rig.desk.engine.shutdown().await;
}

/// Positions mean the cells as the caller sees them, and the values apply to any choice.
#[tokio::test]
async fn chosen_cells_are_those_before_the_values_came() {
    let rig = Rig::new();
    rig.put(&[
        ("year = 1\nregion = 1", json!({"metadata": {"tags": ["parameters"]}})),
        ("print('not chosen')", json!({})),
        ("print(year, region)", json!({})),
    ]);
    let parameters = values(&[("year", 5), ("region", 6)]);
    let request = RunRequest { parameters, cells: only("2"), ..rig.request() };
    let report = rig.run(request).await;
    assert_eq!(states(&report), [State::Done, State::Done], "{report:?}");
    assert_eq!(rig.shown(3), ["5 6\n"]);
    assert!(rig.shown(2).is_empty());
    // Now the values have their cell, and positions are those of the file.
    let parameters = values(&[("year", 8), ("region", 9)]);
    let report = rig.run(RunRequest { parameters, cells: only("3"), ..rig.request() }).await;
    assert_eq!(states(&report), [State::Done, State::Done], "{report:?}");
    assert_eq!(rig.shown(3), ["8 9\n"]);
    rig.desk.engine.shutdown().await;
}

#[tokio::test]
async fn what_may_be_a_slip_is_told() {
    let rig = Rig::new();
    with_defaults(&rig);
    let parameters = values(&[("yaer", 1), ("region", 2), ("os", 3)]);
    let report = rig.run(RunRequest { parameters, ..rig.request() }).await;
    let names = vec!["yaer".to_owned(), "os".to_owned()];
    assert_eq!(notes(&report), [RunNote::UnknownParameters { names }]);
    rig.code(&["print(year)"]);
    let parameters = values(&[("year", 3)]);
    let report = rig.run(RunRequest { parameters: parameters.clone(), ..rig.request() }).await;
    assert_eq!((report.state, notes(&report)), (State::Done, &[RunNote::NoDefaults][..]));
    assert_eq!(rig.shown(1), ["3\n"]);
    // The second time the cell exists.
    let report = rig.run(RunRequest { parameters, ..rig.request() }).await;
    assert_eq!(notes(&report), []);
    rig.desk.engine.shutdown().await;
}

/// A cell that gives a parameter a value of its own is named; one that uses the value is not.
#[tokio::test]
async fn overwritten_values_are_told() {
    let rig = Rig::new();
    rig.put(&[
        ("year = 1999\nregion = 7\nnames = []", json!({"metadata": {"tags": ["parameters"]}})),
        ("names.append(region)", json!({})),
        ("year = 2000", json!({})),
        ("region = region + 1\nyear = 3", json!({})),
        ("if year:\n    month = 4\nif day:\n    day = 5", json!({})),
    ]);
    let parameters = values(&[("year", 2024), ("region", 1), ("month", 1), ("day", 1)]);
    let report = rig.run(RunRequest { parameters, ..rig.request() }).await;
    assert_eq!(report.state, State::Done, "{report:?}");
    let overwritten = |name: &str, index| RunNote::Overwritten { name: name.to_owned(), index };
    // A cell that writes to it on some way is named, too, unless it has used it.
    let notes = notes(&report);
    assert_eq!(notes[1..], [overwritten("year", 3), overwritten("month", 5)], "{notes:?}");
    rig.desk.engine.shutdown().await;
}

/// Values that cannot be written are refused before anything is touched.
#[tokio::test]
async fn a_refused_value_leaves_no_trace() {
    let rig = Rig::new();
    with_defaults(&rig);
    let before = rig.file("a.ipynb");
    let output = Some("out.ipynb".to_owned());
    let request = RunRequest { parameters: values(&[("not a name", 1)]), output, ..rig.request() };
    let refused = crate::faults_kit::run_notebook(
        &rig.desk.engine,
        request,
        &rig.files,
        crate::faults_kit::ME,
    )
    .await;
    let problem = refused.unwrap_err().to_string();
    assert!(
        problem.contains("\"not a name\" cannot be the name of a parameter in Python"),
        "{problem}"
    );
    assert_eq!(rig.file("a.ipynb"), before);
    assert!(!rig.desk.dir.path().join("out.ipynb").exists());
    rig.desk.engine.shutdown().await;
}

/// A run into another file can be resumed: with the same values after the completed cells, with other values from their
/// cell on.
#[tokio::test]
async fn a_run_with_values_is_taken_up() {
    let rig = Rig::new();
    rig.put(&[
        ("n = 0", json!({"metadata": {"tags": ["parameters"]}})),
        ("print('first', n)", json!({})),
        ("open('go').close(); print('second')", json!({})),
    ]);
    let ask = |number: i64, start: RunStart| RunRequest {
        parameters: values(&[("n", number)]),
        output: Some("out.ipynb".to_owned()),
        start,
        ..rig.request()
    };
    let report = rig.run(ask(1, RunStart::First)).await;
    assert_eq!(report.state, State::Error);
    std::fs::write(rig.desk.dir.path().join("go"), "").unwrap();
    let report = rig.run(ask(1, RunStart::Resume)).await;
    let cells = report.without_left_out().cells.len();
    assert_eq!((report.state, cells), (State::Done, 1), "{report:?}");
    let other = rig.run(ask(2, RunStart::Resume)).await;
    // The values and all cells after them.
    let cells = other.without_left_out().cells.len();
    assert_eq!((other.state, cells), (State::Done, 3), "{other:?}");
    let none = RunRequest { parameters: Parameters::default(), ..ask(0, RunStart::Resume) };
    assert_eq!(rig.run(none).await.state, State::Done);
    rig.desk.engine.shutdown().await;
}

/// Papermill's notes include the values.
#[tokio::test]
async fn values_are_noted_as_papermill_notes_them() {
    let rig = Rig::new();
    with_defaults(&rig);
    let parameters = values(&[("year", 2024)]);
    rig.run(RunRequest { parameters, stamps: Stamps::Papermill, ..rig.request() }).await;
    let noted = rig.file("a.ipynb")["metadata"]["papermill"].clone();
    assert_eq!(noted["parameters"], json!({"year": 2024}), "{noted}");
    assert_eq!(noted["default_parameters"], json!({}));
    rig.desk.engine.shutdown().await;
}
