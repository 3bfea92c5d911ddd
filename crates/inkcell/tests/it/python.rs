//! `inkcell py`: code, its output and its end.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use inkcell_testkit::env::finish;
use inkcell_testkit::need;
use inkcell_testkit::wait::until;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env;
use crate::running::{Process, Running, py, run_limited, run_py};

/// One exit code for each way to end, and the same end in JSON.
#[test]
fn every_end_has_its_code() {
    let env = env();
    let table: [(&[&str], i32, &str); 8] = [
        (&["print(1)"], 0, "ok"),
        (&["1/0"], 1, "error"),
        (&["import sys; sys.exit(3)"], 1, "error"),
        (&["quit()"], 1, "error"),
        (&["input('name? ')"], 1, "input_refused"),
        (&["import os; os._exit(0)"], 7, "kernel_died"),
        (&["import os, signal; os.kill(os.getpid(), signal.SIGKILL)"], 7, "kernel_died"),
        (&["--timeout", "60", "--fresh", "x = 1"], 0, "ok"),
    ];
    for (args, code, status) in table {
        let ran = run_py(&env, args).exits(code);
        assert_eq!(ran.stderr.is_empty(), code == 0, "{args:?}: {}", ran.stderr);
        let all: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let ran = run_py(&env, &all).exits(code);
        assert_eq!(ran.stderr, "", "{args:?}");
        let said: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(said["status"], status, "{args:?}");
        assert_eq!(said["death"].is_null(), code != 7, "{args:?}: {}", ran.stdout);
    }
    let late = ["import time; time.sleep(600)", "--json"];
    let (ran, _) = run_limited(&env, &late, |_| {}, |ran| !ran.stdout.is_empty());
    assert_eq!(ran.stderr, "");
    let said: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&said["status"], &said["death"]), (&"timed_out".into(), &Value::Null));
}

