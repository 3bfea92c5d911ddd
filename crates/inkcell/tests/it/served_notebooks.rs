//! Notebooks of a real Jupyter server, run by their paths there, and documents that other users have open.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use inkcell_testkit::env::{CommandOutput, TestEnv, finish, names_in};
use inkcell_testkit::need::{jupyter_server, named_python};
use inkcell_testkit::wait::until;
use serde_json::Value;

use crate::env;
use crate::gateways::PATIENT;
use crate::notebook_runs::notebook;

const TOKEN: &str = "a-token-that-nobody-may-see";

/// A Jupyter server that another program started; it ends with the test.
struct Server {
    child: Child,
    port: u16,
    root: PathBuf,
}

impl Server {
    fn start(env: &TestEnv, python: impl AsRef<Path>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let root = env.outside("shown");
        std::fs::create_dir_all(root.join("work")).expect("a folder");
        let log = std::fs::File::create(env.outside("server.log")).expect("a file");
        let child = env
            .command(python.as_ref())
            .args(["-m", "jupyter_server", "--allow-root", "--no-browser"])
            .args(["--ServerApp.ip=127.0.0.1", "--ServerApp.port_retries=0"])
            .args([&format!("--ServerApp.port={port}"), "--ServerApp.base_url=/user/me/"])
            .env("JUPYTER_TOKEN", TOKEN)
            .current_dir(&root)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the same file"))
            .stderr(log)
            .process_group(0)
            .spawn()
            .expect("a server");
        until("the server", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Server { child, port, root }
    }

    /// An address as a browser shows it.
    fn page(&self, page: &str) -> String {
        format!("http://127.0.0.1:{}/user/me/{page}?token={TOKEN}", self.port)
    }

    fn put(&self, path: &str, text: &str) {
        std::fs::write(self.root.join(path), text).expect("a file of the server");
    }

    fn get(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).expect("a file of the server")
    }

    fn outputs(&self, path: &str, cell: usize) -> String {
        let notebook: Value = serde_json::from_str(&self.get(path)).expect("JSON");
        notebook["cells"][cell]["outputs"].to_string()
    }

    /// The executable, with the server's address in the form that users give it.
    fn command(&self, env: &TestEnv, args: &[&str]) -> Command {
        let mut command = env.inkcell();
        command.args(args).env("PI_PYTHON_GATEWAY_URL", self.page("lab"));
        command.env("INKCELL_PYTHON_START_TIMEOUT", PATIENT);
        command
    }

    fn ran(&self, env: &TestEnv, args: &[&str]) -> CommandOutput {
        let ran = finish(self.command(env, args), b"");
        assert!(!ran.stdout.contains(TOKEN) && !ran.stderr.contains(TOKEN), "{args:?}: {ran:?}");
        ran
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its kernels are gone by now, and it may take long to end by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The copies of notebooks that are in the state folder.
fn copies(env: &TestEnv) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![env.state().join("served")];
    while let Some(folder) = folders.pop() {
        for name in if folder.is_dir() { names_in(&folder) } else { Vec::new() } {
            let path = folder.join(name);
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ipynb") {
                found.push(path);
            }
        }
    }
    found
}

fn told(ran: &CommandOutput) -> Value {
    serde_json::from_str(&ran.stdout).expect("JSON")
}

