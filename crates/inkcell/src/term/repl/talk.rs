//! The session at the prompt, and requests to it.
//!
//! Owns the choice of the session, and the recovery from a host that has ended. `host/frames` defines the
//! requests.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use inkcell_engine::api::{
    CellSource, Inspect, InspectRequest, InspectionAnswer, KernelMode, KernelReport, KernelRequest,
    KernelWishes, PythonRequest, Reading, SessionRef,
};
use inkcell_engine::kernel::InputMode;
use inkcell_engine::registry::SessionName;

use crate::client::hosts::HostSession;
use crate::client::{Client, Exchange};
use crate::exit::Failure;
use crate::host::{Answer, Ask, Attention, Detachment, KernelOptions, PythonAsk};
use crate::settings::Settings;
use crate::words;

/// Time limit for an inspection, since the user waits for the answer.
const LOOK: Duration = Duration::from_secs(3);

/// A session, and the client of its host.
pub(crate) struct Talk {
    pub(crate) client: Client,
    pub(crate) settings: Arc<Settings>,
    pub(crate) session: Option<SessionName>,
    pub(crate) cwd: PathBuf,
    pub(crate) wanted: KernelWishes,
    pub(crate) kernel: KernelOptions,
    /// How much to tell about the choice of the kernel. Quiet after the first cell.
    pub(crate) attention: Attention,
}

impl Talk {
    /// Returns true if the session outlives the prompt.
    pub(crate) fn stays(&self) -> bool {
        self.client.is_remote()
    }

    pub(crate) fn reference(&self) -> SessionRef {
        let (session, wanted) = (self.session.clone(), self.wanted.clone());
        SessionRef { session, cwd: self.cwd.clone(), wanted }
    }

    /// Moves the prompt to another session.
    pub(crate) fn move_to(&mut self, met: HostSession) {
        let SessionRef { session, cwd, wanted } = met.reference();
        (self.session, self.cwd, self.wanted) = (session, cwd, wanted);
        self.client = Client::of_host(met.found, &self.settings);
    }

    /// Runs a cell, which may ask for input.
    pub(crate) fn run(&mut self, source: &CellSource) -> Result<Exchange, Failure> {
        let attention = std::mem::replace(&mut self.attention, Attention::Quiet);
        let request = PythonRequest {
            cells: vec![source.clone()],
            session: self.session.clone(),
            cwd: self.cwd.clone(),
            wanted: self.wanted.clone(),
            mode: KernelMode::Session,
            timeout: None,
            wait: None,
            reading: Reading::default(),
            input: InputMode::Ask,
        };
        let kernel = self.kernel.clone();
        self.ask(|| {
            Ask::Python(PythonAsk {
                request: request.clone(),
                kernel: kernel.clone(),
                limit_from: String::new(),
                attention,
                detached: Detachment::No,
            })
        })
    }

    /// Inspects names of the session.
    pub(crate) fn inspect(&mut self, what: Inspect) -> Result<InspectionAnswer, Failure> {
        let request =
            InspectRequest { session: self.reference(), what, wait: Some(LOOK), behind: None };
        match self.client.answer(Ask::Inspect(request))? {
            Answer::Inspect(report) => Ok(report.seen),
            other => Err(unexpected(&other)),
        }
    }

    /// Runs a session command, such as a restart.
    pub(crate) fn verb(&mut self, verb: KernelRequest) -> Result<KernelReport, Failure> {
        match self.client.answer(Ask::Kernel(verb))? {
            Answer::Kernel(report) => Ok(report),
            other => Err(unexpected(&other)),
        }
    }

    /// Sends a request. A shared host that has ended, such as an idle one, is started again.
    fn ask(&mut self, ask: impl Fn() -> Ask) -> Result<Exchange, Failure> {
        match self.client.ask(ask()) {
            Err(_) if self.client.is_remote() => {
                self.client = Client::shared(&self.settings)?;
                self.client.ask(ask())
            }
            asked => asked,
        }
    }
}

fn unexpected(answer: &Answer) -> Failure {
    let problem = words::host::unexpected_answer(answer);
    Failure::Io(words::failure::UNDERSTAND_HOST, std::io::Error::other(problem))
}
