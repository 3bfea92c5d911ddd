//! Code in a kernel that calls the notebook tools of its host, on the real server.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use inkcell_testkit::env::TestEnv;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::env;
use crate::python::wait_for;
use crate::running::run_py;

const NOTEBOOK: &str = r##"{
 "cells": [
  {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Sales"]},
  {"cell_type": "code", "execution_count": null, "id": "load", "metadata": {}, "outputs": [],
   "source": ["total = 20"]}
 ],
 "metadata": {}, "nbformat": 4, "nbformat_minor": 5
}
"##;

/// Code that prints how to reach the bridge, and then waits for a file.
fn telling(file: &str, gate: &str) -> String {
    format!(
        "import json, os, time\n\
         keys = {{name: os.environ['PI_TOOL_BRIDGE_' + name] for name in \
         ('URL', 'TOKEN', 'SESSION', 'RUN')}}\n\
         with open({file:?} + '.part', 'w') as out: json.dump(keys, out)\n\
         os.rename({file:?} + '.part', {file:?})\n\
         while not os.path.exists({gate:?}): time.sleep(0.01)"
    )
}

/// The way to the bridge of one run.
struct Access {
    address: String,
    token: String,
    session: String,
    run: String,
}

impl Access {
    fn read(path: &Path) -> Access {
        let keys: Value = serde_json::from_str(&wait_for(path)).expect("JSON");
        let of = |name: &str| keys[name].as_str().expect("a text").to_owned();
        let address =
            of("URL").strip_prefix("http://127.0.0.1:").expect("a local address").to_owned();
        Access {
            address: format!("127.0.0.1:{address}"),
            token: of("TOKEN"),
            session: of("SESSION"),
            run: of("RUN"),
        }
    }

    fn body(&self) -> Value {
        let args = json!({"path": "nb.ipynb"});
        json!({"session": self.session, "run": self.run, "name": "notebook_read", "args": args})
    }

