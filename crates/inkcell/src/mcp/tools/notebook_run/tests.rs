//! `notebook_run`, and `notebook_edit` with `run`, with a real kernel.

use inkcell_engine::Kind;
use inkcell_testkit::notebooks::{jupyter, never_run};
use inkcell_testkit::wait::until_async;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::mcp::desk::Content;
use crate::mcp::exposure::{Exposure, ToolSet};
use crate::mcp::find;
use crate::mcp::tools::tests::{TestDesk, text, until_there};
use crate::settings::ToolMode;

/// A desk with a notebook of these cells, which have not run.
fn desk(cells: &[(&str, &str, &str)]) -> TestDesk {
    let desk = TestDesk::new(ToolSet::Default);
    desk.put("nb.ipynb", never_run(cells));
    desk
}

/// A cell as it is in the file: its count, and the text of its outputs.
fn cell(desk: &TestDesk, index: usize) -> (Value, String) {
    let notebook: Value = serde_json::from_str(&desk.get("nb.ipynb")).unwrap();
    let cell = &notebook["cells"][index];
    let text = |output: &Value| match &output["output_type"] {
        kind if kind == "error" => output["ename"].as_str().unwrap().to_owned(),
        _ => {
            let lines = output["text"].as_array().or(output["data"]["text/plain"].as_array());
            lines.unwrap().iter().filter_map(Value::as_str).collect()
        }
    };
    let outputs = cell["outputs"].as_array().unwrap().iter().map(text).collect();
    (cell["execution_count"].clone(), outputs)
}

/// The version of the notebook, as an answer gives it.
async fn version(desk: &TestDesk) -> String {
    let head = desk.texts("notebook_read", json!({"path": "nb.ipynb"})).await.remove(0);
    head.split("version ").nth(1).unwrap().split("  ").next().unwrap().to_owned()
}

/// Cells run in the notebook's own session and folder, the outputs are in the file, and the session is found by
/// the notebook's path.
#[tokio::test]
async fn a_notebook_is_run_in_its_session() {
    let desk = desk(&[
        ("markdown", "m", "# Title"),
        ("code", "one", "import os\nx = 20"),
        ("code", "two", "print(os.path.basename(os.getcwd()))\nx + 1"),
    ]);
    let said = desk.good("notebook_run", json!({"path": "nb.ipynb"})).await;
    let version = version(&desk).await;
    let wanted = format!(
        "[cell 1 (one)] (ok)\n\n[cell 2 (two)]\nwork\n21\n\n\
         [2 of 2 cells ran; outputs are in nb.ipynb, version {version}]"
    );
    assert_eq!(said, wanted);
    assert_eq!(cell(&desk, 1), (json!(1), String::new()));
    assert_eq!(cell(&desk, 2), (json!(2), "work\n21".to_owned()));
    for session in ["nb.ipynb", "./nb.ipynb", desk.path("nb.ipynb").to_str().unwrap()] {
        let code = json!({"code": "x", "session": session});
        assert_eq!(desk.text("python", code).await, "20", "{session}");
    }
    let seen = desk.text("inspect", json!({"path": "nb.ipynb", "name": "x"})).await;
    assert!(seen.starts_with("x: int"), "{seen}");
    let listed = desk.text("kernel", json!({"action": "list"})).await;
    assert!(listed.contains("nb.ipynb"), "{listed}");
    let elsewhere = desk.text("python", json!({"code": "'x' in globals()"})).await;
    assert_eq!(elsewhere, "False", "it has a session of its own");
    desk.end().await;
}

