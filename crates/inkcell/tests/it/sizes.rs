//! Notebooks that are large, deep or wide.

use std::fmt::Write as _;

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use inkcell_testkit::need::{is_quick, skip};

use crate::env;

/// Runs a command with at most this much address space and this much processor time. Time on the clock would
/// measure what else the machine does.
fn run_within(env: &TestEnv, max_bytes: u64, max_seconds: u64, args: &[&str]) -> CommandOutput {
    let mut command = env.command("sh");
    let limits = format!("ulimit -v {} && ulimit -t {max_seconds}", max_bytes / 1024);
    command.args(["-c", &format!("{limits} && exec \"$@\""), "sh"]);
    command.arg(env.program()).args(args);
    finish(command, b"")
}

const CELLS: usize = 100_000;

/// A notebook of 100,000 cells, `id-0` and so on.
fn many_cells() -> String {
    let mut text = String::from("{\"cells\": [\n");
    for number in 0..CELLS {
        let end = if number + 1 == CELLS { "" } else { "," };
        let _ = writeln!(
            text,
            "{{\"cell_type\": \"code\", \"execution_count\": {number}, \"id\": \"id-{number}\", \"metadata\": {{}}, \
             \"outputs\": [], \"source\": \"x = {number}\"}}{end}"
        );
    }
    text.push_str("], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5}\n");
    text
}

/// F-070
#[test]
fn a_notebook_of_100_000_cells_is_edited() {
    let env = env();
    let text = many_cells();
    env.put("nb.ipynb", &text);
    let outline = env.run(&["read", "nb.ipynb", "--outline"]).ok().stdout;
    assert_eq!(outline.lines().count(), CELLS + 1);
    assert!(outline.contains("\n99999  id-99999  code [99999]"), "the last cell is there");
    env.run(&["edit", "nb.ipynb", "replace", "id-50000", "--source", "y"]).ok();
    env.run(&["edit", "nb.ipynb", "delete", "-1"]).ok();
    env.run(&["edit", "nb.ipynb", "insert", "--at", "start", "--source", "top"]).ok();
    let page = env.run(&["read", "nb.ipynb:99990", "--page"]).ok().stdout;
    assert!(page.ends_with("to continue]"), "{page:.200}");
    let wanted = text
        .replace("\"execution_count\": 50000", "\"execution_count\": null")
        .replace("\"x = 50000\"", "\"y\"");
    let last = wanted.rfind(",\n{\"cell_type\"").expect("the last cell");
    let now = String::from_utf8(env.get("nb.ipynb")).expect("text");
    assert!(now.ends_with("], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5}\n"));
    // All but the first and the last cell keep their bytes, except for the replaced one.
    let middle = &wanted[wanted.find("{\"cell_type\"").expect("the first cell")..last];
    assert!(now.contains(middle), "other cells have changed");
}

/// F-070: an edit that names many cells, or none, takes no longer than reading.
#[test]
fn names_among_100_000_cells_are_found_in_time() {
    const MAX_BYTES: u64 = 4 << 30;
    // Many times the need, and far less than quadratic work.
    const MAX_SECONDS: u64 = 10;
    let env = env();
    env.put("nb.ipynb", many_cells());
    let within = |args: &[&str]| run_within(&env, MAX_BYTES, MAX_SECONDS, args);
    let shown = within(&["read", "nb.ipynb", "--cells", "10-19,id-99999,50000-50009"]).ok().stdout;
    assert_eq!(shown.lines().filter(|line| line.starts_with("# %% [code]")).count(), 21);
    assert!(shown.ends_with("id:id-99999\nx = 99999"), "{shown}");
    let ran = within(&["edit", "nb.ipynb", "--old", "y = 777", "--new", "z"]).exits(2);
    assert!(
        ran.stderr.starts_with("error: nb.ipynb: the text to replace was not found"),
        "{ran:?}"
    );
    within(&["read", "nb.ipynb", "--cells", "idd-5"]).exits(5);
    let op = |number: usize| {
        format!("{{\"op\": \"sub\", \"cell\": \"id-{number}\", \"old\": \"x\", \"new\": \"y\"}}")
    };
    let ops: Vec<String> = (0..4000).map(|at| op(at * 25)).collect();
    env.put("ops.json", format!("[{}]", ops.join(",")));
    within(&["edit", "nb.ipynb", "--ops", "ops.json"]).ok();
    let now = String::from_utf8(env.get("nb.ipynb")).expect("text");
    assert_eq!(now.matches("\"source\": \"y = ").count(), ops.len());
}

