//! Callers that wait, give up, cancel and come again, and their checks of every answer.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use inkcell_engine::api::{
    CellKernel, CellReport, EndReport, ExecutionId, KernelMode, KernelWishes, PythonReport,
    PythonRequest, Reading, State,
};
use inkcell_engine::artifact::{ArtifactId, ArtifactLimits, Scope};
use inkcell_engine::journal::{JournalItem, Seq};
use inkcell_engine::output::{Notice, Part};
use inkcell_engine::registry::{OwnerId, SessionName};
use inkcell_engine::session::CallNote;
use inkcell_engine::{Engine, EngineConfig};
use tokio::time::Instant;

use super::backend::SimBackend;
use super::dice::Dice;
use super::script::{Plan, Tag, plan, words};
use crate::faults_kit::run_code;

/// Longer than any call of a simulation may take.
const AGE: Duration = Duration::from_secs(24 * 3600);

/// State that all tasks of a simulation share.
pub(super) struct World {
    pub(super) engine: Engine,
    pub(super) backend: Arc<SimBackend>,
    pub(super) config: EngineConfig,
    /// The folders of the sessions; the last one is for calls with a kernel of their own.
    pub(super) folders: Vec<PathBuf>,
    /// Number of times that stored output was removed.
    pub(super) losses: AtomicU64,
    /// Number of clock jumps; after a jump, durations mean nothing.
    pub(super) jumps: AtomicU64,
    /// True if every session has a place and no caller leaves silently.
    pub(super) is_calm: bool,
    pub(super) calls: AtomicU64,
    /// Set once the engine has shut down and accepts no calls.
    pub(super) is_over: AtomicBool,
    /// Number of times that sessions were renewed, by request or because kernels kept dying.
    pub(super) renewals: AtomicU64,
}

/// A call that was made, with the facts to check it by.
struct Made {
    plans: Vec<Plan>,
    timeout: Option<Duration>,
    cancelled: Option<Instant>,
    losses: u64,
    jumps: u64,
}

impl World {
    fn wrong(&self, what: String) {
        self.backend.log.wrong(what);
    }

    /// The longest that a cell may take beyond its own time: two starts, the end of an old kernel, the ladder.
    fn slack(&self) -> Duration {
        self.config.policy.interrupt_grace + Duration::from_secs(2 + 2 * 8 + 4 + 3)
    }

    fn has_jumped_since(&self, made: &Made) -> bool {
        self.jumps.load(Ordering::Relaxed) != made.jumps
    }

    pub(super) fn renewed(&self) {
        self.renewals.fetch_add(1, Ordering::Relaxed);
    }
}

/// One caller, for as long as it makes calls.
pub(super) async fn client(world: Arc<World>, mut dice: Dice, owner: OwnerId, calls: u64) {
    for _ in 0..calls {
        tokio::time::sleep(dice.pause(Duration::from_secs(20))).await;
        call(&world, &mut dice, owner).await;
        if !world.is_calm && dice.percent(2) {
            world.engine.detach(owner).await;
        }
    }
}

async fn call(world: &World, dice: &mut Dice, owner: OwnerId) {
    let (made, request) = make(world, dice);
    let (began, wait) = (Instant::now(), request.wait);
    let is_over = world.is_over.load(Ordering::Relaxed);
    let asked = run_code(&world.engine, request, owner);
    let answer = if !world.is_calm && dice.percent(8) {
        // A caller that leaves; its call must still end.
        match tokio::time::timeout(dice.pause(Duration::from_secs(5)), asked).await {
            Ok(answer) => answer,
            Err(_) => return,
        }
    } else {
        asked.await
    };
    if let Some(wait) = wait
        && !world.has_jumped_since(&made)
        // Sessions that are closing are waited for, which takes seconds.
        && began.elapsed() > wait + Duration::from_secs(12)
    {
        world.wrong(format!("a caller who waits {wait:?} waited {:?}", began.elapsed()));
    }
    if is_over && answer.is_ok() {
        world.wrong(format!("{:?} was taken in after the end", made.plans[0].tag));
    }
    // A refusal has a reason, and none of the call's code ran.
    let Ok(report) = answer else {
        if made.plans.iter().any(|plan| world.backend.log.ran(plan.tag).times > 0) {
            world.wrong(format!("{answer:?}, but it ran"));
        }
        return;
    };
    follow(world, dice, made, report).await;
}

