//! `inkcell mcp --http` from its start to its end: its address, its output, and its leftovers.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use inkcell_testkit::env::finish;
use rustix::process::Signal;
use serde_json::json;

use crate::env;
use crate::http_client::{HttpServer, ONE, Session, bearer, command, private};
use crate::running::Process;

/// S-019: this machine alone, on a port that the system picks; more only with an option and a token.
#[test]
fn it_listens_on_this_machine() {
    let env = env();
    let first = HttpServer::start(&env, &[]);
    let second = HttpServer::start(&env, &[]);
    for server in [&first, &second] {
        assert!(server.at.ip().is_loopback() && server.at.port() != 0, "{}", server.at);
    }
    assert_ne!(first.at.port(), second.at.port());
    let refused = |args: &[&str], wanted: &str| {
        let ran = finish(command(&env, args), b"").exits(2);
        assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
    };
    refused(&["--http", "0.0.0.0:0"], "--allow-remote");
    refused(&["--http", "[::]:0"], "--allow-remote");
    refused(&["--http", "0.0.0.0:0", "--allow-remote"], "--token-file");
    refused(&["--http", "evil.example:80"], "is not an address");
    refused(&["--http", &first.at.to_string()], "cannot listen");
    refused(&["--allow-remote"], "--http");
    let tokens = env.outside("tokens");
    std::fs::write(&tokens, ONE).expect("a file");
    private(&tokens);
    let file = tokens.display().to_string();
    let remote = ["--http", "0.0.0.0:0", "--allow-remote", "--token-file", &file];
    refused(&remote, "--allow-host");
    let mut server =
        HttpServer::of(command(&env, &[&remote[..], &["--allow-host", "box"]].concat()));
    server.line("warning: this server accepts connections from other machines");
    let named = |host: &str| {
        let head = [format!("Host: {host}:{}", server.at.port()), bearer(ONE)];
        server.ask_bare("GET", "/x", &head, "").status
    };
    assert_eq!((named("box"), named("0.0.0.0"), named("evil")), (404, 403, 403));
}

/// Every file below a folder that contains a text.
fn files_with(folder: &Path, text: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let Ok(kind) = std::fs::symlink_metadata(&path) else { continue };
        if kind.is_dir() {
            files_with(&path, text, found);
        } else if kind.is_file()
            && std::fs::read(&path)
                .is_ok_and(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
        {
            found.push(path.display().to_string());
        }
    }
}

/// S-020, S-022: a token that a user chose appears nowhere, whatever is asked and goes wrong.
#[test]
fn a_token_is_seen_nowhere() {
    const CANARY: &str = "canary-5d1f2c9a7b3e4860-5d1f2c9a7b3e4860";
    let env = env();
    let log = env.outside("log");
    let server = HttpServer::with(&env, &["--tools", "all"], |command| {
        command
            .env("INKCELL_HTTP_TOKEN", CANARY)
            .env("INKCELL_ENV_MODE", "inherit")
            .env("INKCELL_LOG_LEVEL", "trace")
            .env("INKCELL_LOG_FILE", &log)
            .env("PI_PYTHON_IPC_TRACE", "1")
            .env("PI_DEBUG_STARTUP", "1");
    });
    let session = Session::open(&server, CANARY);
    let seen =
        session.ok("python", json!({"code": "import os; print(sorted(os.environ.items()))"}));
    let shell = session.ok("bash", json!({"command": "env; cat /proc/self/cmdline"}));
    let (failed, _) = session.call("python", json!({"code": "1/0"}));
    let (wrong, _) = session.call("no_such_tool", json!({"x": CANARY.len()}));
    let kernels = session.ok("kernel", json!({"action": "list"}));
    for text in [seen, shell, failed, wrong, kernels] {
        assert!(!text.contains(CANARY), "{text}");
    }
    for head in
        [vec![], vec![bearer(&CANARY[1..])], vec![bearer(CANARY), "Origin: null".to_owned()]]
    {
        let refused = server.ask("POST", "/mcp", &head, "{");
        assert!(refused.status >= 400, "{refused:?}");
        assert!(!refused.body.contains("canary") && !refused.head.contains("canary"));
    }
    let arguments = std::fs::read_to_string(format!("/proc/{}/cmdline", server.pid()));
    assert!(!arguments.expect("arguments").contains(CANARY));
    server.signal(Signal::TERM);
    let (_, said) = server.end();
    assert!(!said.join("\n").contains(CANARY), "{said:?}");
    let shown = env.inkcell().args(["settings"]).env("INKCELL_HTTP_TOKEN", CANARY).output();
    let shown = shown.expect("settings");
    assert!(!String::from_utf8_lossy(&shown.stdout).contains(CANARY));
    let mut found = Vec::new();
    files_with(&env.dir(), CANARY, &mut found);
    files_with(&env.state(), CANARY, &mut found);
    assert!(!std::fs::read_to_string(&log).expect("a log").contains(CANARY));
    assert_eq!(found, Vec::<String>::new());
}