    /// Sends a request as any program could, and returns its status and its answer.
    fn ask(&self, line: &str, headers: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let size = body.len();
        let request = format!("{line} HTTP/1.1\r\n{headers}Content-Length: {size}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
        let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    fn post(&self, token: &str, body: &str) -> (u16, Value) {
        let headers = format!("Host: {}\r\nAuthorization: Bearer {token}\r\n", self.address);
        self.ask("POST /v1/tool", &headers, body)
    }
}

fn start(args: &[&str]) -> (TestEnv, Client) {
    let env = env();
    env.put("nb.ipynb", NOTEBOOK);
    let client = Client::start(&env, args);
    (env, client)
}

fn error(answer: &Value) -> &str {
    assert_eq!(answer["ok"], false, "{answer}");
    answer["error"].as_str().expect("words")
}

fn python(client: &mut Client, code: &str) -> Answer {
    client.ok("python", json!({"code": code, "timeout": 60}))
}

/// B:X-40: code may edit and run cells of a notebook, except from that notebook's own session: there it would wait
/// for itself, so the run is refused. The edit is made in both cases.
#[test]
fn code_runs_cells_of_other_sessions_only() {
    let (env, mut client) = start(&[]);
    // The session of a notebook has no helpers, but any code can find the bridge.
    let own = "import json, os, urllib.request\n\
               of = lambda name: os.environ['PI_TOOL_BRIDGE_' + name]\n\
               edit = {'path': 'nb.ipynb', 'cell': 'load', 'source': 'print(6 * 7)', 'run': 'changed'}\n\
               body = {'session': of('SESSION'), 'run': of('RUN'), 'name': 'notebook_edit', 'args': edit}\n\
               head = {'Authorization': 'Bearer ' + of('TOKEN')}\n\
               request = urllib.request.Request(of('URL') + '/v1/tool', json.dumps(body).encode(), head)\n\
               opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))\n\
               print(json.load(opener.open(request)))";
    let own = client.call("python", json!({"code": own, "session": "nb.ipynb", "timeout": 60}));
    assert!(own.text().contains("waits for the answer"), "{own:?}");
    assert!(String::from_utf8(env.get("nb.ipynb")).unwrap().contains("print(6 * 7)"));
    let other = "print(tool.notebook_edit({'path': 'nb.ipynb', 'cell': 'load', 'source': 'print(7 * 7)', \
                 'run': 'changed'}))";
    let other = python(&mut client, other);
    assert!(other.text().contains("[cell 1 (load)]\n49\n"), "{other:?}");
}

/// B:X-40, B:X-42: a cell reads a notebook, changes it, and can write back the text that it read.
#[test]
fn code_reads_and_edits_notebooks() {
    let (env, mut client) = start(&[]);
    let read = python(&mut client, "text = tool.notebook_read({'path': 'nb.ipynb'})\nprint(text)");
    assert!(read.text().contains("# Sales") && read.text().contains("total = 20"), "{read:?}");
    let code = "done = tool.notebook_edit({'path': 'nb.ipynb'}, cell='load', source='total = 21')\n\
                print(type(done).__name__, done['path'])";
    assert_eq!(python(&mut client, code).text(), "dict nb.ipynb");
    assert!(String::from_utf8(env.get("nb.ipynb")).unwrap().contains("total = 21"));
    let code = "text = tool.notebook_read(path='nb.ipynb')\n\
                tool.notebook_edit(path='nb.ipynb', text=text.replace('21', '22'))\n\
                import json\njson.loads(tool.notebook_read(path='nb.ipynb', view='raw'))['cells'][1]['source']";
    assert_eq!(python(&mut client, code).text(), "['total = 22']");
    // The whole text: pages are for human readers.
    let code = "lines = '\\n'.join(f'x{n} = {n}' for n in range(20_000))\n\
                tool.notebook_edit(path='nb.ipynb', cell='load', source=lines)\n\
                text = tool.notebook_read(path='nb.ipynb')\nlines in text, len(text) > 200_000";
    assert_eq!(python(&mut client, code).text(), "(True, True)");
}

/// B:X-42, S-022: code reaches the notebook tools on offer and nothing else, and its errors say what is wrong.
#[test]
fn code_reaches_notebook_tools_only() {
    let (_env, mut client) = start(&[]);
    let code = "def told(call):\n    try: call()\n    except Exception as error: return type(error).__name__, str(error)\n\
        for name in 'python', 'kernel', 'result', 'inspect', 'bash', 'eval', 'write', 'no_such':\n    \
        kind, words = told(lambda: tool[name]({'code': '1'}))\n    \
        assert kind == 'RuntimeError' and words.endswith('available are: notebook_read, notebook_edit'), words\n\
        print(told(lambda: tool.notebook_read(['nb.ipynb'])))\n\
        print(told(lambda: tool.notebook_read({'path': 'none.ipynb'})))\n\
        print(told(lambda: tool.notebook_read({'pth': 'nb.ipynb'})))\n\
        print(repr(tool))";
    let answer = python(&mut client, code);
    let text = answer.text();
    let mut lines = text.lines();
    let first = "('TypeError', 'tool.notebook_read() takes a dict of arguments, not list')";
    assert_eq!(lines.next(), Some(first), "{text}");
    assert!(
        lines
            .next()
            .is_some_and(|line| line.contains("RuntimeError") && line.contains("not found"))
    );
    assert!(lines.next().is_some_and(|line| line.contains("did you mean path?")), "{text}");
    assert_eq!(lines.next(), Some("<tools of session default>"));
}

/// B:X-42: a kernel whose host offers no tools says so.
#[test]
fn there_is_no_bridge_without_a_server() {
    let env = env();
    let code = "import os\nprint([name for name in os.environ if 'BRIDGE' in name])\n\
                try: tool.notebook_read({})\nexcept RuntimeError as error: print(error)\n\
                try: tool.notebook_read(1)\nexcept TypeError as error: print(error)";
    let ran = run_py(&env, &[code]).ok();
    assert_eq!(
        ran.stdout,
        "[]\ntool bridge is unavailable in this kernel\n\
         tool.notebook_read() takes a dict of arguments, not int\n"
    );
}

/// B:X-40: every answer of the bridge to raw requests, during a run and after it.
#[test]
fn requests_are_answered_as_they_deserve() {
    let (env, mut client) = start(&[]);
    let one = client.begin_call("python", json!({"code": telling("one", "gate"), "session": "a"}));
    let two = client.begin_call("python", json!({"code": telling("two", "gate"), "session": "b"}));
    let (a, b) = (Access::read(&env.path("one")), Access::read(&env.path("two")));
    assert_eq!((a.session.as_str(), b.session.as_str()), ("a", "b"));
    assert!(a.token != b.token && a.run != b.run && a.address == b.address);

    let (status, answer) = a.post(&a.token, &a.body().to_string());
    assert_eq!((status, &answer["ok"]), (200, &json!(true)), "{answer}");
    assert!(answer["value"].as_str().is_some_and(|text| text.contains("# Sales")), "{answer}");

    let host = format!("Host: {}\r\nAuthorization: Bearer {}\r\n", a.address, a.token);
    for line in ["GET /v1/tool", "PUT /v1/tool", "POST /", "POST /v1/tools", "POST /v1/tool/"] {
        assert_eq!(a.ask(line, &host, "{}").0, 404, "{line}");
    }
    let body = a.body().to_string();
    let wrong = "0".repeat(64);
    for token in ["", "x", wrong.as_str(), &a.token[1..]] {
        assert_eq!(a.post(token, &body).0, 403, "{token}");
    }
    assert_eq!(a.ask("POST /v1/tool", &format!("Host: {}\r\n", a.address), &body).0, 403);
    let rebound = format!("Host: evil.example\r\nAuthorization: Bearer {}\r\n", a.token);
    assert_eq!(a.ask("POST /v1/tool", &rebound, &body).0, 403);
    let page = format!("{host}Origin: http://evil.example\r\n");
    assert_eq!(a.ask("POST /v1/tool", &page, &body).0, 403);

    for body in ["", "{", "[]", "1", "\"x\"", "{\"session\": "] {
        let (status, answer) = a.post(&a.token, body);
        assert_eq!((status, error(&answer)), (400, "Invalid JSON body"), "{body}");
    }
    for missing in ["session", "run", "name"] {
        for value in [Value::Null, json!(""), json!([])] {
            let mut body = a.body();
            body[missing] = value;
            let (status, answer) = a.post(&a.token, &body.to_string());
            assert_eq!((status, error(&answer)), (400, "Missing session/run/name"), "{body}");
        }
    }
    // The token of one run is useless for another.
    let (status, answer) = a.post(&a.token, &b.body().to_string());
    let expected = format!("No active Python tool bridge session: b:{}", b.run);
    assert_eq!((status, error(&answer)), (200, expected.as_str()));
    let mut other = a.body();
    other["run"] = json!("r0");
    let (_, answer) = a.post(&a.token, &other.to_string());
    assert_eq!(error(&answer), "No active Python tool bridge session: a:r0");
    let mut other = a.body();
    other["args"] = json!([1]);
    assert!(error(&a.post(&a.token, &other.to_string()).1).contains("arguments"));
    let huge = format!("{host}Content-Length: 1000000000\r\n");
    assert!(matches!(a.ask("POST /v1/tool", &huge, "").0, 400 | 413));

    env.put("gate", "");
    for id in [one, two] {
        assert!(!client.called(id).is_error());
    }
    // The runs are over, and the next one of the session has a token of its own.
    let (status, answer) = a.post(&a.token, &a.body().to_string());
    let expected = format!("No active Python tool bridge session: a:{}", a.run);
    assert_eq!((status, error(&answer)), (200, expected.as_str()));
    let again =
        client.begin_call("python", json!({"code": telling("again", "gate"), "session": "a"}));
    let next = Access::read(&env.path("again"));
    client.called(again);
    assert!(next.token != a.token && next.run != a.run);
}

/// B:X-41: a waiting request is answered at once when its run is cancelled.
#[test]
fn a_request_of_a_run_that_is_stopped_is_answered_at_once() {
    let (env, mut client) = start(&[]);
    python(&mut client, "import os");
    let edit = json!({"path": "nb.ipynb", "cell": "load", "source": "total = 21"});
    client.ok("notebook_edit", edit);
    // Another program holds the lock of the notebook, for longer than this test takes.
    let locks = std::fs::read_dir(env.state().join("locks")).expect("locks");
    let held: Vec<std::fs::File> = locks
        .map(|entry| {
            let file = std::fs::File::open(entry.unwrap().path()).unwrap();
            file.lock().expect("nobody has it");
            file
        })
        .collect();
    assert!(!held.is_empty());
    // The code ignores the interrupt until the request is answered, so that nothing else ends the request.
    let code = "import os, threading, time\n\
        waits = threading.Event()\n\
        def ask():\n    \
        waits.wait()\n    \
        with open('asking', 'w') as out: out.write('x')\n    \
        try: tool.notebook_edit(path='nb.ipynb', cell='load', source='total = 22')\n    \
        except RuntimeError as error: words = str(error)\n    \
        with open('part', 'w') as out: out.write(words)\n    \
        os.rename('part', 'told')\n\
        def wait():\n    \
        waits.set()\n    \
        while not os.path.exists('told'): time.sleep(0.01)\n\
        threading.Thread(target=ask).start()\n\
        while not os.path.exists('told'):\n    \
        try: wait()\n    except KeyboardInterrupt: pass";
    let id = client.begin_call("python", json!({"code": code}));
    wait_for(&env.path("asking"));
    client.send(&json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": id, "reason": "enough"},
    }));
    assert_eq!(wait_for(&env.path("told")), "aborted: eval cell was interrupted");
    drop(held);
    // The kernel obeyed the interrupt and is still alive.
    assert_eq!(python(&mut client, "os.path.exists('told')").text(), "True");
}