/// Which cells are run, and that a session is begun anew only where that is asked for.
#[tokio::test]
async fn cells_are_chosen() {
    let desk = desk(&[
        ("code", "aaaa", "n = globals().get('n', 0) + 1; print('a', n)"),
        ("code", "bbbb", "import time; print(time.time_ns())"),
        ("code", "cccc", "import time; print(time.time_ns())"),
        ("code", "dddd", "import time; print(time.time_ns())"),
    ]);
    let ran = async |given: Value| {
        let mut given = given;
        given["path"] = "nb.ipynb".into();
        let said = desk.good("notebook_run", given.clone()).await;
        let is_head = |line: &&str| line.starts_with("[cell ");
        let letter = |line: &str| line.split(['(', ')']).nth(1).unwrap()[..1].to_owned();
        let heads: String = said.lines().filter(is_head).map(letter).collect();
        (heads, said.contains("a 1"))
    };
    let table = [
        (json!({"cells": "bbbb,3"}), "bd"),
        (json!({"cells": 2}), "c"),
        (json!({"cells": ["cccc", 1]}), "bc"),
        (json!({"cells": "[0, \"cccc\"]"}), "ac"),
        (json!({"cells": 2.0}), "c"),
        (json!({"cell_id": "cccc"}), "c"),
        (json!({"from": "cccc"}), "cd"),
        (json!({"from": 1, "to": "cccc"}), "bc"),
        (json!({"to": 0}), "a"),
        (json!({"cells": "1-"}), "bcd"),
        (json!({"cells": "all"}), "abcd"),
    ];
    for (given, wanted) in table {
        assert_eq!(ran(given.clone()).await.0, wanted, "{given}");
    }
    assert_eq!(ran(json!({"cells": "0"})).await, ("a".to_owned(), false), "variables stay");
    assert_eq!(ran(json!({"cells": "0", "fresh": true})).await, ("a".to_owned(), true));
    desk.end().await;
}

/// The first failure stops the run; the answer names the cell and says how to go on, and going on works.
#[tokio::test]
async fn a_failure_stops_and_says_how_to_go_on() {
    let desk = desk(&[
        ("code", "good", "x = 1"),
        ("code", "bad1", "print('before')\n1 / 0"),
        ("code", "rest", "print(x + 1)"),
    ]);
    let reply = desk.call("notebook_run", json!({"path": "nb.ipynb"})).await;
    let said = text(&reply);
    assert!(reply.is_error, "{said}");
    assert!(said.contains("[cell 1 (bad1)]\nbefore\n"), "{said}");
    assert!(said.contains("ZeroDivisionError: division by zero"), "{said}");
    assert!(
        said.contains("\n\nCell 1 (bad1) failed (exit code 1).\n\n[2 of 3 cells ran"),
        "{said}"
    );
    let next = "\nNext: fix that cell, then continue with notebook_run, from: \"bad1\"";
    assert!(said.ends_with(next), "{said}");
    assert_eq!(cell(&desk, 1).1, "before\nZeroDivisionError");
    let mend = json!({"path": "nb.ipynb", "cell": "bad1", "source": "y = 3"});
    desk.good("notebook_edit", mend).await;
    let said = desk.good("notebook_run", json!({"path": "nb.ipynb", "from": "bad1"})).await;
    assert!(said.contains("[cell 1 (bad1)] (ok)\n\n[cell 2 (rest)]\n2\n"), "{said}");

    let mut bad = json!({"path": "nb.ipynb", "cell": "bad1", "source": "1 / 0"});
    desk.good("notebook_edit", bad.take()).await;
    let go_on = json!({"path": "nb.ipynb", "on_error": "continue"});
    let said = text(&desk.call("notebook_run", go_on).await);
    assert!(said.contains("ZeroDivisionError"), "{said}");
    assert!(said.contains("[cell 2 (rest)] (same output as before)"), "{said}");
    assert!(said.contains("[3 of 3 cells ran"), "{said}");
    desk.end().await;
}