/// B:E-12 B:E-15
#[test]
fn what_cannot_begin_has_its_code_and_a_next_step() {
    let env = env();
    env.put("plain.txt", "");
    env.put("nb.ipynb", "{}");
    env.put("latin.py", b"x = '\xe9'");
    let table: [(&[&str], i32, &str, &str); 12] = [
        (&["--cwd", "no", "1"], 2, "Working directory does not exist: ", "mkdir|--cwd"),
        (&["--cwd", "plain.txt", "1"], 2, "Working directory is not a directory: ", "--cwd"),
        (
            &["--python", "./no", "1"],
            3,
            "No working Python interpreter found. Tried: ",
            "'inkcell doctor'",
        ),
        (&["-f", "no.py"], 5, "--file: File not found: no.py", "check the path"),
        (&["-f", ""], 2, "--file: the name is empty; give a file", ""),
        (&["-f", "nb.ipynb"], 2, "--file: nb.ipynb is a notebook", "'inkcell run nb.ipynb'"),
        (&["-f", "latin.py"], 2, "--file: it is not UTF-8 text (byte 5)", ""),
        (&["--timeout", "-1", "1"], 2, "invalid value '-1' for '--timeout", ""),
        (&["--timeout", "nan", "1"], 2, "invalid value 'nan' for '--timeout", ""),
        (&["--env", "=x", "1"], 2, "invalid value '=x' for '--env", ""),
        (&["--shell", "bash", "1"], 2, "invalid value 'bash' for '--shell", ""),
        (&["1", "-f", "x.py"], 2, "'[CODE]...' cannot be used with '--file", ""),
    ];
    for (args, code, message, hint) in table {
        let ran = run_py(&env, args).exits(code);
        assert!(ran.stderr.starts_with(&format!("error: {message}")), "{args:?}: {}", ran.stderr);
        assert!(hint.split('|').any(|hint| ran.stderr.contains(hint)), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{args:?}");
        let all: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let ran = run_py(&env, &all).exits(code);
        let said: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let kind = match code {
            3 => "unavailable",
            5 => "not_found",
            _ => "invalid",
        };
        assert_eq!(said["error"]["kind"], kind, "{args:?}");
    }
}

/// B:E-12: without any Python, the answer says what to do.
#[test]
fn without_a_python_there_is_a_next_step() {
    let env = env();
    let mut command = env.inkcell();
    command.args(["py", "1"]).env("PATH", env.dir());
    let ran = finish(command, b"").exits(3);
    assert_snapshot!(ran.stderr, @r"
    error: Python executable not found on PATH
    hint: install Python 3.9 or newer, and check with 'inkcell doctor'
    ");
}

#[test]
fn results_and_displays_are_shown_as_text() {
    let env = env();
    let code = "\
from IPython.display import display, HTML
class Pair:
    def __repr__(self): return 'a pair'
    def _repr_html_(self): return '<b>a pair</b>'
class Page:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {'text/html': '<p>', 'application/x-omp-status': {'op': 'x'}}
print('no end', end='')
display(Pair())
display(Page())
import sys; print('to the other stream', file=sys.stderr)
[1, 'two']";
    let ran = run_py(&env, &[code]).ok();
    assert_eq!(ran.stdout, "no end\na pair\n[1, 'two']\n");
    assert_eq!(ran.stderr, "to the other stream\n");
    assert_eq!(run_py(&env, &["1 + 1;"]).ok().stdout, "");
}

#[test]
fn an_exception_is_told_without_colours_in_a_pipe() {
    let env = env();
    let ran = run_py(&env, &["def f():\n    raise ValueError('no')\nf()"]).exits(1);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.ends_with("ValueError: no\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("raise ValueError('no')"), "{}", ran.stderr);
    assert!(!ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
    // Issue 21, 29: the same for the name and the message of an exception, with 8-bit controls or carriage returns.
    for name in [r"\x9b31mA", r"\x1b[31mA", r"B\rA", r"B\x08A"] {
        let code = format!("raise type('{name}', (Exception,), {{}})('{name}')");
        let ran = run_py(&env, &[&code]).exits(1);
        let is_bad = |c: char| c.is_control() && c != '\n';
        assert!(ran.stderr.contains('A') && !ran.stderr.contains(is_bad), "{:?}", ran.stderr);
    }
}

/// B:X-25
#[test]
fn input_is_refused_at_once() {
    let env = env();
    let ran =
        run_py(&env, &["try:\n    input()\nexcept Exception:\n    print('went on')"]).exits(1);
    assert_eq!(ran.stdout, "went on\n");
    let wanted = "error: Kernel requested stdin; interactive input is not supported.\n";
    assert_eq!(ran.stderr, wanted);
}

/// F-006
#[test]
fn the_death_of_a_kernel_is_told() {
    let env = env();
    let table = [
        ("import os; print('a', flush=True); os._exit(3)", "the kernel exited with code 3"),
        (
            "import os; print('a', flush=True); os.kill(os.getpid(), 9)",
            "the kernel was killed by signal 9",
        ),
        ("import os; print('a', flush=True); os.abort()", "the kernel was killed by signal 6"),
    ];
    for (code, sentence) in table {
        let ran = run_py(&env, &[code]).exits(7);
        assert_eq!(ran.stdout, "a\n", "{code}");
        let first = ran.stderr.lines().find(|line| line.starts_with("error: "));
        assert_eq!(first, Some(format!("error: {sentence}").as_str()), "{}", ran.stderr);
    }
}

#[test]
fn code_comes_from_a_file_or_from_standard_input() {
    let env = env();
    env.put("job.py", "\u{feff}print('é', __name__)\n");
    assert_eq!(run_py(&env, &["-f", "job.py"]).ok().stdout, "é __main__\n");
    for args in [&["-"][..], &[], &["-f", "-"]] {
        let ran = finish(py(&env, args), "print(6 * 7)\n").ok();
        assert_eq!(ran.stdout, "42\n", "{args:?}");
    }
    let ran = finish(py(&env, &["-"]), b"x = '\xe9'").exits(2);
    assert!(ran.stderr.starts_with("error: standard input: it is not UTF-8"), "{}", ran.stderr);
}

/// B:E-20
#[test]
fn code_works_where_it_is_told_to() {
    let env = env();
    std::fs::create_dir(env.path("sub")).expect("a folder");
    std::fs::write(env.path("sub/beside.py"), "x = 5").expect("a file");
    let code = "import os, beside; print(os.path.basename(os.getcwd()), beside.x)";
    assert_eq!(run_py(&env, &["--cwd", "sub", code]).ok().stdout, "sub 5\n");
}

/// F-033: a reader gets the bytes as they were written.
#[test]
fn bytes_pass_unchanged() {
    let env = env();
    let all: Vec<u8> = (0..=255).collect();
    for code in [
        "import os; os.write(1, bytes(range(256))); None",
        "import sys; sys.stdout.buffer.write(bytes(range(256))); None",
    ] {
        assert_eq!(run_py(&env, &[code]).ok().bytes, all, "{code}");
    }
    let ran = run_py(&env, &["print('x' * 3_000_000)"]).ok();
    assert_eq!(ran.bytes.len(), 3_000_001);
    assert!(ran.bytes.iter().take(3_000_000).all(|byte| *byte == b'x'));
}

/// Output appears while the code still runs: a line, and a part of one that was flushed.
#[test]
fn output_is_shown_as_it_comes() {
    let env = env();
    let code = "\
import os, time
def wait(name):
    while not os.path.exists(name): time.sleep(0.01)
print(os.getpid())
wait('first')
print('half', end='', flush=True)
wait('second')
print(' done')";
    let mut running = Running::start(py(&env, &[code]));
    let kernel = running.process();
    env.put("first", "");
    assert_eq!(running.bytes(4), b"half");
    env.put("second", "");
    let ended = running.end();
    assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(0), " done\n"));
    kernel.is_gone_already();
}

/// B:R-21 B:X-22 B:X-23 F-004 F-005
#[test]
fn a_timeout_ends_code_that_does_not_listen() {
    let env = env();
    let table = [
        ("", "the kernel ignored the interrupt and was ended by SIGTERM."),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", "was ended by SIGKILL."),
    ];
    for (more, wanted) in table {
        let code = format!(
            "import os, signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n{more}\n\
             print('kept', os.getpid())\nwhile True: time.sleep(60)"
        );
        let brief = |command: &mut Command| {
            command.env("INKCELL_KERNEL_INTERRUPT_GRACE", "0.2");
        };
        let (ran, seconds) = run_limited(&env, &[&code], brief, |ran| !ran.stdout.is_empty());
        let (kept, pid) = ran.stdout.trim_end().split_once(' ').expect("two words");
        assert_eq!(kept, "kept");
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} is still there");
        let line = ran.stderr.lines().next().unwrap_or_default();
        let begins = format!("error: Command timed out after {seconds} seconds; ");
        assert!(line.starts_with(&begins), "{}", ran.stderr);
        assert!(line.ends_with(wanted), "{}", ran.stderr);
    }
}

/// Code that obeys the interrupt is shown with the place where it was.
#[test]
fn a_timeout_says_where_the_code_was() {
    let env = env();
    let code = "import time\nprint('a'); time.sleep(600)";
    let patient = |command: &mut Command| {
        command.env("INKCELL_KERNEL_INTERRUPT_GRACE", "20");
    };
    let (ran, seconds) = run_limited(&env, &[code], patient, |ran| !ran.stdout.is_empty());
    assert_eq!(ran.stdout, "a\n");
    assert!(ran.stderr.contains("time.sleep(600)"), "{}", ran.stderr);
    let last = format!(
        "error: Command timed out after {seconds} seconds; the kernel stopped at the interrupt.\n"
    );
    assert!(ran.stderr.ends_with(&last), "{}", ran.stderr);
}

/// F-023: the reader goes away, as `head` does.
#[test]
fn a_reader_that_leaves_ends_the_code_quietly() {
    let env = env();
    let code = "import os\nprint(os.getpid())\nwhile True: print('y' * 1000)";
    let mut running = Running::start(py(&env, &[code]));
    let kernel = running.process();
    let ended = running.stop_reading();
    assert_eq!((ended.status.signal(), ended.stderr.as_str()), (Some(13), ""));
    kernel.is_gone_already();
}

/// F-023 F-036: a full pipe with a stalled reader.
#[test]
fn a_full_pipe_does_not_stop_the_clock() {
    let endless = "while True: print('y' * 1000)";
    let stubborn = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)";
    let table: [(&str, &str, &[&str]); 4] = [
        ("", endless, &[]),
        (stubborn, endless, &[]),
        ("", "print('y' * 10_000_000)", &[]),
        ("", "print('y' * 10_000_000)", &["--json"]),
    ];
    let check = |(before, code, more): (&str, &str, &[&str])| {
        let env = env();
        let code = format!(
            "import os, time\n{before}\nopen('pid', 'w').write(str(os.getpid()))\n\
             while not os.path.exists('go'): time.sleep(0.01)\n{code}"
        );
        let args: Vec<&str> = ["--timeout", "10", &code].iter().chain(more).copied().collect();
        let mut command = py(&env, &args);
        command.env("INKCELL_KERNEL_INTERRUPT_GRACE", "1");
        let running = Running::start(command);
        let kernel = Process::open(&wait_for(&env.path("pid")));
        env.put("go", "");
        let ended = running.end_unread();
        assert_eq!(ended.status.code(), Some(124), "{code}: {}", ended.stderr);
        let mut lines = ended.stderr.lines();
        assert!(lines.any(|line| line.starts_with("error: ")), "{code}: {}", ended.stderr);
        kernel.is_gone_already();
    };
    // The limit is long enough for a busy machine, so run all rows at the same time.
    std::thread::scope(|scope| {
        for row in table {
            scope.spawn(move || check(row));
        }
    });
}

