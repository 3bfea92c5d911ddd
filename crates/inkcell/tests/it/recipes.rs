//! The page of recipes: each does what the page says, as far as a test without a scheduler can tell.
//!
//! Owns taking the blocks from the page. Paths and addresses of the examples are replaced by those of the test.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use inkcell_testkit::need::{jupyter_server, skip, succeeds};
use inkcell_testkit::notebooks::pretty;
use serde_json::{Value, json};

use crate::env;
use crate::gateways::{Elsewhere, PATIENT, TOKEN};
use crate::notebook_runs::{notebook, outputs};

/// The folder of the examples on the page.
const PLACE: &str = "/srv/reports";

/// The blocks of a language, in order.
fn blocks(language: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/recipes.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let (mut found, mut open) = (Vec::new(), None::<(bool, String)>);
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(opened)) => open = Some((opened == language, String::new())),
            (Some(_), Some(_)) => {
                let block = open.take().filter(|(is_wanted, _)| *is_wanted);
                found.extend(block.map(|(_, text)| text));
            }
            (Some((_, text)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(!found.is_empty(), "the page has no block of {language}");
    found
}

/// A folder as the page describes it, with inkcell on the shell's PATH.
fn place() -> TestEnv {
    let env = env();
    for folder in ["nb", "out", "bin"] {
        std::fs::create_dir(env.path(folder)).expect("a folder");
    }
    let cell = |source: &str, tags: Value| {
        json!({"cell_type": "code", "execution_count": null, "id": source.len().to_string(),
            "metadata": {"tags": tags}, "outputs": [], "source": source})
    };
    let cells =
        [cell("day = 'none'", json!(["parameters"])), cell("print('the day is', day)", json!([]))];
    let daily = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    env.put("nb/daily.ipynb", pretty(&daily));
    env.put("nb/other.ipynb", notebook(&["print('the other')"]));
    symlink(env.program(), env.path("bin/inkcell")).expect("a link");
    env
}

/// Runs a script in a shell, in the folder of the examples.
fn shell(env: &TestEnv, script: &str) -> CommandOutput {
    let script = script.replace(PLACE, &env.dir().display().to_string());
    finish(with_path(env, "sh", &["-c", &script]), b"")
}

fn with_path(env: &TestEnv, program: &str, args: &[&str]) -> Command {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = env.command(program);
    let inherited = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{inherited}", env.path("bin").display());
    command.args(args).env("PATH", path).env("INKCELL_PYTHON_INTERPRETER", python);
    command.current_dir(env.dir());
    command
}

/// The command of a line of cron, as cron hands it to a shell.
fn of_cron(line: &str) -> String {
    let fields: Vec<&str> = line.splitn(6, char::is_whitespace).collect();
    let [minute, hour, _, _, _, command] = fields[..] else { panic!("{line}") };
    assert!(minute.parse::<u8>().is_ok() && hour.parse::<u8>().is_ok(), "{line}");
    command.trim().replace("\\%", "%")
}

#[test]
fn lines_of_cron_run_by_a_shell() {
    let env = place();
    let lines: Vec<String> =
        blocks("crontab").iter().flat_map(|block| block.lines()).map(of_cron).collect();
    let [daily, morning, evening] = &lines[..] else { panic!("{lines:?}") };
    let done = shell(&env, daily).exits(0);
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("", ""));
    let day = shell(&env, "date +%F").exits(0).stdout.trim().to_owned();
    assert!(outputs(&env, &format!("out/daily-{day}.ipynb"), 2).contains(&day));
    // In the morning one of them fails, and in the evening the other is not run again.
    env.put(
        "nb/other.ipynb",
        notebook(&["import pathlib\nassert pathlib.Path('mended').exists()"]),
    );
    shell(&env, morning).exits(1);
    env.put("nb/mended", "");
    shell(&env, evening).exits(0);
    let report: Value = serde_json::from_slice(&env.get("evening.json")).expect("JSON");
    let fates: Vec<&Value> =
        report["notebooks"].as_array().expect("rows").iter().map(|row| &row["status"]).collect();
    assert_eq!(fates, ["unchanged", "ok"]);
}

