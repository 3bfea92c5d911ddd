//! The messages of `inkcell run` about exits, signals, changed files, and unusable input.

use std::os::unix::process::ExitStatusExt as _;

use inkcell_testkit::env::{TestEnv, finish};
use inkcell_testkit::need;
use inkcell_testkit::wait::until;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::env;
use crate::notebook_runs::{notebook, outputs, ran, run, summed};
use crate::running::Running;

/// An exit is a requested end and not a failure, unless its status says so.
#[test]
fn an_exit_is_told_as_one() {
    let env = env();
    for (code, exit) in
        [("import sys; sys.exit()", 0), ("quit()", 0), ("exit(0)", 0), ("exit(3)", 1)]
    {
        env.put("a.ipynb", notebook(&["print(1)", code, "print(3)"]));
        for args in [vec!["a.ipynb"], vec!["a.ipynb", "--allow-errors"]] {
            let told = ran(&env, &args).exits(exit);
            let said = format!("{}{}", told.stderr, told.stdout);
            assert!(said.contains("cell 1 (c1)  exit "), "{code}: {said}");
            assert!(!said.contains("None") && !said.contains("allowed"), "{code}: {said}");
            let sums = match exit {
                0 => "Ran 2 cells, 1 not run",
                _ => "Ran 2 cells, 1 failed, 1 not run",
            };
            assert_eq!(summed(&told.stdout), sums, "{code}: {said}");
            let words = if exit == 0 {
                "note: the run ended at cell 1, which called exit\n"
            } else {
                "error: cell 1 (c1) called exit with: 3\n"
            };
            assert!(said.contains(words), "{code}: {said}");
        }
    }
}

/// F-021: a second interrupt does not wait for code that ignores the first; the finished cells are saved and
/// reported.
#[test]
fn a_second_interrupt_ends_at_once() {
    let env = env();
    let deaf = "import time\n\
                for at in range(1, 1000):\n    \
                    try:\n        open(f'at-{at}', 'w').close(); time.sleep(600)\n    \
                    except KeyboardInterrupt: pass";
    env.put("a.ipynb", notebook(&["print('one')", deaf, "print('three')"]));
    let mut command = run(&env, &["a.ipynb"]);
    // The grace period is longer than this test takes.
    command.env("INKCELL_KERNEL_INTERRUPT_GRACE", "300");
    let running = Running::start(command);
    until("the file at-1", || env.path("at-1").exists());
    running.signal(Signal::INT);
    until("the file at-2", || env.path("at-2").exists());
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.status.signal(), Some(2), "{ended:?}");
    assert!(ended.stderr.contains("cell 1 (c1): Interrupted; the kernel ignored"), "{ended:?}");
    assert_eq!(summed(&ended.stdout), "Ran 2 cells, 1 interrupted, 1 not run", "{ended:?}");
    assert!(outputs(&env, "a.ipynb", 0).contains("one"));
}

/// F-021: a signal that asks for the end saves as well, and prints nothing unexpected.
#[test]
fn a_quiet_run_that_is_ended_is_saved() {
    let env = env();
    let second = "import time\nopen('begun', 'w').close(); time.sleep(600)";
    env.put("a.ipynb", notebook(&["print('one')", second]));
    let running = Running::start(run(&env, &["a.ipynb", "--quiet"]));
    until("the file begun", || env.path("begun").exists());
    running.signal(Signal::TERM);
    let ended = running.end();
    assert_eq!((ended.status.signal(), ended.stdout.as_str()), (Some(15), ""), "{ended:?}");
    assert!(outputs(&env, "a.ipynb", 0).contains("one"));
}

/// A module that is missing is named with its Python and a command that installs it there; nothing else has a hint.
#[test]
fn a_missing_module_has_its_python_and_a_command() {
    let env = env();
    env.put("a.ipynb", notebook(&["import sys; print(sys.executable)", "import no_such_module.x"]));
    let told = ran(&env, &["a.ipynb"]).exits(1);
    let python = outputs(&env, "a.ipynb", 0);
    let hint = told.stderr.lines().last().unwrap_or_default();
    let named = hint.strip_prefix("hint: ").and_then(|hint| hint.split_once(' ')).expect("a hint");
    assert!(python.contains(named.0), "{told:?}");
    assert!(named.1.starts_with("has no module no_such_module; install it with: "), "{told:?}");
    assert!(named.1.ends_with(" no_such_module"), "{told:?}");
    let lines = ran(&env, &["a.ipynb", "--json"]).exits(1).stdout;
    let end: Value = serde_json::from_str(lines.lines().last().unwrap_or_default()).expect("JSON");
    assert_eq!(end["hint"].as_str(), hint.strip_prefix("hint: "));
    env.put("b.ipynb", notebook(&["1/0"]));
    assert!(!ran(&env, &["b.ipynb"]).exits(1).stderr.contains("hint:"));
}

