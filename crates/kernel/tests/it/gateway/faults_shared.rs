//! Shared gateways that fail, are slow, or are one of several: a small program stands in for the real one.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use inkcell_kernel::{
    Backend as _, GatewayUrl, KernelSpec, LaunchError, LocalConfig, LocalGatewayBackend, PlainHttp,
    SharedConfig, SharedGateway, Sharing,
};
use inkcell_testkit::wait::until_async;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::desk::{Desk, LIMIT};

/// Acts as a gateway whose kernels cannot be made. It answers requests for kernels with the status in its first
/// argument, which can also be a word. With `gone` it answers 500 and ends. With `slow` it never answers the second
/// question. From the second question on, `busy` answers 503 and `curt` hangs up. With `orphan` it answers nothing as
/// long as the process that started it lives. It records every start and every request for a kernel.
const PROGRAM: &str = r#"
import http.server, os, sys, time

starter = os.getppid()
manner, folder = sys.argv[1:3]
port = next(word.split("=")[1] for word in sys.argv if "port=" in word)
asked = [0]


def note(what):
    with open(os.path.join(folder, what), "a") as file:
        file.write("x")


class Gateway(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        asked[0] += 1
        if manner == "slow" and asked[0] == 2:
            time.sleep(600)
        if manner == "busy" and asked[0] > 1:
            return self.answer(503, b"")
        if manner == "curt" and asked[0] > 1:
            return self.connection.close()
        note("asked")
        while manner == "orphan" and os.getppid() == starter:
            time.sleep(0.01)
        self.answer(200, b'{"default": "python3", "kernelspecs": {"python3": {"spec": {"language": "python"}}}}')

    def do_POST(self):
        note("requests")
        self.answer(500 if manner == "gone" else int(manner), b'{"message": "no room"}')
        if manner == "gone":
            os._exit(1)


note("starts")
http.server.ThreadingHTTPServer.daemon_threads = True
http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Gateway).serve_forever()
"#;

struct StandIn {
    folder: TempDir,
}

fn end(pid: &str) {
    Command::new("kill").args(["-9", pid]).status().unwrap();
}

impl Drop for StandIn {
    /// A failed test leaves no gateway behind.
    fn drop(&mut self) {
        let left = SharedGateway::statuses(&self.state()).into_iter();
        left.filter_map(|status| status.pid).for_each(|pid| end(&pid.to_string()));
    }
}

impl StandIn {
    fn new() -> StandIn {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("program.py"), PROGRAM).unwrap();
        StandIn { folder }
    }

    /// A program that looks like an interpreter with such a gateway.
    fn python(&self, name: &str, manner: &str) -> PathBuf {
        let real = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let (path, folder) = (self.folder.path().join(name), self.folder.path().display());
        let script =
            format!("#!/bin/sh\nexec '{real}' '{folder}/program.py' {manner} '{folder}' \"$@\"\n");
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        path
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn count(&self, what: &str) -> usize {
        std::fs::read(self.folder.path().join(what)).map_or(0, |noted| noted.len())
    }

    fn shared(&self, python: &Path) -> SharedGateway {
        self.shared_within(python, Duration::from_secs(300))
    }

    fn shared_within(&self, python: &Path, start_limit: Duration) -> SharedGateway {
        SharedGateway::new(SharedConfig {
            state_dir: self.state(),
            python: python.to_owned(),
            venv: None,
            env: self.env(),
            idle_stop: None,
            start_limit,
        })
    }

    fn env(&self) -> BTreeMap<String, String> {
        let home = self.folder.path().display().to_string();
        [("PATH", std::env::var("PATH").unwrap()), ("HOME", home)]
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    }

    fn backend(&self) -> LocalGatewayBackend {
        LocalGatewayBackend::new(LocalConfig {
            state_dir: self.state(),
            runtime_dir: self.folder.path().to_owned(),
            sharing: Sharing::Allowed,
            idle_stop: None,
        })
    }

    fn spec(&self, python: &Path) -> KernelSpec {
        let nowhere = GatewayUrl::parse("http://localhost:1", PlainHttp::OnlyHere).unwrap().0;
        KernelSpec {
            python: python.to_owned(),
            env: self.env(),
            cwd: self.folder.path().to_owned(),
            ..Desk::at(nowhere).spec()
        }
    }

    async fn refusal(&self, python: &Path) -> LaunchError {
        let launched = self.backend().launch(&self.spec(python), &CancellationToken::new()).await;
        launched.err().expect("no kernel")
    }

    /// The folder of the only gateway.
    fn home(&self) -> PathBuf {
        let all = self.state().join("python-gateway");
        all.read_dir().unwrap().next().unwrap().unwrap().path()
    }
}

