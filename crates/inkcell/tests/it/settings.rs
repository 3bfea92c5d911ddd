//! Settings: the precedence of sources, and the errors about wrong values.

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use serde_json::Value;

use crate::env;

const PROJECT: &str = ".inkcell/config.toml";
const USER: &str = ".config/inkcell/config.toml";

fn put(env: &TestEnv, name: &str, text: &str) {
    let path = env.path(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    env.put(name, text);
}

fn with(env: &TestEnv, args: &[&str], variables: &[(&str, &str)]) -> CommandOutput {
    let mut command = env.inkcell();
    command.args(args).envs(variables.iter().copied());
    finish(command, b"")
}

/// The value of a setting and its origin.
fn setting(env: &TestEnv, name: &str, variables: &[(&str, &str)]) -> (String, String) {
    let ran = with(env, &["settings", name, "--json"], variables).ok();
    let said: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let row = &said["settings"][0];
    assert_eq!(row["name"], name);
    let source = row["source"].as_str().expect("a source").to_owned();
    (row["value"].to_string(), env.redact(&source))
}

/// B:C-08
#[test]
fn sources_count_in_their_order() {
    let env = env();
    let shell = |variables: &[(&str, &str)]| setting(&env, "python.shell", variables);
    let pair = |value: &str, source: &str| (format!("{value:?}"), source.to_owned());
    assert_eq!(shell(&[]), pair("lite", "default"));
    put(&env, USER, "[python]\nshell = 'ipython'\n");
    assert_eq!(shell(&[]), pair("ipython", "[tmp]/work/.config/inkcell/config.toml"));
    put(&env, PROJECT, "python.shell = 'lite'\n");
    assert_eq!(shell(&[]), pair("lite", "[tmp]/work/.inkcell/config.toml"));
    let theirs = ("PI_PYTHON_SHELL", "ipython");
    assert_eq!(shell(&[theirs]), pair("ipython", "PI_PYTHON_SHELL"));
    let ours = ("INKCELL_PYTHON_SHELL", "lite");
    assert_eq!(shell(&[theirs, ours]), pair("lite", "INKCELL_PYTHON_SHELL"));
    // Another file in the place of the user's own.
    std::fs::remove_dir_all(env.path(".inkcell")).expect("it was there");
    put(&env, "other.toml", "");
    assert_eq!(shell(&[("INKCELL_CONFIG", "other.toml")]), pair("lite", "default"));
    assert_eq!(shell(&[("INKCELL_CONFIG", "/dev/null")]), pair("lite", "default"));
}

/// B:C-08 F-028
#[test]
fn what_a_file_says_wrong_is_told_with_its_line() {
    let env = env();
    let table = [
        (
            "\npython.shel = 'lite'",
            "config.toml:2: no setting named 'python.shel'; did you mean python.shell?\n",
        ),
        (
            "[python]\nshell = 'bash'",
            "config.toml:2: python.shell is \"bash\"; it takes lite or ipython\n",
        ),
        (
            "kernel.interrupt_grace = 'long'",
            "config.toml:1: kernel.interrupt_grace is \"long\"; it takes a number of seconds above 0",
        ),
        ("[python", "config.toml:1: not valid TOML: "),
        ("\u{0}", "config.toml:1: not valid TOML: "),
    ];
    for name in [USER, PROJECT] {
        for (text, wanted) in table {
            put(&env, name, text);
            let ran = env.run(&["settings"]).exits(2);
            assert!(ran.stderr.contains(wanted), "{text:?}: {}", ran.stderr);
            assert!(ran.stderr.starts_with("error: /"), "{}", ran.stderr);
        }
        std::fs::write(env.path(name), b"\xff\n").expect("a file");
        let ran = env.run(&["settings"]).exits(2);
        assert!(ran.stderr.ends_with("config.toml: is not UTF-8 text\n"), "{}", ran.stderr);
        std::fs::remove_file(env.path(name)).expect("it was there");
    }
    let ran = with(&env, &["settings"], &[("INKCELL_CONFIG", "/no/such.toml")]).exits(2);
    let wanted = "error: INKCELL_CONFIG: names /no/such.toml, which does not exist\n";
    assert_eq!(ran.stderr, wanted);
    let ran = with(&env, &["settings"], &[("PI_KERNEL_ZYGOTE", "maybe")]).exits(2);
    assert_eq!(ran.stderr, "error: PI_KERNEL_ZYGOTE: is \"maybe\"; it takes on or off\n");
    let ran = env.run(&["settings", "nope"]).exits(2);
    assert!(ran.stderr.contains("no setting starts with 'nope'"), "{}", ran.stderr);
}

/// B:C-08: a project cannot widen the access of its code.
#[test]
fn a_project_cannot_pass_variables() {
    let env = env();
    put(
        &env,
        PROJECT,
        "[env]\npass = ['MY_OWN']\nmode = 'inherit'\n[state]\ndir = '/tmp/theirs'\n",
    );
    let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let code = "import os; print(os.environ.get('MY_OWN'))";
    let args = ["py", "--python", &python, code];
    let variables = [("MY_OWN", "mine"), ("INKCELL_ENV_MODE", "filtered")];
    let ran = with(&env, &args, &variables).ok();
    assert_eq!(ran.stdout, "None\n");
    for name in ["env.pass", "env.mode", "state.dir"] {
        let wanted =
            format!(": {name} cannot be set in a project's file; set it in your own settings\n");
        assert!(ran.stderr.contains(&wanted), "{}", ran.stderr);
    }
    assert!(ran.stderr.lines().all(|line| line.starts_with("warning: ")), "{}", ran.stderr);
    // The user's own file and the environment can.
    put(&env, USER, "env.pass = ['MY_OWN']\n");
    assert_eq!(with(&env, &args, &variables).ok().stdout, "mine\n");
    std::fs::remove_file(env.path(USER)).expect("it was there");
    let more = [variables[0], variables[1], ("INKCELL_ENV_PASS", "OTHER, MY_*")];
    assert_eq!(with(&env, &args, &more).ok().stdout, "mine\n");
}

/// B:E-10: a relative interpreter begins at the folder of the project, wherever the code works.
#[test]
fn a_projects_interpreter_begins_at_its_folder() {
    let env = env();
    put(&env, PROJECT, "python.interpreter = './tools/python'\n");
    std::fs::create_dir_all(env.path("sub/deep")).expect("folders");
    std::fs::create_dir(env.path(".git")).expect("a work tree");
    std::fs::create_dir(env.path("tools")).expect("a folder");
    let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = format!("#!/bin/sh\nexec '{python}' \"$@\"\n");
    env.put("tools/python", script);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(env.path("tools/python"), mode).expect("a program");
    let mut command = env.inkcell();
    command.args(["env", "--json"]).current_dir(env.path("sub/deep"));
    let said: Value = serde_json::from_str(&finish(command, b"").ok().stdout).expect("JSON");
    let found = env.redact(said["python"]["found_at"].as_str().expect("a path"));
    assert_eq!(found, "[tmp]/work/./tools/python");
    let reason = env.redact(said["python"]["reason"].as_str().expect("a reason"));
    assert_eq!(reason, "python.interpreter is set by [tmp]/work/.inkcell/config.toml");
}

/// Every setting has its line, and the JSON answer has all its details.
#[test]
fn every_setting_is_listed() {
    let env = env();
    let ran = env.run(&["settings"]).ok();
    let said: Value =
        serde_json::from_str(&env.run(&["settings", "--json"]).ok().stdout).expect("JSON");
    let rows = said["settings"].as_array().expect("a list");
    assert_eq!(ran.stdout.lines().count(), rows.len());
    for row in rows {
        let name = row["name"].as_str().expect("a name");
        assert!(ran.stdout.lines().any(|line| line.starts_with(name)), "{name}");
        for key in ["allowed", "about", "source"] {
            assert!(row[key].as_str().is_some_and(|text| !text.is_empty()), "{name}: {key}");
        }
    }
    let words: Vec<String> = ran
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert!(words.contains(&"kernel.interrupt_grace 3 (default)".to_owned()), "{}", ran.stdout);
}

/// B:C-08 S-020: a token is taken from the user alone, is never shown, and no code gets it.
#[test]
fn a_token_is_not_shown() {
    let env = env();
    let token = "hunter2hunter2";
    put(&env, USER, &format!("gateway.token = '{token}'\n"));
    let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let code = "import os; print(sorted(os.environ.items()))";
    let commands: [&[&str]; 6] = [
        &["settings"],
        &["settings", "--json"],
        &["env", "--python", &python],
        &["env", "--json", "--python", &python],
        &["py", "--python", &python, "--env-all", code],
        &["py", "--python", &python, "--env-all", "--json", code],
    ];
    let names = ["INKCELL_GATEWAY_TOKEN", "PI_PYTHON_GATEWAY_TOKEN"];
    for args in commands {
        for variables in [vec![], names.map(|name| (name, token)).to_vec()] {
            let ran = with(&env, args, &variables).ok();
            for said in [&ran.stdout, &ran.stderr] {
                assert!(!said.contains(token), "{args:?}: {said}");
            }
        }
    }
    let (value, _) = setting(&env, "gateway.token", &[]);
    assert_eq!(value, "\"(set, not shown)\"");
    // The error about a wrong token, or the warning about a project's token, does not repeat it.
    put(&env, USER, "gateway.token = 4711\ngateway.url = 'http://a/?token=4711'\n");
    let ran = env.run(&["settings"]).exits(2);
    assert!(!ran.stderr.contains("4711"), "{}", ran.stderr);
    std::fs::remove_file(env.path(USER)).expect("it was there");
    let text = format!("[gateway]\ntoken = '{token}'\nurl = 'http://theirs.example/{token}'\n");
    put(&env, PROJECT, &text);
    let ran = env.run(&["settings"]).ok();
    assert!(!ran.stdout.contains(token) && !ran.stderr.contains(token), "{}", ran.stderr);
    for name in ["gateway.token", "gateway.url"] {
        let wanted =
            format!(": {name} cannot be set in a project's file; set it in your own settings\n");
        assert!(ran.stderr.contains(&wanted), "{}", ran.stderr);
        assert_eq!(setting(&env, name, &[]), ("null".to_owned(), "default".to_owned()));
    }
}

/// B:C-08: a variable with a name close to one of ours causes a warning, and has no effect.
#[test]
fn a_misspelt_variable_is_told() {
    let env = env();
    let ran = with(&env, &["settings", "python.shell"], &[("INKCELL_PYTHON_SHEL", "ipython")]).ok();
    let wanted = "warning: INKCELL_PYTHON_SHEL sets nothing; did you mean INKCELL_PYTHON_SHELL?\n";
    assert_eq!(ran.stderr, wanted);
    assert_eq!(ran.stdout, "python.shell  lite  (default)\n");
    let others = [("INKCELL_MY_OWN_THING", "1"), ("PI_PYTHON_SHEL", "ipython")];
    assert_eq!(with(&env, &["settings", "python.shell"], &others).ok().stderr, "");
}

/// B:C-01 B:C-06: the spellings of the source documents and ours are equivalent.
#[test]
fn words_are_joined_either_way() {
    let env = env();
    for text in ["python.toolMode = 'ipy-only'\n", "[python]\ntool_mode = 'ipy-only'\n"] {
        put(&env, USER, text);
        assert_eq!(setting(&env, "python.toolMode", &[]).0, "\"ipy-only\"");
        let source = setting(&env, "python.toolMode", &[("PI_PY", "0")]);
        assert_eq!(source, ("\"bash-only\"".to_owned(), "PI_PY".to_owned()));
    }
    put(&env, USER, "[python]\ntoolMode = 'both'\ntool_mode = 'ipy-only'\n");
    let ran = env.run(&["settings"]).exits(2);
    let wanted = "python.toolMode is given twice, in two spellings\n";
    assert!(ran.stderr.ends_with(wanted), "{}", ran.stderr);
    put(&env, USER, "python.toolMod = 'both'\n");
    let ran = env.run(&["settings"]).exits(2);
    let wanted = "no setting named 'python.toolMod'; did you mean python.toolMode?\n";
    assert!(ran.stderr.ends_with(wanted), "{}", ran.stderr);
}

/// B:C-08: only the user can set roots, not a project.
#[test]
fn roots_can_be_set() {
    let env = env();
    std::fs::create_dir(env.path("in")).expect("a folder");
    env.put("in/a.ipynb", inkcell_testkit::notebooks::small());
    env.put("b.ipynb", inkcell_testkit::notebooks::small());
    put(&env, PROJECT, "notebook.roots = ['nowhere']\n");
    let ran = env.run(&["read", "b.ipynb"]).ok();
    assert!(ran.stderr.contains("notebook.roots cannot be set in a project's file"));
    std::fs::remove_file(env.path(PROJECT)).expect("it was there");
    put(&env, USER, "notebook.roots = ['in']\n");
    env.run(&["read", "in/a.ipynb"]).ok();
    let ran = env.run(&["read", "b.ipynb"]);
    assert_ne!(ran.code, Some(0), "{}", ran.stdout);
}
