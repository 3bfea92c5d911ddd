//! Inspection of a session's names, without running user code.
//!
//! Owns the translation of a request into questions, and the reading of the answers. The kernel decides what can
//! be inspected and how long that takes; the session decides whether the kernel can answer now.

use std::time::Duration;

use inkcell_kernel::Question;
use inkcell_notebook::nearest;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::api::{
    Help, HelperList, Inspect, InspectReport, InspectRequest, InspectionAnswer, RunningReport,
    TableDigest, VariableDigest, VariableList,
};
use crate::call::AnswerHandle;
use crate::engine::resolve::LiveSession;
use crate::engine::{CallOptions, Engine, Request};
use crate::error::{EngineError, InspectError};
use crate::session::{AskEnd, Session};

/// The time limit of an inspection if the request has none. A kernel limits itself to a few seconds.
const LIMIT: Duration = Duration::from_secs(10);

impl Request for InspectRequest {
    type Handle = AnswerHandle<InspectReport>;

    /// The question starts no kernel. It enters the queue of the session only if it waits for calls.
    async fn begin(self, engine: &Engine, _: CallOptions) -> Result<Self::Handle, EngineError> {
        let found = engine.find_session(&self.session).await?;
        let (engine, session) = (engine.clone(), found.session.clone());
        let Some(limit) = self.behind else {
            return Ok(AnswerHandle::new(async move { engine.inspect_session(found, self).await }));
        };
        let waiting = session.enter();
        Ok(AnswerHandle::new(async move {
            let turn = tokio::time::timeout(limit, waiting.granted()).await;
            let report = engine.inspect_session(found, self).await;
            drop(turn);
            // Wait, so that a caller does not see the session busy with this inspection.
            session.settled().await;
            report
        }))
    }
}

impl Engine {
    async fn inspect_session(
        &self,
        found: LiveSession,
        request: InspectRequest,
    ) -> Result<InspectReport, EngineError> {
        let look = Look { engine: self, found: &found, limit: request.wait.unwrap_or(LIMIT) };
        let seen = look.at(request.what).await?;
        Ok(InspectReport { session: found.key.name, seen })
    }
}

/// The inspection of one session.
struct Look<'a> {
    engine: &'a Engine,
    found: &'a LiveSession,
    limit: Duration,
}

/// The kernel's answer to a request for help, in either of its two forms.
#[derive(Deserialize)]
#[serde(untagged)]
enum HelpAnswer {
    Helpers(HelperList),
    Help(Box<Help>),
}

impl Look<'_> {
    async fn at(&self, what: Inspect) -> Result<InspectionAnswer, EngineError> {
        Ok(match what {
            Inspect::Variables { limit } => {
                InspectionAnswer::Variables(self.variables(limit).await?)
            }
            Inspect::Name { name } => {
                let question = Question::Variable { name: name.clone() };
                let mut digest: VariableDigest = self.ask_of(&name, question).await?;
                if digest.variable.kind == "table" {
                    digest.table = match self.ask(Question::Table { name }).await {
                        Ok(table) => Some(table),
                        // A table that cannot be described by figures is still shown as a value.
                        Err(InspectError::Unseen { .. }) => None,
                        Err(error) => return Err(error.into()),
                    };
                }
                InspectionAnswer::Name(Box::new(digest))
            }
            Inspect::Table { name } => {
                let question = Question::Table { name: name.clone() };
                let digest: TableDigest = self.ask_of(&name, question).await?;
                InspectionAnswer::Table(Box::new(digest))
            }
            Inspect::Help { name } => {
                let question = Question::Help { name: name.clone() };
                match self.ask_of(&name, question).await? {
                    HelpAnswer::Helpers(helpers) => InspectionAnswer::Helpers(helpers),
                    HelpAnswer::Help(help) => InspectionAnswer::Help(help),
                }
            }
            Inspect::Complete { code, cursor } => {
                let cursor = cursor.unwrap_or_else(|| code.chars().count());
                InspectionAnswer::Completions(self.ask(Question::Complete { code, cursor }).await?)
            }
        })
    }

    async fn variables(&self, limit: Option<u32>) -> Result<VariableList, InspectError> {
        self.ask(Question::Variables { limit }).await
    }

    /// Asks about a name. If the name is undefined, the error has the nearest defined name.
    async fn ask_of<T: DeserializeOwned>(
        &self,
        name: &str,
        question: Question,
    ) -> Result<T, InspectError> {
        let error = match self.ask(question).await {
            Err(InspectError::Unseen { problem }) => problem,
            other => return other,
        };
        let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        let first = name.trim().split(|letter| !is_name(letter)).next().unwrap_or_default();
        if !error.starts_with(&format!("{first} is not defined")) {
            return Err(InspectError::Unseen { problem: error });
        }
        // The nearest name is only a hint: without the names, report the first problem.
        let names = match self.variables(None).await {
            Ok(list) => list.variables.into_iter().map(|variable| variable.name).collect(),
            Err(_) => Vec::new(),
        };
        let at = nearest(names.iter().map(String::as_str), first);
        let nearest = at.and_then(|at| names.get(at)).cloned();
        Err(InspectError::Undefined { problem: error, nearest })
    }

    async fn ask<T: DeserializeOwned>(&self, question: Question) -> Result<T, InspectError> {
        let session = &self.found.session;
        let name = self.found.key.name.clone();
        Err(match session.ask(question, self.limit).await {
            AskEnd::Answered(text) => {
                let bad = |error: serde_json::Error| InspectError::BadAnswer {
                    problem: error.to_string(),
                };
                return serde_json::from_str(&text).map_err(bad);
            }
            AskEnd::Failed(problem) => InspectError::Unseen { problem },
            AskEnd::Busy(_) => InspectError::Busy { session: name, running: self.running(session) },
            AskEnd::NotReady => InspectError::NotReady { session: name },
            AskEnd::TimedOut(limit) => InspectError::TimedOut { limit },
            AskEnd::NoKernel(None) => InspectError::NoKernel { session: name },
            AskEnd::NoKernel(Some(loss)) => InspectError::Lost { session: name, loss },
            AskEnd::Died(death) => InspectError::Ended { session: name, death: Some(death) },
            AskEnd::TakenAway | AskEnd::Closed => {
                InspectError::Ended { session: name, death: None }
            }
        })
    }

    fn running(&self, session: &Session) -> Option<RunningReport> {
        self.engine.running(&self.found.key, &session.state())
    }
}