/// S-020, S-021: a token that the server makes is in one file, for one user, for as long as it is valid.
#[test]
fn a_made_token_is_kept_privately_and_not_for_long() {
    let env = env();
    let program = env.program().display().to_string();
    let mut command = env.command("sh");
    let script = format!("umask 000; exec {program} mcp --http 127.0.0.1:0");
    command.arg("-c").arg(script);
    let mut server = HttpServer::of(command);
    let token = server.token();
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode();
    let folder = env.state().join("http");
    assert_eq!(mode(&folder) & 0o777, 0o700);
    let mut found = Vec::new();
    files_with(&env.state(), &token, &mut found);
    let [file] = &*found else { panic!("{found:?}") };
    assert_eq!(mode(Path::new(file)) & 0o777, 0o600);
    let session = Session::open(&server, &token);
    assert!(session.ask("tools/list", json!({}))["result"].is_object());
    server.signal(Signal::TERM);
    let (_, said) = server.end();
    assert_eq!(said.iter().filter(|line| line.contains(&token)).count(), 1, "told once");
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 0);
}

/// S-021: a file of tokens that others can read is refused, and the message does not repeat its content.
#[test]
fn a_file_that_others_can_read_is_refused() {
    let env = env();
    let file = env.put("tokens", ONE);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    let ran = finish(command(&env, &["--http", ":0", "--token-file", "tokens"]), b"").exits(2);
    assert!(ran.stderr.contains("chmod 600") && !ran.stderr.contains(ONE), "{}", ran.stderr);
}

/// F-021: a signal ends it, with everything that runs in it, also code and a command that ignore signals.
#[test]
fn a_signal_ends_it_and_everything_in_it() {
    const STUBBORN: &str = "import os, signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n\
                            open('pid', 'w').write(str(os.getpid()))\nwhile True: time.sleep(60)";
    let env = env();
    let server = HttpServer::with_two_tokens(&env, &["--tools", "all"]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let session = Session::open(&server, ONE);
            let arguments = json!({"code": STUBBORN, "timeout": 600, "wait": 600});
            let call = json!({"name": "python", "arguments": arguments});
            session
                .post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}));
        });
        scope.spawn(|| {
            let session = Session::open(&server, ONE);
            let arguments = json!({"command": "echo $$ > shell; exec sleep 600"});
            let call = json!({"name": "bash", "arguments": arguments});
            session
                .post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}));
        });
        let kernel = Process::open(&crate::python::wait_for(&env.path("pid")));
        let shell = Process::open(crate::python::wait_for(&env.path("shell")).trim());
        server.signal(Signal::TERM);
        kernel.is_gone();
        shell.is_gone();
    });
    let (status, _) = server.end();
    assert_eq!(status.signal(), Some(15), "{status:?}");
}
