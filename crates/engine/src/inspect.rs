//! Looking at the names of a session, without running code of the user's.
//!
//! Owns which questions a request becomes, and reading the answers. What can be seen, and how long looking
//! takes, is decided in the kernel; whether it can look now, by the session.

use std::time::Duration;

use inkcell_kernel::{Death, Question};
use inkcell_notebook::nearest;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::api::{
    Help, HelperList, Inspect, InspectReport, InspectRequest, Inspected, RunningReport,
    TableDigest, VariableDigest, VariableList,
};
use crate::engine::Engine;
use crate::error::{EngineError, Kind};
use crate::registry::SessionName;
use crate::session::{AskEnd, Loss, Session, what_it_did};
use crate::verbs::Found;

/// How long a look may take when nothing is said. A kernel bounds itself to a few seconds.
const LIMIT: Duration = Duration::from_secs(10);

/// Why a session's names cannot be looked at.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum InspectError {
    /// The kernel runs something.
    #[error("session {session} is running {}; ask again when it has ended, or interrupt it", what(.running.as_ref()))]
    Busy {
        /// The session.
        session: SessionName,
        /// What.
        running: Option<RunningReport>,
    },
    /// The kernel is only being started or ended.
    #[error("the kernel of session {session} is not ready yet; ask again in a moment")]
    NotReady {
        /// The session.
        session: SessionName,
    },
    /// There is no kernel, and looking does not start one.
    #[error("session {session} has no kernel yet, so there is nothing to see; run a cell first")]
    NoKernel {
        /// The session.
        session: SessionName,
    },
    /// There is no kernel any more.
    #[error("session {session} lost its kernel and its variables: {}; run cells to make them again", why(.loss))]
    Lost {
        /// The session.
        session: SessionName,
        /// How.
        loss: Loss,
    },
    /// It ended in the middle.
    #[error("the kernel of session {session} ended while it was asked: it {}", .death.as_ref().map_or("was restarted or stopped".to_owned(), |death| what_it_did(&death.cause)))]
    Ended {
        /// The session.
        session: SessionName,
        /// How, unless it was asked to.
        death: Option<Death>,
    },
    /// It took too long.
    #[error("the kernel did not answer within {} s, and the question was interrupted", .limit.as_secs_f64())]
    TimedOut {
        /// The limit.
        limit: Duration,
    },
    /// There is no such name.
    #[error("{problem}{}", nearest_name(.nearest.as_deref()))]
    Undefined {
        /// What the kernel said.
        problem: String,
        /// The name that looks most like it.
        nearest: Option<String>,
    },
    /// It cannot be seen.
    #[error("{problem}")]
    Unseen {
        /// Why, as the kernel said it.
        problem: String,
    },
    /// The answer has no meaning.
    #[error("the kernel's answer was not understood: {problem}")]
    BadAnswer {
        /// What is wrong with it.
        problem: String,
    },
}

impl InspectError {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            InspectError::Busy { .. } | InspectError::NotReady { .. } => Kind::Busy,
            InspectError::NoKernel { .. }
            | InspectError::Lost { .. }
            | InspectError::Undefined { .. } => Kind::NotFound,
            InspectError::Ended { .. } | InspectError::TimedOut { .. } => Kind::Unavailable,
            InspectError::Unseen { .. } => Kind::Invalid,
            InspectError::BadAnswer { .. } => Kind::Internal,
        }
    }
}

fn what(running: Option<&RunningReport>) -> String {
    let Some(RunningReport { execution, title, elapsed }) = running else {
        return "something else".to_owned();
    };
    let id = execution.as_ref().map(|id| format!("{}, ", id.0)).unwrap_or_default();
    format!("`{title}` ({id}for {} s)", elapsed.as_secs())
}

fn why(loss: &Loss) -> String {
    match loss {
        Loss::Died(death) => format!("it {}", what_it_did(&death.cause)),
        Loss::Killed { .. } => "it did not listen when code had to be stopped".to_owned(),
        Loss::Closed { .. } => "the session was closed".to_owned(),
    }
}

fn nearest_name(name: Option<&str>) -> String {
    name.map(|name| format!(" The nearest is {name}.")).unwrap_or_default()
}

impl Engine {
    /// Looks at the names of a session. It starts no kernel and waits for no cell.
    pub async fn inspect(&self, request: InspectRequest) -> Result<InspectReport, EngineError> {
        let found = self.found(&request.session).await?;
        self.look(found, request).await
    }

    /// The same behind the calls that the session has already. If they do not end within `limit`, the kernel is busy.
    /// Calls that come later wait until it has looked. `entered` is called when it has its place among them.
    pub async fn inspect_behind(
        &self,
        request: InspectRequest,
        limit: Duration,
        entered: impl FnOnce(),
    ) -> Result<InspectReport, EngineError> {
        let found = self.found(&request.session).await?;
        let session = found.session.clone();
        let waiting = session.enter();
        entered();
        let turn = tokio::time::timeout(limit, waiting.granted()).await.ok().and_then(Result::ok);
        let report = self.look(found, request).await;
        drop(turn);
        // Nobody sees the session busy with this.
        session.settled().await;
        report
    }

    async fn look(
        &self,
        found: Found,
        request: InspectRequest,
    ) -> Result<InspectReport, EngineError> {
        let look = Look { engine: self, found: &found, limit: request.wait.unwrap_or(LIMIT) };
        let seen = look.at(request.what).await?;
        Ok(InspectReport { session: found.key.name, seen })
    }
}

/// A look at one session.
struct Look<'a> {
    engine: &'a Engine,
    found: &'a Found,
    limit: Duration,
}

/// Help has two forms.
#[derive(Deserialize)]
#[serde(untagged)]
enum HelpAnswer {
    Helpers(HelperList),
    Help(Box<Help>),
}

impl Look<'_> {
    async fn at(&self, what: Inspect) -> Result<Inspected, EngineError> {
        Ok(match what {
            Inspect::Variables { limit } => Inspected::Variables(self.variables(limit).await?),
            Inspect::Name { name } => {
                let question = Question::Variable { name: name.clone() };
                let mut digest: VariableDigest = self.ask_of(&name, question).await?;
                if digest.variable.kind == "table" {
                    digest.table = match self.ask(Question::Table { name }).await {
                        Ok(table) => Some(table),
                        // One that cannot be read in figures is shown all the same.
                        Err(InspectError::Unseen { .. }) => None,
                        Err(error) => return Err(error.into()),
                    };
                }
                Inspected::Name(Box::new(digest))
            }
            Inspect::Table { name } => {
                let question = Question::Table { name: name.clone() };
                let digest: TableDigest = self.ask_of(&name, question).await?;
                Inspected::Table(Box::new(digest))
            }
            Inspect::Help { name } => {
                let question = Question::Help { name: name.clone() };
                match self.ask_of(&name, question).await? {
                    HelpAnswer::Helpers(helpers) => Inspected::Helpers(helpers),
                    HelpAnswer::Help(help) => Inspected::Help(help),
                }
            }
            Inspect::Complete { code, cursor } => {
                let cursor = cursor.unwrap_or_else(|| code.chars().count());
                Inspected::Completions(self.ask(Question::Complete { code, cursor }).await?)
            }
        })
    }

    async fn variables(&self, limit: Option<u32>) -> Result<VariableList, InspectError> {
        self.ask(Question::Variables { limit }).await
    }

    /// Asks about a name; where there is none, the nearest is found.
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
        // Names are only a hint, so that without them the first problem is told.
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
