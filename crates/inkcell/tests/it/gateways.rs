//! Kernels of gateways with the real binary: one of this machine that is shared, and one that is there already.

use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use inkcell_testkit::env::{Ran, TestEnv, finish};
use inkcell_testkit::need::jupyter_server;
use serde_json::Value;

use crate::env;
use crate::notebook_runs::{notebook, until};

const TOKEN: &str = "a-token-of-the-tests";

fn python() -> String {
    std::env::var("INKCELL_TEST_JUPYTER_PYTHON").expect("it was looked for")
}

fn done(env: &TestEnv, variables: &[(&str, &str)], args: &[&str]) -> Ran {
    let mut command = env.inkcell();
    command.args(args).envs(variables.iter().copied());
    finish(command, b"")
}

/// A gateway that somebody else started; it ends with the test.
struct Elsewhere {
    child: Child,
    url: String,
}

impl Elsewhere {
    fn start(env: &TestEnv) -> Elsewhere {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let child = Command::new(python())
            .args(["-m", "kernel_gateway", "--KernelGatewayApp.ip=127.0.0.1"])
            .arg(format!("--KernelGatewayApp.port={port}"))
            .env("KG_AUTH_TOKEN", TOKEN)
            .env("HOME", env.dir())
            .current_dir(env.dir())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("a gateway");
        until(|| std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Elsewhere { child, url: format!("http://127.0.0.1:{port}/") }
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        let _ = self.child.wait();
    }
}

/// B:G-01 B:G-41 B:C-07: an address is enough, what is wrong is said in its words, and nothing is started here.
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

/// B:G-02 B:G-17 B:G-18: one gateway for whoever needs one, until it is stopped.
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
    assert_eq!(stopped.stdout, "No gateway of inkcell's was running.\n");
}
