//! One call of code: begun at its desk, followed while it runs, cancelled when its caller gives it up.
//!
//! Owns the two clocks of a call: how long its code may take, and how long its caller waits. The tools supply the
//! code, and `answer.rs` makes the answer.

use std::time::{Duration, SystemTime};

use inkcell_engine::api::{
    CellSource, KernelWishes, PythonReport, PythonRequest, Reading, RunRequest,
};
use inkcell_engine::journal::Seq;
use inkcell_engine::kernel::InputMode;
use inkcell_engine::registry::OwnerId;
use inkcell_engine::{
    CHEAP_SAVE, CallHandle, EngineError, Kind, Resolution, RunFiles, SessionError, opened_run,
    prepared,
};
use tokio::time::Instant;

use super::news::Since;
use super::portion::Portion;
use super::progress::Teller;
use super::session::{Place, notebook};
use super::{CallContext, Desk, StartedCall, ToolError, Turn, files};
use crate::settings::size_policy;
use crate::words;

/// How long a caller waits for an answer when it does not say (B:X-02).
pub(crate) const WAIT: Duration = Duration::from_secs(45);

/// The longest time an answer is waited for.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// Extra wait for the report of code that was stopped at its time limit.
const STOPPED: Duration = Duration::from_secs(1);

/// Code that is to be run.
pub(crate) struct Code {
    pub(crate) cells: Vec<CellSource>,
    pub(crate) place: Place,
    pub(crate) wanted: KernelWishes,
    /// How long all cells together may take.
    pub(crate) timeout: Option<Duration>,
    /// How long the caller waits, if it says so.
    pub(crate) wait: Option<Duration>,
    /// How much of the output the caller wants to see.
    pub(crate) shown: Portion,
}

/// A call as far as it has come, with further remarks for its caller.
pub(crate) struct CallProgress {
    pub(crate) report: PythonReport,
    pub(crate) asides: Vec<String>,
    pub(crate) wanted: Portion,
    /// The part that the caller knows from an earlier answer.
    pub(crate) since: Option<Since>,
}

/// What happens to a call when its caller cancels the request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GivenUp {
    /// The call is interrupted.
    TakenBack,
    /// The call goes on, because another request began it.
    GoesOn,
}

/// Runs code until it is over or its caller has waited long enough.
pub(crate) async fn run(
    desk: &Desk,
    code: Code,
    context: CallContext,
) -> Result<CallProgress, ToolError> {
    let (wait, shown) = (patience(desk, code.wait, code.timeout), code.shown);
    let begin = begin(desk, code, context.owner);
    begun_and_followed(begin, (wait, shown), context, |turn| drop(turn.take())).await
}

/// Runs cells of a notebook in the same way.
pub(crate) async fn run_notebook(
    desk: &Desk,
    request: RunRequest,
    shown: Portion,
    context: CallContext,
) -> Result<CallProgress, ToolError> {
    let wait = patience(desk, request.wait, request.timeout);
    let request = RunRequest { reading: Reading::Bounded(shown.excerpt()), ..request };
    let begin = begin_notebook(desk, request, context.owner);
    // The outputs are not in the file yet: requests for the file wait for the answer.
    let begun = |turn: &mut Option<Turn>| turn.iter().for_each(Turn::begin);
    begun_and_followed(begin, (wait, shown), context, begun).await
}

async fn begun_and_followed(
    begin: impl Future<Output = Result<StartedCall, ToolError>>,
    (wait, wanted): (Option<Duration>, Portion),
    mut context: CallContext,
    begun: impl FnOnce(&mut Option<Turn>),
) -> Result<CallProgress, ToolError> {
    let until = wait.and_then(|wait| Instant::now().checked_add(wait));
    let StartedCall { call, asides } = tokio::select! {
        biased;
        () = context.cancel.cancelled() => return Err(aborted()),
        begun = begin => begun?,
    };
    // The call has its place in the session, so the next request may take its own.
    begun(&mut context.turn);
    let report = follow(&call, until, GivenUp::TakenBack, context).await;
    Ok(CallProgress { report, asides, wanted, since: None })
}

