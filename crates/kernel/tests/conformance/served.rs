//! Real servers on this machine: Jupyter's kernel gateway and Jupyter's own server, one for each test.
//!
//! Owns the process, which ends with the test. `INKCELL_TEST_JUPYTER_PYTHON` names the Python that has the
//! servers.

use std::cell::RefCell;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use inkcell_kernel::{
    GatewayBackend, GatewayConfig, GatewayLocation, GatewayUrl, PlainHttp, Token, Whose,
};
use inkcell_testkit::ports::{free_port, terminate};
use inkcell_testkit::wait::until_async;
use tempfile::TempDir;

use crate::bench::Start;
use crate::ledger;

/// The token of every such server.
pub(crate) const TOKEN: &str = "a-token-of-the-tests";

thread_local! {
    /// The address and the manner of the server of the test on this thread.
    static URL: RefCell<Option<(GatewayUrl, Manner)>> = const { RefCell::new(None) };
    /// Its certificate, if it has one.
    static CERTIFICATE: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

/// The Python with the servers.
pub(crate) fn python() -> Option<PathBuf> {
    std::env::var_os("INKCELL_TEST_JUPYTER_PYTHON").map(PathBuf::from)
}

/// A running server. Dropping it kills the process.
pub(crate) struct Served {
    child: Child,
    folder: TempDir,
    port: u16,
}

/// The demands of a server on its clients, and the output it holds back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Demands a token, and passes all output on.
    Usual,
    /// Accepts every client without a token.
    Open,
    /// Drops output that comes too fast, as servers do by default.
    Limited,
    /// Speaks TLS, with a certificate of an unknown authority.
    Tls,
}

impl Served {
    /// Starts a server, and waits until it answers.
    pub(crate) async fn start(start: Start) -> Served {
        Served::in_manner(start, Manner::Usual).await
    }

    pub(crate) async fn in_manner(start: Start, manner: Manner) -> Served {
        let folder = TempDir::new().expect("a folder");
        // `ledger` expects this folder in the shared state folder, while these tests have a state folder each.
        std::fs::create_dir_all(crate::bench::state_dir().join("runner")).expect("a folder");
        let port = free_port();
        let scheme = if manner == Manner::Tls { "https" } else { "http" };
        let url = format!("{scheme}://127.0.0.1:{port}");
        let url = GatewayUrl::parse(&url, PlainHttp::OnlyHere).expect("an address").0;
        let certificate = (manner == Manner::Tls).then(|| certificate(folder.path()));
        CERTIFICATE.set(certificate);
        URL.set(Some((url, manner)));
        let child = command(start, manner, port, folder.path()).spawn().expect("a server");
        let mut served = Served { child, folder, port };
        served.wait_for_answer(start).await;
        served
    }

    async fn wait_for_answer(&mut self, start: Start) {
        let backend = backend(start, self.folder.path());
        until_async("an answer of the server", async || {
            let has_ended = self.child.try_wait().expect("a status").is_some();
            let log = || std::fs::read_to_string(self.folder.path().join("log"));
            assert!(!has_ended, "the server has ended: {:?}", log());
            backend.kernelspecs().await.map_err(|error| error.to_string())
        })
        .await;
    }

    /// Ends it as a user would.
    pub(crate) async fn stop(mut self) {
        terminate(&self.child, self.port);
        let log = self.folder.path().join("log");
        let has_ended = async || {
            let status = self.child.try_wait().expect("a status");
            status.ok_or_else(|| format!("its log: {:?}", std::fs::read_to_string(&log)))
        };
        until_async("the end of the server", has_ended).await;
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
    let (url, manner) = URL.with_borrow(Clone::clone).expect("a server of this test");
    let state_dir = folder.join("state");
    inkcell_testkit::runner::share(&state_dir);
    GatewayBackend::new(GatewayConfig {
        url,
        token: Token::parse(if manner == Manner::Open { "" } else { TOKEN }).expect("a token"),
        whose: Whose::External,
        place: if start == Start::Elsewhere {
            GatewayLocation::Elsewhere
        } else {
            GatewayLocation::Here
        },
        kernel_name: None,
        env: std::collections::BTreeMap::new(),
        user: None,
        start_limit: None,
        beside: None,
        authorities: CERTIFICATE.with_borrow(Clone::clone),
        state_dir,
        runtime_dir: folder.to_owned(),
    })
}

/// Makes later backends distrust the server's certificate.
pub(crate) fn forget_certificate() {
    CERTIFICATE.set(None);
}

fn certificate(folder: &Path) -> PathBuf {
    let path = folder.join("cert.pem");
    let mut command = Command::new("openssl");
    command
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-out"])
        .arg(&path)
        .arg("-keyout")
        .arg(folder.join("key.pem"));
    let made = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(made.expect("openssl").success());
    path
}

/// Makes later backends connect through this port.
pub(crate) fn go_through(port: u16) {
    let url = format!("http://127.0.0.1:{port}");
    let url = GatewayUrl::parse(&url, PlainHttp::OnlyHere).expect("an address").0;
    URL.with_borrow_mut(|place| place.as_mut().expect("a server of this test").0 = url);
}

/// The port of the server of this test.
pub(crate) fn port() -> u16 {
    let url = URL.with_borrow(Clone::clone).expect("a server of this test").0.to_string();
    url.rsplit(':').next().expect("a port").parse().expect("a number")
}

fn command(start: Start, manner: Manner, port: u16, folder: &Path) -> Command {
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
        .env("KG_AUTH_TOKEN", if manner == Manner::Open { "" } else { TOKEN })
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a log"))
        .stderr(log)
        .process_group(0)
        .arg("-m");
    let class = match start {
        Start::Gateway => {
            // A test lists the kernels to find its own.
            command.args(["kernel_gateway", "--JupyterWebsocketPersonality.list_kernels=True"]);
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
        .env("JUPYTER_TOKEN", TOKEN);
    match manner {
        Manner::Usual => command.arg("--ZMQChannelsWebsocketConnection.limit_rate=False"),
        Manner::Open => command.env_remove("JUPYTER_TOKEN").arg("--IdentityProvider.token="),
        Manner::Limited => &mut command,
        Manner::Tls => command
            .arg(format!("--ServerApp.certfile={}", path("cert.pem").display()))
            .arg(format!("--ServerApp.keyfile={}", path("key.pem").display())),
    };
    command
}