/// B:G-01 B:G-41: the address is given as it is pasted, the notebook by its path or its page; the code works in the
/// server's folder of the notebook, and the token appears nowhere.
#[test]
fn a_notebook_of_a_server_is_run_by_its_path() {
    if !jupyter_server("a_notebook_of_a_server_is_run_by_its_path") {
        return;
    }
    let env = env();
    let server = Server::start(&env, std::env::var("INKCELL_TEST_JUPYTER_PYTHON").expect("seen"));
    server.put("work/a b.ipynb", &notebook(&["import os\nprint(os.getcwd())", "6 * 7"]));
    let status = server.ran(&env, &["gateway", "status"]).exits(0);
    assert!(status.stdout.contains("/user/me: answers (version "), "{status:?}");
    assert!(status.stdout.contains("takes the token; its kernels: python3"), "{status:?}");
    let ran = server.ran(&env, &["run", "--on-server", "work/a b.ipynb"]).exits(0);
    let place = format!("http://127.0.0.1:{}/user/me", server.port);
    let wanted = format!("Outputs are in work/a b.ipynb on {place}.\n");
    assert!(ran.stdout.ends_with(&wanted), "{ran:?}");
    let folder = server.root.join("work").canonicalize().expect("the folder");
    let shown = server.outputs("work/a b.ipynb", 0);
    assert!(shown.contains(folder.to_str().expect("a name")), "{shown}");
    assert!(server.outputs("work/a b.ipynb", 1).contains("42"));
    assert_eq!(copies(&env), [""; 0].map(PathBuf::from));

    // With -o the server's notebook stays as it is, and a page needs no setting.
    let before = server.get("work/a b.ipynb");
    let mut command = env.inkcell();
    command.args(["run", &server.page("lab/tree/work/a%20b.ipynb"), "-o", "out.ipynb"]);
    let ran = finish(command, b"").exits(0);
    assert!(!format!("{ran:?}").contains(TOKEN), "{ran:?}");
    assert!(String::from_utf8_lossy(&env.get("out.ipynb")).contains("42"));
    assert_eq!(server.get("work/a b.ipynb"), before);

    // Values are inserted into the server's notebook, too.
    server.ran(&env, &["run", "--on-server", "work/a b.ipynb", "-p", "year", "2024"]).exits(0);
    assert!(server.get("work/a b.ipynb").contains("year = 2024"));

    for (args, code, words) in [
        (&["run", "--on-server", "no.ipynb"][..], 5, "the server has no file no.ipynb"),
        (&["run", "--on-server", "../a.ipynb"], 2, "not a path on a server"),
        (&["run", &server.page("lab")], 2, "not the address of a notebook"),
        (&["run", "--on-server", "--backend", "runner", "a.ipynb"], 2, "a kernel of the server"),
        (
            &["run", "--on-server", "--cwd", ".", "a.ipynb"],
            2,
            "the notebook's folder on the server",
        ),
    ] {
        let ran = server.ran(&env, args).exits(code);
        assert!(ran.stderr.contains(words), "{args:?}: {ran:?}");
    }
    let mut command = env.inkcell();
    command.args(["run", "--on-server", "a.ipynb"]);
    assert!(finish(command, b"").exits(2).stderr.contains("no server is set"));

    let specs = server.ran(&env, &["kernel", "specs"]).exits(0);
    assert!(specs.stdout.starts_with("python3  python  "), "{specs:?}");
    assert!(specs.stdout.ends_with(" (on the gateway)\n"), "{specs:?}");
    let listed = server.ran(&env, &["settings", "gateway.url"]).exits(0);
    assert_eq!(listed.stdout, format!("gateway.url  {place}  (PI_PYTHON_GATEWAY_URL)\n"));
    server.ran(&env, &["settings", "--json"]).exits(0);
    let names = "import os; print([name for name in os.environ if 'GATEWAY' in name])";
    assert_eq!(server.ran(&env, &["py", names]).exits(0).stdout, "[]\n");
    let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let here = ["py", "--backend", "runner", "--env-all", "--python", &python, names];
    assert_eq!(server.ran(&env, &here).exits(0).stdout, "[]\n");
    let found = told(&server.ran(&env, &["doctor", "--json", "--python", "./no"]));
    let checks = found["checks"].as_array().expect("a list");
    let gateway = checks.iter().find(|check| check["what"] == "gateway").expect("a check");
    assert_eq!(gateway["level"], "ok", "{gateway}");

    let mut command = server.command(&env, &["run", "--on-server", "work/a b.ipynb"]);
    command.env("PI_PYTHON_GATEWAY_TOKEN", "another");
    let ran = finish(command, b"").exits(3);
    assert!(ran.stderr.contains("requires authentication"), "{ran:?}");
    assert!(ran.stderr.contains("the server does not accept this token"), "{ran:?}");
}

/// A change that another user saved during the run is not overwritten, and nothing of the run is lost.
#[test]
fn what_was_changed_on_the_server_meanwhile_stays() {
    if !jupyter_server("what_was_changed_on_the_server_meanwhile_stays") {
        return;
    }
    let env = env();
    let server = Server::start(&env, std::env::var("INKCELL_TEST_JUPYTER_PYTHON").expect("seen"));
    server
        .put("work/a.ipynb", &notebook(&["import os\nos.utime('a.ipynb', (1, 1))\nprint('ours')"]));
    let before = server.get("work/a.ipynb");
    let run = ["run", "--on-server", "work/a.ipynb"];
    let ran = server.ran(&env, &run).exits(4);
    assert!(ran.stderr.contains("work/a.ipynb was changed on the server"), "{ran:?}");
    assert_eq!(server.get("work/a.ipynb"), before);
    let kept = copies(&env);
    let [file] = kept.as_slice() else { panic!("{kept:?}") };
    assert!(ran.stderr.contains(&format!("the outputs are kept in {}", file.display())), "{ran:?}");
    assert!(std::fs::read_to_string(file).expect("the copy").contains("ours\\n"));
    let status = told(&server.ran(&env, &["gateway", "status", "--json"]).exits(0));
    let listed = &status["not_put_back"][0];
    assert_eq!((&listed["path"], &listed["file"]), (&"work/a.ipynb".into(), &file.to_str().into()));

    // The next run puts the copy away and says so; the copy stays on record.
    let ran = server.ran(&env, &[&run[..], &["--force"]].concat()).exits(0);
    assert!(ran.stderr.contains("did not reach the server; they are in"), "{ran:?}");
    assert!(server.outputs("work/a.ipynb", 0).contains("ours"));
    let status = told(&server.ran(&env, &["gateway", "status", "--json"]).exits(0));
    let file = status["not_put_back"][0]["file"].as_str().expect("a file");
    assert!(std::fs::read_to_string(file).expect("the copy").contains("ours\\n"));
}

