//! However much code writes, an answer stays within its budget, says what is missing, and keeps what matters.

use std::ffi::OsStr;

use inkcell_testkit::env::TestEnv;
use inkcell_testkit::need;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::env;
use crate::gateways;

const DEFAULT_BYTES: usize = 24_576;
const COMPAT_BYTES: usize = 102_400;

/// Numbers that follow from a seed, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// Code that writes up to hundreds of kilobytes, in any of the ways in which code writes.
    fn code(&mut self) -> String {
        let lines = 1 + self.below(5000);
        match self.below(8) {
            0 => format!("for n in range({lines}): print('line', n)"),
            1 => format!("print('x' * {})", lines * 40),
            2 => format!("import sys; print('e\\n' * {lines}, file=sys.stderr)"),
            3 => format!("list(range({lines}))"),
            4 => format!("for n in range({}): display('display %d ' % n * 20)", lines / 50),
            5 => format!("import sys; sys.stdout.write('\\x01\\x02' * {lines})"),
            6 => format!("print('é' * {lines}, end='')"),
            _ => "1".to_owned(),
        }
    }

    fn failure(&mut self) -> String {
        let bytes = 1 + self.below(60_000);
        match self.below(3) {
            0 => format!("print('before ' * 3000)\nraise ValueError('v' * {bytes} + ' the end')"),
            1 => "def f(n):\n    return f(n + 1)\nf(0)".to_owned(),
            _ => format!("raise KeyError(('k\\n' * {bytes})[:{bytes}])"),
        }
    }

    /// Codes of one call, of which the last may fail.
    fn cells(&mut self, most: u64) -> Vec<String> {
        let mut cells: Vec<String> = (0..=self.below(most)).map(|_| self.code()).collect();
        if self.below(3) == 0 {
            cells.push(self.failure());
        }
        cells
    }
}

fn notebook(cells: &[String]) -> String {
    let cell = |(at, code): (usize, &String)| {
        json!({"cell_type": "code", "id": format!("c{at}"), "metadata": {}, "outputs": [],
               "execution_count": null, "source": code})
    };
    let cells: Vec<Value> = cells.iter().enumerate().map(cell).collect();
    json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).to_string()
}

fn assert_within(answer: &Answer, most: usize, call: &str) {
    let text = answer.text();
    assert!(text.len() <= most, "{} of {most} bytes: {call}\n{text:.3000}", text.len());
}

fn client(env: &TestEnv, args: &[&str], told: &[(&str, &OsStr)]) -> Client {
    let mut client = Client::with(env, args, |command| {
        command.envs(told.iter().copied());
        command.env("INKCELL_PYTHON_START_TIMEOUT", gateways::PATIENT);
        command.env("INKCELL_PYTHON_TIMEOUT", gateways::PATIENT);
    });
    client.ok("python", json!({"code": "1"}));
    client
}

/// Random loud calls of every tool that runs code.
fn try_loud_calls(seed: u64, env: &TestEnv, told: &[(&str, &OsStr)], rounds: usize) {
    let mut dice = Dice(seed);
    let mut client = client(env, &[], told);
    for round in 0..rounds {
        let cells = dice.cells(12);
        let call = format!("seed {seed}, round {round}: {cells:?}");
        let most = match dice.below(3) {
            0 => Some(500 + dice.below(60_000)),
            _ => None,
        };
        let room = most.map_or(DEFAULT_BYTES, |most| most as usize);
        let with = |mut arguments: Value| {
            if let Some(most) = most {
                arguments["max_bytes"] = json!(most);
            }
            arguments
        };
        let codes: Vec<Value> = cells.iter().map(|code| json!({"code": code})).collect();
        let answer = client.call("python", with(json!({"cells": codes, "wait": 600})));
        assert_within(&answer, room, &call);

        env.put("loud.ipynb", notebook(&cells));
        let arguments = json!({"path": "loud.ipynb", "wait": 600, "on_error": "continue"});
        assert_within(&client.call("notebook_run", with(arguments)), room, &call);
        let op = json!({"op": "replace", "cell": "c0", "source": format!("{}\n1", cells[0])});
        let arguments =
            json!({"path": "loud.ipynb", "ops": [op], "run": "changed-and-below", "wait": 600});
        // The report of the edit is a text of its own.
        assert_within(&client.call("notebook_edit", with(arguments)), room + 1000, &call);
        for outputs in ["none", "digest", "full"] {
            let arguments =
                json!({"path": "loud.ipynb", "outputs": outputs, "tail": round % 2 == 0});
            let answer = client.ok("notebook_read", with(arguments));
            let bytes = answer.text().len();
            assert!(bytes <= room, "{bytes} of {room} bytes read: {call}");
        }
    }
}

