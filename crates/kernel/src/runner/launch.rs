//! Turns a runner into a kernel: sends its first command, and waits until it is ready.
//!
//! Owns the first exchange with a runner. `supply.rs` provides runners, and `pump.rs` reads them
//! afterwards.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rustix::process::Signal;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::error::LaunchError;
use crate::event::{DeathCause, KernelEvent};
use crate::kernel::{Backend, BackendKind, KernelEvents, KernelInfo, KernelSpec, LaunchedKernel};
use crate::process::{Mark, check_cwd, kill_group, watch_exit, watch_exit_if_there};
use crate::python::package;
use crate::runner::boot::Kind;
use crate::runner::commands::{CONTROL, CommandWriter};
use crate::runner::frames::{Command, Decoder, Frame};
use crate::runner::handle::{Intent, RunnerKernel};
use crate::runner::pump::{Pump, RunnerOutput};
use crate::runner::supply::{ForkServer, Fresh, Supply};
use crate::runner::wires;
use crate::trace::{KernelTrace, MessageTrace, ZygoteState};

/// The settings of the backend, without defaults.
#[derive(Clone, Debug)]
pub struct RunnerConfig {
    /// The folder for the runner's files.
    pub state_dir: PathBuf,
    /// Whether to fork kernels from a server where possible.
    pub fork_server: ForkServer,
    /// The number of kernels to make ahead of time, from the fork server if it can be copied.
    pub spares: usize,
}

/// Makes kernels that are child processes of this one and need only Python.
pub struct RunnerBackend {
    config: RunnerConfig,
    supply: Arc<Supply>,
    /// The time of the last check of the runner's files, and their folder.
    installed: Mutex<Option<(Instant, PathBuf)>>,
    trace: Option<Arc<dyn KernelTrace>>,
}

/// The time for which one check of the files holds.
const RECENT: Duration = Duration::from_millis(250);

/// The most events that wait for the session; beyond that, the runner's own writes stall.
const EVENT_QUEUE: usize = 64;

/// Stands in each traceback that passes through the runner.
const OWN_CODE: &str = "inkcell_runner";

impl RunnerBackend {
    /// Makes a backend with a thread of its own that starts the children.
    pub fn new(config: RunnerConfig) -> Result<RunnerBackend, LaunchError> {
        RunnerBackend::traced(config, None)
    }

    /// As [`RunnerBackend::new`], with a log of what the backend does.
    pub fn traced(
        config: RunnerConfig,
        trace: Option<Arc<dyn KernelTrace>>,
    ) -> Result<RunnerBackend, LaunchError> {
        let what = "start the thread that starts processes";
        let supply = Supply::new(config.fork_server, config.spares, trace.clone());
        let supply = supply.map_err(|source| LaunchError::Resources { what, source })?;
        let (supply, installed) = (Arc::new(supply), Mutex::default());
        Ok(RunnerBackend { config, supply, installed, trace })
    }

    /// The fork servers: interpreter, process id and state of each.
    pub async fn fork_servers(&self) -> Vec<(PathBuf, u32, ZygoteState)> {
        self.supply.fork_servers().await
    }

    /// The number of kernels that wait for use.
    pub fn spares(&self) -> usize {
        self.supply.spares()
    }

    /// The folder with the runner's files. The check reads every file; kernels that start at the same time share one
    /// check.
    fn installed(&self) -> io::Result<PathBuf> {
        let mut installed = self.installed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, root)) = &*installed
            && at.elapsed() < RECENT
        {
            return Ok(root.clone());
        }
        let root = package::install(&self.config.state_dir)?;
        *installed = Some((Instant::now(), root.clone()));
        Ok(root)
    }

    async fn start(
        &self,
        spec: &KernelSpec,
        cancel: &CancellationToken,
    ) -> Result<LaunchedKernel, LaunchError> {
        check_cwd(&spec.cwd)?;
        let root = self.installed().map_err(|source| {
            let folder = self.config.state_dir.display().to_string();
            LaunchError::StateFolder { folder, source }
        })?;
        let kind = Kind::of(spec, &root);
        let begin = || {
            let python = spec.python.display().to_string();
            start(self.supply.take(&kind), (spec, python), self.trace.clone(), cancel)
        };
        match begin().await {
            Err(error) if is_about_compiled(&error) => {
                if package::remove_compiled(&root).is_err() {
                    return Err(error);
                }
                // If several starts fail together, one of them removes the files, and each tries once more.
                begin().await
            }
            begun => begun,
        }
    }
}

/// True for a failure that damaged files from Python's compiler may cause: Python could not read one, crashed, or failed
/// in the runner's own code, whose sources are whole.
fn is_about_compiled(error: &LaunchError) -> bool {
    let (cause, stderr_tail) = match error {
        LaunchError::EndedEarly { cause, stderr_tail, .. } => (cause, stderr_tail),
        LaunchError::Startup { reason } => return reason.contains(OWN_CODE),
        _ => return false,
    };
    let crashes = [Signal::SEGV, Signal::ABORT, Signal::BUS, Signal::ILL].map(Signal::as_raw);
    match cause {
        DeathCause::Signal { signal } => crashes.contains(signal),
        // A damaged file may hold the very code that prints errors.
        _ if stderr_tail.trim().is_empty() => true,
        _ => {
            ["marshal", "_compile_bytecode", OWN_CODE].iter().any(|word| stderr_tail.contains(word))
        }
    }
}

