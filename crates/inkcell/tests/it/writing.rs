//! `inkcell write`: text that was read goes back unchanged, and parts that were not read stay.

use inkcell_testkit::env::{CommandOutput, TestEnv};
use inkcell_testkit::notebooks::{jupyter, odd, small};

use crate::env;
use crate::samples::{long, rich};

/// Runs `inkcell read ... | inkcell write nb.ipynb`, as a shell does it.
fn piped(env: &TestEnv, read: &[&str]) -> CommandOutput {
    let text = env.run(read).bytes;
    env.run_with(&["write", "nb.ipynb"], text)
}

/// F-077 B:V-18
#[test]
fn what_is_read_goes_back_byte_for_byte() {
    for (name, bytes) in odd() {
        let env = env();
        env.put("nb.ipynb", &bytes);
        let text = env.run(&["read", "nb.ipynb"]);
        if text.code != Some(0) {
            assert!(text.stderr.contains("Invalid notebook cell"), "{name}: {}", text.stderr);
            env.run_with(&["write", "nb.ipynb"], text.bytes).exits(2);
            assert_eq!(env.get("nb.ipynb"), bytes, "{name}");
            continue;
        }
        for args in [&["read", "nb.ipynb"][..], &["read", "nb.ipynb", "--no-ids"]] {
            let written = piped(&env, args).ok();
            assert!(
                written.stdout.starts_with("= Nothing to change\n"),
                "{name}: {}",
                written.stdout
            );
            assert_eq!(env.get("nb.ipynb"), bytes, "{name}");
        }
        // The JSON itself can be written back, too.
        let written = piped(&env, &["read", "nb.ipynb:raw"]);
        let is_lossless = std::str::from_utf8(&bytes).is_ok();
        assert_eq!(
            written.code,
            Some(if is_lossless { 0 } else { 2 }),
            "{name}: {}",
            written.stderr
        );
        assert_eq!(env.get("nb.ipynb"), bytes, "{name}");
        assert_eq!(env.names(), ["nb.ipynb"]);
    }
}

/// Issue 21, 9: a script is not the text form of a notebook. It is refused with the line, and no hint suggests writing
/// it.
#[test]
fn a_script_is_refused_with_its_line() {
    let env = env();
    env.put("nb.ipynb", rich());
    env.run(&["to", "script", "nb.ipynb", "-o", "nb.py"]).ok();
    for args in
        [&["write", "nb.ipynb"][..], &["write", "new.ipynb"], &["write", "nb.ipynb", "--drop", "3"]]
    {
        let ran = env.run_with(args, env.get("nb.py")).exits(2);
        assert!(ran.stderr.contains("line 6 is \"# %%\""), "{}", ran.stderr);
    }
    assert_eq!(env.get("nb.ipynb"), rich().as_bytes());
    assert_eq!(env.names(), ["nb.ipynb", "nb.py"]);
    let ran = env.run(&["run", "nb.py"]).exits(2);
    assert!(
        ran.stderr.contains("hint: run it as code with 'inkcell py --cells - < nb.py'"),
        "{}",
        ran.stderr
    );
    // A source line that only looks like a marker survives when its notebook is read and written.
    env.put("odd.ipynb", jupyter(&[("code", "ab12cd34", "# %%\nx = 1")]));
    let text = env.run(&["read", "odd.ipynb"]).ok().bytes;
    env.run_with(&["write", "odd.ipynb"], &text).ok();
    env.run_with(&["write", "copy.ipynb"], text).ok();
    let edit = ["edit", "odd.ipynb", "--old", "x = 1", "--new", "x = 1\n# %% two\ny = 2"];
    assert!(env.run(&edit).exits(2).stderr.contains("line 4 is \"# %% two\""));
}

/// B:V-13
#[test]
fn a_part_that_is_written_back_does_not_delete_the_rest() {
    let env = env();
    let bytes = long(200);
    env.put("nb.ipynb", &bytes);
    let parts: [&[&str]; 6] = [
        &["read", "missing.ipynb"],
        &["read", "nb.ipynb:1-5"],
        &["read", "nb.ipynb:1-41"],
        &["read", "nb.ipynb", "--page"],
        &["read", "nb.ipynb", "--cells", "0-9"],
        &["read", "nb.ipynb:99999"],
    ];
    for part in parts {
        let ran = piped(&env, part).exits(2);
        assert!(ran.stderr.contains("the text leaves out "), "{part:?}: {}", ran.stderr);
        assert_eq!(env.get("nb.ipynb"), bytes.as_bytes(), "{part:?}");
    }
    assert_eq!(env.names(), ["nb.ipynb"]);
}

