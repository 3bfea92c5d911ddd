//! `inkcell doctor`: which parts work here, which do not, and what to type.

use std::os::unix::fs::PermissionsExt;

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use serde_json::Value;

use crate::env;

fn test_python() -> String {
    std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

fn doctor(env: &TestEnv, args: &[&str], variables: &[(&str, &str)]) -> CommandOutput {
    let mut command = env.inkcell();
    command.arg("doctor").args(args).envs(variables.iter().copied());
    finish(command, b"")
}

fn json(ran: &CommandOutput) -> Value {
    serde_json::from_str(&ran.stdout).expect("JSON")
}

/// The only check of this name.
fn check(said: &Value, what: &str) -> (String, String, String) {
    let checks = said["checks"].as_array().expect("a list");
    let found: Vec<_> = checks.iter().filter(|check| check["what"] == what).collect();
    assert_eq!(found.len(), 1, "{what}: {said}");
    let text = |key: &str| found[0][key].as_str().unwrap_or_default().to_owned();
    (text("level"), text("found"), text("next"))
}

/// B:C-09: a kernel is really started, and the usual questions are answered with the next step.
#[test]
fn what_works_is_told() {
    let env = env();
    let python = test_python();
    let ran = doctor(&env, &["--python", &python, "--json"], &[]).exits(0);
    let said = json(&ran);
    assert_eq!(said["ok"], true, "{said}");
    let (level, found, _) = check(&said, "kernel");
    assert!(level == "ok" && found.starts_with("started and ran 1+1 in "), "{found}");
    let (level, found, _) = check(&said, "python");
    assert!(level == "ok" && found.contains("set by --python"), "{found}");
    let (level, found, _) = check(&said, "fork server");
    let is_forked = found.starts_with("ran 1+1 in a new kernel in ");
    assert_eq!(level, if is_forked { "ok" } else { "warn" }, "{found}");
    assert!(is_forked || !cfg!(target_os = "linux"), "{found}");
    let (_, found, _) = check(&said, "state folder");
    assert!(found.starts_with(&env.state().display().to_string()), "{found}");
    assert!(found.ends_with("iB free"), "{found}");
    let advice = [
        ("time limit", "up to 600"),
        ("input", "variables or arguments"),
        ("gateway", ""),
        ("open files", ""),
    ];
    for (what, words) in advice {
        let (_, _, next) = check(&said, what);
        assert!(next.contains(words), "{what}: {next}");
    }
    let left = inkcell_testkit::env::names_in(&env.state());
    assert!(left.iter().all(|name| !name.contains("doctor")), "{left:?}");
    let sessions = env.state().join("sessions");
    assert!(!sessions.exists() || inkcell_testkit::env::names_in(&sessions).is_empty());
}

/// Issue 21, 28: a file of the folder that has the name of a module is not run.
#[test]
fn nothing_of_the_folder_is_run() {
    let env = env();
    for name in ["importlib.py", "json.py", "re.py", "linecache.py", "IPython.py"] {
        env.put(name, "open('canary', 'w').close()");
    }
    let said = json(&doctor(&env, &["--python", &test_python(), "--json"], &[]).ok());
    assert_eq!(check(&said, "kernel").0, "ok", "{said}");
    assert!(!env.path("canary").exists());
}

/// Issue 21, 22: if kernels cannot be copies, a warning names the module that prevents it.
#[test]
fn a_module_that_cannot_be_preloaded_is_a_warning() {
    let env = env();
    let modules = crate::logging::put_module_with_a_thread(&env);
    let preload = [("PYTHONPATH", &*modules), ("INKCELL_PYTHON_PRELOAD", "threaded")];
    let said = json(&doctor(&env, &["--python", &test_python(), "--json"], &preload).ok());
    let (level, found, _) = check(&said, "fork server");
    let wanted = "not used: importing threaded left 1 thread running in the fork server; ";
    assert!(level == "warn" && found.starts_with(wanted), "{level}: {found}");
}

/// B:C-09: missing packages are reported with the command that installs them.
#[test]
fn missing_packages_are_told_with_the_line_that_installs_them() {
    let env = env();
    let mut venv = env.command(test_python());
    venv.args(["-m", "venv", "--without-pip", ".venv"]);
    finish(venv, b"").ok();
    let ran = doctor(&env, &[], &[]).exits(0);
    let python = env.path(".venv/bin/python").display().to_string();
    let wanted = format!(
        "\n\nEverything works, 1 warning. To improve it:\n  packages: install with '{python} -m pip \
         install numpy pandas matplotlib' or 'inkcell env setup numpy pandas matplotlib'\n"
    );
    assert!(ran.stdout.ends_with(&wanted), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("\nok    ipython shell   IPython is not installed;"),
        "{}",
        ran.stdout
    );
    // A missing package that a setting requires is a failure.
    let asked = [("INKCELL_PYTHON_SHELL", "ipython")];
    let said = json(&doctor(&env, &["--json"], &asked).exits(3));
    assert_eq!(check(&said, "ipython shell").0, "fail", "{said}");
}

#[test]
fn no_python_fails_and_the_rest_is_told() {
    let env = env();
    let ran = doctor(&env, &["--python", "./no"], &[]).exits(3);
    assert!(ran.stdout.contains("\nfail  python          No working Python interpreter found."));
    assert!(ran.stdout.contains("\nok    input "), "{}", ran.stdout);
    let end = " checks failed. To fix them:\n  python: choose another Python with --python PATH\n";
    assert!(ran.stdout.ends_with(end), "{}", ran.stdout);
    let nowhere = [("PATH", "/nowhere")];
    let ran = doctor(&env, &[], &nowhere).exits(3);
    let end = "  python: install Python 3.9 or newer, or choose one with --python PATH\n";
    assert!(ran.stdout.ends_with(end), "{}", ran.stdout);
    let ran = doctor(&env, &["--cwd", "nowhere", "--json"], &[]).exits(2);
    let (level, found, next) = check(&json(&ran), "working folder");
    assert_eq!(level, "fail");
    assert!(found.starts_with("Working directory does not exist: "), "{found}");
    assert!(next.contains("--cwd"), "{next}");
}

/// A Python that answers the first question about itself, and then runs nothing.
#[test]
fn a_kernel_that_does_not_start_fails() {
    let env = env();
    let mark = env.outside("asked");
    let (mark, python) = (mark.display(), test_python());
    let script =
        format!("#!/bin/sh\n[ -e '{mark}' ] && exit 9\ntouch '{mark}'\nexec '{python}' \"$@\"\n");
    env.put("python", script);
    std::fs::set_permissions(env.path("python"), std::fs::Permissions::from_mode(0o755))
        .expect("a program");
    let ran = doctor(&env, &["--python", "./python", "--json"], &[]).exits(3);
    let said = json(&ran);
    assert_eq!(said["ok"], false, "{said}");
    assert_eq!(check(&said, "python").0, "ok");
    let (level, found, next) = check(&said, "kernel");
    assert_eq!(level, "fail", "{found}");
    assert!(!next.is_empty(), "{found}");
}

/// Odd settings, variables and limits are warnings with a next step; no secret is shown.
#[test]
fn odd_settings_and_limits_are_warnings() {
    let env = env();
    std::fs::create_dir(env.path(".inkcell")).expect("a folder");
    env.put(".inkcell/config.toml", "env.pass = ['SECRET']\n");
    let mut command = env.command("sh");
    command
        .args(["-c", "ulimit -n 200; exec \"$0\" doctor --json --python ./no"])
        .arg(env.program());
    command.env("INKCELL_MINE", "1").env("INKCELL_PYTHON_SHEL", "lite");
    command.env("INKCELL_GATEWAY_TOKEN", "hush-hush");
    let ran = finish(command, b"").exits(3);
    let said = json(&ran);
    let (level, found, next) = check(&said, "open files");
    assert_eq!((level.as_str(), next.contains("ulimit -n 4096")), ("warn", true), "{found}");
    assert!(found == "at most 200", "{found}");
    let (level, found, _) = check(&said, "variables");
    assert_eq!(
        (level.as_str(), found.as_str()),
        ("warn", "not variables of inkcell: INKCELL_MINE")
    );
    let (level, found, next) = check(&said, "gateway");
    assert_eq!((level.as_str(), next.contains("INKCELL_GATEWAY_URL")), ("warn", true), "{found}");
    let warnings: Vec<&str> = said["checks"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|check| check["what"] == "settings" && check["level"] == "warn")
        .filter_map(|check| check["found"].as_str())
        .collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(!ran.stdout.contains("hush-hush") && !ran.stderr.contains("hush-hush"));
    let url = [("INKCELL_GATEWAY_URL", "http://127.0.0.1:9")];
    let said = json(&doctor(&env, &["--json", "--python", "./no"], &url));
    let (level, found, next) = check(&said, "gateway");
    assert_eq!(level, "fail", "{found}");
    assert!(found.contains("http://127.0.0.1:9 is not reachable"), "{found}");
    assert!(next.contains("inkcell settings gateway"), "{next}");
}

/// A state folder that cannot be written is the first problem to fix.
#[test]
fn a_state_folder_that_cannot_be_written_fails() {
    let env = env();
    let file = env.put("file", "x");
    let folder = file.join("state").display().to_string();
    let ran = doctor(&env, &["--json", "--python", "./no"], &[("INKCELL_STATE_DIR", &folder)]);
    let (level, _, next) = check(&json(&ran.exits(3)), "state folder");
    assert_eq!((level.as_str(), next.contains("INKCELL_STATE_DIR")), ("fail", true), "{next}");
}
