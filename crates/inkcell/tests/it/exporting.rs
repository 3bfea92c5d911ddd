//! `inkcell new` and `inkcell to`.

use std::process::Command;

use inkcell_testkit::env::finish;
use inkcell_testkit::need::{self, skip, succeeds};
use inkcell_testkit::notebooks::jupyter;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env;
use crate::samples::rich;

#[test]
fn a_new_notebook_is_empty_and_valid() {
    let env = env();
    let ran = env.run(&["new", "nb.ipynb"]).ok();
    assert_eq!(
        env.redact(&ran.stdout),
        "✓ Notebook created\n  Notebook: nb.ipynb\n  Version: [version]\n"
    );
    let made: Value = serde_json::from_slice(&env.get("nb.ipynb")).expect("JSON");
    assert_eq!((&made["cells"], &made["nbformat"]), (&json!([]), &json!(4)));
    assert_eq!(made["metadata"]["kernelspec"]["language"], "python");
    assert_eq!(made["metadata"]["language_info"]["name"], "python");
    let before = env.get("nb.ipynb");
    let ran = env.run(&["new", "nb.ipynb"]).exits(4);
    assert_eq!(
        ran.stderr,
        "error: nb.ipynb already exists\nhint: choose another name, or edit the file with \
         'inkcell edit nb.ipynb ...'\n"
    );
    assert_eq!(env.get("nb.ipynb"), before);
    env.run(&["new", "notes.txt"]).exits(2);
    env.run(&["new", "no/such/folder/nb.ipynb"]).exits(5);
    assert_eq!(env.names(), ["nb.ipynb"]);
}

#[test]
fn a_new_notebook_can_name_its_kernel() {
    let env = env();
    env.run(&["new", "nb.IPYNB", "--kernel", "python3"]).ok();
    let made: Value = serde_json::from_slice(&env.get("nb.IPYNB")).expect("JSON");
    assert_eq!(made["metadata"]["kernelspec"]["name"], "python3");
}

/// Issue 21, 11: every way to create a notebook makes one that papermill can run. Commands that create one do not run
/// the folder's Python.
#[test]
fn new_notebooks_say_which_kernel_they_are_for() {
    let env = env();
    std::fs::create_dir_all(env.path(".venv/bin")).expect("made");
    env.put(".venv/bin/python", "#!/bin/sh\necho ran > ran.txt\n");
    env.put(".venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.12.3\n");
    let runnable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(env.path(".venv/bin/python"), runnable).expect("set");
    let without = |args: &[&str], input: &str| {
        let mut command = env.inkcell();
        command.args(args);
        for name in ["INKCELL_PYTHON_INTERPRETER", "VIRTUAL_ENV", "CONDA_PREFIX"] {
            command.env_remove(name);
        }
        finish(command, input).ok();
    };
    let text = "# %% [code]\nx = 1";
    let insert = json!({"new_source": "x", "cell_type": "code", "edit_mode": "insert"});
    let by_id = json!({"notebook_path": "id.ipynb", "create": true, "edits": [insert]}).to_string();
    let own = json!({"path": "own.ipynb", "create": true}).to_string();
    let edit = json!({"path": "edit.ipynb", "old_text": "", "new_text": text}).to_string();
    without(&["new", "new.ipynb"], "");
    without(&["write", "write.ipynb"], text);
    assert!(!env.path("ran.txt").exists(), "an interpreter was run");
    without(&["tool", "NotebookEdit", &by_id], "");
    without(&["tool", "notebook_edit", &own], "");
    without(&["tool", "edit", &edit], "");
    let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let papermill = need::python_package(
        "new_notebooks_say_which_kernel_they_are_for",
        python.as_ref(),
        "papermill",
    );
    for name in ["new", "write", "id", "own", "edit"] {
        let file = format!("{name}.ipynb");
        let made: Value = serde_json::from_slice(&env.get(&file)).expect("JSON");
        assert_eq!(made["metadata"]["kernelspec"]["name"], "python3", "{name}");
        assert_eq!(made["metadata"]["language_info"]["version"], "3.12.3", "{name}");
        if papermill {
            let ask = "import sys\nfrom papermill.iorw import load_notebook_node\n\
                       from papermill.utils import nb_kernel_name, nb_language\n\
                       nb = load_notebook_node(sys.argv[1])\n\
                       print(nb_kernel_name(nb), nb_language(nb))";
            let mut command = Command::new(&python);
            command.args(["-c", ask]).arg(env.path(&file));
            assert_eq!(finish(command, "").ok().stdout, "python3 python\n", "{name}");
        }
    }
}

