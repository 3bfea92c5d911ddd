//! Many notebooks in one command, with the real binary.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use inkcell_testkit::env::{TestEnv, finish, names_in};
use inkcell_testkit::need::{jupyter_server, named_python, python_package};
use inkcell_testkit::notebooks::pretty;
use inkcell_testkit::pty::{Pty, USUAL};
use inkcell_testkit::wait::until;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::env;
use crate::gateways::{Elsewhere, PATIENT, TOKEN};
use crate::notebook_runs::{notebook, outputs, ran, run};
use crate::running::Running;

/// A notebook whose second cell has the defaults.
fn with_parameters(before: &str, defaults: &str, after: &[&str]) -> String {
    let cell = |(at, (source, tags)): (usize, (&str, Value))| {
        json!({"cell_type": "code", "execution_count": null, "id": format!("c{at}"),
            "metadata": {"tags": tags}, "outputs": [], "source": source})
    };
    let mut cells = vec![(before, json!([])), (defaults, json!(["parameters"]))];
    cells.extend(after.iter().map(|source| (*source, json!([]))));
    let cells: Vec<Value> = cells.into_iter().enumerate().map(cell).collect();
    pretty(&json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
}

fn put(env: &TestEnv, notebooks: &[(&str, &[&str])]) {
    std::fs::create_dir_all(env.path("nb")).expect("a folder");
    for (name, cells) in notebooks {
        env.put(name, notebook(cells));
    }
}

fn report(env: &TestEnv) -> Value {
    serde_json::from_slice(&env.get("report.json")).expect("JSON")
}

/// Fate and number of tries of each row.
fn fates(env: &TestEnv) -> Vec<(String, usize)> {
    let report = report(env);
    let rows = report["notebooks"].as_array().expect("rows");
    let fate = |row: &Value| {
        let status = row["status"].as_str().expect("a word").to_owned();
        (status, row["tries"].as_array().expect("tries").len())
    };
    rows.iter().map(fate).collect()
}

/// Issue 21, 8: two names could mean a notebook and the file to write. Nothing is run, and the error spells out both
/// meanings. A quoted pattern has one meaning.
#[test]
fn names_without_a_place_for_outputs_are_refused() {
    let env = env();
    env.put("a.ipynb", notebook(&["1"]));
    env.put("out.ipynb", notebook(&["2"]));
    let (a, out) = (env.get("a.ipynb"), env.get("out.ipynb"));
    let said = ran(&env, &["a.ipynb", "out.ipynb"]).exits(2).stderr;
    assert!(said.contains("inkcell run a.ipynb -o out.ipynb"), "{said}");
    assert!(said.contains("inkcell run --in-place a.ipynb out.ipynb"), "{said}");
    let said = ran(&env, &["a.ipynb", "out.ipynb", "none.ipynb"]).exits(2).stderr;
    assert!(said.contains("--in-place"), "{said}");
    assert_eq!((env.get("a.ipynb"), env.get("out.ipynb")), (a, out));
    ran(&env, &["*.ipynb", "-q"]).exits(0);
    assert_ne!(env.get("out.ipynb"), notebook(&["2"]).into_bytes());
}

/// One dies, one hangs, one is wrong, and none of them keeps the others from ending well. The summary, the JUnit
/// file and the JSON report all of it.
#[test]
fn one_dying_one_hanging_one_wrong() {
    let env = env();
    put(
        &env,
        &[
            ("nb/a.ipynb", &["print('well')"]),
            ("nb/dies.ipynb", &["import os", "os.kill(os.getpid(), 9)"]),
            ("nb/wrong.ipynb", &["raise ValueError('<wrong> & \"bad\"')", "'never'"]),
            ("nb/z.ipynb", &["'last'"]),
        ],
    );
    // Only this one has a limit, set in its own cell: a busy machine may hold the others up.
    let mut hangs: Value =
        serde_json::from_str(&notebook(&["import time\ntime.sleep(600)"])).expect("JSON");
    hangs["metadata"] = json!({"execution": {"timeout": 1}});
    env.put("nb/hangs.ipynb", pretty(&hangs));
    let args = ["nb/*.ipynb", "-j", "2", "--junit", "j.xml", "--report", "report.json"];
    let done = ran(&env, &args).exits(1);
    for line in [
        "failed: nb/dies.ipynb: cell 1 (c1): the kernel was killed by signal 9",
        "failed: nb/hangs.ipynb: cell 0 (c0): did not end within 1.0 s",
        "failed: nb/wrong.ipynb: cell 0 (c0): ValueError: <wrong> & \"bad\"",
        "5 notebooks: 2 ok, 3 failed in",
    ] {
        assert!(done.stdout.contains(line), "{done:?}");
    }
    assert_eq!(done.stderr.lines().filter(|line| line.contains("/5  ")).count(), 5, "{done:?}");
    assert!(outputs(&env, "nb/a.ipynb", 0).contains("well"));
    assert!(outputs(&env, "nb/z.ipynb", 0).contains("last"));
    assert!(
        outputs(&env, "nb/hangs.ipynb", 0).contains("Error")
            || outputs(&env, "nb/hangs.ipynb", 0).contains("Interrupt")
    );
    let report = report(&env);
    let exits: Vec<&Value> = report["notebooks"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| &row["tries"][0]["exit"])
        .collect();
    assert_eq!(exits, [0, 7, 124, 1, 0]);
    well_formed(&env, "j.xml", (5, 2, 1));
}

/// An XML parser that is not ours accepts the file, and finds this many tests, failures and errors.
fn well_formed(env: &TestEnv, name: &str, wanted: (u32, u32, u32)) {
    let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let code = "import sys, xml.etree.ElementTree as e\ns = e.parse(sys.argv[1]).getroot()[0]\n\
                print(len(s.findall('testcase')), len(s.findall('testcase/failure')), \
                len(s.findall('testcase/error')), s.get('tests'), s.get('failures'), s.get('errors'))";
    let mut command = Command::new(python);
    command.args(["-c", code]).arg(env.path(name));
    let (tests, failures, errors) = wanted;
    let wanted = format!("{tests} {failures} {errors} {tests} {failures} {errors}");
    assert_eq!(finish(command, b"").ok().stdout.trim(), wanted);
}

/// The exit code is that of all failures if they agree.
#[test]
fn exit_codes_are_those_of_the_table() {
    let env = env();
    put(&env, &[("a.ipynb", &["1"]), ("b.ipynb", &["import os; os._exit(3)"])]);
    env.put("broken.ipynb", "{");
    ran(&env, &["--in-place", "a.ipynb", "b.ipynb", "-q"]).exits(7);
    ran(&env, &["--in-place", "a.ipynb", "broken.ipynb", "-q"]).exits(2);
    ran(&env, &["--in-place", "a.ipynb", "b.ipynb", "broken.ipynb", "-q"]).exits(1);
    ran(&env, &["a.ipynb", "a.ipynb", "-q"]).exits(0);
}

/// With the option nothing is begun after the first failure; without it all are.
#[test]
fn the_first_failure_can_stop_the_rest() {
    let env = env();
    put(&env, &[("a.ipynb", &["1 / 0"]), ("b.ipynb", &["1"]), ("c.ipynb", &["1"])]);
    let args =
        ["--in-place", "a.ipynb", "b.ipynb", "c.ipynb", "-j", "1", "--report", "report.json"];
    ran(&env, &[&args[..], &["--fail-fast"]].concat()).exits(1);
    let word = |fate: &str, tries| (fate.to_owned(), tries);
    assert_eq!(fates(&env), [word("failed", 1), word("not_run", 0), word("not_run", 0)]);
    ran(&env, &args).exits(1);
    assert_eq!(fates(&env), [word("failed", 1), word("ok", 1), word("ok", 1)]);
}

/// Issue 21, 10: with `--allow-errors` each line, try and report lists every failed cell.
#[test]
fn failures_that_are_allowed_are_told() {
    let env = env();
    put(&env, &[("a.ipynb", &["1 / 0", "[][1]"]), ("b.ipynb", &["1"])]);
    let args = ["--in-place", "a.ipynb", "b.ipynb", "-j", "1", "--allow-errors"];
    let told = ran(&env, &[&args[..], &["--report", "report.json"]].concat()).exits(0).stderr;
    assert!(told.contains("1/2  failed cells ") && told.contains("(and 1 more)"), "{told}");
    assert_eq!(fates(&env), [("failed_cells".to_owned(), 1), ("ok".to_owned(), 1)]);
    let tried = &report(&env)["notebooks"][0]["tries"][0];
    assert_eq!((&tried["status"], &tried["failed_cells"]), (&json!("failed_cells"), &json!(2)));
    let details = tried["error"]["details"].as_str().expect("text");
    assert!(details.contains("ZeroDivisionError") && details.contains("IndexError"), "{details}");

    put(&env, &[("a.ipynb", &["1 / 0", "import sys; sys.exit('enough')"])]);
    ran(&env, &[&args[..], &["--report", "report.json"]].concat()).exits(1);
    let error = &report(&env)["notebooks"][0]["tries"][0]["error"];
    assert_eq!(error["message"], "cell 1 (c1): called exit with: enough");
    let details = error["details"].as_str().expect("text");
    let [first, exit] = ["ZeroDivisionError", "called exit"].map(|said| details.find(said));
    assert!(first.is_some() && first < exit, "{details}");
}

/// Issue 21, 10: neither `--resume`, nor metadata, nor a shared beginning hides a failed cell. A tag allows a cell
/// to fail, and its failure is not counted.
#[test]
fn failures_are_told_however_they_are_allowed() {
    let env = env();
    let told = ["--report", "report.json", "--junit", "j.xml"];
    let failed = ("failed_cells".to_owned(), 1);
    put(&env, &[("a.ipynb", &["1 / 0"])]);
    let args = ["--in-place", "a.ipynb", "--allow-errors"];
    ran(&env, &[&args[..], &told].concat()).exits(0);
    ran(&env, &[&args[..], &told, &["--resume"]].concat()).exits(0);
    assert_eq!(fates(&env)[0], failed);
    well_formed(&env, "j.xml", (1, 1, 0));
    ran(&env, &["--in-place", "a.ipynb", "--resume", "--report", "report.json"]).exits(1);

    let with = |metadata: Value, tags: Value| {
        let mut text: Value = serde_json::from_str(&notebook(&["1 / 0"])).expect("JSON");
        text["metadata"] = metadata;
        text["cells"][0]["metadata"] = json!({"tags": tags});
        text.to_string()
    };
    env.put("a.ipynb", with(json!({"execution": {"allow_errors": true}}), json!([])));
    env.put("b.ipynb", with(json!({}), json!(["raises-exception"])));
    ran(&env, &[&["--in-place", "a.ipynb", "b.ipynb"][..], &told].concat()).exits(0);
    assert_eq!(fates(&env), [failed.clone(), ("ok".to_owned(), 1)]);

    // A cell that ran out of time counts as failed, too.
    let mut late: Value =
        serde_json::from_str(&notebook(&["import time\ntime.sleep(600)"])).expect("JSON");
    late["metadata"] = json!({"execution": {"timeout": 1}});
    env.put("late.ipynb", pretty(&late));
    ran(&env, &[&["--in-place", "late.ipynb", "--allow-errors"][..], &told].concat()).exits(0);
    assert_eq!(fates(&env), std::slice::from_ref(&failed));
    well_formed(&env, "j.xml", (1, 1, 0));

    env.put("m.ipynb", with_parameters("1 / 0", "year = 0", &["year"]));
    let args = ["m.ipynb", "--matrix", "year=1,2", "-o", "out/{year}.ipynb", "--share-prefix"];
    ran(&env, &[&args[..], &told, &["--allow-errors"]].concat()).exits(0);
    assert_eq!(fates(&env), [failed.clone(), failed]);
}

/// Failed rows are tried once more, and the report has both tries.
#[test]
fn what_failed_is_tried_again() {
    let env = env();
    let flaky = "import os, pathlib\np = pathlib.Path('seen')\nwas = p.exists()\np.touch()\nassert was, 'not yet'";
    put(&env, &[("flaky.ipynb", &[flaky]), ("never.ipynb", &["1 / 0"]), ("well.ipynb", &["1"])]);
    let args = ["--in-place", "flaky.ipynb", "never.ipynb", "well.ipynb", "--retry-failed"];
    let files = ["--junit", "j.xml", "--report", "report.json"];
    let done = ran(&env, &[&args[..], &files].concat()).exits(1);
    assert!(done.stdout.contains("ok at the second try: flaky.ipynb"), "{done:?}");
    assert!(done.stdout.contains("failed twice: never.ipynb"), "{done:?}");
    let word = |fate: &str, tries| (fate.to_owned(), tries);
    assert_eq!(fates(&env), [word("ok", 2), word("failed", 2), word("ok", 1)]);
    let first = &report(&env)["notebooks"][0]["tries"][0];
    assert_eq!(first["error"]["message"], "cell 0 (c0): AssertionError: not yet");
    well_formed(&env, "j.xml", (3, 1, 0));
}

/// After kill -9 of the batch, unchanged rows that ended well are not run again; rows that were cut off or edited
/// are.
#[test]
fn a_killed_batch_is_taken_up() {
    let env = env();
    let counting = |name: &str, more: &str| {
        format!(
            "import pathlib\nwith pathlib.Path('{name}.log').open('a') as f: _ = f.write('x')\n{more}"
        )
    };
    let waiting =
        counting("c", "import time\nwhile not pathlib.Path('go').exists(): time.sleep(0.05)");
    env.put("a.ipynb", notebook(&[&counting("a", "'a'")]));
    env.put("b.ipynb", notebook(&[&counting("b", "'b'")]));
    env.put("c.ipynb", notebook(&[&waiting]));
    let times =
        |name: &str| std::fs::read(env.path(&format!("{name}.log"))).map_or(0, |log| log.len());
    let args =
        ["--in-place", "a.ipynb", "b.ipynb", "c.ipynb", "-j", "1", "--report", "report.json"];
    let mut command = run(&env, &args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    until("the run of c", || times("c") == 1);
    child.kill().expect("it is killed");
    child.wait().expect("it is gone");
    assert!(!env.path("report.json").exists());
    env.put("go", "");
    env.put("b.ipynb", notebook(&[&counting("b", "'edited'")]));
    let resumed = [&args[..], &["--resume"]].concat();
    let done = ran(&env, &resumed).exits(0);
    assert!(done.stderr.contains("1/3  done before  a.ipynb"), "{done:?}");
    assert!(done.stdout.contains("3 notebooks: 2 ok, 1 done before"), "{done:?}");
    assert_eq!((times("a"), times("b"), times("c")), (1, 2, 2));
    // All rows are done now; without the option they run again.
    let done = ran(&env, &resumed).exits(0);
    assert!(done.stdout.contains("3 notebooks: 0 ok, 3 done before"), "{done:?}");
    ran(&env, &args).exits(0);
    assert_eq!((times("a"), times("b"), times("c")), (2, 3, 3));
}

/// One Ctrl-C ends and saves the running rows, begins no other, and prints the summary.
#[test]
fn an_interrupt_ends_and_tells() {
    let env = env();
    let waits = "print('begun')\nopen('begun', 'w').close()\nimport time\ntime.sleep(600)";
    put(&env, &[("a.ipynb", &["'first'", waits]), ("b.ipynb", &["1"])]);
    let args = ["--in-place", "a.ipynb", "b.ipynb", "-j", "1", "--report", "report.json"];
    let running = Running::start(run(&env, &args));
    until("the file begun", || env.path("begun").exists());
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.status.signal(), Some(Signal::INT.as_raw()), "{ended:?}");
    assert!(ended.stdout.contains("2 notebooks: 0 ok, 1 interrupted, 1 not run"), "{ended:?}");
    assert!(outputs(&env, "a.ipynb", 0).contains("first"));
    assert!(outputs(&env, "a.ipynb", 1).contains("begun"));
    assert_eq!(report(&env)["status"], "cancelled");
    assert_eq!(fates(&env)[1].0, "not_run");
}

/// Every notebook with every combination, each in its own file, with values typed like those of -p.
#[test]
fn a_matrix_has_a_row_for_each_combination() {
    let env = env();
    env.put("m.ipynb", with_parameters("1", "year = 0\nregion = ''", &["(year, region)"]));
    let args = ["m.ipynb", "--matrix", "year=2022,2023", "region=a,b", "-r", "kind=1"];
    let out = ["-o", "out/{stem}-{year}-{region}-{kind}.ipynb", "--report", "report.json"];
    let done = ran(&env, &[&args[..], &out].concat()).exits(0);
    assert!(done.stdout.contains("4 runs of 1 notebook: 4 ok"), "{done:?}");
    for (year, region) in [(2022, "a"), (2022, "b"), (2023, "a"), (2023, "b")] {
        let shown = outputs(&env, &format!("out/m-{year}-{region}-1.ipynb"), 3);
        assert!(shown.contains(&format!("({year}, '{region}')")), "{shown}");
    }
    assert_eq!(
        report(&env)["notebooks"][2]["parameters"],
        json!({"kind": "1", "year": 2023, "region": "a"})
    );
    let untouched: Value = serde_json::from_slice(&env.get("m.ipynb")).expect("JSON");
    assert_eq!(untouched["cells"].as_array().map(Vec::len), Some(3));
}

/// Issue 21, 13: a widget of the shared beginning that a row changes is stored as the row left it.
#[test]
fn rows_share_the_widgets_of_their_beginning() {
    let env = env();
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    if !python_package("rows_share_the_widgets_of_their_beginning", &python, "comm") {
        return;
    }
    let before = "from comm import create_comm\nstate = {'_model_name': 'IntSliderModel', '_model_module': 'm', 'value': 0}\n\
                  c = create_comm(target_name='jupyter.widget', data={'state': state, 'buffer_paths': []})";
    let after = "c.send({'method': 'update', 'state': {'value': year}, 'buffer_paths': []})";
    env.put("m.ipynb", with_parameters(before, "year = 0", &[after]));
    let args = ["m.ipynb", "--matrix", "year=1,2", "-o", "out/{year}.ipynb", "--share-prefix"];
    let done = ran(&env, &args).exits(0);
    assert!(!done.stderr.contains("note:"), "{done:?}");
    for year in 1..=2 {
        let file: Value =
            serde_json::from_slice(&env.get(&format!("out/{year}.ipynb"))).expect("JSON");
        let states = &file["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"];
        let models = states["state"].as_object().expect("widgets");
        let values: Vec<&Value> = models.values().map(|model| &model["state"]["value"]).collect();
        assert_eq!(values, [year]);
    }
}

/// The common beginning of rows runs once, its outputs are in every file, and each row has a kernel of its own.
#[test]
fn rows_share_their_beginning() {
    let env = env();
    let before = "import os, pathlib\nwith pathlib.Path('runs').open('a') as f: _ = f.write('x')\nprint('loaded')";
    let after = ["seen = globals().get('seen', 0) + year", "(seen, os.getpid())"];
    env.put("m.ipynb", with_parameters(before, "year = 0", &after));
    let args = ["m.ipynb", "--matrix", "year=1,2,3", "-o", "out/{year}.ipynb", "-j", "2"];
    let done = ran(&env, &[&args[..], &["--share-prefix"]].concat()).exits(0);
    assert!(!done.stderr.contains("note:"), "{done:?}");
    assert_eq!(env.get("runs"), b"x");
    let mut processes = Vec::new();
    for year in 1..=3 {
        let name = format!("out/{year}.ipynb");
        assert!(outputs(&env, &name, 0).contains("loaded"));
        let shown = outputs(&env, &name, 4);
        assert!(shown.contains(&format!("({year}, ")), "{shown}");
        processes.push(shown);
        let file: Value = serde_json::from_slice(&env.get(&name)).expect("JSON");
        let counts: Vec<&Value> = file["cells"]
            .as_array()
            .expect("cells")
            .iter()
            .map(|cell| &cell["execution_count"])
            .collect();
        assert_eq!(counts, [1, 2, 3, 4, 5]);
    }
    processes.dedup();
    assert_eq!(processes.len(), 3);
    // If the kernel cannot be copied, every row runs all of it, and a note says so.
    env.put("m.ipynb", with_parameters("f = open('held', 'w')", "year = 0", &["year"]));
    let done = ran(&env, &[&args[..], &["--share-prefix"]].concat()).exits(0);
    assert!(done.stderr.contains("do not share their first cells; each row runs them"), "{done:?}");
    assert!(done.stderr.contains("held open"), "{done:?}");
    assert!(outputs(&env, "out/3.ipynb", 3).contains('3'));
}

/// Issue 25, 1: libraries that start threads keep no rows apart, and compute in each of them.
#[test]
fn rows_share_what_libraries_with_threads_loaded() {
    const NAME: &str = "rows_share_what_libraries_with_threads_loaded";
    let modules = "pandas, pyarrow, sklearn, numexpr";
    let Some(python) = named_python(NAME, "INKCELL_TEST_LIBRARIES_PYTHON", modules) else { return };
    let env = env();
    let before = "import io, pandas as pd\nfrom sklearn.ensemble import HistGradientBoostingClassifier as Model\n\
                  def parquet(frame):\n    file = io.BytesIO()\n    frame.to_parquet(file)\n    \
                  return pd.read_parquet(file)\n\
                  def predict(frame):\n    return len(Model(max_iter=3).fit(frame, frame['a'] > 9).predict(frame))\n\
                  frame = parquet(pd.DataFrame({'a': range(2000)}))\npredict(frame)\nopen('ran', 'a').write('x')";
    let after = "int(predict(parquet(frame)) + frame.eval('a + @year')[0])";
    env.put("m.ipynb", with_parameters(before, "year = 0", &[after]));
    let args = ["m.ipynb", "--matrix", "year=1,2", "-o", "out/{year}.ipynb", "--share-prefix"];
    let python = python.to_string_lossy();
    let done = ran(&env, &[&args[..], &["--python", &*python]].concat()).exits(0);
    assert!(!done.stderr.contains("note:"), "{done:?}");
    assert_eq!(env.get("ran"), b"x");
    for year in 1..=2 {
        let shown = outputs(&env, &format!("out/{year}.ipynb"), 3);
        assert!(shown.contains(&(2000 + year).to_string()), "{shown}");
    }
}

/// Bad input is refused before anything runs, with one sentence each.
#[test]
fn what_cannot_be_is_refused_before_anything_runs() {
    let env = env();
    put(&env, &[("a.ipynb", &["open('ran', 'w')"]), ("nb/a.ipynb", &["open('ran', 'w')"])]);
    let table: &[(&[&str], i32, &str)] = &[
        (&["nb"], 2, "nb is a folder, not a notebook"),
        (&["--in-place", "a.ipynb", "gone.ipynb"], 5, "no notebook named gone.ipynb"),
        (&["no/*.ipynb"], 5, "no notebook matches no/*.ipynb"),
        (
            &["a.ipynb", "nb/a.ipynb", "-o", "out/{stem}.ipynb"],
            2,
            "would both be written to out/a.ipynb",
        ),
        (&["a.ipynb", "nb/a.ipynb", "-o", "nb/a.ipynb"], 2, "would be written over nb/a.ipynb"),
        (&["a.ipynb", "-j", "2", "-o", "{yaer}.ipynb"], 2, "unknown field {yaer}"),
        (&["a.ipynb", "--matrix", "y="], 2, "y has no values, so nothing would run"),
        (&["a.ipynb", "--matrix", "y=1,2"], 2, "each row needs an output of its own"),
        (&["a.ipynb", "nb/a.ipynb", "--keep"], 2, "a batch keeps no session"),
        (&["a.ipynb", "-"], 2, "a batch takes files"),
        (&["a.ipynb", "--junit", "no/j.xml"], 2, "does not exist"),
        (&["a.ipynb", "--junit", "x", "--report", "./x"], 2, "--junit writes to"),
        (&["a.ipynb", "--report", "a.ipynb"], 2, "is a notebook of the batch; name another file"),
        (&["a.ipynb", "-j", "0"], 2, "give a number from 1 to 4096"),
    ];
    for (args, code, wanted) in table {
        let done = ran(&env, args).exits(*code);
        assert!(done.stderr.contains(wanted), "{args:?}: {done:?}");
    }
    assert!(!env.path("ran").exists() && !env.path("nb/ran").exists() && !env.path("out").exists());
}

/// On a terminal there is one block with a line for each running row; at the end it disappears, and the summary
/// stays. Ctrl-C there acts like a signal.
#[test]
fn a_terminal_shows_one_block() {
    let env = env();
    let waits = "import pathlib, time\nprint('waiting here')\nwhile not pathlib.Path('go').exists(): time.sleep(0.05)";
    put(&env, &[("a.ipynb", &[waits]), ("b.ipynb", &[waits]), ("c.ipynb", &["1"])]);
    let mut pty =
        Pty::start(run(&env, &["--in-place", "a.ipynb", "b.ipynb", "c.ipynb", "-j", "2"]), USUAL);
    pty.wait_until("two lines in one block", |screen| {
        let text = screen.contents();
        let of = |name: &str| {
            text.lines().any(|line| line.starts_with(name) && line.contains("| waiting here"))
        };
        text.contains("0 of 3 done, 2 running") && of("  a.ipynb") && of("  b.ipynb")
    });
    env.put("go", "");
    let status = pty.end();
    let text = pty.text();
    assert!(status.success(), "{text}");
    assert!(text.contains("3 notebooks: 3 ok in") && !text.contains("running"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("/3  ok")).count(), 3, "{text}");
}

/// For programs: an object a line, the last one with the whole report.
#[test]
fn programs_follow_by_lines_of_json() {
    let env = env();
    put(&env, &[("a.ipynb", &["1"]), ("b.ipynb", &["1 / 0"])]);
    let done = ran(&env, &["--in-place", "a.ipynb", "b.ipynb", "-j", "1", "--json"]).exits(1);
    let lines = done.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let lines: Vec<Value> = lines.collect();
    let events: Vec<&str> = lines.iter().filter_map(|line| line["event"].as_str()).collect();
    let of_one = ["notebook_started", "notebook_finished"];
    assert_eq!(events, [&of_one[..], &of_one, &["batch_finished"]].concat());
    assert_eq!(lines[4]["counts"]["failed"], 1);
    assert_eq!(lines[3]["error"]["kind"], "ZeroDivisionError");
}

/// B:K-05 Issue 21, 20: `-j N` runs N at once, whatever the limit of sessions. Each notebook waits for all the others,
/// so that none ends before all have begun; so do notebooks with a shared beginning.
#[test]
fn as_many_run_at_once_as_were_asked_for() {
    const MANY: usize = 10;
    let env = env();
    let meet = |number: &str, what: &str| {
        format!(
            "import glob, time\nopen(f'{what}-{number}', 'w').close()\n\
             while len(glob.glob('{what}-*')) < {MANY}: time.sleep(0.05)\nprint('met')"
        )
    };
    for number in 0..MANY {
        env.put(&format!("n{number}.ipynb"), notebook(&[&meet(&number.to_string(), "here")]));
    }
    let jobs = MANY.to_string();
    let mut command = env.inkcell();
    command.args(["run", "n*.ipynb", "-j", &jobs, "--report", "report.json"]);
    command.env("INKCELL_KERNEL_MAX_SESSIONS", "2");
    finish(command, b"").exits(0);
    assert_eq!(report(&env)["jobs"], MANY);
    assert!(outputs(&env, "n9.ipynb", 0).contains("met"));
    let shared = with_parameters("1", "year = 0", &[&meet("{year}-{name}", "row")]);
    for name in ["a", "b", "c", "d", "e"] {
        env.put(&format!("m{name}.ipynb"), shared.replace("{name}", name));
    }
    let mut command = env.inkcell();
    command.args(["run", "m*.ipynb", "-j", &jobs, "--matrix", "year=1,2", "--share-prefix"]);
    command.args(["-o", "out/{stem}-{year}.ipynb"]).env("INKCELL_KERNEL_MAX_SESSIONS", "2");
    let done = finish(command, b"").exits(0);
    assert!(!done.stderr.contains("do not share"), "{done:?}");
}

/// On a server elsewhere, as many run at once as were asked for, with kernels of that server.
#[test]
fn a_batch_over_a_gateway() {
    if !jupyter_server("a_batch_over_a_gateway") {
        return;
    }
    let env = env();
    let gateway = Elsewhere::start(&env);
    put(
        &env,
        &[
            ("nb/a.ipynb", &["x = 1", "print('there', x)"]),
            ("nb/b.ipynb", &["print('too')"]),
            ("nb/wrong.ipynb", &["1 / 0"]),
        ],
    );
    let mut command = env.inkcell();
    command.args([
        "run",
        "nb/*.ipynb",
        "-j",
        "32",
        "--backend",
        "gateway",
        "--report",
        "report.json",
    ]);
    command.env("INKCELL_GATEWAY_URL", &gateway.url).env("INKCELL_GATEWAY_TOKEN", TOKEN);
    command.env("INKCELL_PYTHON_START_TIMEOUT", PATIENT);
    let done = finish(command, b"").exits(1);
    assert!(done.stdout.contains("3 notebooks: 2 ok, 1 failed"), "{done:?}");
    assert!(outputs(&env, "nb/a.ipynb", 1).contains("there 1"));
    assert!(outputs(&env, "nb/b.ipynb", 0).contains("too"));
    assert_eq!(report(&env)["jobs"], 3);
}

/// A row in a copy behaves as if it had run the beginning itself: displays of the beginning change, its cells count
/// as run, cells are identified by position whatever their ids are, and exit handlers of a kernel run once for each
/// row.
#[test]
fn rows_go_on_from_their_beginning() {
    let env = env();
    let before = "import atexit, os\nshown = display('loading', display_id='bar')\nbase = 10\n\
                  _ = atexit.register(lambda: open('end-%d' % os.getpid(), 'w').close())";
    let after = ["shown.update('row %d' % year)", "base + year"];
    let book = with_parameters(before, "year = 0", &after);
    // These ids would mean other cells if they were taken for positions.
    let book = book.replace("\"c0\"", "\"3\"").replace("\"c1\"", "\"2\"");
    let book = book.replace("\"c2\"", "\"1\"").replace("\"c3\"", "\"0\"");
    env.put("m.ipynb", book);
    let args = ["m.ipynb", "--matrix", "year=1,2", "-o", "out/{year}.ipynb", "--share-prefix"];
    let done = ran(&env, &args).exits(0);
    assert!(!done.stderr.contains("note:"), "{done:?}");
    for year in 1..=2 {
        let name = format!("out/{year}.ipynb");
        let first = outputs(&env, &name, 0);
        assert!(first.contains(&format!("row {year}")) && !first.contains("loading"), "{first}");
        assert!(outputs(&env, &name, 4).contains(&format!("{}", 10 + year)));
        let mut outline = env.inkcell();
        outline.args(["read", &name, "--outline", "--json"]);
        let outline = finish(outline, b"").ok().stdout;
        assert_eq!(outline.matches("\"fresh\"").count(), 5, "{outline}");
    }
    let ends = env.names().into_iter().filter(|name| name.starts_with("end-")).count();
    assert_eq!(ends, 2);
    assert_eq!(names_in(&env.state().join("prefixes")), [""; 0]);
}

/// A row for which no copy can be made runs all its cells.
#[test]
fn rows_without_a_copy_run_whole() {
    let env = env();
    let before = "import os\ndef fork(): raise BlockingIOError(11, 'no room')\nos.fork = fork\n\
                  with open('runs', 'a') as file: _ = file.write('x')";
    env.put("m.ipynb", with_parameters(before, "year = 0", &["print('year', year)"]));
    let args = ["m.ipynb", "--matrix", "year=1,2", "-o", "out/{year}.ipynb", "--share-prefix"];
    let done = ran(&env, &args).exits(0);
    assert!(done.stderr.contains("m.ipynb [year=1] runs the first cells itself"), "{done:?}");
    assert!(done.stderr.contains("no room"), "{done:?}");
    assert!(done.stdout.contains("2 runs of 1 notebook: 2 ok"), "{done:?}");
    assert_eq!(env.get("runs"), b"xxx");
    for year in 1..=2 {
        assert!(outputs(&env, &format!("out/{year}.ipynb"), 3).contains(&format!("year {year}")));
    }
}

/// A beginning whose code ends the run ends every row, as it would without sharing.
#[test]
fn rows_end_where_their_beginning_does() {
    let env = env();
    env.put("m.ipynb", with_parameters("import sys; sys.exit(0)", "year = 0", &["print('on')"]));
    let args = ["m.ipynb", "--matrix", "year=1,2", "-o", "out/{year}.ipynb", "--share-prefix"];
    let done = ran(&env, &args).exits(0);
    assert!(done.stderr.contains("its code ends the run"), "{done:?}");
    for year in 1..=2 {
        assert!(!outputs(&env, &format!("out/{year}.ipynb"), 3).contains("on"), "{done:?}");
    }
}

/// A note about a possible typo appears once for a notebook, however many rows it has.
#[test]
fn doubts_about_parameters_are_told_once() {
    let env = env();
    env.put("m.ipynb", with_parameters("1", "year = 0", &["year"]));
    env.put("n.ipynb", notebook(&["1"]));
    let args = ["m.ipynb", "n.ipynb", "--matrix", "yaer=1,2,3", "-o", "out/{stem}-{yaer}.ipynb"];
    let done = ran(&env, &[&args[..], &["--report", "report.json"]].concat()).exits(0);
    let said =
        |words: &str| done.stderr.matches(words).count() + done.stdout.matches(words).count();
    assert_eq!(
        said("note: m.ipynb: the cell with the tag parameters does not set yaer"),
        1,
        "{done:?}"
    );
    assert_eq!(said("note: n.ipynb: no cell has the tag parameters"), 1, "{done:?}");
    let report = report(&env);
    let doubts = report["notebooks"].as_array().into_iter().flatten();
    let doubts = doubts.map(|row| row["tries"][0]["notes"].as_array().map_or(0, Vec::len));
    assert_eq!(doubts.collect::<Vec<usize>>(), [1; 6]);
}

/// Values that a run has inserted into a notebook do not count as a change of it.
#[test]
fn a_batch_in_place_with_values_is_taken_up() {
    let env = env();
    env.put("a.ipynb", with_parameters("1", "year = 0", &["year"]));
    env.put("b.ipynb", with_parameters("1", "year = 0", &["year"]));
    let args = ["--in-place", "a.ipynb", "b.ipynb", "-p", "year", "7"];
    ran(&env, &args).exits(0);
    let done = ran(&env, &[&args[..], &["--resume"]].concat()).exits(0);
    assert!(done.stdout.contains("2 notebooks: 0 ok, 2 done before"), "{done:?}");
}

/// A report may go to a device or a pipe, and is then written directly into it.
#[test]
fn a_report_may_be_written_to_the_terminal_or_a_pipe() {
    let env = env();
    put(&env, &[("a.ipynb", &["1"])]);
    let done = ran(&env, &["a.ipynb", "-q", "--report", "/dev/stdout"]).exits(0);
    let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(report["counts"]["ok"], 1);
}

/// A second Ctrl-C ends code that ignores the first one, at once, and no kernel is left.
#[test]
fn a_second_interrupt_ends_at_once() {
    let env = env();
    let stubborn = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\nos.rename('pid', 'begun')\n\
                    while True:\n    try: time.sleep(600)\n    except KeyboardInterrupt: open('heard', 'w').close()";
    put(&env, &[("a.ipynb", &[stubborn]), ("b.ipynb", &["1"])]);
    let running = Running::start(run(&env, &["--in-place", "a.ipynb", "b.ipynb", "-j", "1"]));
    until("the file begun", || env.path("begun").exists());
    let kernel: i32 = String::from_utf8_lossy(&env.get("begun")).parse().expect("a number");
    running.signal(Signal::INT);
    until("the file heard", || env.path("heard").exists());
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.status.signal(), Some(Signal::INT.as_raw()), "{ended:?}");
    assert!(ended.stdout.contains("2 notebooks: 0 ok, 1 interrupted, 1 not run"), "{ended:?}");
    until("the end of the kernel", || !std::path::Path::new(&format!("/proc/{kernel}")).exists());
}

