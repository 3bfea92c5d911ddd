//! Stale cells on the command line: marked in the outline, run with what they need, and told why.

use serde_json::Value;

use crate::env;
use crate::notebook_runs::{notebook, outputs, ran};

/// The outline says what is stale without any Python, and a run of stale cells in a new kernel runs what it needs.
#[test]
fn stale_cells_are_marked_and_run() {
    let env = env();
    env.put("a.ipynb", notebook(&["x = 1", "big = 2", "print(x)", "print(big)"]));
    let outline = || env.run(&["read", "a.ipynb", "--outline"]).ok().stdout;
    assert!(!outline().contains("never run"), "nothing is known of it: {}", outline());
    ran(&env, &["a.ipynb"]).ok();
    let told = outline();
    assert_eq!(told.matches(" fresh ").count(), 4, "{told}");
    env.run(&["edit", "a.ipynb", "replace", "c2", "--source", "print(x + 1)"]).ok();
    let told = outline();
    assert!(told.contains("changed since"), "{told}");
    let said = ran(&env, &["a.ipynb", "--cells", "stale"]).ok();
    assert!(said.stdout.contains("x = 1  (makes x for cell 2)"), "{said:?}");
    assert!(said.stdout.contains("print(x + 1)  (changed)"), "{said:?}");
    assert!(said.stdout.contains("2 cells ran, 2 fresh in"), "{said:?}");
    assert!(said.stderr.contains("[2/2] cell 2 (c2)"), "{said:?}");
    assert!(outputs(&env, "a.ipynb", 2).contains("2\\n"));
    assert_eq!(outline().matches(" fresh ").count(), 4, "{}", outline());
    let said = ran(&env, &["a.ipynb", "--cells", "stale"]).ok();
    assert!(said.stdout.contains("nothing is stale, 4 fresh"), "{said:?}");
}

/// Programs get the same as objects.
#[test]
fn marks_and_reasons_are_told_to_programs() {
    let env = env();
    env.put("a.ipynb", notebook(&["x = 1", "print(x)", "3"]));
    ran(&env, &["a.ipynb", "--record", "inkcell"]).ok();
    env.run(&["edit", "a.ipynb", "replace", "c0", "--source", "x = 5"]).ok();
    // What is on record went with the file.
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
    assert!(refused.stderr.contains("leave out from and to"), "{refused:?}");
}