/// B:V-13
#[test]
fn a_cell_that_was_shown_in_part_is_not_cut() {
    let env = env();
    let lines: String = (1..4000).map(|number| format!("x{number} = {number}\n")).collect();
    let bytes = jupyter(&[("code", "only-one", &lines)]);
    env.put("nb.ipynb", &bytes);
    let parts: [&[&str]; 3] = [
        &["read", "nb.ipynb:1-5"],
        &["read", "nb.ipynb", "--page"],
        &["read", "nb.ipynb:1-9", "--no-ids"],
    ];
    for part in parts {
        let ran = piped(&env, part).exits(2);
        assert!(
            ran.stderr.contains("this text is a part of the notebook"),
            "{part:?}: {}",
            ran.stderr
        );
        assert_eq!(env.get("nb.ipynb"), bytes.as_bytes(), "{part:?}");
    }
    // A user who really wants fewer lines still gets them.
    env.run_with(&["write", "nb.ipynb"], "# %% [code] cell:0\nx1 = 1\n").ok();
    assert_eq!(
        env.run(&["read", "nb.ipynb", "--no-ids"]).ok().stdout,
        "# %% [code] cell:0\nx1 = 1\n"
    );
}

/// B:V-13
#[test]
fn cells_that_are_left_out_are_named_and_can_be_dropped_by_number() {
    let env = env();
    env.put("nb.ipynb", rich());
    let text = "# %% [markdown] cell:0\n# Title\n\nSome prose.";
    let ran = env.run_with(&["write", "nb.ipynb"], text).exits(2);
    assert_eq!(
        ran.stderr,
        "error: nb.ipynb: the text leaves out 2 cells: cell 1 (id aaaa1111), cell 2 (id \
         cccc3333); nothing was written. To delete exactly 2 cells, say how many are dropped; to \
         change some cells only, write the whole text back or change them one by one\nhint: to \
         delete them, add --drop 2\n"
    );
    env.run_with(&["write", "nb.ipynb", "--drop", "1"], text).exits(2);
    env.run_with(&["write", "nb.ipynb", "--drop", "3"], text).exits(2);
    env.run_with(&["write", "nb.ipynb"], "").exits(2);
    assert_eq!(env.get("nb.ipynb"), rich().as_bytes());
    env.run_with(&["write", "nb.ipynb", "--drop", "2"], text).ok();
    assert_eq!(env.run(&["read", "nb.ipynb", "--no-ids"]).ok().stdout, text);
}

/// Cells shown with their outputs are for reading; they cannot be written back as the text.
#[test]
fn what_is_shown_for_reading_cannot_be_written_back() {
    let env = env();
    env.put("nb.ipynb", rich());
    let views: [&[&str]; 4] = [
        &["read", "nb.ipynb", "--outputs", "digest"],
        &["read", "nb.ipynb", "--outputs", "full"],
        &["read", "nb.ipynb", "--outline"],
        &["read", "nb.ipynb", "--search", "x"],
    ];
    for view in views {
        let ran = piped(&env, view).exits(2);
        let error = "error: Invalid notebook editable representation for nb.ipynb: expected first line to be \
                     \"# %% [code] cell:0\", \"# %% [markdown] cell:0\", or \"# %% [raw] cell:0\".\n\
                     hint: its first line is \"";
        assert!(ran.stderr.starts_with(error), "{}", ran.stderr);
        assert_eq!(env.get("nb.ipynb"), rich().as_bytes(), "{view:?}");
    }
    // JSON that is an answer and not a notebook is recognized as well.
    piped(&env, &["read", "nb.ipynb", "--json"]).exits(2);
    piped(&env, &["read", "nb.ipynb", "--outline", "--json"]);
    assert_eq!(env.get("nb.ipynb"), rich().as_bytes());
}

/// B:V-15
#[test]
fn a_missing_notebook_is_made_from_text() {
    let env = env();
    env.run_with(&["write", "new.ipynb"], "# %% [markdown]\n# T\n# %% [code] cell:7\nx = 1\n").ok();
    let made: serde_json::Value = serde_json::from_slice(&env.get("new.ipynb")).expect("JSON");
    assert_eq!((&made["nbformat"], &made["nbformat_minor"]), (&4.into(), &5.into()));
    assert_eq!(made["metadata"]["kernelspec"]["name"], "python3");
    assert_eq!(made["cells"][0]["source"], serde_json::json!(["# T"]));
    assert_eq!(made["cells"][1]["source"], serde_json::json!(["x = 1\n"]));
    assert!(made["cells"][0]["id"].is_string());
    assert!(env.get("new.ipynb").ends_with(b"}\n"));
    let ran = env.run(&["read", "gone.ipynb"]).exits(5);
    assert!(ran.stderr.starts_with("error: File not found: gone.ipynb\nhint: "), "{}", ran.stderr);
    let ran = env.run_with(&["write", "gone.ipynb"], "").exits(2);
    assert_eq!(
        ran.stderr,
        "error: gone.ipynb does not exist and the text is empty, so there is nothing to \
         write\nhint: check the path, or create the notebook with 'inkcell new gone.ipynb'\n"
    );
    let ran = env.run_with(&["write", "notes.txt"], "# %% [code]\nx").exits(2);
    assert_eq!(
        ran.stderr,
        "error: \"notes.txt\" does not end in .ipynb, so nothing would open it as a notebook\nhint: use \
         notes.txt.ipynb\n"
    );
    assert_eq!(env.names(), ["new.ipynb"]);
}

