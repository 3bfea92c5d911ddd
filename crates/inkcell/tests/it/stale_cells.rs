//! Stale cells on the command line: marked in the outline, run with the cells that they need, and with the reason.

use inkcell_testkit::notebooks::pretty;
use serde_json::{Value, json};

use crate::env;
use crate::notebook_runs::{notebook, outputs, ran, summed};

/// The outline marks stale cells without any Python, and a run of stale cells in a new kernel includes the cells
/// that they need.
#[test]
fn stale_cells_are_marked_and_run() {
    let env = env();
    env.put("a.ipynb", notebook(&["x = 1", "big = 2", "print(x)", "print(big)"]));
    let outline = || env.run(&["read", "a.ipynb", "--outline"]).ok().stdout;
    assert_eq!(outline().matches(" never run ").count(), 4, "{}", outline());
    ran(&env, &["a.ipynb"]).ok();
    let told = outline();
    assert_eq!(told.matches(" fresh ").count(), 4, "{told}");
    env.run(&["edit", "a.ipynb", "replace", "c2", "--source", "print(x + 1)"]).ok();
    let told = outline();
    assert!(told.contains("changed since"), "{told}");
    let said = ran(&env, &["a.ipynb", "--cells", "stale"]).ok();
    assert!(said.stdout.contains("x = 1  (makes x for cell 2)"), "{said:?}");
    assert!(said.stdout.contains("print(x + 1)  (changed)"), "{said:?}");
    assert_eq!(summed(&said.stdout), "Ran 2 cells, 2 fresh", "{said:?}");
    assert!(said.stdout.contains("2/2  cell 2 (c2)"), "{said:?}");
    assert!(outputs(&env, "a.ipynb", 2).contains("2\\n"));
    assert_eq!(outline().matches(" fresh ").count(), 4, "{}", outline());
    let said = ran(&env, &["a.ipynb", "--cells", "stale"]).ok();
    assert!(said.stdout.contains("Nothing is stale, 4 fresh"), "{said:?}");
}

/// A hook asks about several notebooks at once, and hears of each.
#[test]
fn a_check_for_stale_cells_fails_while_there_are_any() {
    let env = env();
    env.put("a.ipynb", notebook(&["x = 1", "print(x)"]));
    env.put("b.ipynb", notebook(&["y = 1"]));
    let check = |which: &str, more: &[&str]| {
        env.run(&[&["read", "a.ipynb", "b.ipynb", "--check", which], more].concat())
    };
    let told = check("stale", &["--outline"]).exits(1).stdout;
    assert_eq!(told.matches(" never run ").count(), 3, "{told}");
    ran(&env, &["a.ipynb"]).ok();
    let told = check("stale", &[]).exits(1).stdout;
    assert!(told.starts_with("a.ipynb: no stale cells\nb.ipynb  version "), "{told}");
    let told: Value =
        serde_json::from_str(&check("stale", &["--json"]).exits(1).stdout).expect("JSON");
    let counts = told["notebooks"].as_array().expect("notebooks").iter();
    let counts: Vec<_> = counts.map(|one| one["cells"].as_array().map(Vec::len)).collect();
    assert_eq!(counts, [Some(0), Some(1)]);
    ran(&env, &["b.ipynb"]).ok();
    assert_eq!(
        check("stale", &[]).ok().stdout,
        "a.ipynb: no stale cells\nb.ipynb: no stale cells\n"
    );
    env.run(&["edit", "b.ipynb", "replace", "c0", "--source", "1 / 0"]).ok();
    check("failed", &[]).ok();
    ran(&env, &["b.ipynb"]).exits(1);
    let told = check("failed", &[]).exits(1).stdout;
    assert!(told.starts_with("a.ipynb: no failed cells\n") && told.contains("1 / 0"), "{told}");
}

/// A check has no lines, and only a check takes several notebooks.
#[test]
fn a_check_refuses_what_it_cannot_show() {
    let env = env();
    env.put("a.ipynb", notebook(&["x = 1"]));
    env.run(&["read", "a.ipynb", "a.ipynb"]).exits(2);
    env.run(&["read", "a.ipynb", "--check", "stale", "--cells", "0"]).exits(2);
    let told = env.run(&["read", "a.ipynb:1-2", "--check", "stale"]).exits(2).stderr;
    assert!(told.contains("--check"), "{told}");
}