/// Waits for a file that is written at once, and returns its text.
pub(crate) fn wait_for(path: &std::path::Path) -> String {
    until(&path.display().to_string(), || {
        std::fs::read_to_string(path).ok().filter(|text| !text.is_empty())
    })
}

/// F-034: a full disk is a reported failure.
#[test]
fn output_that_cannot_be_written_is_told() {
    let env = env();
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        return need::skip("output_that_cannot_be_written_is_told", "there is no /dev/full");
    };
    let mut command = py(&env, &["print(1)"]);
    command.stdin(Stdio::null()).stdout(full).stderr(Stdio::piped());
    let said = command.spawn().expect("started").wait_with_output().expect("ended");
    let stderr = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(70), "{stderr}");
    assert!(stderr.starts_with("error: cannot write the answer: "), "{stderr}");
}

/// F-020, the polite case: exit handlers of the code run.
#[test]
fn exit_functions_run() {
    let env = env();
    let code = "import atexit; atexit.register(lambda: open('bye', 'w').write('bye')); None";
    run_py(&env, &[code]).ok();
    assert_eq!(env.get("bye"), b"bye");
}

/// F-010: a process that left the kernel's group is ended and named.
#[test]
fn a_stray_process_is_named() {
    let env = env();
    let code = "import subprocess\n\
                print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid)";
    let ran = run_py(&env, &[code]).ok();
    let pid = ran.stdout.trim_end();
    let wanted =
        format!("note: process {pid} (sleep) had left the kernel's group and was ended with it\n");
    assert_eq!(ran.stderr, wanted);
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} is still there");
}

