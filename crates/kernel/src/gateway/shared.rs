//! The gateway that hosts on this machine share: one for each interpreter, started by whoever needs it first.
//!
//! Owns its files and its process. A lock of the system decides who may start or end it, and another, which
//! the gateway itself holds, tells whether it lives; a number in a file proves nothing. It must not know what
//! kernels are used for.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Seek as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};
use tokio::process::{Child, Command};
use tokio::time::Instant;

use crate::gateway::dial::Dial;
use crate::gateway::error::{GatewayError, Whose};
use crate::gateway::rest::Rest;
use crate::gateway::url::{GatewayUrl, PlainHttp, Token};
use crate::zmq::connection::random_hex;

/// How often a lock that somebody holds is tried, and for how long.
const LOCK_AGAIN: Duration = Duration::from_millis(50);
const LOCK_LIMIT: Duration = Duration::from_secs(35);

/// How often a gateway that starts is asked, and for how long.
const HEALTH_AGAIN: Duration = Duration::from_millis(100);
const START_LIMIT: Duration = Duration::from_secs(30);

/// How long a gateway that runs may take to answer.
const HEALTH_LIMIT: Duration = Duration::from_secs(3);

/// How often the file of a lock that is held is touched.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// How often a gateway is started whose port somebody else took.
const ATTEMPTS: usize = 3;

/// How long one that is ended may take, by each signal.
const END_LIMIT: Duration = Duration::from_secs(5);

/// Everything the shared gateway must be told; there are no defaults.
#[derive(Clone, Debug)]
pub struct SharedConfig {
    /// Where state is kept.
    pub state_dir: PathBuf,
    /// The interpreter that runs it and its kernels.
    pub python: PathBuf,
    /// The environment it belongs to, if any.
    pub venv: Option<PathBuf>,
    /// Its whole environment; nothing is inherited.
    pub env: BTreeMap<String, String>,
}

/// The gateway of one interpreter.
pub struct SharedGateway {
    config: SharedConfig,
    folder: PathBuf,
}

/// What is known of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedStatus {
    /// Whether it lives.
    pub active: bool,
    /// Where it is.
    pub url: Option<String>,
    /// Its process.
    pub pid: Option<u32>,
    /// How long it has been running, in milliseconds.
    pub uptime: Option<u64>,
    /// Its interpreter.
    pub python_path: Option<String>,
    /// The environment of that.
    pub venv_path: Option<String>,
}

/// What is written down about it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    url: String,
    pid: u32,
    started_at: u64,
    #[serde(default)]
    python_path: Option<String>,
    #[serde(default)]
    venv_path: Option<String>,
}

impl SharedGateway {
    /// The gateway of this interpreter. Nothing is started yet.
    pub fn new(config: SharedConfig) -> SharedGateway {
        let mut hasher = DefaultHasher::new();
        config.python.hash(&mut hasher);
        let folder = config.state_dir.join("python-gateway");
        let folder = folder.join(format!("{:016x}", hasher.finish()));
        SharedGateway { config, folder }
    }

    /// Where the gateway is and what opens it; started when it does not run, or does not answer.
    pub async fn acquire(&self) -> Result<(GatewayUrl, Token), GatewayError> {
        let mut lock = self.lock().await?;
        if let Some(found) = self.healthy().await {
            return Ok(found);
        }
        self.end().await?;
        let mut last = unavailable("Gateway process exited during startup");
        for _ in 0..ATTEMPTS {
            match self.start(&mut lock).await {
                Err(problem) if self.is_port_taken() => last = problem,
                done => return done,
            }
        }
        Err(last)
    }

    /// Ends the gateway, and its kernels with it; says whether there was one.
    pub async fn shutdown(&self) -> Result<bool, GatewayError> {
        let _lock = self.lock().await?;
        self.end().await
    }

    /// What is known of it, without asking it.
    pub fn status(&self) -> SharedStatus {
        let info = self.info().filter(|_| self.is_alive());
        let uptime = info.as_ref().map(|info| millis().saturating_sub(info.started_at));
        SharedStatus {
            active: info.is_some(),
            url: info.as_ref().map(|info| info.url.clone()),
            pid: info.as_ref().map(|info| info.pid),
            uptime,
            python_path: info.as_ref().and_then(|info| info.python_path.clone()),
            venv_path: info.and_then(|info| info.venv_path),
        }
    }