/// An answer before the end has the execution's id; the outline shows that it runs; another run has to wait and
/// is told for what; the rest is fetched by `result`.
#[tokio::test]
async fn a_run_goes_on_after_its_answer() {
    let wait = "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)";
    let desk = desk(&[("code", "wait", wait), ("code", "done", "print('done')")]);
    let said = desk.good("notebook_run", json!({"path": "nb.ipynb", "wait": 0.2})).await;
    let id = said.split("execution ").nth(1).unwrap().split(']').next().unwrap().to_owned();
    let next = format!("\nNext: get the new output with result, id: \"{id}\", since: \"0:0:0:0\"");
    assert!(said.ends_with(&next), "{said}");
    let outline = json!({"path": "nb.ipynb", "view": "outline"});
    let running = format!("(running cell 0, execution {id})");
    until_async("the outline to show the running cell", async || {
        let head = desk.texts("notebook_read", outline.clone()).await.remove(0);
        if head.ends_with(&running) { Ok(()) } else { Err(head) }
    })
    .await;
    let busy = desk.error("notebook_run", json!({"path": "nb.ipynb"})).await;
    assert_eq!(busy.kind, Kind::Busy);
    assert_eq!(busy.next, Some(format!("wait for it with result, id: \"{id}\"")));
    desk.put("go", "");
    let said = desk.good("result", json!({"id": id})).await;
    assert!(said.contains("[cell 1 (done)]\ndone\n\n[2 of 2 cells ran"), "{said}");
    assert_eq!(cell(&desk, 1).1, "done\n");
    desk.end().await;
}

/// Cancelled, the run stops where it is; what ran is in the file, and the session is there for the next.
#[tokio::test]
async fn a_cancelled_run_keeps_what_it_has() {
    let endless = "x = 7\nprint('begun')\nopen('begun', 'w').close()\nwhile True: pass";
    let cells = [
        ("code", "done", "print('done')"),
        ("code", "loop", endless),
        ("code", "last", "print('last')"),
    ];
    let desk = desk(&cells);
    desk.put("nb.ipynb", jupyter(&cells));
    let cancel = CancellationToken::new();
    let (progress, mut heard) = mpsc::channel(64);
    let begun = desk.path("begun");
    let stop = async {
        until_there(&begun).await;
        cancel.cancel();
    };
    let run =
        desk.call_with("notebook_run", json!({"path": "nb.ipynb"}), cancel.clone(), Some(progress));
    let (reply, ()) = tokio::join!(run, stop);
    let said = text(&reply);
    assert!(reply.is_error && said.contains("Cell 1 (loop) aborted"), "{said}");
    assert!(said.contains("[2 of 3 cells ran"), "{said}");
    assert_eq!(cell(&desk, 0).1, "done\n");
    assert_eq!(cell(&desk, 1).1, "begun\nKeyboardInterrupt");
    assert_eq!(cell(&desk, 2).1, "hi\n", "it did not run, so its old output stays");
    let told = heard.try_recv().expect("progress");
    assert!(told.message.contains("done"), "{told:?}");
    assert_eq!(desk.text("python", json!({"code": "x", "session": "nb.ipynb"})).await, "7");
    desk.end().await;
}

/// Pictures are shown as other tools show them.
#[tokio::test]
async fn pictures_are_shown() {
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let code = format!("import base64\ndisplay({{'image/png': '{png}'}}, raw=True)");
    let desk = desk(&[("code", "pic1", &code)]);
    let reply = desk.call("notebook_run", json!({"path": "nb.ipynb"})).await;
    assert!(reply.content.iter().any(|part| matches!(part, Content::Image { .. })), "{reply:?}");
    assert!(desk.get("nb.ipynb").contains(png));
    desk.end().await;
}

