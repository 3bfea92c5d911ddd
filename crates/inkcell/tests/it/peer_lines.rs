//! Command lines of papermill and nbval, each beside the one that does the same here: both are run, and their results
//! compared.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use inkcell_testkit::env::{TestEnv, finish};
use inkcell_testkit::need;
use inkcell_testkit::notebooks::pretty;
use serde_json::{Value, json};

use crate::env;
use crate::notebook_runs::{notebook, ran, run};

fn python() -> String {
    std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// A program beside the interpreter of the tests, in the folder of the test.
fn peer(env: &TestEnv, module: &str, args: &[&str]) -> Command {
    let mut command = Command::new(python());
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.args(["-m", module]).args(args).current_dir(env.dir());
    command.env_clear().env("PATH", path).env("HOME", env.dir());
    command
}

/// What a reader of a notebook sees: each source, whether it is hidden, and its outputs. Papermill's own remarks about
/// a failure are left out.
fn seen(env: &TestEnv, name: &str) -> Vec<Value> {
    let book: Value = serde_json::from_slice(&env.get(name)).expect("a notebook");
    let text = |value: &Value| match value {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().unwrap_or_default().to_owned(),
    };
    let output = |output: &Value| match output["output_type"].as_str() {
        Some("stream") => json!(text(&output["text"])),
        Some("error") => output["ename"].clone(),
        _ => json!(text(&output["data"]["text/plain"])),
    };
    let cells = book["cells"].as_array().expect("cells");
    let code = cells.iter().filter(|cell| cell["cell_type"] == "code");
    code.map(|cell| {
        let outputs: Vec<Value> =
            cell["outputs"].as_array().into_iter().flatten().map(output).collect();
        let hidden = cell["metadata"]["jupyter"]["source_hidden"] == true;
        json!([text(&cell["source"]).trim(), hidden, outputs])
    })
    .collect()
}

fn with_parameters() -> String {
    let sources = [
        "year = 2000\nname = 'a'",
        "import os\nprint(year, name, os.path.basename(os.getcwd()))",
        "year",
    ];
    let mut book: Value = serde_json::from_str(&notebook(&sources)).expect("JSON");
    book["cells"][0]["metadata"] = json!({"tags": ["parameters"]});
    book["metadata"]["kernelspec"] =
        json!({"name": "python3", "display_name": "Python 3", "language": "python"});
    pretty(&book)
}

/// Options of papermill, and those that mean the same here. Both get the notebook and the output as each takes them.
const PAPERMILL: [(&[&str], &[&str]); 15] = [
    (&[], &[]),
    (&["-p", "year", "2024"], &["-p", "year", "2024"]),
    (&["-p", "year", "2_024.5", "-p", "name", "True"], &["-p", "year=2_024.5", "-p", "name=True"]),
    (&["-r", "name", "007"], &["-r", "name", "007"]),
    (&["-y", "{year: 1, name: [a, 2]}"], &["-y", "{year: 1, name: [a, 2]}"]),
    (&["-f", "values.yaml"], &["-f", "values.yaml"]),
    (&["-b", "eWVhcjogNw=="], &["-b", "eWVhcjogNw=="]),
    (&["--parameters", "year", "3"], &["--parameters", "year", "3"]),
    (&["--prepare-only", "-p", "year", "1"], &["--prepare-only", "-p", "year", "1"]),
    (&["--report-mode", "-p", "year", "1"], &["--report-mode", "-p", "year", "1"]),
    (&["--log-output"], &["--log-output"]),
    (&["--cwd", "sub"], &["--cwd", "sub"]),
    (&["--kernel", "python3"], &["--kernel", "python3"]),
    (&["--execution-timeout", "200"], &["--timeout", "200"]),
    (&["--no-progress-bar"], &["--quiet"]),
];

/// Every line of papermill's has one here that leaves the same notebook. Its `IN OUT` is spelled `IN -o OUT`.
#[test]
fn papermills_command_lines_have_their_like() {
    let name = "papermills_command_lines_have_their_like";
    if !need::python_package(name, OsStr::new(&python()), "papermill") {
        return;
    }
    let env = env();
    env.put("in.ipynb", with_parameters());
    env.put("values.yaml", "year: 5\nname: {deep: [1.5, null]}\n");
    std::fs::create_dir(env.path("sub")).expect("a folder");
    let check = |(at, (theirs, ours)): (usize, &(&[&str], &[&str]))| {
        let (out, own) = (format!("theirs-{at}.ipynb"), format!("ours-{at}.ipynb"));
        let line = [&["in.ipynb", &out][..], theirs].concat();
        finish(peer(&env, "papermill", &line), b"").exits(0);
        ran(&env, &[&["in.ipynb", "-o", &own][..], ours].concat()).exits(0);
        assert_eq!(seen(&env, &own), seen(&env, &out), "{theirs:?}");
    };
    let rows: Vec<_> = PAPERMILL.iter().enumerate().collect();
    std::thread::scope(|scope| {
        for rows in rows.chunks(rows.len().div_ceil(3)) {
            scope.spawn(move || rows.iter().copied().for_each(check));
        }
    });
    // Fields in the name of the output, standard input and output, a failure, and the list of parameters.
    for (program, args) in
        [("papermill", ["t-{year}.ipynb", "-p"]), ("inkcell", ["-ou-{year}.ipynb", "-p"])]
    {
        let line = [&["in.ipynb"][..], &args, &["year", "9"]].concat();
        let command =
            if program == "papermill" { peer(&env, program, &line) } else { run(&env, &line) };
        finish(command, b"").exits(0);
    }
    assert_eq!(seen(&env, "u-9.ipynb"), seen(&env, "t-9.ipynb"));
    let piped = with_parameters();
    let theirs = finish(peer(&env, "papermill", &["-", "-"]), piped.as_bytes()).exits(0);
    let ours = finish(run(&env, &["-"]), piped.as_bytes()).exits(0);
    env.put("theirs.ipynb", theirs.stdout);
    env.put("ours.ipynb", ours.stdout);
    assert_eq!(seen(&env, "ours.ipynb"), seen(&env, "theirs.ipynb"));
    env.put("bad.ipynb", with_parameters().replace("2000", "1/0"));
    finish(peer(&env, "papermill", &["bad.ipynb", "theirs.ipynb"]), b"").exits(1);
    ran(&env, &["bad.ipynb", "-o", "ours.ipynb"]).exits(1);
    assert_eq!(seen(&env, "ours.ipynb"), seen(&env, "theirs.ipynb"));
    let theirs = finish(peer(&env, "papermill", &["--help-notebook", "in.ipynb"]), b"").exits(0);
    let ours = ran(&env, &["in.ipynb", "--inspect"]).exits(0);
    for text in ["year", "2000", "name", "'a'"] {
        assert!(theirs.stdout.contains(text) && ours.stdout.contains(text), "{ours:?}");
    }
    // Two plain names may mean two notebooks here, so the error spells both meanings.
    let refused = ran(&env, &["in.ipynb", "ours.ipynb"]).exits(2).stderr;
    assert!(refused.contains("inkcell run in.ipynb -o ours.ipynb"), "{refused}");
    assert!(refused.contains("inkcell run --in-place in.ipynb ours.ipynb"), "{refused}");
}

/// Options of nbval's `pytest`, and those of `verify`, with the exit code of both.
const NBVAL: [(&[&str], &[&str], i32); 10] = [
    (&["--nbval", "same.ipynb"], &["same.ipynb"], 0),
    (&["--nbval", "other.ipynb"], &["other.ipynb"], 1),
    (&["--nbval-lax", "other.ipynb"], &["--lax", "other.ipynb"], 0),
    (&["--nbval-lax", "checked.ipynb"], &["--lax", "checked.ipynb"], 1),
    (&["--nbval", "marked.ipynb"], &["marked.ipynb"], 0),
    (
        &["--nbval", "--nbval-sanitize-with", "rules.cfg", "other.ipynb"],
        &["--ignore", "[0-9]+", "other.ipynb"],
        0,
    ),
    (
        &["--nbval", "--nbval-cell-timeout", "200", "same.ipynb"],
        &["--timeout", "200", "same.ipynb"],
        0,
    ),
    (&["--nbval", "fails.ipynb"], &["fails.ipynb"], 1),
    (
        &["--nbval", "-n", "2", "same.ipynb", "other.ipynb"],
        &["-j", "2", "same.ipynb", "other.ipynb"],
        1,
    ),
    (&["--nbval", "--junitxml", "t.xml", "other.ipynb"], &["--junit", "o.xml", "other.ipynb"], 1),
];

/// Every line of nbval's has one here that passes and fails with it.
#[test]
fn nbvals_command_lines_have_their_like() {
    let name = "nbvals_command_lines_have_their_like";
    if !need::python_package(name, OsStr::new(&python()), "nbval") {
        return;
    }
    let env = env();
    let put = |name: &str, sources: &[&str]| {
        env.put(name, notebook(sources));
        ran(&env, &[name, "--allow-errors"]).exits(0);
    };
    put("same.ipynb", &["x = 20", "print(x + 1)"]);
    for name in ["other.ipynb", "checked.ipynb", "marked.ipynb"] {
        let mark = match name {
            "checked.ipynb" => "# NBVAL_CHECK_OUTPUT\n",
            "marked.ipynb" => "# NBVAL_IGNORE_OUTPUT\n",
            _ => "",
        };
        put(name, &["x = 20", &format!("{mark}print('about', x + 1)")]);
        let text = String::from_utf8(env.get(name)).expect("text").replace("about 21", "about 22");
        env.put(name, text);
    }
    put("fails.ipynb", &["import os", "print(os.environ['NBVAL_FAILS'])"]);
    let mut first = run(&env, &["fails.ipynb"]);
    first.env("NBVAL_FAILS", "no");
    finish(first, b"").exits(0);
    env.put("rules.cfg", "[digits]\nregex: [0-9]+\nreplace: N\n");
    let interpreter = PathBuf::from(python());
    let check = |(theirs, ours, code): &(&[&str], &[&str], i32)| {
        let line = [&["--nbval-current-env", "-p", "no:cacheprovider"][..], theirs].concat();
        finish(peer(&env, "pytest", &line), b"").exits(*code);
        let mut command = env.inkcell();
        command.arg("verify").args(*ours).env("INKCELL_PYTHON_INTERPRETER", &interpreter);
        finish(command, b"").exits(*code);
    };
    std::thread::scope(|scope| {
        for rows in NBVAL.chunks(NBVAL.len().div_ceil(3)) {
            scope.spawn(move || rows.iter().for_each(check));
        }
    });
    let cases = |name: &str| {
        let text = String::from_utf8(env.get(name)).expect("text");
        (text.matches("<testcase ").count(), text.matches("<failure ").count())
    };
    assert_eq!(cases("o.xml"), cases("t.xml"));
}
