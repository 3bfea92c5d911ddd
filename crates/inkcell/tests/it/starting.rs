//! The start, before any request to run code: nothing from the workspace is run, and inkcell finds out if code
//! cannot run.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use inkcell_testkit::env::{TestEnv, finish};
use inkcell_testkit::notebooks::small;
use serde_json::{Value, json};

use crate::client::Client;
use crate::env;

/// The test Python by its own path: with another `PATH`, a name would mean another Python.
fn test_python() -> String {
    let named = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let said = Command::new(named).args(["-c", "import sys; print(sys.executable)"]).output();
    String::from_utf8(said.expect("a Python").stdout).expect("text").trim().to_owned()
}

/// A program that leaves a mark when it is started, and works as a Python.
fn put_program(path: &Path, mark: &Path) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let (mark, python) = (mark.display(), test_python());
    let script = format!("#!/bin/sh\n: > '{mark}'\nexec '{python}' \"$@\"\n");
    std::fs::write(path, script).expect("a file");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a program");
}

type Variables = &'static [(&'static str, &'static str)];

/// S-026 Issue 21, 28: starting inkcell and reading notebooks runs nothing from a folder with foreign content, wherever
/// the program hides.
#[test]
fn starting_runs_nothing_of_the_workspace() {
    // The place of the program, and the variables and settings that make inkcell look there.
    let table: [(&str, Variables, &str); 6] = [
        (".venv/bin/python", &[], ""),
        ("venv/bin/python", &[], ""),
        ("bin/python", &[("PATH", "{bin}:/usr/bin:/bin")], ""),
        ("env/bin/python", &[("VIRTUAL_ENV", "{dir}/env")], ""),
        ("tools/py", &[], "python.interpreter = './tools/py'\n"),
        ("real/python", &[("INKCELL_PYTHON_INTERPRETER", "{link}")], ""),
    ];
    for (place, variables, config) in table {
        let env = env();
        let (mark, program) = (env.outside("canary"), env.path(place));
        put_program(&program, &mark);
        std::fs::create_dir(env.path(".inkcell")).expect("a folder");
        env.put(".inkcell/config.toml", config);
        env.put("nb.ipynb", small());
        let link = env.outside("link");
        symlink(&program, &link).expect("a link");
        let set = |command: &mut Command| {
            for (name, value) in variables {
                let dir = env.path("").display().to_string();
                let value = value.replace("{dir}", dir.trim_end_matches('/'));
                let value = value.replace("{bin}", &env.path("bin").display().to_string());
                command.env(name, value.replace("{link}", &link.display().to_string()));
            }
        };
        let run = |args: &[&str]| {
            let mut command = env.inkcell();
            set(command.args(args));
            finish(command, b"")
        };
        for args in
            [&["mcp", "--inspect"][..], &["kernel", "specs"], &["--json", "kernel", "specs"]]
        {
            run(args).exits(0);
            assert!(!mark.exists(), "{place}: {args:?} ran it");
        }
        let mut client = Client::with(&env, &[], |command| {
            set(command.env_remove("INKCELL_PYTHON_INTERPRETER"));
        });
        assert!(client.tools().contains(&"python".to_owned()), "{place}");
        client.ok("notebook_read", json!({"path": "nb.ipynb"}));
        assert!(!mark.exists(), "{place}: to serve ran it");
        client.ok("python", json!({"code": "1"}));
        assert!(mark.exists(), "{place}: what runs code runs it");
        client.leave();
        client.end();
    }
}

/// Issue 21, 28: commands that inspect interpreters announce which programs of the folder they run.
#[test]
fn what_looks_at_pythons_says_which_it_runs() {
    let env = env();
    let program = env.path(".venv/bin/python");
    put_program(&program, &env.outside("canary"));
    let said = format!(
        "running {} to check that it works (found .venv in the working directory)\n",
        program.display()
    );
    for args in [&["env"][..], &["env", "--json"], &["doctor", "--json"]] {
        let ran = env.run(args).exits(0);
        assert!(ran.stderr.starts_with(&said), "{args:?} {}", ran.stderr);
        assert!(env.outside("canary").exists(), "{args:?}");
        std::fs::remove_file(env.outside("canary")).expect("removed");
    }
    // A Python outside the folder needs no announcement.
    let ran = env.run(&["env", "--python", &test_python()]).ok();
    assert_eq!(ran.stderr, "");
}