/// Many cells that show nothing are one line.
#[tokio::test]
async fn silent_cells_are_told_together() {
    let names: Vec<String> = (0..9).map(|number| format!("id-{number}")).collect();
    let cells: Vec<(&str, &str, &str)> = names
        .iter()
        .enumerate()
        .map(|(at, name)| ("code", name.as_str(), if at == 5 { "print(5)" } else { "pass" }))
        .collect();
    let desk = desk(&cells);
    let said = desk.good("notebook_run", json!({"path": "nb.ipynb"})).await;
    let wanted = "[cell 0 (id-0) to 4 (id-4)] (ok)\n\n[cell 5 (id-5)]\n5\n\n\
                  [cell 6 (id-6) to 8 (id-8)] (ok)\n\n[9 of 9 cells ran; outputs";
    assert!(said.starts_with(wanted), "{said}");
    desk.end().await;
}

/// An output that a run has not changed takes one line, without text or pictures; a changed output is marked.
#[tokio::test]
async fn a_second_run_tells_what_changed() {
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let picture = format!("display({{'image/png': '{png}'}}, raw=True)");
    let desk = desk(&[
        ("code", "one1", "print('one')"),
        ("code", "pic1", &picture),
        ("code", "none", "n = globals().get('n', 0) + 1"),
        ("code", "num1", "print(n)"),
        ("code", "late", "if n > 1: print('late')"),
        ("code", "text", "print('long ' * 100)"),
        ("code", "gone", "if n < 2: print('early')"),
        ("code", "fail", "1 / 0"),
    ]);
    let go_on = json!({"path": "nb.ipynb", "on_error": "continue"});
    let first = text(&desk.call("notebook_run", go_on.clone()).await);
    assert!(first.starts_with("[cell 0 (one1)]\none\n\n[cell 1 (pic1)]\n"), "{first}");
    assert!(!first.contains("before") && !first.contains("changed"), "{first}");
    let again = desk.call("notebook_run", go_on).await;
    let said = text(&again);
    let wanted = "[cell 0 (one1) to 2 (none)] (same output as before)\n\n\
                  [cell 3 (num1), output changed]\n2\n\n[cell 4 (late), new output]\nlate\n\n\
                  [cell 5 (text)] (same output as before)\n\n[cell 6 (gone), output changed] (ok)\n\n\
                  [cell 7 (fail), same output as before]\n";
    assert!(said.starts_with(wanted), "{said}");
    assert!(said.contains("ZeroDivisionError"), "{said}");
    assert!(!again.content.iter().any(|part| !matches!(part, Content::Text(_))), "{again:?}");
    desk.end().await;
}

/// An answer has a bound, whatever the cells show: the rest is in the file.
#[tokio::test]
async fn an_answer_has_a_bound() {
    let names: Vec<String> = (0..60).map(|number| format!("id-{number}")).collect();
    let mut cells: Vec<(&str, &str, &str)> =
        names.iter().map(|name| ("code", name.as_str(), "print('x' * 7000)")).collect();
    cells.push(("code", "long", "raise ValueError('z' * 50_000)"));
    let desk = desk(&cells);
    let reply = desk.call("notebook_run", json!({"path": "nb.ipynb"})).await;
    let said = text(&reply);
    assert!(said.len() <= 24_576, "{}", said.len());
    assert!(said.contains(" left out …]"), "{}", &said[said.len() - 2000..]);
    assert!(desk.get("nb.ipynb").contains(&"z".repeat(50_000)));
    desk.end().await;
}