/// Parameters have their types in reports, and name the output.
#[test]
fn numbers_stay_numbers_in_the_report() {
    let env = env();
    env.put("a.ipynb", notebook(&["print(year)"]));
    let args = [
        "a.ipynb",
        "-p",
        "year",
        "2024",
        "-y",
        "{rate: 0.5, tag: x}",
        "-o",
        "{stem}-{rate}-{year}.ipynb",
    ];
    let lines = ran(&env, &[&args[..], &["--json"]].concat()).exits(0).stdout;
    let end: Value = serde_json::from_str(lines.lines().last().unwrap_or_default()).expect("JSON");
    assert_eq!(end["parameters"], json!({"rate": 0.5, "tag": "x", "year": 2024}));
    assert!(outputs(&env, "a-0.5-2024.ipynb", 1).contains("2024"));
    let unknown = ran(&env, &["a.ipynb", "-o", "{month}.ipynb"]).exits(2);
    assert!(unknown.stderr.contains("unknown field {month}"), "{unknown:?}");
}

/// F-079: cells that another program removed have no position, and the others keep theirs.
#[test]
fn a_cell_that_is_gone_is_told() {
    let env = env();
    let first = "import json\n\
                 book = json.load(open('a.ipynb'))\n\
                 del book['cells'][1]\n\
                 json.dump(book, open('a.ipynb', 'w'))";
    env.put("a.ipynb", notebook(&[first, "print('gone')", "print('here')"]));
    let told = ran(&env, &["a.ipynb"]).exits(0);
    let rows: Vec<Vec<&str>> = told
        .stdout
        .lines()
        .take(3)
        .map(|line| line.split_whitespace().skip(2).take(3).collect())
        .collect();
    assert_eq!(rows, [["0", "(c0)", "ok"], ["-", "(c1)", "gone"], ["1", "(c2)", "ok"]], "{told:?}");
    assert!(told.stdout.contains("note: no longer in the file: cell 1 (c1)\n"), "{told:?}");
    assert!(told.stdout.contains("2/3  cell - (c1)  gone"), "{told:?}");
    assert!(outputs(&env, "a.ipynb", 1).contains("here"));
}

/// F-079: if another program removed outputs from the file, the report says so, and that they are in it again.
#[test]
fn outputs_that_were_taken_out_are_told() {
    let env = env();
    let older = "import shutil\nshutil.copy('older.ipynb', 'a.ipynb')";
    let text = notebook(&["print('one')", older, "print('three')"]);
    env.put("a.ipynb", &text);
    env.put("older.ipynb", &text);
    let told = ran(&env, &["a.ipynb"]).exits(0);
    let words = "note: another program had taken the outputs of 1 cell out of the file; they are in it again\n";
    assert!(told.stdout.contains(words), "{told:?}");
    assert!(outputs(&env, "a.ipynb", 0).contains("one"));
}

/// The event for a cell's beginning comes before that for its end, even for a quick cell; at the beginning, nothing
/// is known about the end.
#[test]
fn events_come_in_order() {
    let env = env();
    env.put("a.ipynb", notebook(&["1", "2", "3", "1/0", "5"]));
    let failed = ran(&env, &["a.ipynb", "--json"]).exits(1);
    let events: Vec<Value> =
        failed.stdout.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let told: Vec<(String, u64)> = events
        .iter()
        .take(8)
        .map(|event| {
            let name = event["event"].as_str().expect("a name").to_owned();
            (name, event["number"].as_u64().expect("a number"))
        })
        .collect();
    let expected: Vec<(String, u64)> = (1..=4)
        .flat_map(|number| {
            [("cell_started".to_owned(), number), ("cell_finished".to_owned(), number)]
        })
        .collect();
    assert_eq!(told, expected);
    assert_eq!(events.len(), 9);
    assert_eq!((&events[0]["first_line"], events[0].get("status")), (&json!("1"), None));
    assert_eq!(events[8]["cells"][4]["status"], "never_run");
}

