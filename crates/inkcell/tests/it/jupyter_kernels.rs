//! Jupyter kernels with the real binary: installed ones, running ones, and notebooks that name one.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use inkcell_testkit::need;
use inkcell_testkit::notebooks::pretty;
use inkcell_testkit::wait::until;
use serde_json::{Value, json};

use crate::client::Client;
use crate::env;
use crate::gateways::PATIENT;
use crate::notebook_runs::{notebook, outputs, ran};

fn python() -> OsString {
    std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into())
}

fn has(test: &str, package: &str) -> bool {
    need::python_package(test, &python(), package)
}

/// Any command, with the Python of the tests.
fn inkcell(env: &TestEnv, args: &[&str]) -> Command {
    let mut command = env.inkcell();
    command.args(args).env("INKCELL_PYTHON_INTERPRETER", python());
    command.env("INKCELL_PYTHON_START_TIMEOUT", PATIENT);
    command
}

fn done(env: &TestEnv, args: &[&str]) -> CommandOutput {
    finish(inkcell(env, args), b"")
}

/// A notebook that names a kernel.
fn for_kernel(sources: &[&str], metadata: &Value) -> String {
    let mut made: Value = serde_json::from_str(&notebook(sources)).expect("JSON");
    made["metadata"] = metadata.clone();
    pretty(&made)
}

fn of_bash(sources: &[&str]) -> String {
    let spec = json!({"name": "bash", "display_name": "Bash", "language": "bash"});
    for_kernel(sources, &json!({"kernelspec": spec, "language_info": {"name": "bash"}}))
}

/// Puts a kernelspec below a folder as `jupyter kernelspec install` would.
fn install(below: &Path, name: &str, spec: &Value) {
    let folder = below.join("kernels").join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("kernel.json"), spec.to_string()).expect("a file");
}

