//! Asks the kernel for the names of cells that have not run in their current form, before the choice of cells.
//!
//! Owns that question. It is asked only if stale cells were requested and some of them are new. Without an answer such
//! a cell may use and make everything.

use std::time::Duration;

use inkcell_kernel::{CodeNames, Question};
use serde::Deserialize;

use super::NotebookRun;
use crate::session::{AskEnd, Session, Turn};

/// Limit for an answer. Parsing and walking a syntax tree takes far less.
const LIMIT: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
struct AnsweredNames {
    names: Vec<Option<CodeNames>>,
}

pub(super) async fn foresee(run: &mut NotebookRun, session: &Session, turn: &mut Turn) {
    let codes = run.unforeseen().await;
    if codes.is_empty() {
        return;
    }
    if session.state().kernel.is_none() {
        // At least one of the cells will run, so a kernel is needed. If it fails to start, that cell reports it.
        turn.start().await;
        session.settled().await;
    }
    let question = Question::Names { codes: codes.clone() };
    let AskEnd::Answered(answer) = session.ask(question, LIMIT).await else { return };
    let Ok(AnsweredNames { names }) = serde_json::from_str(&answer) else { return };
    for (code, names) in codes.iter().zip(names) {
        if let Some(names) = names {
            run.learn_names(code, names);
        }
    }
}