/// A follower of the next run learns how long a cell took the last time.
#[test]
fn what_is_expected_is_told() {
    let env = env();
    env.put("a.ipynb", notebook(&["import time; time.sleep(0.05)"]));
    ran(&env, &["a.ipynb", "--record", "jupyter"]).exits(0);
    let expected = |env: &TestEnv, name: &str| {
        let told = ran(env, &[name, "--json"]).exits(0);
        let first: Value =
            serde_json::from_str(told.stdout.lines().next().expect("a line")).expect("JSON");
        first["expected_seconds"].as_f64()
    };
    assert!(expected(&env, "a.ipynb").is_some_and(|seconds| seconds >= 0.05));
    // The file itself supplies it if no earlier runs are recorded.
    let other = crate::env();
    other.put("b.ipynb", env.get("a.ipynb"));
    assert!(expected(&other, "b.ipynb").is_some_and(|seconds| seconds >= 0.05));
}

/// Bad input gets one clear sentence, the exit code of the table, and loses nothing.
#[test]
fn what_cannot_be_run_is_told_in_a_sentence() {
    let env = env();
    let twice = notebook(&["1"]).replace(
        "\"execution_count\": null,",
        "\"execution_count\": null, \"execution_count\": 1,",
    );
    env.put("twice.ipynb", twice);
    env.put("read only.ipynb", notebook(&["1"]));
    let path = env.path("read only.ipynb");
    let mut mode = std::fs::metadata(&path).expect("a file").permissions();
    mode.set_readonly(true);
    std::fs::set_permissions(&path, mode).expect("a mode");
    env.put("a.ipynb", notebook(&["1", "2"]));
    env.put("plain.txt", "text");
    std::fs::create_dir(env.path("folder.ipynb")).expect("a folder");
    for (args, code, words, hint) in [
        (vec!["twice.ipynb"], 2, "\"execution_count\" occurs more than once in cell 0", ""),
        (
            vec!["read only.ipynb"],
            2,
            "read only.ipynb is read-only (mode 444)",
            "hint: make it writable (chmod u+w 'read only.ipynb'), or write to another file with -o\n",
        ),
        (vec!["a.ipynb", "-o", "read only.ipynb"], 2, "is read-only", "with -o\n"),
        (vec!["a.ipynb", "-o", "a.ipynb"], 2, "is the notebook itself", "hint: remove -o"),
        (
            vec!["a.ipynb", "-o", "plain.txt/b.ipynb"],
            2,
            "plain.txt/b.ipynb: cannot find the folder",
            "",
        ),
        (vec!["a.ipynb", "--from", "c1", "--to", "c0"], 2, "stands before cell 1 (c1)", ""),
        (vec!["folder.ipynb"], 2, "is a folder", ""),
        (vec!["plain.txt"], 2, "plain.txt", ""),
        (vec!["a.ipynb", "--timeout", "soon"], 2, "'soon'", ""),
    ] {
        let before = (env.get("a.ipynb"), env.get("read only.ipynb"), env.get("twice.ipynb"));
        let told = ran(&env, &args).exits(code);
        assert!(told.stderr.contains(words), "{args:?}: {told:?}");
        assert!(
            told.stderr.contains(hint) && !told.stderr.contains("--force"),
            "{args:?}: {told:?}"
        );
        assert_eq!(told.stderr.matches("error: ").count(), 1, "{args:?}: {told:?}");
        assert_eq!(told.stdout, "", "{args:?}");
        let after = (env.get("a.ipynb"), env.get("read only.ipynb"), env.get("twice.ipynb"));
        assert_eq!(after, before, "{args:?}");
    }
}

/// A notebook from standard input is never shown under a name of ours, and no copy is left.
#[test]
fn bad_input_from_a_pipe_is_told() {
    let env = env();
    let r = notebook(&["1"]).replacen(
        "\"metadata\": {},\n \"nbformat\"",
        "\"metadata\": {\"kernelspec\": {\"name\": \"ir\", \"language\": \"R\"}},\n \"nbformat\"",
        1,
    );
    for (text, args, code, words) in [
        ("", vec!["-"], 2, "standard input: the file is empty"),
        ("{", vec!["-"], 2, "Invalid JSON in notebook: standard input:"),
        ("[]", vec!["-"], 2, "standard input"),
        (&r, vec!["-"], 3, "for R (kernel ir)"),
        (&notebook(&["1"]), vec!["-", "--cells", "9"], 5, "standard input: cell 9"),
        (&notebook(&["1"]), vec!["-", "--json"], 2, "give -o FILE"),
    ] {
        let told = finish(run(&env, &args), text.as_bytes()).exits(code);
        let said = format!("{}{}", told.stdout, told.stderr);
        assert!(said.contains(words), "{args:?}: {told:?}");
        assert!(!said.contains(&env.state().display().to_string()), "{args:?}: {told:?}");
    }
    let piped = env.state().join("piped");
    assert!(!piped.exists() || std::fs::read_dir(piped).expect("a folder").next().is_none());
    let told =
        finish(run(&env, &["-", "-o", "b.ipynb", "--json"]), notebook(&["1"]).as_bytes()).exits(0);
    let last: Value =
        serde_json::from_str(told.stdout.lines().last().expect("a line")).expect("JSON");
    assert_eq!((&last["path"], &last["written"]), (&json!("-"), &json!("b.ipynb")));
}

