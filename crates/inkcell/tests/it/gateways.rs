//! Kernels of gateways with the real binary: a shared one of this machine, and one that already runs.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use inkcell_testkit::need::{is_exhaustive, jupyter_server};
use inkcell_testkit::ports::{free_port, terminate};
use inkcell_testkit::wait::until;
use serde_json::{Value, json};

use crate::client::Client;
use crate::env;
use crate::notebook_runs::{notebook, outputs};

pub(crate) const TOKEN: &str = "a-token-of-the-tests";

pub(crate) fn python() -> String {
    std::env::var("INKCELL_TEST_JUPYTER_PYTHON").expect("it was looked for")
}

/// How many seconds a start may take, since other tests may keep the machine busy.
pub(crate) const PATIENT: &str = "300";

fn done(env: &TestEnv, variables: &[(&str, &str)], args: &[&str]) -> CommandOutput {
    let mut command = env.inkcell();
    command.args(args).env("INKCELL_PYTHON_START_TIMEOUT", PATIENT);
    command.envs(variables.iter().copied());
    finish(command, b"")
}

/// A gateway that another program started; it ends with the test.
pub(crate) struct Elsewhere {
    child: Child,
    port: u16,
    pub(crate) url: String,
}

impl Elsewhere {
    pub(crate) fn start(env: &TestEnv) -> Elsewhere {
        Elsewhere::on(env, free_port())
    }

    fn on(env: &TestEnv, port: u16) -> Elsewhere {
        let child = Command::new(python())
            .args(["-m", "kernel_gateway", "--KernelGatewayApp.ip=127.0.0.1"])
            .arg(format!("--KernelGatewayApp.port={port}"))
            .arg("--KernelGatewayApp.port_retries=0")
            // A test lists its kernels.
            .arg("--JupyterWebsocketPersonality.list_kernels=True")
            .env("KG_AUTH_TOKEN", TOKEN)
            .env("HOME", env.dir())
            .current_dir(env.dir())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("a gateway");
        until("the gateway", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Elsewhere { child, port, url: format!("http://127.0.0.1:{port}/") }
    }

    /// Kills it without a shutdown.
    fn kill(mut self) {
        self.child.kill().expect("it is killed");
        self.child.wait().expect("it is gone");
    }

    /// Sends a request as its owner, and returns the raw answer.
    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let head = "HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\nauthorization: token";
        write!(stream, "{request} {head} {TOKEN}\r\n\r\n").expect("it listens");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("an answer");
        reply
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        // The process has not been waited for, so no other process has its number.
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            terminate(&self.child, self.port);
            let _ = self.child.wait();
        }
    }
}

/// B:G-01 B:G-41 B:C-07: an address is enough, errors are quoted from the gateway, and no gateway is started here.
#[test]
fn code_runs_on_a_gateway_that_is_there_already() {
    if !jupyter_server("code_runs_on_a_gateway_that_is_there_already") {
        return;
    }
    let env = env();
    let gateway = Elsewhere::start(&env);
    let url = ("PI_PYTHON_GATEWAY_URL", gateway.url.as_str());
    let place = gateway.url.trim_end_matches('/');
    let refused = done(&env, &[url], &["py", "1"]).exits(3);
    let wanted = format!(
        "External gateway at {place} requires authentication. Set PI_PYTHON_GATEWAY_TOKEN."
    );
    assert!(refused.stderr.contains(&wanted), "{refused:?}");
    let token = ("PI_PYTHON_GATEWAY_TOKEN", TOKEN);
    let ran = done(&env, &[url, token], &["py", "-v", "6 * 7"]).exits(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("42\n", "kernel: gateway\n"));
    let ran = done(&env, &[url, token], &["py", "--kernel", "nosuch", "1"]).exits(3);
    assert!(ran.stderr.contains("has no kernel named \"nosuch\"; it has: python3"), "{ran:?}");
    done(&env, &[url, token], &["py", "--python", "/usr/bin/python3", "1"]).exits(2);
    env.put("n.ipynb", notebook(&["print('there')"]));
    env.put("token", format!("{TOKEN}\n"));
    let file = ("INKCELL_GATEWAY_TOKEN_FILE", "token");
    done(&env, &[url, file], &["run", "n.ipynb"]).exits(0);
    assert!(String::from_utf8_lossy(&env.get("n.ipynb")).contains("there"));
    let status = done(&env, &[url, token], &["gateway", "status", "--json"]).exits(0);
    let status: Value = serde_json::from_str(&status.stdout).expect("JSON");
    assert_eq!(status["external"]["answers"], true, "{status}");
    assert_eq!(
        (&status["shared"], &status["left_behind"]),
        (&Value::from([0; 0]), &Value::from([0; 0]))
    );
    done(&env, &[url, token], &["gateway", "start"]).exits(2);
}