/// Makes a kernel of a runner that `fresh` is starting.
pub(super) async fn start(
    fresh: impl Future<Output = io::Result<Fresh>>,
    (spec, python): (&KernelSpec, String),
    trace: Option<Arc<dyn KernelTrace>>,
    cancel: &CancellationToken,
) -> Result<LaunchedKernel, LaunchError> {
    let what = "get randomness";
    let nonce = nonce().map_err(|source| LaunchError::Resources { what, source })?;
    let began = tokio::time::Instant::now();
    let deadline = began + spec.start_timeout;
    let mut starting = tokio::select! {
        fresh = fresh => {
            let fresh =
                fresh.map_err(|source| LaunchError::Spawn { python: python.clone(), source })?;
            let messages = MessageTrace::new(trace.as_ref(), Some(fresh.process.id()));
            Starting { fresh: Some(fresh), python, trace: trace.clone(), messages }
        }
        () = tokio::time::sleep_until(deadline) => {
            let (seconds, stderr_tail) = (spec.start_timeout.as_secs_f64(), String::new());
            return Err(LaunchError::TimedOut { python, seconds, stderr_tail });
        }
        () = cancel.cancelled() => return Err(LaunchError::Cancelled),
    };
    let done = tokio::select! {
        done = starting.greet(spec, nonce) => done,
        () = tokio::time::sleep_until(deadline) => Err(starting.late(spec.start_timeout)),
        () = cancel.cancelled() => Err(LaunchError::Cancelled),
    };
    if let (Ok(launched), Some(trace)) = (&done, &trace) {
        trace.started(launched.kernel.info(), began.elapsed());
    }
    done
}

impl Backend for RunnerBackend {
    fn kind(&self) -> BackendKind {
        BackendKind::Runner
    }

    fn launch<'a>(
        &'a self,
        spec: &'a KernelSpec,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<LaunchedKernel, LaunchError>> {
        self.start(spec, cancel).boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.supply.close().boxed()
    }
}

pub(super) fn nonce() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A runner that is not a kernel yet. Dropping it kills the process.
struct Starting {
    fresh: Option<Fresh>,
    python: String,
    trace: Option<Arc<dyn KernelTrace>>,
    messages: MessageTrace,
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(fresh) = self.fresh.take() {
            fresh.process.destroy();
        }
    }
}

impl Starting {
    /// Sends the runner its first command and waits until it is ready.
    async fn greet(
        &mut self,
        spec: &KernelSpec,
        nonce: String,
    ) -> Result<LaunchedKernel, LaunchError> {
        let Some(fresh) = &mut self.fresh else { return Err(LaunchError::Cancelled) };
        let hello = hello(spec, &nonce, fresh.mark.value());
        self.messages.sent(CONTROL, "hello", None);
        // A runner that has died is noticed below, by the end of its channel, with its output.
        let _ = fresh.wires.control.write_all(&hello).await;
        let mut decoder = Decoder::new(nonce);
        // A child of a dead runner may keep the channel open, so watch the process itself too.
        let watch = |source| LaunchError::Resources { what: "watch the kernel", source };
        let exit = watch_exit_if_there(fresh.process.id()).map_err(watch)?;
        loop {
            let next = decoder.next();
            if let Ok(Some((frame, _))) = &next {
                self.messages.received(CONTROL, frame.kind(), frame.id());
            }
            match next {
                Ok(Some((Frame::Ready { version, executable, pid }, _))) => {
                    let info = KernelInfo {
                        backend: BackendKind::Runner,
                        pid: Some(pid),
                        language: KernelInfo::PYTHON.to_owned(),
                        version,
                        executable,
                        origin: fresh.origin.clone(),
                    };
                    return self.launched(info, decoder);
                }
                Ok(Some((Frame::Failed { reason }, _))) => {
                    return Err(LaunchError::Startup { reason });
                }
                // Output from before the first cell belongs to no execution.
                Ok(Some((Frame::Stream { .. }, _))) => continue,
                Ok(None) => {}
                Ok(Some(_)) | Err(_) => return Err(ended(fresh, &self.python).await),
            }
            let read = tokio::select! {
                biased;
                read = fresh.wires.control.read_buf(decoder.buffer()) => read,
                // Its last frame may have arrived at this very moment, before the runtime noticed.
                () = is_over(exit.as_ref()) => take_rest(&fresh.wires.control, decoder.buffer()),
            };
            match read {
                Ok(0) | Err(_) => return Err(ended(fresh, &self.python).await),
                Ok(_) => {}
            }
        }
    }