/// A run without cells is not an error, and promises no outputs.
#[test]
fn nothing_to_run_is_told_as_such() {
    let env = env();
    env.put("a.ipynb", notebook(&[]));
    let told = ran(&env, &["a.ipynb"]).exits(0);
    assert_eq!((told.stdout.as_str(), told.stderr.as_str()), ("Nothing to run\n", ""));
    env.put("a.ipynb", notebook(&["1"]));
    ran(&env, &["a.ipynb", "-q"]).exits(0);
    let told = ran(&env, &["a.ipynb", "--resume"]).exits(0);
    let words = "Nothing to run\nnote: 1 cell that an earlier run had finished was not run again; its variables are not there\n";
    assert_eq!(told.stdout, words);
}

/// Runs a script in a namespace of its own, where `/mnt` can be any file system.
fn in_namespace(env: &TestEnv, script: &str) -> String {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = env.command("unshare");
    command.args(["-Urm", "sh", "-ec", script, "sh"]).arg(env.program());
    command.env("INKCELL_PYTHON_INTERPRETER", python);
    finish(command, b"").ok().stdout
}

/// F-066, F-078: a full disk costs no outputs: they are kept elsewhere, and go into the file when there is room
/// again.
#[test]
fn a_full_disk_costs_no_outputs() {
    if !need::private_mounts("a_full_disk_costs_no_outputs") {
        return;
    }
    let env = env();
    let fill = "open('/mnt/filler', 'wb').write(bytes(20000))\nprint('shown', 7 * 'x' * 2000)";
    env.put("nb.ipynb", notebook(&["print('first')", fill, "print('third')"]));
    let script = r#"
        mount -t tmpfs -o size=32k none /mnt
        cp nb.ipynb /mnt/nb.ipynb
        code=0
        "$1" run /mnt/nb.ipynb --quiet 2>&1 || code=$?
        echo "code $code"
        grep -c 'first' /mnt/nb.ipynb
        ls -A /mnt
        rm /mnt/filler
        "$1" read /mnt/nb.ipynb --outputs full 2>&1 | grep -c 'earlier run was cut off\|│ third\|│ shown'
        "$1" run /mnt/nb.ipynb --resume
        ls -A /mnt
    "#;
    let wanted = "error: the outputs were not saved: /mnt/nb.ipynb: cannot write the new content: No space left on device (os error 28)\n\
        hint: they are kept, and the next command on the notebook saves them\n\
        code 3\n\
        2\n\
        filler\n\
        nb.ipynb\n\
        3\n\
        Nothing to run\n\
        note: 3 cells that an earlier run had finished were not run again; their variables are not there\n\
        nb.ipynb\n\
        ";
    assert_eq!(in_namespace(&env, script), wanted);
}

/// F-066: if outputs can be stored nowhere, the report says that, and a resumed run begins with them.
#[test]
fn outputs_that_can_go_nowhere_are_told_as_lost() {
    if !need::private_mounts("outputs_that_can_go_nowhere_are_told_as_lost") {
        return;
    }
    let env = env();
    let fill = "import os\n\
                if not os.path.exists('full'):\n    \
                    open('full', 'w').close()\n    \
                    try:\n        open('/mnt/filler', 'wb').write(bytes(1 << 26))\n    \
                    except OSError: pass\n\
                print('second')";
    env.put("nb.ipynb", notebook(&["print('first')", fill]));
    let script = r#"
        mount -t tmpfs -o size=16m none /mnt
        cp nb.ipynb /mnt/nb.ipynb
        export INKCELL_STATE_DIR=/mnt/state
        code=0
        "$1" run /mnt/nb.ipynb --cwd "$PWD" --quiet 2>&1 || code=$?
        echo "code $code"
        rm /mnt/filler
        "$1" read /mnt/nb.ipynb --outputs full | grep -c '│ first'
        "$1" run /mnt/nb.ipynb --cwd "$PWD" --resume | grep '^Ran ' | cut -d' ' -f 1-3
        "$1" read /mnt/nb.ipynb --outputs full | grep -c '│ first\|│ second'
    "#;
    let told = in_namespace(&env, script);
    let (error, rest) = told.split_once('\n').expect("lines");
    assert!(
        error.starts_with("error: the outputs were not saved: ") && error.contains("No space"),
        "{told}"
    );
    let wanted = "hint: they could not be kept either; fix that, then run the notebook again with --resume\n\
        code 3\n\
        1\n\
        Ran 1 cell\n\
        2\n\
        ";
    assert_eq!(rest, wanted);
}

