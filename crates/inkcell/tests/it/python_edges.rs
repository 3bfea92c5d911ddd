//! `inkcell py` at its edges: readers that stall or leave, code from odd places, unusable folders and files. Each
//! gets an error with the next step.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};

use inkcell_testkit::env::{TestEnv, finish};
use inkcell_testkit::need;
use serde_json::Value;

use crate::env;
use crate::python::wait_for;
use crate::running::{Process, Running, py, run_limited, run_py};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text:.200}"))
}

fn script(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a file");
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("a program");
}

/// F-036: output beyond the reader's pace is cut in the middle, and there is an answer in any case.
#[test]
fn too_much_output_still_has_an_answer() {
    let env = env();
    let code = "for _ in range(60): print('x' * 999_999)\nprint('the end')";
    let said = json(&run_py(&env, &["--json", code]).ok().stdout);
    let text = said["cells"][0]["outputs"][0]["text"].as_str().expect("a stream");
    assert!(text.len() < 34 << 20, "{}", text.len());
    assert!(text.starts_with("xxx") && text.ends_with("the end\n"));
    assert!(text.contains(" bytes of output left out ...]"));
    let note = said["notes"][0].as_str().expect("a note");
    assert!(note.ends_with(" bytes from the middle of the output were left out"), "{note}");

    let endless = "while True: print('x' * 1000)";
    // A busy machine takes a while to write this much, so allow the time that code may take to stop.
    let patient = |command: &mut Command| {
        command.env("INKCELL_KERNEL_INTERRUPT_GRACE", "60");
    };
    let (ran, seconds) =
        run_limited(&env, &["--json", endless], patient, |ran| !ran.stdout.is_empty());
    let said = json(&ran.stdout);
    assert_eq!(said["status"], "timed_out");
    assert_eq!(said["timeout_seconds"], f64::from(seconds));
    let sentence = said["message"].as_str().expect("a sentence");
    let wanted = format!("Command timed out after {seconds} seconds; ");
    assert!(sentence.starts_with(&wanted), "{sentence}");
}

/// F-023: a reader that comes back gets the remaining output and the note.
#[test]
fn a_reader_that_comes_back_gets_what_there_is() {
    let env = env();
    let code = "import os\nopen('pid', 'w').write(str(os.getpid()))\n\
                while True: print('y' * 1000)";
    let mut command = py(&env, &["--timeout", "10", code]);
    // A reader gets as much time as code.
    command.env("INKCELL_KERNEL_INTERRUPT_GRACE", "30");
    let running = Running::start(command);
    let kernel = Process::open(&wait_for(&env.path("pid")));
    kernel.is_gone();
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(124), "{}", ended.stderr);
    // More than the pipe held.
    assert!(ended.stdout.len() > 1 << 16, "{}", ended.stdout.len());
    let sentence =
        "error: Command timed out after 10 seconds; the kernel stopped at the interrupt.\n";
    assert!(ended.stderr.contains(sentence), "{}", ended.stderr);
}