fn make(world: &World, dice: &mut Dice) -> (Made, PythonRequest) {
    let call = world.calls.fetch_add(1, Ordering::Relaxed);
    let plans: Vec<Plan> =
        (0..1 + dice.below(3)).map(|cell| plan(dice, Tag { call, cell })).collect();
    for plan in &plans {
        world.backend.scripted.plan_code(&plan.source.code, plan.script.clone());
    }
    let last = world.folders.len() - 1;
    let (mode, folder) = if dice.percent(10) {
        (KernelMode::PerCall, world.folders[last].clone())
    } else {
        (KernelMode::Session, dice.pick(&world.folders[..last]).clone())
    };
    let timeout = dice.percent(60).then(|| Duration::from_millis(dice.below(15_000)));
    let wait = dice.percent(80).then(|| dice.pause(Duration::from_secs(30)));
    // Code that does not end by itself must be stopped by the caller.
    let is_bounded = |plan: &Plan| plan.ends || plan.source.timeout.is_some();
    let is_bounded = timeout.is_some() || plans.iter().all(is_bounded);
    let wait = if is_bounded { wait } else { Some(wait.unwrap_or(Duration::from_secs(9))) };
    let request = PythonRequest {
        cells: plans.iter().map(|plan| plan.source.clone()).collect(),
        session: dice.percent(50).then(|| SessionName("default".to_owned())),
        cwd: folder,
        wanted: KernelWishes::default(),
        mode,
        timeout,
        wait,
        reading: Reading::default(),
        input: inkcell_engine::kernel::InputMode::Refuse,
    };
    let (losses, jumps) =
        (world.losses.load(Ordering::Relaxed), world.jumps.load(Ordering::Relaxed));
    (Made { plans, timeout, cancelled: None, losses, jumps }, request)
}

/// Follows a call to its end, through any actions that a caller may take.
async fn follow(world: &World, dice: &mut Dice, mut made: Made, first: PythonReport) {
    let id = first.execution.clone();
    let watching = dice.percent(40).then(|| watch(world, dice, &id));
    let mut report = first;
    let is_bounded = |plan: &Plan| plan.ends || plan.source.timeout.is_some();
    let must_stop = made.timeout.is_none() && !made.plans.iter().all(is_bounded);
    if !report.state.is_end() && (must_stop || dice.percent(40)) {
        tokio::time::sleep(dice.pause(Duration::from_secs(10))).await;
        let times = if dice.percent(30) { 2 } else { 1 };
        for _ in 0..times {
            match world.engine.find_call(&id) {
                Ok(call) => call.cancel(),
                Err(_) => world.wrong(format!("{id:?} is not known while it runs")),
            }
            made.cancelled.get_or_insert_with(Instant::now);
        }
        report = ask(world, &id, world.slack()).await;
        if !report.state.is_end() && !world.has_jumped_since(&made) {
            world.wrong(format!("{id:?} was taken back and has not ended: {:?}", report.state));
        }
    }
    if !report.state.is_end() {
        report = ask(world, &id, AGE).await;
    }
    check(world, &made, &report);
    if !report.state.is_end() {
        return;
    }
    let again = ask(world, &id, Duration::ZERO).await;
    if (again.state, &again.cells) != (report.state, &report.cells) {
        world.wrong(format!("{id:?} ended as {:?} and again as {:?}", report.state, again.state));
    }
    if let Some(watching) = watching
        && tokio::time::timeout(AGE, watching).await.is_err()
    {
        world.wrong(format!("a watcher of {id:?} was never told of its end"));
    }
}

async fn ask(world: &World, id: &ExecutionId, wait: Duration) -> PythonReport {
    world.engine.find_call(id).expect("a call that is kept").wait(wait).await
}

/// A watcher that reads now quickly and now slowly.
fn watch(world: &World, dice: &mut Dice, id: &ExecutionId) -> tokio::task::JoinHandle<()> {
    let mut watch = world.engine.find_call(id).expect("a call that is kept").watch(Seq(0));
    let (mut dice, log) = (dice.split(), world.backend.log.clone());
    tokio::spawn(async move {
        let mut next = 0;
        while let Some(item) = watch.next().await {
            match item {
                JournalItem::Entry(seq, _) if seq.0 == next => next += 1,
                JournalItem::Entry(seq, _) => {
                    log.wrong(format!("entry {seq:?} came in place of {next}"));
                }
                JournalItem::Gap { missed } => next += missed,
            }
            if dice.percent(10) {
                tokio::time::sleep(dice.pause(Duration::from_secs(3))).await;
            }
        }
    })
}