#[test]
fn loud_calls_of_the_runner_stay_within_the_budget() {
    for seed in [7, 2026] {
        try_loud_calls(seed, &env(), &[("INKCELL_PYTHON_BACKEND", "runner".as_ref())], 6);
    }
}

#[test]
fn loud_calls_of_a_jupyter_kernel_stay_within_the_budget() {
    let test = "loud_calls_of_a_jupyter_kernel_stay_within_the_budget";
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    if need::python_package(test, &python, "ipykernel") {
        try_loud_calls(11, &env(), &[("INKCELL_PYTHON_BACKEND", "zmq".as_ref())], 4);
    }
}

#[test]
fn loud_calls_of_a_gateway_stay_within_the_budget() {
    if !need::jupyter_server("loud_calls_of_a_gateway_stay_within_the_budget") {
        return;
    }
    let (env, python) = (env(), gateways::python());
    let told = [
        ("INKCELL_PYTHON_BACKEND", "gateway".as_ref()),
        ("INKCELL_PYTHON_INTERPRETER", python.as_ref()),
    ];
    try_loud_calls(13, &env, &told, 3);
    env.run(&["gateway", "stop"]).ok();
}

/// The tools of the source documents keep 50 KB for a cell, and a call has 100 KB.
#[test]
fn loud_calls_of_the_compatible_tools_stay_within_the_budget() {
    let env = env();
    let mut client = client(&env, &["--tools", "compat"], &[("PI_PY", "both".as_ref())]);
    let code = |number: u64| json!({"code": format!("for n in range({number}): print('line', n)")});
    let one = client.ok("python", json!({"cells": [code(20_000)]})).text();
    assert!((51_000..52_000).contains(&one.len()), "{}", one.len());
    let mut dice = Dice(99);
    for round in 0..4 {
        let cells = dice.cells(8);
        let call = format!("round {round}: {cells:?}");
        let codes: Vec<Value> = cells.iter().map(|code| json!({"code": code})).collect();
        assert_within(&client.call("python", json!({"cells": codes})), COMPAT_BYTES, &call);
        let codes: Vec<Value> =
            cells.iter().map(|code| json!({"language": "py", "code": code})).collect();
        assert_within(&client.call("eval", json!({"cells": codes})), COMPAT_BYTES, &call);
    }
    let loud = client.ok("bash", json!({"command": "seq 100000"})).text();
    assert!(loud.len() < 52_000 && loud.contains("99999\n100000"), "{}", loud.len());
    let less = client.ok("bash", json!({"command": "seq 100000", "max_bytes": 600})).text();
    assert!(less.len() < 700 && less.contains("\n100000"), "{less}");

    // All of them take a limit and show the end.
    let with = |mut arguments: Value, tail: bool| {
        arguments["max_bytes"] = json!(600);
        arguments["tail"] = json!(tail);
        arguments
    };
    env.put("long.txt", (1..=9000).map(|n| format!("text {n}\n")).collect::<String>());
    let (_, artifact) = loud.split_once("artifact://").expect("an artifact");
    let artifact: String = artifact.chars().take_while(char::is_ascii_alphanumeric).collect();
    let cell = |code: &str| json!([{"language": "py", "code": code}]);
    let lines = "for n in range(1, 9001): print('text', n)";
    for (tool, arguments) in [
        ("python", json!({"code": lines})),
        ("eval", json!({"cells": cell(lines)})),
        ("read", json!({"path": "long.txt"})),
        ("read", json!({"path": format!("artifact://{artifact}")})),
    ] {
        for tail in [false, true] {
            let text = client.ok(tool, with(arguments.clone(), tail)).text();
            assert!(text.len() <= 600, "{} bytes of {tool}: {text}", text.len());
            let has_end = text.lines().any(|line| ["text 9000", "100000"].contains(&line));
            assert!(has_end || !tail, "{arguments}: {text}");
            assert!(tool != "read" || has_end == tail, "{arguments}: {text}");
        }
    }
}