/// How long the answer is waited for. Where no answer can be asked for again, it is the whole one.
fn patience(desk: &Desk, wait: Option<Duration>, timeout: Option<Duration>) -> Option<Duration> {
    match (wait, timeout) {
        (Some(wait), _) => Some(wait),
        (None, _) if !desk.exposure.can_ask_again() => None,
        // Wait for code whose time is up to stop, so that the same answer reports it.
        (None, Some(timeout)) if timeout <= WAIT => {
            let [.., (stopped, _)] = desk.settings.python().ladder.rungs();
            Some(timeout + stopped + STOPPED)
        }
        (None, _) => Some(WAIT),
    }
}

async fn begin(desk: &Desk, code: Code, owner: OwnerId) -> Result<StartedCall, ToolError> {
    let Place { name, cwd, is_generated } = code.place;
    let request = PythonRequest {
        cells: code.cells,
        session: name,
        cwd,
        wanted: code.wanted,
        mode: desk.kernel_mode(),
        timeout: code.timeout,
        wait: code.wait,
        reading: Reading::Bounded(code.shown.excerpt()),
        input: InputMode::Refuse,
    };
    let resolved = desk.engine.resolve(&request.session_ref(), request.mode).await?;
    let (Resolution { key, chosen }, cwd) = (resolved, request.cwd.clone());
    let mut begun = desk.submit_call(request.on(&chosen), (&key, &cwd), owner).await?;
    if is_generated {
        begun.asides.insert(0, format!("session {}", key.name));
    }
    Ok(begun)
}

async fn begin_notebook(
    desk: &Desk,
    request: RunRequest,
    owner: OwnerId,
) -> Result<StartedCall, ToolError> {
    let files = RunFiles {
        notebooks: files::notebooks(desk),
        outputs: size_policy(&desk.settings),
        clock: SystemTime::now,
        cheap_save: CHEAP_SAVE,
    };
    let path = request.path.clone();
    let request = RunRequest { mode: desk.kernel_mode(), ..request };
    let opened = opened_run(request, &files).await?;
    let resolved = desk.engine.resolve(&opened.session_ref(), opened.mode()).await?;
    let Resolution { key, chosen } = resolved;
    let prepared = prepared(opened, &chosen, &files).await;
    let prepared = prepared.map_err(|error| under_way(desk, &path, error))?;
    let cwd = prepared.cwd().to_owned();
    desk.submit_call(prepared.on(&chosen), (&key, &cwd), owner).await
}

/// Why a notebook cannot be run now. A run that is under way is named, so that it can be waited for.
fn under_way(desk: &Desk, path: &str, error: EngineError) -> ToolError {
    let is_busy = matches!(error, EngineError::Session(SessionError::RunUnderWay { .. }));
    let running = notebook(desk, path).filter(|_| is_busy);
    let running = running.and_then(|path| desk.engine.run_of(&path));
    let mut told = ToolError::from(error);
    if let Some(running) = running.filter(|_| desk.exposure.can_ask_again()) {
        told.next = Some(words::call::wait_for_it(&running.execution.0));
    }
    told
}

/// Waits for a call that has begun, telling how far it is.
pub(crate) async fn follow(
    call: &CallHandle,
    until: Option<Instant>,
    given_up: GivenUp,
    context: CallContext,
) -> PythonReport {
    let mut watch = call.watch(Seq(0));
    let cells = call.report().cells.len();
    let mut teller = Teller::new(context.progress, cells, Instant::now());
    let settled = call.settled();
    tokio::pin!(settled);
    let mut is_given_up = false;
    let mut is_watched = true;
    loop {
        tokio::select! {
            report = &mut settled => return report,
            item = watch.next(), if is_watched => match item {
                Some(item) => teller.take(item),
                None => is_watched = false,
            },
            () = tokio::time::sleep_until(teller.due()) => teller.tell(Instant::now()),
            () = context.cancel.cancelled(), if !is_given_up => match given_up {
                // The answer still comes: the session needs a moment to stop the code.
                GivenUp::TakenBack => {
                    is_given_up = true;
                    call.cancel();
                }
                GivenUp::GoesOn => return call.report(),
            },
            () = reached(until), if !is_given_up => {
                return call.report();
            }
        }
    }
}

async fn reached(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// The error for a caller who cancelled a call before it began (B:X-21).
pub(crate) fn aborted() -> ToolError {
    let message = words::reply::ABORTED.to_owned();
    ToolError { kind: Kind::Cancelled, message, next: None }
}

#[cfg(test)]
mod tests;
