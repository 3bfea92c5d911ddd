//! `inkcell run` with values for parameters, with the real binary.

use std::process::{Command, Stdio};

use inkcell_testkit::env::{TestEnv, finish};
use inkcell_testkit::need;
use inkcell_testkit::notebooks::pretty;
use inkcell_testkit::wait::until;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::env;
use crate::notebook_runs::{notebook, outputs, ran, run};
use crate::running::Running;

/// A notebook with defaults, and cells after it.
fn with_defaults(defaults: &str, sources: &[&str]) -> String {
    let mut all = vec![defaults];
    all.extend(sources);
    let mut made: Value = serde_json::from_str(&notebook(&all)).expect("JSON");
    made["cells"][0]["metadata"] = json!({"tags": ["parameters"]});
    pretty(&made)
}

fn read(env: &TestEnv, name: &str) -> Value {
    serde_json::from_slice(&env.get(name)).expect("JSON")
}

fn source(notebook: &Value, cell: usize) -> String {
    match &notebook["cells"][cell]["source"] {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().expect("a source").to_owned(),
    }
}

const SHOW: &str = "print([year, region, rate, on, nothing, path])";
const DEFAULTS: &str = "year = 1\nregion = 'x'\nrate = 0.5\non = False\nnothing = 1\npath = ''";

/// Every way to give a value, and their precedence.
#[test]
fn values_are_given_in_every_way() {
    let env = env();
    env.put("a.ipynb", with_defaults(DEFAULTS, &[SHOW]));
    env.put("p.yaml", "year: 1990\nrate: 1.5\n");
    env.put("p.json", "{\"rate\": 2.5, \"on\": false}");
    env.put("p.toml", "on = true\n");
    let args = [
        "a.ipynb",
        "-o",
        "out.ipynb",
        "-p",
        "year",
        "2024",
        "-p",
        "region=north",
        "-p",
        "nothing",
        "None",
        "-r",
        "path",
        "007",
        "--params",
        "p.yaml",
        "-f",
        "p.json",
        "-f",
        "p.toml",
        "-y",
        "{rate: 3.5}",
        "-b",
        "cmF0ZTogOS41Cg==",
    ];
    let done = ran(&env, &args).exits(0);
    assert!(!done.stdout.contains("note:"), "{done:?}");
    let file = read(&env, "out.ipynb");
    assert_eq!(
        source(&file, 1),
        "# Parameters\nrate = 3.5\nyear = 2024\non = True\nregion = \"north\"\nnothing = None\npath = \"007\"\n"
    );
    assert_eq!(file["cells"][1]["metadata"], json!({"tags": ["injected-parameters"]}));
    let shown = outputs(&env, "out.ipynb", 2);
    assert!(shown.contains("[2024, 'north', 3.5, True, None, '007']"), "{shown}");
    assert_eq!(env.get("a.ipynb"), with_defaults(DEFAULTS, &[SHOW]).into_bytes());
}

/// Bad input gets one sentence, and nothing is run.
#[test]
fn what_cannot_be_a_value_is_told() {
    let env = env();
    let book = with_defaults("year = 1", &["open('ran', 'w').close()"]);
    env.put("a.ipynb", &book);
    env.put("bad.yaml", "a: [1");
    env.put("bad.json", "{");
    env.put("bad.toml", "a =");
    for (args, words) in [
        (&["-p", "year"][..], "the value is missing; give NAME=VALUE, or NAME VALUE"),
        (&["-p", "=1"], "the name before = is missing"),
        (&["-p", "a b=1"], "\"a b\" cannot be the name of a parameter in Python"),
        (&["-p", "class", "1"], "class is a reserved word of Python"),
        (&["-y", "[1]"], "--params-yaml: give parameters as names with values"),
        (&["-y", "a: !!set {1}"], "!!set is not a type of a parameter"),
        (&["-b", "???"], "--params-base64: this is not base64"),
        (&["--params", "bad.yaml"], "--params: bad.yaml: this is not YAML, at line 2"),
        (&["--params", "bad.json"], "--params: bad.json: this is not JSON"),
        (&["--params", "bad.toml"], "--params: bad.toml: this is not TOML, at line 1"),
        (&["--params", "none.yaml"], "--params: none.yaml: it cannot be read"),
    ] {
        let mut all = vec!["a.ipynb"];
        all.extend(args);
        let refused = ran(&env, &all).exits(2);
        assert!(refused.stderr.contains(words), "{args:?}: {refused:?}");
        assert!(refused.stdout.is_empty(), "{args:?}: {refused:?}");
    }
    assert!(!env.path("ran").exists());
    assert_eq!(env.get("a.ipynb"), book.into_bytes());
}