/// Issue 23: the facts of many cells stay within the budget, count the cells that are left out, and lead to them.
#[test]
fn facts_of_many_cells_stay_within_the_budget() {
    const CELLS: usize = 400;
    let env = env();
    let mut client = client(&env, &[], &[]);
    let mut cells = vec![json!({"code": "1"}); CELLS];
    cells[CELLS - 1] = json!({"code": "1 / 0"});
    let answer = client.call("python", json!({"cells": cells, "wait": 600}));
    let mut details = answer.result["_meta"]["details"].clone();
    let execution = details["execution"].clone();
    let mut seen = vec![false; CELLS];
    for _ in 0..CELLS {
        assert!(details.to_string().len() <= DEFAULT_BYTES, "{}", details.to_string().len());
        let records = details["cells"].as_array().expect("cells");
        for record in records {
            seen[record["index"].as_u64().expect("an index") as usize] = true;
        }
        assert_eq!(records.last().expect("the last cell")["ename"], "ZeroDivisionError");
        let left_out = &details["cellsLeftOut"];
        if left_out.is_null() {
            break;
        }
        let missing = seen.iter().filter(|seen| !**seen).count();
        assert_eq!(left_out["count"], missing, "{left_out}");
        let rest = json!({"id": execution, "since": left_out["since"]});
        details = client.call("result", rest).result["_meta"]["details"].clone();
    }
    assert!(seen.iter().all(|seen| *seen));
}

/// Loud cells before it do not take the room of the traceback that the model needs.
#[test]
fn a_failure_beside_loud_cells_keeps_its_traceback() {
    let env = env();
    let mut client = client(&env, &[], &[]);
    let loud = json!({"code": "for n in range(50_000): print('line', n)"});
    let frames = "def f(n):\n    if n == 0: raise ValueError('the reason')\n    f(n - 1)\nf(30)";
    let cells = json!([loud, loud, loud, loud, loud, loud, {"code": frames}]);
    let text = client.call("python", json!({"cells": cells, "wait": 600})).text();
    assert!(text.len() <= DEFAULT_BYTES, "{}", text.len());
    assert!(text.contains("Traceback") && text.contains("ValueError: the reason"), "{text}");
    assert!(text.contains("Fix only cell 7."), "{text}");
    for cell in 1..=6 {
        assert!(
            text.contains(&format!("[{cell}/7]\nline 0\n")),
            "cell {cell} shows its beginning: {text}"
        );
    }
}

#[test]
fn a_caller_chooses_the_end_of_an_output() {
    let env = env();
    let mut client = client(&env, &[], &[]);
    let code = "for n in range(9000): print('line', n)";
    let end = client.ok("python", json!({"code": code, "max_bytes": 2000, "tail": true})).text();
    assert!(end.len() <= 2000 && end.contains("line 8999"), "{end}");
    assert!(!end.contains("line 0\n"), "{end}");
    let wide = client.ok("python", json!({"code": code, "max_bytes": 100_000})).text();
    assert!(wide.contains("line 0\n") && wide.contains("line 5000\n"), "{}", wide.len());
    let refused = client.call("python", json!({"code": "1", "max_bytes": 10}));
    assert!(refused.is_error(), "{refused:?}");
    assert!(refused.text().contains("give 500 to 102400"), "{refused:?}");

    let id = format!("artifact://{}", id_after(&end, "artifact://"));
    let last = client.ok("result", json!({"id": id, "tail": true, "max_bytes": 1000})).text();
    assert!(last.len() <= 1000 && last.contains("line 8999"), "{last}");
    assert!(last.contains("-9000 of 9000]"), "{last}");
}

fn id_after(text: &str, word: &str) -> String {
    let (_, rest) = text.split_once(word).unwrap_or_else(|| panic!("no {word:?} in {text}"));
    rest.chars().take_while(char::is_ascii_alphanumeric).collect()
}

/// The mark in an answer about a call that still runs.
fn since(answer: &Answer) -> String {
    let text = answer.text();
    let (_, rest) = text.rsplit_once("since: \"").unwrap_or_else(|| panic!("no mark in {text}"));
    rest.split('"').next().unwrap_or_default().to_owned()
}

