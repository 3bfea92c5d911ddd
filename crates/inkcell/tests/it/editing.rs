//! `inkcell edit`: every operation with its reply, batches, and replacements across cells.

use inkcell_testkit::env::TestEnv;
use insta::assert_snapshot;

use crate::env;
use crate::samples::rich;

fn desk() -> TestEnv {
    let env = env();
    env.put("nb.ipynb", rich());
    env
}

/// The reply of an edit that must succeed, with new random ids removed.
fn reply(env: &TestEnv, args: &[&str]) -> String {
    let all: Vec<&str> = ["edit", "nb.ipynb"].into_iter().chain(args.iter().copied()).collect();
    let outline = || env.run(&["read", "nb.ipynb", "--outline"]).ok().stdout;
    let before = outline();
    let text = env.redact(&env.run(&all).ok().stdout);
    let both = before + &outline();
    let known = ["intro-md", "aaaa1111", "cccc3333"];
    let rows = both.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let ids = rows.filter_map(|line| line.split_whitespace().nth(1));
    ids.filter(|id| !known.contains(id)).fold(text, |text, id| text.replace(id, "[id]"))
}

fn text(env: &TestEnv) -> String {
    env.run(&["read", "nb.ipynb", "--no-ids"]).ok().stdout
}

/// B:N-41
#[test]
fn every_operation_says_what_it_did() {
    let env = desk();
    assert_snapshot!(reply(&env, &["replace", "aaaa", "--source", "y = 2"]), @r"
    ✓ Cell updated
      Notebook: nb.ipynb
      Cell: aaaa1111 (index 1)
      Type: code
      Note: 3 outputs were cleared
      Above: 0 intro-md # Title
      Below: 2 cccc3333
      Version: [version]
    ");
    assert_snapshot!(reply(&env, &["insert", "--source", "z", "--after", "intro-md", "--type", "markdown"]), @r"
    ✓ Cell inserted
      Notebook: nb.ipynb
      New cell: [id] (index 1)
      Type: markdown
      Inserted after: intro-md
      Above: 0 intro-md # Title
      Below: 2 aaaa1111 y = 2
      Version: [version]
    ");
    assert_snapshot!(reply(&env, &["delete", "1"]), @r"
    ✓ Cell deleted
      Notebook: nb.ipynb
      Removed: [id] (was at index 1)
      Above: 0 intro-md # Title
      Below: 1 aaaa1111 y = 2
      Version: [version]
    ");
    assert_snapshot!(reply(&env, &["move", "intro-md", "--at", "end"]), @r"
    ✓ Cell moved
      Notebook: nb.ipynb
      Cell: intro-md (index 2)
      Type: markdown
      Above: 1 cccc3333
      Version: [version]
    ");
    assert_snapshot!(reply(&env, &["type", "intro-md", "raw"]), @r"
    ✓ Cell type changed
      Notebook: nb.ipynb
      Cell: intro-md (index 2)
      Type: raw
      Above: 1 cccc3333
      Version: [version]
    ");
    assert_snapshot!(reply(&env, &["sub", "intro-md", "--old", "o", "--new", "0", "--all"]), @r"
    ✓ Text replaced in 2 places
      Notebook: nb.ipynb
      Cell: intro-md (index 2)
      Type: raw
      Above: 1 cccc3333
      Version: [version]
    ");
    assert_snapshot!(reply(&env, &["meta", "0", "--tag", "new", "--untag", "x", "--set", "a=1.0", "--set", "b=text"]), @r"
    ✓ 2 changes
      Notebook: nb.ipynb
      Metadata changed: 0 aaaa1111
      Metadata changed: 0 aaaa1111
      Version: [version]
    ");
    assert_snapshot!(reply(&env, &["meta", "--set", "title=hello", "--unset", "language_info"]), @r"
    ✓ Metadata changed
      Notebook: nb.ipynb
      Version: [version]
    ");
    // Issue 21, 18: an equal value changes no byte, and the reply says so.
    let before = env.get("nb.ipynb");
    assert_snapshot!(reply(&env, &["meta", "--set", "title=hello"]), @r"
    = Nothing to change
      Notebook: nb.ipynb
      Version: [version]
    ");
    assert_eq!(env.get("nb.ipynb"), before);
    assert_snapshot!(reply(&env, &["clear"]), @r"
    = Nothing to change
      Notebook: nb.ipynb
      Version: [version]
    ");
    let now: serde_json::Value = serde_json::from_slice(&env.get("nb.ipynb")).expect("JSON");
    assert_eq!(now["metadata"], serde_json::json!({"title": "hello"}));
    let metadata = now["cells"][0]["metadata"].to_string();
    assert_eq!(metadata, r#"{"a":1.0,"b":"text","tags":["keep","new"]}"#);
    assert_eq!(
        text(&env),
        "# %% [code] cell:0\ny = 2\n# %% [raw] cell:1\n# %% [raw] cell:2\n# Title\n\nS0me pr0se."
    );
}

#[test]
fn clearing_says_how_much() {
    let env = desk();
    assert_snapshot!(reply(&env, &["clear", "aaaa1111"]), @r"
    ✓ Outputs cleared
      Notebook: nb.ipynb
      Cell: aaaa1111 (index 1)
      Type: code
      Note: 3 outputs were cleared
      Above: 0 intro-md # Title
      Below: 2 cccc3333
      Version: [version]
    ");
}

#[test]
fn outputs_are_kept_when_asked_for() {
    let env = desk();
    reply(&env, &["replace", "1", "--source", "new", "--keep-outputs"]);
    let now = String::from_utf8(env.get("nb.ipynb")).expect("text");
    assert!(now.contains("ValueError") && now.contains("\"execution_count\": 3"), "{now}");
    reply(&env, &["sub", "1", "--old", "new", "--new", "newer"]);
    let now = String::from_utf8(env.get("nb.ipynb")).expect("text");
    assert!(!now.contains("ValueError") && now.contains("\"execution_count\": null"), "{now}");
}

#[test]
fn a_source_comes_from_an_argument_a_file_or_standard_input() {
    let env = desk();
    env.put("source.py", "from file\n");
    reply(&env, &["replace", "0", "--source-file", "source.py"]);
    env.run_with(&["edit", "nb.ipynb", "replace", "1", "-"], "from stdin\n").ok();
    reply(&env, &["replace", "2", "--source", "--dashes\n-"]);
    assert_eq!(
        text(&env),
        "# %% [markdown] cell:0\nfrom file\n\n# %% [code] cell:1\nfrom stdin\n\n# %% [raw] cell:2\n--dashes\n-"
    );
    for args in [["--source", "-"], ["--source-file", "-"]] {
        let all = ["edit", "nb.ipynb", "replace", "2", args[0], args[1]];
        env.run_with(&all, format!("piped for {}", args[0])).ok();
        assert!(text(&env).ends_with(&format!("piped for {}", args[0])), "{}", text(&env));
    }
    let table: [(&[&str], &str); 6] = [
        (
            &["insert", "-"],
            "error: source: standard input is empty; to empty a cell, give --source \"\"\n",
        ),
        (&["replace", "0", "--source", "-"], "error: source: standard input is empty; "),
        (
            &["replace", "0", "--source-file", "/dev/zero"],
            "error: --source-file: /dev/zero is a device, not a regular file\n",
        ),
        (
            &["replace", "0"],
            "error: source: give --source TEXT, --source-file FILE, or - for standard input",
        ),
        (
            &["replace", "0", "--source-file", "no.py"],
            "error: --source-file: File not found: no.py\n",
        ),
        (
            &[],
            "error: OP: no operation given; choose one: replace, insert, delete, move, sub, \
             rename, type, clear or meta; ",
        ),
    ];
    for (args, wanted) in table {
        let all: Vec<&str> = ["edit", "nb.ipynb"].into_iter().chain(args.iter().copied()).collect();
        let ran = env.run(&all).exits(2);
        assert!(ran.stderr.starts_with(wanted), "{}", ran.stderr);
    }
}

/// B:N-42: a batch is one change; with one bad operation nothing happens.
#[test]
fn a_batch_is_all_or_nothing() {
    let env = desk();
    let ops = r#"[{"op": "replace", "cell": 1, "source": "A"}, {"op": "insert", "source": "B", "after": 1},
                  {"op": "delete", "cell": 0}]"#;
    env.put("ops.json", ops);
    let said = reply(&env, &["--ops", "ops.json"]);
    assert_eq!(said.matches("\n  Cell ").count(), 3, "{said}");
    let wanted = "# %% [code] cell:0\nA\n# %% [code] cell:1\nB\n# %% [raw] cell:2";
    assert_eq!(text(&env), wanted);
    let before = env.get("nb.ipynb");
    let bad =
        r#"{"ops": [{"op": "clear"}, {"op": "delete", "cell": 0}, {"op": "delete", "cell": 9}]}"#;
    let ran = env.run_with(&["edit", "nb.ipynb", "--ops", "-"], bad).exits(5);
    assert_eq!(
        ran.stderr,
        "error: nb.ipynb: operation 2: cell 9 is out of range; the notebook has 3 cells, 0 to \
         2\nhint: list the cells with 'inkcell read nb.ipynb --outline'\n"
    );
    assert_eq!(env.get("nb.ipynb"), before);
    let ran =
        env.run_with(&["edit", "nb.ipynb", "--ops", "-"], r#"{"op": "delete", "cel": 0}"#).exits(2);
    assert_eq!(
        ran.stderr,
        "error: operation 0: delete takes no field \"cel\" (did you mean \"cell\"?); it takes cell\n"
    );
    assert_eq!(env.get("nb.ipynb"), before);
}

#[test]
fn a_replacement_in_the_text_may_span_cells() {
    let env = desk();
    let old = "Some prose.\n# %% [code] cell:1 id:aaaa1111\nx = 1";
    let new = "Some verse.\n# %% [raw]\nbetween\n# %% [code] cell:1 id:aaaa1111\nx = 2";
    let said = reply(&env, &["--old", old, "--new", new]);
    assert_eq!(said.matches("\n  Cell ").count(), 3, "{said}");
    assert_eq!(
        text(&env),
        "# %% [markdown] cell:0\n# Title\n\nSome verse.\n# %% [raw] cell:1\nbetween\n# %% [code] cell:2\nx = 2\nprint(x)\n# %% [raw] cell:3"
    );
    let before = env.get("nb.ipynb");
    let table: [(&[&str], &str); 5] = [
        (
            &["--old", "Some vers.", "--new", "x"],
            "error: nb.ipynb: the text to replace was not found; the nearest is line 4: Some verse.\n",
        ),
        (
            &["--old", "x", "--new", "y"],
            "error: nb.ipynb: the text to replace occurs 2 times (lines 8, 9); give more of the \
             text around it, or ask for all of them\nhint: to replace every match, add --all\n",
        ),
        (
            &["--old", "", "--new", "y"],
            "error: nb.ipynb: the text to replace is empty; give the text to search for\n",
        ),
        (
            &["--old", "# %% [raw] cell:3 id:cccc3333", "--new", ""],
            "error: nb.ipynb: the text leaves out 1 cell: ",
        ),
        (
            &["--old", "x", "--new", "y", "clear"],
            "error: OP: give only one of: an operation, --ops, --old\n",
        ),
    ];
    for (args, wanted) in table {
        let all: Vec<&str> = ["edit", "nb.ipynb"].into_iter().chain(args.iter().copied()).collect();
        let ran = env.run(&all).exits(2);
        assert!(ran.stderr.starts_with(wanted), "{args:?}: {}", ran.stderr);
        assert_eq!(env.get("nb.ipynb"), before, "{args:?}");
    }
    // A flag that needs --old is not ignored silently.
    let ran = env.run(&["edit", "nb.ipynb", "--drop", "1", "clear"]).exits(2);
    assert!(ran.stderr.contains("--old <TEXT>"), "{}", ran.stderr);
    assert_eq!(env.get("nb.ipynb"), before);
    reply(&env, &["--old", "x", "--new", "w", "--all"]);
    assert!(text(&env).contains("w = 2\nprint(w)"));
    // A cell whose marker is removed joins the cell above; the reply counts it.
    reply(&env, &["--old", "\n# %% [raw] cell:3 id:cccc3333", "--new", "", "--drop", "1"]);
    assert!(!text(&env).contains("cell:3"));
}

/// Tags are added and removed by name; if nothing changes, no byte of the file does.
#[test]
fn tags_are_set_one_by_one() {
    let env = env();
    env.put("nb.ipynb", rich());
    let tags = |cell: usize| {
        let now: serde_json::Value = serde_json::from_slice(&env.get("nb.ipynb")).expect("JSON");
        now["cells"][cell]["metadata"].get("tags").cloned()
    };
    let before = env.get("nb.ipynb");
    env.run(&["edit", "nb.ipynb", "meta", "0", "--untag", "foo"]).ok();
    assert_eq!(env.get("nb.ipynb"), before);
    let had = tags(1).expect("tags");
    env.run(&["edit", "nb.ipynb", "meta", "1", "--tag", had[0].as_str().expect("text")]).ok();
    assert_eq!(env.get("nb.ipynb"), before);
    env.put("ops.json", r#"{"op": "tags", "cell": 0, "add": ["a", "b"], "remove": ["c"]}"#);
    env.run(&["edit", "nb.ipynb", "--ops", "ops.json"]).ok();
    assert_eq!(tags(0), Some(serde_json::json!(["a", "b"])));
    env.run(&["edit", "nb.ipynb", "meta", "0", "--untag", "a", "--tag", "c"]).ok();
    assert_eq!(tags(0), Some(serde_json::json!(["b", "c"])));
    let ran = env.run(&["edit", "nb.ipynb", "meta", "--tag", "a"]).exits(2);
    assert_eq!(ran.stderr, "error: meta: tags belong to a cell; name it\n");
}

#[test]
fn a_cell_that_cannot_be_told_is_an_error_with_candidates() {
    let env = env();
    let nb = inkcell_testkit::notebooks::jupyter(&[
        ("raw", "abcd-1", "x"),
        ("raw", "abcd-2", "y"),
        ("raw", "0", "z"),
    ]);
    env.put("nb.ipynb", &nb);
    let ran = env.run(&["edit", "nb.ipynb", "delete", "abcd"]).exits(5);
    assert_eq!(
        ran.stderr,
        "error: nb.ipynb: \"abcd\" names more than one cell: cell 0 (id abcd-1), cell 1 (id abcd-2); give \
         the whole id or the position\n"
    );
    let ran = env.run(&["edit", "nb.ipynb", "delete", "abcx-1"]).exits(5);
    let nearest = "the nearest are cell 0 (id abcd-1), cell 1 (id abcd-2);";
    assert!(ran.stderr.contains(nearest), "{}", ran.stderr);
    assert_eq!(env.get("nb.ipynb"), nb.as_bytes());
    // An id that looks like a number is tried as an id first.
    let ran = env.run(&["edit", "nb.ipynb", "delete", "0"]).ok();
    assert!(ran.stdout.contains("Removed: 0 (was at index 2)"), "{}", ran.stdout);
}

/// Files that flags name are read as carefully as notebooks.
#[test]
fn files_of_flags_stay_inside_and_end() {
    let env = desk();
    std::fs::create_dir(env.path("proj")).expect("a folder");
    env.put("proj/nb.ipynb", rich());
    env.put("secret", "[]");
    let fifo = env.command("mkfifo").arg("fifo").status();
    for flags in [["replace", "0", "--source-file"].as_slice(), &["--ops"]] {
        let edit = |root: &[&'static str], file: &'static str| {
            let path = ["edit", "proj/nb.ipynb"];
            let args = [root, path.as_slice(), flags, [file].as_slice()].concat();
            env.run(&args).exits(2).stderr
        };
        let said = edit(&["--root", "proj"], "secret");
        assert!(said.contains("secret is outside the allowed folders: "), "{said}");
        if fifo.as_ref().is_ok_and(|status| status.success()) {
            let said = edit(&[], "fifo");
            assert!(said.contains("not a regular file"), "{said}");
        }
    }
    assert_eq!(env.get("proj/nb.ipynb"), rich().as_bytes());
}

/// A new cell gets the position that was given, up to the end; an id stands for the position of its cell.
#[test]
fn a_cell_is_inserted_at_a_position() {
    let env = env();
    let cells = |env: &TestEnv| {
        let text = text(env);
        text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect::<String>()
    };
    let new = || env.put("nb.ipynb", crate::notebook_runs::notebook(&["a", "b"]));
    for (place, wanted) in
        [("0", "xab"), ("1", "axb"), ("2", "abx"), ("-1", "axb"), ("c1", "axb"), ("start", "xab")]
    {
        new();
        env.run(&["edit", "nb.ipynb", "insert", place, "--source", "x"]).ok();
        assert_eq!(cells(&env), wanted, "{place}");
    }
    new();
    env.run(&["edit", "nb.ipynb", "insert", "--source", "x"]).ok();
    env.run_with(&["edit", "nb.ipynb", "insert", "0", "-"], "y").ok();
    env.run_with(&["edit", "nb.ipynb", "insert", "-", "--after", "c0"], "z").ok();
    assert_eq!(cells(&env), "yazbx");
    let refused = [
        (vec!["3", "--source", "x", "--after", "c0"], 2, "give only one of a position"),
        (vec!["-", "--source", "x"], 2, "give only one of -"),
        (vec!["9", "--source", "x"], 5, "cell 8"),
    ];
    for (args, code, wanted) in refused {
        let all = [&["edit", "nb.ipynb", "insert"][..], &args].concat();
        let refused = env.run(&all).exits(code);
        assert!(refused.stderr.contains(wanted), "{args:?}: {refused:?}");
    }
}

/// Words of other tools are accepted; for any other word the error lists the operations.
#[test]
fn operations_have_other_names() {
    let env = desk();
    for word in ["add", "append"] {
        assert!(reply(&env, &[word, "--source", "x"]).starts_with("✓ Cell inserted"));
    }
    for word in ["rm", "remove"] {
        assert!(reply(&env, &[word, "-1"]).starts_with("✓ Cell deleted"));
    }
    for word in ["set", "update"] {
        assert!(reply(&env, &[word, "0", "--source", word]).starts_with("✓ Cell updated"));
    }
    let before = env.get("nb.ipynb");
    let all = "use replace, insert, delete, move, sub, rename, type, clear or meta; or give --ops FILE, or --old \
               TEXT --new TEXT\n";
    for (word, hint) in [
        ("frob", ""),
        ("tag", " (did you mean \"meta\"?)"),
        ("replac", " (did you mean \"replace\"?)"),
    ] {
        let ran = env.run(&["edit", "nb.ipynb", word, "0", "--source", "x"]).exits(2);
        assert_eq!(ran.stderr, format!("error: OP: {word:?} is not an operation{hint}; {all}"));
        let ran = env.run(&["edit", "nb.ipynb", word, "0", "--json"]).exits(2);
        let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(said["error"]["kind"], "invalid");
    }
    assert_eq!(env.get("nb.ipynb"), before);
}
