//! Stale and needed cells as an agent runs them, and what an agent learns about its kernel.

use inkcell_testkit::need;
use serde_json::json;

use crate::client::Client;
use crate::env;
use crate::gateways;
use crate::notebook_runs::{notebook, outputs};

/// A failure blocks the cells that depend on it. They are named with the reason, and the others run.
#[test]
fn a_stale_run_goes_on_past_a_failure() {
    let env = env();
    let cells = ["x = 1", "y = x + 1", "z = 5", "print(y)", "print(z)"];
    env.put("a.ipynb", notebook(&cells));
    let mut client = Client::start(&env, &[]);
    client.ok("notebook_run", json!({"path": "a.ipynb"}));
    let ops = json!([
        {"op": "replace", "cell": "c0", "source": "x = 1 / 0"},
        {"op": "replace", "cell": "c2", "source": "z = 6"},
    ]);
    let answer =
        client.call("notebook_edit", json!({"path": "a.ipynb", "ops": ops, "run": "stale"}));
    let text = answer.text();
    assert!(answer.is_error() && text.contains("Cell 0 (c0) failed (exit code 1)."), "{text}");
    let blocked = "[not run, because they depend on a cell that failed: cell 1 (c1) needs x of cell 0; cell \
         3 (c3) needs y of cell 1]";
    assert!(text.contains(blocked), "{text}");
    assert!(text.contains("[cell 4 (c4), stale: z of cell 2, output changed]\n6"), "{text}");
    assert!(text.contains("[3 of 5 cells ran; outputs are in a.ipynb"), "{text}");
    assert!(text.ends_with("notebook_run, cells: \"stale\""), "{text}");
    assert!(outputs(&env, "a.ipynb", 3).contains("2\\n"), "it keeps its output");
    let stale = json!({"path": "a.ipynb", "cells": "stale", "on_error": "stop"});
    let text = client.call("notebook_run", stale).text();
    assert!(
        text.contains("[1 of 3 cells ran, 2 fresh") && !text.contains("because they depend"),
        "{text}"
    );
    let op = json!({"path": "a.ipynb", "cell": "c0", "source": "1 / 0\nx = 3",
                    "run": "stale", "on_error": "continue"});
    let text = client.ok("notebook_edit", op).text();
    assert!(text.contains("Cell 0 (c0) failed, as allowed."), "{text}");
    assert!(text.contains("[3 of 3 cells ran"), "{text}");
}

/// A Jupyter kernel tells the names of a cell that failed, too, so only the cells that depend on it are blocked.
#[test]
fn a_failure_on_a_jupyter_kernel_blocks_only_what_depends_on_it() {
    let test = "a_failure_on_a_jupyter_kernel_blocks_only_what_depends_on_it";
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    if !need::python_package(test, &python, "ipykernel") {
        return;
    }
    let env = env();
    env.put("a.ipynb", notebook(&["n = 0", "x = 1 / n", "y = x + 1", "print(n + 5)"]));
    let mut client = Client::with(&env, &[], |command| {
        command.env("INKCELL_PYTHON_BACKEND", "zmq");
        command.env("INKCELL_PYTHON_START_TIMEOUT", gateways::PATIENT);
    });
    let run = json!({"path": "a.ipynb", "on_error": "continue"});
    let text = client.call("notebook_run", run).text();
    assert!(text.contains("[cell 3 (c3)]\n5\n"), "{text}");
    let op = json!({"op": "replace", "cell": "c0", "source": "n = 0  # still"});
    let edit = json!({"path": "a.ipynb", "ops": [op], "run": "stale"});
    let text = client.call("notebook_edit", edit).text();
    let blocked =
        "[not run, because they depend on a cell that failed: cell 2 (c2) needs x of cell 1]";
    assert!(text.contains(blocked), "{text}");
    assert!(text.contains("[cell 3 (c3), stale: n of cell 0] (same output as before)"), "{text}");
}

