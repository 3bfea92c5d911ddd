//! F-150: sessions, calls, outputs and the store under a schedule of faults that follows from a seed.
//!
//! Kernels die, fail to start, hang and ignore signals. Callers wait, leave and cancel. Sessions are reset, closed and
//! evicted. Stored output is removed, and time jumps. The clock is tokio's and is paused, so hours pass in a moment. If
//! two tasks are ready at once, tokio and not the seed chooses the order, so a given seed is tried many times.

mod backend;
mod client;
mod dice;
mod script;
mod store;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use inkcell_engine::Backends;
use inkcell_engine::api::{KernelRequest, KernelWishes, SessionRef};
use inkcell_engine::artifact::ArtifactLimits;
use inkcell_engine::output::OutputLimits;
use inkcell_engine::registry::{IdleRule, Limits, OwnerId};
use inkcell_engine::session::{Policy, Retry};
use inkcell_engine::{CallOptions, Engine, EngineConfig, system_random};
use inkcell_testkit::need::stride;
use inkcell_testkit::scripted::ScriptedBackend;

use crate::faults_kit::config;
use backend::{Log, SimBackend};
use client::{World, client};
use dice::Dice;

/// Calls of one simulated world.
const CALLS: u64 = 60;

thread_local! {
    /// Panics on this thread. Tokio catches those of tasks, and they must not be overlooked.
    static PANICS: Cell<u64> = const { Cell::new(0) };
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

/// F-150: in any event, every call ends once with a true answer, and nothing is left behind.
#[test]
fn whatever_happens_every_call_ends_once_and_truly() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.with(|panics| panics.set(panics.get() + 1));
        before(info);
    }));
    let dir = tempfile::Builder::new().prefix("inkcell-test-").tempdir().expect("a folder");
    let python = know_the_interpreter(dir.path());
    let given = number("INKCELL_SIM_SEED");
    let steps = number("INKCELL_SIM_STEPS");
    let until = Instant::now() + Duration::from_secs(30) / stride(8, 4);
    let mut seed = given.unwrap_or_else(system_random);
    for world in 0.. {
        let is_over = match (given, steps) {
            (Some(_), None) => world == 100,
            (_, Some(steps)) => world * CALLS >= steps,
            (None, None) => Instant::now() >= until,
        };
        if is_over {
            break;
        }
        let wrong = simulate(seed, dir.path(), world, &python);
        assert!(wrong.is_empty(), "INKCELL_SIM_SEED={seed}\n{}", wrong.join("\n"));
        if given.is_none() {
            seed = seed.wrapping_add(1);
        }
    }
}

/// Finds the interpreter once, on a running clock, so that no simulated call has to. Returns the executable itself,
/// because a wrapper before it may have to be asked again in every folder.
fn know_the_interpreter(dir: &Path) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let engine = Engine::new(config(dir), Backends::only(Arc::new(ScriptedBackend::new())));
        let chosen = engine.choose(dir, &KernelWishes::default()).await.expect("an interpreter");
        let python = chosen.interpreter.expect("a Python").real_path.display().to_string();
        engine
            .choose(dir, &KernelWishes::interpreter(Some(python.clone())))
            .await
            .expect("the same");
        engine.shutdown().await;
        python
    })
}

/// Runs one world and returns its errors.
fn simulate(seed: u64, dir: &Path, world: u64, python: &str) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let (panics, dir) = (PANICS.with(Cell::get), dir.join(format!("world-{world}")));
    let mut wrong = runtime.block_on(live(seed, &dir, python));
    // A panic ends its call with an error and nothing else, so it would be overlooked.
    if PANICS.with(Cell::get) != panics {
        wrong.push("something panicked".to_owned());
    }
    std::fs::remove_dir_all(&dir).expect("nobody uses it any more");
    wrong
}

fn rules(dice: &mut Dice, dir: &Path, is_calm: bool) -> EngineConfig {
    let seconds = Duration::from_secs;
    let config = config(dir.parent().expect("the folder of all worlds"));
    let sessions = if is_calm { 8 } else { 1 + usize::try_from(dice.below(3)).expect("small") };
    let idle = match dice.below(3) {
        _ if is_calm => IdleRule::Never,
        0 => IdleRule::Always(seconds(1 + dice.below(120))),
        1 => IdleRule::WithoutOwner(seconds(1 + dice.below(120))),
        _ => IdleRule::Never,
    };
    let limits = if dice.percent(70) {
        ArtifactLimits::STANDARD
    } else {
        ArtifactLimits { session_bytes: 20_000, total_bytes: 50_000, max_age: seconds(3600) }
    };
    EngineConfig {
        policy: Policy {
            retry: *dice.pick(&[Retry::IfNotStarted, Retry::Once, Retry::Never]),
            interrupt_grace: *dice.pick(&[seconds(0), seconds(1), seconds(3)]),
            max_restarts: u32::try_from(dice.below(3)).expect("small"),
        },
        limits: Limits { sessions, idle, sweep: seconds(30) },
        artifacts: inkcell_engine::artifact::ArtifactsConfig {
            state_dir: dir.join("state"),
            limits,
            ..config.artifacts
        },
        // Limits so small that even short outputs are stored.
        output: OutputLimits {
            held_bytes: 2000,
            ..OutputLimits::head_and_tail().with_max_bytes(1500)
        },
        call_bytes: 4000,
        keep_results: seconds(10 * 24 * 3600),
        ..config
    }
}