/// B:X-40: threads, copies of the kernel and programs that a cell starts use the bridge as the cell does, until
/// the run is over.
#[test]
fn whatever_a_cell_starts_can_call_tools_while_it_runs() {
    let (env, mut client) = start(&[]);
    let code = "import os, threading\n\
        from concurrent.futures import ThreadPoolExecutor\n\
        ask = lambda _: '# Sales' in tool.notebook_read(path='nb.ipynb')\n\
        with ThreadPoolExecutor(40) as pool: print(sum(pool.map(ask, range(120))))\n\
        pid = os.fork()\n\
        if pid == 0: os._exit(7 if ask(0) else 1)\n\
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) if hasattr(os, 'waitstatus_to_exitcode') else 7)\n\
        import json, subprocess, sys\n\
        program = '''import json, os, urllib.request\n\
of = lambda name: os.environ['PI_TOOL_BRIDGE_' + name]\n\
body = {'session': of('SESSION'), 'run': of('RUN'), 'name': 'notebook_read', 'args': {'path': 'nb.ipynb'}}\n\
head = {'Authorization': 'Bearer ' + of('TOKEN')}\n\
request = urllib.request.Request(of('URL') + '/v1/tool', json.dumps(body).encode(), head)\n\
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))\n\
print(json.load(opener.open(request))['value'].count('# Sales'))'''\n\
        subprocess.run([sys.executable, '-c', program]);\n\
        def late():\n    \
        while not os.path.exists('over'): pass\n    \
        try: tool.notebook_read(path='nb.ipynb')\n    \
        except RuntimeError as error: words = str(error)\n    \
        with open('part', 'w') as out: out.write(words)\n    \
        os.rename('part', 'late')\n\
        threading.Thread(target=late).start()";
    assert_eq!(python(&mut client, code).text(), "120\n7\n1");
    env.put("over", "");
    let late = wait_for(&env.path("late"));
    assert!(late.starts_with("No active Python tool bridge session: default:r"), "{late}");
}