/// Issue 21, 11: nbconvert exports a new notebook in the language of its kernel.
#[test]
fn new_notebooks_have_a_language_for_nbconvert() {
    let test = "new_notebooks_have_a_language_for_nbconvert";
    let python = need::named_python(test, "INKCELL_TEST_JUPYTER_PYTHON", "nbconvert");
    let Some(python) = python else { return };
    let env = env();
    env.run(&["new", "new.ipynb"]).ok();
    let ask = "import sys\nfrom nbconvert import ScriptExporter\n\
               text, resources = ScriptExporter().from_filename(sys.argv[1])\n\
               print(resources['output_extension'])";
    let mut command = env.command(&python);
    command.args(["-c", ask]).arg(env.path("new.ipynb"));
    assert_eq!(finish(command, "").ok().stdout, ".py\n");
}

#[test]
fn a_notebook_becomes_a_script() {
    let env = env();
    env.put("nb.ipynb", rich());
    assert_snapshot!(env.run(&["to", "script", "nb.ipynb"]).ok().stdout, @r"
    # %% [markdown]
    # # Title
    #
    # Some prose.

    # %%
    x = 1
    print(x)

    # %% [raw]
    ");
    let ran = env.run(&["to", "script", "nb.ipynb", "-o", "nb.py"]).ok();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", "wrote nb.py\n"));
    assert_eq!(env.get("nb.py"), env.run(&["to", "script", "nb.ipynb"]).ok().bytes);
    let piped = env.run(&["to", "script", "nb.ipynb", "-o", "-"]).ok();
    assert_eq!((piped.bytes, piped.stderr.as_str()), (env.get("nb.py"), ""));
    assert_eq!(env.names(), ["nb.ipynb", "nb.py"]);
    // The notebook itself is never the destination of its script.
    env.run(&["to", "script", "nb.ipynb", "-o", "./nb.ipynb"]).exits(2);
    assert_eq!(env.get("nb.ipynb"), rich().as_bytes());
}

/// An exported script runs wherever Python does: prose, magics and odd sources become comments.
#[test]
fn the_script_runs() {
    if !succeeds("python3", &["-c", "pass"]) {
        return skip("the_script_runs", "python3 is not here");
    }
    let env = env();
    let nb = jupyter(&[
        ("markdown", "m-1", "# Title\n\n\"\"\"quoted\"\"\" and \\ backslash\r\nwith CR"),
        ("code", "c-1", "import json\nx = json.loads('[1, 2]')"),
        ("code", "c-2", "%matplotlib inline\n!ls\nprint(sum(x))"),
        ("raw", "r-1", "this is (not python"),
        ("code", "c-3", "%%bash\necho 'not python'\nexit 1"),
        ("code", "c-4", "if x:\n    print('é \u{1f600}')\n"),
    ]);
    env.put("nb.ipynb", nb);
    env.run(&["to", "script", "nb.ipynb", "-o", "nb.py"]).ok();
    let mut command = env.command("python3");
    command.arg("nb.py").env("PYTHONIOENCODING", "utf-8");
    let ran = finish(command, b"");
    let script = String::from_utf8_lossy(&env.get("nb.py")).into_owned();
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "3\né \u{1f600}\n"),
        "{}\n{script}",
        ran.stderr
    );
}

#[test]
fn a_notebook_becomes_markdown() {
    let env = env();
    env.put("nb.ipynb", rich());
    let full = env.run(&["to", "markdown", "nb.ipynb"]).ok().stdout;
    assert!(
        full.starts_with(
            "# Title\n\nSome prose.\n\n```python\nx = 1\nprint(x)\n```\n\n```text\nhi\ntwo\n```\n"
        ),
        "{full}"
    );
    assert!(!full.contains('\u{1b}'), "{full}");
    let none = env.run(&["to", "markdown", "nb.ipynb", "--outputs", "none"]).ok().stdout;
    assert!(!none.contains("ValueError") && none.contains("print(x)"), "{none}");
    // A fence in the source does not end the block.
    env.put("fence.ipynb", jupyter(&[("code", "aaaa", "s = '''\n```\n'''")]));
    let text = env.run(&["to", "markdown", "fence.ipynb", "--outputs", "none"]).ok().stdout;
    assert!(text.starts_with("````python\n"), "{text}");
}

/// A script has no outputs, so a choice of them is refused.
#[test]
fn a_script_takes_no_choice_of_outputs() {
    let env = env();
    env.put("nb.ipynb", rich());
    let ran = env.run(&["to", "script", "nb.ipynb", "--outputs", "full"]).exits(2);
    assert_eq!(ran.stderr, "error: --outputs: a script has no outputs; remove this\n");
    let all = env.run(&["to", "markdown", "nb.ipynb"]).ok().stdout;
    assert_eq!(env.run(&["to", "markdown", "nb.ipynb", "--outputs", "full"]).ok().stdout, all);
}

#[test]
fn a_kernel_has_a_name() {
    let env = env();
    for name in ["", " "] {
        let ran = env.run(&["new", "nb.ipynb", "--kernel", name]).exits(2);
        assert!(
            ran.stderr.starts_with("error: --kernel: give the name of a kernel"),
            "{}",
            ran.stderr
        );
    }
    assert!(env.names().is_empty());
}