/// IPython's kernel of the Python of the tests, with these variables, under another name.
fn ipykernel(variables: &Value) -> Value {
    let python = python().into_string().expect("text");
    json!({
        "argv": [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Project", "language": "python", "env": variables,
    })
}

/// A second language end to end: its kernel is found by the notebook's own metadata, outputs are in the file, and
/// the choice is reported.
#[test]
fn a_notebook_of_another_language_is_run_by_its_kernel() {
    if !has("a_notebook_of_another_language_is_run_by_its_kernel", "bash_kernel") {
        return;
    }
    let env = env();
    env.put(
        "b.ipynb",
        of_bash(&["x=41\necho \"hello from $0\"", "echo $((x + 1))", "false", "echo never"]),
    );
    let failed = ran(&env, &["b.ipynb"]).exits(1);
    assert!(failed.stdout.contains("note: run by the Jupyter kernel bash (Bash)"), "{failed:?}");
    assert!(outputs(&env, "b.ipynb", 0).contains("hello from"), "{failed:?}");
    assert!(outputs(&env, "b.ipynb", 1).contains("42\\n"), "{failed:?}");
    assert_eq!(outputs(&env, "b.ipynb", 3), "[]");
    let refused = ran(&env, &["b.ipynb", "--backend", "runner"]).exits(3);
    assert!(refused.stderr.contains("the notebook is for bash (kernel bash)"), "{refused:?}");
}

/// The same through the tools: a notebook, and a session that later calls find by its name.
#[test]
fn tools_run_another_language() {
    if !has("tools_run_another_language", "bash_kernel") {
        return;
    }
    let env = env();
    env.put("b.ipynb", of_bash(&["echo from the notebook"]));
    let mut client = Client::start(&env, &[]);
    let told = said(&mut client, "notebook_run", json!({"path": "b.ipynb"}));
    assert!(told.contains("run by the Jupyter kernel bash (Bash)"), "{told}");
    assert!(told.contains("from the notebook"), "{told}");
    // The first client of a notebook's session gets the kernel that the notebook names.
    env.put("first.ipynb", of_bash(&["echo $y"]));
    said(&mut client, "python", json!({"code": "y=9", "session": "first.ipynb"}));
    let seen = said(&mut client, "notebook_run", json!({"path": "first.ipynb"}));
    assert!(seen.contains("\n9"), "{seen}");
    let refused = client.call("python", json!({"path": "b.ipynb", "cell": 0})).text();
    assert!(refused.contains("is for bash, and this session runs Python"), "{refused}");
    // A notebook that now names another language gets another kernel.
    let python = json!({"kernelspec": {"name": "python3", "language": "python"}});
    env.put("first.ipynb", for_kernel(&["40 + 2"], &python));
    let seen = said(&mut client, "notebook_run", json!({"path": "first.ipynb"}));
    assert!(
        seen.contains("42") && seen.contains("its old kernel (bash, by zmq) was ended"),
        "{seen}"
    );
    // The notebook's own session is found by its path, with its language.
    let shared =
        said(&mut client, "python", json!({"code": "echo $((6 * 7))", "session": "b.ipynb"}));
    assert!(shared.starts_with("42"), "{shared}");
    let started = json!({"action": "start", "session": "sh", "kernel": "bash"});
    let started = said(&mut client, "kernel", started);
    assert!(started.contains("; zmq kernel bash"), "{started}");
    said(&mut client, "python", json!({"code": "x=7", "session": "sh"}));
    let seen = said(&mut client, "python", json!({"code": "echo $((x + 1))", "session": "sh"}));
    assert!(seen.starts_with('8'), "{seen}");
}

fn said(client: &mut Client, tool: &str, arguments: Value) -> String {
    client.ok(tool, arguments).text()
}

/// A notebook that cannot be run is not touched, and the error says how to go on.
#[test]
fn a_language_without_a_kernel_is_refused_before_anything_is_written() {
    let env = env();
    let julia = json!({"kernelspec": {"name": "julia-1.10", "language": "julia"}});
    let text = for_kernel(&["1 + 1"], &julia);
    env.put("j.ipynb", &text);
    for args in [&["j.ipynb"][..], &["j.ipynb", "-o", "out.ipynb"]] {
        let refused = ran(&env, args).exits(3);
        assert!(
            refused.stderr.contains("the notebook is for julia (kernel julia-1.10)"),
            "{refused:?}"
        );
        assert!(refused.stderr.contains("--kernel NAME"), "{refused:?}");
    }
    assert_eq!(env.get("j.ipynb"), text.as_bytes());
    assert_eq!(env.names(), ["j.ipynb"]);
}

/// Kernelspecs are found where Jupyter finds them: the first of a name counts, and unusable ones are reported.
#[test]
fn installed_kernels_are_listed() {
    let env = env();
    let (first, user) = (env.outside("first"), env.path(".local/share/jupyter"));
    let named = |display: &str| json!({"argv": ["x"], "display_name": display, "language": "odd"});
    install(&first, "Mine", &named("first"));
    install(&user, "mine", &named("second"));
    install(
        &user,
        "other",
        &json!({"argv": ["x", "{connection_file}"], "display_name": "Other",
        "language": "odd", "interrupt_mode": "message", "env": {"A": "${B}"}, "metadata": {"debugger": true}}),
    );
    install(&user, "broken", &json!({"display_name": "no argv"}));
    let mut command = inkcell(&env, &["kernel", "specs"]);
    command.env("JUPYTER_PATH", &first);
    let listed = finish(command, b"").exits(0);
    let line = |name: &str| {
        listed.stdout.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned()
    };
    assert!(line("mine ").contains("first ("), "{listed:?}");
    assert!(line("other ").contains("Other ("), "{listed:?}");
    assert!(listed.stderr.contains("broken/kernel.json: not a kernelspec"), "{listed:?}");
    let json = done(&env, &["--json", "kernel", "specs"]).exits(0);
    let told: Value = serde_json::from_str(&json.stdout).expect("JSON");
    let kernels = told["kernels"].as_array().expect("a list");
    let other = kernels.iter().find(|spec| spec["name"] == "other").expect("it is there");
    assert_eq!(other["interrupt_mode"], "message");
    assert_eq!(other["argv"], json!(["x", "{connection_file}"]));
    assert_eq!(
        (&other["env"]["A"], &other["metadata"]["debugger"]),
        (&json!("${B}"), &json!(true))
    );
    assert_eq!(told["broken"].as_array().map(Vec::len), Some(1));
}

/// A notebook that names an installed kernel of Python gets that one, with its variables; `--python` and `--backend
/// runner` take precedence, and a note says so if the kernel is not installed and another one runs.
#[test]
fn a_named_kernel_of_python_is_used_unless_told_otherwise() {
    if !has("a_named_kernel_of_python_is_used_unless_told_otherwise", "ipykernel") {
        return;
    }
    let env = env();
    let user = env.path(".local/share/jupyter");
    install(&user, "project", &ipykernel(&json!({"FROM_SPEC": "yes ${HOME}"})));
    let code = "import os, sys\nprint(os.environ.get('FROM_SPEC'), 'ipykernel' in sys.modules)";
    let asks = |name: &str| json!({"kernelspec": {"name": name, "language": "python"}});
    env.put("p.ipynb", for_kernel(&[code], &asks("project")));
    let said = ran(&env, &["p.ipynb"]).exits(0);
    assert!(said.stdout.contains("note: run by the Jupyter kernel project (Project)"), "{said:?}");
    let home = env.dir().display().to_string();
    assert!(outputs(&env, "p.ipynb", 0).contains(&format!("yes {home} True")), "{said:?}");
    for told in
        [&["--backend", "runner"][..], &["--python", &python().into_string().expect("text")]]
    {
        let said = ran(&env, &[&["p.ipynb"], told].concat()).exits(0);
        assert!(said.stdout.contains("names the kernel project"), "{said:?}");
        assert!(outputs(&env, "p.ipynb", 0).contains("None False"), "{said:?}");
    }
    env.put("gone.ipynb", for_kernel(&["1"], &asks("gone")));
    let said = ran(&env, &["gone.ipynb"]).exits(0);
    assert!(said.stdout.contains("names the kernel gone"), "{said:?}");
    let said = ran(&env, &["gone.ipynb", "--kernel", "project", "-v"]).exits(0);
    assert!(said.stderr.contains("kernel: project (Project; zmq)"), "{said:?}");
}

/// Without ipykernel, the error says what to type.
#[test]
fn a_python_without_ipykernel_says_what_to_install() {
    let env = env();
    let bare = env.outside("bare");
    let made = Command::new(python()).args(["-m", "venv", "--without-pip"]).arg(&bare).status();
    assert!(made.is_ok_and(|status| status.success()));
    let bare = bare.join("bin/python").display().to_string();
    let refused = done(&env, &["py", "--python", &bare, "--backend", "zmq", "1"]).exits(3);
    let command = format!("`{bare} -m pip install ipykernel`");
    assert!(refused.stderr.contains(&command), "{refused:?}");
    assert!(refused.stderr.contains("`inkcell env setup`"), "{refused:?}");
}

/// A kernel that failed to start leaves its session free for another kind: no state is lost with it.
#[test]
fn a_start_that_failed_binds_nobody() {
    let env = env();
    let bare = env.outside("bare");
    let made = Command::new(python()).args(["-m", "venv", "--without-pip"]).arg(&bare).status();
    assert!(made.is_ok_and(|status| status.success()));
    let mut client = Client::with(&env, &[], |command| {
        command.env("INKCELL_PYTHON_INTERPRETER", bare.join("bin/python"));
    });
    for again in ["1 + 1", "2 + 2"] {
        let failed = client.call("python", json!({"code": "1", "backend": "zmq"}));
        assert!(failed.text().contains("ipykernel is not installed"), "{failed:?}");
        assert!(said(&mut client, "python", json!({"code": again})).starts_with(['2', '4']));
        let listed = said(&mut client, "kernel", json!({"action": "list"}));
        assert_eq!(listed.lines().count(), 1, "{listed}");
        said(&mut client, "kernel", json!({"action": "stop"}));
    }
}

/// A kernel of another program.
struct Theirs {
    child: Child,
    file: PathBuf,
}

impl Theirs {
    fn start(env: &TestEnv) -> Theirs {
        let file = env.outside("theirs.json");
        let child = env
            .command(python())
            .args(["-m", "ipykernel_launcher", "-f"])
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a kernel");
        until("the file of the kernel", || std::fs::read(&file).is_ok_and(|text| !text.is_empty()));
        Theirs { child, file }
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A running kernel is joined by its connection file: its variables are there, and it outlives us.
#[test]
fn a_running_kernel_is_joined_and_left_alone() {
    if !has("a_running_kernel_is_joined_and_left_alone", "ipykernel") {
        return;
    }
    let env = env();
    let mut theirs = Theirs::start(&env);
    let file = theirs.file.display().to_string();
    done(&env, &["py", "--existing", &file, "x = 42"]).exits(0);
    let seen = done(&env, &["py", "--existing", &file, "x + 1"]).exits(0);
    assert_eq!(seen.stdout, "43\n");
    env.put("e.ipynb", notebook(&["print('x is', x)"]));
    ran(&env, &["e.ipynb", "--existing", &file]).exits(0);
    assert!(outputs(&env, "e.ipynb", 0).contains("x is 42"));
    assert!(theirs.child.try_wait().expect("its state").is_none(), "it was ended");
    drop(theirs);
    let ended = done(&env, &["py", "--existing", &file, "x"]).exits(3);
    assert!(ended.stderr.contains("no kernel listens where"), "{ended:?}");
    let missing = done(&env, &["py", "--existing", "nowhere.json", "1"]).exits(3);
    assert!(missing.stderr.contains("nowhere.json cannot be read"), "{missing:?}");
    env.put("odd.json", "{}");
    let odd = done(&env, &["py", "--existing", "odd.json", "1"]).exits(3);
    assert!(odd.stderr.contains("odd.json is not a connection file"), "{odd:?}");
}

/// Sockets and connection files are private while a kernel runs and gone when it has ended, however the host ends.
#[test]
fn nothing_of_a_kernel_is_left() {
    if !has("nothing_of_a_kernel_is_left", "ipykernel") {
        return;
    }
    let env = env();
    let runtime = env.outside("run");
    std::fs::create_dir(&runtime).expect("a folder");
    let zmq = |code: &str| {
        let mut command = inkcell(&env, &["py", "--backend", "zmq", code]);
        command.env("XDG_RUNTIME_DIR", &runtime);
        command
    };
    let homes = || inkcell_testkit::env::names_in(&runtime.join("inkcell"));
    let code = "import os, sys\nfolder = os.environ['XDG_RUNTIME_DIR'] + '/inkcell'\nfor at, _, files in os.walk(folder):\n    \
                print(oct(os.stat(at).st_mode & 0o777), *[oct(os.stat(at + '/' + f).st_mode & 0o777) for f in files if f.endswith('.json')])";
    let seen = finish(zmq(code), b"").exits(0);
    assert_eq!(seen.stdout, "0o700\n0o700 0o600\n", "{seen:?}");
    assert_eq!(homes(), [""; 0]);
    let mode =
        std::fs::metadata(runtime.join("inkcell")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // A killed host cannot clean up; the next one does.
    let mut killed = zmq("import time; time.sleep(600)");
    let mut killed = killed.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("a host");
    until("the folder of a kernel", || homes().len() == 1);
    killed.kill().expect("it runs");
    killed.wait().expect("its end");
    finish(zmq("1"), b"").exits(0);
    assert_eq!(homes(), [""; 0]);
}

/// The usual first command works on this backend, too.
#[test]
fn the_tour_runs_on_jupyters_kernel() {
    if !has("the_tour_runs_on_jupyters_kernel", "ipykernel") {
        return;
    }
    let env = env();
    let tour = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/tour.ipynb");
    let said = ran(&env, &[tour, "-o", "tour.ipynb", "--backend", "zmq", "-v"]).exits(0);
    assert!(said.stderr.starts_with("kernel: zmq\n"), "{said:?}");
    let summary = crate::notebook_runs::summed(&said.stdout);
    assert_eq!(summary, "Ran 10 cells, 1 failed (allowed)", "{said:?}");
}

/// A server with a pool takes the next kernel from it, and nothing of the pool is left at its end.
#[test]
fn a_pool_has_a_kernel_ready() {
    if !has("a_pool_has_a_kernel_ready", "ipykernel") {
        return;
    }
    let env = env();
    let runtime = env.outside("run");
    std::fs::create_dir(&runtime).expect("a folder");
    let variables = [
        ("INKCELL_PYTHON_BACKEND", "zmq"),
        ("INKCELL_KERNEL_POOL", "1"),
        ("INKCELL_LOG_LEVEL", "info"),
        ("INKCELL_LOG_FILE", "log"),
    ];
    let mut client = Client::with(&env, &[], |command| {
        command.envs(variables).env("XDG_RUNTIME_DIR", &runtime);
    });
    let homes = || inkcell_testkit::env::names_in(&runtime.join("inkcell")).len();
    said(&mut client, "python", json!({"code": "x = 1"}));
    // The waiting kernel has a folder of its own.
    until("the folders of two kernels", || homes() == 2);
    let mut told = String::new();
    for at in 0..100 {
        let session = format!("s{at}");
        said(&mut client, "python", json!({"code": "1", "session": session}));
        said(&mut client, "kernel", json!({"action": "stop", "session": session}));
        told = String::from_utf8(env.get("log")).expect("text");
        if told.contains("origin=spare") {
            break;
        }
    }
    assert!(told.contains("origin=spare"), "{told}");
    let seen = said(&mut client, "python", json!({"code": "'x' in globals()", "session": "other"}));
    assert_eq!(seen, "False");
    client.leave();
    assert!(client.end().success());
    assert_eq!(homes(), 0);
}

/// A session that had to give up its place returns as it was, and its user is told; sessions whose kernels never
/// started give up theirs first.
#[test]
fn a_session_keeps_its_kind() {
    if !has("a_session_keeps_its_kind", "ipykernel") {
        return;
    }
    let env = env();
    let user = env.path(".local/share/jupyter");
    install(
        &user,
        "nope",
        &json!({"argv": ["/no/such/program"], "display_name": "Nope", "language": "odd"}),
    );
    let mut client = Client::with(&env, &[], |command| {
        command.env("INKCELL_KERNEL_MAX_SESSIONS", "2");
    });
    said(&mut client, "kernel", json!({"action": "start", "session": "z", "backend": "zmq"}));
    said(&mut client, "python", json!({"code": "x = 5", "session": "z"}));
    for name in ["one", "two", "three"] {
        let start = json!({"action": "start", "session": name, "kernel": "nope"});
        let failed = client.call("kernel", start).text();
        assert!(failed.contains("the kernel nope (/no/such/program)"), "{failed}");
    }
    assert_eq!(said(&mut client, "python", json!({"code": "x", "session": "z"})), "5");
    for name in ["four", "five"] {
        said(&mut client, "python", json!({"code": "1", "session": name}));
    }
    let code = "import sys; ('x' in globals(), 'ipykernel' in sys.modules)";
    let back = said(&mut client, "python", json!({"code": code, "session": "z"}));
    assert!(back.starts_with("(False, True)"), "{back}");
    assert!(back.contains("variables of earlier calls are gone"), "{back}");
}

/// A kernel of another program is neither restarted nor reset nor ended, and such a request gets an error.
#[test]
fn a_kernel_of_somebody_else_is_not_made_new() {
    if !has("a_kernel_of_somebody_else_is_not_made_new", "ipykernel") {
        return;
    }
    let env = env();
    let mut theirs = Theirs::start(&env);
    let mut client = Client::start(&env, &[]);
    let file = theirs.file.display().to_string();
    said(&mut client, "kernel", json!({"action": "start", "session": "e", "kernel": file}));
    // Completion by jedi takes long the first time.
    let begun = "x = 5\nget_ipython().Completer.use_jedi = False";
    said(&mut client, "python", json!({"code": begun, "session": "e"}));
    for (tool, arguments) in [
        ("kernel", json!({"action": "restart", "session": "e"})),
        ("python", json!({"code": "x", "session": "e", "reset": true})),
    ] {
        let refused = client.call(tool, arguments);
        assert!(refused.is_error(), "{refused:?}");
        assert!(refused.text().contains("so it cannot restart or reset it"), "{refused:?}");
    }
    let names = said(&mut client, "inspect", json!({"session": "e", "code": "impor"}));
    assert!(names.contains("import"), "{names}");
    let gate = env.path("gate");
    let deaf = format!(
        "import os, signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n\
         while not os.path.exists({gate:?}): time.sleep(0.02)\n\
         signal.signal(signal.SIGINT, signal.default_int_handler)"
    );
    let left = client.call("python", json!({"code": deaf, "session": "e", "timeout": 1})).text();
    assert!(left.contains("it belongs to another program, so it was left running"), "{left}");
    env.put("gate", "");
    let again = said(&mut client, "python", json!({"code": "x", "session": "e", "timeout": 60}));
    assert!(again.starts_with('5'), "{again}");
    client.leave();
    client.end();
    assert!(theirs.child.try_wait().expect("its state").is_none(), "it was ended");
}
