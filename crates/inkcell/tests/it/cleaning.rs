//! `inkcell clean`: in files, as a check and as a filter of git.

use crate::env;
use crate::samples::rich;

/// Every command that takes notebooks expands a quoted pattern; one that takes a single notebook says how many match.
#[test]
fn patterns_are_expanded_by_every_command() {
    let env = env();
    let book = crate::notebook_runs::notebook(&["1"]);
    for folder in ["nb", "one"] {
        std::fs::create_dir(env.path(folder)).expect("a folder");
    }
    for name in ["nb/a.ipynb", "nb/b.ipynb", "one/c.ipynb"] {
        env.put(name, &book);
    }
    let cleaned = env.run(&["clean", "nb/*.ipynb"]).ok().stdout;
    assert_eq!(cleaned, "nb/a.ipynb: clean\nnb/b.ipynb: clean\n");
    for args in
        [vec!["read", "one/*.ipynb"], vec!["to", "script", "one/*"], vec!["diff", "one/*", "nb/a*"]]
    {
        env.run(&args).ok();
    }
    for args in [
        vec!["read", "nb/*.ipynb"],
        vec!["to", "script", "nb/*.ipynb"],
        vec!["diff", "one/*", "nb/*.ipynb"],
    ] {
        let refused = env.run(&args).exits(2);
        let wanted = "error: nb/*.ipynb matches 2 notebooks, and this command takes one\nhint: ";
        assert!(refused.stderr.starts_with(wanted), "{args:?}: {refused:?}");
    }
    let none = env.run(&["read", "no/*.ipynb"]).exits(5);
    assert!(none.stderr.contains("no notebook matches no/*.ipynb"), "{none:?}");
}

#[test]
fn outputs_and_counts_go_and_nothing_else() {
    let env = env();
    env.put("nb.ipynb", rich());
    let ran = env.run(&["clean", "nb.ipynb", "--check"]).exits(1);
    assert_eq!(ran.stdout, "nb.ipynb: would be cleaned\n");
    assert_eq!(env.get("nb.ipynb"), rich().as_bytes());
    assert_eq!(env.run(&["clean", "nb.ipynb"]).ok().stdout, "nb.ipynb: cleaned\n");
    let now: serde_json::Value = serde_json::from_slice(&env.get("nb.ipynb")).expect("JSON");
    let mut wanted: serde_json::Value = serde_json::from_str(&rich()).expect("JSON");
    wanted["cells"][1]["outputs"] = serde_json::json!([]);
    wanted["cells"][1]["execution_count"] = serde_json::Value::Null;
    assert_eq!(now, wanted);
    assert_eq!(env.run(&["clean", "nb.ipynb", "--check"]).ok().stdout, "nb.ipynb: clean\n");
    assert_eq!(env.run(&["clean", "nb.ipynb"]).ok().stdout, "nb.ipynb: clean\n");
}

#[test]
fn chosen_metadata_go_too() {
    let env = env();
    env.put("nb.ipynb", rich());
    let args = [
        "clean",
        "nb.ipynb",
        "--keep-outputs",
        "--cell-meta",
        "tags",
        "--notebook-meta",
        "language_info",
    ];
    env.run(&args).ok();
    let now: serde_json::Value = serde_json::from_slice(&env.get("nb.ipynb")).expect("JSON");
    assert_eq!(now["metadata"], serde_json::json!({}));
    assert_eq!(now["cells"][1]["metadata"], serde_json::json!({}));
    assert_eq!(now["cells"][1]["outputs"].as_array().map(Vec::len), Some(3));
}

/// A filter that changes nothing returns the same bytes, and running it twice has the effect of
/// once.
#[test]
fn the_filter_is_idempotent_and_keeps_bytes() {
    for (name, bytes) in inkcell_testkit::notebooks::odd() {
        let env = env();
        let once = env.run_with(&["clean", "-"], &bytes);
        if once.code != Some(0) {
            assert!(once.stderr.starts_with("error: standard input: "), "{name}: {}", once.stderr);
            continue;
        }
        let twice = env.run_with(&["clean", "-"], &once.bytes).ok();
        assert_eq!(twice.bytes, once.bytes, "{name}");
        env.run_with(&["clean", "-", "--check"], &once.bytes).ok();
        let kept = env.run_with(&["clean", "-", "--keep-outputs"], &bytes).ok();
        assert_eq!(kept.bytes, bytes, "{name}");
        // A file gets the same bytes as the filter writes.
        env.put("nb.ipynb", &bytes);
        env.run(&["clean", "nb.ipynb"]).ok();
        assert_eq!(env.get("nb.ipynb"), once.bytes, "{name}");
    }
}

#[test]
fn the_filter_checks_without_output_and_refuses_what_is_no_notebook() {
    let env = env();
    let ran = env.run_with(&["clean", "-", "--check"], rich()).exits(1);
    assert_eq!(ran.stdout, "");
    let ran = env.run_with(&["clean", "-"], "not json").exits(2);
    assert!(
        ran.stderr.starts_with("error: Invalid JSON in notebook: standard input: "),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stdout, "", "git must not store half an answer");
}

#[test]
fn several_notebooks_and_another_output() {
    let env = env();
    env.put("a.ipynb", rich());
    env.put("b.ipynb", rich());
    let ran = env.run(&["clean", "a.ipynb", "b.ipynb", "-o", "c.ipynb"]).exits(2);
    assert_eq!(ran.stderr, "error: -o: give one notebook, not several\n");
    env.run(&["clean", "a.ipynb", "-o", "c.ipynb"]).ok();
    assert_eq!(env.get("a.ipynb"), rich().as_bytes());
    env.run(&["clean", "c.ipynb", "--check"]).ok();
    let ran = env.run(&["clean", "a.ipynb", "b.ipynb", "--json"]).ok();
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(said["notebooks"][1]["path"], "b.ipynb");
    assert_eq!(said["notebooks"][1]["changed"], true);
    assert_eq!(env.get("a.ipynb"), env.get("c.ipynb"));
}