/// F-023: the reader left, the code went on to its own end, and that end counts.
#[test]
fn code_that_ends_after_its_reader_left_has_its_own_code() {
    let env = env();
    for (code, exit) in [("print(1)", 0), ("print(1)\n1/0", 1)] {
        for more in [&[][..], &["--json"]] {
            let args: Vec<&str> = [code].iter().chain(more).copied().collect();
            let mut command = py(&env, &args);
            let (reader, writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
            let said = command.spawn().expect("started").wait_with_output().expect("ended");
            let stderr = String::from_utf8_lossy(&said.stderr);
            // The code may be stopped before its end or not: both results of this race are fine.
            let is_fine = said.status.code() == Some(exit) || said.status.signal() == Some(13);
            assert!(is_fine, "{code}: {:?} {stderr}", said.status);
            assert!(!stderr.contains("panicked"), "{stderr}");
        }
    }
}

/// The time limit of the code includes the start.
#[test]
fn a_python_that_hangs_at_the_start_is_bounded_by_the_timeout() {
    let env = env();
    script(&env.path("hangs"), "#!/bin/sh\nexec sleep 600\n");
    let ran = run_py(&env, &["--timeout", "1", "--python", "./hangs", "1"]).exits(124);
    let wanted = "error: Python was not ready within 1 s (set by --timeout); nothing ran\nhint: ";
    assert!(ran.stderr.starts_with(wanted), "{}", ran.stderr);
}

#[test]
fn code_comes_from_pipes_and_with_a_mark() {
    let env = env();
    let marked = "\u{feff}print('é')\n";
    for args in [&["-"][..], &["-f", "/dev/stdin"], &["-f", "/proc/self/fd/0"]] {
        assert_eq!(finish(py(&env, args), marked).ok().stdout, "é\n", "{args:?}");
    }
    let made = env.command("mkfifo").arg("fifo").status().expect("mkfifo");
    assert!(made.success());
    let fifo = env.path("fifo");
    let writer = std::thread::spawn(move || std::fs::write(fifo, "print(7)\n"));
    assert_eq!(run_py(&env, &["-f", "fifo"]).ok().stdout, "7\n");
    writer.join().expect("no panic").expect("written");
    env.put("latin.py", b"# coding: latin-1\nprint('\xe9')\n");
    assert_eq!(run_py(&env, &["-f", "latin.py"]).ok().stdout, "é\n");
    let ran = run_py(&env, &["-f", "/dev/zero"]).exits(2);
    assert!(ran.stderr.contains("is too large for a program"), "{}", ran.stderr);
}

/// F-034: a failure to write a JSON answer is reported on the other stream.
#[test]
fn json_that_cannot_be_written_is_told() {
    let env = env();
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        return need::skip("json_that_cannot_be_written_is_told", "there is no /dev/full");
    };
    let mut command = py(&env, &["--json", "1"]);
    command.stdin(Stdio::null()).stdout(full).stderr(Stdio::piped());
    let said = command.spawn().expect("started").wait_with_output().expect("ended");
    let stderr = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(70), "{stderr}");
    assert!(stderr.starts_with("error: cannot write the answer: "), "{stderr}");
}

#[test]
fn a_state_folder_that_cannot_be_used_is_named() {
    let env = env();
    env.put("file", "");
    let mut command = py(&env, &["1"]);
    command.env("INKCELL_STATE_DIR", env.path("file/state"));
    let ran = finish(command, b"").exits(3);
    assert!(env.redact(&ran.stderr).contains("[tmp]/work/file/state"), "{}", ran.stderr);
    assert!(ran.stderr.contains("\nhint: ") && ran.stderr.contains("INKCELL_STATE_DIR"));
}

/// Names that are not UTF-8: of the folder, of the home, of a setting.
#[test]
fn names_that_are_not_text_are_told() {
    let env = env();
    let bad = env.path("x").with_file_name(OsStr::from_bytes(b"bad\xff"));
    std::fs::create_dir(&bad).expect("a folder");
    for args in [&["py", "1"][..], &["env", "--json"], &["env"]] {
        let mut command = env.inkcell();
        command.args(args).current_dir(&bad);
        let ran = finish(command, b"").exits(2);
        let said = ran.stdout + &ran.stderr;
        assert!(said.contains("is not UTF-8 text; work in another directory"), "{args:?}: {said}");
    }
    let mut command = env.inkcell();
    command.args(["env", "--json"]).env("HOME", &bad).env_remove("INKCELL_STATE_DIR");
    let said = json(&finish(command, b"").ok().stdout);
    assert!(said["state"].as_str().is_some_and(|state| state.contains("bad\u{fffd}")), "{said}");
    let mut command = py(&env, &["1"]);
    command.env("INKCELL_PYTHON_SHELL", OsStr::from_bytes(b"lite\xff"));
    let ran = finish(command, b"").exits(2);
    assert!(ran.stderr.starts_with("error: INKCELL_PYTHON_SHELL: is not UTF-8"), "{}", ran.stderr);
}