/// B:G-15: a gateway that never answers is given up at the end of its start time, and ended.
#[tokio::test]
async fn a_gateway_that_never_answers_is_given_up() {
    let stand_in = StandIn::new();
    let python = stand_in.folder.path().join("python");
    let started = stand_in.folder.path().join("started");
    // The file appears only once the number is in it.
    let note = format!("echo $$ > '{0}.new' && mv '{0}.new' '{0}'", started.display());
    std::fs::write(&python, format!("#!/bin/sh\n{note}\nexec sleep 600\n")).unwrap();
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o700)).unwrap();
    let shared = stand_in.shared_within(&python, Duration::from_secs(1));
    let given_up = tokio::time::timeout(LIMIT, shared.acquire());
    let problem = given_up.await.expect("not as long as usual").unwrap_err();
    assert!(problem.to_string().contains("Gateway startup timeout"), "{problem}");
    assert!(!shared.status().active);
    if let Ok(pid) = std::fs::read_to_string(&started) {
        // A killed process that was not reaped has no command line.
        let command = format!("/proc/{}/cmdline", pid.trim());
        let is_gone = async || !std::fs::read(&command).is_ok_and(|words| !words.is_empty());
        until_async("the end of the gateway", is_gone).await;
    }
}

/// B:G-03 B:G-31: if the gateway itself failed, the client retries exactly once and reports the gateway's words. A
/// gateway that still answers stays, because other hosts may have kernels on it; one that has ended is replaced.
#[tokio::test]
async fn a_shared_gateway_that_fails_is_asked_once_more() {
    for (manner, starts) in [("500", 1), ("gone", 2)] {
        let stand_in = StandIn::new();
        let python = stand_in.python("python", manner);
        let refusal = stand_in.refusal(&python).await.to_string();
        let wanted = "Shared Python gateway unavailable after retry: Failed to create kernel on shared gateway: no room";
        assert_eq!(refusal, wanted);
        assert_eq!((stand_in.count("starts"), stand_in.count("requests")), (starts, 2), "{manner}");
        SharedGateway::shutdown_all(&stand_in.state()).await.unwrap();
    }
}

/// B:G-31 F-112: if it is unknown whether a kernel was made, the client requests no other one and says so.
#[tokio::test]
async fn a_shared_gateway_is_not_asked_for_a_second_kernel() {
    for status in ["502", "504"] {
        let stand_in = StandIn::new();
        let python = stand_in.python("python", status);
        let refusal = stand_in.refusal(&python).await.to_string();
        let wanted =
            "Failed to create kernel on shared gateway: no room (it may have started a kernel";
        assert!(refusal.starts_with(wanted), "{refusal}");
        assert_eq!((stand_in.count("starts"), stand_in.count("requests")), (1, 1), "{status}");
        SharedGateway::shutdown_all(&stand_in.state()).await.unwrap();
    }
}

/// B:G-14: a gateway that lives but is busy, or that we cannot ask, stays: other hosts have kernels
/// on it.
#[tokio::test]
async fn a_shared_gateway_that_lives_is_left_alone() {
    for manner in ["busy", "curt", "500"] {
        let stand_in = StandIn::new();
        let gateway = stand_in.shared(&stand_in.python("python", manner));
        let first = gateway.acquire().await.unwrap();
        let home = stand_in.home();
        let (token, aside) = (home.join("gateway.token"), home.join("aside"));
        if manner == "500" {
            // An unreadable file, as with too many open files.
            std::fs::rename(&token, &aside).unwrap();
            std::fs::create_dir(&token).unwrap();
        }
        let refusal = gateway.acquire().await.unwrap_err().to_string();
        assert!(refusal.starts_with("Shared Python gateway unavailable: "), "{refusal}");
        assert!(gateway.status().active, "{manner}: {refusal}");
        if manner == "500" {
            std::fs::remove_dir(&token).unwrap();
            std::fs::rename(&aside, &token).unwrap();
            assert_eq!(gateway.acquire().await.unwrap(), first);
        } else {
            assert!(refusal.contains("inkcell gateway stop"), "{refusal}");
        }
        assert_eq!(stand_in.count("starts"), 1, "{manner}");
        assert!(gateway.shutdown().await.unwrap());
    }
}

