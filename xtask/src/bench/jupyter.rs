//! A Jupyter server for a measurement: started once, queried over HTTP, shut down at the end.
//!
//! Owns its process and the arguments of each kind of server. Must not know what is measured.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::bench::measure::usage;

/// The time limit of a start, which takes seven seconds on an idle machine.
const START: Duration = Duration::from_secs(180);
const END: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(50);

/// The program that serves kernels.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// JupyterLab, as users start it: `jupyter lab`.
    Lab,
    /// The same server without the user interface: `python -m jupyter_server`.
    Server,
    /// The kernel gateway: `python -m kernel_gateway`.
    Gateway,
}

impl Sort {
    fn told(self, command: &mut Command, port: u16) {
        let class = match self {
            Sort::Lab => {
                command.arg("lab");
                "ServerApp"
            }
            Sort::Server => {
                command.args(["-m", "jupyter_server"]);
                "ServerApp"
            }
            Sort::Gateway => {
                command.args(["-m", "kernel_gateway"]);
                "KernelGatewayApp"
            }
        };
        if self != Sort::Gateway {
            // In a container the user is root; elsewhere the flag changes nothing.
            command.args(["--no-browser", "--allow-root"]);
        }
        command.args([
            format!("--{class}.ip=127.0.0.1"),
            format!("--{class}.port={port}"),
            format!("--{class}.port_retries=0"),
        ]);
    }

    /// The path that answers as soon as the server is ready.
    fn ready(self) -> &'static str {
        match self {
            Sort::Lab | Sort::Server => "/api/status",
            Sort::Gateway => "/api/kernelspecs",
        }
    }
}

pub(super) struct Jupyter {
    child: Child,
    port: u16,
    token: String,
    /// Milliseconds from its start to its first answer.
    pub(super) start_ms: f64,
}

impl Jupyter {
    /// Starts the server on loopback with these arguments besides its own, and waits until it answers. The
    /// command provides the program and the environment.
    pub(super) fn start(
        sort: Sort,
        mut command: Command,
        arguments: &[&str],
        stderr: &Path,
    ) -> Result<Jupyter> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let random = inkcell_engine::system_random;
        let token = format!("{:016x}{:016x}", random(), random());
        sort.told(&mut command, port);
        command
            .args(arguments)
            .env("JUPYTER_TOKEN", &token)
            .env("KG_AUTH_TOKEN", &token)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(stderr)?);
        let begin = Instant::now();
        let child = command.spawn().context("cannot start a Jupyter server")?;
        let mut jupyter = Jupyter { child, port, token, start_ms: 0.0 };
        while !jupyter.request("GET", sort.ready()).is_ok_and(|status| status == 200) {
            if let Some(status) = jupyter.child.try_wait()? {
                bail!("the Jupyter server ended: {status}");
            }
            if begin.elapsed() > START {
                bail!("the Jupyter server did not answer within {} s", START.as_secs());
            }
            std::thread::sleep(PAUSE);
        }
        jupyter.start_ms = begin.elapsed().as_secs_f64() * 1e3;
        Ok(jupyter)
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Memory of the server's own process without its kernels: resident and proportional, in MiB.
    pub(super) fn held(&self) -> Result<(f64, f64)> {
        let pid = self.child.id();
        Ok((usage::resident_mib(pid)?, usage::pss_mib(&[pid])?))
    }

    fn request(&self, method: &str, path: &str) -> Result<u16> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(END))?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: token {}\r\n\
             Content-Length: 0\r\nConnection: close\r\n\r\n",
            self.port, self.token
        );
        stream.write_all(head.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        status(&answer).context("not an answer of HTTP")
    }
}

impl Drop for Jupyter {
    /// A request to shut down also ends the kernels; a killed server would leave them.
    fn drop(&mut self) {
        let asked = self.request("POST", "/api/shutdown").is_ok_and(|status| status == 200);
        // A gateway has no such request.
        let pid = i32::try_from(self.child.id()).map(Pid::from_raw);
        let told = asked || pid.is_ok_and(|pid| kill(pid, Signal::SIGTERM).is_ok());
        let begin = Instant::now();
        while told && begin.elapsed() < END {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(PAUSE),
                _ => return,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Parses the status code in the first line of an answer.
fn status(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|byte| *byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    words.next().filter(|version| version.starts_with("HTTP/"))?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_an_answer_is_in_its_first_line() {
        assert_eq!(status(b"HTTP/1.1 200 OK\r\nServer: T\r\n\r\n{}"), Some(200));
        assert_eq!(status(b"HTTP/1.1 403 Forbidden\r\n\r\n"), Some(403));
        assert_eq!(status(b"SSH-2.0-OpenSSH\r\n"), None);
        assert_eq!(status(b""), None);
    }
}