/// A change of the cells of a notebook that has run.
type Change = fn(&mut Vec<Value>);

/// The outline and a run of stale cells agree about every cell, whatever the change to the notebook.
#[test]
fn the_outline_says_what_a_run_of_stale_cells_does() {
    fn new(source: &str) -> Value {
        json!({"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [],
               "source": source})
    }
    fn clean(cell: &mut Value) {
        (cell["outputs"], cell["execution_count"]) = (json!([]), json!(null));
    }
    // With the first words of the outline for each cell.
    let table: &[(&str, Change, &[&str])] = &[
        ("nothing", |_| {}, &["fresh", "fresh", "fresh", "fresh"]),
        ("edited", |cells| cells[0]["source"] = "x = 2".into(), &["ok", "ok", "fresh", "ok"]),
        ("cleaned", |cells| clean(&mut cells[1]), &["fresh", "never run", "fresh", "fresh"]),
        (
            "all cleaned",
            |cells| cells.iter_mut().for_each(clean),
            &["never run", "never run", "never run", "never run"],
        ),
        (
            "run by another program",
            |cells| cells[2]["execution_count"] = 70.into(),
            &["fresh", "fresh", "run elsewhere", "fresh"],
        ),
        (
            "put in",
            |cells| cells.insert(1, new("y = 2")),
            &["fresh", "never run", "fresh", "fresh", "fresh"],
        ),
        ("taken out", |cells| drop(cells.remove(0)), &["ok", "fresh", "ok"]),
        (
            "may not fail any more",
            |cells| cells[2]["metadata"] = json!({}),
            &["fresh", "fresh", "failed", "fresh"],
        ),
    ];
    for ids in ["ids", "no ids"] {
        for (what, change, words) in table {
            let env = env();
            let sources = ["x = 1", "x", "1 / 0", "x + 1"];
            let mut file: Value = serde_json::from_str(&notebook(&sources)).expect("JSON");
            let cells = file["cells"].as_array_mut().expect("cells");
            cells[2]["metadata"] = json!({"tags": ["raises-exception"]});
            if ids == "no ids" {
                cells
                    .iter_mut()
                    .for_each(|cell| drop(cell.as_object_mut().map(|it| it.remove("id"))));
                file["nbformat_minor"] = 4.into();
            }
            env.put("a.ipynb", pretty(&file));
            ran(&env, &["a.ipynb"]).ok();
            let text = std::fs::read_to_string(env.path("a.ipynb")).expect("the file");
            let mut file: Value = serde_json::from_str(&text).expect("JSON");
            let cells = file["cells"].as_array_mut().expect("cells");
            change(cells);
            if let (true, Some(cell)) =
                (ids == "ids", cells.iter_mut().find(|cell| cell["id"].is_null()))
            {
                cell["id"] = "new".into();
            }
            env.put("a.ipynb", pretty(&file));
            let what = format!("{what}, {ids}");
            let told = env.run(&["read", "a.ipynb", "--outline"]).ok().stdout;
            let lines: Vec<&str> = told.lines().skip(1).collect();
            assert_eq!(lines.len(), words.len(), "{what}: {told}");
            for (line, word) in lines.iter().zip(*words) {
                let rest = line.split_once(']').map(|(_, rest)| rest.trim_start());
                assert!(rest.is_some_and(|rest| rest.starts_with(word)), "{what}: {told}");
            }
            let told = env.run(&["read", "a.ipynb", "--outline", "--json"]).ok().stdout;
            let told: Value = serde_json::from_str(&told).expect("JSON");
            let cells = told["cells"].as_array().expect("cells");
            let marked: Vec<(Value, Value)> = cells
                .iter()
                .map(|cell| (cell["index"].clone(), cell["freshness"].clone()))
                .filter(|(_, mark)| mark["mark"] != "fresh")
                .collect();
            // Cells that fail or can no longer run are not the subject here.
            let said =
                ran(&env, &["a.ipynb", "--cells", "stale", "--allow-errors", "--json"]).stdout;
            let last: Value =
                serde_json::from_str(said.lines().last().expect("a line")).expect("JSON");
            let ran: Vec<(Value, Value)> = last["cells"]
                .as_array()
                .expect("cells")
                .iter()
                .map(|cell| (cell["index"].clone(), cell["why"].clone()))
                .filter(|(_, why)| why["mark"] != "needed")
                .collect();
            assert_eq!(marked, ran, "{what}: {said}");
        }
    }
}