/// A running call is asked for what is new, and nothing comes twice.
#[test]
fn a_running_call_tells_only_what_is_new() {
    let env = env();
    let mut client = client(&env, &[], &[]);
    let code = "import os, time\n\
        def wait(name):\n    while not os.path.exists(name): time.sleep(0.01)\n\
        for n in range(40_000): print('first', n)\n\
        open('wrote', 'w').write('x'); wait('one')\n\
        print('second'); wait('two')\n\
        print('third')";
    let begun = client.ok("python", json!({"code": code, "wait": 0}));
    let id = id_after(&begun.text(), "execution ");
    crate::python::wait_for(&env.path("wrote"));
    // The report of a running call follows its output within a moment.
    let mut told = client.ok("result", json!({"id": id, "wait": 1}));
    while !told.text().contains("first 39999\n") {
        told = client.ok("result", json!({"id": id, "wait": 1}));
    }
    let text = told.text();
    assert!(text.len() <= DEFAULT_BYTES, "{}", text.len());
    assert!(text.starts_with("first "), "it begins with a whole line: {text:.100}");
    assert!(
        text.contains("[Showing lines ") && text.contains("artifact://"),
        "it says that it is cut"
    );

    // The lines of a running call are read like those of an artifact.
    let lines = client.ok("result", json!({"id": id, "lines": "10-11"})).text();
    assert!(lines.starts_with("first 9\nfirst 10\n"), "{lines}");
    let found = client.ok("result", json!({"id": id, "grep": "first 3000$"})).text();
    assert!(found.contains("first 3000"), "{found}");

    let mark = since(&told);
    let silent = client.ok("result", json!({"id": id, "since": mark, "wait": 0}));
    assert!(silent.text().starts_with("(no new output)"), "{}", silent.text());
    env.put("one", "");
    let mut second = client.ok("result", json!({"id": id, "since": since(&silent), "wait": 1}));
    while !second.text().contains("second") {
        second = client.ok("result", json!({"id": id, "since": since(&silent), "wait": 1}));
    }
    assert!(second.text().starts_with("second\n"), "{}", second.text());
    env.put("two", "");
    let last = client.ok("result", json!({"id": id, "since": since(&second), "wait": 60}));
    assert_eq!(last.text(), "third");

    // A client that got an answer before the end is told of it.
    let uri = format!("execution://{id}");
    let note = client.note(|note| note["method"] == "notifications/resources/updated");
    assert_eq!(note["params"]["uri"], uri.as_str());
    let resource = client.ask("resources/read", json!({"uri": uri}));
    let text = resource["result"]["contents"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("\nthird\n"), "{resource:.300}");

    let wrong = client.call("result", json!({"id": id, "since": "yesterday"}));
    assert!(wrong.is_error() && wrong.text().contains("0:1234"), "{wrong:?}");
}

/// Parts are read of all cells of a call, whether they run, and whether what they wrote is stored.
#[test]
fn parts_of_a_call_come_from_all_of_its_cells() {
    let env = env();
    let mut client = client(&env, &[], &[]);
    let wait = "import os, time\nprint('C1')\nwhile not os.path.exists('gate'): time.sleep(0.01)";
    let loud = "for n in range(20_000): print('row', n)";
    let cells = json!([{"code": "print('A1\\nA2')"}, {"code": loud}, {"code": wait}]);
    let begun = client.ok("python", json!({"cells": cells, "wait": 1})).text();
    let id = id_after(&begun, "execution ");
    let mut part = client.ok("result", json!({"id": id, "lines": "1-2"})).text();
    while !part.contains("C1") {
        part = client.ok("result", json!({"id": id, "lines": "1-2"})).text();
    }
    for wanted in [
        format!("[{id}/1]\nA1\nA2\n"),
        format!("[{id}/2]\nrow 0\nrow 1\n"),
        format!("[{id}/3]\nC1"),
    ] {
        assert!(part.contains(&wanted), "{wanted}: {part}");
    }
    env.put("gate", "");
    client.ok("result", json!({"id": id, "wait": 60}));
    let found = client.ok("result", json!({"id": id, "grep": "(A2|row 1500)$"})).text();
    assert!(found.contains("2: A2\n") && found.contains("1501: row 1500\n"), "{found}");
    assert!(found.contains("[no such lines in 1 cell]"), "{found}");
    let one = client.ok("result", json!({"id": format!("{id}/1"), "lines": "2"})).text();
    assert!(one.starts_with("A2\n"), "{one}");
    let wrong = client.call("result", json!({"id": format!("{id}/7"), "lines": "2"}));
    assert!(wrong.is_error() && wrong.text().contains(&format!("{id}/error")), "{wrong:?}");

    // A call that is over is told again in as many bytes as its caller wants.
    let wide = client.ok("result", json!({"id": id, "max_bytes": 60_000})).text();
    assert!((40_000..=60_000).contains(&wide.len()), "{}", wide.len());
    let end = client.ok("result", json!({"id": id, "max_bytes": 2000, "tail": true})).text();
    assert!(end.len() <= 2000 && end.contains("row 19999"), "{end}");
    assert!(!end.contains("row 0\n"), "{end}");
    let range =
        json!({"id": format!("{id}/2"), "lines": "100-19000", "max_bytes": 1000, "tail": true});
    let end = client.ok("result", range).text();
    assert!(end.len() <= 1000 && end.contains("row 18999\n"), "{end}");
    let wide = json!({"id": format!("{id}/2"), "grep": "row 1[05]00$", "context": 1_000_000});
    assert!(client.ok("result", wide).text().len() <= DEFAULT_BYTES);
}