/// B:E-03 B:E-04
#[test]
fn variables_reach_code_as_the_mode_says() {
    let env = env();
    let code = "import os; print(os.environ.get('AWS_REGION'), os.environ.get('MY_OWN'))";
    let run = |mode: &str, args: &[&str]| {
        let all: Vec<&str> = args.iter().copied().chain([code]).collect();
        let mut command = py(&env, &all);
        command.env("AWS_REGION", "eu").env("MY_OWN", "mine").env("INKCELL_ENV_MODE", mode);
        finish(command, b"").ok().stdout
    };
    assert_eq!(run("", &[]), "eu mine\n");
    assert_eq!(run("inherit", &[]), "eu mine\n");
    assert_eq!(run("filtered", &[]), "None None\n");
    assert_eq!(run("filtered", &["--env", "MY_OWN"]), "None mine\n");
    assert_eq!(run("filtered", &["--env", "AWS_*"]), "eu None\n");
    assert_eq!(run("filtered", &["--env", "MY_OWN=other"]), "None other\n");
    assert_eq!(run("filtered", &["--env-all"]), "eu mine\n");
    let ran = run_py(&env, &["--env", "NOT_SET", "1"]).ok();
    assert_eq!(ran.stderr, "note: NOT_SET is not set here, so the code does not get it\n");
}

