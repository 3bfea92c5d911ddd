//! Shared gateways that fail, are slow, or are one of several: a small program stands in for the real one.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use inkcell_kernel::{
    Backend as _, GatewayUrl, KernelSpec, LaunchError, LocalConfig, LocalGatewayBackend, PlainHttp,
    SharedConfig, SharedGateway, Sharing,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::desk::Desk;

/// Answers as a gateway does whose kernels cannot be made: with the status that its first argument is. The second
/// question is never answered where that is `slow`. Every start and every request for a kernel is written down.
const PROGRAM: &str = r#"
import http.server, os, sys, time

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
        self.answer(200, b'{"default": "python3", "kernelspecs": {"python3": {"spec": {"language": "python"}}}}')

    def do_POST(self):
        note("requests")
        self.answer(int(manner), b'{"message": "no room"}')


note("starts")
http.server.ThreadingHTTPServer.daemon_threads = True
http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Gateway).serve_forever()
"#;

struct StandIn {
    folder: TempDir,
}

impl StandIn {
    fn new() -> StandIn {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("program.py"), PROGRAM).unwrap();
        StandIn { folder }
    }

    /// What looks like an interpreter that has such a gateway.
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
        SharedGateway::new(SharedConfig {
            state_dir: self.state(),
            python: python.to_owned(),
            venv: None,
            env: self.env(),
            idle_stop: None,
        })
    }

    fn env(&self) -> BTreeMap<String, String> {
        let home = self.folder.path().display().to_string();
        [("PATH", std::env::var("PATH").unwrap()), ("HOME", home)]
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    }

    async fn refusal(&self, python: &Path) -> LaunchError {
        let backend = LocalGatewayBackend::new(LocalConfig {
            state_dir: self.state(),
            runtime_dir: self.folder.path().to_owned(),
            sharing: Sharing::Allowed,
            idle_stop: None,
        });
        let nowhere = GatewayUrl::parse("http://localhost:1", PlainHttp::OnlyHere).unwrap().0;
        let desk = Desk::at(nowhere);
        let spec = KernelSpec {
            python: python.to_owned(),
            env: self.env(),
            cwd: self.folder.path().to_owned(),
            ..desk.spec()
        };
        backend.launch(&spec, &CancellationToken::new()).await.err().expect("no kernel")
    }
}

/// B:G-03 B:G-31: where the gateway failed, another one is tried in its place, exactly once; its own word is told.
#[tokio::test]
async fn a_shared_gateway_that_fails_is_replaced_once() {
    let stand_in = StandIn::new();
    let python = stand_in.python("python", "500");
    let refusal = stand_in.refusal(&python).await.to_string();
    let wanted = "Shared Python gateway unavailable after retry: Failed to create kernel on shared gateway: no room";
    assert_eq!(refusal, wanted);
    assert_eq!((stand_in.count("starts"), stand_in.count("requests")), (2, 2));
    SharedGateway::shutdown_all(&stand_in.state()).await.unwrap();
}

/// B:G-31: where the request was refused nothing is tried again, and nobody else loses their kernels by it.
#[tokio::test]
async fn a_shared_gateway_that_refuses_goes_on() {
    let stand_in = StandIn::new();
    let python = stand_in.python("python", "400");
    let refusal = stand_in.refusal(&python).await.to_string();
    assert_eq!(refusal, "Failed to create kernel on shared gateway: no room");
    assert_eq!((stand_in.count("starts"), stand_in.count("requests")), (1, 1));
    assert_eq!(SharedGateway::shutdown_all(&stand_in.state()).await.unwrap(), 1, "it lives");
}

/// B:G-14: a gateway that lives and is slow to answer once is not replaced.
#[tokio::test]
async fn a_shared_gateway_may_be_slow_once() {
    let stand_in = StandIn::new();
    let gateway = stand_in.shared(&stand_in.python("python", "slow"));
    let first = gateway.acquire().await.unwrap();
    assert_eq!(gateway.acquire().await.unwrap(), first);
    assert_eq!(stand_in.count("starts"), 1);
    assert!(gateway.shutdown().await.unwrap());
}

/// B:G-19: each interpreter has a gateway of its own, and one that ends leaves the other alone.
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
