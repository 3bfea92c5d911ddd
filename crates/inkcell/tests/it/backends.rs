//! One script of calls on every backend: the answers do not tell a client which one made the kernel.

use std::ffi::{OsStr, OsString};

use inkcell_testkit::env::TestEnv;
use inkcell_testkit::need;
use serde_json::{Value, json};

use crate::client::Client;
use crate::env;
use crate::gateways::{self, Elsewhere};

fn python() -> OsString {
    std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into())
}

/// Reports of a process's end by its parent, which saw it.
const EXITED: &str = "exited with code 7";
const KILLED: &str = "was killed by signal 9";

/// The calls of a client's day, including everything that goes wrong.
fn script() -> Vec<(&'static str, Value)> {
    let picture = "import base64, IPython.display as d\npng = base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYA\
                   AAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==')\nd.Image(png)";
    vec![
        (
            "python",
            json!({"cells": [
                {"title": "one", "code": "x = 20\nprint('first')"},
                {"title": "two", "code": "import sys; print('err', file=sys.stderr); x + 1"},
            ]}),
        ),
        (
            "python",
            json!({"cells": [
                {"code": "y = 1"}, {"title": "bad", "code": "def f():\n    return 1 / 0\nf()"}, {"code": "y = 2"},
            ]}),
        ),
        ("python", json!({"code": "x, y"})),
        ("python", json!({"code": "raise ValueError('a message')"})),
        ("python", json!({"code": "def f(:"})),
        (
            "python",
            json!({"code": "import time\nprint('before', flush=True)\ntime.sleep(60)", "timeout": 1}),
        ),
        ("python", json!({"code": "x"})),
        ("python", json!({"code": "input('name? ')"})),
        (
            "python",
            json!({"code": "import IPython.display as d\nd.JSON({'rows': [1, 2, {'deep': True}]})"}),
        ),
        ("python", json!({"code": picture})),
        (
            "python",
            json!({"code": "display({'text/html': '<b>bold</b>', 'text/plain': 'bold'}, raw=True)"}),
        ),
        ("python", json!({"code": "h = display('old', display_id=True)\nh.update('new')"})),
        ("python", json!({"code": "log('a status')\nwrite('f.txt', 'text')\nread('f.txt')"})),
        ("python", json!({"code": "for i in range(6000): print('line', i)"})),
        ("python", json!({"code": "await __import__('asyncio').sleep(0, 'awaited')"})),
        ("python", json!({"code": "!echo from a program"})),
        ("python", json!({"code": "import sys; sys.exit(3)"})),
        ("python", json!({"code": "x"})),
        // Issue 21, 3: the answer says that state is gone.
        (
            "python",
            json!({"cells": [
                {"code": "w = 1"},
                {"code": "import os\nprint('last words', flush=True)\nos._exit(7)"},
                {"code": "w"},
            ]}),
        ),
        ("python", json!({"code": "'x' in globals()"})),
        ("python", json!({"code": "x = 1", "reset": true})),
        (
            "python",
            json!({"cells": [{"code": "x = 2"}, {"code": "'x' in globals()", "reset": true}]}),
        ),
        ("python", json!({"code": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"})),
        ("python", json!({"code": "sorted(n for n in os.environ if n.startswith('PI_'))"})),
        (
            "python",
            json!({"code": "import os\nos.path.basename(os.getcwd()), [n for n in ('bash', 'grep', 'phase') if n in globals()]"}),
        ),
        ("kernel", json!({"action": "restart"})),
        ("python", json!({"code": "z = {'a': [1, 2, 3]}"})),
        ("inspect", json!({"name": "z"})),
        ("inspect", json!({"code": "z.ke"})),
    ]
}

/// Removes what differs between runs, the name of the backend, and the frames of ipykernel's own code, which
/// IPython shows if `input` fails.
fn redacted(text: &str, folder: &str) -> String {
    let text = text.replace(folder, "[folder]");
    let text = text.replace("; zmq kernel", "").replace("; gateway kernel", "");
    let mut lines = Vec::new();
    let mut is_own = false;
    for line in text.lines() {
        is_own = (is_own && !line.is_empty()) || line.contains("ipykernel/kernelbase.py");
        if line.starts_with("[… library code left out;") {
            continue;
        }
        if is_own {
            continue;
        }
        let mut words: Vec<&str> = Vec::new();
        for word in line.split(' ') {
            let digits = word.chars().filter(char::is_ascii_digit).count();
            let is_id = word.contains("artifact://")
                || (digits > 3 && !word.starts_with("line"))
                || words.last() == Some(&"process");
            words.push(if is_id { "#" } else { word });
        }
        let line = words.join(" ");
        // The lines between two empty lines were removed.
        if line.is_empty() && lines.last().is_some_and(String::is_empty) {
            continue;
        }
        lines.push(line);
    }
    lines.join("\n").trim_end().to_owned()
}

/// The answers to the script of a server with these settings.
fn answers(env: &TestEnv, told: &[(&str, &OsStr)]) -> Vec<String> {
    let mut client = Client::with(env, &[], |command| {
        command.envs(told.iter().copied()).env("INKCELL_PYTHON_SHELL", "ipython");
        // The first call also waits for its kernel, and the machine may be busy.
        command.env("INKCELL_PYTHON_START_TIMEOUT", gateways::PATIENT);
        command.env("INKCELL_PYTHON_TIMEOUT", gateways::PATIENT);
    });
    let folder = env.dir().display().to_string();
    let calls = script().into_iter().map(|(tool, mut arguments)| {
        if tool == "python" {
            // The first call may start a whole server, which takes long on a busy machine.
            arguments["wait"] = json!(600);
        }
        let answer = client.call(tool, arguments);
        let pictures: Vec<String> = answer
            .blocks("image")
            .iter()
            .map(|picture| picture["mimeType"].as_str().unwrap_or_default().to_owned())
            .collect();
        format!("{} {pictures:?}\n{}", answer.is_error(), redacted(&answer.text(), &folder))
    });
    calls.collect()
}

/// The answers of kernels that this backend makes of this interpreter.
fn answers_of(backend: &str, interpreter: &OsStr) -> Vec<String> {
    let backend = ("INKCELL_PYTHON_BACKEND", backend.as_ref());
    answers(&env(), &[backend, ("INKCELL_PYTHON_INTERPRETER", interpreter)])
}

/// The answers without how a process ended, which only its parent knows.
fn without_causes(answers: &[String]) -> Vec<String> {
    let causes = [EXITED, KILLED, "ended on its gateway, which does not say why"];
    let without = |answer: &String| {
        causes.into_iter().fold(answer.clone(), |text, cause| text.replace(cause, "[ended]"))
    };
    answers.iter().map(without).collect()
}

#[track_caller]
fn assert_same(one: (&str, &[String]), other: (&str, &[String])) {
    let mut different = Vec::new();
    for (at, (tool, arguments)) in script().into_iter().enumerate() {
        let [ours, theirs] = [&one.1[at], &other.1[at]];
        if ours != theirs {
            different.push(format!(
                "call {at}: {tool} {arguments}\n--- {}\n{ours}\n--- {}\n{theirs}",
                one.0, other.0
            ));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n\n"));
}

/// Every backend gives the same answers.
#[test]
fn answers_do_not_tell_which_backend_it_is() {
    let test = "answers_do_not_tell_which_backend_it_is";
    if !need::python_package(test, &python(), "ipykernel") {
        return;
    }
    let (runner, zmq) = (answers_of("runner", &python()), answers_of("zmq", &python()));
    assert_same(("runner", &runner), ("zmq", &zmq));
}

/// B:G-35: so does a gateway that is shared on this machine.
#[test]
fn answers_do_not_tell_that_a_shared_gateway_is_between() {
    if !need::jupyter_server("answers_do_not_tell_that_a_shared_gateway_is_between") {
        return;
    }
    let (env, interpreter) = (env(), OsString::from(gateways::python()));
    let backend = ("INKCELL_PYTHON_BACKEND", "gateway".as_ref());
    let shared = answers(&env, &[backend, ("INKCELL_PYTHON_INTERPRETER", &interpreter)]);
    env.run(&["gateway", "stop"]).ok();
    let runner = answers_of("runner", &interpreter);
    assert_same(("runner", &without_causes(&runner)), ("shared gateway", &without_causes(&shared)));
}

/// B:G-35: so does a gateway that another program started.
#[test]
fn answers_do_not_tell_that_another_gateway_is_between() {
    if !need::jupyter_server("answers_do_not_tell_that_another_gateway_is_between") {
        return;
    }
    let env = env();
    let gateway = Elsewhere::start(&env);
    let url = ("PI_PYTHON_GATEWAY_URL", gateway.url.as_ref());
    let token = ("PI_PYTHON_GATEWAY_TOKEN", gateways::TOKEN.as_ref());
    let external = answers(&env, &[url, token]);
    let runner = answers_of("runner", &OsString::from(gateways::python()));
    assert_same(
        ("runner", &without_causes(&runner)),
        ("another gateway", &without_causes(&external)),
    );
}