/// B:E-03: code that looks for a filtered variable gets a hint with the flag.
#[test]
fn a_withheld_variable_is_named_with_its_flag() {
    let env = env();
    let mut command = py(&env, &["import os; os.environ['MY_OWN']"]);
    command.env("MY_OWN", "mine").env("INKCELL_ENV_MODE", "filtered");
    let ran = finish(command, b"").exits(1);
    let hint = ran.stderr.lines().find(|line| line.starts_with("hint: "));
    assert!(hint.is_some_and(|hint| hint.contains("`--env MY_OWN`")), "{}", ran.stderr);
    assert!(!ran.stderr.contains("mine"), "{}", ran.stderr);
    let ran = run_py(&env, &["import os; os.environ['MY_OWN']"]).exits(1);
    assert!(!ran.stderr.contains("hint: "), "{}", ran.stderr);
}

/// S-026: which Python, and why, on demand.
#[test]
fn the_python_is_told_when_asked_for() {
    let env = env();
    let ran = run_py(&env, &["-v", "import sys; print(sys.executable)"]).ok();
    let reason = "python.interpreter is set by INKCELL_PYTHON_INTERPRETER";
    assert!(ran.stderr.starts_with("kernel: runner\npython: "), "{}", ran.stderr);
    assert!(ran.stderr.trim_end().ends_with(&format!("; {reason})")), "{}", ran.stderr);
    let said: Value = serde_json::from_str(&run_py(&env, &["--json", "1"]).ok().stdout).unwrap();
    assert_eq!(said["python"]["reason"], reason);
}

#[test]
fn an_answer_in_json_holds_everything() {
    let env = env();
    let code = "import sys\nprint('a')\nprint('b', file=sys.stderr)\nclass P:\n    \
                def _repr_png_(self): return b'\\x89PNG'\nP()";
    let said: Value = serde_json::from_str(&run_py(&env, &["--json", code]).ok().stdout).unwrap();
    let mut outputs = said["cells"][0]["outputs"].clone();
    let plain = outputs[2]["data"]["text/plain"].take();
    assert!(plain.as_str().is_some_and(|plain| plain.starts_with('<')), "{plain}");
    let wanted = json!([
        {"output_type": "stream", "name": "stdout", "text": "a\n"},
        {"output_type": "stream", "name": "stderr", "text": "b\n"},
        {"output_type": "execute_result", "execution_count": 1, "metadata": {},
         "data": {"image/png": "iVBORw==", "text/plain": null}},
    ]);
    assert_eq!(outputs, wanted);
    assert!(said["duration_seconds"].as_f64().is_some_and(|seconds| seconds > 0.0));
    let said: Value =
        serde_json::from_str(&run_py(&env, &["--json", "1/0"]).exits(1).stdout).unwrap();
    assert_eq!(said["cells"][0]["outputs"][0]["ename"], "ZeroDivisionError");
}

/// B:E-50: modules of the project are loaded, and a broken one is named.
#[test]
fn modules_of_the_project_are_loaded() {
    let env = env();
    std::fs::create_dir_all(env.path(".inkcell/modules")).expect("a folder");
    env.put(".inkcell/modules/mine.py", "def helper(): return 'helped'\n");
    assert_eq!(run_py(&env, &["helper()"]).ok().stdout, "'helped'\n");
    let mut command = py(&env, &["helper()"]);
    command.env("INKCELL_PYTHON_PROJECT_MODULES", "off");
    finish(command, b"").exits(1);
    env.put(".inkcell/modules/mine.py", "1/0\n");
    let ran = run_py(&env, &["1"]).exits(3);
    assert!(ran.stderr.contains("Failed to load Python module"), "{}", ran.stderr);
    assert!(ran.stderr.contains("ZeroDivisionError"), "{}", ran.stderr);
}