/// What is said of cells that end in other ways than well.
#[tokio::test]
async fn every_ending_has_its_words() {
    let table = [
        ("sys.exit()", "Cell 0 (cell) ended the run: it called exit."),
        (
            "import os; os._exit(3)",
            "Cell 0 (cell) failed: the kernel died with it, and all variables are gone.",
        ),
        ("input()", "Cell 0 (cell) failed (exit code 1)."),
        (
            "nothing_of_this_name",
            "Next: fix that cell, or run those above it first: notebook_run, to: \"cell\"",
        ),
    ];
    for (code, words) in table {
        let code = format!("import sys\n{code}");
        let desk = desk(&[("code", "cell", &code), ("code", "rest", "pass")]);
        let said = text(&desk.call("notebook_run", json!({"path": "nb.ipynb"})).await);
        assert!(said.contains(words), "{code}: {said}");
        assert!(said.contains("[1 of 2 cells ran; outputs are in nb.ipynb"), "{code}: {said}");
        desk.end().await;
    }
    let desk = desk(&[("code", "a", "1 / 0"), ("code", "b", "2"), ("code", "c", "1 / 0")]);
    let go_on = json!({"path": "nb.ipynb", "on_error": "continue"});
    let said = text(&desk.call("notebook_run", go_on).await);
    assert!(said.contains("Cell 0 (a) failed, as allowed."), "{said}");
    assert!(said.contains("[3 of 3 cells ran, 2 failed: 0 (a), 2 (c); outputs are in"), "{said}");
    let none = desk.good("notebook_run", json!({"path": "nb.ipynb", "cells": 0, "from": 1})).await;
    assert_eq!(none, "[no cell to run; the file is unchanged]");
    desk.end().await;
}

/// Bad arguments are one sentence each, and nothing changes.
#[tokio::test]
async fn bad_arguments_change_nothing() {
    let desk = desk(&[("code", "aaaa", "print('a')")]);
    desk.put("text.txt", "hello");
    let before = desk.get("nb.ipynb");
    let table = [
        (json!({"path": "none.ipynb"}), Kind::NotFound, "none.ipynb"),
        (json!({"path": "text.txt"}), Kind::Invalid, "text.txt"),
        (json!({"path": "nb.ipynb", "cells": "zzzz"}), Kind::NotFound, "zzzz"),
        (json!({"path": "nb.ipynb", "cells": "5-9"}), Kind::Invalid, "5-9"),
        (json!({"path": "nb.ipynb", "from": "zzzz"}), Kind::NotFound, "zzzz"),
        (json!({"path": "nb.ipynb", "output": "no/such/out.ipynb"}), Kind::NotFound, "no/such"),
        (json!({"cells": "0"}), Kind::Invalid, "path"),
        (json!({"path": "nb.ipynb", "on_error": "maybe"}), Kind::Invalid, "maybe"),
    ];
    for (given, kind, word) in table {
        let error = desk.error("notebook_run", given.clone()).await;
        assert_eq!(error.kind, kind, "{given}: {error:?}");
        assert!(error.message.contains(word), "{given}: {error:?}");
    }
    let both = json!({"path": "nb.ipynb", "session": "a"});
    assert_eq!(desk.error("inspect", both).await.kind, Kind::Invalid);
    assert_eq!(desk.error("inspect", json!({"path": "none.ipynb"})).await.kind, Kind::Invalid);
    assert_eq!(desk.get("nb.ipynb"), before);
    desk.end().await;
}