/// The `run` steps of a workflow, with their names.
fn steps(workflow: &str) -> Vec<(String, String)> {
    let (mut found, mut name) = (Vec::new(), String::new());
    let mut lines = workflow.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(given) = line.trim_start().strip_prefix("- name: ") {
            given.clone_into(&mut name);
        } else if line.trim() == "run: |" {
            let deep = line.len() - line.trim_start().len();
            let is_in = |line: &&str| line.len() - line.trim_start().len() > deep;
            let mut script = String::new();
            while let Some(line) = lines.next_if(is_in) {
                script.push_str(line.trim_start());
                script.push('\n');
            }
            found.push((name.clone(), script));
        }
    }
    found
}

#[test]
fn the_steps_of_the_workflow_run() {
    let env = place();
    let steps = steps(&blocks("yaml")[0]);
    let names: Vec<&str> = steps.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Install", "Run the notebooks"]);
    let done = shell(&env, &steps[1].1).exits(0);
    assert!(done.stdout.contains("2 notebooks: 2 ok"), "{done:?}");
    assert!(env.path("reports/notebooks.xml").exists());
    assert!(outputs(&env, "out/other.ipynb", 0).contains("the other"));
    env.put("nb/other.ipynb", notebook(&["1 / 0"]));
    shell(&env, &steps[1].1).exits(1);
}

#[test]
fn the_command_of_the_operator_runs() {
    let env = place();
    let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    // Python itself evaluates the string; nothing of the block is imported.
    let find = "import ast, sys\nfor node in ast.walk(ast.parse(sys.stdin.read())):\n    \
                if isinstance(node, ast.keyword) and node.arg == 'bash_command':\n        \
                print(ast.literal_eval(node.value))";
    let mut command = Command::new(python);
    command.args(["-c", find]);
    let found = finish(command, blocks("python")[0].as_bytes()).ok().stdout;
    let script = found.replace("{{ ds }}", "2024-05-06");
    shell(&env, &script).exits(0);
    assert!(outputs(&env, "out/daily-2024-05-06.ipynb", 2).contains("2024-05-06"));
    assert!(env.path("out/daily-2024-05-06.json").exists());
}

#[test]
fn the_makefile_works() {
    if !succeeds("make", &["--version"]) {
        return skip("the_makefile_works", "there is no make");
    }
    let env = place();
    env.put("Makefile", &blocks("make")[0]);
    let make = |args: &[&str]| finish(with_path(&env, "make", args), b"");
    make(&["-j2"]).exits(0);
    assert!(outputs(&env, "out/other.ipynb", 0).contains("the other"));
    let done = make(&[]).exits(0);
    assert!(done.stdout.contains("Nothing to be done"), "{done:?}");
    env.put("nb/other.ipynb", notebook(&["1 / 0"]));
    make(&["-B"]).exits(2);
    assert!(!env.path("out/other.ipynb").exists());
    env.put("nb/other.ipynb", notebook(&["'mended'"]));
    let done = make(&["batch"]).exits(0);
    assert!(done.stdout.contains("2 notebooks: 2 ok"), "{done:?}");
}

#[test]
fn the_batch_over_a_gateway_runs() {
    if !jupyter_server("the_batch_over_a_gateway_runs") {
        return;
    }
    let env = place();
    let gateway = Elsewhere::start(&env);
    let script = blocks("sh")[0]
        .replace("http://gateway.example:8888/", &gateway.url)
        .replace("TOKEN=a-token\n", &format!("TOKEN={TOKEN}\n"));
    let script = format!("export INKCELL_PYTHON_START_TIMEOUT={PATIENT}\n{script}");
    let mut command = with_path(&env, "sh", &["-c", &script]);
    command.env_remove("INKCELL_PYTHON_INTERPRETER");
    let done = finish(command, b"").exits(0);
    assert!(done.stdout.contains("2 notebooks: 2 ok"), "{done:?}");
    assert!(outputs(&env, "out/other.ipynb", 0).contains("the other"));
    assert!(env.path("out.xml").exists());
}
