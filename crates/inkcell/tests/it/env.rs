//! `inkcell env`: which Python, and why.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use inkcell_testkit::env::{TestEnv, finish};
use inkcell_testkit::notebooks::small;
use serde_json::Value;

use crate::env;

/// A program that leaves a mark when it is started, and is not a Python.
fn put_program(env: &TestEnv, name: &str, mark: &Path) {
    let path = env.path(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    env.put(name, format!("#!/bin/sh\ntouch '{}'\nexit 3\n", mark.display()));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a program");
}

fn json(env: &TestEnv, args: &[&str]) -> Value {
    let all: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    serde_json::from_str(&env.run(&all).ok().stdout).expect("JSON")
}

/// B:E-10 B:E-11 B:E-12
#[test]
fn the_choice_and_what_was_passed_over_are_told() {
    let env = env();
    let mark = env.outside("mark");
    put_program(&env, ".venv/bin/python", &mark);
    std::fs::create_dir(env.path("venv")).expect("a folder");
    let said = json(&env, &["env"]);
    let reason = said["python"]["reason"].as_str().expect("a reason");
    assert!(reason.ends_with(" on PATH"), "{reason}");
    assert!(said["python"]["version"].as_str().is_some_and(|version| version.starts_with("3.")));
    let skipped = said["python"]["skipped"].as_array().expect("a list");
    let whys: Vec<&str> = skipped.iter().filter_map(|skipped| skipped["why"].as_str()).collect();
    assert_eq!(whys, ["no interpreter in it", "exit code 3"]);
    assert!(mark.exists(), "it was asked");
    let ran = env.run(&["env"]).ok();
    assert!(ran.stdout.contains("\nPassed over:\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("(found .venv in the working directory): exit code 3\n"));
    assert!(ran.stdout.contains("\nModules: none\n"), "{}", ran.stdout);
}

/// S-026: reading and editing run no interpreter, whatever a repository contains.
#[test]
fn reading_and_editing_start_no_python() {
    let env = env();
    let mark = env.outside("mark");
    put_program(&env, ".venv/bin/python", &mark);
    put_program(&env, "python3", &mark);
    std::fs::create_dir(env.path(".inkcell")).expect("a folder");
    env.put(".inkcell/config.toml", "python.interpreter = './python3'\n");
    env.put("nb.ipynb", small());
    let commands: [&[&str]; 6] = [
        &["read", "nb.ipynb"],
        &["edit", "nb.ipynb", "clear"],
        &["diff", "nb.ipynb", "nb.ipynb"],
        &["clean", "nb.ipynb"],
        &["to", "script", "nb.ipynb"],
        &["settings"],
    ];
    for args in commands {
        env.run(args).ok();
        assert!(!mark.exists(), "{args:?} started a program");
    }
    // Only the named one is tried, without a fallback.
    let ran = env.run(&["env"]).exits(3);
    assert!(ran.stderr.contains("python3 (exit code 3)"), "{}", ran.stderr);
    assert!(mark.exists());
}

/// B:E-50
#[test]
fn modules_and_settings_are_listed() {
    let env = env();
    std::fs::create_dir_all(env.path("sub/.inkcell/modules")).expect("a folder");
    env.put("sub/.inkcell/modules/mine.py", "");
    env.put("sub/.inkcell/config.toml", "python.prelude = 'minimal'\n");
    let said = json(&env, &["env", "--cwd", "sub"]);
    assert_eq!(said["modules"][0]["name"], "mine");
    assert_eq!(said["settings"]["python.prelude"]["value"], "minimal");
    let ran = env.run(&["env", "--cwd", "sub"]).ok();
    assert!(ran.stdout.contains("\nShell: lite; prelude: minimal\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n  mine ("), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n  python.prelude = minimal ("), "{}", ran.stdout);
    assert!(env.run(&["env"]).ok().stdout.contains("\nModules: none\n"));
}

#[test]
fn a_setup_that_cannot_be_is_told() {
    let env = env();
    let ran = env.run(&["env", "setup", "--python", "./no"]).exits(3);
    assert!(
        ran.stderr.starts_with("error: No working Python interpreter found."),
        "{}",
        ran.stderr
    );
    let ran = env.run(&["env", "setup", "--", "--upgrade"]).exits(2);
    assert!(ran.stderr.contains("error: \"--upgrade\" is not a package name\n"));
    assert!(ran.stderr.contains("\nhint: Name packages as pip takes them"), "{}", ran.stderr);
    assert!(!env.state().join("python-env").exists());
}

/// The managed environment is chosen once it exists.
#[test]
fn the_managed_environment_is_made_and_chosen() {
    let env = env();
    // Stands for uv: an environment without packages, and an installer that puts one file there.
    let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    std::fs::create_dir(env.path("bin")).expect("a folder");
    let uv = "#!/bin/sh\n\
              case \"$1\" in\n\
              venv) for last; do :; done; exec \"$TEST_PYTHON\" -m venv --without-pip \"$last\";;\n\
              *) echo installing; exit 0;;\n\
              esac\n";
    env.put("bin/uv", uv);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(env.path("bin/uv"), mode).expect("a program");
    let path =
        format!("{}:{}", env.path("bin").display(), std::env::var("PATH").unwrap_or_default());
    let mut command = env.inkcell();
    command.args(["env", "setup", "--python", &python]);
    command.env("PATH", &path).env("TEST_PYTHON", &python);
    let ran = finish(command, b"").ok();
    assert!(ran.stdout.starts_with("✓ Created the managed environment\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("making the environment with uv ...\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("  installing\n"), "{}", ran.stderr);
    let said = json(&env, &["env"]);
    assert_eq!(said["python"]["reason"], "found the managed environment");
    assert!(said["managed"].as_str().is_some_and(|path| path.ends_with("python-env")));
    let ran = env.run(&["py", "import sys; print(sys.prefix != sys.base_prefix)"]).ok();
    assert_eq!(ran.stdout, "True\n");
}
