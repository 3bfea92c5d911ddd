//! The names of cells that have not run as they are, asked of the kernel before it is decided which cells run.
//!
//! Owns that question. It is asked only where stale cells are to be run and some of them are new; without an answer
//! such a cell may use and make everything.

use std::time::Duration;

use inkcell_kernel::{CodeNames, Question};
use serde::Deserialize;

use super::NotebookRun;
use crate::session::{AskEnd, Session, Turn};

/// How long an answer may take: a tree is made and looked through in much less.
const LIMIT: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
struct Answered {
    names: Vec<Option<CodeNames>>,
}

pub(crate) async fn foresee(run: &mut NotebookRun, session: &Session, turn: &mut Turn) {
    let codes = run.unforeseen().await;
    if codes.is_empty() {
        return;
    }
    if session.state().kernel.is_none() {
        // One of them will run, so there will be a kernel. That it does not start is told by that cell.
        turn.start().await;
        session.settled().await;
    }
    let question = Question::Names { codes: codes.clone() };
    let AskEnd::Answered(answer) = session.ask(question, LIMIT).await else { return };
    let Ok(Answered { names }) = serde_json::from_str(&answer) else { return };
    for (code, names) in codes.iter().zip(names) {
        if let Some(names) = names {
            run.foresee(code, names);
        }
    }
}