/// A cell is run on its own only if the new kernel has what it needs, or if the user insists.
#[test]
fn needed_cells_are_run_or_missed() {
    let env = env();
    env.put("a.ipynb", notebook(&["x = 1", "y = 2", "print(x)"]));
    ran(&env, &["a.ipynb"]).ok();
    let before = env.get("a.ipynb");
    let refused = ran(&env, &["a.ipynb", "--cells", "2"]).exits(2);
    assert!(refused.stderr.contains("cell 2 needs x of cell 0"), "{refused:?}");
    assert!(refused.stderr.contains("--with-needed"), "{refused:?}");
    assert_eq!(env.get("a.ipynb"), before);
    let said = ran(&env, &["a.ipynb", "--cells", "2", "--with-needed"]).ok();
    assert!(said.stdout.contains("x = 1  (makes x for cell 2)"), "{said:?}");
    assert_eq!(summed(&said.stdout), "Ran 2 cells", "{said:?}");
    ran(&env, &["a.ipynb", "--cells", "2", "--without-needed"]).exits(1);
    assert!(outputs(&env, "a.ipynb", 2).contains("NameError"));
    let outline = env.run(&["read", "a.ipynb", "--outline"]).ok().stdout;
    assert!(outline.contains("(no kernel: "), "{outline}");
}

/// A stale cell that fails stops only the cells that depend on it.
#[test]
fn a_failure_blocks_what_depends_on_it() {
    let env = env();
    env.put("a.ipynb", notebook(&["x = 1", "print(x)", "z = 2", "print(z)"]));
    ran(&env, &["a.ipynb"]).ok();
    for (cell, source) in [("c0", "x = 1 / 0"), ("c2", "z = 3")] {
        env.run(&["edit", "a.ipynb", "replace", cell, "--source", source]).ok();
    }
    let said = ran(&env, &["a.ipynb", "--cells", "stale"]).exits(1);
    assert!(said.stdout.contains("print(x)  (needs x of cell 0)"), "{said:?}");
    assert_eq!(summed(&said.stdout), "Ran 3 cells, 1 failed, 1 not run", "{said:?}");
    assert!(outputs(&env, "a.ipynb", 3).contains("3\\n"));
    let said = ran(&env, &["a.ipynb", "--cells", "stale", "--stop-on-error"]).exits(1);
    assert!(summed(&said.stdout).starts_with("Ran 1 cell, 1 failed"), "{said:?}");
}

/// Programs get the same as objects.
#[test]
fn marks_and_reasons_are_told_to_programs() {
    let env = env();
    env.put("a.ipynb", notebook(&["x = 1", "print(x)", "3"]));
    ran(&env, &["a.ipynb", "--record", "inkcell"]).ok();
    env.run(&["edit", "a.ipynb", "replace", "c0", "--source", "x = 5"]).ok();
    // The file contains the records, so a copy of it has them, too.
    std::fs::copy(env.path("a.ipynb"), env.path("b.ipynb")).expect("a copy");
    for name in ["a.ipynb", "b.ipynb"] {
        let told = env.run(&["read", name, "--outline", "--json"]).ok().stdout;
        let told: Value = serde_json::from_str(&told).expect("JSON");
        let mark = |cell: usize| &told["cells"][cell]["freshness"];
        assert_eq!(mark(0)["mark"], "changed", "{told}");
        assert_eq!((&mark(1)["mark"], &mark(1)["name"]), (&"stale".into(), &"x".into()), "{told}");
        assert_eq!(mark(1)["cell"], 0, "{told}");
        assert_eq!(mark(2)["mark"], "fresh", "{told}");
    }
    let said = ran(&env, &["a.ipynb", "--cells", "stale", "--json"]).ok().stdout;
    let last: Value = serde_json::from_str(said.lines().last().expect("a line")).expect("JSON");
    assert_eq!((&last["fresh"], last["cells"].as_array().map(Vec::len)), (&[2].into(), Some(2)));
    assert_eq!(last["cells"][1]["why"]["mark"], "stale", "{last}");
    let refused = ran(&env, &["a.ipynb", "--cells", "stale", "--from", "1"]).exits(2);
    assert!(refused.stderr.contains("remove from and to"), "{refused:?}");
}