/// B:G-02 B:G-17 B:G-18: all clients that need a gateway share one, until it is stopped.
#[test]
fn a_gateway_is_started_shared_and_stopped() {
    if !jupyter_server("a_gateway_is_started_shared_and_stopped") {
        return;
    }
    let env = env();
    let python = python();
    let interpreter = ("INKCELL_PYTHON_INTERPRETER", python.as_str());
    let backend = ("INKCELL_PYTHON_BACKEND", "gateway");
    let disabled = ("PI_PYTHON_SHARED_GATEWAY", "0");
    let refused = done(&env, &[interpreter, backend, disabled], &["py", "1"]).exits(3);
    let wanted = "Shared Python gateway required; local gateways are disabled";
    assert!(refused.stderr.contains(wanted), "{refused:?}");
    let known = || {
        let told = done(&env, &[], &["gateway", "status", "--json"]).exits(0);
        let told: Value = serde_json::from_str(&told.stdout).expect("JSON");
        told["shared"].clone()
    };
    assert_eq!(known(), Value::from([0; 0]));
    done(&env, &[interpreter], &["gateway", "start"]).exits(0);
    let first = known()[0]["pid"].clone();
    assert!(first.is_u64(), "{first}");
    let ran = done(&env, &[interpreter, backend], &["py", "import sys; print(sys.executable)"]);
    assert!(ran.exits(0).stdout.contains(&python));
    assert_eq!(known()[0]["pid"], first, "the same one");
    let stopped = done(&env, &[], &["gateway", "stop"]).exits(0);
    assert_eq!(stopped.stdout, "1 gateway ended.\n");
    assert_eq!(known(), Value::from([0; 0]));
    let stopped = done(&env, &[], &["gateway", "stop"]).exits(0);
    assert_eq!(stopped.stdout, "No shared gateway was running.\n");
}

/// F-110 F-117: a kernel that is removed while nothing runs, and a gateway that dies in a cell and comes back
/// empty: the answer reports it, nothing is run again, and the next call has a new kernel.
#[test]
fn a_session_outlives_its_kernel_and_its_gateway() {
    if !jupyter_server("a_session_outlives_its_kernel_and_its_gateway") {
        return;
    }
    let env = env();
    let gateway = Elsewhere::start(&env);
    let mut client = Client::with(&env, &[], |command| {
        command.env("PI_PYTHON_GATEWAY_URL", &gateway.url).env("PI_PYTHON_GATEWAY_TOKEN", TOKEN);
        command.env("INKCELL_PYTHON_START_TIMEOUT", PATIENT);
    });
    client.ok("python", json!({"code": "x = 1"}));
    let list = gateway.ask("GET /api/kernels");
    let id = list.split("\"id\": \"").nth(1).and_then(|rest| rest.split('"').next()).expect("one");
    let removed = gateway.ask(&format!("DELETE /api/kernels/{id}"));
    assert!(removed.starts_with("HTTP/1.1 204"), "{removed}");
    let next = client.ok("python", json!({"code": "print('x' in globals())"})).text();
    // The end of the process or the gateway's message may be seen first.
    let told = ["was removed by its gateway", "ended on its gateway"];
    assert!(next.contains("False") && told.iter().any(|told| next.contains(told)), "{next}");

    let code = "import time\nwith open('ran', 'a') as file: file.write('x')\ntime.sleep(600)";
    let running = client.begin_call("python", json!({"code": code}));
    until("the file ran", || env.path("ran").exists());
    let port = gateway.port;
    gateway.kill();
    let answer = client.called(running);
    assert!(answer.is_error(), "{answer:?}");
    assert!(answer.text().contains("the outcome of the cell is unknown"), "{}", answer.text());
    let _gateway = Elsewhere::on(&env, port);
    let next = client.ok("python", json!({"code": "print(6 * 7)"})).text();
    assert!(next.contains("42"), "{next}");
    assert_eq!(env.get("ran"), b"x", "nothing is run again");
}

