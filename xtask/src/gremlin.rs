//! `cargo xtask gremlin`: a badly behaved client of `inkcell mcp`, and checks that must hold nevertheless.
//!
//! Owns the run: rounds of actions, each with its own server and folder, until the time is over or a check
//! fails. `plan.rs` decides on the actions; this file executes them.

mod action;
mod code;
pub(crate) mod dice;
mod log;
mod plan;
mod processes;
mod server;
mod world;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, bail};
use rustix::process::Signal;
use serde_json::json;

use self::action::{Action, Blow, Ending, FetchTarget, Progress};
use self::log::{Log, TimedAction};
use self::processes::{ProcessUsage, SparedProcesses};
use self::server::Server;
use self::world::World;
use crate::workspace::Workspace;
use crate::{python_env, suite};

/// The most that a server may use beyond its start.
const MEMORY_KIB: u64 = 64 << 10;
const DESCRIPTORS: usize = 64;
const THREADS: u64 = 64;
/// The time after its end within which everything that a server started must be gone.
const AFTERWARDS: Duration = Duration::from_secs(5);

/// Options of a run.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) seconds: u64,
    /// Seed of the random actions; a missing one is chosen and printed.
    pub(crate) seed: Option<u64>,
    /// A log whose actions are repeated.
    pub(crate) replay: Option<PathBuf>,
}

/// Totals of a run.
#[derive(Debug, Default)]
struct Sum {
    rounds: u64,
    actions: u64,
    answers: u64,
    memory_kib: u64,
    descriptors: usize,
    longest_end: Duration,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    suite::build(workspace)?;
    let python = python_env::prepare(workspace)?;
    let seed = options.seed.unwrap_or_else(fresh_seed);
    let path = match options.replay {
        Some(_) => workspace.path("target/gremlin/replay.log"),
        None => workspace.path(&format!("target/gremlin/{seed}.log")),
    };
    println!("seed {seed}, log {}", path.display());
    let mut gremlin = Gremlin {
        // One cargo builds both into one folder.
        program: std::env::current_exe()?.with_file_name("inkcell"),
        python,
        mark: format!("{seed}-{}", std::process::id()),
        log: Log::create(&path)?,
        until: Instant::now() + Duration::from_secs(options.seconds),
        sum: Sum::default(),
    };
    let done = match &options.replay {
        Some(log) => gremlin.again(log),
        None => gremlin.wreak(seed),
    };
    if let Err(error) = done {
        let round = gremlin.sum.rounds;
        println!("the last actions:\n{}", gremlin.log.tail());
        println!("round {round} of seed {seed}; log: {}", gremlin.log.path().display());
        println!("do it again: cargo xtask gremlin --replay {}", gremlin.log.path().display());
        return Err(error.context(format!("gremlin: seed {seed}, round {round}")));
    }
    let Sum { rounds, actions, answers, memory_kib, descriptors, longest_end } = gremlin.sum;
    println!(
        "gremlin: {rounds} servers, {actions} actions, {answers} answers; at most {} MiB and {descriptors} \
         descriptors more than at the start; the slowest end took {longest_end:.1?}; nothing found",
        memory_kib / 1024
    );
    Ok(())
}

fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.as_nanos() as u64 % 1_000_000_000
}

struct Gremlin {
    program: PathBuf,
    python: PathBuf,
    mark: String,
    log: Log,
    until: Instant,
    sum: Sum,
}

impl Gremlin {
    fn wreak(&mut self, seed: u64) -> Result<()> {
        let mut number = 0;
        while Instant::now() < self.until {
            let actions = plan::round(seed, number);
            let at = Duration::ZERO;
            let actions: Vec<TimedAction> =
                actions.into_iter().map(|action| TimedAction { at, action }).collect();
            self.round(&actions)?;
            number += 1;
        }
        Ok(())
    }

    /// Repeats the actions of a log, at the same times.
    fn again(&mut self, log: &Path) -> Result<()> {
        let rounds = log::read(log)?;
        self.until += rounds.iter().filter_map(|round| Some(round.last()?.at)).sum::<Duration>();
        rounds.iter().try_for_each(|actions| self.round(actions))
    }

    fn round(&mut self, actions: &[TimedAction]) -> Result<()> {
        let number = self.sum.rounds;
        let mark = format!("{}-{number}", self.mark);
        self.log.begin(number);
        let began = Instant::now();
        let [TimedAction { action: Action::Start { tools }, .. }, rest @ ..] = actions else {
            bail!("a round does not begin with a start");
        };
        self.log.action(&actions[0].action)?;
        let world = World::new(&self.program.display().to_string())?;
        let server = Server::start(&world, tools, &self.python, &mark)?;
        let first = server.taken()?;
        let mut round = Round { world, server, mark, first };
        let mut how = Ending::Leave;
        for TimedAction { at, action } in rest {
            // When the time is over, skip the rest of the round, but not its end.
            if Instant::now() > self.until && !matches!(action, Action::End { .. }) {
                continue;
            }
            std::thread::sleep(at.saturating_sub(began.elapsed()));
            self.log.action(action)?;
            self.sum.actions += 1;
            if let Action::End { how: given } = action {
                how = *given;
                break;
            }
            if let Some(seen) = round.act(action)? {
                self.log.seen(&seen)?;
            }
            round.look(&mut self.sum, action)?;
        }
        let took = round.end(how)?;
        self.log.seen(&format!("ended by {how:?} in {took:?}"))?;
        self.sum.rounds += 1;
        self.sum.answers += round.server.answers;
        self.sum.longest_end = self.sum.longest_end.max(took);
        Ok(())
    }
}