/// A name that the defaults lack, and a notebook without defaults, are not failures.
#[test]
fn what_may_be_a_slip_is_a_note() {
    let env = env();
    env.put("a.ipynb", with_defaults("year = 1", &["print(year)"]));
    let done = ran(&env, &["a.ipynb", "-p", "yaer", "2"]).exits(0);
    assert!(
        done.stdout.contains("note: the cell with the tag parameters does not set yaer"),
        "{done:?}"
    );
    env.put("b.ipynb", notebook(&["print(year)"]));
    let done = ran(&env, &["b.ipynb", "-p", "year=2"]).exits(0);
    assert!(done.stdout.contains("note: no cell has the tag parameters"), "{done:?}");
    assert!(outputs(&env, "b.ipynb", 1).contains('2'));
    let told = ran(&env, &["b.ipynb", "-p", "year=2", "--json"]).exits(0);
    assert!(!told.stdout.contains("no cell has"), "the second time it has a place: {told:?}");
}

#[test]
fn a_piped_notebook_takes_values() {
    let env = env();
    let given = with_defaults("year = 1", &["print(year + 1)"]);
    let done = finish(run(&env, &["-", "-p", "year", "41"]), given.as_bytes()).exits(0);
    let made: Value = serde_json::from_str(&done.stdout).expect("a notebook");
    assert_eq!(source(&made, 1), "# Parameters\nyear = 41\n");
    assert_eq!(made["cells"][2]["outputs"][0]["text"], json!(["42\n"]));
}

/// A killed run shows its values.
#[test]
fn a_killed_run_shows_its_values() {
    let env = env();
    let wait = "import time\nopen('begun', 'w').close()\ntime.sleep(600)";
    env.put("a.ipynb", with_defaults("year = 1", &[wait]));
    let running = Running::start(run(&env, &["a.ipynb", "-o", "out.ipynb", "-p", "year", "2024"]));
    until("the file begun", || env.path("begun").exists());
    running.signal(Signal::KILL);
    running.end();
    assert_eq!(source(&read(&env, "out.ipynb"), 1), "# Parameters\nyear = 2024\n");
}

#[test]
fn parameters_are_listed_and_nothing_is_run() {
    let env = env();
    let defaults = "year: int = 2024  # Which one\nregion = 'x'\nrate = f()  # type: float\nall_of = [\n 1,\n 2]";
    let book = with_defaults(defaults, &["open('ran', 'w').close()"]);
    env.put("a.ipynb", &book);
    let listed = ran(&env, &["a.ipynb", "--inspect"]).exits(0);
    assert_eq!(
        listed.stdout,
        "Parameters of a.ipynb (cell 0):\n  year: int = 2024      Which one\n  region: str = 'x'\n  \
         rate: float = f()\n  all_of: list = [1,2]\n"
    );
    let told = ran(&env, &["a.ipynb", "--inspect", "--json"]).exits(0);
    let told: Value = serde_json::from_str(&told.stdout).expect("JSON");
    assert_eq!(told["cell"], 0);
    assert_eq!(
        told["parameters"][0],
        json!({"name": "year", "type": "int", "declared": "int", "default": "2024", "help": "Which one"})
    );
    assert_eq!(told["parameters"][1]["declared"], Value::Null);
    let piped = finish(run(&env, &["-", "--inspect"]), book.as_bytes()).exits(0);
    assert!(piped.stdout.starts_with("Parameters of standard input (cell 0):\n"), "{piped:?}");
    env.put("b.ipynb", notebook(&["x = 1"]));
    let none = ran(&env, &["b.ipynb", "--inspect"]).exits(0);
    assert!(none.stdout.contains("inkcell edit b.ipynb meta CELL --tag parameters"), "{none:?}");
    assert!(!env.path("ran").exists());
    assert_eq!(env.get("a.ipynb"), book.into_bytes());
}

