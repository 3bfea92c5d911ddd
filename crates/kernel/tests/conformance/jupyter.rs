//! Features that only kernels over ZeroMQ have, or have in a different way than the runner.
//!
//! IPython's kernel buffers its own output and handles its own signals. So some tiers ask less of it than of the
//! runner: inkcell cannot control output that was not flushed before a death, output that C code holds back, or
//! the order of two streams.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inkcell_kernel::{
    BackendKind, CodeRequest, Death, DeathCause, Direction, ExecEvent, History, KernelInfo,
    KernelTrace, Kernelspec, Ladder, LaunchError, Message, Messages, MimeData, Outcome, Prelude,
    Program, Rung, Transport, ZmqBackend, ZmqConfig, ZygoteState,
};
use inkcell_testkit::need::{is_exhaustive, skip, succeeds};
use inkcell_testkit::wait::until_async;

use crate::bench::{Bench, Start, state_dir};
use crate::ran::Ran;

/// B:X-25: no user can type, and the code learns it at once.
async fn input_is_refused(start: Start) {
    let mut bench = Bench::start(start).await;
    for code in ["input('name? ')", "import getpass\ngetpass.getpass()"] {
        let ran = bench.run(code).await;
        let is_asked = |event: &ExecEvent| matches!(event, ExecEvent::InputRequested { .. });
        assert_eq!(ran.events.iter().filter(|event| is_asked(event)).count(), 1, "{code}");
        assert_eq!(ran.error().name, "StdinNotImplementedError", "{code}");
    }
    for code in ["import sys\nsys.stdin.read()", "import os\nos.system('cat')", "os.read(0, 10)"] {
        bench.run(code).await.ok();
        assert_eq!(bench.value("'sound'").await, "'sound'", "{code}");
    }
}

/// F-006: death has its cause, and output from before it arrives.
async fn every_way_to_die_has_its_cause(start: Start) {
    let mut bench = Bench::start(start).await;
    let table = [
        ("import os\nprint('last words')\nos._exit(3)", DeathCause::Exit { code: 3 }),
        ("import os\nprint('last words')\nos.abort()", DeathCause::Signal { signal: 6 }),
        ("import os\nos.kill(os.getpid(), 9)", DeathCause::Signal { signal: 9 }),
        // Issue 21, 19: flushed output is on its way, and arrives.
        (
            "import os\nprint('last words', flush=True)\nos.kill(os.getpid(), 15)",
            DeathCause::Signal { signal: 15 },
        ),
        ("import ctypes\nctypes.string_at(0)", DeathCause::Signal { signal: 11 }),
    ];
    for (code, cause) in table {
        let ran = bench.run(code).await;
        assert!(matches!(ran.events[0], ExecEvent::Started { .. }), "{code}: {:?}", ran.events);
        assert_eq!(ran.cause(), &cause, "{code}");
        let is_said = code.contains("last words");
        assert_eq!(ran.stdout(), if is_said { "last words\n" } else { "" }, "{code}");
        assert!(bench.events.next().await.is_none(), "nothing follows a death");
        bench.relaunch().await;
    }
}

/// B:R-20 F-012 B:Z-13
async fn an_interrupt_ends_the_cell_and_the_kernel_lives(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("import subprocess, time\nkept = 1").await.ok();
    // Issue 21, 6: code that waits in the kernel's event loop is cancelled there, and the loop goes on.
    let waiting = "import asyncio\nsay = lambda: print('go', flush=True)\n\
                   asyncio.get_running_loop().call_later(0.01, say)\nawait asyncio.sleep(600)";
    let exec = bench.post(waiting, History::Store);
    bench.wait_for_output("go").await;
    bench.kernel().interrupt().expect("it is there");
    assert_eq!(bench.collect(exec).await.error().name, "CancelledError");
    for code in
        ["while True: time.sleep(0.01)", "while True: pass", "subprocess.run(['sleep', '60'])"]
    {
        let exec = bench.post(&format!("print('go', flush=True)\n{code}"), History::Store);
        bench.wait_for_output("go").await;
        let ladder = Ladder::new(Ladder::GRACE);
        let (ran, _) = bench.climb_to(Rung::Interrupt, exec, ladder).await;
        assert_eq!(ran.error().name, "KeyboardInterrupt", "{code}");
        assert_eq!(bench.value("kept").await, "1", "{code}");
    }
}