/// Issue 8, 7: any number of notebooks run at once on one gateway, through one engine. Each waits for all the
/// others, so none ends before all have begun; and each has its own outputs in its file.
#[test]
fn many_notebooks_run_at_once() {
    // More than the default limit of sessions.
    let many = if is_exhaustive() { 32 } else { 10 };
    if !jupyter_server("many_notebooks_run_at_once") {
        return;
    }
    let env = env();
    let gateway = Elsewhere::start(&env);
    let mut client = Client::with(&env, &[], |command| {
        command.env("PI_PYTHON_GATEWAY_URL", &gateway.url).env("PI_PYTHON_GATEWAY_TOKEN", TOKEN);
        command.env("INKCELL_KERNEL_MAX_SESSIONS", many.to_string());
        command.env("INKCELL_PYTHON_START_TIMEOUT", PATIENT);
    });
    let path = |number: usize| format!("n{number}.ipynb");
    let meet = |number: usize| {
        format!(
            "import glob, time\nopen('here-{number}', 'w').close()\n\
             while len(glob.glob('here-*')) < {many}: time.sleep(0.1)"
        )
    };
    let mut calls = Vec::new();
    for number in 0..many {
        env.put(&path(number), notebook(&[&meet(number), &format!("print('met', {number})")]));
        let arguments = json!({"path": path(number), "wait": 1});
        calls.push(client.begin_call("notebook_run", arguments));
    }
    for call in calls {
        let answer = client.called(call);
        assert!(!answer.is_error(), "{answer:?}");
    }
    let has_met =
        |number: usize| outputs(&env, &path(number), 1).contains(&format!("met {number}\\n"));
    // Many kernels start slowly on a small machine; each has its own limit.
    for number in 0..many {
        until(&format!("the output of notebook {number}"), || has_met(number));
    }
    client.leave();
    client.end();
    // A gateway that takes too long to remove them all is not waited for; the remaining kernels are recorded.
    let (url, token) =
        (("PI_PYTHON_GATEWAY_URL", gateway.url.as_str()), ("PI_PYTHON_GATEWAY_TOKEN", TOKEN));
    done(&env, &[url, token], &["gateway", "gc"]).exits(0);
    let left = gateway.ask("GET /api/kernels");
    assert!(left.ends_with("[]"), "{left}");
}

/// F-027: hosts that need a gateway at the same moment share one. If the host that starts it is killed, the next
/// takes over at once, and the half-started gateway is gone.
#[test]
fn hosts_that_begin_together_share_and_one_that_is_killed_holds_nobody_up() {
    let test = "hosts_that_begin_together_share_and_one_that_is_killed_holds_nobody_up";
    if !jupyter_server(test) {
        return;
    }
    let env = env();
    let real = python();
    let start = |interpreter: &str| {
        let mut command = env.inkcell();
        command.args(["gateway", "start", "--json"]);
        command.env("INKCELL_PYTHON_INTERPRETER", interpreter);
        command.env("INKCELL_PYTHON_START_TIMEOUT", PATIENT);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("inkcell")
    };
    let hosts: Vec<Child> = (0..3).map(|_| start(&real)).collect();
    let told: Vec<Value> = hosts
        .into_iter()
        .map(|host| {
            let ran = host.wait_with_output().expect("it ends");
            assert!(ran.status.success(), "{ran:?}");
            let told: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
            told["shared"][0]["pid"].clone()
        })
        .collect();
    assert!(told[0].is_u64() && told.iter().all(|pid| *pid == told[0]), "{told:?}");

    // An interpreter whose gateway never answers.
    let silent = env.outside("python");
    let begun = env.outside("begun");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *KernelGatewayApp*) : > '{}'; exec sleep 600;; esac\nexec '{real}' \"$@\"\n",
        begun.display()
    );
    std::fs::write(&silent, script).expect("a script");
    std::fs::set_permissions(&silent, std::fs::Permissions::from_mode(0o700)).expect("a mode");
    let mut killed = start(&silent.display().to_string());
    until("the start of the gateway", || begun.exists());
    killed.kill().expect("it is killed");
    killed.wait().expect("it is gone");
    let stopped = done(&env, &[], &["gateway", "stop"]).exits(0);
    assert_eq!(stopped.stdout, "2 gateways ended.\n");
    let stopped = done(&env, &[], &["gateway", "stop"]).exits(0);
    assert_eq!(stopped.stdout, "No shared gateway was running.\n");
}