/// The life of one server.
struct Round {
    world: World,
    server: Server,
    mark: String,
    first: ProcessUsage,
}

impl Round {
    /// Executes one action. Returns a text for the log.
    fn act(&mut self, action: &Action) -> Result<Option<String>> {
        let server = &mut self.server;
        Ok(Some(match action {
            Action::Start { .. } | Action::End { .. } => return Ok(None),
            Action::Call { tool, arguments, progress } => {
                let mut params = json!({"name": tool, "arguments": arguments});
                if *progress == Progress::Wanted {
                    // The token is the id, which is the number of the request.
                    params["_meta"] = json!({"progressToken": server.next_id()});
                }
                format!("request {}", server.ask("tools/call", &params))
            }
            Action::Ask { method, params } => format!("request {}", server.ask(method, params)),
            Action::Fetch { what, arguments } => {
                let made_up = "x0000000000".to_owned();
                let artifact = server.last_artifact.clone().unwrap_or_else(|| "0".repeat(16));
                let id = match what {
                    FetchTarget::Execution => server.last_execution.clone().unwrap_or(made_up),
                    FetchTarget::Artifact => format!("artifact://{artifact}"),
                    FetchTarget::MadeUp => made_up,
                    FetchTarget::Resource => {
                        let params = json!({"uri": format!("artifact://{artifact}")});
                        let number = server.ask("resources/read", &params);
                        return Ok(Some(format!("request {number}")));
                    }
                };
                let mut arguments = arguments.clone();
                arguments["id"] = json!(id);
                let params = json!({"name": "result", "arguments": arguments});
                format!("request {}: {id}", server.ask("tools/call", &params))
            }
            Action::Cancel { back } => format!("cancelled {:?}", server.cancel(*back)),
            Action::Raw { bytes } => {
                let bytes: Vec<u8> = bytes
                    .chars()
                    .map(|one| u8::try_from(one).unwrap_or(b'?'))
                    .chain([b'\n'])
                    .collect();
                server.send_bytes(bytes);
                return Ok(None);
            }
            Action::Signal { nth, signal } => {
                let started = server.started();
                let Some(pid) = started.get(nth % started.len().max(1)) else { return Ok(None) };
                processes::signal(*pid, of(*signal));
                format!("process {pid} of {}", started.len())
            }
            Action::File { name, fault } => {
                self.world.harm(name, *fault).with_context(|| format!("cannot harm {name}"))?;
                return Ok(None);
            }
            Action::Wait { millis } => {
                std::thread::sleep(Duration::from_millis(*millis));
                return Ok(None);
            }
            Action::Settle => {
                server.settle()?;
                server.ask("ping", &json!({}));
                server.settle()?;
                format!("{:?}", server.taken()?)
            }
        }))
    }

    /// Checks what must hold at any moment. Checks the server's resources only when it is idle.
    fn look(&mut self, sum: &mut Sum, after: &Action) -> Result<()> {
        self.server.drain()?;
        self.world.check()?;
        if !matches!(after, Action::Settle) {
            return Ok(());
        }
        let ProcessUsage { memory_kib, descriptors, threads } = self.server.taken()?;
        let memory_kib = memory_kib.saturating_sub(self.first.memory_kib);
        let descriptors = descriptors.saturating_sub(self.first.descriptors);
        let threads = threads.saturating_sub(self.first.threads);
        sum.memory_kib = sum.memory_kib.max(memory_kib);
        sum.descriptors = sum.descriptors.max(descriptors);
        if memory_kib > MEMORY_KIB || descriptors > DESCRIPTORS || threads > THREADS {
            bail!(
                "the server takes {memory_kib} KiB, {descriptors} descriptors and {threads} threads more than at \
                 its start"
            );
        }
        Ok(())
    }

    /// Ends the server, and checks what it leaves behind.
    fn end(&mut self, how: Ending) -> Result<Duration> {
        let mut spared = SparedProcesses::None;
        match how {
            Ending::Leave => self.server.leave(),
            Ending::HalfLine => {
                self.server.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth".to_vec());
                self.server.leave();
            }
            Ending::Vanish => {
                self.server.be_deaf();
                self.server.leave();
            }
            Ending::Terminate => self.server.signal(Signal::TERM),
            Ending::Kill => {
                // A killed server cannot end processes that left the group of their kernel (F-020).
                spared = SparedProcesses::OutsideOf(processes::kernel_groups(&self.mark));
                self.server.signal(Signal::KILL);
            }
        }
        let (status, took) = self.server.end()?;
        let is_right = match how {
            Ending::Leave | Ending::HalfLine => status.code() == Some(0),
            Ending::Vanish => status.code().is_some(),
            Ending::Terminate | Ending::Kill => status.code().is_none(),
        };
        if !is_right {
            bail!("after {how:?} the server ended with {status}");
        }
        processes::none_left(&self.mark, &spared, AFTERWARDS)?;
        self.world.check()?;
        // A killed server cannot clean up; the next writer does.
        if how != Ending::Kill {
            self.world.check_left()?;
        }
        Ok(took)
    }
}

fn of(signal: Blow) -> Signal {
    match signal {
        Blow::Kill => Signal::KILL,
        Blow::Stop => Signal::STOP,
        Blow::Interrupt => Signal::INT,
        Blow::Terminate => Signal::TERM,
    }
}
