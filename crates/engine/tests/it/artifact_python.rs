//! Stored output from Python: the next cell can read the whole artifact that a report names.

use inkcell_engine::api::{EndReport, PythonReport, State};
use inkcell_engine::artifact::{ArtifactSession, ArtifactSpec};

use crate::faults_kit::{Desk, told};

/// The id that the report of a call with one cell names.
fn id_in(report: &PythonReport) -> String {
    assert_eq!(report.state, State::Done, "{report:?}");
    let output = &report.cells[0].output;
    let id = output.artifact.as_ref().expect("an artifact").id.clone();
    let block = output.block(None);
    assert!(block.ends_with(&format!("Read artifact://{id} for full output]")), "{block}");
    id
}

async fn value(desk: &Desk, code: &str) -> String {
    told(&desk.run(&[code]).await)
}

/// The name and text of the exception that ends the code.
async fn error(desk: &Desk, code: &str) -> (String, String) {
    let report = desk.run(&[code]).await;
    let Some(EndReport::Exception(error)) = &report.cells[0].end else { panic!("{report:?}") };
    (error.name.clone(), error.value.clone())
}

/// B:E-41 B:O-08: a cell prints 200 KB, the report names an artifact, and `output` returns all of
/// it.
#[tokio::test]
async fn the_next_cell_has_all_of_it() {
    let desk = Desk::new();
    let text = "text = ''.join(f'line {n}: é😀\\x1b[31mred\\x1b[0m\\n' for n in range(8000))";
    let id = id_in(&desk.run(&[&format!("{text}\nprint(text, end='')")]).await);
    assert_eq!(value(&desk, "len(text.encode()) > 200_000").await, "True");
    assert_eq!(value(&desk, &format!("len(output('{id}')) == len(text)")).await, "True");
    assert_eq!(value(&desk, &format!("output('artifact://{id}') == text")).await, "True");
    // Output of a child process is there too, with lines numbered as in a notice.
    let stripped = format!("output('{id}', offset=7999, limit=1, format='stripped')");
    assert_eq!(value(&desk, &stripped).await, "'line 7998: é😀red'");
    let other = "import os\nos.system('seq 1 40000');";
    let other = id_in(&desk.run(&[other]).await);
    let both = format!(
        "both = output('{id}', '{other}')\n\
         [sorted(both[0]), both[0]['content'] == text, both[1]['content'].split()[-1]]"
    );
    assert_eq!(value(&desk, &both).await, "[['content', 'id'], True, '40000']");
    desk.engine.shutdown().await;
}

/// B:E-41: a JSON value by its path, and a picture as bytes.
#[tokio::test]
async fn json_and_pictures_can_be_had() {
    let desk = Desk::new();
    let code = "import json\nprint(json.dumps({'rows': [{'n': n} for n in range(20_000)]}))";
    let id = id_in(&desk.run(&[code]).await);
    assert_eq!(value(&desk, &format!("output('{id}', query='.rows[-1].n')")).await, "'19999'");
    let session = ArtifactSession::from(&desk.key());
    let spec = ArtifactSpec { session, kind: "image/png".to_owned(), title: String::new() };
    let written = desk.engine.artifacts().store(&spec, b"\x89PNG\r\n").expect("stored");
    let picture = written.info.expect("kept").id;
    let code = format!("output('{picture}')");
    assert_eq!(value(&desk, &code).await, "b'\\x89PNG\\r\\n'");
    desk.engine.shutdown().await;
}

/// B:E-43 S-040: the error for a missing id names existing ones; an id is not a path and belongs to
/// one session.
#[tokio::test]
async fn an_id_that_is_not_there_is_told() {
    let desk = Desk::new();
    let id = id_in(&desk.run(&["print('x\\n' * 100_000)"]).await);
    let wanted = format!("Output not found: nope\n\nAvailable outputs: {id}");
    let not_found = ("FileNotFoundError".to_owned(), wanted);
    assert_eq!(error(&desk, "output('nope')").await, not_found);
    std::fs::write(desk.dir.path().join("secret.md"), "secret").expect("written");
    let here = desk.dir.path().display();
    for hostile in
        ["../../../secret", "..", "", "%2e%2e/secret", "a\\0", &format!("{here}/secret"), "con"]
    {
        let (name, text) = error(&desk, &format!("output('{hostile}')")).await;
        assert_eq!(name, "FileNotFoundError", "{hostile}: {text}");
        assert!(text.ends_with(&format!("Available outputs: {id}")), "{text}");
    }
    let past = format!("output('{id}', offset=100_003)");
    let (name, text) = error(&desk, &past).await;
    assert_eq!(name, "ValueError");
    assert!(text.starts_with("offset 100003 is past the end of output"), "{text}");
    let theirs = desk.ask(desk.named("other", &[&format!("output('{id}')")])).await;
    let Some(EndReport::Exception(error)) = &theirs.cells[0].end else { panic!("{theirs:?}") };
    assert_eq!(error.value, format!("Output not found: {id}"));
    desk.engine.shutdown().await;
}