/// A cell whose names the kernel lacks keeps its output; the error names the cells and the ways on.
#[test]
fn a_cell_is_not_run_without_what_it_needs() {
    let env = env();
    env.put("a.ipynb", notebook(&["x = 1", "big = 2", "y = x + 1", "print(y)"]));
    let mut client = Client::start(&env, &[]);
    client.ok("notebook_run", json!({"path": "a.ipynb"}));
    let before = env.get("a.ipynb");
    let run = |more: serde_json::Value| {
        let mut given = json!({"path": "a.ipynb", "cells": "3"});
        given.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        given
    };
    let refused = client.call("notebook_run", run(json!({"fresh": true})));
    let text = refused.text();
    assert!(refused.is_error() && text.contains("cell 3 needs y of cell 2"), "{text}");
    assert!(text.contains("with_needed: true runs those cells first"), "{text}");
    assert_eq!(env.get("a.ipynb"), before);
    let text = client.ok("notebook_run", run(json!({"with_needed": true}))).text();
    assert!(text.contains("[cell 0 (c0), makes x for cell 2] (ok)"), "{text}");
    assert!(text.contains("[cell 2 (c2), makes y for cell 3] (ok)"), "{text}");
    assert!(text.contains("[cell 3 (c3), same output as before]\n2\n"), "{text}");
    assert!(text.contains("[3 of 3 cells ran"), "{text}");
    // Names that other code made are there.
    client.ok("kernel", json!({"action": "restart", "session": "a.ipynb"}));
    client.ok("python", json!({"code": "y = 40", "session": "a.ipynb"}));
    let text = client.ok("notebook_run", run(json!({}))).text();
    assert!(text.contains("[cell 3 (c3), output changed]\n40"), "{text}");
    client.ok("kernel", json!({"action": "restart", "session": "a.ipynb"}));
    let edit = json!({"path": "a.ipynb", "cell": "c3", "source": "print(y + 1)", "run": "changed"});
    let text = client.call("notebook_edit", edit.clone()).text();
    assert!(text.contains("[The edit is made; the cells were not run:]"), "{text}");
    assert!(text.contains("cell 3 needs y of cell 2"), "{text}");
    let mut edit = edit;
    (edit["source"], edit["with_needed"]) = (json!("print(y + 2)"), json!(true));
    let text = client.ok("notebook_edit", edit).text();
    assert!(text.contains("[cell 3 (c3)") && text.contains("]\n4\n"), "{text}");
    let text =
        client.call("notebook_run", run(json!({"fresh": true, "with_needed": false}))).text();
    assert!(text.contains("NameError"), "{text}");
}

/// The answer names the cell that gives a parameter a value of its own.
#[test]
fn an_overwritten_parameter_is_told() {
    let env = env();
    env.put("a.ipynb", notebook(&["print(year)", "year = 3"]));
    let mut client = Client::start(&env, &[]);
    let run = json!({"path": "a.ipynb", "parameters": {"year": 2024}});
    let text = client.ok("notebook_run", run).text();
    assert!(text.contains("[cell 2 assigns to or deletes the parameter year, so "), "{text}");
}

/// Issue 23, 5: deleting a parameter counts, and so does a function that overwrites it, wherever it is defined. Cells
/// that read the value before do not count.
#[test]
fn parameters_that_are_deleted_or_overwritten_in_functions_are_told() {
    let env = env();
    let cells = [
        "def reset():\n    global year\n    year = 3",
        "def grow():\n    global month\n    month += 1",
        "grow()",
        "print(day)\nday = 4",
        "reset()",
        "del hour",
    ];
    env.put("a.ipynb", notebook(&cells));
    let mut client = Client::start(&env, &[]);
    let run = json!({"path": "a.ipynb",
                     "parameters": {"year": 2024, "month": 5, "day": 6, "hour": 7}});
    let text = client.ok("notebook_run", run).text();
    assert_eq!(text.matches("assigns to or deletes").count(), 2, "{text}");
    for (cell, name) in [(5, "year"), (6, "hour")] {
        let note = format!("[cell {cell} assigns to or deletes the parameter {name}, so ");
        assert!(text.contains(&note), "{text}");
    }
}