/// A client is told of the end of a call that it subscribes to.
#[test]
fn a_call_is_a_resource_with_subscribers() {
    let env = env();
    let mut client = client(&env, &[], &[]);
    let code = "import os, time\nwhile not os.path.exists('gate'): time.sleep(0.01)";
    let begun = client.ok("python", json!({"code": code, "wait": 0})).text();
    let uri = format!("execution://{}", id_after(&begun, "execution "));
    let templates = client.ask("resources/templates/list", json!({}));
    assert!(templates.to_string().contains("execution://{id}"), "{templates}");
    for method in ["resources/subscribe", "resources/unsubscribe", "resources/subscribe"] {
        let answer = client.ask(method, json!({"uri": uri}));
        assert!(answer["result"].is_object(), "{method}: {answer}");
    }
    let unknown = client.ask("resources/subscribe", json!({"uri": "execution://zzz"}));
    assert!(unknown["error"].is_object(), "{unknown}");
    env.put("gate", "");
    let note = client.note(|note| note["method"] == "notifications/resources/updated");
    assert_eq!(note["params"]["uri"], uri.as_str());
}

/// An exception that is too long for an answer is read like other output.
#[test]
fn all_of_a_long_exception_can_be_read() {
    let env = env();
    let mut client = client(&env, &[], &[]);
    let failed = client.call("python", json!({"code": "raise ValueError('x' * 90_000 + 'end')"}));
    let text = failed.text();
    let id = id_after(&text, "result with id ");
    assert!(text.contains(&format!("result with id {id}/error shows all of it")), "{text:.300}");
    let given = json!({"id": format!("{id}/error"), "offset": 80_000});
    let rest = client.ok("result", given).text();
    assert!(rest.contains("xend"), "{rest:.300}");
    let found = client.ok("result", json!({"id": id, "grep": "^ValueError: x"})).text();
    assert!(found.contains("[1 of "), "{found:.300}");
}

/// Cells that are over were told with the answer before.
#[test]
fn a_running_run_tells_only_new_cells() {
    let env = env();
    let mut client = client(&env, &[], &[]);
    let wait = "import os, time\nprint('begun', flush=True)\n\
                while not os.path.exists('gate'): time.sleep(0.01)\nprint('over')";
    let cells = ["print('told before')".to_owned(), wait.to_owned(), "print('last')".to_owned()];
    env.put("nb.ipynb", notebook(&cells));
    let mut told = client.ok("notebook_run", json!({"path": "nb.ipynb", "wait": 1}));
    let id = id_after(&told.text(), "execution ");
    while !told.text().contains("begun") {
        told = client.ok("result", json!({"id": id, "wait": 1}));
    }
    assert!(told.text().contains("told before"), "{}", told.text());
    env.put("gate", "");
    let ended = client.ok("result", json!({"id": id, "since": since(&told), "wait": 60})).text();
    assert!(ended.starts_with("[cell 1 (c1)]\nover\n\n[cell 2 (c2)]\nlast\n\n"), "{ended}");
    assert!(ended.contains("3 of 3 cells ran"), "{ended}");
}