/// F-028: a settings file without an end, or one that links to itself, is reported and not read.
#[test]
fn settings_files_that_are_none_are_told() {
    let env = env();
    std::fs::create_dir(env.path(".inkcell")).expect("a folder");
    let file = env.path(".inkcell/config.toml");
    let table = [
        ("/dev/zero", "is not a settings file: a regular file of at most "),
        ("config.toml", "cannot be read: "),
    ];
    for (target, problem) in table {
        symlink(target, &file).expect("a link");
        let ran = run_py(&env, &["1"]).exits(2);
        let wanted = format!("error: [tmp]/work/.inkcell/config.toml: {problem}");
        assert!(env.redact(&ran.stderr).starts_with(&wanted), "{target}: {}", ran.stderr);
        std::fs::remove_file(&file).expect("it was there");
    }
    symlink("/dev/null", &file).expect("a link");
    assert_eq!(run_py(&env, &["1"]).ok().stdout, "1\n");
}

/// The error for a user without permissions names the file itself, not a consequence.
#[test]
fn folders_and_files_of_others_are_named() {
    if !rustix::process::geteuid().is_root() {
        return need::skip("folders_and_files_of_others_are_named", "only root can be nobody");
    }
    let env = env();
    let open = |path: &Path| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("permissions");
    };
    let root = env.outside("");
    open(&root);
    open(&env.dir());
    // The original executable may lie where the other user cannot reach it.
    std::fs::copy(env.program(), env.outside("inkcell")).expect("a copy");
    std::fs::create_dir(env.path("closed")).expect("a folder");
    std::fs::create_dir_all(env.path(".config/inkcell")).expect("a folder");
    env.put(".config/inkcell/config.toml", "");
    let closed = PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(env.path("closed"), closed).expect("permissions");
    let closed = PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(env.path(".config/inkcell/config.toml"), closed).expect("permissions");
    let run = |cwd: &str, config: Option<&str>, code| {
        let mut command = env.command(env.outside("inkcell"));
        command.args(["py", "--cwd", cwd, "1"]).uid(65534).gid(65534);
        if let Some(config) = config {
            command.env("INKCELL_CONFIG", config);
        }
        env.redact(&finish(command, b"").exits(code).stderr)
    };
    let said = run(".", None, 2);
    assert!(
        said.starts_with("error: [tmp]/work/.config/inkcell/config.toml: cannot be read"),
        "{said}"
    );
    assert!(said.contains("INKCELL_CONFIG=FILE"), "{said}");
    let said = run("closed", Some("/dev/null"), 3);
    let wanted =
        "error: cannot work in the working directory: [tmp]/work/closed: Permission denied";
    assert!(said.starts_with(wanted), "{said}");
}

/// A script whose interpreter is missing is not reported as a missing script.
#[test]
fn a_script_without_its_program_is_told_so() {
    let env = env();
    script(&env.path("script"), "#!/no/such/python -u\n");
    let ran = run_py(&env, &["--python", "./script", "1"]).exits(3);
    let wanted = "its first line names /no/such/python, which does not exist";
    assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
}

/// B:E-05: a variable that is never passed is named in a note if the user asks for it by name.
#[test]
fn a_secret_of_our_own_is_withheld_with_a_note() {
    let env = env();
    let code = "import os; print('PI_TOOL_BRIDGE_TOKEN' in os.environ)";
    let mut command = py(&env, &["--env", "PI_TOOL_BRIDGE_TOKEN", code]);
    command.env("PI_TOOL_BRIDGE_TOKEN", "secret");
    let ran = finish(command, b"").ok();
    assert_eq!(ran.stdout, "False\n");
    let wanted = "note: code never gets PI_TOOL_BRIDGE_TOKEN, because it is a secret of inkcell\n";
    assert_eq!(ran.stderr, wanted);
}

