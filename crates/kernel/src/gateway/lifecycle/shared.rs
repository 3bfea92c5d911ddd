//! The gateway that hosts on this machine share: one for each interpreter, started by the first
//! host that needs it.
//!
//! Owns the start and the search. `site.rs` decides which process may start it, and holds the
//! files. This module must not know the purpose of the kernels.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::process::{Child, Command};
use tokio::time::Instant;

use crate::error::gateway::{GatewayError, RefusalCause, Whose};
use crate::gateway::lifecycle::listener;
use crate::gateway::lifecycle::site::{
    Info, LOCK_LIMIT, SharedStatus, Site, folder, in_folder, millis, private, unavailable,
};
use crate::gateway::transport::dial::Dial;
use crate::gateway::transport::rest::Rest;
use crate::gateway::transport::url::{GatewayUrl, Token};
use crate::jupyter::home::random_hex;

/// Interval between health checks while a gateway starts.
const HEALTH_AGAIN: Duration = Duration::from_millis(100);

/// Least time limit for the start of a gateway.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(30);

/// Extra wait for a gateway that another process starts, beyond the limit of a start.
const LOCK_LEEWAY: Duration = Duration::from_secs(5);

/// Time limit of one health check of a running gateway, the number of checks, and the pause between
/// them. A replacement ends the kernels of all hosts, and on a busy machine an answer can be late.
const HEALTH_LIMIT: Duration = Duration::from_secs(3);
const HEALTH_TRIES: usize = 3;
const HEALTH_PAUSE: Duration = Duration::from_millis(500);

/// Number of starts when other processes keep taking the port.
const ATTEMPTS: usize = 3;

/// Python program that runs the gateway. Its first argument is the limit of seconds without kernels.
const GATEWAY: &str = include_str!("gateway.py");

/// Configuration of the shared gateway, without defaults.
#[derive(Clone, Debug)]
pub struct SharedConfig {
    /// Folder for the files of gateways.
    pub state_dir: PathBuf,
    /// Interpreter that runs the gateway and its kernels.
    pub python: PathBuf,
    /// Virtual environment of the interpreter, if it has one.
    pub venv: Option<PathBuf>,
    /// Whole environment of the gateway process; nothing is inherited.
    pub env: BTreeMap<String, String>,
    /// Time without a kernel after which the gateway ends by itself; `None` means never.
    pub idle_stop: Option<Duration>,
    /// Time limit for the start of the gateway.
    pub start_limit: Duration,
}

/// The gateway of one interpreter.
pub struct SharedGateway {
    config: SharedConfig,
    site: Site,
}

impl SharedGateway {
    /// Creates a handle for the gateway of this interpreter. Starts nothing yet.
    pub fn new(config: SharedConfig) -> SharedGateway {
        let digest = Sha256::digest(config.python.as_os_str().as_bytes());
        let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let folder = folder(&config.state_dir).join(name);
        SharedGateway { config, site: Site { folder } }
    }

    /// Returns the recorded state, without a request to the gateway.
    pub fn status(&self) -> SharedStatus {
        self.site.status()
    }

    /// Returns the recorded state of every gateway below `state_dir`, for all interpreters.
    pub fn statuses(state_dir: &Path) -> Vec<SharedStatus> {
        let all = Site::all(state_dir).into_iter().map(|site| site.status());
        all.filter(|status| status.active).collect()
    }

    /// Returns the address and the token of every gateway that lives.
    pub fn living(state_dir: &Path) -> Vec<(GatewayUrl, Token)> {
        Site::all(state_dir).into_iter().filter_map(|site| site.living().ok().flatten()).collect()
    }

    /// Ends every shared gateway and returns their number. An error for one is reported after the
    /// others have ended.
    pub async fn shutdown_all(state_dir: &Path) -> Result<usize, GatewayError> {
        let (mut ended, mut failed) = (0, None);
        for site in Site::all(state_dir) {
            match ended_at(&site).await {
                Ok(was_alive) => ended += usize::from(was_alive),
                Err(problem) => failed = failed.or(Some(problem)),
            }
        }
        failed.map_or(Ok(ended), Err)
    }

    /// Returns the address and the token of the gateway. Starts it if it does not run or does not
    /// answer.
    pub async fn acquire(&self) -> Result<(GatewayUrl, Token), GatewayError> {
        let limit = LOCK_LIMIT.max(self.config.start_limit + LOCK_LEEWAY);
        let _lock = self.site.lock(limit).await?;
        if let Some(found) = self.healthy().await? {
            return Ok(found);
        }
        self.site.end().await?;
        let mut last = unavailable("Gateway process exited during startup");
        for _ in 0..ATTEMPTS {
            match self.start().await {
                Err(problem) if self.is_port_taken() => last = problem,
                done => return done,
            }
        }
        Err(last)
    }

    /// Ends the gateway and its kernels. Returns `true` if one was running.
    pub async fn shutdown(&self) -> Result<bool, GatewayError> {
        ended_at(&self.site).await
    }

    /// Returns the recorded gateway if it lives and answers.
    ///
    /// A living gateway holds kernels of all hosts, so it is given up only after repeated failures.
    /// A busy gateway, or an error on our side, is returned as an error.
    async fn healthy(&self) -> Result<Option<(GatewayUrl, Token)>, GatewayError> {
        let in_folder = in_folder(&self.site.folder);
        let Some((url, token)) = self.site.living().map_err(&in_folder)? else { return Ok(None) };
        let rest = rest(&url, &token);
        let mut excused = None;
        for tried in 0..HEALTH_TRIES {
            if tried > 0 {
                tokio::time::sleep(HEALTH_PAUSE).await;
            }
            let Err(problem) = ask(&rest).await else { return Ok(Some((url, token))) };
            if !self.site.is_alive().map_err(&in_folder)? {
                return Ok(None);
            }
            if !is_beyond_use(&problem) {
                excused = Some(problem);
            }
        }
        let told = |problem| {
            let stays = "it may have kernels of others, so it was left alone; try again, or a user ends it with `inkcell gateway stop`";
            Err(unavailable(&format!("{problem}; {stays}")))
        };
        excused.map_or(Ok(None), told)
    }

