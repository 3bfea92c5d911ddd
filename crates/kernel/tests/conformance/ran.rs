//! One execution as a test saw it, from its start to its end.
//!
//! Owns looking at events. It must not know how they were got.

use inkcell_kernel::{
    Death, DeathCause, ExecEvent, MimeBundle, MimeData, Outcome, PyError, StreamName,
};

/// One execution, from its start to its end.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) events: Vec<ExecEvent>,
    pub(crate) orphans: Vec<ExecEvent>,
    pub(crate) notices: Vec<String>,
    pub(crate) death: Option<Death>,
}

impl Ran {
    /// What was written to a stream, byte for byte.
    pub(crate) fn bytes(&self, name: StreamName) -> Vec<u8> {
        written(&self.events, name)
    }

    /// How often it asked for a line.
    pub(crate) fn asked(&self) -> usize {
        let is_it = |event: &&ExecEvent| matches!(event, ExecEvent::InputRequested { .. });
        self.events.iter().filter(is_it).count()
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.bytes(StreamName::Stdout)).into_owned()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.bytes(StreamName::Stderr)).into_owned()
    }

    /// What came on either stream and belongs to no execution.
    pub(crate) fn orphaned(&self) -> String {
        let mut bytes = written(&self.orphans, StreamName::Stdout);
        bytes.extend(written(&self.orphans, StreamName::Stderr));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Why the kernel died of this.
    pub(crate) fn cause(&self) -> &DeathCause {
        match &self.death {
            Some(death) => &death.cause,
            None => panic!("the kernel lives: {:?}", self.events.last()),
        }
    }

    pub(crate) fn outcome(&self) -> &Outcome {
        match self.events.last() {
            Some(ExecEvent::Finished(outcome)) => outcome,
            other => panic!("no end: {other:?}, {:?}", self.death),
        }
    }

    pub(crate) fn error(&self) -> &PyError {
        match self.outcome() {
            Outcome::Error(error) => error,
            other => panic!("no error: {other:?}"),
        }
    }

    pub(crate) fn ok(self) -> Ran {
        assert_eq!(self.outcome(), &Outcome::Ok);
        self
    }

    /// The plain text of the result.
    pub(crate) fn result(&self) -> Option<String> {
        self.events.iter().find_map(|event| match event {
            ExecEvent::Result { data, .. } => Some(plain(data)),
            _ => None,
        })
    }

    /// Streams, displays and results as one line each, in order; pieces of one stream joined.
    pub(crate) fn order(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut last = None;
        for event in &self.events {
            let name = match event {
                ExecEvent::Stream { name, .. } => Some(*name),
                _ => None,
            };
            let is_more = name.is_some() && name == last;
            last = name;
            match event {
                ExecEvent::Stream { data, .. } if is_more => {
                    if let Some(line) = lines.last_mut() {
                        line.push_str(String::from_utf8_lossy(data).trim_end());
                    }
                }
                ExecEvent::Stream { name, data } => {
                    lines.push(format!(
                        "{} {}",
                        name.as_str(),
                        String::from_utf8_lossy(data).trim_end()
                    ));
                }
                ExecEvent::Display { data, .. } => lines.push(format!("display {}", plain(data))),
                ExecEvent::Result { data, .. } => lines.push(format!("result {}", plain(data))),
                _ => {}
            }
        }
        lines
    }
}

pub(crate) fn plain(bundle: &MimeBundle) -> String {
    match bundle.get("text/plain") {
        Some(MimeData::Text(text)) => text.clone(),
        other => format!("{other:?}"),
    }
}

pub(crate) fn written(events: &[ExecEvent], name: StreamName) -> Vec<u8> {
    let mut bytes = Vec::new();
    for event in events {
        match event {
            ExecEvent::Stream { name: of, data } if *of == name => bytes.extend_from_slice(data),
            _ => {}
        }
    }
    bytes
}