/// F-070
#[test]
fn depth_is_a_clean_error() {
    const DEPTH: usize = 100_000;
    let env = env();
    let deep = format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    let objects = format!("{}1{}", "{\"a\":".repeat(DEPTH), "}".repeat(DEPTH));
    for value in [deep, objects] {
        let text = format!(
            "{{\"cells\": [], \"metadata\": {{\"x\": {value}}}, \"nbformat\": 4, \"nbformat_minor\": 5}}"
        );
        env.put("nb.ipynb", &text);
        let ran = env.run(&["edit", "nb.ipynb", "insert", "--source", "x"]).exits(2);
        assert!(
            ran.stderr.starts_with("error: Invalid JSON in notebook: nb.ipynb: line 1, "),
            "{}",
            ran.stderr
        );
        assert_eq!(env.get("nb.ipynb"), text.as_bytes());
        env.put("shallow.ipynb", inkcell_testkit::notebooks::small());
        env.put("ops.json", format!("{{\"op\": \"meta\", \"set\": {{\"k\": {value}}}}}"));
        let ran = env.run(&["edit", "shallow.ipynb", "--ops", "ops.json"]).exits(2);
        assert_eq!(
            ran.stderr,
            "error: shallow.ipynb: metadata \"k\": values are nested more than 995 deep\n"
        );
        assert_eq!(env.get("shallow.ipynb"), inkcell_testkit::notebooks::small().as_bytes());
    }
}

/// F-070
#[test]
fn a_million_keys_are_kept() {
    let env = env();
    let mut keys = String::new();
    for number in 0..1_000_000 {
        let _ = write!(keys, "{}\"k{number}\": {number}", if number == 0 { "" } else { ", " });
    }
    let text = format!(
        "{{\"cells\": [], \"metadata\": {{{keys}}}, \"nbformat\": 4, \"nbformat_minor\": 5}}"
    );
    env.put("nb.ipynb", &text);
    run_within(
        &env,
        u64::MAX / 2,
        60,
        &["edit", "nb.ipynb", "insert", "--source", "x", "--type", "raw"],
    )
    .ok();
    let now = String::from_utf8(env.get("nb.ipynb")).expect("text");
    assert!(now.contains(&keys));
}

/// F-070: 300 MB are read and edited in less than ten seconds and four times their size.
#[test]
fn a_notebook_of_300_megabytes_is_edited() {
    if is_quick() {
        return skip("a_notebook_of_300_megabytes_is_edited", "this is the quick run");
    }
    let env = env();
    let picture = "iVBORw0KGgo".repeat(1_000_000);
    let output = format!(
        "{{\"data\": {{\"image/png\": \"{picture}\"}}, \"metadata\": {{}}, \"output_type\": \"display_data\"}}"
    );
    let cell = |number: usize| {
        format!(
            "{{\"cell_type\": \"code\", \"execution_count\": 1, \"id\": \"id-{number}\", \"metadata\": {{}}, \
             \"outputs\": [{output}], \"source\": \"x\"}}"
        )
    };
    let cells: Vec<String> = (0..28).map(cell).collect();
    let text = format!(
        "{{\"cells\": [{}], \"metadata\": {{}}, \"nbformat\": 4, \"nbformat_minor\": 5}}",
        cells.join(",\n")
    );
    drop(cells);
    let size = text.len() as u64;
    assert!(size > 300_000_000, "{size}");
    env.put("nb.ipynb", &text);
    let commands: [&[&str]; 3] = [
        &["read", "nb.ipynb", "--outline"],
        &["read", "nb.ipynb"],
        &["edit", "nb.ipynb", "replace", "id-14", "--source", "mine", "--keep-outputs"],
    ];
    for args in commands {
        run_within(&env, 4 * size, 10, args).ok();
    }
    let now = env.get("nb.ipynb");
    assert_eq!(now.len() as u64, size + 3);
    let at = text.match_indices("\"source\": \"x\"").nth(14).expect("the cell").0
        + "\"source\": \"".len();
    assert!(now[..at] == text.as_bytes()[..at], "bytes before the change");
    assert!(now[at..].starts_with(b"mine"));
    assert!(now[at + 4..] == text.as_bytes()[at + 1..], "bytes after the change");
}

/// B:V-23
#[test]
fn the_limit_is_a_setting_and_is_told() {
    let env = env();
    env.put("nb.ipynb", inkcell_testkit::notebooks::small());
    let run = |value: &str, args: &[&str]| {
        let mut command = env.inkcell();
        command.args(args).env("INKCELL_NOTEBOOK_MAX_BYTES", value);
        finish(command, b"")
    };
    for limit in ["1000000", &u64::MAX.to_string()] {
        assert!(run(limit, &["read", "nb.ipynb"]).ok().stdout.starts_with("# %% ["));
        run(limit, &["edit", "nb.ipynb", "--old", "nothing", "--new", "x"]).exits(2);
    }
    let ran = run("100", &["edit", "nb.ipynb", "clear"]).exits(2);
    let size = env.get("nb.ipynb").len();
    assert_eq!(
        ran.stderr,
        format!(
            "error: nb.ipynb has {size} bytes, more than notebook.max_bytes allows (100)\nhint: \
             raise the limit with INKCELL_NOTEBOOK_MAX_BYTES=BYTES\n"
        )
    );
    let ran = run("lots", &["read", "nb.ipynb"]).exits(2);
    assert!(
        ran.stderr.starts_with(
            "error: INKCELL_NOTEBOOK_MAX_BYTES: is \"lots\"; it takes a number of bytes"
        )
    );
}