/// Kernels of another program run a batch like ours.
#[test]
fn a_batch_of_jupyter_kernels() {
    let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    if !python_package("a_batch_of_jupyter_kernels", python.as_ref(), "ipykernel") {
        return;
    }
    let env = env();
    put(&env, &[("a.ipynb", &["x = 1", "print('there', x)"]), ("b.ipynb", &["1 / 0"])]);
    let args = ["--in-place", "a.ipynb", "b.ipynb", "-j", "2", "--backend", "zmq"];
    let mut command = run(&env, &args);
    command.env("INKCELL_PYTHON_START_TIMEOUT", PATIENT);
    let done = finish(command, b"").exits(1);
    assert!(done.stdout.contains("2 notebooks: 1 ok, 1 failed"), "{done:?}");
    assert!(outputs(&env, "a.ipynb", 1).contains("there 1"));
    assert!(outputs(&env, "b.ipynb", 0).contains("ZeroDivisionError"));
}

/// A terminal that can only show text is not painted on.
#[test]
fn a_plain_terminal_shows_lines() {
    let env = env();
    put(&env, &[("a.ipynb", &["1"]), ("b.ipynb", &["1"])]);
    let mut command = run(&env, &["--in-place", "a.ipynb", "b.ipynb"]);
    command.env("TERM", "dumb");
    let mut pty = Pty::start(command, USUAL);
    let status = pty.end();
    let text = pty.text();
    assert!(status.success(), "{text}");
    assert!(text.contains("/2  ok") && !text.contains("of 2 done"), "{text}");
}