/// S-014: after our gateway has ended, an answer on its port does not come from it.
#[tokio::test]
async fn a_gateway_that_ended_did_not_answer() {
    let stand_in = StandIn::new();
    let python = stand_in.python("python", "orphan");
    // The client asks the child of the script while the script lives, and the child answers without it.
    let script = std::fs::read_to_string(&python).unwrap().replace("exec ", "setsid ");
    let (note, asked) = (stand_in.folder.path().join("pid"), stand_in.folder.path().join("asked"));
    let wait = format!("while [ ! -e '{}' ]; do sleep 0.01; done", asked.display());
    let script = format!("{} &\necho $! > '{}'\n{wait}\n", script.trim_end(), note.display());
    std::fs::write(&python, script).unwrap();
    let acquired = stand_in.shared(&python).acquire().await;
    end(std::fs::read_to_string(&note).unwrap().trim());
    let refusal = acquired.unwrap_err().to_string();
    assert!(refusal.contains("Gateway process exited during startup"), "{refusal}");
}

/// B:G-17: a gateway that cannot be ended does not protect the others, and is reported.
#[tokio::test]
async fn every_gateway_that_can_be_ended_is() {
    let stand_in = StandIn::new();
    let gateway = stand_in.shared(&stand_in.python("python", "500"));
    gateway.acquire().await.unwrap();
    std::fs::write(stand_in.state().join("python-gateway/0"), "no folder").unwrap();
    let refusal = SharedGateway::shutdown_all(&stand_in.state()).await.unwrap_err().to_string();
    assert!(refusal.contains("python-gateway/0"), "{refusal}");
    assert!(!gateway.status().active, "the other one");
}

/// B:G-11: the start has one limit for all of its waits, and can be cancelled.
#[tokio::test]
async fn a_start_waits_no_longer_than_it_may() {
    let stand_in = StandIn::new();
    let python = stand_in.python("python", "500");
    stand_in.shared(&python).shutdown().await.unwrap();
    let held = std::fs::File::open(stand_in.home().join("gateway.lock")).unwrap();
    held.lock().unwrap();
    let backend = stand_in.backend();
    let limit = Duration::from_millis(200);
    let spec = KernelSpec { start_timeout: limit, ..stand_in.spec(&python) };
    let launched = backend.launch(&spec, &CancellationToken::new()).await;
    assert!(matches!(launched, Err(LaunchError::TimedOut { .. })));
    assert!(matches!(backend.kernelspecs(&spec).await, Err(LaunchError::TimedOut { .. })));
    let cancel = CancellationToken::new();
    cancel.cancel();
    let launched = backend.launch(&stand_in.spec(&python), &cancel).await;
    assert!(matches!(launched, Err(LaunchError::Cancelled)));
    assert_eq!(stand_in.count("starts"), 0);
}

/// B:G-31: after a refusal the client does not retry, and other hosts keep their kernels.
#[tokio::test]
async fn a_shared_gateway_that_refuses_goes_on() {
    let stand_in = StandIn::new();
    let python = stand_in.python("python", "400");
    let refusal = stand_in.refusal(&python).await.to_string();
    assert_eq!(refusal, "Failed to create kernel on shared gateway: no room");
    assert_eq!((stand_in.count("starts"), stand_in.count("requests")), (1, 1));
    assert_eq!(SharedGateway::shutdown_all(&stand_in.state()).await.unwrap(), 1, "it lives");
}

/// B:G-14: one slow answer of a living gateway does not replace it.
#[tokio::test]
async fn a_shared_gateway_may_be_slow_once() {
    let stand_in = StandIn::new();
    let gateway = stand_in.shared(&stand_in.python("python", "slow"));
    let first = gateway.acquire().await.unwrap();
    assert_eq!(gateway.acquire().await.unwrap(), first);
    assert_eq!(stand_in.count("starts"), 1);
    assert!(gateway.shutdown().await.unwrap());
}

/// B:G-19: each interpreter has its own gateway, and the end of one leaves the other alone.
#[tokio::test]
async fn each_interpreter_has_a_gateway() {
    let stand_in = StandIn::new();
    let one = stand_in.shared(&stand_in.python("python-1", "500"));
    let two = stand_in.shared(&stand_in.python("python-2", "500"));
    let (first, second) = tokio::join!(one.acquire(), two.acquire());
    let (first, second) = (first.unwrap(), second.unwrap());
    assert!(first.0 != second.0 && first.1 != second.1, "neither opens the other");
    assert_eq!(
        (one.acquire().await.unwrap(), two.acquire().await.unwrap()),
        (first, second.clone())
    );
    let paths = SharedGateway::statuses(&stand_in.state()).into_iter();
    let mut paths: Vec<String> = paths.filter_map(|status| status.python_path).collect();
    paths.sort();
    let named = |name: &str| stand_in.folder.path().join(name).display().to_string();
    assert_eq!(paths, [named("python-1"), named("python-2")]);
    assert!(one.shutdown().await.unwrap());
    assert_eq!((one.status().active, two.status().active), (false, true));
    assert_eq!(two.acquire().await.unwrap(), second);
    assert!(two.shutdown().await.unwrap());
    assert_eq!(stand_in.count("starts"), 2);
}