/// An edit and its run in one call: changed cells, or also those below; the answer has both.
#[tokio::test]
async fn an_edit_runs_what_it_changed() {
    let cells = [
        ("code", "aaaa", "x = 1"),
        ("code", "bbbb", "print('b', x)"),
        ("markdown", "mmmm", "text"),
        ("code", "cccc", "print('c', x)"),
    ];
    let desk = desk(&cells);
    desk.good("notebook_run", json!({"path": "nb.ipynb"})).await;
    let edit = async |given: Value| {
        let mut given = given;
        given["path"] = "nb.ipynb".into();
        let reply = desk.call("notebook_edit", given).await;
        assert_eq!(reply.structured, None, "a client would show it in place of the outputs");
        text(&reply)
    };
    let said = edit(json!({"cell": "aaaa", "source": "x = 2", "run": "changed"})).await;
    assert!(said.starts_with("✓ Cell updated"), "{said}");
    assert!(said.contains("[cell 0 (aaaa)] (ok)\n\n[1 of 1 cell ran"), "{said}");
    assert_eq!(cell(&desk, 1).1, "b 1\n", "only the changed one ran");

    let ops = json!({"ops": [{"op": "sub", "cell": "bbbb", "old": "'b'", "new": "'B'"}], "run": "changed-and-below"});
    let said = edit(ops).await;
    assert!(
        said.contains(
            "[cell 1 (bbbb), new output]\nB 2\n\n[cell 3 (cccc), output changed]\nc 2\n\n[2 of 2"
        ),
        "{said}"
    );
    assert_eq!(cell(&desk, 3).1, "c 2\n");

    let ops = json!({"ops": [
        {"op": "insert", "at": "end", "source": "print('new', x)"},
        {"op": "replace", "cell": "mmmm", "source": "other words"},
    ], "run": "changed"});
    let said = edit(ops).await;
    assert!(said.contains("new 2") && said.contains("[1 of 1 cell ran"), "{said}");

    // Deleting a cell counts as a change to the cells below it.
    let said = edit(json!({"op": "delete", "cell": "bbbb", "run": "changed-and-below"})).await;
    assert!(said.contains("[cell 2 (cccc)] (same output as before)"), "{said}");
    let said = edit(json!({"op": "clear", "cell": "cccc", "run": "changed-and-below"})).await;
    assert!(said.ends_with("[No code was changed, so nothing was run.]"), "{said}");

    let said = edit(json!({"cell": "aaaa", "source": "1 / 0", "run": "changed"})).await;
    assert!(said.starts_with("✓ Cell updated") && said.contains("ZeroDivisionError"), "{said}");
    assert_eq!(cell(&desk, 0).1, "ZeroDivisionError");
    desk.end().await;
}

/// When the edit is made and the run is not, the answer says both.
#[tokio::test]
async fn an_edit_without_its_run_says_so() {
    let wait = "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)";
    let desk = desk(&[("code", "wait", wait), ("code", "bbbb", "print('b')")]);
    let run = json!({"path": "nb.ipynb", "cells": "wait", "wait": 0.2});
    desk.good("notebook_run", run).await;
    let edit =
        json!({"path": "nb.ipynb", "cell": "bbbb", "source": "print('B')", "run": "changed"});
    let reply = desk.call("notebook_edit", edit).await;
    let said = text(&reply);
    assert!(reply.is_error && said.starts_with("✓ Cell updated"), "{said}");
    assert!(said.contains("[The edit is made; the cells were not run:]"), "{said}");
    assert!(desk.get("nb.ipynb").contains("print('B')"));
    desk.put("go", "");
    desk.end().await;
}

/// B:C-02: where nothing is run, `run` is neither offered nor taken.
#[tokio::test]
async fn run_is_hidden_where_nothing_is_run() {
    let mut desk = desk(&[("code", "aaaa", "x = 1")]);
    let edit = find("notebook_edit").unwrap();
    let has_run = |exposure: &Exposure| (edit.schema)(exposure)["properties"].get("run").is_some();
    assert!(has_run(&desk.desk.exposure));
    let hidden =
        Exposure::new(ToolSet::Default, ToolMode::BashOnly, &inkcell_engine::Preflight::Ready);
    assert!(!has_run(&hidden));
    desk.desk.exposure = std::sync::Arc::new(hidden);
    let before = desk.get("nb.ipynb");
    let given = json!({"path": "nb.ipynb", "cell": 0, "source": "x = 2", "run": "changed"});
    let error = desk.error("notebook_edit", given).await;
    assert_eq!(error.kind, Kind::Unavailable);
    assert_eq!(desk.get("nb.ipynb"), before);
    desk.end().await;
}

