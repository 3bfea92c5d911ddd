//! The texts that `notebook_read` shows.

use inkcell_engine::Kind;
use inkcell_testkit::need::skip;
use inkcell_testkit::notebooks::{jupyter, small};
use serde_json::{Value, json};

use crate::mcp::tools::tests::TestDesk;

const TEXT: &str = "# %% [markdown] cell:0 id:intro-md\n# Title\n\nSome prose.\n\
                    # %% [code] cell:1 id:aaaa1111\nx = 1\nprint(x)\n\
                    # %% [code] cell:2 id:bbbb2222\ny = 2\n";

/// B:V-02, B:V-19: the text, its lines, single cells; the head gives the version that an edit takes.
#[tokio::test]
async fn sources_are_shown_with_index_and_id() {
    let desk = TestDesk::on_files();
    desk.put("nb.ipynb", small());
    let texts = desk.texts("notebook_read", json!({"path": "nb.ipynb"})).await;
    assert_eq!(texts[1], TEXT);
    assert!(texts[0].starts_with("nb.ipynb  version "), "{}", texts[0]);
    assert!(texts[0].ends_with("  3 cells  nbformat 4.5  python"), "{}", texts[0]);
    let lines = desk.texts("notebook_read", json!({"path": "nb.ipynb:2-3,6"})).await;
    assert_eq!(lines[1], "# Title\n\nx = 1\nprint(x)\n# %% [code] cell:2 id:bbbb2222\ny = 2\n");
    let wanted = "# %% [code] cell:1 id:aaaa1111\nx = 1\nprint(x)\n";
    for cells in [json!("1"), json!(1), json!(["aaaa"]), json!([1, "aaaa1111"]), json!("-2")] {
        let given = json!({"notebook_path": "nb.ipynb", "cells": cells});
        let texts = desk.texts("notebook_read", given).await;
        assert_eq!(texts[1].trim_end(), wanted.trim_end(), "{cells}");
    }
    let raw = desk.texts("notebook_read", json!({"path": "nb.ipynb", "view": "raw"})).await;
    assert_eq!(raw[1], small());
    let raw = desk.texts("notebook_read", json!({"path": "nb.ipynb:raw:1-2"})).await;
    assert_eq!(raw[1], small().lines().take(2).map(|line| format!("{line}\n")).collect::<String>());
}

/// A pattern of paths searches each notebook, and counts its lines.
#[tokio::test]
async fn a_pattern_searches_several_notebooks() {
    let desk = TestDesk::on_files();
    for name in ["a.ipynb", "b.ipynb"] {
        desk.put(name, small());
    }
    desk.put("c.ipynb", small().replace("y = 2", "z = 2"));
    let given = json!({"path": "*.ipynb", "search": "^y = "});
    let found = desk.texts("notebook_read", given).await;
    assert_eq!(found[0], "2 lines found in 2 of 3 notebooks");
    let lines: Vec<&str> = found[1].lines().collect();
    assert!(
        lines[0].starts_with("a.ipynb  version ") && lines[0].ends_with("  1 line"),
        "{lines:?}"
    );
    assert_eq!(lines[1], "  cell 2 bbbb2222 line 1: y = 2");
    assert_eq!(lines.len(), 4);
    let given = json!({"path": "*.ipynb", "search": "y", "cells": "1"});
    let error = desk.error("notebook_read", given).await;
    assert!(error.message.starts_with("cells: give the path of one notebook"), "{error:?}");
}

#[tokio::test]
async fn outline_outputs_and_search() {
    let desk = TestDesk::on_files();
    desk.put("nb.ipynb", small());
    let outline = desk.texts("notebook_read", json!({"path": "nb.ipynb", "view": "outline"})).await;
    let rows: Vec<&str> = outline[1].lines().collect();
    assert_eq!(rows.len(), 3);
    assert!(rows[1].starts_with("1  aaaa1111  code "), "{}", rows[1]);
    assert!(rows[1].contains("x = 1  → "), "{}", rows[1]);
    // Line numbers count lines of the shown text, so a reader can page through a long outline.
    let given = json!({"path": "nb.ipynb:3", "view": "outline"});
    assert_eq!(desk.texts("notebook_read", given).await[1], rows[2]);

    let given = json!({"path": "nb.ipynb", "cells": "1", "outputs": "full"});
    let full = desk.texts("notebook_read", given).await;
    assert!(full[1].contains("── cell 1 code id:aaaa1111"), "{}", full[1]);
    assert!(full[1].contains("   │ hi"), "{}", full[1]);
    let given = json!({"path": "nb.ipynb", "cells": "1", "outputs": "digest"});
    assert!(!desk.texts("notebook_read", given).await[1].contains("│"));

    // Words pick cells, too.
    for (cells, wanted) in [
        ("headings", vec!["0"]),
        ("stale", vec!["1", "2"]),
        ("failed", vec![]),
        ("makes:x", vec!["1"]),
        ("uses:x", vec!["1"]),
        ("uses:y", vec![]),
    ] {
        let given = json!({"path": "nb.ipynb", "view": "outline", "cells": cells});
        let texts = desk.texts("notebook_read", given).await;
        let rows = texts.get(1).map(|rows| rows.lines().map(|row| &row[..1]).collect::<Vec<_>>());
        assert_eq!(rows.unwrap_or_default(), wanted, "{cells}");
    }

    let given = json!({"path": "nb.ipynb", "search": "^[xy] = "});
    let found = desk.texts("notebook_read", given).await;
    assert!(found[0].ends_with("  2 lines found"), "{}", found[0]);
    assert_eq!(found[1], "cell 1 aaaa1111 line 1: x = 1\ncell 2 bbbb2222 line 1: y = 2");
    let given = json!({"path": "nb.ipynb", "search": "nowhere"});
    assert_eq!(desk.texts("notebook_read", given).await.len(), 1);
}