/// The tools of a server with these variables, the reason why `python` is refused, and its log.
fn offered(env: &TestEnv, variables: &[(&str, &str)]) -> (Vec<String>, String, String) {
    let mut client = Client::with(env, &[], |command| {
        command.env("INKCELL_LOG_FILE", "log").envs(variables.iter().copied());
    });
    let tools = client.tools();
    let refused = client.call("python", json!({"code": "1"})).text();
    client.leave();
    client.end();
    let log = String::from_utf8(env.get("log")).expect("text");
    (tools, refused, log)
}

fn doctor(env: &TestEnv, variables: &[(&str, &str)]) -> (i32, Value) {
    let mut command = env.inkcell();
    command.args(["doctor", "--json"]).envs(variables.iter().copied());
    let output = command.output().expect("inkcell runs");
    let said = serde_json::from_slice(&output.stdout).expect("JSON");
    (output.status.code().expect("an exit code"), said)
}

/// Returns whether a check of this name failed with these words.
fn failed(said: &Value, what: &str, words: &str) -> bool {
    let checks = said["checks"].as_array().expect("a list");
    checks.iter().any(|check| {
        let found = check["found"].as_str().unwrap_or_default();
        check["what"] == what && check["level"] == "fail" && found.contains(words)
    })
}

const FILES: [&str; 3] = ["notebook_read", "notebook_edit", "result"];

/// B:C-03 Issue 21, 12: Jupyter's kernels need ipykernel. An environment in the workspace is judged by its files, any
/// other is asked.
#[test]
fn without_ipykernel_zmq_and_gateways_offer_no_python() {
    let env = env();
    let outside = env.outside("bare");
    for folder in [env.path(".venv"), outside.clone()] {
        let mut venv = env.command(test_python());
        venv.args(["-m", "venv", "--without-pip"]).arg(folder);
        finish(venv, b"").ok();
    }
    let python = |folder: &Path| folder.join("bin/python").display().to_string();
    for (backend, words) in
        [("zmq", "ipykernel is not installed in "), ("gateway", "ipykernel not installed")]
    {
        for interpreter in [python(&env.path(".venv")), python(&outside)] {
            let variables = [
                ("INKCELL_PYTHON_BACKEND", backend),
                ("INKCELL_PYTHON_INTERPRETER", &*interpreter),
            ];
            let (tools, refused, log) = offered(&env, &variables);
            assert_eq!(tools, FILES, "{backend} {interpreter}");
            assert!(refused.contains(words), "{refused}");
            assert!(log.contains(" WARN ") && log.contains(words), "{log}");
            let (code, said) = doctor(&env, &variables);
            assert_eq!(code, 3, "{said}");
            assert!(failed(&said, "backend", words), "{said}");
        }
    }
}

/// B:C-03 Issue 21, 12: a gateway that is missing, or refuses access, offers no Python either; and no Python of this
/// machine is needed.
#[test]
fn without_a_gateway_that_answers_there_is_no_python() {
    let env = env();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            // Read to the end of the request: closing before that would cut off the answer.
            let (mut asked, mut part) = (Vec::new(), [0; 1024]);
            while !asked.ends_with(b"\r\n\r\n") {
                match stream.read(&mut part) {
                    Ok(0) | Err(_) => break,
                    Ok(length) => asked.extend_from_slice(&part[..length]),
                }
            }
            let answer =
                "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let table =
        [(place.as_str(), "requires authentication"), ("http://127.0.0.1:9", "is not reachable")];
    for (url, words) in table {
        let variables =
            [("INKCELL_GATEWAY_URL", url), ("INKCELL_PYTHON_INTERPRETER", "/no/such/python")];
        let (tools, refused, log) = offered(&env, &variables);
        assert_eq!(tools, FILES, "{url}");
        assert!(refused.contains(words), "{refused}");
        assert!(log.contains(" WARN ") && log.contains(words), "{log}");
        let (code, said) = doctor(&env, &variables);
        assert_ne!(code, 0, "{said}");
        assert!(failed(&said, "gateway", words), "{said}");
    }
}