    /// Makes the error of a timeout, with the output so far, which may show the cause.
    fn late(&self, limit: Duration) -> LaunchError {
        let mut said = vec![0; 8 << 10];
        let read = self
            .fresh
            .as_ref()
            .and_then(|fresh| rustix::io::read(&fresh.wires.stderr, &mut said[..]).ok());
        said.truncate(read.unwrap_or(0));
        LaunchError::TimedOut {
            python: self.python.clone(),
            seconds: limit.as_secs_f64(),
            stderr_tail: String::from_utf8_lossy(&said).into_owned(),
        }
    }

    fn launched(
        &mut self,
        info: KernelInfo,
        decoder: Decoder,
    ) -> Result<LaunchedKernel, LaunchError> {
        let Some(fresh) = self.fresh.take() else { return Err(LaunchError::Cancelled) };
        let (sender, events) = KernelEvents::channel(EVENT_QUEUE);
        if let Some(notice) = fresh.notice {
            tell(notice, &sender);
        }
        let (death_sender, death) = watch::channel(None);
        let pid = fresh.process.id();
        let Fresh { process, wires, mark, widgets, .. } = fresh;
        let intent = Intent { widgets: Arc::new(Mutex::new(widgets)), ..Intent::default() };
        let watch = |source| LaunchError::Resources { what: "watch the kernel", source };
        let (read, write) = wires::split(wires.control).map_err(watch)?;
        let said = RunnerOutput {
            control: read,
            stdout: wires.stdout,
            stderr: wires.stderr,
            decoder,
            trace: self.trace.clone(),
            messages: self.messages.clone(),
        };
        let (refuse, refused) = mpsc::unbounded_channel();
        let pump = Pump::new(process, mark, said, sender, intent.clone(), refused);
        let pump = pump.map_err(watch)?;
        tokio::spawn(pump.run(death_sender));
        let commands = CommandWriter::new(write, self.messages.clone());
        let kernel = RunnerKernel::new(
            info,
            pid,
            commands,
            (refuse, self.trace.clone()),
            death,
            intent,
            wires.lifeline,
        );
        Ok(LaunchedKernel { kernel: Box::new(kernel), events })
    }
}

/// Sends a notice to the user of a new kernel: at once if it is known, else as soon as it is.
fn tell(mut notice: BoxFuture<'static, Option<String>>, sender: &mpsc::Sender<KernelEvent>) {
    if let Some(known) = (&mut notice).now_or_never() {
        if let Some(text) = known {
            // The queue is new, so it has room.
            let _ = sender.try_send(KernelEvent::Notice(text));
        }
        return;
    }
    let sender = sender.downgrade();
    tokio::spawn(async move {
        let text = notice.await;
        // If the kernel has ended by then, drop the notice.
        if let (Some(text), Some(sender)) = (text, sender.upgrade()) {
            let _ = sender.send(KernelEvent::Notice(text)).await;
        }
    });
}

/// The first command, as a line.
fn hello(spec: &KernelSpec, nonce: &str, mark: &str) -> Vec<u8> {
    let path = spec.env.get("PYTHONPATH").map_or("", String::as_str);
    let path: Vec<String> =
        path.split(':').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    let startup = &spec.startup;
    let module = |(name, path): &(String, PathBuf)| (name.clone(), path.display().to_string());
    let modules: Vec<(String, String)> = startup.modules.iter().map(module).collect();
    let mut env = spec.env.clone();
    env.insert(Mark::VARIABLE.to_owned(), mark.to_owned());
    let hello = Command::Hello {
        nonce,
        cwd: &spec.cwd.display().to_string(),
        env: &env,
        shell: startup.shell.name(),
        prelude: startup.prelude.name(),
        path: &path,
        modules: &modules,
    };
    hello.to_line()
}

/// Waits for the end of a process, if it can be watched.
async fn is_over(exit: Option<&AsyncFd<OwnedFd>>) {
    if let Some(exit) = exit {
        // Any result means that there is nothing more to wait for.
        let _ = exit.readable().await;
    }
}

/// Reads the next part of what a dead runner left in its channel; zero bytes at the end.
fn take_rest(control: &UnixStream, buffer: &mut BytesMut) -> io::Result<usize> {
    let mut part = [0; 8 << 10];
    let size = rustix::io::read(control, &mut part[..])?;
    buffer.extend_from_slice(&part[..size]);
    Ok(size)
}

/// Finds out why a runner ended before it was ready.
async fn ended(fresh: &mut Fresh, python: &str) -> LaunchError {
    kill_group(fresh.process.id(), Signal::KILL);
    let mut said = Vec::new();
    // The pipe ends with the process; the limit is for a child that inherited it.
    let told = fresh.wires.stderr.read_to_end(&mut said);
    let _ = tokio::time::timeout(Duration::from_secs(1), told).await;
    // The kill above ends it soon; wait, because its exit status tells more than the closed channel.
    if let Ok(exit) = watch_exit(fresh.process.id()) {
        let _ = tokio::time::timeout(Duration::from_secs(1), exit.readable()).await;
    }
    let cause = fresh.process.cause().await;
    LaunchError::EndedEarly {
        python: python.to_owned(),
        cause: cause.unwrap_or(DeathCause::Unknown),
        stderr_tail: String::from_utf8_lossy(&said).into_owned(),
    }
}