/// A notebook is compared with its last commit, with an older one, and with another file.
#[tokio::test]
async fn a_diff_tells_what_changed() {
    let desk = TestDesk::on_files();
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.arg("-C").arg(desk.path("")).args(args).env("GIT_CONFIG_NOSYSTEM", "1");
        command.output().is_ok_and(|said| said.status.success())
    };
    if !git(&["init", "-q"]) {
        return skip("a_diff_tells_what_changed", "git is not here");
    }
    let commit = || {
        let name = ["-c", "user.name=Test", "-c", "user.email=test@example.org"];
        assert!(git(&["add", "."]));
        assert!(git(&[&name[..], &["commit", "-q", "-m", "x"]].concat()));
    };
    desk.put("nb.ipynb", small());
    let diff = async |more: Value| {
        let mut given = json!({"path": "nb.ipynb", "view": "diff"});
        given.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        desk.texts("notebook_read", given).await
    };
    let refused = desk.error("notebook_read", json!({"path": "nb.ipynb", "view": "diff"})).await;
    assert!(refused.message.starts_with("against: nb.ipynb is in no commit ("), "{refused:?}");
    commit();
    let same = diff(json!({})).await;
    assert!(same[0].ends_with("  against HEAD"), "{}", same[0]);
    assert_eq!(same[1], "(no change)");
    let version = same[0].split("version ").nth(1).unwrap()[..16].to_owned();
    desk.put("old.ipynb", small());
    let edit = json!({"path": "nb.ipynb", "cell": "aaaa1111", "source": "x = 1\nprint(x, 2)"});
    desk.good("notebook_edit", edit).await;
    let changed =
        "~ cell 1 (id aaaa1111) [code]\n  @@ -1,2 +1,2 @@\n   x = 1\n  -print(x)\n  +print(x, 2)\n";
    for against in ["HEAD", "old.ipynb"] {
        let said = diff(json!({"against": against})).await;
        assert!(said[1].starts_with(changed), "{against}: {}", said[1]);
        assert!(said[1].contains("  outputs: "), "{against}: {}", said[1]);
    }
    assert_eq!(diff(json!({"cells": "0,2"})).await[1], "(no change)");
    commit();
    assert_eq!(diff(json!({})).await[1], "(no change)");
    assert!(git(&["tag", "before", "HEAD~1"]));
    for commit in ["HEAD~1", "before", "refs/tags/before"] {
        assert!(diff(json!({"against": commit})).await[1].starts_with(changed), "{commit}");
    }
    let nothing = desk.error("notebook_read", json!({"path": "nb.ipynb", "against": "none"})).await;
    assert!(nothing.message.starts_with("against: nb.ipynb cannot be read from none ("));
    let first = diff(json!({"against": version})).await;
    assert!(first[0].ends_with(&format!("  against {version}")), "{}", first[0]);
    assert!(first[1].starts_with(changed), "{}", first[1]);
    // A version that no answer named.
    let given = json!({"path": "nb.ipynb", "against": "0123456789abcdef"});
    let refused = desk.error("notebook_read", given).await;
    let problem =
        "against: the content of version 0123456789abcdef is not kept here; kept versions:";
    assert!(refused.message.starts_with(&format!("{problem} {version} (seen ")), "{refused:?}");
    assert!(refused.next.unwrap().contains("HEAD"));
    let now = diff(json!({})).await[0].split("version ").nth(1).unwrap()[..16].to_owned();
    assert_eq!(diff(json!({"against": now})).await[1], "(no change)");
    for given in [json!({"search": "x"}), json!({"outputs": "full"}), json!({"view": "outline"})] {
        let mut asked = json!({"path": "nb.ipynb", "against": "HEAD"});
        asked.as_object_mut().unwrap().extend(given.as_object().unwrap().clone());
        let refused = desk.error("notebook_read", asked).await;
        assert!(refused.message.ends_with("remove this"), "{given}: {refused:?}");
    }
    let outside = json!({"path": "nb.ipynb", "against": "../x.ipynb"});
    assert!(desk.error("notebook_read", outside).await.message.contains("outside the allowed"));
}