/// B:X-40, S-022: a path means the same to a tool as to the code that calls it, and the tool has the same limits.
#[test]
fn paths_begin_where_the_code_works() {
    let env = env();
    std::fs::create_dir_all(env.path("sub/deeper")).unwrap();
    env.put("sub/deeper/nb.ipynb", NOTEBOOK);
    env.put("sub/nb.ipynb", NOTEBOOK.replace("Sales", "Costs"));
    let outside = env.outside("other.ipynb");
    std::fs::write(&outside, NOTEBOOK).unwrap();
    let root = env.dir().display().to_string();
    let mut client = Client::with(&env, &[], |command| {
        command.arg("--root").arg(&root);
    });
    let code = "import os\n\
        print('Costs' in tool.notebook_read(path='nb.ipynb'))\n\
        os.chdir('deeper')\n\
        print('Sales' in tool.notebook_read(path='nb.ipynb'))\n\
        print('Costs' in tool.notebook_read(path='../nb.ipynb'))";
    let answer = client.ok("python", json!({"code": code, "cwd": "sub"}));
    assert_eq!(answer.text(), "True\nTrue\nTrue");
    let code = format!("tool.notebook_read(path={:?})", outside.display().to_string());
    let refused = client.call("python", json!({"code": code, "cwd": "sub"}));
    assert!(refused.is_error() && refused.text().contains("RuntimeError"), "{refused:?}");
}

/// B:X-42: the tools of the source documents, if offered, from either tool that runs code and in a session hosted
/// by IPython.
#[test]
fn compatible_tools_are_called_by_code() {
    let env = env();
    env.put("nb.ipynb", NOTEBOOK);
    let mut client = Client::start(&env, &["--tools", "compat"]);
    let code = "print('# Sales' in tool.read(path='nb.ipynb'))\n\
        done = tool.notebook(action='edit', notebook_path='nb.ipynb', cell_index=1, content='total = 2')\n\
        done = tool.NotebookEdit(notebook_path='nb.ipynb', cell_id='load', new_source='total = 3')\n\
        done = tool.edit(path='nb.ipynb', old_text='total = 3', new_text='total = 4')\n\
        text = tool.read(path='nb.ipynb')\n\
        done = tool.write(path='copy.ipynb', content=text)\n\
        print(tool.read(path='copy.ipynb') == text, 'total = 4' in text)\n\
        tool.write(path='plain.txt', content='')\n\
        print(repr(tool.read(path='plain.txt')))\n\
        try: tool.NotebookEdit(notebook_path='nb.ipynb', cell_id='none', new_source='x')\n\
        except RuntimeError as error: print('refused')";
    let expected = "True\nTrue True\n''\nrefused";
    let answer = client.ok("eval", json!({"cells": [{"language": "py", "code": code}]}));
    assert_eq!(answer.text().trim(), expected);
    let answer = client.ok("python", json!({"code": code}));
    assert_eq!(answer.text().trim(), expected);
}
