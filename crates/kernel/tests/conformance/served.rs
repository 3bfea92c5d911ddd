//! Real servers for tests: Jupyter's kernel gateway and Jupyter's own server, on this machine, one for a test.
//!
//! Owns the process, which is gone when the test is over. Which Python has them is told by
//! `INKCELL_TEST_JUPYTER_PYTHON`.

use std::cell::RefCell;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use inkcell_kernel::{GatewayBackend, GatewayConfig, GatewayUrl, Place, PlainHttp, Token, Whose};
use tempfile::TempDir;

use crate::bench::{LIMIT, Start};
use crate::ledger;

/// What opens them.
pub(crate) const TOKEN: &str = "a-token-of-the-tests";

thread_local! {
    /// Where the server of the test on this thread is.
    static URL: RefCell<Option<GatewayUrl>> = const { RefCell::new(None) };
}

/// The Python that has servers.
pub(crate) fn python() -> Option<PathBuf> {
    std::env::var_os("INKCELL_TEST_JUPYTER_PYTHON").map(PathBuf::from)
}

/// A server that runs. Dropped, it is killed.
pub(crate) struct Served {
    child: Child,
    folder: TempDir,
}

impl Served {
    /// Starts one, and waits until it answers.
    pub(crate) async fn start(start: Start) -> Served {
        let mut folder = TempDir::new().expect("a folder");
        // Where it is looked for what other tests leave; these have a state folder each.
        std::fs::create_dir_all(crate::bench::state_dir().join("runner")).expect("a folder");
        for _ in 0..3 {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let port = listener.local_addr().expect("an address").port();
            drop(listener);
            let url = format!("http://127.0.0.1:{port}");
            let url = GatewayUrl::parse(&url, PlainHttp::OnlyHere).expect("an address").0;
            URL.set(Some(url));
            let child = command(start, port, folder.path()).spawn().expect("a server");
            let mut served = Served { child, folder };
            if served.answers(start).await {
                return served;
            }
            // Somebody else took the port.
            let (_, back) = (served.child.kill(), TempDir::new().expect("a folder"));
            let _ = served.child.wait();
            folder = std::mem::replace(&mut served.folder, back);
        }
        panic!("no server: {}", std::fs::read_to_string(folder.path().join("log")).expect("a log"));
    }

    async fn answers(&mut self, start: Start) -> bool {
        let backend = backend(start, self.folder.path());
        let until = tokio::time::Instant::now() + 2 * LIMIT;
        while tokio::time::Instant::now() < until {
            if backend.kernelspecs().await.is_ok() {
                return true;
            }
            if self.child.try_wait().expect("a status").is_some() {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        false
    }

    /// Ends it as its user would.
    pub(crate) async fn stop(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
        for _ in 0..200 {
            if self.child.try_wait().expect("a status").is_some() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        URL.set(None);
    }
}

/// A backend for the server of this test.
pub(crate) fn backend(start: Start, folder: &Path) -> GatewayBackend {
    GatewayBackend::new(GatewayConfig {
        url: URL.with_borrow(Clone::clone).expect("a server of this test"),
        token: Token::parse(TOKEN).expect("a token"),
        whose: Whose::External,
        place: if start == Start::Elsewhere { Place::Elsewhere } else { Place::Here },
        kernel_name: None,
        env: std::collections::BTreeMap::new(),
        authorities: None,
        state_dir: folder.join("state"),
        runtime_dir: folder.to_owned(),
    })
}

fn command(start: Start, port: u16, folder: &Path) -> Command {
    let log = std::fs::File::create(folder.join("log")).expect("a log");
    let mut command = Command::new(python().expect("a Python that has servers"));
    let path = |name: &str| folder.join(name);
    command
        .env_clear()
        .envs(
            ["PATH", "LANG"].into_iter().filter_map(|name| Some((name, std::env::var(name).ok()?))),
        )
        .envs([ledger::variable()])
        .env("HOME", folder)
        .env("JUPYTER_CONFIG_DIR", path("config"))
        .env("JUPYTER_DATA_DIR", path("data"))
        .env("JUPYTER_RUNTIME_DIR", path("run"))
        .env("IPYTHONDIR", path("ipython"))
        .env("KG_AUTH_TOKEN", TOKEN)
        .env("JUPYTER_TOKEN", TOKEN)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a log"))
        .stderr(log)
        .process_group(0)
        .arg("-m");
    let class = match start {
        Start::Gateway => {
            command.arg("kernel_gateway");
            "KernelGatewayApp"
        }
        _ => {
            command.args(["jupyter_server", "--allow-root", "--no-browser"]);
            "ServerApp"
        }
    };
    command
        .arg(format!("--{class}.ip=127.0.0.1"))
        .arg(format!("--{class}.port={port}"))
        .arg(format!("--{class}.port_retries=0"))
        // What a server drops is shown by a test of its own.
        .arg("--ZMQChannelsWebsocketConnection.limit_rate=False");
    command
}
