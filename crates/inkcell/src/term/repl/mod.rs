//! The prompt: cells are typed, run and shown, one after the other, in a session that may outlive the prompt.
//!
//! Owns the loop and the commands. A [`Face`] reads and shows, so that the loop is the same on a terminal and behind a
//! pipe. A host runs the code.

pub(crate) mod command;
mod completeness;
pub(crate) mod face;
mod indentation;
pub(crate) mod piped;
pub(crate) mod plain;
mod scan;
mod streamed;
pub(crate) mod talk;
mod terminal;
mod transcript;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inkcell_engine::api::{
    CellKernel, CellSource, EndReport, Help, Inspect, InspectionAnswer, KernelReport,
    KernelRequest, PythonReport,
};
use inkcell_engine::kernel::{ExecEvent, Outcome};
use inkcell_engine::output::{OutputRecorder, SizePolicy};
use inkcell_engine::{EngineError, Kind};

use crate::client::hosts;
use crate::exit::{Exit, Failure};
use crate::host::{PythonDone, Refusal};
use crate::output::count;
use crate::term::screen::follow;
use crate::view::ending::Summary;
use crate::view::sessions::{self, Listing};
use crate::words;
use command::{Command, Detail, ReplInput};
use face::{Entry, Face};
use talk::Talk;
use transcript::Transcript;

pub(crate) use terminal::Terminal;

/// Bytes of one stream that are kept for a notebook.
const KEPT_BYTES: usize = 16 << 20;

/// The session at the prompt, shared with completion.
pub(crate) type Shared = Arc<Mutex<Talk>>;

pub(crate) fn locked(talk: &Shared) -> MutexGuard<'_, Talk> {
    talk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The decision to continue or leave the prompt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Onward {
    Next,
    Leave,
}

pub(crate) struct Repl<'a> {
    talk: Shared,
    face: &'a mut dyn Face,
    transcript: Transcript,
    /// The exit code for the first cell that failed.
    failed: Option<Exit>,
}