/// B:V-16 B:V-17
#[test]
fn what_is_no_notebook_is_refused_and_kept() {
    let cell = r#"{"cell_type": "raw", "metadata": {}, "source": "x"}"#;
    let table = [
        ("[]".to_owned(), "Invalid notebook structure (expected object): nb.ipynb"),
        ("{}".to_owned(), "Invalid notebook structure (missing cells array): nb.ipynb"),
        ("{\"cells\": [".to_owned(), "Invalid JSON in notebook: nb.ipynb: line 1, column 12"),
        (
            format!("{{\"cells\": [{cell}, 7], \"nbformat\": 4}}"),
            "Invalid notebook cell 1 in nb.ipynb",
        ),
    ];
    for (bytes, wanted) in table {
        let env = env();
        env.put("nb.ipynb", &bytes);
        for ran in
            [env.run(&["read", "nb.ipynb"]), env.run_with(&["write", "nb.ipynb"], "# %% [raw]\nx")]
        {
            let ran = ran.exits(2);
            assert!(ran.stderr.starts_with(&format!("error: {wanted}")), "{}", ran.stderr);
        }
        assert_eq!(env.get("nb.ipynb"), bytes.as_bytes());
    }
}

/// B:V-24
#[test]
fn the_json_of_a_notebook_is_stored_as_it_is() {
    let env = env();
    env.put("nb.ipynb", small());
    for (name, bytes) in odd() {
        let Ok(text) = std::str::from_utf8(&bytes) else { continue };
        // A replacement may be invalid if the notebook that it replaces is invalid, too.
        env.put("nb.ipynb", "{\"cells\": []}");
        let ran = env.run_with(&["write", "nb.ipynb"], text);
        if ran.code == Some(0) {
            assert_eq!(env.get("nb.ipynb"), bytes, "{name}");
        } else {
            assert!(ran.stderr.contains("Invalid notebook cell"), "{name}: {}", ran.stderr);
        }
    }
    env.put("nb.ipynb", small());
    let table = [
        (
            "{\"cells\": [",
            "error: the text for nb.ipynb is not a notebook: it begins like the JSON of a \
             notebook, but line 1",
        ),
        ("{\"x\": 1}", "error: Invalid notebook structure (missing cells array): nb.ipynb"),
        ("{\"cells\": [1]}", "error: Invalid notebook cell 0 in nb.ipynb"),
        ("[1]", "error: Invalid notebook editable representation for nb.ipynb: "),
    ];
    for (text, wanted) in table {
        let ran = env.run_with(&["write", "nb.ipynb"], text).exits(2);
        assert!(ran.stderr.starts_with(wanted), "{}", ran.stderr);
        assert_eq!(env.get("nb.ipynb"), small().as_bytes());
    }
}

/// B:V-11: outputs stay although the source changed, unless an option says otherwise.
#[test]
fn outputs_stay_unless_they_are_to_be_cleared() {
    for (flag, kept) in [(None, true), (Some("--clear-changed"), false)] {
        let env = env();
        env.put("nb.ipynb", rich());
        let text = env.run(&["read", "nb.ipynb"]).ok().stdout.replace("x = 1", "x = 2");
        let args: Vec<&str> = ["write", "nb.ipynb"].into_iter().chain(flag).collect();
        env.run_with(&args, text).ok();
        let now = String::from_utf8(env.get("nb.ipynb")).expect("text");
        assert!(now.contains("x = 2"));
        assert_eq!(now.contains("ValueError"), kept);
    }
}

/// A text is compared with the version from which it was made.
#[test]
fn an_older_text_is_merged_or_refused() {
    let env = env();
    env.put("nb.ipynb", rich());
    let read = env.run(&["read", "nb.ipynb"]).ok();
    let version =
        read.stderr.split("version ").nth(1).expect("shown").split(',').next().expect("one");
    env.run(&["edit", "nb.ipynb", "insert", "--at", "start", "--source", "top"]).ok();
    let args = ["write", "nb.ipynb", "--hash", version];
    let ran = env.run_with(&args, read.stdout.replace("prose", "verse")).ok();
    let note = format!(
        "  Note: merged with changes that others made to other cells since version {version}\n"
    );
    assert!(ran.stdout.contains(&note), "{}", ran.stdout);
    let now = env.run(&["read", "nb.ipynb", "--no-ids"]).ok().stdout;
    assert!(now.starts_with("# %% [code] cell:0\ntop\n") && now.contains("Some verse."), "{now}");
    let ran = env.run_with(&args, read.stdout.replace("prose", "other")).exits(4);
    assert!(ran.stderr.contains("cell 0 (id intro-md) was changed"), "{}", ran.stderr);
    assert_eq!(env.run(&["read", "nb.ipynb", "--no-ids"]).ok().stdout, now);
}

#[test]
fn text_that_is_no_text_is_refused() {
    let env = env();
    env.put("nb.ipynb", rich());
    let ran = env.run_with(&["write", "nb.ipynb"], b"# %% [raw]\n\xff\xfe").exits(2);
    assert_eq!(
        ran.stderr,
        "error: standard input: it is not UTF-8 text (byte 11); convert it first\n"
    );
    assert_eq!(env.get("nb.ipynb"), rich().as_bytes());
}