/// A notebook in another language gets its values in that language.
#[test]
fn a_notebook_of_another_language_takes_values() {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    if !need::python_package("a_notebook_of_another_language_takes_values", &python, "bash_kernel")
    {
        return;
    }
    let env = env();
    let mut made: Value =
        serde_json::from_str(&with_defaults("who=nobody", &["echo \"hello $who and ${all[1]}\""]))
            .expect("JSON");
    let spec = json!({"name": "bash", "display_name": "Bash", "language": "bash"});
    made["metadata"] = json!({"kernelspec": spec, "language_info": {"name": "bash"}});
    env.put("a.ipynb", pretty(&made));
    let mut command = run(&env, &["a.ipynb", "-r", "who", "it's $HOME", "-y", "all: [1, a b]"]);
    command.env("INKCELL_PYTHON_START_TIMEOUT", crate::gateways::PATIENT);
    finish(command, b"").exits(0);
    let file = read(&env, "a.ipynb");
    assert_eq!(source(&file, 1), "# Parameters\nall=(1 'a b')\nwho='it'\"'\"'s $HOME'\n");
    let shown = outputs(&env, "a.ipynb", 2);
    assert!(shown.contains("hello it's $HOME and a b"), "{shown}");
    let map = ran(&env, &["a.ipynb", "-y", "who: {a: 1}"]).exits(2);
    assert!(
        map.stderr.contains("the parameter who is a mapping, which cannot be written in Bash"),
        "{map:?}"
    );
    let inspected = ran(&env, &["a.ipynb", "--inspect"]).exits(2);
    assert!(inspected.stderr.contains("only parameters in Python can be read"), "{inspected:?}");
}

/// papermill's interpretation of words and of YAML, all in one cell.
#[test]
fn words_and_yaml_are_what_they_are_to_papermill() {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    if !need::python_package("words_and_yaml_are_what_they_are_to_papermill", &python, "papermill")
    {
        return;
    }
    let words = [
        "True",
        "true",
        "None",
        "1",
        "-1",
        "+1",
        " 1 ",
        "007",
        "1_000",
        "_1",
        "1__0",
        "0x10",
        "1.5",
        ".5",
        "5.",
        "1e3",
        "1_0.5",
        "1e400",
        "nan",
        "-Infinity",
        "info",
        "",
        "a b",
        "é\n",
        "a=b",
        "123456789012345678901",
    ];
    let yaml = "a: 1\nb: -12\nc: 1_000\nd: 017\ne: '08'\nf: 0o17\ng: 0x1F\nh: 0b101\ni: 1:30\nj: -1:30:00\n\
                k: 1.5\nl: 1.\nm: .5\nn: -.5\no: 1e5\np: 1.0e+5\nq: 1:30.5\nr: .inf\ns: -.INF\nt: .NaN\nu: yes\n\
                v: OFF\nw: yEs\nx: y\ny: ~\nz: 2024-01-02\naa: [1, [a, null], {b: 2}]\nbb: &anchor {k: 1, l: 2}\n\
                cc: {<<: *anchor, l: 3}\ndd: !!str 1\nee: !!float 1\nff: |\n  one\n  two\ngg: {2: x, true: y, ~: z}\n\
                hh: 08\nii: 1.0e5\njj: \"q\\\"\\u00e9\"\nkk: >\n  folded\n  text\nll: '2001-12-14 21:59:43'\n\
                mm: 190:20:30\nnn: +12\noo: 0\npp: -0\nqq: 0b\nrr: 1_0.0_1\nss: n\ntt: 12e03\nuu: .NAN\n";
    let script = "import json, sys, yaml\n\
        from papermill.cli import _resolve_type\n\
        from papermill.iorw import NoDatesSafeLoader\n\
        from papermill.translators import PythonTranslator\n\
        words, text = json.load(sys.stdin)\n\
        values = yaml.load(text, Loader=NoDatesSafeLoader)\n\
        values.update({f'word{at}': _resolve_type(word) for at, word in enumerate(words)})\n\
        sys.stdout.write(PythonTranslator.codify(values))\n";
    let mut command = Command::new(&python);
    command.args(["-c", script]).stdin(Stdio::piped());
    let theirs = finish(command, json!([words, yaml]).to_string()).exits(0).stdout;
    let env = env();
    env.put("a.ipynb", notebook(&[]));
    let given: Vec<String> =
        words.iter().enumerate().map(|(at, word)| format!("word{at}={word}")).collect();
    let mut args = vec!["a.ipynb", "-y", yaml];
    given.iter().for_each(|word| args.extend(["-p", word.as_str()]));
    ran(&env, &args).exits(0);
    let ours = source(&read(&env, "a.ipynb"), 0);
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours, theirs);
}