/// The outline tells outputs that are up to date from variables in the kernel of the session.
#[test]
fn the_outline_says_what_the_kernel_has() {
    let env = env();
    env.put("a.ipynb", notebook(&["x = 1", "y = x + 1", "1 / 0", "print(y)"]));
    let mut client = Client::start(&env, &[]);
    let view = json!({"path": "a.ipynb", "view": "outline"});
    let head = |client: &mut Client| {
        let text = client.ok("notebook_read", view.clone()).text();
        text.lines().next().unwrap_or_default().to_owned()
    };
    assert!(head(&mut client).ends_with("nbformat 4.5"), "{}", head(&mut client));
    client.call("notebook_run", json!({"path": "a.ipynb", "on_error": "continue"}));
    let held = "  (its kernel has the variables of cells 0-1,3)";
    assert!(head(&mut client).ends_with(held), "{}", head(&mut client));
    let text = client.ok("notebook_read", view.clone()).text();
    assert_eq!(text.matches(" fresh ").count(), 3, "{text}");
    client.ok("kernel", json!({"action": "restart", "session": "a.ipynb"}));
    let none = "  (its kernel has run none of these cells: no variables are there)";
    assert!(head(&mut client).ends_with(none), "{}", head(&mut client));
    client.ok("kernel", json!({"action": "stop", "session": "a.ipynb"}));
    let none = "  (no kernel: the marks are about outputs, no variables are there)";
    assert!(head(&mut client).ends_with(none), "{}", head(&mut client));
    // Another process has other sessions.
    client.ok("notebook_run", json!({"path": "a.ipynb", "to": 1}));
    assert!(head(&mut client).ends_with("cells 0-1)"), "{}", head(&mut client));
    let mut other = Client::start(&env, &[]);
    assert!(head(&mut other).ends_with(none), "{}", head(&mut other));
    let text = other.ok("notebook_read", view.clone()).text();
    assert!(text.contains(" fresh "), "the outputs are up to date: {text}");
}

/// If another process ran the notebook later, the outline says that this kernel's variables are older.
#[test]
fn the_outline_says_that_variables_are_older_than_the_file() {
    let env = env();
    env.put("a.ipynb", notebook(&["x = 1", "print(x)"]));
    let mut client = Client::start(&env, &[]);
    client.ok("notebook_run", json!({"path": "a.ipynb"}));
    let edit = json!({"path": "a.ipynb", "cell": "c0", "source": "x = 2"});
    client.ok("notebook_edit", edit);
    let mut other = Client::start(&env, &[]);
    other.ok("notebook_run", json!({"path": "a.ipynb"}));
    let outline = client.ok("notebook_read", json!({"path": "a.ipynb", "view": "outline"})).text();
    let older =
        "(its kernel ran earlier versions of cells 0-1: its variables are older than the file)";
    assert!(outline.contains(older), "{outline}");
    let refused = client.call("notebook_run", json!({"path": "a.ipynb", "cells": "1"}));
    assert!(refused.is_error(), "{refused:?}");
    assert!(
        refused.text().contains("cell 1 needs x of cell 0, which another kernel"),
        "{refused:?}"
    );
    let edit = json!({"path": "a.ipynb", "cell": "c1", "source": "print(x, x)", "run": "changed"});
    let refused = client.call("notebook_edit", edit);
    let facts = &refused.result["structuredContent"]["edit"];
    assert!(facts.is_object() && refused.text().contains("1 output was cleared"), "{refused:?}");
    assert!(!refused.text().contains("outputs are as they were"), "{refused:?}");
}