/// B:V-22: what is cut says how to go on, and is not taken for the whole when it comes back.
#[tokio::test]
async fn long_notebooks_come_in_pages() {
    let desk = TestDesk::on_files();
    let long: String = (0..4000).map(|number| format!("a{number}\n")).collect();
    desk.put("nb.ipynb", jupyter(&[("code", "aaaa1111", &long)]));
    let texts = desk.texts("notebook_read", json!({"path": "nb.ipynb"})).await;
    let notice = "\n\n[Showing lines 1-3000 of 4001. Use :3001 to continue]";
    assert!(texts[1].ends_with(&format!("a2998{notice}")), "{}", &texts[1][texts[1].len() - 90..]);
    let error = desk.error("notebook_edit", json!({"path": "nb.ipynb", "text": texts[1]})).await;
    assert!(error.message.contains("this text is a part of the notebook"), "{error:?}");
    let rest = desk.texts("notebook_read", json!({"path": "nb.ipynb:3001"})).await;
    assert!(rest[1].starts_with("a2999\n") && rest[1].ends_with("a3999\n"));
}

/// B:V-16, B:V-20, and everything else that cannot be read.
#[tokio::test]
async fn what_cannot_be_read_says_why() {
    let desk = TestDesk::on_files();
    desk.put("nb.ipynb", small());
    desk.put("list.ipynb", "[1]");
    desk.put("none.ipynb", "{}");
    desk.put("cell.ipynb", r#"{"cells": [3], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#);
    desk.put("bad.ipynb", "{\"cells\": [}");
    let table = [
        (json!({"path": "no.ipynb"}), Kind::NotFound, "File not found: no.ipynb"),
        (json!({"path": "../x.ipynb"}), Kind::Invalid, "../x.ipynb is outside the allowed folders"),
        (json!({"path": "bad.ipynb"}), Kind::Invalid, "Invalid JSON in notebook: bad.ipynb"),
        (
            json!({"path": "list.ipynb"}),
            Kind::Invalid,
            "Invalid notebook structure (expected object): list.ipynb",
        ),
        (
            json!({"path": "none.ipynb"}),
            Kind::Invalid,
            "Invalid notebook structure (missing cells array): none.ipynb",
        ),
        (json!({"path": "cell.ipynb"}), Kind::Invalid, "Invalid notebook cell 0 in cell.ipynb"),
        (
            json!({"path": "nb.ipynb:0"}),
            Kind::Invalid,
            "Line selector 0 is invalid; lines are 1-indexed. Use :1.",
        ),
        (
            json!({"path": "nb.ipynb:5-2"}),
            Kind::Invalid,
            "Invalid range 5-2: end must be >= start.",
        ),
        (json!({"path": "nb.ipynb:5+0"}), Kind::Invalid, "Invalid range 5+0: count must be >= 1."),
        (json!({"path": "nb.ipynb:x"}), Kind::Invalid, ":x: not a selector"),
        (json!({"path": "nb.ipynb", "cells": "zz"}), Kind::NotFound, "nb.ipynb: "),
        (json!({"path": "nb.ipynb", "cells": "2-9"}), Kind::Invalid, "cells: 2-9 is not a range"),
        (json!({"path": "nb.ipynb", "cells": true}), Kind::Invalid, "cells: true names no cell"),
        (
            json!({"path": "nb.ipynb", "search": "("}),
            Kind::Invalid,
            "search: \"(\" is not a pattern",
        ),
        (
            json!({"path": "nb.ipynb", "view": "raw", "cells": "1"}),
            Kind::Invalid,
            "cells: the stored JSON (raw) can be read whole or by lines",
        ),
        (
            json!({"path": "nb.ipynb", "view": "html"}),
            Kind::Invalid,
            "view: html is not one of its values",
        ),
        (
            json!({"path": "nb.ipynb", "veiw": "raw"}),
            Kind::Invalid,
            "no argument named 'veiw'; did you mean view?",
        ),
        (json!({}), Kind::Invalid, "path is missing"),
    ];
    for (given, kind, message) in table {
        let error = desk.error("notebook_read", given.clone()).await;
        assert!(error.message.starts_with(message), "{given}: {error:?}");
        assert_eq!(error.kind, kind, "{given}: {error:?}");
    }
}