/// F-046: few open files are enough for a kernel, and too few are reported with a remedy.
#[test]
fn few_open_files_are_enough_or_are_told() {
    let env = env();
    let limited = |files: &str| {
        let inner = py(&env, &["1 + 1"]);
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -n \"$1\"; shift; exec \"$@\"", "sh", files]);
        command.arg(inner.get_program()).args(inner.get_args());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(env.dir());
        command
    };
    assert_eq!(finish(limited("32"), b"").ok().stdout, "2\n");
    let ran = finish(limited("16"), b"").exits(3);
    assert!(ran.stderr.contains("Too many open files"), "{}", ran.stderr);
    assert!(ran.stderr.contains("ulimit -n 1024"), "{}", ran.stderr);
}

/// Issue 21, 26; S-021: our folders are open to this user and closed to others, whatever the umask is, also a folder
/// that was made for a group.
#[test]
fn the_umask_decides_nothing_about_our_folders() {
    for umask in ["000", "002", "0177"] {
        let env = env();
        let ours = env.path("xdg/inkcell");
        if umask == "002" {
            std::fs::create_dir_all(&ours).expect("a folder");
            std::fs::set_permissions(&ours, std::fs::Permissions::from_mode(0o775))
                .expect("a mode");
        }
        let mut command = env.command("sh");
        command.args(["-c", &format!("umask {umask}; exec \"$0\" py 1+1")]).arg(env.program());
        command.env_remove("INKCELL_STATE_DIR").env("XDG_STATE_HOME", env.path("xdg"));
        assert_eq!(finish(command, b"").ok().stdout, "2\n");
        for folder in [ours.clone(), ours.join("runner")] {
            let mode = std::fs::metadata(&folder).expect("a folder").permissions().mode();
            let (must, must_not) = (mode & 0o700, mode & 0o022);
            assert_eq!((must, must_not), (0o700, 0), "{umask}: {} is {mode:o}", folder.display());
        }
    }
}

/// An environment with a runner of its own: the tests share one, which must stay whole.
fn env_with_own_runner() -> TestEnv {
    let env = env();
    std::fs::remove_file(env.state().join("runner")).expect("the link to the shared runner");
    env
}

/// Replaces the content of all compiled Python files of the runner; Python checks the first 16 bytes.
fn replace_compiled(env: &TestEnv, content: &[u8]) {
    let mut folders = vec![env.state().join("runner")];
    let mut damaged = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "pyc") {
                let mut bytes = std::fs::read(&path).expect("bytes");
                bytes.truncate(16);
                bytes.extend(content);
                std::fs::write(&path, bytes).expect("written");
                damaged += 1;
            }
        }
    }
    assert!(damaged > 5, "{damaged}");
}

/// Issue 21, 27: damaged compiled files of the runner do not keep kernels from starting, and a running server needs
/// no restart.
#[test]
fn damaged_compiled_files_of_the_runner_are_made_anew() {
    let env = env_with_own_runner();
    run_py(&env, &["1"]).ok();
    // What Python reads as a code object without any code.
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let code =
        "import marshal, sys; sys.stdout.buffer.write(marshal.dumps(compile('', 'a.py', 'exec')))";
    let empty = Command::new(python).args(["-c", code]).output().expect("output");
    for content in [&[0xff; 40], &*empty.stdout] {
        replace_compiled(&env, content);
        assert_eq!(run_py(&env, &["--fresh", "6 * 7"]).ok().stdout, "42\n");
    }
}

/// The same for Jupyter kernels, which load files of the runner.
#[test]
fn damaged_compiled_files_do_not_stop_jupyter_kernels() {
    let env = env_with_own_runner();
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let test = "damaged_compiled_files_do_not_stop_jupyter_kernels";
    if !need::python_package(test, &python, "ipykernel") {
        return;
    }
    let on_jupyter = |code| run_py(&env, &["--fresh", "--backend", "zmq", code]);
    on_jupyter("1").ok();
    replace_compiled(&env, &[0xff; 40]);
    assert_eq!(on_jupyter("6 * 7").ok().stdout, "42\n");
}