/// The outline says of each cell how it ran, how long that took, and whether it was changed since.
#[tokio::test]
async fn the_outline_shows_runs() {
    let cells = [("code", "good", "x = 1"), ("code", "bad1", "1 / 0"), ("code", "rest", "x")];
    let desk = desk(&cells);
    desk.put("nb.ipynb", jupyter(&cells));
    let outline = async || {
        let view = json!({"path": "nb.ipynb", "view": "outline"});
        desk.texts("notebook_read", view).await.remove(1)
    };
    let fresh = outline().await;
    assert!(!fresh.contains("ok ") && !fresh.contains("failed"), "{fresh}");
    desk.call("notebook_run", json!({"path": "nb.ipynb"})).await;
    let edit = json!({"path": "nb.ipynb", "cell": "good", "source": "x = 2"});
    desk.good("notebook_edit", edit).await;
    let lines: Vec<String> = outline().await.lines().map(str::to_owned).collect();
    assert!(lines[0].contains("[ ]  ok ") && lines[0].contains(", changed since"), "{lines:?}");
    assert!(lines[1].contains("[2]  failed ") && !lines[1].contains("changed"), "{lines:?}");
    assert!(lines[2].contains("[3]  ") && !lines[2].contains(" ms"), "{lines:?}");
    desk.end().await;
}

/// What an edit has made stale is run after it, with the reason of each cell, and the outline tells what is stale.
#[tokio::test]
async fn stale_cells_are_run_after_an_edit() {
    let desk =
        desk(&[("code", "one", "x = 20"), ("code", "two", "x + 1"), ("code", "three", "'apart'")]);
    desk.good("notebook_run", json!({"path": "nb.ipynb"})).await;
    let edit = json!({"path": "nb.ipynb", "op": "replace", "cell": "one", "source": "x = 30"});
    desk.good("notebook_edit", edit).await;
    let outline = json!({"path": "nb.ipynb", "view": "outline"});
    let told = desk.texts("notebook_read", outline.clone()).await.remove(1);
    let rows: Vec<&str> = told.lines().collect();
    assert!(rows[0].contains("changed since") && rows[1].contains("stale: x of cell 0"), "{told}");
    assert!(rows[2].contains("fresh"), "{told}");
    let said = desk.good("notebook_run", json!({"path": "nb.ipynb", "cells": "stale"})).await;
    let wanted = "[cell 0 (one), changed] (ok)\n\n\
                  [cell 1 (two), stale: x of cell 0, output changed]\n31\n\n\
                  [2 of 2 cells ran, 1 fresh; outputs are in nb.ipynb, version ";
    assert!(said.starts_with(wanted), "{said}");
    let edit = json!({"path": "nb.ipynb", "op": "replace", "cell": "one", "source": "x = 40", "run": "stale"});
    let said = desk.texts("notebook_edit", edit).await.join("\n");
    assert!(said.contains("[cell 1 (two), stale: x of cell 0, output changed]\n41"), "{said}");
    assert_eq!(cell(&desk, 2).0, json!(3), "it was not run again");
    let said = desk.good("notebook_run", json!({"path": "nb.ipynb", "cells": "stale"})).await;
    assert_eq!(said, "[nothing is stale: 3 cells fresh; the file is unchanged]");
    desk.end().await;
}

/// Values are put into their own cell, which runs with those that were named.
#[tokio::test]
async fn a_notebook_is_run_with_values() {
    let desk =
        desk(&[("code", "one", "print('not named')"), ("code", "two", "print(year, names)")]);
    let values = json!({"year": 2024, "names": ["a", null, {"b": 1.5}]});
    let asked = json!({"path": "nb.ipynb", "cells": "two", "parameters": values});
    let said = desk.good("notebook_run", asked).await;
    assert!(said.contains("2024 ['a', None, {'b': 1.5}]"), "{said}");
    assert!(said.contains("no cell has the tag parameters"), "{said}");
    let notebook: Value = serde_json::from_str(&desk.get("nb.ipynb")).unwrap();
    assert_eq!(notebook["cells"][0]["metadata"], json!({"tags": ["injected-parameters"]}));
    let bad =
        desk.error("notebook_run", json!({"path": "nb.ipynb", "parameters": {"a b": 1}})).await;
    assert!(bad.message.contains("cannot be the name of a parameter in Python"), "{bad:?}");
}