impl<'a> Repl<'a> {
    pub(crate) fn new(talk: Shared, face: &'a mut dyn Face) -> Repl<'a> {
        Repl { talk, face, transcript: Transcript::default(), failed: None }
    }

    /// Runs until the end of input. Returns the exit code for the first cell that failed.
    pub(crate) fn run(mut self) -> Result<Option<Exit>, Failure> {
        loop {
            let onward = match self.face.read()? {
                Entry::End => Onward::Leave,
                Entry::Dropped => Onward::Next,
                Entry::Text(text) => match command::typed(&text) {
                    ReplInput::Nothing => Onward::Next,
                    ReplInput::Slip(problem) => {
                        self.face.warn(&format!("error: {problem}"))?;
                        Onward::Next
                    }
                    ReplInput::Code(code) => {
                        self.code(code)?;
                        Onward::Next
                    }
                    ReplInput::Command(command) => self.command(command)?,
                },
            };
            if onward == Onward::Leave {
                return Ok(self.failed);
            }
        }
    }

    fn command(&mut self, command: Command) -> Result<Onward, Failure> {
        let said = match command {
            Command::Quit => return Ok(Onward::Leave),
            Command::Help => Ok(help()),
            Command::Save { path, over } => {
                let settings = Arc::clone(&locked(&self.talk).settings);
                let saved = self.transcript.save(&path, over, &settings.notebooks);
                let count = count(self.transcript.len(), "cell");
                match saved {
                    Ok(()) => Ok(format!("Saved {count} to {path}.")),
                    Err(EngineError::Exists { path }) => Err(exists(&path)),
                    Err(error) => Err(error.into()),
                }
            }
            Command::Restart => self.verb(KernelRequest::Restart),
            Command::Interrupt => self.verb(KernelRequest::Interrupt),
            Command::Sessions => Ok(self.sessions()),
            Command::Attach(name) => self.attach(&name),
            Command::About { name, detail } => {
                match self.about(&name, detail) {
                    Ok(text) => Ok(text),
                    // No kernel yet, or one that is busy or cannot inspect. Run the question as code instead.
                    Err(_) => {
                        let marks = if detail == Detail::Source { "??" } else { "?" };
                        self.code(format!("{name}{marks}"))?;
                        return Ok(Onward::Next);
                    }
                }
            }
        };
        match said {
            Ok(text) => self.face.say(&text)?,
            Err(failure) => self.tell(failure)?,
        }
        Ok(Onward::Next)
    }

    fn verb(
        &self,
        verb: fn(inkcell_engine::api::SessionRef) -> KernelRequest,
    ) -> Result<String, Failure> {
        let mut talk = locked(&self.talk);
        let request = verb(talk.reference());
        Ok(match talk.verb(request)? {
            KernelReport::Started { session, notes } => sessions::restarted(&session, &notes),
            report => sessions::report(&report),
        })
    }

    fn sessions(&self) -> String {
        let settings = Arc::clone(&locked(&self.talk).settings);
        let all = hosts::everywhere(&settings);
        let silent = all.silent.iter().map(|silent| format!("note: {}", silent.describe()));
        if all.sessions.is_empty() {
            let none = words::session::NONE_IN_HOSTS.to_owned();
            return [none].into_iter().chain(silent).collect::<Vec<_>>().join("\n");
        }
        let listings: Vec<Listing<'_>> = all
            .sessions
            .iter()
            .map(|met| Listing {
                host: met.found.kind.name(),
                session: &met.session,
                memory_bytes: None,
            })
            .collect();
        sessions::table(&listings).into_iter().chain(silent).collect::<Vec<_>>().join("\n")
    }

    fn attach(&self, name: &str) -> Result<String, Failure> {
        let mut talk = locked(&self.talk);
        let met = hosts::one(Some(name), &talk.settings)?;
        let text = words::repl::moved_to(&met.session.name, &met.session.cwd.display());
        talk.move_to(met);
        Ok(text)
    }

    fn about(&self, name: &str, detail: Detail) -> Result<String, Failure> {
        let what = Inspect::Help { name: name.to_owned() };
        match locked(&self.talk).inspect(what)? {
            InspectionAnswer::Help(help) => Ok(described(&help, detail)),
            _ => Err(Failure::Pipe),
        }
    }

    /// Runs a cell and keeps it. If it cannot run, reports the reason and continues.
    fn code(&mut self, code: String) -> Result<(), Failure> {
        let source = CellSource { code, title: None, timeout: None, kernel: CellKernel::Same };
        let mut recorder = OutputRecorder::new(SizePolicy::Limit { max_bytes: KEPT_BYTES });
        self.face.began(&source)?;
        match self.follow(&source, &mut recorder) {
            Ok(PythonDone { report, took, python }) => {
                let count = report.cells.first().and_then(|cell| cell.count);
                if let Some(outcome) = outcome(&report) {
                    recorder.push(&ExecEvent::Finished(outcome));
                }
                let summary = Summary { report, took, python };
                if summary.exit() != Exit::Ok {
                    self.failed.get_or_insert(summary.exit());
                }
                self.face.ended(Some(&summary))?;
                self.transcript.keep(source.code, count, recorder);
                Ok(())
            }
            Err(failure) => {
                self.failed.get_or_insert(Exit::Failed);
                self.face.ended(None)?;
                self.tell(failure)
            }
        }
    }

    /// Follows a cell until it ends.
    fn follow(
        &mut self,
        source: &CellSource,
        recorder: &mut OutputRecorder,
    ) -> Result<PythonDone, Failure> {
        let asked = locked(&self.talk).run(source)?;
        follow(asked, self.face, |event| {
            recorder.push(event);
        })
    }

    fn tell(&mut self, failure: Failure) -> Result<(), Failure> {
        let Refusal { message, hint, .. } = failure.into();
        let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
        self.face.warn(&format!("error: {message}{hint}"))
    }
}

/// The result of a cell in the form that notebooks store.
fn outcome(report: &PythonReport) -> Option<Outcome> {
    let error = match report.cells.first()?.end.as_ref()? {
        EndReport::Exception(error) | EndReport::Stopped { exception: Some(error), .. } => error,
        _ => return None,
    };
    Some(Outcome::Error(error.clone()))
}

fn exists(path: &str) -> Failure {
    Failure::new(Kind::Conflict, words::repl::exists(path), Some(words::repl::save_over(path)))
}

fn help() -> String {
    let width = words::repl::HELP.iter().map(|(what, _)| what.len()).max().unwrap_or(0);
    let line = |(what, does): &(&str, &str)| format!("{what:width$}  {does}");
    words::repl::HELP.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn described(help: &Help, detail: Detail) -> String {
    let mut lines = Vec::new();
    lines.push(match &help.signature {
        // Some kernels include the name in the signature, and some do not.
        Some(signature) if signature.starts_with('(') => format!("{}{signature}", help.name),
        Some(signature) => signature.clone(),
        None => format!("{}: {}", help.name, help.type_name),
    });
    if let Some(file) = &help.file {
        let line = help.line.map(|line| format!(":{line}")).unwrap_or_default();
        lines.push(format!("{file}{line}"));
    }
    match (&help.source, detail) {
        (Some(source), Detail::Source) => lines.push(source.trim_end().to_owned()),
        _ => lines.extend(help.doc.as_deref().map(|doc| doc.trim_end().to_owned())),
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests;