    /// Waits for the right to change anything.
    async fn lock(&self) -> Result<Lock, GatewayError> {
        self.make_folder().map_err(in_folder(&self.folder))?;
        let path = self.folder.join("gateway.lock");
        let file = private().read(true).create(true).truncate(false).open(&path);
        let file = file.map_err(in_folder(&path))?;
        let until = Instant::now() + LOCK_LIMIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Lock::held(file).map_err(in_folder(&path)),
                Err(TryLockError::Error(error)) => return Err(in_folder(&path)(error)),
                Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                    return Err(unavailable("Timed out waiting for shared gateway lock"));
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_AGAIN).await,
            }
        }
    }

    /// What is started from here runs as this user, so the folder must be this user's own.
    fn make_folder(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let found = fs::metadata(&self.folder)?;
        if found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o077 != 0 {
            return Err(io::Error::other("other users can use the folder"));
        }
        Ok(())
    }

    /// What was written down; nothing where it cannot be read.
    fn info(&self) -> Option<Info> {
        serde_json::from_slice(&fs::read(self.folder.join("gateway.json")).ok()?).ok()
    }

    /// Whether a gateway of ours lives: it holds a lock from its first moment to its last.
    fn is_alive(&self) -> bool {
        let file = File::open(self.folder.join("gateway.alive"));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// The gateway that was written down, if it lives and answers.
    async fn healthy(&self) -> Option<(GatewayUrl, Token)> {
        let info = self.info().filter(|_| self.is_alive())?;
        let (url, _) = GatewayUrl::parse(&info.url, PlainHttp::OnlyHere).ok()?;
        let token = fs::read_to_string(self.folder.join("gateway.token")).ok()?;
        let token = Token::parse(&token).ok()??;
        let asked = tokio::time::timeout(HEALTH_LIMIT, rest(&url, &token).kernelspecs()).await;
        asked.ok()?.ok()?;
        Some((url, token))
    }

    /// Ends the process that was written down, if it is the one that holds the lock of a gateway.
    async fn end(&self) -> Result<bool, GatewayError> {
        let info = self.info();
        let was_alive = self.is_alive();
        if let Some(pid) = info.and_then(|info| Pid::from_raw(i32::try_from(info.pid).ok()?)) {
            for signal in [Signal::TERM, Signal::KILL] {
                let until = Instant::now() + END_LIMIT;
                if !self.is_alive() || !self.holds_lock(pid) {
                    break;
                }
                let _ = rustix::process::kill_process(pid, signal);
                while self.is_alive() && Instant::now() < until {
                    tokio::time::sleep(LOCK_AGAIN).await;
                }
            }
        }
        for name in ["gateway.json", "gateway.token"] {
            match fs::remove_file(self.folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(in_folder(&self.folder)(error));
                }
                _ => {}
            }
        }
        // One that could not be ended is not ours to speak to, and the next has a lock of its own.
        let _ = fs::remove_file(self.folder.join("gateway.alive"));
        Ok(was_alive)
    }

    /// Whether this process has the file open whose lock tells that a gateway lives. Numbers of processes are
    /// used again; nobody else has this file as its standard input.
    fn holds_lock(&self, pid: Pid) -> bool {
        let theirs = fs::metadata(format!("/proc/{}/fd/0", pid.as_raw_nonzero()));
        let ours = fs::metadata(self.folder.join("gateway.alive"));
        match (theirs, ours) {
            (Ok(theirs), Ok(ours)) => (theirs.dev(), theirs.ino()) == (ours.dev(), ours.ino()),
            _ => false,
        }
    }

    async fn start(&self, lock: &mut Lock) -> Result<(GatewayUrl, Token), GatewayError> {
        let secret = random_hex::<32>().map_err(in_folder(&self.folder))?;
        let token = Token::parse(&secret).ok().flatten();
        let token = token.ok_or_else(|| unavailable("no token can be made"))?;
        let port = free_port().map_err(in_folder(&self.folder))?;
        let url = GatewayUrl::local(port);
        let mut child = self.spawn(port, &token).map_err(|error| {
            unavailable(&format!("{} could not be started: {error}", self.config.python.display()))
        })?;
        let started = self.ready(&mut child, lock, &rest(&url, &token)).await;
        let written = match started {
            Ok(()) => self.write(&url, &token, child.id().unwrap_or(0)),
            Err(problem) => {
                let _ = child.start_kill();
                let _ = child.wait().await;
                return Err(problem);
            }
        };
        if let Err(error) = written {
            let _ = child.start_kill();
            return Err(in_folder(&self.folder)(error));
        }
        Ok((url, token))
    }

    fn spawn(&self, port: u16, token: &Token) -> io::Result<Child> {
        let alive = self.folder.join("gateway.alive");
        let _ = fs::remove_file(&alive);
        let lock = private().read(true).create_new(true).open(&alive)?;
        lock.lock()?;
        let log = private().create(true).truncate(true).open(self.folder.join("gateway.log"))?;
        let mut command = Command::new(&self.config.python);
        command
            .arg("-m")
            .arg("kernel_gateway")
            .arg("--KernelGatewayApp.ip=127.0.0.1")
            .arg(format!("--KernelGatewayApp.port={port}"))
            .arg("--KernelGatewayApp.port_retries=0")
            .arg("--JupyterApp.answer_yes=true")
            .arg("--ZMQChannelsWebsocketConnection.limit_rate=False")
            .env_clear()
            .envs(&self.config.env)
            .env("PYTHONUNBUFFERED", "1")
            // By the environment, which only this user can read; arguments are for everybody. The gateway
            // itself keeps it from its kernels.
            .env("KG_AUTH_TOKEN", token.secret())
            .current_dir(&self.folder)
            // An empty file, whose lock is held as long as the gateway has it open.
            .stdin(Stdio::from(lock))
            .stdout(Stdio::from(log.try_clone()?))
            .stderr(Stdio::from(log))
            .process_group(0)
            .kill_on_drop(false);
        command.spawn()
    }

    async fn ready(
        &self,
        child: &mut Child,
        lock: &mut Lock,
        rest: &Rest,
    ) -> Result<(), GatewayError> {
        let until = Instant::now() + START_LIMIT;
        while Instant::now() < until {
            lock.beat();
            let asked = tokio::time::timeout(HEALTH_LIMIT, rest.kernelspecs()).await;
            if matches!(asked, Ok(Ok(_))) {
                return Ok(());
            }
            if matches!(child.try_wait(), Ok(Some(_))) {
                return Err(self.exited());
            }
            tokio::time::sleep(HEALTH_AGAIN).await;
        }
        Err(unavailable("Gateway startup timeout"))
    }

    fn exited(&self) -> GatewayError {
        let log = self.log();
        if log.contains("No module named") {
            return unavailable(
                "kernel_gateway (jupyter-kernel-gateway) or ipykernel not installed. Run: python -m pip \
                 install jupyter_kernel_gateway ipykernel",
            );
        }
        let tail: Vec<&str> = log.lines().rev().take(5).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        unavailable(&format!(
            "Gateway process exited during startup; it said:\n{}",
            tail.join("\n")
        ))
    }

    fn is_port_taken(&self) -> bool {
        let log = self.log();
        log.contains("already in use") || log.contains("port could be found")
    }

    /// The end of what the gateway wrote.
    fn log(&self) -> String {
        let bytes = fs::read(self.folder.join("gateway.log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(4000)..]).into_owned()
    }

    fn write(&self, url: &GatewayUrl, token: &Token, pid: u32) -> io::Result<()> {
        let path = |path: &Path| path.display().to_string();
        let info = Info {
            url: url.to_string(),
            pid,
            started_at: millis(),
            python_path: Some(path(&self.config.python)),
            venv_path: self.config.venv.as_deref().map(path),
        };
        self.replace("gateway.token", token.secret().as_bytes())?;
        self.replace("gateway.json", &serde_json::to_vec(&info)?)
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let fresh = self.folder.join(format!(".{name}.new"));
        let _ = fs::remove_file(&fresh);
        private().create_new(true).open(&fresh)?.write_all(bytes)?;
        fs::rename(&fresh, self.folder.join(name))
    }
}

/// The right to change anything. Dropped, somebody else may have it.
struct Lock {
    file: File,
    beat: Instant,
}

impl Lock {
    fn held(mut file: File) -> io::Result<Lock> {
        let content = serde_json::json!({"pid": std::process::id(), "startedAt": millis()});
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(content.to_string().as_bytes())?;
        Ok(Lock { file, beat: Instant::now() })
    }

    /// Shows whoever looks at the file that somebody is at work.
    fn beat(&mut self) {
        if self.beat.elapsed() >= HEARTBEAT {
            self.beat = Instant::now();
            let _ = self.file.set_modified(SystemTime::now());
        }
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

fn rest(url: &GatewayUrl, token: &Token) -> Rest {
    Rest::new(url.clone(), Some(token.clone()), Whose::Shared, Dial::new(None))
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn unavailable(reason: &str) -> GatewayError {
    GatewayError::Shared { reason: reason.to_owned() }
}

fn in_folder(path: &Path) -> impl Fn(io::Error) -> GatewayError {
    move |error| unavailable(&format!("{}: {error}", path.display()))
}