/// F-004 F-005 B:R-21: force ends code that ignores interrupts, and the death has that cause.
async fn code_that_ignores_interrupts_is_ended(start: Start) {
    let grace = Ladder::new(Duration::from_millis(600));
    let table = [
        ("signal.signal(2, signal.SIG_IGN)", Rung::Terminate),
        ("for s in (2, 15): signal.signal(s, signal.SIG_IGN)", Rung::Kill),
    ];
    let mut bench = Bench::start(start).await;
    for (code, rung) in table {
        let code = format!(
            "import signal, time\n{code}\nprint('go', flush=True)\nwhile True: time.sleep(60)"
        );
        let exec = bench.post(&code, History::Store);
        bench.wait_for_output("go").await;
        let (ran, last) = bench.climb_to(rung, exec, grace).await;
        assert_eq!((last, ran.cause()), (rung, &DeathCause::IgnoredInterrupt), "{code}");
        bench.relaunch().await;
    }
}

/// Trap 1, issue 7, 3: a burst of messages in one cell arrives in full, even with a late reader.
async fn nothing_is_dropped_in_a_burst(start: Start) {
    let mut bench = Bench::start(start).await;
    let count = start.times(20_000);
    let code = format!(
        "for n in range({count}): display({{'text/plain': str(n)}}, raw=True)\nopen('done', 'w').close()"
    );
    let exec = bench.post(&code, History::Store);
    // The kernel runs ahead of an idle reader.
    let done = bench.cwd().join("done");
    until_async("the last display", async || done.exists()).await;
    let ran = bench.collect(exec).await.ok();
    let shown = ran.order();
    let wanted: Vec<String> = (0..count).map(|n| format!("display {n}")).collect();
    assert!(shown == wanted, "{} displays", shown.len());
    assert_eq!(ran.notices, [""; 0]);
}

/// Issue 7, 3: a message of 200 MB arrives whole; only 20 MB, unless the run is exhaustive.
async fn a_giant_arrives_whole() {
    if !Start::Ipc.is_possible("a_giant_arrives_whole") {
        return;
    }
    let mut bench = Bench::start(Start::Ipc).await;
    let pairs = if is_exhaustive() { 100_000_000 } else { 10_000_000 };
    let code = format!("display({{'text/plain': 'ab' * {pairs}}}, raw=True)");
    let ran = bench.run(&code).await.ok();
    let data = ran.events.iter().find_map(|event| match event {
        ExecEvent::Display { data, .. } => data.get("text/plain"),
        _ => None,
    });
    match data {
        Some(MimeData::Text(text)) => {
            assert!(text.len() == 2 * pairs && text.as_bytes().chunks(2).all(|pair| pair == b"ab"));
        }
        other => panic!("{:?}", other.map(MimeData::len_bytes)),
    }
    assert_eq!(bench.value("1 + 1").await, "2");
}