/// Checks the invariants of every answer.
fn check(world: &World, made: &Made, report: &PythonReport) {
    let wrong = |what: String| world.wrong(format!("{:?}: {what}", report.execution));
    if !report.state.is_end() {
        return wrong(format!("it did not end: {:?}", report.state));
    }
    let states: Vec<State> = report.cells.iter().map(|cell| cell.state).collect();
    if let Some(open) = states.iter().find(|state| !state.is_end()) {
        wrong(format!("it ended as {:?} with a cell that is {open:?}", report.state));
    }
    let stopped = states.iter().position(|state| *state != State::Done);
    let rest = stopped.map_or(&states[..0], |at| &states[at + 1..]);
    if rest.iter().any(|state| *state != State::NeverRun) {
        wrong(format!("cells after the one that failed: {states:?}"));
    }
    if report.state == State::Done && stopped.is_some() {
        wrong(format!("done, with {states:?}"));
    }
    for (plan, cell) in made.plans.iter().zip(&report.cells) {
        let ran = world.backend.log.ran(plan.tag);
        let again = cell.notes.iter().any(|note| matches!(note, CallNote::RanTwice(_)));
        if ran.starts > 1 && !again {
            wrong(format!("{:?} ran {} times and does not say so", plan.tag, ran.starts));
        }
        if cell.state == State::NeverRun && ran.starts > 0 {
            wrong(format!("{:?} ran and is told as never run: {cell:?}", plan.tag));
        }
        if cell.state == State::Done && ran.times == 0 {
            wrong(format!("{:?} is done and never ran", plan.tag));
        }
        if let (Some(cancelled), Some(last)) = (made.cancelled, ran.last)
            && last > cancelled
            && !world.has_jumped_since(made)
        {
            wrong(format!("{:?} began {:?} after it was taken back", plan.tag, last - cancelled));
        }
        let most = match (plan.source.timeout, made.timeout) {
            (Some(own), Some(all)) => Some(own.min(all)),
            (own, all) => own.or(all),
        };
        let is_late = most.is_some_and(|most| cell.duration > most + world.slack());
        if is_late && !world.has_jumped_since(made) {
            wrong(format!("{:?} may take {most:?} and took {:?}", plan.tag, cell.duration));
        }
        let is_fresh = plan.source.kernel == CellKernel::Fresh;
        if is_fresh || matches!(cell.end, Some(EndReport::GivenUp { .. })) {
            world.renewed();
        }
        check_output(world, made, plan, cell, again);
    }
}

/// Checks that a cell shows only its own output, in order, without an unreported gap.
fn check_output(world: &World, made: &Made, plan: &Plan, cell: &CellReport, again: bool) {
    let wrong = |what: String| world.wrong(format!("{:?} ({:?}): {what}", plan.tag, cell.state));
    let mut shown = Vec::new();
    for part in &cell.output.parts {
        let Part::Text(text) = part else { continue };
        let found = words(text);
        if !again && found.windows(2).any(|two| two[1].1 != two[0].1 + 1) {
            wrong(format!("a gap that is not told in {text:?}"));
        }
        shown.extend(found);
    }
    if let Some((other, _)) = shown.iter().find(|(tag, _)| *tag != plan.tag) {
        wrong(format!("it shows output of {other:?}"));
    }
    let is_whole = cell.state == State::Done && !plan.clears && !again && plan.writes > 0;
    let last = shown.last().map(|(_, number)| *number + 1);
    if is_whole && last != Some(plan.writes) {
        wrong(format!("it wrote {} and shows up to {last:?}", plan.writes));
    }
    let incomplete = cell
        .output
        .notices
        .iter()
        .any(|notice| matches!(notice, Notice::ArtifactIncomplete { .. }));
    if cell.output.is_truncated && cell.output.artifact.is_none() && !incomplete {
        wrong("it is cut, and nothing says where the rest is".to_owned());
    }
    let Some(stored) = &cell.output.artifact else { return };
    let id = ArtifactId::parse(&stored.id).expect("an id");
    let found = world.engine.artifacts().find(&id, Scope::All);
    let is_taken = world.losses.load(Ordering::Relaxed) != made.losses;
    // With a small quota, newer output may have replaced it already.
    let may_be_gone = is_taken || world.config.artifacts.limits != ArtifactLimits::STANDARD;
    let Ok(artifact) = found else {
        if !may_be_gone {
            wrong(format!("its artifact is not there: {found:?}"));
        }
        return;
    };
    let text = std::fs::read_to_string(&artifact.info().path).unwrap_or_default();
    if text.len() as u64 != stored.bytes && !is_taken {
        wrong(format!("its artifact has {} bytes, not {}", text.len(), stored.bytes));
    }
    let kept = words(&text);
    let in_order =
        kept.iter().enumerate().all(|(at, (tag, number))| *tag == plan.tag && *number == at as u64);
    if !again && !in_order && !is_taken {
        wrong("its artifact is not what it wrote".to_owned());
    }
    if !incomplete && !is_taken && stored.bytes != cell.output.counts.raw_bytes {
        let raw = cell.output.counts.raw_bytes;
        wrong(format!("{} of {raw} bytes are stored, and nothing says so", stored.bytes));
    }
    if is_whole && !incomplete && !is_taken && kept.len() as u64 != plan.writes {
        wrong(format!("{} of {} words are stored, and nothing says so", kept.len(), plan.writes));
    }
}