async fn live(seed: u64, dir: &Path, python: &str) -> Vec<String> {
    let mut dice = Dice::new(seed);
    let is_calm = dice.percent(30);
    let mut config = rules(&mut dice, dir, is_calm);
    config.kernels.interpreter = Some(python.to_owned());
    let folders: Vec<PathBuf> = ["a", "b", "c", "free"].map(|name| dir.join(name)).into();
    for folder in &folders {
        std::fs::create_dir_all(folder).expect("a folder");
    }
    let log = Log::new(config.policy);
    let backend = Arc::new(SimBackend::new(log.clone(), dice.split()));
    backend.scripted.plan_shutdown(dice.pause(Duration::from_secs(4)));
    let engine = Engine::new(config.clone(), Backends::only(Arc::<SimBackend>::clone(&backend)));
    let world = Arc::new(World {
        engine,
        backend,
        config,
        folders,
        losses: AtomicU64::new(0),
        jumps: AtomicU64::new(0),
        is_calm,
        calls: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
        renewals: AtomicU64::new(0),
    });
    let clients = 2 + dice.below(5);
    let mut tasks = Vec::new();
    for owner in 0..clients {
        let task = client(Arc::clone(&world), dice.split(), OwnerId(owner), CALLS / clients);
        tasks.push(tokio::spawn(task));
    }
    let chaos = tokio::spawn(chaos(Arc::clone(&world), dice.split()));
    if dice.percent(30) {
        // The shutdown comes in the middle.
        tokio::time::sleep(dice.pause(Duration::from_secs(200))).await;
    } else {
        for task in &mut tasks {
            let _ = task.await;
        }
    }
    chaos.abort();
    let minute = Duration::from_secs(60);
    if tokio::time::timeout(minute, world.engine.shutdown()).await.is_err() {
        let left: Vec<_> = world.engine.sessions().into_iter().map(|left| left.state).collect();
        log.wrong(format!("the shutdown does not end: {left:?}"));
    }
    world.is_over.store(true, Ordering::Relaxed);
    if log.alive() > 0 {
        log.wrong(format!("{} kernels are alive after the shutdown", log.alive()));
    }
    for task in tasks {
        // Calls still waiting are refused, so that all callers end.
        if !task.is_finished() && tokio::time::timeout(30 * minute, task).await.is_err() {
            log.wrong("a caller still waits after the shutdown".to_owned());
        }
    }
    check_restarts(&world);
    log.all_wrong()
}

/// B:K-11 as seen from outside: after the allowed number of launches in a row, the session is given up with a report.
fn check_restarts(world: &World) {
    if !world.is_calm {
        return;
    }
    let folders = &world.folders[..world.folders.len() - 1];
    let excesses: u64 = folders.iter().map(|folder| world.backend.log.excesses(folder)).sum();
    let renewals = world.renewals.load(Ordering::Relaxed);
    if excesses > renewals {
        let wrong =
            format!("{excesses} restarts too many, and sessions began anew {renewals} times");
        world.backend.log.wrong(wrong);
    }
}

/// Faults from outside that befall a world.
async fn chaos(world: Arc<World>, mut dice: Dice) {
    let engine = &world.engine;
    let store = world.config.artifacts.state_dir.join("artifacts");
    loop {
        tokio::time::sleep(dice.pause(Duration::from_secs(30))).await;
        let folder = dice.pick(&world.folders[..world.folders.len() - 1]).clone();
        let session = SessionRef { session: None, cwd: folder, wanted: KernelWishes::default() };
        let act = |verb: fn(SessionRef) -> KernelRequest| {
            engine.submit(verb(session), CallOptions::of(OwnerId(0)))
        };
        match dice.below(100) {
            0..25 => {
                if let Some(kernel) = world.backend.log.some_kernel(&mut dice) {
                    let cause = inkcell_engine::kernel::DeathCause::Signal { signal: 9 };
                    world.backend.scripted.kill(kernel, cause);
                }
            }
            25..45 => drop(act(KernelRequest::Interrupt).await),
            45..60 => {
                world.renewed();
                drop(act(KernelRequest::Restart).await);
            }
            60..66 if !world.is_calm => drop(act(KernelRequest::Stop).await),
            66..80 => {
                world.jumps.fetch_add(1, Ordering::Relaxed);
                tokio::time::advance(dice.pause(Duration::from_secs(7200))).await;
            }
            80..86 => {
                // Stored output is removed, and sometimes a file takes the folder's place.
                world.losses.fetch_add(1, Ordering::Relaxed);
                let _ = std::fs::remove_dir_all(&store);
                if dice.percent(50) {
                    let _ = std::fs::write(&store, "in the way");
                    tokio::time::sleep(dice.pause(Duration::from_secs(20))).await;
                    let _ = std::fs::remove_file(&store);
                }
                world.losses.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}