/// No request is ignored silently.
#[test]
fn the_filter_stands_alone() {
    let env = env();
    env.put("a.ipynb", rich());
    let table: [(&[&str], &str); 3] = [
        (&["clean", "-", "-o", "out.ipynb"], "error: -o: the filter writes to standard output"),
        (&["clean", "-", "a.ipynb"], "error: -: stands for standard input"),
        (&["clean", "a.ipynb", "-"], "error: -: stands for standard input"),
    ];
    for (args, wanted) in table {
        let ran = env.run_with(args, rich()).exits(2);
        assert!(ran.stderr.starts_with(wanted), "{args:?}: {}", ran.stderr);
        assert_eq!((env.names(), env.get("a.ipynb")), (vec!["a.ipynb".into()], rich().into()));
    }
    let ran = env.run_with(&["clean", "-", "--json"], rich()).exits(2);
    assert!(ran.stdout.contains("remove --json"), "{}", ran.stdout);
    let ran = env.run_with(&["clean", "-", "--check", "--json"], rich()).exits(1);
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(said["notebooks"][0]["changed"], true);
}

/// An error in the middle reports the finished part.
#[test]
fn a_failure_in_the_middle_keeps_what_was_done() {
    let env = env();
    env.put("a.ipynb", rich());
    env.put("c.ipynb", rich());
    let ran = env.run(&["clean", "--json", "a.ipynb", "b.ipynb", "c.ipynb"]).exits(5);
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(said["error"]["kind"], "not_found");
    let rows = said["notebooks"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["path"], &rows[0]["changed"]), (&"a.ipynb".into(), &true.into()));
    assert_eq!(rows[1]["error"], "Notebook not found: b.ipynb");
    assert_eq!(env.get("c.ipynb"), rich().as_bytes());
}

/// The filter as the help text sets it up: outputs stay in the file and never reach a commit.
#[test]
fn git_uses_the_filter() {
    let env = env();
    if !crate::comparing::has_git(&env) {
        return inkcell_testkit::need::skip("git_uses_the_filter", "git is not here");
    }
    env.put("nb.ipynb", rich());
    env.put(".gitattributes", "*.ipynb filter=inkcell\n");
    let filter = format!("'{}' clean -", env.program().display());
    crate::comparing::git(&env, &["config", "filter.inkcell.clean", &filter]);
    crate::comparing::git(&env, &["config", "filter.inkcell.smudge", "cat"]);
    crate::comparing::git(&env, &["config", "filter.inkcell.required", "true"]);
    crate::comparing::commit(&env);
    assert_eq!(env.get("nb.ipynb"), rich().as_bytes());
    let stored = crate::comparing::git(&env, &["show", "HEAD:nb.ipynb"]).bytes;
    assert_eq!(stored, env.run_with(&["clean", "-"], rich()).ok().bytes);
    assert_eq!(crate::comparing::git(&env, &["status", "--porcelain"]).stdout, "");
    std::fs::remove_file(env.path("nb.ipynb")).expect("removed");
    crate::comparing::git(&env, &["checkout", "-q", "--", "nb.ipynb"]);
    assert_eq!(env.get("nb.ipynb"), stored);
    // A notebook that cannot be cleaned is not committed as it is.
    env.put("nb.ipynb", &rich()[..100]);
    let mut add = env.command("git");
    add.args(["add", "nb.ipynb"]);
    assert_ne!(inkcell_testkit::env::finish(add, b"").code, Some(0));
}

/// Metadata that only makes sense with outputs is removed with them, wherever it stands.
#[test]
fn what_belongs_to_outputs_goes_with_them() {
    let env = env();
    let mut nb: serde_json::Value = serde_json::from_str(&rich()).expect("JSON");
    let wanted = {
        let mut wanted = nb.clone();
        wanted["cells"][1]["outputs"] = serde_json::json!([]);
        wanted["cells"][1]["execution_count"] = serde_json::Value::Null;
        wanted
    };
    nb["metadata"]["widgets"] = serde_json::json!({"state": {}});
    for key in ["collapsed", "scrolled", "execution", "ExecuteTime"] {
        nb["cells"][1]["metadata"][key] = true.into();
    }
    for cell in [0, 2] {
        nb["cells"][cell]["outputs"] = serde_json::json!([]);
        nb["cells"][cell]["execution_count"] = serde_json::Value::Null;
    }
    let dirty = inkcell_testkit::notebooks::pretty(&nb);
    let clean = |flags: &[&str], bytes: &[u8]| {
        let args = [["clean", "-"].as_slice(), flags].concat();
        env.run_with(&args, bytes).ok().bytes
    };
    let parsed = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).expect("JSON");
    let once = clean(&[], dirty.as_bytes());
    assert_eq!(parsed(&once), wanted);
    assert_eq!(clean(&[], &once), once);
    env.run_with(&["clean", "-", "--check"], &dirty).exits(1);
    env.run_with(&["clean", "-", "--check"], &once).ok();
    let kept = parsed(&clean(&["--keep-metadata"], dirty.as_bytes()));
    assert_eq!(kept["metadata"], nb["metadata"]);
    assert_eq!(kept["cells"][1]["metadata"], nb["cells"][1]["metadata"]);
    assert_eq!((&kept["cells"][0], &kept["cells"][2]), (&wanted["cells"][0], &wanted["cells"][2]));
    assert_eq!(clean(&["--keep-outputs"], dirty.as_bytes()), dirty.as_bytes());
}
