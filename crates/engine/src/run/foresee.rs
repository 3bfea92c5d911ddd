//! Asks the kernel about cells that have not run in their current form, before the first cell of a run.
//!
//! Owns these questions: the names of new cells, before the choice of cells, and the names that chosen cells need and
//! the kernel lacks. If the kernel does not answer, a new cell counts as one that may use and make every name, and no
//! name counts as missing.

use std::time::Duration;

use inkcell_kernel::{CodeNames, Question};
use serde::Deserialize;

use super::NotebookRun;
use super::missing::{Takes, found_above, wanted};
use crate::call::{Hindrance, Record};
use crate::error::EngineError;
use crate::session::{AskEnd, CellEnd, RunEnd, RunOutcome, Session, Turn};
use crate::types::CallNote;

/// Limit for an answer. Parsing and walking a syntax tree takes far less.
const LIMIT: Duration = Duration::from_secs(60);

/// What a run asks the kernel for before its first cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Foresight {
    /// The names of new cells, if the run chooses among them.
    NewNames,
    /// The names that its cells need, that other cells make, and that the kernel lacks or has from an earlier run.
    MissingNames,
}

#[derive(Deserialize)]
struct AnsweredNames {
    names: Vec<Option<CodeNames>>,
}

pub(super) async fn foresee(
    run: &mut NotebookRun,
    session: &Session,
    turn: &mut Turn,
    (record, left): (&Record, Option<Duration>),
) -> Result<(), Hindrance> {
    let new = run.unforeseen().await;
    if new.is_empty() && run.foresight() == Foresight::NewNames {
        return Ok(());
    }
    // The state may still show a kernel that was just taken away.
    session.settled().await;
    if session.state().kernel.is_none() {
        // At least one of the cells will run, so a kernel is needed.
        start(session, turn, record, left).await?;
    }
    if run.foresight() == Foresight::MissingNames {
        return must_have_run(run, session)
            .await
            .map_err(|error| Hindrance::Refusal(error.problem()));
    }
    for (code, names) in new.iter().zip(ask(session, &new).await) {
        run.learn_names(code, names);
    }
    Ok(())
}

/// Starts a kernel. The first cell gets the notes about that.
async fn start(
    session: &Session,
    turn: &mut Turn,
    record: &Record,
    left: Option<Duration>,
) -> Result<(), Hindrance> {
    let (RunOutcome { end: RunEnd { end, notes }, .. }, said) = turn.start(left).await;
    session.settled().await;
    record.change(|report| {
        if let Some(first) = report.cells.first_mut() {
            first.notes.extend(notes);
            first.notes.extend(said.into_iter().map(CallNote::Kernel));
        }
    });
    match end {
        CellEnd::Ok => Ok(()),
        end => Err(Hindrance::Kernel(Box::new(end))),
    }
}

/// Refuses a run whose cells need names that other cells make and that the kernel lacks, or has from before another
/// kernel ran those cells.
async fn must_have_run(run: &mut NotebookRun, session: &Session) -> Result<(), EngineError> {
    let planned = with_names(session, run.planned_sources()).await;
    let (absent, taken) = (wanted(&planned, Takes::Absent), wanted(&planned, Takes::Any));
    let users = absent.iter().chain(&taken).map(|(user, _)| *user);
    let Some(last) = users.max() else { return Ok(()) };
    let others = with_names(session, run.other_sources(last).await).await;
    let missing = found_above(&absent, &others);
    if !missing.is_empty() {
        return Err(EngineError::Lacks { names: missing });
    }
    let Some(kernel) = session.state().generation else { return Ok(()) };
    let mut outdated = found_above(&taken, &others);
    outdated.retain(|found| run.is_outdated(found.maker, &kernel));
    match outdated.is_empty() {
        true => Ok(()),
        false => Err(EngineError::Outdated { names: outdated }),
    }
}

/// Cells by position, each with its names if they are known.
async fn with_names(
    session: &Session,
    cells: Vec<(usize, String)>,
) -> Vec<(usize, Option<CodeNames>)> {
    let (places, codes): (Vec<usize>, Vec<String>) = cells.into_iter().unzip();
    let names = ask(session, &codes).await;
    places.into_iter().zip(names).collect()
}

/// The names of each source, or that they cannot be known. Empty if the kernel does not answer.
async fn ask(session: &Session, codes: &[String]) -> Vec<Option<CodeNames>> {
    let question = Question::Names { codes: codes.to_vec() };
    match session.ask(question, LIMIT).await {
        AskEnd::Answered(answer) => serde_json::from_str(&answer)
            .map_or_else(|_| Vec::new(), |AnsweredNames { names }| names),
        // The kernel cannot look into code, so asking again would not help.
        AskEnd::Failed(_) => vec![None; codes.len()],
        _ => Vec::new(),
    }
}