/// B:Z-12: a traceback that a cell prints and survives keeps its place before later output.
async fn a_traceback_that_the_cell_shows_keeps_its_place(start: Start) {
    let mut bench = Bench::start(start).await;
    let caught = |rest: &str| {
        format!("try: 1 / 0\nexcept Exception: get_ipython().showtraceback()\nprint('on')\n{rest}")
    };
    let names = |ran: &Ran| -> Vec<&str> {
        let name = |event: &ExecEvent| match event {
            ExecEvent::Stream { name, .. } => Some(name.as_str()),
            _ => None,
        };
        let mut names: Vec<&str> = ran.events.iter().filter_map(name).collect();
        names.dedup();
        names
    };
    for (code, error) in [
        (caught(""), None),
        (caught("nothing"), Some("NameError")),
        ("_ = get_ipython().run_cell('1 / 0')\nprint('on')".to_owned(), None),
        ("import asyncio\nawait asyncio.sleep(0)\n".to_owned() + &caught(""), None),
    ] {
        let ran = bench.run(&code).await;
        assert_eq!(names(&ran), ["stderr", "stdout"], "{code}");
        assert!(ran.stderr().contains("ZeroDivisionError"), "{code}");
        match error {
            Some(name) => assert_eq!(ran.error().name, name, "{code}"),
            None => assert_eq!(ran.outcome(), &Outcome::Ok, "{code}"),
        }
    }
    for code in ["1 / 0", "await asyncio.sleep(0)\n1 / 0", "def f(): 1 / 0\nf()", "("] {
        let ran = bench.run(code).await;
        assert_eq!(names(&ran), [""; 0], "{code}: the error is told once");
        ran.error();
    }
}