/// A disk that cannot be written is reported before anything is run.
#[test]
fn a_read_only_disk_is_told_before_anything_runs() {
    if !need::private_mounts("a_read_only_disk_is_told_before_anything_runs") {
        return;
    }
    let env = env();
    env.put("nb.ipynb", notebook(&["print('it ran')"]));
    let script = r#"
        mount -t tmpfs -o size=64k none /mnt
        cp nb.ipynb /mnt/nb.ipynb
        mount -o remount,ro /mnt
        code=0
        "$1" run /mnt/nb.ipynb 2>&1 || code=$?
        echo "code $code"
    "#;
    let wanted = "error: /mnt/nb.ipynb: cannot make a temporary file beside it: Read-only file system (os error 30)\ncode 3\n";
    assert_eq!(in_namespace(&env, script), wanted);
}

/// A run is resumed from the state of the file: cells whose outputs are gone run again, and another notebook is
/// refused.
#[test]
fn a_run_is_taken_up_by_what_is_in_the_file() {
    let env = env();
    env.put("a.ipynb", notebook(&["print('one')", "print('two')"]));
    ran(&env, &["a.ipynb"]).exits(0);
    env.run(&["clean", "a.ipynb"]).exits(0);
    ran(&env, &["a.ipynb", "--resume"]).exits(0);
    assert!(outputs(&env, "a.ipynb", 0).contains("one"), "it was cleaned, so it ran again");

    env.put("b.ipynb", notebook(&["print('one')", "1/0", "print('three')"]));
    ran(&env, &["b.ipynb", "-o", "out.ipynb"]).exits(1);
    env.put("b.ipynb", notebook(&["print('one')", "print('mended')", "print('three')"]));
    let other = ran(&env, &["b.ipynb", "-o", "out.ipynb", "--resume"]).exits(2);
    assert!(other.stderr.contains("run it without --resume"), "{other:?}");
}

/// Outputs that could not be saved because another program took the file away go into its replacement.
#[test]
fn a_file_that_was_taken_away_gets_its_outputs_back() {
    let env = env();
    let wait = "import os, time\nopen('begun', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.01)";
    env.put("a.ipynb", notebook(&["print('one')", wait, "print('three')"]));
    let running = Running::start(run(&env, &["a.ipynb", "-o", "out.ipynb"]));
    until("the file begun", || env.path("begun").exists());
    std::fs::remove_file(env.path("out.ipynb")).expect("it is there");
    env.put("go", "");
    let ended = running.end();
    assert!(ended.stderr.contains("they are kept"), "{ended:?}");
    ran(&env, &["a.ipynb", "-o", "out.ipynb", "--resume"]).exits(0);
    assert!(outputs(&env, "out.ipynb", 0).contains("one"));
    assert!(outputs(&env, "out.ipynb", 2).contains("three"));
}

/// Even with --quiet the run reports outputs that are missing from the file; and cells may be counted from the end.
#[test]
fn a_quiet_run_tells_of_outputs_that_are_not_in_the_file() {
    let env = env();
    let wait = "import os, time\nopen('begun', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.01)";
    env.put("a.ipynb", notebook(&[wait, "print('two')"]));
    let running = Running::start(run(&env, &["a.ipynb", "-q"]));
    until("the file begun", || env.path("begun").exists());
    env.run(&["edit", "a.ipynb", "replace", "0", "--source", "other"]).exits(0);
    env.put("go", "");
    let ended = running.end();
    assert!(ended.stderr.contains("its outputs are not in the file: cell 0"), "{ended:?}");
    let last = ran(&env, &["a.ipynb", "--cells", "-1", "--json"]).exits(0);
    assert!(
        last.stdout.contains("\"index\":1") && !last.stdout.contains("\"index\":0"),
        "{last:?}"
    );
    let missing = env.run(&["run", "none.ipynb", "--json"]).exits(5);
    assert_eq!(missing.stdout.lines().count(), 1, "an object a line: {missing:?}");
}
