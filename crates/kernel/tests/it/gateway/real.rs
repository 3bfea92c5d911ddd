//! Real servers on this machine, each a process that ends with its test.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use inkcell_kernel::{
    GatewayBackend, GatewayConfig, GatewayLocation, GatewayUrl, PlainHttp, Token,
};
use inkcell_testkit::ports::{free_port, terminate};
use inkcell_testkit::wait::until_async;
use tempfile::TempDir;

use super::desk::{Desk, config};

/// The token of every such server.
pub(crate) const TOKEN: &str = "a-token-of-the-tests";

pub(crate) struct Real {
    child: Child,
    pub(crate) desk: Desk,
    pub(crate) port: u16,
}

impl Real {
    /// Starts this Python with these arguments, in which `{port}` becomes a port. `below` precedes every path of the
    /// server, and kernels get these variables.
    pub(crate) async fn start(
        python: &Path,
        arguments: &[&str],
        below: &str,
        change: impl FnOnce(&mut GatewayConfig),
    ) -> Real {
        let folder = TempDir::new().unwrap();
        let port = free_port();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir(&home).unwrap();
        let port_text = port.to_string();
        let child = Command::new(python)
            .args(arguments.iter().map(|argument| argument.replace("{port}", &port_text)))
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", &home)
            .env("JUPYTER_TOKEN", TOKEN)
            .env("EG_AUTH_TOKEN", TOKEN)
            .current_dir(&home)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .process_group(0)
            .spawn()
            .unwrap();
        let pasted = format!("http://127.0.0.1:{port}{below}/lab?token={TOKEN}");
        let (url, token) = GatewayUrl::parse(&pasted, PlainHttp::OnlyHere).unwrap();
        assert_eq!(token, Token::parse(TOKEN).unwrap());
        let mut config =
            GatewayConfig { token, place: GatewayLocation::Here, ..config(url, &folder) };
        change(&mut config);
        let desk = Desk { backend: GatewayBackend::new(config), folder };
        let real = Real { child, desk, port };
        real.answers().await;
        real
    }

    async fn answers(&self) {
        let log = || std::fs::read_to_string(self.desk.folder.path().join("log")).unwrap();
        until_async("an answer of the server", async || {
            self.desk.backend.kernelspecs().await.map(drop).map_err(|_| log())
        })
        .await;
    }

    /// The root folder of the server's files.
    pub(crate) fn home(&self) -> std::path::PathBuf {
        self.desk.folder.path().join("home")
    }

    /// Ends it as a user would.
    pub(crate) async fn stop(mut self) {
        terminate(&self.child, self.port);
        until_async("the end of the server", async || self.child.try_wait().unwrap()).await;
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