/// B:Z-12: displays, updates, results and widgets arrive in the kernel's order and form.
async fn rich_output_arrives_as_it_was_given(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "from IPython.display import clear_output\nh = display({'b/x': 'B', 'a/x': 'A', 'application/json': \
                {'z': 1.0, 'a': [None]}}, raw=True, metadata={'m': 1}, display_id='d')\n\
                h.update({'text/plain': 'new'}, raw=True)\nclear_output(wait=True)\n\
                display({'image/png': 'aGk='}, raw=True)";
    let ran = bench.run(code).await.ok();
    let shown: Vec<&ExecEvent> = ran.events[1..ran.events.len() - 1].iter().collect();
    match shown[..] {
        [
            ExecEvent::Display { id: Some(id), data },
            ExecEvent::UpdateDisplay { id: same, .. },
            ExecEvent::ClearOutput { wait: true },
            ExecEvent::Display { id: None, data: image },
        ] => {
            assert_eq!((id, &*id.0, data.metadata.as_str()), (same, "d", r#"{"m": 1}"#));
            let kinds: Vec<&str> = data.data.iter().map(|(kind, _)| kind.as_str()).collect();
            assert_eq!(kinds, ["b/x", "a/x", "application/json"]);
            let json = MimeData::Json(r#"{"z": 1.0, "a": [null]}"#.to_owned());
            assert_eq!(data.get("application/json"), Some(&json));
            assert_eq!(image.get("image/png"), Some(&MimeData::Binary(b"hi".as_slice().into())));
        }
        _ => panic!("{shown:?}"),
    }
    // A comm to a target that does not exist is closed at once, without harm to the kernel.
    let code =
        "from comm import create_comm\nc = create_comm(target_name='other', data={})\nc.send({})";
    bench.run(code).await.ok();
    assert_eq!(bench.value("len(get_ipython().kernel.comm_manager.comms)").await, "0");
    // Issue 21, 16: a result may also have a display id.
    let code = "k = get_ipython().kernel\nsent = {'data': {'text/plain': '5'}, 'metadata': {}, 'execution_count': 7, \
                'transient': {'display_id': 'r'}}\nk.session.send(k.iopub_socket, 'execute_result', sent, \
                parent=k.get_parent())\nNone";
    let ran = bench.run(code).await.ok();
    let is_named = |event: &ExecEvent| matches!(event, ExecEvent::Result { id: Some(id), count: 7, .. } if &*id.0 == "r");
    assert!(ran.events.iter().any(is_named), "{:?}", ran.events);
    let ran = bench.run("len?").await.ok();
    assert!(ran.order()[0].contains("Return the number of items"), "{:?}", ran.order());
}

/// F-033: characters in the output of programs stay whole, wherever a chunk ends.
async fn characters_of_programs_are_whole(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "import os, time\nfor byte in 'aé€😀'.encode() * 3: os.write(1, bytes([byte])); time.sleep(0.002)\n\
                os.system(\"printf 'é%.0s' $(seq 30000)\")\nNone";
    let ran = bench.run(code).await.ok();
    let wanted = "aé€😀".repeat(3) + &"é".repeat(30_000);
    assert!(ran.stdout() == wanted, "{} of {} bytes", ran.stdout().len(), wanted.len());
}

/// B:Z-02 B:Z-14: the connection file is private, and no file remains after the kernel.
async fn files_are_private_and_go_with_the_kernel(start: Start) {
    use std::os::unix::fs::PermissionsExt as _;
    let mut bench = Bench::start(start).await;
    let runtime = bench.cwd().with_file_name("tmp");
    let list = || -> Vec<PathBuf> {
        std::fs::read_dir(&runtime)
            .expect("a folder")
            .map(|entry| entry.expect("one").path())
            .collect()
    };
    let homes = list();
    assert_eq!(homes.len(), 1, "{homes:?}");
    let mode = |path: &PathBuf| std::fs::metadata(path).expect("it").permissions().mode() & 0o777;
    assert_eq!((mode(&homes[0]), mode(&homes[0].join("kernel.json"))), (0o700, 0o600));
    assert_eq!(bench.shut_down().await.cause, DeathCause::Shutdown);
    assert!(list().is_empty(), "{:?}", list());
}

/// Issue 7, 6: helpers and modules exist as in the runner, and add only their own names.
async fn a_kernel_begins_with_what_it_is_to_have(start: Start) {
    let mut bench = Bench::start(start).await;
    let names = "sorted(name for name in globals() if not name.startswith('_'))";
    let bare = bench.value(names).await;
    assert_eq!(bare, "['In', 'Out', 'exit', 'get_ipython', 'open', 'quit']");
    let cwd = format!("'{}'", bench.cwd().canonicalize().expect("a path").display());
    assert_eq!(bench.value("import os, sys\nos.getcwd()").await, cwd);
    assert_eq!(bench.value("sys.path[0]").await, cwd);
    assert_eq!(bench.value("[p for p in sys.path if 'conformance' in p]").await, "[]");
    assert_eq!(bench.value("(os.getsid(0), os.getpgrp()) == (os.getpid(),) * 2").await, "True");

    let path = bench.cwd().join("extension.py");
    std::fs::write(&path, "print('silent')\nloaded = 5").expect("a file");
    bench.spec.startup.modules = vec![("extension".to_owned(), path)];
    bench.spec.startup.prelude = Prelude::Full;
    bench.relaunch().await;
    let ran = bench.run("loaded, write('made.txt', 'hello').name").await.ok();
    assert_eq!(ran.result().as_deref(), Some("(5, 'made.txt')"));
    assert_eq!(ran.orphaned(), "");
    let is_status = |event: &ExecEvent| match event {
        ExecEvent::Display { data, .. } => data.get("application/x-omp-status").is_some(),
        _ => false,
    };
    assert!(ran.events.iter().any(is_status), "{:?}", ran.events);
    assert_eq!(bench.run("bash('echo from a shell');").await.ok().stdout(), "from a shell\n");
}

/// S-025 Issue 21, 31: a file in the working folder with the name of a Python module does not break the start, and
/// cells can import from the folder.
async fn a_module_of_the_working_folder_stops_no_start(start: Start) {
    let mut bench = Bench::empty(start);
    for name in ["re.py", "json.py", "runpy.py", "typing.py"] {
        std::fs::write(bench.cwd().join(name), "raise ImportError('mine')").expect("a file");
    }
    std::fs::write(bench.cwd().join("own.py"), "x = 5").expect("a file");
    bench.relaunch().await;
    assert_eq!(bench.value("import own\nown.x").await, "5");
}

/// B:Z-03 Issue 7, 1: without ipykernel, the error gives the command that installs it.
async fn a_python_without_ipykernel_says_what_to_do(start: Start) {
    let bench = Bench::empty(start);
    let bare = bench.cwd().join("bare");
    let mut venv = std::process::Command::new(&bench.spec.python);
    venv.args(["-I", "-m", "venv", "--without-pip"]).arg(&bare);
    assert!(venv.status().expect("the test Python").success());
    let mut spec = bench.spec.clone();
    spec.python = bare.join("bin/python");
    match bench.launch(&spec).await.err() {
        Some(LaunchError::Startup { reason }) => {
            let python = spec.python.display();
            let wanted = format!(
                "ipykernel is not installed in {python}: install it with \
                `{python} -m pip install ipykernel`"
            );
            assert!(
                reason.starts_with(&wanted) && reason.contains("inkcell env setup"),
                "{reason}"
            );
        }
        other => panic!("{other:?}"),
    }
}

/// Records the trace of a backend.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn add(&self, note: String) {
        self.0.lock().expect("nobody failed").push(note);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("nobody failed"))
    }
}

