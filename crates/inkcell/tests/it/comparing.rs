//! `inkcell diff`: two files, or a file and its last commit.

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use inkcell_testkit::need::skip;
use insta::assert_snapshot;

use crate::env;
use crate::reading::{assert_screen, screen};
use crate::samples::rich;

/// Git in the working folder, which becomes a repository of its own.
pub(crate) fn git(env: &TestEnv, args: &[&str]) -> CommandOutput {
    let mut command = env.command("git");
    command.args(["-c", "user.name=Test", "-c", "user.email=test@example.org"]).args(args);
    command.env("GIT_CONFIG_NOSYSTEM", "1");
    finish(command, b"").ok()
}

pub(crate) fn has_git(env: &TestEnv) -> bool {
    let mut command = env.command("git");
    command.args(["init", "-q"]).stdin(std::process::Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

pub(crate) fn commit(env: &TestEnv) {
    git(env, &["add", "."]);
    git(env, &["commit", "-q", "-m", "x"]);
}

#[test]
fn two_notebooks_are_compared_by_cell() {
    let env = env();
    env.put("a.ipynb", rich());
    env.put("b.ipynb", rich());
    let same = env.run(&["diff", "a.ipynb", "b.ipynb", "--exit-code"]).ok();
    assert_eq!(same.stdout, "");
    let ops = r#"[{"op": "replace", "cell": 1, "source": "x = 2\nprint(x)", "outputs": "keep"},
                  {"op": "move", "cell": 0, "at": "end"}, {"op": "insert", "source": "new"}]"#;
    env.run_with(&["edit", "b.ipynb", "--ops", "-"], ops).ok();
    let outline = env.run(&["read", "b.ipynb", "--outline", "--json"]).ok().stdout;
    let outline: serde_json::Value = serde_json::from_str(&outline).expect("JSON");
    let id = outline["cells"][3]["id"].as_str().expect("an id").to_owned();
    let ran = env.run(&["diff", "a.ipynb", "b.ipynb"]).ok();
    assert_snapshot!(ran.stdout.replace(&id, "[id]"), @r"
    ~ cell 0 (id aaaa1111) [code] was 1
      @@ -1,2 +1,2 @@
      -x = 1
      +x = 2
       print(x)
    ~ cell 2 (id intro-md) [markdown] moved from 0
    + cell 3 (id [id]) [code] added
      +new
    ");
    let back = env.run(&["diff", "b.ipynb", "a.ipynb", "--sources"]).ok();
    assert!(
        back.stdout.contains(&format!("- cell 3 (id {id}) [code] removed\n  -new\n")),
        "{}",
        back.stdout
    );
    env.run(&["diff", "a.ipynb", "b.ipynb", "--exit-code"]).exits(1);
}

#[test]
fn outputs_can_be_left_out_and_layout_is_mentioned() {
    let env = env();
    env.put("a.ipynb", rich());
    env.run(&["clean", "a.ipynb", "-o", "b.ipynb"]).ok();
    env.run(&["diff", "a.ipynb", "b.ipynb", "--exit-code"]).exits(1);
    env.run(&["diff", "a.ipynb", "b.ipynb", "--exit-code", "--sources"]).ok();
    env.put("c.ipynb", rich().trim_end());
    let ran = env.run(&["diff", "a.ipynb", "c.ipynb", "--exit-code"]).exits(1);
    assert_eq!(ran.stdout, "the same cells and metadata, laid out or spelled differently\n");
    let ran = env.run(&["diff", "a.ipynb", "b.ipynb", "--json"]).ok();
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(said["cells"][0]["change"], "changed");
    assert_eq!(said["cells"][0]["outputs"]["new"], serde_json::json!([]));
}

#[test]
fn a_notebook_is_compared_with_its_last_commit() {
    let env = env();
    if !has_git(&env) {
        return skip("a_notebook_is_compared_with_its_last_commit", "git is not here");
    }
    std::fs::create_dir(env.path("sub")).expect("a folder");
    env.put("sub/nb.ipynb", rich());
    let ran = env.run(&["diff", "sub/nb.ipynb"]).exits(2);
    assert!(ran.stderr.starts_with("error: B: sub/nb.ipynb is in no commit ("), "{}", ran.stderr);
    commit(&env);
    assert_eq!(env.run(&["diff", "sub/nb.ipynb", "--exit-code"]).ok().stdout, "");
    env.run(&["edit", "sub/nb.ipynb", "sub", "0", "--old", "prose", "--new", "verse"]).ok();
    let ran = env.run(&["diff", "sub/nb.ipynb", "--exit-code"]).exits(1);
    assert_snapshot!(ran.stdout, @r"
    ~ cell 0 (id intro-md) [markdown]
      @@ -1,3 +1,3 @@
       # Title
       
      -Some prose.
      +Some verse.
    ");
}

#[test]
fn without_git_a_second_notebook_is_asked_for() {
    let env = env();
    env.put("nb.ipynb", rich());
    let mut command = env.inkcell();
    command.args(["diff", "nb.ipynb"]).env("PATH", env.outside("nothing"));
    let ran = finish(command, b"").exits(2);
    assert!(ran.stderr.contains("give a second notebook to compare with"), "{}", ran.stderr);
}

/// Issue 24: on a terminal a difference is red and green, and the words that changed are marked.
#[test]
fn differences_have_colours_on_a_terminal() {
    let env = env();
    env.put("a.ipynb", rich());
    env.put("b.ipynb", rich());
    let ops = r#"[{"op": "replace", "cell": 1, "source": "x = 2\nprint(x)", "outputs": "keep"},
                  {"op": "delete", "cell": 2}]"#;
    env.run_with(&["edit", "b.ipynb", "--ops", "-"], ops).ok();
    let diff = |more: &[&str]| {
        let mut command = env.inkcell();
        command.args(["diff", "a.ipynb", "b.ipynb"]).args(more);
        command
    };
    let piped = env.run(&["diff", "a.ipynb", "b.ipynb"]).ok().stdout;
    assert!(!piped.contains('\u{1b}'), "{piped:?}");
    for columns in [40, 80, 200] {
        let (text, bytes) = screen(diff(&[]), columns, &[]);
        assert_screen(&format!("diff_{columns}"), &text);
        for part in [
            "\u{1b}[31m  -x = \u{1b}[0m\u{1b}[7;31m1\u{1b}[0m",
            "\u{1b}[32m  +x = \u{1b}[0m\u{1b}[7;32m2\u{1b}[0m",
            "\u{1b}[31m- cell 2",
        ] {
            assert!(bytes.contains(part), "{part:?} in {bytes:?}");
        }
    }
    for plain in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let (_, bytes) = screen(diff(&[]), 80, &[plain]);
        assert_eq!(bytes, piped, "{plain:?}");
    }
    let (_, bytes) = screen(diff(&["--json"]), 80, &[]);
    assert!(!bytes.contains('\u{1b}'), "{bytes:?}");
}