/// F-021: a stopped run writes back its results, and a killed one leaves a copy from which to go on.
#[test]
fn what_a_run_has_shown_gets_to_the_server() {
    if !jupyter_server("what_a_run_has_shown_gets_to_the_server") {
        return;
    }
    let env = env();
    let server = Server::start(&env, std::env::var("INKCELL_TEST_JUPYTER_PYTHON").expect("seen"));
    let wait = "import os, time\nopen('begun', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.01)";
    server.put("work/a.ipynb", &notebook(&["print('first')", wait]));
    let begun = server.root.join("work/begun");
    let start = |args: &[&str]| {
        let mut command = server.command(&env, args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("a run");
        until("the beginning of the cell", || begun.exists());
        std::fs::remove_file(&begun).expect("it was there");
        child
    };
    let run = ["run", "--on-server", "work/a.ipynb"];
    let mut stopped = start(&run);
    let busy = server.ran(&env, &run).exits(6);
    assert!(busy.stderr.contains("another inkcell runs work/a.ipynb"), "{busy:?}");
    let pid = rustix::process::Pid::from_child(&stopped);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    assert_eq!(stopped.wait().expect("an end").signal(), Some(15));
    assert!(server.outputs("work/a.ipynb", 0).contains("first"));
    assert!(server.outputs("work/a.ipynb", 1).contains("KeyboardInterrupt"));
    assert_eq!(copies(&env), [""; 0].map(PathBuf::from));

    server.put("work/a.ipynb", &notebook(&["print('first')", wait]));
    let mut killed = start(&run);
    killed.kill().expect("it runs");
    killed.wait().expect("an end");
    assert_eq!(server.outputs("work/a.ipynb", 0), "[]");
    assert_eq!(copies(&env).len(), 1);
    std::fs::write(server.root.join("work/go"), "").expect("a file");
    let ran = server.ran(&env, &[&run[..], &["--resume"]].concat()).exits(0);
    assert!(
        ran.stdout.contains("1 cell that an earlier run had finished was not run again"),
        "{ran:?}"
    );
    assert!(server.outputs("work/a.ipynb", 0).contains("first"));
    assert_eq!(copies(&env), [""; 0].map(PathBuf::from));
}

/// Opens a document as a browser does, reports it, and keeps it open until its input ends.
const OPENS: &str = r#"
import asyncio, json, sys
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import websocket_connect
async def main(base, token, path):
    headers = {"Authorization": "token " + token}
    body = json.dumps({"format": "json", "type": "notebook"})
    url = f"http://{base}/api/collaboration/session/{path}"
    reply = await AsyncHTTPClient().fetch(HTTPRequest(url, method="PUT", headers=headers, body=body))
    found = json.loads(reply.body)
    room = f"ws://{base}/api/collaboration/room/json:notebook:{found['fileId']}?sessionId={found['sessionId']}"
    socket = await websocket_connect(HTTPRequest(room, headers=headers))
    await socket.read_message()
    print("open", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
asyncio.run(main(*sys.argv[1:]))
"#;

/// A document that other users have open is not written, neither by its path there nor as a file of this machine,
/// unless it is forced.
#[test]
fn a_document_that_others_have_open_is_not_written() {
    let test = "a_document_that_others_have_open_is_not_written";
    let variable = "INKCELL_TEST_COLLABORATION_PYTHON";
    let Some(python) = named_python(test, variable, "jupyter_server_ydoc, tornado") else { return };
    let env = env();
    let server = Server::start(&env, &python);
    server.put("work/a.ipynb", &notebook(&["print('ran')"]));
    let file = server.root.join("work/a.ipynb").display().to_string();
    let (there, here) = (["run", "--on-server", "work/a.ipynb"], ["run", file.as_str()]);
    server.ran(&env, &there).exits(0);
    server.ran(&env, &here).exits(0);
    let mut other = env.command(&python);
    let base = format!("127.0.0.1:{}/user/me", server.port);
    other.args(["-c", OPENS, &base, TOKEN, "work/a.ipynb"]);
    let mut other = other.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a browser");
    let mut said = String::new();
    let stdout = other.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut said).expect("a line");
    assert_eq!(said, "open\n");
    for args in [&there[..], &here[..]] {
        let ran = server.ran(&env, args).exits(4);
        assert!(ran.stderr.contains("open on the server with real-time collaboration"), "{ran:?}");
        assert!(ran.stderr.contains("--force"), "{ran:?}");
    }
    let ran = server.ran(&env, &here).exits(4);
    assert!(ran.stderr.contains("is work/a.ipynb on the server"), "{ran:?}");
    server.ran(&env, &[&here[..], &["-o", "out.ipynb"]].concat()).exits(0);
    server.ran(&env, &[&here[..], &["--force"]].concat()).exits(0);
    server.ran(&env, &[&there[..], &["--force"]].concat()).exits(0);
    drop(other.stdin.take());
    other.wait().expect("an end");
}