impl KernelTrace for Notes {
    fn messages(&self) -> Messages {
        Messages::Told
    }

    fn message(&self, message: &Message<'_>) {
        let way = if message.direction == Direction::Sent { ">" } else { "<" };
        self.add(format!("{way} {} {}", message.channel, message.kind));
    }

    fn started(&self, info: &KernelInfo, _took: Duration) {
        assert_eq!(info.backend, BackendKind::Zmq);
        self.add("started".to_owned());
    }

    fn died(&self, _pid: Option<u32>, death: &Death) {
        self.add(format!("died: {}", death.cause));
    }

    fn fork_server(&self, _python: &std::path::Path, _state: &ZygoteState) {}
}

/// B:C-05: the trace has each message by type.
async fn each_message_is_told_by_its_type(start: Start) {
    let mut bench = Bench::empty(start);
    let notes = Arc::new(Notes::default());
    let transport = if start == Start::Ipc { Transport::Auto } else { Transport::Tcp };
    let runtime_dir = bench.cwd().with_file_name("tmp");
    let config = ZmqConfig { state_dir: state_dir(), runtime_dir, transport, pool: 0 };
    let trace: Arc<dyn KernelTrace> = Arc::clone(&notes) as Arc<dyn KernelTrace>;
    bench.zmq = Some(ZmqBackend::traced(config, Some(trace)).expect("a backend"));
    bench.relaunch().await;
    let told = notes.take();
    assert_eq!(
        (told[0].as_str(), told[told.len() - 1].as_str()),
        ("> shell kernel_info_request", "started")
    );
    bench.run("print('a secret')").await.ok();
    let told = notes.take();
    for wanted in
        ["> shell execute_request", "< iopub status", "< iopub stream", "< shell execute_reply"]
    {
        assert!(told.iter().any(|note| note == wanted), "{wanted}: {told:?}");
    }
    bench.shut_down().await;
    let told = notes.take();
    assert_eq!(told[0], "> control shutdown_request");
    assert_eq!(told[told.len() - 1], "died: was shut down");
}

