//! The session at the prompt, and how it is asked.
//!
//! Owns which session it is, and a host that has gone meanwhile. What is asked and answered is in `host/frames`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use inkcell_engine::api::{
    CellSource, Inspect, InspectRequest, Inspected, KernelMode, KernelReport, KernelRequest,
    PythonRequest, Reading, Request, Response, SessionRef, Wanted,
};
use inkcell_engine::kernel::InputMode;
use inkcell_engine::registry::SessionName;

use crate::cli::hosts::Met;
use crate::client::{Asked, Client};
use crate::exit::Failure;
use crate::host::{Answer, Ask, Attention, Detached, KernelOptions, PythonAsk};
use crate::settings::Settings;

/// How long whoever types waits for a look at the session's names.
const LOOK: Duration = Duration::from_secs(3);

/// A session, and whoever has it.
pub(crate) struct Talk {
    pub(crate) client: Client,
    pub(crate) settings: Arc<Settings>,
    pub(crate) session: Option<SessionName>,
    pub(crate) cwd: PathBuf,
    pub(crate) wanted: Wanted,
    pub(crate) kernel: KernelOptions,
    /// What is told of the kernel's choice; once is enough.
    pub(crate) attention: Attention,
}

impl Talk {
    /// Whether the session is there when the prompt is gone.
    pub(crate) fn stays(&self) -> bool {
        self.client.is_remote()
    }

    pub(crate) fn reference(&self) -> SessionRef {
        let (session, wanted) = (self.session.clone(), self.wanted.clone());
        SessionRef { session, cwd: self.cwd.clone(), wanted }
    }

    /// Goes on in another session.
    pub(crate) fn move_to(&mut self, met: Met) {
        let SessionRef { session, cwd, wanted } = met.reference();
        (self.session, self.cwd, self.wanted) = (session, cwd, wanted);
        self.client = Client::of_host(met.found, &self.settings);
    }

    /// Runs a cell, which may ask for lines.
    pub(crate) fn run(&mut self, source: &CellSource) -> Result<Asked, Failure> {
        let attention = std::mem::replace(&mut self.attention, Attention::Quiet);
        let request = PythonRequest {
            cells: vec![source.clone()],
            session: self.session.clone(),
            cwd: self.cwd.clone(),
            wanted: self.wanted.clone(),
            mode: KernelMode::Session,
            timeout: None,
            wait: None,
            reading: Reading::Bounded,
            input: InputMode::Ask,
        };
        let kernel = self.kernel.clone();
        self.ask(|| {
            Ask::Python(PythonAsk {
                request: request.clone(),
                kernel: kernel.clone(),
                limit_from: String::new(),
                attention,
                detached: Detached::No,
            })
        })
    }

    /// Looks at the session's names.
    pub(crate) fn inspect(&mut self, what: Inspect) -> Result<Inspected, Failure> {
        let request = InspectRequest { session: self.reference(), what, wait: Some(LOOK) };
        match self.answer(&Request::Inspect(request))? {
            Response::Inspect(report) => Ok(report.seen),
            other => Err(unexpected(&other)),
        }
    }

    /// Does something with the session.
    pub(crate) fn verb(&mut self, verb: KernelRequest) -> Result<KernelReport, Failure> {
        match self.answer(&Request::Kernel(verb))? {
            Response::Kernel(report) => Ok(report),
            other => Err(unexpected(&other)),
        }
    }

    fn answer(&self, request: &Request) -> Result<Response, Failure> {
        match self.client.answer(Ask::Engine(request.clone()))? {
            Answer::Engine(response) => Ok(response),
            _ => Err(Failure::Pipe),
        }
    }

    /// Asks; a shared host that ended meanwhile, as idle ones do, is started again.
    fn ask(&mut self, ask: impl Fn() -> Ask) -> Result<Asked, Failure> {
        match self.client.ask(ask()) {
            Err(_) if self.client.is_remote() => {
                self.client = Client::shared(&self.settings)?;
                self.client.ask(ask())
            }
            asked => asked,
        }
    }
}

fn unexpected(response: &Response) -> Failure {
    let problem = format!("the host answered something else: {response:?}");
    Failure::Io("cannot understand the host", std::io::Error::other(problem))
}