    async fn start(&self) -> Result<(GatewayUrl, Token), GatewayError> {
        let folder = &self.site.folder;
        let secret = random_hex::<32>().map_err(in_folder(folder))?;
        let token = Token::parse(&secret).ok().flatten();
        let token = token.ok_or_else(|| unavailable("no token can be made"))?;
        let port = free_port().map_err(in_folder(folder))?;
        let url = GatewayUrl::local(port);
        let child = self.spawn(port, &token).map_err(|error| {
            unavailable(&format!("{} could not be started: {error}", self.config.python.display()))
        })?;
        let mut child = Unwritten(Some(child));
        self.ready(&mut child, &rest(&url, &token)).await?;
        let path = |path: &Path| path.display().to_string();
        let info = Info {
            url: url.to_string(),
            pid: child.0.as_ref().and_then(Child::id).unwrap_or(0),
            started_at: millis(),
            python_path: Some(path(&self.config.python)),
            venv_path: self.config.venv.as_deref().map(path),
        };
        self.site.write(&info, &token).map_err(in_folder(folder))?;
        child.0 = None;
        Ok((url, token))
    }

    fn spawn(&self, port: u16, token: &Token) -> io::Result<Child> {
        let alive = self.site.folder.join("gateway.alive");
        let _ = fs::remove_file(&alive);
        let lock = private().read(true).create_new(true).open(&alive)?;
        lock.lock()?;
        let log =
            private().create(true).truncate(true).open(self.site.folder.join("gateway.log"))?;
        let mut command = Command::new(&self.config.python);
        let idle_stop = self.config.idle_stop.map_or(f64::INFINITY, |limit| limit.as_secs_f64());
        command
            .args(["-c", GATEWAY, &idle_stop.to_string()])
            .arg("--KernelGatewayApp.ip=127.0.0.1")
            .arg(format!("--KernelGatewayApp.port={port}"))
            .arg("--KernelGatewayApp.port_retries=0")
            .arg("--JupyterApp.answer_yes=true")
            .arg("--ZMQChannelsWebsocketConnection.limit_rate=False")
            .env_clear()
            .envs(&self.config.env)
            .env("PYTHONUNBUFFERED", "1")
            // Pass the token in the environment, which only this user can read; every user can read
            // arguments. The gateway itself keeps the token from its kernels.
            .env("KG_AUTH_TOKEN", token.secret())
            .current_dir(&self.site.folder)
            // An empty file, whose lock is held as long as the gateway has it open.
            .stdin(Stdio::from(lock))
            .stdout(Stdio::from(log.try_clone()?))
            .stderr(Stdio::from(log))
            .process_group(0)
            .kill_on_drop(false);
        command.spawn()
    }

    async fn ready(&self, child: &mut Unwritten, rest: &Rest) -> Result<(), GatewayError> {
        let until = Instant::now() + self.config.start_limit;
        while Instant::now() < until {
            let is_answered = ask(rest).await.is_ok();
            // Check this even after an answer: another process on the port may have answered.
            if child.0.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(Some(_)))) {
                return Err(self.exited());
            }
            if is_answered {
                return Ok(());
            }
            tokio::time::sleep(HEALTH_AGAIN).await;
        }
        Err(unavailable("Gateway startup timeout"))
    }

    fn exited(&self) -> GatewayError {
        let log = self.log();
        if log.contains("No module named") {
            return GatewayError::not_installed();
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

    /// Returns the end of the gateway's log.
    fn log(&self) -> String {
        let bytes = fs::read(self.site.folder.join("gateway.log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(4000)..]).into_owned()
    }
}

/// A gateway that is not recorded yet. Dropping this ends it, so that a failed start leaves no
/// process.
struct Unwritten(Option<Child>);

impl Drop for Unwritten {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.start_kill();
        }
    }
}

fn rest(url: &GatewayUrl, token: &Token) -> Rest {
    Rest::new(url.clone(), Some(token.clone()), Whose::Shared, Dial::new(None))
}

/// Checks that a gateway works. Sends the token to no listener of another user, who may have taken
/// a port that was free.
async fn ask(rest: &Rest) -> Result<(), GatewayError> {
    let at = rest.named();
    let (reason, refused) = match listener::is_of_this_user(rest.url.port()) {
        Ok(true) => {
            let asked = tokio::time::timeout(HEALTH_LIMIT, rest.kernelspecs()).await;
            return asked.unwrap_or(Err(GatewayError::Timeout { at })).map(drop);
        }
        Ok(false) => ("no process of this user listens there".to_owned(), RefusalCause::Yes),
        Err(error) => (error.to_string(), RefusalCause::Unknown),
    };
    Err(GatewayError::Unreachable { at, reason, refused })
}

/// Returns `true` if a gateway that keeps failing in this way is useless to every host. A busy
/// gateway still works, and an error on our side says nothing about it.
fn is_beyond_use(problem: &GatewayError) -> bool {
    !matches!(
        problem,
        GatewayError::Unreachable { refused: RefusalCause::Unknown, .. }
            | GatewayError::Status { status: 429 | 502..=504, .. }
    )
}

async fn ended_at(site: &Site) -> Result<bool, GatewayError> {
    let _lock = site.lock(LOCK_LIMIT).await?;
    site.end().await
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