/// Issue 7, 1: a kernelspec defines the command and the variables of its kernel.
async fn a_kernelspec_is_started_as_it_says(start: Start) {
    let mut bench = Bench::empty(start);
    let spec = Kernelspec {
        name: "spec".to_owned(),
        resource_dir: bench.cwd().to_owned(),
        argv: ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            .map(str::to_owned)
            .into(),
        display_name: "Spec".to_owned(),
        language: "python".to_owned(),
        env: [("FROM_SPEC".to_owned(), "at ${HOME}".to_owned())].into(),
        interrupt_mode: inkcell_kernel::InterruptMode::Message,
        metadata: String::new(),
    };
    let zmq = bench.zmq.take().expect("a backend");
    bench.zmq = Some(zmq.running(Program::Spec(Box::new(spec))));
    bench.relaunch().await;
    let home = bench.spec.env["HOME"].clone();
    assert_eq!(bench.value("import os\nos.environ['FROM_SPEC']").await, format!("'at {home}'"));
    let exec = bench
        .post("print('go', flush=True)\nimport time\nwhile True: time.sleep(0.01)", History::Store);
    bench.wait_for_output("go").await;
    bench.kernel().interrupt().expect("it is there");
    assert_eq!(bench.collect(exec).await.error().name, "KeyboardInterrupt");
    let request = CodeRequest { history: History::Silent, ..bench.request("side = 1") };
    bench.run_request(request).await.ok();
    assert_eq!(bench.value("side").await, "1");
}

/// Issue 7, 5: a kernel of another language, with state, a failure, an interrupt and an end.
async fn a_kernel_of_bash_runs_cells(start: Start) {
    let mut bench = Bench::empty(start);
    let python = bench.spec.python.display().to_string();
    if !succeeds(&python, &["-I", "-c", "import bash_kernel"]) {
        return skip("a_kernel_of_bash_runs_cells", "the test Python has no bash_kernel");
    }
    let spec = Kernelspec {
        name: "bash".to_owned(),
        resource_dir: bench.cwd().to_owned(),
        argv: ["python", "-m", "bash_kernel", "-f", "{connection_file}"].map(str::to_owned).into(),
        display_name: "Bash".to_owned(),
        language: "bash".to_owned(),
        env: [("PS1".to_owned(), "$".to_owned())].into(),
        interrupt_mode: inkcell_kernel::InterruptMode::Signal,
        metadata: String::new(),
    };
    let zmq = bench.zmq.take().expect("a backend");
    bench.zmq = Some(zmq.running(Program::Spec(Box::new(spec))));
    bench.relaunch().await;
    assert_eq!(
        bench.run("x=41; pwd").await.ok().stdout().trim(),
        bench.cwd().display().to_string()
    );
    assert_eq!(bench.run("echo $((x + 1))").await.ok().stdout(), "42\n");
    assert!(matches!(bench.run("ls /nowhere").await.outcome(), Outcome::Error(_)));
    // A shell that is about to start a program may miss the interrupt; a running program does not.
    let exec = bench.post("bash -c 'echo go; exec sleep 60'", History::Store);
    bench.wait_for_output("go").await;
    let (ran, rung) = bench.climb_to(Rung::Interrupt, exec, Ladder::new(Ladder::GRACE)).await;
    assert!(ran.death.is_none() && rung == Rung::Interrupt, "{ran:?}");
    assert_eq!(bench.run("echo $x").await.ok().stdout(), "41\n");
    // It is built on ipykernel, which can hang at its end, even without code of ours in it.
    let death = bench.shut_down_within(Duration::from_secs(5)).await;
    assert_eq!(death.cause, DeathCause::Shutdown);
}

crate::on_jupyter!(
    a_kernel_of_bash_runs_cells,
    input_is_refused,
    every_way_to_die_has_its_cause,
    an_interrupt_ends_the_cell_and_the_kernel_lives,
    code_that_ignores_interrupts_is_ended,
    nothing_is_dropped_in_a_burst,
    rich_output_arrives_as_it_was_given,
    a_traceback_that_the_cell_shows_keeps_its_place,
    characters_of_programs_are_whole,
    files_are_private_and_go_with_the_kernel,
    a_kernel_begins_with_what_it_is_to_have,
    a_module_of_the_working_folder_stops_no_start,
    a_python_without_ipykernel_says_what_to_do,
    each_message_is_told_by_its_type,
    a_kernelspec_is_started_as_it_says,
);

crate::alone!(a_giant_arrives_whole);

crate::on_pooled!(a_kernel_begins_with_what_it_is_to_have, every_way_to_die_has_its_cause,);
